# sti-importance on models that embed, and plans by it: --metric cosine and spearman.
load helpers

setup() {
  make_links
  make_sentence_model
  { echo text; printf '%s\n' "the movie was very good" "never mind" "not bad at all" "play it again" \
    "turn on the light" "a film with heart"; } >texts.tsv
  { printf 'sentence1\tsentence2\tscore\n'; printf '%s\t%s\t%s\n' \
    "the movie was very good" "a very good film" 4.6  "never mind" "turn on the light" 0.4 \
    "not bad at all" "it was good" 3.25  "play it again" "play it off" 2  "a film" "the house" 0.4 \
    "the movie was bad" "the film is great" 1.5; } >sts.tsv
  jq '.compute = [range(1; 3) | {length: 32, width: ., layer_us: 100}] | .fixed[0].length = 32' \
    device.json >tiny.json
}

# All vectors of the lines on stdin, at these bits, as one array of JSON.
vectors() { # BITS
  sti-run -q --json embed.sti --submodel 2x2 --bits "$1" | jq -s -c 'map(.embedding)'
}

cosine='def dot(a; b): [a, b] | transpose | map(.[0] * .[1]) | add;
  def cosine(a; b): dot(a; b) / ((dot(a; a) * dot(b; b)) | sqrt);'

@test "cosine is the default, needs no labels, and is that of sti-run's vectors" {
  works sti-importance -q embed.sti --data texts.tsv -o a.json
  holds "$(cat a.json)" '.metric == "cosine" and .examples == 6 and (has("losses") | not)'
  holds "$(cat a.json)" 'all(.scores[][]; . <= 1 and . > -1) and .standard_error > 0'
  tail -n +2 texts.tsv >lines
  full=$(vectors 32 <lines)
  low=$(vectors 2 <lines)
  holds "$(cat a.json)" "$cosine .baseline as \$said |
    [$full, $low] | transpose | map(cosine(.[0]; .[1])) | add / length | . - \$said | fabs < 0.000001"
  # Labels of another task, JSON Lines and pairs of texts say the same texts.
  sed '1s/$/\tlabel/; 2,$s/$/\tmusic/' texts.tsv >labelled.tsv
  sti-importance -q embed.sti --data labelled.tsv --metric cosine -o b.json
  cmp a.json b.json
  tail -n +2 texts.tsv | paste -d '\t' - - | jq -Rc 'split("\t") | {text: .[0], pair: .[1]}' >pairs.jsonl
  sti-importance -q embed.sti --data pairs.jsonl -o b.json
  cmp a.json b.json
}

@test "a prefix stands in front of each text, as sti-run puts it there" {
  sed '2,$s/^/query: /' texts.tsv >prefixed.tsv
  sti-importance -q embed.sti --data prefixed.tsv -o a.json
  works sti-importance -q embed.sti --data texts.tsv --prefix "query: " -o b.json
  cmp a.json b.json
  awk -F '\t' -v OFS='\t' 'NR > 1 { $1 = "query: " $1; $2 = "query: " $2 } 1' sts.tsv >prefixed.tsv
  sti-importance -q embed.sti --data prefixed.tsv --metric spearman -o a.json
  sti-importance -q embed.sti --data sts.tsv --metric spearman --prefix "query: " -o b.json
  cmp a.json b.json
}

@test "spearman is the rank correlation of sti-run's cosines with the scores" {
  works sti-importance -q embed.sti --data sts.tsv --metric spearman --submodels -o a.json
  tail -n +2 sts.tsv >rows
  first=$(cut -f 1 rows | vectors 2)
  second=$(cut -f 2 rows | vectors 2)
  holds "$(cat a.json)" "$cosine"'
    def places: . as $all | map(. as $x | ([$all[] | select(. < $x)] | length) +
      (([$all[] | select(. == $x)] | length) + 1) / 2);
    def moment(a; b): (a | add / length) as $a | (b | add / length) as $b |
      [a, b] | transpose | map((.[0] - $a) * (.[1] - $b)) | add;
    .metric == "spearman" and .examples == 6 and (
    .baseline as $said | ([4.6, 0.4, 3.25, 2, 0.4, 1.5] | places) as $scores |
    (['"$first, $second"'] | transpose | map(cosine(.[0]; .[1])) | places) as $places |
    moment($places; $scores) / ((moment($places; $places) * moment($scores; $scores)) | sqrt)
      | . - $said | fabs < 0.000001)'
  holds "$(cat a.json)" '.submodels[-1] | .accuracy >= -1 and .accuracy <= 1 and (.loss - 1 + .accuracy | fabs < 1e-9)'
  jq -Rc 'split("\t") | {sentence1: .[0], sentence2: .[1], score: (.[2] | tonumber)}' rows >sts.jsonl
  sti-importance -q embed.sti --data sts.jsonl --metric spearman --submodels -o b.json
  cmp a.json b.json
  cut -f 1-3 rows >bare.tsv
  sti-importance -q embed.sti --data bare.tsv --metric spearman --submodels -o b.json --text-column 1 \
    --pair-column 2 --label-column 3
  cmp a.json b.json
}

