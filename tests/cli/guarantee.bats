# A guarantee: a plan keeps a fallback in its preload buffer, so that under --on-late degrade every
# input has a label in time, whatever the flash does.
load helpers

export STI_BUILD=${STI_BIN%/*}
export alarm

# calm.json has 30 s, of which its layers take a few ms: there is time for whatever the machine does.
# Its fallback has 4 of 6 layers, so that the plan can go on with none but these. hanging.json gives
# reads 1 s, and the other 29 s to its fallback.
setup_file() {
  make_fixtures
  cd "$BATS_FILE_TMPDIR"
  mkdir flash
  sti-shard -q "$fixtures/model" -o flash/tail.sti
  sti-plan -q flash/tail.sti --profile "$fixtures/device.json" --target 30s --preload 100kB \
    --length 32 --submodel 6x12 --bits 6 --guarantee -o calm.json
  jq '.fallback.margin_us = 29e6' calm.json >hanging.json
}

setup() {
  make_links
  ln -s "$BATS_FILE_TMPDIR"/* .
}

# FAULT SCRIPT: runs the script with $STI_FLASH/tail.sti, all of whose reads have the fault while
# the file broken is there.
on_broken_flash() {
  run --separate-stderr timeout 60 "$repo/tests/support/slow-flash" --latency 0us \
    --fault "$1@0+$(stat -c %s flash/tail.sti)" --while "$PWD/broken" 1GiB flash -- bash -c "$2"
  [ "$status" -ne 77 ] || skip "$stderr"
}

@test "the plan names its fallback, what it reserves and what it costs, and stays within the buffer" {
  works sti-plan --json model.sti --profile device.json --target 30ms --preload 200kB --guarantee
  holds "$output" '.fallback | (.layers | length > 0) and .width >= 1 and .bits == 2
    and .margin_us >= 1000 and (.cost_bits | type == "number")'
  holds "$output" '.preload_bytes + .fallback.bytes <= 200000'
  holds "$output" '.fallback as $f | $f.embed_us + ($f.layers | length - 1) * $f.layer_us
    + $f.last_layer_us + $f.head_us + $f.margin_us <= .target_us'
  works sti-plan --json model.sti --profile device.json --importance model.importance \
    --target 30ms --preload 200kB --guarantee -o a.plan
  works sti-plan --check a.plan model.sti --profile device.json
  like "$output" $'*\nvalid'
  works sti-plan model.sti --profile device.json --target 30ms --preload 200kB --guarantee
  like "$output" *$'\nguarantee  a label by the target under --on-late degrade: falls back to\n           '*
  same "$(awk 'length > 80' <<<"$output")" ""
  works sti-inspect a.plan
  like "$output" *$'\nguarantee  '*
}

@test "where no words were counted, the fallback knows marks and the words of the lowest ids" {
  works sti-plan --json model.sti --profile device.json --target 30ms --preload 200kB --guarantee
  holds "$output" '.words | length > 8'
  words=$(jq '.words' <<<"$output")
  works sti-inspect model.sti --tokenize <<<"the of, and to."
  for id in $(jq '.ids[1:-1][]' <<<"$output"); do
    holds "$words" "index($id) != null"
  done
  works sti-plan --json model.sti --profile device.json --target 30ms --preload 200kB
  holds "$output" '.words == null'
}

@test "a fallback that does not fit the buffer: exit 4 with the least one, which then works" {
  refused 4 "sti-plan: no fallback fits in a preload buffer of 10000 bytes: the least that guarantees a label is * at 2 bits; raise --preload to * bytes" \
    sti-plan -q model.sti --profile device.json --target 30ms --preload 10kB --guarantee
  least=$(sed -E 's/.*--preload to ([0-9]+) bytes.*/\1/' <<<"$stderr")
  works sti-plan -q model.sti --profile device.json --target 30ms --preload "$least" --guarantee
  refused 4 "sti-plan: no fallback fits *" \
    sti-plan -q model.sti --profile device.json --target 30ms --preload "$((least - 1))" --guarantee
}

@test "a target that no fallback meets: exit 4" {
  refused 4 "sti-plan: no fallback computes within 1.000 ms: the quickest, * at 2 bits, takes *ms with the reading of its rows; raise --target" \
    sti-plan -q model.sti --profile device.json --target 1ms --preload 1MB --guarantee
}

@test "what a guarantee does not go with: exit 2" {
  local plan=(sti-plan -q model.sti --profile device.json --target 30ms --guarantee)
  local why="its fallback stays in memory from one input to the next, under one target; drop one"
  refused 2 "sti-plan: --guarantee takes no --cold: $why" "${plan[@]}" --cold
  refused 2 "sti-plan: --guarantee takes no --turns: $why" "${plan[@]}" --turns 2
  refused 2 "sti-plan: --guarantee takes no --io-budget: $why" "${plan[@]}" --io-budget 1kB
  refused 2 "sti-plan: --guarantee takes no --min-accuracy: $why" "${plan[@]}" --min-accuracy 90%
  refused 2 "sti-plan: --guarantee takes no --sweep: it makes one plan; drop one" "${plan[@]}" --sweep
  refused 2 "sti-plan: --guarantee is for --strategy sti, not random; leave one of them out" \
    "${plan[@]}" --strategy random
  refused 2 "sti-plan: --guarantee goes with --target; add it, or drop --guarantee" \
    sti-plan -q model.sti --profile device.json --submodel 6x12 --guarantee
}

