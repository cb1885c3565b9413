"""Tries every pair of options of a tool. An option does what its help says or is refused: a pair
either ends with exit 2 and names the conflict, or each of the two changes what the tool gives,
beside a run without it.

Usage: option_pairs.py BIN_DIR TOOL...       in a folder that it may fill; prints what does nothing

What a run gives is its exit status, stdout, stderr and the files that it wrote, without times. An
option has several values where one alone may by chance change nothing. What by design changes only
time, memory or words stands in `quiet`, with the reason; "target: --similar" for one
context, "--stats -q" for a pair.
"""
import concurrent.futures
import hashlib
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

from formula_importance import load_unchanged

SENTENCES = ["set an alarm", "play it again", "what is the time", "never mind"]


# --- files that the tools are given --------------------------------------------------------------

def write_model(folder, elastic):
    """Writes a BERT of 3 layers and 4 heads with random weights and labels "no" and "yes"."""
    folder.mkdir()
    rng = random.Random(7)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *sorted(set(" ".join(SENTENCES).split()))]
    hidden, ffn, layers, positions = 64, 256, 3, 64
    config = {"architectures": ["BertForSequenceClassification"], "model_type": "bert",
              "hidden_size": hidden, "intermediate_size": ffn, "num_hidden_layers": layers,
              "num_attention_heads": 4, "vocab_size": len(words),
              "max_position_embeddings": positions, "type_vocab_size": 2, "hidden_act": "gelu",
              "layer_norm_eps": 1e-12, "id2label": {"0": "no", "1": "yes"}}
    if elastic:
        config["elastic"] = {"min_width": 2, "depth_layers": [[1], [0, 2], [0, 1, 2]]}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    shapes = {"bert.embeddings.word_embeddings.weight": (len(words), hidden),
              "bert.embeddings.position_embeddings.weight": (positions, hidden),
              "bert.embeddings.token_type_embeddings.weight": (2, hidden),
              "bert.pooler.dense.weight": (hidden, hidden), "bert.pooler.dense.bias": (hidden,),
              "classifier.weight": (2, hidden), "classifier.bias": (2,)}
    norms = ["bert.embeddings.LayerNorm"]
    for k in range(layers):
        layer = f"bert.encoder.layer.{k}."
        for name, rows, columns in (("attention.self.query", hidden, hidden),
                                    ("attention.self.key", hidden, hidden),
                                    ("attention.self.value", hidden, hidden),
                                    ("attention.output.dense", hidden, hidden),
                                    ("intermediate.dense", ffn, hidden),
                                    ("output.dense", hidden, ffn)):
            shapes[f"{layer}{name}.weight"] = (rows, columns)
            shapes[f"{layer}{name}.bias"] = (rows,)
        norms += [f"{layer}attention.output.LayerNorm", f"{layer}output.LayerNorm"]
    for norm in norms:
        shapes[f"{norm}.weight"] = shapes[f"{norm}.bias"] = (hidden,)
    header, data = {}, bytearray()
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = [rng.gauss(float(name.endswith("LayerNorm.weight")), 0.25) for _ in range(count)]
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [len(data), len(data) + 4 * count]}
        data += struct.pack(f"<{count}f", *values)
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


def cascades():
    """Returns cascades of 1x2, 2x2 and 3x4 shards, in numbers that nobody measured."""
    def cut(cutoff, *shares):
        accuracy = 0.6 + cutoff / 10
        ones = [1] * (len(shares) - 1)
        return {"cutoff": cutoff, "slope": None, "weights": ones, "shares": shares,
                "accuracies": [accuracy] * len(shares), "accuracy": accuracy, "words_left": ones}

    same = {"nll": 0.5, "calibrated_nll": 0.5, "ece": 0.1, "calibrated_ece": 0.1, "temperature": 1}
    rows = [([0, 1], cut(0.5, 0.9, 0.1), cut(0.9, 0.5, 0.5)), ([0, 2], cut(0.9, 0.9, 0.1)),
            ([0, 1, 2], cut(0.9, 0.95, 0.03, 0.02))]
    return {"levels": [{"layers": layers, "width": width, "bits": 2, "accuracy": accuracy, **same}
                       for layers, width, accuracy in ((1, 2, 0.5), (2, 2, 0.6), (3, 4, 0.7))],
            "cascades": [{"levels": levels, "alpha": 0, "cuts": cuts} for levels, *cuts in rows]}


