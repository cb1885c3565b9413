"""Limits of what processes may have, by control groups, and a process that outlives an experiment,
however it ends, and puts back what it set."""
import pathlib
import subprocess

QUOTA_PERIOD_US = 10_000


class Limits:
    """Control groups, of version 1 or 2, with a limit of memory and, if asked, of cores (such as
    0.4); what cannot be had is said and left out."""

    def __init__(self, name, say, memory_bytes=None, cores=None,
                 root=pathlib.Path("/sys/fs/cgroup")):
        self.say = say
        self.folders = []      # of groups that were made
        self.switched_on = []  # files of version 2 and controllers in them that were off
        self.root = root
        self.v1 = (root / "memory").is_dir()
        if memory_bytes is not None:
            self.limit(name, "memory", f"{memory_bytes / 2**20:.0f} MiB of memory",
                       {"memory.limit_in_bytes" if self.v1 else "memory.max":
                        str(int(memory_bytes))})
        if cores is not None:
            quota_us = round(cores * QUOTA_PERIOD_US)
            self.limit(name, "cpu", f"{cores:g} cores",
                       {"cpu.cfs_period_us": str(QUOTA_PERIOD_US),
                        "cpu.cfs_quota_us": str(quota_us)}
                       if self.v1 else {"cpu.max": f"{quota_us} {QUOTA_PERIOD_US}"})

    def limit(self, name, controller, what, values):
        """Sets values of a controller in the group of this name; removes a group that it made if
        they cannot be set."""
        folder = (self.root / controller if self.v1 else self.root) / name
        made = False
        try:
            if not self.v1:
                self.switch_on(controller)
            if folder not in self.folders:
                folder.mkdir()
                made = True
            for file, value in values.items():
                (folder / file).write_text(value)
            if made:
                self.folders.append(folder)
        except OSError as error:
            self.say(f"not set: {what}: {error.strerror}")
            if made:
                folder.rmdir()

    def switch_on(self, controller):
        control = self.root / "cgroup.subtree_control"
        if controller not in control.read_text(encoding="utf-8").split():
            control.write_text(f"+{controller}", encoding="utf-8")
            self.switched_on.append(f"{controller}:{control}")

    def joins(self):
        """Returns the commands of a shell, ended by &&, by which it enters the groups."""
        return "".join(f'echo $$ >"{folder}/cgroup.procs" && ' for folder in self.folders)


# Waits for the end of its input; then ends the process groups named there, removes the folder $1 and
# the control groups named behind it, each with what is still in it after a second, and switches
# controllers off again, CONTROLLER:FILE each, which stand behind a --.
WATCH = """
read -r processes
cat >/dev/null
for process in $processes; do kill -TERM "-$process" 2>/dev/null; done
folder=$1
shift
for attempt in $(seq 150); do
  left=
  for group; do
    [ "$group" != -- ] || break
    if rmdir "$group" 2>/dev/null || [ ! -d "$group" ]; then continue; fi
    left=yes
    if [ "$attempt" -gt 50 ]; then kill -KILL $(cat "$group/cgroup.procs") 2>/dev/null; fi
  done
  [ -n "$left" ] || break
  sleep 0.02
done
rm -rf "$folder"
while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done
[ $# -eq 0 ] || shift
for on; do echo "-${on%%:*}" >"${on#*:}"; done
"""


class Watch:
    """A process that outlives this one, however this one ends, and then removes the groups of these
    limits and a folder."""

    def __init__(self, limits, folder):
        groups = [str(group) for limit in limits for group in limit.folders]
        switched = [on for limit in limits for on in limit.switched_on]
        self.process = subprocess.Popen(
            ["sh", "-c", WATCH, "sti-device-watch", str(folder), *groups, "--", *switched],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)

    def tell(self, processes=""):
        """Says which process groups there are to end."""
        self.process.stdin.write(f"{processes}\n".encode())
        self.process.stdin.flush()

    def finish(self):
        self.process.stdin.close()
        self.process.wait()
