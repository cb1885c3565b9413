# Programs that link lib/api instead of running a tool (tests/api/programs).
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
    run -1 grep -cE 'CLI::|png_write|sti::EncodeShardBase|sti::QuantizeLayer' \
      <(nm -C "$programs/$program")
  done
}
