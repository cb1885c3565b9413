# sti-plan: the same plan from the same numbers, in both spellings, by every strategy.
load helpers

plan() { sti-plan model.sti --profile device.json --importance model.importance "$@"; }

@test "a target that binds: the bits spent are below what the whole model has" {
  works plan --target 12ms --preload 200kB -q -o a.json
  holds "$(cat a.json)" '.meets_target and .target_us == 12000'
  holds "$(cat a.json)" '.predicted_latency_us <= 12000 and .predicted_p99_us <= 12000'
  holds "$(cat a.json)" '.preload_bytes > 0 and .preload_bytes <= 200000'
  holds "$(cat a.json)" '[.bits[][]] | length < 72 or max < 6'
}

@test "the JSON spelling has every promised field, consistent with each other" {
  plan --target 12ms --preload 200kB -q -o a.json
  for field in strategy length layers width slices bits preload preload_bytes aib_us slack_us \
    target_us meets_target predicted_latency_us predicted_p99_us predicted_peak_bytes \
    predicted_accuracy parameter_bytes variants turns; do
    holds "$(cat a.json)" "has(\"$field\")"
  done
  holds "$(cat a.json)" '.strategy == "sti" and .length == 64 and (.layers | . == (sort | unique))'
  holds "$(cat a.json)" '.width as $m | (.layers | length) as $n | (.slices | length) == $n
    and (.bits | length) == $n and all(.slices[], .bits[]; length == $m)'
  holds "$(cat a.json)" '(.aib_us | length) == (.layers | length) and all(.aib_us[]; . >= -0.001)'
  holds "$(cat a.json)" '. as $p | all(.preload[]; . as $s | ($p.layers | index($s.layer)) as $k
    | ($p.slices[$k] | index($s.slice)) as $i | $p.bits[$k][$i] == $s.bits)'
  holds "$(cat a.json)" '(.model | test("^[0-9a-f]{32}$")) and .predicted_peak_bytes > .parameter_bytes / 8'
  holds "$(cat a.json)" '.variants == []'
}

@test "the same bytes twice, in both spellings" {
  plan --target 12ms --preload 200kB -q -o again.plan
  cmp again.plan model.plan
  plan --target 12ms --preload 200kB -q -o one.json
  plan --target 12ms --preload 200kB -q -o two.json
  cmp one.json two.json
}

@test "binary and JSON hold the same" {
  plan --target 12ms --preload 200kB -q -o a.json
  works sti-inspect --json model.plan
  same "$output" "$(cat a.json)"
  works plan --target 12ms --preload 200kB -q -o -
  same "$output" "$(cat a.json)"
  works plan --target 12ms --preload 200kB -q --json
  same "$output" "$(cat a.json)"
}

@test "the plan is told on stdout, in 80 columns" {
  works plan --target 12ms --preload 200kB -o a.plan
  like "$output" "submodel   [1-6] layers x * slices, up to 64 tokens, strategy sti*"
  like "$output" "*latency    * predicted, p99 *, target 12.00 ms met*memory     * predicted peak, * of it staging"
  same "$(awk 'length > 80' <<<"$output")" ""
  same "$(grep -c '^  layer ' <<<"$output")" "$(sti-inspect --json a.plan | jq '.layers | length')"
}

@test "a profile that may be a slip: what is said, with exit 0" {
  works plan --target 12ms -o a.plan
  like "$output" "*profile    of no shape: nothing tells whether it is of a model of this size*"
  # The shape of the model is the shape of its profile.
  jq --arg shape "$(jq -r .shape <(sti-plan -q model.sti --profile device.json --submodel 6x12 -o -))" \
    '.shape = $shape' device.json >shaped.json
  works sti-plan model.sti --profile shaped.json --target 12ms
  [[ $output != *"of no shape"* ]]
  # Misspelt, and in milliseconds.
  jq '.fixd = .fixed | del(.fixed) | .io[0].load_ms = 1' shaped.json >slip.json
  run --separate-stderr -0 sti-plan model.sti --profile slip.json --target 12ms
  same "$stderr" "sti-plan: warning: slip.json: ignores what it does not know: io[].load_ms, fixd; are the names right?"
  jq '.compute |= map(.layer_us /= 1000 | del(.p99_us, .last_us, .last_p99_us))' shaped.json >ms.json
  run --separate-stderr -0 sti-plan model.sti --profile ms.json --target 12ms
  like "$stderr" "sti-plan: warning: ms.json: compute[[]*[]] computes * TFLOP/s a thread, more than any core does; *"
  run --separate-stderr -0 sti-plan -q model.sti --profile ms.json --target 12ms
  same "$stderr" ""
}

@test "importance is optional; with it the plan names the same submodel" {
  works sti-plan -q model.sti --profile device.json --target 12ms -o a.json
  works plan -q --target 12ms -o b.json
  same "$(jq -c '[.layers, .width]' a.json)" "$(jq -c '[.layers, .width]' b.json)"
}

@test "importance and profile are read in either spelling" {
  sti-importance show --json model.importance >importance.json
  works sti-plan -q model.sti --profile device.json --importance importance.json --target 12ms \
    --preload 200kB -o a.plan
  cmp a.plan model.plan
}

@test "a profile from stdin" {
  sti-plan -q model.sti --profile - --importance model.importance --target 12ms \
    --preload 200kB -o a.plan <device.json
  cmp a.plan model.plan
}

@test "more time never means fewer bytes of shards" {
  last=0
  for target in 4ms 8ms 12ms 20ms 40ms 100ms; do
    plan -q --target $target -o a.json
    bytes=$(jq .parameter_bytes a.json)
    [ "$bytes" -ge "$last" ]
    last=$bytes
  done
}

