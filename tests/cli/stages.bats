# A model that is split over several devices: sti-plan --cluster, sti-shard --stage, sti-run --stage.
load helpers

setup() {
  make_links
  write_cluster >cluster.json
}

lines() { tail -n +2 few.tsv | cut -f 1; }

# Three boards as device.json has them, passes of four texts taking three times as long.
write_cluster() {
  jq '. as $p | $p + {batches: [{batch: 4, compute: [$p.compute[] | .layer_us *= 3],
      fixed: [$p.fixed[] | .embed_us *= 3]}]} |
    {devices: [{name: "b1", kind: "board", profile: .}, {name: "b2", kind: "board"},
               {name: "b3", kind: "board"}],
     links: [{from: "board", to: "board", bits_per_s: 1e9, delay_us: 200}]}' device.json
}

plan_stages() {
  sti-plan -q model.sti --cluster cluster.json --importance model.importance -o c.plan "$@"
}

# Runs all stages of a plan, joined by pipes: what the last one prints. Arguments are for each.
run_stages() {
  local devices
  mapfile -t devices < <(sti-inspect --json c.plan | jq -r '.stages[].device')
  local pipeline="cat"
  for device in "${devices[@]}"; do
    pipeline+=" | sti-run -q ${container:-model.sti} --plan c.plan --stage $device $(printf '%q ' "$@")"
  done
  bash -o pipefail -c "$pipeline"
}

@test "a plan splits the model over the devices of a cluster, and says so" {
  works sti-plan model.sti --cluster cluster.json --importance model.importance -o c.json
  like "$output" "*stages *texts a second*b1*layers 0 to *b2*b3*"
  same "$(jq -c '[.stages[].device]' c.json)" '["b1","b2","b3"]'
  same "$(jq -c '[.stages[0].begin, .stages[-1].end, (.layers | length)]' c.json)" '[0,6,6]'
  same "$(jq '.microbatch' c.json)" 4
  same "$(jq '.period_us == ([.stages[] | .period_us, .transfer_us] | max)' c.json)" true
  same "$(jq '.throughput_per_s == .microbatch * 1e6 / .period_us' c.json)" true
  works sti-plan model.sti --cluster cluster.json --check c.json --json
  same "$(jq .valid <<<"$output")" true
  same "$(jq .period_us <<<"$output")" "$(jq .period_us c.json)"
  works sti-plan model.sti --cluster cluster.json --explain --gantt all.svg -o d.json
  like "$output" "*microbatch 4: 3 stages at 6 bits*stage 1, b1*stage 3, b3*"
  same "$(grep -c '<svg ' all.svg)" 4
}

@test "stages joined by pipes give one process's labels and logits, bit for bit" {
  for microbatch in 1 4; do
    plan_stages --microbatch $microbatch
    lines | sti-run -q model.sti --plan c.plan --json | jq -c '[.text, .label, .logits]' >expected
    lines | run_stages --json >answers
    jq -c '[.text, .label, .logits]' answers >seen
    [ "$(wc -l <expected)" = 30 ]
    diff expected seen
    same "$(head -1 answers | jq -c '[.stages[].device]')" '["b1","b2","b3"]'
  done
}

@test "each device runs what was cut for it, and no more" {
  plan_stages
  lines | sti-run -q model.sti --plan c.plan >expected
  for device in b1 b2 b3; do
    works sti-shard -q model --for c.plan --stage $device -o $device.sti
    works sti-inspect --verify $device.sti
  done
  size() { stat -Lc %s "$1"; }
  [ "$(size b2.sti)" -lt "$(($(size model.sti) / 4))" ]
  lines | sti-run -q b1.sti --plan c.plan --stage b1 | sti-run -q b2.sti --plan c.plan --stage b2 |
    sti-run -q b3.sti --plan c.plan --stage b3 >seen
  diff expected seen
  sti-run b2.sti --plan c.plan --stage b1 "$alarm" 2>line >frames || same $? 3
  like "$(<line)" "sti-run: b2.sti: has one stage of a model, without its tokenizer"
  refused 4 "sti-run: the container holds only *" sti-run b2.sti "$alarm"
  refused 4 "*b2.sti: holds only what some plans read*" \
    sti-plan b2.sti --profile device.json --target 9ms
}

@test "any device that has room runs the plan whole" {
  plan_stages
  works sti-run -q model.sti --plan c.plan "$alarm"
  like "$output" "alarm*"
}

@test "lines that are no input keep their place and their error" {
  plan_stages --microbatch 4
  printf 'set an alarm\tfor seven\nno tab here\nwhat time is it\tnow\n' >pairs
  sti-run -q model.sti --plan c.plan --pairs <pairs >expected || same $? 3
  run_stages --pairs <pairs >seen || same $? 3
  diff expected seen
}