def make_files(binaries, folder):
    def must(tool, *arguments):
        subprocess.run([binaries / tool, "-q", *arguments], cwd=folder, check=True)

    write_model(folder / "model", True)
    write_model(folder / "plain", False)
    (folder / "names.txt").write_text("never\nalways\n")
    (folder / "words").mkdir()
    shutil.copy(folder / "model" / "vocab.txt", folder / "words")
    (folder / "words" / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    must("sti-shard", "model", "-o", "model.sti")
    must("sti-shard", "plain", "-o", "plain.sti")
    described = subprocess.run([binaries / "sti-inspect", "--json", "model.sti"], cwd=folder,
                               check=True, capture_output=True, text=True).stdout
    importance = load_unchanged().importance(folder / "model", json.loads(described)["model"])
    (folder / "importance.json").write_text(json.dumps(importance))
    (folder / "kl.json").write_text(json.dumps(importance | {"metric": "kl"}))
    (folder / "cascade.json").write_text(json.dumps(importance | cascades()))
    importance["scores"][0][0] = -0.5
    (folder / "other.json").write_text(json.dumps(importance))
    rows = [f"{text}\t{i % 2}\t{text.split()[1]}\t{1 - i % 2}"
            for i, text in enumerate(SENTENCES * 4)]
    (folder / "dev.tsv").write_text("\n".join(["sentence\tlabel\tword\tmark", *rows]) + "\n")
    # A shard of k bits loads in 6 k us (median) and 8 k us (p99), and as many KiB.
    clocks = ((1200000, 2), (1800000, 1))
    profile = {
        "io": [{"bytes": 2048 * bits, "load_us": 6 * bits, "p99_us": 8 * bits}
               for bits in (1, 2, 3, 4, 5, 6, 32)],
        "compute": [{"length": length, "width": width, "freq": freq,
                     "layer_us": (20 + 10 * width) * slower * length / 64,
                     "p99_us": (25 + 12 * width) * slower * length / 64}
                    for length in (32, 64) for width in (1, 2, 4) for freq, slower in clocks],
        "fixed": [{"length": length, "embed_us": 10, "embed_io_us": 20, "head_us": 5}
                  for length in (32, 64)],
        "read_bytes": 4096, "read_depth": 2, "process_bytes": 3 << 20, "start_us": 50}
    (folder / "device.json").write_text(json.dumps(profile))
    full = json.loads(json.dumps(profile))
    full["compute"] += [dict(entry, width=3, layer_us=entry["layer_us"] * 0.8,
                             p99_us=entry["p99_us"] * 0.8)
                        for entry in profile["compute"] if entry["width"] == 4]
    (folder / "full.json").write_text(json.dumps(full))
    planned = ["model.sti", "--profile", "full.json", "--importance", "importance.json"]
    must("sti-importance", "plain.sti", "--data", "dev.tsv", "--quick", "--order", "-o", "order.json")
    for part in "12":
        must("sti-importance", "model.sti", "--data", "dev.tsv", "--part", f"{part}/2", "-o",
             f"{part}.part")
    must("sti-plan", *planned, "--target", "700us", "--preload", "20kB", "--turns", "2", "-o",
         "model.plan")
    must("sti-plan", *planned, "--target", "700us", "-o", "late.json")
    late = json.loads((folder / "late.json").read_text())
    (folder / "late.json").write_text(json.dumps({**late, "target_us": 1}))
    evaluated = subprocess.run([binaries / "sti-run", "-q", "--json", "model.sti", "--eval",
                                "dev.tsv"], cwd=folder, check=True, capture_output=True, text=True)
    right = {**json.loads(evaluated.stdout), "correct_bits": "f" * 4}
    (folder / "all-right.json").write_text(json.dumps(right))


# --- the options of each tool ----------------------------------------------------------------------

def one(*arguments):
    return [list(arguments)]


def values(option, *choices):
    return [[option, choice] for choice in choices]


MESSAGES = {"-q": one("-q"), "-v": one("-v"), "--log-json": one("--log-json")}
MESSAGES_ALONE = {"-q": "silences messages", "-v": "explains", "--log-json": "spells messages"}
ONLY_WORDS = {**MESSAGES_ALONE, "--threads": "time alone"}

# Of the data set, which has another text and another label. A pair needs a text.
COLUMNS = {"--text-column": values("--text-column", "word"),
           "--pair-column": [["--pair-column", "word", "--text-column", "sentence"]],
           "--label-column": values("--label-column", "mark")}

PLAN = ["model.sti", "--profile", "full.json"]

TABLES = {
    "sti-shard": {
        "contexts": {"container": ["model", "-o", "out.sti"], "dry run": ["plain", "--dry-run"],
                     "plain": ["plain", "-o", "out.sti"]},
        "options": {"--bits": values("--bits", "2,4"),
                    "--for": values("--for", "model.plan"),
                    "--codebook": values("--codebook", "gobo"),
                    "--embeddings": values("--embeddings", "8"),
                    "--layout": values("--layout", "plane"), "--threads": values("--threads", "1"),
                    "--tokenizer": values("--tokenizer", "words"),
                    "--labels": values("--labels", "names.txt"),
                    "--sort": values("--sort", "order.json"),
                    "--json": one("--json"), **MESSAGES},
        "quiet": {**ONLY_WORDS,
                  **{f"dry run: {option}": "the sizes are the same"
                     for option in ("--codebook", "--tokenizer", "--labels", "--sort")}},
    },
    "sti-plan": {
        "contexts": {
            "target": [*PLAN, "--target", "200us", "-o", "out.json"],
            # More layers are worth more here only if fewer shards count as similar.
            "paper": [*PLAN, "--target", "165us", "--strategy", "sti-paper", "-o", "out.json"],
            "submodel": [*PLAN, "--submodel", "2x3", "-o", "out.json"],
            "sweep": [*PLAN, "--sweep"],
            "cascade": [*PLAN, "--importance", "cascade.json", "--target", "700us", "--cascade",
                        "--min-accuracy", "60%", "-o", "out.json"],
            "check": [*PLAN, "--check", "model.plan"]},
        "options": {
            "--importance": values("--importance", "importance.json", "kl.json"),
            "-o": one("-o", "out.json"), "--target": values("--target", "200us", "2ms"),
            "--preload": values("--preload", "20kB", "200kB", "1B"),
            "--memory": values("--memory", "3.93MB", "3.91MB", "3.89MB", "3.87MB", "4MB"),
            "--length": values("--length", "32", "64", "32,64"),
            **{f"--strategy {name}": [["--strategy", name], ["--strategy", name, "--bits", "2"],
                                     ["--strategy", name, "--submodel", "2x2"],
                                     ["--strategy", name, "--similar", "40%"]]
               for name in ("sti-paper", "load-exec", "stdpl", "preload", "random")},
            "--bits": values("--bits", "3", "32"),
            "--min-accuracy": [*values("--min-accuracy", "70%", "85%", "99%"),
                               ["--min-accuracy", "60%", "--importance", "kl.json"]],
            "--full-accuracy": [["--full-accuracy", "90%", "--min-accuracy", "60%", "--importance",
                                 "kl.json"],
                                ["--full-accuracy", "90%"]],
            "--cascade": [["--cascade", "--importance", "cascade.json", "--target", "700us"]],
            "--max-levels": values("--max-levels", "2"),
            "--strategy tabi": values("--strategy", "tabi"),
            "--wake": values("--wake", "100us", "20us"), "--cold": one("--cold"),
            "--turns": values("--turns", "2"), "--turn-buffer": values("--turn-buffer", "300kB"),
            "--freq": values("--freq", "1200000", "1200000,1800000"),
            "--submodel": values("--submodel", "2x3", "1x2"),
            "--width-min": values("--width-min", "3", "4"),
            "--similar": values("--similar", "0%", "60%", "90%"),
            "--io-budget": [["--io-budget", "12kB"], ["--io-budget", "12kB", "--submodel", "2x2"],
                             ["--io-budget", "12kB", "--submodel", "1x2"],
                             ["--io-budget", "40kB"]],
            "--seed": values("--seed", "7", "8", "9"), "--risk": values("--risk", "median"),
            "--interpolate": one("--interpolate"),
            "--allow-untrained": one("--allow-untrained"), "--explain": one("--explain"),
            "--gantt": values("--gantt", "out.svg"), "--sweep": one("--sweep"),
            "--targets": values("--targets", "300us,500us"),
            "--preloads": values("--preloads", "0,20kB"),
            "--sweep-svg": values("--sweep-svg", "sweep.svg"),
            "--check": values("--check", "model.plan"), "--json": one("--json"), **MESSAGES},
        "quiet": {**ONLY_WORDS, "--interpolate": "allows what this profile does not need",
                  "--allow-untrained": "allows what this request does not need",
                  "cascade: --memory --max-levels": "memory that two levels lack three lack too",
                  "target: --similar": "IO decides", "sweep: --similar": "IO decides",
                  "paper: --width-min": "the widest is taken anyway",
                  "paper: --width-min --similar": "few submodels are left",
                  "paper: --similar --risk": "by medians the largest is the deepest"},
    },
    "sti-profile": {
        "slow": True,
        "contexts": {"short": ["model.sti", "--budget", "20ms", "-o", "out.json"]},
        "options": {
            "--lengths": values("--lengths", "16"), "--widths": values("--widths", "2"),
            "--threads": values("--threads", "1"), "--cpus": values("--cpus", "0"),
            "--gap": values("--gap", "1us"), "--precision": values("--precision", "50%"),
            "--io": values("--io", "buffered"), "--compute": values("--compute", "auto"),
            "--clocks": values("--clocks", "1"), **MESSAGES},
        "quiet": {**MESSAGES_ALONE, "--gap": "time alone",
                  "--clocks": "no machine has this one, most let none be set",
                  "--precision": "time alone", "--compute": "auto may choose what is the default",
                  "--threads --cpus": "one core has one thread"},
    },
    "sti-run": {
        "contexts": {"json": ["--json", "model.sti"],
                     "several": ["--json", "--model", "intents=model.sti", "--model",
                                 "plain=plain.sti,"]},
        "stdin": "set an alarm\tagain\nnever mind\tplay\n1 2 3\n" + "what is the time " * 20 + "\n",
        # Answers of one model come in order.
        "stdin of --model": "intents\tset an alarm\tagain\nintents\tnever mind\tplay\n"
                            "intents\t1 2 3\nintents\t" + "what is the time " * 20 + "\n",
        "options": {
            "--model": [["--model", "planned=model.sti,model.plan"]],
            "--plan": values("--plan", "model.plan"), "--submodel": values("--submodel", "2x2"),
            "--replan": [["--replan", "full.json", "--plan", "model.plan"]],
            "--importance": [["--importance", "importance.json", "--replan", "full.json", "--plan",
                              "model.plan"]],
            "--bits": values("--bits", "3"), "--on-late degrade": values("--on-late", "degrade"),
            "--on-late fail": values("--on-late", "fail"), "--io": values("--io", "buffered"),
            "--backend": values("--backend", "openblas"), "--compute": values("--compute", "auto"),
            "--memory": values("--memory", "1MB", "100MB"), "--cpus": values("--cpus", "0"),
            "--threads": values("--threads", "1"), "--lock-memory": one("--lock-memory"),
            "--priority": one("--priority"), "--idle": values("--idle", "1s"),
            "--one-shot": one("--one-shot"), "--turn-gap": values("--turn-gap", "0"),
            "--ids": one("--ids"), "--pairs": one("--pairs"), "--top": values("--top", "1"),
            "--threshold": values("--threshold", "0.3"), "--seed": values("--seed", "7"),
            "--stats": one("--stats"), "--trace": values("--trace", "trace.json"),
            "--eval": values("--eval", "dev.tsv"),
            "--min-accuracy": values("--min-accuracy", "99%"),
            "--max-p99": values("--max-p99", "1us"), "--max-memory": values("--max-memory", "1kB"),
            "--max-bytes": values("--max-bytes", "1B"),
            "--max-misses": [["--max-misses", "0", "--eval", "dev.tsv", "--plan", "late.json"]],
            "--baseline": values("--baseline", "all-right.json"),
            "--max-drop": [["--max-drop", "0", "--baseline", "all-right.json"],
                           ["--max-drop", "0", "--baseline", "all-right.json", "--eval", "dev.tsv"]],
            **COLUMNS, "TEXT": one("never mind", "play it again"), **MESSAGES},
        "quiet": {**ONLY_WORDS, "--io": "time alone", "--cpus": "time alone",
                  "--priority": "time alone", "--backend": "rounding alone",
                  "--compute": "auto may choose what is the default",
                  "--on-late degrade": "nothing is late here", "--on-late fail": "as it is",
                  "--replan": "the device stays as it is", "--importance": "as --replan",
                  "--memory": "memory alone, where it is enough", "--lock-memory": "memory alone",
                  "--idle": "memory alone",
                  "--threshold": "of multi-label models, which this is not",
                  "--seed": "of plans with a cascade, which this is not",
                  "--stats -q": "-q silences what --stats prints",
                  "--turn-gap --eval": "each row is a first turn, as this plan has no other"},
    },
    "sti-inspect": {
        "contexts": {"model": ["model.sti"]},
        "stdin": "set an alarm\tagain\n",
        "options": {
            "--verify": one("--verify"), "--tokenize": one("--tokenize"),
            "--export": values("--export", "4"), "-o": one("-o", "out"),
            "--pairs": one("--pairs"), "--json": one("--json"), **MESSAGES},
        "quiet": {**ONLY_WORDS, "--tokenize --json": "each line is JSON already"},
    },
    "sti-importance": {
        "contexts": {"measure": ["model.sti", "--data", "dev.tsv", "-o", "out.importance"],
                     "merge": ["merge", "1.part", "2.part", "-o", "out.json"],
                     "show": ["show", "importance.json"]},
        "options": {
            "--metric": values("--metric", "loss", "kl"), "--submodels": one("--submodels"),
            "--gains": one("--gains"), "--quick": one("--quick"),
            "--order": one("--order"), "--cascade": one("--cascade"),
            "--levels": one("--levels", "1x2@2,3x4@6", "--cascade"),
            "--alphas": one("--alphas", "0.5", "--cascade"),
            "--compute": values("--compute", "auto"), "--threads": values("--threads", "1"),
            "--part": values("--part", "1/2"), "--resume": one("--resume"),
            "--cache-bytes": values("--cache-bytes", "1kB"), **COLUMNS, "--json": one("--json"),
            "OTHER": one("other.json"), "--svg": values("--svg", "out.svg"),
            "--png": values("--png", "out.png"), **MESSAGES},
        "quiet": {**ONLY_WORDS, "--compute": "auto may choose what is the default",
                  "--resume": "time alone", "--cache-bytes": "time and memory alone",
                  "--cascade --levels": "levels bring it", "--cascade --alphas": "alphas bring it"},
    },
}
# Numbers that differ from run to run.
TIMES = re.compile(r'("(?:[a-z0-9_]*_(?:us|rss_bytes|difference)|p[0-9]+|max)":) ?[-+.0-9e]+')
NUMBER = re.compile(r"\d+(\.\d+)?( ?(us|ms|s|kB|MB|MiB))?\b")


def what_was_measured(profile):
    """Returns what of a profile is not measured itself."""
    json_of = json.loads(profile)
    kept = {key: json_of[key] for key in ("threads", "cpus", "kernel", "read_path")}
    kept["layers"] = sorted({(entry["length"], entry["width"]) for entry in json_of["compute"]})
    return json.dumps(kept).encode()


class Runner:
    """Runs one tool, each command once, in a folder of its own that holds links to the files."""

    def __init__(self, binaries, tool, files, scratch):
        self.binary = binaries / tool
        self.tool = tool
        self.volatile = tool in ("sti-run", "sti-profile")
        self.files = files
        self.scratch = scratch
        self.known = {}

    def stable(self, text):
        return TIMES.sub(r"\1#", text) if self.volatile else text

    def run(self, arguments):
        key = tuple(arguments)
        if key not in self.known:
            self.known[key] = self.start(arguments)
        return self.known[key]

    def start(self, arguments):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.scratch))
        for path in self.files.iterdir():
            (folder / path.name).symlink_to(path)
        stdin = TABLES[self.tool].get("stdin of --model" if "--model" in arguments else "stdin", "")
        done = subprocess.run([self.binary, *arguments], cwd=folder, input=stdin, text=True,
                              capture_output=True, check=False, timeout=60, errors="replace")
        written = {}
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink() and self.files not in path.resolve().parents:
                data = path.read_bytes()
                if self.tool == "sti-profile":
                    data = what_was_measured(data)
                elif self.volatile:
                    data = NUMBER.sub("#", data.decode()).encode()
                written[str(path.relative_to(folder))] = hashlib.sha256(data).hexdigest()
        shutil.rmtree(folder)
        errors = NUMBER.sub("#", done.stderr) if self.volatile else done.stderr
        return done.returncode, self.stable(done.stdout), errors, tuple(written.items()), done.stderr


