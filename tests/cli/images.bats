# Models of images: cut into containers, looked at, verified and given back as folders; profiled,
# planned and run on files. What is for texts alone says so.
load helpers

setup_file() {
  cd "$BATS_FILE_TMPDIR"
  sti-shard -q "$repo/tests/data/vit-tiny" -o vit.sti
  mkdir images
  local i=0 bytes
  while read -r bytes; do
    printf 'P6 12 12 255\n%b' "$bytes" >images/$i.ppm
    i=$((i + 1))
  done < <(jq -r '"0123456789abcdef" as $h | .pixels | map((. / 16 | floor) as $high |
    "\\x" + $h[$high:$high + 1] + $h[. % 16:. % 16 + 1]) | add' "$repo/tests/data/vit-tiny/expected.jsonl")
  same "$i" 10
  sti-profile -q vit.sti --budget 10ms -o vit.profile
  sti-plan -q vit.sti --profile vit.profile --target 10s -o vit.plan
}
setup() {
  cd "$BATS_TEST_TMPDIR"
  ln -s "$BATS_FILE_TMPDIR"/{vit.sti,vit.profile,vit.plan,images} .
}

# Logits of transformers, to 4 digits behind the point.
expected() { jq -c '.logits | map(. * 1e4 | round)' "$repo/tests/data/vit-tiny/expected.jsonl"; }
rounded() { jq -c '.logits | map(. * 1e4 | round)'; }

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

@test "lines are paths of images, whose logits are those of transformers" {
  printf 'images/%d.ppm\n' {0..9} >paths
  sti-run -q vit.sti --json <paths >answers
  same "$(rounded <answers)" "$(expected)"
  same "$(jq -r .text answers)" "$(cat paths)"
  sti-run -q vit.sti --plan vit.plan --json <paths >planned
  same "$(rounded <planned)" "$(expected)"
  same "$(jq -s 'map(.deadline_met, .tokens) | unique' -c planned)" '[true,10]'
  # A PNG of the same pixels, and the values themselves.
  works sti-run -q vit.sti "$repo/tests/fuzz/corpus/image/rgb.png" --json
  same "$(rounded <<<"$output")" "$(expected | sed -n 3p)"
  works sti-run -q vit.sti images/2.ppm
  like "$output" $'bird\t0.*\timages/2.ppm'
}

@test "one and several threads give the same bits, and a shard at a time within little memory" {
  printf 'images/%d.ppm\n' {0..9} >paths
  sti-run -q vit.sti --threads 1 --json <paths | jq -c .logits >one
  sti-run -q vit.sti --threads 3 --json <paths | jq -c .logits >three
  cmp one three
  sti-run -q vit.sti --plan vit.plan --memory 16MiB --json <paths | jq -c .logits >small
  cmp one small
  refused 4 "sti-run: --memory * is less than the * needed before the first shard; raise it" \
    sti-run -q vit.sti --memory 3MiB images/0.ppm
}

@test "what is no such image is that line's error, and the run goes on" {
  head -c 100 "$repo/tests/fuzz/corpus/image/rgb.png" >short.png
  head -c 9999999 /dev/zero >large
  { head -c 1724 /dev/zero; printf '\0\0\300\177'; } >nan
  printf '%s\n' nope short.png large nan "" . images/1.ppm >paths
  run --separate-stderr sti-run vit.sti -q <paths
  same "$status" 3
  like "${lines[0]}" "! nope: no such file*"
  like "${lines[1]}" "! short.png: a broken PNG: it ends early; write it anew*"
  like "${lines[2]}" "! large: *"
  like "${lines[3]}" "! nan: value 431 of the image is not finite*"
  like "${lines[4]}" "! an empty line; give the path of an image*"
  like "${lines[5]}" "! .: *"
  like "${lines[6]}" $'dog\t*\timages/1.ppm'
  same "$stderr" ""
}

@test "an evaluation's texts are paths" {
  for i in {0..9}; do printf 'images/%d.ppm\t%s\n' $i "$(sti-run -q vit.sti images/$i.ppm | cut -f1)"; done >right.tsv
  { printf 'sentence\tlabel\n'; cat right.tsv; } >data.tsv
  works sti-run -q vit.sti --eval data.tsv --json
  same "$(jq -c '[.examples, .accuracy]' <<<"$output")" '[10,1]'
  printf 'nope.png\tcat\n' >>data.tsv
  run sti-run -q vit.sti --eval data.tsv --json
  same "$status" 3
  same "$(jq -c '[.examples, .errors]' <<<"$output")" '[11,[{"row":11,"error":"nope.png: no such file"}]]'
}

@test "models of images and of texts are served side by side" {
  sti-shard -q "$repo/tests/data/distilbert-tiny" -o text.sti
  printf '%s\n' $'see\timages/2.ppm' $'read\thello' $'see\tgone' >lines
  run sti-run -q --model see=vit.sti,vit.plan --model read=text.sti <lines
  same "$status" 3
  like "$output" $'*see\tbird\t*\timages/2.ppm*'
  like "$output" $'*read\t*\thello*'
  like "$output" $'*see\t! gone: no such file*'
}

@test "profiles and plans have the one length that images have" {
  works sti-inspect --json vit.profile
  same "$(jq -c '[.compute, .fixed | map(.length) | unique]' <<<"$output")" '[[10],[10]]'
  same "$(jq '.fixed[0].embed_us > 0 and .fixed[0].embed_io_us == 0' <<<"$output")" true
  same "$(sti-inspect --json vit.plan | jq -c '[.length, .variants]')" '[10,[]]'
  refused 2 "sti-profile: vit.sti takes no --lengths: all images have one length; drop one" \
    sti-profile vit.sti --lengths 8 -o x
  refused 2 "sti-plan: *the model takes images, all of which have one length; drop --length" \
    sti-plan vit.sti --profile vit.profile --target 60s --length 10 -o x
  works sti-plan vit.sti --profile vit.profile --target 60s --cold -o cold.plan
  works sti-run -q vit.sti --plan cold.plan images/2.ppm
  like "$output" $'bird\t*'
  works sti-plan vit.sti --profile vit.profile --check vit.plan
  [ ! -e x ]
}

