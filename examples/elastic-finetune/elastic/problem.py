"""The one error that these programs report: a line that says what, where and what to do next."""

import contextlib
import sys
from collections.abc import Iterator


class Problem(Exception):
    """Something that whoever started a program can mend. Its text is one line."""


@contextlib.contextmanager
def reported(program: str) -> Iterator[None]:
    """Ends the process with one line on stderr, and no trace of the stack, if there is a Problem."""
    try:
        yield
    except Problem as problem:
        sys.exit(f"{program}: {problem}")
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        sys.exit(f"{program}: {where}{error.strerror or error}")
    except KeyboardInterrupt:
        sys.exit(f"{program}: interrupted; a training goes on with --resume")
