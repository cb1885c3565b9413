# What a plan predicts of a runner's memory, beside what the kernel counted.
load helpers

setup() {
  # Shadow memory and quarantine are no part of a runner.
  grep -q __asan_init "$STI_BIN/sti-run" && skip "memory means nothing under AddressSanitizer"
  make_links
}

# The whole process within 8 %: shards and working memory are counted to the byte, the rest is a
# process that the profiler measured.
close_to_prediction() { # PLAN [OPTION...]
  local predicted seen
  predicted=$(sti-inspect --json "$1" | jq .predicted_peak_bytes)
  seen=$(sti-run -q model.sti --eval few.tsv --json --plan "$@" | jq .peak_rss_bytes)
  [ $((predicted * 100)) -gt $((seen * 92)) ] && [ $((predicted * 100)) -lt $((seen * 108)) ] && return
  printf 'predicted %s, seen %s\n' "$predicted" "$seen"
  return 1
}

@test "the predicted peak is the measured one, preloaded or streamed, small or large" {
  sti-profile -q model.sti -o here.profile --budget 1s --lengths 32 --widths 3,12 --threads 2
  plan() { sti-plan -q model.sti --profile here.profile "$@"; }
  plan --strategy stdpl --bits 2 --submodel 6x3 -o small.plan
  plan --strategy stdpl --bits 32 --submodel 6x12 -o large.plan
  plan --strategy preload --bits 6 --submodel 6x12 -o held.plan
  for plan in small large held; do close_to_prediction $plan.plan --threads 2; done
}

@test "a plan made for a limit runs within it, or nearly" {
  sti-profile -q model.sti -o here.profile --budget 1s --lengths 32 --widths 12 --threads 1
  sti-plan -q model.sti --profile here.profile --strategy stdpl --bits 6 --submodel 6x12 -o free.json
  limit=$(jq '.predicted_peak_bytes - (.staging_bytes / 4 | floor)' free.json)
  sti-plan -q model.sti --profile here.profile --strategy stdpl --bits 6 --submodel 6x12 \
    --memory "$limit" -o tight.json
  holds "$(<tight.json)" ".predicted_peak_bytes <= $limit"
  close_to_prediction tight.json --threads 1 --memory "$limit"
}