@test "forged fallbacks: exit 3, one line" {
  forged() { # PROGRAM WHAT
    jq "$1" calm.json >forged.json
    refused 3 "sti-run: *$2*" sti-run -q model.sti --plan forged.json "$alarm"
  }
  forged '.fallback.layers = []' "fallback.layers is empty"
  forged '.fallback.layers = [2, 1]' "fallback.layers does not ascend"
  forged '.fallback.layers = [6]' "fallback: layer 6 is beyond the last"
  forged '.fallback.width = 13' "fallback: width 13 is more than a layer has slices"
  forged '.fallback.bits = 7' "fallback: layer * slice 0: bits is not 2 to 6, or 32"
  forged '.fallback.layer_us = -1' "fallback.layer_us is negative or not a finite number"
  forged '.fallback.layer_us = 1e9' "fallback takes longer than target_us"
  forged '.target_us = null' "a fallback without target_us or times"
  forged 'del(.fallback.width)' "width"
  forged '.fallback.layers = "all"' "layers"
}

@test "with time to spare nothing falls back, and a reader without guarantees has equal logits" {
  works sti-run -q --json --on-late degrade model.sti --plan calm.json "$alarm"
  holds "$output" '.fallback == false and .rows_missing == 0 and .degraded == [] and .deadline_met'
  jq 'del(.fallback)' calm.json >older.json
  same "$(jq -c .logits <<<"$output")" \
    "$(sti-run -q --json model.sti --plan older.json "$alarm" | jq -c .logits)"
}

# PREFIX LINE...: lines with the prefix, the first of which is answered before reads break. An answer
# to it by the fallback is of a machine that gave sti-run nothing for a second.
lines_while_broken() {
  printf '%s\n' "$1$alarm"
  await_answers 1 && touch broken
  shift
  printf '%s\n' "$@"
}
export -f lines_while_broken

# FAULT LINES COMMAND: what answers the lines is printed, and its exit code kept. Lines and command
# are scripts.
answers_on_broken_flash() {
  rm -f broken answers
  on_broken_flash "$1" "$2 | $3 >answers; code=\$?; cat answers; exit \$code"
}

@test "reads that hang: each label in time, words without rows unknown, and JSON and summary say so" {
  answers_on_broken_flash delay=1000s 'lines_while_broken "" "will it rain at noon" "$alarm"' \
    'sti-run --json --on-late degrade "$STI_FLASH/tail.sti" --plan hanging.json'
  same "$status" 0
  if jq -e .fallback <<<"${lines[0]}" >/dev/null; then
    skip "this machine is too busy: reads without a fault took over a second"
  fi
  holds "$(jq -s . <<<"$output")" '(map(.deadline_met) | all) and length == 3 and
    (map(.fallback) == [false, true, true]) and .[1].rows_missing > 0 and .[2].rows_missing == 0'
  holds "$(jq -s . <<<"$output")" '.[2].label == "alarm"'
}

@test "while reads hang, sti-run ends at the end of its input, of one model and of several" {
  answers_on_broken_flash delay=1000s 'lines_while_broken "" "will it rain at noon" "$alarm"' \
    'sti-run -q --on-late degrade "$STI_FLASH/tail.sti" --plan hanging.json'
  same "$status" 0
  same "${#lines[@]}" 3
  answers_on_broken_flash delay=1000s 'tab=$(printf "\t")
    lines_while_broken "m$tab" "m${tab}will it rain at noon" "m$tab$alarm"' \
    'sti-run -q --on-late degrade --model "m=$STI_FLASH/tail.sti,hanging.json"'
  same "$status" 0
  same "${#lines[@]}" 3
}

@test "while reads hang, sti-run ends at the first SIGTERM" {
  on_broken_flash delay=1000s 'mkfifo lines
    sti-run -q --on-late degrade "$STI_FLASH/tail.sti" --plan hanging.json <lines >answers &
    exec 7>lines
    echo "$alarm" >&7
    await_answers 1 && touch broken
    echo "will it rain at noon" >&7
    await_answers 2
    kill -TERM $!
    wait $!'
  same "$status" 143
  same "$(wc -l <answers)" 2
}

@test "reads that fail are no errors under --on-late degrade: the summary counts them" {
  answers_on_broken_flash eio 'lines_while_broken "" "$alarm" "$alarm"' \
    'sti-run --on-late degrade "$STI_FLASH/tail.sti" --plan calm.json'
  same "$status" 0
  same "$(cut -f1 <<<"$output" | sort -u)" alarm
  like "$stderr" *"input 2 is answered by the fallback, as reads failed, with 0 words unknown"*
  like "$stderr" *" 2 "*"answered by the fallback, 2 as reads failed"*
  answers_on_broken_flash eio 'lines_while_broken "" "$alarm"' \
    'sti-run -q --on-late wait "$STI_FLASH/tail.sti" --plan calm.json'
  same "$status" 1
}
