"""An elastic model beside separate models of some sizes, and beside one that was trained at few bits."""

import pathlib
from collections.abc import Sequence

from elastic import tools
from elastic.folder import ModelFolder
from elastic.network import Submodel

from .rows import Rows, keep
from .task import Task, nine, texts_of

RATES = (3e-4, 6e-4, 1.2e-3)  # of separate models, chosen on the middle cell
BITS = (2, 3, 6)


def elastic_model(task: Task, name: str, *more: object) -> tuple[pathlib.Path, dict[str, Submodel]]:
    """An elastic model of the plain one, and its nine cells."""
    folder = task.made(name.replace(" ", "-"), "make-elastic", task.plain(384), *task.common(), "--steps", task.steps,
                       *more)
    layers = ModelFolder(folder).config["elastic"]["depth_layers"]
    heads = ModelFolder(folder).shape(0).heads
    return folder, {f"{n}x{m}": Submodel(tuple(layers[n - 1]), m) for n, m in nine(len(layers), heads)}


def compare_separate(task: Task, rows: Rows, cells: Sequence[tuple[int, int]]) -> None:
    """An elastic model beside separate ones of some sizes, each of as many steps, on dev. The rate of the separate
    ones is chosen on the middle cell and the held-out tenth."""
    source = task.plain(384)
    given = task.options_for(source)
    held_out, dev = texts_of(source, given, "held out"), texts_of(source, given, "dev")
    plain = ModelFolder(source).load()
    keep(rows, f"{task.name} plain", source, {"whole": plain.whole()}, dev)
    elastic, every = elastic_model(task, f"{task.name} elastic")
    keep(rows, f"{task.name} elastic", elastic, every, dev)
    middle = list(every)[4]
    rated = {}
    for rate in RATES:
        name = f"{task.name} rate {rate}"
        folder = task.made(name.replace(" ", "-"), "make-elastic", source, *task.common(), "--steps", task.steps,
                           "--only", middle, "--rate", rate)
        keep(rows, name, folder, {middle: every[middle]}, held_out)
        rated[rate] = rows.rows[name]["cells"][middle]
    best = max(rated, key=lambda rate: rated[rate])
    for n, m in cells:
        cell = f"{n}x{m}"
        name = f"{task.name} separate {cell}"
        folder = task.made(name.replace(" ", "-"), "make-elastic", source, *task.common(), "--steps", task.steps,
                           "--only", cell, "--rate", best)
        keep(rows, name, folder, {cell: every[cell]}, dev)


def compare_bits(task: Task, rows: Rows) -> None:
    """Two elastic models, one of which was trained on weights of 2 and 3 bits as well, at few bits and in full."""
    source = task.plain(384)
    dev = texts_of(source, task.options_for(source), "dev")
    for name, more in ((f"{task.name} elastic", ()), (f"{task.name} few bits", ("--bits", "2,3"))):
        folder, cells = elastic_model(task, name, *more)
        keep(rows, name, folder, cells, dev)
        if all(f"{name} at {bits} bits" in rows for bits in BITS):
            continue
        with tools.seen_at(folder, BITS) as seen:
            for bits, at_bits in seen.items():
                keep(rows, f"{name} at {bits} bits", at_bits, cells, dev, trained=folder)
