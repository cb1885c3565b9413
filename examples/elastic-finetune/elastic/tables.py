"""Labelled texts as people have them in files.

A file is a table with tabs or commas, or JSON Lines, in the columns that sti-run --eval knows (docs/guide/data.md),
and means what it means there (lib/text/dataset/columns.cpp).
"""

import csv
import io
import json
import pathlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .problem import Problem

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
        label = ids.get(row.label, number if 0 <= number < len(names) else None)
        if label is None:
            shown = ", ".join(names[:3]) + (" ..." if len(names) > 3 else "")
            raise Problem(f"{file}: line {row.line}: label {row.label!r} is none of the model's {len(names)} ({shown}); "
                          "the data may be another task's")
        found.append(label)
    return found