@test "time enough gives the whole model" {
  plan -q --target 10s -o a.json
  holds "$(cat a.json)" '.layers == [0, 1, 2, 3, 4, 5] and .width == 12'
}

@test "every strategy makes a plan that --check accepts" {
  for strategy in sti sti-paper load-exec stdpl preload random; do
    buffer=(--preload 4MiB)
    [[ $strategy != load-exec && $strategy != stdpl ]] || buffer=()
    works plan -q --strategy $strategy --target 100ms "${buffer[@]}" -o a.json
    same "$(jq -r .strategy a.json)" $strategy
    works sti-plan model.sti --profile device.json --check a.json
    same "${lines[-1]}" valid
    works sti-run -q model.sti --plan a.json "$alarm"
  done
}

@test "load-exec and preload have no accumulated IO budgets" {
  for strategy in load-exec preload; do
    plan -q --strategy $strategy --target 100ms -o a.json
    same "$(jq .aib_us a.json)" null
  done
}

@test "stdpl with --bits is uniform" {
  plan -q --strategy stdpl --bits 2 --target 100ms -o a.json
  same "$(jq -c '[.bits[][]] | unique' a.json)" "[2]"
}

@test "--submodel needs no target" {
  works sti-plan -q model.sti --profile device.json --submodel 3x4 -o a.json
  holds "$(cat a.json)" '.layers == [1, 3, 5] and .width == 4 and .target_us == null'
}

@test "--width-min keeps narrower submodels out" {
  plan -q --target 4ms -o a.json
  narrow=$(jq .width a.json)
  [ "$narrow" -lt 9 ]
  plan -q --target 8ms --width-min 9 -o a.json
  holds "$(cat a.json)" '.width >= 9'
}

@test "--explain tells each step, --json leaves stdout to the plan" {
  works plan --explain -q --target 12ms -o a.plan
  like "$output" "*uniform bits: *"
  run --separate-stderr plan --explain --json --target 12ms
  same "$status" 0
  holds "$output" '.strategy == "sti"'
  like "$stderr" "*uniform bits: *"
}

@test "a target that a noisy profile leaves open is not simply met" {
  local warning="sti-plan: warning: whether the target is met is uncertain: noisy.json knows times to within 20.0 % only; run sti-profile again, on a quieter machine or with a longer --budget"
  jq '.noise = 0.2' device.json >noisy.json
  run --separate-stderr sti-plan model.sti --profile noisy.json --target 12ms
  same "$status" 0
  same "$stderr" "$warning"
  like "$output" "*, target 12.00 ms met, uncertain*"
  run --separate-stderr sti-plan --json model.sti --profile noisy.json --target 12ms
  same "$stderr" "$warning"
  holds "$output" .meets_target
  sti-plan -q model.sti --profile noisy.json --target 12ms -o noisy.plan
  run --separate-stderr sti-plan model.sti --profile noisy.json --check noisy.plan
  same "$status" 0
  same "$stderr" "$warning"
  same "${lines[-1]}" "valid, uncertain"
  run --separate-stderr sti-plan --json model.sti --profile noisy.json --check noisy.plan
  same "$stderr" "$warning"
  holds "$output" '.valid and .uncertain'
  works sti-plan -q --json model.sti --profile noisy.json --check noisy.plan --target 300ms
  holds "$output" '.valid and (.uncertain | not)'
  # A target with room for the noise is met, and so is any by a profile that knows its times.
  works sti-plan model.sti --profile noisy.json --target 300ms
  like "$output" "*, target 300 ms met
*"
  jq '.noise = 0.02' device.json >quiet.json
  works sti-plan model.sti --profile quiet.json --target 12ms
  like "$output" "*, target 12.00 ms met
*"
}

@test "--risk median may plan what p99 does not allow" {
  jq '.io[].p99_us = 3000 | .compute[].p99_us = 3000' device.json >risky.json
  run --separate-stderr sti-plan -q model.sti --profile risky.json --target 3ms
  same "$status" 4
  works sti-plan -q model.sti --profile risky.json --target 3ms --risk median -o a.json
  holds "$(cat a.json)" '.predicted_p99_us > .target_us and .predicted_latency_us <= .target_us'
  # The verdict says which of the two it is about.
  works sti-plan model.sti --profile risky.json --target 3ms --risk median
  like "$output" "*, target 3.00 ms met by the median
*"
  same "$(sti-inspect a.json | grep '^latency')" "$(grep '^latency' <<<"$output")"
}

@test "a plain model is planned whole, and --allow-untrained lifts that" {
  make_plain_model
  refused 4 "sti-plan: no plan meets 5.000 ms: the smallest feasible target is *ms, with 6x12 at 2 bits; raise --target, since no preload is enough; or make the model elastic (examples/elastic-finetune); or give --allow-untrained for submodels that it was not trained for" \
    sti-plan plain.sti --profile device.json --target 5ms -o a.plan
  [ ! -e a.plan ]
  refused 4 "sti-plan: submodel 3x4 was not trained, its answers would mean little; use 6x12 or --allow-untrained" \
    sti-plan plain.sti --profile device.json --submodel 3x4 -o a.plan
  works sti-plan -q plain.sti --profile device.json --target 50ms -o a.json
  holds "$(cat a.json)" '(.layers | length) == 6 and .width == 12'
  works sti-plan -q plain.sti --profile device.json --target 5ms --allow-untrained -o a.json
  holds "$(cat a.json)" '(.layers | length) < 6 or .width < 12'
}
