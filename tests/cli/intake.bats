# Which models can be taken in: BERT, DistilBERT and RoBERTa, and what is refused or said instead.
load helpers

data="$repo/tests/data"

# NAME: tests/data/NAME-tiny as NAME.sti, with nothing said.
shard_tiny() { sti-shard -q "$data/$1-tiny" -o "$1.sti"; }

# A folder with a copy of tests/data/NAME-tiny: NAME FOLDER.
copy_tiny() {
  mkdir "$2"
  cp "$data/$1-tiny"/* "$2/"
  chmod u+w "$2"/*
}

# Every logit of every expected input to 1e-4: NAME.
same_logits() {
  local file="$data/$1-tiny/expected.jsonl"
  jq -c 'select(has("pair") or (.text | contains("\n")) | not)' "$file" >expected
  jq -r .text expected | sti-run -q --json "$1.sti" >answers
  jq -c 'select(has("pair"))' "$file" >>expected
  jq -r 'select(has("pair")) | .text + "\t" + .pair' "$file" |
    sti-run -q --json --pairs "$1.sti" >>answers
  same "$(wc -l <answers)" 9
  holds "$(jq -s . expected answers)" \
    '.[:9] as $e | .[9:] as $a | all(range(9); . as $i | all(range(4);
     ($e[$i].logits[.] - $a[$i].logits[.]) | fabs < 0.0001))'
}

@test "DistilBERT: the reference's logits, pairs too" {
  shard_tiny distilbert
  works sti-inspect --verify distilbert.sti
  same_logits distilbert
  holds "$(sti-inspect --json distilbert.sti)" '.architecture == "distilbert" and .problem == "single label"'
}

@test "RoBERTa: the reference's ids and logits, pairs too" {
  shard_tiny roberta
  works sti-inspect --verify roberta.sti
  same_logits roberta
  holds "$(sti-inspect --json roberta.sti)" '.architecture == "roberta" and .tokenizer == "byte-level BPE" and .bytes.merges > 0 and .max_length == 32'
  jq -r 'select(has("pair") or (.text | contains("\n")) | not) | .text' "$data/roberta-tiny/expected.jsonl" |
    sti-inspect --tokenize roberta.sti | jq -c .ids >ids
  jq -c 'select(has("pair") or (.text | contains("\n")) | not) | .ids' "$data/roberta-tiny/expected.jsonl" >expected
  cmp ids expected
}

@test "RoBERTa: the longest input is what the positions behind the offset hold" {
  shard_tiny roberta
  text=$(printf 'x %.0s' $(seq 60))
  works sti-run -q --json roberta.sti "$text"
  holds "$output" '.tokens == 32 and .truncated'
  works sti-inspect --tokenize --pairs roberta.sti < <(printf 'a\tb\n')
  holds "$output" '.ids[0] == 0 and .ids[2:4] == [2, 2] and (.types | add) == 0'
}

@test "a tokenizer.json serves as vocab.json and merges.txt do" {
  shard_tiny roberta
  copy_tiny roberta one
  jq -n --slurpfile v one/vocab.json --rawfile m one/merges.txt '{
    model: {type: "BPE", vocab: $v[0], merges: ($m | split("\n")[1:-1])},
    pre_tokenizer: {type: "ByteLevel"}, post_processor: {type: "RobertaProcessing"}}' >one/tokenizer.json
  rm one/vocab.json one/merges.txt
  sti-shard -q one -o one.sti
  cmp one.sti roberta.sti
}

@test "importance and plans work for each architecture" {
  printf 'sentence\tlabel\nset an alarm\tlabel_0\nplay it\tlabel_2\n' >two.tsv
  for name in distilbert roberta; do
    shard_tiny $name
    works sti-importance -q $name.sti --data two.tsv --metric loss -o $name.json
    holds "$(cat $name.json)" '.examples == 2 and (.scores | flatten | length) == 4'
    works sti-profile -q $name.sti -o $name.profile --budget 1s --lengths 16 --widths 2
    works sti-plan -q $name.sti --profile $name.profile --importance $name.json --target 1s -o $name.plan
    works sti-run -q $name.sti --plan $name.plan "play it"
  done
}

@test "old names and no model_type, as published DynaBERT checkpoints have them" {
  copy_model dyna
  jq 'del(.model_type, .architectures) | .width_mult = 1' model/config.json >dyna/config.json
  edit_header dyna/model.safetensors 'with_entries(.key |= (
    sub("LayerNorm.weight$"; "LayerNorm.gamma") | sub("LayerNorm.bias$"; "LayerNorm.beta")))'
  sti-shard -q dyna -o dyna.sti
  same "$(sti-inspect --json dyna.sti | jq -r .model)" "$(sti-inspect --json model.sti | jq -r .model)"
}

@test "DynaBERT's depths, added as spec/model-folder.md says" {
  copy_model dyna
  sed -n "/^jq '.num_hidden_layers/,/config.json > new.json/p" "$repo/spec/model-folder.md" |
    sed 's/ && mv .*//' >recipe.sh
  jq 'del(.elastic)' model/config.json >config.json
  bash recipe.sh
  mv new.json dyna/config.json
  holds "$(cat dyna/config.json)" '.elastic.min_width == 3 and .elastic.depth_layers == [[0], [0, 3],
    [0, 2, 4], [0, 1, 3, 4], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5]]'
  run --separate-stderr sti-shard dyna -o dyna.sti --bits 2
  same "${#stderr_lines[@]}" 1
  holds "$(sti-inspect --json dyna.sti)" '.elastic and .min_width == 3'
}

