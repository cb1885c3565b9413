"""The options of each tool, two at a time, for option_pairs.py, which says how this is read.

- contexts: command lines that options are tried beside. Their own options are pairs with those too.
- options: each with values that change something, and with what it needs beside it. What follows
  holds wherever the option is allowed and the tool wrote a plan (out.json), answers (lines) and
  so on.
- refused: each of the first beside each of the second, and the words. {a} and {b} are the two.
- needs: each of the first without any of the second.
- shown: options that one line shows at work, and what it then gives; without either it does not.
  None: it gives something else without.
- watched: likewise, of what the kernel says of a run that waits for its next line.
- elsewhere: what it takes more than a command line to show, and the file that shows it.
- bare: command lines beside which some of these rules alone are tried.
- quiet: what by design changes only time, memory or words, with the reason; "target: --similar" for
  one context, "--stats -q" for a pair.
"""
from option_rules import Option
from option_table_run import RUN
from option_words import (COLUMNS, COLUMN_NEEDS, GOES_WITH, MESSAGES, MESSAGES_ALONE,
                          ONLY_WORDS)


def has_int8(given):
    """Returns whether a run computed in int8, or this CPU cannot."""
    return "has no int8 products" in given.err or "int8" in f"{given.plan}{given.err}"


def all_bits(plan):
    return {bits for layer in plan["bits"] for bits in layer}


PLAN = "model.sti --profile full.json"
STRATEGIES = ("sti-paper", "load-exec", "stdpl", "preload", "pipeload", "random", "tabi")
ONE_PLAN = "--sweep takes no {b}: it shows many plans and writes none; drop one"
IN_CLUSTER = ("--cluster takes no …: it plans for the most texts a second, from profiles and "
              "memory that the file says; drop one")
AS_IS = "--check takes no {b}: it judges a plan as it is; drop one"
MEASURED = "--cascade takes no {b}: its levels are as they were measured; drop one"
WARM = "--cascade takes no {b}: it answers one warm input after another; drop one"
FALLBACK = ("--guarantee takes no {b}: its fallback stays in memory from one input to the next, "
            "under one target; drop one")
NO_SHARDS = "{a} takes no {b}: it keeps no shards in memory; drop one"
MEASURE = "model.sti --data dev.tsv -o out.importance"
MEASURE_DEVICE = "model.sti --budget 20ms -o out.json"
MEASURING = ("--metric, --submodels, --gains, --quick, --order, --cascade, --levels, --alphas, "
             "--compute, --threads, --part, --resume, --cache-bytes, --text-column, --pair-column, "
             "--label-column, --prefix")
OTHER_HEAD = "{a}: the metric … is not for models that …, as this one does; take …"
AT_ONCE = "{a} does all at once; leave out --part, or {a}"

