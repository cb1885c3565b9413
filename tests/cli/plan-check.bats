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
    preload_bytes parameter_bytes; do
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
