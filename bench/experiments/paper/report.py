"""The document of the results: generated tables between the markers of its text, and pictures."""
import re
import subprocess

from harness import REPO
from paper import pictures, recipe, tables, verdicts
from paper.cells import Cells


def facts(store):
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=REPO, check=True, stdout=subprocess.PIPE,
                              text=True).stdout.strip()
    # Cells that are committed say by which commit; others are of the tree at hand.
    is_kept = store.path.is_relative_to(REPO) and git("ls-files", "--", store.path) != "" and \
        git("status", "--porcelain", "--", store.path) == ""
    commit = git("log", "-1", "--format=%h", *(["--", store.path] if is_kept else []))
    dates = [cell["date"] for cell in store.cells.values()]
    return "\n".join([
        "- Command: `bench/experiments/reproduce --record`",
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
            parts[f"accuracy-{name}"] = tables.accuracy_table(cells, name)
        parts[f"latency-{name}"] = tables.latency_table(cells, name)
    parts |= {"storage": tables.storage_table(cells), "beyond": tables.beyond_table(cells),
              "budget": tables.budget_table(cells), "curves": tables.curve_tables(cells),
              "jetson": tables.jetson_table(cells), "onnx": tables.onnx_table(cells),
              "preload": verdicts.against_preload(cells), "stdpl": verdicts.against_stdpl(cells),
              "targets": verdicts.targets_kept(cells), "memory": verdicts.against_onnx(cells)}
    pictures.draw_importance_and_lanes(folder)
    for name, picture in [*pictures.curves(cells), *pictures.memory(cells)]:
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
