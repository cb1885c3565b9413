# Models that continue texts: cut into containers, looked at, verified and given back as folders.
# What runs, plans and measures says that it does not run them yet.
load helpers

setup_file() {
  cd "$BATS_FILE_TMPDIR"
  sti-shard -q "$repo/tests/data/gpt2-tiny" -o gpt2.sti
}
setup() {
  cd "$BATS_TEST_TMPDIR"
  ln -s "$BATS_FILE_TMPDIR/gpt2.sti" .
}

@test "a container says what its model is" {
  works sti-inspect gpt2.sti
  like "$output" "*2 layers x 2 slices, hidden 16, FFN 64, float16, gpt2*"
  like "$output" "*text        331 tokens, inputs up to 96, which it continues*"
  works sti-inspect --json gpt2.sti
  same "$(jq -c '[.head.output, .shape.vocabulary, .shape.labels, .shape.max_positions]' <<<"$output")" '["next token",331,0,96]'
  works sti-inspect --verify gpt2.sti
  like "$output" "* parts checked, 0 damaged"
  cmp gpt2.sti "$repo/tests/data/v1.9/gpt2.sti"
}

@test "texts have the ids that transformers gives, and no control tokens" {
  local expected=$repo/tests/data/gpt2-tiny/expected.jsonl
  jq -c 'select(.text | contains("\n") | not) | .text' "$expected" | jq -r . >texts
  sti-inspect gpt2.sti --tokenize <texts | jq -c .ids >ids
  same "$(cat ids)" "$(jq -c 'select(.text | contains("\n") | not) | .ids' "$expected")"
  same "$(echo '<|endoftext|>' | sti-inspect gpt2.sti --tokenize | jq '.ids | index(330)')" null
  same "$(echo | sti-inspect gpt2.sti --tokenize | jq -c .ids)" '[]'
}

@test "an exported folder has the tensors of the source, and gives the same container" {
  works sti-inspect -q --export 32 -o copy gpt2.sti
  works sti-shard -q copy -o again.sti
  cmp gpt2.sti again.sti
  works sti-inspect -q --export 4 -o four gpt2.sti
  works sti-shard -q four -o four.sti
  same "$(jq -r .tokenizer_class copy/tokenizer_config.json)" GPT2Tokenizer
}

@test "a damaged part is found by its name" {
  cp gpt2.sti damaged.sti
  flip damaged.sti "$(($(stat -c %s damaged.sti) / 2))"
  run sti-inspect --verify damaged.sti
  same "$status" 3
}

@test "what does not run it says so in one line" {
  local said="gpt2.sti: has a model that continues texts, which is not run yet; give one of another kind"
  refused 3 "sti-run: $said" sti-run gpt2.sti </dev/null
  refused 3 "sti-profile: $said" sti-profile gpt2.sti -o x
  printf 'a\tcat\n' >labels.tsv
  refused 3 "sti-importance: $said" sti-importance gpt2.sti --data labels.tsv -o x
  [ ! -e x ]
}
