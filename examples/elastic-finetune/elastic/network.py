"""The transformer whose submodels are trained: BERT, DistilBERT and RoBERTa as one network.

Texts of a batch are packed one behind another, without padding: [tokens, hidden]. Linear maps see
all tokens at once, and attention those of texts of equal length together, or on a GPU a padded table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from .data import Batch, Group, Padded
from .head import Head
from .problem import Problem

# cuDNN plans its attention anew for each shape, and each batch has another one.
torch.backends.cuda.enable_cudnn_sdp(False)

# The matrices of a layer, which are stored at few bits.
MATRICES = ("query", "key", "value", "attention_output", "inner", "output")

_ACTIVATIONS = {
    "gelu": functional.gelu,
    "relu": functional.relu,
    "gelu_new": lambda x: functional.gelu(x, approximate="tanh"),
}


@dataclass(frozen=True)
class Shape:
    """The sizes of a model, and where architectures differ."""

    layers: int
    heads: int
    hidden: int
    ffn: int
    words: int
    positions: int
    types: int  # 0: the architecture has none
    labels: int
    first_position: int
    activation: str
    head_activation: str
    norm_epsilon: float
    head: Head

    def __post_init__(self) -> None:
        if self.activation not in _ACTIVATIONS:
            raise Problem(f"activation {self.activation!r}; known are {', '.join(_ACTIVATIONS)}")


@dataclass(frozen=True)
class Submodel:
    """The layers that are executed, ascending, and how many heads of each."""

    layers: tuple[int, ...]
    width: int


@dataclass
class Run:
    """What a submodel computed of a batch."""

    answers: Tensor  # of the head, [texts or tokens, numbers]
    states: list[Tensor]  # [tokens, hidden] each: the embeddings, then the output of each layer


# Computes a batch as whoever it is learned from does.
Teacher = Callable[[Batch], Run]


class Layer(nn.Module):
    """A transformer layer, of which the first heads and neurons can run alone."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.query = nn.Linear(shape.hidden, shape.hidden)
        self.key = nn.Linear(shape.hidden, shape.hidden)
        self.value = nn.Linear(shape.hidden, shape.hidden)
        self.attention_output = nn.Linear(shape.hidden, shape.hidden)
        self.attention_norm = nn.LayerNorm(shape.hidden, shape.norm_epsilon)
        self.inner = nn.Linear(shape.hidden, shape.ffn)
        self.output = nn.Linear(shape.ffn, shape.hidden)
        self.output_norm = nn.LayerNorm(shape.hidden, shape.norm_epsilon)
        self.change: dict[str, Tensor] = {}  # added to the matrices: what few bits do to them (bits.py)

    def matrix(self, name: str) -> Tensor:
        """A matrix [outs, ins], as whoever reads it sees it."""
        weight: Tensor = getattr(self, name).weight
        return weight + self.change[name] if self.change else weight

    def forward(self, x: Tensor, batch: Batch, width: int, dropout: float) -> Tensor:
        """The output for `x`, both [tokens, hidden]. Biases of the two sums are added once, whatever
        the width is."""
        shape = self.shape
        context = self._attend(x, batch, width, dropout)
        columns = shape.hidden // shape.heads * width
        attended = functional.linear(context, self.matrix("attention_output")[:, :columns], self.attention_output.bias)
        x = self.attention_norm(x + functional.dropout(attended, dropout, self.training))
        neurons = shape.ffn // shape.heads * width
        inner = _ACTIVATIONS[shape.activation](
            functional.linear(x, self.matrix("inner")[:neurons], self.inner.bias[:neurons]))
        made = functional.linear(inner, self.matrix("output")[:, :neurons], self.output.bias)
        return self.output_norm(x + functional.dropout(made, dropout, self.training))

    def _attend(self, x: Tensor, batch: Batch, width: int, dropout: float) -> Tensor:
        size = self.shape.hidden // self.shape.heads
        rows = size * width
        packed = functional.linear(
            x, torch.cat([self.matrix(name)[:rows] for name in ("query", "key", "value")]),
            torch.cat([m.bias[:rows] for m in (self.query, self.key, self.value)]))
        dropout = dropout if self.training else 0.0
        if batch.padded:
            return _attend_padded(packed, batch.padded, width, dropout)
        return _attend_groups(packed, batch.groups, width, dropout)


