# scripts/tidy: a small tree in which each rule of the house is broken once.
load helpers

setup_file() { :; } # none of the files that others share

# A checkout with two rooms and a tool, in which nothing is wrong.
setup() {
  cd "$BATS_TEST_TMPDIR"
  git init -q .
  mkdir -p lib/low/deep lib/high cmd/sti-one cmd/sti-two tests/high tests/low scripts spec docs
  cp "$repo/scripts/tidy" "$repo/scripts/check-docs" scripts/
  cp "$repo/.clang-format" .
  # Exceptions of this repository are none of the small tree's.
  sed '/^EXCEPTIONS = {/,/^}/c EXCEPTIONS = {"includes": [], "constants": [], "citations": [], "speech": [], "names": [], "doors": [], "small": []}' \
    "$repo/scripts/check-sources" >scripts/check-sources
  chmod +x scripts/check-sources
  printf '| `low` | a room | nothing |\n|---|---|---|\n| `high` | a room | low |\n' >CONTRIBUTING.md
  printf 'sti_room(%s)\n' low 'high low' >CMakeLists.txt
  printf 'sti_tool(%s)\n' 'sti-one' 'sti-two low' >cmd/CMakeLists.txt
  printf '# The file\n\n## Version changes\n' >spec/file.md
  printf '// A part of a room.\n#pragma once\n' | tee lib/low/low.h lib/low/deep/inner.h lib/high/high.h >cmd/sti-one/one.h
  printf '#include "low/low.h"\n' | tee cmd/sti-two/main.cpp >lib/high/high.cpp
  printf '#include "low/deep/inner.h"\n' | tee lib/low/low.cpp >tests/low/inner_test.cpp
  printf '// A part of a room.\n#include "low/deep/inner.h"\n' | tee lib/low/deep/one.h >lib/low/deep/two.h
}

# LINE...: scripts/check-sources complains of just these.
complains() {
  run --separate-stderr scripts/check-sources
  same "$status" 1
  same "$output" "$(printf '%s\n' "$@")"
}

# FILE TEXT: writes a file of the tree, its text with printf's escapes.
# shellcheck disable=SC2059
write() { printf "$2" >"$1"; }

# The formatter is installed for `make tidy`, not for `make test`.
needs_formatter() { command -v clang-format >/dev/null || skip "needs clang-format"; }

@test "a tree that keeps all rules" {
  needs_formatter
  run --separate-stderr scripts/tidy --rules
  same "$output" ""
  same "$status" 0
}

@test "a room that is not seen, and one that is none" {
  write lib/low/low.cpp '#include <vector>\n\n#include "high/high.h"\n#include "attic/attic.h"\n'
  write CMakeLists.txt 'sti_room(low high)\nsti_room(high low)\n'
  complains 'lib/low/low.cpp:3: low does not see high: high/high.h' \
    'lib/low/low.cpp:4: include "attic/attic.h" names no room of lib'
}

@test "a folder that the table lacks, and a row without a folder" {
  mkdir lib/attic
  write lib/attic/attic.h '// An attic.\n#pragma once\n'
  rm lib/high/high.*
  write CMakeLists.txt 'sti_room(low)\n'
  complains 'CONTRIBUTING.md:1: lib/high is in the table and not there' \
    'lib/attic/attic.h:1: lib/attic is no room of the house; CONTRIBUTING.md lists them'
}

@test "the table: rooms see those above them" {
  write CONTRIBUTING.md '| `high` | a room | low |\n| `low` | a room | nothing |\n'
  complains 'CONTRIBUTING.md:1: high sees low, which is no room of a line above'
  rm CONTRIBUTING.md
  complains 'CONTRIBUTING.md:1: no table of rooms: | `room` | what | sees |'
}

