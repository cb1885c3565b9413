# sti-run under a plan with a cascade: easy inputs return early, others read what is missing.
load helpers

# first.json and whole.json are plans of the shipped model; cascade.json runs the one, then the
# other. Its cut-off lets some of few.tsv return early, and others not.
setup_file() {
  make_fixtures
  cd "$BATS_FILE_TMPDIR"
  local plan=(sti-plan -q "$fixtures/model.sti" --profile "$fixtures/device.json")
  "${plan[@]}" --submodel 4x3 --strategy stdpl --bits 4 -o first.json
  "${plan[@]}" --submodel 6x12 --strategy stdpl --bits 6 -o whole.json
  jq '.preload = [{layer: .layers[0], slice: 0, bits: 4}] | .preload_bytes = 40960' \
    first.json >level.json
  jq -n --slurpfile first level.json --slurpfile whole whole.json '$whole[0] + {cascade: {
    levels: [$first[0] + {cutoff: 0.5}], return_share: [0.25],
    path_us: [5000, 40000], mean_us: 31250, worst_path_us: 50000}}' >cascade.json
}

setup() {
  make_links
  ln -s "$BATS_FILE_TMPDIR"/*.json .
  tail -n +2 few.tsv | cut -f 1 >lines
}

# EDIT: cascade.json with its level edited, as edited.json.
edit_level() { jq ".cascade.levels[0] |= ($1)" cascade.json >edited.json; }

@test "each answer is that of its level's plan alone, to the bit" {
  works sti-run -q --json --threads 2 model.sti --plan first.json <lines
  printf '%s\n' "$output" >first
  works sti-run -q --json --threads 1 model.sti --plan whole.json <lines
  printf '%s\n' "$output" >whole
  works sti-run -q --json --threads 2 model.sti --plan cascade.json <lines
  jq -n --slurpfile c <(printf '%s\n' "$output") --slurpfile f first --slurpfile w whole '
    [range($c | length) as $i | $c[$i] as $is | ([$f, $w][$is.level - 1][$i]) as $alone
     | $is.logits == $alone.logits and $is.scores == $alone.scores and $is.label == $alone.label
       and $is.returned == ["early", "final"][$is.level - 1] and $is.words_pruned == 0
       and ($is.level == 2 or $is.confidence > 0.5) and $is.turn == $i + 1]
    | length == 30 and all' >same
  holds "$(<same)" .
  holds "$(printf '%s\n' "$output" | jq -s .)" '[.[].level] | contains([1]) and contains([2])'
  holds "$(jq -s . first)" 'all(has("level") or has("confidence") or has("returned") | not)'
  holds "$(printf '%s\n' "$output" | jq -s .)" \
    'all(.predicted_latency_us == [5000, 40000][.level - 1])'
  # A level behind the first reads what that has left, so that it has no times of its own to keep.
  holds "$(printf '%s\n' "$output" | jq -s .)" 'all((.level == 1) == has("stall_difference_us")
    and (.level == 1) == (.layers[0] | has("io_difference_us")))'
}

@test "no part of a shard is read twice for one input" {
  edit_level '.cutoff = 1'
  works sti-run -q --trace trace.json model.sti --plan edited.json "$alarm"
  jq '[.traceEvents[] | select(.args.parts) | .name as $layer | .args.parts | to_entries[]
       | "\($layer | sub(" refinement"; "")) \(.key) \(.value[])"]' trace.json >parts
  holds "$(<parts)" 'length > 300 and (sort == unique)'
  # All of the whole model at 6 bits, 5 parts a shard, but what the preload holds.
  holds "$(<parts)" 'length == 6 * 12 * 5 - 3'
  holds "$(<trace.json)" '[.traceEvents[].args.cascade_level | values] | unique == [1, 2]'
  works sti-run -q --trace trace.json model.sti --plan whole.json "$alarm"
  holds "$(<trace.json)" 'all(.traceEvents[]; .args | has("cascade_level") | not)'
}

@test "--eval: what each level answered, beside what was predicted" {
  works sti-run -q --json model.sti --plan cascade.json --eval few.tsv
  holds "$output" '.cascade | (.levels | map(.answers) | add) == 30
    and (.levels | map(.share) | add - 1 | fabs) < 1e-9 and .deadline_returns == 0
    and (.levels | map(.predicted_share)) == [0.25, 0.75] and .words_pruned == 0
    and .mean_latency_us > 0 and .predicted_mean_us == 31250'
  holds "$output" '((.cascade.levels | map(.answers * (.accuracy // 0)) | add) - 30 * .accuracy | fabs) < 1e-6'
  holds "$output" '.predicted_latency_us == 40000 and .predicted_p99_us == 50000'
  works sti-run model.sti --plan cascade.json --eval few.tsv
  like "$output" $'*\nlevel 1 *answers * % of inputs, 25.0 % predicted; * % right\n*'
  like "$output" $'*\nlevel 2 *answers * % of inputs, 75.0 % predicted; * % right\n*'
  like "$output" $'*\nmean latency *, predicted 31.25 ms\n*'
  works sti-run -q --json model.sti --plan whole.json --eval few.tsv
  holds "$output" 'has("cascade") | not'
}

@test "two levels that count together" {
  edit_level '.cutoff = 1 | .ensemble_weight = 0'
  works sti-run -q --json model.sti --plan edited.json "$alarm"
  together=$output
  works sti-run -q --json model.sti --plan first.json "$alarm"
  jq -n --argjson t "$together" --argjson f "$output" '$t.level == 2 and $t.label == $f.label
    and ([$t.scores, $f.scores] | map(to_entries) | transpose
         | all(.[0].key == .[1].key and (.[0].value - .[1].value | fabs) < 1e-6))' >same
  holds "$(<same)" .
  works sti-run -q --json model.sti --plan edited.json --eval few.tsv
  weightless=$(jq .accuracy <<<"$output")
  works sti-run -q --json model.sti --plan first.json --eval few.tsv
  same "$weightless" "$(jq .accuracy <<<"$output")"
}

@test "words that receive little attention stay behind" {
  edit_level '.cutoff = 1 | .prune_alpha = 0.5'
  works sti-run -q --json --threads 2 model.sti --plan edited.json <lines
  pruned=$(printf '%s\n' "$output" | jq -s .)
  holds "$pruned" 'all(.level == 2 and .words_pruned >= 0) and (map(.words_pruned) | add) > 10'
  works sti-run -q --json --threads 1 model.sti --plan edited.json <lines
  same "$(jq -c 'map(.logits)' <<<"$pruned")" \
    "$(printf '%s\n' "$output" | jq -sc 'map(.logits)')"
  words=$(jq 'map(.words_pruned) | add' <<<"$pruned")
  works sti-run -q --json model.sti --plan edited.json --eval few.tsv
  holds "$output" ".cascade.words_pruned == $words and .accuracy > 0.5"
}

@test "what chance decides hangs on --seed alone" {
  edit_level '.cutoff = 0 | .slope = 0.01'
  levels() { sti-run -q --json "$@" model.sti --plan edited.json <lines | jq -c .level | tr -d '\n'; }
  zero=$(levels)
  same "$zero" "$(levels --seed 0 --threads 1)"
  [ "$zero" != "$(levels --seed 1)" ]
  like "$zero" '*1*2*'
  refused 2 "sti-run: --seed is for plans with a cascade that sends inputs on by chance, which cascade.json is not" \
    sti-run model.sti --plan cascade.json --seed 1 "$alarm"
  refused 2 "sti-run: --seed is for plans with a cascade *; none of these is one" \
    sti-run --model a=model.sti,cascade.json --seed 1
}

@test "--on-late: one deadline for all levels" {
  jq '.target_us = 60e6' cascade.json >ample.json
  works sti-run -q --json --on-late degrade model.sti --plan ample.json <lines
  holds "$(printf '%s\n' "$output" | jq -s .)" 'all(.deadline_met and .degraded == [] and
    .returned != "deadline") and ([.[].level] | contains([1]) and contains([2]))'
  # The first level is soon done; of the last the plan says that it takes longer than there is.
  jq '.target_us = 60e6 | .times.layer_us = 60e6 | .cascade.levels[0].cutoff = 1' \
    cascade.json >short.json
  works sti-run -q --json --on-late degrade model.sti --plan short.json "$alarm" "$alarm"
  holds "$(printf '%s\n' "$output" | jq -s .)" 'all(.level == 1 and .returned == "deadline")'
  jq '.target_us = 1' cascade.json >fast.json
  run --separate-stderr sti-run --json --on-late fail model.sti --plan fast.json "$alarm"
  same "$status" 4
  holds "$output" '.deadline_met == false'
  run --separate-stderr sti-run --on-late fail model.sti --plan fast.json --eval few.tsv
  same "$status" 4
  edit_level 'del(.times)'
  refused 2 "sti-run: --on-late degrade needs a plan with a target and the times*" \
    sti-run --on-late degrade model.sti --plan edited.json "$alarm"
}

@test "among several models, within --memory, and beside pauses" {
  works sti-run -q --json --model c=model.sti,cascade.json --model w=model.sti,whole.json \
    < <(sed 's/^/c\t/' lines; printf 'w\t%s\n' "$alarm")
  holds "$(printf '%s\n' "$output" | jq -s .)" 'map(select(.model == "c")) | length == 30
    and ([.[].level] | contains([1]) and contains([2]))'
  holds "$(printf '%s\n' "$output" | jq -s .)" 'map(select(.model == "w" and has("level"))) == []'
  skip_if_sanitized "its memory is not that of the tools"
  works sti-run -q --json --memory 20MB --idle 10ms model.sti --plan cascade.json \
    < <(head -n 3 lines; sleep 0.1; tail -n +4 lines)
  same "${#lines[@]}" 30
}

@test "what makes no sense with a cascade is refused" {
  sti-shard -q "$repo/tests/data/multilabel-tiny" -o multi.sti
  sti-inspect --json multi.sti | jq '{model: .model, shape: .shape_digest, strategy: "stdpl",
    length: 16, layers: [0], width: 1, slices: [[0]], bits: [[3]]}
    | . + {cascade: {levels: [. + {cutoff: 0.5}], return_share: [0.5]}}' >several-labels.json
  refused 2 "sti-run: the plan has a cascade, which is for one label an input, *" \
    sti-run -q multi.sti --plan several-labels.json "$alarm"
}
