"""What is measured: models, rows of the paper's tables, targets and budgets, and how a cell's
numbers come about. README.md beside the results says why."""
import json
import os
import random
import subprocess

from paper import beyond, tools
from paper.store import sources_digest
from paper.tools import BUILD, REPO

SHARED = REPO.parent / "shared"
# Containers, importance, profiles: of these sources alone.
WORK = BUILD / "paper" / sources_digest()
LENGTH = 128
TARGETS_MS = (150, 200, 400)
TRAINING_ROWS = 1000  # that importance and A(n, m) are measured on
SEEDS = (1, 2, 3, 4, 5)
# Of STI, Table 7: further bytes within a submodel of 5x3 shards at 2 bits.
BUDGETS_MB = (0.4, 2, 4)
# Of STI 7.4: targets at 1 MB, and preload buffers at 200 ms.
CURVE_TARGETS_MS = (100, 150, 200, 300, 400, 600)
CURVE_PRELOADS_MB = (0, 0.5, 1, 2, 5, 10)
STORED_BITS = ("2-6", "2-6,32")


class Set:
    """A model with its data. Its weights are a quarter of BERT-base's a layer, or as many: targets
    and sizes of the paper are divided by `part`."""

    def __init__(self, name, layers, hidden, part, model=None, folder=None):
        self.name, self.layers, self.hidden, self.part = name, layers, hidden, part
        self.model, self.folder = model, folder
        # Full fidelity of BERT-large takes a gigabyte, and no row of it asks for it.
        self.bits = "2-6" if name == "bert-large" else "2-6,32"
        self.work = WORK / name
        self.has_labels = folder is not None

    def missing(self):
        """Returns what of ../shared this needs and lacks."""
        needed = [self.model, self.folder] if self.has_labels else []
        return [str(path) for path in needed if not path.is_dir()]

    def container(self, codebook):
        """Returns the container, on the folder that the device shows as flash."""
        return tools.once(self.work / "flash" / f"{codebook}.sti", lambda path: tools.run(
            "sti-shard", self.source(), "--codebook", codebook, "--bits", self.bits, "-o", path))

    def source(self):
        if self.has_labels:
            return self.model
        folder = self.work / "model"
        if not (folder / "config.json").is_file():
            shape = ["--shards", f"{self.layers}x{self.hidden // 64}", "--hidden", self.hidden,
                     "--ffn", 4 * self.hidden]
            subprocess.run([BUILD / "bench/make-model", "-q", folder, *map(str, shape)],
                           check=True, stdout=subprocess.DEVNULL)
        return folder

    def importance(self, codebook):
        """Returns the importance measured on training rows; None of a random model."""
        if not self.has_labels:
            return None

        def measure(path):
            rows = self.work / "training.tsv"
            lines = (self.folder / "train.tsv").read_text().splitlines()
            # Evenly over the file, which may be sorted by label.
            step = (len(lines) - 1) / TRAINING_ROWS
            chosen = [lines[1 + int(i * step)] for i in range(TRAINING_ROWS)]
            rows.write_text("\n".join([lines[0], *chosen]) + "\n")
            tools.run("sti-importance", self.container(codebook), "--data", rows, "--metric", "loss",
                      "--submodels", "-o", path)

        return tools.once(self.work / f"{codebook}.importance.json", measure)

    def dev_rows(self):
        return self.folder / "dev.tsv"

    def filled_rows(self, count, repeated=False):
        """Returns `count` inputs that fill 128 tokens: rows of the data, each followed by those
        after it, so that words repeat as in real texts; or each `repeated`, so that its label stays
        its own."""
        def write(path):
            rows = self.words_and_labels(count)
            text = "sentence\tlabel\n"
            for i in range(count):
                words, label = rows[i % len(rows)]
                filled, following = list(words), i
                while len(filled) < LENGTH:
                    following += not repeated
                    filled += rows[following % len(rows)][0]
                text += " ".join(filled) + f"\t{label}\n"
            path.write_text(text)

        kind = "repeated" if repeated else "filled"
        return tools.once(self.work / f"{kind}.{count}.tsv", write)

    def words_and_labels(self, count):
        if self.has_labels:
            lines = [line.split("\t") for line in self.dev_rows().read_text().splitlines()[1:]]
            return [(line[0].split(), line[1]) for line in lines]
        words = [w for w in (self.source() / "vocab.txt").read_text().split() if w.isalpha()]
        draw = random.Random(1)
        # Word number r comes with a frequency of 1/r (Zipf's law).
        weights = [1 / rank for rank in range(1, len(words) + 1)]
        return [(draw.choices(words, weights, k=LENGTH), "label_0") for _ in range(count)]


