# Plans with a cascade: made by sti-plan --cascade, shown by sti-inspect, judged by sti-plan --check,
# refused where a number is out of range.

load helpers

# An importance with cascades, as numbers that nobody measured: 2x3 at 3 bits, 4x6 at 3 and 6x12 at
# 2, as pairs and all three. Of the pair of first and last a cut returns 80 %, one 50 %.
setup_file() {
  make_fixtures
  cd "$BATS_FILE_TMPDIR" || return
  sti-importance show --json "$fixtures/model.importance" | jq -c '
    def level($n; $m; $k; $a): {layers: $n, width: $m, bits: $k, accuracy: $a, temperature: 1.25,
      nll: 0.5, calibrated_nll: 0.4, ece: 0.1, calibrated_ece: 0.05};
    def cut($c; $shares; $a): {cutoff: $c, slope: null, weights: ($shares[1:] | map(0.625)),
      shares: $shares, accuracies: ($shares | map($a)), accuracy: $a,
      words_left: ($shares[1:] | map(1))};
    .levels = [level(2; 3; 3; 0.8), level(4; 6; 3; 0.9), level(6; 12; 2; 0.95)]
    | .cascades = [
        {levels: [0, 2], alpha: 0, cuts: [cut(0.9; [0.5, 0.5]; 0.94), cut(0.8; [0.8, 0.2]; 0.9)]},
        {levels: [0, 1], alpha: 0.5, cuts: [cut(0.9; [0.5, 0.5]; 0.89)]},
        {levels: [1, 2], alpha: 0, cuts: [cut(0.9; [0.75, 0.25]; 0.95)]},
        {levels: [0, 1, 2], alpha: 0, cuts: [cut(0.9; [0.6, 0.3, 0.1]; 0.94)]}]' >measured.json
}

