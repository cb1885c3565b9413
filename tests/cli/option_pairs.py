"""Tries the options of a tool two at a time. The table (option_tables.py) says of each pair that it
is refused, with which words, or else it is allowed, and then both are seen to be at work.

Usage: option_pairs.py BIN_DIR TOOL...       in a folder that it may fill; prints what is wrong

- The options of the table are those of --help.
- A refused pair ends in both orders with exit 2, these words on one line, and nothing else.
- An allowed pair ends with another code, and gives something else without either of the two, but
  for what stands in `quiet`. What an option says by `shows` holds wherever it is allowed.
- Each option is seen to be at work beside some other; what is quiet has a row of `shown` for that.

What a run gives is its exit status, stdout, stderr and the files that it wrote, without times. Of
the pairs a third is tried, which changes by the day (STI_TEST_SEED=N: that of another day), and
every rule once; with STI_TEST_WHOLE_TABLE=1 all are.
"""
import concurrent.futures
import datetime
import functools
import hashlib
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import zlib

from option_files import make_files
from option_rules import Line, Rules
from option_tables import TABLES

TIMES = re.compile(r'("(?:[a-z0-9_]*_(?:us|rss_bytes|difference)|p[0-9]+|max)":) ?[-+.0-9e]+')
NUMBER = re.compile(r"\d+(\.\d+)?( ?(us|ms|s|kB|MB|MiB))?\b")
KINDS = {"label", "embedding", "spans", "generated"}  # what answers have, by what the model does
WHOLE = os.environ.get("STI_TEST_WHOLE_TABLE") is not None
SEED = os.environ.get("STI_TEST_SEED") or str(datetime.date.today().toordinal())


