# sti-inspect --tokenize: ids that can be compared with any other tokenizer's.
load helpers

@test "one object a line: text and ids, between the two control tokens" {
  works sti-inspect --tokenize model.sti < <(printf '%s\n\n' "$alarm")
  same "${#lines[@]}" 2
  holds "${lines[0]}" "keys_unsorted == [\"text\", \"ids\"] and .text == \"$alarm\" and (.ids | length) == 8"
  holds "${lines[1]}" '.text == "" and (.ids | length) == 2'
  begin=$(grep -nxF '[CLS]' model/vocab.txt | cut -d : -f 1)
  end=$(grep -nxF '[SEP]' model/vocab.txt | cut -d : -f 1)
  holds "${lines[1]}" ".ids == [$((begin - 1)), $((end - 1))]"
}

@test "ids are line numbers of the vocabulary" {
  works sti-inspect --tokenize model.sti < <(echo "Set an ALARM")
  words=$(jq -r '.ids[]' <<<"$output" | while read -r id; do sed -n "$((id + 1))p" model/vocab.txt; done)
  same "$(tr '\n' ' ' <<<"$words")" "[CLS] set an alarm [SEP] "
}

@test "--pairs: both texts and the types" {
  works sti-inspect --tokenize --pairs model.sti < <(printf 'set an\talarm\n')
  holds "$output" 'keys_unsorted == ["text", "pair", "ids", "types"]'
  holds "$output" '.text == "set an" and .pair == "alarm" and .types == [0, 0, 0, 0, 1, 1]'
}

@test "--offsets: the bytes of each token, of its own text" {
  works sti-inspect --tokenize --offsets model.sti < <(printf 'Set \u00c9 \xffalarm\n')
  holds "$output" 'keys_unsorted == ["text", "ids", "offsets"]'
  holds "$output" '.offsets == [[0, 0], [0, 3], [4, 6], [8, 13], [0, 0]]'
  works sti-inspect --tokenize --offsets --pairs model.sti < <(printf 'set an\talarm\n')
  holds "$output" '.offsets == [[0, 0], [0, 3], [4, 6], [0, 0], [0, 5], [0, 0]] and .second_begin == 4'
}

@test "every single-line case of the reference" {
  reference="$shared/reference/wordpiece.jsonl"
  [ -f "$reference" ] || skip "needs ../shared: reference/wordpiece.jsonl"
  sti-shard -q "$shared/models/sst2-minilm-12x12" -o sst2.sti --bits 2
  # Lines end at LF, and a CR before it belongs to the end; pairs are split at a tab.
  jq -c 'select(has("pair") | not) | select(.text | test("[\n]|\r$") | not)' "$reference" >singles
  jq -c 'select(has("pair")) | select(.text + .pair | test("[\n\t]|\r$") | not)' "$reference" >pairs
  [ "$(wc -l <singles)" -gt 300 ]
  jq -j '.text + "\n"' singles | sti-inspect --tokenize sst2.sti | jq -c .ids >ids
  jq -c .ids singles >expected
  cmp ids expected
  jq -j '.text + "\t" + .pair + "\n"' pairs | sti-inspect --tokenize --pairs sst2.sti |
    jq -c '[.ids, .types]' >ids
  jq -c '[.ids, .types]' pairs >expected
  cmp ids expected
}
