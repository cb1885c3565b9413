"""What is asked of the tools, so that training sees what sti-run sees: token ids, and weights as a
reader of few bits has them."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .problem import Problem


def tool(name: str) -> str:
    """A tool's path: of $STI_BIN, of PATH, or of this checkout's build."""
    build = pathlib.Path(__file__).resolve().parents[3] / "build/bin"
    for folder in (os.environ.get("STI_BIN"), os.environ.get("PATH"), str(build)):
        if folder and (found := shutil.which(name, path=folder)):
            return found
    raise Problem(f"{name} is nowhere on PATH; run make, and add build/bin to PATH")


def run(arguments: Sequence[str | pathlib.Path], text: str | None = None) -> str:
    """What a tool writes to stdout. Its own line of error is the Problem."""
    command = [tool(str(arguments[0])), *map(str, arguments[1:])]
    done = subprocess.run(command, input=text, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
        raise Problem(lines[-1])
    return done.stdout


@contextmanager
def container(folder: pathlib.Path, bits: Sequence[int], shard_options: Sequence[str] = ()) -> Iterator[pathlib.Path]:
    """A container of a model folder, which is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="elastic.") as scratch:
        file = pathlib.Path(scratch, "model.sti")
        run(["sti-shard", folder, "-q", "-o", file, "--bits", ",".join(map(str, bits)), *shard_options])
        yield file


@contextmanager
def seen_at(folder: pathlib.Path, bits: Sequence[int],
            shard_options: Sequence[str] = ()) -> Iterator[dict[int, pathlib.Path]]:
    """Model folders by bitwidths, each with the weights that a reader of so many bits has. They are gone afterwards."""
    with container(folder, bits, shard_options) as file:
        folders = {each: file.with_name(f"{each}-bits") for each in bits}
        for each, made in folders.items():
            run(["sti-inspect", file, "-q", "--export", str(each), "-o", made])
        yield folders


def lines(texts: Sequence[tuple[str, str | None]]) -> tuple[str, list[str]]:
    """Texts, or pairs of them, as the tools read them, a line each, the two of a pair with a tab between; and the
    option that a tool needs to read them so."""
    pairs = any(pair is not None for _, pair in texts)
    made = []
    for text, pair in texts:
        text, pair = (" ".join((part or "").splitlines()).replace("\t", " ") for part in (text, pair))
        made.append(f"{text}\t{pair}\n" if pairs else text + "\n")
    return "".join(made), ["--pairs"] if pairs else []


def tokenize(folder: pathlib.Path, texts: Sequence[tuple[str, str | None]], shard_options: Sequence[str] = (),
             offsets: bool = False) -> list[tuple[list[int], list[int] | None, list[list[int]]]]:
    """Ids and types of each text, or pair of texts, as sti-run makes them, and if `offsets` are wanted the bytes of its
    text that each token stands for, from its first to that behind its last. Types of one text are None."""
    text, pairs = lines(texts)
    with container(folder, [2], shard_options) as file:
        made = run(["sti-inspect", file, "--tokenize", *pairs, *(["--offsets"] if offsets else [])], text)
    rows = [json.loads(line) for line in made.splitlines()]
    if len(rows) != len(texts):
        raise Problem(f"sti-inspect gave {len(rows)} lines for {len(texts)} texts")
    return [(row["ids"], row.get("types"), row.get("offsets", [])) for row in rows]
