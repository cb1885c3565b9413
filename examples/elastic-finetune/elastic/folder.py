"""Model folders as Hugging Face's save_pretrained leaves them: config.json, weights, tokenizer.

The three architectures differ in the names of their tensors and keys, and nowhere else knows them:
a folder is read into one Network, and written back under the names that it was read with.
"""

import json
import math
import os
import pathlib
import pickle
import shutil
import struct
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy
import torch

from .network import Network, Shape
from .problem import Problem

_TYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
_MAX_HEADER_BYTES = 64 << 20


@dataclass(frozen=True)
class Architecture:
    """What tensors and keys of config.json are called. `{}` stands for a layer's number."""

    prefix: str
    embeddings: Mapping[str, str]
    layer: Mapping[str, str]
    head: Mapping[str, str]  # with the prefix, where they have one
    keys: Mapping[str, str]


_BERT_EMBEDDINGS = {
    "words": "embeddings.word_embeddings",
    "positions": "embeddings.position_embeddings",
    "types": "embeddings.token_type_embeddings",
    "embedding_norm": "embeddings.LayerNorm",
}
_BERT_LAYER = {
    "query": "encoder.layer.{}.attention.self.query",
    "key": "encoder.layer.{}.attention.self.key",
    "value": "encoder.layer.{}.attention.self.value",
    "attention_output": "encoder.layer.{}.attention.output.dense",
    "attention_norm": "encoder.layer.{}.attention.output.LayerNorm",
    "inner": "encoder.layer.{}.intermediate.dense",
    "output": "encoder.layer.{}.output.dense",
    "output_norm": "encoder.layer.{}.output.LayerNorm",
}
_BERT_KEYS = {
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "hidden": "hidden_size",
    "ffn": "intermediate_size",
    "activation": "hidden_act",
}
ARCHITECTURES = {
    "bert": Architecture(
        "bert.", _BERT_EMBEDDINGS, _BERT_LAYER,
        {"pooler": "bert.pooler.dense", "classifier": "classifier"}, _BERT_KEYS),
    "roberta": Architecture(
        "roberta.", _BERT_EMBEDDINGS, _BERT_LAYER,
        {"pooler": "classifier.dense", "classifier": "classifier.out_proj"}, _BERT_KEYS),
    "distilbert": Architecture(
        "distilbert.",
        {"words": "embeddings.word_embeddings", "positions": "embeddings.position_embeddings",
         "embedding_norm": "embeddings.LayerNorm"},
        {"query": "transformer.layer.{}.attention.q_lin",
         "key": "transformer.layer.{}.attention.k_lin",
         "value": "transformer.layer.{}.attention.v_lin",
         "attention_output": "transformer.layer.{}.attention.out_lin",
         "attention_norm": "transformer.layer.{}.sa_layer_norm",
         "inner": "transformer.layer.{}.ffn.lin1",
         "output": "transformer.layer.{}.ffn.lin2",
         "output_norm": "transformer.layer.{}.output_layer_norm"},
        {"pooler": "pre_classifier", "classifier": "classifier"},
        {"layers": "n_layers", "heads": "n_heads", "hidden": "dim", "ffn": "hidden_dim",
         "activation": "activation"}),
}


