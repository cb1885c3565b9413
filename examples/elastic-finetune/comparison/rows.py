"""What was measured: a row a training, so that nothing is measured twice. What is recorded lies beside the README,
whose tables it is; what somebody measures for himself lies with his models."""

import fcntl
import json
import pathlib
from typing import Any

import numpy
import torch

from elastic import evaluate
from elastic.data import Texts
from elastic.folder import ModelFolder
from elastic.network import Submodel

RECORDED = pathlib.Path(__file__).resolve().parents[1] / "measured.jsonl"


class Rows:
    """The rows that were measured, by name: the recorded ones, then those of the folder `work`, where new ones go
    unless they are to be recorded. Several processes may add to them; of two of a name the first counts."""

    def __init__(self, work: pathlib.Path, record: bool) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self.own = RECORDED if record else work / "measured.jsonl"
        self._read()

    def _read(self) -> None:
        for path in dict.fromkeys((RECORDED, self.own)):
            if path.exists():
                with path.open(encoding="utf-8") as file:
                    fcntl.flock(file, fcntl.LOCK_SH)
                    self._take(file.read())

    def _take(self, text: str) -> None:
        for line in text.splitlines():
            row = json.loads(line)
            self.rows.setdefault(row["name"], row)

    def __contains__(self, name: str) -> bool:
        self._read()
        return name in self.rows

    def add(self, name: str, **facts: object) -> None:
        """Keeps a row."""
        self.own.parent.mkdir(parents=True, exist_ok=True)
        with self.own.open("a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            self._take(file.read())
            if name not in self.rows:
                self.rows[name] = {"name": name, **facts}
                file.write(json.dumps(self.rows[name]) + "\n")
        print(json.dumps(self.rows[name]), flush=True)


def keep(rows: Rows, name: str, folder: pathlib.Path, submodels: dict[str, Submodel], texts: Texts,
         device: torch.device, trained: pathlib.Path | None = None, teacher: pathlib.Path | None = None) -> None:
    """Measures submodels of a folder and keeps which rows they get right, a hexadecimal digit for four rows. `trained`
    is the folder that says how the model was trained, where that is another one. Of a `teacher` it is kept how far the
    submodels' answers are from its."""
    network = ModelFolder(folder).load().to(device)
    answers = {cell: evaluate.answers(network, texts, submodel, device) for cell, submodel in submodels.items()}
    right = {cell: evaluate.hits(each, texts) for cell, each in answers.items()}
    facts: dict[str, object] = {"cells": {cell: round(100 * float(each.mean()), 2) for cell, each in right.items()}}
    if teacher:
        learned_from = ModelFolder(teacher).load().to(device)
        wanted = evaluate.answers(learned_from, texts, learned_from.whole(), device)
        facts["divergence"] = {cell: round(evaluate.divergence(each, wanted), 4) for cell, each in answers.items()}
    facts["right"] = {cell: numpy.packbits(each).tobytes().hex() for cell, each in right.items()}
    record = (trained or folder) / "training.json"  # a model of another origin has none
    run = json.loads(record.read_text("utf-8")) if record.exists() else {}
    rows.add(name, rows=len(texts), steps=run.get("steps"), seconds=run.get("seconds"), **facts)


def right_of(row: dict[str, Any], cell: str) -> numpy.ndarray:
    """[rows] what keep() kept."""
    return numpy.unpackbits(numpy.frombuffer(bytes.fromhex(row["right"][cell]), numpy.uint8))[:row["rows"]].astype(bool)
