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
import re
import shutil
import subprocess
import sys
import tempfile

from option_files import make_files
from option_tables import TABLES

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
