# sti-plan --sweep: targets x preload buffers as a table, as JSON and as a picture.
load helpers

sweep() { sti-plan model.sti --profile device.json --importance model.importance --sweep "$@"; }

@test "without lists it chooses them, from the least target to all bits of the whole model" {
  works sweep --json
  holds "$output" '.quality == "shard_bits" and (.rows | length) == 32'
  holds "$output" '.rows[0].feasible and .rows[0].preload_bytes == 0'
  holds "$output" '.rows[-4] | .width == 12 and .layers == [0, 1, 2, 3, 4, 5] and .mean_bits == 32'
  holds "$output" '[.rows[].target_us] | . == sort'
  holds "$output" 'any(.rows[]; .on_front)'
}

@test "the table fits 80 columns and has a row a cell" {
  works sweep --targets 8ms,12ms --preloads 0,100kB,200kB
  same "$(awk 'length > 80' <<<"$output")" ""
  same "$(grep -c ' ms  .*x' <<<"$output")" 6
  like "$output" "*quality is shards x mean bits; sti-importance --submodels would give accuracy"
}

@test "each cell is what sti-plan makes for it" {
  works sweep --targets 8ms,12ms --preloads 0,200kB --json
  sti-plan -q model.sti --profile device.json --importance model.importance --target 12ms \
    --preload 200kB -o a.json
  same "$(jq -c '.rows[3] | [.layers, .width, .predicted_latency_us, .predicted_peak_bytes,
    .parameter_bytes]' <<<"$output")" "$(jq -c '[.layers, .width, .predicted_latency_us,
    .predicted_peak_bytes, .parameter_bytes]' a.json)"
}

@test "no plan of the front is beaten by another" {
  works sweep --json
  holds "$output" '[.rows[] | select(.feasible)] as $all | all($all[] | select(.on_front); . as $a
    | all($all[]; (.quality > $a.quality * 1.001 and .predicted_latency_us <= $a.predicted_latency_us
      and .predicted_peak_bytes <= $a.predicted_peak_bytes) | not))'
}

@test "cells that cannot be met are shown as such; if none can: exit 4" {
  works sweep --targets 500us,12ms --preloads 0
  like "$output" "*500 us *0 B *none*none: the smallest feasible target is *ms*"
  works sweep --targets 500us,12ms --preloads 0 --json
  holds "$output" '.rows[0].feasible == false and (.rows[0].problem | test("smallest feasible"))'
  run --separate-stderr sweep --targets 500us --preloads 0
  same "$status" 4
  like "$stderr" "sti-plan: no target of the sweep can be met: no plan meets 0.500 ms*"
}

@test "--sweep-svg draws it" {
  works sweep --sweep-svg a.svg
  python3 -c 'import sys, xml.etree.ElementTree as t; t.parse(sys.argv[1])' a.svg
  grep -q "predicted latency, ms" a.svg
  grep -q "no preload" a.svg
}

@test "--target and --preload stand for lists of one" {
  works sweep --target 12ms --preload 100kB --json
  holds "$output" '(.rows | length) == 1 and .rows[0].target_us == 12000
    and .rows[0].preload_bytes == 100000'
}

@test "what does not go with a sweep, and lists without sense" {
  refused 2 "sti-plan: --sweep takes no --output: it shows many plans and writes none; drop one" sweep -o a.plan
  refused 2 "sti-plan: --sweep takes no --gantt: *; drop one" sweep --gantt a.svg
  refused 2 "sti-plan: --check takes no --sweep: *; drop one" sweep --check model.plan
  refused 2 "sti-plan: --targets goes with --sweep; add it, or drop --targets" \
    sti-plan model.sti --profile device.json --target 12ms --targets 8ms
  refused 2 "sti-plan: --targets: *12 apples*" sweep --targets "8ms,12 apples"
  refused 2 "sti-plan: --preloads: *" sweep --preloads "0,,1MiB"
}
