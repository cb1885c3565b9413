"""Cells that the paper has none of: the first label of a fresh process, deadlines while another
process reads from the same flash, and back-to-back turns."""
import contextlib
import json
import statistics
import subprocess

from harness import BUILD
from paper import tools

STARTS = 40  # fresh processes of a cell
ROWS = ("cold", "degrade-quiet", "degrade-reader", "turns")
PRELOAD_MB = 1


def options_of(row, part):
    """Returns the options of sti-plan that a row has besides its target."""
    if row == "cold":
        return ["--cold"]
    preload = ["--preload", int(PRELOAD_MB * 1e6 / part)]
    return preload + (["--turns", "3"] if row == "turns" else [])


def first_text(rows):
    return rows.read_text().splitlines()[1].split("\t")[0]


def cold_starts(container, plan_file, rows, target_ms, instructions):
    """Returns how long fresh processes take from exec to their label, and what they hold."""
    runs = []
    for _ in range(STARTS):
        done = subprocess.run(
            [BUILD / "bench/measure", "-o", "/dev/stdout", "--first-line", "--",
             BUILD / "bin/sti-run", "-q", "--instructions", instructions, container, "--plan",
             plan_file, first_text(rows)], check=True, stdout=subprocess.PIPE, text=True)
        runs.append(json.loads(done.stdout))
    times_ms = [run["first_line_s"] * 1000 for run in runs]
    return tools.spread_of(times_ms) | {
        "late": sum(t > target_ms for t in times_ms),
        "peak_rss_bytes": max(run["max_rss_bytes"] for run in runs),
        "cpu_ms": 1000 * statistics.median(run["user_s"] + run["system_s"] for run in runs)}


@contextlib.contextmanager
def competing_reader(folder):
    """A process that reads a file of the flash from end to end, again and again, past the cache."""
    reader = subprocess.Popen(
        ["sh", "-c", "while dd if=other of=/dev/null bs=128K iflag=direct 2>/dev/null; do :; done"],
        cwd=folder)
    try:
        yield
    finally:
        reader.terminate()
        reader.wait()


def degraded(container, plan_file, rows, has_reader):
    """Returns latencies under `--on-late degrade`, and on how many rows it was right."""
    folder = container.parent
    with competing_reader(folder) if has_reader else contextlib.nullcontext():
        summary = tools.evaluate(container, plan_file, rows, "--on-late", "degrade",
                                 on_device=True)
    return tools.latencies_of(summary) | {"degraded": summary["degraded_inputs"],
                                          "accuracy": summary["accuracy"]}


def labels_of(container, plan_file, rows, *options, on_device=False):
    """Returns the answers to all rows as turns of one engagement."""
    lines = [line.split("\t") for line in rows.read_text().splitlines()[1:]]
    text = tools.run("sti-run", container, "--plan", plan_file, "--json", *options,
                     input="".join(line[0] + "\n" for line in lines), on_device=on_device)
    return [json.loads(answer) for answer in text.splitlines()], [line[1] for line in lines]


def turns(container, slow_container, plan_file, filled, dev_rows, *options):
    """Returns latencies and accuracy of third turns: all inputs but the first two are such."""
    answers, _ = labels_of(slow_container, plan_file, filled, on_device=True)
    times_ms = [answer["latency_us"] / 1000 for answer in answers if answer["turn"] > 2]
    named, labels = labels_of(container, plan_file, dev_rows, *options)
    # A label stands in the data by name or by number.
    right = [label in (answer["label"], str(answer["label_id"]))
             for answer, label in zip(named, labels) if answer["turn"] > 2]
    return tools.spread_of(times_ms) | {
        "accuracy": statistics.mean(right),
        "late": sum(a["deadline_met"] is False for a in answers if a["turn"] > 2),
        "read_bytes": statistics.mean(a["bytes_read"] for a in answers if a["turn"] > 2)}
