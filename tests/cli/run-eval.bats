# sti-run --eval: a labelled set in numbers, and gates for continuous integration.
load helpers

@test "--json: one object with every promised field" {
  works sti-run --json model.sti --plan model.plan --eval few.tsv
  same "${#lines[@]}" 1
  holds "$output" '.examples == 30 and .accuracy > 0.8 and .accuracy <= 1 and .mean_loss > 0'
  holds "$output" '.latency_us | .p50 > 0 and .p95 >= .p50 and .p99 >= .p95 and .max >= .p99'
  holds "$output" '.stall_us | .p50 >= 0 and .p99 >= .p50'
  holds "$output" '.deadline_misses >= 0 and .deadline_misses <= 30 and .target_us == 12000'
  holds "$output" '.bytes_read_per_input > 0 and .preload_bytes > 0 and .peak_rss_bytes > 1000000'
  holds "$output" '.degraded_inputs == 0 and (.over_bound | .p50 > 0 and .p99 >= .p50)'
  for field in examples accuracy mean_loss latency_us deadline_misses stall_us bytes_read_per_input \
    preload_bytes peak_rss_bytes target_us predicted_latency_us predicted_p99_us; do
    holds "$output" "has(\"$field\")"
  done
  plan=$(sti-inspect --json model.plan)
  same "$(jq .predicted_latency_us <<<"$output")" "$(jq .predicted_latency_us <<<"$plan")"
  same "$(jq .predicted_p99_us <<<"$output")" "$(jq .predicted_p99_us <<<"$plan")"
}

@test "without a plan target and predictions are null" {
  works sti-run -q --json model.sti --eval few.tsv
  holds "$output" '.target_us == null and .predicted_latency_us == null and .deadline_misses == 0'
}

@test "plain: one line a number" {
  works sti-run model.sti --plan model.plan --eval few.tsv
  for line in 'accuracy  * % of 30' 'mean loss *' 'latency  *median *, p95 *, p99 *, max *' \
    'predicted *' 'target  *12.00 ms, missed * times' 'stalled *' 'read an input *' 'memory *'; do
    like "$output" "*$line*"
  done
}

@test "the shipped set at full fidelity" {
  works sti-run -q --json model.sti --eval dev.tsv
  holds "$output" '.examples == 310 and .accuracy > 0.92'
}

@test "examples from stdin" {
  works sti-run -q --json model.sti --eval - <few.tsv
  holds "$output" '.examples == 30'
}

@test "--min-accuracy: a gate, exit 4, the summary still printed" {
  works sti-run model.sti --plan model.plan --eval few.tsv --min-accuracy 50%
  run --separate-stderr sti-run --json model.sti --submodel 1x2 --bits 2 --eval few.tsv --min-accuracy 1
  same "$status" 4
  holds "$output" '.examples == 30 and .accuracy < 1'
  like "$stderr" "sti-run: accuracy 0.* is below --min-accuracy 1.0000"
}

@test "--max-p99: a gate, exit 4" {
  works sti-run model.sti --plan model.plan --eval few.tsv --max-p99 100s
  run --separate-stderr sti-run --json model.sti --plan model.plan --eval few.tsv --max-p99 1us
  same "$status" 4
  holds "$output" '.examples == 30'
  like "$stderr" "sti-run: p99 latency * is above --max-p99 1 us"
}

@test "--on-late fail with a target that cannot be kept: exit 4" {
  sti-inspect --json model.plan | jq '.target_us = 1' >fast.json
  run --separate-stderr sti-run --json --on-late fail model.sti --plan fast.json --eval few.tsv
  same "$status" 4
  holds "$output" '.deadline_misses == 30'
  same "$stderr" "sti-run: 30 inputs missed the target"
}

@test "a broken set: exit 3 with file and line, no summary" {
  printf 'sentence\tlabel\nhello\tgreeting\nfly\tteleport\n' >bad.tsv
  refused 3 'sti-run: bad.tsv:3: label "teleport" is none of the model'"'"'s; *' \
    sti-run -q model.sti --eval bad.tsv
  refused 3 "sti-run: none.tsv: no such file" sti-run -q model.sti --eval none.tsv
}

@test "the first rows of SST-2 as GLUE has them" {
  [ -d "$shared/models/sst2-minilm-12x12" ] || skip "needs ../shared: models/sst2-minilm-12x12"
  sti-shard -q "$shared/models/sst2-minilm-12x12" -o sst2.sti --bits 6
  head -n 41 "$shared/data/SST-2/dev.tsv" >first.tsv
  works sti-run -q --json sst2.sti --bits 6 --eval first.tsv
  holds "$output" '.examples == 40 and .accuracy > 0.8'
}