TABLES = {
    "sti-shard": {
        "contexts": {"container": "model -o out.sti", "dry run": "plain --dry-run",
                     "plain": "plain -o out.sti"},
        "options": {
            "--bits": Option("--bits 2,4"), "--for": Option("--for model.plan"),
            "--codebook": Option("--codebook gobo"), "--embeddings": Option("--embeddings 8"),
            "--layout": Option("--layout plane"), "--threads": Option("--threads 1"),
            "--tokenizer": Option("--tokenizer words"), "--labels": Option("--labels names.txt"),
            "--sort": Option("--sort order.json"), "--stage": Option("--stage a --for staged.json"), "--pooling": Option("--pooling max"),
            "--json": Option("--json", json=lambda report: report["file_bytes"] > 0),
            **MESSAGES},
        "needs": [("--stage", "--for", GOES_WITH)],
        "refused": [("--for", "--bits", "{a} takes no {b}: its plans say which bits they read; drop one"),
                    ("--pooling", "--labels", "{a} takes no {b}: a model that embeds texts has no labels to "
                     "name; drop one")],
        "quiet": {**ONLY_WORDS, **{f"dry run: {option}": "the sizes are the same"
                  for option in ("--codebook", "--tokenizer", "--labels", "--sort")}},
        "shown": [
            ("-v, --threads", "plain -o out.sti -v --threads 7", lambda r: ", 7 at once" in r.err),
        ],
    },
    "sti-inspect": {
        "contexts": {"model": "model.sti"},
        "stdin": "set an alarm\tagain\n",
        "options": {
            "--verify": Option("--verify", out=lambda out: "damaged" in out),
            "--tokenize": Option("--tokenize", out=lambda out: '"ids"' in out),
            "--export": Option("--export 4 -o out", files=lambda files: "out/config.json" in files),
            "-o": Option("-o out --export 4", files=lambda files: "out/config.json" in files),
            "--pairs": Option("--pairs --tokenize", out=lambda out: '"types"' in out),
            "--offsets": Option("--offsets --tokenize", out=lambda out: '"offsets"' in out),
            "--json": Option("--json", out=lambda out: out.startswith("{")), **MESSAGES},
        "refused": [
            ("--verify", "--tokenize, --export, -o",
             "{a} takes no {b}: it reads a file and does no more with it; drop one"),
            ("--tokenize", "--export, -o", "{a} takes no {b}: it writes lines; drop one")],
        "needs": [("--pairs, --offsets", "--tokenize", GOES_WITH),
                  ("--export", "-o", "--export K and -o DIR belong together"),
                  ("-o", "--export", "--export K and -o DIR belong together")],
        "quiet": {**ONLY_WORDS, "--tokenize --json": "each line is JSON already",
                  "--pairs --json": "each line is JSON already",
                  "--offsets --json": "each line is JSON already"},
    },
    "sti-importance": {
        "contexts": {"measure": MEASURE, "embeds": "embed.sti --data dev.tsv -o out.importance",
                     "merge": "merge 1.part 2.part -o out.json", "show": "show importance.json"},
        "words": {"other.json": "OTHER"},
        "options": {
            "-o": Option("-o out.importance"), "--metric": Option("--metric loss", "--metric kl"),
            "--metric accuracy": Option("--metric accuracy"), "--submodels": Option("--submodels"),
            "--metric cosine": Option("--metric cosine"),
            "--metric spearman": Option("--metric spearman --text-column sentence --pair-column word"),
            "--gains": Option("--gains"), "--quick": Option("--quick"), "--order": Option("--order"),
            "--cascade": Option("--cascade"),
            "--levels": Option("--levels 1x2@2,3x4@6 --cascade"),
            "--alphas": Option("--alphas 0.5 --cascade"), "--compute": Option("--compute auto"),
            "--threads": Option("--threads 1"), "--part": Option("--part 1/2"),
            "--resume": Option("--resume"), "--cache-bytes": Option("--cache-bytes 1kB"),
            "--prefix": Option("--prefix 'please '"), **COLUMNS,
            "--json": Option("--json"), "OTHER": Option("other.json"),
            "--svg": Option("--svg out.svg", files=lambda files: "out.svg" in files),
            "--png": Option("--png out.png", files=lambda files: "out.png" in files), **MESSAGES},
        "refused": [
            ("merge", MEASURING, "{a} takes no {b}; leave it out, see sti-importance {a} --help"),
            ("show", MEASURING, "{a} takes no {b}; leave it out, see sti-importance {a} --help"),
            ("merge", "--svg, --png", "{b} goes with show; see sti-importance show --help"),
            ("show", "-o", "{a} takes no -o; write a picture with --svg FILE or --png FILE"),
            ("--quick", "--submodels",
             "{a} estimates shards, not {b}; leave one of the two out"),
            ("--quick", "--part, --resume",
             "{a} does all at once; leave out --part and --resume, or {a}"),
            ("--quick", "--compute", "{a} computes in fp32; leave out {b}, or {a}"),
            ("--quick", "--metric accuracy",
             "{a} cannot estimate accuracy; take --metric loss or --metric kl"),
            ("--order, --cascade", "--part", AT_ONCE),
            ("embed.sti", "--metric loss, --metric kl, --metric accuracy", OTHER_HEAD),
            ("model.sti", "--metric cosine, --metric spearman", OTHER_HEAD),
            ("embed.sti", "--cascade", "a cascade is for labels of texts, which the model does not give")],
        "needs": [COLUMN_NEEDS,
                  ("--levels, --alphas", "--cascade", "{a} are of cascades; add {b}"),
                  ("--svg, --png", "show, merge", "{a} goes with show; see sti-importance show --help"),
                  ("OTHER", "show, merge", "The following argument was not expected: other.json; "
                   "see sti-importance --help")],
        "quiet": {**ONLY_WORDS, "--compute": "auto may choose what is the default",
                  "--resume": "time alone", "--cache-bytes": "time and memory alone",
                  "--metric accuracy": "it is the default", "--metric cosine": "likewise",
                  "embeds: --label-column": "a cosine takes none",
                  "--cascade --levels": "levels bring it", "--cascade --alphas": "alphas bring it"},
        "shown": [
            ("-v, --threads", f"{MEASURE} -v --threads 7", lambda r: " s on 7 threads" in r.err),
            ("-v, --cache-bytes", f"{MEASURE} -v --cache-bytes 1kB",
             lambda r: "--cache-bytes: the longest example alone needs" in r.err),
            ("--metric, --json", "tokens.sti --data tagged.conll --metric loss --json -o out.importance",
             lambda r: '"metric": "loss"' in r.out),
            ("-v, --resume", f"{MEASURE} -v --resume",
             lambda r: ".resume: not there, so the work begins" in r.err),
            ("--compute, -o", "model.sti --data dev.tsv -o out.json --compute int8", has_int8)],
    },
    "sti-profile": {
        "slow": True,
        "contexts": {"short": MEASURE_DEVICE,
                     "merge": "merge slow.json fast.json -o out.json"},
        "options": {
            "--lengths": Option("--lengths 16", plan=lambda p: p["compute"][0]["length"] == 16),
            "--budget": Option("--budget 20ms"),
            "--widths": Option("--widths 2", plan=lambda p: p["compute"][0]["width"] == 2),
            "--batches": Option("--batches 2", plan=lambda p: p["batches"][0]["batch"] == 2),
            "--threads": Option("--threads 1", plan=lambda p: p["threads"] == 1),
            "--cpus": Option("--cpus 0", plan=lambda p: p["cpus"] == "0"),
            "--gap": Option("--gap 1us"), "--precision": Option("--precision 50%"),
            "--io": Option("--io buffered", plan=lambda p: p["read_path"] == "buffered"),
            "--compute": Option("--compute auto"),
            "--clocks": Option("--clocks 1"),
            "--instructions": Option("--instructions portable",
                                     plan=lambda p: "portable" in p["kernel"]),
            "--json": Option("--json"), **MESSAGES},
        "refused": [
            ("merge", "--lengths, --widths, --batches, --threads, --cpus, --gap, --precision, --budget, --io, "
             "--compute, --instructions, --clocks",
             "{a} takes no {b}; leave it out; see sti-profile {a} --help")],
        "quiet": {**MESSAGES_ALONE, "--gap": "time alone",
                  "--clocks": "no machine has this one, most let none be set",
                  "--precision": "time alone", "--compute": "auto may choose what is the default",
                  "--threads --cpus": "one core has one thread"},
        "elsewhere": {"--budget": "profile.bats", "--clocks": "profile.bats"},
        "shown": [
            ("-v, --gap", f"{MEASURE_DEVICE} -v --gap 30us",
             lambda r: "idle for 30 us before each sample" in r.err),
            ("-q", f"{MEASURE_DEVICE} -q --precision 100%", lambda r: r.err == ""),
            ("-v, --log-json", f"{MEASURE_DEVICE} -v --log-json --gap 30us",
             lambda r: '"message":"idle for 30 us' in r.err),
            ("--precision", f"{MEASURE_DEVICE} --precision 0.0001%",
             lambda r: "not known to within 0.0 %" in r.err),
            ("--compute", f"{MEASURE_DEVICE} --compute int8", has_int8)],
    },
    "sti-plan": {
        "contexts": {
            "target": f"{PLAN} --target 200us -o out.json",
            # More layers are worth more here only if fewer shards count as similar.
            "paper": f"{PLAN} --target 165us --strategy sti-paper -o out.json",
            "submodel": f"{PLAN} --submodel 2x3 -o out.json",
            "sweep": f"{PLAN} --sweep",
            "cascade": f"{PLAN} --importance cascade.json --target 700us --cascade "
                       "--min-accuracy 60% -o out.json",
            "guarantee": f"{PLAN} --target 2ms --preload 100kB --guarantee -o out.json",
            "cluster": "model.sti --cluster two.json -o out.json",
            "check": f"{PLAN} --check model.plan"},
        "options": {
            "--importance": Option("--importance importance.json", "--importance kl.json"),
            "--profile": Option("--profile full.json"),
            "--cluster": Option("--cluster two.json", plan=lambda p: p["period_us"] > 0),
            "--microbatch": Option("--microbatch 4 --cluster two.json",
                                   plan=lambda p: p["microbatch"] == 4),
            "-o": Option("-o out.json"),
            "-o -": Option("-o -"),
            "--target": Option("--target 200us", "--target 2ms",
                               plan=lambda p: p["target_us"] in (200, 2000)),
            "--preload": Option("--preload 20kB", "--preload 200kB", "--preload 1B"),
            "--memory": Option(*(f"--memory {size}MB" for size in (3.93, 3.91, 3.89, 3.87, 4, 4.2)),
                               plan=lambda p: p["predicted_peak_bytes"] <= 4.2e6),
            "--length": Option("--length 32", "--length 64",
                               plan=lambda p: p["length"] in (32, 64) and all(
                                   v["length"] == p["length"] for v in p["variants"])),
            "--length 48,64": Option("--length 48,64", plan=lambda p: p["length"] == 64 and
                                     any(v["length"] == 48 for v in p["variants"])),
            **{f"--strategy {name}": Option(
                f"--strategy {name}", f"--strategy {name} --bits 2",
                f"--strategy {name} --submodel 2x2", f"--strategy {name} --similar 40%",
                plan=lambda p, name=name: p["strategy"] == name)
               for name in ("sti-paper", "load-exec", "stdpl", "preload", "pipeload", "random")},
            "--bits": Option("--bits 3", "--bits 32",
                             plan=lambda p: all_bits(p) <= {3} or all_bits(p) <= {32} or
                             "stages" in p and min(all_bits(p)) >= 3),
            "--min-accuracy": Option(*(f"--min-accuracy {share} --importance importance.json"
                                       for share in ("70%", "85%", "99%")),
                                     plan=lambda p: p["predicted_accuracy"] is None or
                                     p["predicted_accuracy"] >= 0.6),
            "--full-accuracy": Option(
                "--full-accuracy 90% --min-accuracy 60% --importance kl.json"),
            "--cascade": Option("--cascade --importance cascade.json --target 700us",
                                plan=lambda p: len(p["cascade"]["levels"]) > 0),
            "--guarantee": Option("--guarantee --target 2ms --preload 100kB",
                                  plan=lambda p: p["fallback"]["bits"] > 0),
            "--max-levels": Option("--max-levels 2 --cascade --importance cascade.json "
                                   "--target 700us",
                                   plan=lambda p: len(p["cascade"]["levels"]) == 1),
            "--strategy tabi": Option("--strategy tabi --cascade --importance cascade.json "
                                      "--target 700us", plan=lambda p: p["strategy"] == "tabi"),
            "--agents": Option(*(f"--agents {agents} --strategy pipeload" for agents in (1, 2, 3)),
                               plan=lambda p: p["agents"] in (1, 2, 3)),
            "--wake": Option("--wake 100us", "--wake 20us",
                             plan=lambda p: p["wake_us"] in (20, 100)),
            "--cold": Option("--cold", plan=lambda p: p["cold"]),
            "--turns": Option("--turns 2", plan=lambda p: len(p["turns"]) == 2),
            "--turn-buffer": Option("--turn-buffer 300kB --turns 2",
                                    plan=lambda p: p["turn_bytes"] == 300000),
            "--freq": Option("--freq 1200000", plan=lambda p: p["freq"] == 1200000),
            "--freq 1200000,1800000": Option(
                "--freq 1200000,1800000", plan=lambda p: p["freq"] == 1800000 and
                any(v["freq"] == 1200000 for v in p["variants"])),
            "--submodel": Option("--submodel 2x3", "--submodel 1x2",
                                 plan=lambda p: (len(p["layers"]), p["width"]) in ((2, 3), (1, 2))),
            "--width-min": Option("--width-min 3", "--width-min 4",
                                  plan=lambda p: p["width"] >= 3),
            "--similar": Option("--similar 0%", "--similar 60%", "--similar 90%"),
            "--io-budget": Option("--io-budget 12kB", "--io-budget 12kB --submodel 2x2",
                                  "--io-budget 12kB --submodel 1x2", "--io-budget 40kB",
                                  plan=lambda p: all_bits(p) <= {2, 6}),
            "--seed": Option(*(f"--seed {seed} --strategy random" for seed in (7, 8, 9))),
            "--risk": Option("--risk median"), "--interpolate": Option("--interpolate"),
            "--allow-untrained": Option("--allow-untrained"), "--explain": Option("--explain"),
            "--gantt": Option("--gantt out.svg", files=lambda files: "out.svg" in files),
            "--gantt -": Option("--gantt -", out=lambda out: out.startswith("<svg")),
            "--sweep": Option("--sweep"),
            "--targets": Option("--targets 300us,500us --sweep"),
            "--preloads": Option("--preloads 0,20kB --sweep"),
            "--memories": Option("--memories 3.9MB,5MB --sweep --strategy pipeload",
                                 out=lambda out: "agents" in out),
            "--sweep-svg": Option("--sweep-svg sweep.svg --sweep",
                                  files=lambda files: "sweep.svg" in files),
            "--check": Option("--check model.plan"), "--json": Option("--json"), **MESSAGES},
        "refused": [
            ("--cluster", "--profile, --target, --preload, --memory, --min-accuracy, "
             "--full-accuracy, --cascade, --max-levels, --guarantee, --wake, --cold, --turns, "
             "--turn-buffer, --freq, --width-min, --similar, --io-budget, --seed, --risk, --sweep, "
             "--targets, --preloads, --memories, --sweep-svg, --agents, "
             + ", ".join(f"--strategy {name}" for name in STRATEGIES), IN_CLUSTER),
            ("--cluster", "--check", "--check takes no …: it judges a plan as it is; drop one"),
            ("--cluster", "--length 48,64", "{a} takes one --length; drop the others"),
            ("--sweep", "-o, --gantt, --explain, --turns, --turn-buffer, --min-accuracy",
             ONE_PLAN),
            ("--sweep", "--length 48,64", "{a} takes one --length; drop the others"),
            ("--sweep", "--freq 1200000,1800000", "{a} takes one --freq; drop the others"),
            ("--targets", "--target", "{a} takes no {b}: it lists them all; drop one"),
            ("--preloads", "--preload", "{a} takes no {b}: it lists them all; drop one"),
            ("--memories", "--memory, --targets, --preloads, --sweep-svg",
             "{a} takes no {b}: it lists memory alone; drop one"),
            ("-o -", "--gantt -", "-o - and --gantt - both want stdout; name a file for one"),
            ("--json", "--gantt -",
             "--json and --gantt - both want stdout; name a file for --gantt"),
            ("--check", "-o, --preload, --length, --strategy, --bits, --min-accuracy, "
             "--full-accuracy, --wake, --cold, --guarantee, --cascade, --max-levels, --turns, "
             "--turn-buffer, --freq, --submodel, --width-min, --similar, --io-budget, --seed, "
             "--allow-untrained, --sweep, --targets, --preloads, --memories, --sweep-svg, --agents", AS_IS),
            ("--guarantee", "--cold, --turns, --turn-buffer, --io-budget, --min-accuracy",
             FALLBACK),
            ("--guarantee", "--sweep", "{a} takes no {b}: it makes one plan; drop one"),
            ("--guarantee", ", ".join(f"--strategy {name}" for name in STRATEGIES),
             "{a} is for --strategy sti, not …; leave one of them out"),
            ("--cascade", "--submodel, --bits, --width-min, --similar, --io-budget, "
             "--full-accuracy", MEASURED),
            ("--cascade", "--cold, --turns, --turn-buffer, --guarantee", WARM),
            ("--cascade", "--sweep", "{a} takes no {b}: it makes one plan; drop one"),
            ("--cascade", "--length 48,64", "{a} takes one --length; drop the others"),
            ("--cascade", "--freq 1200000,1800000", "{a} takes one --freq; drop the others"),
            ("--cascade", ", ".join(f"--strategy {name}" for name in STRATEGIES[:-1]),
             "{a} is for --strategy sti or tabi, not …; leave one of them out"),
            ("--strategy load-exec, --strategy stdpl, --strategy pipeload", "--preload, --preloads", NO_SHARDS),
            ("--strategy load-exec, --strategy stdpl, --strategy preload, --strategy pipeload",
             "--turns, --wake",
             "turns and a lead time are for the strategies sti, sti-paper and random; "
             "drop --turns and --wake"),
            ("--strategy load-exec, --strategy stdpl, --strategy preload, --strategy pipeload",
             "--io-budget",
             "an IO budget is for the strategies sti, sti-paper and random; drop --io-budget"),
            (", ".join(f"--strategy {name}" for name in STRATEGIES[:-1]), "--min-accuracy",
             "a least accuracy is for the strategy sti; drop --min-accuracy or --strategy"),
            ("--strategy preload", "--cold",
             "the strategy preload begins with all shards in memory; drop --cold"),
            ("--strategy preload", "--length 48,64, --freq 1200000,1800000",
             "the strategy preload holds one plan's shards; ask for one length, batch and clock"),
            ("--io-budget", "--bits", "an IO budget raises single shards, one bitwidth for all "
             "forbids it; drop {a} or {b}"),
            ("--cold", "--preloads", "{a} takes no {b}: a cold start has nothing in memory; drop one"),
            ("--bits", "--seed", "{a} takes no {b}: one bitwidth for all leaves nothing to draw; "
             "drop one"),
            ("--cold", "--preload, --turns, --wake", "a cold start has nothing in memory, no turn "
             "before it and no lead time; drop --preload, --turns and --wake"),
            ("--submodel", "--similar, --width-min",
             "{a} takes no {b}: it names the submodel; drop one")],
        "needs": [
            ("--targets, --preloads, --memories, --sweep-svg", "--sweep, --check",
             "{a} goes with --sweep; add it, or drop {a}"),
            ("--memories", "--strategy pipeload, --check",
             "--memories is for --strategy pipeload, not …; leave one of them out"),
            ("--microbatch", "--cluster", GOES_WITH),
            ("--guarantee", "--target, --check", GOES_WITH), ("--max-levels", "--cascade, --check", GOES_WITH),
            ("--agents", "--strategy pipeload, --check, --cluster",
             "--strategy … takes no --agents: it reads layer by layer; drop one"),
            ("--strategy tabi", "--cascade, --guarantee, --check",
             "--strategy tabi goes with --cascade; add it, or drop --strategy"),
            ("--cascade", "--importance, --check", GOES_WITH),
            ("--cascade", "--target, --check", GOES_WITH),
            ("--seed", "--strategy random, --check",
             "--strategy … takes no --seed: random alone draws; drop one"),
            ("--turn-buffer", "--turns, --check", GOES_WITH),
            ("--full-accuracy", "--min-accuracy, --check", GOES_WITH),
            ("--risk", "--target, --sweep, --min-accuracy, --check", GOES_WITH),
            ("--seed", "--target, --sweep, --min-accuracy, --io-budget, --check", GOES_WITH)],
        "quiet": {**ONLY_WORDS, "--interpolate": "allows what this profile does not need",
                  "cluster: --microbatch": "it is the best of those profiled",
                  "cluster: --importance": "the boards have no time to raise shards in",
                  "--allow-untrained": "allows what this request does not need",
                  "submodel: --memory --agents": "the layers of two agents fit anyway",
                  "sweep: --importance --memories": "the whole model runs",
                  "sweep: --width-min --memories": "the whole model runs",
                  "sweep: --risk --memories": "the fastest is so by medians too",
                  "sweep: --memory --agents": "the layers of three agents fit anyway",
                  "cascade: --memory --max-levels": "memory that two levels lack three lack too",
                  "cascade: --max-levels --freq": "one level is best at this clock",
                  "guarantee: --width-min": "the widest is taken anyway",
                  "guarantee: --similar": "the target leaves time for all shards",
                  "target: --seed": "all choices are the same in so little time",
                  "paper: --memory --length": "shorter inputs take less than any of these",
                  "paper: --length --similar": "IO decides", "paper: --freq --similar": "IO decides",
                  "sweep: --strategy sti-paper --io-budget": "the budget raises the same shards",
                  "sweep: --cold --seed": "all choices are the same at these targets",
                  "cascade: --memory --length": "shorter inputs take less than any of these",
                  "check: --importance --gantt -": "a picture says nothing of accuracy",
                  "check: --risk --gantt -": "a picture shows medians",
                  "target: --similar": "IO decides", "sweep: --similar": "IO decides",
                  "paper: --width-min": "the widest is taken anyway",
                  "paper: --width-min --similar": "few submodels are left",
                  "paper: --similar --risk": "by medians the largest is the deepest"},
        "bare": [f"{PLAN} --importance cascade.json --min-accuracy 60% -o out.json"],
        "shown": [
            ("--interpolate, --submodel",
             "model.sti --profile device.json --submodel 2x3 --interpolate -o out.json",
             lambda r: r.plan is not None and r.plan["width"] == 3),
            ("--seed", f"{PLAN} --target 600us --strategy random -o out.json --seed 7", None),
            ("--batches", "vit.sti --profile batches.json --target 100ms --batches 1,4 -o out.json",
             lambda r: r.plan is not None and r.plan.get("batch") == 4 and len(r.plan["variants"]) == 1),
            ("--context", "gpt2.sti --profile device.json --target 100ms --context 40 -o out.json",
             lambda r: r.plan is not None and r.plan["context"] == 40 == r.plan["length"] and
             r.plan["variants"][-1]["length"] == 1),
            ("--allow-untrained, --submodel",
             "plain.sti --profile full.json --submodel 1x2 --target 2ms --allow-untrained -o out.json",
             lambda r: r.plan is not None and r.plan["width"] == 2)],
    },
    "sti-run": RUN,
}
