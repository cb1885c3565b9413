# sti-importance --cascade: submodels as cascade levels, and what cascades of them reach.
load helpers

@test "measures levels and cascades, whichever the spelling and however many threads" {
  works sti-importance -q model.sti --data few.tsv --quick --cascade --levels 6x12@6,2x3@4 \
    --alphas 0.5 -o one.json --threads 1
  sti-importance -q model.sti --data few.tsv --quick --cascade --levels 2x3@4,6x12@6 \
    --alphas 0.5 -o two.importance --threads 2
  sti-inspect --json two.importance >two.json
  same "$(jq -S '{levels, cascades}' one.json)" "$(jq -S '{levels, cascades}' two.json)"
  holds "$(<one.json)" '[.levels[] | [.layers, .width, .bits]] == [[2, 3, 4], [6, 12, 6]]'
  holds "$(<one.json)" '[.cascades[] | [.levels, .alpha]] == [[[0, 1], 0], [[0, 1], 0.5]]'
  holds "$(<one.json)" '.cascades | all(.cuts | length >= 10 and length <= 32)'
  holds "$(<one.json)" '.cascades[0].cuts | all(.words_left == [1])'
  holds "$(<one.json)" '.cascades[1].cuts | any(.words_left[0] < 1)'
  holds "$(<one.json)" '.cascades[].cuts | all(
    ((.shares[0] * .accuracies[0] + .shares[1] * .accuracies[1] - .accuracy) | fabs) < 1e-9)'
  # Shards' scores are those of the same run without.
  sti-importance -q model.sti --data few.tsv --quick -o plain.json
  same "$(jq -S 'del(.levels, .cascades)' one.json)" "$(jq -S . plain.json)"
}

@test "a level is the submodel that sti-run evaluates" {
  sti-importance -q model.sti --data few.tsv --quick --cascade --levels 2x3@4,6x12@6 \
    --alphas 0.5 -o model.json
  for level in "2x3 4" "6x12 6"; do
    read -r submodel bits <<<"$level"
    sti-plan -q model.sti --profile device.json --strategy stdpl --bits "$bits" \
      --submodel "$submodel" --target 1s -o level.plan
    seen=$(sti-run -q model.sti --plan level.plan --eval few.tsv --json | jq .accuracy)
    holds "$(<model.json)" "[.levels[] | select(.bits == $bits) | .accuracy - $seen | fabs < 1e-9] == [true]"
  done
}

@test "show has a line for each level and each cascade, within 80 columns" {
  sti-importance -q model.sti --data few.tsv --quick --cascade --alphas 0.5 -o model.importance2
  works sti-importance show model.importance2
  same "$(grep -c '^[246]x[0-9]*@[46]  ' <<<"$output")" 3
  grep -q '^2x3@4 > 6x12@6  ' <<<"$output"
  same "$(sed -n '/^cascade level/,$p' <<<"$output" | awk 'length > 80')" ""
}

@test "refuses cascades that cannot be measured" {
  refused 2 "sti-importance: --levels are of cascades; add --cascade" \
    sti-importance model.sti --data few.tsv --quick --levels 2x3@4 -o a.json
  refused 2 "sti-importance: --alphas are of cascades; add --cascade" \
    sti-importance model.sti --data few.tsv --quick --alphas 0.5 -o a.json
  refused 2 "sti-importance: --cascade does all at once; leave out --part, or --cascade" \
    sti-importance model.sti --data few.tsv --cascade --part 1/2 -o a.part
  run -2 sti-importance model.sti --data few.tsv --quick --cascade --levels 2x3 -o a.json
  like "$output" "*'2x3' is not a cascade level; write layers x width @ bits as 2x3@4*"
  run -2 sti-importance model.sti --data few.tsv --quick --cascade --alphas 0-0.5 -o a.json
  like "$output" "*'0-0.5' is no alpha above 0 and up to 1; write 0.5, or 0.3-0.9*"
  run -2 sti-importance model.sti --data few.tsv --quick --cascade --levels 7x3@4,6x12@6 -o a.json
  like "$output" "*7x3@4 is not a submodel of this model*"
  cut -f 1 few.tsv >texts.tsv
  run -3 sti-importance model.sti --data texts.tsv --metric kl --quick --cascade -o a.json
  like "$output" "*some examples have no label, without which no cascade can be measured*"
  sti-shard -q "$repo/tests/data/multilabel-tiny" -o multi.sti
  run -2 sti-importance multi.sti --data texts.tsv --metric kl --cascade -o a.json
  like "$output" "*a model that gives several labels at once has no cascades*"
  [ ! -e a.json ] && [ ! -e a.part ]
}
