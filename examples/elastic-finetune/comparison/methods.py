"""Ways to train an elastic model, and ways to choose the layers of a depth, each for the same time."""

import argparse
import dataclasses
import json
import pathlib

import torch

from elastic import evaluate, making
from elastic.folder import ModelFolder
from elastic.method import METHODS

from .rows import Rows
from .task import SMALL, Task, clinc150, nine_of, texts_of
from .times import step_seconds

MINUTES = 5.0
RATES = (1.5e-4, 3e-4, 6e-4, 1e-3, 2e-3)
RATE = 1e-3


def cells_of(folder: pathlib.Path, source: pathlib.Path, given: argparse.Namespace,
             rows: str) -> dict[str, float]:
    """The accuracy of the nine cells, in percent, on the held-out tenth or on dev."""
    texts = texts_of(source, given, rows)
    network = ModelFolder(folder).load()
    return {cell: round(100 * evaluate.share_right(network, texts, submodel, torch.device("cpu")), 2)
            for cell, submodel in nine_of(folder).items()}


def compare_methods(given: argparse.Namespace, rows: Rows) -> None:
    """Each method for the same time, judged on the held-out tenth."""
    task = clinc150(given)
    for seed in given.seeds:
        for method in METHODS:
            one_elastic(task, rows, f"method {method} seed {seed}", method, "--seed", seed, "--rate", RATE)


def compare_depth_maps(given: argparse.Namespace, rows: Rows) -> None:
    """Each depth map with the default method."""
    task = clinc150(given)
    for seed in given.seeds:
        for depth_map in ("nested", "prefix"):
            one_elastic(task, rows, f"depth map {depth_map} seed {seed}", "base", "--depth-map", depth_map,
                        "--seed", seed, "--rate", RATE)


def compare_rates(given: argparse.Namespace, rows: Rows) -> None:
    """The base method at some learning rates."""
    task = clinc150(given)
    for seed in given.seeds:
        for rate in RATES:
            one_elastic(task, rows, f"rate {rate:g} seed {seed}", "base", "--seed", seed, "--rate", rate)


def one_elastic(task: Task, rows: Rows, name: str, method: str, *more: object) -> None:
    """Trains an elastic model of the small plain one for so many minutes, and keeps its row."""
    if name in rows:
        return
    source = task.plain(SMALL)
    if "step seconds" not in rows:
        given = task.options_for(source)
        made = making.prepare(given)
        starts = {method: dataclasses.replace(made.start, method=METHODS[method]) for method in METHODS}
        rows.add("step seconds", **step_seconds(given, made.split.train, starts))
    steps = round(60 * MINUTES / rows.rows["step seconds"][method])
    options = ("--method", method, *more)
    folder = task.made(name.replace(" ", "-"), "make-elastic", source, *task.common(), "--steps", steps, *options)
    cells = cells_of(folder, source, task.options_for(source, *options), "held out")
    trained = json.loads((folder / "training.json").read_text("utf-8"))
    rows.add(name, steps=trained["steps"], seconds=trained["seconds"], cells=cells)
