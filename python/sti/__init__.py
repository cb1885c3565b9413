"""Transformers on a small device, inside a latency and a few megabytes of memory.

    import sti

    with sti.Host() as host, host.open("model.sti") as model:
        model.give(sti.Kind.PLAN, pathlib.Path("model.plan").read_bytes())
        for answer in model.run_batch(["set an alarm", "what is the weather"]):
            print(answer.label, answer.score, model.stat(sti.Stat.LATENCY_US))

A host holds the cores and the flash that its models share, a model is a container under a plan.
Each method is a function of sti.h, whose comments hold here too: any thread may call, calls for one
model take turns, and each thread reads the answer of its own last run. What fails raises an Error.
"""

import bisect
import ctypes
import math
import os
from typing import (Any, Callable, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple,
                    TypeVar, Union)

from ._library import LOG, READ_AT, TOKEN, CError, CSpan, library
from ._numbers import Aggregation, Code, Compute, Kind, Late, Log, Option, Stat
from ._sentences import SentenceTransformer

__all__ = ["Aggregation", "Answer", "Code", "Compute", "Error", "Host", "Input", "Kind", "Late", "Log",
           "Model", "Option", "SentenceTransformer", "Span", "Stat", "__version__"]
__version__: str = library.sti_version().decode()

Input = Union[str, Tuple[str, str]]  # a text, or a pair of texts
Image = Any  # the bytes of a file, or floats in a contiguous buffer


class Error(Exception):
    """What failed: its code, the line that says it, and which input of a batch it was, from 0."""

    def __init__(self, code: Code, line: str, about: Optional[Kind] = None,
                 input: Optional[int] = None) -> None:
        super().__init__(line if input is None else f"input {input}: {line}")
        self.code, self.line, self.about, self.input = code, line, about, input


class Answer(NamedTuple):
    """The most probable label with its score, and all that the answer gives.

    A model of one label an input gives one; a multi-label model those that reach the threshold,
    which may be none.
    """

    label: str
    score: float
    chosen: List[Tuple[str, float]]


class Span(NamedTuple):
    """A stretch of a text, text[begin:end], what the model calls it, and how probable that is."""

    label: str
    score: float
    begin: int
    end: int


def _characters(text: str, encoded: bytes, spans: Sequence[CSpan]) -> List[Tuple[int, int]]:
    """Returns the characters of `text` that the bytes of each span are of."""
    if len(encoded) == len(text):
        return [(span.begin, span.end) for span in spans]
    begins = [0]  # of each character in `encoded`, and its end
    for character in text:
        begins.append(begins[-1] + len(_bytes(character)))
    return [(bisect.bisect_right(begins, span.begin) - 1, bisect.bisect_left(begins, span.end))
            for span in spans]


class _Reads:
    """A callback that reads by a function of Python, and what that function raised last."""

    def __init__(self, read_at: Callable[[int, int], bytes]) -> None:
        self._read_at = read_at
        self._raised: Optional[BaseException] = None
        self.callback = READ_AT(self._read)

    def _read(self, _: object, offset: int, buffer: int, length: int) -> int:
        try:
            content = self._read_at(offset, length)
            if len(content) > length:
                raise ValueError(f"read_at returned {len(content)} bytes, not {length}")
            room = (ctypes.c_char * length).from_address(buffer)
            memoryview(room).cast("B")[:len(content)] = content
            return len(content)
        except BaseException as raised:  # nothing may pass the library
            self._raised = raised
            return -1

    def take_raised(self) -> Optional[BaseException]:
        raised, self._raised = self._raised, None
        return raised


class _Tokens:
    """A callback that hands tokens to a function of Python, and what that function raised."""

    def __init__(self, take: Optional[Callable[[int, str], Optional[bool]]]) -> None:
        self._take = take
        self.raised: Optional[BaseException] = None
        self.callback = TOKEN(self._token) if take else TOKEN()

    def _token(self, _: object, number: int, text: Optional[int], size: int) -> int:
        try:
            piece = ctypes.string_at(text, size).decode() if text and size else ""
            return 1 if self._take and self._take(number, piece) else 0
        except BaseException as raised:  # nothing may pass the library
            self.raised = raised
            return 1


