"""The tables and pictures that are made of the cells, and what must come out of them."""
import math
import re
import subprocess

from paper import drawing, recipe, tools
from paper.tools import REPO

# STI, Tables 5 and 6, SST-2 on the Odroid: accuracy in percent and submodel at 150, 200 and 400 ms.
# The paper prints neither for ours with 5 MB there, which is of the other device.
PAPER = {
    "load-exec": ((50.9, "1x4"), (50.9, "1x5"), (78.8, "3x3")),
    "stdpl-full": ((50.9, "1x4"), (50.9, "1x5"), (78.8, "3x3")),
    "stdpl-2bit": ((74.7, "3x3"), (67.8, "4x3"), (89.3, "10x3")),
    "stdpl-6bit": ((78.8, "3x3"), (78.0, "4x3"), (92.0, "10x3")),
    "preload-full": ((78.8, "3x3"), (87.2, "5x3"), (92.0, "10x3")),
    "preload-6bit": ((78.8, "3x3"), (87.2, "5x3"), (92.0, "10x3")),
    "ours-0mb": ((78.8, "3x3"), (87.2, "5x3"), (91.9, "10x3")),
    "ours-1mb": ((78.8, "3x3"), (87.2, "5x3"), (92.0, "10x3")),
}
PAPER["paper-0mb"], PAPER["paper-1mb"] = PAPER["ours-0mb"], PAPER["ours-1mb"]
# STI, Table 7: accuracy of random choice and of ours at 0.4, 2 and 4 MB.
PAPER_7 = {0.4: (79.5, 81.2), 2: (79.8, 83.8), 4: (81.8, 85.8)}
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


def accuracy_table(cells, name):
    head = ["row"] + [f"{target} ms" for target in recipe.TARGETS_MS]
    with_paper = name == "sst2"
    if with_paper:
        head += [f"paper, {target} ms" for target in recipe.TARGETS_MS]
    rows = []
    for row in recipe.ROWS:
        line = [NAMES[row]]
        for target in recipe.TARGETS_MS:
            cell = cells.get(name, target, row)
            line.append("" if cell is None else "none" if cell["submodel"] == "none" else
                        f"{shown(cells.number(name, target, row, 'accuracy'), 2, 100)} "
                        f"({cell['submodel']}, {shown(cells.number(name, target, row, 'bits'), 1)})")
        if with_paper:
            line += [f"{a} ({s})" for a, s in PAPER[row]] if row in PAPER else ["-"] * 3
        rows.append(line)
    return table(head, rows)


def latency_table(cells, name):
    head = ["row", "paper's T", "T", "submodel", "p50", "predicted", "p99", "predicted", "late",
            "MB preloaded", "MB read", "MB peak", "CPU, ms"]
    rows = []
    for row in recipe.ROWS:
        for target in recipe.TARGETS_MS:
            cell = cells.get(name, target, row)
            if cell is None or not cell["p50_ms"]:
                continue

            def of(column, digits=2, scale=1.0):
                return shown(cells.number(name, target, row, column), digits, scale)
            rows.append([NAMES[row], str(target), of("target_ms"), cell["submodel"], of("p50_ms"),
                         of("predicted_p50_ms"), of("p99_ms"), of("predicted_p99_ms"),
                         f"{cell['late']} of {cell['inputs']}", of("preload_bytes", 2, 1e-6),
                         of("read_bytes", 2, 1e-6), of("peak_rss_bytes", 2, 1e-6),
                         of("cpu_ms", 1)])
    return table(head, rows)


def budget_table(cells):
    head = ["model", "budget, MB", "random, mean of five", "least", "most", "by importance",
            "paper: random", "ours"]
    rows = []
    for name in ("sst2", "clinc150"):
        for budget in recipe.BUDGETS_MB:
            drawn = random_accuracies(cells, name, budget)
            ours = cells.number(name, "", f"budget-{budget}", "accuracy")
            if not drawn or ours is None:
                continue
            paper = [f"{a:.1f}" for a in PAPER_7[budget]] if name == "sst2" else ["-", "-"]
            rows.append([name, f"{budget}", shown(sum(drawn) / len(drawn), 2, 100),
                         shown(min(drawn), 2, 100), shown(max(drawn), 2, 100),
                         shown(ours, 2, 100), *paper])
    return table(head, rows)


