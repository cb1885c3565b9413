"""ONNX Runtime with int8 weights as a tenth row: what it takes to load, and its memory. Its kernels
cannot be kept to an instruction set, so what it computes in is left out."""
import json
import os
import statistics
import subprocess

from harness import REPO
from paper import tools

ROW = "onnx-int8"
LOADS = 9  # fresh processes
COLD = REPO / "bench/experiments/peers/cold.py"


def environment():
    """Returns the Python of the environment that peers run in, which is made if need be; None where
    it cannot be had."""
    made = subprocess.run([REPO / "bench/experiments/peers/environment"], check=False, text=True,
                          stdout=subprocess.PIPE)
    return made.stdout.strip() if made.returncode == 0 else None


def model_file(chosen):
    return chosen.work / "flash" / "int8.onnx"


def tokens_file(chosen):
    return chosen.work / "onnx" / "tokens.json"


def export(chosen, python, length):
    """Writes the model as int8.onnx, on the folder that the device shows as flash, and the ids of
    an input that fills `length` tokens."""
    def write(path):
        folder = tokens_file(chosen).parent
        folder.mkdir(exist_ok=True)
        text = chosen.filled_rows(1).read_text().splitlines()[1].split("\t")[0]
        (folder / "rows.tsv").write_text("sentence\tlabel\n" + 2 * f"{text}\t0\n")
        done = subprocess.run(
            [python, COLD, "export", "--model", chosen.source(), "--data", folder / "rows.tsv",
             "--length", str(length), "--out", folder], check=False, text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise SystemExit(f"reproduce: {COLD.name}: {done.stderr.strip().splitlines()[-1]}")
        (folder / "fp32.onnx").unlink()
        (folder / "int8.onnx").replace(path)

    tools.once(model_file(chosen), write)


def loads(chosen, slow_file):
    """Returns how long fresh processes take to load the model from the flash, and by how much they
    grow until they have answered: Python and what it needs are not counted."""
    python = environment()
    if python is None:
        raise tools.Refused("no environment for ONNX Runtime")
    runs = []
    for _ in range(LOADS):
        done = subprocess.run([python, COLD, "once", "--onnx", slow_file, "--tokens",
                               tokens_file(chosen), "--threads",
                               str(len(os.sched_getaffinity(0)))],
                              check=True, stdout=subprocess.PIPE, text=True)
        runs.append(json.loads(done.stdout))
    return {"submodel": "all", "inputs": len(runs),
            "load_ms": statistics.median(run["load_ms"] for run in runs),
            "parameter_bytes": model_file(chosen).stat().st_size,
            "peak_rss_bytes": statistics.median(run["growth_bytes"] for run in runs)}
