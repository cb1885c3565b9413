# sti-run under a plan with turns: inputs that come back to back are turns of one engagement, in
# which later ones read less, and a pause begins anew with turn 1.
load helpers

setup_file() {
  make_fixtures
  cd "$BATS_FILE_TMPDIR"
  sti-plan -q "$fixtures/model.sti" --profile "$fixtures/device.json" \
    --importance "$fixtures/model.importance" --target 12ms --preload 200kB \
    --turns 3 --turn-buffer 1MB -o turns.plan
}

setup() {
  make_links
  ln -s "$BATS_FILE_TMPDIR/turns.plan" turns.plan
}

run_turns() { timeout 60 sti-run -q --json model.sti --plan turns.plan "$@"; }

# COUNT: as many times the same line.
lines_of_alarm() { for ((i = 0; i < $1; ++i)); do echo "$alarm"; done; }

# FIELD FILE: the field of all answers, between commas.
all_of() { jq -c "$1" "$2" | paste -sd,; }

@test "lines on stdin are turns of one engagement: the same text reads less from turn to turn" {
  lines_of_alarm 4 | run_turns >answers
  same "$(all_of .turn answers)" 1,2,3,4
  same "$(all_of .label answers)" '"alarm","alarm","alarm","alarm"'
  # The plan is of three turns; further ones are as the third.
  holds "$(jq -s 'map(.bytes_read)' answers)" '.[1] < .[0] and .[2] < .[1] and .[3] == .[2]'
  same "$(sed -n 4p answers | jq -c .logits)" "$(sed -n 3p answers | jq -c .logits)"
}

@test "each turn runs at its own bits, whatever was in memory before" {
  lines_of_alarm 3 | run_turns | jq -c .logits >turns
  sti-inspect --json turns.plan >plan.json
  for turn in 1 2 3; do
    jq ".bits = .turns[$turn - 1].bits | .turns = [] | .turn_bytes = 0 | .preload = []
      | .preload_bytes = 0" plan.json >one.json
    sti-run -q --json model.sti --plan one.json "$alarm" | jq -c .logits >alone
    same "$(sed -n ${turn}p turns)" "$(cat alone)"
  done
  run ! cmp -s <(sed -n 1p turns) <(sed -n 3p turns)
}

@test "texts on the command line are one engagement" {
  run_turns "$alarm" "$alarm" "$alarm" >answers
  same "$(all_of .turn answers)" 1,2,3
  cmp <(jq -c .logits answers) <(lines_of_alarm 3 | run_turns | jq -c .logits)
}

@test "--turn-gap 0: each input is turn 1, as in a fresh process" {
  run_turns "$alarm" >fresh
  for gap in 0 0s; do
    lines_of_alarm 3 | run_turns --turn-gap $gap >answers
    same "$(all_of .turn answers)" 1,1,1
    same "$(sed -n 1p answers | jq -c '[.logits, .bytes_read]')" \
      "$(jq -c '[.logits, .bytes_read]' fresh)"
    # All later ones read the shards of turn 1, and no rows again.
    same "$(jq -c .logits answers | uniq)" "$(jq -c .logits fresh)"
    same "$(sed 1d answers | jq -c .bytes_read | uniq | wc -l)" 1
    run_turns --turn-gap $gap "$alarm" "tell me a joke" "$alarm" >answers
    same "$(all_of .turn answers)" 1,1,1
    same "$(sed -n 3p answers | jq -c .logits)" "$(jq -c .logits fresh)"
  done
}

@test "a pause longer than --turn-gap ends the engagement, lines at once go on with it" {
  mkfifo lines
  run_turns --turn-gap 600ms <lines >answers &
  local process=$!
  exec 7>lines
  printf '%s\n%s\n' "$alarm" "$alarm" >&7
  await_answers 2
  sleep 1
  printf '%s\n%s\n' "$alarm" "$alarm" >&7
  exec 7>&-
  wait $process
  same "$(all_of .turn answers)" 1,2,1,2
  for turn in 1 2; do
    same "$(sed -n $((turn + 2))p answers | jq -c .logits)" \
      "$(sed -n ${turn}p answers | jq -c .logits)"
  done
  same "$(sed -n 4p answers | jq .bytes_read)" "$(sed -n 2p answers | jq .bytes_read)"
}

@test "an input that cannot be used is a turn, and the run goes on" {
  run --separate-stderr run_turns --ids "2 7 3" "two seven three" "2 7 3"
  same "$status" 3
  holds "${lines[0]}" '.turn == 1'
  holds "${lines[1]}" 'has("error")'
  holds "${lines[2]}" '.turn == 3'
}

@test "--one-shot answers one line, turn 1" {
  lines_of_alarm 3 | run_turns --one-shot >answers
  same "$(all_of .turn answers)" 1
}

@test "between turns the turn buffer bounds what stays in memory" {
  printf 'sentence\tlabel\n' >same.tsv
  for _ in {1..6}; do printf '%s\talarm\n' "$alarm"; done >>same.tsv
  run_turns --eval same.tsv --turn-gap 3600s >summary
  holds "$(<summary)" '.preload_bytes > 200000 and .preload_bytes <= 1000000'
  works sti-run --json model.sti --plan model.plan --eval same.tsv
  holds "$output" '.preload_bytes <= 200000'
}

@test "--eval measures turn 1, and later turns where --turn-gap is given" {
  printf 'sentence\tlabel\n' >same.tsv
  for _ in {1..6}; do printf '%s\talarm\n' "$alarm"; done >>same.tsv
  # The first reads rows that the others find in memory.
  first=$(run_turns --turn-gap 0s "$alarm" "$alarm" |
    jq -s '(.[0].bytes_read + 5 * .[1].bytes_read) / 6')
  for gap in "" "--turn-gap 0s"; do
    # shellcheck disable=SC2086 # an option and its value, or nothing
    run_turns --eval same.tsv $gap >summary
    holds "$(jq .bytes_read_per_input summary)" ". - $first | fabs < 1"
  done
  run_turns --eval same.tsv --turn-gap 3600s >summary
  holds "$(jq .bytes_read_per_input summary)" ". < $first"
}

@test "a plan without turns counts them, and runs each input alike" {
  lines_of_alarm 3 | sti-run -q --json model.sti --plan model.plan >answers
  same "$(all_of .turn answers)" 1,2,3
  same "$(jq -c .logits answers | uniq | wc -l)" 1
  same "$(sed 1d answers | jq -c .bytes_read | uniq | wc -l)" 1
}

@test "a gap that is no time is refused" {
  refused 2 "sti-run: *'soon' is not a time; write 200ms, 0.2s or 200us*" \
    sti-run model.sti --plan turns.plan --turn-gap soon "$alarm"
}
