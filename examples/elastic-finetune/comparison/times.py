"""How long a step of a training takes."""

import argparse
import dataclasses
import time
from collections.abc import Mapping

import numpy
import torch

from elastic import data, making
from elastic.data import Texts
from elastic.training import Settings, Start, Trainer

from .task import Task, cells_of_family

ROUNDS = 3
BATCHES = 4  # of a round


def step_seconds(given: argparse.Namespace, texts: Texts, starts: Mapping[str, Start]) -> dict[str, float]:
    """The median seconds of a step of each training, one after the other in rounds, so that all meet the same
    machine. Nothing is learned."""
    settings = Settings(1000, given.rate, given.tokens, given.seed, given.threads, bf16=given.products == "bf16")
    trainers = {name: Trainer(start, settings, texts, torch.device(given.device)) for name, start in starts.items()}
    for trainer in trainers.values():
        if trainer.repeats_itself(settings.steps):
            trainer.remember()
    times: dict[str, list[float]] = {name: [] for name in starts}
    batches = data.shuffled(texts, given.tokens, 1)
    for _ in range(ROUNDS):
        some = [next(batches) for _ in range(BATCHES)]
        for name, trainer in trainers.items():
            begin = time.monotonic()
            for i, batch in enumerate(some):
                # Both stages of a method that has two get as many steps.
                trainer.one_step(batch, i * 250, learn=False)
            times[name].append((time.monotonic() - begin) / len(some))
    return {name: round(float(numpy.median(each)), 4) for name, each in times.items()}


def compare_times(task: Task) -> None:
    """How long a step of the elastic model takes on the CPU, beside a step of each separate one."""
    name = f"{task.name} step seconds"
    if name in task.rows:
        return
    given = task.options_for(task.plain(choosing=False), "--tokens", task.sizes.tokens, "--device", "cpu",
                             choosing=False)
    made = making.prepare(given)
    start = made.start
    starts = {"elastic": start}
    for cell, submodel in cells_of_family(start.family).items():
        starts[cell] = dataclasses.replace(start, family=dataclasses.replace(start.family, only=submodel))
    task.rows.add(name, threads=given.threads, **step_seconds(given, made.split.train, starts))
