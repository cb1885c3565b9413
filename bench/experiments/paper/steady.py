"""Watches the device while inputs are measured on it: whether its core is as fast as it was when it
was profiled, and which inputs the machine below it has disturbed. What inputs took has no part in
either judgement."""
import bisect
import os
import pathlib
import signal
import statistics
import subprocess
import tempfile

from harness import BUILD

WITHIN = 0.06  # share that the median of fixed work may differ from what it was
PERIOD_US = 2000  # of the watch; a time takes some 15 us, under a hundredth of the core
# A core on which a thread of the highest priority wakes so late was given to nobody; interrupts,
# which a device that reads has too, take some 20 us.
PAUSE_US = 300
# Where another hardware thread shares the core, all its work takes so many times as long.
SHARED = 1.15
# Such a moment is told by one look at it and may be as much as a period longer on either side.
AROUND_S = PERIOD_US / 1e6


def stolen_s():
    """Returns the time that the hypervisor has taken from all cores, in seconds."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def times_of(lines):
    """Returns the numbers of each line, when it is whole."""
    return [tuple(map(float, line.split())) for line in lines if line.endswith("\n")]


class Watch:
    """bench/core-watch on the cores of this process during a block."""

    def __enter__(self):
        self.seen = tempfile.NamedTemporaryFile("r")
        self.process = subprocess.Popen(
            [BUILD / "bench/core-watch", "-o", self.seen.name, str(PERIOD_US)],
            stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.judge(times_of(self.seen), late_answers())
        self.seen.close()

    def judge(self, times, late):
        """Finds the moments at which the machine disturbed the device: from times of the watch (due,
        late by, work took) and from answers of the flash (due, late by); in seconds and us."""
        self.work_us = [work_us for _, _, work_us in times]
        usual_us = statistics.median(self.work_us) if times else 0
        spans = [(due, due + late_us / 1e6) for due, late_us, _ in times if late_us > PAUSE_US]
        spans += [(due - AROUND_S, due + AROUND_S) for due, _, work_us in times
                  if work_us > SHARED * usual_us]
        spans += [(due, due + late_us / 1e6) for due, late_us in late]
        # Sorted by begin and joined where they overlap, so that ends are sorted too.
        self.spans = []
        for begin, end in sorted(spans):
            if self.spans and begin <= self.spans[-1][1]:
                self.spans[-1] = (self.spans[-1][0], max(end, self.spans[-1][1]))
            else:
                self.spans.append((begin, end))

    def median_us(self):
        """Returns what the work took; None where it could not be watched."""
        return statistics.median(self.work_us) if self.work_us else None

    def has_disturbed(self, begin, end):
        """Returns whether the machine disturbed what was done between two times of the monotonic
        clock; None where it could not be watched."""
        if not self.work_us:
            return None
        after = self.first_after(begin)
        return after < len(self.spans) and self.spans[after][0] <= end

    def share_disturbed(self, begin, end):
        """Returns the share of the time between two times of the monotonic clock in which the machine
        disturbed the device; 0 where it could not be watched."""
        disturbed_s = 0
        for since, until in self.spans[self.first_after(begin):]:
            if since >= end:
                break
            disturbed_s += min(end, until) - max(begin, since)
        return disturbed_s / (end - begin)

    def first_after(self, begin):
        """Returns the number of the first moment that ends at this time or later."""
        return bisect.bisect_left(self.spans, begin, key=lambda span: span[1])


def late_answers():
    """Returns the answers that the device's flash has given late: when due, and how late in us."""
    path = os.environ.get("STI_DEVICE_LATE")
    return times_of(pathlib.Path(path).read_text().splitlines(keepends=True)) if path else []


def has_drifted(slower):
    """Returns whether a core that takes so many times as long is no longer the one profiled."""
    return slower is not None and abs(slower - 1) > WITHIN