class ModelFolder:
    """A folder's config, and the names that its tensors have. Nothing is read twice."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        try:
            self.config = json.loads((path / "config.json").read_text("utf-8"))
        except FileNotFoundError:
            raise Problem(f"{path}: no config.json; it has to be a model folder") from None
        except ValueError as error:
            raise Problem(f"{path}/config.json: not JSON ({error})") from None
        kind = self.config.get("model_type", "bert")
        if kind not in ARCHITECTURES:
            raise Problem(f"{path}/config.json: model_type {kind!r}; this trains "
                          f"{', '.join(ARCHITECTURES)}")
        if self.config.get("problem_type", "single_label_classification") != "single_label_classification":
            raise Problem(f"{path}/config.json: problem_type {self.config['problem_type']!r}; only "
                          "single_label_classification is trained here")
        self.kind = kind
        self.architecture = ARCHITECTURES[kind]

    def labels(self) -> list[str]:
        """The names of the labels, by id. A folder without a classifier has none."""
        names = self.config.get("id2label")
        if names is None:
            return [f"LABEL_{i}" for i in range(self.config.get("num_labels", 2))]
        if sorted(names, key=int) != [str(i) for i in range(len(names))]:
            raise Problem(f"{self.path}/config.json: ids of id2label have gaps")
        return [names[str(i)] for i in range(len(names))]

    def classifier(self) -> str:
        """What Hugging Face calls a classifier of this architecture."""
        names = {"bert": "Bert", "roberta": "Roberta", "distilbert": "DistilBert"}
        return names[self.kind] + "ForSequenceClassification"

    def shape(self, labels: int, repeat: int = 1) -> Shape:
        """The sizes that config.json gives, with so many labels, and each layer `repeat` times."""
        keys = self.architecture.keys
        try:
            size = {name: self.config[keys[name]] for name in ("layers", "heads", "hidden", "ffn")}
            words, positions = self.config["vocab_size"], self.config["max_position_embeddings"]
        except KeyError as error:
            raise Problem(f"{self.path}/config.json: no {error}") from None
        if size["hidden"] % size["heads"] or size["ffn"] % size["heads"]:
            raise Problem(f"{self.path}/config.json: {size['heads']} heads do not divide hidden size "
                          f"{size['hidden']} and FFN size {size['ffn']}; such a model cannot be cut")
        size["layers"] *= repeat
        roberta = self.kind == "roberta"
        return Shape(
            **size, words=words, positions=positions, labels=labels,
            types=0 if self.kind == "distilbert" else self.config.get("type_vocab_size", 2),
            first_position=self.config.get("pad_token_id", 1) + 1 if roberta else 0,
            activation=self.config.get(keys["activation"], "gelu"),
            head_activation="relu" if self.kind == "distilbert" else "tanh",
            norm_epsilon=1e-12 if self.kind == "distilbert" else self.config.get("layer_norm_eps", 1e-12))

    def _names(self, shape: Shape) -> dict[str, str]:
        """The folder's name of each of the network's modules."""
        a = self.architecture
        names = {ours: a.prefix + theirs for ours, theirs in a.embeddings.items()}
        for i in range(shape.layers):
            names |= {f"layers.{i}.{ours}": a.prefix + theirs.format(i) for ours, theirs in a.layer.items()}
        return names | dict(a.head)

    def load(self) -> Network:
        """Reads the weights, as float32. The folder has a classifier, or it is a Problem."""
        network = Network(self.shape(len(self.labels())))
        missing = self.load_into(network)
        if missing:
            raise Problem(f"{self.path}: no tensor {missing[0]!r}; fine-tune the model first")
        return network

    def load_into(self, network: Network, classifier: bool = True) -> list[str]:
        """Reads what weights the folder has, its classifier only if that is wanted, and returns the names of the head's
        that it lacks."""
        tensors = read_weights(self.path)
        names = self._names(network.shape)
        missing = []
        with torch.no_grad():
            for key, parameter in network.named_parameters():
                module, _, part = key.rpartition(".")
                if module == "classifier" and not classifier:
                    continue
                found = self._find(tensors, f"{names[module]}.{part}")
                if found is None:
                    if module not in self.architecture.head:
                        raise Problem(f"{self.path}: no tensor '{names[module]}.{part}'")
                    missing.append(f"{names[module]}.{part}")
                elif tensors[found].shape != parameter.shape:
                    raise Problem(f"{self.path}: tensor {found!r} is {list(tensors[found].shape)}, and "
                                  f"config.json makes it {list(parameter.shape)}")
                else:
                    parameter.copy_(tensors[found])
        return missing

    def _find(self, tensors: Mapping[str, torch.Tensor], name: str) -> str | None:
        """The name under which a folder has a tensor: without the prefix, or in old spelling."""
        bare = name.removeprefix(self.architecture.prefix)
        for spelling in (name, bare):
            for new, old in (("", ""), ("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta")):
                if (candidate := spelling.replace(new, old) if new else spelling) in tensors:
                    return candidate
        return None

    def save(self, network: Network, target: pathlib.Path, changes: Mapping[str, object], half: bool = True,
             files: Mapping[str, str] | None = None, without: Collection[str] = ()) -> None:
        """Writes a new folder: all of it or nothing. `changes` go into config.json; a value of None
        takes a key away. `half`: weights in 16 bits, as models are published. `files` take the place of the
        tokenizer's, of which those `without` are left out."""
        names = self._names(network.shape)
        kind = torch.float16 if half else torch.float32
        tensors = {}
        for key, parameter in network.named_parameters():
            module, _, part = key.rpartition(".")
            tensors[f"{names[module]}.{part}"] = parameter.detach().cpu().to(kind)
        shape = network.shape
        keys = self.architecture.keys
        config = self.config | {keys["layers"]: shape.layers, keys["heads"]: shape.heads,
                                keys["hidden"]: shape.hidden, keys["ffn"]: shape.ffn,
                                "vocab_size": shape.words,
                                "torch_dtype": "float16" if half else "float32"} | dict(changes)
        config = {key: value for key, value in config.items() if value is not None}
        with new_folder(target) as made:
            for file in sorted(self.path.iterdir()):
                if file.name in TOKENIZER_FILES and file.name not in without:
                    shutil.copyfile(file, made / file.name)
            for name, text in (files or {}).items():
                (made / name).write_text(text, "utf-8")
            (made / "config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")
            write_safetensors(made / "model.safetensors", tensors)


