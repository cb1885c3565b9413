"""Cells, measured on the emulated device that this process runs on: their profiles, plans and
runs."""
import json
import os
import pathlib
import sys

from harness import REPO
from paper import beyond, peers, steady, tools
from paper.recipe import JETSON_ROWS, LENGTH, OURS, ROWS, SETS, WORK, plan_file_of

TRIES = 3  # of a cell while the machine is not steady
# Of a profile, which is short, as a moment in which no other machine slows this core may be: all of
# a set's cells stand on it.
PROFILE_TRIES = 8
PROFILE_TIME = "10s"
# A profile is measured again where layers that take 8 ms and more together have a 99th percentile of
# more than so many times their median: it would be that of a core that others slow down for a while.
VARIES = 1.1
SERIES_US = 8000
JETSON = REPO / "examples/devices/jetson.json"


def budget_plan(chosen, profile, row, seed):
    """Returns a plan of Table 7: further bytes spent within 5x3 shards at 2 bits."""
    budget = int(float(row.split("-")[1]) * 1e6 / chosen.part)
    options = ["--submodel", "5x3", "--io-budget", budget]
    if seed != "":
        options += ["--strategy", "random", "--seed", seed]
    importance = chosen.importance("tree", "gains" if row.endswith("gains") else "submodels")
    return tools.plan(chosen.container("tree"), profile, importance, options)


def again(why, attempt, tries):
    """Says that a measurement does not count and why; returns whether it is to be tried again."""
    print(f"reproduce: not steady, {why}: try {attempt + 1} of {tries}", file=sys.stderr, flush=True)
    return attempt + 1 < tries


def variation_of(profile_file):
    """Returns the largest 99th percentile over the median of long series of layers."""
    series = json.loads(profile_file.read_text()).get("compute_series", [])
    return max((s["p99_us"] / s["median_us"] for s in series if s["median_us"] >= SERIES_US),
               default=1)


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


def options_of(row, part):
    """Returns codebook, options of sti-plan, preload buffer in MB or None, and whether the submodel
    is that of best measured A(n, m)."""
    if row.startswith("curve-"):
        return "tree", [], float(row.split("-")[2]) if "preload" in row else 1, False
    if row in beyond.ROWS:
        return "tree", beyond.options_of(row, part), None, False
    return ROWS[row.removeprefix("jetson-")]


