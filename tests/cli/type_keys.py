"""Types keys into an interactive shell on a terminal, as a user who completes words would.

Usage: type_keys.py bash|zsh|fish COMPLETION_FOLDER     in a folder that it may fill

Reads lines from stdin, in which \\t is the tab key, types each and Enter, and prints the words that
the tool would have been given, with one blank between them. The tools are functions of the shell
that note their words.
"""
import fcntl
import os
import pathlib
import pty
import select
import struct
import subprocess
import sys
import termios
import time

TOOLS = ["sti-shard", "sti-importance", "sti-profile", "sti-plan", "sti-run", "sti-inspect"]
PATIENCE_S = 20


def command_of(shell, folder, home):
    """Returns the command that starts the shell, and what the environment needs for it."""
    posix = "".join(f'{tool}() {{ echo "$*" >>"{home}/got"; }}\n' for tool in TOOLS)
    if shell == "bash":
        sources = "".join(f"source {folder}/bash/{tool}\n" for tool in TOOLS)
        (home / "rc").write_text(f"PS1='READY '\nbind 'set bell-style none'\n{sources}{posix}")
        return ["bash", "--noprofile", "--rcfile", home / "rc", "-i"], {"INPUTRC": "/dev/null"}
    if shell == "zsh":
        (home / ".zshrc").write_text(f"PROMPT='READY '\nsetopt nobeep\nfpath=({folder}/zsh $fpath)\n"
                                     f"autoload -Uz compinit\ncompinit -u -D\n{posix}")
        return ["zsh", "-d", "-i"], {"ZDOTDIR": str(home)}
    functions = "".join(f'function {tool}; echo "$argv" >>"{home}/got"; end\n' for tool in TOOLS)
    sources = "".join(f"source {folder}/fish/{tool}.fish\n" for tool in TOOLS)
    (home / "rc").write_text(f"function fish_prompt; echo -n 'READY '; end\n{functions}{sources}")
    return ["fish", "--no-config", "-i", "-C", f"source {home}/rc"], {}


def read_until(terminal, done):
    """Reads what the terminal shows until done(what was shown); ends the test after a while."""
    shown = b""
    end = time.monotonic() + PATIENCE_S
    while not done(shown):
        if time.monotonic() > end:
            sys.exit(f"type_keys: the shell hangs; it showed {shown!r}")
        if select.select([terminal], [], [], 0.01)[0]:
            shown += os.read(terminal, 65536)


def main():
    shell, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    home = pathlib.Path("home").resolve()
    home.mkdir(exist_ok=True)
    got = home / "got"
    got.write_text("")
    command, more = command_of(shell, folder, home)
    terminal, other_end = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "xterm",
                   "LC_ALL": "C.UTF-8", **more}
    with subprocess.Popen(command, stdin=other_end, stdout=other_end, stderr=other_end,
                          env=environment, start_new_session=True,
                          preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) as process:
        os.close(other_end)
        try:
            read_until(terminal, lambda shown: b"READY" in shown)
            for keys in sys.stdin.read().splitlines():
                before = len(got.read_text().splitlines())
                os.write(terminal, (keys.replace("\\t", "\t") + "\r").encode())
                read_until(terminal, lambda shown, before=before:
                           len(got.read_text().splitlines()) > before and
                           b"READY" in shown.rpartition(b"\n")[2])
                print(got.read_text().splitlines()[-1])
        finally:
            process.kill()


main()
