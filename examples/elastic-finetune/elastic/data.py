"""Labelled texts, and batches of them.

A file is a table with tabs or commas, or JSON Lines, in the columns that sti-run --eval knows (docs/guide/data.md),
and means what it means there (lib/text/dataset/columns.cpp).
"""

import csv
import dataclasses
import io
import json
import pathlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy
import torch
from torch import Tensor

from . import tools
from .problem import Problem

UNLABELLED = -1
_TEXTS = (("sentence1", "sentence2"), ("question", "sentence"), ("question1", "question2"), ("#1 String", "#2 String"),
          ("premise", "hypothesis"), ("text", "pair"), ("sentence", None), ("text", None), ("sentence1", None))
_LABELS = ("label", "gold_label", "Quality", "is_duplicate")


@dataclass(frozen=True)
class Columns:
    """Names of columns as a person gave them, or numbers from 1 of a table without header; None: found by the usual
    names."""

    text: str | None = None
    pair: str | None = None
    label: str | None = None

    @property
    def numbered(self) -> bool:
        """Whether the text's is a number."""
        return self.text is not None and self.text.isdecimal()


@dataclass(frozen=True)
class Row:
    """A text, perhaps a second one, and the name or id of its label, if it has one."""

    text: str
    pair: str | None
    label: str | None
    line: int


def read_rows(file: pathlib.Path, columns: Columns, labelled: bool = True) -> list[Row]:
    """The rows of a file. Empty lines are skipped. A file of no row is a Problem, and so is a row without label,
    unless labels are not asked for."""
    rows = []
    for line, cells in _cells(file, columns, labelled):
        text, pair, label = _choose(file, cells, columns, labelled)
        values = [None if name is None else cells.get(name) for name in (text, pair, label)]
        if not isinstance(values[0], str) or (pair and not isinstance(values[1], str)):
            raise Problem(f"{file}: line {line}: no text in column {text!r}" + (f" or {pair!r}" if pair else ""))
        if labelled and (values[2] is None or values[2] == "" or isinstance(values[2], (dict, list, float))):
            raise Problem(f"{file}: line {line}: no label in column {label!r}; name another with --label-column, or "
                          "give rows without label as --unlabelled")
        rows.append(Row(values[0], values[1], str(values[2]) if labelled else None, line))
    if not rows:
        raise Problem(f"{file}: no rows")
    return rows


def _cells(file: pathlib.Path, columns: Columns, labelled: bool) -> Iterator[tuple[int, dict[str, object]]]:
    """Each row with its line number, by the names or numbers of its columns. Texts without labels may stand a line
    each, without a header."""
    try:
        text = file.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Problem(f"{file}: not UTF-8 at byte {error.start}") from None
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if lines[0].lstrip().startswith("{"):
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    cells = json.loads(line)
                except ValueError as error:
                    raise Problem(f"{file}: line {number}: not JSON ({error})") from None
                if not isinstance(cells, dict):
                    raise Problem(f"{file}: line {number}: not an object")
                yield number, cells
        return
    if not labelled and not _is_table(lines[0], columns):
        yield from ((number, {"text": line}) for number, line in enumerate(lines, 1) if line.strip())
        return
    names: list[str] = []
    for number, values in _table(file, text, lines):
        if names and len(values) != len(names):
            raise Problem(f"{file}: line {number}: {len(values)} cells, and the first line has {len(names)}")
        if names or columns.numbered:
            names = names or [str(place) for place in range(1, len(values) + 1)]
            yield number, dict(zip(names, values, strict=True))
        names = names or values


def _is_table(first: str, columns: Columns) -> bool:
    """Whether texts without labels are in a table: its first line has tabs, or names that are known."""
    known = {name for names in _TEXTS for name in names} | {columns.text}
    return columns.numbered or "\t" in first or not known.isdisjoint(next(csv.reader([first])))


