"""Ways to train an elastic model, and ways to choose the layers of a depth, each for the same time."""

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from elastic import making
from elastic.method import METHODS

from .separate import make_smaller
from .task import SMALL, Task, nine_of
from .times import step_seconds

MINUTES = 2.0  # of one thread of the CPU
RATE = 1e-3
OTHER_RATES = (1.5e-4, 3e-4, 6e-4, 2e-3)
MORE_WORDS = 0.3  # of `turns`, which has 0.15
SMALLER_WORDS = (0.15, 0.3, 0.45)


def compare_methods(task: Task) -> None:
    """Each method for the same time, judged on the held-out tenth."""
    train_all(task, [(f"method {method} seed {seed}", method, "--seed", seed, "--rate", RATE)
                     for seed in task.given.seeds for method in METHODS])


def compare_depth_maps(task: Task) -> None:
    """The base method with each depth map but its own, and `grid` with prefixes."""
    train_all(task, [(f"depth map {kind} seed {seed}", method, "--depth-map", depth_map, "--seed", seed, "--rate", RATE)
                     for seed in task.given.seeds
                     for kind, method, depth_map in (("nested", "base", "nested"), ("prefix", "base", "prefix"),
                                                     ("prefix, grid", "grid", "prefix"))])


def compare_rates(task: Task) -> None:
    """The base method at learning rates other than that of compare_methods()."""
    train_all(task, [(f"rate {rate:g} seed {seed}", "base", "--seed", seed, "--rate", rate)
                     for seed in task.given.seeds for rate in OTHER_RATES])


def compare_words(task: Task) -> None:
    """Shares of words that are replaced or left out in training text: of `turns`, beside what it does by itself, and
    of the smaller model that is made of a larger one, each on the held-out tenth."""
    for share in SMALLER_WORDS:
        if (name := f"smaller words {share:g}") not in task.rows:
            task.keep_whole(name, make_smaller(task, name, 1000, "--words", share), "held out")
    train_all(task, [(f"words {MORE_WORDS:g} seed {seed}", "turns", "--seed", seed, "--rate", RATE, "--words",
                      MORE_WORDS) for seed in task.given.seeds])


def train_all(task: Task, trainings: Sequence[tuple[Any, ...]]) -> None:
    """Keeps the row of each training, which has a name, a method and options."""
    missing = [training for training in trainings if training[0] not in task.rows]
    if missing:
        source = task.plain(SMALL)
        steps = steps_of_methods(task, source)
        task.each(lambda what: one_elastic(task, source, steps, *what), missing)


def steps_of_methods(task: Task, source: pathlib.Path) -> dict[str, int]:
    """How many steps of each method are made in so many minutes."""
    missing = [method for method in METHODS if method not in seconds_of_methods(task)]
    if missing:
        given = task.options_for(source, "--device", "cpu", "--threads", 1)
        made = making.prepare(given)
        starts = {method: dataclasses.replace(made.start, method=METHODS[method]) for method in ["base", *missing]}
        task.rows.add(f"step seconds, {', '.join(missing)}", **step_seconds(given, made.split.train, starts))
    return {method: round(60 * MINUTES / seconds) for method, seconds in seconds_of_methods(task).items()}


def seconds_of_methods(task: Task) -> dict[str, float]:
    """The seconds of a step of each method that was timed, as the machine was when `base` was timed first: methods
    that came later were timed beside it again."""
    seconds: dict[str, float] = {}
    for name, row in task.rows.rows.items():
        if name.startswith("step seconds"):
            scale = seconds.get("base", row["base"]) / row["base"]
            seconds = {method: scale * row[method] for method in METHODS if method in row} | seconds
    return seconds


def one_elastic(task: Task, source: pathlib.Path, steps: Mapping[str, int], name: str, method: str,
                *more: object) -> None:
    """Trains an elastic model of the small plain one, and keeps its row."""
    folder = task.made(name, "make-elastic", source, *task.common(), "--steps", steps[method], "--method", method,
                       *more)
    task.keep(name, folder, nine_of(folder), "held out")
