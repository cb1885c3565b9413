"""A frozen teacher's answers to all training texts, computed once: most runs see each text many times."""

import torch
from torch import Tensor

from . import data
from .data import Batch, Texts
from .network import Run, Shape, Teacher

ROOM = 1 << 30  # bytes that the answers may take
_TOKENS = 4096


def room(texts: Texts, shape: Shape) -> int:
    """The bytes of the answers to some texts, and of a last state of two-byte numbers a token."""
    answers = len(texts.ids) if shape.head.each_token else len(texts)
    return 2 * len(texts.ids) * shape.hidden + 4 * answers * shape.head.numbers(shape)


class Remembered:
    """A teacher that looks up its answers. It knows the texts it was made with, by their numbers there, and of the
    states the last one alone. Answers are the same in every process, whatever the batches are."""

    def __init__(self, teacher: Teacher, texts: Texts, shape: Shape, device: torch.device):
        self.texts, self.device, self.head = texts, device, shape.head
        self.answers = torch.empty(len(texts.ids) if self.head.each_token else len(texts), self.head.numbers(shape))
        self.states = torch.empty(len(texts.ids), shape.hidden, dtype=torch.float16)
        with torch.no_grad():
            for batch in data.in_order(texts, _TOKENS):
                run = teacher(batch.to(device))
                self.answers[self._numbers(batch)] = run.answers.float().cpu()
                self.states[texts.places(batch)] = run.states[-1].half().cpu()

    def __call__(self, batch: Batch) -> Run:
        answers, state = self.answers[self._numbers(batch)], self.states[self.texts.places(batch)]
        return Run(answers.to(self.device), [state.float().to(self.device)])

    def _numbers(self, batch: Batch) -> Tensor:
        """Where the answers to a batch stand among those to all texts."""
        return self.texts.places(batch) if self.head.each_token else torch.from_numpy(batch.rows)
