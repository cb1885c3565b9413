"""The cold half of bench/experiments/bench-peers: exports to ONNX, and times first labels in turns.

What is timed. ONNX Runtime: inside a fresh Python process, from just before the InferenceSession is
made to the label; starting Python and importing onnxruntime do not count, though an app would pay
for a library's start too. sti-run: from before its fork to the whole line with the label, everything
counted. Model files come from the slow flash, programs and libraries from a warm page cache.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

KINDS = ("int8", "fp32")  # of weights, of ONNX Runtime
TEXT_ROW = 1  # the row of the set whose text is asked
FLASH = "80 MiB/s, 100 us"


def read_rows(path):
    with open(path, encoding="utf-8") as lines:
        header = lines.readline().rstrip("\n").split("\t")
        rows = [line.rstrip("\n").split("\t") for line in lines]
    sentence, label = header.index("sentence"), header.index("label")
    return [(row[sentence], row[label]) for row in rows]


def export(options):
    """fp32.onnx and int8.onnx, and the token ids of the set, which the timed process takes as is."""
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from transformers import BertForSequenceClassification, BertTokenizerFast

    model = BertForSequenceClassification.from_pretrained(
        options.model, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    ids = torch.zeros(1, 16, dtype=torch.long)
    fp32 = os.path.join(options.out, "fp32.onnx")
    torch.onnx.export(
        model,
        (ids, torch.ones_like(ids), torch.zeros_like(ids)),
        fp32,
        input_names=inputs,
        output_names=["logits"],
        dynamic_axes={name: {0: "batch", 1: "length"} for name in inputs},
        opset_version=17,
        dynamo=False,
    )
    quantize_dynamic(fp32, os.path.join(options.out, "int8.onnx"), weight_type=QuantType.QInt8)
    tokenizer = BertTokenizerFast(os.path.join(options.model, "vocab.txt"), do_lower_case=True)
    rows = read_rows(options.data)
    limit = {"truncation": True, "max_length": options.length} if options.length else {}
    encoded = [{"ids": tokenizer(text, **limit)["input_ids"], "label": int(label)}
               for text, label in rows]
    with open(os.path.join(options.out, "tokens.json"), "w", encoding="utf-8") as file:
        json.dump(encoded, file)


def status_bytes(key, pid="self"):
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        for line in lines:
            if line.startswith(key + ":"):
                return int(line.split()[1]) * 1024
    return 0


def make_session(path, threads):
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])


def output_of(session, ids):
    """Returns what the model gives for a text: its logits, or its vector."""
    import numpy

    row = numpy.array([ids], dtype=numpy.int64)
    feed = {"input_ids": row, "attention_mask": row * 0 + 1, "token_type_ids": row * 0}
    return session.run(None, {given.name: feed[given.name] for given in session.get_inputs()})[0][0]


def once(options):
    """One cold label or vector; what bench/experiments/bench-peers starts as a process of its own."""
    import numpy  # noqa: F401  (loaded by onnxruntime anyway; not what is measured)

    before = status_bytes("VmRSS")
    import onnxruntime  # noqa: F401

    with open(options.tokens, encoding="utf-8") as file:
        ids = json.load(file)[TEXT_ROW]["ids"]
    begin = time.perf_counter()
    session = make_session(options.onnx, options.threads)
    loaded = time.perf_counter()
    output = output_of(session, ids)
    label = int(output.argmax())
    end = time.perf_counter()
    peak = status_bytes("VmHWM")
    print(json.dumps({"cold_ms": (end - begin) * 1e3, "load_ms": (loaded - begin) * 1e3,
                      "run_ms": (end - loaded) * 1e3, "label": label, "peak_bytes": peak,
                      "growth_bytes": peak - before, "output": output.tolist()}))


def onnx_accuracy(path, tokens, threads):
    session = make_session(path, threads)
    with open(tokens, encoding="utf-8") as file:
        rows = json.load(file)
    right = sum(int(output_of(session, row["ids"]).argmax()) == row["label"] for row in rows)
    return right / len(rows)


def run_json(command):
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def time_onnx(kind, options):
    return run_json([sys.executable, __file__, "once", "--onnx", f"{options.flash}/{kind}.onnx",
                     "--tokens", f"{options.disk}/tokens.json", "--threads", str(options.threads)])


def time_sti(how, text, options):
    """Times sti-run on the flash; `how` are its options, of which a plan is one."""
    command = ["measure", "--first-line", "--", "sti-run", "-q", "--json", "--one-shot",
               "--threads", str(options.threads), f"{options.flash}/model.sti", *how]
    done = subprocess.run(command, input=text + "\n", check=True, capture_output=True, text=True)
    took = json.loads(done.stderr.splitlines()[-1])
    answer = json.loads(took["line"])
    return {"cold_ms": took["first_line_s"] * 1e3, "run_ms": answer["latency_us"] / 1e3,
            "label": answer.get("label_id"), "peak_bytes": took["max_rss_bytes"],
            "growth_bytes": took["max_rss_bytes"], "output": answer.get("embedding")}


def in_turns(engines, pairs):
    """Returns the samples of each engine, given by a function each, of so many turns in which all
    take turns."""
    samples = {name: [] for name in engines}
    for turn in range(-1, pairs):  # turn -1 warms the page cache for programs
        order = list(engines) if turn % 2 == 0 else list(engines)[::-1]
        for name in order:
            sample = engines[name]()
            if turn >= 0:
                samples[name].append(sample)
    return samples


def summary(samples):
    keys = [key for key in samples[0] if key not in ("label", "output")]
    result = {key: statistics.median(sample[key] for sample in samples) for key in keys}
    result["cold_ms_min"] = min(sample["cold_ms"] for sample in samples)
    result["cold_ms_max"] = max(sample["cold_ms"] for sample in samples)
    return result


def load_average():
    return " ".join(f"{value:.2f}" for value in os.getloadavg())


def versions(options):
    if options.ours:
        return {}
    import onnxruntime
    import torch
    import transformers

    return {"onnxruntime": onnxruntime.__version__, "torch": torch.__version__,
            "transformers": transformers.__version__}


def compare(options):
    text = read_rows(options.data)[TEXT_ROW][0]
    engines = {
        "sti-run, 1 MiB preload": lambda: time_sti(["--plan", f"{options.flash}/1MiB.plan"], text, options),
        "sti-run, planned cold": lambda: time_sti(["--plan", f"{options.flash}/cold.plan"], text, options),
    }
    if not options.ours:
        engines |= {f"ONNX Runtime {kind}": lambda kind=kind: time_onnx(kind, options) for kind in KINDS}
    load_begin = load_average()
    samples = in_turns(engines, options.pairs)
    load_end = load_average()
    results = {name: summary(rows) for name, rows in samples.items()}
    for kind in () if options.ours else KINDS:
        path = f"{options.disk}/{kind}.onnx"
        result = results[f"ONNX Runtime {kind}"]
        result["accuracy"] = onnx_accuracy(path, f"{options.disk}/tokens.json", options.threads)
        result["file_bytes"] = os.path.getsize(path)
    for name, plan in (("sti-run, 1 MiB preload", "1MiB"), ("sti-run, planned cold", "cold")):
        done = run_json(["sti-run", "-q", "--json", f"{options.disk}/model.sti", "--plan",
                         f"{options.disk}/{plan}.plan", "--eval", options.data])
        shape = run_json(["sti-inspect", "--json", f"{options.disk}/{plan}.plan"])
        results[name]["accuracy"] = done["accuracy"]
        results[name]["submodel"] = f"{len(shape['layers'])}x{shape['width']}"
        results[name]["parameter_bytes"] = shape["parameter_bytes"]
    report = {"model": options.name, "flash": FLASH, "pairs": options.pairs,
              "threads": options.threads, "load_begin": load_begin, "load_end": load_end,
              "versions": versions(options), "engines": results}
    with open(options.out, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
    print_table(report, "label", "dev set", {name: f"{row['accuracy']:.2%}" for name, row in results.items()})
    print("Target of sti-run's plans: 200 ms")
    print_plans(report)


def print_table(report, answer, quality, qualities):
    """Prints a row an engine, which ends in its quality, and what was timed."""
    print(f"{report['model']}, first {answer} of a fresh process from {report['flash']} flash,")
    onnx = f" ONNX Runtime {report['versions']['onnxruntime']};" if report["versions"] else ""
    print(f"{report['threads']} threads, medians of {report['pairs']} turns in one run;{onnx}")
    print(f"load average {report['load_begin']} before, {report['load_end']} after\n")
    print(f"| engine | cold ms (min-max) | peak MiB | {quality} |")
    print("|---|---|---|---|")
    for name, row in report["engines"].items():
        span = f"{row['cold_ms_min']:.0f}-{row['cold_ms_max']:.0f}"
        print(f"| {name} | {row['cold_ms']:.0f} ({span}) | {peak_text(row)} | {qualities[name]} |")
    print(f"\nONNX Runtime: from just before its session is made to the {answer}, of token ids; Python's")
    print("start and import are left out, and the memory is what the process grew by from before the")
    print(f"import. sti-run: from before fork to the line with the {answer}, of a text, all memory.")


def peak_text(row):
    """Returns MiB; of a process of Python what it grew by, and all of it in brackets."""
    peak = f"{row['peak_bytes'] / 2**20:.0f}"
    if row["growth_bytes"] == row["peak_bytes"]:
        return peak
    return f"{row['growth_bytes'] / 2**20:.0f} ({peak} with Python)"


def print_plans(report):
    plans = [(n, r["submodel"]) for n, r in report["engines"].items() if "submodel" in r]
    print("once open; they run " + ", ".join(f"{size} ({name.split(', ')[1]})" for name, size in plans)
          + ".")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=["export", "once", "compare"])
    for name in ("model", "data", "out", "onnx", "tokens", "flash", "disk"):
        parser.add_argument("--" + name)
    parser.add_argument("--name", default="sst2-minilm-12x12", help="of the model, for the table")
    parser.add_argument("--ours", action="store_true", help="sti-run alone")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--length", type=int, help="most tokens of a text")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    {"export": export, "once": once, "compare": compare}[options.step](options)


if __name__ == "__main__":
    main()
