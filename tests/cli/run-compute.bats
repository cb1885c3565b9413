# --compute: the precision of products, from the profile through the plan to the run.
load helpers

needs() {
  sti-run -q --compute "$1" model.sti "$alarm" >/dev/null 2>&1 || skip "this CPU has no $1 products"
}
accuracy() { sti-run -q --json model.sti --bits "$1" --compute "$2" --eval dev.tsv | jq .accuracy; }
within() { jq -ne --argjson a "$1" --argjson b "$2" --argjson most "$3" '$a - $b <= $most'; }

@test "bf16 costs at most 0.1 points of accuracy, int8 at most 0.2 and an example" {
  for bits in 3 6 32; do
    exact=$(accuracy $bits fp32)
    for type in bf16 int8; do
      sti-run -q --compute $type model.sti "$alarm" >/dev/null 2>&1 || continue
      # One example of 310 is 0.32 points: fewer cannot be told from none.
      within "$exact" "$(accuracy $bits $type)" 0.0033
    done
  done
}

@test "auto is bf16 where the CPU has it, fp32 elsewhere" {
  run sti-run -v --compute auto model.sti "$alarm"
  if sti-run -q --compute bf16 model.sti "$alarm" >/dev/null 2>&1; then
    like "$output" '*computing with native-*-bf16*'
  else
    like "$output" '*computing with native-*-fp32*'
  fi
}

@test "without --compute and a plan that says otherwise, fp32" {
  run sti-run -v model.sti "$alarm"
  like "$output" '*computing with native-*-fp32*'
}

@test "profile, plan and run agree on the type" {
  needs bf16
  works sti-profile -q model.sti --lengths 16 --widths 12 --budget 1s --compute bf16 -o bf16.json
  like "$(jq -r .kernel bf16.json)" 'native-*-bf16'
  works sti-plan -q model.sti --profile bf16.json --submodel 6x12 --importance model.importance \
    -o bf16.plan
  run sti-run -v model.sti --plan bf16.plan "$alarm"
  like "$output" '*computing with native-*-bf16*'
  works sti-run -q model.sti --plan bf16.plan --compute bf16 "$alarm"
}

@test "a plan for one type is refused for another" {
  needs bf16
  works sti-profile -q model.sti --lengths 16 --widths 12 --budget 1s --compute bf16 -o bf16.json
  works sti-plan -q model.sti --profile bf16.json --submodel 6x12 --importance model.importance \
    -o bf16.plan
  refused 2 'sti-run: the plan counts on bf16 products, not fp32; run it with --compute bf16, or *' \
    sti-run -q model.sti --plan bf16.plan --compute fp32 "$alarm"
  refused 1 'sti-run: OpenBLAS does not compute in bf16: *' \
    sti-run -q model.sti --plan bf16.plan --backend openblas "$alarm"
}

@test "a type there is none of" {
  refused 2 "sti-run: --compute: 'fp16' is none of fp32, bf16, int8 and auto" \
    sti-run -q --compute fp16 model.sti "$alarm"
  refused 2 "sti-profile: --compute: 'half' is none of *" sti-profile --compute half model.sti -o x.json
}

@test "the plan's memory counts packed activations" {
  plans() { sti-plan -q model.sti --profile "$1" --submodel 6x12 -o - | jq .predicted_peak_bytes; }
  jq '. + {kernel: "native-avx512-fp32", threads: 2}' device.json >fp32.json
  jq '. + {kernel: "native-avx512-bf16", threads: 2}' device.json >bf16.json
  jq -ne --argjson a "$(plans fp32.json)" --argjson b "$(plans bf16.json)" '$b > $a'
}

@test "--instructions keeps a profile and a run to an older instruction set" {
  works sti-profile -q model.sti --lengths 16 --widths 12 --budget 200ms --instructions portable -o old.json
  same "$(jq -r .kernel old.json)" native-portable-fp32
  run sti-run -v model.sti --instructions portable "$alarm"
  like "$output" '*computing with native-portable-fp32*'
  same "$(sti-run -q model.sti --instructions portable "$alarm" | cut -f 1)" \
    "$(sti-run -q model.sti "$alarm" | cut -f 1)"
}

@test "an instruction set that this machine has not, or that OpenBLAS would not keep to" {
  refused 2 'sti-run: --instructions: this machine has *, portable*' \
    sti-run -q model.sti --instructions mmx "$alarm"
  refused 2 'sti-profile: --instructions: this machine has *' \
    sti-profile -q model.sti --instructions mmx -o x.json
  refused 2 'sti-run: --backend takes no --instructions: *' \
    sti-run -q model.sti --backend openblas --instructions portable "$alarm"
}

@test "sti-profile --compute auto times what it chooses from, and takes the faster" {
  run --separate-stderr sti-profile model.sti --lengths 16 --widths 12 --budget 10ms --compute auto -o auto.json
  same "$status" 0
  type=$(jq -r '.kernel | sub(".*-"; "")' auto.json)
  if ! sti-run -q --compute bf16 model.sti "$alarm" >/dev/null 2>&1; then
    same "$(grep -c -e '--compute auto' <<<"$stderr" || true)" 0
    skip "this CPU has fp32 alone to choose"
  fi
  said=$(grep -e '--compute auto' <<<"$stderr")
  like "$said" "sti-profile: --compute auto: $type, a layer in $type takes *s and [bf]* takes *s"
  # The first is the faster; times are of one unit or two.
  read -r first second < <(grep -oE 'takes [0-9.]+ (us|ms|s)' <<<"$said" |
    awk '{ print $2 * ($3 == "ms" ? 1e3 : $3 == "s" ? 1e6 : 1) }' | xargs)
  awk -v a="$first" -v b="$second" 'BEGIN { exit !(a <= b) }'
}
