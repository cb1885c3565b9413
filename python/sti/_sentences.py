"""sentence-transformers' way to embed sentences, with this library inside.

The class has the methods and defaults of sentence_transformers.SentenceTransformer 6 that embed and
compare sentences, so that an app changes its import and the path of its model. numpy is asked for
where they return an array, torch where they return tensors. What the class cannot do is refused, and
nothing that is asked for is left out without a word.
"""

import importlib
import os
import pathlib
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

Path = Union[str, "os.PathLike[str]"]
Similarity = Callable[[Any, Any, Any], Any]

_LEAST_LENGTH = 1e-12  # that a vector is divided by, as in torch


def _import(name: str) -> Any:
    """Returns a module that only some of the results need."""
    try:
        return importlib.import_module(name)
    except ImportError as missing:
        raise ImportError(f"sti.SentenceTransformer needs {name} for this; install it, or embed by "
                          "sti.Host().open(path).embed(texts), which needs nothing") from missing


def _units(vectors: Any, numpy: Any) -> Any:
    """Returns vectors of unit length; zeros stay zeros."""
    lengths = numpy.sqrt((vectors * vectors).sum(axis=-1, keepdims=True))
    return vectors / numpy.maximum(lengths, _LEAST_LENGTH)


def _differences(a: Any, b: Any) -> Any:
    return a[..., :, None, :] - b[..., None, :, :]


# Of vectors a [n, d] and b [m, d]: numbers [n, m]. Distances are negated, so that more is nearer.
_SIMILARITIES: Dict[str, Similarity] = {
    "cosine": lambda numpy, a, b: _units(a, numpy) @ _units(b, numpy).swapaxes(-1, -2),
    "dot": lambda numpy, a, b: a @ b.swapaxes(-1, -2),
    "euclidean": lambda numpy, a, b: -numpy.sqrt((_differences(a, b) ** 2).sum(axis=-1)),
    "manhattan": lambda numpy, a, b: -numpy.abs(_differences(a, b)).sum(axis=-1),
}


def _refuse(what: str, why: str) -> None:
    raise ValueError(f"{what}: {why}; leave it out")


