# One bad input line never ends a run; what cannot be used says so on its own line.
load helpers

answer() { sti-run -q model.sti --plan model.plan "$@"; }

@test "an empty line is an input" {
  works answer < <(printf '%s\n\n%s\n' "$alarm" "tell me a joke")
  same "$(wc -l <<<"$output")" 3
  [[ $(sed -n 2p <<<"$output") =~ ^[a-z_]+$'\t'0\.[0-9]{4}$'\t'$ ]]
  works answer --json < <(echo)
  holds "$output" '.text == "" and .tokens == 2'
}

@test "CRLF is a line's end, not its text" {
  works answer --json < <(printf '%s\r\n' "$alarm")
  holds "$output" ".text == \"$alarm\" and .label == \"alarm\""
}

@test "a byte order mark is no part of the first line" {
  works answer --json < <(printf '\xef\xbb\xbf%s\n\xef\xbb\xbf%s\n' "$alarm" "$alarm")
  holds "$(sed -n 1p <<<"$output")" ".text == \"$alarm\""
  holds "$(sed -n 2p <<<"$output")" ".text == \"\ufeff$alarm\""
  works answer --ids < <(printf '\xef\xbb\xbf2 3\n')
  works sti-run -q --model a=model.sti < <(printf '\xef\xbb\xbfa\t%s\n' "$alarm")
}

@test "invalid UTF-8 becomes U+FFFD" {
  works answer --json < <(printf 'set an \xff alarm\n')
  holds "$output" '.text == "set an \ufffd alarm"'
  jq . <<<"$output" >/dev/null
  works answer < <(printf 'set an \xff alarm\n')
  like "$output" $'*\t*\tset an * alarm'
}

@test "a NUL byte does not end the line" {
  printf 'set an alarm\0 for seven\n' >text
  sti-run --json model.sti --plan model.plan <text >answer.json
  holds "$(cat answer.json)" '.text == "set an alarm\u0000 for seven" and .label == "alarm"'
}

@test "a text longer than the plan's length is truncated and marked" {
  long=$(printf 'alarm %.0s' {1..100})
  works answer "${long% }"
  like "$output" $'*\t*\talarm *alarm [[]truncated]'
  works answer --json "$long"
  holds "$output" '.truncated and .tokens == 64'
  works answer --json "$alarm"
  holds "$output" '.truncated == false'
}

@test "a line over 1 MiB is refused alone" {
  { head -c 1100000 /dev/zero | tr '\0' a; echo; echo "$alarm"; } >lines
  run --separate-stderr answer <lines
  same "$status" 3
  same "${#lines[@]}" 2
  same "${lines[0]}" "! a line over 1 MiB"
  like "${lines[1]}" $'alarm\t*'
}

@test "--ids: what is no id, or not in the vocabulary, is refused alone" {
  run --separate-stderr answer --ids < <(printf '101 x 102\n1 8000\n-1\n\n2 3\n')
  same "$status" 3
  same "$stderr" ""
  same "${#lines[@]}" 5
  same "${lines[0]}" "! 'x' is not a token id"
  same "${lines[1]}" "! token id 8000 is outside the vocabulary of 8000"
  same "${lines[2]}" "! '-1' is not a token id"
  same "${lines[3]}" "! an input without tokens"
  like "${lines[4]}" $'*\t0.*\t2 3'
}

@test "--ids gives the logits of the text it stands for" {
  ids=$(sti-inspect --tokenize model.sti <<<"$alarm" | jq -r '.ids | join(" ")')
  answer --json "$alarm" | jq .logits >text.logits
  answer --json --ids "$ids" | jq .logits >ids.logits
  cmp text.logits ids.logits
}

@test "--pairs: a line without a tab is refused alone" {
  run --separate-stderr answer --pairs < <(printf 'no tab here\n%s\ttomorrow\n' "$alarm")
  same "$status" 3
  same "${#lines[@]}" 2
  same "${lines[0]}" "! no tab between two sentences"
  like "${lines[1]}" $'*\t'"$alarm"$'\ttomorrow'
}

@test "--json: the reason and the text, and the run goes on" {
  run --separate-stderr answer --json --ids < <(printf 'x\n2 3\n')
  same "$status" 3
  holds "${lines[0]}" ". == {error: \"'x' is not a token id\", text: \"x\"}"
  holds "${lines[1]}" '.turn == 2 and has("label")'
}

@test "text that spells a control token is text" {
  separator=$(sti-inspect --tokenize model.sti <<<"" | jq '.ids[-1]')
  works sti-inspect --tokenize model.sti < <(echo "stop [SEP] go [CLS] [MASK]")
  holds "$output" "[.ids[] | select(. == $separator)] == [$separator] and .ids[-1] == $separator"
  holds "$output" '.ids[0] as $first | [.ids[] | select(. == $first)] == [$first]'
}

# Finite weights, whose products are not: sti-shard takes them, and no input gets a label.
@test "numbers that overflow are the error of their input, and the next one is read" {
  cp -r "$repo/tests/data/distilbert-tiny" huge
  chmod -R u+w huge
  weights=huge/model.safetensors
  end=$(($(stat -c %s $weights) - 8 - $(header_bytes $weights)))
  for _ in {1..16}; do printf '\xff\xff\x7f\x7f' >>$weights; done
  edit_header $weights ".[\"pre_classifier.bias\"] = {dtype: \"F32\", shape: [16], data_offsets: [$end, $((end + 64))]}"
  poke $weights "$(tensor_offset $weights classifier.weight)" '\xff\x7b'
  sti-shard -q huge -o huge.sti
  works sti-inspect --verify huge.sti
  run --separate-stderr sti-run -q huge.sti < <(printf 'play it\nset an alarm\n')
  same "$status" 3
  same "$stderr" ""
  same "${#lines[@]}" 2
  like "${lines[1]}" "! input: the model's numbers overflow for it, so that it has no label; run sti-shard again"
  run --separate-stderr sti-run -q --json huge.sti "play it"
  same "$status" 3
  holds "$output" '.text == "play it" and (.error | startswith("input: ")) and (has("label") | not)'
}
