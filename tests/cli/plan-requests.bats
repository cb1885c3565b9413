# sti-plan: what can be asked for beside a target: accuracy, lengths, clocks, lead time, turns.
load helpers

setup_file() {
  load helpers
  make_fixtures
  cd "$BATS_FILE_TMPDIR"
  sti-importance -q "$fixtures/model.sti" --data "$fixtures/few.tsv" --metric loss --submodels \
    --gains -o rich.importance
}

plan() {
  sti-plan model.sti --profile device.json --importance "$BATS_FILE_TMPDIR/rich.importance" "$@"
}

# Layers of 16 tokens take a third of those of 64.
write_short_profile() {
  jq '.compute += [.compute[] | .length = 16 | .layer_us = .layer_us / 3]
    | .fixed += [.fixed[] | .length = 16]' device.json >short.json
}

@test "A(n, m) gives predictions, and --check the same ones" {
  works plan -q --target 8ms -o a.json
  holds "$(cat a.json)" '.predicted_accuracy > 0.5 and .predicted_accuracy <= 1
    and .predicted_loss > 0'
  works plan --check a.json --json
  same "$(jq '[.predicted_loss, .predicted_accuracy]' <<<"$output")" \
    "$(jq '[.predicted_loss, .predicted_accuracy]' a.json)"
  works sti-plan -q model.sti --profile device.json --target 8ms -o b.json
  holds "$(cat b.json)" '.predicted_accuracy == null and .predicted_loss == null'
}

@test "more time never means a higher predicted loss" {
  last=99
  for target in 2ms 4ms 8ms 12ms 20ms 100ms; do
    plan -q --target $target -o a.json
    holds "$(cat a.json)" ".predicted_loss <= $last"
    last=$(jq .predicted_loss a.json)
  done
}

@test "--min-accuracy: the fastest plan predicted to reach it" {
  plan -q --target 100ms -o all.json
  accuracy=$(jq '.predicted_accuracy - 0.01' all.json)
  works plan -q --min-accuracy "$accuracy" -o a.json
  holds "$(cat a.json)" ".predicted_accuracy >= $accuracy and .meets_target and .target_us < 50000"
  works plan -q --min-accuracy "$accuracy" --target 90ms -o b.json
  holds "$(cat b.json)" '.target_us == 90000'
  same "$(jq -c .bits b.json)" "$(jq -c .bits a.json)"
}

@test "--min-accuracy out of reach: exit 4 with the best there is" {
  refused 4 "sti-plan: no plan reaches an accuracy of 0.9999 within 3.000 ms; the best is predicted to have 0.*; lower --min-accuracy or raise --target" \
    plan --target 3ms --min-accuracy 99.99%
  refused 2 "sti-plan: a least accuracy needs A(n, m) of the submodels; run sti-importance --submodels and give --importance" \
    sti-plan model.sti --profile device.json --importance model.importance --min-accuracy 0.8
}

@test "--length as a list: a variant for each, short inputs get a better submodel" {
  write_short_profile
  works sti-plan -q model.sti --profile short.json --importance "$BATS_FILE_TMPDIR/rich.importance" \
    --length 16,64 --target 6ms --preload 100kB -o a.json
  holds "$(cat a.json)" '.length == 64 and (.variants | length) == 1 and .variants[0].length == 16'
  holds "$(cat a.json)" '.variants[0].predicted_loss < .predicted_loss'
  holds "$(cat a.json)" '. as $p | all(.variants[0].preload[]; . as $s | $p.preload | index([$s]))'
  works sti-plan model.sti --profile short.json --check a.json
  same "${lines[-1]}" valid
  like "$output" "*variant of up to 16 tokens: latency * predicted, p99 *, valid*"
  works sti-run -q model.sti --plan a.json --json "$alarm"
  holds "$output" '.label == "alarm"'
}

@test "--length outside the model or the profile" {
  refused 2 "sti-plan: an input of the model has at least 2 tokens; raise --length" plan --target 8ms --length 1,16
  refused 2 "sti-plan: no profiled length holds 65 tokens, the profile has 64; ask for one of these or run sti-profile --lengths" \
    plan --target 8ms --length 16,65
}

@test "--freq: a plan for a clock, and variants for several" {
  jq '.compute = [.compute[] | (.freq = 2000000), (.freq = 1000000 | .layer_us *= 2)]' \
    device.json >clocks.json
  works sti-plan -q model.sti --profile clocks.json --target 8ms --freq 1000000,2000000 -o a.json
  holds "$(cat a.json)" '.freq == 2000000 and .variants[0].freq == 1000000'
  holds "$(cat a.json)" '.parameter_bytes > .variants[0].parameter_bytes'
  refused 2 "sti-plan: clocks.json: no layer times at 900000 kHz or less; ask for a clock that was profiled" \
    sti-plan model.sti --profile clocks.json --target 8ms --freq 900000
}

@test "--wake: lead time buys bits, and the plan says so" {
  plan -q --submodel 6x6 --target 6ms -o a.json
  works plan -q --submodel 6x6 --target 6ms --wake 2ms -o b.json
  holds "$(cat b.json)" ".wake_us == 2000 and .predicted_loss < $(jq .predicted_loss a.json)"
  works plan --check b.json
  same "${lines[-1]}" valid
  jq '.wake_us = 0' b.json >edited.json
  run --separate-stderr plan --check edited.json
  same "$status" 4
}

