"""Folders of sentence-transformers: which of their modules embed texts, and how (spec/model-folder.md).

Where modules.json stands, it lists the encoder, how its rows are pooled, and whether vectors have unit length. Its
other files are kept as they are.
"""

import json
import pathlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .head import POOLINGS, Vectors
from .problem import Problem

_KEYS = {"pooling_mode_cls_token": "cls", "pooling_mode_max_tokens": "max", "pooling_mode_mean_tokens": "mean"}
_BESIDE_CONFIG = ("sentence_bert_config.json", "sentence_roberta_config.json", "sentence_distilbert_config.json")


@dataclass(frozen=True)
class Sentences:
    """What modules.json says."""

    encoder: str  # the encoder's folder, "" if it is the folder itself
    head: Vectors
    files: tuple[str, ...]  # what a copy of the folder has besides the encoder's config, weights and tokenizer


def sentences_of(path: pathlib.Path) -> Sentences | None:
    """What the modules.json of a folder says; None if it has none."""
    file = path / "modules.json"
    if not file.exists():
        return None
    modules = [(str(each.get("type")).rpartition(".")[2], str(each.get("path"))) for each in _json(file)]
    kinds = [kind for kind, _ in modules]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise Problem(f"{file}: {', '.join(kinds)}; this trains a Transformer, a Pooling and perhaps a Normalize")
    encoder, pooling = modules[0][1], modules[1][1]
    for name in (encoder, pooling):
        if name and pathlib.PurePath(name).name != name:
            raise Problem(f"{file}: a module in {name!r}; it has to be in a folder beside the file")
    head = Vectors(_pooling(path / pooling / "config.json"), len(kinds) == 3, stated=True)
    beside = [str(pathlib.PurePath(encoder, name)) for name in _BESIDE_CONFIG]
    names = ["modules.json", "config_sentence_transformers.json", f"{pooling}/config.json", *beside]
    return Sentences(encoder, head, tuple(name for name in names if (path / name).exists()))


def _json(file: pathlib.Path) -> Any:
    try:
        return json.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise Problem(f"{file}: not JSON ({error})") from None


def _pooling(file: pathlib.Path) -> str:
    """The only pooling that a config names; the mean, if it names none."""
    config: Mapping[str, object] = _json(file)
    others = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True
              and key not in _KEYS]
    chosen = [config["pooling_mode"]] if config.get("pooling_mode") else [
        pooling for key, pooling in _KEYS.items() if config.get(key) is True]
    if others or len(chosen) > 1 or (chosen and chosen[0] not in POOLINGS):
        raise Problem(f"{file}: pooling {', '.join(map(str, [*chosen, *others]))}; this trains one of "
                      f"{', '.join(POOLINGS)}")
    return str(chosen[0]) if chosen else "mean"
