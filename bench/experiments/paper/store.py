"""The cells that were measured, in a CSV file that grows by one at a time, and of which state of
the sources and of which machine each of them is."""
import csv
import datetime
import hashlib
import io
import os
import pathlib
import subprocess

from harness import REPO

# What a cell's numbers depend on: the product, and how cells are measured.
SOURCES = ("lib", "cmd", "schemas", "bench/devices", "tests/support/flashfs/flashfs.cpp", "bench/make_model.cpp",
           "bench/core_watch.cpp", "examples/devices/jetson.json", "bench/experiments/emulate-device", "tests/support/slow-flash",
           "bench/experiments/peers/cold.py",
           *(f"bench/experiments/paper/{name}.py"
             for name in ("beyond", "device", "peers", "recipe", "steady", "tools")))
# A cell's identity, its numbers, and where they come from. Times in ms, sizes in bytes, shares from
# 0 to 1; empty where a cell has no such number.
COLUMNS = ("set", "target", "row", "seed",
           "target_ms", "submodel", "bits", "accuracy", "p50_ms", "p99_ms", "max_ms", "late",
           "calm", "calm_late", "calm_p99_ms", "slower", "degraded", "inputs", "load_ms", "preload_bytes", "parameter_bytes",
           "read_bytes", "peak_rss_bytes", "cpu_ms",
           "predicted_p50_ms", "predicted_p99_ms", "predicted_peak_bytes", "predicted_accuracy",
           "correct_bits", "factor", "digest", "cpu", "date")
KEY = COLUMNS[:4]


def sources_digest():
    """Returns 12 hexadecimal digits of all files that cells depend on, committed or not."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard",
                             "--", *SOURCES], cwd=REPO, check=True, stdout=subprocess.PIPE).stdout
    total = hashlib.sha256()
    for name in sorted(set(listed.decode().split("\0")) - {""}):
        path = REPO / name
        if path.is_file():
            total.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()[:12]


def cpu_name():
    """Returns the processor's name and how many cores of it there are."""
    name = "unknown"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith(("model name", "Hardware")):
            name = line.split(":", 1)[1].strip()
            break
    return f"{name}, {os.cpu_count()} cores"


class Store:
    """Cells of one file. Only those of the sources and the CPU at hand count; others are dropped
    from the file when the first new one is added, so that they are never mixed. With `as_stored`
    the cells count that the file holds, whose sources are the same for all."""

    def __init__(self, path, as_stored=False):
        self.path = path
        self.own = self.stored_sources() if as_stored else None
        self.own = self.own or {"digest": sources_digest(), "cpu": cpu_name()}
        self.cells = {}
        self.stale = 0
        if not path.is_file():
            return
        with path.open(newline="") as file:
            for cell in csv.DictReader(file):
                if all(cell.get(key) == value for key, value in self.own.items()):
                    self.cells[tuple(cell[key] for key in KEY)] = dict.fromkeys(COLUMNS, "") | cell
                else:
                    self.stale += 1

    def stored_sources(self):
        """Returns digest and CPU of the file's first cell; None without a file or a cell."""
        if not self.path.is_file():
            return None
        with self.path.open(newline="") as file:
            cell = next(csv.DictReader(file), None)
        return cell and {name: cell[name] for name in ("digest", "cpu")}

    def __contains__(self, key):
        return tuple(map(str, key)) in self.cells

    def get(self, key):
        """Returns a cell; None where it is missing."""
        return self.cells.get(tuple(map(str, key)))

    def take(self, other):
        """Takes the cells of another store that this one lacks, of the same sources and CPU."""
        if other.own == self.own:
            self.cells = other.cells | self.cells

    def factor(self):
        """Returns the factor of the emulated device that the cells here share; None without any."""
        return next((float(cell["factor"]) for cell in self.cells.values() if cell["factor"]), None)

    def add(self, key, numbers):
        """Adds a cell, or replaces it, and writes the file as a whole."""
        cell = dict.fromkeys(COLUMNS, "")
        cell.update({name: str(part) for name, part in zip(KEY, key)})
        cell.update({name: as_text(value) for name, value in numbers.items()})
        cell.update(self.own, date=datetime.date.today().isoformat())
        self.cells[tuple(cell[name] for name in KEY)] = cell
        self.write_to(self.path)

    def write_to(self, path):
        """Writes the cells to a file as a whole."""
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.cells.values())
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(text.getvalue())
        part.replace(path)


def as_text(value):
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
