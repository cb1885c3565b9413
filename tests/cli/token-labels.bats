# Models that label tokens: their folders in, spans of texts out.
load helpers

setup() {
  make_links
  [ -e "$fixtures/tokens.sti" ] || {
    sti-shard -q "$repo/tests/data/spans-bert" -o tokens.sti.new
    mv tokens.sti.new "$fixtures/tokens.sti"
  }
  ln -s "$fixtures/tokens.sti" tokens.sti
}

reference() { # what the pipeline of transformers gives, by model, of each line of the test data, a JSON a line
  jq -c "select(.folder == \"$1\")" "$repo/tests/data/spans.jsonl"
}

@test "--json has spans with labels, scores and bytes, as transformers' pipeline gives them" {
  reference spans-bert | jq -r .text >lines
  for way in none simple first average max; do
    sti-run -q --json tokens.sti --aggregate $way <lines |
      jq -c '[.spans[] | [.label, .score, .begin, .end]]' >ours
    reference spans-bert | jq -c ".spans.$way" >theirs
    paste -d '\n' ours theirs | jq -se '
      def near: .[0] == .[1] or ((.[0] | type) == "number" and (.[0] - .[1] | fabs) < 0.00001);
      [range(0; length; 2) as $i | [.[$i], .[$i + 1]] | (map(length) | .[0] == .[1]) and
        (transpose | all(transpose | all(near)))] | length == 20 and all' >/dev/null
  done
}

@test "bytes are those of the text as it came, and the text of a span is said" {
  works sti-run -q --json tokens.sti --aggregate none "Cafe$(printf '\xcc\x81') Anna"
  holds "$output" '.text as $t | .spans | length > 0 and all(.[]; . as $s | ($t | utf8bytelength) >= $s.end)'
  holds "$output" '.spans | all(.[]; .text | length > 0)'
  holds "$output" 'has("label") or has("scores") or has("logits") or has("embedding") | not'
}

@test "a plain line has label, TAB and span for each, and - where nothing is named" {
  reference spans-bert | jq -r .text >lines
  sti-run -q tokens.sti <lines >plain
  [ "$(wc -l <plain)" = 20 ]
  # As in JSON, but that blanks stand for tabs and line feeds.
  sti-run -q --json tokens.sti <lines |
    jq -r 'if .spans == [] then "-" else [.spans[] | .label, (.text | gsub("[\t\n]"; " "))] | join("\t") end' >expected
  diff plain expected
  works sti-run -q tokens.sti ""
  [ "$output" = "-" ]
}

@test "what did not fit is said in both" {
  long=$(printf 'Berlin %.0s' {1..200})
  works sti-run -q tokens.sti --aggregate none "$long"
  like "$output" $'*\t[[]truncated]'
  works sti-run -q --json tokens.sti "$long"
  holds "$output" '.truncated'
}

@test "a tab, a line feed or a sequence for terminals within a span does not part or move its line" {
  works sti-run -q tokens.sti --aggregate simple "$(printf 'Anna\tvan\x1b[31m Beek Berlin (good) film')"
  [ "$(wc -l <<<"$output")" = 1 ]
  [ $(($(tr -cd '\t' <<<"$output" | wc -c) % 2)) = 1 ]
}