def random_accuracies(cells, name, budget):
    found = [cells.number(name, "", f"budget-{budget}-random", "accuracy", seed)
             for seed in recipe.SEEDS]
    return [a for a in found if a is not None]


def curve_tables(cells):
    lines = []
    for name in ("sst2", "clinc150"):
        lines.append([name, "T", *(
            f"{t}: {shown(cells.number(name, t, 'curve-target', 'accuracy'), 2, 100)}"
            for t in recipe.CURVE_TARGETS_MS)])
        lines.append([name, "S", *(
            f"{s}: {shown(cells.number(name, 200, f'curve-preload-{s}', 'accuracy'), 2, 100)}"
            for s in recipe.CURVE_PRELOADS_MB)])
    return table(["model", "over", "", "", "", "", "", ""], lines)


def curves(cells):
    """Returns the pictures of 7.4 as name and SVG."""
    for column, keys, title, axis in (
            ("target", [(t, "curve-target") for t in recipe.CURVE_TARGETS_MS],
             "Accuracy over the target, 1 MB preloaded", "the paper's target, ms"),
            ("preload", [(200, f"curve-preload-{s}") for s in recipe.CURVE_PRELOADS_MB],
             "Accuracy over the preload buffer, T = 200 ms", "preload buffer, MB of the paper")):
        series = {}
        for name in ("sst2", "clinc150"):
            points = [(t if column == "target" else float(row.split("-")[2]),
                       cells.number(name, t, row, "accuracy")) for t, row in keys]
            series[name] = [(x, 100 * y) for x, y in points if y is not None]
        if all(series.values()):
            yield f"curve-{column}.svg", drawing.chart(title, axis, "accuracy, %", series)


def memory_picture(cells, name, target=200):
    """Returns Figure 7: accuracy beside parameters in memory, as name and SVG; None if none."""
    families = {"Load&Exec": ["load-exec"],
                "StdPL: 2, 6 bits, full": ["stdpl-2bit", "stdpl-6bit", "stdpl-full"],
                "Preload: 6 bits, full": ["preload-6bit", "preload-full"],
                "as printed: 0, 1, 5 MB": ["paper-0mb", "paper-1mb", "paper-5mb"],
                "Ours: 0, 1, 5 MB": ["ours-0mb", "ours-1mb", "ours-5mb"]}
    series = {}
    for family, rows in families.items():
        numbers = [(held_bytes(cells, name, target, row),
                    cells.number(name, target, row, "accuracy")) for row in rows]
        points = [(max(held, 1e4) / 1e6, 100 * accuracy) for held, accuracy in numbers
                  if held is not None and accuracy is not None]
        if points:
            series[family] = points
    if len(series) < 2:
        return None
    return f"memory-{name}.svg", drawing.chart(
        f"Accuracy and parameters held in memory, {name}, T = {target} ms", "MB held (0 at 0.01)",
        "accuracy, %", series, is_log=True)


def whole_bytes(name, bits):
    """Returns what all shards of a set's model hold at these bits, codes alone."""
    chosen = recipe.SETS[name]
    return chosen.layers * 12 * chosen.hidden**2 * bits / 8


def held_bytes(cells, name, target, row):
    """Returns parameters in memory between inputs as the paper counts them: Preload's all."""
    if row.startswith("preload"):
        return whole_bytes(name, 32 if "full" in row else 6)
    return cells.number(name, target, row, "preload_bytes")


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
            for row in ("ours-0mb", "ours-1mb", "ours-5mb"):
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


def stdpl_table(cells):
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


