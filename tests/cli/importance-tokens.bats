# sti-importance on models that label tokens, and plans by it: --metric f1, loss and kl.
load helpers

setup() {
  make_links
  # BIO, with labels that differ from word to word and from 2 bits to full fidelity.
  [ -e "$fixtures/names.sti" ] || {
    sti-shard -q "$repo/tests/data/spans-roberta" -o names.sti.new
    mv names.sti.new "$fixtures/names.sti"
  }
  ln -s "$fixtures/names.sti" names.sti
  printf '%s\n' "Anna van Beek lives in Berlin" "in May it was 3.14" "Paris ! , May" "Tom said : New York" >lines
  { echo text; cat lines; } >texts.tsv
  # The full model's own tags, but for some words of the last two texts.
  sti-run -q --json names.sti --bits 32 <lines | jq -r '
    .text as $t | .spans as $spans | ($t | split(" ")) as $words |
    [foreach $words[] as $w (-1; . + 1 + ($w | length); [. - ($w | length), $w])][] as [$at, $w] |
    ([$spans[] | select(.begin <= $at and $at < .end)] | first) as $in |
    $w + " " + (if $in == null then "O" elif $in.begin == $at then "B-" + $in.label else "I-" + $in.label end),
    (if $at + ($w | length) == ($t | length) then "" else empty end)' |
    sed -e 's/^Paris .*/Paris B-DATE/' -e 's/^York .*/York O/' >tagged.conll
  jq '.compute = [range(1; 3) | {length: 32, width: ., layer_us: 100}] | .fixed[0].length = 32' \
    device.json >tiny.json
}

@test "f1 is the default, and that of sti-run --eval at the fewest bits" {
  works sti-importance -q names.sti --data tagged.conll --submodels -o a.json
  holds "$(cat a.json)" '.metric == "f1" and .examples == 4 and (.losses | length) == 2'
  holds "$(cat a.json)" '.baseline > 0 and .baseline < 1 and .standard_error > 0'
  for bits in 2 32; do
    works sti-run -q --json names.sti --bits $bits --eval tagged.conll
    holds "$output" ".spans.f1 as \$f1 | $(jq -c .submodels a.json) |
      any(.[]; .layers == 2 and .width == 2 and .bits == $bits and (.accuracy - \$f1 | fabs < 1e-9))"
  done
  same "$(jq '.submodels[] | select(.layers == 2 and .width == 2 and .bits == 2).accuracy' a.json)" \
    "$(jq .baseline a.json)"
}

@test "kl needs no tags: texts with them and without are the same" {
  works sti-importance -q names.sti --data texts.tsv --metric kl --submodels -o a.json
  sti-importance -q names.sti --data tagged.conll --metric kl --submodels -o b.json
  cmp a.json b.json
  jq -Rc '{text: .}' lines >lines.jsonl
  sti-importance -q names.sti --data lines.jsonl --metric kl --submodels -o b.json
  cmp a.json b.json
  # Both texts of a pair count, each by itself.
  paste -d '\t' - - <lines | jq -Rc 'split("\t") | {text: .[0], pair: .[1]}' >pairs.jsonl
  sti-importance -q names.sti --data pairs.jsonl --metric kl --submodels -o b.json
  cmp a.json b.json
  holds "$(cat a.json)" '.submodels[-1].accuracy == 1 and .submodels[-1].loss == 0 and (has("losses") | not)'
}

@test "parts and progress join to the same bytes" {
  for metric in f1 loss kl; do
    measures_in_parts names.sti --data tagged.conll --metric $metric --gains --submodels
  done
}

@test "--quick and --order: an estimate, and an order that sti-shard cuts by" {
  works sti-importance -q names.sti --data tagged.conll --quick --order -o quick.json
  holds "$(cat quick.json)" '.metric == "loss" and .estimate == "empirical Fisher"'
  sti-importance -q names.sti --data tagged.conll --metric loss -o measured.json
  holds "[$(jq .baseline quick.json), $(jq .baseline measured.json)]" '.[0] - .[1] | fabs < 0.000001'
  works sti-importance -q names.sti --data texts.tsv --metric kl --quick -o kl.json
  works sti-shard -q "$repo/tests/data/spans-roberta" --sort quick.json -o sorted.sti
  same "$(sti-run -q sorted.sti --bits 32 <lines)" "$(sti-run -q names.sti --bits 32 <lines)"
  refused 2 "sti-importance: --quick cannot estimate f1; take --metric loss or --metric kl" \
    sti-importance -q names.sti --data tagged.conll --metric f1 --quick -o quick.json
}