@test "--eval reads CoNLL's columns, and says F1 of spans as seqeval counts it" {
  cat >data.conll <<'END'
-DOCSTART- -X- O

Anna NNP B-PER
van NNP I-PER
film NN O

Berlin NNP B-LOC
END
  works sti-run -q tokens.sti --eval data.conll --json
  holds "$output" '.examples == 2 and .spans.examples == 2 and .mean_loss == null and .confusion == null'
  holds "$output" '.spans | .f1 == (if .right == 0 then 0 else 2 * .right / (.examples + .given) end)'
  holds "$output" '.classes | has("PER") and has("LOC")'
  printf '%s\n' "$output" >before.json
  # A file that says what the model says has an F1 of 1.
  sti-run -q --json tokens.sti --aggregate none "Anna Berlin film good van" >said.json
  jq -r '. as $all | ("Anna Berlin film good van" | split(" ")) | reduce .[] as $w ({at: 0, lines: []};
    .at as $at | .lines += [$w + " " + ([$all.spans[] | select(.begin == $at) | .label][0] // "O")] |
    .at += ($w | length) + 1) | .lines[]' said.json >same.conll
  works sti-run -q tokens.sti --eval same.conll --json --min-accuracy 1
  holds "$output" '.spans.f1 == 1 and .accuracy == 1 and .spans.right > 0'
  works sti-run -q tokens.sti --eval data.conll
  like "$output" "spans           F1 *"*"accuracy"*
  # Gates and baselines: the bound is on F1, and rows are texts.
  run --separate-stderr -4 sti-run -q tokens.sti --eval data.conll --min-accuracy 1 \
    --baseline before.json --max-drop 0
  like "$stderr" "sti-run: span F1 *is below --min-accuracy 1.0000"
  refused 3 "sti-run: before.json: *" sti-run -q tokens.sti --eval same.conll --baseline before.json
}

@test "data that is not for the model is refused with its line" {
  printf 'Anna B-ORG\n' >other.conll
  refused 3 'sti-run: other.conll:1: the tag "B-ORG" is of no kind that the model knows; *' \
    sti-run -q tokens.sti --eval other.conll
  printf 'Anna\n' >untagged.conll
  refused 3 "sti-run: untagged.conll:1: a word without a tag; end the line with one" \
    sti-run -q tokens.sti --eval untagged.conll
}

@test "what is for labels of texts, or for vectors, is refused, and says why" {
  refused 2 "sti-run: --top is for models that label texts; tokens.sti labels tokens" \
    sti-run -q --json tokens.sti --top 3 x
  for option in "--threshold 0.5" "--format f32" "--dimensions 3" "--ids" "--pairs" "--prefix x"; do
    # shellcheck disable=SC2086
    refused 2 "sti-run: ${option%% *} is for models that *; tokens.sti labels tokens" \
      sti-run -q tokens.sti $option x
  done
  refused 2 "sti-run: --aggregate is for models that label tokens; model.sti labels texts" \
    sti-run -q model.sti --aggregate first x
}

@test "labels that fit no scheme are refused when the folder is read" {
  cp -r "$repo/tests/data/spans-bert" mixed
  jq '.id2label["1"] = "PER"' mixed/config.json >config.json
  mv config.json mixed/
  refused 3 'sti-shard: mixed/config.json: labels fit no scheme of tags: "PER" has no letter and dash *' \
    sti-shard -q mixed -o mixed.sti
  [ ! -e mixed.sti ]
}

@test "a profile of a classifier's shape plans it, with a guarantee and without turns and cascades" {
  jq '.compute = [{length: (32, 160), width: (1, 2), layer_us: 100, last_us: 10}] |
    .fixed = [{length: (32, 160), embed_us: 1, embed_io_us: 1, head_us: 1}]' device.json >tiny.json
  works sti-plan -q tokens.sti --profile tiny.json --length 32 --submodel 2x2 --bits 6 --json
  # All rows of the last layer are wanted, so it takes as long as any other.
  holds "$output" '.times | has("last_layer_us") | not'
  works sti-plan -q tokens.sti --profile tiny.json --target 10ms --json
  holds "$output" '.variants | length == 1'
  refused 2 "sti-plan: the model labels tokens, and turns are for labels of texts; drop --*" \
    sti-plan -q tokens.sti --profile tiny.json --length 32 --turns 2 --target 10ms -o out.plan
  sti-plan -q tokens.sti --profile tiny.json --length 32 --target 10ms --guarantee --preload 1MB -o out.plan
  works sti-run -q --json tokens.sti --plan out.plan --on-late degrade "Anna van der Beek"
  holds "$output" '.fallback == false and (.spans | type) == "array" and (.deadline_met | type) == "boolean"'
}

@test "it verifies, is shown, measured and exported like any other" {
  works sti-inspect --verify tokens.sti
  works sti-inspect tokens.sti
  like "$output" *"7 labels of tokens"*
  holds "$(sti-inspect --json tokens.sti)" '.head == {"output": "token labels"} and (.labels | length) == 7'
  works sti-profile -q tokens.sti --lengths 12 --budget 50ms -o here.json
  sti-inspect -q tokens.sti --export 32 -o exported
  [ "$(jq -r '.architectures[0]' exported/config.json)" = BertForTokenClassification ]
  sti-shard -q exported -o again.sti
  cmp <(sti-inspect --json again.sti | jq -r .model) <(sti-inspect --json tokens.sti | jq -r .model)
}

@test "several models answer by their heads" {
  printf 't\tAnna van der Beek\nm\tset an alarm\n' >lines
  works sti-run -q --json --model t=tokens.sti --model m=model.sti <lines
  holds "$(jq -sc . <<<"$output")" '(map(select(.model == "t"))[0] | has("spans")) and
    (map(select(.model == "m"))[0] | has("label"))'
  # A prefix is for those that can have one.
  works sti-run -q --json --model t=tokens.sti --model m=model.sti --prefix "please " <lines
  holds "$(jq -sc . <<<"$output")" 'map(select(.model == "t"))[0].spans[0].begin == 0'
  same "$(jq -c 'select(.model == "t").spans' <<<"$output")" \
    "$(sti-run -q --json tokens.sti "Anna van der Beek" | jq -c .spans)"
  same "$(jq -c 'select(.model == "m") | .tokens' <<<"$output")" \
    "$(sti-run -q --json model.sti "please set an alarm" | jq -c .tokens)"
}