def _check(function: Callable[..., int], *arguments: object, reads: Optional[_Reads] = None) -> None:
    error = CError()
    code = function(*arguments, error)
    if code != Code.OK:
        failed = Error(Code(code), error.text.decode(), Kind(error.about) if error.about else None)
        raise failed from (reads.take_raised() if reads and code == Code.READ_FAILED else None)


def _bytes(text: str) -> bytes:
    if not isinstance(text, str):
        raise TypeError(f"a text is a str, not {type(text).__name__}; pass a str, or token ids to run_ids")
    # A lone surrogate becomes bytes that the library reads as U+FFFD.
    return text.encode("utf-8", "surrogatepass")


_Owned = TypeVar("_Owned", bound="_Owner")


class _Owner:
    """Owns a handle of the library until it is closed, or until the end of its `with`."""

    def __init__(self, frees: Callable[[ctypes.c_void_p], None], makes: Callable[..., int],
                 *arguments: object, reads: Optional[_Reads] = None) -> None:
        self._handle = ctypes.c_void_p()
        self._frees = frees
        _check(makes, *arguments, self._handle, reads=reads)

    def close(self) -> None:
        """Gives back what this is. Closed once more it does nothing."""
        handle, self._handle = self._handle, ctypes.c_void_p()
        self._frees(handle)

    def __enter__(self: _Owned) -> _Owned:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Host(_Owner):
    """Cores and flash, shared by the models that are opened on it. 0 threads: one a core.

    `log` receives lines from any thread, and must not call back into this module. Models can be
    used on when their host is closed.
    """

    def __init__(self, threads: int = 0, log: Optional[Callable[[Log, str], None]] = None) -> None:
        self._log = LOG(lambda _, level, line: log(Log(level), line.decode())) if log else LOG()
        super().__init__(library.sti_host_free, library.sti_host_new, threads, self._log, None)

    def open(self, path: Union[str, "os.PathLike[str]"]) -> "Model":
        """Opens the container at `path`."""
        name = os.fsencode(path)
        if b"\0" in name:
            raise ValueError("a path has no NUL")
        return Model(self, library.sti_open, name)

    def open_fd(self, fd: int, offset: int = 0, length: int = 0) -> "Model":
        """Opens the container at `offset` of an open file; 0 bytes: up to where it ends."""
        return Model(self, library.sti_open_fd, fd, offset, length)

    def open_read(self, read_at: Callable[[int, int], bytes], length: int) -> "Model":
        """Opens a container of `length` bytes that a function reads, such as encrypted storage.

        `read_at(offset, length)` returns so many bytes, or fewer; none at the end. Several threads
        call it at a time, until the model is closed, and it must not call back into this module.
        What it raises fails the read, and is the cause of the Error that comes of it.
        """
        reads = _Reads(read_at)
        return Model(self, library.sti_open_read, reads.callback, None, length, reads=reads)


