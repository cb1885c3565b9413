"""The two data sets of the comparisons, and the models that are made for them."""

import argparse
import concurrent.futures
import fcntl
import pathlib
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch

from elastic import data, options
from elastic.folder import ModelFolder
from elastic.job import name_of
from elastic.method import Family, quarter
from elastic.network import Submodel
from elastic.problem import Problem

from .rows import Rows, keep

PROGRAMS = pathlib.Path(__file__).resolve().parents[1]
SHARED = PROGRAMS.parents[1].parent / "shared"
DATA, MODELS = SHARED / "data", SHARED / "models"
SHIPPED = PROGRAMS.parent / "voice-intents/model"


def program(name: str, *arguments: object) -> None:
    """Runs one of the programs to its end, or goes on with a run that was stopped."""
    done = subprocess.run([sys.executable, PROGRAMS / name, *map(str, arguments), "--resume"], check=False)
    if done.returncode != 0:
        raise Problem(f"{name} ended with exit {done.returncode}")


LARGE, SMALL = 384, 192  # hidden sizes
_NEARLY = 1.05  # times the least


def cells_of_family(family: Family) -> dict[str, Submodel]:
    """Its grid, by names."""
    return {name_of(each): each for each in family.grid()}


def nine_of(folder: pathlib.Path) -> dict[str, Submodel]:
    """The cells of a comparison, of what make-elastic has made: a quarter, half and all of the layers and of the heads,
    by their names."""
    made = ModelFolder(folder)
    layers, heads = tuple(map(tuple, made.config["elastic"]["depth_layers"])), made.shape(0).heads
    return cells_of_family(Family(layers, heads, 1, quarter(heads)))


def whole_of(folder: pathlib.Path) -> dict[str, Submodel]:
    """The only cell of a plain model."""
    return {"whole": ModelFolder(folder).load().whole()}


@dataclass(frozen=True)
class Sizes:
    """How the models of a data set are trained. Where there are several rates, the best on the held-out tenth is
    taken."""

    repeat: int  # of each pretrained layer
    plain_steps: int
    steps: int  # of elastic models, and of separate ones
    tokens: int  # of a step of these
    plain_rates: tuple[float, ...]
    rates: tuple[float, ...]  # of elastic models
    separate_rates: tuple[float, ...]  # chosen on the middle cell
    separate_cells: tuple[int, ...]  # numbers of the nine cells that have a separate model
    before: str  # folder of ../shared/models with the elastic model of before
    held_out: float = 0.1  # share of the training rows by which choices are made
    apart: bool = False  # whether training rows are parts of others