def beyond_table(cells):
    head = ["model", "row", "paper's T", "T", "submodel", "accuracy", "p50", "p99", "late",
            "degraded", "MB read", "MB peak"]
    names = {"cold": "cold start", "degrade-quiet": "degrade, alone",
             "degrade-reader": "degrade, beside a reader", "turns": "third turns"}
    rows = []
    for name in ("sst2", "clinc150"):
        for row, row_name in names.items():
            for target in (200, 400):
                cell = cells.get(name, target, row)
                if cell is None or not cell["p50_ms"]:
                    continue

                def of(column, scale=1.0):
                    return shown(cells.number(name, target, row, column), 2, scale)
                rows.append([name, row_name, str(target), of("target_ms"), cell["submodel"],
                             of("accuracy", 100), of("p50_ms"), of("p99_ms"),
                             f"{cell['late']} of {cell['inputs']}", cell["degraded"] or "-",
                             of("read_bytes", 1e-6), of("peak_rss_bytes", 1e-6)])
    return table(head, rows)


def storage_table(cells):
    """Bytes of containers beside those of the weights in fp32; the paper's are of BERT-base."""
    head = ["model", "shards in fp32, MB", "2 to 6 bits", "and full fidelity", "paper: 2 to 6",
            "and full"]
    rows = [[name, shown(whole_bytes(name, 32), 1, 1e-6),
             *(shown(cells.number(name, "", f"storage-{bits}", "parameter_bytes"), 1, 1e-6)
               for bits in recipe.STORED_BITS),
             *(["215", "633"] if name == "bert-base" else ["-", "-"])] for name in recipe.SETS
            if name != "bert-large"]
    return table(head, rows)


def draw_importance_and_lanes(folder):
    """Has the tools draw Figure 5, the importance of shards, and Figure 8, IO and compute of ours
    and of StdPL-6bit at 200 ms; where the files that they are drawn of are at hand."""
    for name in ("sst2", "clinc150"):
        chosen = recipe.SETS[name]
        importance = chosen.work / "tree.importance.json"
        if importance.is_file():
            tools.run("sti-importance", "show", importance, "--svg",
                      folder / f"importance-{name}.svg")
        for row in ("ours-1mb", "stdpl-6bit"):
            plan = recipe.plan_file_of((name, 200, row, ""))
            profiles = list(chosen.work.glob("tree.*.profile.json"))
            if plan.is_file() and profiles:
                tools.run("sti-plan", chosen.container("tree"), "--profile", profiles[0],
                          "--importance", importance, "--check", plan, "--gantt",
                          folder / f"lanes-{name}-{row}.svg")


def facts(store):
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=REPO, check=True, stdout=subprocess.PIPE,
                              text=True).stdout.strip()
    # Cells that are committed say by which commit; others are of the tree at hand.
    is_new = git("status", "--porcelain", "--", store.path) != ""
    commit = git("log", "-1", "--format=%h", *([] if is_new else ["--", store.path]))
    dates = [cell["date"] for cell in store.cells.values()]
    return "\n".join([
        "- Command: `make reproduce`",
        f"- Commit: `{commit}`, sources `{store.own['digest']}`",
        f"- Machine: {store.own['cpu']}, of which the device has one, and f = {store.factor():.4f}",
        f"- Date: {max(dates)}"])


def write(store, folder):
    """Writes pictures, and the generated parts of README.md between its markers."""
    if not store.cells:
        return
    cells = Cells(store)
    parts = {"setup": facts(store)}
    for name in recipe.SETS:
        if recipe.SETS[name].has_labels:
            parts[f"accuracy-{name}"] = accuracy_table(cells, name)
        parts[f"latency-{name}"] = latency_table(cells, name)
    parts |= {"storage": storage_table(cells), "beyond": beyond_table(cells), "budget": budget_table(cells), "curves": curve_tables(cells),
              "preload": against_preload(cells), "stdpl": stdpl_table(cells)}
    pictures = [*curves(cells), *filter(None, (memory_picture(cells, name)
                                               for name in ("sst2", "clinc150")))]
    draw_importance_and_lanes(folder)
    for name, picture in pictures:
        (folder / name).write_text(picture)
    readme = folder / "README.md"
    text = readme.read_text() if readme.is_file() else ""
    for name, part in parts.items():
        made = part if name == "setup" else f"{parts['setup']}\n\n{part}"
        text = re.sub(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)",
                      lambda found, made=made: f"{found[1]}\n{made}\n\n{found[2]}", text,
                      flags=re.DOTALL)
    if text:
        readme.write_text(text)