def json_or_none(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def what_was_measured(profile):
    """Returns what of a profile is not measured itself."""
    kept = {key: profile[key] for key in ("threads", "cpus", "kernel", "read_path")}
    kept["layers"] = sorted({(entry["length"], entry["width"]) for entry in profile["compute"]})
    kept["batches"] = [entry["batch"] for entry in profile.get("batches", [])]
    return kept


class Given:
    """What a run gave. `key` is what two runs of one command have in common."""

    def __init__(self, volatile, done, files):
        self.code, self.out, self.err, self.files = done.returncode, done.stdout, done.stderr, files
        written = []
        for name, data in files.items():
            if volatile and b'"io":' in data:
                data = json.dumps(what_was_measured(json.loads(data))).encode()
            elif volatile:
                data = NUMBER.sub("#", data.decode(errors="replace")).encode()
            written.append((name, hashlib.sha256(data).hexdigest()))
        self.key = (self.code, TIMES.sub(r"\1#", self.out) if volatile else self.out,
                    NUMBER.sub("#", self.err) if volatile else self.err, tuple(written))

    @functools.cached_property
    def plan(self):
        """What it wrote as out.json."""
        return json_or_none(self.files["out.json"]) if "out.json" in self.files else None

    @functools.cached_property
    def json(self):
        """Stdout, if it is one object."""
        return json_or_none(self.out) if self.out.startswith("{") else None

    @functools.cached_property
    def lines(self):
        """Stdout, if it is answers, one a line."""
        lines = [json_or_none(line) for line in self.out.splitlines()]
        good = [line for line in lines if isinstance(line, dict) and KINDS & line.keys()]
        return good or None


class Runner:
    """Runs one tool, each command once, in a folder of its own that holds links to the files."""

    def __init__(self, binaries, tool, files, scratch):
        self.binary = binaries / tool
        self.tool = tool
        self.volatile = tool in ("sti-run", "sti-profile")  # its numbers differ from run to run
        self.files = files
        self.scratch = scratch
        self.known = {}
        self.own = threading.local()

    def run(self, arguments):
        key = tuple(arguments)
        if key not in self.known:
            self.known[key] = self.start(arguments)
        return self.known[key]

    def folder(self):
        """Returns this thread's folder, with links to the files and nothing else."""
        if not hasattr(self.own, "folder"):
            self.own.folder = pathlib.Path(tempfile.mkdtemp(dir=self.scratch))
            for path in self.files.iterdir():
                (self.own.folder / path.name).symlink_to(path)
        return self.own.folder

    def start(self, arguments):
        folder = self.folder()
        stdin = TABLES[self.tool].get("stdin of --model" if "--model" in arguments else "stdin", "")
        done = subprocess.run([self.binary, *arguments], cwd=folder, input=stdin, text=True,
                              capture_output=True, check=False, timeout=60, errors="replace")
        written = {}
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            if entry.is_symlink():
                continue
            path = pathlib.Path(entry.path)
            inner = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
            written |= {str(one.relative_to(folder)): one.read_bytes() for one in sorted(inner)}
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return Given(self.volatile, done, written)

    def watch(self, arguments):
        """Returns what the kernel says of a run that has answered a line and waits for the next."""
        with subprocess.Popen([self.binary, *arguments], cwd=self.files, text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as run:
            print("never mind", file=run.stdin, flush=True)
            run.stdout.readline()
            folder = pathlib.Path("/proc") / str(run.pid)
            status = dict(line.split(":\t", 1) for line in
                          (folder / "status").read_text().splitlines() if ":\t" in line)
            policy = (os.sched_getscheduler(run.pid), os.getpriority(os.PRIO_PROCESS, run.pid))
            run.stdin.close()
        return {"threads": int(status["Threads"]), "locked": status["VmLck"].split()[0] != "0",
                "cpus": status["Cpus_allowed_list"], "policy": policy}


class Pairs:
    """Judges the pairs of one context."""

    def __init__(self, runner, rules, title, context, table):
        self.runner = runner
        self.rules = rules
        self.title = title
        self.context = rules.line(context)
        self.options = {name: option for name, option in table["options"].items()
                        if name.split()[0] not in self.context.flags()}
        self.quiet = table["quiet"]
        self.at_work = set()

    def is_quiet(self, *names):
        pair = " ".join(names)
        return pair in self.quiet or f"{self.title}: {pair}" in self.quiet

    def lines(self, *names):
        """Returns the command lines with these options, one for each choice of values that agree
        with one another, each with the same in the other order."""
        choices = itertools.product(*(self.options[name].choices for name in names))
        for texts in choices:
            parts = [self.rules.line(text) for text in texts]
            line = Line.joined([self.context, *parts])
            if line is not None:
                yield line, Line.joined([self.context, *reversed(parts)])

    def refusals(self, *names):
        """Returns the rules that refuse each of these lines."""
        return [self.rules.refusals(line) for line, _ in self.lines(*names)]

    def is_refused_alone(self, name):
        found = [self.rules.refusals(line) for line, _ in self.lines(name)]
        return not found or all(found)

    def problem_of_refused(self, line, refusals):
        given = self.runner.run(line.arguments())
        said = given.err.removeprefix(f"{self.runner.tool}: ").removesuffix("\n")
        if given.code != 2:
            return f"exit {given.code}, not refused: {refusals[0].words}"
        if given.out or given.files or "\n" in said:
            return f"refused with more than a line: {given.out}{given.err}{[*given.files]}"
        if line.has("--log-json"):
            said = json.loads(said)["message"]
        matching = [refusal for refusal in refusals if refusal.matches(said)]
        self.rules.said.update(matching)
        return "" if matching else f"says '{said}', not '{refusals[0].words}'"

    def problem_of_rule(self, refusal):
        """Returns what is wrong with what a rule refuses, until its words were seen once: without
        what its options need beside them, and with it."""
        names = [name for name in (refusal.a, refusal.b) if name and not self.context.has(name)]
        if any(name not in self.options for name in names):
            return ""
        whole = [self.rules.line(self.options[name].choices[0]) for name in names]
        bare = [line.only(name) for line, name in zip(whole, names)]
        for parts in (bare, whole):
            line = Line.joined([self.context, *parts])
            refusals = self.rules.refusals(line) if line else []
            if refusal not in refusals or refusal in self.rules.said:
                continue
            other = Line.joined([self.context, *reversed(parts)])
            problem = (self.problem_of_refused(line, refusals) or
                       self.problem_of_refused(other, refusals))
            if problem:
                return problem
        return ""

    def problem_of_allowed(self, line, names):
        """Returns what is wrong with an allowed line; None where a file or a target keeps both
        from being seen."""
        both = self.runner.run(line.arguments())
        if both.code not in (0, 1, 3, 4):
            return f"exit {both.code}: {both.err.strip()}"
        for name, option in self.options.items():
            own = [self.rules.line(text).only(name).items for text in option.choices]
            if both.code == 0 and any(items[0] in line.items for items in own) and (
                    not option.holds(both)):
                return f"{name} does not show: {' '.join(line.arguments())}"
        without = {name: self.runner.run(line.without(name).arguments()) for name in names}
        if both.code != 0 and any(both.key == given.key for given in without.values()):
            return None
        still = [name for name in names
                 if not self.is_quiet(name) and both.key == without[name].key]
        self.at_work |= {name for name in names if both.key != without[name].key and
                         not (self.runner.volatile and self.is_quiet(name))}
        return f"{' and '.join(still)} changed nothing" if still else ""

    def problem(self, names):
        """Returns what is wrong with one option or two, empty if they are right. Allowed ones are
        if they are so with any of their values: with some an option may by chance change
        nothing."""
        if len(names) > 1 and self.is_quiet(*names):
            return ""
        found = []
        for line, other in self.lines(*names):
            refusals = self.rules.refusals(line)
            if refusals:
                text = (self.problem_of_refused(line, refusals) or
                        self.problem_of_refused(other, refusals))
                if text:
                    return text
                continue
            found.append(self.problem_of_allowed(line, names))
            if found[-1] == "":
                return ""
        return next((text for text in found if text), "")


def is_of_today(*words):
    return WHOLE or zlib.crc32(" ".join([SEED, *words]).encode()) % 3 == 0


def jobs_of(pairs, tool, slow):
    """Returns the options and pairs of a context that are tried."""
    names = [name for name in pairs.options if any(pairs.lines(name))]
    taken = [name for name in names if not pairs.is_refused_alone(name)]
    jobs = [(name,) for name in names]
    for pair in itertools.combinations(taken, 2):
        quiet = [pairs.is_quiet(name) for name in pair]
        can_fail = not (any(quiet) if slow else all(quiet))
        if pair[0].split()[0] != pair[1].split()[0] and can_fail and is_of_today(
                tool, pairs.title, *pair):
            jobs.append(pair)
    return jobs


def look_further(pairs, at_work):
    """Tries further pairs of an option until one shows it at work, whatever today's third is."""
    for name in pairs.options:
        if pairs.runner.volatile and pairs.is_quiet(name):
            continue  # it has a row
        for other in pairs.options:
            if name in at_work | pairs.at_work or pairs.is_refused_alone(name):
                break
            if name.split()[0] != other.split()[0] and not pairs.is_refused_alone(other):
                pairs.problem((name, other))


def problem_of_row(run, rules, names, command, shows):
    """Returns what is wrong with a row: it holds, and without either option it does not. What a
    busy machine may hide is looked for several times."""
    line = rules.line(command)
    if shows is None:
        key = run(line.arguments()).key

        def shows(given):
            return given.key == key
    if not any(shows(run(line.arguments())) for _ in range(20)):
        return f"'{command}' does not show it"
    for name in names:
        if shows(run(line.without(name).arguments())):
            return f"'{command}' shows the same without {name}"
    return ""


def problems_of_rows(runner, rules, table, pool):
    """Returns what is wrong with the rows of a table, as texts, and the options that they show."""
    problems, at_work = [], set()
    rows = [(run, *row) for kind, run in (("shown", runner.start), ("watched", runner.watch))
            for row in table[kind]]

    def problem_of(row):
        run, names, command, shows = row
        return problem_of_row(run, rules, names.split(", "), command, shows)

    for (_, names, *_), problem in zip(rows, pool.map(problem_of, rows)):
        at_work |= set(names.split(", "))
        problems += [f"{names}: {problem}"] if problem else []
    for name, file in table["elsewhere"].items():
        at_work.add(name)
        if name not in (pathlib.Path(__file__).parent / file).read_text():
            problems.append(f"{name}: {file} does not name it")
    return problems, at_work


def check(binaries, tool, files, scratch, pool):
    table = {"slow": False, "refused": [], "needs": [], "shown": [], "watched": [], "elsewhere": {},
             "bare": [], "quiet": {},
             **TABLES[tool]}
    runner = Runner(binaries, tool, files, scratch)
    rules = Rules(runner.binary, table)
    wrong = [f"{tool}: {name}: {why}" for name, why in rules.differences_from_help()]
    count, at_work = 0, set()
    for command in table["bare"]:
        pairs = Pairs(runner, rules, command, command, table)
        problems = zip(rules.refused, map(pairs.problem_of_rule, rules.refused))
        wrong += [f"{tool}, {command}: {rule.words}: {problem}" for rule, problem in problems
                  if problem]
    for title, context in table["contexts"].items():
        pairs = Pairs(runner, rules, title, context, table)
        jobs = jobs_of(pairs, tool, table["slow"])
        words = [refusal.words for refusal in rules.refused]
        problems = [*zip(map(" ".join, jobs), pool.map(pairs.problem, jobs)),
                    *zip(words, pool.map(pairs.problem_of_rule, rules.refused))]
        wrong += [f"{tool}, {title}: {what}: {problem}" for what, problem in problems if problem]
        whole = runner.run(pairs.context.arguments())
        # What is shown elsewhere need not be here: without --budget alone, a profile takes long.
        at_work |= {name for name in set(pairs.context.flags()) - table["elsewhere"].keys()
                    if runner.run(pairs.context.without(name).arguments()).key != whole.key}
        look_further(pairs, at_work)
        at_work |= pairs.at_work
        count += len(jobs)
    problems, shown = problems_of_rows(runner, rules, table, pool)
    at_work |= shown
    wrong += [f"{tool}: {problem}" for problem in problems]
    wrong += [f"{tool}: {name}: no pair shows it at work" for name in rules.names()
              if not {name, name.split()[0]} & at_work]
    wrong += [f"{tool}: nothing says '{rule.words}'" for rule in rules.refused
              if rule not in rules.said]
    print("".join(line + "\n" for line in wrong), end="")
    print(f"{tool}: {count} options and pairs, {len(wrong)} wrong, {len(runner.known)} runs, "
          f"STI_TEST_SEED={SEED}")
    return bool(wrong)


def main():
    binaries = pathlib.Path(sys.argv[1]).resolve()
    with (tempfile.TemporaryDirectory() as scratch,
          concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool):
        files = pathlib.Path(scratch).resolve() / "files"
        files.mkdir()
        make_files(binaries, files)
        return max([check(binaries, tool, files, scratch, pool) for tool in sys.argv[2:]])


if __name__ == "__main__":
    sys.exit(main())
