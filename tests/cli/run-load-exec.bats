# sti-run under a load-exec plan (STI Table 4): all reads first, then all computation, as the plan
# counts on. Other plans read while they compute.
load helpers

setup_file() {
  make_fixtures
  cd "$BATS_FILE_TMPDIR"
  sti-plan -q "$fixtures/model.sti" --profile "$fixtures/device.json" --submodel 6x12 \
    --strategy load-exec --bits 6 -o serial.plan
  sti-plan -q "$fixtures/model.sti" --profile "$fixtures/device.json" --submodel 6x12 \
    --strategy stdpl --bits 6 -o pipelined.plan
}

setup() {
  make_links
  ln -s "$BATS_FILE_TMPDIR"/*.plan .
}

# Of a trace: in microseconds, from the last byte that was read to the first computation; negative
# where the two overlap.
gap() {
  jq '[.traceEvents[] | select(.ph == "X")] as $events
    | ($events | map(select(.tid == 3).ts) | min) as $computed
    | ($events | map(select(.tid == 1) | .ts + .dur) | max) as $read
    | $computed - $read' "$1"
}

@test "nothing is computed before the last read has come" {
  works sti-run -q --json model.sti --plan serial.plan --trace serial.json "$alarm"
  holds "$output" '.label == "alarm" and .bytes_read > 0'
  holds "$(gap serial.json)" '. >= 0'
  sti-run -q model.sti --plan pipelined.plan --trace pipelined.json "$alarm" >/dev/null
  holds "$(gap pipelined.json)" '. < 0'
}

@test "the logits are those of the same shards in any other order" {
  same "$(sti-run -q --json model.sti --plan serial.plan "$alarm" | jq -c .logits)" \
    "$(sti-run -q --json model.sti --plan pipelined.plan "$alarm" | jq -c .logits)"
}

@test "with little memory it reads what fits before the first layer, and answers the same" {
  # Room for two of the six layers, beyond what is needed before the first shard; for more where the
  # process holds more of its executable than in the run that told what is needed.
  local needed more
  needed=$(sti-run -q --memory 1MB --threads 1 model.sti --plan serial.plan "$alarm" 2>&1 |
    sed -nE 's/.* ([0-9.]+) MB needed before the first shard.*/\1/p')
  for more in 0.8 1.2 1.6 2.0; do
    timeout 60 sti-run -q --json --memory "$(jq -n "$needed + $more")MB" --threads 1 \
      --trace little.json model.sti --plan serial.plan "$alarm" >little.answer && break
  done
  holds "$(gap little.json)" '. < 0'
  same "$(jq -c .logits little.answer)" \
    "$(sti-run -q --json model.sti --plan serial.plan "$alarm" | jq -c .logits)"
}