@test "a metric of other models is refused, and so is data without what it needs" {
  for metric in accuracy cosine spearman; do
    refused 2 "sti-importance: names.sti: the metric $metric is not for models that label tokens, as this one does; take loss, kl or f1" \
      sti-importance -q names.sti --data tagged.conll --metric $metric -o out.json
  done
  refused 2 "sti-importance: model.sti: the metric f1 is not for models that label texts, *" \
    sti-importance -q model.sti --data dev.tsv --metric f1 -o out.json
  refused 2 "sti-importance: a cascade is for labels of texts, which the model does not give" \
    sti-importance -q names.sti --data tagged.conll --cascade -o out.json
  refused 3 "sti-importance: texts.tsv:*" sti-importance -q names.sti --data texts.tsv -o out.json
  sed 's/ [^ ]*$/ O/' tagged.conll >outside.conll
  refused 3 "sti-importance: all words are outside of spans, of which nothing can be found; add others" \
    sti-importance -q names.sti --data outside.conll -o out.json
  printf 'Anna B-PER\nBeek\n' >bad.conll
  refused 3 "sti-importance: bad.conll:2: a word without a tag; end the line with one" \
    sti-importance -q names.sti --data bad.conll -o out.json
  refused 2 "sti-importance: --prefix is for models that label texts or embed texts; names.sti labels tokens" \
    sti-importance -q names.sti --data tagged.conll --prefix x -o out.json
  [ ! -e out.json ]
}

@test "it is shown by its name, in percent" {
  run --separate-stderr -0 sti-importance names.sti --data tagged.conll --submodels -o a.importance
  like "$stderr" *"4 examples: f1 "*" % to "*" % with a shard raised, "*" % without"*
  works sti-importance show a.importance
  like "$output" *"F1 of spans, %, of n layers (down) x m slices (across) at 32 bits"*
  works sti-inspect a.importance
  like "$output" "*f1*"
}

@test "a plan says the F1 that is predicted, with a guarantee too, and --min-accuracy means that" {
  for metric in f1 loss; do
    sti-importance -q names.sti --data tagged.conll --metric $metric --submodels --gains -o a.importance
    works sti-plan -q names.sti --profile tiny.json --importance a.importance --length 32 \
      --target 10ms --guarantee --preload 64KiB -o a.plan --json
    holds "$output" '(.predicted_f1 | . >= 0 and . <= 1) and .predicted_accuracy == null'
    holds "$output" '.fallback.predicted_f1 | . >= 0 and . <= 1'
    works sti-inspect a.plan
    like "$output" *"F1 "*" % predicted"*
    works sti-run -q --json names.sti --plan a.plan --on-late degrade "Anna in Berlin"
    works sti-plan -q names.sti --profile tiny.json --importance a.importance --check a.plan --json
    holds "$output" '.valid and .predicted_f1 <= 1'
    works sti-plan -q names.sti --profile tiny.json --importance a.importance --length 32 --sweep --json
    holds "$output" '.quality == "f1" and any(.rows[]; .quality == .predicted_f1)'
  done
  run --separate-stderr -0 sti-plan names.sti --profile tiny.json --importance a.importance --length 32 \
    --min-accuracy 10% --explain --json
  like "$stderr" *"F1: 0.1000 takes a target of at least "*", F1 0."*
  refused 4 "sti-plan: no plan reaches an F1 of 0.9999 within 1.000 ms; the best is predicted to have 0.*" \
    sti-plan -q names.sti --profile tiny.json --importance a.importance --length 32 --min-accuracy 99.99% \
    --target 1ms -o out.plan
  sti-importance -q names.sti --data texts.tsv --metric kl --submodels -o kl.importance
  works sti-plan -q names.sti --profile tiny.json --importance kl.importance --length 32 --target 10ms -o a.plan --json
  holds "$output" '(.predicted_agreement | . >= 0 and . <= 1) and (has("predicted_f1") | not)'
}
