"""Cells that were measured here, beside the recorded ones: by how much they differ, and whether that is
within what the recorded one itself varies by."""
from paper.cells import table
from paper.verdicts import mcnemar_p

HEAD = ["cell", "number", "recorded", "here", "ratio", "within its spread"]
CHANCE = 0.05  # of McNemar's test, below which two runs' rights differ by more than chance


def number(cell, column):
    return float(cell[column]) if cell and cell[column] else None


def rows_of(name, here, recorded):
    """Yields the rows of a cell. Times are the device's own, of which this machine's are f times as
    long; they vary by as much as the recorded 99th percentile lies above the recorded median."""
    if recorded is None:
        yield [name, "-", "not recorded", here["submodel"], "-", "-"]
        return
    if here["submodel"] != recorded["submodel"]:
        yield [name, "submodel", recorded["submodel"], here["submodel"], "-", "no"]
    times = []
    for cell in (recorded, here):
        factor = number(cell, "factor")
        times.append([(time_ms := number(cell, column)) and time_ms / factor
                      for column in ("p50_ms", "p99_ms")])
    (median, most), (other, _) = times
    if median and most and other:
        spread = "yes" if abs(other - median) <= most - median else "no"
        yield [name, "p50, ms of the device", f"{median:.2f}", f"{other:.2f}",
               f"{other / median:.3f}", spread]
    rights = [number(cell, "accuracy") for cell in (recorded, here)]
    if None not in rights:
        known = recorded["correct_bits"] and here["correct_bits"]
        p = mcnemar_p(recorded["correct_bits"], here["correct_bits"]) if known else None
        yield [name, "accuracy, %", *(f"{100 * right:.2f}" for right in rights),
               f"{rights[1] / rights[0]:.3f}" if rights[0] else "-",
               "-" if p is None else "yes" if p >= CHANCE else "no"]
    for column, unit in (("load_ms", "loads, ms"), ("parameter_bytes", "bytes of shards")):
        sizes = [number(cell, column) for cell in (recorded, here)]
        if None not in sizes and not (median and other):
            yield [name, unit, *(f"{size:.6g}" for size in sizes), f"{sizes[1] / sizes[0]:.3f}", "-"]


def table_of(cells):
    """Returns a table of cells: names, measured here, and recorded."""
    return table(HEAD, [row for cell in cells for row in rows_of(*cell)])
