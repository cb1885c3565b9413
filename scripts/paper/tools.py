"""The tools, called: a container, its importance, a profile of the device, plans and runs."""
import json
import math
import os
import pathlib
import statistics
import subprocess

REPO = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("STI_BUILD", REPO / "build"))


class Refused(Exception):
    """A plan that cannot be had, with the tool's line."""


def all_cores():
    """Gives a child process all cores again, which its parent on the device has not."""
    os.sched_setaffinity(0, range(os.cpu_count()))


def run(tool, *arguments, on_device=False, **options):
    """Runs a tool quietly and returns its stdout. On the device it comes from the PATH, which keeps
    it to the device's instruction set, and has the device's cores; else it has all."""
    name = tool if on_device else BUILD / "bin" / tool
    done = subprocess.run([name, "-q", *map(str, arguments)], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=None if on_device else all_cores, **options)
    if done.returncode == 4:
        raise Refused(done.stderr.strip())
    if done.returncode != 0:
        raise SystemExit(f"reproduce: {tool}: {done.stderr.strip()}")
    return done.stdout


def once(path, make):
    """Makes a file unless it is there: `make` gets a temporary name beside it."""
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"part.{path.name}")
        make(part)
        part.replace(path)
    return path


def plan(container, profile, importance, options):
    """Returns a plan as JSON; raises Refused where there is none."""
    given = ["--importance", importance] if importance else []
    return json.loads(run("sti-plan", container, "--profile", profile, *given, "--length", "128",
                          *options, "-o", "-", "--json"))


def evaluate(container, plan_file, rows, *options, on_device=False):
    return json.loads(run("sti-run", container, "--plan", plan_file, "--eval", rows, "--json",
                          *options, on_device=on_device))


def measured(container, plan_file, rows):
    """Evaluates on the device. Returns the numbers of a cell."""
    before = os.times()
    summary = evaluate(container, plan_file, rows, on_device=True)
    after = os.times()
    seconds = (after.children_user - before.children_user) + \
        (after.children_system - before.children_system)
    return latencies_of(summary) | {"cpu_ms": seconds / summary["examples"] * 1000}


def latencies_of(summary):
    """Returns the numbers of a cell that an evaluation's summary has."""
    latency = summary["latency_us"]
    return {"p50_ms": latency["p50"] / 1000, "p99_ms": latency["p99"] / 1000,
            "max_ms": latency["max"] / 1000, "late": summary["deadline_misses"],
            "inputs": summary["examples"], "read_bytes": summary["bytes_read_per_input"],
            "peak_rss_bytes": summary["peak_rss_bytes"]}


def spread_of(times_ms):
    """Returns the numbers of a cell that times of single inputs give."""
    ordered = sorted(times_ms)
    return {"p50_ms": statistics.median(ordered), "max_ms": ordered[-1], "inputs": len(ordered),
            "p99_ms": ordered[max(0, math.ceil(0.99 * len(ordered)) - 1)]}
