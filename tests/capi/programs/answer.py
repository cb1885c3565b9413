#!/usr/bin/env python3
"""The app of answer.c by Python's ctypes. Usage: answer.py LIBRARY MODEL PLAN TEXT"""
import ctypes
import pathlib
import sys

STI_PLAN = 1


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("about", ctypes.c_int32), ("text", ctypes.c_char * 504)]


def load(path):
    """Returns the library with the types of the calls that are made here."""
    library = ctypes.CDLL(path)
    handle, error = ctypes.c_void_p, ctypes.POINTER(Error)
    handles = ctypes.POINTER(handle)
    text, size = ctypes.c_char_p, ctypes.c_size_t
    code = ctypes.c_int32
    for name, result, *arguments in (
            ("sti_host_new", code, ctypes.c_uint32, handle, handle, handles, error),
            ("sti_open", code, handle, text, handles, error),
            ("sti_give", code, handle, code, text, size, error),
            ("sti_run", code, handle, text, size, text, size, error),
            ("sti_label", code, handle, ctypes.c_uint32),
            ("sti_score", ctypes.c_double, handle, code),
            ("sti_name", text, handle, code),
            ("sti_close", None, handle),
            ("sti_host_free", None, handle)):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def answer(sti, model_path, plan_path, text):
    host, model, error = ctypes.c_void_p(), ctypes.c_void_p(), Error()
    plan = pathlib.Path(plan_path).read_bytes()
    try:
        if (sti.sti_host_new(1, None, None, host, error)
                or sti.sti_open(host, model_path.encode(), model, error)
                or sti.sti_give(model, STI_PLAN, plan, len(plan), error)
                or sti.sti_run(model, text.encode(), len(text.encode()), None, 0, error)):
            sys.exit(f"answer: {error.text.decode()}")
        label = sti.sti_label(model, 0)
        print(f"{sti.sti_name(model, label).decode()}\t{sti.sti_score(model, label):.6f}")
    finally:
        sti.sti_close(model)
        sti.sti_host_free(host)


if __name__ == "__main__":
    answer(load(sys.argv[1]), *sys.argv[2:])