def _attend_groups(packed: Tensor, groups: Sequence[Group], width: int, dropout: float) -> Tensor:
    """Attention of texts of equal length together: what `width` heads see, [tokens, columns], of queries, keys and
    values [tokens, 3 * columns]. It is made of small products, for which a CPU takes less time in fp32."""
    contexts = []
    with torch.autocast("cpu", enabled=False):
        parts = packed.float().split([group.texts * group.length for group in groups])
        for group, part in zip(groups, parts, strict=True):
            q, k, v = part.view(group.texts, group.length, 3, width, -1).permute(2, 0, 3, 1, 4)
            context = functional.scaled_dot_product_attention(q, k, v, dropout_p=dropout)
            contexts.append(context.transpose(1, 2).reshape(group.texts * group.length, -1))
    return contexts[0] if len(contexts) == 1 else torch.cat(contexts)


def _attend_padded(packed: Tensor, padded: Padded, width: int, dropout: float) -> Tensor:
    """The same of all texts at once, in a padded table."""
    texts = len(padded.known)
    table = packed.new_zeros(texts * padded.row_tokens, packed.shape[1]).index_copy(0, padded.places, packed)
    q, k, v = table.view(texts, padded.row_tokens, 3, width, -1).permute(2, 0, 3, 1, 4)
    context = functional.scaled_dot_product_attention(q, k, v, attn_mask=padded.known, dropout_p=dropout)
    return context.transpose(1, 2).reshape(len(table), -1)[padded.places]


class Network(nn.Module):
    """A model with its head. Its parameters are called as folder.py's names say."""

    pooler: nn.Linear  # of heads that have one, as the classifier
    classifier: nn.Linear

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.words = nn.Embedding(shape.words, shape.hidden)
        self.positions = nn.Embedding(shape.positions, shape.hidden)
        if shape.types:
            self.types = nn.Embedding(shape.types, shape.hidden)
        self.embedding_norm = nn.LayerNorm(shape.hidden, shape.norm_epsilon)
        self.layers: Sequence[Layer] = nn.ModuleList(Layer(shape) for _ in range(shape.layers))  # type: ignore
        for name, module in shape.head.modules(shape).items():
            self.add_module(name, module)

    def whole(self) -> Submodel:
        """All layers and heads."""
        return Submodel(tuple(range(self.shape.layers)), self.shape.heads)

    def embed(self, batch: Batch, dropout: float = 0.0) -> Tensor:
        """What the first layer takes, [tokens, hidden]."""
        x = self.words(batch.ids) + self.positions(batch.positions + self.shape.first_position)
        if self.shape.types:
            x = x + self.types(batch.types)
        return functional.dropout(self.embedding_norm(x), dropout, self.training)

    def answer(self, x: Tensor, batch: Batch, dropout: float = 0.0) -> Tensor:
        """The head's answers for what the last layer gives."""
        return self.shape.head.answers(self, x, batch, dropout)

    def forward(self, batch: Batch, submodel: Submodel | None = None, dropout: float = 0.0,
                embedded: Tensor | None = None) -> Run:
        """Runs a submodel, or all, on a batch, whose embeddings may be given."""
        submodel = submodel or self.whole()
        states = [self.embed(batch, dropout) if embedded is None else embedded]
        for layer in submodel.layers:
            states.append(self.layers[layer](states[-1], batch, submodel.width, dropout))
        return Run(self.answer(states[-1], batch, dropout), states)


def submodels(depth_layers: Sequence[Sequence[int]], depths: Sequence[int], widths: Sequence[int]) -> list[Submodel]:
    """Every pair of depth and width, depths first."""
    return [Submodel(tuple(depth_layers[n - 1]), m) for n in depths for m in widths]
