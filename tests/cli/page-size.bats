# Machines whose pages are larger than the blocks of a container: 16 KiB and 64 KiB, as kernels of
# aarch64 have them. A library in front of libc tells the programs so; pages themselves stay small.
load helpers

setup_file() {
  make_fixtures
  cd "$BATS_FILE_TMPDIR"
  cat >page_size.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
long sysconf(int name) {
  if (name == _SC_PAGESIZE) return PAGE_BYTES;
  return ((long (*)(int))dlsym(RTLD_NEXT, "sysconf"))(name);
}
END
  for kib in 16 64; do
    gcc -shared -fPIC -DPAGE_BYTES=$((kib * 1024)) page_size.c -o page$kib.so
  done
  sti-plan -q "$fixtures/model.sti" --profile "$fixtures/device.json" \
    --importance "$fixtures/model.importance" --target 12ms --preload 200kB --turns 3 \
    --turn-buffer 1MB -o turns.plan
}

setup() {
  skip_if_sanitized "a sanitizer wants to be the first library"
  make_links
}

with_pages() { LD_PRELOAD="$BATS_FILE_TMPDIR/page$1.so" "${@:2}"; }

@test "answers are the same where pages have 16 or 64 KiB" {
  answer() { sti-run -q --json model.sti --plan "$1" | jq -c '[.logits, .read_bytes]'; }
  for plan in model.plan "$BATS_FILE_TMPDIR/turns.plan"; do
    sed -n 2,8p dev.tsv | cut -f 1 >texts
    answer "$plan" <texts >here
    for kib in 16 64; do
      with_pages $kib bash -c "$(declare -f answer); answer '$plan'" <texts >there
      same "$(cat there)" "$(cat here)"
    done
  done
}

@test "unit tests of what keeps and drops pages pass where pages have 16 or 64 KiB" {
  for kib in 16 64; do
    run with_pages $kib test_pipeline --gtest_filter='PreloadBufferTest.*' --gtest_brief=1
    same "$status" 0
    like "$output" "*\[  PASSED  \] 5 tests."
  done
}
