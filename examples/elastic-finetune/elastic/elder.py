"""A larger network as the teacher of a smaller one, or another one of the same task: its words and its hidden states
are not those of the network that learns.
"""

import dataclasses

import torch
from torch import Tensor

from . import data
from .data import Batch, Texts
from .folder import ModelFolder
from .network import Network, Run
from .problem import Problem
from .smaller import vocabulary

_ROWS = 400  # that states are compared on
_TOKENS = 4096


class Elder:
    """A larger network as a teacher: it reads the words of the smaller one, and its states are seen in `u`."""

    def __init__(self, larger: Network, words: Tensor, u: Tensor):
        self.larger, self.words, self.u = larger, words, u

    def __call__(self, batch: Batch) -> Run:
        run = self.larger(dataclasses.replace(batch, ids=self.words[batch.ids]))
        return Run(run.answers, [state @ self.u for state in run.states])


def elder_of(folder: ModelFolder, source: ModelFolder, network: Network, texts: Texts, device: torch.device) -> Elder:
    """The model of `folder` as the teacher of `network`, which is that of `source`. What its states are to those of the
    network is fitted to `texts`."""
    if folder.labels() != source.labels():
        raise Problem(f"--teacher {folder.path}: its labels are not those of {source.path}; both must be of one task, "
                      "with labels in the same order")
    larger = folder.load().eval()
    if larger.shape.positions < network.shape.positions:
        raise Problem(f"--teacher {folder.path}: takes texts of {larger.shape.positions} tokens, and {source.path} of "
                      f"{network.shape.positions}; name one that takes as many")
    head = network.shape.head
    if head.numbers(larger.shape) != head.numbers(network.shape):
        raise Problem(f"--teacher {folder.path}: its vectors have {head.numbers(larger.shape)} numbers, and those of "
                      f"{source.path} {head.numbers(network.shape)}; name one with as many")
    words = _words_of(folder, source)
    with torch.no_grad():
        batches = list(data.in_order(texts.sample(_ROWS), _TOKENS))
        own = torch.cat([network(batch).states[-1] for batch in batches])
        elder = Elder(larger, words, torch.eye(larger.shape.hidden))
        theirs = torch.cat([elder(batch).states[-1] for batch in batches])
    u = torch.linalg.lstsq(theirs.double(), own.double(), driver="gelsd").solution.float()
    return Elder(larger.to(device), words.to(device), u.to(device))


def _words_of(folder: ModelFolder, source: ModelFolder) -> Tensor:
    """The number in the vocabulary of `folder` of each word of `source`."""
    if not (source.path / "vocab.txt").exists() and folder.config["vocab_size"] == source.config["vocab_size"]:
        return torch.arange(source.config["vocab_size"])
    numbers = {word: number for number, word in enumerate(vocabulary(folder.path))}
    names = vocabulary(source.path)
    missing = [word for word in names if word not in numbers]
    if missing:
        raise Problem(f"--teacher {folder.path}: its vocabulary lacks {missing[0]!r} and {len(missing) - 1} others of "
                      f"{source.path}; name a model whose vocabulary holds them")
    return torch.tensor([numbers[word] for word in names])
