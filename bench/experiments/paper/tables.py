"""The paper's tables, made of the cells, with the paper's figures beside them."""
from paper import peers, recipe
from paper.cells import NAMES, shown, table, whole_bytes

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
# STI, Table 5 (b) and Table 6: SST-2 on the Jetson.
PAPER_JETSON = {
    "load-exec": ((51.2, "2x1"), (52.9, "3x1"), (73.1, "5x1")),
    "stdpl-full": ((51.2, "2x1"), (52.9, "3x1"), (73.1, "5x1")),
    "stdpl-2bit": ((68.1, "2x12"), (77.2, "3x12"), (85.7, "7x12")),
    "stdpl-6bit": ((60.2, "2x8"), (78.0, "3x7"), (90.7, "7x3")),
    "preload-full": ((65.8, "2x12"), (81.5, "3x12"), (91.5, "7x12")),
    "preload-6bit": ((66.1, "2x12"), (82.2, "3x12"), (91.5, "7x12")),
    "ours-0mb": ((65.9, "2x12"), (81.6, "3x12"), (91.6, "7x12")),
    "ours-5mb": ((65.9, "2x12"), (81.6, "3x12"), (91.6, "7x12")),
}
PAPER_JETSON["paper-0mb"] = PAPER_JETSON["ours-0mb"]
PAPER_JETSON["paper-5mb"] = PAPER_JETSON["ours-5mb"]
# STI, Table 7: accuracy of random choice and of ours at 0.4, 2 and 4 MB.
PAPER_7 = {0.4: (79.5, 81.2), 2: (79.8, 83.8), 4: (81.8, 85.8)}


def choice(cell, time=None):
    """Returns accuracy, submodel and mean bits of a cell, and the time of a column, if named."""
    if cell is None or cell["submodel"] == "none":
        return "" if cell is None else "none"
    took = f", {float(cell[time]):.0f} ms" if time else ""
    return f"{100 * float(cell['accuracy'] or 'nan'):.2f} ({cell['submodel']}, " \
           f"{float(cell['bits'] or 'nan'):.1f}{took})"


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
            line.append(choice(cell))
        if with_paper:
            line += [f"{a} ({s})" for a, s in PAPER[row]] if row in PAPER else ["-"] * 3
        rows.append(line)
    return table(head, rows)


def jetson_table(cells):
    """SST-2 on the Jetson: choices and times as planned, accuracy of the plans as measured."""
    head = ["row", *(f"{target} ms" for target in recipe.TARGETS_MS),
            *(f"paper, {target} ms" for target in recipe.TARGETS_MS)]
    rows = []
    for key in recipe.JETSON_ROWS:
        row = key.removeprefix("jetson-")
        line = [NAMES[row]]
        for target in recipe.TARGETS_MS:
            cell = cells.get("sst2", target, key)
            line.append(choice(cell, "predicted_p50_ms"))
        rows.append(line + [f"{a} ({s})" for a, s in PAPER_JETSON[row]])
    return table(head, rows)


def onnx_table(cells):
    """ONNX Runtime with int8 weights: its file, its loading from the flash, its memory."""
    head = ["model", "file, MB", "loads here, ms", "on the device, ms", "MB that the process grows"]
    rows = []
    for name in recipe.SETS:
        cell = cells.get(name, "", peers.ROW)
        if cell is None:
            continue
        load_ms = float(cell["load_ms"])
        rows.append([name, shown(float(cell["parameter_bytes"]), 1, 1e-6), shown(load_ms, 0),
                     shown(load_ms / float(cell["factor"]), 0),
                     shown(float(cell["peak_rss_bytes"]), 1, 1e-6)])
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
            "by gains", "paper: random", "ours"]
    rows = []
    for name in ("sst2", "clinc150"):
        for budget in recipe.BUDGETS_MB:
            drawn = random_accuracies(cells, name, budget)
            ours = cells.number(name, "", f"budget-{budget}", "accuracy")
            by_gains = cells.number(name, "", f"budget-{budget}-gains", "accuracy")
            if not drawn or ours is None:
                continue
            paper = [f"{a:.1f}" for a in PAPER_7[budget]] if name == "sst2" else ["-", "-"]
            rows.append([name, f"{budget}", shown(sum(drawn) / len(drawn), 2, 100),
                         shown(min(drawn), 2, 100), shown(max(drawn), 2, 100),
                         shown(ours, 2, 100),
                         shown(by_gains, 2, 100),
                         *paper])
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


def beyond_table(cells):
    head = ["model", "row", "paper's T", "T", "submodel", "accuracy", "p50", "p99", "late",
            "degraded", "MB read", "MB peak"]
    names = {"cold": "cold start", "degrade-quiet": "degrade, alone",
             "degrade-reader": "degrade, beside a reader", "turns": "third turns"}
    rows = []
    for name in ("sst2", "clinc150", "bert-base"):
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