TOKENIZER_FILES = frozenset({
    "vocab.txt", "vocab.json", "merges.txt", "tokenizer.json", "tokenizer_config.json",
    "special_tokens_map.json", "added_tokens.json"})


class new_folder:
    """A folder that appears under its name when all is in it, or not at all."""

    def __init__(self, target: pathlib.Path):
        self.target = target

    def __enter__(self) -> pathlib.Path:
        if self.target.exists():
            raise Problem(f"{self.target} exists already; remove it or choose another name")
        parent = self.target.absolute().parent
        self.made = pathlib.Path(tempfile.mkdtemp(dir=parent, prefix=f".{self.target.name}."))
        return self.made

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self.made.chmod(0o755)
                self.made.rename(self.target)
        finally:
            shutil.rmtree(self.made, ignore_errors=True)


def read_weights(path: pathlib.Path) -> dict[str, torch.Tensor]:
    """All tensors of a folder, from whichever of the usual files it has."""
    if (path / "model.safetensors").exists():
        return read_safetensors(path / "model.safetensors")
    for index, read in (("model.safetensors.index.json", read_safetensors),
                        ("pytorch_model.bin.index.json", _read_pickle)):
        if (path / index).exists():
            files = sorted(set(json.loads((path / index).read_text("utf-8"))["weight_map"].values()))
            return {name: tensor for file in files if pathlib.PurePath(file).name == file
                    for name, tensor in read(path / file).items()}
    if (path / "pytorch_model.bin").exists():
        return _read_pickle(path / "pytorch_model.bin")
    raise Problem(f"{path}: no model.safetensors and no pytorch_model.bin")


def _read_pickle(file: pathlib.Path) -> dict[str, torch.Tensor]:
    try:
        tensors: dict[str, torch.Tensor] = torch.load(file, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError) as error:
        raise Problem(f"{file}: not weights that PyTorch reads without running code ({str(error).splitlines()[0]}); of "
                      "git-lfs it may be a pointer: git lfs pull") from None
    return tensors


def read_safetensors(file: pathlib.Path) -> dict[str, torch.Tensor]:
    """Tensors of a safetensors file, which is mapped and not copied."""
    if not file.stat().st_size:
        raise Problem(f"{file}: empty")
    data = numpy.memmap(file, mode="c")
    length = struct.unpack("<Q", data[:8].tobytes())[0] if len(data) >= 8 else 0
    if not 2 <= length <= min(_MAX_HEADER_BYTES, len(data) - 8):
        raise Problem(f"{file}: not a safetensors file")
    body = data[8 + length:]
    tensors = {}
    try:
        for name, entry in json.loads(data[8:8 + length].tobytes()).items():
            if name == "__metadata__" or entry["dtype"] not in _TYPES:
                continue
            begin, end = entry["data_offsets"]
            kind, shape = _TYPES[entry["dtype"]], entry["shape"]
            if not 0 <= begin <= end <= len(body) or end - begin != math.prod(shape) * kind.itemsize:
                raise Problem(f"{file}: tensor {name!r} does not lie in the file")
            tensors[name] = torch.from_numpy(body[begin:end]).view(kind).view(shape)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Problem(f"{file}: a header that cannot be read ({error})") from None
    return tensors


def write_safetensors(file: pathlib.Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Writes tensors in the order of their names."""
    spelled = {kind: name for name, kind in _TYPES.items()}
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, tensor in sorted(tensors.items()):
        begin, end = end, end + tensor.nbytes
        header[name] = {"dtype": spelled[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with file.open("wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for _, tensor in sorted(tensors.items()):
            out.write(tensor.contiguous().view(torch.uint8).numpy().data)
        out.flush()
        os.fsync(out.fileno())
