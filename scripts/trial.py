"""Runs the built tools for scripts/stress and scripts/walk-run, which stop at the first thing that is
wrong."""

import os
import pathlib
import subprocess

REPO = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(os.environ.get("STI_BIN", REPO / "build/bin")).resolve()
EXAMPLE = REPO / "examples/voice-intents"
PATIENCE_S = 120


class Wrong(Exception):
    pass


def expect(true, what):
    if not true:
        raise Wrong(what)


def command(tool, *arguments):
    # A script's background jobs ignore SIGINT, a nohup SIGHUP: here neither is.
    return ["env", "--default-signal", str(BIN / tool), *map(str, arguments)]


def run(tool, *arguments, **more):
    done = subprocess.run(command(tool, *arguments), capture_output=True, timeout=PATIENCE_S, **more)
    expect(done.returncode == 0, f"{tool}: exit {done.returncode}: {done.stderr.decode()}")
    return done.stdout
