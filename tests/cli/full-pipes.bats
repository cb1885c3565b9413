# Signals that come while nobody reads what a tool writes: each line is whole and in order, whatever
# comes, and a second signal that asks to end does so at once.
load helpers

# COUNT: as many different inputs, whose answers are long.
inputs() {
  local i word=" and then some"
  for ((i = 0; i < 6; ++i)); do word+=$word; done
  for ((i = 0; i < $1; ++i)); do echo "input $i$word"; done
}

setup() {
  make_links
  inputs 50 >lines
  export PYTHONUTF8=1
}

full_pipe() { timeout 100 python3 "$repo/tests/cli/full_pipe.py" "$@"; }

# CODE LEAST: the exit code was that, and answers, whose last line is whole, are those of the first
# inputs, at least so many.
whole_answers() {
  same "$code" "$1"
  same "$(tail -c 1 answers)" ""
  cut -f 3 answers | sed 's/ \[truncated\]$//' >texts
  [ "$(wc -l <texts)" -ge "$2" ]
  head -n "$(wc -l <texts)" lines | cmp - texts
}

@test "SIGHUP under a full pipe cuts no line, in text and in JSON" {
  for option in -q "-q --json"; do
    code=0
    # shellcheck disable=SC2086
    full_pipe HUP,HUP,HUP sti-run $option model.sti --plan model.plan <lines >answers 2>errors || code=$?
    if [ "$option" != -q ]; then
      jq -r '[.label, 0, .text] | @tsv' answers >table
      mv table answers
    fi
    whole_answers 0 50
  done
}

@test "SIGHUP under a full pipe with --replan, too" {
  sti-plan -q model.sti --profile device.json --target 1s -o slow.plan
  code=0
  full_pipe HUP,HUP sti-run -q --json model.sti --plan slow.plan --replan device.json <lines >json \
    2>errors || code=$?
  jq -r '[.label, 0, .text] | @tsv' json >answers
  whole_answers 0 50
}

@test "SIGTERM and SIGINT end after the line at hand, which is whole" {
  code=0
  full_pipe TERM sti-run -q model.sti --plan model.plan <lines >answers 2>errors || code=$?
  whole_answers 143 1
  same "$(cat errors)" ""
  [ "$(wc -l <answers)" -lt 50 ]
  code=0
  full_pipe INT env --default-signal=INT sti-run -q --json model.sti --plan model.plan <lines >json \
    2>errors || code=$?
  jq -r '[.label, 0, .text] | @tsv' json >answers
  whole_answers 130 1
  same "$(cat errors)" ""
}

@test "a second signal that asks to end does so at once, also where nobody reads" {
  for signals in TERM,TERM:143 INT,INT:130 TERM,INT:130 HUP,TERM:143; do
    code=0
    full_pipe --deaf "${signals%:*}" env --default-signal=INT sti-run -q model.sti <lines ||
      code=$?
    same "$signals $code" "$signals ${signals#*:}"
  done
}

@test "several models: no line is cut, and a second SIGTERM ends at once" {
  sed 's/^/m\t/' lines >named
  code=0
  full_pipe TERM sti-run -q --model m=model.sti,model.plan <named >answers 2>errors || code=$?
  same "$(tail -c 1 answers)" ""
  cut -f 2- answers >of-one
  mv of-one answers
  whole_answers 143 1
  code=0
  full_pipe --deaf TERM,TERM sti-run -q --model m=model.sti,model.plan <named || code=$?
  same "$code" 143
}

@test "sti-inspect --tokenize too" {
  code=0
  full_pipe TERM sti-inspect --tokenize model.sti <lines >json 2>errors || code=$?
  jq -r '[0, 0, .text] | @tsv' json >answers
  whole_answers 143 1
  same "$(cat errors)" ""
}

@test "one long answer is written whole, whatever comes" {
  sti-plan --json model.sti --profile device.json --sweep >whole
  [ "$(stat -c %s whole)" -gt 8192 ]
  code=0
  full_pipe TERM sti-plan --json model.sti --profile device.json --sweep >answers || code=$?
  same "$code" 143
  cmp answers whole
}

@test "a pipe that somebody else made one that never waits is waited for" {
  code=0
  python3 - <<'P' >answers || code=$?
import fcntl, os, subprocess, time
read, write = os.pipe()
fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
fcntl.fcntl(write, fcntl.F_SETFL, os.O_NONBLOCK)
with open("lines") as lines:
    process = subprocess.Popen(["sti-run", "-q", "model.sti", "--plan", "model.plan"], stdin=lines,
                               stdout=write)
os.close(write)
time.sleep(1)
while chunk := os.read(read, 1 << 16):
    os.write(1, chunk)
raise SystemExit(process.wait())
P
  whole_answers 0 50
}
