# sti-run --replan: when the device changes, or the plan file, it goes on under another plan.
load helpers

# 40 inputs, each as long as the plan allows or longer.
full_length_texts() {
  local text i
  text=$(printf "$alarm %.0s" {1..14})
  for ((i = 0; i < 40; ++i)); do echo "$text"; done
}

# FACTOR: the shared device with layers that take so much of its time.
layers_at() {
  jq --argjson factor "$1" '.compute[].layer_us *= $factor | .fixed[] |= (.embed_us *= $factor | .head_us *= $factor)' device.json
}

plan() { sti-plan -q model.sti --importance model.importance "$@"; }

# Starts sti-run, which is told to go on by lines on descriptor 7.
start() {
  mkfifo lines
  sti-run --json model.sti --plan in-force.json "$@" <lines >answers 2>errors &
  process=$!
  exec 7>lines
}

finish() {
  exec 7>&-
  wait "$process"
}

depth_of() { sed -n "$1p" answers | jq '.layers | length'; }

@test "layers that take far longer than planned: another plan, and it is said" {
  layers_at 0.05 >fast.json
  plan --profile fast.json --target 2s -o fast.plan
  full_length_texts >texts
  run --separate-stderr sti-run --json model.sti --plan fast.plan --replan fast.json \
    --importance model.importance <texts
  same "$status" 0
  same "${#lines[@]}" 40
  like "$(grep 'planned again' <<<"$stderr" | head -n 1)" "sti-run: *layers take * times what the profile says*: planned again, *x* at * bits, * bytes preloaded, * ms of 2000.000 ms"
  run grep -c "profile this device again" <<<"$stderr"
  same "$output" 0
  # -q leaves nothing, but the answers are the same.
  works sti-run -q --json model.sti --plan fast.plan --replan fast.json <texts
  same "$stderr" ""
}

@test "where no plan can be had the old one stays, which is said and not repeated" {
  layers_at 0.00001 >fast.json
  # Rows take most of it: no layers that really run fit into the rest.
  plan --profile fast.json --target 210us --preload 10MiB -o fast.plan
  full_length_texts >texts
  run --separate-stderr sti-run --json model.sti --plan fast.plan --replan fast.json <texts
  same "$status" 0
  same "${#lines[@]}" 40
  same "$(jq -s '[.[].layers | length] | unique == [(.[0])]' -c <<<"$output")" true
  like "$stderr" "*sti-run: warning: *layers take * times what the profile says*: the plan stays, since there is no other: *no plan meets *"
  [ "$(grep -c 'the plan stays' <<<"$stderr")" -lt 8 ]
}

@test "on SIGHUP the plan file is read again, between inputs" {
  plan --profile device.json --target 60ms --submodel 6x6 -o in-force.json
  plan --profile device.json --target 60ms --submodel 3x6 -o next.json
  start --replan device.json
  echo "$alarm" >&7
  await_answers 1
  mv next.json in-force.json
  kill -HUP "$process"
  echo "$alarm" >&7
  await_answers 2
  # Nothing of a plan can be used: the one in force stays.
  echo "{" >in-force.json
  kill -HUP "$process"
  echo "$alarm" >&7
  await_answers 3
  finish
  same "$(depth_of 1) $(depth_of 2) $(depth_of 3)" "6 3 3"
  same "$(without_lateness <errors | wc -l)" 2
  like "$(cat errors)" "*sti-run: in-force.json: read again*"
  like "$(cat errors)" "*sti-run: warning: in-force.json: *; the plan in force stays*"
}

@test "SIGHUP while it waits, and then the end of the lines" {
  plan --profile device.json --target 60ms --submodel 6x6 -o in-force.json
  start --replan device.json
  echo "$alarm" >&7
  await_answers 1
  kill -HUP "$process"
  for _ in {1..400}; do
    grep -q "read again" errors && break
    sleep 0.05
  done
  finish
  same "$(without_lateness <errors)" "sti-run: in-force.json: read again"
}

@test "SIGHUP while the model is opened is for the plan file, and ends nothing" {
  mkfifo lines
  local process time
  for time in 1 2 3 4 5; do
    env --default-signal=HUP sti-run --json model.sti --plan model.plan <lines >answers 2>errors &
    process=$!
    exec 4>lines
    until find "/proc/$process/fd" -lname '*/model.sti' 2>/dev/null | grep -q .; do
      kill -0 "$process"
    done
    kill -HUP "$process"
    echo "$alarm" >&4
    exec 4>&-
    wait "$process"
    same "$(wc -l <answers)" 1
    grep -q 'model.plan: read again' errors
  done
}

@test "SIGHUP that comes with a line counts for that line already" {
  plan --profile device.json --target 60ms --submodel 6x6 -o in-force.json
  plan --profile device.json --target 60ms --submodel 3x6 -o next.json
  for replan in "" "--replan device.json"; do
    cp in-force.json first.json
    # shellcheck disable=SC2086
    start $replan
    echo "$alarm" >&7
    await_answers 1
    cp next.json in-force.json
    kill -STOP "$process"
    kill -HUP "$process"
    echo "$alarm" >&7
    kill -CONT "$process"
    await_answers 2
    finish
    same "$(depth_of 1) $(depth_of 2)" "6 3"
    mv first.json in-force.json
    rm lines
  done
}