@test "parts and progress join to the same bytes" {
  for metric in cosine spearman; do
    measures_in_parts embed.sti --data sts.tsv --metric $metric --gains --submodels
    works sti-inspect 2.part
    like "$output" *"metric   $metric, with gains, with submodels"*
  done
  sti-importance -q embed.sti --data texts.tsv --part 1/2 -o 1.part
  refused 3 "sti-importance: *of another metric (*" sti-importance -q merge 1.part 2.part -o a.importance
}

@test "--quick and --order: an estimate, and an order that sti-shard cuts by" {
  for metric in cosine spearman; do
    works sti-importance -q embed.sti --data sts.tsv --metric $metric --quick --order -o $metric.json
    holds "$(cat $metric.json)" '.metric == "'$metric'" and (.head_order | length) == 2'
    sti-importance -q embed.sti --data sts.tsv --metric $metric -o measured.json
    same "$(jq .baseline $metric.json)" "$(jq .baseline measured.json)"
    works sti-shard -q sentences --sort $metric.json -o sorted.sti
    # It computes what it did, but for the order of sums.
    works sti-run -q --json sorted.sti "not bad at all"
    sorted=$(jq -c .embedding <<<"$output")
    works sti-run -q --json embed.sti "not bad at all"
    holds "$output" "[.embedding, $sorted] | transpose | all(.[0] - .[1] | fabs < 0.00001)"
  done
  same "$(jq -r .estimate cosine.json spearman.json)" $'half of first-order\nfirst-order'
}

@test "a metric of other models is refused, and so is data without what it needs" {
  refused 2 "sti-importance: model.sti: the metric cosine is not for models that label texts, as this one does; take accuracy, loss or kl" \
    sti-importance -q model.sti --data dev.tsv --metric cosine -o out.json
  for metric in accuracy loss kl; do
    refused 2 "sti-importance: embed.sti: the metric $metric is not for models that embed texts, as this one does; take cosine or spearman" \
      sti-importance -q embed.sti --data texts.tsv --metric $metric -o out.json
  done
  refused 2 "sti-importance: a cascade is for labels of texts, which the model does not give" \
    sti-importance -q embed.sti --data texts.tsv --cascade -o out.json
  refused 3 "sti-importance: texts.tsv:1: no second text; pairs of texts with scores are needed here*" \
    sti-importance -q embed.sti --data texts.tsv --metric spearman -o out.json
  cut -f 1,2 sts.tsv >unscored.tsv
  refused 3 "sti-importance: unscored.tsv:1: no score; pairs of texts with scores are needed here*" \
    sti-importance -q embed.sti --data unscored.tsv --metric spearman -o out.json
  for word in '' nan inf 1e999 high 3,5; do
    printf 'sentence1\tsentence2\tscore\na\tb\t1\nc\td\t%s\n' "$word" >bad.tsv
    refused 3 "sti-importance: bad.tsv:3: the score is *" \
      sti-importance -q embed.sti --data bad.tsv --metric spearman -o out.json
  done
  printf 'sentence1\tsentence2\tscore\na\tb\t1\nc\td\t1\n' >flat.tsv
  refused 3 "sti-importance: all examples have the same score, which ranks nothing*" \
    sti-importance -q embed.sti --data flat.tsv --metric spearman -o out.json
}

