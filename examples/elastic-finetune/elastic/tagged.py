"""Texts whose words have tags, and the spans that tags say.

A file has CoNLL's columns, as sti-run --eval reads them (docs/guide/data.md): a line a word, the word in front and its
tag last, and an empty line behind each text. The text is its words with a space between. A word's tag is that of its
first token; what else it has of tokens has no label. Spans are counted as seqeval counts them, which sti-run does too.
"""

import pathlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from . import data, tools
from .data import UNLABELLED, Texts
from .problem import Problem

OUTSIDE = "O"
_DOCUMENT = "-DOCSTART-"  # no word, between documents
_BEGINS, _ENDS, _PLACES = "BSU", "ESLU", "BIESLU"  # letters in front of a kind


@dataclass(frozen=True)
class Row:
    """The words of a text, the tag of each, and the number of its line."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    lines: tuple[int, ...]

    @property
    def text(self) -> str:
        """The words with a space between."""
        return " ".join(self.words)


def read_rows(file: pathlib.Path) -> list[Row]:
    """The texts of a file. A line that begins with # is a comment, unless it ends with a tag that other lines have."""
    try:
        lines = [line.removesuffix("\r").replace("\t", " ").strip(" ").split(" ")
                 for line in file.read_text("utf-8-sig").split("\n")]
    except UnicodeDecodeError as error:
        raise Problem(f"{file}: not UTF-8 at byte {error.start}") from None
    tags = {OUTSIDE} | {cells[-1] for cells in lines if len(cells) > 1 and not cells[0].startswith("#")}
    rows: list[Row] = []
    words: list[tuple[str, str, int]] = []
    for number, cells in enumerate([*lines, [""]], 1):
        if cells == [""] or cells[0].startswith(_DOCUMENT):
            if words:
                found, of_words, numbers = zip(*words, strict=True)
                rows.append(Row(found, of_words, numbers))
            words = []
        elif cells[0].startswith("#") and (len(cells) == 1 or cells[-1] not in tags):
            continue
        elif len(cells) == 1:
            raise Problem(f"{file}: line {number}: a word without a tag; give a file in CoNLL's columns, a line a word "
                          "with its tag last")
        else:
            words.append((cells[0], cells[-1], number))
    if not rows:
        raise Problem(f"{file}: no words with tags; give a file in CoNLL's columns")
    return rows


def tags_in(rows: Sequence[Row]) -> list[str]:
    """The tags that occur, that of no span first."""
    return sorted({tag for row in rows for tag in row.tags}, key=lambda tag: (tag != OUTSIDE, _parts(tag)[::-1]))


def labels_of(rows: Sequence[Row], names: Sequence[str], file: pathlib.Path) -> list[list[int]]:
    """The ids of the tags of each row's words."""
    ids = {name: i for i, name in enumerate(names)}
    for row in rows:
        for tag, line in zip(row.tags, row.lines, strict=True):
            if tag not in ids:
                shown = ", ".join(names[:3]) + (" ..." if len(names) > 3 else "")
                raise Problem(f"{file}: line {line}: tag {tag!r} is none of the model's {len(names)} "
                              f"({shown}); the data may be another task's")
    return [[ids[tag] for tag in row.tags] for row in rows]


def tokenized(folder: pathlib.Path, rows: Sequence[Row], labels: Sequence[Sequence[int]]) -> Texts:
    """Rows as sti-run sees them. The first token of each word has its label; a word that did not fit has none."""
    made = tools.tokenize(folder, [(row.text, None) for row in rows], offsets=True)
    of_tokens = []
    for row, of_words, (ids, _, offsets) in zip(rows, labels, made, strict=True):
        found = numpy.full(len(ids), UNLABELLED)
        for word, token in enumerate(_first_tokens(row.words, offsets)):
            if token is not None:
                found[token] = of_words[word]
        of_tokens.append(found)
    return data.packed_rows([(ids, types) for ids, types, _ in made], of_tokens)


def _first_tokens(words: Sequence[str], offsets: Sequence[Sequence[int]]) -> list[int | None]:
    """The number of each word's first token, which is the first that begins in it, where `offsets` are the bytes of the
    text that tokens stand for. Control tokens, at both ends, stand for none."""
    found: list[int | None] = []
    begin, token, last = 0, 1, len(offsets) - 1
    for word in words:
        end = begin + len(word.encode())
        while token < last and offsets[token][0] < begin:
            token += 1
        fits = token < last and offsets[token][0] < end
        found.append(token if fits else None)
        begin = end + 1
    return found


def _parts(tag: str) -> tuple[str, str]:
    """The letter of a tag that says its place in a span, and its kind. A kind alone is inside of a span."""
    if tag == OUTSIDE:
        return "", ""
    return (tag[0], tag[2:]) if len(tag) > 2 and tag[1] == "-" and tag[0] in _PLACES else ("I", tag)


def spans(tags: Sequence[str]) -> set[tuple[int, int, str]]:
    """First word, the word behind the last, and the kind of each span that the tags of a text say."""
    found = set()
    begin, before = 0, ("", "")
    for word, (place, kind) in enumerate([*map(_parts, tags), ("", "")]):
        goes_on = bool(kind) and kind == before[1] and place not in _BEGINS and before[0] not in _ENDS
        if before[1] and not goes_on:
            found.add((begin, word, before[1]))
        if not goes_on:
            begin = word
        before = (place, kind)
    return found


def f1(found: numpy.ndarray, wanted: numpy.ndarray, texts: Texts, names: Sequence[str]) -> float:
    """F1 of the spans of all texts, of labels [tokens] that were found and that words have; 0 where there is none."""
    given = examples = right = 0
    for begin, end in zip(texts.begins, texts.begins[1:]):
        words = begin + numpy.flatnonzero(wanted[begin:end] != UNLABELLED)
        a, b = (spans([names[label] for label in labels[words]]) for labels in (found, wanted))
        given, examples, right = given + len(a), examples + len(b), right + len(a & b)
    return 2 * right / (given + examples) if right else 0.0