def is_within(part, whole):
    return any(tuple(part) == whole[i:i + len(part)] for i in range(len(whole)))


def flags_of(name):
    """Returns words by which a message may name the option."""
    flag = name.split()[0]
    # "the strategies" names --strategy, "a lead time" does not name --wake, but its remedy does.
    return {flag, flag.strip("-")[:7] if flag.startswith("--") else flag}


class Pairs:
    """Judges the pairs of one context."""

    def __init__(self, runner, title, context, table):
        self.runner = runner
        self.title = title
        self.context = context
        self.options = table["options"]
        self.quiet = table["quiet"]

    def is_quiet(self, *names):
        pair = " ".join(names)
        return pair in self.quiet or f"{self.title}: {pair}" in self.quiet

    def was_taken(self, name):
        """Returns whether some run took the option, alone or beside others."""
        return any(result[0] != 2 for arguments, result in self.runner.known.items()
                   if any(is_within(choice, arguments) for choice in self.options[name]))

    def can_fail(self, pair, slow):
        """Returns whether a pair is tried: with a slow tool only where both change something."""
        quiet = [self.is_quiet(name) for name in pair]
        return not any(quiet) if slow else not all(quiet)

    def gives(self, *choices):
        return self.runner.run([*self.context, *itertools.chain(*choices)])

    def verdict(self, first, second, a, b):
        """Returns an empty text if the pair is right with these values, else what is wrong; None
        where that cannot be seen, since the second alone fails as the two do."""
        both, only_a, only_b = self.gives(a, b), self.gives(a), self.gives(b)
        if both[0] < 0 or both[0] > 4:
            return f"exit {both[0]}"
        if both[0] == 2:
            if only_a[0] == 2 or only_b[0] == 2:
                return ""
            if any(name[0] == "-" and len(choice) > 2
                   for name, choice in ((first, a), (second, b))):
                return None  # perhaps refused for what comes with one of the two
            named = all(any(flag in both[4] for flag in flags_of(name))
                        for name in (first, second))
            return "" if named else f"refused without naming both: {both[4].strip()}"
        if both[0] in (3, 4) and both[:4] in (only_a[:4], only_b[:4]):
            return None
        still = [name for name, other in ((first, only_b), (second, only_a))
                 if not self.is_quiet(name) and both[:4] == other[:4]]
        return f"{' and '.join(still)} changed nothing" if still else ""

    def problem(self, first, second):
        """Returns what is wrong with a pair; it is right if it is so with any of the values."""
        found = []
        if self.is_quiet(first, second):
            return ""
        for a, b in itertools.product(self.options[first], self.options[second]):
            found.append(self.verdict(first, second, a, b))
            if found[-1] == "":
                return ""
        return next((text for text in found if text), "")

    def alone(self, name):
        if self.is_quiet(name) or any(self.gives(choice)[:4] != self.gives()[:4]
                                     for choice in self.options[name]):
            return ""
        return "changed nothing"


