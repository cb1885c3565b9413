"""How many rows submodels get right, and whether one does so more often than another by chance."""

import math
from collections.abc import Sequence

import numpy
import torch
from torch import Tensor
from torch.nn import functional

from . import data
from .data import Texts
from .network import Network, Submodel

_TOKENS = 8192


def answers(network: Network, texts: Texts, submodel: Submodel, device: torch.device) -> Tensor:
    """[rows, labels] logits of a submodel, in the order of the texts."""
    network.eval()
    found = torch.zeros(len(texts), network.shape.labels)
    with torch.no_grad():
        for batch in data.in_order(texts, _TOKENS):
            found[batch.rows] = network(batch.to(device), submodel).logits.float().cpu()
    return found


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


def table(cells: dict[tuple[int, int], float], depths: Sequence[int], widths: Sequence[int]) -> str:
    """Accuracies in percent, a row a depth."""
    lines = ["depth \\ width " + "".join(f"{m:>7}" for m in widths)]
    lines += [f"{n:>13} " + "".join(f"{100 * cells[n, m]:7.2f}" for m in widths) for n in depths]
    return "\n".join(lines)
