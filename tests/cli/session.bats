# The session of the README: from model folder to label, and the tools in pipes.
load helpers

@test "first label in two commands" {
  sti-shard -q model -o first.sti
  works sti-run -q first.sti "$alarm"
  like "$output" $'alarm\t*'
}

@test "shard, importance, profile, plan, run, inspect" {
  sti-shard -q model -o a.sti
  sti-importance -q a.sti --data few.tsv --metric loss -o a.importance
  sti-profile -q a.sti -o a.profile --budget 1s --lengths 32 --widths 2,4,6,8,10,12
  sti-plan -q a.sti --profile a.profile --importance a.importance --target 2s --preload 1MiB -o a.plan
  works sti-run a.sti --plan a.plan "$alarm"
  like "$output" $'alarm\t*'
  for file in a.sti a.importance a.profile a.plan; do works sti-inspect --verify $file; done
  no_leftovers
}

@test "a profile, a plan and a run in one pipe, nothing written" {
  answer=$(sti-plan -q model.sti --profile - --importance model.importance --target 12ms \
    --preload 200kB -o - <device.json | sti-run --json model.sti --plan - "$alarm")
  same "$(jq -r .label <<<"$answer")" alarm
  sti-run --json model.sti --plan model.plan "$alarm" | jq .logits >logits
  same "$(jq .logits <<<"$answer")" "$(cat logits)"
}

@test "a whole data set through stdin and cut" {
  tail -n +2 few.tsv | cut -f 1 | sti-run model.sti --plan model.plan | cut -f 1 >labels
  tail -n +2 few.tsv | cut -f 2 >expected
  same "$(wc -l <labels)" 30
  right=$(paste labels expected | awk -F '\t' '$1 == $2' | wc -l)
  accuracy=$(sti-run --json model.sti --plan model.plan --eval few.tsv | jq '.accuracy * 30 | round')
  same "$right" "$accuracy"
}

@test "logits equal the reference within 5e-4" {
  reference="$shared/reference/clinc150-tiny-6x12-logits.jsonl"
  [ -f "$reference" ] || skip "needs ../shared: reference/clinc150-tiny-6x12-logits.jsonl"
  jq -c 'select((.layers | length) == 6 and .width == 12) | select(.text | test("[\n\r]") | not)' \
    "$reference" | head -n 20 >lines
  [ -s lines ]
  jq -r .text lines | sti-run -q --json model.sti | jq -c .logits >logits
  jq -c .logits lines >expected
  worst=$(jq -n --slurpfile a logits --slurpfile b expected \
    '[range($a | length) as $i | [$a[$i], $b[$i]] | transpose[] | .[0] - .[1] | fabs] | max')
  holds "$worst" '. < 0.0005'
}

@test "every option that the documents show is one of its tool" {
  local checked=0 tool options option file
  # What its subcommands take counts as a tool's.
  options_of() {
    "$1" --help
    if [ "$1" = sti-importance ]; then "$1" show --help && "$1" merge --help; fi
  }
  for file in "$repo"/README.md "$repo"/docs/guide/*.md; do
    # A tool and its options, up to a pipe, a comment or the end of what is quoted.
    while read -r tool options; do
      for option in $options; do
        [[ $option =~ ^--[a-z0-9-]+$ ]] || continue
        grep -q -e "$option\b" <(options_of "$tool") || {
          echo "$file: $tool has no $option"
          return 1
        }
        checked=$((checked + 1))
      done
    done < <(sed 's/ #.*//' "$file" | tr '|`' '\n' |
      grep -oE 'sti-(shard|importance|profile|plan|run|inspect) .*--.*')
  done
  [ $checked -gt 40 ]
}
