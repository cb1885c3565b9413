# sti-inspect --export writes an ordinary model folder with the weights that a k-bit reader sees.
load helpers

@test "full fidelity: sharded again it is the same model, byte for byte" {
  run sti-inspect model.sti --export 32 -o out
  same "$output" "sti-inspect: out: the model as a reader of 32 bits sees it"
  sti-shard -q out -o again.sti
  cmp model.sti again.sti
}

@test "fewer bits: the folder gives the labels that the container gives" {
  works sti-inspect model.sti --export 3 -o said --json
  same "$output" '{"folder":"said","bits":3}'
  sti-inspect -q model.sti --export 3 -o out
  sti-shard -q out -o out.sti
  cut -f 1 few.tsv | tail -n +2 >lines
  sti-run -q model.sti --submodel 6x12 --bits 3 --json <lines | jq -c '[.label, (.logits | map(. * 1000 | round))]' >expected
  sti-run -q out.sti --submodel 6x12 --bits 32 --json <lines | jq -c '[.label, (.logits | map(. * 1000 | round))]' >seen
  [ "$(wc -l <expected)" = 30 ]
  diff expected seen
}

@test "every architecture comes back byte for byte" {
  for name in distilbert roberta multilabel electra electra-even; do
    sti-shard -q "$repo/tests/data/$name-tiny" -o $name.sti
    works sti-inspect -q $name.sti --export 32 -o $name
    sti-shard -q $name -o again.sti
    cmp $name.sti again.sti
  done
}

@test "embeddings of another width: each tool runs on them, and inspection says so" {
  sti-shard -q "$repo/tests/data/electra-tiny" -o electra.sti
  sti-inspect electra.sti | grep -q "^shape .* hidden 16 from rows of 8, FFN 32, float16, electra$"
  same "$(sti-inspect electra.sti --json | jq .shape.embedding)" 8
  same "$(sti-inspect model.sti --json | jq .shape.embedding)" null
  printf 'text\tlabel\nturn the light on\tlabel_1\nis it good\tlabel_2\nplay a film\tlabel_0\n' >own.tsv
  sti-importance -q electra.sti --data own.tsv -o measured.json
  sti-importance -q electra.sti --data own.tsv --quick -o quick.json
  sti-profile -q electra.sti --budget 100ms -o electra.json
  for options in "--importance measured.json" "--importance quick.json" --guarantee; do
    # shellcheck disable=SC2086
    sti-plan -q electra.sti --profile electra.json --target 10s --preload 100kB --allow-untrained $options -o plan.json
    same "$(sti-run -q electra.sti --plan plan.json --json "is it good" | jq -c .logits)" \
      "$(sti-run -q electra.sti --json "is it good" | jq -c .logits)"
  done
}

@test "a folder that is there is not touched" {
  mkdir taken && echo mine >taken/config.json
  refused 2 "sti-inspect: taken: exists already; name a new folder" \
    sti-inspect model.sti --export 4 -o taken
  same "$(cat taken/config.json)" mine
  mkdir empty
  works sti-inspect -q model.sti --export 4 -o empty/
  [ -e empty/model.safetensors ]
}

@test "what it cannot do it says" {
  refused 2 "*--export K and -o DIR belong together*" sti-inspect model.sti --export 4
  refused 2 "*--export: 7 not in*" sti-inspect model.sti --export 7 -o out
  sti-shard -q model -o small.sti --bits 2,3
  refused 4 "*small.sti: does not offer 32 bits; run sti-shard with them" \
    sti-inspect small.sti --export 32 -o out
  [ ! -e out ]
}
