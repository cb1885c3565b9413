# sti-importance --quick: importance estimated from gradients, and what it says about itself.
load helpers

quick() { sti-importance -q model.sti --data few.tsv --quick "$@"; }

@test "--quick writes an estimate of the loss that sti-plan takes" {
  works quick -o quick.importance
  works sti-inspect --json quick.importance
  holds "$output" '.metric == "loss" and .estimate == "empirical Fisher" and .examples == 30'
  holds "$output" '(.scores | length) == 6 and all(.scores[]; length == 12)'
  holds "$output" '(.errors | length) == 6 and all(.errors[][]; . >= 0)'
  works sti-plan -q model.sti --profile device.json --importance quick.importance \
    --target 12ms --preload 200kB -o quick.plan
  works sti-run -q model.sti --plan quick.plan "$alarm"
}

@test "the baseline is that of the measurement, to the last digit" {
  works quick -o quick.json
  sti-inspect --json model.importance >measured.json
  same "$(jq .baseline quick.json)" "$(jq .baseline measured.json)"
  same "$(jq .standard_error quick.json)" "$(jq .standard_error measured.json)"
  same "$(jq .model quick.json)" "$(jq .model measured.json)"
  holds "$(cat measured.json)" 'has("estimate") | not'
}

@test "it ranks shards much as the measurement does" {
  works quick -o quick.json
  works "$repo/bench/experiments/rank-agreement" --top 24 model.importance quick.json
  read -r spearman kendall shared file note <<<"${lines[1]}"
  like "$file $note" "quick.json (loss, estimated)"
  echo "Spearman $spearman, Kendall $kendall, $shared of 24"
  awk -v s="$spearman" -v k="$kendall" -v n="$shared" 'BEGIN {exit !(s > 0.6 && k > 0.4 && n >= 14)}'
}

@test "the same bytes for any number of threads" {
  quick -o one.importance --threads 1
  quick -o three.importance --threads 3
  cmp one.importance three.importance
}

@test "the summary says that it is an estimate, and so does show" {
  run --separate-stderr sti-importance model.sti --data few.tsv --quick -o a.importance
  same "$status" 0
  same "$output" ""
  like "$stderr" "*sti-importance: 30 examples: loss * with a shard raised, * without (* estimate)"
  works sti-importance show a.importance
  like "${lines[0]}" "30 examples: loss * (empirical Fisher estimate)"
}

@test "--metric kl needs no labels; --gains estimates each bitwidth" {
  { echo sentence; tail -n +2 few.tsv | cut -f 1; } >plain.tsv
  works sti-importance -q model.sti --data plain.tsv --quick --metric kl --gains -o a.json
  holds "$(cat a.json)" '.metric == "kl" and .estimate == "empirical Fisher"'
  holds "$(cat a.json)" '.gain_bits == [3, 4, 5, 6, 32] and all(.gains[][]; length == 5)'
  holds "$(cat a.json)" '.baseline as $b | [.scores, .gains] | transpose |
    all(.[]; transpose | all(.[]; (.[0] - .[1][4] - $b) | fabs < 1e-12))'
}

@test "accuracy is refused" {
  refused 2 "sti-importance: --quick cannot estimate accuracy; take --metric loss or --metric kl" \
    sti-importance model.sti --data few.tsv --quick --metric accuracy -o a.importance
  [ ! -e a.importance ]
}

@test "--submodels are refused" {
  refused 2 "sti-importance: --quick estimates shards, not --submodels; leave one of the two out" \
    sti-importance model.sti --data few.tsv --quick --submodels -o a.importance
  [ ! -e a.importance ]
}

@test "parts, going on, and other arithmetic are refused" {
  for option in "--part 1/2" --resume; do
    # shellcheck disable=SC2086
    refused 2 "sti-importance: --quick does all at once; leave out --part and --resume, or --quick" \
      sti-importance model.sti --data few.tsv --quick $option -o a.importance
  done
}

@test "a container of one bitwidth has nothing to raise" {
  sti-shard -q model -o one.sti --bits 2
  refused 3 "sti-importance: one.sti: has one bitwidth only, so no shard can be raised; *" \
    sti-importance one.sti --data few.tsv --quick -o a.importance
}

@test "a model of many labels to an input" {
  sti-shard -q "$repo/tests/data/multilabel-tiny" -o multi.sti
  printf '{"text":"it was not very good"}\n{"text":"very good"}\n' >plain.jsonl
  works sti-importance -q multi.sti --data plain.jsonl --quick --metric kl -o a.json
  holds "$(cat a.json)" '.metric == "kl" and .baseline <= 0 and .examples == 2'
}

@test "rank-agreement: a file agrees with itself, and not with one of another model" {
  works "$repo/bench/experiments/rank-agreement" model.importance model.importance
  like "${lines[1]}" "*1.000*1.000*24*model.importance (loss)"
  jq '.model = "0123456789abcdef0123456789abcdef"' <(sti-inspect --json model.importance) >other.json
  refused 1 "rank-agreement: other.json is of another model than model.importance; *" \
    "$repo/bench/experiments/rank-agreement" model.importance other.json
  refused 1 "rank-agreement: dev.tsv: not an importance file; *" \
    "$repo/bench/experiments/rank-agreement" model.importance dev.tsv
}
