# scripts/check-messages: texts of lib/ name no tool and no option.
bats_require_minimum_version 1.5.0

check="$BATS_TEST_DIRNAME/../../scripts/check-messages"

setup() {
  cd "$BATS_TEST_TMPDIR"
  git init -q .
  mkdir lib cmd
  cat >lib/sound.cpp <<'END'
// "sti-plan --target" in a comment is fine, and so is a strategy:
const char* strategy = "sti-paper";
Error error = InfeasibleError("no plan meets the target").Fix(Remedy::kMoreTime);
int left = count--;
END
  echo 'const char* help = "see sti-plan --help";' >cmd/tool.cpp
  git add .
}

@test "texts without tools and options pass, and tools may say what they like" {
  run "$check" .
  [ "$status" -eq 0 ] && [ -z "$output" ]
}

@test "a text that names an option or a tool is reported with its line" {
  printf '\nauto a = DataError("too slow; raise --target");\n' >lib/option.cpp
  printf 'auto b = DataError("an odd \\"x\\"; run sti-shard again");\n' >lib/tool.h
  git add .
  run "$check" .
  [ "$status" -eq 1 ]
  [ "$output" = "lib/option.cpp:2: a text of lib/ names an option; use a Remedy
lib/tool.h:1: a text of lib/ names a tool; use a Remedy" ]
}
