"""Watches whether the device's core is as fast as it was when it was profiled. What a cell's inputs
took has no part in the judgement, so that measuring again on its grounds favours no result."""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

WITHIN = 0.03  # share that the median of fixed work may differ from what it was
# Beyond so much more than usual a piece of work was disturbed. Interrupts, which a device that reads
# has too, take some 20 us.
SLOW_US = 50
DISTURBED = 0.01  # share of pieces of work that may be
STOLEN = 0.002  # share of all cores' time that the hypervisor may take
NOT_WATCHED = "not watched"

# Does the same work 20 times a second at the highest priority, on the cores of its parent, and
# writes what each piece took in us. A piece that is not timed comes before it, as caches are cold
# from what was measured: half of a single piece's time was theirs. Some 40 us each, together a
# fifth of a percent of the core.
WORK = """
import hashlib, os, sys, time
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
except PermissionError:
    sys.exit()
data = bytes(65536)
while True:
    time.sleep(0.05)
    hashlib.sha256(data)
    begin = time.perf_counter()
    hashlib.sha256(data)
    print((time.perf_counter() - begin) * 1e6, flush=True)
"""


def stolen_s():
    """Returns the time that the hypervisor has taken from all cores, in seconds."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


class Watch:
    """Fixed work that is done again and again during a block, on the cores of this process."""

    def __enter__(self):
        self.seen = tempfile.TemporaryFile("w+")
        self.begin = os.times().elapsed
        self.stolen = stolen_s()
        self.process = subprocess.Popen([sys.executable, "-c", WORK], stdout=self.seen)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        elapsed = os.times().elapsed - self.begin
        self.stolen = (stolen_s() - self.stolen) / (elapsed * os.cpu_count())
        self.seen.seek(0)
        self.took_us = [float(line) for line in self.seen if line.endswith("\n")]
        self.seen.close()

    def median_us(self):
        """Returns what the work took; None where it could not be watched."""
        return statistics.median(self.took_us) if self.took_us else None

    def has_drifted(self, usual_us):
        """Returns whether the core is faster or slower than when the work took `usual_us`."""
        return abs(self.median_us() / usual_us - 1) > WITHIN

    def disturbance(self, usual_us):
        """Returns why the core was not as steady as when the work took `usual_us`; else ""."""
        if not self.took_us or usual_us is None:
            return NOT_WATCHED
        slow = sum(t > usual_us + SLOW_US for t in self.took_us) / len(self.took_us)
        if self.has_drifted(usual_us):
            return f"{self.median_us() / usual_us:.2f} times as slow"
        if slow > DISTURBED:
            return f"disturbed {slow:.1%} of the time"
        return f"{self.stolen:.1%} stolen" if self.stolen > STOLEN else ""