def check(binaries, tool, files, scratch):
    table = {"slow": False, **TABLES[tool]}
    runner = Runner(binaries, tool, files, scratch)
    wrong, count, taken = [], 0, set()
    for title, context in table["contexts"].items():
        names = [name for name in table["options"] if name.split()[0] not in context]
        pairs = Pairs(runner, title, context, table)
        jobs = [(name,) for name in names] + [
            pair for pair in itertools.combinations(names, 2)
            if pair[0].split()[0] != pair[1].split()[0] and pairs.can_fail(pair, table["slow"])]
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(pairs.alone, names))
            problems = list(pool.map(lambda job: pairs.alone(*job) if len(job) == 1
                                     else pairs.problem(*job), jobs))
        count += len(jobs)
        if pairs.gives()[0] != 2:
            taken |= set(table["options"]) - set(names)
        taken |= {name for name in names if pairs.was_taken(name)}
        wrong += [f"{tool}, {title}: {' '.join(job)}: {problem}"
                  for job, problem in zip(jobs, problems) if problem]
    wrong += [f"{tool}: {name}: never taken" for name in table["options"]
              if name not in taken and name not in table["quiet"]]
    print("".join(line + "\n" for line in wrong), end="")
    print(f"{tool}: {count} options and pairs, {len(wrong)} wrong, {len(runner.known)} runs")
    return bool(wrong)


def main():
    binaries = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        files = pathlib.Path(scratch).resolve() / "files"
        files.mkdir()
        make_files(binaries, files)
        return max(check(binaries, tool, files, scratch) for tool in sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