@test "--turns: fidelity never falls, bytes never grow" {
  works plan -q --target 6ms --preload 50kB --turns 4 --turn-buffer 400kB -o a.json
  holds "$(cat a.json)" '(.turns | length) == 4 and .turn_bytes == 400000'
  holds "$(cat a.json)" '.turns[0].bits == .bits and .turns[0].preload == .preload'
  holds "$(cat a.json)" '[.turns[].read_bytes] | . == (sort | reverse)'
  holds "$(cat a.json)" '. as $p | all(range(1; 4); . as $t
    | [$p.turns[$t - 1].bits[][]] as $before | [$p.turns[$t].bits[][]] as $after
    | all(range($before | length); $after[.] >= $before[.]))'
  holds "$(cat a.json)" '.turns[3].predicted_loss < .turns[0].predicted_loss'
  holds "$(cat a.json)" 'all(.turns[]; .preload_bytes <= 400000 and .predicted_p99_us <= 6000)'
  works plan --check a.json --json
  holds "$output" '(.turns | length) == 4 and all(.turns[]; .valid)'
  jq '.turns[1].bits[0][-1] = 32 | .turns[2].bits[0][-1] = 32 | .turns[3].bits[0][-1] = 32
    | .turns[1].bits[0][-2] = 32 | .turns[2].bits[0][-2] = 32 | .turns[3].bits[0][-2] = 32' \
    a.json >edited.json
  run --separate-stderr plan --check edited.json
  same "$status" 4
  like "$stderr" "sti-plan: edited.json: turn 2 takes *"
}

@test "--turn-buffer below the preload buffer is refused" {
  refused 2 "sti-plan: the buffer between turns is smaller than the preload buffer; raise --turn-buffer" \
    plan --target 6ms --preload 100kB --turns 2 --turn-buffer 50kB
}

@test "a width that was not profiled: refused by name, estimated when told to" {
  jq 'del(.compute[] | select(.width == 5))' device.json >hole.json
  refused 3 "sti-plan: hole.json: compute has no width 5 at length 64; measure it (sti-profile --widths), or --interpolate" \
    sti-plan model.sti --profile hole.json --target 8ms
  works sti-plan -q model.sti --profile hole.json --target 8ms --interpolate
}

@test "times that fall with more work: refused by name" {
  jq '.compute[4].layer_us = 1' device.json >bad.json
  refused 3 "sti-plan: bad.json: compute[[]4].layer_us is less than that of less work, compute[[]3]; correct it or run sti-profile again" \
    sti-plan model.sti --profile bad.json --target 8ms
  jq '.io[2].load_us = 10' device.json >bad.json
  refused 3 "sti-plan: bad.json: io[[]2].load_us is less than that of less work, io[[]1]; correct it or run sti-profile again" \
    sti-plan model.sti --profile bad.json --target 8ms
  jq '.io[2].p99_us = 10' device.json >bad.json
  refused 3 "sti-plan: bad.json: io[[]2].p99_us is below the median; correct it or run sti-profile again" \
    sti-plan model.sti --profile bad.json --target 8ms
}

@test "a least accuracy goes with turns, a lead time and an IO budget" {
  sti-importance -q model.sti --data few.tsv --metric loss --submodels --gains -o all.importance
  least() {
    works sti-plan -q model.sti --profile device.json --importance all.importance \
      --min-accuracy 60% -o a.json "$@"
    works sti-plan -q model.sti --profile device.json --importance all.importance --check a.json
    holds "$(cat a.json)" '.predicted_accuracy >= 0.6'
  }
  least
  alone=$(jq .target_us a.json)
  least --turns 2
  holds "$(cat a.json)" ".turns | length == 2"
  least --wake 5ms
  holds "$(cat a.json)" ".wake_us == 5000 and .target_us < $alone"
  least --io-budget 100kB
  holds "$(cat a.json)" 'any(.bits[][]; . == 6) and all(.bits[][]; . == 2 or . == 6)'
}

@test "baselines have no turns and no lead time, and preload has one length" {
  for strategy in load-exec stdpl preload; do
    refused 2 "sti-plan: turns and a lead time are for the strategies sti, sti-paper and random; drop --turns and --wake" \
      plan --strategy $strategy --target 60ms --turns 2
    works plan -q --strategy $strategy --target 60ms --length 64 -o a.json
    works plan --check a.json
  done
  write_short_profile
  refused 2 "sti-plan: the strategy preload holds one plan's shards; ask for one length, batch and clock" \
    sti-plan model.sti --profile short.json --strategy preload --target 60ms --length 16,64
  works sti-plan -q model.sti --profile short.json --strategy stdpl --target 60ms --length 16,64 -o a.json
  works sti-plan model.sti --profile short.json --check a.json
}

@test "the strategy preload keeps within the preload buffer" {
  preload() { sti-plan model.sti --profile device.json --strategy preload --target 60ms "$@"; }
  works preload -q -o all.json
  bytes=$(jq .preload_bytes all.json)
  works preload -q --preload $((bytes / 2)) -o half.json
  holds "$(cat half.json)" ".preload_bytes <= $bytes / 2 and .preload_bytes > $bytes / 4"
  refused 4 "sti-plan: no preload plan fits in the preload buffer: the smallest holds * bytes; raise --preload" \
    preload --preload 1kB
}

@test "an IO budget that takes longer than the target is refused" {
  budget() { sti-plan model.sti --profile device.json --submodel 4x6 --io-budget 40kB "$@"; }
  works budget -q --target 60ms -o a.json
  holds "$(cat a.json)" '.meets_target and ([.bits[][]] | max) == 6 and ([.bits[][]] | min) == 2'
  refused 4 "sti-plan: a plan that spends this IO budget takes * of *; raise --target or lower --io-budget" \
    budget --target 4ms
}
