# sti-run under a plan with variants: each input runs the submodel of the shortest that holds it.
load helpers

short="hi"
long="please set an alarm for seven tomorrow morning and then tell me what the weather is like in boston"

# base.json with a big variant for inputs of up to 8 tokens, as both.json, and the two alone.
make_plans() {
  sti-plan -q model.sti --profile device.json --importance model.importance --target 12ms \
    --preload 200kB -o base.json
  sti-plan -q model.sti --profile device.json --strategy stdpl --bits 6 --submodel 6x12 -o wide.json
  jq '.length = 8 | .target_us = 1 | .meets_target = false' wide.json >short.json
  jq --slurpfile short short.json '.target_us = 9e8 | .variants = $short' base.json >both.json
}

answers() { sti-run -q model.sti --json "$@" | jq -c '[.label, .scores, .logits, .tokens, .truncated]'; }

@test "short and long inputs run different submodels, each as its plan alone" {
  make_plans
  printf '%s\n' "$short" "$long" "$alarm" "$short" >texts
  answers --plan both.json <texts >both
  answers --plan short.json <texts >short
  answers --plan base.json <texts >base
  same "$(wc -l <both)" 4
  same "$(sed -n 1p both)" "$(sed -n 1p short)"
  same "$(sed -n 2p both)" "$(sed -n 2p base)"
  same "$(sed -n 3p both)" "$(sed -n 3p short)"
  same "$(sed -n 4p both)" "$(sed -n 1p both)"
  run ! cmp -s short base
  [ "$(sed -n 1p short)" != "$(sed -n 1p base)" ]
  holds "$(sed -n 2p both)" '.[3] > 8 and .[4] == false'
  holds "$(sed -n 2p short)" '.[3] == 8 and .[4] == true'
}

@test "deadlines and --stats are of the plan that ran; --eval sums up by the plan" {
  make_plans
  printf '%s\n' "$short" "$long" | sti-run -q model.sti --json --plan both.json >answers
  same "$(jq -c .deadline_met answers | paste -sd,)" "false,true"
  run --separate-stderr sti-run model.sti --plan both.json --stats "$short"
  like "$stderr" "* of 1 us (late), *"
  run --separate-stderr sti-run model.sti --plan both.json --eval few.tsv --json
  same "$status" 0
  holds "$output" '.target_us == 9e8 and .deadline_misses > 0 and .deadline_misses < .examples'
  holds "$output" ".preload_bytes == $(jq .preload_bytes base.json)"
  same "$(jq .predicted_latency_us <<<"$output")" "$(jq .predicted_latency_us both.json)"
}

@test "token ids go by their number too, and are cut to the longest" {
  make_plans
  jq '.length = 12' both.json >twelve.json
  eight=$(jq -nr '[range(8)] | map(. + 200) | join(" ")')
  thirteen=$(jq -nr '[range(13)] | map(. + 200) | join(" ")')
  same "$(answers --ids --plan twelve.json "$eight")" "$(answers --ids --plan short.json "$eight")"
  jq '.variants = []' twelve.json >alone.json
  same "$(answers --ids --plan twelve.json "$thirteen")" "$(answers --ids --plan alone.json "$thirteen")"
  holds "$(answers --ids --plan twelve.json "$thirteen")" '.[3] == 12 and .[4]'
}

@test "variants that do not fit the buffer or the model are refused" {
  make_plans
  jq '.variants[0].preload = [{layer: 5, slice: 11, bits: 6}]' both.json >bad.json
  refused 3 "sti-run: bad.json: variants\[0\]: preload: layer 5 slice 11 at 6 bits is not preloaded by the plan; *" \
    sti-run -q model.sti --plan bad.json "$short"
  jq '.variants[0].length = 500' both.json >bad.json
  refused 3 "sti-run: the plan does not fit model.sti: variants\[0\]: length 500 is more than any input has; *" \
    sti-run -q model.sti --plan bad.json "$short"
}

@test "a plan that counts on lead time says so once" {
  make_plans
  jq '.wake_us = 250000' base.json >wake.json
  printf '%s\n' "$short" "$long" >texts
  run --separate-stderr sti-run model.sti --plan wake.json <texts
  same "$status" 0
  same "$(grep -c '250 ms of lead time before each text' <<<"$stderr")" 1
  works sti-run -q model.sti --plan wake.json "$short"
}