class Task:
    """A data set with the models that are made for it, and the rows of these."""

    def __init__(self, given: argparse.Namespace, name: str, folder: str, sizes: Sizes):
        self.given, self.name, self.sizes, self.rows = given, name, sizes, Rows(given.work, given.record)
        self.train = DATA / folder / "train.tsv"
        if not self.train.exists():
            raise Problem(f"{self.train}: not there; this needs ../shared beside the checkout")
        given.work.mkdir(exist_ok=True)

    def each(self, do: Callable[..., None], items: Iterable[object]) -> None:
        """Does something for each item, several at a time where --jobs says so."""
        with concurrent.futures.ThreadPoolExecutor(self.given.jobs) as pool:
            list(pool.map(do, items))

    def common(self, choosing: bool = True) -> list[object]:
        """Options of every training. While choices are made, rows are held out, by which models are judged; what is
        judged on dev learns from all rows."""
        held_out = ["--held-out", self.sizes.held_out, *(["--apart"] if self.sizes.apart else [])]
        return ["--train", self.train, "--threads", self.given.threads, *(held_out if choosing else ["--held-out", 0])]

    def made(self, name: str, tool: str, *arguments: object) -> pathlib.Path:
        """A folder that a program makes, unless it is there. Another process that makes it is waited for."""
        target: pathlib.Path = self.given.work / name.replace(" ", "-")
        with target.with_name(f".{target.name}.lock").open("w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.exists():
                program(tool, *arguments, "-o", target)
        return target

    def options_for(self, source: pathlib.Path, *more: object, choosing: bool = True) -> argparse.Namespace:
        """The options that make-elastic would be given."""
        words = [source, *self.common(choosing), "-o", "unused", *more]
        return options.elastic("make-elastic", "").parse_args([str(word) for word in words])

    def rated(self, kind: str, rate: float) -> str:
        """The name of what is trained at a learning rate to choose one."""
        return f"{self.name} {kind} {rate:g}"

    def best(self, kind: str, rates: Sequence[float]) -> float:
        """The learning rate whose row is best; the only one has no row. Models that learned from a teacher are judged by
        how near they are to it, which tells more than their accuracy where few rows are held out: of those whose mean
        over the cells is nearly the least, it is the one whose last cell, the whole, is nearest. Others are judged by
        their accuracy."""
        if len(rates) == 1:
            return rates[0]
        rows = {rate: self.rows.rows[self.rated(kind, rate)] for rate in rates}
        if any("divergence" not in row for row in rows.values()):
            return max(rates, key=lambda rate: statistics.mean(rows[rate]["cells"].values()))
        apart = {rate: list(row["divergence"].values()) for rate, row in rows.items()}
        most = _NEARLY * min(map(statistics.mean, apart.values()))
        return min((rate for rate in rates if statistics.mean(apart[rate]) <= most), key=lambda rate: apart[rate][-1])

    def plain_at(self, rate: float, choosing: bool = True) -> pathlib.Path:
        """The plain model, fine-tuned at a learning rate."""
        rows = "" if choosing else " of all rows"
        return self.made(self.rated("plain at", rate) + rows, "fine-tune", self.given.pretrained,
                         *self.common(choosing), "--steps", self.sizes.plain_steps, "--rate", rate,
                         "--repeat", self.sizes.repeat)

    def plain_rate(self) -> float:
        """The learning rate of the plain model."""
        rates = self.sizes.plain_rates

        def measure(rate: float) -> None:
            name = self.rated("plain at", rate)
            if name not in self.rows:
                self.keep_whole(name, self.plain_at(rate), "held out")

        if len(rates) > 1:
            self.each(measure, rates)
        return self.best("plain at", rates)

    def plain(self, hidden: int = LARGE, choosing: bool = True) -> pathlib.Path:
        """The plain model; a small one is distilled from it."""
        large = self.plain_at(self.plain_rate(), choosing)
        if hidden == LARGE:
            return large
        return self.made(large.name.replace("plain", f"plain-{hidden}"), "make-smaller", large, *self.common(choosing),
                         "--hidden", hidden, "--vocabulary", 8000, "--steps", 1500)

    def keep(self, name: str, folder: pathlib.Path, submodels: dict[str, Submodel], judged_on: str,
             trained: pathlib.Path | None = None, teacher: pathlib.Path | None = None) -> None:
        """Keeps the row of a model: how many of the rows held out, or of those of dev or test, its submodels get
        right."""
        if name not in self.rows:
            given = self.options_for(folder)
            texts = texts_of(folder, given, judged_on)
            keep(self.rows, name, folder, submodels, texts, torch.device(given.device), trained, teacher)

    def keep_final(self, name: str, folder: pathlib.Path, submodels: dict[str, Submodel]) -> None:
        """Keeps the rows of a model that is done: on dev, and on test where there are labels of it."""
        self.keep(name, folder, submodels, "dev")
        if self.train.with_name("test.tsv").exists():
            self.keep(f"{name} on test", folder, submodels, "test")

    def keep_whole(self, name: str, folder: pathlib.Path, judged_on: str) -> None:
        """Keeps the row of a plain model."""
        self.keep(name, folder, whole_of(folder), judged_on)


def clinc150(given: argparse.Namespace) -> Task:
    """151 intents, 6 layers. The rate of the elastic model was chosen by compare_embeddings(), that of the separate ones in
    2,000 steps with 0.15 of the words. Rows whose names begin with `clinc150 by grid` are of 1,000 steps, and their
    elastic models of the method `grid`."""
    return Task(given, "clinc150", "CLINC150", Sizes(
        repeat=1, plain_steps=1000, steps=3000, tokens=1024, plain_rates=(2e-4,), rates=(6e-4,),
        separate_rates=(3e-4, 6e-4, 1.2e-3), separate_cells=tuple(range(9)), before="clinc150-minilm-6x12"))


def sst2(given: argparse.Namespace) -> Task:
    """Two sentiments, 12 layers. The plain model's rate is chosen on whole sentences that are held out, where it is half
    of what phrases prefer; so the rates of the others are half of what phrases preferred. Rows whose names begin with
    `sst2` alone are of choices on phrases."""
    return Task(given, "sst2 sentences", "SST-2", Sizes(
        repeat=2, plain_steps=1300, steps=1500, tokens=2048, plain_rates=(3e-5, 6e-5, 1.2e-4),
        rates=(2e-4,), separate_rates=(2e-4,), separate_cells=(0, 4, 8),
        before="sst2-minilm-12x12", held_out=0.2, apart=True))


def texts_of(source: pathlib.Path, given: argparse.Namespace, judged_on: str) -> data.Texts:
    """The held-out rows, or those of dev or test."""
    folder = ModelFolder(source)
    if judged_on == "held out":
        return options.split_data(given, folder, folder.labels()).held_out
    given.dev = given.train.with_name(f"{judged_on}.tsv")
    texts = options.dev_data(given, folder, folder.labels())
    assert texts is not None
    return texts
