# sti-importance: which shards matter, in both spellings, and how to look at it.
load helpers

setup() {
  make_links
  head -n 7 dev.tsv >six.tsv
}

@test "the JSON spelling has every promised field and the same scores as the binary one" {
  works sti-importance -q model.sti --data few.tsv --metric loss -o a.json
  holds "$(cat a.json)" '.metric == "loss" and .examples == 30 and .layers == 6 and .width == 12'
  holds "$(cat a.json)" '(.scores | length) == 6 and all(.scores[]; length == 12)'
  holds "$(cat a.json)" '(.rank | length) == 72 and (.rank | unique | length) == 72'
  holds "$(cat a.json)" 'all(.rank[]; length == 2 and .[0] < 6 and .[1] < 12)'
  holds "$(cat a.json)" '.scores as $s | [.rank[] | $s[.[0]][.[1]]] | . == (sort | reverse)'
  holds "$(cat a.json)" '(.baseline | type) == "number" and .standard_error >= 0'
  holds "$(cat a.json)" '(.kernel | length) > 0 and (.model | test("^[0-9a-f]{32}$"))'
  works sti-importance show --json model.importance
  same "$output" "$(cat a.json)"
}

@test "the same bytes twice, for any number of threads" {
  sti-importance -q model.sti --data few.tsv --metric loss -o a.importance --threads 1
  cmp a.importance model.importance
}

@test "-o - writes JSON to stdout" {
  works sti-importance -q model.sti --data six.tsv --metric loss -o -
  holds "$output" '.metric == "loss" and .examples == 6'
}

@test "without -q a summary goes to stderr" {
  run --separate-stderr sti-importance model.sti --data six.tsv --metric loss -o a.importance
  same "$status" 0
  same "$output" ""
  like "$stderr" "*sti-importance: 6 examples: loss * with a shard raised, * without"
}

@test "--metric kl needs no labels" {
  { echo sentence; tail -n +2 six.tsv | cut -f 1; } >plain.tsv
  works sti-importance -q model.sti --data plain.tsv --metric kl -o a.json
  holds "$(cat a.json)" '.metric == "kl" and all(.scores[][]; . <= 0)'
}

@test "labels as ids and JSON Lines give the same scores as names" {
  sti-importance -q model.sti --data six.tsv --metric loss -o names.importance
  jq -R -s -r --slurpfile config model/config.json 'split("\n")[1:-1][] | split("\t")
    | "\(.[0])\t\($config[0].label2id[.[1]])"' six.tsv | sed $'1i sentence\tlabel' >ids.tsv
  grep -q $'\t131$' ids.tsv
  sti-importance -q model.sti --data ids.tsv --metric loss -o ids.importance
  cmp ids.importance names.importance
  tail -n +2 six.tsv | jq -R -c 'split("\t") | {text: .[0], label: .[1]}' >six.jsonl
  sti-importance -q model.sti --data six.jsonl --metric loss -o jsonl.importance
  cmp jsonl.importance names.importance
}

@test "--submodels and --gains: fields more, the other fields as without them" {
  works sti-importance -q model.sti --data six.tsv --metric loss -o plain.json
  works sti-importance -q model.sti --data six.tsv --metric loss --submodels --gains -o a.json
  same "$(jq -c 'del(.submodels, .gain_bits, .gains)' a.json)" "$(jq -c . plain.json)"
  # 6 depths x widths 2 to 12 at 2 and 32 bits, and 6x12 at the four between.
  holds "$(cat a.json)" '(.submodels | length) == 6 * 11 * 2 + 4'
  holds "$(cat a.json)" '.submodels == (.submodels | unique_by([.layers, .width, .bits]))'
  holds "$(cat a.json)" 'all(.submodels[]; .accuracy >= 0 and .accuracy <= 1 and .loss >= 0)'
  holds "$(cat a.json)" '[.submodels[] | select(.layers == 6 and .width == 12) | .bits]
    == [2, 3, 4, 5, 6, 32]'
  holds "$(cat a.json)" '[.submodels[] | select(.layers == 6 and .width == 12 and .bits == 2)
    | -.loss][0] == .baseline'
  holds "$(cat a.json)" '.gain_bits == [3, 4, 5, 6, 32] and (.gains | length) == 6'
  holds "$(cat a.json)" 'all(.gains[]; length == 12) and all(.gains[][]; length == 5)'
  # At the most bits a gain is what the score says.
  holds "$(cat a.json)" '. as $i | all(range(6); . as $l | all(range(12); . as $s
    | $i.gains[$l][$s][4] - ($i.scores[$l][$s] - $i.baseline) | fabs < 1e-12))'
}

@test "a submodel's loss and accuracy are what sti-run measures" {
  works sti-importance -q model.sti --data few.tsv --submodels -o a.json
  for submodel in 2x3 6x12; do
    for bits in 2 32; do
      works sti-run -q model.sti --submodel $submodel --bits $bits --eval few.tsv --json
      want=$(jq -c --arg s $submodel --argjson b $bits '.submodels[]
        | select("\(.layers)x\(.width)" == $s and .bits == $b)' a.json)
      holds "$output" "(.accuracy - $want.accuracy | fabs < 1e-9) and (.mean_loss - $want.loss | fabs < 1e-4)"
    done
  done
}

@test "--metric kl: the full model agrees with itself" {
  works sti-importance -q model.sti --data six.tsv --metric kl --submodels --gains -o a.json
  holds "$(cat a.json)" '.submodels[-1] | .bits == 32 and .accuracy == 1 and (.loss | fabs) < 1e-12'
  works sti-importance show a.json
  like "$output" "*same label as the full model, %, of n layers (down) x m slices (across) at 32 bits*"
}

@test "binary and JSON hold the same submodels and gains" {
  sti-importance -q model.sti --data six.tsv --metric loss --submodels --gains -o a.json
  sti-importance -q model.sti --data six.tsv --metric loss --submodels --gains -o a.importance \
    --threads 1
  works sti-importance show --json a.importance
  same "$output" "$(cat a.json)"
  same "$(sti-inspect a.json)" "$(sti-importance show a.importance)"
}