@test "the link graph is the include graph" {
  write CMakeLists.txt '# rooms\nsti_room(low high)\nsti_room(high)\n'
  complains 'CMakeLists.txt:2: sti_room(low) names high, which low does not include' \
    'CMakeLists.txt:3: sti_room(high) lacks low, see lib/high/high.cpp:1'
  write CMakeLists.txt 'sti_room(low)\n'
  complains 'CMakeLists.txt:1: links nothing for lib/high'
  write CMakeLists.txt 'sti_room(low)\nsti_room(high low)\n'
  mkdir cmd/common
  printf '#include "high/high.h"\n' | tee cmd/common/tool.cpp >cmd/sti-two/main.cpp
  write cmd/CMakeLists.txt 'sti_cmd_library(common high)\nsti_tool(sti-one)\nsti_tool(sti-two low)\n'
  complains 'cmd/CMakeLists.txt:3: sti_tool(sti-two) lacks high, see cmd/sti-two/main.cpp:1' \
    'cmd/CMakeLists.txt:3: sti_tool(sti-two) names low, which sti-two does not include'
}

@test "a header in a subfolder is its room's alone" {
  mkdir bench
  cp tests/low/inner_test.cpp bench/inner_bench.cpp # may
  cp tests/low/inner_test.cpp tests/high/inner_test.cpp
  cp tests/low/inner_test.cpp cmd/sti-two/main.cpp
  cp tests/low/inner_test.cpp lib/high/high.cpp
  what='low/deep/inner.h is inside the room low; include a header of lib/low itself'
  complains "cmd/sti-two/main.cpp:1: $what" "lib/high/high.cpp:1: $what" \
    "tests/high/inner_test.cpp:1: $what"
}

@test "what only one room may include, and one tool of another" {
  write cmd/sti-one/main.cpp '#include <liburing.h>\n#include "plan_generated.h"\n'
  write cmd/sti-two/two.cpp '#include <immintrin.h>\n#include <spdlog/logger.h>\n\n#include "sti-one/one.h"\n'
  write lib/low/low.cpp '#include <CLI/CLI.hpp>\n#include <iostream>\n'
  complains 'cmd/sti-one/main.cpp:1: liburing.h outside lib/io' \
    'cmd/sti-one/main.cpp:2: plan_generated.h outside lib/format' \
    'cmd/sti-two/two.cpp:1: SIMD or BLAS header outside lib/kernels: immintrin.h' \
    'cmd/sti-two/two.cpp:2: spdlog/logger.h outside cmd/common/messages.cpp; it takes seconds to compile' \
    'cmd/sti-two/two.cpp:4: one tool includes another: sti-one/one.h' \
    'lib/low/low.cpp:1: CLI/CLI.hpp in lib; tools print, the library does not' \
    'lib/low/low.cpp:2: iostream in lib; tools print, the library does not'
}

@test "a standard header that is missing" {
  write lib/low/low.h '// Low.\n#pragma once\n#include <cstdint>\n#include <vector>\n'
  write lib/high/high.h '// High.\n#pragma once\n#include "low/low.h"\nstd::vector<uint8_t> Bytes();\n'
  write lib/low/low.cpp '#include <string>\n// std::map\nstd::string_view text = "std::map";
int Most() { return std::max(1, 2); }\nint Least() { return std::min(1, 2); }\n'
  write cmd/sti-two/main.cpp '#include "low/low.h"\nstd::optional<int64_t> number;\n'
  complains 'cmd/sti-two/main.cpp:2: std::optional without <optional>' \
    'lib/low/low.cpp:4: std::max without <algorithm>'
}

@test "what the library does not do" {
  write lib/low/low.cpp '// printf("no code")\nconst char* text = "abort()";
void Print() { std::printf("x"); }\nvoid End() { std::exit(1); }
const char* Read() { return getenv("X"); }\nvoid Write() { setenv("X", "", 1); }
double Add() { return _mm_add_ps(1, 2); }\n'
  complains 'lib/low/low.cpp:3: lib/ prints; return a Result or use the logging seam' \
    'lib/low/low.cpp:4: lib/ ends the process; return a Result' \
    'lib/low/low.cpp:5: lib/ reads the environment; take an option' \
    'lib/low/low.cpp:6: lib/ writes the environment' \
    'lib/low/low.cpp:7: intrinsic, Highway or BLAS name outside lib/kernels'
}

@test "the library names no tool and no option" {
  write lib/low/low.cpp '// Not so: "--memory".\nauto a = "raise --memory, or run";  // "sti-plan"
auto b = "run sti-plan again";\nauto c = "a -- b, my-sti-plan";\n'
  complains "lib/low/low.cpp:2: lib/ names --memory; its callers say what a user can do" \
    "lib/low/low.cpp:3: lib/ names sti-plan; its callers say what a user can do"
}

