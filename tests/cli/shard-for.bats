# sti-shard --for writes a container with just the shards and planes that some plans read.
load helpers

lines() { tail -n +2 few.tsv | cut -f 1; }

@test "a plan runs on what was cut down for it, with the same output" {
  run sti-shard model --for model.plan -o small.sti
  same "$status" 0
  [ "$(stat -Lc %s small.sti)" -lt "$(($(stat -Lc %s model.sti) * 3 / 4))" ]
  lines | sti-run -q model.sti --plan model.plan --json | jq -c '[.label, .logits]' >expected
  lines | sti-run -q small.sti --plan model.plan --json | jq -c '[.label, .logits]' >seen
  [ "$(wc -l <expected)" = 30 ]
  diff expected seen
  same "$(sti-inspect --json small.sti | jq .model)" "$(sti-inspect --json model.sti | jq .model)"
  works sti-inspect --verify small.sti
  like "$output" "*parts checked, 0 damaged"
}

@test "several plans: each runs; one that was not named does not" {
  sti-plan -q model.sti --profile device.json --target 8ms -o a.plan
  sti-plan -q model.sti --profile device.json --strategy stdpl --bits 2 --submodel 3x4 -o b.plan
  sti-plan -q model.sti --profile device.json --strategy stdpl --bits 6 --submodel 6x12 -o c.plan
  sti-shard -q model --for a.plan,b.plan -o two.sti
  works sti-run -q two.sti --plan a.plan "$alarm"
  works sti-run -q two.sti --plan b.plan "$alarm"
  refused 3 "*the plan does not fit two.sti: layer * at 6 bits is not stored; *" \
    sti-run -q two.sti --plan c.plan "$alarm"
}

@test "what turns and variants read is there too" {
  sti-plan -q model.sti --profile device.json --strategy stdpl --bits 2 --submodel 3x4 -o base.json
  jq '.turns = [{bits, preload: []}, {bits: (.bits | map(map(4))), preload: []}]
    | .variants = [. + {length: 16, bits: (.bits | map(map(6))), turns: []}]' base.json >both.json
  jq '.turns = []' both.json >variant.json
  jq '.variants = []' both.json >turns.json
  for plan in base turns variant both; do
    works sti-shard -q model --for $plan.json -o $plan.sti
    works sti-inspect --verify $plan.sti
    sti-inspect --json $plan.sti | jq -c .bits >$plan.bits
  done
  same "$(<base.bits)$(<turns.bits)$(<variant.bits)$(<both.bits)" "[2][2,4][2,6][2,4,6]"
  for bits in 4 6; do
    sti-plan -q model.sti --profile device.json --strategy stdpl --bits $bits --submodel 3x4 -o $bits.json
  done
  works sti-run -q turns.sti --plan 4.json "$alarm"
  works sti-run -q variant.sti --plan 6.json "$alarm"
  refused 3 "*the plan does not fit turns.sti: layer * at 6 bits is not stored; *" \
    sti-run -q turns.sti --plan 6.json "$alarm"
}

# Whatever needs parts that are not there cannot be met: exit 4 in every tool. What is there works.
@test "what needs the whole model says so" {
  sti-shard -q model --for model.plan -o small.sti
  for choice in "" "--bits 2" "--bits 5" "--submodel 6x12"; do
    # shellcheck disable=SC2086
    refused 4 "sti-run: the container holds only what some plans read; give one of them by --plan" \
      sti-run small.sti $choice "$alarm"
  done
  refused 4 "sti-run: the container holds only *" sti-run small.sti --eval few.tsv
  whole="small.sti: holds only what some plans read; use the container that they were made for, not one of sti-shard --for"
  refused 4 "sti-plan: $whole" sti-plan small.sti --profile device.json --target 12ms -o x.plan
  refused 4 "sti-plan: $whole" sti-plan small.sti --profile device.json --check model.plan
  refused 4 "sti-importance: $whole" sti-importance small.sti --data few.tsv -o x.importance
  refused 4 "sti-importance: $whole" sti-importance small.sti --data few.tsv --quick -o x.importance
  for bits in 2 5 32; do
    refused 4 "sti-inspect: $whole" sti-inspect small.sti --export $bits -o out
  done
  [ ! -e x.plan ] && [ ! -e x.importance ] && [ ! -e out ]
  works sti-profile -q small.sti -o small.profile --budget 1us --lengths 16 # it has whole layers
  works sti-inspect --tokenize small.sti <<<"$alarm"
  same "$output" "$(sti-inspect --tokenize model.sti <<<"$alarm")"
}

@test "a plan of another model, or of another codebook, is refused" {
  refused 3 "*model.plan: it was made for model *, not *; give the folder and the codebook it was made from" \
    sti-shard model --for model.plan --codebook gobo -o small.sti
  [ ! -e small.sti ]
  refused 3 "*few.tsv: *" sti-shard model --for few.tsv -o small.sti
  sti-inspect --json model.plan | jq '.layers[-1] = 9 | .preload = []' >beyond.json
  refused 3 "*beyond.json: layer 9 is beyond the last; give the folder and the codebook it was made from" \
    sti-shard model --for beyond.json -o small.sti
  refused 2 "sti-shard: --for takes no --bits: its plans say which bits they read; drop one" sti-shard model --for model.plan --bits 2-6 -o small.sti
}

@test "--dry-run says the size beforehand" {
  works sti-shard model --for model.plan --dry-run --json
  holds "$output" ".file_bytes > 0"
  said=$(jq .file_bytes <<<"$output")
  sti-shard -q model --for model.plan -o small.sti
  same "$said" "$(stat -Lc %s small.sti)"
}
