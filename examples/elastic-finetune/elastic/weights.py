"""Files of weights: safetensors, read and written, and PyTorch's, read without running them."""

import json
import math
import os
import pathlib
import pickle
import struct
from collections.abc import Mapping

import numpy
import torch

from .problem import Problem

_TYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
_MAX_HEADER_BYTES = 64 << 20


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
