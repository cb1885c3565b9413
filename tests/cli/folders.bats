# Folders of models as people have them: cloned, exported, half of a model.
load helpers

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
  cmp a.sti <(sti-shard -q model --bits 2 -o b.sti && cat b.sti)
  printf '{"\\u001b[31m<user>": 8000}' >bad/added_tokens.json
  refused 3 'sti-shard: bad/added_tokens.json: token "[?][[]31m<user>" was added to the vocabulary, and text is not searched for added tokens; use a model without them' \
    sti-shard bad -o a.sti
}
