"""Ways to train an elastic model, and ways to choose the layers of a depth, each for the same time."""

import argparse
import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any

from elastic import making
from elastic.method import METHODS

from .task import SMALL, Task, clinc150, nine_of
from .times import step_seconds

MINUTES = 2.0
RATES = (1.5e-4, 3e-4, 6e-4, 1e-3, 2e-3)
RATE = 1e-3


def compare_methods(given: argparse.Namespace) -> None:
    """Each method for the same time, judged on the held-out tenth."""
    compare(clinc150(given), [(f"method {method} seed {seed}", method, "--seed", seed, "--rate", RATE)
                              for seed in given.seeds for method in METHODS])


def compare_depth_maps(given: argparse.Namespace) -> None:
    """Each depth map with the base method, and prefixes with the one that is made for them."""
    compare(clinc150(given), [(f"depth map {depth_map} seed {seed}", "base", "--depth-map", depth_map,
                               "--seed", seed, "--rate", RATE)
                              for seed in given.seeds for depth_map in ("nested", "prefix")])


def compare_rates(given: argparse.Namespace) -> None:
    """The base method at some learning rates."""
    compare(clinc150(given), [(f"rate {rate:g} seed {seed}", "base", "--seed", seed, "--rate", rate)
                              for seed in given.seeds for rate in RATES])


def compare(task: Task, trainings: Sequence[tuple[Any, ...]]) -> None:
    """Keeps the row of each training: its name, its method, its options."""
    source = task.plain(SMALL)
    if "step seconds" not in task.rows:
        given = task.options_for(source)
        made = making.prepare(given)
        starts = {method: dataclasses.replace(made.start, method=METHODS[method]) for method in METHODS}
        task.rows.add("step seconds", threads=task.given.threads, **step_seconds(given, made.split.train, starts))
    task.each(lambda what: one_elastic(task, source, *what), trainings)


def one_elastic(task: Task, source: pathlib.Path, name: str, method: str, *more: object) -> None:
    """Trains an elastic model of the small plain one for as many steps as are made in so many minutes, and keeps its
    row."""
    if name not in task.rows:
        steps = round(60 * MINUTES / task.rows.rows["step seconds"][method])
        folder = task.made(name, "make-elastic", source, *task.common(), "--steps", steps, "--method", method, *more)
        task.keep(name, folder, nine_of(folder), "held out")
