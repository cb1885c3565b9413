# Folders of models as people have them: cloned, exported, half of a model.
load helpers

# NAME FOLDER: a folder with a copy of tests/data/NAME-tiny.
copy_tiny() {
  mkdir "$2"
  cp "$repo/tests/data/$1-tiny"/* "$2/"
  chmod u+w "$2"/*
}

# FILE: puts a pointer of git-lfs in place of the file.
make_pointer() {
  printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 1000000\n' 7 >"$1"
}

@test "a clone without its large files is told to fetch them" {
  copy_model bad
  make_pointer bad/model.safetensors
  refused 3 "sti-shard: bad/model.safetensors: a pointer of git-lfs in place of the file; fetch the file with git lfs pull" \
    sti-shard bad -o a.sti
  rm bad/vocab.txt
  make_pointer bad/tokenizer.json
  refused 3 "sti-shard: bad/tokenizer.json: a pointer of git-lfs in place of the file; fetch the file with git lfs pull" \
    sti-shard bad -o a.sti
}

@test "an adapter alone is told to be merged" {
  mkdir bad
  echo '{"base_model_name_or_path": "bert-base-uncased", "peft_type": "LORA"}' >bad/adapter_config.json
  echo weights >bad/adapter_model.safetensors
  refused 3 "sti-shard: bad: an adapter alone, without the model that it changes; merge it into its model and save that (in PEFT: merge_and_unload, then save_pretrained)" \
    sti-shard bad -o a.sti
  cp model/config.json bad/
  refused 3 "sti-shard: bad: an adapter alone, *" sti-shard bad -o a.sti
}

@test "added tokens are refused by name, never split; control tokens may be listed" {
  copy_model bad
  printf '{"[MASK]": %d}' "$(($(grep -nxF '[MASK]' model/vocab.txt | cut -d: -f1) - 1))" >bad/added_tokens.json
  works sti-shard -q bad --bits 2 -o a.sti
  sti-shard -q model --bits 2 -o b.sti
  cmp a.sti b.sti
  printf '{"\\u001b[31m<user>": 8000}' >bad/added_tokens.json
  refused 3 'sti-shard: bad/added_tokens.json: token "[?][[]31m<user>" was added to the vocabulary, and text is not searched for added tokens; use a model without them' \
    sti-shard bad -o a.sti
}

@test "--labels names the labels of a model that has LABEL_0 and the like" {
  copy_tiny distilbert plain
  printf 'no\nnot sure\nyes\nsurely\n' >names.txt
  works sti-shard -q plain --labels names.txt -o a.sti
  works sti-run -q --json a.sti "a text"
  holds "$output" '(.scores | keys) == ["no", "not sure", "surely", "yes"]'
  echo surplus >>names.txt
  refused 3 "sti-shard: names.txt: 5 lines, but the model has 4 labels; name each in a line of its own" \
    sti-shard plain --labels names.txt -o a.sti
  refused 3 "sti-shard: none.txt: no such file; *" sti-shard plain --labels none.txt -o a.sti
  refused 2 "sti-shard: -o: names.txt is the file of --labels, *" sti-shard plain --labels names.txt -o names.txt
}

@test "--tokenizer takes the tokenizer of another folder" {
  for name in distilbert roberta; do
    copy_tiny $name weights
    mkdir words
    mv weights/*vocab* weights/tokenizer_config.json words/
    mv weights/merges.txt words/ || true
    refused 3 "sti-shard: weights: neither vocab* nor tokenizer.json; add them, or give a folder that has them by --tokenizer" \
      sti-shard weights -o a.sti
    works sti-shard -q weights --tokenizer words -o a.sti
    sti-shard -q "$repo/tests/data/$name-tiny" -o b.sti
    cmp a.sti b.sti
    refused 2 "sti-shard: -o: words/tokenizer_config.json is a file of --tokenizer, *" \
      sti-shard weights --tokenizer words -o words/tokenizer_config.json
    rm -r weights words
  done
  refused 3 "sti-shard: none: no such folder; give the folder of a tokenizer" \
    sti-shard model --tokenizer none -o a.sti
}
