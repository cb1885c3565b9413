"""What is measured: models, rows of the paper's tables, targets and budgets. README.md beside the
results says why."""
import random
import subprocess

from harness import BUILD, REPO
from paper import beyond, peers, tools
from paper.store import sources_digest

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

    def importance(self, codebook, of="submodels"):
        """Returns the importance measured on training rows, and what comes with it: A(n, m) of all
        submodels, or gains of each shard at each bitwidth. None of a random model."""
        if not self.has_labels:
            return None
        kind = "importance" if of == "submodels" else of
        return tools.once(self.work / f"{codebook}.{kind}.json", lambda path: tools.run(
            "sti-importance", self.container(codebook), "--data", self.training_rows(), "--metric",
            "loss", f"--{of}", "-o", path))

    def training_rows(self):
        """Returns rows evenly over the training set, which may be sorted by label."""
        def write(path):
            lines = (self.folder / "train.tsv").read_text().splitlines()
            count = min(TRAINING_ROWS, len(lines) - 1)
            step = (len(lines) - 1) / count
            chosen = [lines[1 + int(i * step)] for i in range(count)]
            path.write_text("\n".join([lines[0], *chosen]) + "\n")

        return tools.once(self.work / "training.tsv", write)

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



def take_shipped():
    """Puts the shipped model in place of all sets, with few rows: for a run of seconds, whose numbers
    say nothing."""
    example, folder = REPO / "examples/voice-intents", WORK / "shipped"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("train.tsv", "dev.tsv"):
        lines = (example / "dev.tsv").read_text().splitlines(keepends=True)
        (folder / name).write_text("".join(lines[:9]))
    SETS.clear()
    SETS["shipped"] = Set("shipped", 6, 192, 1, example / "model", folder)


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
OURS = [row for row in ROWS if row.startswith("ours-")]


def codebook_of(row):
    """Returns the codebook of a row of the paper's tables, or of any other."""
    return ROWS.get(row.removeprefix("jetson-"), ("tree",))[0]


# The rows of Table 5 (b), for the Jetson: planned here and not run, but for their accuracy.
JETSON_ROWS = [f"jetson-{row}" for row in (
    "load-exec", "stdpl-full", "stdpl-2bit", "stdpl-6bit", "preload-full", "preload-6bit",
    "paper-0mb", "paper-5mb", "ours-0mb", "ours-5mb")]


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
            cells += [(name, "", f"budget-{budget}", ""), (name, "", f"budget-{budget}-gains", "")]
            cells += [(name, "", f"budget-{budget}-random", seed) for seed in SEEDS]
        cells += [(name, target, row, "") for row in beyond.ROWS for target in (200, 400)]
        cells += [(name, target, "curve-target", "") for target in CURVE_TARGETS_MS]
        cells += [(name, 200, f"curve-preload-{size}", "") for size in CURVE_PRELOADS_MB]
    cells += [("sst2", target, row, "") for target in TARGETS_MS for row in JETSON_ROWS]
    cells += [("bert-base", target, "cold", "") for target in (200, 400)]
    cells += [(name, "", peers.ROW, "") for name in ("sst2", "clinc150", "bert-base")]
    return [key for key in cells if key[0] in SETS]


def plan_file_of(key):
    name = ".".join(str(part) for part in key[1:] if part != "")
    return SETS[key[0]].work / "plans" / f"{name}.json"
