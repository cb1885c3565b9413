"""Training that can be stopped at any moment: the same steps give the same weights.

All that is random at a step follows from the seed and the step's number. What a run begins with stands in
run.json, and what it has reached in state.pt, each replaced as a whole; a run that goes on reads both.
"""

import fcntl
import json
import math
import os
import pathlib
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from . import data, order
from .bits import FewBits
from .data import Batch, Texts
from .evaluate import Judge
from .method import Family, Method, exits
from .network import Network, Submodel, Teacher
from .problem import Problem
from .remembered import ROOM, Remembered, room

SAVE_EVERY_S = float(os.environ.get("ELASTIC_SAVE_EVERY_S", "60"))  # tests keep each step
SAY_EVERY_S = 20.0
SAY_SHARE = 0.05  # of the time goes into measuring how far a run is
TRIALS = 4
WARM_UP = 0.06
_CLIP = 1.0
_DECAY = 0.01


@dataclass(frozen=True)
class Settings:
    """What decides the weights that a run ends in."""

    steps: int
    rate: float
    tokens: int
    seed: int
    threads: int
    dropout: float = 0.0
    bf16: bool = False  # how matrices are multiplied; weights are in fp32


@dataclass
class Start:
    """What a run begins with: a network to train, whom it learns from, and the family of its submodels."""

    network: Network
    teacher: Teacher | None
    family: Family
    method: Method
    few_bits: FewBits | None = None


