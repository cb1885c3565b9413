# The examples in spec/: tools read them, and give them.
load helpers

# The first JSON block of a document: spec_json DOCUMENT.
spec_json() { sed -n '/^```json$/,/^```$/p' "$repo/spec/$1" | sed '1d;$d'; }

@test "the plan in spec/plan.md is what its command makes, less the fields that are left out" {
  ln -s "$repo/examples" examples
  spec_json plan.md >shown.json
  works sti-inspect --verify shown.json
  grep -A 1 '^    sti-plan ' "$repo/spec/plan.md" >command
  bash -e command
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
