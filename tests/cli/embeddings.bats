# Models that embed: folders of sentence-transformers and plain encoders in, vectors out.
load helpers

setup() {
  make_links
  make_sentence_model
}

reference() { # the vector of a text in the test data, as JSON
  jq -c "select(.folder == \"multilabel-tiny\" and .pooling == \"mean\" and .text == \"$1\").embedding" \
    "$repo/tests/data/embeddings.jsonl"
}

text="the movie was very good, not bad!"

@test "--json has the vector, as sentence-transformers gives it, and no label" {
  works sti-run -q --json embed.sti "$text"
  holds "$output" "[.embedding, $(reference "$text")] | transpose | all(.[0] - .[1] | fabs < 0.00001)"
  holds "$output" '(.embedding | length) == 16 and (has("label") or has("scores") or has("logits") | not)'
  holds "$output" '.tokens > 2 and .latency_us > 0 and .truncated == false'
}

@test "a plain line is the vector's numbers, and gives the same floats" {
  works sti-run -q embed.sti "$text"
  plain=$output
  works sti-run -q --json embed.sti "$text"
  holds "$output" "[.embedding, ($(jq -nR 'input | split(" ") | map(tonumber)' <<<"$plain"))] |
    transpose | all(.[0] - .[1] | fabs < 0.000000001)"
}

@test "--format f32 and npy are what numpy and others read" {
  printf '%s\n' "$text" "never mind" >lines
  sti-run -q embed.sti --format f32 <lines >rows
  [ "$(stat -c %s rows)" = $((2 * 16 * 4)) ]
  sti-run -q embed.sti --format npy <lines >rows.npy
  # An NPY file: magic, version 1.0, a header that ends on a multiple of 64, then the rows.
  [ "$(head -c 8 rows.npy | od -An -tx1 | tr -d ' \n')" = 934e554d50590100 ]
  [ "$(stat -c %s rows.npy)" = $((128 + 2 * 16 * 4)) ]
  head -c 128 rows.npy | tail -c +11 | grep -q "'descr': '<f4', 'fortran_order': False, 'shape': (2, 16)"
  tail -c +129 rows.npy | cmp - rows
  # The first number of the first row is that of JSON.
  first=$(od -An -tf4 -N4 rows | tr -d ' ')
  holds "$(sti-run -q --json embed.sti "$text")" ".embedding[0] - ($first) | fabs < 0.0001"
}

@test "an unusable line is a row of NaN among rows, so that rows and lines stay side by side" {
  printf '%s\n' "1 2 3" "no id" "4 5" >lines
  sti-run -q embed.sti --ids --format f32 --dimensions 2 <lines >rows 2>error && false
  [ "$?" = 3 ]
  [ "$(cat error)" = "sti-run: 'no' is not a token id" ]
  [ "$(stat -c %s rows)" = 24 ]
  [ "$(od -An -tf4 -j8 -N8 rows | tr -s ' ')" = " nan nan" ]
  sti-run -q embed.sti --ids --format npy --dimensions 2 <lines >rows.npy 2>error && false
  grep -qa "'shape': (3, 2)" rows.npy
  tail -c +129 rows.npy | cmp - rows
}

@test "no line gives an NPY file of no rows" {
  sti-run -q embed.sti --format npy </dev/null >rows.npy
  [ "$(stat -c %s rows.npy)" = 128 ]
  grep -qa "'shape': (0, 16)" rows.npy
}

@test "--dimensions keeps the first numbers and makes them of unit length again" {
  works sti-run -q --json embed.sti --dimensions 4 "$text"
  holds "$output" "($(reference "$text") | .[:4]) as \$all | (\$all | map(. * .) | add | sqrt) as \$length |
    [.embedding, (\$all | map(. / \$length))] | transpose | all(.[0] - .[1] | fabs < 0.00001)"
  refused 2 "sti-run: the model's embeddings have 16 dimensions, of which at least 1 is taken" \
    sti-run -q embed.sti --dimensions 17 "$text"
}

@test "--prefix stands in front of each text" {
  works sti-run -q embed.sti --prefix "the movie " "was very good, not bad!"
  prefixed=$output
  works sti-run -q embed.sti "$text"
  [ "$output" = "$prefixed" ]
}

@test "max_seq_length bounds an input; what is longer is cut and said so" {
  works sti-run -q --json embed.sti "$(printf 'play %.0s' {1..40})"
  holds "$output" '.tokens == 12 and .truncated'
}

@test "a plain encoder embeds by --pooling, as the folder of a sentence model would" {
  jq '.architectures = ["BertModel"]' "$repo/tests/data/multilabel-tiny/config.json" >config.json
  cp -r "$repo/tests/data/multilabel-tiny" encoder
  cp config.json encoder/
  refused 3 "sti-shard: encoder/config.json: architectures name no classifier of texts or tokens, *--pooling" \
    sti-shard -q encoder -o encoder.sti
  for pooling in mean cls max; do
    sti-shard -q encoder --pooling $pooling -o encoder.sti
    works sti-run -q --json encoder.sti "$text"
    expected=$(jq -c "select(.folder == \"multilabel-tiny\" and .pooling == \"$pooling\" and .text == \"$text\")" \
      "$repo/tests/data/embeddings.jsonl")
    # The reference of the mean is of unit length.
    holds "$output" "$expected as \$e | (if \$e.unit_length then (.embedding | map(. * .) | add | sqrt) else 1 end) as \$length |
      [.embedding, \$e.embedding] | transpose | all(.[0] / \$length - .[1] | fabs < 0.00001)"
  done
  refused 2 "sti-shard: sentences: its modules.json says how rows are pooled; leave --pooling out" \
    sti-shard -q sentences --pooling mean -o encoder.sti
}