class RunFolder:
    """Where a run keeps what it goes on from."""

    def __init__(self, path: pathlib.Path, resume: bool):
        self.path = path
        self.run, self.state = path / "run.json", path / "state.pt"
        if self.run.exists() and not resume:
            raise Problem(f"{path} is of a run that was stopped: go on with --resume, or remove it")

    def begun(self) -> bool:
        """Whether there is a run to go on with."""
        return self.run.exists()

    def remove(self) -> None:
        """Forgets the run."""
        shutil.rmtree(self.path, ignore_errors=True)

    def begin(self, facts: dict[str, Any], state: dict[str, Any]) -> None:
        """Keeps what a run begins with, and keeps other processes out from here on."""
        self._lock()
        self.save(state)
        self._replace(self.run, lambda file: file.write_text(json.dumps(facts, indent=1) + "\n", "utf-8"))

    def facts(self) -> dict[str, Any]:
        """What the run began with."""
        facts: dict[str, Any] = json.loads(self.run.read_text("utf-8"))
        return facts

    def save(self, state: dict[str, Any]) -> None:
        """Keeps what the run has reached."""
        self._replace(self.state, lambda file: torch.save(state, file))

    def load(self) -> dict[str, Any]:
        """What the run had reached. Other processes are kept out from here on."""
        self._lock()
        state: dict[str, Any] = torch.load(self.state, map_location="cpu", weights_only=True)
        return state

    def _lock(self) -> None:
        """Takes the folder until this process ends, however it does."""
        self.path.mkdir(exist_ok=True)
        self._locked = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(self._locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Problem(f"{self.path}: another process is at this run; wait for it, or choose another name") from None

    def _replace(self, file: pathlib.Path, write: Callable[[pathlib.Path], object]) -> None:
        new = file.with_name(file.name + ".new")
        try:
            write(new)
            with new.open("rb") as written:
                os.fsync(written.fileno())
            new.replace(file)
        except (OSError, RuntimeError) as error:  # PyTorch reports a full disk as RuntimeError
            new.unlink(missing_ok=True)
            raise Problem(f"{file}: cannot be written ({error}); what was kept before is there yet: make room, "
                          "and go on with --resume") from None


class Trainer:
    """Trains a network in place, to answer as a frozen teacher does."""

    def __init__(self, start: Start, settings: Settings, texts: Texts, device: torch.device):
        self.network = start.network.to(device)
        self.family, self.method, self.few_bits = start.family, start.method, start.few_bits
        self.teacher = start.teacher
        self.answers = start.teacher if self.method.asks else None
        self.settings, self.texts, self.device = settings, texts, device
        matrices = [p for p in self.network.parameters() if p.dim() > 1]
        others = [p for p in self.network.parameters() if p.dim() <= 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": matrices, "weight_decay": _DECAY}, {"params": others, "weight_decay": 0.0}],
            lr=settings.rate, fused=True)
        self.step = 0
        self.seconds = 0.0  # that training took, stops left out
        torch.set_num_threads(settings.threads)

    def state(self) -> dict[str, Any]:
        """What a run goes on from."""
        return {"step": self.step, "seconds": self.seconds, "network": self.network.state_dict(),
                "optimizer": self.optimizer.state_dict(), "changes": self.few_bits.changes if self.few_bits else {}}

    def restore(self, state: dict[str, Any]) -> None:
        """Goes back to where state() was taken."""
        self.step, self.seconds = state["step"], state["seconds"]
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.few_bits:
            self.few_bits.restore(state["changes"], self.device)

    def repeats_itself(self, steps: float) -> bool:
        """Whether so many steps ask the teacher the same questions again, and its answers can be kept."""
        method = self.method
        same = not method.words and not method.nearest
        return (self.answers is not None and same and steps * self.settings.tokens > len(self.texts.ids)
                and room(self.texts, self.network.shape) <= ROOM)

    def remember(self) -> None:
        """Computes the teacher's answers to all texts, so that steps look them up."""
        assert self.teacher is not None
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.settings.bf16):
            self.answers = Remembered(self.teacher, self.texts, self.network.shape, self.device)

    def train(self, keep: RunFolder | None = None, watch: Callable[["Trainer", float], None] | None = None) -> None:
        """Goes on to the last step. Keeps its state every minute, and at the end."""
        began = saved = time.monotonic()
        say_at = began + SAY_EVERY_S
        first, before_s = self.step, self.seconds
        for batch in data.shuffled(self.texts, self.settings.tokens, self.settings.seed, self.step):
            if self.step == self.settings.steps:
                break
            if sorts := self.method.stages and self.step == self.settings.steps // 2:
                self.sort()
            if self.few_bits and (sorts or self.step % self.few_bits.every == 0):
                self.few_bits.refresh(self.network)
            loss = self.one_step(batch, self.step)
            if not math.isfinite(loss):
                self._not_a_number(keep)
            self.step += 1
            now = time.monotonic()
            self.seconds = before_s + now - began
            # Between, gradients that are not in the state wait for the optimizer.
            learned = self.step % self.method.accumulate == 0
            if keep and learned and now - saved > SAVE_EVERY_S:
                keep.save(self.state())
                saved = time.monotonic()
            if watch and (now >= say_at or self.step == self.settings.steps):
                watch(self, (now - began) / (self.step - first) * (self.settings.steps - self.step))
                said = time.monotonic()
                say_at = said + max(SAY_EVERY_S, (said - now) / SAY_SHARE)
        if keep:
            keep.save(self.state())

    def one_step(self, batch: Batch, step: int, learn: bool = True) -> float:
        """One batch through the submodels of a step. Returns the loss; if it is not finite nothing was learned."""
        self.network.train()
        draw = numpy.random.default_rng([self.settings.seed, step, 1])
        torch.manual_seed(int(draw.integers(1 << 62)))
        if self.method.words:
            batch = data.with_words_changed(self.texts, batch, self.method.words, draw)
        batch = batch.to(self.device)
        if self.few_bits:  # every other step, one bitwidth after the other
            turn = step // 2 % len(self.few_bits.bits)
            self.few_bits.show(self.network, self.few_bits.bits[turn] if step % 2 and self.few_bits.changes else None)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.settings.bf16):
            total = self._passes(batch, draw, step)
        if self.few_bits:
            self.few_bits.show(self.network, None)
        last = (step + 1) % self.method.accumulate == 0 or step + 1 == self.settings.steps
        if not learn:
            self.optimizer.zero_grad(set_to_none=True)
        elif last:
            norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), _CLIP)
            if not math.isfinite(total) or not math.isfinite(float(norm)):
                return math.nan
            for group in self.optimizer.param_groups:
                group["lr"] = self.settings.rate * self._schedule(step)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
        return total

    def _passes(self, batch: Batch, draw: numpy.random.Generator, step: int) -> float:
        """Runs the submodels one after another, each with its gradient. Returns the sum of their losses."""
        head, teacher = self.network.shape.head, None
        if self.answers is not None:
            with torch.no_grad():
                teacher = self.answers(batch)
        only_width = self.method.stages and step < self.settings.steps // 2
        # All submodels have the same embeddings: these are computed once, and so is their gradient.
        embedded = self.network.embed(batch, self.settings.dropout)
        shared = embedded.detach().requires_grad_(self.method.embeddings)
        losses = []
        for submodel in self.method.submodels(self.family, draw, only_width):
            if self.method.drop:
                submodel = self._dropped(submodel, draw)
            run = self.network(batch, submodel, self.settings.dropout, shared)
            loss = self.method.loss(head, run, batch, teacher)
            if self.method.passes == "exits":
                early = [self.method.loss(head, each, batch, teacher) for each in exits(self.network, run, batch)]
                loss = loss + sum(early) / max(1, len(early))
            (loss / self.method.accumulate).backward()
            losses.append(loss.detach())
        if self.method.embeddings:
            embedded.backward(shared.grad)
        return float(torch.stack(losses).sum())  # one wait for a GPU

    def _dropped(self, submodel: Submodel, draw: numpy.random.Generator) -> Submodel:
        """Leaves layers out, later ones more often."""
        last = max(1, self.family.layers - 1)
        kept = tuple(layer for layer in submodel.layers if draw.random() >= self.method.drop * layer / last)
        return Submodel(kept or submodel.layers[:1], submodel.width)

    def _schedule(self, step: int) -> float:
        """The share of the learning rate: up in a straight line, then down to nothing."""
        done = (step + 1) / self.settings.steps
        return min(done / WARM_UP, (1 - done) / (1 - WARM_UP) + 1e-3)

    def sort(self) -> None:
        """Puts heads and neurons in order of what they are worth now."""
        batches = (batch.to(self.device) for batch in data.in_order(self.texts.sample(1024), 512))
        order.sort(self.network, order.scores(self.network, batches, self.teacher), self.optimizer)

    def seconds_a_step(self) -> float:
        """How long a step takes here on average, by some that learn nothing."""
        refresh_s = 0.0
        if self.few_bits:
            begin = time.monotonic()
            self.few_bits.refresh(self.network)
            refresh_s = (time.monotonic() - begin) / self.few_bits.every
        times = []
        batches = data.shuffled(self.texts, self.settings.tokens, self.settings.seed)
        for step in [0, *range(TRIALS)]:  # the first one is slower
            begin = time.monotonic()
            self.one_step(next(batches), step, learn=False)
            times.append(time.monotonic() - begin)
        return float(numpy.mean(times[1:])) + refresh_s

    def _not_a_number(self, keep: RunFolder | None) -> None:
        where = "nothing was kept"
        if keep:
            keep.save(self.state())
            where = f"{keep.path} has the weights before it"
        raise Problem(f"the loss is not a number at step {self.step + 1}; {where}: begin again with a smaller --rate")


def watcher(judge: Judge | None, submodels: Sequence[Submodel],
            depth_of: Callable[[Submodel], str]) -> Callable[[Trainer, float], None]:
    """Says on stderr how far a run is, and what a judge says of some submodels."""

    def watch(trainer: Trainer, left_s: float) -> None:
        said = [f"step {trainer.step} of {trainer.settings.steps}"]
        if judge:
            said += [f"{depth_of(each)} {judge.head.shown(judge(trainer.network, each))}" for each in submodels]
        said.append(f"{left_s / 60:.0f} min left" if left_s >= 90 else f"{left_s:.0f} s left")
        print("  ".join(said), file=sys.stderr, flush=True)

    return watch
