"""What bench/experiments/bench-peers --sentences runs: a model that embeds, cold and warm, beside ONNX
Runtime.

What is timed is what cold.py and warm.py time, of a vector in place of a label: of a fresh process
from slow flash, at each bitwidth under a plan of its own, under a plan for a target, and without a
plan; and with all weights in memory, of texts one at a time, as token ids. In a round each engine
embeds each text, once for warmth and once by the clock, in turns; a text's time is the median of its
rounds. Cosines are the mean over texts of those with sti-run's vectors at full fidelity.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

import cold
import warm
from workers import EngineError, Ours, Peer, run_text

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness import percentile  # noqa: E402  (of the folder above)

FULL = 32
LEAST_ALIKE = 0.9  # mean cosine of ONNX Runtime's vectors with those at full fidelity
ARITHMETIC = ("bf16", "int8")  # that the most bits below full are timed in as well


def name_of(bits):
    return "full" if bits == FULL else f"{bits} bits"


def texts_of(options):
    """Returns texts of the sets, in equal shares."""
    share = -(-options.texts // len(options.data))
    return [text for path in options.data for text, _ in cold.read_rows(path)[:share]][:options.texts]


def ids_of(container, texts):
    done = subprocess.run(["sti-inspect", "-q", "--json", container, "--tokenize"], input="".join(text + "\n" for text in texts),
                          check=True, capture_output=True, text=True)
    return [json.loads(line)["ids"] for line in done.stdout.splitlines()]


def vectors_of(container, how, texts):
    """Returns sti-run's vectors under these options."""
    done = subprocess.run(["sti-run", "-q", "--json", container, *how], input="".join(text + "\n" for text in texts),
                          check=True, capture_output=True, text=True)
    return [json.loads(line)["embedding"] for line in done.stdout.splitlines()]


def mean_cosine(some, others):
    return statistics.fmean(sum(x * y for x, y in zip(a, b)) / (math.hypot(*a) * math.hypot(*b))
                            for a, b in zip(some, others))


def export(options):
    import export as peers_export

    peers_export.export_sentences(options.model, options.out)


def check_alike(name, cosine):
    if name.startswith("ONNX") and cosine < LEAST_ALIKE:
        sys.exit(f"bench-peers: {name} embeds otherwise: cosine {cosine:.3f}; give a model that pools by the mean")


def time_cold(options):
    texts = texts_of(options)
    with open(f"{options.disk}/tokens.json", "w", encoding="utf-8") as file:
        json.dump([{"ids": ids} for ids in ids_of(f"{options.disk}/model.sti", texts)], file)
    ours = {f"sti-run, {name_of(bits)}": f"{bits}.plan" for bits in options.bits}
    ours |= {"sti-run, planned cold": "cold.plan"}
    most = max([bits for bits in options.bits if bits < FULL], default=FULL)
    text = texts[cold.TEXT_ROW]
    ways = {name: ["--plan", f"{{}}/{plan}"] for name, plan in ours.items()}
    ways[f"sti-run, {name_of(most)}, no plan"] = ["--bits", str(most)]
    engines = {name: lambda how=how: cold.time_sti([word.format(options.flash) for word in how], text, options)
               for name, how in ways.items()}
    if not options.ours:
        engines |= {f"ONNX Runtime {kind}": lambda kind=kind: cold.time_onnx(kind, options) for kind in cold.KINDS}
    begin = cold.load_average()
    samples = cold.in_turns(engines, options.pairs)
    results = {name: cold.summary(rows) for name, rows in samples.items()}
    report = {"model": options.name, "flash": cold.FLASH, "pairs": options.pairs, "threads": options.threads,
              "load_begin": begin, "load_end": cold.load_average(), "versions": cold.versions(options),
              "texts": len(texts), "engines": results}
    container = f"{options.disk}/model.sti"
    full = vectors_of(container, ["--bits", str(FULL)], texts)
    for name, result in results.items():
        if name in ways:
            vectors = vectors_of(container, [word.format(options.disk) for word in ways[name]], texts)
        else:
            session = cold.make_session(f"{options.disk}/{name.split()[-1]}.onnx", options.threads)
            vectors = [cold.output_of(session, ids).tolist() for ids in ids_of(container, texts)]
        result["cosine"] = mean_cosine(vectors, full)
        check_alike(name, result["cosine"])
    write(report, options)
    cold.print_table(report, "vector", "cosine", {name: f"{row['cosine']:.4f}" for name, row in results.items()})
    print(f"Cosines are means of {len(texts)} texts. Target of the plan: {options.target}.")


def start_engines(model, threads, options):
    """Starts engines of this many threads; what this CPU does not compute in is left out."""
    cpus = set(sorted(os.sched_getaffinity(0))[-threads:])
    most = max([bits for bits in options.bits if bits < FULL], default=FULL)
    ways = [(bits, "fp32") for bits in options.bits] + [(most, kind) for kind in ARITHMETIC]
    workers = []
    for bits, kind in ways:
        name = name_of(bits) + ("" if kind == "fp32" else f" in {kind}")
        plan = warm.make_plan(model, model["width"], options, bits)
        workers.append(Ours(kind, model["container"], plan, options, threads, cpus, name))
    if not options.ours:
        workers += [Peer("onnxruntime", kind, options.onnx, options, threads, cpus) for kind in cold.KINDS]
    for worker in list(workers):
        try:
            worker.ready()
        except EngineError as error:
            if not any(worker.key[1].endswith(f" in {kind}") for kind in ARITHMETIC):
                raise
            print(f"bench-peers: left out: {error}", file=sys.stderr)
            workers.remove(worker)
    return workers


