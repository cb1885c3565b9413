# sti-run under a plan of a cold start: the first label is timed from the start of the process, and
# what is needed first is read first.
load helpers

# cold.plan, and warm.plan which runs the same shards at the same bits.
setup() {
  make_links
  # Reads are known by bytes: 20 us and 80 MiB/s.
  jq '.io = [4096, 1048576 | {bytes: ., load_us: (20 + . / 83.886)}]' device.json >bytes.json
  sti-plan -q model.sti --profile bytes.json --cold --submodel 6x12 --bits 3 -o cold.plan
  sti-plan -q model.sti --profile bytes.json --submodel 6x12 --bits 3 -o warm.plan
}

@test "a cold start gives the logits of a warm one" {
  works sti-run -q --json model.sti --plan cold.plan "$alarm" "tell me a joke"
  same "$(jq -c '[.label, .logits]' <<<"$output")" \
    "$(sti-run -q --json model.sti --plan warm.plan "$alarm" "tell me a joke" | jq -c '[.label, .logits]')"
  for way in threads buffered; do
    same "$(sti-run -q --json --io $way model.sti --plan cold.plan "$alarm" | jq -c .logits)" \
      "$(jq -c .logits <<<"${lines[0]}")"
  done
}

@test "only the first input is cold: it reads what stays in memory, the second has it" {
  works sti-run -q --json model.sti --plan cold.plan "$alarm" "$alarm"
  holds "$(jq -s . <<<"$output")" '.[0].bytes_read > .[1].bytes_read
    and .[0].logits == .[1].logits and .[0].turn == 1 and .[1].turn == 2'
  # The plan speaks of the first alone.
  holds "${lines[0]}" 'has("predicted_latency_us") and has("latency_difference_us")'
  holds "${lines[1]}" '(has("predicted_latency_us") or has("latency_difference_us")) | not'
  # Without a cold start all are alike, but for the rows of words that the first has read.
  works sti-run -q --json model.sti --plan warm.plan "$alarm" "$alarm" "$alarm"
  holds "$(jq -s . <<<"$output")" '.[0].bytes_read - 100000 < .[1].bytes_read
    and .[0].bytes_read > .[1].bytes_read and .[1].bytes_read == .[2].bytes_read'
  holds "${lines[0]}" 'has("predicted_latency_us")'
}

@test "the first latency holds all that its layers took" {
  works sti-run -q --json model.sti --plan cold.plan "$alarm"
  holds "$output" '.latency_us > ([.layers[].compute_us] | add) + .stall_us'
  same "$(jq '.layers | length' <<<"$output")" 6
}

@test "the first latency counts from the start of the process: opening is in it" {
  mkdir flash
  cp -L model.sti flash/
  # The header comes 300 ms late, and nothing can be begun without it.
  run --separate-stderr timeout 60 env STI_BUILD="${STI_BIN%/*}" \
    "$repo/tests/support/slow-flash" --latency 0us --fault delay=300ms@0+64 1GiB flash -- \
    bash -c 'for plan in cold warm; do
      sti-run -q --json "$STI_FLASH/model.sti" --plan $plan.plan "$0"; done' "$alarm"
  [ "$status" -ne 77 ] || skip "$stderr"
  same "$status" 0
  holds "${lines[0]}" '.latency_us > 300000 and .label == "alarm"'
  holds "$(jq -s . <<<"$output")" '.[0].logits == .[1].logits'
}

@test "a cold start reads in the order of need" {
  works sti-run -q --trace trace.json model.sti --plan cold.plan "$alarm"
  # A read ends at ts + dur, and was begun in_flight_us before.
  jq -c '[.traceEvents[] | select(.tid == 1 and .args.in_flight_us)
    | {name, begin: (.ts + .dur - .args.in_flight_us)}] | sort_by(.begin) | map(.name)' \
    trace.json >order
  # The head is needed after all layers, and a layer before the next one.
  holds "$(<order)" '.[-1] == "head parameters"'
  holds "$(<order)" 'map(select(startswith("layer"))[6:7] | tonumber) | . == sort and unique == [range(6)]'
  # Warm, the parameters are in memory before the first input.
  works sti-run -q --trace warm.json model.sti --plan warm.plan "$alarm"
  holds "$(<warm.json)" 'all(.traceEvents[]; .name | contains("parameters") | not)'
}

@test "--eval of a cold plan: one cold start, then warm ones" {
  works sti-run -q --json model.sti --plan cold.plan --eval few.tsv
  holds "$output" '.examples == 30 and .accuracy > 0.8 and .latency_us.max >= .latency_us.p50'
}
