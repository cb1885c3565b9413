"""Which heads, neurons and layers a submodel does without, and putting the others first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .data import Batch
from .network import Layer, Network, Submodel, Teacher


@dataclass
class Scores:
    """What each head and each neuron is worth, by layer."""

    heads: list[Tensor]  # [layers] of [heads]
    neurons: list[Tensor]  # [layers] of [neurons]


def scores(network: Network, batches: Iterable[Batch], teacher: Teacher | None = None) -> Scores:
    """Sums, over batches, how much the loss would change to first order if a head or a neuron were left out:
    |weight x gradient| of what it adds to the layer's output. What has no label counts by the teacher's answer."""
    shape = network.shape
    total = Scores([torch.zeros(shape.heads) for _ in network.layers], [torch.zeros(shape.ffn) for _ in network.layers])
    for batch in batches:
        network.zero_grad(set_to_none=True)
        with torch.no_grad():
            wanted = None if teacher is None else teacher(batch).answers
        shape.head.worth(network(batch).answers, batch, wanted).backward()
        for i, layer in enumerate(network.layers):
            for weight, sums in ((layer.attention_output.weight, total.heads[i]),
                                 (layer.output.weight, total.neurons[i])):
                columns = (weight.detach() * weight.grad).sum(0).view(len(sums), -1).sum(1)
                sums += columns.abs().cpu()
    network.zero_grad(set_to_none=True)
    return total


def sort(network: Network, by: Scores, optimizer: torch.optim.Optimizer | None = None) -> None:
    """Puts heads and neurons in order of their worth, the greatest first. The whole model computes what it did. What
    the optimizer keeps of a weight moves with it."""
    size = network.shape.hidden // network.shape.heads
    for i, layer in enumerate(network.layers):
        heads = by.heads[i].argsort(descending=True, stable=True)
        rows = (heads[:, None] * size + torch.arange(size)).flatten()
        neurons = by.neurons[i].argsort(descending=True, stable=True)
        for parameter, dimension, order in _places(layer, rows, neurons):
            moved = [parameter.data]
            if optimizer is not None:
                moved += [kept for kept in optimizer.state[parameter].values()
                          if isinstance(kept, Tensor) and kept.shape == parameter.shape]
            for tensor in moved:
                tensor.copy_(tensor.index_select(dimension, order.to(tensor.device)))


def _places(layer: Layer, rows: Tensor, neurons: Tensor) -> list[tuple[Tensor, int, Tensor]]:
    """The parameters in which heads or neurons have places, and the dimension of these."""
    places = []
    for linear, order in ((layer.query, rows), (layer.key, rows), (layer.value, rows), (layer.inner, neurons)):
        places += [(linear.weight, 0, order), (linear.bias, 0, order)]
    return [*places, (layer.attention_output.weight, 1, rows), (layer.output.weight, 1, neurons)]


def prefix(layers: int) -> list[list[int]]:
    """Depth n is the first n layers."""
    return [list(range(n)) for n in range(1, layers + 1)]


def evenly(layers: int) -> list[list[int]]:
    """Depth n is n layers at equal distances, the last one among them."""
    return [[(i + 1) * layers // n - 1 for i in range(n)] for n in range(1, layers + 1)]


def nested(network: Network, batches: Sequence[Batch]) -> list[list[int]]:
    """Depth n - 1 is depth n without the layer that is missed least: with whose absence the answers on these batches
    stay nearest to the whole model's."""
    head = network.shape.head
    with torch.no_grad():
        wanted = [head.asked(network(batch).answers, batch) for batch in batches]

        def distance(layers: tuple[int, ...]) -> float:
            submodel = Submodel(layers, network.shape.heads)
            apart = [head.apart(head.asked(network(batch, submodel).answers, batch), want)
                     for batch, want in zip(batches, wanted, strict=True)]
            return float(torch.stack(apart).sum())

        kept = tuple(range(network.shape.layers))
        chain = [kept]
        while len(kept) > 1:
            kept = min((kept[:i] + kept[i + 1:] for i in range(len(kept))), key=distance)
            chain.append(kept)
    return [list(layers) for layers in reversed(chain)]