@test "a citation of what is not here" {
  write lib/low/low.h '// Low.\n#pragma once\n\n// By spec/file.md, and spec/file.md, "Version changes".
// Like spec/gone.md (planner: "How") and spec/file.md, "Of\n// another".\n'
  complains 'lib/low/low.h:5: cites a document that is not here: (planner:' \
    'lib/low/low.h:5: cites spec/file.md, "Of another", a heading that it does not have' \
    'lib/low/low.h:5: cites spec/gone.md, which is not there'
}

@test "a header that is not here, and one that opens without a comment" {
  write lib/low/low.cpp '#include <fancy/vectors.h>\n// Of low.h, low/deep/inner.h, vectors.h and outer.h.\n// As\n// deep/low.h has it.\n'
  sed -i 's|// Of|// All of|' lib/low/low.cpp
  write lib/low/low.h '#pragma once\n// Low.\n'
  complains 'lib/low/low.cpp:2: cites outer.h, which is not there' \
    'lib/low/low.cpp:4: cites deep/low.h, which is not there' \
    'lib/low/low.h:1: a header opens with a comment: what it is, and why'
}

@test "a room that is seen in vain" {
  write lib/high/high.cpp ''
  write CMakeLists.txt 'sti_room(low)\nsti_room(high)\n'
  complains 'CONTRIBUTING.md:3: high sees low, of which it includes nothing'
}

@test "a comment that opens with no thing" {
  mkdir bench examples
  write lib/low/low.cpp '/// What it does.\nint Low();\n/// Whatever it is,\n/// What it does.\nint High();\n'
  write cmd/sti-one/main.cpp 'int main() {\n  // Of these, one.\n  // Likewise.\n  return 0;  // Of course\n}\n'
  write tests/low/low_test.cpp 'int low;  // the low one\n// As above.\nint high;\n'
  write bench/low_bench.cpp '// Likewise.\n// As above.\n'
  write examples/app.cpp '// What an app does.\n'
  what='; say first what the thing is'
  complains "bench/low_bench.cpp:1: a comment opens with \"Likewise\"$what" \
    "cmd/sti-one/main.cpp:2: a comment opens with \"Of\"$what" \
    "lib/low/low.cpp:1: a comment opens with \"What\"$what" \
    "tests/low/low_test.cpp:2: a comment opens with \"As above\"$what"
}

@test "a constant that two rooms have" {
  write lib/low/low.h '// Low.\nconstexpr int kRows = 16;\nconstexpr int kColumns = 16;\n'
  write lib/high/high.h '// High.\nconstexpr int kRows = 1 << 4;\nconstexpr int kColumns = 8;\n'
  complains 'lib/low/low.h:2: kRows = 16 is also in lib/high/high.h:2; one room owns a constant'
}

@test "what a network consists of is said in one room" {
  mkdir lib/network
  write CONTRIBUTING.md '| `low` | a room | nothing |\n|---|---|---|\n| `high` | a room | low |\n| `network` | a room | low |\n'
  printf 'sti_room(network low)\n' >>CMakeLists.txt
  text='#include "low/low.h"\n\nint a = kQueryBias,\n    kKeyBias;\nint b = shape.hidden * s.ffn;\nint c = info.architecture == Architecture::kBert;\n'
  write lib/network/network.cpp "$text"
  write lib/high/high.cpp "$text"
  write cmd/sti-two/main.cpp "$text// kQueryBias, kKeyBias\nint e = rows * shape.hidden + p[kQueryBias] + p[kKeyBias];\n"
  says='; lib/network says it'
  for file in cmd/sti-two/main.cpp lib/high/high.cpp; do
    printf "$file:%s$says\n" '3: lists tensors of a layer' '5: has a size of tensors' \
      '6: asks which architecture a model is' '6: asks which architecture a model is'
  done >expected
  run --separate-stderr scripts/check-sources
  same "$output" "$(cat expected)"
}

