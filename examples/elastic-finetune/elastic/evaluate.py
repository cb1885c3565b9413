"""How good submodels are on texts that were not trained on, and whether one is better than another by chance."""

import math
from collections.abc import Sequence

import numpy
import torch
from torch import Tensor
from torch.nn import functional

from . import data
from .data import Texts
from .network import Network, Shape, Submodel, Teacher

_TOKENS = 8192


def answers(network: Network, texts: Texts, submodel: Submodel, device: torch.device) -> Tensor:
    """[rows or tokens, numbers] what a submodel's head answers, in the order of the texts or of their tokens."""
    network.eval()
    return _answers(lambda batch: network(batch, submodel), network.shape, texts, device)


def _answers(ask: Teacher, shape: Shape, texts: Texts, device: torch.device) -> Tensor:
    head = shape.head
    found = torch.zeros(len(texts.ids) if head.each_token else len(texts), head.numbers(shape))
    with torch.no_grad():
        for batch in data.in_order(texts, _TOKENS):
            places = texts.places(batch) if head.each_token else torch.from_numpy(batch.rows)
            found[places] = ask(batch.to(device)).answers.float().cpu()
    return found


class Judge:
    """Says how good submodels are on some texts, by the measure of their head."""

    def __init__(self, shape: Shape, texts: Texts, device: torch.device, plain: Teacher):
        """`plain`: whom a model that embeds is compared with; others are judged by labels."""
        self.head, self.texts, self.device = shape.head, texts, device
        self.wanted = shape.head.wanted(texts, lambda: _answers(plain, shape, texts, device))

    def __call__(self, network: Network, submodel: Submodel) -> float:
        return self.head.judge(answers(network, self.texts, submodel, self.device), self.wanted, self.texts)

    def said(self, network: Network, submodel: Submodel) -> str:
        """What it finds of a submodel, as a line says it: `accuracy 93.20 % of 300 rows`."""
        return f"{self.head.measure} {self.head.shown(self(network, submodel))} of {len(self.texts)} rows"


def hits(logits: Tensor, texts: Texts) -> numpy.ndarray:
    """[rows] whether the likeliest label of each row is its own."""
    return logits.argmax(1).numpy() == texts.labels


def divergence(found: Tensor, wanted: Tensor) -> float:
    """How far the probabilities of logits [rows, labels] are from those that are wanted, as KL divergence in nats a
    row."""
    return float(functional.kl_div(functional.log_softmax(found, 1), functional.log_softmax(wanted, 1),
                                   reduction="batchmean", log_target=True))


def right(network: Network, texts: Texts, submodel: Submodel, device: torch.device) -> numpy.ndarray:
    """[rows] whether a submodel's likeliest label is the row's."""
    return hits(answers(network, texts, submodel, device), texts)


def share_right(network: Network, texts: Texts, submodel: Submodel, device: torch.device) -> float:
    """The accuracy, from 0 to 1."""
    return float(right(network, texts, submodel, device).mean())


def mcnemar(a: numpy.ndarray, b: numpy.ndarray) -> float:
    """How probable it is that two classifiers that are equally good differ on these rows as much as they do, or
    more (McNemar's exact test, two-sided)."""
    gained, lost = int((~a & b).sum()), int((a & ~b).sum())
    n = gained + lost
    tail = sum(math.comb(n, k) for k in range(min(gained, lost) + 1)) / 2**n
    return min(1.0, 2 * tail)


def standard_error(share: float, rows: int) -> float:
    """Of an accuracy measured on so many rows."""
    return math.sqrt(share * (1 - share) / rows)


def table(cells: dict[tuple[int, int], str], depths: Sequence[int], widths: Sequence[int]) -> str:
    """Values as they are printed, a row a depth."""
    lines = ["depth \\ width " + "".join(f"{m:>7}" for m in widths)]
    lines += [f"{n:>13} " + "".join(f"{cells[n, m]:>7}" for m in widths) for n in depths]
    return "\n".join(lines)
