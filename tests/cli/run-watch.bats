# What a person is told of inputs that were late, degraded or truncated: on stderr, once when it
# first happens, and as one summary at the end. JSON says it of every input.
load helpers

# A plan that no machine keeps, and one that every machine keeps.
make_plans() {
  sti-inspect --json model.plan | jq '.target_us = 1' >never.json
  sti-inspect --json model.plan | jq '.target_us = 9e9' >always.json
}

@test "late inputs: the first, and how many" {
  make_plans
  run --separate-stderr sti-run model.sti --plan never.json "$alarm" "$alarm" "$alarm"
  same "$status" 0
  same "${#lines[@]}" 3
  same "${#stderr_lines[@]}" 2
  like "${stderr_lines[0]}" "sti-run: warning: input 1 is late: * of 1 us; --stats shows *"
  like "${stderr_lines[1]}" "sti-run: 3 of 3 inputs late, worst by *s"
  run --separate-stderr sti-run model.sti --plan never.json "$alarm"
  same "${#stderr_lines[@]}" 1
  run --separate-stderr sti-run -q model.sti --plan never.json "$alarm" "$alarm"
  same "$stderr" ""
  # stderr is for people, also where stdout is for machines.
  run --separate-stderr sti-run --json model.sti --plan never.json "$alarm" "$alarm"
  same "${#lines[@]}" 2
  like "${stderr_lines[0]}" "sti-run: warning: input 1 is late: * of 1 us; --stats shows *"
  like "${stderr_lines[1]}" "sti-run: 2 of 2 inputs late, worst by *s"
  run --separate-stderr sti-run -q --json model.sti --plan never.json "$alarm" "$alarm"
  same "$stderr" ""
  run --separate-stderr sti-run model.sti --plan always.json "$alarm" "$alarm"
  same "$stderr" ""
}

@test "truncated inputs, beside others" {
  make_plans
  long=$(printf 'alarm %.0s' {1..100})
  run --separate-stderr sti-run model.sti --plan always.json "$alarm" "$long" "$long" "$alarm"
  same "$status" 0
  same "$stderr" "sti-run: warning: input 2 is truncated to 64 tokens; plan with a longer --length
sti-run: 2 of 4 inputs truncated"
}

@test "an evaluation says it too, shows times and writes a trace" {
  make_plans
  run --separate-stderr sti-run model.sti --plan never.json --eval few.tsv
  same "$status" 0
  same "${#stderr_lines[@]}" 2
  like "${stderr_lines[1]}" "sti-run: 30 of 30 inputs late, worst by *s"
  run --separate-stderr sti-run model.sti --plan always.json --eval few.tsv --stats \
    --trace trace.json
  same "$status" 0
  same "$(grep -c 'peak memory' <<<"$stderr")" 30
  works sti-run -q model.sti --plan always.json --trace one.json "$alarm"
  # Thirty inputs take about thirty times the events of one.
  [ "$(wc -c <trace.json)" -gt $((20 * $(wc -c <one.json))) ]
}
