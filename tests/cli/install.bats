# What `make install` leaves: a tree that can be moved, and programs of others that are built
# against it (tests/capi/programs), by CMake and by pkg-config.
load helpers
load pages

build="$STI_BIN/.."
programs="$repo/tests/capi/programs"
guide="$repo/docs/guide/library.md"

# Installs for /opt/sti, in another place, and moves that.
setup_file() {
  make_fixtures
  if is_sanitized; then return; fi
  env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$repo" BUILD="$build" install \
    PREFIX=/opt/sti DESTDIR="$BATS_FILE_TMPDIR/stage"
  mv "$BATS_FILE_TMPDIR/stage/opt/sti" "$BATS_FILE_TMPDIR/moved"
}

setup() {
  skip_if_sanitized "a program without sanitizers cannot link the library of a build that has them"
  make_links
  installed="$BATS_FILE_TMPDIR/moved"
  lib=$(dirname "$(find "$installed" -name libsti.a)")
  export PKG_CONFIG_PATH="$lib/pkgconfig"
  sti-run -q model.sti --plan model.plan "$alarm" | cut -f 1 >expected
}

# PROGRAM...: it answers as sti-run does, and is sure of it.
answers() {
  works "$@" model.sti model.plan "$alarm"
  same "$(cut -f 1 <<<"$output")" "$(cat expected)"
  awk '$2 < 0.9 || $2 > 1 { exit 1 }' <<<"$output"
}

# The compilers of C and C++ that are here, the first of which is always.
compilers() { for one in "$@"; do command -v "$one"; done; }

@test "tools, library, header and packages are installed, and nothing else" {
  (cd "$installed" && find . ! -type d ! -path './share/*') |
    sed -E 's|/lib/[^/]*-linux-[^/]*/|/lib/|' | sort >found
  # shellcheck disable=SC2046
  printf './%s\n' $(printf 'bin/%s ' "${tools[@]}") include/sti.h lib/libsti.{a,so,so.0,so.0.1.0} \
    lib/cmake/sti/sti-{config,config-version,targets,targets-relwithdebinfo,models,make-product}.cmake \
    lib/pkgconfig/sti.pc | sort >wanted
  if [ -e "$build/lib/sti/libsti-link-mpi.so" ]; then # where there is Open MPI
    sort -o wanted wanted - <<<./lib/sti/libsti-link-mpi.so
  fi
  diff wanted found
}

@test "an installed tree names no folder where it was made or first installed" {
  run -1 grep -rlF -e "$repo" -e "$(cd "$build" && pwd)" -e /opt/sti -e "$BATS_FILE_TMPDIR/stage" \
    "$installed"
  same "$output" ""
  works "$installed/bin/sti-run" -q model.sti "$alarm"
}

@test "an app in C99 links by pkg-config" {
  for compiler in $(compilers gcc clang); do
    # shellcheck disable=SC2046
    works "$compiler" -std=c99 -pedantic -Wall -Wextra -Werror "$programs/answer.c" -o answer \
      $(pkg-config --cflags --libs sti)
    LD_LIBRARY_PATH=$lib answers ./answer
  done
}

@test "an app in C++ links by pkg-config" {
  for compiler in $(compilers g++ clang++); do
    # shellcheck disable=SC2046
    works "$compiler" -std=c++17 -pedantic -Wall -Wextra -Werror "$programs/answer.cpp" -o answer \
      $(pkg-config --cflags --libs sti)
    LD_LIBRARY_PATH=$lib answers ./answer
  done
}

@test "an app links statically by pkg-config, and needs no other file then" {
  # shellcheck disable=SC2046
  works gcc -std=c99 -static "$programs/answer.c" -o answer $(pkg-config --static --cflags --libs sti)
  run ! grep -q NEEDED <(readelf -d answer)
  answers ./answer
}

@test "apps link by CMake's find_package, shared and static" {
  works cmake -S "$programs" -B app -G Ninja "-DCMAKE_PREFIX_PATH=$installed"
  works cmake --build app
  for program in answer-c answer-cpp; do
    answers "app/$program-sti"
    answers "app/$program-static"
    like "$(readelf -d "app/$program-sti")" '*\[libsti.so.0\]*'
    run ! grep -q 'libsti' <(readelf -d "app/$program-static")
  done
}

# The app of docs/guide/library.md, as it stands there.
write_app_of_guide() { blocks_of c "$guide"; }

