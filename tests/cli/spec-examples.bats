# The examples in spec/: tools read them, and give them.
load helpers

# A JSON block of a document, the first unless it says another: spec_json DOCUMENT [NUMBER].
spec_json() {
  awk -v wanted="${2:-1}" '/^```$/ { inside = 0 } inside { print }
    /^```json$/ { inside = ++block == wanted }' "$repo/spec/$1"
}

@test "the plan in spec/plan.md is what its command makes, less the fields that are left out" {
  ln -s "$repo/examples" examples
  spec_json plan.md >shown.json
  works sti-inspect --verify shown.json
  grep -A 1 '^    sti-plan ' "$repo/spec/plan.md" >command
  head -n 2 command | bash -e
  jq -s '.[0] as $shown | .[1] | with_entries(select(.key as $key | $shown | has($key)))
    | .times |= with_entries(select(.key as $key | $shown.times | has($key)))' \
    shown.json example.json >made.json
  same "$(jq -S . made.json)" "$(jq -S . shown.json)"
  # What is left out says nothing: null, 0, false or empty. The peak is left out on purpose.
  same "$(jq -c -s '.[0] as $shown | .[1] | with_entries(select(.key as $key | $shown | has($key) | not))
    | to_entries | map(select(.value | . != null and . != 0 and . != false and . != [] and . != ""))
    | map(.key)' shown.json example.json)" '["predicted_peak_bytes"]'
  works sti-run -q model.sti --plan shown.json "$alarm"
}

# What is left out of a plan says nothing, but for the peak; a variant and a level are for the plan's
# model.
without_defaults() {
  jq -S 'def slim: del(.predicted_peak_bytes)
      | (if .times then .times |= with_entries(select(.value != 0)) else . end)
      | with_entries(select(.value | . != null and . != 0 and . != false and . != [] and . != ""));
    del(.cascade.predicted_loss) | slim
    | (if .fallback then .fallback |= slim else . end)
    | (if .variants then .variants |= map(slim | del(.model, .shape)
        | if .fallback then .fallback |= slim else . end) else . end)
    | (if .cascade.levels then .cascade.levels |= map(slim | del(.model, .shape))
       else del(.cascade) end)' "$1"
}

@test "the plan with a fallback and a variant in spec/plan.md is what its command makes" {
  ln -s "$repo/examples" examples
  spec_json plan.md 3 >shown.json
  works sti-inspect --verify shown.json
  grep -A 1 '^    sti-plan ' "$repo/spec/plan.md" | tail -n 2 | bash -e
  same "$(without_defaults example.json)" "$(without_defaults shown.json)"
  # The sums of the text: what the fallbacks take, and what the variant's holds less.
  same "$(jq -c '[., .variants[0]] | map(.fallback
    | .head_us + .margin_us + .layer_us * ((.layers | length) - 1) + .last_layer_us + .embed_us)' \
    shown.json)" '[3654,2502]'
  same "$(jq '.fallback.bytes - .variants[0].fallback.bytes' shown.json)" 12416
  works sti-run -q model.sti --plan shown.json "$alarm"
  jq '.target_us = 3653 | .variants[0].target_us = 3653' shown.json >late.json
  refused 3 "sti-inspect: late.json: fallback takes longer than target_us; *" sti-inspect late.json
  jq '.variants[0].target_us = 2501' shown.json >late.json
  refused 3 "sti-inspect: late.json: variants[[]0[]]: fallback takes longer than target_us; *" \
    sti-inspect late.json
}

@test "the plan with a cascade in spec/plan.md is one that tools judge as it says, and run" {
  ln -s "$repo/examples" examples
  spec_json plan.md 2 >shown.json
  works sti-inspect --verify shown.json
  same "$(jq '.cascade | .mean_us == .return_share[0] * .path_us[0]
    + (1 - .return_share[0]) * .path_us[1]' shown.json)" true
  # Judged on the same board its times are these.
  works sti-plan model.sti --profile examples/voice-intents/odroid.profile.json --check shown.json \
    --json
  same "$(jq -c '[.valid, .predicted_latency_us]' <<<"$output")" '[true,5002]'
  works sti-run -q model.sti --plan shown.json --json "$alarm"
  holds "$output" '.label == "alarm" and .level >= 1 and .level <= 2'
}

@test "the profile in spec/profile.md is one that the shipped model can be planned with" {
  spec_json profile.md >shown.json
  works sti-inspect --verify shown.json
  works sti-plan model.sti --profile shown.json --submodel 6x6 -o made.json
  same "$(jq .kernel made.json)" "$(jq .kernel shown.json)"
  same "$(jq .times.layer_us made.json)" "$(jq '.compute[0].layer_us' shown.json)"
}

@test "the importance in spec/importance.md is one of the shipped model and its sentences" {
  spec_json importance.md >shown.json
  works sti-inspect --verify shown.json
  head -n 101 dev.tsv >100.tsv
  works sti-importance -q model.sti --data 100.tsv --metric accuracy -o made.json
  # Not the scores: a sentence that two labels share may fall to the other on another CPU.
  local field
  for field in model data metric examples layers width; do
    same "$(jq ".$field" made.json)" "$(jq ".$field" shown.json)"
  done
  works sti-plan model.sti --profile device.json --importance shown.json --target 12ms
}

@test "the header in spec/frame.md is that of a frozen plan" {
  sed -n 's/^\(0000[0-9a-f]*: .*\)$/\1/p' "$repo/spec/frame.md" >shown
  [ -s shown ]
  head -c 48 "$repo/tests/data/v1/tiny.plan" | od -An -v -tx1 -w16 | tr -d ' ' >bytes
  same "$(cut -c 11-49 shown | tr -d ' ')" "$(cat bytes)"
}
