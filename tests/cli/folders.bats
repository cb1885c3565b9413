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
  refused 3 'sti-shard: bad/added_tokens.json: token "[?][[]31m<user>" was added to the vocabulary, and text is not searched for added tokens; use a model without them, or take them out of its tokenizer'\''s files if no text will have them' \
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

@test "one logit: label 0 with its sigmoid, below one half too" {
  copy_model one
  jq '.id2label = {"0": "LABEL_0"} | del(.label2id)' model/config.json >one/config.json
  edit_header one/model.safetensors '
    .["classifier.weight"] |= (.shape = [1, 192] | .data_offsets[1] = .data_offsets[0] + 384) |
    .["classifier.bias"] |= (.shape = [1] | .data_offsets[1] = .data_offsets[0] + 2)'
  sti-shard -q one -o one.sti
  works sti-inspect --verify one.sti
  text="what is my account balance"
  printf '%s\n' "$alarm" "$text" >texts
  sti-run -q --json model.sti <texts >all
  sti-run -q --json one.sti <texts >answers
  holds "$(jq -s . all answers)" '.[:2] as $all | .[2:] as $one | all(range(2);
    ($one[.].logits[0] - $all[.].logits[0] | fabs) < 0.0001 and ($one[.].logits | length) == 1)'
  holds "$(jq -s . answers)" 'all(.[]; .label == "LABEL_0" and .label_id == 0 and
    (.scores.LABEL_0 - 1 / (1 + (-.logits[0] | exp)) | fabs) < 0.00001)'
  jq -r '"LABEL_0\t\(.scores.LABEL_0 * 10000 | round / 10000)"' answers >expected
  holds "$(jq -s . answers)" 'any(.[]; .scores.LABEL_0 < 0.5)'
  sti-run -q one.sti <texts | cut -f 1,2 | jq -Rr 'split("\t") | "\(.[0])\t\(.[1] | tonumber)"' >plain
  cmp plain expected
  # Yes and no, 1 and 0, are what its data say.
  jq -r '[.text, if .scores.LABEL_0 >= 0.5 then 1 else 0 end] | @tsv' answers >rows
  { printf 'sentence\tlabel\n'; cat rows; } >dev.one.tsv
  works sti-run -q --json one.sti --eval dev.one.tsv
  holds "$output" '.accuracy == 1 and .mean_loss > 0'
  for metric in accuracy loss kl; do
    works sti-importance -q one.sti --data dev.one.tsv --metric $metric -o one.json
    holds "$(cat one.json)" '.examples == 2'
  done
  printf 'sentence\tlabel\n%s\t0.7\n' "$text" >graded.tsv
  refused 3 'sti-run: graded.tsv:2: label "0.7" is none of the model'"'"'s; use LABEL_0 or 1 where it applies, and 0 or - where it does not' \
    sti-run -q one.sti --eval graded.tsv
}

@test "pytorch_model.bin, archive and older stream, makes the container that safetensors make" {
  sti-shard -q "$repo/tests/data/distilbert-tiny" -o a.sti
  copy_tiny distilbert bin
  rm bin/model.safetensors
  for form in archive stream; do
    cp "$repo/tests/data/torch-tiny/$form.bin" bin/pytorch_model.bin
    works sti-shard -q bin -o b.sti
    cmp a.sti b.sti
  done
}

@test "a pickle that would run something is refused where it says so" {
  copy_tiny distilbert bad
  rm bad/model.safetensors
  stream='\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.'
  # shellcheck disable=SC2059
  printf "$stream"'\x80\x02M\xe9\x03.\x80\x02cposix\nsystem\nX\x05\0\0\0touch\x85R.' >bad/pytorch_model.bin
  refused 3 "sti-shard: bad/pytorch_model.bin: posix.system, which no tensor needs, is named at byte 23; save the weights as safetensors" \
    sti-shard bad -o a.sti
  # shellcheck disable=SC2059
  printf "$stream"'\x80\x02}\x93.' >bad/pytorch_model.bin
  refused 3 "sti-shard: bad/pytorch_model.bin: opcode 0x93, which no tensor needs, stands at byte 18; save the weights as safetensors" \
    sti-shard bad -o a.sti
  head -c 20000 "$repo/tests/data/torch-tiny/archive.bin" >bad/pytorch_model.bin
  refused 3 "sti-shard: bad/pytorch_model.bin: as a zip archive, it has no end; get a sound copy of the file" \
    sti-shard bad -o a.sti
  echo "<html>Not found</html>" >bad/pytorch_model.bin
  refused 3 "sti-shard: bad/pytorch_model.bin: not what torch.save writes; get a sound copy of the file" \
    sti-shard bad -o a.sti
}
