"""Paths, the built tools, and figures of what they take: what experiments share."""
import json
import math
import os
import pathlib
import subprocess

REPO = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("STI_BUILD", REPO / "build"))
SHARED = pathlib.Path(os.environ.get("STI_SHARED", REPO.parent / "shared"))
EXAMPLE = REPO / "examples/voice-intents"
SLOW_FLASH = REPO / "tests/support/slow-flash"


def tool(name, *arguments):
    """Returns the command that runs a built tool."""
    return [str(BUILD / "bin" / name), *map(str, arguments)]


def made(name, *arguments):
    """Runs a tool that prints JSON, and returns it."""
    done = subprocess.run(tool(name, *arguments), check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def listed(text):
    """The parts of an option's value that have commas between them; none of no value."""
    return [part for part in (text or "").split(",") if part]


def percentile(values, share):
    """Returns the least value that so large a share of all does not exceed: the nearest rank, as the
    tools count percentiles."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
