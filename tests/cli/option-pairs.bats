# Pairs of options of each tool, as option_tables.py has them: refused with these words, or both are
# seen to be at work. A third of them, or with STI_TEST_WHOLE_TABLE=1 all.
load helpers

setup_file() { :; } # none of the files that others share

setup() { cd "$BATS_TEST_TMPDIR"; }

pairs() { works python3 "$repo/tests/cli/option_pairs.py" "$STI_BIN" "$@"; }

@test "sti-shard and sti-inspect" { pairs sti-shard sti-inspect; }

@test "sti-importance" { pairs sti-importance; }

@test "sti-profile" { pairs sti-profile; }

@test "sti-plan" { pairs sti-plan; }

@test "sti-run" { pairs sti-run; }

# A sti-inspect that is this one but for a line of bash, as bin/sti-inspect.
altered() {
  mkdir bin
  ln -s "$STI_BIN"/sti-* bin/
  rm bin/sti-inspect
  printf '#!/usr/bin/env bash\n%s\nexec "%s/sti-inspect" "$@"\n' "$1" "$STI_BIN" >bin/sti-inspect
  chmod +x bin/sti-inspect
}

noticed() { # TEXT
  STI_TEST_WHOLE_TABLE=1 run python3 "$repo/tests/cli/option_pairs.py" bin sti-inspect
  same "$status" 1
  like "$output" "*$1*"
}

@test "an option that does nothing is noticed" {
  altered 'for word; do shift; [ "$word" = --verify ] || set -- "$@" "$word"; done'
  noticed "--verify does not show"
}

@test "an option without a row is noticed" {
  altered '[ "$1" != --help ] || printf "  --new FILE              it is new\n\n"'
  noticed "--new: is in --help, and has no row"
}

@test "a pair that is no longer refused is noticed" {
  altered 'case "$*" in *--verify*--tokenize*) set -- model.sti --verify ;; esac'
  noticed "--verify --tokenize: exit 0, not refused: --verify takes no --tokenize: *"
}