class Model(_Owner):
    """A container, open, under a plan. Host.open makes it.

    It is closed after the call that is under way, and no other thread may use it then.
    """

    # Models that are read by a function live until they are closed: the library calls it till then.
    _read_by_functions: Set["Model"] = set()

    def __init__(self, host: Host, opens: Callable[..., int], *where: object,
                 reads: Optional[_Reads] = None) -> None:
        self._host = host  # whose log is called until the model is closed
        self._reads = reads
        super().__init__(library.sti_close, opens, host._handle, *where, reads=reads)
        if reads:
            self._read_by_functions.add(self)

    def close(self) -> None:
        super().close()
        self._read_by_functions.discard(self)

    def _call(self, function: Callable[..., int], *arguments: object) -> None:
        _check(function, self._handle, *arguments, reads=self._reads)

    def give(self, kind: Kind, content: bytes) -> None:
        """Gives the model a plan, under which it goes on, a profile or an importance.

        Examples let a model that embeds give their labels; b"" takes them back.
        """
        self._call(library.sti_give, kind, content, len(content))

    def profile(self, budget_us: int) -> bytes:
        """Measures this device with this model and returns the profile, to keep and to give."""
        size = ctypes.c_size_t()
        room = 0
        while True:
            buffer = ctypes.create_string_buffer(max(room, 1))
            try:
                self._call(library.sti_profile, budget_us, buffer, room, size)
                return buffer.raw[:size.value]
            except Error:
                if size.value <= room:
                    raise
            room, budget_us = size.value, 0  # the model keeps what was measured

    def set(self, option: Option, value: int) -> None:
        """Sets an option, of which sti.h says from when on it counts."""
        self._call(library.sti_set, option, value)

    def plan(self) -> None:
        """Makes a plan for the options from what was given and measured, and goes on under it."""
        self._call(library.sti_plan)

    def wake(self) -> None:
        """Begins to read what the next input needs."""
        self._call(library.sti_wake)

    def end_turns(self) -> None:
        """Ends an engagement: the next input is turn 1."""
        self._call(library.sti_end_turns)

    def trim(self, bytes: int = 0) -> None:
        """Gives memory back until the model has at most `bytes`."""
        self._call(library.sti_trim, bytes)

    def cancel(self) -> None:
        """Lets the call that is under way end with Code.CANCELLED."""
        library.sti_cancel(self._handle)

    def _run(self, text: str, pair: Optional[str] = None) -> None:
        first, second = _bytes(text), None if pair is None else _bytes(pair)
        self._call(library.sti_run, first, len(first), second, len(second or b""))

    def run(self, text: str, pair: Optional[str] = None) -> Answer:
        """Answers a text, or a pair of texts, with a label."""
        self._check_labels()
        self._run(text, pair)
        return self._answer()

    def embed(self, texts: Sequence[str]) -> memoryview:
        """Returns the vectors of texts: 32-bit floats [texts, Stat.DIMENSIONS], in order.

        numpy.asarray takes them without a copy. An Error says which text failed.
        """
        if isinstance(texts, (str, bytes)):
            raise TypeError(f"texts are a sequence of str, not one {type(texts).__name__}; pass [text]")
        dimensions = self._count(Stat.DIMENSIONS)
        if dimensions == 0:
            raise TypeError("the model gives labels, no vectors; use run or spans")
        vectors = (ctypes.c_float * dimensions * len(texts))()
        for number, text in enumerate(texts):
            try:
                self._run(text)
            except Error as error:
                raise Error(error.code, error.line, error.about, number) from error.__cause__
            library.sti_vector(self._handle, vectors[number], dimensions)
        view = memoryview(vectors)
        if not len(texts):
            return view
        # ctypes names the order of its bytes, and what has such a name has no tolist().
        return view.cast("B").cast("f", shape=[len(texts), dimensions])

    def generate(self, text: str, most: int,
                 token: Optional[Callable[[int, str], Optional[bool]]] = None) -> str:
        """Returns the text by which the model continues one, of at most `most` tokens.

        `token` is called for each as soon as it is there, with its id and the characters that are
        whole with it, and ends the continuation by returning True. What it raises ends it too.
        """
        if not 1 <= most < 2**32:
            raise ValueError(f"a text is continued by at least 1 token, not {most}")
        encoded, tokens = _bytes(text), _Tokens(token)
        self._call(library.sti_generate, encoded, len(encoded), most, tokens.callback, None)
        if tokens.raised:
            raise tokens.raised
        room = library.sti_text(self._handle, None, 0)
        made = ctypes.create_string_buffer(max(room, 1))
        library.sti_text(self._handle, made, room)
        return made.raw[:room].decode()

    def spans(self, text: str) -> List[Span]:
        """Returns the stretches of a text that a model which labels tokens names, in their order.

        Option.AGGREGATION says how tokens become spans.
        """
        if self.stat(Stat.TOKEN_LABELS) != 1:
            raise TypeError("the model labels no tokens; use run or embed")
        self._run(text)
        found = (CSpan * int(self.stat(Stat.SPANS)))()
        library.sti_spans(self._handle, found, len(found))
        places = _characters(text, _bytes(text), found)
        return [Span(self._name(span.name), span.score, *place) for span, place in zip(found, places)]

    def _count(self, which: Stat) -> int:
        figure = self.stat(which)
        if math.isnan(figure):
            self.end_turns()  # which says what is wrong with the model
        return int(figure)

    def _check_labels(self) -> None:
        if self.stat(Stat.TOKEN_LABELS) == 1:
            raise TypeError("the model labels tokens, and not texts; use spans")
        if self.stat(Stat.CONTINUES) == 1:
            raise TypeError("the model continues texts, and gives no labels; use generate")
        if self._count(Stat.LABELS) == 0:
            raise TypeError("the model embeds texts, and gives no labels; use embed")

    def run_ids(self, ids: Sequence[int]) -> Answer:
        """Answers token ids, control tokens included."""
        self._check_labels()
        array = (ctypes.c_uint32 * len(ids))(*ids)
        self._call(library.sti_run_ids, array, len(ids))
        return self._answer()

    def run_image(self, image: Image) -> Answer:
        """Answers an image: the bytes of a PPM file, or floats, scaled as the model takes them.

        Floats are any contiguous buffer of them, such as a numpy array [channels, size, size]. The
        model's size is Stat.IMAGE_SIZE.
        """
        view = memoryview(image)
        if view.format not in ("B", "f", "<f"):
            raise TypeError(f"an image is bytes or floats, not items of format '{view.format}'; "
                            "make it float32")
        array = (ctypes.c_ubyte * view.nbytes).from_buffer_copy(view.cast("B"))
        self._call(library.sti_run_image, array, view.nbytes)
        return self._answer()

    def run_batch(self, inputs: Iterable[Input]) -> Iterator[Answer]:
        """Yields the answers of texts or pairs, one after the other. An Error says which failed."""
        if isinstance(inputs, (str, bytes)):
            raise TypeError(f"inputs are an iterable of texts or pairs, not one {type(inputs).__name__}; "
                            "pass [text], or one text to run")
        return self._answers(inputs)

    def _answers(self, inputs: Iterable[Input]) -> Iterator[Answer]:
        for number, given in enumerate(inputs):
            if not isinstance(given, (str, tuple, list)) or (not isinstance(given, str) and len(given) != 2):
                raise TypeError(f"input {number} is a text or a pair of texts, not {type(given).__name__}; "
                                "pass a str or a tuple of two")
            text, pair = (given, None) if isinstance(given, str) else given
            try:
                answer = self.run(text, pair)
            except Error as error:
                raise Error(error.code, error.line, error.about, number) from error.__cause__
            yield answer

    def stat(self, which: Stat) -> float:
        """Returns a figure; NaN if there is none."""
        figure: float = library.sti_stat(self._handle, which)
        return figure

    @property
    def labels(self) -> List[str]:
        """All labels of the model, by their numbers."""
        return [self._name(label) for label in range(self._count(Stat.LABELS))]

    def _name(self, label: int) -> str:
        name: bytes = library.sti_name(self._handle, label)
        return name.decode()

    def _ranked(self, rank: int) -> Tuple[str, float]:
        label = library.sti_label(self._handle, rank)
        return self._name(label), library.sti_score(self._handle, label)

    def _answer(self) -> Answer:
        chosen = [self._ranked(rank) for rank in range(int(self.stat(Stat.CHOSEN)))]
        return Answer(*self._ranked(0), chosen)
