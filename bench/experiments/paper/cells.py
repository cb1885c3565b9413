"""The cells of a store, looked up, and how their numbers are shown."""
from paper import recipe

NAMES = {
    "load-exec": "Load&Exec", "stdpl-full": "StdPL-full", "stdpl-2bit": "StdPL-2bit",
    "stdpl-6bit": "StdPL-6bit", "preload-full": "Preload-full, paper's rule",
    "preload-full-best": "Preload-full, best A(n, m)",
    "preload-6bit": "Preload-6bit, paper's rule",
    "preload-6bit-best": "Preload-6bit, best A(n, m)", "paper-0mb": "Ours as printed, 0 MB",
    "paper-1mb": "Ours as printed, 1 MB", "paper-5mb": "Ours as printed, 5 MB",
    "ours-0mb": "Ours, 0 MB", "ours-1mb": "Ours, 1 MB", "ours-5mb": "Ours, 5 MB"}


class Cells:
    """The cells of a store, looked up by set, target and row."""

    def __init__(self, store):
        self.store = store

    def get(self, name, target, row, seed=""):
        return self.store.cells.get((name, str(target), row, str(seed)))

    def number(self, name, target, row, column, seed=""):
        """Returns a number of a cell; None where the cell or the number is missing."""
        cell = self.get(name, target, row, seed)
        return float(cell[column]) if cell and cell[column] else None


def shown(value, digits=2, scale=1.0, missing="-"):
    return missing if value is None else f"{value * scale:.{digits}f}"


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|---" * len(head) + "|",
                      *("| " + " | ".join(row) + " |" for row in rows)])


def whole_bytes(name, bits):
    """Returns what all shards of a set's model hold at these bits, codes alone."""
    chosen = recipe.SETS[name]
    return chosen.layers * 12 * chosen.hidden**2 * bits / 8