class SentenceTransformer:
    """A model that embeds: a container made by sti-shard, under a plan or as a whole.

    As in sentence-transformers, `prompts` are words by name that stand in front of sentences,
    `default_prompt_name` is the one where a call names none, and `truncate_dim` keeps the first
    numbers of each vector. A container has no prompts: sti-shard says those that its folder has.
    `plan` is a file made by sti-plan, and of `threads` 0 means one a core; sentence-transformers has
    neither. Any thread may call; calls take turns.
    """

    def __init__(self, model_name_or_path: Path, *, device: Optional[str] = None,
                 prompts: Optional[Dict[str, str]] = None, default_prompt_name: Optional[str] = None,
                 similarity_fn_name: Optional[str] = None, truncate_dim: Optional[int] = None,
                 plan: Optional[Path] = None, threads: int = 0) -> None:
        from . import Host, Kind, Stat
        self._check_device(device)
        self.prompts: Dict[str, str] = {"query": "", "document": "", **(prompts or {})}
        if default_prompt_name is not None and default_prompt_name not in self.prompts:
            raise ValueError(f"default_prompt_name {default_prompt_name!r} is none of the prompts "
                             f"{list(self.prompts)}")
        self.default_prompt_name = default_prompt_name
        self.similarity_fn_name = similarity_fn_name or "cosine"
        self.truncate_dim = truncate_dim
        self._host = Host(threads)
        try:
            self._model = self._host.open(model_name_or_path)
        except BaseException:
            self._host.close()
            raise
        try:
            if plan is not None:
                self._model.give(Kind.PLAN, pathlib.Path(plan).read_bytes())
            self._dimensions = int(self._model.stat(Stat.DIMENSIONS))
            if self._dimensions == 0:
                raise TypeError("the model gives labels, no vectors; use Host.open and run")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Gives back the model and its threads. Closed once more it does nothing."""
        self._model.close()
        self._host.close()

    def __enter__(self) -> "SentenceTransformer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"sti.SentenceTransformer has no {name!r}: it embeds and compares "
                             "sentences, and neither trains nor tokenizes")

    @staticmethod
    def _check_device(device: object) -> None:
        if device is not None and str(device) != "cpu":
            _refuse(f"device={device!r}", "the model runs on the cores of this machine")

    def _prompt(self, prompt: Optional[str], prompt_name: Optional[str]) -> str:
        if prompt is not None:
            return prompt
        name = prompt_name if prompt_name is not None else self.default_prompt_name
        if name is None:
            return ""
        if name not in self.prompts:
            raise ValueError(f"prompt_name {name!r} is none of the prompts {list(self.prompts)}; pass "
                             "prompts={name: words} to SentenceTransformer, or prompt=words")
        return self.prompts[name]

    def encode(self, inputs: Union[str, Sequence[str], None] = None,
               prompt_name: Optional[str] = None, prompt: Optional[str] = None, batch_size: int = 32,
               show_progress_bar: Optional[bool] = None,
               output_value: Optional[str] = "sentence_embedding", precision: str = "float32",
               convert_to_numpy: bool = True, convert_to_tensor: bool = False,
               device: Optional[str] = None, normalize_embeddings: bool = False,
               truncate_dim: Optional[int] = None, pool: object = None,
               chunk_size: Optional[int] = None, *,
               sentences: Union[str, Sequence[str], None] = None) -> Any:
        """Returns the vectors of sentences [n, d], or of one str [d], as sentence-transformers does.

        A numpy array, with `convert_to_tensor` a tensor, with neither a list of tensors. Sentences
        are embedded one after the other, so that `batch_size` changes nothing. An Error says which
        sentence failed. `sentences` is the older name of `inputs`.
        """
        if (inputs is None) == (sentences is None):
            raise TypeError("encode takes sentences, once")
        given = inputs if sentences is None else sentences
        if batch_size <= 0:
            raise ValueError(f"batch_size must be a positive integer, got {batch_size}.")
        if output_value != "sentence_embedding":
            _refuse(f"output_value={output_value!r}", "there are vectors of sentences alone")
        if precision != "float32":
            _refuse(f"precision={precision!r}", "vectors are 32-bit floats")
        if pool is not None or chunk_size is not None:
            _refuse("pool, chunk_size", "one process computes on all cores")
        self._check_device(device)
        listed = [given] if isinstance(given, str) else list(given)  # type: ignore[arg-type]
        vectors = self._vectors(listed, self._prompt(prompt, prompt_name), bool(show_progress_bar))
        keep = truncate_dim if truncate_dim is not None else self.truncate_dim
        if keep is not None and len(vectors):
            vectors = vectors[:, :keep]
        if normalize_embeddings and len(vectors):
            vectors = _units(vectors, _import("numpy"))
        if convert_to_tensor or not convert_to_numpy:
            tensor = _import("torch").from_numpy(vectors)
            vectors = tensor if convert_to_tensor else list(tensor)
        return vectors[0] if isinstance(given, str) else vectors

    def _vectors(self, sentences: List[str], prompt: str, shows_progress: bool) -> Any:
        numpy = _import("numpy")
        if not sentences:
            return numpy.zeros(0, numpy.float32)
        for number, sentence in enumerate(sentences):
            if not isinstance(sentence, str):
                raise TypeError(f"input {number} is a str, not {type(sentence).__name__}")
        texts: Any = [prompt + sentence for sentence in sentences]
        if shows_progress:
            texts = _import("tqdm.auto").tqdm(texts, desc="Sentences")
        return numpy.asarray(self._model.embed(texts))

    def encode_query(self, inputs: Union[str, Sequence[str]], *arguments: Any, **options: Any) -> Any:
        """Encodes with the prompt "query", where the call names none."""
        return self._encode_as("query", inputs, *arguments, **options)

    def encode_document(self, inputs: Union[str, Sequence[str]], *arguments: Any,
                        **options: Any) -> Any:
        """Encodes with the prompt "document", where the call names none."""
        return self._encode_as("document", inputs, *arguments, **options)

    def _encode_as(self, name: str, inputs: Union[str, Sequence[str]],
                   prompt_name: Optional[str] = None, prompt: Optional[str] = None, *arguments: Any,
                   **options: Any) -> Any:
        if prompt_name is None and prompt is None:
            prompt_name = name
        return self.encode(inputs, prompt_name, prompt, *arguments, **options)

    @property
    def similarity_fn_name(self) -> str:
        """The name of the function that similarity computes."""
        return self._similarity_fn_name

    @similarity_fn_name.setter
    def similarity_fn_name(self, name: str) -> None:
        if name not in _SIMILARITIES:
            raise ValueError(f"similarity_fn_name is one of {list(_SIMILARITIES)}, not {name!r}")
        self._similarity_fn_name = name

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Returns how alike vectors [n, d] and [m, d] are: numbers [n, m].

        Of tensors a tensor, of anything else a numpy array.
        """
        return self._compared(embeddings1, embeddings2, False)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Returns how alike the vectors of each row of both [n, d] are: numbers [n]."""
        return self._compared(embeddings1, embeddings2, True)

    def _compared(self, a: Any, b: Any, is_pairwise: bool) -> Any:
        numpy = _import("numpy")
        first, second = (numpy.atleast_2d(numpy.asarray(vectors, dtype=numpy.float32)) for vectors in (a, b))
        if is_pairwise:
            first, second = first[:, None, :], second[:, None, :]
        numbers = _SIMILARITIES[self._similarity_fn_name](numpy, first, second)
        if is_pairwise:
            numbers = numbers[:, 0, 0]
        if not any(hasattr(vectors, "detach") for vectors in (a, b)):
            return numbers
        return _import("torch").from_numpy(numbers)

    def get_embedding_dimension(self) -> int:
        """Returns how many numbers a vector has."""
        if self.truncate_dim is None:
            return self._dimensions
        return min(self._dimensions, self.truncate_dim)

    get_sentence_embedding_dimension = get_embedding_dimension

    @property
    def max_seq_length(self) -> int:
        """The most tokens of a sentence, control tokens included; what is longer is cut."""
        from . import Stat
        return int(self._model.stat(Stat.LONGEST))

    def get_max_seq_length(self) -> int:
        """Returns max_seq_length."""
        return self.max_seq_length
