# scripts/smoke: what stands behind the tables of docs/measured still measures what they say.
load helpers

export STI_BUILD=${STI_BIN%/*}

@test "scripts and benchmarks behind tables print their columns and plausible rows" {
  [ -x "$STI_BUILD/bench/sti-bench" ] || skip "no benchmarks in this build"
  skip_if_sanitized "what is measured there is of no interest"
  run "$repo/scripts/smoke" --local --jobs 2
  same "$(grep -v '^ok' <<<"$output" | grep -v '^SKIP')" ""
  same "$status" 0
  like "$output" '*ok *bench/experiments/bench-peers --cold*'
}

@test "a command of a table, and each option of it there, has a form" {
  works "$repo/scripts/smoke" --covered
  same "$output" ""

  git init -q copy
  mkdir -p copy/scripts copy/docs/measured
  cp "$repo/scripts/smoke" copy/scripts/
  printf -- '- Command: `bench/experiments/bench-rows --inputs 4 --colour\n  blue`, then `bench/experiments/bench-new --inputs 4`\n' \
    >copy/docs/measured/new.md
  run ! copy/scripts/smoke --covered
  same "$output" "docs/measured/new.md: no form of bench-rows in scripts/smoke has --colour
docs/measured/new.md: bench-new has no form in scripts/smoke"
}

@test "columns that are gone, rows that are missing and numbers that cannot be are told" {
  works python3 -B - "$repo/scripts/smoke" <<'END'
import importlib.machinery, importlib.util, sys
loader = importlib.machinery.SourceFileLoader("smoke", sys.argv[1])
smoke = importlib.util.module_from_spec(importlib.util.spec_from_loader("smoke", loader))
loader.exec_module(smoke)
form = smoke.Form("scripts/x", ["beside p50 p99"], {"quiet {ms} {ms<} {count}": 1})
for text in ("beside  p50   p99\n  quiet 1.5 2 0\n", "beside p50 max\nquiet 1.5 2 0", "beside p50 p99\nquiet 1.5 2",
             "beside p50 p99\nquiet 1.5 1.2 0", "beside p50 p99\nquiet 0.0 1.2 0"):
    print(list(smoke.problems_of(form, text)))
END
  same "$output" "[]
['no line has the columns: beside p50 p99']
['0 rows of 1: quiet {ms} {ms<} {count}']
['1.2 is below 1.5, which it cannot be: quiet {ms} {ms<} {count}']
['0.0 is no plausible number of ms: quiet {ms} {ms<} {count}']"
}