@test "depths under the least that was trained are neither planned nor measured" {
  copy_model deep
  jq '.elastic.min_depth = 4' model/config.json >deep/config.json
  works sti-shard -q deep -o deep.sti --bits 2,32
  holds "$(sti-inspect --json deep.sti)" '.min_depth == 4 and .min_width == 2'
  like "$(sti-inspect deep.sti)" "*depths from 4, widths from 2*"
  works sti-inspect -q --export 32 deep.sti -o again
  holds "$(cat again/config.json)" '.elastic.min_depth == 4'
  refused 4 "sti-plan: *submodel 3x12 was not trained*" sti-plan deep.sti --profile device.json --submodel 3x12 -o none
  run --separate-stderr sti-run deep.sti --submodel 3x12 "$alarm"
  same "$stderr" "sti-run: warning: depths under 4 were not trained"
  head -n 4 few.tsv >few
  holds "$(sti-importance -q deep.sti --data few --submodels --metric loss -o -)" '[.submodels[].layers] | min == 4'
}

@test "a model without elastic metadata: said once, silenced by -q" {
  copy_model plain
  jq 'del(.elastic)' model/config.json >plain/config.json
  run --separate-stderr sti-shard plain -o plain.sti --bits 2-6
  same "$status" 0
  same "${#stderr_lines[@]}" 2
  same "${stderr_lines[0]}" "sti-shard: the model has no elastic metadata: submodels of n < 6 layers or m < 12 slices are allowed, but not trained for"
  run --separate-stderr sti-shard model -o elastic.sti --bits 2
  same "${#stderr_lines[@]}" 1
  warning="the model has no elastic metadata: 3x6 of 6x12 is allowed but was not trained for; its answers mean little"
  run --separate-stderr sti-plan plain.sti --profile device.json --submodel 3x6 --allow-untrained -o plain.plan
  same "$status" 0
  same "$stderr" "sti-plan: warning: $warning"
  run --separate-stderr sti-run plain.sti --plan plain.plan "$alarm"
  same "$status" 0
  like "$stderr" "*sti-run: warning: $warning*"
  works sti-run -q plain.sti --plan plain.plan "$alarm"
  # So it is where a variant alone is of such a submodel.
  sti-inspect --json plain.plan | jq '.length = 8' >variant.json
  sti-plan -q plain.sti --profile device.json --submodel 6x12 -o whole.json
  jq --slurpfile variant variant.json '.variants = $variant' whole.json >both.json
  run --separate-stderr sti-run plain.sti --plan both.json "$alarm"
  same "$status" 0
  like "$stderr" "*sti-run: warning: $warning*"
}

@test "other formats are refused with the way to convert them" {
  copy_model bad
  mv bad/model.safetensors bad/model.ckpt
  refused 3 "sti-shard: bad/model.ckpt: only safetensors and pytorch_model.bin are read; if it is the model's state_dict, rename it to pytorch_model.bin, which is read without running it" \
    sti-shard bad -o a.sti
  copy_tiny distilbert renamed
  rm renamed/model.safetensors
  cp "$data/torch-tiny/archive.bin" renamed/weights.pt
  refused 3 "sti-shard: renamed/weights.pt: *rename it to pytorch_model.bin*" sti-shard renamed -o a.sti
  mv renamed/weights.pt renamed/pytorch_model.bin
  works sti-shard -q renamed -o a.sti
  mv bad/model.ckpt bad/tf_model.h5
  refused 3 "sti-shard: bad/tf_model.h5: only *from_tf=True*" sti-shard bad -o a.sti
}

@test "heads and FFN that do not divide are refused" {
  copy_model bad
  jq '.num_attention_heads = 7' model/config.json >bad/config.json
  refused 3 "sti-shard: bad/config.json: hidden_size 192 is no multiple of num_attention_heads 7, so it has no equal slices; use a model where it is" \
    sti-shard bad -o a.sti
  jq '.intermediate_size = 770' model/config.json >bad/config.json
  refused 3 "sti-shard: bad/config.json: intermediate_size 770 is no multiple of num_attention_heads 12, so it has no equal slices; use a model where it is" \
    sti-shard bad -o a.sti
}

@test "embeddings may have rows to spare" {
  copy_model spare
  head -n -1 model/vocab.txt >spare/vocab.txt
  sti-shard -q spare -o spare.sti --bits 2-6
  works sti-run -q spare.sti "$alarm"
  like "$output" $'alarm\t*'
}

@test "a regression is refused" {
  copy_model bad
  jq '.problem_type = "regression"' model/config.json >bad/config.json
  refused 3 'sti-shard: bad/config.json: problem_type is "regression"; only classifiers are supported' \
    sti-shard bad -o a.sti
}

@test "hostile tokenizers are refused with one line" {
  copy_tiny roberta bad
  echo "zz qq" >>bad/merges.txt
  refused 3 'sti-shard: bad/merges.txt: merge 740 is of or into "zz", which the vocabulary does not have; use the merges of this model' sti-shard bad -o a.sti
  sed -n '1,2p;2p' "$data/roberta-tiny/merges.txt" >bad/merges.txt
  refused 3 "sti-shard: bad/merges.txt: merge 2 stands twice; get a sound copy" sti-shard bad -o a.sti
  jq '.["<s>"] = 1' "$data/roberta-tiny/vocab.json" >bad/vocab.json
  refused 3 "sti-shard: bad/vocab.json: the vocabulary gives id 1 to two tokens; get a sound copy" sti-shard bad -o a.sti
  { head -c 1000000 /dev/zero | tr '\0' '['; } >bad/vocab.json
  refused 3 "sti-shard: bad/vocab.json: JSON nested too deep; get a sound copy" sti-shard bad -o a.sti
}
