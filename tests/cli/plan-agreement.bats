# Importance measured by kl, without labels, tells how often a plan agrees with the full model, and
# not how often it is right.
load helpers

setup() {
  make_links
  "$repo/tests/cli/formula_importance.py" model.sti model kl >kl.json
  "$repo/tests/cli/formula_importance.py" model.sti model loss >loss.json
}

plan() { sti-plan model.sti --profile device.json "$@"; }

@test "an agreement is no accuracy, in JSON, in the terminal and in a sweep" {
  works plan --importance loss.json --target 12ms -o loss.plan.json
  works plan --importance kl.json --target 12ms -o a.json
  like "$output" "*quality    agrees with the full model in * % predicted*"
  holds "$(cat a.json)" '.predicted_accuracy == null and .predicted_agreement > 0.5'
  # The same figures under another name.
  same "$(jq .predicted_agreement a.json)" "$(jq .predicted_accuracy loss.plan.json)"
  works plan --importance kl.json --check a.json --json
  holds "$output" '.predicted_accuracy == null and .predicted_agreement > 0.5'
  works plan --importance kl.json --check a.json
  like "$output" "*quality agrees with the full model in * % predicted*"
  works plan --importance kl.json --target 12ms --turns 2 --preload 100kB --json
  holds "$output" '[.turns[] | .predicted_accuracy == null and .predicted_agreement > 0.5] | all'
  works plan --importance kl.json --sweep --targets 8ms,12ms --preloads 0 --json
  holds "$output" '.quality == "agreement" and .rows[1].quality == .rows[1].predicted_agreement'
}

@test "--min-accuracy needs the full model's accuracy beside it" {
  refused 2 "sti-plan: an importance measured by kl tells how often a plan agrees *; use --full-accuracy, or drop --min-accuracy" \
    plan --importance kl.json --min-accuracy 60%
  refused 2 "sti-plan: the full model's accuracy says nothing beside an importance with labels; drop --full-accuracy" \
    plan --importance loss.json --min-accuracy 60% --full-accuracy 90%
  refused 2 "sti-plan: --full-accuracy goes with --min-accuracy; add it, or drop --full-accuracy" \
    plan --importance kl.json --target 12ms --full-accuracy 90%
  works plan -q --importance kl.json --min-accuracy 60% --full-accuracy 90% -o a.json
  # At least A - (1 - a): 90 % less the 30 % that may differ.
  holds "$(cat a.json)" '.predicted_agreement >= 0.6999 and .predicted_agreement < 0.75'
  works plan -q --importance loss.json --min-accuracy 70% -o b.json
  same "$(jq -c .bits a.json)" "$(jq -c .bits b.json)"
}
