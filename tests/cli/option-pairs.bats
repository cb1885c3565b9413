# Every pair of options of each tool: an option does what its help says or is refused.
load helpers

setup_file() { :; } # none of the files that others share

setup() { cd "$BATS_TEST_TMPDIR"; }

pairs() { works python3 "$repo/tests/cli/option_pairs.py" "$STI_BIN" "$@"; }

@test "sti-shard and sti-inspect" { pairs sti-shard sti-inspect; }

@test "sti-importance" { pairs sti-importance; }

@test "sti-profile" { pairs sti-profile; }

@test "sti-plan" { pairs sti-plan; }

@test "sti-run" { pairs sti-run; }

# A sti-inspect that loses one option without a word.
@test "an option that does nothing is noticed" {
  mkdir bin
  ln -s "$STI_BIN"/sti-* bin/
  rm bin/sti-inspect
  cat >bin/sti-inspect <<END
#!/usr/bin/env bash
kept=()
for argument; do [ "\$argument" = --verify ] || kept+=("\$argument"); done
exec "$STI_BIN/sti-inspect" "\${kept[@]}"
END
  chmod +x bin/sti-inspect
  run python3 "$repo/tests/cli/option_pairs.py" bin sti-inspect
  same "$status" 1
  like "$output" "*--verify*changed nothing*"
}
