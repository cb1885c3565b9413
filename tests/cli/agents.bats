# Whole models whose layers several agents read side by side: sti-plan --strategy pipeload, and runs
# under such plans.
load helpers

setup_file() {
  make_fixtures
  cd "$BATS_FILE_TMPDIR"
  # One open file is granted 50 bytes a microsecond, and all together 300.
  jq '.streams = [range(1; 7) | {streams: ., bytes_per_us: (50 * .)}] | .read_bytes = 65536
      | .read_depth = 4' "$fixtures/device.json" >files.json
  sti-plan -q "$fixtures/model.sti" --profile files.json --strategy pipeload --agents 3 -o three.plan
  sti-plan -q "$fixtures/model.sti" --profile files.json --strategy stdpl --bits 32 \
    --submodel 6x12 -o layers.plan
}

setup() {
  make_links
  ln -s "$BATS_FILE_TMPDIR"/*.plan "$BATS_FILE_TMPDIR/files.json" .
}

plan() { sti-plan model.sti --profile files.json --strategy pipeload "$@"; }

answers() { sti-run -q --json model.sti --plan "$@" | jq -c '[.label, .logits]'; }

@test "a plan of the whole model at full fidelity, with as many agents as are fastest" {
  works plan -o -
  holds "$(plan -q --json)" '.strategy == "pipeload" and .agents > 1 and .preload == []
    and ([.bits[][]] | unique) == [32] and (.layers | length) == 6 and .width == 12'
  local one two
  one=$(plan -q --json --agents 1 | jq .predicted_latency_us)
  two=$(plan -q --json --agents 2 | jq .predicted_latency_us)
  holds "[$one, $two]" '.[0] > .[1]'
  works plan --agents 2
  like "$output" "*agents     2 layers read side by side*"
}

@test "labels and logits are those of layers that are read in order, whatever the number of agents" {
  printf '%s\n' "$alarm" "what is the weather" "" "play something quiet please" >texts
  local order agents
  order=$(answers layers.plan <texts)
  for agents in 1 2 5 16; do
    plan -q --agents "$agents" -o some.plan
    same "$(answers some.plan <texts)" "$order"
  done
  same "$(answers three.plan --threads 1 <texts)" "$order"
}

@test "a cold start whose layers agents read" {
  jq '.io = [(4096, 1000000) | {bytes: ., load_us: (100 + . / 50)}]' files.json >bytes.json
  sti-plan -q model.sti --profile bytes.json --strategy pipeload --cold --agents 4 -o cold.plan
  same "$(answers cold.plan <<<"$alarm")" "$(answers layers.plan <<<"$alarm")"
}

@test "a trace has a lane an agent, with signals and stops, and JSON says what they came to" {
  plan -q --agents 3 --memory 12MB -o little.plan
  sti-run -q --json --threads 1 --trace out.json model.sti --plan little.plan "$alarm" >answer
  holds "$(cat answer)" '.agents == 3 and .stopped_us > 0 and .staged_peak_bytes > 0'
  holds "$(jq -c '[.staged_peak_bytes, .bytes_read]' answer)" '.[0] <= .[1]'
  holds "$(cat out.json)" '.traceEvents as $all
    | [$all[] | select(.ph == "M" and .tid >= 10).args.name] == ["agent 0", "agent 1", "agent 2"]
    and ([$all[] | select(.ph == "X" and .tid >= 10 and .name != "stop") | .args.bytes] | add > 0)
    and ([$all[] | select(.name == "stop")] | length > 0)
    and ([$all[] | select(.ph == "i" and (.name | startswith("comp")))] | length == 6)
    and ([$all[] | select(.ph == "i" and (.name | startswith("dest")))] | length == 6)
    and ([$all[] | select(.ph == "C").args.bytes] | max > 0 and min == 0 and last == 0)'
  # An agent reads every third layer; a layer is computed when its last read has come.
  holds "$(cat out.json)" '[.traceEvents[] | select(.ph == "X" and .tid == 11 and .name != "stop").name]
    | unique == ["layer 1", "layer 4"]'
  sti-run -q --json model.sti --plan layers.plan "$alarm" >answer
  holds "$(cat answer)" 'has("agents") or has("stopped_us") | not'
}

@test "--replan takes such a plan" {
  same "$(sti-run -q --json model.sti --plan three.plan --replan files.json "$alarm" |
    jq -c '[.label, .logits]')" "$(answers layers.plan <<<"$alarm")"
}

@test "--explain and --gantt draw a lane an agent" {
  works plan --agents 2 --explain --gantt lanes.svg
  like "$output" "*agent 0 *F*agent 1 *F*compute *#*"
  like "$(cat lanes.svg)" "*>agent 0<*>agent 1<*>compute<*"
  works plan --agents 1 --explain
  like "$output" "*IO  *F*compute *#*"
}

@test "memory bounds how far agents run ahead" {
  local whole
  whole=$(plan -q --json --agents 4 | jq .staging_bytes)
  plan -q --json --agents 4 --memory 12MB >little.json
  holds "$(cat little.json)" ".agents == 4 and .predicted_peak_bytes <= 12000000
    and .staging_bytes < $whole"
  same "$(answers little.json <<<"$alarm")" "$(answers layers.plan <<<"$alarm")"
}

@test "--sweep --memories: as many agents for each bound as are fastest, as each plan alone says" {
  works plan --sweep --memories 3MB,12MB,20MB
  like "$output" "*memory  agents*3.0 MB    none*none: no pipeload plan fits in the memory asked for*"
  plan -q --json --sweep --memories 12MB,20MB >rows
  holds "$(cat rows)" '[.rows[].feasible] == [true, true]
    and .rows[0].predicted_latency_us >= .rows[1].predicted_latency_us'
  local row memory
  for row in 0 1; do
    memory=$(jq ".rows[$row].memory_bytes" rows)
    same "$(plan -q --json --memory "${memory}B" |
      jq -c '[.agents, .predicted_latency_us, .predicted_peak_bytes, .staging_bytes]')" \
      "$(jq -c ".rows[$row] | [.agents, .predicted_latency_us, .predicted_peak_bytes,
        .staging_bytes]" rows)"
  done
  run plan --sweep --memories 1MB,2MB
  same "$status" 4
}

@test "too little memory: exit 4 with the least that works" {
  local least
  run plan --memory 5MB
  same "$status" 4
  like "$output" "*no pipeload plan fits in the memory asked for; raise --memory to * bytes*"
  least=$(grep -oE '[0-9]+ bytes' <<<"$output" | tr -dc '0-9')
  works plan -q --memory "$least"B
}

@test "what agents do not go with" {
  local strategy
  for agents in 0 17 x -1; do
    run plan --agents "$agents"
    same "$status" 2
  done
  run sti-plan model.sti --profile files.json --submodel 6x12 --strategy stdpl --agents 2
  same "$status" 2
  like "$output" "*--strategy stdpl takes no --agents: it reads layer by layer; drop one*"
  run plan --turns 2
  same "$status" 2
  run plan --guarantee --target 1s
  same "$status" 2
  run sti-plan model.sti --profile device.json --strategy pipeload
  same "$status" 2
  like "$output" "*has no rates through several open files*run sti-profile again*"
  run sti-run model.sti --plan three.plan --on-late degrade "$alarm"
  same "$status" 2
  like "$output" "*this plan has 3 agents*"
}

@test "a plan with more agents than there may be, or with turns, is refused" {
  jq '.agents = 17' <(plan -q --json) >many.json
  run sti-run model.sti --plan many.json "$alarm"
  same "$status" 3
  like "$output" "*agents is above 16*"
  jq '.read_streams = 17' <(plan -q --json) >many.json
  run sti-run model.sti --plan many.json "$alarm"
  same "$status" 3
  sti-plan -q model.sti --profile files.json --target 2s --turns 2 --json |
    jq '.agents = 2' >turns.json
  run sti-run model.sti --plan turns.json "$alarm"
  same "$status" 3
  like "$output" "*a plan with agents has turns, a cascade, a fallback or stages*"
}

@test "where descriptors run out, fewer files are open, and -v says so" {
  plan -q --agents 16 -o many.plan
  run bash -c 'ulimit -n 12; sti-run -v --json model.sti --plan many.plan "$1"' _ "$alarm"
  same "$status" 0
  like "$output" "*reading through * open file*, and no more: cannot be opened anew: Too many open files*"
  like "$output" '*"label":"alarm"*'
}

@test "a damaged part under agents is named, and makes no label" {
  local at size refused=0
  size=$(stat -c %s model.sti)
  for at in $((size / 2)) $((size * 3 / 4)); do
    cp model.sti bad.sti
    printf '\xff\x00\xff\x00' | dd of=bad.sti bs=1 seek="$at" conv=notrunc status=none
    run sti-run -q bad.sti --plan three.plan "$alarm"
    [ "$status" -eq 0 ] && continue
    same "$status" 3
    like "$output" "*is damaged*"
    refused=$((refused + 1))
  done
  holds "$refused" '. > 0'
}