@test "a reader that leaves ends all stages quietly" {
  plan_stages --microbatch 1
  # shellcheck disable=SC2016
  run --separate-stderr bash -c 'yes "set an alarm" |
    sti-run -q model.sti --plan c.plan --stage b1 |
    sti-run -q model.sti --plan c.plan --stage b2 |
    sti-run -q model.sti --plan c.plan --stage b3 | head -1; echo "${PIPESTATUS[@]}"'
  like "${lines[0]}" "alarm*"
  same "$stderr" ""
  like "${lines[1]}" "141 0 0 141 0"
}

@test "a stage that dies is a loss, which all others name in time" {
  plan_stages --microbatch 1
  # shellcheck disable=SC2016
  run --separate-stderr bash -c '
    (while sleep 0.05 && echo "set an alarm"; do :; done) 2>/dev/null |
      sti-run -q model.sti --plan c.plan --stage b1 --stage-timeout 2s |
      sh -c "echo \$\$ >pid; exec sti-run -q model.sti --plan c.plan --stage b2 --stage-timeout 2s" |
      sti-run -q model.sti --plan c.plan --stage b3 --stage-timeout 2s >answers &
    until [ -s answers ]; do sleep 0.1; done
    kill -9 "$(cat pid)"
    wait $!; echo "$?"'
  same "$output" 1
  like "$stderr" "*sti-run: *b2*"
}

@test "a frame of another plan, a damaged one and a cut stream are refused" {
  plan_stages --microbatch 1
  cp c.plan one.plan
  plan_stages --microbatch 4
  lines | sti-run -q model.sti --plan one.plan --stage b1 >one.frames || true
  refused_frames 3 "sti-run: frames of b1: the stage runs another plan (*); give all stages one plan" \
    one.frames
  lines | sti-run -q model.sti --plan c.plan --stage b1 >b1.frames || true
  head -c 5000 b1.frames >cut.frames
  refused_frames 1 "sti-run: *b1*" cut.frames
  cp b1.frames bad.frames
  poke bad.frames 300 '\xff\xff\xff\xff'
  refused_frames 3 "sti-run: frames of b1: *" bad.frames
}

# CODE LINE FILE: the stage of b2 ends with this code, and this one line on stderr.
refused_frames() {
  sti-run -q model.sti --plan c.plan --stage b2 <"$3" >b2.frames 2>b2.line || same $? "$1"
  same "$(wc -l <b2.line)" 1
  like "$(<b2.line)" "$2"
}

@test "what makes no sense is refused" {
  plan_stages
  refused 2 "sti-run: --stage: c.plan has no stage on b9; its devices are b1, b2, b3" \
    sti-run model.sti --plan c.plan --stage b9 "$alarm"
  refused 2 "sti-run: --stage is for plans with stages, *" \
    sti-run model.sti --plan model.plan --stage b1 "$alarm"
  for option in "--eval few.tsv" "--window 8" "--one-shot" "--trace t.json" "--idle 1s"; do
    # shellcheck disable=SC2086
    refused 2 "sti-run: --stage takes no ${option%% *}: *" \
      sti-run model.sti --plan c.plan --stage b1 $option
  done
  refused 2 "sti-run: --stage takes no --on-late*" \
    sti-run model.sti --plan c.plan --stage b1 --on-late degrade
  for option in "--cold" "--target 9ms" "--strategy stdpl" "--profile device.json" "--turns 2"; do
    # shellcheck disable=SC2086
    refused 2 "sti-plan: --cluster takes no ${option%% *}: *" \
      sti-plan model.sti --cluster cluster.json $option
  done
  refused 2 "sti-plan: --profile FILE is required, or --cluster FILE; *" sti-plan model.sti --target 9ms
  refused 3 "sti-plan: cluster.json: device b1: has no times of passes of 3 inputs; run sti-profile --batches" \
    sti-plan model.sti --cluster cluster.json --microbatch 3
  jq '.devices[0].memory_bytes = 100000' cluster.json >small.json
  refused 4 "sti-plan: no partition fits the memory of the devices; with * bytes on each of them one would" \
    sti-plan model.sti --cluster small.json
  jq '.links = []' cluster.json >apart.json
  refused 3 "sti-plan: *no device is linked to another*" sti-plan model.sti --cluster apart.json
  refused 2 "sti-shard: --stage: model.plan has no stage on b1; *" \
    sti-shard model --for model.plan --stage b1 -o x.sti
}