@test "lengths of files and functions" {
  { echo 'void Long() {'; for i in {1..69}; do echo "  Step($i);"; done; echo '}'; } >lib/low/low.cpp
  { echo '// S.'; echo 'struct S {'; for i in {1..80}; do echo "  int i$i;"; done; echo '};'; } >lib/low/low.h
  { echo '// High.'; for i in {1..500}; do echo "int i$i;"; done; } >lib/high/high.h
  complains 'lib/high/high.h:501: file has 501 lines, over 500' \
    'lib/low/low.cpp:1: function has 71 lines, over 70'
}

@test "how many files, and what they are called" {
  sed -i 's/^MOST_FILES = .*/MOST_FILES = 11/' scripts/check-sources
  write lib/high/inner.h '// A part of a room.\n'
  write cmd/sti-two/high.h '// A part of a tool.\n'
  complains 'lib:1: lib/ and cmd/ have 12 files, over 11; a file is a thing that one would look for by its name' \
    'lib/low/deep/inner.h:1: lib/high/inner.h has the same name; a room'"'"'s files have names of their own'
}

@test "doors of a room, and faces that stay small" {
  sed -i "s|^MOST_HEADERS = .*|MOST_HEADERS = {'lib/high/face.h': 0}|; s|^MOST_METHODS = .*|MOST_METHODS = {'lib/high/face.h': 1}|" \
    scripts/check-sources
  write lib/low/door.h '// A door.\n#include "low/deep/inner.h"\n'
  write lib/high/face.h '// A face.\n#include "low/low.h"\nclass Face {\n public:\n  Face();\n  void One();\n  int Two(int three,\n          int four);\n\n private:\n  void Five();\n};\n'
  complains \
    'lib/high/face.h:1: has 2 public methods, over 1' \
    'lib/high/face.h:1: pulls in 1 of our headers, over 0; declare the classes that it only refers to' \
    'lib/low/door.h:2: lib/low/deep/inner.h is not for other rooms; a header of the room'"'"'s own folder declares what it needs of it'
}

@test "short headers that one file includes" {
  long=$(printf 'int i%d;\\n' {1..39})
  write lib/low/short.h '// A part of a room.\n'
  write lib/low/long.h "// A part of a room.\n$long"
  write lib/low/short.cpp '#include "low/short.h"\n'
  write lib/low/deep/one.h '// One.\n#include "low/deep/inner.h"\n#include "low/long.h"\n#include "low/short.h"\n'
  write lib/low/face.h '// Words of another room.\n'
  write lib/high/high.cpp '#include "low/face.h"\n'
  write cmd/sti-one/main.cpp '#include "one.h"\n'
  write cmd/sti-two/job.h '// A job.\n'
  write cmd/sti-two/two.cpp '#include "job.h"\n'
  complains 'cmd/sti-two/job.h:1: cmd/sti-two/two.cpp alone includes these 1 lines; they may as well stand there' \
    'lib/low/short.h:1: lib/low/deep/one.h alone includes these 1 lines; they may as well stand there'
  for i in {1..500}; do echo "int i$i;"; done >>lib/low/short.cpp # no room for it
  complains 'cmd/sti-two/job.h:1: cmd/sti-two/two.cpp alone includes these 1 lines; they may as well stand there' \
    'lib/low/short.cpp:501: file has 501 lines, over 500'
}

@test "paths of one machine, unfinished business, scripts that are none, format" {
  needs_formatter
  write docs/guide.md "Files are in /$(echo ho)me/me.\n"
  write lib/high/high.h "// High.\n// TO$(echo DO): more.\n"
  write lib/low/low.h '// Low.\nint  i;\n'
  write scripts/broken '#!/usr/bin/env bash\nif true; then\n'
  write scripts/wrong '#!/usr/bin/env python3\ndef\n'
  run --separate-stderr scripts/tidy --rules
  same "$status" 1
  for line in 'docs/guide.md:1: path of one machine' \
    'lib/high/high.h:2: unfinished business; do it or write an issue' \
    'lib/low/low.h:2: not in the house format; run make format' \
    'scripts/broken:3: syntax error: unexpected end of file' 'scripts/wrong:1: no valid Python'; do
    like "$output" "*$line*"
  done
}

@test "scripts/tidy runs the checks of sources and documents" {
  mkdir docs/guide
  write docs/guide/a.md 'See [the file](../../spec/gone.md).\n'
  write lib/low/low.cpp '#include <iostream>\n'
  run --separate-stderr scripts/tidy --rules
  same "$status" 1
  like "${lines[0]}" "lib/low/low.cpp:1: iostream in lib; *"
  like "${lines[1]}" "docs/guide/a.md:1: *"
}

