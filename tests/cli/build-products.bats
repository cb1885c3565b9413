# sti_add_model and sti_add_plan: models and plans that a build with CMake makes (cmake/sti-models.cmake).
load helpers

setup() {
  make_links
  cp -r "$repo/tests/capi/product" product
  copy_model weights
  cp --remove-destination "$(readlink -f device.json)" device.json
}

# OPTIONS...: configures product/ as out/. Each run of a tool is a word in `calls`.
configure() {
  local tool
  for tool in sti-shard sti-plan; do
    printf '#!/bin/sh\necho %s >>"%s/calls"\nexec "%s/%s" "$@"\n' $tool "$PWD" "$STI_BIN" $tool >$tool
    chmod +x $tool
  done
  cmake -S product -B out -G Ninja "-DSTI_MODELS=$repo/cmake/sti-models.cmake" \
    "-DSTI_TOOL_sti_shard=$PWD/sti-shard" "-DSTI_TOOL_sti_plan=$PWD/sti-plan" \
    "-DMODEL=$PWD/weights" "-DPROFILE=$PWD/device.json" "$@"
}

# TOOL...: a build runs just these.
runs() {
  : >calls
  cmake --build out
  same "$(sort calls | xargs)" "$*"
}

@test "a build makes what the tools make by hand" {
  works configure
  works cmake --build out
  sti-shard -q weights --bits 2-6 -o by-hand.sti
  cmp by-hand.sti out/intents.sti
  sti-plan -q out/intents.sti --profile device.json --target 12ms --preload 200kB --memory 32MiB \
    --length 64 -o by-hand.plan
  cmp by-hand.plan out/intents-fast.plan
  [ "$(stat -c %s out/slim.sti)" -lt "$(stat -c %s out/intents.sti)" ]
  same "$(sti-run -q out/slim.sti --plan out/intents-fast.plan "$alarm" | cut -f 1)" alarm
}

@test "what is made stays while the bytes and the command that it is made by do" {
  configure
  runs sti-plan sti-shard sti-shard
  touch device.json weights/*
  runs
  jq '.fixed[0].head_us = 51' device.json >other
  mv other device.json
  runs sti-plan sti-shard
  configure -DTARGET=14ms
  runs sti-plan sti-shard
  poke weights/model.safetensors "$(tensor_offset weights/model.safetensors classifier.bias)" '\x00\x3c'
  runs sti-plan sti-shard sti-shard
  echo "unused" >weights/notes.txt # a file that was not there, and changes no byte of the model
  runs sti-shard sti-shard
}

@test "a target that cannot be met fails the build with the planner's line" {
  configure -DTARGET=1us
  run -1 cmake --build out
  line=$(sti-plan -q out/intents.sti --profile device.json --target 1us --preload 200kB \
    --memory 32MiB --length 64 2>&1 | head -n 1)
  like "$line" "sti-plan: *"
  like "$output" "*$line*"
  [ ! -e out/intents-fast.plan ]
  configure -DTARGET=12ms
  works cmake --build out
}

@test "calls that lack something, or have too much, are refused" {
  sed -i 's/FOLDER/FOLD/' product/CMakeLists.txt
  run ! configure
  like "$output" "*sti_add_model(intents): what is FOLD;*"
  sed -i 's/ FOLD [^ ]*//' product/CMakeLists.txt
  run ! configure
  like "$output" "*sti_add_model(intents): FOLDER is missing*"
  sed -i 's/(intents BITS/(intents FOLDER nowhere BITS/' product/CMakeLists.txt
  run ! configure
  like "$output" "*sti_add_model(intents): no files in*/nowhere*"
}
