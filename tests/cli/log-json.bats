# --log-json: each message is a JSON object in a line of its own on stderr; its words are those that
# a person reads without it.
load helpers

# Messages of stdin as a person reads them.
as_text() { jq -r '.tool + (if .level == "warning" then ": warning: " else ": " end) + .message'; }

# Messages of stdin without their times, which are of one run.
timeless() { sed -E 's/[0-9.]+ (ms|us)/N \1/g'; }

# STATUS COMMAND...: ends with this status, and has the same messages either way; `levels` are
# theirs. All that is on stderr is JSON.
says_the_same() {
  local expected=$1 text
  shift
  run --separate-stderr "$@"
  same "$status" "$expected"
  text=$stderr
  [ -n "$text" ]
  run --separate-stderr "$@" --log-json
  same "$status" "$expected"
  jq -e 'keys == ["level", "message", "tool"]' <<<"$stderr" >/dev/null
  same "$(jq -s length <<<"$stderr")" "${#stderr_lines[@]}"
  same "$(as_text <<<"$stderr" | timeless)" "$(timeless <<<"$text")"
  levels=$(jq -r .level <<<"$stderr" | sort -u | tr '\n' ' ')
}

@test "an error of every tool" {
  says_the_same 3 sti-shard none -o out.sti
  says_the_same 3 sti-importance none.sti --data few.tsv -o out.importance
  says_the_same 3 sti-profile none.sti -o out.profile
  says_the_same 4 sti-plan model.sti --profile device.json --target 1us
  says_the_same 3 sti-run none.sti "$alarm"
  says_the_same 3 sti-inspect none.sti
  same "$levels" "error "
}

@test "options that are not understood" {
  says_the_same 2 sti-shard --no-such-option
  same "$levels" "error "
  says_the_same 2 sti-importance show
  says_the_same 2 sti-run model.sti --ids --pairs
  run --separate-stderr sti-run --log-json model.sti --bits
  same "$status" 2
  same "$(jq -r .level <<<"$stderr")" error
}

@test "levels: -q leaves errors, -v adds explanations" {
  says_the_same 0 sti-shard model --bits 2 -o out.sti
  same "$levels" "info "
  says_the_same 0 sti-run -v -q --io threads model.sti "$alarm"
  same "$levels" "debug "
  sti-inspect --json model.plan | jq '.read_path = "threads" | .target_us = 60e6' >other.json
  says_the_same 0 sti-run --io buffered model.sti --plan other.json --on-late wait --json "$alarm"
  same "$levels" "warning "
  run --separate-stderr sti-run -q --log-json model.sti "$alarm"
  same "$stderr" ""
  says_the_same 4 sti-run -q --json model.sti --submodel 1x2 --bits 2 --eval few.tsv --min-accuracy 1
  same "$levels" "error "
}

@test "what of an answer goes to stderr is a message a line" {
  explain=(sti-plan model.sti --profile device.json --target 12ms --explain --json)
  run --separate-stderr "${explain[@]}"
  text=$stderr
  run --separate-stderr "${explain[@]}" --log-json
  same "$(jq -r 'select(.tool == "sti-plan" and .level == "info") | .message' <<<"$stderr")" "$text"
  like "$stderr" *'"message":"timeline '*
}

# A name may hold any bytes but a slash and NUL. An error of the library is printable before it is a
# message, one of the options is not.
@test "hostile text in a message" {
  name=$'a\e[2J\n"b"\\{}%s\x7f\xff\xc2\x9b\u2028.sti'
  shown=$'a?[2J?"b"\\{}%s????.sti'
  for argument in "$name" "--$name"; do
    run --separate-stderr sti-run "$argument" "$alarm"
    same "${#stderr_lines[@]}" 1
    text=$stderr
    run --separate-stderr sti-run --log-json "$argument" "$alarm"
    same "${#stderr_lines[@]}" 1
    same "$(as_text <<<"$stderr")" "$text"
    [[ $(jq -r .message <<<"$stderr") == *"$shown"* ]]
    same "$(LC_ALL=C tr -d '[:print:]\342\200\250\n' <<<"$stderr" | od -An -c)" ""
  done
}

@test "no bar is drawn on a terminal" {
  run script -qec "sti-run --json --log-json model.sti --eval few.tsv" /dev/null
  same "$(jq -s 'length' <<<"$output")" 2
  run script -qec "sti-run --json model.sti --eval few.tsv" /dev/null
  like "$output" *$'\r'*evaluating*
}