class Device:
    """The device, as bench/experiments/emulate-device made it."""

    def __init__(self, inputs):
        self.flash = pathlib.Path(os.environ["STI_FLASH"])
        self.factor = float(os.environ["STI_DEVICE_FACTOR"])
        self.instructions = os.environ["STI_DEVICE_INSTRUCTIONS"]
        self.inputs = inputs

    def slow(self, path):
        """Returns a file of the work folder as the device's flash shows it."""
        return self.flash / path.relative_to(WORK)

    def profile(self, chosen, codebook):
        """Returns the profile of the set's container on slow flash."""
        def measure(path):
            steadiest = None
            for attempt in range(PROFILE_TRIES):
                with steady.Watch() as watch:
                    tools.run("sti-profile", self.slow(chosen.container(codebook)), "--lengths",
                              LENGTH, "--precision", "1%", "--budget", PROFILE_TIME, "-o", path,
                              on_device=True)
                varies = variation_of(path)
                if steadiest is None or varies < steadiest[0]:
                    steadiest = (varies, path.read_text(), watch.median_us())
                if varies <= VARIES or not again(f"layers {varies:.2f} times as slow at the 99th "
                                                 "percentile", attempt, PROFILE_TRIES):
                    break
            path.write_text(steadiest[1])
            self.usual_file(chosen, codebook).write_text(json.dumps(steadiest[2]))

        return tools.once(self.profile_file(chosen, codebook), measure)

    def profile_file(self, chosen, codebook):
        return chosen.work / f"{codebook}.{self.factor:.6f}.profile.json"

    def usual_file(self, chosen, codebook):
        """Returns the file that says how fast the core was when the profile was measured."""
        return chosen.work / f"{codebook}.{self.factor:.6f}.usual.json"

    def target_ms(self, key):
        """Returns the target of a cell: the paper's on this device, or as it is on the Jetson. The
        rows of 128 tokens do not shrink with the hidden size: their time, as it was profiled first,
        is added. None without a target."""
        name, target, row, _ = key
        chosen = SETS[name]
        if target == "" or row in JETSON_ROWS:
            return target or None
        rows_ms = 0
        if chosen.part != 1:
            rows_ms = json.loads(tools.once(
                chosen.work / f"rows.{self.factor:.6f}.json",
                lambda path: path.write_text(json.dumps(self.rows_ms(chosen)))).read_text())
        return target * self.factor / chosen.part + rows_ms

    def rows_ms(self, chosen):
        fixed = json.loads(self.profile(chosen, "tree").read_text())["fixed"][0]
        return fixed["embed_io_us"] / 1000

    def plan(self, key):
        """Returns the plan of a cell and its container's codebook."""
        name, _, row, seed = key
        chosen = SETS[name]
        if row.startswith("budget-"):
            return budget_plan(chosen, self.profile(chosen, "tree"), row, seed), "tree"
        codebook, options, preload_mb, best = options_of(row, chosen.part)
        profile = JETSON if row in JETSON_ROWS else self.profile(chosen, codebook)
        options = [*options, "--target", f"{self.target_ms(key) * 1000:.0f}us"]
        if not chosen.has_labels:  # random weights know no submodel
            options.append("--allow-untrained")
        if preload_mb is not None:
            options += ["--preload", int(preload_mb * 1e6 / chosen.part)]
        importance = chosen.importance(codebook)

        def make(further):
            return tools.plan(chosen.container(codebook), profile, importance,
                              [*options, *further])

        return best_submodel(importance, make) if best else make([]), codebook

    def measure(self, key):
        """Returns the numbers of a cell. A plan that cannot be had has none but its target."""
        name, _, row, _ = key
        chosen = SETS[name]
        if row.startswith("storage-"):
            return {"submodel": "all", "parameter_bytes": stored_bytes(chosen, row),
                    "factor": self.factor}
        if row == peers.ROW:
            return peers.loads(chosen, self.slow(peers.model_file(chosen))) | {
                "factor": self.factor}
        shared = {"target_ms": self.target_ms(key), "factor": self.factor}
        for attempt in range(TRIES):
            try:
                plan, codebook = self.plan(key)
            except tools.Refused as refused:
                return shared | {"submodel": "none", "correct_bits": str(refused)[:60]}
            plan_file = plan_file_of(key)
            plan_file.parent.mkdir(exist_ok=True)
            plan_file.write_text(json.dumps(plan))
            numbers = shared | numbers_of(plan)
            run = self.run_of(key, self.slow(chosen.container(codebook)), plan_file,
                              shared["target_ms"])
            if run is None:
                break
            watch = steady.Watch()
            numbers |= run(watch)
            usual_us = json.loads(self.usual_file(chosen, codebook).read_text())
            slower = watch.median_us() / usual_us if usual_us and watch.median_us() else None
            numbers["slower"] = slower
            if not steady.has_drifted(slower) or not again(f"{slower:.2f} times as slow", attempt,
                                                           TRIES):
                break
            # The core may be as fast again in a moment. If not, the next plan is of a profile of the
            # core as it is now.
            if attempt > 0:
                self.profile_file(chosen, codebook).unlink()
        if row not in beyond.ROWS and chosen.has_labels:
            shown = tools.evaluate(chosen.container(codebook), plan_file, chosen.dev_rows(),
                                   "--instructions", self.instructions, "--threads",
                                   os.cpu_count())
            numbers |= {"accuracy": shown["accuracy"], "correct_bits": shown["correct_bits"]}
        return numbers

    def run_of(self, key, slow, plan_file, target_ms):
        """Returns what measures the latencies of a cell while a watch, which it is given, looks on;
        None where it has none."""
        name, _, row, _ = key
        chosen = SETS[name]
        if row in ROWS:
            rows = chosen.filled_rows(self.inputs if row in OURS else max(1, self.inputs // 5))
            return lambda watch: tools.measured(slow, plan_file, rows, watch)
        if row not in beyond.ROWS:
            return None

        def run(watch):
            with watch:
                return self.beyond(key, slow, plan_file, target_ms)

        return run

    def beyond(self, key, slow, plan_file, target_ms):
        """Returns the numbers of a cell that the paper has none of."""
        name, _, row, _ = key
        chosen = SETS[name]
        if row == "turns":
            rows = chosen.filled_rows(max(3, self.inputs // 5))
            return beyond.turns(chosen.container("tree"), slow, plan_file, rows, chosen.dev_rows(),
                                "--instructions", self.instructions)
        rows = chosen.filled_rows(self.inputs, repeated=True)
        if row == "cold":
            return beyond.cold_starts(slow, plan_file, rows, target_ms, self.instructions)
        tools.once(chosen.work / "flash" / "other", lambda path: path.write_bytes(bytes(64 << 20)))
        return beyond.degraded(slow, plan_file, rows, row == "degrade-reader")


def stored_bytes(chosen, row):
    """Returns the bytes of a container of these bits."""
    stored = tools.run("sti-shard", "--dry-run", "--json", chosen.source(), "--bits",
                       row.split("-", 1)[1])
    return json.loads(stored)["file_bytes"]


def numbers_of(plan):
    bits = [b for layer in plan["bits"] for b in layer]
    return {"submodel": f"{len(plan['layers'])}x{plan['width']}",
            "bits": sum(bits) / len(bits), "preload_bytes": plan["preload_bytes"],
            "parameter_bytes": plan["parameter_bytes"],
            "predicted_p50_ms": plan["predicted_latency_us"] / 1000,
            "predicted_p99_ms": plan["predicted_p99_us"] / 1000,
            "predicted_peak_bytes": plan["predicted_peak_bytes"],
            "predicted_accuracy": plan["predicted_accuracy"]}
