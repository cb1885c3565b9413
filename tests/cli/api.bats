# Programs that link the library instead of running a tool (tests/api/programs, tests/capi/programs).
load helpers

programs="$STI_BIN/../tests"

@test "an app of thirty lines answers as sti-run does" {
  sti-run -q model.sti --plan model.plan "$alarm" | cut -f1,2 >expected
  works "$programs/answer-text" model.sti model.plan "$alarm"
  same "$output" "$(cat expected)"
}

@test "an app's error is one line" {
  run --separate-stderr "$programs/answer-text" model.sti missing.plan "$alarm"
  same "$status" 1
  like "$stderr" "answer-text: missing.plan: *"
}

@test "two models of an app share cores and flash" {
  sti-shard -q model --bits 2,3 -o small.sti
  works "$programs/two-models" model.sti small.sti "$alarm" "tell me a joke"
  same "${#lines[@]}" 4
  like "${lines[0]}" $'1\talarm\t'"$alarm"
  like "${lines[1]}" $'1\ttell_joke\ttell me a joke'
  like "${lines[2]}" $'2\talarm\t'"$alarm"
}

@test "an app links neither the tools' option parser nor their pictures" {
  local program
  for program in answer-text two-models; do
    run -1 grep -cE 'CLI::|sti::Raster|sti::EncodeShardBase|sti::QuantizeLayer' \
      <(nm -C "$programs/$program")
  done
}

@test "the C library keeps a model within its memory, and gives it back" {
  skip_if_sanitized "sanitizers have an allocator of their own"
  sti-run -q model.sti "$alarm" | cut -f1 >expected
  works "$programs/own-memory" model.sti 3500000 - "$alarm"
  same "${lines[0]}" "label $(cat expected)"
  [ "${lines[1]#own }" -le 3500000 ]
  [ "${lines[2]#growth }" -le 3500000 ]
  # What is left is the index, and what the allocator keeps.
  [ "${lines[4]#trimmed }" -le 1000000 ]
  same "${lines[5]}" "pinned 0"
  run --separate-stderr "$programs/own-memory" model.sti 1000 - "$alarm"
  same "$status" 1
  like "$stderr" "own-memory: 1000 bytes of memory are less than the * that the model takes with its first shards; raise STI_MEMORY_BYTES"
}

@test "the memory that a model counts as its own is what it grows by, for the widest text, within 5 %" {
  [ -x "$programs/refused-memory" ] || skip "sanitizers have an allocator of their own"
  works "$programs/own-memory" model.sti 7650000 - --widest=128
  local own=${lines[1]#own } growth=${lines[3]#beside the index }
  [ "$own" -gt 7000000 ] && [ "$own" -le 7650000 ]
  [ $((growth * 100)) -le $((own * 105)) ]
  [ $((growth * 100)) -ge $((own * 95)) ]
}

@test "the C library reads numbers where a comma is the decimal point" {
  mkdir locales
  localedef -i de_DE -f UTF-8 locales/de_DE.UTF-8 2>/dev/null || skip "no sources of locales here"
  sti-inspect model.plan --json >plan.json
  grep -q '"predicted_latency_us": [0-9]*\.[0-9]' plan.json
  works "$programs/own-memory" model.sti 0 plan.json "$alarm"
  local expected=("${lines[@]:0:2}")
  LOCPATH=$PWD/locales LC_ALL=de_DE.UTF-8 works "$programs/own-memory" model.sti 0 plan.json "$alarm"
  same "${lines[0]} ${lines[1]}" "${expected[*]}"
}

@test "whatever the system refuses, the C library gives a code and goes on later" {
  [ -x "$programs/refused-memory" ] || skip "sanitizers have an allocator of their own"
  # Side by side, as each waits for its reads most of the time.
  local way started=()
  for way in one all hang; do
    mkdir "$way"
    "$programs/refused-memory" "$way" "$way" >"$way.out" 2>&1 &
    started+=($!)
  done
  for way in one all hang; do
    wait "${started[0]}" || { cat "$way.out" && return 1; }
    started=("${started[@]:1}")
  done
  like "$(<one.out)" "* refused in turn: * went on, the others gave a code"
  like "$(<all.out)" "* refused in turn: * went on, the others gave a code"
  like "$(tail -n 1 hang.out)" "[1-9]* cancelled while the index was read again"
}
