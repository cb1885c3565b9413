# Models of images: cut into containers, looked at, verified and given back as folders. What plans,
# measures and serves says that it takes texts alone.
load helpers

setup_file() {
  cd "$BATS_FILE_TMPDIR"
  sti-shard -q "$repo/tests/data/vit-tiny" -o vit.sti
}
setup() {
  cd "$BATS_TEST_TMPDIR"
  ln -s "$BATS_FILE_TMPDIR/vit.sti" .
}

@test "a container says what images its model takes" {
  works sti-inspect vit.sti
  like "$output" "*2 layers x 2 slices, hidden 16, FFN 32, float16, vit*"
  like "$output" "*images      12 x 12 pixels of 3 values, in 9 patches, 4 labels*"
  works sti-inspect --json vit.sti
  same "$(jq -c '[.image.size, .image.patch, .image.channels, .image.deviation[1], .tokenizer, .max_length]' <<<"$output")" \
    '[12,4,3,0.25,null,10]'
  works sti-inspect --verify vit.sti
  like "$output" "28 parts checked, 0 damaged"
}

@test "an exported folder gives the same model" {
  works sti-inspect -q --export 32 -o copy vit.sti
  works sti-shard -q copy -o again.sti
  cmp vit.sti again.sti
  works sti-inspect -q --export 4 -o four vit.sti
  works sti-shard -q four -o four.sti
}

@test "a damaged part of an image model is found by its name" {
  cp vit.sti damaged.sti
  flip damaged.sti "$(($(stat -c %s damaged.sti) / 2))"
  run sti-inspect --verify damaged.sti
  same "$status" 3
}

@test "folders that are not read: no scale of pixels, no biases, a distillation token, odd patches" {
  local config=$repo/tests/data/vit-tiny/config.json
  cp -r "$repo/tests/data/vit-tiny" folder
  rm folder/preprocessor_config.json
  refused 3 "sti-shard: folder: no preprocessor_config.json, which says how pixels are scaled; copy it from where the model is published" \
    sti-shard folder -o x.sti
  cp "$repo/tests/data/vit-tiny/preprocessor_config.json" folder
  jq '.qkv_bias = false' "$config" >folder/config.json
  refused 3 "sti-shard: folder/config.json: qkv_bias is false; only true is supported" sti-shard folder -o x.sti
  jq '.model_type = "deit"' "$config" >folder/config.json
  refused 3 'sti-shard: folder/config.json: model_type is "deit"; *' sti-shard folder -o x.sti
  jq '.patch_size = 5' "$config" >folder/config.json
  refused 3 "sti-shard: folder/config.json: image_size 12 is not 1 to 255 times patch_size 5" sti-shard folder -o x.sti
  refused 2 "sti-shard: *a model of images has no tokenizer*" \
    sti-shard "$repo/tests/data/vit-tiny" --tokenizer "$repo/tests/data/roberta-tiny" -o x.sti
  [ ! -e x.sti ]
}

@test "what takes texts alone says so in one line" {
  local said="vit.sti: has a model of images, which is not run yet; give one of texts"
  refused 3 "sti-run: $said" sti-run vit.sti </dev/null
  refused 3 "sti-profile: $said" sti-profile vit.sti -o x
  printf 'a\tcat\n' >labels.tsv
  refused 3 "sti-importance: $said" sti-importance vit.sti --data labels.tsv -o x
  refused 3 "sti-inspect: $said" sti-inspect vit.sti --tokenize </dev/null
  # A profile of this shape may have been made by an app.
  sti-inspect --json "$repo/tests/data/v1.5/tiny.profile" |
    jq --arg shape "$(sti-inspect --json vit.sti | jq -r .shape_digest)" '.shape = $shape' >vit.profile
  refused 3 "sti-plan: *" sti-plan vit.sti --profile vit.profile --target 1s -o x
  [ ! -e x ]
}