setup() {
  make_links
  ln -s "$BATS_FILE_TMPDIR/measured.json" .
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

plan() { sti-plan model.sti --profile device.json --importance measured.json --cascade "$@"; }

@test "--cascade takes the least mean latency of what is in time and accurate enough" {
  works plan --json --target 30ms --min-accuracy 94% --max-levels 2 --preload 20kB
  holds "$output" '.layers == [0,1,2,3,4,5] and .width == 12 and (.bits | flatten | unique == [2])
    and .strategy == "sti" and .variants == [] and .meets_target and .predicted_p99_us <= 30000'
  holds "$output" '.cascade | (.levels | length == 1) and .return_share == [0.5]
    and .temperature == 1.25 and .predicted_accuracy == 0.94 and .worst_path_us <= 30000
    and .mean_us == (.path_us[0] + .path_us[1]) / 2 and .path_us[0] < .path_us[1]'
  holds "$output" '.cascade.levels[0] | (.layers | length == 2) and .width == 3
    and (.bits | flatten | unique == [3]) and (.preload | length > 0) and .preload_bytes <= 20000
    and .cutoff == 0.9 and .slope == null and .ensemble_weight == 0.625 and .prune_alpha == 0
    and .temperature == 1.25 and .upgrade_bytes > 0'
  pair=$(jq .cascade.mean_us <<<"$output")
  works plan --json --target 30ms --min-accuracy 94% --preload 20kB
  holds "$output" ".cascade | (.levels | length == 2) and .return_share == [0.6, 0.3]
    and .mean_us < $pair and .levels[1].preload == []"
  works plan --json --target 30ms --min-accuracy 95% --preload 20kB
  holds "$output" ".cascade.return_share == [0.75] and .cascade.mean_us > $pair"
}

@test "a plan that --cascade made is shown, judged, and the same each time in both spellings" {
  works plan --target 30ms --min-accuracy 90% --preload 20kB -o a.plan
  like "$output" $'submodel   6 layers x 12 slices, up to 64 tokens, strategy sti\n*\ncascade    mean *'
  like "$output" *$'\n  level 1  2x3, returns 80.0 % above 0.8; then reads *'
  works sti-inspect a.plan
  like "$output" *$'\n  level 1  2x3, returns 80.0 % above 0.8; then reads *'
  works sti-plan model.sti --profile device.json --importance measured.json --check a.plan
  like "$output" $'*\ncascade: mean * through all levels, valid\n*\nvalid'
  plan -q --target 30ms --min-accuracy 90% --preload 20kB -o b.plan
  cmp a.plan b.plan
  plan -q --target 30ms --min-accuracy 90% --preload 20kB -o a.json
  same "$(sti-inspect --json a.plan | jq -cS .cascade)" "$(sti-inspect --json a.json | jq -cS .cascade)"
}

@test "--explain tells what was tried, and what the best plan without a cascade has" {
  jq -c '.cascades[0].cuts[0].accuracy = 0.95' measured.json >more.json
  works sti-plan model.sti --profile device.json --importance more.json --cascade --target 30ms \
    --explain
  text=$(tr -s '\n ' ' ' <<<"$output")
  like "$text" "*cascades: 4 of measured levels *"
  like "$text" "*cascade: the best plan without one takes * in the median, accuracy 0.9500 *"
  like "$text" "*cascade: 2x3 at 3 bits, then 4x6 at 3 bits: * none of its cuts is accurate enough*"
  like "$text" "*cascade: 2x3 at 3 bits, then 6x12 at 2 bits is taken: c 0.9000, alpha 0.000, w 0.625; returns 50.0 %; mean *"
}

@test "--explain and --gantt draw the way through all levels" {
  works plan --target 30ms --min-accuracy 94% --preload 20kB --explain -q --gantt a.svg -o a.json
  same "$(awk 'length > 80' <<<"$output")" ""
  like "$output" "*timeline   by medians: * of 30.00 ms; compute waits *"
  like "$output" *$'\nlevel         1*2*3*\nIO            *\ncompute       *'*
  same "$(grep -c '^layer ' <<<"$output")" 6
  python3 -c 'import sys, xml.etree.ElementTree as t; t.parse(sys.argv[1])' a.svg
  grep -q ">Cascade 2x3, 4x6, 6x12, T = 30.00 ms, S = 20.0 kB<" a.svg
  grep -q ">level 1<" a.svg
  same "$(grep -c ", preloaded" a.svg)" "$(jq '.cascade.levels[0].preload | length' a.json)"
  # Each layer of each level is computed, in the lane and in its row.
  same "$(grep -c ">layer [0-9]*: " a.svg)" $((2 * (2 + 4 + 6)))
}

@test "--strategy tabi follows the paper's heuristic" {
  works plan --json --target 30ms --strategy tabi
  holds "$output" '.strategy == "tabi" and .cascade.levels[0].strategy == "tabi"
    and .cascade.levels[0].cutoff == 0.8'
  works plan --target 30ms --strategy tabi --explain
  like "$(tr -s '\n ' ' ' <<<"$output")" "*tabi: 2x3 at 3 bits, then 6x12 at 2 bits: * cuts are left*"
}

@test "what no cascade reaches: exit 4 with what would do, which then works" {
  refused 4 "sti-plan: no cascade of an accuracy of 0.9800 was measured; the best has 0.9500; use --min-accuracy 0.9500" \
    plan -q --target 30ms --min-accuracy 98%
  works plan -q --target 30ms --min-accuracy 0.9500
  refused 4 "sti-plan: no cascade of an accuracy of 0.9400 meets 10.000 ms: *x* at * bits, then 6x12 at 2 bits takes *ms through all levels; raise --target, or give --min-accuracy 0.8900" \
    plan -q --target 10ms --min-accuracy 94%
  least=$(sed -E 's/.* takes ([0-9.]+ms) .*/\1/' <<<"$stderr")
  works plan -q --target "$least" --min-accuracy 94%
  works plan -q --target 10ms --min-accuracy 0.8900
}

@test "an importance that no cascade can be chosen by: exit 3" {
  refused 3 "sti-plan: model.importance: no cascades were measured; run sti-importance --cascade and give --importance" \
    sti-plan -q model.sti --profile device.json --importance model.importance --cascade --target 30ms
  forged() { # PROGRAM WHAT
    jq "$1" measured.json >forged.json
    refused 3 "sti-plan: *$2*" sti-plan -q model.sti --profile device.json --importance forged.json \
      --cascade --target 30ms
  }
  forged '.model = "00112233445566778899aabbccddeeff"' was made for model 00112233
  forged '.levels[0].bits = 2 | .levels[0].layers = 7' "levels holds layers, width or bits that no"
  forged '.levels[1].temperature = 0' "temperature"
  forged '.cascades[1].alpha = 1.5' "alpha"
  forged '.cascades[0].cuts[0].cutoff = -0.5' "cutoff"
  forged '.cascades[0].cuts[0].weights = [2]' "weights"
}

@test "what a cascade does not go with: exit 2" {
  local why="its levels are as they were measured; drop one"
  refused 2 "sti-plan: --cascade takes no --submodel: $why" plan --target 30ms --submodel 2x3
  refused 2 "sti-plan: --cascade takes no --bits: $why" plan --target 30ms --bits 2
  why="it answers one warm input after another; drop one"
  refused 2 "sti-plan: --cascade takes no --turns: $why" plan --target 30ms --turns 2
  refused 2 "sti-plan: --cascade takes no --cold: $why" plan --target 30ms --cold
  refused 2 "sti-plan: --cascade takes no --guarantee: $why" plan --target 30ms --guarantee
  refused 2 "sti-plan: --cascade takes no --sweep: it makes one plan; drop one" plan --sweep
  refused 2 "sti-plan: --cascade is for --strategy sti or tabi, not stdpl; leave one of them out" \
    plan --target 30ms --strategy stdpl
  refused 2 "sti-plan: --cascade takes one --length; drop the others" \
    plan --target 30ms --length 32,64
  refused 2 "sti-plan: --cascade goes with --target; add it, or drop --cascade" plan --min-accuracy 90%
  refused 2 "sti-plan: --cascade goes with --importance; add it, or drop --cascade" \
    sti-plan model.sti --profile device.json --target 30ms --cascade
  refused 2 "sti-plan: --max-levels goes with --cascade; add it, or drop --max-levels" \
    sti-plan model.sti --profile device.json --target 30ms --max-levels 2
  refused 2 "sti-plan: --strategy tabi goes with --cascade; add it, or drop --strategy" \
    sti-plan model.sti --profile device.json --target 30ms --strategy tabi
  refused 2 "sti-plan: --max-levels: *" plan --target 30ms --max-levels 4
}

@test "a plan with a cascade is replaced only by another with a cascade" {
  plan -q --target 30ms --min-accuracy 90% -o a.plan
  refused 2 "sti-run: --replan: the plan has a cascade: one in its place takes an importance that has cascades; *" \
    sti-run -q model.sti --plan a.plan --replan device.json "$alarm"
  works sti-run -q model.sti --plan a.plan --replan device.json --importance measured.json "$alarm"
}

# Temperatures and weights for each half of the lines are those of the other half.
@test "a run of what was measured, and then chosen, does as predicted" {
  works sti-importance -q model.sti --data few.tsv --metric loss --quick --cascade \
    --levels 1x2@2,4x6@4 --alphas 0.5 -o found.importance
  works sti-plan -q model.sti --profile device.json --importance found.importance --cascade \
    --target 30ms --min-accuracy 80% -o found.json
  works sti-run -q --json model.sti --plan found.json --eval few.tsv
  holds "$output" '(.cascade.levels | length == 2 and all(.answers > 0)
    and all(.share - .predicted_share | fabs < 0.1))'
  holds "$output" "(.accuracy - $(jq .cascade.predicted_accuracy found.json) | fabs) < 0.1"
}
