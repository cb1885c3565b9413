# What sti-shard cannot use: exit 3, one line that names file and fault, and the container that was
# there before keeps its bytes.
load helpers

# LINE FOLDER: the folder is refused with this line and an older output is left as it was.
is_refused() {
  echo "an older container" >old.sti
  refused 3 "$1" sti-shard "$2" -o old.sti
  same "$(cat old.sti)" "an older container"
  no_leftovers
}

@test "a folder that is not there" {
  is_refused "sti-shard: none: no such folder; give the folder of a model" none
}

@test "a file in place of a folder" {
  is_refused "sti-shard: dev.tsv: a file and no folder; give the folder of a model" dev.tsv
}

@test "a folder without a model" {
  mkdir bad
  is_refused "sti-shard: bad: no config.json; give the folder of a model as published" bad
}

@test "a folder without weights" {
  copy_model bad
  rm bad/model.safetensors
  is_refused "sti-shard: bad: no model.safetensors; save the model in the safetensors format" bad
}

@test "a folder without a vocabulary" {
  copy_model bad
  rm bad/vocab.txt
  is_refused "sti-shard: bad: neither vocab.txt nor tokenizer.json; add them, or give a folder that has them by --tokenizer" bad
}

@test "a vocabulary larger than the model's" {
  copy_model bad
  echo surplus >>bad/vocab.txt
  is_refused "sti-shard: bad/vocab.txt: 8001 tokens, but vocab_size is 8000; use the vocabulary of this model" bad
}

@test "a vocabulary without its control tokens" {
  copy_model bad
  sed 's/^\[SEP\]$/[GAP]/' model/vocab.txt >bad/vocab.txt
  is_refused "sti-shard: bad/vocab.txt: no token [[]SEP]; use the vocabulary of this model" bad
}

@test "another architecture" {
  copy_model bad
  jq '.architectures = ["GPTJForCausalLM"] | .model_type = "gptj"' model/config.json >bad/config.json
  is_refused "sti-shard: bad/config.json: *gptj*" bad
}

@test "a config.json that is not JSON" {
  copy_model bad
  echo "layers: 6" >bad/config.json
  is_refused "sti-shard: bad/config.json: not well-formed JSON at byte 1; get a sound copy" bad
}

@test "a config.json that lacks a size" {
  copy_model bad
  jq 'del(.hidden_size)' model/config.json >bad/config.json
  is_refused "sti-shard: bad/config.json: *hidden_size*" bad
}

@test "a missing tensor" {
  copy_model bad
  edit_header bad/model.safetensors 'del(.["bert.encoder.layer.3.output.dense.weight"])'
  is_refused "sti-shard: bad: tensor bert.encoder.layer.3.output.dense.weight [[]192, 768] is missing; get a complete copy of the model" bad
}

@test "a tensor of the wrong shape" {
  copy_model bad
  edit_header bad/model.safetensors \
    '.["bert.encoder.layer.0.intermediate.dense.weight"].shape = [192, 768]'
  is_refused "sti-shard: bad/model.safetensors: *bert.encoder.layer.0.intermediate.dense.weight: shape [[]192, 768], expected [[]768, 192]; the weights do not belong to this config.json" bad
}

@test "a NaN among the weights" {
  copy_model bad
  name=bert.encoder.layer.2.attention.self.query.weight
  poke bad/model.safetensors $(($(tensor_offset bad/model.safetensors $name) + 14)) '\x00\x7e'
  is_refused "sti-shard: bad/model.safetensors: *$name: NaN at index 7; export the model again from finite weights" bad
}

@test "an infinity among the embeddings" {
  copy_model bad
  name=bert.embeddings.word_embeddings.weight
  poke bad/model.safetensors "$(tensor_offset bad/model.safetensors $name)" '\x00\x7c'
  is_refused "sti-shard: bad/model.safetensors: *$name: infinity at index 0; *" bad
}

@test "weights cut short" {
  copy_model bad
  truncate -s -1000 bad/model.safetensors
  is_refused "sti-shard: bad/model.safetensors: tensor *: bytes * lie outside the * bytes of data; get a sound copy of the file" bad
}

@test "weights that are a download page" {
  copy_model bad
  echo "<html>Not found</html>" >bad/model.safetensors
  is_refused "sti-shard: bad/model.safetensors: *; get a sound copy of the file" bad
}

@test "a depth map that names a layer the model does not have" {
  copy_model bad
  jq '.elastic.depth_layers[0] = [6]' model/config.json >bad/config.json
  is_refused "sti-shard: bad/config.json: *depth_layers*" bad
}