def time_texts(workers, ids, rounds):
    """Returns the samples of each engine, [texts][rounds] us, its vectors, and its peak memory."""
    times = {worker.key: [[] for _ in ids] for worker in workers}
    vectors = {worker.key: [None] * len(ids) for worker in workers}
    for turn in range(rounds):
        for i, text in enumerate(ids):
            for worker in workers if (turn + i) % 2 == 0 else workers[::-1]:
                sample = worker.burst(text, 1)
                times[worker.key][i].append(sample["us"])
                vectors[worker.key][i] = sample["output"]
    return {worker.key: {"us": times[worker.key], "vectors": vectors[worker.key], "peak_bytes": worker.peak_bytes(),
                         "growth_bytes": worker.peak_bytes() - worker.about.get("before_bytes", 0)}
            for worker in workers}


def figures(sample, int8, full):
    middles = sorted(statistics.median(rounds) for rounds in sample["us"])
    result = {"p50_ms": percentile(middles, 0.5) / 1e3, "p99_ms": percentile(middles, 0.99) / 1e3,
              "peak_bytes": sample["peak_bytes"], "growth_bytes": sample["growth_bytes"],
              "cosine": mean_cosine(sample["vectors"], full)}
    if int8:
        result["over_int8"] = statistics.median(ours / theirs for rounds, peers in zip(sample["us"], int8["us"])
                                                for ours, theirs in zip(rounds, peers))
    return result


def time_warm(options):
    about = json.loads(run_text(["sti-inspect", "--json", options.container]))
    model = {"name": options.name, "container": options.container, "layers": about["shape"]["layers"],
             "width": about["shape"]["width"]}
    ids = ids_of(options.container, texts_of(options))
    options.lengths = [max(map(len, ids))]
    options.has_compute, options.sti_version = True, run_text(["sti-run", "--version"]).split()[-1]
    begin = cold.load_average()
    cells = {}
    for threads in options.threads:
        workers = start_engines(model, threads, options)
        samples = time_texts(workers, ids, options.rounds)
        for worker in workers:
            worker.close()
        full = samples["sti", name_of(FULL)]["vectors"]
        int8 = samples.get(("onnxruntime", "int8"))
        cells[threads] = {warm.spell(key).replace("sti-run ", "sti-run, "): figures(sample, int8, full)
                          for key, sample in samples.items()}
        for name, row in cells[threads].items():
            check_alike(name, row["cosine"])
    report = {"model": options.name, "texts": len(ids), "rounds": options.rounds, "tokens": sorted(map(len, ids)),
              "load_begin": begin, "load_end": cold.load_average(), "versions": cold.versions(options),
              "cells": cells}
    write(report, options)
    print_warm(report)


def print_warm(report):
    tokens = report["tokens"]
    print(f"{report['model']}, vectors of {report['texts']} texts of {tokens[0]} to {tokens[-1]} tokens, median "
          f"{tokens[len(tokens) // 2]},")
    onnx = f" ONNX Runtime {report['versions']['onnxruntime']};" if report["versions"] else ""
    print(f"one at a time, all weights in memory, medians of {report['rounds']} rounds in turns;{onnx}")
    print(f"load average {report['load_begin']} before, {report['load_end']} after\n")
    print("| engine | threads | p50 ms | p99 ms | over int8 | peak MiB | cosine |")
    print("|---|---|---|---|---|---|---|")
    for threads, rows in report["cells"].items():
        for name, row in rows.items():
            ratio = f"{row['over_int8']:.2f}" if "over_int8" in row else ""
            print(f"| {name} | {threads} | {row['p50_ms']:.2f} | {row['p99_ms']:.2f} | {ratio} | "
                  f"{cold.peak_text(row)} | {row['cosine']:.4f} |")
    print("\nOver int8: the time over that of ONNX Runtime int8 of the same text in the same round, median.")
    print("sti-run decodes its shards in every run and computes in fp32 where nothing else is said. Its")
    print("wait for embedding rows is left out, as is tokenizing of all.")


def write(report, options):
    with open(options.out, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=["export", "cold", "warm"])
    for name in ("model", "container", "onnx", "flash", "disk", "work", "out", "name", "target"):
        parser.add_argument("--" + name)
    parser.add_argument("--data", action="append", help="a set of which texts are taken; may be repeated")
    parser.add_argument("--texts", type=int, default=200, help="how many, in equal shares of the sets")
    parser.add_argument("--bits", type=warm.numbers, default=[2, 3, 4, 6, FULL],
                        help=f"with {FULL}, full fidelity, among them")
    parser.add_argument("--ours", action="store_true", help="sti-run alone")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=warm.numbers, default=[1, 2])
    options = parser.parse_args()
    if options.step == "cold":
        options.threads, options.tokens = len(os.sched_getaffinity(0)), f"{options.disk}/tokens.json"
    try:
        {"export": export, "cold": time_cold, "warm": time_warm}[options.step](options)
    except EngineError as error:
        sys.exit(f"bench-peers: {error}")


if __name__ == "__main__":
    main()
