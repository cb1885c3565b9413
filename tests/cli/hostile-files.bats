# Memory that files take: whatever a file of at most 1 MB says, no tool takes 300 MB for it.
load helpers

setup() {
  skip_if_sanitized "memory means nothing under a sanitizer"
  make_links
}

# Gives files to commands: give COMMAND... -- FILE...; each @ of a command is the file. Each ends with
# 0 or with a refusal, in one line, and in less than 300 MB of memory.
give() {
  python3 - "$@" <<'END'
import os, subprocess, sys

command, files = sys.argv[1:sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1:]
for file in files:
    words = [word.replace("@", file) for word in command]
    with open("said", "wb") as said, open(os.devnull, "wb") as nothing:
        tool = subprocess.Popen(words, stdout=nothing, stderr=said)
        _, status, used = os.wait4(tool.pid, 0)
    code, peak = os.waitstatus_to_exitcode(status), used.ru_maxrss * 1024
    said = open("said", "rb").read()
    refusals = [line for line in said.splitlines() if b"warning" not in line]
    if code not in (0, 2, 3) or (code != 0) != (len(refusals) == 1) or len(said) > 8192 or peak >= 300e6:
        sys.exit(f"{' '.join(words)}: exit {code}, {peak / 1e6:.0f} MB, {said[:2000]}")
END
}

@test "no small file of 1 MB takes 300 MB, whatever it says" {
  mkdir files
  "$STI_BIN/../tests/hostile-files" files >names
  same "$(wc -l <names)" "$(ls files | wc -l)"
  cd files
  ln -s ../model.sti ../device.json ../model.importance ../model.plan .
  give sti-inspect @ -- $(<../names)
  give sti-inspect --json @ -- $(<../names)
  give sti-inspect --verify @ -- $(<../names)
  give sti-plan model.sti --profile @ --target 12ms -- *.profile *.profile.json
  give sti-plan model.sti --profile device.json --importance @ --target 12ms -- *s.importance *.importance.json
  give sti-plan model.sti --profile device.json --check @ -- *s.plan *.plan.json
  give sti-run model.sti --plan @ text -- *s.plan *.plan.json
  give sti-importance show @ -- *s.importance *.importance.json
  give sti-importance merge @ -o merged -- *.part
  give sti-profile merge @ device.json -o merged.profile -- *.profile *.profile.json
  give sti-shard ../model --for @ -o for.sti -- *s.plan
}

@test "the JSON of an importance of 64 MiB takes less than 300 MB" {
  "$STI_BIN/../tests/hostile-files" --large large.importance
  [ "$(stat -c %s large.importance)" -gt 60000000 ]
  give sti-inspect --verify @ -- large.importance
  give sti-inspect --json @ -- large.importance
}