SETS = {s.name: s for s in (
    Set("sst2", 12, 384, 4, SHARED / "models/sst2-minilm-12x12", SHARED / "data/SST-2"),
    Set("clinc150", 6, 384, 4, SHARED / "models/clinc150-minilm-6x12", SHARED / "data/CLINC150"),
    Set("bert-base", 12, 768, 1), Set("bert-large", 24, 1024, 1))}

# The rows of Tables 5 and 6: codebook, options of sti-plan, preload buffer in MB or None, and
# whether the submodel is that of best measured A(n, m) instead of the strategy's own.
ROWS = {
    "load-exec": ("tree", ["--strategy", "load-exec"], None, False),
    "stdpl-full": ("tree", ["--strategy", "stdpl", "--bits", "32"], None, False),
    "stdpl-2bit": ("tree", ["--strategy", "stdpl", "--bits", "2"], None, False),
    "stdpl-6bit": ("tree", ["--strategy", "stdpl", "--bits", "6"], None, False),
    "preload-full": ("tree", ["--strategy", "preload", "--bits", "32"], None, False),
    "preload-full-best": ("tree", ["--strategy", "preload", "--bits", "32"], None, True),
    "preload-6bit": ("tree", ["--strategy", "preload", "--bits", "6"], None, False),
    "preload-6bit-best": ("tree", ["--strategy", "preload", "--bits", "6"], None, True),
    "paper-0mb": ("gobo", ["--strategy", "sti-paper"], 0, False),
    "paper-1mb": ("gobo", ["--strategy", "sti-paper"], 1, False),
    "paper-5mb": ("gobo", ["--strategy", "sti-paper"], 5, False),
    "ours-0mb": ("tree", [], 0, False),
    "ours-1mb": ("tree", [], 1, False),
    "ours-5mb": ("tree", [], 5, False),
}


def all_cells():
    """Returns the keys of all cells, in the order in which they are measured."""
    cells = [(name, target, row, "") for name in SETS for target in TARGETS_MS for row in ROWS
             if SETS[name].has_labels or not (row.startswith("paper") or row.endswith("best"))]
    # BERT-large is stored without full fidelity, and only 400 ms are enough for it.
    cells = [key for key in cells if key[0] != "bert-large" or
             key[1] == 400 and (key[2].startswith("ours") or key[2] == "stdpl-6bit")]
    cells += [(name, "", f"storage-{bits}", "") for name in SETS for bits in STORED_BITS
              if name != "bert-large"]
    for name in ("sst2", "clinc150"):
        for budget in BUDGETS_MB:
            cells.append((name, "", f"budget-{budget}", ""))
            cells += [(name, "", f"budget-{budget}-random", seed) for seed in SEEDS]
        cells += [(name, target, row, "") for row in beyond.ROWS for target in (200, 400)]
        cells += [(name, target, "curve-target", "") for target in CURVE_TARGETS_MS]
        cells += [(name, 200, f"curve-preload-{size}", "") for size in CURVE_PRELOADS_MB]
    return cells


