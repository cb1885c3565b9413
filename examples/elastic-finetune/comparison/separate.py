"""Elastic models beside others: separate ones of some sizes, the smaller one, those of other methods, and one that was
trained at few bits."""

import pathlib
from collections.abc import Sequence
from dataclasses import dataclass

from elastic import tools
from elastic.problem import Problem

from .task import MODELS, SHIPPED, SMALL, Task, nine_of, whole_of

LARGER = MODELS / "clinc150-minilm-6x12"  # that the shipped example was made of
WINNERS = {"words": (850, 4e-4), "matformer": (900, 8e-4), "grid": (500, 8e-4),
           "turns": (880, 8e-4)}  # steps, for like times, and rates
TRIED = 2000  # steps of the trials of embeddings
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
        cells = {only: nine[only]} if only else nine
        if training.choosing:
            task.keep(training.name, folder, cells, "held out", teacher=task.plain())
        else:
            task.keep_final(training.name, folder, cells)

    missing = [training for training in trainings if training.name not in task.rows]
    for choosing in {training.choosing for training in missing}:
        task.plain(choosing=choosing)  # once, before several trainings ask for it
    task.each(keep, missing)


def compare_winners(task: Task) -> None:
    """The best methods at hidden size 384, on the held-out tenth. Rows that name no plain model are of one of 500
    steps."""
    plain = f"plain of {task.sizes.plain_steps} steps"
    keep_elastic(task, [Training(f"winner {method} at {rate:g}, {plain}", True, ("--method", method, "--rate", rate),
                                 steps=steps) for method, (steps, rate) in WINNERS.items()])


def compare_embeddings(task: Task) -> None:
    """Embeddings that learn, and those that stay, at some learning rates, on the held-out tenth."""
    learn, stay = ("--method", "turns"), ("--method", "anchored", "--words", 0.15)
    trials = [(f"{kind} at {rate:g} seed {seed}", (*dials, "--rate", rate, "--seed", seed))
              for kind, dials, rates in (("learn", learn, (4e-4, 8e-4)), ("stay", stay, (4e-4, 6e-4, 8e-4)))
              for rate in rates for seed in task.given.seeds]
    trials.append(("stay at 0.0012 seed 1", (*stay, "--rate", 1.2e-3)))
    trials += [(f"stay at {rate:g}, 0.3 of the words seed 1", ("--method", "anchored", "--rate", rate))
               for rate in (4e-4, 6e-4, 8e-4)]
    keep_elastic(task, [Training(f"embeddings {name}", True, dials, steps=TRIED) for name, dials in trials])


def make_smaller(task: Task, name: str, steps: int, *more: object, choosing: bool = True) -> pathlib.Path:
    """The plain model of hidden size 192 that is made of the larger one that the shipped example was made of."""
    if not LARGER.exists():
        raise Problem(f"{LARGER}: not there; this needs ../shared beside the checkout")
    return task.made(name, "make-smaller", LARGER, *task.common(choosing), "--hidden", SMALL, "--vocabulary", 8000,
                     "--rate", 1e-3, "--steps", steps, *more)


def compare_smaller(task: Task) -> None:
    """A smaller plain model, the elastic one that is made of it, and the shipped one, on dev. Both learn from the larger
    one."""
    plain, elastic, shipped = (f"{task.name} smaller {kind}" for kind in ("plain", "elastic", "shipped"))
    task.keep(shipped, SHIPPED, nine_of(SHIPPED), "dev")
    if plain in task.rows and elastic in task.rows:
        return
    small = make_smaller(task, plain, 6000, choosing=False)
    task.keep_whole(plain, small, "dev")
    made = task.made(elastic, "make-elastic", small, *task.common(choosing=False), "--teacher", LARGER, "--method",
                     "turns", "--rate", 6e-4, "--words", 0.3, "--steps", 10000)
    task.keep(elastic, made, nine_of(made), "dev")


def best_rate(task: Task, kind: str, rates: Sequence[float], only: str | None = None) -> float:
    """The best of some learning rates, on the rows held out: of an elastic model, or of one of the size `only`."""
    if len(rates) > 1:
        keep_elastic(task, [Training(task.rated(kind, rate), True, ("--rate", rate), only) for rate in rates])
    return task.best(kind, rates)


def elastic_rate(task: Task) -> float:
    """The learning rate of the elastic model."""
    return best_rate(task, "elastic at", task.sizes.rates)


def compare_separate(task: Task) -> None:
    """An elastic model beside separate ones of some of the nine cells, each of as many steps, and beside the elastic
    one of before, on dev and test."""
    plain, before = f"{task.name} plain", f"{task.name} before"
    if before not in task.rows:
        folder = MODELS / task.sizes.before
        task.keep_final(before, folder, nine_of(folder))
    if plain not in task.rows:
        folder = task.plain(choosing=False)
        task.keep_final(plain, folder, whole_of(folder))
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