def _table(file: pathlib.Path, text: str, lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table with their line numbers. With commas, a field in quotes may hold commas and lines."""
    if "\t" in lines[0] or ("," not in lines[0] and file.suffix != ".csv"):
        yield from ((number, line.split("\t")) for number, line in enumerate(lines, 1) if line.strip())
        return
    rows, number = csv.reader(io.StringIO(text, newline=""), strict=True), 1
    try:
        for values in rows:
            if values:
                yield number, values
            number = rows.line_num + 1
    except csv.Error as error:
        raise Problem(f"{file}: line {number}: {error}") from None


def _choose(file: pathlib.Path, cells: dict[str, object], columns: Columns,
            labelled: bool) -> tuple[str, str | None, str | None]:
    """The names of the columns that are text, pair and label."""
    text, pair = columns.text, columns.pair
    if text is None:
        usual = next((names for names in _TEXTS if all(name is None or name in cells for name in names)), None)
        if usual is None:
            raise Problem(f"{file}: no column that is usual for text among {', '.join(map(repr, cells))}; name it "
                          "with --text-column")
        text, pair = usual[0], columns.pair or usual[1]
    labels = [columns.label] if columns.label else [name for name in _LABELS if name in cells]
    if labelled and not labels:
        raise Problem(f"{file}: no column that is usual for labels; name it with --label-column")
    if labelled and len(labels) > 1:
        raise Problem(f"{file}: labels in {labels[0]!r} and in {labels[1]!r}; name one with --label-column")
    return text, pair, labels[0] if labels else None


def labels_of(rows: Sequence[Row], names: Sequence[str], file: pathlib.Path) -> list[int]:
    """The ids of the rows' labels. A label is a name of the model's, or an id."""
    ids = {name: i for i, name in enumerate(names)}
    found = []
    for row in rows:
        assert row.label is not None
        number = int(row.label) if row.label.isascii() and row.label.isdigit() else -1
        label = ids.get(row.label, number if 0 <= number < len(names) else UNLABELLED)
        if label == UNLABELLED:
            shown = ", ".join(names[:3]) + (" ..." if len(names) > 3 else "")
            raise Problem(f"{file}: line {row.line}: label {row.label!r} is none of the model's {len(names)} ({shown}); "
                          "the data may be another task's")
        found.append(label)
    return found


@dataclass
class Texts:
    """Tokenised rows. `ids` and `types` are those of all rows, one behind another."""

    ids: numpy.ndarray  # [tokens]
    types: numpy.ndarray  # [tokens]
    begins: numpy.ndarray  # [rows + 1]
    labels: numpy.ndarray  # [rows], UNLABELLED where a row has none

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> numpy.ndarray:
        """Tokens of each row."""
        return numpy.diff(self.begins)

    def sample(self, count: int) -> "Texts":
        """So many rows drawn at random, always the same ones, or all: files may be sorted by label."""
        rows = numpy.random.default_rng([len(self), count]).permutation(len(self))[:count]
        return self.take(numpy.sort(rows))

    def take(self, rows: Sequence[int] | numpy.ndarray) -> "Texts":
        """Some of the rows, in the order given."""
        spans = [slice(self.begins[row], self.begins[row + 1]) for row in rows]
        return _packed([self.ids[s] for s in spans], [self.types[s] for s in spans], self.labels[rows])


def _packed(ids: Sequence[numpy.ndarray], types: Sequence[numpy.ndarray], labels: numpy.ndarray) -> Texts:
    begins = numpy.concatenate([[0], numpy.cumsum([len(row) for row in ids])]).astype(numpy.int64)
    empty = [numpy.zeros(0, numpy.int64)]
    return Texts(numpy.concatenate([*ids, *empty]), numpy.concatenate([*types, *empty]), begins, labels)


def tokenized(folder: pathlib.Path, rows: Sequence[Row], labels: Sequence[int] | None) -> Texts:
    """Rows as sti-run sees them, cut to what the model takes as it cuts them."""
    made = tools.tokenize(folder, [(row.text, row.pair) for row in rows])
    ids = [numpy.asarray(ids, numpy.int64) for ids, _ in made]
    types = [numpy.asarray(types or [0] * len(row), numpy.int64) for (_, types), row in zip(made, ids, strict=True)]
    return _packed(ids, types, numpy.full(len(rows), UNLABELLED) if labels is None else numpy.asarray(labels))


def joined(parts: Sequence[Texts]) -> Texts:
    """The rows of all parts, one part after another."""
    ids = [part.ids for part in parts]
    begins = [numpy.zeros(1, numpy.int64)]
    for part in parts:
        begins.append(part.begins[1:] + begins[-1][-1])
    return Texts(numpy.concatenate(ids), numpy.concatenate([part.types for part in parts]),
                 numpy.concatenate(begins), numpy.concatenate([part.labels for part in parts]))


@dataclass(frozen=True)
class Group:
    """Texts of equal length in a batch: their tokens from `begin`, one text behind another."""

    begin: int
    texts: int
    length: int


@dataclass(frozen=True)
class Padded:
    """The texts of a batch as rows of a table, all of them long enough for the longest text."""

    row_tokens: int  # a multiple of 8, as attention on a GPU needs of its mask's rows
    places: Tensor  # [tokens] where in the table each token stands, counted row after row
    known: Tensor  # [texts, 1, 1, row_tokens] where the table has a token


@dataclass
class Batch:
    """Texts packed for the network, those of equal length beside one another."""

    ids: Tensor  # [tokens]
    types: Tensor  # [tokens]
    positions: Tensor  # [tokens] place in its text
    firsts: Tensor  # [texts] each text's first token
    labels: Tensor  # [texts]
    groups: list[Group]
    rows: numpy.ndarray  # [texts] their numbers
    labelled: bool  # whether any text has a label; known without waiting for a GPU
    padded: Padded | None = None  # on a GPU

    def to(self, device: torch.device) -> "Batch":
        """The same batch on a device. On a GPU attention is computed on a padded table at once: each product of a
        group of texts would take as long to launch."""
        parts = {name: getattr(self, name).to(device) for name in ("ids", "types", "positions", "firsts", "labels")}
        return dataclasses.replace(self, **parts, padded=None if device.type == "cpu" else self.table(device))

    def table(self, device: torch.device) -> Padded:
        """Where the texts lie in a padded table."""
        lengths = numpy.repeat([group.length for group in self.groups], [group.texts for group in self.groups])
        row_tokens = -(-int(lengths[-1]) // 8) * 8
        begins = numpy.repeat(numpy.arange(len(lengths)) * row_tokens, lengths)
        known = torch.from_numpy(numpy.arange(row_tokens) < lengths[:, None])
        return Padded(row_tokens, (torch.from_numpy(begins) + self.positions).to(device),
                      known[:, None, None, :].to(device))


def batch_of(texts: Texts, rows: numpy.ndarray) -> Batch:
    """Packs rows, the shortest first."""
    lengths = texts.lengths[rows]
    order = numpy.argsort(lengths, kind="stable")
    rows, lengths = rows[order], lengths[order]
    firsts = numpy.concatenate([[0], numpy.cumsum(lengths)[:-1]])
    positions = numpy.arange(lengths.sum()) - numpy.repeat(firsts, lengths)
    where = numpy.repeat(texts.begins[rows], lengths) + positions
    groups = []
    for length in numpy.unique(lengths):
        same = numpy.flatnonzero(lengths == length)
        groups.append(Group(int(firsts[same[0]]), len(same), int(length)))
    return Batch(*(torch.from_numpy(numpy.ascontiguousarray(part)) for part in (
        texts.ids[where], texts.types[where], positions, firsts, texts.labels[rows])), groups=groups, rows=rows,
        labelled=bool((texts.labels[rows] != UNLABELLED).any()))


def in_order(texts: Texts, tokens: int) -> Iterator[Batch]:
    """All rows once, texts of like length together, in batches of about so many tokens."""
    order = numpy.argsort(texts.lengths, kind="stable")
    yield from (batch_of(texts, rows) for rows in _cut(texts.lengths, order, tokens))


def shuffled(texts: Texts, tokens: int, seed: int, first: int = 0) -> Iterator[Batch]:
    """Batches for training without end, from number `first` on. Which rows a batch has follows from the seed and
    its number alone, so that a run that was stopped goes on as if it had not been."""
    number = epoch = 0
    while True:
        order = numpy.random.default_rng([seed, epoch]).permutation(len(texts))
        for rows in _cut(texts.lengths, order, tokens):
            if number >= first:
                yield batch_of(texts, rows)
            number += 1
        epoch += 1


def _cut(lengths: numpy.ndarray, order: numpy.ndarray, tokens: int) -> Iterator[numpy.ndarray]:
    """Cuts an order of rows into pieces of about so many tokens."""
    ends = numpy.cumsum(lengths[order])
    pieces = (ends - 1) // tokens
    yield from numpy.split(order, numpy.flatnonzero(numpy.diff(pieces)) + 1)


def with_words_changed(texts: Texts, batch: Batch, share: float, draw: numpy.random.Generator) -> Batch:
    """A batch of the same rows with a share of their tokens replaced by tokens of other rows, or left out. What is
    between the first and the last token of a text, and of a text's pair, is changed; such rows have no label."""
    lengths = texts.lengths[batch.rows]
    row_of = numpy.repeat(numpy.arange(len(lengths)), lengths)
    firsts = batch.firsts.numpy()
    ids, types, labels = batch.ids.numpy().copy(), batch.types.numpy(), batch.labels.numpy().copy()
    outside = (ids == ids[firsts][row_of]) | (ids == ids[firsts + lengths - 1][row_of])
    change = ~outside & (draw.random(len(ids)) < share)
    gone = change & (draw.random(len(ids)) < 0.5)
    ids[change] = texts.ids[draw.integers(0, len(texts.ids), int(change.sum()))]
    labels[row_of[change]] = UNLABELLED
    begins = numpy.concatenate([[0], numpy.cumsum(numpy.bincount(row_of[~gone], minlength=len(lengths)))])
    return batch_of(Texts(ids[~gone], types[~gone], begins, labels), numpy.arange(len(labels)))


def chosen(rows: numpy.ndarray, share: float) -> numpy.ndarray:
    """A share of some numbers, at random, ascending. They are the same in every run, so that no model is judged by rows
    that the model it was made of has learned."""
    order = numpy.random.default_rng([1, 1 << 32]).permutation(rows)
    return numpy.sort(order[:round(len(rows) * share)])
