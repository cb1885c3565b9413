"""Elastic models beside others: separate ones of some sizes, the smaller one, those of other methods, and one that was
trained at few bits."""

import pathlib
from collections.abc import Sequence
from dataclasses import dataclass

from elastic import tools
from elastic.problem import Problem

from .task import MODELS, SHIPPED, SMALL, Task, nine_of

SMALLER_PLAIN = {"plain": 6000, "plain in 12000 steps": 12000}  # steps
SMALLER_ELASTIC = {"turns": ("--steps", 10000, "--rate", 6e-4), "grid": ("--steps", 6000, "--rate", 1e-3),
                   "words": ("--steps", 5000, "--rate", 4e-4)}
WINNERS = {"words": (850, 4e-4), "matformer": (900, 8e-4), "grid": (500, 8e-4),
           "turns": (880, 8e-4)}  # steps, for like times, and rates
BITS = (2, 3, 6)
REFRESHES = 20  # times in a training that it is asked anew what few bits keep


@dataclass(frozen=True)
class Training:
    """What make-elastic makes of the plain model: an elastic one, or one of the size `only` by itself."""

    name: str  # of its row and its folder
    choosing: bool  # judged on training rows that were held out; else it learns from all, and is judged on dev
    options: tuple[object, ...] = ()
    only: str | None = None
    steps: int | None = None  # None: as many as the task has


def make_elastic(task: Task, training: Training) -> pathlib.Path:
    """The folder of a training."""
    only = ("--only", training.only) if training.only else ()
    return task.made(training.name, "make-elastic", task.plain(choosing=training.choosing),
                     *task.common(training.choosing), "--tokens", task.sizes.tokens, "--steps",
                     training.steps or task.sizes.steps, *training.options, *only)


def keep_elastic(task: Task, trainings: Sequence[Training]) -> None:
    """Keeps the row of each training."""

    def keep(training: Training) -> None:
        folder = make_elastic(task, training)
        nine, only = nine_of(folder), training.only
        judged_on = "held out" if training.choosing else "dev"
        task.keep(training.name, folder, {only: nine[only]} if only else nine, judged_on)

    missing = [training for training in trainings if training.name not in task.rows]
    for choosing in {training.choosing for training in missing}:
        task.plain(choosing=choosing)  # once, before several trainings ask for it
    task.each(keep, missing)


def compare_winners(task: Task) -> None:
    """The best methods at hidden size 384, on the held-out tenth."""
    keep_elastic(task, [Training(f"winner {method} at {rate:g}", True, ("--method", method, "--rate", rate),
                                 steps=steps) for method, (steps, rate) in WINNERS.items()])


def compare_smaller(task: Task) -> None:
    """The plain models of hidden size 192 that make-smaller makes of the larger one that the shipped example was made
    of, in fewer and in more steps, the elastic ones that some methods make of the first, and the shipped one, on dev.
    All learn from the larger one."""
    larger, name = MODELS / "clinc150-minilm-6x12", f"{task.name} smaller"
    plains, methods = ([kind for kind in kinds if f"{name} {kind}" not in task.rows]
                       for kinds in (SMALLER_PLAIN, SMALLER_ELASTIC))
    task.keep(f"{name} shipped", SHIPPED, nine_of(SHIPPED), "dev")
    if not plains and not methods:
        return
    if not larger.exists():
        raise Problem(f"{larger}: not there; this needs ../shared beside the checkout")
    data = task.common(choosing=False)

    def plain_of(kind: str) -> pathlib.Path:
        return task.made(f"{name} {kind}", "make-smaller", larger, *data, "--hidden", SMALL, "--vocabulary", 8000,
                         "--rate", 1e-3, "--steps", SMALLER_PLAIN[kind])

    for kind in plains:
        task.keep_whole(f"{name} {kind}", plain_of(kind), "dev")

    def keep(method: str) -> None:
        folder = task.made(f"{name} {method}", "make-elastic", plain_of("plain"), *data, "--teacher", larger,
                           "--method", method, *SMALLER_ELASTIC[method])
        task.keep(f"{name} {method}", folder, nine_of(folder), "dev")

    task.each(keep, methods)


def best_rate(task: Task, kind: str, rates: Sequence[float], only: str | None = None) -> float:
    """The best of some learning rates, on the rows held out: of an elastic model, or of one of the size `only`."""
    if len(rates) > 1:
        keep_elastic(task, [Training(task.rated(kind, rate), True, ("--rate", rate), only) for rate in rates])
    return task.best(kind, rates)


def elastic_rate(task: Task) -> float:
    """The learning rate of the elastic model."""
    return best_rate(task, "elastic at", task.sizes.rates)


def compare_separate(task: Task) -> None:
    """An elastic model beside separate ones of some of the nine cells, each of as many steps, on dev."""
    plain = f"{task.name} plain"
    if plain not in task.rows:
        task.keep_whole(plain, task.plain(choosing=False), "dev")
    elastic = f"{task.name} elastic"
    keep_elastic(task, [Training(elastic, False, ("--rate", elastic_rate(task)))])
    cells = list(task.rows.rows[elastic]["cells"])
    best = best_rate(task, "rate", task.sizes.separate_rates, only=cells[len(cells) // 2])
    keep_elastic(task, [Training(f"{task.name} separate {cells[i]}", False, ("--rate", best), only=cells[i])
                        for i in task.sizes.separate_cells])


def compare_bits(task: Task) -> None:
    """Two elastic models, one of which was trained on weights of 2 and 3 bits as well, at few bits and in full."""
    few_bits = ("--bits", "2,3", "--bits-every", task.sizes.steps // REFRESHES)

    def keep(training: Training) -> None:
        folder = make_elastic(task, training)
        nine = nine_of(folder)
        task.keep(f"{training.name} in full", folder, nine, "dev")
        with tools.seen_at(folder, BITS) as seen:
            for bits, at_bits in seen.items():
                task.keep(f"{training.name} at {bits} bits", at_bits, nine, "dev", trained=folder)

    rows = ("in full", *(f"at {bits} bits" for bits in BITS))
    missing = [(name, options) for name, options in ((f"{task.name} elastic", ()), (f"{task.name} few bits", few_bits))
               if any(f"{name} {row}" not in task.rows for row in rows)]
    if missing:
        rate = elastic_rate(task)
        task.plain(choosing=False)
        task.each(keep, [Training(name, False, ("--rate", rate, *options)) for name, options in missing])
