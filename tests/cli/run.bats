# sti-run: text in, one line out for each input, flushed at once.
load helpers

@test "texts on the command line" {
  works sti-run model.sti --plan model.plan "$alarm" "tell me a joke"
  same "${#lines[@]}" 2
  [[ ${lines[0]} =~ ^alarm$'\t'0\.[0-9]{4}$'\t'"$alarm"$ ]]
  [[ ${lines[1]} =~ ^tell_joke$'\t'[01]\.[0-9]{4}$'\t'"tell me a joke"$ ]]
}

@test "lines on stdin, the last one without its end" {
  works sti-run model.sti --plan model.plan < <(printf '%s\n%s' "$alarm" "tell me a joke")
  same "${#lines[@]}" 2
  like "${lines[0]}" $'alarm\t*\t'"$alarm"
  like "${lines[1]}" $'tell_joke\t*\ttell me a joke'
}

@test "no input: no output, exit 0" {
  works sti-run model.sti --plan model.plan </dev/null
  same "$output" ""
}

@test "each answer comes before the next line is asked for" {
  coproc sti-run model.sti --plan model.plan
  for text in "$alarm" "tell me a joke"; do
    echo "$text" >&"${COPROC[1]}"
    read -r -t 20 answer <&"${COPROC[0]}"
    like "$answer" "*$text"
  done
  process=$COPROC_PID
  eval "exec ${COPROC[1]}>&-"
  wait "$process"
}

@test "without a plan the whole model runs at its most bits, and stderr says so" {
  run --separate-stderr sti-run --json model.sti "$alarm"
  same "$status" 0
  same "$(jq -r .label <<<"$output")" alarm
  same "$stderr" "sti-run: no --plan: running the whole model at its most bits (32); sti-plan makes one for a latency target"
}

@test "binary and JSON spelling of a plan answer alike" {
  sti-inspect --json model.plan >plan.json
  sti-run --json model.sti --plan model.plan "$alarm" | jq .logits >binary.logits
  sti-run --json model.sti --plan plan.json "$alarm" | jq .logits >json.logits
  cmp binary.logits json.logits
  sti-run --json model.sti --plan - "$alarm" <plan.json | jq .logits >stdin.logits
  cmp binary.logits stdin.logits
}

@test "every way to read gives the same logits" {
  sti-run --json model.sti --plan model.plan "$alarm" | jq .logits >auto.logits
  for way in uring threads buffered; do
    # A kernel without io_uring says so and reads through threads.
    sti-run -q --json --io $way model.sti --plan model.plan "$alarm" | jq .logits >$way.logits
    cmp $way.logits auto.logits
  done
}

@test "one thread gives the same labels" {
  tail -n +2 few.tsv | cut -f 1 >texts
  sti-run model.sti --plan model.plan --threads 1 <texts | cut -f 1,3 >one
  sti-run model.sti --plan model.plan <texts | cut -f 1,3 >all
  same "$(wc -l <one)" 30
  cmp one all
}

@test "--backend openblas gives the same label" {
  works sti-run -q --backend openblas model.sti "$alarm"
  like "$output" $'alarm\t*'
}

@test "--submodel and --bits choose without a plan" {
  works sti-run --json model.sti --submodel 3x6 --bits 4 "$alarm"
  same "$(jq -r .label <<<"$output")" alarm
  small=$(jq .bytes_read <<<"$output")
  works sti-run --json model.sti --submodel 6x12 --bits 4 "$alarm"
  [ "$(jq .bytes_read <<<"$output")" -gt "$small" ]
}

@test "a submodel that was not trained is warned of" {
  run --separate-stderr sti-run model.sti --submodel 6x1 "$alarm"
  same "$status" 0
  same "$stderr" "sti-run: warning: widths under 2 were not trained"
  make_plain_model
  run --separate-stderr sti-run plain.sti --submodel 3x6 "$alarm"
  same "$status" 0
  same "$stderr" "sti-run: warning: the model has no elastic metadata: 3x6 of 6x12 is allowed but was not trained for; its answers mean little"
}

@test "--one-shot answers the first line and ends" {
  works sti-run --one-shot model.sti --plan model.plan < <(printf '%s\n%s\n' "$alarm" "tell me a joke")
  same "${#lines[@]}" 1
  like "$output" $'alarm\t*'
}

@test "--stats tells times and bytes of every input on stderr" {
  run --separate-stderr sti-run --stats model.sti --plan model.plan "$alarm" "tell me a joke"
  same "$status" 0
  same "${#lines[@]}" 2
  layers=$(sti-inspect --json model.plan | jq '.layers | length')
  mapfile -t stderr_lines < <(without_lateness <<<"$stderr")
  same "${#stderr_lines[@]}" $((2 + layers * 2))
  like "${stderr_lines[0]}" "sti-run: * of 12.00 ms*, predicted * ms, stalled *, read * kB, peak memory * MB" ||
    like "${stderr_lines[0]}" "sti-run: * of 12.00 ms*, predicted * ms, stalled *, read * MB, peak memory * MB"
  like "${stderr_lines[1]}" "sti-run: layer 0: IO *, compute *s*"
}

@test "--trace: lanes of IO, decoding and computation, each slice with its shards and bits" {
  works sti-run --trace trace.json model.sti --plan model.plan "$alarm" "tell me a joke"
  layers=$(sti-inspect --json model.plan | jq '.layers | length')
  holds "$(cat trace.json)" '[.traceEvents[] | select(.ph == "M").args.name] | length == 3'
  for lane in 2 3; do
    jq ".traceEvents[] | select(.ph == \"X\" and .tid == $lane and (.name | startswith(\"layer\")))" \
      trace.json >lane.json
    holds "$(jq -s . lane.json)" "length == $((layers * 2)) and all(.args.bits | length > 0)"
  done
  # No two slices of a lane overlap, and decoding lies within its layer.
  holds "$(cat trace.json)" '[.traceEvents[] | select(.ph == "X")] | group_by(.tid) | all(
    sort_by(.ts) | [.[:-1], .[1:]] | transpose | all(.[0].ts + .[0].dur <= .[1].ts + 0.01))'
  # Each read has its time in flight, and the first of them begins the run.
  holds "$(cat trace.json)" '[.traceEvents[] | select(.tid == 1 and .ph == "X")] | .[0].ts == 0
    and all(.[] | select(.args.in_flight_us); .ts + .dur >= .args.in_flight_us - 0.01)'
  read_bits=$(jq -c '[.traceEvents[] | select(.tid == 1 and .args.parts) | .args.parts[][]] | unique' trace.json)
  holds "$read_bits" 'length >= 1 and .[0] == 2'
  holds "$(cat trace.json)" 'all(.traceEvents[] | select(.ph == "X"); .ts >= 0 and .dur >= 0)'
  no_leftovers
}

@test "--memory: what fits runs, what cannot fit is refused with what is needed" {
  works sti-run --memory 200MB model.sti --plan model.plan "$alarm"
  refused 4 "sti-run: --memory 1.0 MB is less than the * MB needed before the first shard; raise it" \
    sti-run --memory 1MB model.sti --plan model.plan "$alarm"
}
