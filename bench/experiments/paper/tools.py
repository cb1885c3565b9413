"""The tools, called: a container, its importance, a profile of the device, plans and runs."""
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import time

from harness import BUILD


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


def answer_to(runner, text):
    """Gives a runner one text. Returns its answer and the times of the monotonic clock between which
    it was made; None where the runner has ended, as after a read that failed."""
    begin = time.monotonic()
    try:
        runner.stdin.write(text + "\n")
        runner.stdin.flush()
    except BrokenPipeError:
        return None
    line = runner.stdout.readline()
    return (json.loads(line), begin, time.monotonic()) if line else None


def answered(container, plan_file, rows):
    """Gives a runner on the device one text after another. Returns each answer with the times of the
    monotonic clock between which it was made, and the greatest resident size of the runner."""
    texts = [line.split("\t", 1)[0] for line in rows.read_text().splitlines()[1:]]
    command = ["sti-run", "-q", container, "--plan", plan_file, "--json", "--stats"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as runner:
        given = []
        for text in texts:
            answer = answer_to(runner, text)
            if answer is None:
                raise SystemExit(f"reproduce: sti-run ended after {len(given)} of {len(texts)}")
            given.append(answer)
        peak_bytes = peak_of(runner.pid)
        runner.stdin.close()
    return given, peak_bytes


def peak_of(process):
    """Returns the greatest resident size of a process that still runs."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)[1]) * 1024


def measured(container, plan_file, rows, watch):
    """Returns the numbers of a cell, measured on the device while it is watched."""
    with watch:
        before = os.times()
        answers, peak_bytes = answered(container, plan_file, rows)
        after = os.times()
    seconds = (after.children_user - before.children_user) + \
        (after.children_system - before.children_system)
    calm = [answer for answer, begin, end in answers if watch.has_disturbed(begin, end) is False]
    numbers = spread_of([answer["latency_us"] / 1000 for answer, _, _ in answers]) | {
        "late": late_of([answer for answer, _, _ in answers]),
        "read_bytes": statistics.mean(answer["bytes_read"] for answer, _, _ in answers),
        "peak_rss_bytes": peak_bytes, "cpu_ms": seconds / len(answers) * 1000}
    if calm:
        numbers |= {"calm": len(calm), "calm_late": late_of(calm), "calm_p99_ms": spread_of(
            [answer["latency_us"] / 1000 for answer in calm])["p99_ms"]}
    return numbers


def late_of(answers):
    return sum(answer["deadline_met"] is False for answer in answers)


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
