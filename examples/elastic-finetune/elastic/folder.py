"""Model folders as Hugging Face's save_pretrained leaves them: config.json, weights, tokenizer.

The three architectures differ in the names of their tensors and keys, and nowhere else knows them:
a folder is read into one Network, and written back under the names that it was read with. A folder's
head is what it says of itself, unless whoever opens it wants another one.
"""

import json
import pathlib
import shutil
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import torch

from .head import Head, TextLabels, Vectors, WordLabels
from .network import Network, Shape
from .problem import Problem
from .sentences import sentences_of
from .weights import read_weights, write_safetensors

_SINGLE = "single_label_classification"


@dataclass(frozen=True)
class Architecture:
    """What tensors and keys of config.json are called. `{}` stands for a layer's number."""

    prefix: str
    embeddings: Mapping[str, str]
    layer: Mapping[str, str]
    head: Mapping[str, str]  # of a classifier of texts, with the prefix where they have one
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
    """A folder's config, its head, and the names that its tensors have. Nothing is read twice."""

    def __init__(self, path: pathlib.Path, head: Head | None = None, pooling: str | None = None):
        """`head`: another one than the folder's; `pooling`: how an encoder embeds whose folder does not say it."""
        self.path = path
        self.sentences = sentences_of(path)
        self.encoder = path / self.sentences.encoder if self.sentences else path
        try:
            self.config = json.loads((self.encoder / "config.json").read_text("utf-8"))
        except FileNotFoundError:
            raise Problem(f"{self.encoder}: no config.json; it has to be a model folder") from None
        except ValueError as error:
            raise Problem(f"{self.encoder}/config.json: not JSON ({error})") from None
        if pooling and self.sentences:
            raise Problem(f"{path}: modules.json says how its vectors are pooled; leave --pooling out")
        kind = self.config.get("model_type", "bert")
        if kind not in ARCHITECTURES:
            raise Problem(f"{path}/config.json: model_type {kind!r}; this trains "
                          f"{', '.join(ARCHITECTURES)}")
        self.head = head or self._own_head(pooling)
        of_texts = isinstance(self.head, TextLabels)
        if of_texts and self.config.get("problem_type", _SINGLE) != _SINGLE:
            raise Problem(f"{path}/config.json: problem_type {self.config['problem_type']!r}; only "
                          f"{_SINGLE} is trained here")
        self.kind = kind
        self.architecture = ARCHITECTURES[kind]

    def _own_head(self, pooling: str | None) -> Head:
        """The head that the folder says it has, or that `pooling` gives it."""
        if self.sentences:
            return self.sentences.head
        if pooling:
            return Vectors(pooling, unit=False, stated=False)
        if str((self.config.get("architectures") or [""])[0]).endswith(WordLabels.published):
            return WordLabels(tuple(self._label_names()))
        return TextLabels()

    def labels(self) -> list[str]:
        """The names of the labels, by id. A folder that embeds has none."""
        return [] if isinstance(self.head, Vectors) else self._label_names()

    def _label_names(self) -> list[str]:
        names = self.config.get("id2label")
        if names is None:
            return [f"LABEL_{i}" for i in range(self.config.get("num_labels", 2))]
        if sorted(names, key=int) != [str(i) for i in range(len(names))]:
            raise Problem(f"{self.path}/config.json: ids of id2label have gaps")
        return [names[str(i)] for i in range(len(names))]

    def class_name(self) -> str:
        """What Hugging Face calls a model of this architecture with this head."""
        names = {"bert": "Bert", "roberta": "Roberta", "distilbert": "DistilBert"}
        return names[self.kind] + self.head.published

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
            norm_epsilon=1e-12 if self.kind == "distilbert" else self.config.get("layer_norm_eps", 1e-12),
            head=self.head)

    def _names(self, shape: Shape) -> dict[str, str]:
        """The folder's name of each of the network's modules."""
        a = self.architecture
        names = {ours: a.prefix + theirs for ours, theirs in a.embeddings.items()}
        for i in range(shape.layers):
            names |= {f"layers.{i}.{ours}": a.prefix + theirs.format(i) for ours, theirs in a.layer.items()}
        return names | dict(self.head.tensors(a.head))

    def load(self) -> Network:
        """Reads the weights, as float32. The folder has what its head needs, or it is a Problem."""
        network = Network(self.shape(len(self.labels())))
        missing = self.load_into(network)
        if missing:
            raise Problem(f"{self.path}: no tensor {missing[0]!r}; fine-tune the model first, or if it is to embed "
                          "texts say --pooling")
        return network

    def load_into(self, network: Network, classifier: bool = True) -> list[str]:
        """Reads what weights the folder has, its classifier only if that is wanted, and returns the names of the head's
        that it lacks."""
        tensors = read_weights(self.encoder)
        names = self._names(network.shape)
        missing = []
        with torch.no_grad():
            for key, parameter in network.named_parameters():
                module, _, part = key.rpartition(".")
                if module == "classifier" and not classifier:
                    continue
                found = self._find(tensors, f"{names[module]}.{part}")
                if found is None:
                    if module not in self.head.tensors(self.architecture.head):
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
        prefix = self.architecture.prefix if isinstance(self.head, Vectors) else ""  # encoders alone have none
        kind = torch.float16 if half else torch.float32
        tensors = {}
        for key, parameter in network.named_parameters():
            module, _, part = key.rpartition(".")
            tensors[f"{names[module]}.{part}".removeprefix(prefix)] = parameter.detach().cpu().to(kind)
        shape = network.shape
        keys = self.architecture.keys
        config = self.config | {keys["layers"]: shape.layers, keys["heads"]: shape.heads,
                                keys["hidden"]: shape.hidden, keys["ffn"]: shape.ffn,
                                "vocab_size": shape.words,
                                "torch_dtype": "float16" if half else "float32"} | dict(changes)
        if isinstance(self.head, Vectors):
            config["architectures"] = [self.class_name()]
        config = {key: value for key, value in config.items() if value is not None}
        with new_folder(target) as made:
            encoder = made
            if self.sentences and isinstance(self.head, Vectors):
                encoder = made / self.sentences.encoder
                for name in self.sentences.files:
                    (made / name).parent.mkdir(exist_ok=True)
                    shutil.copyfile(self.path / name, made / name)
                encoder.mkdir(exist_ok=True)
            for file in sorted(self.encoder.iterdir()):
                if file.name in TOKENIZER_FILES and file.name not in without:
                    shutil.copyfile(file, encoder / file.name)
            for name, text in (files or {}).items():
                (encoder / name).write_text(text, "utf-8")
            (encoder / "config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")
            write_safetensors(encoder / "model.safetensors", tensors)


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
