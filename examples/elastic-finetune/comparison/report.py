"""The tables of the README, from what was measured."""

from elastic import evaluate

from .rows import Rows, right_of


def report_separate(rows: Rows, name: str) -> None:
    """Prints the elastic model beside the separate ones."""
    if f"{name} elastic" not in rows:
        return
    elastic = rows.rows[f"{name} elastic"]
    print(f"| {name} | separate | elastic | difference | McNemar's p | s a step |\n|---|---|---|---|---|---|")
    seconds = rows.rows.get(f"{name} step seconds", {})
    differences = []
    for cell, share in elastic["cells"].items():
        row = rows.rows.get(f"{name} separate {cell}")
        if row is None:
            print(f"| {cell} | | {share:.2f} | | | |")
            continue
        differences.append(share - row["cells"][cell])
        p = evaluate.mcnemar(right_of(row, cell), right_of(elastic, cell))
        print(f"| {cell} | {row['cells'][cell]:.2f} | {share:.2f} | {differences[-1]:+.2f} | {p:.3f} | "
              f"{seconds.get(cell, '')} |")
    if differences:
        mean = sum(differences) / len(differences)
        total = f"{sum(seconds[cell] for cell in elastic['cells']):.2f}; elastic {seconds['elastic']}" if seconds else ""
        print(f"| mean, sum | | | {mean:+.2f} | | {total} |")
    plain = rows.rows[f"{name} plain"]
    whole = list(elastic["cells"])[-1]
    p = evaluate.mcnemar(right_of(plain, "whole"), right_of(elastic, whole))
    print(f"\nThe plain model has {plain['cells']['whole']:.2f}, the elastic one's whole {elastic['cells'][whole]:.2f} "
          f"(McNemar's p {p:.3f}).\n")


def report(rows: Rows) -> None:
    """Prints the tables."""
    for prefix in ("rate", "method", "depth map", "winner"):
        found = {name: row for name, row in rows.rows.items() if name.startswith(prefix + " ")}
        if not found:
            continue
        cells = list(next(iter(found.values()))["cells"])
        print("| " + " | ".join([prefix, "seed", "steps", *cells, "mean"]) + " |")
        print("|" + "---|" * (len(cells) + 4))
        for name, row in found.items():
            kind, _, seed = name.removeprefix(prefix + " ").partition(" seed ")
            print("| " + " | ".join([kind, seed, str(row["steps"]), *(f"{row['cells'][c]:.2f}" for c in cells),
                                     f"{sum(row['cells'].values()) / len(cells):.2f}"]) + " |")
        print()


def report_bits(rows: Rows, name: str) -> None:
    """Prints the nine cells at few bits, of the model that was trained for them and of the one that was not."""
    models = (f"{name} elastic", f"{name} few bits")
    found = [(label, row) for label, row in rows.rows.items() if label.startswith(models)]
    if not any(" at " in label for label, _ in found):
        return
    cells = list(found[0][1]["cells"])
    print("| " + " | ".join([name, *cells]) + " |")
    print("|" + "---|" * (len(cells) + 1))
    for label, row in found:
        print("| " + " | ".join([label.removeprefix(name + " "), *(f"{row['cells'][c]:.2f}" for c in cells)]) + " |")
    print()
