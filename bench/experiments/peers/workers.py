"""Engines in processes of their own, which are stopped while it is not their turn."""

import ctypes
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile

from cold import status_bytes

HERE = os.path.dirname(os.path.abspath(__file__))
TITLES = {"sti": "sti-run", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


class EngineError(Exception):
    """An engine or a tool does not run; says which and why."""


def run_text(command, cpus=None):
    place = (lambda: os.sched_setaffinity(0, cpus)) if cpus else None
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=place, check=False)
    if done.returncode != 0:
        why = done.stderr.strip().splitlines() or ["no message"]
        raise EngineError(f"{command[0]} failed: {why[-1]}")
    return done.stdout


class Worker:
    """An engine in a stopped process; `burst` wakes it for one turn."""

    def __init__(self, key, command, cpus):
        def place():
            os.sched_setaffinity(0, cpus)
            # A stopped process would outlive us for ever.
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

        self.key = key
        self.complaints = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.complaints,
            text=True, preexec_fn=place)

    def line(self):
        text = self.process.stdout.readline()
        if not text:
            raise self.ended()
        return json.loads(text)

    def send(self, text):
        try:
            self.process.stdin.write(text)
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise self.ended() from error

    def ended(self):
        self.process.wait()
        self.complaints.seek(0)
        why = self.complaints.read().strip().splitlines() or ["no message"]
        return EngineError(f"{TITLES[self.key[0]]} {self.key[1]} ended: {why[-1]}")

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def wake(self):
        self.process.send_signal(signal.SIGCONT)

    def peak_bytes(self):
        return status_bytes("VmHWM", self.process.pid)

    def close(self):
        self.wake()
        self.process.stdin.close()
        self.process.wait()
        self.complaints.close()


class Peer(Worker):
    def __init__(self, engine, precision, folder, options, threads, cpus):
        model = os.path.join(folder, "int8.onnx" if precision == "int8" else "fp32.onnx")
        super().__init__((engine, precision), [
            sys.executable, os.path.join(HERE, "engine.py"), "--engine", engine,
            "--precision", precision, "--model", model, "--threads", str(threads),
            "--lengths", ",".join(map(str, options.lengths))], cpus)

    def ready(self):
        self.about = self.line()
        self.stop()

    def burst(self, ids, count):
        self.wake()
        self.send(json.dumps({"ids": ids, "count": count}) + "\n")
        answer = self.line()
        self.stop()
        return {"us": statistics.median(answer["us"]), "output": answer["output"]}


class Ours(Worker):
    """sti-run. What it waits for embedding rows, which come from the page cache and which peers
    have in memory, is told apart and not counted; reading the ids from text is counted. What its
    last layer saves by computing the first token only is told, so that layers can be compared."""

    def __init__(self, precision, container, plan, options, threads, cpus, name=None):
        chosen = ["--compute", precision] if options.has_compute else []
        super().__init__(("sti", name or precision), [
            "sti-run", "-q", "--json", "--ids", "--io", "buffered", "--threads", str(threads),
            *chosen, container, "--plan", plan], cpus)
        self.about = {"version": options.sti_version, "precision": precision, "threads": threads}

    def ready(self):
        self.burst([1, 2, 3], 1)

    @staticmethod
    def saved(layers):
        times = [layer["compute_us"] for layer in layers]
        return statistics.median(times[:-1]) - times[-1] if len(times) > 1 else 0

    def burst(self, ids, count):
        text = " ".join(map(str, ids)) + "\n"
        self.wake()
        answers = []
        for _ in range(1 + count):
            self.send(text)
            answers.append(self.line())
        self.stop()
        answers = answers[1:]
        return {"us": statistics.median(a["latency_us"] - a["stall_us"] for a in answers),
                "stall_us": statistics.median(a["stall_us"] for a in answers),
                "saved_us": statistics.median(self.saved(a["layers"]) for a in answers),
                "output": answers[-1].get("logits") or answers[-1]["embedding"]}