@test "what is for texts alone says so in one line" {
  local takes="is for models of texts; vit.sti takes images"
  for option in --ids --pairs "--prefix a" "--window 8" "--on-late degrade --plan vit.plan" \
    "--replan vit.profile --plan vit.plan"; do
    # shellcheck disable=SC2086
    refused 2 "sti-run: ${option%% [-a8v]*}* $takes" sti-run vit.sti $option </dev/null
  done
  refused 2 "sti-run: --dimensions is for models that embed texts; *" sti-run vit.sti --dimensions 2 </dev/null
  refused 2 "sti-run: --threshold is for multi-label models; *" sti-run vit.sti --threshold 0.5 </dev/null
  for option in "--guarantee" "--turns 2 --preload 1KiB"; do
    # shellcheck disable=SC2086
    refused 2 "sti-plan: the model takes images, and this is for models of texts; *${option%% *}*" \
      sti-plan vit.sti --profile vit.profile --target 60s $option -o x
  done
  local said="vit.sti: has a model of images, and texts are to be read; give a model of texts"
  printf 'a\tcat\n' >labels.tsv
  refused 3 "sti-importance: $said" sti-importance vit.sti --data labels.tsv -o x
  refused 3 "sti-inspect: $said" sti-inspect vit.sti --tokenize </dev/null
  [ ! -e x ]
}

@test "images of one pass have the labels that they have alone" {
  works sti-profile -q vit.sti --batches 1,4 --budget 100ms -o many.profile
  works sti-plan vit.sti --profile many.profile --target 10s --batches 1,4 --memory 60MB -o many.plan
  like "$output" "submodel   2 layers x 2 slices, up to 4 images a pass, *"
  like "$output" "*variants *        1 image: 2x2, *"
  same "$(sti-inspect --json many.plan | jq -c '[.batch, .length, (.variants | map(.batch))]')" '[4,10,[null]]'
  works sti-plan vit.sti --profile many.profile --check many.plan
  works sti-plan vit.sti --profile many.profile --sweep --batches 4
  like "$output" "*2x2*"
  ls images/*.ppm >paths
  sed -i '3s/^/no/; 7s/.*/vit.plan/' paths
  run bash -c 'sti-run -q --json vit.sti --plan vit.plan <paths'
  same "$status" 3
  jq -c '[.text, .logits, .error]' <<<"$output" >alone
  run bash -c 'sti-run -q --json vit.sti --plan many.plan <paths'
  same "$status" 3
  jq -c '[.text, .logits, .error]' <<<"$output" >together
  cmp alone together
  same "$(jq -c '.batch' <<<"$output" | tr '\n' ' ')" "3 3 null 3 3 3 null 3 2 2 "
  # What a pass reads counts once.
  same "$(jq -c 'select(.batch == 2) | .bytes_read > 0' <<<"$output" | tr '\n' ' ')" "true false "
  # A line that is there alone waits for no others, and arguments are taken together.
  same "$( (echo images/0.ppm; sleep 0.3; echo images/1.ppm) | sti-run -q --json vit.sti --plan many.plan | jq -c .batch)" \
    "$(printf 'null\nnull')"
  same "$(sti-run -q --json vit.sti --plan many.plan images/{0,1}.ppm | jq -c .batch)" "$(printf '2\n2')"
  same "$(sti-run -q --json vit.sti --plan many.plan --one-shot <paths | wc -l)" 1
}

@test "a batch is of models of images, and of what was profiled" {
  refused 3 "sti-plan: vit.profile: has no times of passes of 4 inputs*" \
    sti-plan vit.sti --profile vit.profile --target 10s --batches 1,4 -o x
  refused 2 "sti-plan: *ask for one length, batch and clock" \
    sti-plan vit.sti --profile vit.profile --target 10s --batches 1,4 --strategy preload -o x
  works sti-plan -q vit.sti --profile vit.profile --target 10s -o p.json
  jq '.context = 10' p.json >context.json
  refused 3 "sti-plan: *it has a context, and the model continues no texts*" \
    sti-plan vit.sti --profile vit.profile --check context.json
  refused 3 "sti-run: *it has a context, and the model continues no texts*" \
    sti-run vit.sti --plan context.json images/0.ppm
  refused 2 "sti-plan: a pass has 1 to 256 images; use --batches 1,4" \
    sti-plan vit.sti --profile vit.profile --target 10s --batches 0 -o x
  sti-shard -q "$repo/tests/data/multilabel-tiny" -o text.sti
  jq -n '{io: [{bytes: 4096, load_us: 10}], compute: [{length: 9, width: 2, layer_us: 100}]}' >hand.json
  refused 2 "sti-plan: texts run one at a time, in no batch; drop --batches" \
    sti-plan text.sti --profile hand.json --target 10s --batches 4 -o x
  works sti-plan -q text.sti --profile hand.json --target 10s -o text.json
  jq '.batch = 4' text.json >batch.json
  refused 3 "sti-plan: *it has a batch, and the model takes no images*" \
    sti-plan text.sti --profile hand.json --check batch.json
  refused 3 "sti-run: *the plan has a batch, and the model takes no images*" \
    sti-run text.sti --plan batch.json hello
  [ ! -e x ]
}
