"""Tokenised texts with their labels, and batches of them."""

import dataclasses
import pathlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy
import torch
from torch import Tensor

from . import tools
from .tables import Row

UNLABELLED = -1


@dataclass
class Texts:
    """Tokenised rows. `ids` and `types` are those of all rows, one behind another."""

    ids: numpy.ndarray  # [tokens]
    types: numpy.ndarray  # [tokens]
    begins: numpy.ndarray  # [rows + 1]
    labels: numpy.ndarray  # [rows], or [tokens] if each token may have one; UNLABELLED where there is none
    each_token: bool = False

    def __len__(self) -> int:
        return len(self.begins) - 1

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
        labels = numpy.concatenate([self.labels[s] for s in spans]) if self.each_token and spans else self.labels[rows]
        return _packed([self.ids[s] for s in spans], [self.types[s] for s in spans], labels, self.each_token)

    def places(self, batch: "Batch") -> Tensor:
        """Where the tokens of a batch stand among those of all rows."""
        begins = numpy.repeat(self.begins[batch.rows], self.lengths[batch.rows])
        return torch.from_numpy(begins) + batch.positions.cpu()


def _packed(ids: Sequence[numpy.ndarray], types: Sequence[numpy.ndarray], labels: numpy.ndarray,
            each_token: bool) -> Texts:
    begins = numpy.concatenate([[0], numpy.cumsum([len(row) for row in ids])]).astype(numpy.int64)
    empty = [numpy.zeros(0, numpy.int64)]
    return Texts(numpy.concatenate([*ids, *empty]), numpy.concatenate([*types, *empty]), begins, labels, each_token)


def tokenized(folder: pathlib.Path, rows: Sequence[Row], labels: Sequence[int] | None,
              shard_options: Sequence[str] = (), each_token: bool = False) -> Texts:
    """Rows as sti-run sees them, cut to what the model takes as it cuts them. `shard_options` are what sti-shard has to
    be told of the model."""
    made = [(ids, types) for ids, types, _ in tools.tokenize(folder, [(row.text, row.pair) for row in rows],
                                                             shard_options)]
    if each_token:
        return packed_rows(made, [numpy.full(len(ids), UNLABELLED) for ids, _ in made])
    return packed_rows(made, numpy.full(len(rows), UNLABELLED) if labels is None else numpy.asarray(labels))


def packed_rows(rows: Sequence[tuple[list[int], list[int] | None]],
                labels: numpy.ndarray | Sequence[numpy.ndarray]) -> Texts:
    """Texts of the ids and types of rows. Labels are those of rows [rows], or a list of those of each row's tokens."""
    ids = [numpy.asarray(ids, numpy.int64) for ids, _ in rows]
    types = [numpy.asarray(types or [0] * len(row), numpy.int64) for (_, types), row in zip(rows, ids, strict=True)]
    if isinstance(labels, numpy.ndarray):
        return _packed(ids, types, labels, False)
    return _packed(ids, types, numpy.concatenate([*labels, numpy.zeros(0, numpy.int64)]), True)


def joined(parts: Sequence[Texts]) -> Texts:
    """The rows of all parts, one part after another."""
    ids = [part.ids for part in parts]
    begins = [numpy.zeros(1, numpy.int64)]
    for part in parts:
        begins.append(part.begins[1:] + begins[-1][-1])
    return Texts(numpy.concatenate(ids), numpy.concatenate([part.types for part in parts]),
                 numpy.concatenate(begins), numpy.concatenate([part.labels for part in parts]), parts[0].each_token)


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
    labels: Tensor  # [texts] or [tokens], as in Texts
    groups: list[Group]
    rows: numpy.ndarray  # [texts] their numbers
    labelled: bool  # whether there is any label; known without waiting for a GPU
    padded: Padded | None = None  # on a GPU

    def to(self, device: torch.device) -> "Batch":
        """The same batch on a device. On a GPU attention is computed on a padded table at once: each product of a
        group of texts would take as long to launch."""
        parts = {name: getattr(self, name).to(device) for name in ("ids", "types", "positions", "firsts", "labels")}
        return dataclasses.replace(self, **parts, padded=None if device.type == "cpu" else self.table(device))

    def inside(self) -> Tensor:
        """[tokens] whether a token is neither the first nor the last of its text."""
        inside = torch.ones(len(self.ids), dtype=torch.bool, device=self.ids.device)
        inside[self.firsts] = inside[self.firsts - 1] = False  # in front of the first one stands the last of all
        return inside

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
    labels = texts.labels[where if texts.each_token else rows]
    return Batch(*(torch.from_numpy(numpy.ascontiguousarray(part)) for part in (
        texts.ids[where], texts.types[where], positions, firsts, labels)), groups=groups, rows=rows,
        labelled=bool((labels != UNLABELLED).any()))


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
    between the first and the last token of a text, and of a text's pair, is changed; such rows have no labels."""
    lengths = texts.lengths[batch.rows]
    row_of = numpy.repeat(numpy.arange(len(lengths)), lengths)
    firsts = batch.firsts.numpy()
    ids, types, labels = batch.ids.numpy().copy(), batch.types.numpy(), batch.labels.numpy().copy()
    outside = (ids == ids[firsts][row_of]) | (ids == ids[firsts + lengths - 1][row_of])
    change = ~outside & (draw.random(len(ids)) < share)
    gone = change & (draw.random(len(ids)) < 0.5)
    ids[change] = texts.ids[draw.integers(0, len(texts.ids), int(change.sum()))]
    changed = numpy.isin(numpy.arange(len(lengths)), row_of[change])
    labels[changed[row_of] if texts.each_token else changed] = UNLABELLED
    labels = labels[~gone] if texts.each_token else labels
    begins = numpy.concatenate([[0], numpy.cumsum(numpy.bincount(row_of[~gone], minlength=len(lengths)))])
    return batch_of(Texts(ids[~gone], types[~gone], begins, labels, texts.each_token), numpy.arange(len(lengths)))


def chosen(rows: numpy.ndarray, share: float) -> numpy.ndarray:
    """A share of some numbers, at random, ascending. They are the same in every run, so that no model is judged by rows
    that the model it was made of has learned."""
    order = numpy.random.default_rng([1, 1 << 32]).permutation(rows)
    return numpy.sort(order[:round(len(rows) * share)])
