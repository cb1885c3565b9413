"""Watches whether the device's core is as fast as it was when it was profiled. What a cell's inputs
took has no part in the judgement, so that measuring again on its grounds favours no result."""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

WITHIN = 0.04  # share that the median of fixed work may differ from what it was
# Beyond so much more than usual a piece of work was disturbed. Interrupts, which a device that reads
# has too, take some 20 us.
SLOW_US = 50
DISTURBED = 0.01  # share of pieces of work that may be
# Where another thread shares the core, all its work takes so many times as long as usual.
SHARED = (1.1, 1.5)
SHARED_TIME = 0.05  # share of pieces of work for which it may
STOLEN = 0.002  # share of all cores' time that the hypervisor may take
BY_CHANCE = 2  # pieces of work
LATE = 0.02  # answers of the flash that may come late, for an input
NOT_WATCHED = "not watched"

# Does the same work 20 times a second at the highest priority, on the cores of its parent, and
# writes what each piece took in us. It looks 65,536 bytes up in a table, which like a layer is
# bound by how much the core does at once: where another thread shares the core, both slow down. A
# piece that is not timed comes before it, as caches are cold from what was measured. Both take some
# 50 us, together a tenth of a percent of the core.
WORK = """
import os, sys, time
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
except PermissionError:
    sys.exit()
data = bytes(65536)
table = bytes(range(256))
while True:
    time.sleep(0.05)
    data.translate(table)
    begin = time.perf_counter()
    data.translate(table)
    print((time.perf_counter() - begin) * 1e6, flush=True)
"""


def stolen_s():
    """Returns the time that the hypervisor has taken from all cores, in seconds."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def late_answers():
    """Returns how many answers the device's flash has given late."""
    path = os.environ.get("STI_DEVICE_LATE")
    return int(pathlib.Path(path).read_text() or 0) if path else 0


class Watch:
    """Fixed work that is done again and again during a block, on the cores of this process."""

    def __enter__(self):
        self.seen = tempfile.TemporaryFile("w+")
        self.begin = os.times().elapsed
        self.stolen = stolen_s()
        self.late = late_answers()
        self.process = subprocess.Popen([sys.executable, "-c", WORK], stdout=self.seen)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        elapsed = os.times().elapsed - self.begin
        self.stolen = (stolen_s() - self.stolen) / (elapsed * os.cpu_count())
        self.late = late_answers() - self.late
        self.seen.seek(0)
        self.took_us = [float(line) for line in self.seen if line.endswith("\n")]
        self.seen.close()

    def median_us(self):
        """Returns what the work took; None where it could not be watched."""
        return statistics.median(self.took_us) if self.took_us else None

    def share_between(self, least_us, most_us):
        """Returns the share of pieces that took so long; 0 of what may be chance."""
        count = sum(least_us < t < most_us for t in self.took_us)
        return count / len(self.took_us) if count > BY_CHANCE else 0

    def has_drifted(self, usual_us):
        """Returns whether the core is faster or slower than when the work took `usual_us`."""
        return abs(self.median_us() / usual_us - 1) > WITHIN

    def disturbance(self, usual_us, inputs=0):
        """Returns why the device was not as steady as when the work took `usual_us`; else "". Of
        the flash's answers to no inputs any may be late."""
        if not self.took_us or usual_us is None:
            return NOT_WATCHED
        slow = self.share_between(usual_us + SLOW_US, float("inf"))
        shared = self.share_between(*(times * usual_us for times in SHARED))
        if self.has_drifted(usual_us):
            return f"{self.median_us() / usual_us:.2f} times as slow"
        if slow > DISTURBED:
            return f"disturbed {slow:.1%} of the time"
        if shared > SHARED_TIME:
            return f"the core shared {shared:.1%} of the time"
        if inputs and self.late > LATE * inputs:
            return f"the flash late {self.late} times"
        return f"{self.stolen:.1%} stolen" if self.stolen > STOLEN else ""
