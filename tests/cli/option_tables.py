"""The options of each tool, with values that change something, for option_pairs.py, which says how
they are read."""


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
            "--clocks": values("--clocks", "1"),
            "--instructions": values("--instructions", "portable"), **MESSAGES},
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
            "--instructions": values("--instructions", "portable"),
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
                  "--instructions": "rounding alone",
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
