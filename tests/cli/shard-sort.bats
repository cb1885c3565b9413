# A plain model before training: its heads and neurons put in order, and what its submodels are worth.
load helpers

# What a model answers, as a list of logits a line: CONTAINER OPTION...
logits_of() { cut -f 1 few.tsv | tail -n +2 | sti-run -q --json "$@" | jq -c .logits; }

# The largest difference between two files of logits.
apart() { paste -d '\n' "$1" "$2" | jq -s '[_nwise(2) | [.[0], .[1]] | transpose[] | .[0] - .[1] | fabs] | max'; }

setup_file() {
  make_fixtures
  cd "$BATS_FILE_TMPDIR"
  ln -s "$fixtures/model" model
  make_plain_model
  sti-importance -q plain.sti --data "$fixtures/few.tsv" --quick --order -o plain.importance
  sti-shard -q plain --sort plain.importance -o sorted.sti
}

setup() {
  make_links
  local name
  for name in plain plain.sti plain.importance sorted.sti; do ln -s "$BATS_FILE_TMPDIR/$name" "$name"; done
}

@test "a sorted model answers as the plain one, and is another" {
  works sti-inspect --verify sorted.sti
  logits_of plain.sti >a.logits
  logits_of sorted.sti >b.logits
  same "$(wc -l <b.logits)" 30
  holds "$(apart a.logits b.logits)" '. < 0.001'
  [ "$(sti-inspect --json plain.sti | jq .model)" != "$(sti-inspect --json sorted.sti | jq .model)" ]
  refused 3 "sti-plan: plain.importance was made for model *" sti-plan sorted.sti --profile device.json --target 1s --importance plain.importance
}

@test "the order is a list of heads, of neurons and of layers, in both spellings" {
  works sti-inspect --json plain.importance
  holds "$output" '(.head_order | length == 6 and all(sort == [range(12)])) and (.neuron_order | length == 6 and all(sort == [range(768)]))'
  holds "$output" '[.depth_layers[] | length] == [1, 2, 3, 4, 5, 6] and all(.depth_layers[]; . == sort)'
  sti-inspect --json plain.importance >order.json
  sti-shard -q plain --sort order.json -o again.sti
  cmp again.sti sorted.sti
}

@test "an exported sorted model is that model, and still a plain one" {
  works sti-inspect -q sorted.sti --export 32 -o exported
  holds "$(cat exported/config.json)" '.elastic.trained == false'
  sti-shard -q exported -o exported.sti
  same "$(sti-inspect --json exported.sti | jq -c '.model, .elastic')" "$(sti-inspect --json sorted.sti | jq -c '.model, .elastic')"
}

@test "what submodels of a plain model are worth is measured, planned by and said" {
  sti-importance -q sorted.sti --data few.tsv --metric accuracy --submodels -o sorted.importance
  holds "$(sti-inspect --json sorted.importance)" '.submodels | map(select(.bits == 32)) | length == 72'
  run --separate-stderr sti-plan sorted.sti --profile device.json --importance sorted.importance --target 12ms --preload 200kB --allow-untrained -o sorted.plan
  same "$status" 0
  like "$stderr" "sti-plan: warning: *x* of 6x12 was not trained for; predicted: * %; the whole model: * %"
  run --separate-stderr sti-run sorted.sti --plan sorted.plan "$alarm"
  same "$status" 0
  like "$stderr" "*sti-run: warning: *x* of 6x12 was not trained for; predicted: * %*"
}

@test "an order of another model, none, and an elastic model are refused" {
  refused 3 "sti-shard: model.importance: has no order of heads and neurons; make it with sti-importance --order" \
    sti-shard -q plain --sort model.importance -o out.sti
  refused 3 "sti-shard: plain.importance: was measured on another model; measure this one, made without --sort" \
    sti-shard -q model --sort plain.importance -o out.sti
  works sti-shard -q plain --codebook gobo --sort plain.importance -o gobo.sti
  sti-importance -q model.sti --data few.tsv --quick --order -o elastic.importance
  refused 2 "sti-shard: model: the model is elastic, so its heads and neurons are in order; leave *" \
    sti-shard -q model --sort elastic.importance -o out.sti
  refused 2 "sti-importance: --order does all at once; leave out --part, or --order" \
    sti-importance plain.sti --data few.tsv --order --part 1/2 -o a.part
  [ ! -e out.sti ]
}
