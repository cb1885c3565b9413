"""What is trained at a step: which submodels run on a batch, and what each learns from."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy
import torch
from torch import Tensor
from torch.nn import functional

from . import order
from .data import Batch
from .head import Head
from .network import Network, Run, Submodel


_TURNS = 3  # submodels of a step besides the whole


@dataclass(frozen=True)
class Family:
    """The submodels that are trained: depths with their layers, and widths, each from the least on."""

    depth_layers: tuple[tuple[int, ...], ...]
    heads: int
    least_depth: int
    least_width: int
    only: Submodel | None = None  # a model by itself: nothing else is trained

    @classmethod
    def plain(cls, whole: Submodel) -> "Family":
        """A plain model's: the whole alone is trained."""
        layers = len(whole.layers)
        return cls(tuple(map(tuple, order.prefix(layers))), whole.width, layers, whole.width, only=whole)

    def at(self, depth: int, width: int) -> Submodel:
        """The submodel of so many layers and heads."""
        return Submodel(self.depth_layers[depth - 1], width)

    @property
    def layers(self) -> int:
        """All layers."""
        return len(self.depth_layers)

    def whole(self) -> Submodel:
        """All layers, all heads; or the only submodel."""
        return self.only or self.at(self.layers, self.heads)

    def smallest(self) -> Submodel:
        """The least depth, the least width."""
        return self.at(self.least_depth, self.least_width)

    def random_depth(self, draw: numpy.random.Generator) -> int:
        """Any depth that is trained."""
        return int(draw.integers(self.least_depth, self.layers + 1))

    def random_width(self, draw: numpy.random.Generator) -> int:
        """Any width that is trained."""
        return int(draw.integers(self.least_width, self.heads + 1))

    def random(self, draw: numpy.random.Generator) -> Submodel:
        """Any depth, any width."""
        return self.at(self.random_depth(draw), self.random_width(draw))

    def grid(self) -> list[Submodel]:
        """A quarter, half and all of the depths, each at a quarter, half and all of the widths; the whole is last."""
        return [self.at(depths[-1], widths[-1]) for depths, widths in self._cells()]

    def near_grid(self, draw: numpy.random.Generator) -> list[Submodel]:
        """The grid, of which half of the submodels give way to a random one that is smaller than they are and larger
        than the next of the grid, so that all come up; and the whole in any case, which is last."""
        made = [self.at(int(draw.choice(depths)), int(draw.choice(widths))) if draw.random() < 0.5
                else self.at(depths[-1], widths[-1]) for depths, widths in self._cells()]
        return made if made[-1] == self.whole() else [*made, self.whole()]

    def _cells(self) -> list[tuple[range, range]]:
        """The depths and widths around each submodel of the grid: its own are the last ones."""
        depths, widths = _parts(self.least_depth, self.layers), _parts(self.least_width, self.heads)
        return [(n, m) for n in depths for m in widths]


def quarter(most: int) -> int:
    """A quarter of the layers, or of the heads, rounded up."""
    return -(-most // 4)


def _parts(least: int, most: int) -> list[range]:
    """Whole numbers from the least to the most in three parts, which end at a quarter, at half and at all of the
    most; without those parts that would be empty."""
    ends = sorted({max(least, part) for part in (quarter(most), most // 2, most)})
    return [range(low + 1, end + 1) for low, end in itertools.pairwise([least - 1, *ends])]


@dataclass(frozen=True)
class Method:
    """How a step goes. The defaults are those of `base`, from which each other method differs in few things.

    passes   sandwich: the whole model, the smallest, two random ones; grid: nine submodels, Family.near_grid; turns:
             the whole model and three others of these; one: a random one; nested: the whole model and three fixed
             widths, each at a random depth; exits: the whole model and a random width, and the head after each layer,
             so that a depth is the first layers
    soft, hard, hidden   weights of three losses: how far the answer is from the teacher's (KL divergence; of vectors
             one minus the cosine), cross-entropy of the label, mean squared distance of the last state from the
             teacher's
    nearest  every layer's state learns from that of the teacher's layer which is nearest to it
    stages   width first, with all layers; then depth as well, sorted again between
    drop     exits: how often the last layer is left out, earlier ones less often
    words    share of words that are replaced or left out in training text
    embeddings   whether embeddings learn as well; else they stay those of the plain model
    accumulate   batches whose gradients are summed before the weights change
    """

    passes: str = "sandwich"
    soft: float = 1.0
    hard: float = 0.3
    hidden: float = 0.3
    nearest: bool = False
    stages: bool = False
    drop: float = 0.0
    words: float = 0.0
    embeddings: bool = True
    accumulate: int = 1

    @property
    def asks(self) -> bool:
        """Whether submodels learn from a teacher."""
        return self.soft > 0 or self.hidden > 0

    def submodels(self, family: Family, draw: numpy.random.Generator, only_width: bool) -> list[Submodel]:
        """The submodels of a step."""
        if family.only:
            return [family.only]
        if only_width:
            widths = [family.heads, family.least_width, family.random_width(draw), family.random_width(draw)]
            return [family.at(family.layers, m) for m in widths]
        if self.passes == "one":
            return [family.random(draw)]
        if self.passes == "grid":
            return family.near_grid(draw)
        if self.passes == "turns":
            *others, whole = family.near_grid(draw)
            chosen = draw.choice(len(others), min(_TURNS, len(others)), replace=False)
            return [whole, *(others[i] for i in chosen)]
        if self.passes == "nested":
            widths = [family.heads, *(max(family.least_width, family.heads // part) for part in (2, 4))]
            return [family.whole(), *(family.at(family.random_depth(draw), m) for m in widths)]
        if self.passes == "exits":
            return [family.whole(), family.at(family.layers, family.random_width(draw))]
        return [family.whole(), family.smallest(), family.random(draw), family.random(draw)]

    def loss(self, head: Head, run: Run, batch: Batch, teacher: Run | None) -> Tensor:
        """What a submodel is to make small."""
        total = run.answers.new_zeros(())
        if teacher is not None and self.soft:
            total = total + self.soft * head.soft(run.answers, teacher.answers, batch)
        if self.hard and batch.labelled:
            total = total + self.hard * head.hard(run.answers, batch)
        if teacher is not None and self.hidden:
            total = total + self.hidden * self._distance(run.states, teacher.states)
        return total

    def _distance(self, states: Sequence[Tensor], wanted: Sequence[Tensor]) -> Tensor:
        if not self.nearest:
            return functional.mse_loss(states[-1], wanted[-1])
        distances = []
        for state in states[1:]:
            with torch.no_grad():
                nearest = min(wanted[1:], key=lambda want: float(functional.mse_loss(state, want)))
            distances.append(functional.mse_loss(state, nearest))
        return torch.stack(distances).mean()


def exits(network: Network, run: Run, batch: Batch) -> list[Run]:
    """The answers that the head gives after each layer of a run but the last."""
    return [Run(network.answer(run.states[n], batch), run.states[:n + 1]) for n in range(1, len(run.states) - 1)]


METHODS = {
    "base": Method(),
    "once-for-all": Method(hard=1.0, hidden=0.0, stages=True),
    "sortednet": Method(passes="one", soft=0.0, hard=1.0, hidden=0.0, accumulate=4),
    "matformer": Method(passes="nested"),
    "layerskip": Method(passes="exits", drop=0.2),
    "cofi": Method(nearest=True),
    "words": Method(words=0.15),
    "grid": Method(passes="grid", words=0.15),
    "turns": Method(passes="turns", words=0.15),
    "anchored": Method(passes="turns", words=0.3, embeddings=False),
}
