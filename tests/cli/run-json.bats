# sti-run --json: the fields that others build on.
load helpers

@test "one object an input with every promised field" {
  works sti-run --json model.sti --plan model.plan "$alarm" "tell me a joke"
  same "${#lines[@]}" 2
  for field in text label label_id scores logits tokens truncated latency_us deadline_met degraded turn; do
    holds "${lines[0]}" "has(\"$field\")"
  done
  holds "${lines[0]}" ".text == \"$alarm\" and .label == \"alarm\" and .label_id == 2"
  holds "${lines[0]}" '(.scores | length) == 151 and (.scores | add - 1 | fabs) < 0.0001'
  holds "${lines[0]}" '(.logits | length) == 151 and (.logits | index(max)) == 2'
  holds "${lines[0]}" '.scores.alarm == ([.scores[]] | max) and .tokens == 8'
  holds "${lines[0]}" '.truncated == false and .latency_us > 0 and .degraded == []'
  holds "${lines[0]}" '(.deadline_met | type) == "boolean" and .turn == 1'
  holds "${lines[1]}" '.label == "tell_joke" and .turn == 2'
}

@test "deadline_met is null without a target" {
  works sti-run -q --json model.sti "$alarm"
  holds "$output" '.deadline_met == null'
}

@test "--top limits and orders the scores, not the logits" {
  works sti-run -q --json --top 3 model.sti "$alarm"
  holds "$output" '(.scores | length) == 3 and (.logits | length) == 151'
  holds "$output" '.scores | to_entries | .[0].key == "alarm" and (map(.value) | . == (sort | reverse))'
}

@test "a deadline that is met and one that cannot be" {
  sti-inspect --json model.plan >plan.json
  jq '.target_us = 1e9' plan.json >slow.json
  works sti-run --json model.sti --plan slow.json "$alarm"
  holds "$output" '.deadline_met == true'
  jq '.target_us = 1' plan.json >fast.json
  works sti-run --json model.sti --plan fast.json "$alarm"
  holds "$output" '.deadline_met == false and .label == "alarm"'
}

@test "--on-late fail: the answer is given all the same, then exit 4" {
  sti-inspect --json model.plan | jq '.target_us = 1' >fast.json
  run --separate-stderr sti-run --on-late fail model.sti --plan fast.json "$alarm"
  same "$status" 4
  like "$output" $'alarm\t*'
  same "${stderr_lines[-1]}" "sti-run: an input missed the target; plan with a longer --target"
  works sti-run --on-late wait model.sti --plan fast.json "$alarm"
}

@test "what a run took, layer by layer, and how that differs from the plan" {
  works sti-run --json model.sti --plan model.plan "$alarm" "$alarm"
  sti-inspect --json model.plan >plan.json
  same "$(jq -c '[.layers[].layer]' <<<"${lines[0]}")" "$(jq -c .layers plan.json)"
  holds "${lines[0]}" '.stall_us >= 0 and .bytes_read > 0'
  holds "${lines[0]}" 'all(.layers[]; .io_us >= 0 and .compute_us > 0)'
  # Each difference is the measured number less the planned one.
  jq -n --argjson run "${lines[0]}" --slurpfile plan plan.json '$plan[0] as $plan
    | [$run.predicted_latency_us - $plan.predicted_latency_us,
       $run.latency_us - $run.latency_difference_us - $plan.predicted_latency_us,
       $run.stall_us - $run.stall_difference_us - $plan.times.stall_us]
    + [range($plan.layers | length) as $k | $run.layers[$k]
       | .compute_us - .compute_difference_us - $plan.times.layer_us,
         .io_us - .io_difference_us - $plan.times.layer_io_us[$k]]' >differences
  holds "$(<differences)" 'length > 5 and all(fabs < 0.001)'
}

@test "without the plan's times there is nothing to differ from" {
  sti-inspect --json model.plan | jq 'del(.times)' >plain.json
  works sti-run -q --json model.sti --plan plain.json "$alarm"
  holds "$output" '.label == "alarm" and (.layers | length > 0) and .stall_us >= 0'
  holds "$output" '[.. | objects | keys[] | select(test("difference|predicted"))] == []'
  works sti-run -q --json model.sti "$alarm"
  holds "$output" '(.layers | length == 6) and .degraded == [] and .bytes_read > 0'
  holds "$output" '[.. | objects | keys[] | select(test("difference|predicted"))] == []'
}
