"""Heads: what stands behind the last layer, what it learns, and by which measure it is judged.

There are three: labels of texts, labels of words, and vectors of texts. What a head makes of a batch are its
*answers*, rows of numbers: one row a text, or one a token. Everything else in this package asks the head of a network
where the three differ.
"""

from __future__ import annotations

import pathlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy
import torch
from torch import Tensor, nn
from torch.nn import functional

from . import data, tables, tagged
from .data import UNLABELLED, Batch, Texts
from .tables import Columns

if TYPE_CHECKING:
    from .network import Network, Shape


class Head(ABC):
    """What all heads can be asked. A head has no weights: those are the network's."""

    each_token = False  # whether answers are those of tokens, else of texts
    labelled = "rows"  # what has a label
    measure = "accuracy"
    percent = True  # how the measure is written: in percent, or as a number up to 1
    published = ""  # how Hugging Face's names of such models end

    @property
    def shard_options(self) -> Sequence[str]:
        """What sti-shard has to be told of a folder with this head."""
        return ()

    def modules(self, shape: Shape) -> dict[str, nn.Module]:
        """The modules that the network has for this head, by their names, in the order in which they are made."""
        return {}

    def tensors(self, of_texts: Mapping[str, str]) -> Mapping[str, str]:
        """What these modules are called in a folder, where they are called `of_texts` if texts are labelled."""
        return {}

    def numbers(self, shape: Shape) -> int:
        """How many numbers an answer has."""
        return shape.labels

    @abstractmethod
    def answers(self, network: Network, x: Tensor, batch: Batch, dropout: float) -> Tensor:
        """The answers [texts or tokens, numbers] for what the last layer gives, [tokens, hidden]."""

    def asked(self, answers: Tensor, batch: Batch) -> Tensor:
        """Those of the answers that a teacher's are learned of."""
        return answers

    def apart(self, found: Tensor, wanted: Tensor) -> Tensor:
        """How far answers are from those that are wanted, a sum: KL divergence of probabilities, in nats."""
        return functional.kl_div(functional.log_softmax(found, 1), functional.log_softmax(wanted, 1), reduction="sum",
                                 log_target=True)

    def soft(self, found: Tensor, wanted: Tensor, batch: Batch) -> Tensor:
        """The loss of answers beside a teacher's, a mean."""
        asked = self.asked(found, batch)
        return self.apart(asked, self.asked(wanted, batch)) / max(1, len(asked))

    def hard(self, found: Tensor, batch: Batch) -> Tensor:
        """The loss of answers beside the labels of a batch that has some, a mean."""
        return functional.cross_entropy(found, batch.labels, ignore_index=UNLABELLED)

    def worth(self, found: Tensor, batch: Batch, wanted: Tensor | None) -> Tensor:
        """The loss by whose gradient heads and neurons are judged. What has no label counts by a teacher's answer, if
        there is one."""
        labels = batch.labels
        if wanted is not None:
            labels = torch.where(labels == UNLABELLED, wanted.argmax(1), labels)
        return functional.cross_entropy(found, labels, ignore_index=UNLABELLED)

    def wanted(self, texts: Texts, plain: Callable[[], Tensor]) -> Tensor:
        """What answers to texts are judged by: their labels, or what `plain` gives, the plain model's answers."""
        return torch.from_numpy(texts.labels)

    @abstractmethod
    def judge(self, found: Tensor, wanted: Tensor, texts: Texts) -> float:
        """The measure of answers, up to 1."""

    @abstractmethod
    def read(self, folder: pathlib.Path, file: pathlib.Path, columns: Columns, names: Sequence[str]) -> Texts:
        """The texts of a file, with the ids that a model folder gives them and, if they have any, their labels."""

    def read_bare(self, folder: pathlib.Path, file: pathlib.Path, columns: Columns) -> Texts:
        """The texts of a file, without labels."""
        rows = tables.read_rows(file, columns, labelled=False)
        return data.tokenized(folder, rows, None, self.shard_options, self.each_token)

    def number(self, value: float) -> str:
        """The measure in a table."""
        return f"{100 * value:.2f}" if self.percent else f"{value:.4f}"

    def shown(self, value: float) -> str:
        """The measure in a line."""
        return self.number(value) + (" %" if self.percent else "")


class TextLabels(Head):
    """A label a text: a pooler sees the first token's row, and a classifier the pooler's."""

    published = "ForSequenceClassification"

    def modules(self, shape: Shape) -> dict[str, nn.Module]:
        return {"pooler": nn.Linear(shape.hidden, shape.hidden), "classifier": nn.Linear(shape.hidden, shape.labels)}

    def tensors(self, of_texts: Mapping[str, str]) -> Mapping[str, str]:
        return of_texts

    def answers(self, network: Network, x: Tensor, batch: Batch, dropout: float) -> Tensor:
        is_tanh = network.shape.head_activation == "tanh"
        first = functional.dropout(x[batch.firsts], dropout if is_tanh else 0.0, network.training)
        pooled = network.pooler(first)
        pooled = torch.tanh(pooled) if is_tanh else functional.relu(pooled)
        return network.classifier(functional.dropout(pooled, dropout, network.training))

    def judge(self, found: Tensor, wanted: Tensor, texts: Texts) -> float:
        return float((found.argmax(1) == wanted).numpy().mean())

    def read(self, folder: pathlib.Path, file: pathlib.Path, columns: Columns, names: Sequence[str]) -> Texts:
        rows = tables.read_rows(file, columns)
        return data.tokenized(folder, rows, tables.labels_of(rows, names, file))


