# sti-plan --check: what an edited plan would do.
load helpers

check() { sti-plan model.sti --profile device.json "$@"; }

setup_plan() { sti-inspect --json model.plan >plan.json; }

@test "a plan as made is valid: exit 0, its budgets and its own predictions" {
  setup_plan
  works check --check model.plan
  same "${lines[-1]}" valid
  same "$(grep -c '^AIB([0-9]*) = ' <<<"$output")" "$(jq '.layers | length' plan.json)"
  works check --json --check plan.json
  holds "$output" '.valid and .problem == null'
  for field in aib_us slack_us predicted_latency_us predicted_p99_us predicted_peak_bytes \
    staging_bytes preload_bytes parameter_bytes; do
    same "$(jq -c ".$field" <<<"$output")" "$(jq -c ".$field" plan.json)"
  done
}

@test "bits raised beyond the budget: exit 4, and why" {
  setup_plan
  jq '.bits[-1] |= map(6) | .bits[-2] |= map(6)' plan.json >edited.json
  run --separate-stderr check --check edited.json
  same "$status" 4
  same "${lines[-1]}" "not valid"
  like "$stderr" "sti-plan: edited.json: takes * ms of 12.000 ms"
  run --separate-stderr check --json --check edited.json
  same "$status" 4
  holds "$output" '.valid == false and (.problem | length) > 0'
}

@test "bits lowered: still valid, with more left over" {
  setup_plan
  jq '.bits[-1] |= map(2) | .preload |= map(select(.layer < 5))' plan.json >edited.json
  works check --json --check edited.json
  holds "$output" ".valid and .aib_us[-1] >= $(jq '.aib_us[-1]' plan.json)"
}

@test "a plan of another model: exit 3" {
  make_other_model
  refused 3 "sti-plan: model.plan: it was made for model *…, not *…; run sti-plan on this model" \
    sti-plan other.sti --profile device.json --check model.plan
}

@test "an edited plan that names what is not there: exit 3, the file is named" {
  setup_plan
  jq '.bits[0][0] = 7' plan.json >edited.json
  refused 3 "sti-plan: edited.json: *bits is not 2 to 6, or 32; correct it or run sti-plan again" \
    check --check edited.json
  jq '.slices[0][1] = .slices[0][0]' plan.json >edited.json
  refused 3 "sti-plan: edited.json: * is there twice; correct it or run sti-plan again" \
    check --check edited.json
  jq '.layers |= reverse' plan.json >edited.json
  refused 3 "sti-plan: edited.json: layers does not ascend; correct it or run sti-plan again" \
    check --check edited.json
  jq 'del(.width)' plan.json >edited.json
  refused 3 "sti-plan: edited.json: width is missing; correct it or make it again" \
    check --check edited.json
}

# STI Figure 6 on two layers and three slices of the example: T = 2 s, T_comp = 1 s, T_io(2) = 0.2 s
# a shard, and S holds layer 0 at 2 bits. BITS are those of the second layer.
figure_six() {
  jq -n '{io: [{bits: 2, load_us: 200000}, {bits: 4, load_us: 400000}, {bits: 5, load_us: 500000},
    {bits: 6, load_us: 600000}], compute: [{length: 64, width: 3, layer_us: 1000000}]}' >six.json
  sti-inspect --json model.plan | jq --argjson bits "$1" '.layers = [2, 5] | .width = 3
    | .length = 64 | .target_us = 2000000 | .slices = [[0, 1, 2], [0, 1, 2]]
    | .bits = [[2, 2, 2], $bits] | .preload = [{layer: 2, slice: (0, 1, 2), bits: 2}]
    | .aib_us = null | .slack_us = null | .times = null' >candidate.json
}

@test "Figure 6: candidates A and B are valid with nothing left over" {
  for bits in '[6, 2, 2]' '[4, 4, 2]'; do
    figure_six "$bits"
    works sti-plan model.sti --profile six.json --check candidate.json --json
    holds "$output" '.valid and .aib_us == [0, 0] and .slack_us == 0'
  done
}

@test "Figure 6: candidate C overdraws AIB(1) by 0.1 s and is refused" {
  figure_six '[5, 4, 2]'
  run --separate-stderr sti-plan model.sti --profile six.json --check candidate.json
  same "$status" 4
  same "${lines[0]}" "AIB(0) = 0.0 us left"
  same "${lines[1]}" "AIB(1) = -100000.0 us left"
  same "${lines[-1]}" "not valid"
  like "$stderr" "sti-plan: candidate.json: takes 2100.000 ms of 2000.000 ms"
}

@test "staging that somebody edited is judged as it will be run" {
  sti-plan -q model.sti --profile device.json --strategy stdpl --bits 6 --submodel 6x12 -o a.json
  works sti-plan model.sti --profile device.json --check a.json --json
  planned=$output
  jq '.staging_bytes = (.staging_bytes / 4 | floor)' a.json >edited.json
  works sti-plan model.sti --profile device.json --check edited.json --json
  holds "$output" ".staging_bytes < $(jq .staging_bytes <<<"$planned")"
  holds "$output" ".predicted_peak_bytes < $(jq .predicted_peak_bytes <<<"$planned")"
  holds "$output" ".predicted_latency_us > $(jq .predicted_latency_us <<<"$planned")"
}

@test "--target is the target of variants too" {
  sti-plan -q model.sti --profile device.json --importance model.importance --target 16ms \
    --length 16,32,64 -o lengths.json
  works check --json --check lengths.json
  holds "$output" '.valid and (.variants | length) == 2 and all(.variants[]; .valid)'
  # None of them keeps a target of half its own time.
  local half
  half=$(jq '[.predicted_p99_us, .variants[].predicted_p99_us] | min / 2 | floor' lengths.json)
  run --separate-stderr check --json --check lengths.json --target "${half}us"
  same "$status" 4
  holds "$output" '(.valid | not) and (.variants | length) == 2 and all(.variants[]; .valid | not)'
  # At the higher clock it is kept, and at the lower one, where a layer takes four times as long, not.
  jq '.compute |= [.[] | (.freq = 1200000), (.freq = 600000 | .layer_us *= 4)]' device.json >clocks.json
  sti-plan -q model.sti --profile clocks.json --target 60ms --length 64 --freq 1200000,600000 \
    --submodel 6x12 --bits 2 -o clocks.plan
  run --separate-stderr sti-plan model.sti --profile clocks.json --check clocks.plan --json --target 20ms
  same "$status" 4
  holds "$output" '.valid and (.variants | length) == 1 and (.variants[0].valid | not)'
}
