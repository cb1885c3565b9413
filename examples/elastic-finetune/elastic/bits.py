"""Weights as a reader of few bits sees them, so that a model can be trained for it.

The project's own quantiser is asked, not written again: the network goes through sti-shard, and sti-inspect --export
gives back what each bitwidth keeps of it. How far each weight is moved by that is added to the weights while they are
trained, and asked for anew every so many steps; gradients go to the weights themselves (straight-through).
"""

import pathlib
import tempfile
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from . import tools
from .folder import ModelFolder
from .network import MATRICES, Network


class FewBits:
    """How some bitwidths change each weight."""

    def __init__(self, source: ModelFolder, bits: Sequence[int], every: int):
        self.source, self.bits, self.every = source, tuple(bits), every
        self.changes: dict[int, list[dict[str, Tensor]]] = {}

    def refresh(self, network: Network) -> None:
        """Asks the tools what they keep of the weights as they are now."""
        with tempfile.TemporaryDirectory(prefix="elastic.") as scratch:
            folder = pathlib.Path(scratch, "model")
            self.source.save(network, folder, {"elastic": None})
            head = self.source.head
            whole = ModelFolder(folder, head).load()
            with tools.seen_at(folder, self.bits, head.shard_options) as folders:
                self.changes = {bits: _apart(ModelFolder(seen, head).load(), whole, network.words.weight.device)
                                for bits, seen in folders.items()}

    def restore(self, changes: Mapping[int, Sequence[Mapping[str, Tensor]]], device: torch.device) -> None:
        """Goes back to what was kept of `changes`."""
        self.changes = {bits: [{name: each.to(device) for name, each in layer.items()} for layer in layers]
                        for bits, layers in changes.items()}

    def show(self, network: Network, bits: int | None) -> None:
        """Lets a network compute with what a reader of so many bits sees; None: with all."""
        for i, layer in enumerate(network.layers):
            layer.change = self.changes[bits][i] if bits else {}


def _apart(seen: Network, whole: Network, device: torch.device) -> list[dict[str, Tensor]]:
    """What is to be added to each matrix of each layer of the whole network so that it is the seen one's."""
    return [{name: (getattr(a, name).weight - getattr(b, name).weight).detach().to(device) for name in MATRICES}
            for a, b in zip(seen.layers, whole.layers, strict=True)]
