"""The two data sets of the comparisons, and the models that are made for them."""

import argparse
import pathlib
import subprocess
import sys

from elastic import data, options
from elastic.folder import ModelFolder
from elastic.job import name_of
from elastic.method import Family, quarter
from elastic.network import Submodel
from elastic.problem import Problem

PROGRAMS = pathlib.Path(__file__).resolve().parents[1]
DATA = PROGRAMS.parents[1].parent / "shared/data"


def program(name: str, *arguments: object) -> None:
    """Runs one of the programs to its end, or goes on with a run that was stopped."""
    done = subprocess.run([sys.executable, PROGRAMS / name, *map(str, arguments), "--resume"], check=False)
    if done.returncode != 0:
        raise Problem(f"{name} ended with exit {done.returncode}")


LARGE, SMALL = 384, 192  # hidden sizes
HELD_OUT = 0.1  # of the training rows, while choices are made; what is judged on dev learns from all of them


def cells_of_family(family: Family) -> dict[str, Submodel]:
    """Its grid, by names."""
    return {name_of(each): each for each in family.grid()}


def nine_of(folder: pathlib.Path) -> dict[str, Submodel]:
    """The cells of a comparison, of what make-elastic has made: a quarter, half and all of the layers and of the heads,
    by their names."""
    made = ModelFolder(folder)
    layers, heads = tuple(map(tuple, made.config["elastic"]["depth_layers"])), made.shape(0).heads
    return cells_of_family(Family(layers, heads, 1, quarter(heads)))


class Task:
    """A data set with the models that are made for it. A plain model of `repeat` times the pretrained layers is
    trained for `plain_steps`, elastic and separate ones for `steps`."""

    def __init__(self, given: argparse.Namespace, name: str, folder: str, repeat: int, plain_steps: int, steps: int):
        self.given, self.name, self.repeat, self.plain_steps, self.steps = given, name, repeat, plain_steps, steps
        self.train = DATA / folder / "train.tsv"
        if not self.train.exists():
            raise Problem(f"{self.train}: not there; this needs ../shared beside the checkout")
        given.work.mkdir(exist_ok=True)

    def common(self, held_out: float = HELD_OUT) -> list[object]:
        """Options of every training."""
        return ["--train", self.train, "--threads", self.given.threads, "--held-out", held_out]

    def made(self, name: str, tool: str, *arguments: object) -> pathlib.Path:
        """A folder that a program makes, unless it is there."""
        target: pathlib.Path = self.given.work / name
        if not target.exists():
            program(tool, *arguments, "-o", target)
        return target

    def options_for(self, source: pathlib.Path, *more: object) -> argparse.Namespace:
        """The options that make-elastic would be given."""
        words = [source, *self.common(), "-o", "unused", *more]
        return options.elastic("make-elastic", "").parse_args([str(word) for word in words])

    def plain(self, hidden: int = LARGE, held_out: float = HELD_OUT) -> pathlib.Path:
        """The plain model, fine-tuned; a small one is distilled from it."""
        rows = "" if held_out else "-of-all-rows"
        large = self.made(f"{self.name}-plain{rows}", "fine-tune", self.given.pretrained, *self.common(held_out),
                          "--steps", self.plain_steps, "--rate", 2e-4, "--repeat", self.repeat)
        if hidden == LARGE:
            return large
        return self.made(f"{self.name}-plain-{hidden}{rows}", "make-smaller", large, *self.common(held_out), "--hidden",
                         hidden, "--vocabulary", 8000, "--steps", 1500)


def clinc150(given: argparse.Namespace) -> Task:
    """151 intents, 6 layers."""
    return Task(given, "clinc150", "CLINC150", repeat=1, plain_steps=500, steps=1000)


def sst2(given: argparse.Namespace) -> Task:
    """Two sentiments, 12 layers."""
    return Task(given, "sst2", "SST-2", repeat=2, plain_steps=900, steps=1200)


def texts_of(source: pathlib.Path, given: argparse.Namespace, rows: str) -> data.Texts:
    """The held-out rows, or those of dev."""
    folder = ModelFolder(source)
    if rows == "held out":
        return options.split_data(given, folder, folder.labels()).held_out
    given.dev = given.train.with_name("dev.tsv")
    texts = options.dev_data(given, folder, folder.labels())
    assert texts is not None
    return texts
