"""The tables of the README, from what was measured."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from elastic import evaluate

from .rows import Rows, right_of


def report_separate(rows: Rows, name: str, on: str = "") -> None:
    """Prints the elastic model beside the separate ones and beside the elastic one of before; `on` ends the names of
    rows that are not of dev."""
    if f"{name} elastic{on}" not in rows:
        return
    elastic = rows.rows[f"{name} elastic{on}"]
    seconds = rows.rows.get(f"{name} step seconds", {}) if not on else {}
    more = {}  # columns that not every table has
    if before := rows.rows.get(f"{name} before{on}"):
        more["before"] = {cell: f"{share:.2f}" for cell, share in before["cells"].items()}
    if seconds:
        more["s a step"] = {cell: f"{seconds[cell]:.3f}" for cell in elastic["cells"]}
    differences, lines = [], []
    for cell, share in elastic["cells"].items():
        row = rows.rows.get(f"{name} separate {cell}{on}")
        beside = ["", f"{share:.2f}", "", ""]
        if row is not None:
            differences.append(share - row["cells"][cell])
            p = evaluate.mcnemar(right_of(row, cell), right_of(elastic, cell))
            beside = [f"{row['cells'][cell]:.2f}", f"{share:.2f}", f"{differences[-1]:+.2f}", f"{p:.3f}"]
        lines.append([cell, *beside, *(column[cell] for column in more.values())])
    if differences:
        lines.append(["mean", "", "", f"{statistics.mean(differences):+.2f}", "", *("" for _ in more)])
    print_table([name + on, "separate", "elastic", "difference", "McNemar's p", *more], lines)
    if seconds:
        nine = sum(seconds[cell] for cell in elastic["cells"])
        print(f"A step of all nine takes {nine:.2f} s, one of the elastic model {seconds['elastic']:.2f} s.\n")
    plain = rows.rows[f"{name} plain{on}"]
    whole = list(elastic["cells"])[-1]
    p = evaluate.mcnemar(right_of(plain, "whole"), right_of(elastic, whole))
    print(f"The plain model has {plain['cells']['whole']:.2f}, the elastic one's whole {elastic['cells'][whole]:.2f} "
          f"(McNemar's p {p:.3f}).\n")


def report(rows: Rows) -> None:
    """Prints the tables."""
    report_methods(rows)
    print_cells("smaller words", [(name.removeprefix("smaller words "), row["cells"]) for name, row in rows.rows.items()
                                  if name.startswith("smaller words ")])
    for name in ("clinc150", "clinc150 by grid", "sst2", "sst2 sentences"):
        report_rates(rows, name)
        report_separate(rows, name)
        report_separate(rows, name, " on test")
        report_bits(rows, name)
    report_smaller(rows, "clinc150")


def print_table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """Prints a table in Markdown."""
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for line in lines:
        print("| " + "".join(f"{cell} | " if cell else "| " for cell in line).rstrip())
    print()


def print_cells(title: str, found: Sequence[tuple[str, Mapping[str, float]]]) -> None:
    """Prints the cells of models, a line a model, where there are any."""
    if found:
        cells = list(found[0][1])
        print_table([title, *cells], ([label, *(f"{shares[cell]:.2f}" for cell in cells)] for label, shares in found))


def report_rates(rows: Rows, name: str) -> None:
    """Prints the learning rates that were tried, on the rows held out."""
    for kind in ("plain at", "elastic at", "rate"):
        found = [(label.removeprefix(f"{name} {kind} "), row["cells"]) for label, row in rows.rows.items()
                 if label.startswith(f"{name} {kind} ") and not label.endswith(" bits")]
        print_cells(f"{name} {kind}", sorted(found, key=lambda item: float(item[0])))


def report_methods(rows: Rows) -> None:
    """Prints the tables by which methods, rates and depth maps are chosen: nine cells as means over the seeds, and the
    mean of each seed."""
    for prefix in ("rate", "method", "words", "depth map", "winner", "whole", "embeddings"):
        found: dict[str, list[dict[str, Any]]] = {}
        for name, row in rows.rows.items():
            if name.startswith(prefix + " "):
                found.setdefault(name.removeprefix(prefix + " ").partition(" seed ")[0], []).append(row)
        if not found:
            continue
        cells = list(next(iter(found.values()))[0]["cells"])
        lines = []
        for kind, seeds in found.items():
            means = [f"{statistics.mean(row['cells'][cell] for row in seeds):.2f}" for cell in cells]
            each = [f"{statistics.mean(row['cells'].values()):.2f}" for row in seeds]
            lines.append([kind, str(seeds[0]["steps"]), *means, ", ".join(each)])
        measured = all("divergence" in row for seeds in found.values() for row in seeds)
        if measured:
            lines = [[*line, *divergence_of(seeds)] for line, seeds in zip(lines, found.values(), strict=True)]
        print_table([prefix, "steps", *cells, "means", *(["divergence", "of the whole"] if measured else [])], lines)


def divergence_of(seeds: Sequence[dict[str, Any]]) -> list[str]:
    """How far models are from their teacher, as a mean over the cells and seeds, and the whole alone."""
    each = [list(row["divergence"].values()) for row in seeds]
    return [f"{statistics.mean(map(statistics.mean, each)):.4f}", f"{statistics.mean(row[-1] for row in each):.4f}"]


def report_bits(rows: Rows, name: str) -> None:
    """Prints the nine cells in full and at few bits, of the model that was not trained for these and of the one that
    was."""
    labels = [f"{model} {read}" for read in ("in full", "at 6 bits", "at 3 bits", "at 2 bits")
              for model in ("elastic", "few bits")]
    print_cells(name, [(label, rows.rows[f"{name} {label}"]["cells"]) for label in labels
                       if f"{name} {label}" in rows])


def report_smaller(rows: Rows, name: str) -> None:
    """Prints the smaller elastic model beside the shipped example, which was made alike, with McNemar's p."""
    names = [f"{name} smaller {kind}" for kind in ("elastic", "shipped", "plain")]
    if not all(each in rows for each in names):
        return
    elastic, shipped, plain = (rows.rows[each] for each in names)
    print_cells(f"{name} smaller", [("elastic", elastic["cells"]), ("shipped", shipped["cells"])])
    print_table([f"{name} smaller", *shipped["cells"]], [["p", *(
        f"{evaluate.mcnemar(right_of(elastic, cell), right_of(shipped, cell)):.3f}" for cell in shipped["cells"])]])
    print(f"The smaller plain model has {plain['cells']['whole']:.2f}.\n")
