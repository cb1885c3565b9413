# sti-plan --cold: from the start of a process to its label.
load helpers

# Reads are known by bytes: 20 us and 80 MiB/s.
write_bytes_profile() {
  jq '.io = [4096, 1048576 | {bytes: ., load_us: (20 + . / 83.886)}]' device.json >bytes.json
}

plan() { sti-plan model.sti --profile bytes.json "$@"; }

@test "a cold plan counts opening, parts and head, and is later than the same plan warm" {
  write_bytes_profile
  works plan --cold --submodel 6x12 --bits 2 -o cold.json
  like "$output" "*latency    * predicted from a cold start, p99 *"
  same "$(awk 'length > 80' <<<"$output")" ""
  plan -q --submodel 6x12 --bits 2 -o warm.json
  holds "$(jq -s . cold.json warm.json)" '.[0].cold and (.[1].cold | not)
    and .[0].bits == .[1].bits and .[0].parameter_bytes == .[1].parameter_bytes
    and .[0].times.open_io_us > 800 and .[1].times.open_io_us == 0
    and .[0].times.embed_io_us > .[1].times.embed_io_us
    and ([.[0].times.layer_io_us, .[1].times.layer_io_us] | transpose | all(.[0] > .[1]))
    and .[0].predicted_latency_us
      >= .[1].predicted_latency_us + .[0].times.open_io_us'
}

@test "a cold plan meets its target, and --check says the same of it" {
  write_bytes_profile
  works plan -q --cold --target 40ms -o cold.plan
  works plan --check cold.plan --json
  holds "$output" '.valid'
  sti-inspect --json cold.plan >cold.json
  for field in aib_us predicted_latency_us predicted_p99_us predicted_peak_bytes staging_bytes; do
    same "$(jq -c ".$field" <<<"$output")" "$(jq -c ".$field" cold.json)"
  done
  holds "$(<cold.json)" '.meets_target and .predicted_p99_us <= 40000 and .preload == []'
  works plan --check cold.plan --gantt cold.svg
  like "$(<cold.svg)" "*start and opening*parts that are no shards*"
  # Each in a colour of its own, which the legend has.
  local words fills=()
  for words in "start and opening" "parts that are no shards" "embedding rows"; do
    grep -q ">$words</text>" cold.svg
    fills+=("$(grep -oE "<rect [^>]*><title>$words: " cold.svg | grep -oE 'fill="[^"]*"' | sort -u)")
  done
  same "$(printf '%s\n' "${fills[@]}" | sort -u | wc -l)" 3
  works plan -q --cold --target 40ms --explain
  like "$output" "*cold     o start and opening, p parts that are no shards*"
}

@test "variants of a cold plan are cold, and a sweep has no preloads" {
  write_bytes_profile
  jq '.compute += [.compute[] | .length = 16 | .layer_us = .layer_us / 3]
    | .fixed += [.fixed[] | .length = 16]' bytes.json >short.json
  works sti-plan -q model.sti --profile short.json --cold --target 40ms --length 16,64 -o a.json
  holds "$(<a.json)" '.cold and all(.variants[]; .cold)'
  works plan --cold --sweep --targets 40ms,60ms --json
  holds "$output" '.rows | length == 2 and all(.preload_bytes == 0)'
}

@test "what a process that has just started cannot have is refused" {
  write_bytes_profile
  for option in "--preload 1MiB" "--turns 2" "--wake 5ms"; do
    # shellcheck disable=SC2086 # an option and its value
    refused 2 "sti-plan: a cold start has nothing in memory, no turn before it and no lead time; drop --preload, --turns and --wake" \
      plan --cold --target 40ms $option
  done
  refused 2 "sti-plan: the strategy preload begins with all shards in memory; drop --cold" \
    plan --cold --target 40ms --strategy preload
  refused 2 "sti-plan: device.json: a cold start needs load times by bytes, this one has them by bits; run sti-profile again" \
    sti-plan model.sti --profile device.json --cold --target 40ms
  refused 2 "sti-plan: --check takes no --cold: it judges a plan as it is; drop one" \
    plan --cold --check model.plan
}
