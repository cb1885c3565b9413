"""What fine-tune and make-elastic have in common: a training from its options to a new model folder."""

import argparse
import dataclasses
import json
import pathlib
import sys
import time
from collections.abc import Mapping, Sequence

import torch

from .evaluate import Judge
from .method import Family
from .network import Network, Submodel, submodels
from .options import Split
from .problem import Problem
from .training import TRIALS, RunFolder, Settings, Start, Trainer, watcher

# Options that decide which weights a run ends in.
_DECIDING = ("train", "unlabelled", "text_column", "pair_column", "label_column", "held_out", "apart", "rate", "tokens",
             "seed", "threads", "device", "products", "repeat", "labels", "dropout", "hidden", "vocabulary", "words",
             "teacher", "least_depth", "least_width", "depth_map", "method", "only", "bits", "bits_every", "head",
             "pooling")


def _say(options: argparse.Namespace, text: str) -> None:
    """A line of progress, on stderr."""
    if not options.quiet:
        print(text, file=sys.stderr, flush=True)


_WATCHED_ROWS = 500


def train(options: argparse.Namespace, run: RunFolder, source: pathlib.Path, split: Split, start: Start,
          dropout: float) -> Trainer:
    """Begins a run or goes on with one, and trains to its end."""
    device = torch.device(options.device)
    deciding = {name: str(getattr(options, name)) for name in _DECIDING if hasattr(options, name)}
    deciding["source"] = str(source.resolve())
    goes_on = run.begun()
    steps = _steps_of(run, deciding, options.steps) if goes_on else options.steps or TRIALS
    settings = Settings(steps, options.rate, options.tokens, options.seed, options.threads, dropout,
                        options.products == "bf16")
    trainer = Trainer(start, settings, split.train, device)
    if goes_on:
        trainer.restore(run.load())
        if run.facts()["remembers"]:
            trainer.remember()
        _say(options, f"goes on after step {trainer.step} of {steps}")
    else:
        steps, remembers = _prepare(options, trainer)
        trainer.settings = dataclasses.replace(settings, steps=steps)
        run.begin({"options": deciding, "steps": steps, "remembers": remembers,
                   "depth_layers": start.family.depth_layers},
                  trainer.state())
        _say(options, f"trains {steps} steps on {len(split.train)} rows")
    if options.quiet:
        trainer.train(run)
        return trainer
    few = split.held_out.sample(_WATCHED_ROWS)
    judge = Judge(start.network.shape, few, device, start.teacher or start.network) if len(few) else None
    trainer.train(run, watcher(judge, watched(start.family), name_of))
    return trainer


def _prepare(options: argparse.Namespace, trainer: Trainer) -> tuple[int, bool]:
    """Returns the number of steps, and whether all answers of the teacher are computed before them, as pays where
    texts come up more than once."""
    begin = time.monotonic()
    given_s = 3600 * options.hours
    steps = options.steps or given_s / trainer.seconds_a_step()
    if not trainer.repeats_itself(steps):
        return options.steps or max(10, round(steps)), False
    trainer.remember()
    trainer.seconds = time.monotonic() - begin
    return options.steps or max(10, round((given_s - trainer.seconds) / trainer.seconds_a_step())), True


def _steps_of(run: RunFolder, deciding: Mapping[str, str], steps: int | None) -> int:
    """The steps of a run that was begun with the same options."""
    facts = run.facts()
    for name, value in deciding.items():
        if facts["options"].get(name) != value:
            raise Problem(f"{run.run}: the run was begun with {name} {facts['options'].get(name)}, not {value}; "
                          "say the same again, or remove the folder to begin anew")
    begun: int = facts["steps"]
    if steps and steps != begun:
        raise Problem(f"{run.run}: the run has {begun} steps, not {steps}")
    return begun


def record(options: argparse.Namespace, trainer: Trainer) -> dict[str, str]:
    """A file for the new folder that says how it was trained."""
    facts = {name: getattr(options, name) for name in _DECIDING if getattr(options, name, None) is not None}
    facts |= {"steps": trainer.settings.steps, "seconds": round(trainer.seconds)}
    facts = {name: value.name if isinstance(value, pathlib.Path) else value for name, value in facts.items()}
    return {"training.json": json.dumps(facts, indent=1) + "\n"}


def watched(family: Family) -> list[Submodel]:
    """Three submodels that tell how a run goes: the whole, one in the middle, the smallest."""
    if family.only:
        return [family.only]
    grid = family.grid()
    return list(dict.fromkeys([family.whole(), grid[len(grid) // 2], family.smallest()]))


def name_of(submodel: Submodel) -> str:
    """Depth and width, as the tools write them."""
    return f"{len(submodel.layers)}x{submodel.width}"


def numbers(network: Network, family: Family, judge: Judge, depths: Sequence[int],
            widths: Sequence[int]) -> dict[tuple[int, int], str]:
    """What a judge says of each depth and width, as a table has it."""
    return {(len(each.layers), each.width): judge.head.number(judge(network, each))
            for each in submodels(family.depth_layers, depths, widths)}
