# What all command-line tests share: the tools, small files made once a run, and assertions that
# say what they saw. Every test runs in its own folder, which holds links to
#   model/ dev.tsv   the shipped example, 310 labelled lines
#   few.tsv          30 of them
#   model.sti        the container
#   model.importance
#   device.json      a profile written by hand, so that plans never depend on this machine
#   model.plan       for 12 ms, which binds: the whole model at 6 bits takes 31 ms on that device
bats_require_minimum_version 1.5.0

repo=$(cd "$BATS_TEST_DIRNAME/../.." && pwd -P)
STI_BIN=$(cd "${STI_BIN:-$repo/build/bin}" && pwd -P)
PATH="$STI_BIN:$PATH"
tools=(sti-shard sti-importance sti-profile sti-plan sti-run sti-inspect)
example="$repo/examples/voice-intents"
shared="$repo/../shared"
fixtures="${STI_TEST_FIXTURES:-$BATS_RUN_TMPDIR/sti-files}"
alarm="set an alarm for seven tomorrow" # a line whose label is never in doubt
export LC_ALL=C.UTF-8

setup_file() { make_fixtures; }

make_fixtures() {
  [ -e "$fixtures/ready" ] && return
  mkdir -p "$fixtures"
  (
    flock 9
    [ -e "$fixtures/ready" ] && exit
    cd "$fixtures"
    ln -sfn "$example/model" model
    ln -sf "$example/dev.tsv" dev.tsv
    head -n 31 dev.tsv >few.tsv
    write_profile >device.json
    sti-shard -q model -o model.sti
    sti-importance -q model.sti --data few.tsv --metric loss -o model.importance
    sti-plan -q model.sti --profile device.json --importance model.importance \
      --target 12ms --preload 200kB -o model.plan
    touch ready
  ) 9>"$fixtures/lock"
}

setup() { make_links; }

make_links() {
  cd "$BATS_TEST_TMPDIR"
  local name
  for name in model dev.tsv few.tsv model.sti model.importance device.json model.plan; do
    ln -s "$fixtures/$name" "$name"
  done
}

# A device where a shard of k bits loads in 60 k us and a layer of m slices takes 200 + 100 m us.
write_profile() {
  jq -n '{
    io: [(2, 3, 4, 5, 6, 32) | {bits: ., load_us: (. * 60)}],
    compute: [range(2; 13) | {length: 64, width: ., layer_us: (200 + . * 100)}],
    fixed: [{length: 64, embed_us: 100, embed_io_us: 200, head_us: 50}]}'
}

# A plain model: the example without its elastic metadata, as plain/ and plain.sti.
make_plain_model() {
  copy_model plain
  jq 'del(.elastic)' model/config.json >plain/config.json
  sti-shard -q plain -o plain.sti
}

# Another model of the same shape, as other.sti: one weight of the classifier's bias differs.
make_other_model() {
  copy_model other
  poke other/model.safetensors "$(tensor_offset other/model.safetensors classifier.bias)" '\x00\x3c'
  sti-shard -q --bits 2-6 other -o other.sti
}

# A sentence model, as sentences/ and embed.sti: the encoder of the multi-label model in the test
# data, its rows pooled by the mean and made of unit length.
make_sentence_model() {
  cp -r "$repo/tests/data/multilabel-tiny" sentences
  mkdir sentences/1_Pooling
  echo '[{"type": "sentence_transformers.models.Transformer", "path": ""},
    {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
    {"type": "sentence_transformers.models.Normalize", "path": "2_Normalize"}]' >sentences/modules.json
  echo '{"pooling_mode_mean_tokens": true}' >sentences/1_Pooling/config.json
  echo '{"max_seq_length": 12}' >sentences/sentence_bert_config.json
  [ -e "$fixtures/embed.sti" ] || {
    sti-shard -q sentences -o embed.sti.new
    mv embed.sti.new "$fixtures/embed.sti"
  }
  ln -s "$fixtures/embed.sti" embed.sti
}

