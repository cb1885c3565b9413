"""Runs a command whose stdout nobody reads, sends it signals once the pipe is full, then copies what
it writes. Exits as the command does, 128 and the signal's number where one killed it.
Usage: full_pipe.py [--deaf] SIGNAL,SIGNAL... COMMAND...      --deaf: nobody ever reads"""

import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
import time


def held(pipe):
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]


def wait_until_full(process):
    """Until nothing more has come for a while, or the process has ended."""
    before, same = -1, 0
    while same < 15 and process.poll() is None:
        now = held(process.stdout)
        same = same + 1 if now == before and now > 0 else 0
        before = now
        time.sleep(0.02)


def main():
    arguments = sys.argv[1:]
    deaf = arguments[0] == "--deaf"
    if deaf:
        arguments.pop(0)
    signals = [signal.Signals["SIG" + name] for name in arguments[0].split(",")]
    process = subprocess.Popen(arguments[1:], stdout=subprocess.PIPE, pipesize=4096)
    wait_until_full(process)
    for number in signals:
        process.send_signal(number)
        time.sleep(0.1)
    if not deaf:
        while chunk := os.read(process.stdout.fileno(), 1 << 16):
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
    code = process.wait()
    sys.exit(code if code >= 0 else 128 - code)


main()