@test "more cosines than a part holds are refused before anything is measured" {
  awk 'BEGIN { print "text\tpair\tscore"; for (i = 0; i < 480000; ++i) print "a\tb\t" i % 7 }' >many.tsv
  refused 2 "sti-importance: the cosines of 480000 pairs, one for each of 33 things to measure, are more than a part holds; take fewer pairs, *" \
    sti-importance -q embed.sti --data many.tsv --metric spearman --gains --submodels -o out.importance
}

@test "it is shown by its name: a cosine or a correlation is no percentage" {
  sti-importance -q embed.sti --data sts.tsv --submodels -o cosine.importance
  sti-importance -q embed.sti --data sts.tsv --metric spearman --submodels -o spearman.importance
  run --separate-stderr -0 sti-importance embed.sti --data sts.tsv -o out.importance
  like "$stderr" *"12 examples: cosine 0.* to 0.* with a shard raised, 0.* without"*
  works sti-importance show spearman.importance
  like "$output" "6 pairs: spearman *"
  like "$output" *"Spearman with the scores, of n layers (down) x m slices (across) at 32 bits"*
  works sti-importance show cosine.importance
  like "$output" *"cosine with the full model, of n layers (down) x m slices (across) at 32 bits"*
  like "$output" *"2x2 by bits:"*" 32: 1.000"*
  works sti-inspect cosine.importance
  like "$output" "*cosine*"
}

@test "a plan says the quality that the importance measured, and --min-accuracy means that" {
  for metric in cosine spearman; do
    sti-importance -q embed.sti --data sts.tsv --metric $metric --submodels --gains -o a.importance
    works sti-plan -q embed.sti --profile tiny.json --importance a.importance --length 12 \
      --target 10ms -o a.plan --json
    holds "$output" "(.predicted_$metric | . > -1 and . <= 1) and .predicted_accuracy == null"
    holds "$output" "(.predicted_loss - 1 + .predicted_$metric | fabs < 1e-6) and (has(\"predicted_agreement\") | not)"
    works sti-inspect a.plan
    like "$output" *"$([ $metric = cosine ] && echo 'cosine *with the full model' || echo 'Spearman *with the scores')"*
    works sti-run -q --json embed.sti --plan a.plan "never mind"
    works sti-plan -q embed.sti --profile tiny.json --importance a.importance --check a.plan --json
    holds "$output" ".valid and .predicted_$metric <= 1"
    works sti-plan -q embed.sti --profile tiny.json --importance a.importance --length 12 --sweep --json
    holds "$output" ".quality == \"$metric\" and any(.rows[]; .quality == .predicted_$metric)"
  done
  sti-importance -q embed.sti --data sts.tsv --submodels --gains -o a.importance
  run --separate-stderr -0 sti-plan embed.sti --profile tiny.json --importance a.importance --length 12 \
    --min-accuracy 99% --explain --json
  like "$stderr" *"cosine: 0.9900 takes a target of at least "*", cosine 0.99"*
  holds "$output" '.predicted_cosine >= 0.99'
  refused 4 "sti-plan: no plan reaches a cosine of 0.9999 within 1.000 ms; the best is predicted to have 0.*" \
    sti-plan -q embed.sti --profile tiny.json --importance a.importance --length 12 --min-accuracy 99.99% \
    --target 1ms -o out.plan
  refused 2 "sti-plan: the full model's accuracy says nothing of a model that embeds texts; *" \
    sti-plan -q embed.sti --profile tiny.json --importance a.importance --length 12 --min-accuracy 90% \
    --full-accuracy 95% -o out.plan
  refused 2 "sti-plan: a least cosine needs A(n, m) of the submodels; run sti-importance --submodels *" \
    sti-plan -q embed.sti --profile tiny.json --length 12 --min-accuracy 90% -o out.plan
  works sti-plan -q embed.sti --profile tiny.json --length 12 --sweep
  like "$output" *"sti-importance --submodels would give cosines"*
  sti-importance -q embed.sti --data sts.tsv -o a.json
  jq '.metric = "accuracy"' a.json >forged.json
  refused 3 "sti-plan: forged.json: it was measured by accuracy, which says nothing of models that embed texts*" \
    sti-plan -q embed.sti --profile tiny.json --importance forged.json --length 12 --target 10ms -o out.plan
}
