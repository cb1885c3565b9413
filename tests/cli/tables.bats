# Scripts that fill tables of docs/measured, on little data.
load helpers

@test "bits-cost: accuracy and divergence at each bitwidth" {
  tiny="$repo/tests/data/distilbert-tiny"
  printf 'sentence\tlabel\n%s\n%s\n' $'a good film\tlabel_3' $'a good film\tlabel_0' >two.tsv
  works "$repo/bench/experiments/bits-cost" "$tiny" --data two.tsv --codebook gobo --codebook tree
  same "${lines[0]}" "| bits a weight | gobo: accuracy, KL | tree: accuracy, KL |"
  same "$(cut -d '|' -f 2 <<<"$output" | tail -n +3 | tr -d ' ' | tr '\n' ' ')" "2 3 4 5 6 full "
  same "${lines[7]}" "| full | 50.0 % | 50.0 % |"
  like "${lines[2]}" "| 2 | 50.0 %, * | 50.0 %, * |"
  # By another way, of the answers' scores.
  said=$(sed 's/.*, \(.*\) |/\1/' <<<"${lines[2]}")
  sti-shard -q "$tiny" -o tiny.sti
  for bits in 32 2; do sti-run -q --json tiny.sti --bits $bits "a good film"; done >both
  holds "$(jq -s -c '[.[] | [.scores[]]] | transpose' both)" \
    "(map(.[0] * ((.[0] / .[1]) | log)) | add) / $said - 1 | fabs < 0.06"
  refused 1 "bits-cost: device.json: not a table with the columns sentence and label" \
    "$repo/bench/experiments/bits-cost" "$tiny" --data device.json
}

@test "reliability: what two samples state, and how far they agree" {
  works "$repo/bench/experiments/reliability" model.sti --data dev.tsv --examples 3 --pairs 2 --metric loss
  same "${lines[0]}" "| examples | loss: stated, found |"
  same "${#lines[@]}" 4
  for line in "${lines[@]:2}"; do like "$line" "| 3 | [01].[0-9][0-9] and [01].[0-9][0-9], *[01].[0-9][0-9] |"; done
  [ "${lines[2]}" != "${lines[3]}" ]
  refused 1 "reliability: few.tsv has 30 rows, too few for two samples of 16" \
    "$repo/bench/experiments/reliability" model.sti --data few.tsv --examples 16 --pairs 1
}