@dataclass(frozen=True)
class WordLabels(Head):
    """A tag a word: a classifier sees each token's row, and a word has the tag of its first token."""

    names: tuple[str, ...]  # of the tags, by id

    each_token = True
    labelled = "words"
    measure = "span F1"
    published = "ForTokenClassification"

    def modules(self, shape: Shape) -> dict[str, nn.Module]:
        return {"classifier": nn.Linear(shape.hidden, shape.labels)}

    def tensors(self, of_texts: Mapping[str, str]) -> Mapping[str, str]:
        return {"classifier": "classifier"}

    def answers(self, network: Network, x: Tensor, batch: Batch, dropout: float) -> Tensor:
        return network.classifier(functional.dropout(x, dropout, network.training))

    def asked(self, answers: Tensor, batch: Batch) -> Tensor:
        """The rows of all tokens between the control tokens at both ends of a text."""
        return answers[batch.inside()]

    def worth(self, found: Tensor, batch: Batch, wanted: Tensor | None) -> Tensor:
        """That of all words or, with a teacher, of all tokens of the text."""
        labels = batch.labels
        if wanted is not None:
            labels = torch.where((labels == UNLABELLED) & batch.inside(), wanted.argmax(1), labels)
        return functional.cross_entropy(found, labels, ignore_index=UNLABELLED, reduction="sum") / len(batch.firsts)

    def judge(self, found: Tensor, wanted: Tensor, texts: Texts) -> float:
        return tagged.f1(found.argmax(1).numpy(), wanted.numpy(), texts, self.names)

    def read(self, folder: pathlib.Path, file: pathlib.Path, columns: Columns, names: Sequence[str]) -> Texts:
        rows = tagged.read_rows(file)
        return tagged.tokenized(folder, rows, tagged.labels_of(rows, names, file))


@dataclass(frozen=True)
class Vectors(Head):
    """A vector a text: the rows of its tokens, pooled. There are no labels, and what is learned is the direction of the
    plain model's vector."""

    pooling: str  # one of POOLINGS
    unit: bool  # whether vectors have unit length
    stated: bool  # whether the folder says so itself; else sti-shard is told

    measure = "mean cosine"
    percent = False
    published = "Model"

    @property
    def shard_options(self) -> Sequence[str]:
        return () if self.stated else ("--pooling", self.pooling)

    def numbers(self, shape: Shape) -> int:
        return shape.hidden

    def answers(self, network: Network, x: Tensor, batch: Batch, dropout: float) -> Tensor:
        x = x.float()
        if self.pooling == "cls":
            pooled = x[batch.firsts]
        else:
            texts = [part.view(group.texts, group.length, -1) for group, part in zip(
                batch.groups, x.split([group.texts * group.length for group in batch.groups]), strict=True)]
            pooled = torch.cat([part.mean(1) if self.pooling == "mean" else part.amax(1) for part in texts])
        return functional.normalize(pooled, dim=1) if self.unit else pooled

    def apart(self, found: Tensor, wanted: Tensor) -> Tensor:
        """A sum of one minus the cosine."""
        return (1 - functional.cosine_similarity(found, wanted)).sum()

    def worth(self, found: Tensor, batch: Batch, wanted: Tensor | None) -> Tensor:
        """The part of each vector, of unit length, along a random direction. The loss itself is least where a model is
        beside its own vectors, and has no gradient there; directions tell how far any change would move a vector."""
        draw = torch.Generator().manual_seed(int(batch.rows[0]))
        along = torch.randn(found.shape, generator=draw).to(found.device)
        return (functional.normalize(found, dim=1) * along).sum() / len(found)

    def wanted(self, texts: Texts, plain: Callable[[], Tensor]) -> Tensor:
        return plain()

    def judge(self, found: Tensor, wanted: Tensor, texts: Texts) -> float:
        return float(functional.cosine_similarity(found, wanted).mean())

    def read(self, folder: pathlib.Path, file: pathlib.Path, columns: Columns, names: Sequence[str]) -> Texts:
        return self.read_bare(folder, file, columns)


POOLINGS = ("mean", "cls", "max")


def labels_in(texts: Texts) -> numpy.ndarray:
    """The ids of the labels that occur."""
    return numpy.unique(texts.labels[texts.labels != UNLABELLED])
