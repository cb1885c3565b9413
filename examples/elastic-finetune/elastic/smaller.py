"""A smaller network that begins with what a larger one has: fewer directions of the hidden states, fewer words.

Hidden states of the larger network lie near a space of fewer dimensions. Its principal directions U [larger, smaller]
turn a weight W into U^T W U; where products of two matrices alone matter, as of queries and keys, the smaller ones are
the best of their rank. A norm does not turn with its space: scale and shift of each are fitted to data.
"""

import json
import pathlib
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from .data import Batch
from .folder import ModelFolder
from .network import Layer, Network, Shape
from .problem import Problem


def directions(states: Sequence[Tensor], hidden: int) -> Tensor:
    """The principal directions [larger, hidden] of states [tokens, larger], the mean among what they explain."""
    second = sum(state.T.double() @ state.double() for state in states)
    return torch.linalg.eigh(second).eigenvectors[:, -hidden:].flip(1).float()


def _of_rank(left: Tensor, right: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """The two factors [rank, n] whose product left^T right is nearest to that of `left` and `right` [k, n]."""
    u, s, v = torch.linalg.svd((left.T @ right).double())
    root = s[:rank].sqrt()
    return (u[:, :rank] * root).T.float(), (v[:rank] * root[:, None]).float()


def shrink(larger: Network, shape: Shape, words: Tensor, u: Tensor, neurons: Sequence[Tensor]) -> Network:
    """A network of the smaller shape whose weights are the larger one's, seen in directions `u`. `words`: the number
    in the larger vocabulary of each word; `neurons`: the neurons that each layer keeps. Norms are not fitted yet."""
    smaller = Network(shape)
    with torch.no_grad():
        smaller.words.weight.copy_(larger.words.weight[words] @ u)
        smaller.positions.weight.copy_(larger.positions.weight @ u)
        if shape.types:
            smaller.types.weight.copy_(larger.types.weight @ u)
        for small, large, kept in zip(smaller.layers, larger.layers, neurons, strict=True):
            _shrink_attention(small, large, u)
            small.inner.weight.copy_(large.inner.weight[kept] @ u)
            small.inner.bias.copy_(large.inner.bias[kept])
            small.output.weight.copy_(u.T @ large.output.weight[:, kept])
            small.output.bias.copy_(u.T @ large.output.bias)
        smaller.pooler.weight.copy_(u.T @ larger.pooler.weight @ u)
        smaller.pooler.bias.copy_(u.T @ larger.pooler.bias)
        smaller.classifier.weight.copy_(larger.classifier.weight @ u)
        smaller.classifier.bias.copy_(larger.classifier.bias)
    return smaller


def _shrink_attention(small: Layer, large: Layer, u: Tensor) -> None:
    """Heads of fewer dimensions. The products of queries and keys, and of values and output, are those of the
    larger head as nearly as the rank allows. A column of biases goes along with the weights."""
    heads = large.shape.heads
    old, new = large.shape.hidden // heads, small.shape.hidden // heads

    def seen(linear: nn.Linear, head: int) -> Tensor:  # [old, smaller + 1]
        rows = slice(head * old, (head + 1) * old)
        return torch.cat([linear.weight[rows] @ u, linear.bias[rows, None]], 1)

    small.attention_output.bias.copy_(u.T @ large.attention_output.bias)
    for head in range(heads):
        rows = slice(head * new, (head + 1) * new)
        query, key = _of_rank(seen(large.query, head), seen(large.key, head), new)
        out = u.T @ large.attention_output.weight[:, head * old:(head + 1) * old]
        value, output = _of_rank(seen(large.value, head), out.T, new)
        scale = (new / old) ** 0.25  # attention divides by the root of a head's size
        for linear, made in ((small.query, query * scale), (small.key, key * scale), (small.value, value)):
            linear.weight[rows] = made[:, :-1]
            linear.bias[rows] = made[:, -1]
        # The factors' places are swapped: value^T output is [smaller + 1, smaller].
        small.attention_output.weight[:, rows] = output.T


def fit_norms(smaller: Network, larger: Network, u: Tensor, batches: Sequence[tuple[Batch, Batch]]) -> None:
    """Fits each norm's scale and shift, from the first on, so that the smaller network's states are the larger one's in
    directions `u`, as nearly as can be. `batches`: the same texts in the words of the smaller and of the larger."""
    names = ["embedding_norm"] + [f"layers.{i}.{norm}" for i in range(smaller.shape.layers)
                                  for norm in ("attention_norm", "output_norm")]
    with torch.no_grad():
        for name in names:
            norm = smaller.get_submodule(name)
            norm.weight.fill_(1.0)
            norm.bias.zero_()
            found: list[Tensor] = []
            wanted: list[Tensor] = []
            with _outputs(norm, found), _outputs(larger.get_submodule(name), wanted):
                for small, large in batches:
                    smaller(small)
                    larger(large)
            x, y = torch.cat(found), torch.cat(wanted) @ u
            scale = ((x - x.mean(0)) * (y - y.mean(0))).mean(0) / x.var(0, unbiased=False).clamp_min(1e-6)
            norm.weight.copy_(scale)
            norm.bias.copy_(y.mean(0) - scale * x.mean(0))


class _outputs:
    """Collects what a module computes."""

    def __init__(self, module: nn.Module, into: list[Tensor]):
        self.module, self.into = module, into

    def __enter__(self) -> None:
        self.handle = self.module.register_forward_hook(lambda _m, _i, out: self.into.append(out))

    def __exit__(self, *_: object) -> None:
        self.handle.remove()


def kept_words(folder: pathlib.Path, used: Tensor, count: int) -> list[int]:
    """The numbers of the words that a vocabulary of so many keeps, ascending: control tokens, single ASCII characters,
    so that text of these can still be spelled, the words of `used` [words] by how often they occur, then the first
    ones."""
    if count >= len(used):
        return list(range(len(used)))
    words = vocabulary(folder)
    control = [i for i, word in enumerate(words)
               if word.startswith("[") and word.endswith("]") and not word.startswith("[unused")]
    letters = [i for i, word in enumerate(words) if len(word.removeprefix("##")) == 1 and word.isascii()]
    often = [int(i) for i in used.argsort(descending=True, stable=True) if used[i] > 0]
    rest = [i for i, word in enumerate(words) if not word.startswith("[unused")]
    chosen = list(dict.fromkeys(control + letters + often + rest))
    if count < len(control) + len(letters):
        raise Problem(f"--vocabulary {count}: control tokens and letters alone are {len(control) + len(letters)}")
    return sorted(chosen[:count])


def vocabulary(folder: pathlib.Path) -> list[str]:
    """The words of vocab.txt."""
    try:
        text = (folder / "vocab.txt").read_text("utf-8")
    except FileNotFoundError:
        raise Problem(f"{folder}: no vocab.txt; only a WordPiece vocabulary can be made smaller here") from None
    return text.removesuffix("\n").split("\n")


def write_folder(source: ModelFolder, smaller: Network, words: Sequence[int], target: pathlib.Path,
                 files: Mapping[str, str] | None = None) -> None:
    """Writes a model folder with these words of the source's vocabulary, and more files."""
    files = dict(files or {})
    if len(words) == source.config["vocab_size"]:
        source.save(smaller, target, {"elastic": None}, files=files)
        return
    names = vocabulary(source.path)
    numbers = {names[i]: new for new, i in enumerate(words)}
    files["vocab.txt"] = "".join(names[i] + "\n" for i in words)
    settings = source.path / "tokenizer_config.json"
    if settings.exists():  # what it says of a token's id was so in the larger vocabulary
        kept = json.loads(settings.read_text("utf-8"))
        kept.pop("added_tokens_decoder", None)
        files[settings.name] = json.dumps(kept, indent=2) + "\n"
    source.save(smaller, target, {"elastic": None, "pad_token_id": numbers.get("[PAD]", 0)}, files=files,
                without=("tokenizer.json", "added_tokens.json"))
