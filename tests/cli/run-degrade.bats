# sti-run --on-late degrade: where reads come too late for the target, an input is computed with
# what has arrived, and says so.
load helpers

export STI_BUILD=${STI_BIN%/*}
export alarm

# tail.sti ends with the upper planes of its last layer, and so do its plans, all of them whole at 6
# bits. late.plan has 30 s, of which it counts on 28 for its layers, so that reads of the last have
# 2 s: nothing but one that hangs makes it degrade. soon.plan has 100 ms.
setup_file() {
  make_fixtures
  cd "$BATS_FILE_TMPDIR"
  mkdir flash
  sti-shard -q "$fixtures/model" -o flash/tail.sti --bits 2-6 --layout plane
  sti-plan -q flash/tail.sti --profile "$fixtures/device.json" --submodel 6x12 --strategy stdpl \
    --bits 6 -o whole.json
  jq '.target_us = 30e6 | .times |= (.layer_us = 4e5 | .layer_p99_us = 4e5
    | .last_layer_us = 26e6 | .last_layer_p99_us = 26e6)' whole.json >late.json
  jq '.target_us = 1e5' whole.json >soon.json
}

setup() {
  make_links
  ln -s "$BATS_FILE_TMPDIR"/* .
}

# Where plane 6 of the last layer lies, as OFFSET+LENGTH, less a few blocks.
last_planes() {
  sti-inspect --json tail.sti | jq -r '(.bytes.shard_plane_6 / .shape.layers | floor) as $plane
    | "\(.file_bytes - $plane)+\($plane - 8192)"'
}

# TIME SCRIPT: runs the script with $STI_FLASH/tail.sti, where reads of the last planes take TIME.
on_late_flash() {
  ln -sf flash/tail.sti tail.sti
  run --separate-stderr timeout 60 "$repo/tests/support/slow-flash" --latency 0us \
    --fault "delay=$1@$(last_planes)" 1GiB flash -- bash -c "$2"
  [ "$status" -ne 77 ] || skip "$stderr"
}

@test "needs a plan, a target and times: exit 2, one line" {
  local line="sti-run: --on-late degrade needs a plan with a target and the times it counts on; make one with sti-plan --target"
  refused 2 "$line" sti-run -q --on-late degrade flash/tail.sti "$alarm"
  jq 'del(.times)' late.json >none.json
  refused 2 "$line" sti-run -q --on-late degrade flash/tail.sti --plan none.json "$alarm"
  jq '.target_us = null' late.json >none.json
  refused 2 "$line" sti-run -q --on-late degrade flash/tail.sti --plan none.json "$alarm"
}

@test "nothing is degraded where all comes in time" {
  works sti-run -q --json --on-late degrade flash/tail.sti --plan late.json "$alarm" "$alarm"
  holds "$(jq -s . <<<"$output")" 'all(.degraded == [] and .deadline_met)'
  same "$(jq -c .logits <<<"${lines[0]}")" \
    "$(sti-run -q --json flash/tail.sti --plan late.json "$alarm" | jq -c .logits)"
}

@test "planes that come too late are left out: the label in time, and what it was made of" {
  on_late_flash 1000s 'sti-run --json --stats --on-late degrade "$STI_FLASH/tail.sti" --plan late.json "$alarm"'
  same "$status" 0
  holds "$output" '.label == "alarm" and .deadline_met and (.degraded | length == 12)'
  holds "$output" 'all(.degraded[]; keys == ["bits", "layer", "planned_bits", "slice"]
    and .layer == 5 and .planned_bits == 6 and .bits < 6)'
  holds "$output" '[.degraded[].slice] | sort == [range(12)]'
  like "$stderr" "*, 12 shards degraded, *"
  # The logits are those of a plan with these bits.
  jq --argjson answer "$output" 'reduce $answer.degraded[] as $shard (.;
    .bits[5][$shard.slice] = $shard.bits)' late.json >lower.json
  holds "$(<lower.json)" 'all(.bits[5][]; . >= 2)' || skip "time was short beyond the late reads"
  same "$(jq -c .logits <<<"$output")" \
    "$(sti-run -q --json flash/tail.sti --plan lower.json "$alarm" | jq -c .logits)"
}

@test "--on-late wait keeps the bits and reports the miss; fail ends with 4" {
  on_late_flash 400ms 'sti-run -q --json --on-late wait "$STI_FLASH/tail.sti" --plan soon.json "$alarm"'
  same "$status$stderr" 0
  holds "$output" '.label == "alarm" and .deadline_met == false and .degraded == []'
  same "$(jq -c .logits <<<"$output")" \
    "$(sti-run -q --json flash/tail.sti --plan late.json "$alarm" | jq -c .logits)"
  on_late_flash 400ms 'sti-run -q --on-late fail "$STI_FLASH/tail.sti" --plan soon.json "$alarm"'
  same "$status" 4
  like "$output" $'alarm\t*'
  same "$stderr" "sti-run: an input missed the target; plan with a longer --target"
}

@test "--eval counts degraded inputs" {
  head -n 2 dev.tsv >one.tsv
  on_late_flash 1000s 'sti-run -q --json --on-late degrade "$STI_FLASH/tail.sti" --plan late.json --eval one.tsv'
  same "$status$stderr" 0
  holds "$output" '.examples == 1 and .degraded_inputs == 1 and .deadline_misses == 0'
  works sti-run --on-late degrade flash/tail.sti --plan late.json --eval one.tsv
  run ! grep -q degraded <<<"$output"
}
