# Plans with a cascade: shown by sti-inspect, judged by sti-plan --check, refused where a number is
# out of range.

load helpers

setup_file() { :; } # frozen files are enough

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  data=$repo/tests/data
  plan=$data/v1.6/tiny.plan
}

judge() {
  sti-plan "$data/v1/tiny.sti" --profile "$data/v1.2/tiny.profile" --check "$@"
}

@test "a plan's text names its cascade, within 80 columns" {
  run -0 sti-inspect "$plan"
  [[ $output == *"cascade    mean 180 us predicted, p99 400 us through all levels"* ]]
  [[ $output == *"  labels   89.1 % predicted"* ]]
  [[ $output == *"  level 1  1x1, returns 50.0 % above 0.938; then reads 12.3 kB"* ]]
  [[ $output == *"  level 2  2x1, returns 25.0 % above 0.875; then reads 8.2 kB"* ]]
  for line in "${lines[@]}"; do [ "${#line}" -le 80 ]; done
  jq '.cascade |= (del(.predicted_accuracy) | .predicted_agreement = 0.5)' "$plan.json" >kl.json
  run -0 sti-inspect kl.json
  [[ $output == *"  labels   agrees with the full model in 50.0 % predicted"* ]]
  for line in "${lines[@]}"; do [ "${#line}" -le 80 ]; done
}

@test "--check judges the longest path by the target" {
  run -0 judge "$plan"
  [[ $output == *"cascade: mean "*" predicted, p99 "*" through all levels, valid"* ]]
  run -0 --separate-stderr judge "$plan" --json
  jq -e '.cascade | .valid and (.path_us | length == 3) and (.upgrade_bytes | length == 2)
         and .path_us[0] < .path_us[1] and .path_us[1] < .path_us[2]
         and .worst_path_us > .mean_us' <<<"$output"
  worst=$(jq .cascade.worst_path_us <<<"$output")
  alone=$(jq .predicted_p99_us <<<"$output")
  jq --argjson t "$worst" --argjson a "$alone" '.target_us = ($t + $a) / 2' "$plan.json" >late.json
  run -4 judge late.json
  [[ $output == *"the cascade takes "*" through all levels"* ]]
  jq --argjson t "$worst" '.target_us = $t + 0.1' "$plan.json" >just.json
  run -0 judge just.json
}

@test "a cascade whose numbers are out of range is refused" {
  for edit in '.cutoff = 1.5' '.prune_alpha = -0.1' '.ensemble_weight = 2' '.temperature = 0' \
    '.slope = -1'; do
    jq ".cascade.levels[1] |= ($edit)" "$plan.json" >bad.json
    run -3 --separate-stderr sti-inspect bad.json
    field=${edit#.}
    [[ $stderr == *"bad.json: cascade.levels[1]: ${field%% *} is not from "* ]]
    [ "${#stderr_lines[@]}" -eq 1 ]
  done
  jq '.cascade.return_share = [0.75, 0.5]' "$plan.json" >bad.json
  run -3 --separate-stderr sti-inspect bad.json
  [[ $stderr == *"return_share adds up to more than 1"* ]]
}