@test "what is for labels is refused, and says why" {
  refused 2 "sti-run: --top is for models that label texts; embed.sti embeds texts" \
    sti-run -q --json embed.sti --top 3 x
  refused 2 "sti-run: --threshold is for models that label texts; *" sti-run -q embed.sti --threshold 0.5 x
  refused 2 "sti-run: --baseline is for models that label texts or label tokens; *" \
    sti-run -q embed.sti --eval dev.tsv --baseline full.json
  refused 2 "sti-run: --replan is for models that label texts or label tokens; *" \
    sti-run -q embed.sti --plan model.plan --replan device.json x
  refused 2 "sti-run: --format is for models that embed texts; model.sti labels texts" \
    sti-run -q model.sti --format f32 x
  refused 2 "sti-run: --dimensions is for models that embed texts; *" \
    sti-run -q model.sti --dimensions 3 x
}

@test "a profile of a classifier's shape plans it, without what is for labels" {
  jq '.compute = [range(1; 3) | {length: 32, width: ., layer_us: 100, last_us: 10}] |
    .fixed[0].length = 32' device.json >tiny.json
  works sti-plan -q embed.sti --profile tiny.json --length 12 --submodel 2x2 --bits 6 --json
  # All rows of the last layer are wanted, so it takes as long as any other.
  holds "$output" '.times | has("last_layer_us") | not'
  sti-shard -q "$repo/tests/data/multilabel-tiny" -o labels.sti
  works sti-plan -q labels.sti --profile tiny.json --length 12 --submodel 2x2 --bits 6 --json
  holds "$output" '.times.last_layer_us == 10'
  # Vectors compare only if one submodel at the same bits gives them all.
  jq '.compute = [{length: (8, 32), width: 2, layer_us: 100}] | .fixed = [{length: (8, 32), embed_us: 1,
    embed_io_us: 1, head_us: 1}]' device.json >two.json
  works sti-plan -q labels.sti --profile two.json --target 10ms --json
  holds "$output" '.variants | length == 1'
  works sti-plan -q embed.sti --profile two.json --target 10ms --json
  holds "$output" '.variants == []'
  refused 2 "sti-plan: *vectors of two submodels or fidelities do not compare; ask for one length and clock" \
    sti-plan -q embed.sti --profile two.json --target 10ms --length 8,12 -o out.plan
  for part in "--guarantee --target 10ms --preload 1MB" "--turns 2 --target 10ms"; do
    # shellcheck disable=SC2086
    refused 2 "sti-plan: the model embeds texts, and vectors of two submodels or fidelities do not compare; drop --*" \
      sti-plan -q embed.sti --profile tiny.json --length 12 $part -o out.plan
  done
  sti-plan -q embed.sti --profile tiny.json --length 12 --target 10ms -o out.plan
  works sti-run -q --json embed.sti --plan out.plan "$text"
  holds "$output" '(.embedding | length) == 16 and (.deadline_met | type) == "boolean"'
}

@test "it verifies, is shown, measured and exported like any other" {
  works sti-inspect --verify embed.sti
  works sti-inspect embed.sti
  like "$output" *"embeds      16 numbers, mean of all tokens, unit length"*
  holds "$(sti-inspect --json embed.sti)" '.head == {"output": "embedding", "pooling": "mean", "unit_length": true}'
  works sti-profile -q embed.sti --lengths 12 --budget 50ms -o here.json
  sti-inspect -q embed.sti --export 32 -o exported
  sti-shard -q exported -o again.sti
  works sti-run -q again.sti "$text"
  again=$output
  works sti-run -q embed.sti "$text"
  [ "$output" = "$again" ]
}

@test "prompts that the model wants are said, with the option that gives them" {
  echo '{"prompts": {"query": "query: ", "document": ""}}' >sentences/config_sentence_transformers.json
  run --separate-stderr -0 sti-shard sentences -o out.sti
  like "$stderr" '*the model wants prompts before its texts: query "query: "*sti-run --prefix*'
}

@test "--eval of pairs with scores is the rank correlation that importance has, and a gate of it" {
  { printf 'sentence1\tsentence2\tscore\n'; printf '%s\t%s\t%s\n' \
    "the movie was very good" "a very good film" 4.6  "never mind" "turn on the light" 0.4 \
    "not bad at all" "it was good" 3.25  "play it again" "play it off" 2  "a film" "the house" 0.4; } >sts.tsv
  sti-importance -q embed.sti --data sts.tsv --metric spearman --submodels -o a.json
  for bits in 2 32; do
    works sti-run -q embed.sti --submodel 2x2 --bits $bits --eval sts.tsv --json
    expected=$(jq ".submodels[] | select(.layers == 2 and .width == 2 and .bits == $bits).accuracy" a.json)
    holds "$output" ".examples == 5 and (.spearman - ($expected) | fabs < 1e-12) and .latency_us.p99 > 0"
    holds "$output" 'has("accuracy") or has("mean_loss") or has("classes") or has("correct_bits") | not'
  done
  works sti-run -q embed.sti --eval sts.tsv
  like "$output" "Spearman        * of 5 pairs, standard error *"
  for bound in 100% 99.9%; do
    run --separate-stderr -4 sti-run -q embed.sti --submodel 2x2 --bits 2 --eval sts.tsv --min-accuracy $bound
    like "$stderr" "sti-run: Spearman *.* is below --min-accuracy *"
  done
  works sti-run -q embed.sti --eval sts.tsv --min-accuracy 0
  tail -n +2 sts.tsv | cut -f 1 | sed '1i text' >texts.tsv
  refused 3 "sti-run: texts.tsv:1: no second text; pairs of texts with scores are needed here*" \
    sti-run -q embed.sti --eval texts.tsv
}