@test "a plan for another model, or without a target, is not taken on SIGHUP" {
  make_other_model
  plan --profile device.json --target 60ms --submodel 6x6 -o in-force.json
  sti-plan -q other.sti --profile device.json --target 60ms -o foreign.json
  jq 'del(.target_us)' in-force.json >aimless.json
  start --replan device.json
  echo "$alarm" >&7
  await_answers 1
  cp foreign.json in-force.json
  kill -HUP "$process"
  echo "$alarm" >&7
  await_answers 2
  cp aimless.json in-force.json
  kill -HUP "$process"
  echo "$alarm" >&7
  await_answers 3
  finish
  same "$(depth_of 3)" 6
  like "$(cat errors)" "*warning: in-force.json: *model*; the plan in force stays*"
  like "$(cat errors)" "*warning: in-force.json: the plan has no target*; the plan in force stays*"
}

@test "on SIGHUP the plan file is read again without --replan too; what does not fit leaves the old" {
  plan --profile device.json --target 60ms --submodel 6x6 -o in-force.json
  plan --profile device.json --submodel 3x6 -o next.json # without a target
  make_other_model
  sti-plan -q other.sti --profile device.json --target 60ms -o foreign.json
  start
  echo "$alarm" >&7
  await_answers 1
  mv next.json in-force.json
  kill -HUP "$process"
  echo "$alarm" >&7
  await_answers 2
  local answered=2
  for bad in foreign.json dev.tsv none; do
    rm in-force.json
    if [ $bad != none ]; then cp $bad in-force.json; fi
    kill -HUP "$process"
    echo "$alarm" >&7
    await_answers $((++answered))
  done
  finish
  same "$(wc -l <answers)" 5
  same "$(for n in 1 2 3 4 5; do depth_of $n; done | xargs)" "6 3 3 3 3"
  like "$(cat errors)" "*sti-run: in-force.json: read again*"
  same "$(grep -c 'warning: in-force.json: .*; the plan in force stays$' errors)" 3
}

@test "SIGHUP at a terminal, or where no plan is named, ends the run with 129" {
  python3 - <<'P'
import os, pty, signal, subprocess, time
terminal, stdin = pty.openpty()
for options, where in (["--plan", "model.plan"], stdin), ([], subprocess.PIPE):
    process = subprocess.Popen(["env", "--default-signal=HUP", "sti-run", "-q", "model.sti", *options],
                               stdin=where, stdout=subprocess.PIPE)
    os.write(terminal if where == stdin else process.stdin.fileno(), b"hello\n")
    assert process.stdout.readline().endswith(b"\thello\n")
    process.send_signal(signal.SIGHUP)
    assert process.wait() == 129, process.returncode
P
}

@test "an evaluation follows the device too" {
  layers_at 0.05 >fast.json
  plan --profile fast.json --target 2s -o fast.plan
  { echo $'sentence\tlabel'; full_length_texts | sed $'s/$/\talarm/'; } >long.tsv
  run --separate-stderr sti-run --json model.sti --plan fast.plan --replan fast.json --eval long.tsv
  same "$status" 0
  like "$stderr" "*planned again, *"
}

@test "memory that is bounded is bounded under the next plan too" {
  skip_if_sanitized "memory means nothing under sanitizers"
  layers_at 0.05 >fast.json
  plan --profile fast.json --target 2s --preload 1MiB -o fast.plan
  full_length_texts >texts
  run --separate-stderr sti-run --json model.sti --plan fast.plan --replan fast.json --memory 24MiB <texts
  same "$status" 0
  same "${#lines[@]}" 40
  like "$stderr" "*planned again, *"
}

@test "on SIGHUP a plan that was made for --memory is taken as at the start" {
  skip_if_sanitized "memory means nothing under sanitizers"
  # The process takes more than the plan counts with, so that no more than its layer is left.
  jq '.process_bytes = 1000000' device.json >small.json
  sti-plan -q model.sti --profile small.json --target 60ms --submodel 1x2 --bits 2 -o free.json
  local limit
  limit=$(jq .predicted_peak_bytes free.json)
  sti-plan -q model.sti --profile small.json --target 60ms --submodel 1x2 --bits 2 \
    --memory "$limit" -o in-force.json
  start --memory "$limit"
  echo "$alarm" >&7
  await_answers 1
  kill -HUP "$process"
  echo "$alarm" >&7
  await_answers 2
  finish
  same "$(without_lateness <errors)" "sti-run: in-force.json: read again"
}

# STATUS MESSAGE OPTION...
refuses() {
  run --separate-stderr sti-run model.sti "${@:3}" "$alarm"
  same "$status" "$1"
  same "$output" ""
  like "$stderr" "$2"
}

@test "what --replan cannot do is refused" {
  refuses 2 "*--replan goes with --plan*" --replan device.json
  refuses 2 "*--importance goes with --replan*" --plan model.plan --importance model.importance
  refuses 2 "*--replan reads no plan*from stdin*" --plan model.plan --replan -
  refuses 3 "*none.json*" --plan model.plan --replan none.json
  run --separate-stderr sti-run model.sti --plan model.plan --replan device.json --one-shot <<<"$alarm"
  same "$status" 2
  like "$stderr" "*--one-shot takes no --replan*"
  jq '.shape = "00112233445566778899aabbccddeeff"' device.json >foreign.json
  refuses 3 "*foreign.json*" --plan model.plan --replan foreign.json
  make_other_model
  sti-importance -q other.sti --data few.tsv --metric loss -o other.importance
  refuses 3 "*other.importance*" --plan model.plan --replan device.json --importance other.importance
  plan --profile device.json --submodel 6x6 -o aimless.plan
  refuses 2 "*--replan: the plan has no target*" --plan aimless.plan --replan device.json
  plan --profile device.json --target 60ms --strategy stdpl -o fixed.plan
  refuses 2 "*--replan: the plan is of the strategy stdpl*" --plan fixed.plan --replan device.json
  sti-shard -q model -o part.sti --for model.plan
  run --separate-stderr sti-run part.sti --plan model.plan --replan device.json "$alarm"
  same "$status" 4
  like "$stderr" "*part.sti: *"
}
