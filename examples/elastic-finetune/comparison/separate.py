"""Elastic models beside others: separate ones of some sizes, the smaller one, those of other methods, and one that was
trained at few bits."""

import pathlib

from elastic import tools
from elastic.folder import ModelFolder

from .task import HELD_OUT, LARGE, SMALL, Task, nine_of

SMALL_STEPS = 2000
WINNERS = {"words": (700, 4e-4), "grid": (500, 8e-4)}  # steps that take about the same time, and the rate of each
BITS = (2, 3, 6)
REFRESHES = 20  # of what few bits keep, in a training


def plain(task: Task, name: str, hidden: int = LARGE) -> None:
    """Keeps the row of the plain model, on dev."""
    if name not in task.rows:
        folder = task.plain(hidden, held_out=0)
        task.keep(name, folder, {"whole": ModelFolder(folder).load().whole()}, "dev")


def trained(task: Task, name: str, held_out: float, *more: object, steps: int | None = None,
            hidden: int = LARGE) -> pathlib.Path:
    """The folder of a model that make-elastic makes of the plain one."""
    return task.made(name, "make-elastic", task.plain(hidden, held_out), *task.common(held_out), "--tokens",
                     task.sizes.tokens, "--steps", steps or task.sizes.steps, *more)


def train(task: Task, name: str, held_out: float, *more: object, only: str | None = None, steps: int | None = None,
          hidden: int = LARGE) -> None:
    """Keeps the row of such a model, or of one of one size by itself: on the rows that were held out, or on dev where
    none were."""
    if name not in task.rows:
        folder = trained(task, name, held_out, *more, *(("--only", only) if only else ()), steps=steps, hidden=hidden)
        every = nine_of(folder)
        task.keep(name, folder, {only: every[only]} if only else every, "held out" if held_out else "dev")


def compare_winners(task: Task) -> None:
    """Two methods at hidden size 384, on the held-out tenth."""
    task.plain()

    def measure(method: str) -> None:
        steps, rate = WINNERS[method]
        train(task, f"winner {method} at {rate:g}", HELD_OUT, "--method", method, "--rate", rate, steps=steps)

    task.each(measure, WINNERS)


def compare_smaller(task: Task) -> None:
    """The plain model of hidden size 192 that make-smaller makes, and the elastic one of that, on dev."""
    plain(task, f"{task.name} smaller plain", SMALL)
    train(task, f"{task.name} smaller elastic", 0, steps=SMALL_STEPS, hidden=SMALL)


def elastic_rate(task: Task) -> float:
    """The learning rate of the elastic model."""
    rates = task.sizes.rates
    if len(rates) == 1:
        return rates[0]
    task.plain()
    task.each(lambda rate: train(task, f"{task.name} elastic at {rate:g}", HELD_OUT, "--rate", rate), rates)
    means = {rate: sum(task.rows.rows[f"{task.name} elastic at {rate:g}"]["cells"].values()) for rate in rates}
    return max(means, key=means.__getitem__)


def separate_rate(task: Task, middle: str) -> float:
    """The learning rate of separate models."""
    task.plain()
    rates = task.sizes.separate_rates
    task.each(lambda rate: train(task, f"{task.name} rate {rate}", HELD_OUT, "--rate", rate, only=middle), rates)
    return max(rates, key=lambda rate: task.rows.rows[f"{task.name} rate {rate}"]["cells"][middle])


def compare_separate(task: Task) -> None:
    """An elastic model beside separate ones of some of the nine cells, each of as many steps, on dev."""
    plain(task, f"{task.name} plain")
    train(task, f"{task.name} elastic", 0, "--rate", elastic_rate(task))
    cells = list(task.rows.rows[f"{task.name} elastic"]["cells"])
    best = separate_rate(task, cells[len(cells) // 2])
    task.plain(held_out=0)
    task.each(lambda cell: train(task, f"{task.name} separate {cell}", 0, "--rate", best, only=cell),
              [cells[i] for i in task.sizes.which])


def compare_bits(task: Task) -> None:
    """Two elastic models, one of which was trained on weights of 2 and 3 bits as well, at few bits and in full."""
    rate = elastic_rate(task)
    task.plain(held_out=0)

    def measure(name: str, *more: object) -> None:
        folder = trained(task, name, 0, "--rate", rate, *more)
        nine = nine_of(folder)
        task.keep(f"{name} in full", folder, nine, "dev")
        if not all(f"{name} at {bits} bits" in task.rows for bits in BITS):
            with tools.seen_at(folder, BITS) as seen:
                for bits, at_bits in seen.items():
                    task.keep(f"{name} at {bits} bits", at_bits, nine, "dev", trained=folder)

    task.each(lambda what: measure(*what), [(f"{task.name} elastic",),
                                          (f"{task.name} few bits", "--bits", "2,3", "--bits-every",
                                           task.sizes.steps // REFRESHES)])