class Device:
    """Cells of the emulated device that this process runs on."""

    def __init__(self, flash, factor, instructions, inputs):
        self.flash, self.factor, self.inputs = flash, factor, inputs
        self.instructions = instructions

    def profile(self, chosen, codebook):
        """Returns the profile of the set's container on slow flash."""
        container = self.flash / chosen.name / "flash" / f"{codebook}.sti"
        return tools.once(
            chosen.work / f"{codebook}.{self.factor:.6f}.profile.json", lambda path: tools.run(
                "sti-profile", container, "--lengths", LENGTH, "--precision", "1%", "--budget",
                "20s", "-o", path, on_device=True))

    def target_ms(self, chosen, target):
        """Returns the paper's target on this device. The rows of 128 tokens do not shrink with the
        hidden size: their time is added."""
        fixed = json.loads(self.profile(chosen, "tree").read_text())["fixed"][0]
        rows_ms = fixed["embed_io_us"] / 1000 if chosen.part != 1 else 0
        return target * self.factor / chosen.part + rows_ms

    @staticmethod
    def best_submodel(importance, try_plan):
        """Returns the plan of the submodel that has the best measured A(n, m) of those in time."""
        # All submodels are measured at full fidelity; 6 bits lose next to nothing beside it.
        measured = [s for s in json.loads(importance.read_text())["submodels"] if s["bits"] == 32]
        for s in sorted(measured, key=lambda s: (-s["accuracy"], s["loss"])):
            try:
                plan = try_plan(["--submodel", f"{s['layers']}x{s['width']}"])
            except tools.Refused:
                continue
            if plan["meets_target"]:
                return plan
        raise tools.Refused("no submodel computes in time")

    def plan(self, key):
        """Returns the plan of a cell, its container's codebook and the target in ms."""
        name, target, row, seed = key
        chosen = SETS[name]
        importance = chosen.importance
        if row.startswith("budget-"):
            budget = int(float(row.split("-")[1]) * 1e6 / chosen.part)
            options = ["--submodel", "5x3", "--io-budget", budget]
            if seed != "":
                options += ["--strategy", "random", "--seed", seed]
            plan = tools.plan(chosen.container("tree"), self.profile(chosen, "tree"),
                              importance("tree"), options)
            return plan, "tree", None
        if row.startswith("curve-"):
            row_options = ("tree", [], float(row.split("-")[2]) if "preload" in row else 1, False)
        elif row in beyond.ROWS:
            row_options = ("tree", beyond.options_of(row, chosen.part), None, False)
        else:
            row_options = ROWS[row]
        codebook, options, preload_mb, best = row_options
        profile = self.profile(chosen, codebook)
        target_ms = self.target_ms(chosen, target)
        options = [*options, "--target", f"{target_ms * 1000:.0f}us"]
        if not chosen.has_labels:  # random weights know no submodel
            options.append("--allow-untrained")
        if preload_mb is not None:
            options += ["--preload", int(preload_mb * 1e6 / chosen.part)]

        def make(further):
            return tools.plan(chosen.container(codebook), profile, importance(codebook),
                              [*options, *further])

        if best:
            return self.best_submodel(importance(codebook), make), codebook, target_ms
        return make([]), codebook, target_ms

    def measure(self, key):
        """Returns the numbers of a cell. A plan that cannot be had has none but its target."""
        name, target, row, _ = key
        chosen = SETS[name]
        if row.startswith("storage-"):
            stored = tools.run("sti-shard", "--dry-run", "--json", chosen.source(), "--bits",
                               row.split("-", 1)[1])
            return {"submodel": "all", "parameter_bytes": json.loads(stored)["file_bytes"],
                    "factor": self.factor}
        try:
            plan, codebook, target_ms = self.plan(key)
        except tools.Refused as refused:
            return {"target_ms": self.target_ms(chosen, target) if target else None,
                    "submodel": "none", "factor": self.factor, "correct_bits": str(refused)[:60]}
        plan_file = plan_file_of(key)
        plan_file.parent.mkdir(exist_ok=True)
        plan_file.write_text(json.dumps(plan))
        numbers = numbers_of(plan, target_ms) | {"factor": self.factor}
        container = f"{codebook}.sti"
        if row in beyond.ROWS:
            return numbers | self.beyond(key, plan_file, target_ms)
        if chosen.has_labels:
            shown = tools.evaluate(chosen.container(codebook), plan_file, chosen.dev_rows(),
                                   "--instructions", self.instructions, "--threads",
                                   os.cpu_count())
            numbers |= {"accuracy": shown["accuracy"], "correct_bits": shown["correct_bits"]}
        if row in ROWS:
            exact = row.startswith("ours")
            rows = chosen.filled_rows(self.inputs if exact else max(1, self.inputs // 5))
            summary, cpu_s = tools.measured(
                self.flash / chosen.name / "flash" / container, plan_file, rows)
            numbers |= tools.latencies_of(summary) | {"cpu_ms": cpu_s * 1000}
        return numbers


    def beyond(self, key, plan_file, target_ms):
        """Returns the numbers of a row of `beyond`."""
        name, _, row, _ = key
        chosen = SETS[name]
        slow = self.flash / name / "flash" / "tree.sti"
        rows = chosen.filled_rows(self.inputs, repeated=True)
        if row == "cold":
            return beyond.cold_starts(slow, plan_file, rows, target_ms, self.instructions)
        if row == "turns":
            return beyond.turns(chosen.container("tree"), slow, plan_file,
                                chosen.filled_rows(max(3, self.inputs // 5)), chosen.dev_rows(),
                                "--instructions", self.instructions)
        tools.once(chosen.work / "flash" / "other", lambda path: path.write_bytes(bytes(64 << 20)))
        return beyond.degraded(slow, plan_file, rows, row == "degrade-reader")


def plan_file_of(key):
    name = ".".join(str(part) for part in key[1:] if part != "")
    return SETS[key[0]].work / "plans" / f"{name}.json"


def numbers_of(plan, target_ms):
    bits = [b for layer in plan["bits"] for b in layer]
    return {"target_ms": target_ms, "submodel": f"{len(plan['layers'])}x{plan['width']}",
            "bits": sum(bits) / len(bits), "preload_bytes": plan["preload_bytes"],
            "parameter_bytes": plan["parameter_bytes"],
            "predicted_p50_ms": plan["predicted_latency_us"] / 1000,
            "predicted_p99_ms": plan["predicted_p99_us"] / 1000,
            "predicted_peak_bytes": plan["predicted_peak_bytes"],
            "predicted_accuracy": plan["predicted_accuracy"]}
