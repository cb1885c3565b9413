# sti-shard writes a container; the same bytes for the same input.
load helpers

@test "a model folder becomes a container that verifies" {
  sti-shard -q model -o a.sti
  works sti-inspect --verify a.sti
  like "$output" "* parts checked, 0 damaged"
  no_leftovers
}

@test "the same bytes for any number of threads" {
  sti-shard -q model -o one.sti --threads 1
  cmp one.sti model.sti
  sti-shard -q model -o two.sti --threads 2
  cmp two.sti model.sti
}

@test "--json: one object with sizes and digest" {
  works sti-shard --json model -o a.sti
  same "${#lines[@]}" 1
  holds "$output" '.layers == 6 and .width == 12 and .bits == [2, 3, 4, 5, 6, 32]'
  holds "$output" '(.model | test("^[0-9a-f]{32}$")) and .bits_per_weight > 6 and .bits_per_weight < 7'
  holds "$output" '(.outlier_shares | length) == 6 and ((.outlier_shares | add) / 6 - .outlier_share | fabs) < 1e-9'
  same "$(jq .file_bytes <<<"$output")" "$(stat -c %s a.sti)"
}

@test "--bits 2-6 leaves the exact weights out and is smaller by their size" {
  sti-shard -q model -o a.sti --bits 2-6
  works sti-inspect --json a.sti
  holds "$output" '.bits == [2, 3, 4, 5, 6] and (.bytes | has("shard_full") | not)'
  full=$(sti-inspect --json model.sti | jq .bytes.shard_full)
  [ $(($(stat -Lc %s model.sti) - $(stat -c %s a.sti))) -ge "$full" ]
}

@test "--bits 2,6 can be read at 2 and 6 bits, and at no others" {
  sti-shard -q model -o a.sti --bits 2,6
  same "$(sti-inspect --json a.sti | jq -c .bits)" "[2,6]"
  works sti-run a.sti --bits 2 "$alarm"
  refused 2 "sti-run: the model has no 3-bit shards" sti-run a.sti --bits 3 "$alarm"
}

@test "the digest names contents, not layout" {
  sti-shard -q model -o a.sti --layout plane
  same "$(sti-inspect --json a.sti | jq -r .layout)" plane
  same "$(sti-inspect --json a.sti | jq -r .model)" "$(sti-inspect --json model.sti | jq -r .model)"
  run ! cmp -s a.sti model.sti
}

@test "--layout plane gives the same answers, whole and under a plan" {
  sti-shard -q model -o a.sti --layout plane
  works sti-inspect --verify a.sti
  sti-run -q --json model.sti --plan model.plan "$alarm" | jq .logits >shard.logits
  sti-run -q --json a.sti --plan model.plan "$alarm" | jq .logits >plane.logits
  cmp shard.logits plane.logits
}

@test "--codebook tree is another model of the same labels" {
  sti-shard -q model -o a.sti --codebook tree --bits 2-6
  same "$(sti-inspect --json a.sti | jq -r .codebook)" tree
  works sti-run a.sti --bits 6 "$alarm"
  like "$output" $'alarm\t*'
}

@test "--dry-run tells the size and writes nothing" {
  works sti-shard --dry-run model
  like "$output" "would write: 6x12 shards, * MB, *"
  works sti-shard --dry-run --json model -o a.sti
  same "$(jq .file_bytes <<<"$output")" "$(stat -Lc %s model.sti)"
  [ ! -e a.sti ]
  no_leftovers
}

@test "an output that exists is replaced" {
  echo old >a.sti
  sti-shard -q model -o a.sti
  cmp a.sti model.sti
}

@test "an output folder that is not there: exit 1" {
  refused 1 "sti-shard: none/a.sti: cannot create a file beside it: No such file or directory" \
    sti-shard model -o none/a.sti
}

@test "a model of 30,522 words and 12 layers" {
  [ -d "$shared/models/sst2-minilm-12x12" ] || skip "needs ../shared: models/sst2-minilm-12x12"
  works sti-shard --dry-run --json "$shared/models/sst2-minilm-12x12"
  holds "$output" '.layers == 12 and .width == 12'
}

@test "--embeddings 8: half the word rows, the same labels, a model of its own" {
  sti-shard -q model -o small.sti --embeddings 8
  [ "$(sti-inspect --json small.sti | jq .bytes.word_embeddings)" -lt \
    "$(($(sti-inspect --json model.sti | jq .bytes.word_embeddings) * 6 / 10))" ]
  tail -n +2 few.tsv | cut -f 1 >lines
  diff <(sti-run -q small.sti <lines | cut -f 1) <(sti-run -q model.sti <lines | cut -f 1)
  [ "$(sti-inspect --json small.sti | jq .model)" != "$(sti-inspect --json model.sti | jq .model)" ]
  works sti-inspect --verify small.sti
}
