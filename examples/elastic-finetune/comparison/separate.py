"""An elastic model beside separate models of some sizes, and beside one that was trained at few bits."""

from collections.abc import Sequence

from elastic import tools
from elastic.folder import ModelFolder

from .rows import Rows, keep
from .task import HELD_OUT, LARGE, SMALL, Task, nine_of, texts_of

RATES = (3e-4, 6e-4, 1.2e-3)  # of separate models, chosen on the middle cell
SMALL_STEPS = 2000
WINNERS = {"words": 700, "grid": 500}  # steps that take about the same time
WINNERS_RATES = (4e-4, 8e-4)
BITS = (2, 3, 6)


def plain(task: Task, rows: Rows, name: str, hidden: int = LARGE) -> None:
    """Keeps the row of the plain model, on dev."""
    if name not in rows:
        source = task.plain(hidden, held_out=0)
        dev = texts_of(source, task.options_for(source), "dev")
        keep(rows, name, source, {"whole": ModelFolder(source).load().whole()}, dev)


def train(task: Task, rows: Rows, name: str, held_out: float, only: str | None = None, *more: object,
          steps: int | None = None, hidden: int = LARGE) -> None:
    """Keeps the row of a model that make-elastic makes of the plain one, or of a model of one size by itself: on the
    rows that were held out, or on dev where none were."""
    if name in rows:
        return
    source = task.plain(hidden, held_out)
    options = ["--only", only, *more] if only else more
    folder = task.made(name.replace(" ", "-"), "make-elastic", source, *task.common(held_out), "--steps",
                       steps or task.steps, *options)
    every = nine_of(folder)
    texts = texts_of(source, task.options_for(source), "held out" if held_out else "dev")
    keep(rows, name, folder, {only: every[only]} if only else every, texts)


def compare_winners(task: Task, rows: Rows) -> None:
    """Two methods at hidden size 384, each at two rates, on the held-out tenth."""
    for method, steps in WINNERS.items():
        for rate in WINNERS_RATES:
            train(task, rows, f"winner {method} at {rate:g}", HELD_OUT, None, "--method", method, "--rate", rate,
                  steps=steps)


def compare_smaller(task: Task, rows: Rows) -> None:
    """The plain model of hidden size 192 that make-smaller makes, and the elastic one of that, on dev."""
    plain(task, rows, f"{task.name} smaller plain", SMALL)
    train(task, rows, f"{task.name} smaller elastic", 0, steps=SMALL_STEPS, hidden=SMALL)


def compare_separate(task: Task, rows: Rows, which: Sequence[int] = range(9)) -> None:
    """An elastic model beside separate ones of some of the nine cells, each of as many steps, on dev. The rate of the
    separate ones is chosen on the middle cell and the held-out tenth."""
    plain(task, rows, f"{task.name} plain")
    train(task, rows, f"{task.name} elastic", 0)
    cells = list(rows.rows[f"{task.name} elastic"]["cells"])
    middle = cells[len(cells) // 2]
    rated = {}
    for rate in RATES:
        name = f"{task.name} rate {rate}"
        train(task, rows, name, HELD_OUT, middle, "--rate", rate)
        rated[rate] = rows.rows[name]["cells"][middle]
    best = max(rated, key=lambda rate: rated[rate])
    for cell in (cells[i] for i in which):
        train(task, rows, f"{task.name} separate {cell}", 0, cell, "--rate", best)


def compare_bits(task: Task, rows: Rows) -> None:
    """Two elastic models, one of which was trained on weights of 2 and 3 bits as well, at few bits and in full."""
    source = task.plain(held_out=0)
    dev = texts_of(source, task.options_for(source), "dev")
    for name, more in ((f"{task.name} elastic", ()), (f"{task.name} few bits", ("--bits", "2,3"))):
        train(task, rows, name, 0, None, *more)
        if all(f"{name} at {bits} bits" in rows for bits in BITS):
            continue
        folder = task.given.work / name.replace(" ", "-")
        with tools.seen_at(folder, BITS) as seen:
            for bits, at_bits in seen.items():
                keep(rows, f"{name} at {bits} bits", at_bits, nine_of(folder), dev, trained=folder)
