"""The pictures that are made of the cells: Figures 5, 7 and 8, and the curves of section 7.4."""
from paper import drawing, recipe, tools
from paper.cells import whole_bytes


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


def memory(cells):
    """Returns Figure 7 of each model, as name and SVG."""
    return [picture for name in ("sst2", "clinc150") if (picture := memory_picture(cells, name))]


def held_bytes(cells, name, target, row):
    """Returns parameters in memory between inputs as the paper counts them: Preload's all."""
    if row.startswith("preload"):
        return whole_bytes(name, 32 if "full" in row else 6)
    return cells.number(name, target, row, "preload_bytes")


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
