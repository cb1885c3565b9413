"""What must come out: ours beside all of the model in memory, beside one bitwidth for all, beside
ONNX Runtime, and its targets."""
import math

from paper import peers, recipe
from paper.cells import NAMES, shown, table


def mcnemar_p(first, second):
    """Returns the exact two-sided probability that two runs' rights differ so much by chance."""
    bits = [int(text, 16) for text in (first, second)]
    only = [bin(bits[0] & ~bits[1]).count("1"), bin(bits[1] & ~bits[0]).count("1")]
    count = sum(only)
    if count == 0:
        return 1.0
    tail = sum(math.comb(count, k) for k in range(min(only) + 1)) / 2**count
    return min(1.0, 2 * tail)


def against_preload(cells):
    """Ours beside the better Preload-full: within a row or three, or no worse by McNemar's test."""
    head = ["model", "T", "ours", "buffer", "better Preload-full", "rows behind", "McNemar p",
            "holds"]
    rows = []
    for name, allowed, count in (("sst2", 1, 872), ("clinc150", 3, 3100)):
        for target in recipe.TARGETS_MS:
            peers = [cells.get(name, target, row) for row in ("preload-full", "preload-full-best")]
            peers = [cell for cell in peers if cell and cell["accuracy"]]
            if not peers:
                continue
            best = max(peers, key=lambda cell: float(cell["accuracy"]))
            for row in recipe.OURS:
                cell = cells.get(name, target, row)
                if not cell or not cell["accuracy"]:
                    continue
                behind = round((float(best["accuracy"]) - float(cell["accuracy"])) * count)
                p = mcnemar_p(cell["correct_bits"], best["correct_bits"])
                holds = behind <= allowed or p >= 0.05
                rows.append([name, str(target), shown(float(cell["accuracy"]), 2, 100),
                             NAMES[row][6:], shown(float(best["accuracy"]), 2, 100), str(behind),
                             f"{p:.2f}", "yes" if holds else "no"])
    return table(head, rows)


def against_stdpl(cells):
    """Ours with 1 MB beside StdPL at 2 and 6 bits, and which of IO and compute bound the latter."""
    head = ["model", "T", "ours, 1 MB", "StdPL-2bit", "StdPL-6bit", "over the better, points",
            "IO of StdPL-6bit over its compute"]
    rows = []
    for name in ("sst2", "clinc150"):
        for target in recipe.TARGETS_MS:
            ours, two, six = (cells.number(name, target, row, "accuracy")
                              for row in ("ours-1mb", "stdpl-2bit", "stdpl-6bit"))
            if ours is None or two is None or six is None:
                continue
            read = cells.number(name, target, "stdpl-6bit", "read_bytes")
            cpu = cells.number(name, target, "stdpl-6bit", "cpu_ms")
            rate = 83886080 / cells.number(name, target, "stdpl-6bit", "factor")
            rows.append([name, str(target), shown(ours, 2, 100), shown(two, 2, 100),
                         shown(six, 2, 100), shown(ours - max(two, six), 2, 100),
                         shown(read / rate * 1000 / cpu)])
    return table(head, rows)


def targets_kept(cells):
    """Whether ours meets every target: no more than one input of a hundred over it, of those that
    the machine has not disturbed."""
    head = ["model", "row", "paper's T", "p99 / T", "late", "undisturbed", "p99 / T of these",
            "late of these", "median / predicted", "core slower by", "holds"]
    rows = []
    for name in recipe.SETS:
        for row in recipe.OURS:
            for target in recipe.TARGETS_MS:
                cell = cells.get(name, target, row)
                if cell is None or not cell["p99_ms"]:
                    continue
                target_ms, p50_ms, predicted_ms, p99_ms, calm_ms, slower = (
                    cells.number(name, target, row, column) for column in (
                        "target_ms", "p50_ms", "predicted_p50_ms", "p99_ms", "calm_p99_ms",
                        "slower"))
                ratio = p99_ms / target_ms
                calm = calm_ms and calm_ms / target_ms
                rows.append([name, NAMES[row], str(target), shown(ratio, 3),
                             f"{cell['late']} of {cell['inputs']}", cell["calm"] or "not watched",
                             shown(calm, 3), cell["calm_late"] or "-",
                             shown(p50_ms / predicted_ms, 3),
                             f"{slower - 1:+.1%}" if slower else "-",
                             "yes" if (calm or ratio) <= 1 else "no"])
    return table(head, rows)


def against_onnx(cells):
    """Memory of whole processes of ours beside what ONNX Runtime int8 grows by."""
    head = ["model", "row", "paper's T", "MB peak", "ONNX Runtime int8, MB", "times as much",
            "at least", "holds"]
    rows = []
    for name, wanted in (("sst2", 8), ("clinc150", 8), ("bert-base", 12)):
        onnx = cells.number(name, "", peers.ROW, "peak_rss_bytes")
        for row in recipe.OURS:
            for target in recipe.TARGETS_MS:
                peak = cells.number(name, target, row, "peak_rss_bytes")
                if onnx is None or peak is None:
                    continue
                rows.append([name, NAMES[row], str(target), shown(peak, 2, 1e-6),
                             shown(onnx, 1, 1e-6), shown(onnx / peak, 1), str(wanted),
                             "yes" if onnx >= wanted * peak else "no"])
    return table(head, rows)
