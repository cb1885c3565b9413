"""The warm half of bench/experiments/bench-peers: inference with all weights in memory, engines in turns.

Every engine computes the same numbers: the weights that a reader of 6 bits sees, cut to m slices
(export.py). The peers hold them as they like; sti-run holds the 6-bit codes,
preloaded, and decodes them anew in every run. Batch 1, true length, no padding.

In each round every engine has one burst: one run for warmth, then some by the clock. Each lives in
a process of its own that is stopped (SIGSTOP) while it is not its turn, so that threads which spin
cost nobody else anything; all run on the same CPUs. A round gives one ratio, the table their median.
"""

import argparse
import json
import os
import random
import statistics
import sys

from warm_table import print_report
from workers import TITLES, EngineError, Ours, Peer, run_text

BURST_US = 30_000  # of a burst by the clock, within 3 to 20 runs
PEERS = [("onnxruntime", "fp32"), ("openvino", "fp32"), ("openvino", "bf16"),
         ("onnxruntime", "int8")]


def flops(shape, width, length):
    """Of ours: products with weights, scores and context. The last layer computes keys and values
    of all tokens and the rest of the first."""
    hidden, heads = shape["hidden"], shape["width"]

    def layer(rows):
        weights = 2 * length * hidden * hidden + rows * (2 * hidden * hidden
                                                         + 2 * hidden * shape["ffn"])
        return (2 * weights + 4 * rows * length * hidden) * width / heads
    return (shape["layers"] - 1) * layer(length) + layer(1)


def make_plan(model, width, options, bits=6):
    """All shards at these bits, all preloaded. Its times are made up: nothing is left to be chosen."""
    profile = os.path.join(options.work, "any.profile.json")
    with open(profile, "w", encoding="utf-8") as file:
        json.dump({"io": [{"bits": bits, "load_us": 1}],
                   "compute": [{"length": max(options.lengths), "width": width, "layer_us": 1}]},
                  file)
    plan = os.path.join(options.work, f"{model['name']}-m{width}-{bits}bit.plan")
    run_text(["sti-plan", "-q", model["container"], "--profile", profile, "--strategy", "preload",
              "--bits", str(bits), "--submodel", f"{model['layers']}x{width}", "--preload", "8GiB",
              "-o", plan])
    return plan


def start_engines(model, width, threads, options):
    cpus = set(sorted(os.sched_getaffinity(0))[-threads:])
    plan = make_plan(model, width, options)
    folder = os.path.join(model["onnx"], f"m{width}")
    workers = [Ours(precision, model["container"], plan, options, threads, cpus)
               for precision in options.ours]
    if not options.only_ours:
        workers += [Peer(*peer, folder, options, threads, cpus) for peer in PEERS]
    for worker in list(workers):
        try:
            worker.ready()
        except EngineError as error:
            if worker.key[0] != "sti" or worker.key[1] == "fp32":
                raise
            options.notes.add(f"Left out: {error}.")  # such as: this CPU has no bf16
            workers.remove(worker)
    for worker in [w for w in workers if w.about["precision"] != w.key[1]]:
        options.notes.add(f"{TITLES[worker.key[0]]} has no {worker.key[1]} on this CPU; left out.")
        worker.close()
        workers.remove(worker)
    return workers, cpus


def time_cell(workers, cpus, length, options):
    """Samples of each engine in each round, in turns; a round ends with the peak of the cores."""
    numbers = random.Random(length)
    ids = [numbers.randrange(200, options.vocabulary) for _ in range(length)]
    rounds = []
    counts = {worker.key: 3 for worker in workers}
    for turn in range(-1, options.rounds):
        taken = {}
        for worker in workers if turn % 2 == 0 else workers[::-1]:
            taken[worker.key] = worker.burst(ids, counts[worker.key])
        if turn < 0:  # for warmth, and to learn how long a burst is
            counts = {key: min(20, max(3, round(BURST_US / max(1, sample["us"]))))
                      for key, sample in taken.items()}
            continue
        peak = json.loads(run_text(["fma-peak", str(len(cpus))], cpus))["gflops"]
        rounds.append({"engines": taken, "peak_gflops": peak})
    return rounds


def spell(key):
    return f"{TITLES[key[0]]} {key[1]}"


def difference(x, y):
    return abs(x - y) if x == x and y == y else float("inf")  # NaN would get lost in a maximum


