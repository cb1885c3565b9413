# sti-inspect prints and verifies any file of the tool kit.
load helpers

@test "a container: what it holds, in 80 columns" {
  works sti-inspect model.sti
  same "$(awk 'length > 80' <<<"$output")" ""
  like "$output" "container   model *shape       6 layers x 12 slices, hidden 192, FFN 768, float16*"
  like "$output" "*text        8000 tokens, inputs up to 128, 151 labels, Unicode *"
  like "$output" "*elastic     any depth, widths from 2*bits        2 3 4 5 6 32, codebook tree*"
}

@test "a container: --json adds up to its bytes" {
  works sti-inspect --json model.sti
  same "${#lines[@]}" 1
  holds "$output" '.kind == "container" and .shape.layers == 6 and .shape.width == 12 and .shape.labels == 151'
  holds "$output" '([.bytes[]] | add) == .file_bytes and (.labels | length) == 151'
  same "$(jq .file_bytes <<<"$output")" "$(stat -Lc %s model.sti)"
}

@test "a plain model says that only the whole was trained" {
  make_plain_model
  works sti-inspect plain.sti
  like "$output" "*elastic     no: only the whole model was trained*"
}

@test "plan, profile and importance: text in either spelling is the same" {
  sti-inspect --json model.plan >plan.json
  sti-inspect --json model.importance >importance.json
  same "$(sti-inspect plan.json)" "$(sti-inspect model.plan)"
  same "$(sti-inspect importance.json)" "$(sti-inspect model.importance)"
  like "$(sti-inspect model.plan)" "submodel   *"
  like "$(sti-inspect model.importance)" "* examples: loss *layer  slices 0..11*"
  sti-profile -q model.sti -o a.profile --budget 1s --lengths 16 --widths 12
  sti-inspect --json a.profile >profile.json
  same "$(sti-inspect profile.json)" "$(sti-inspect a.profile)"
  like "$(sti-inspect device.json)" "profile     written by hand*one shard *2 bits *120 us*one layer *64 x 12 *1.40 ms*"
  for file in model.plan model.importance a.profile device.json; do
    same "$(sti-inspect $file | awk 'length > 80')" ""
  done
}

@test "--json: JSON in gives the same JSON out" {
  for file in model.plan model.importance device.json; do
    sti-inspect --json $file >once.json
    sti-inspect --json once.json >twice.json
    cmp once.json twice.json
  done
}

@test "--verify of each file" {
  works sti-inspect --verify model.sti
  like "$output" "* parts checked, 0 damaged"
  works sti-inspect --verify --json model.sti
  holds "$output" '.parts > 400 and .bytes > 5000000 and .damaged == []'
  works sti-inspect --verify model.plan
  same "$output" "plan is whole"
  works sti-inspect --verify model.importance
  same "$output" "importance is whole"
  works sti-inspect --verify device.json
  same "$output" "profile is whole"
  works sti-inspect --verify --json model.plan
  holds "$output" '.parts == 1 and .damaged == []'
}

@test "--verify of a damaged container: each damaged part is named, exit 3" {
  cp model.sti bad.sti
  size=$(stat -c %s bad.sti)
  flip bad.sti $((size / 5))
  flip bad.sti $((size / 2))
  run --separate-stderr sti-inspect --verify bad.sti
  same "$status" 3
  same "${lines[-1]}" "$(sti-inspect --verify model.sti | sed 's/ 0 / 2 /')"
  like "$output" "*layer * slice *"
  same "${#lines[@]}" 3
  same "$stderr" "sti-inspect: bad.sti: 2 parts are damaged; copy the file again or run sti-shard"
  run --separate-stderr sti-inspect --verify --json bad.sti
  same "$status" 3
  holds "$output" '.damaged | length == 2'
}

@test "any byte that changes in a small file is noticed" {
  for file in model.plan model.importance; do
    size=$(stat -Lc %s $file)
    for part in 0 1 2 3 4 5 6 7 8 9; do
      cp $file bad
      flip bad $(((size - 1) * part / 9))
      run --separate-stderr sti-inspect bad
      same "$status" 3
      same "$output" ""
      same "${#stderr_lines[@]}" 1
      like "$stderr" "sti-inspect: bad: *"
    done
  done
}

@test "files that are none of ours" {
  refused 3 "sti-inspect: none: cannot be opened; is the name right?" sti-inspect none
  refused 3 "sti-inspect: dev.tsv: not a shard container; make one with sti-shard" sti-inspect dev.tsv
  : >empty
  refused 3 "sti-inspect: empty: not a shard container; make one with sti-shard" sti-inspect empty
  echo '{"compute": ' >bad.json
  refused 3 "sti-inspect: bad.json: not well-formed JSON at byte *; correct it or make it again" sti-inspect bad.json
  echo '{"hello": 1}' >other.json
  refused 3 "sti-inspect: other.json: * is missing; correct it or make it again" sti-inspect other.json
  refused 3 "sti-inspect: model: *" sti-inspect model
}

@test "a plan with variants and turns tells of them in 80 columns" {
  works sti-inspect "$repo/tests/data/v1.2/tiny.plan"
  like "$output" "*2x2, 180 us, p99 260 us*1x1, 390 us, p99 400 us*turn  3*"
  like "$output" "*500 us before the text is there*87.5 % predicted*"
  same "$(awk 'length > 80' <<<"$output")" ""
  like "$output" "*memory     * predicted peak, 28.7 kB of it staging*"
  for plan in v1.2/tiny v1.2/cold v1.3/tiny; do
    same "$(sti-inspect --json "$repo/tests/data/$plan.plan")" \
      "$(<"$repo/tests/data/$plan.plan.json")"
  done
}
