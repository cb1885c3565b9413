"""libsti by ctypes: the functions of sti.h with the types of what they take and return."""

import ctypes
import pathlib

LOG = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p)
READ_AT = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p,
                           ctypes.c_uint64)
TOKEN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p,
                         ctypes.c_size_t)


class CError(ctypes.Structure):
    """sti_error: a code, what it is about, and one line of text."""

    _fields_ = [("code", ctypes.c_int32), ("about", ctypes.c_int32), ("text", ctypes.c_char * 504)]


class CSpan(ctypes.Structure):
    """sti_span: a stretch of a text, by bytes, what it is, and how probable that is."""

    _fields_ = [("begin", ctypes.c_uint64), ("end", ctypes.c_uint64), ("name", ctypes.c_int32),
                ("score", ctypes.c_float)]


def _load() -> ctypes.CDLL:
    """Returns the library that lies beside this file."""
    library = ctypes.CDLL(str(pathlib.Path(__file__).with_name("libsti.so.0")))
    handle, out = ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)
    code, error = ctypes.c_int32, ctypes.POINTER(CError)
    text, size, size_out = ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t)
    ids, u64 = ctypes.POINTER(ctypes.c_uint32), ctypes.c_uint64
    for name, result, *takes in (
            ("sti_version", text),
            ("sti_host_new", code, ctypes.c_uint32, LOG, handle, out, error),
            ("sti_host_free", None, handle),
            ("sti_open", code, handle, text, out, error),
            ("sti_open_fd", code, handle, ctypes.c_int, u64, u64, out, error),
            ("sti_open_read", code, handle, READ_AT, handle, u64, out, error),
            ("sti_close", None, handle),
            ("sti_give", code, handle, ctypes.c_int32, text, size, error),
            ("sti_profile", code, handle, u64, text, size, size_out, error),
            ("sti_set", code, handle, ctypes.c_int32, ctypes.c_int64, error),
            ("sti_plan", code, handle, error),
            ("sti_wake", code, handle, error),
            ("sti_run", code, handle, text, size, text, size, error),
            ("sti_run_ids", code, handle, ids, size, error),
            ("sti_generate", code, handle, text, size, ctypes.c_uint32, TOKEN, handle, error),
            ("sti_run_image", code, handle, ctypes.c_void_p, size, error),
            ("sti_end_turns", code, handle, error),
            ("sti_trim", code, handle, u64, error),
            ("sti_cancel", code, handle),
            ("sti_label", ctypes.c_int32, handle, ctypes.c_uint32),
            ("sti_score", ctypes.c_double, handle, ctypes.c_int32),
            ("sti_vector", ctypes.c_uint32, handle, ctypes.POINTER(ctypes.c_float),
             ctypes.c_uint32),
            ("sti_text", size, handle, ctypes.c_char_p, size),
            ("sti_spans", ctypes.c_uint32, handle, ctypes.POINTER(CSpan), ctypes.c_uint32),
            ("sti_name", text, handle, ctypes.c_int32),
            ("sti_stat", ctypes.c_double, handle, ctypes.c_int32)):
        function = getattr(library, name)
        function.restype, function.argtypes = result, takes
    return library


library = _load()