# A folder with a copy of the example's model that a test may damage.
copy_model() {
  mkdir "$1"
  cp model/* "$1/"
  chmod u+w "$1"/*
}

# --- bytes -----------------------------------------------------------------------------------

# Overwrites bytes: FILE OFFSET BYTES, the bytes as printf escapes.
# shellcheck disable=SC2059
poke() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }

# Changes one byte for certain: FILE OFFSET.
flip() {
  local byte
  byte=$(od -An -tu1 -j "$2" -N 1 "$1")
  poke "$1" "$2" "\\x$(printf %02x $((byte ^ 255)))"
}

header_bytes() { od -An -tu8 -N 8 "$1" | tr -d ' '; }
header() { tail -c +9 "$1" | head -c "$(header_bytes "$1")"; }

# Where a tensor's data begins: FILE TENSOR.
tensor_offset() {
  local begin
  begin=$(header "$1" | jq --arg name "$2" '.[$name].data_offsets[0]')
  echo $((8 + $(header_bytes "$1") + begin))
}

# Rewrites the header of a safetensors file with a jq program: FILE PROGRAM.
edit_header() {
  local length i
  header "$1" | jq -c "$2" >header.json
  length=$(stat -c %s header.json)
  {
    # shellcheck disable=SC2059
    for i in 0 8 16 24 32 40 48 56; do printf "\\x$(printf %02x $(((length >> i) & 255)))"; done
    cat header.json
    tail -c +$((9 + $(header_bytes "$1"))) "$1"
  } >edited.safetensors
  mv edited.safetensors "$1"
}

# --- waiting ---------------------------------------------------------------------------------

# COUNT: waits until the file `answers` has so many lines, a minute at most.
await_answers() {
  local tries
  for ((tries = 0; tries < 1200; ++tries)); do
    [ "$(wc -l 2>/dev/null <answers)" -ge "$1" ] 2>/dev/null && return
    sleep 0.05
  done
  echo "no answer $1"
  return 1
}
export -f await_answers # also for scripts that run below slow-flash

# --- assertions ------------------------------------------------------------------------------

# ACTUAL PATTERN: equal, or matched where the pattern has wildcards.
like() {
  # shellcheck disable=SC2053
  [[ $1 == $2 ]] && return
  printf 'got:      %s\nexpected: %s\n' "$1" "$2"
  return 1
}

same() {
  [ "$1" = "$2" ] && return
  printf 'got:      %s\nexpected: %s\n' "$1" "$2"
  return 1
}

# JSON PROGRAM: the jq program is true of the text.
holds() {
  jq -e "$2" <<<"$1" >/dev/null && return
  printf 'not true: %s\nof: %s\n' "$2" "$1"
  return 1
}

# Leaves out what a run says of inputs that a busy machine was late with.
without_lateness() { grep -v ' is late: \| late, worst by '; }

# Runs a command that must succeed and say nothing else on stderr.
works() {
  run --separate-stderr "$@"
  [ "$status" -eq 0 ] && [ -z "$(without_lateness <<<"$stderr")" ] && return
  printf 'status %s\n%s\n%s\n' "$status" "$output" "$stderr"
  return 1
}

# CODE LINE COMMAND...: it ends with this code, nothing on stdout and this one line on stderr.
refused() {
  local code=$1 line=$2
  shift 2
  run --separate-stderr "$@"
  same "$status" "$code"
  same "$output" ""
  same "${#stderr_lines[@]}" 1
  like "$stderr" "$line"
}

# Whether the tools are those of a build with sanitizers.
is_sanitized() { grep -qE '__(asan|tsan)_init' "$STI_BIN/sti-run"; }

# WHY: skips the test in such a build.
skip_if_sanitized() {
  if is_sanitized; then skip "$1"; fi
}

# No temporary of an atomic write is left in this folder.
no_leftovers() { same "$(find . -name '*.tmp*')" ""; }

# Has sti-importance measure whole and in three parts, which join to the same bytes. Leaves the parts.
measures_in_parts() { # MODEL OPTION...
  sti-importance -q "$@" -o whole.importance
  local part
  for part in 1 2 3; do
    sti-importance -q "$@" --part $part/3 -o $part.part
  done
  works sti-importance -q merge 3.part 1.part 2.part -o a.importance
  cmp a.importance whole.importance
  # A finished part is nothing to do.
  works sti-importance -q "$@" --part 2/3 --resume -o 2.part
}
