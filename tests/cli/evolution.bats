# Files of other versions, other layouts, and what flatc makes of ours.
load helpers

# FILE as a later minor version would write it, with fields and parts unknown today: FILE OUT.
next_version() { "$STI_BIN/../tests/next-version" "$@"; }

minor_of() { od -An -tu2 -j 10 -N 2 "$1" | tr -d ' '; }

@test "a container of a newer minor gives the same labels, and verifies" {
  next_version model.sti next.sti
  same "$(minor_of next.sti)" 99
  works sti-inspect --verify next.sti
  like "$output" "* parts checked, 0 damaged"
  same "$(sti-inspect --json next.sti | jq -r .model)" "$(sti-inspect --json model.sti | jq -r .model)"
  for options in "--bits 2" "--bits 32" "--plan model.plan"; do
    # shellcheck disable=SC2086
    works sti-run --json $options next.sti "$alarm"
    # shellcheck disable=SC2086
    same "$(jq -c .logits <<<"$output")" "$(sti-run -q --json $options model.sti "$alarm" | jq -c .logits)"
  done
  sti-plan -q next.sti --profile device.json --importance model.importance --target 12ms \
    --preload 200kB -o next.plan
  cmp next.plan model.plan
}

@test "small files of a newer minor mean the same" {
  sti-profile -q model.sti -o a.profile --budget 1s --lengths 16 --widths 12
  for file in model.importance a.profile model.plan; do
    next_version $file next
    same "$(minor_of next)" 99
    same "$(sti-inspect --json next)" "$(sti-inspect --json $file)"
  done
  same "$(sti-run -q model.sti --plan next "$alarm")" "$(sti-run -q model.sti --plan model.plan "$alarm")"
}

@test "JSON with unknown fields means the same" {
  for file in model.importance model.plan device.json; do
    sti-inspect --json $file | jq '. + {next_note: "later", next_numbers: [[1], {"a": 2}]}' >next.json
    same "$(sti-inspect --json next.json)" "$(sti-inspect --json $file)"
  done
}

@test "a newer major is refused, with what to do" {
  sti-profile -q model.sti -o a.profile --budget 1s --lengths 16 --widths 12
  for file in model.importance a.profile model.plan; do
    cp -L $file new
    poke new 8 "\\x$(printf %02x $(($(od -An -tu2 -j 8 -N 2 new) + 1)))"
    refused 3 "sti-inspect: new: format version 2 is newer than this tool knows (1); use a newer tool or make the file again with this one" \
      sti-inspect new
  done
  cp -L model.sti new.sti
  poke new.sti 8 '\x02'
  line=": new.sti: container version 2 is newer than this tool's 1; update the tools or run this version's sti-shard"
  refused 3 "sti-inspect$line" sti-inspect new.sti
  refused 3 "sti-inspect$line" sti-inspect --verify new.sti
  refused 3 "sti-run$line" sti-run -q new.sti text
  refused 3 "sti-plan$line" sti-plan -q new.sti --profile device.json --target 12ms -o x.plan
}

@test "flatc compiles every schema, and reads a real index and real payloads" {
  for schema in "$repo"/schemas/*.fbs; do flatc --cpp -o made "$schema"; done
  index_bytes=$(od -An -tu8 -j 32 -N 8 model.sti | tr -d ' ')
  tail -c +65 model.sti | head -c "$index_bytes" >index.bin
  flatc --json --raw-binary --strict-json "$repo/schemas/container.fbs" -- index.bin
  holds "$(<index.json)" '.shape == {layers: 6, width: 12, hidden: 192, ffn: 768, vocabulary: 8000,
      max_positions: 128, token_types: 2, labels: 151}
    and .bits == [2, 3, 4, 5, 6, 32] and (.shard_parts | length) == 6 * 12 * 6
    and (.resident_parts | length) == 9 and ([.row_tables[].rows] == [8000, 128])'
  jq -r '.labels[]' index.json >flatc.labels
  sti-inspect --json model.sti | jq -r '.labels[]' >our.labels
  cmp flatc.labels our.labels
  for kind in importance plan; do
    tail -c +41 model.$kind >$kind.bin
    flatc --json --raw-binary --strict-json "$repo/schemas/$kind.fbs" -- $kind.bin
  done
  same "$(jq '.scores | length' importance.json)" 72
  same "$(jq -c .layers plan.json)" "$(sti-inspect --json model.plan | jq -c .layers)"
}

@test "layouts: other bytes, one model; a plan made for one runs on the other" {
  sti-shard -q model -o plane.sti --layout plane
  run ! cmp -s plane.sti model.sti
  same "$(sti-inspect --json plane.sti | jq -r .model)" "$(sti-inspect --json model.sti | jq -r .model)"
  sti-plan -q plane.sti --profile device.json --importance model.importance --target 12ms \
    --preload 200kB -o plane.plan
  tail -n +2 few.tsv | cut -f 1 | head -n 5 >texts
  for plan in model.plan plane.plan; do
    sti-run -q --json model.sti --plan $plan <texts | jq -c '[.label, .logits]' >shard.out
    sti-run -q --json plane.sti --plan $plan <texts | jq -c '[.label, .logits]' >plane.out
    cmp shard.out plane.out
    same "$(wc -l <plane.out)" 5
  done
}
