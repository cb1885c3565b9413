"""A frozen teacher's answers to all training texts, computed once: most runs see each text many times."""

import numpy
import torch
from torch import Tensor

from . import data
from .data import Batch, Texts
from .network import Run, Shape, Teacher

ROOM = 1 << 30  # bytes that the answers may take
_TOKENS = 4096


def room(texts: Texts, shape: Shape) -> int:
    """The bytes of the answers to some texts: a last state of two-byte numbers a token, logits a text."""
    return 2 * len(texts.ids) * shape.hidden + 4 * len(texts) * shape.labels


class Remembered:
    """A teacher that looks up its answers. It knows the texts it was made with, by their numbers there, and of the
    states the last one alone. Answers are the same in every process, whatever the batches are."""

    def __init__(self, teacher: Teacher, texts: Texts, shape: Shape, device: torch.device):
        self.texts, self.device = texts, device
        self.logits = torch.empty(len(texts), shape.labels)
        self.states = torch.empty(len(texts.ids), shape.hidden, dtype=torch.float16)
        with torch.no_grad():
            for batch in data.in_order(texts, _TOKENS):
                run = teacher(batch.to(device))
                self.logits[torch.from_numpy(batch.rows)] = run.logits.float().cpu()
                self.states[self._places(batch)] = run.states[-1].half().cpu()

    def __call__(self, batch: Batch) -> Run:
        logits, state = self.logits[torch.from_numpy(batch.rows)], self.states[self._places(batch)]
        return Run(logits.to(self.device), [state.float().to(self.device)])

    def _places(self, batch: Batch) -> Tensor:
        """Where the tokens of a batch stand among those of all texts."""
        begins = numpy.repeat(self.texts.begins[batch.rows], self.texts.lengths[batch.rows])
        return torch.from_numpy(begins) + batch.positions.cpu()
