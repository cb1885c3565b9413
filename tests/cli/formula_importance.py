#!/usr/bin/env python3
"""Prints the importance of scripts/unchanged, which is a formula, for a container of a model.

Usage: formula_importance.py MODEL.sti MODEL_DIR METRIC      (sti-inspect is on the PATH)
"""
import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys

REPO = pathlib.Path(__file__).resolve().parent.parent.parent


def load_unchanged():
    loader = importlib.machinery.SourceFileLoader("unchanged", str(REPO / "scripts/unchanged"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("unchanged", loader))
    loader.exec_module(module)
    return module


def main():
    container, folder, metric = sys.argv[1:]
    described = subprocess.run(["sti-inspect", "--json", container], check=True,
                               capture_output=True, text=True).stdout
    digest = json.loads(described)["model"]
    importance = load_unchanged().importance(pathlib.Path(folder), digest)
    print(json.dumps(importance | {"metric": metric}))


if __name__ == "__main__":
    main()