def summarise(rounds, work):
    """Medians over rounds; ratios are ours over the peer's of the same precision, round by round."""
    keys = list(rounds[0]["engines"])
    judge = ("onnxruntime", "fp32") if ("onnxruntime", "fp32") in keys else ("sti", "fp32")
    reference = rounds[0]["engines"][judge]["output"]
    median = statistics.median
    engines = {}
    for key in keys:
        samples = [one["engines"][key] for one in rounds]
        engines[spell(key)] = {
            "us": median(s["us"] for s in samples), "round_us": [s["us"] for s in samples],
            "logits_difference": max(difference(x, y) for s in samples
                                     for x, y in zip(s["output"], reference)),
            "peak_share": median(work / one["engines"][key]["us"] / 1e3 / one["peak_gflops"]
                                 for one in rounds)}
        for more in ("stall_us", "saved_us"):
            if more in samples[0]:
                engines[spell(key)][more] = median(s[more] for s in samples)
    ratios, layer_ratios = {}, {}
    for mine in [key for key in keys if key[0] == "sti"]:
        for peer in [key for key in keys if key[0] != "sti" and key[1] == mine[1]]:
            pairs = [(one["engines"][mine], one["engines"][peer]["us"]) for one in rounds]
            ratios[spell(peer)] = median(ours["us"] / theirs for ours, theirs in pairs)
            layer_ratios[spell(peer)] = median((ours["us"] + ours["saved_us"]) / theirs
                                               for ours, theirs in pairs)
    return {"engines": engines, "ratios": ratios, "layer_ratios": layer_ratios,
            "peak_gflops": median(one["peak_gflops"] for one in rounds)}


def compare(options, models):
    cells = []
    for model in models:
        shape = json.loads(run_text(["sti-inspect", "--json", model["container"]]))["shape"]
        model["layers"], options.vocabulary = shape["layers"], shape["vocabulary"]
        for width in options.widths:
            for threads in options.threads:
                workers, cpus = start_engines(model, width, threads, options)
                for worker in workers:
                    about = options.about.setdefault(
                        spell(worker.key), {"version": worker.about["version"], "threads": []})
                    taken = [threads, int(worker.about["threads"])]
                    if taken not in about["threads"]:
                        about["threads"].append(taken)
                for length in options.lengths:
                    rounds = time_cell(workers, cpus, length, options)
                    work = flops(shape, width, length)
                    cells.append({"model": model["name"], "layers": shape["layers"], "m": width,
                                  "l": length, "threads": threads, **summarise(rounds, work)})
                for worker in workers:
                    worker.close()
                print(f"bench-peers: {model['name']} m = {width}, {threads} threads: done",
                      file=sys.stderr)
    return cells


def load_average():
    return " ".join(f"{value:.2f}" for value in os.getloadavg())


def numbers(text):
    return [int(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", action="append", required=True, metavar="NAME,CONTAINER,ONNX",
                        help="a container with 6-bit shards, and the folder of its exports")
    parser.add_argument("--widths", type=numbers, default=[3, 6, 12])
    parser.add_argument("--lengths", type=numbers, default=[16, 64, 128])
    parser.add_argument("--threads", type=numbers, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--work", required=True, help="folder for plans")
    parser.add_argument("--out", required=True)
    parser.add_argument("--ours", dest="only_ours", action="store_true", help="sti-run alone")
    options = parser.parse_args()
    options.notes, options.about = set(), {}
    cpus = len(os.sched_getaffinity(0))
    if max(options.threads) > cpus:
        options.notes.add(f"Only {cpus} CPUs: runs with more threads are left out.")
        options.threads = [count for count in options.threads if count <= cpus]
    options.sti_version = run_text(["sti-run", "--version"]).split()[-1]
    options.has_compute = "--compute" in run_text(["sti-run", "--help"])
    options.ours = ["fp32", "bf16", "int8"] if options.has_compute else ["fp32"]
    if not options.has_compute:
        options.notes.add("sti-run has no --compute: only fp32 of ours is here.")
    models = [dict(zip(("name", "container", "onnx"), text.split(","))) for text in options.model]
    begin = load_average()
    try:
        cells = compare(options, models)
    except EngineError as error:
        sys.exit(f"bench-peers: {error}")
    report = {"rounds": options.rounds, "load_begin": begin, "load_end": load_average(),
              "engines": options.about, "notes": sorted(options.notes), "cells": cells}
    with open(options.out, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
    sys.exit(print_report(report))


if __name__ == "__main__":
    main()
