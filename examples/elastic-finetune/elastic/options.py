"""Options that several programs share, and what is made of them."""

import argparse
import os
import pathlib
from dataclasses import dataclass

import numpy
import torch

from . import data, parts
from .data import Texts
from .folder import ModelFolder
from .head import POOLINGS, labels_in
from .method import METHODS
from .problem import Problem
from .tables import Columns


def program(name: str, text: str) -> argparse.ArgumentParser:
    """A parser whose help has the text's lines as they are."""
    return argparse.ArgumentParser(prog=name, description=text, formatter_class=argparse.RawDescriptionHelpFormatter)


def elastic(name: str, text: str) -> argparse.ArgumentParser:
    """The parser of make-elastic."""
    parser = program(name, text)
    parser.add_argument("source", type=pathlib.Path, metavar="MODEL_DIR",
                        help="plain model folder, fine-tuned, or one that embeds texts")
    add_data(parser)
    add_training(parser, rate=6e-4, hours=0.33, tokens=1024)
    add_making(parser)
    return parser


def add_data(parser: argparse.ArgumentParser) -> None:
    """Options of labelled data."""
    parser.add_argument("--train", type=pathlib.Path, required=True, metavar="FILE",
                        help="labelled rows, a table or JSON Lines, or CoNLL's columns where words have labels, as "
                             "sti-run --eval reads them; texts where there are none")
    parser.add_argument("--dev", type=pathlib.Path, metavar="FILE", help="rows for the table at the end, read once")
    add_columns(parser)
    parser.add_argument("--held-out", type=share, default=0.1, metavar="SHARE",
                        help="share of --train that is not trained on: choices are made by it [0.1]")
    parser.add_argument("--apart", action="store_true",
                        help="rows are parts of others, as the phrases of SST-2: hold out a share of those that are "
                             "none, and do not train on their parts")


def add_columns(parser: argparse.ArgumentParser) -> None:
    """Options that name columns."""
    parser.add_argument("--text-column", metavar="COLUMN", help="of the text: name, or number without header")
    parser.add_argument("--pair-column", metavar="COLUMN", help="of the second text: name, or number without header")
    parser.add_argument("--label-column", metavar="COLUMN", help="of the label: name, or number without header")


def add_training(parser: argparse.ArgumentParser, rate: float, hours: float, tokens: int = 2048) -> None:
    """Options of a training."""
    devices = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--hours", type=positive, default=hours, metavar="H",
                        help=f"how long to train, turned into a number of steps at the start [{hours:g}]")
    length.add_argument("--steps", type=whole, metavar="N", help="how many steps to train, however long they take")
    parser.add_argument("--rate", type=positive, default=rate, metavar="R", help=f"learning rate [{rate:g}]")
    parser.add_argument("--tokens", type=whole, default=tokens, metavar="N", help=f"tokens in a batch, about [{tokens}]")
    parser.add_argument("--seed", type=whole, default=1, metavar="N", help="what is random follows from it [1]")
    parser.add_argument("--threads", type=whole, default=len(os.sched_getaffinity(0)), metavar="N",
                        help="threads on the CPU [cores]")
    parser.add_argument("--device", choices=devices, default=devices[-1],
                        help="where to compute [cuda where there is one]")
    parser.add_argument("--products", choices=("bf16", "fp32"), default="bf16" if has_bf16() else "fp32",
                        help="how matrices are multiplied; weights are kept in fp32 [bf16 where the hardware has it]")
    parser.add_argument("--resume", action="store_true", help="go on with the run that was stopped")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="DIR", help="new model folder")


def add_pooling(parser: argparse.ArgumentParser) -> None:
    """The option of how an encoder embeds."""
    parser.add_argument("--pooling", choices=POOLINGS,
                        help="MODEL_DIR embeds texts, and its folder does not say how, as sti-shard --pooling")