@test "a check that does not run to its end is no clean one" {
  sed -i 's/^MOST_FILE_LINES = .*/nonsense/' scripts/check-sources
  run --separate-stderr scripts/tidy --rules
  same "$status" 1
  like "$output" "scripts/tidy:1: the check of sources did not run to its end*"
}

needs_clang_tidy() { command -v clang-tidy >/dev/null || skip "needs clang-tidy"; }

# FILE...: a build folder in which these are compiled.
write_commands() {
  needs_clang_tidy
  cp "$repo/scripts/check-clang-tidy" scripts/
  printf '%s: "%s"\n' Checks '-*,clang-diagnostic-*,clang-analyzer-core*,misc-unused-using-decls,modernize-use-nullptr' WarningsAsErrors '*' \
    HeaderFilterRegex '/lib/.*h$' >.clang-tidy
  mkdir -p build
  jq -n --arg at "$(pwd -P)" '[$ARGS.positional[] | {directory: "\($at)/build", file: "\($at)/\(.)",
    command: "c++ -std=c++20 -I\($at)/lib -o \(.).o -c \($at)/\(.)"}]' --args "$@" >build/compile_commands.json
}

@test "clang-tidy reads sources of one folder together, and names the one that breaks a rule" {
  write lib/low/low.cpp 'namespace {\nint Half(int n) { return n / 2; }\n}\nint Low(int n) { return Half(n); }\n'
  write lib/low/mid.cpp 'int Mid() { return 1; }\n'
  # A name of its own, and another meaning, in each.
  write lib/low/top.cpp 'namespace {\ndouble Half(int n) { return n * 0.5; }\n}\ndouble Top() { return Half(3); }\n'
  write_commands lib/low/low.cpp lib/low/mid.cpp lib/low/top.cpp lib/high/high.cpp cmd/sti-two/main.cpp
  run scripts/check-clang-tidy build
  same "$output" ""
  same "$status" 0
  # The last two are found in a main file alone.
  write lib/low/mid.cpp 'int* Mid() { return 0; }
namespace other { int Other(); }\nusing other::Other;
int Unset(int n) { int* p = nullptr; if (n > 3) p = &n; return *p; }\n'
  for _ in first again; do
    run scripts/check-clang-tidy build
    same "$status" 1
    same "$(grep -oE '^[^ ]*: error:|\[[a-z][A-Za-z.-]*' <<<"$output" | paste - - | sort)" "$(printf '%s: error:\t[%s\n' \
      lib/low/mid.cpp:1:21 modernize-use-nullptr lib/low/mid.cpp:3:14 misc-unused-using-decls \
      lib/low/mid.cpp:4:64 clang-analyzer-core.NullDereference)"
    same "${lines[-1]}" 'lib/low/mid.cpp:1: clang-tidy is not content'
  done
}

@test "clang-tidy: a header of ours, a source that does not compile, and one that make has not seen" {
  write lib/low/low.h '// Low.\ninline int* Low() { return 0; }\n'
  write lib/low/low.cpp 'int Low() { return nowhere; }\n'
  write_commands lib/low/low.cpp lib/high/high.cpp
  run scripts/check-clang-tidy build
  same "$status" 1
  same "$(grep -E 'error:|:1: ' <<<"$output")" 'cmd/sti-two/main.cpp:1: not in compile_commands.json; run make
lib/low/low.h:2:28: error: use nullptr [modernize-use-nullptr,-warnings-as-errors]
lib/high/high.cpp:1: clang-tidy is not content
lib/low/low.cpp:1:20: error: use of undeclared identifier '"'nowhere'"' [clang-diagnostic-error]
lib/low/low.cpp:1: clang-tidy is not content'
}

@test "an exception that is not needed any more" {
  sed -i 's/"constants": \[\]/"constants": ["kGone"]/' scripts/check-sources
  complains 'scripts/check-sources:1: the exception kGone of constants is not needed any more; take it out'
}

@test "this repository needs no other exceptions" {
  run "$repo/scripts/check-sources" "$repo"
  same "$output" ""
}