@test "the guide's app links by the guide's commands" {
  write_app_of_guide >app.c
  commands_of "$guide" | grep '^cc ' >commands
  same "$(wc -l <commands)" 2
  while IFS= read -r command; do
    rm -f app
    works bash -c "$command"
    export LD_LIBRARY_PATH=$lib
    works ./app "$alarm"
    same "$output" alarm
  done <commands
}

@test "the guide's lines of CMake link its app, and make its model and plan" {
  write_app_of_guide >app.c
  ln -s model my-model
  cp device.json board.json
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(app C)' 'add_executable(app app.c)' \
    >CMakeLists.txt
  blocks_of cmake "$guide" >>CMakeLists.txt
  works cmake -S . -B made -G Ninja "-DCMAKE_PREFIX_PATH=$installed"
  works cmake --build made
  mv made/intents-fast.sti model.sti # a link before
  mv made/intents-fast.plan model.plan
  works made/app "$alarm"
  same "$output" alarm
}

@test "find_package refuses a library that is too old" {
  cp -r "$programs" newer
  sed -i 's/find_package(sti 0.1 /find_package(sti 1.0 /' newer/CMakeLists.txt
  run ! cmake -S newer -B app "-DCMAKE_PREFIX_PATH=$installed"
  like "$output" '*"1.0"*version: 0.1.0*'
}

@test "an app in Python links by ctypes" {
  answers python3 "$programs/answer.py" "$lib/libsti.so.0"
}

@test "an app's error is the library's line" {
  # shellcheck disable=SC2046
  gcc "$programs/answer.c" -o answer $(pkg-config --cflags --libs sti)
  LD_LIBRARY_PATH=$lib refused 1 "answer: missing.sti: *" ./answer missing.sti model.plan "$alarm"
}

@test "a build makes a model and a plan by the tools of the package; by this machine's for another one" {
  mkdir -p tree
  cp -r "$installed/." tree
  printf '#!/bin/sh\necho "a program of another machine" >&2\nexit 126\n' >tree/bin/sti-shard
  product=(cmake -S "$repo/tests/capi/product" -G Ninja "-DMODEL=$(readlink -f model)"
    "-DPROFILE=$(readlink -f device.json)" "-DCMAKE_PREFIX_PATH=$PWD/tree")
  "${product[@]}" -B native
  run ! cmake --build native
  like "$output" "*a program of another machine*"
  "${product[@]}" -B cross -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=riscv64 \
    "-DCMAKE_FIND_ROOT_PATH=$PWD/tree"
  works cmake --build cross
  same "$(sti-run -q cross/slim.sti --plan cross/intents-fast.plan "$alarm" | cut -f 1)" alarm
}

@test "add_subdirectory brings the library, and none of the tools, tests and options" {
  works cmake -S "$programs" -B app -G Ninja "-DSTI_SOURCE=$repo"
  ninja -C app -t targets all >targets
  grep -q '^answer-c-sti: ' targets
  grep -q '^sti/lib/libsti.a: ' targets
  run ! grep -E '^(sti-run|tools|tests|test_base|benchmarks|install): ' targets
  # An app is compiled with its own options and sees sti.h, of a library that is not built yet.
  ninja -C app -t commands CMakeFiles/answer-c-sti.dir/answer.c.o | grep 'answer\.c\.o' >command
  run ! grep -E -e '-Wconversion|-fvisibility|NDEBUG|/lib' command
  (cd app && works sh ../command)
}

@test "without tools CLI11 and libpng are not looked for" {
  cmake -S "$repo" -B none -G Ninja -DSTI_TOOLS=OFF -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON
  run ! grep -E '^(PNG|ZLIB|CLI11_DIR|SPDLOG_HEADERS)' none/CMakeCache.txt
  ninja -C none -t targets all >targets
  grep -q '^lib/libsti.so: ' targets
  run ! grep -E '^(sti-run|tests): ' targets
  run ! cmake -S "$repo" -B none -DSTI_TOOLS=ON
  like "$output" "*CLI11*"
}

@test "a machine of 32 bits is refused at once" {
  [ "$(uname -m)" = x86_64 ] || skip "needs a compiler with -m32"
  run ! cmake -S "$repo" -B narrow -DCMAKE_CXX_FLAGS=-m32 \
    -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY
  like "$output" "*  sti needs a machine of 64 bits: it reserves addresses for whole models"$'\n'*
  same "$(grep -c 'CMake Error' <<<"$output")" 1
}

@test "builds with sanitizers can be configured" {
  for preset in asan tsan; do
    works cmake -S "$repo" --preset "$preset" -B "$PWD/$preset"
    works grep -q '^build test_capi:' "$preset/build.ninja"
  done
}