def add_making(parser: argparse.ArgumentParser) -> None:
    """Options of what make-elastic makes."""
    add_pooling(parser)
    parser.add_argument("--unlabelled", type=pathlib.Path, metavar="FILE",
                        help="more texts of the kind, without labels: the plain model's answers stand for them")
    parser.add_argument("--teacher", type=pathlib.Path, metavar="DIR",
                        help="model that is learned from, such as the larger one that MODEL_DIR was made of [MODEL_DIR]")
    parser.add_argument("--least-depth", type=whole, metavar="N",
                        help="layers of the shallowest submodel [1]")
    parser.add_argument("--least-width", type=whole, metavar="M",
                        help="heads of the narrowest submodel [a quarter, rounded up]")
    parser.add_argument("--depth-map", choices=("evenly", "nested", "prefix"),
                        help="which layers a depth executes: evenly has equal distances, nested leaves out those that "
                             "are missed least, prefix has the first ones [evenly; prefix where --method has no other]")
    parser.add_argument("--method", choices=METHODS, default="anchored", help="how submodels are trained [anchored]")
    add_words(parser, None, "0.3 with anchored")
    parser.add_argument("--bits", type=bitwidths, default=(), metavar="LIST",
                        help="every other step runs on weights as a reader of so few bits sees them: 2,3, say")
    parser.add_argument("--bits-every", type=whole, default=50, metavar="N",
                        help="steps after which it is asked anew what these bits keep [50]")
    parser.add_argument("--only", metavar="NxM", help="train this submodel alone, to compare with")


def add_words(parser: argparse.ArgumentParser, value: float | None, shown: str) -> None:
    """The option of how many words are changed, and what it is if it is not given."""
    parser.add_argument("--words", type=share, default=value, metavar="SHARE",
                        help=f"share of words replaced or left out in training text [{shown}]")


def has_bf16() -> bool:
    """Whether this machine multiplies in bf16 faster than in fp32: a GPU that does, or a CPU with instructions for it
    (those without have it as well, slowly)."""
    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported()
    try:
        words = set(pathlib.Path("/proc/cpuinfo").read_text("utf-8").split())
    except OSError:
        return False
    return not words.isdisjoint(("avx512_bf16", "amx_bf16", "bf16"))


def positive(text: str) -> float:
    """A number above 0."""
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return value


def whole(text: str) -> int:
    """A whole number from 1."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1")
    return int(text)


def seeds(text: str) -> tuple[int, ...]:
    """Whole numbers from 1."""
    return tuple(whole(part) for part in text.split(","))


def bitwidths(text: str) -> tuple[int, ...]:
    """Bitwidths from 2 to 6, ascending."""
    bits = sorted({int(part) for part in text.split(",") if part in ("2", "3", "4", "5", "6")})
    if len(bits) != len(text.split(",")):
        raise argparse.ArgumentTypeError(f"{text} is not a list of bitwidths from 2 to 6")
    return tuple(bits)


def share(text: str) -> float:
    """A number from 0 to 0.9."""
    value = float(text)
    if not 0 <= value <= 0.9:
        raise argparse.ArgumentTypeError(f"{text} is not from 0 to 0.9")
    return value


def columns_of(options: argparse.Namespace) -> Columns:
    """The columns that were named."""
    return Columns(options.text_column, options.pair_column, options.label_column)


@dataclass
class Split:
    """The rows of --train, apart."""

    train: Texts
    held_out: Texts


def split_data(options: argparse.Namespace, folder: ModelFolder, names: list[str],
               unlabelled: pathlib.Path | None = None) -> Split:
    """Reads and tokenises the training rows, and holds a part out."""
    head, columns = folder.head, columns_of(options)
    texts = head.read(folder.path, options.train, columns, names)
    labels = labels_in(texts)
    if len(labels) == 1:
        raise Problem(f"{options.train}: all {head.labelled} have the label {names[labels[0]]!r}; nothing can be "
                      "learned from them")
    train, held_out = parts.split(texts, options.held_out, options.apart)
    taken = texts.take(train)
    if unlabelled:
        taken = data.joined([taken, head.read_bare(folder.path, unlabelled, columns)])
    return Split(taken, texts.take(held_out))


def dev_data(options: argparse.Namespace, folder: ModelFolder, names: list[str]) -> Texts | None:
    """The rows of --dev."""
    if options.dev is None:
        return None
    return folder.head.read(folder.path, options.dev, columns_of(options), names)


def check_output(options: argparse.Namespace) -> pathlib.Path:
    """The folder of the run beside the output, which must not exist yet."""
    target: pathlib.Path = options.output
    if target.exists():
        raise Problem(f"{target} exists already; remove it or choose another name")
    if not target.absolute().parent.is_dir():
        raise Problem(f"{target.absolute().parent}: no such folder")
    return target.with_name(target.name + ".training")


def spread(least: int, most: int, count: int) -> list[int]:
    """At most so many whole numbers from least to most, both among them, at about equal distances."""
    return sorted({int(round(x)) for x in numpy.linspace(least, most, min(count, most - least + 1))})
