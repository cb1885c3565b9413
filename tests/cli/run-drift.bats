# sti-run notices that the device is slower than the plan counts on, and says so once.
load helpers

# 40 inputs, each as long as the plan allows or longer.
full_length_texts() {
  local text i
  text=$(printf "$alarm %.0s" {1..14})
  for ((i = 0; i < 40; ++i)); do echo "$text"; done
}

# FACTOR: a plan that counts on FACTOR times what a layer and the reads take on this machine.
plan_at() {
  sti-inspect --json model.plan >plan.json
  full_length_texts | sti-run -q --json model.sti --plan plan.json >measured
  jq -s --argjson factor "$1" --slurpfile plan plan.json '
    def median: sort | .[length / 2 | floor];
    (map(.layers[].compute_us) | median) as $layer_us | (map([.layers[].io_us] | add) | median) as $io_us
    | $plan[0] | .times.layer_us = $layer_us * $factor | .times.layer_p99_us = .times.layer_us
    | .times.embed_io_us = $io_us * $factor | .times.layer_io_us |= map($io_us * $factor)' measured
}

# Leaves out what a run says of inputs, late or truncated: what is left is about the device.
of_the_device() { without_lateness | grep -v truncated || true; }

@test "a device that is a hundred times slower than its plan: one warning, and what to do" {
  plan_at 0.01 >slow.json
  full_length_texts >texts
  run --separate-stderr sti-run --json model.sti --plan slow.json <texts
  same "$status" 0
  same "${#lines[@]}" 40
  like "$(of_the_device <<<"$stderr")" "sti-run: warning: layers take * and reads * times what the plan counts on; profile this device again, then plan again"
  # The label is the same, and short inputs say nothing about a plan for long ones.
  works sti-run -q model.sti --plan slow.json <texts
  head -n 1 texts >one
  same "$(sti-run -q model.sti --plan slow.json <one)" "${lines[0]}"
  tail -n +2 few.tsv | cut -f 1 | cat - <(tail -n +2 few.tsv | cut -f 1) >short
  works sti-run --json model.sti --plan slow.json <short
}

@test "a device that is a hundred times faster than its plan is no drift" {
  plan_at 100 >fast.json
  full_length_texts >texts
  run -0 --separate-stderr sti-run --json model.sti --plan fast.json <texts
  same "${#lines[@]}" 40
  same "$(of_the_device <<<"$stderr")" ""
}

@test "without the plan's times there is no drift" {
  plan_at 0.01 | jq 'del(.times)' >none.json
  full_length_texts >texts
  run -0 --separate-stderr sti-run --json model.sti --plan none.json <texts
  same "$(of_the_device <<<"$stderr")" ""
}
