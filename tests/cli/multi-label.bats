# Models of which an input may have any number of labels: sigmoids, a threshold, sets.
load helpers

setup() {
  make_links
  [ -e "$fixtures/multi.sti" ] || {
    sti-shard -q "$repo/tests/data/multilabel-tiny" -o multi.sti.new
    mv multi.sti.new "$fixtures/multi.sti"
  }
  ln -s "$fixtures/multi.sti" multi.sti
}

text="it was not very good"

@test "--json: labels beside the best one, scores are sigmoids of the logits" {
  works sti-run -q --json multi.sti "$text"
  holds "$output" '. as $a | [.scores[]] | to_entries | all(.value - 1 / (1 + (-$a.logits[.key] | exp)) | fabs < 0.00001)'
  holds "$output" '.scores as $s | .labels | all($s[.] >= 0.5)'
  holds "$output" '.scores as $s | [.labels[] | $s[.]] | . == (sort | reverse)'
  holds "$output" '([.scores[] | select(. >= 0.5)] | length) == (.labels | length)'
  holds "$output" '.scores[.label] == ([.scores[]] | max)'
  holds "$(sti-inspect --json multi.sti)" '.problem == "multi label"'
}

@test "--threshold moves the line; labels come in order of falling score" {
  works sti-run -q --json --threshold 0.01 multi.sti "$text"
  holds "$output" '.scores as $s | (.labels | length) == 4 and .labels == (.labels | sort_by(-$s[.]))'
  all=$(jq -r '.labels | join(",")' <<<"$output")
  best=$(jq -r '.label' <<<"$output")
  works sti-run -q --threshold 0.01 multi.sti "$text"
  like "$output" "$all"$'\t0.*\t'"$text"
  works sti-run -q --threshold 0.999 multi.sti "$text"
  like "$output" $'-\t0.*\t'"$text"
  works sti-run -q --json --threshold 0.999 multi.sti "$text"
  holds "$output" ".labels == [] and .label == \"$best\""
}

@test "--threshold outside (0, 1), or with a model of one label, is a wrong usage" {
  for value in 0 1 -1 1.5; do
    refused 2 "sti-run: --threshold is between 0 and 1, both excluded, such as 0.5" \
      sti-run multi.sti --threshold=$value "$text"
  done
  refused 2 "sti-run: --threshold is for multi-label models; model.sti gives one label an input" \
    sti-run model.sti --threshold 0.4 "$text"
}

@test "--eval: exact sets and binary cross-entropy" {
  printf '%s\n' "$text" "a movie" "turn it on" "the house" >texts
  sti-run -q --json multi.sti <texts >answers
  # Each input with its own answer: all right. One with another set: three of four.
  jq -r '[.text, ((.labels | join(",")) | if . == "" then "-" else . end)] | @tsv' answers >rows
  { printf 'sentence\tlabel\n'; cat rows; } >right.tsv
  works sti-run -q --json multi.sti --eval right.tsv
  holds "$output" '.examples == 4 and .accuracy == 1'
  loss=$(jq -s '[.[] | .labels as $said | [.logits | to_entries[] | "label_\(.key)" as $name |
    (.value | exp + 1 | log) - (if any($said[]; . == $name) then .value else 0 end)] | add / 4] | add / 4' answers)
  holds "$output" ".mean_loss - $loss | fabs < 0.0001"
  jq -c '{text, label: .labels}' answers >right.jsonl
  works sti-run -q --json multi.sti --eval right.jsonl
  holds "$output" '.accuracy == 1'
  sed '2s/\t.*/\tlabel_0,label_1,label_2,label_3/' right.tsv >wrong.tsv
  works sti-run -q --json multi.sti --eval wrong.tsv
  holds "$output" '.accuracy == 0.75'
  works sti-run -q --json --threshold 0.0001 multi.sti --eval wrong.tsv
  holds "$output" '.accuracy == 0.25'
}

@test "--eval --threshold: what is given is what inputs alone are given" {
  printf '%s\n' "$text" "a movie" "turn it on" "the house" >texts
  { printf 'sentence\tlabel\n'; sed 's/$/\tlabel_1/' texts; } >one.tsv
  local counts=""
  for threshold in 0.01 0.5 0.99; do
    sti-run -q --json --threshold $threshold multi.sti <texts >answers
    works sti-run -q --json --threshold $threshold multi.sti --eval one.tsv
    same "$(jq -c '.classes | [.label_0, .label_1, .label_2, .label_3 | .given // 0]' <<<"$output")" \
      "$(jq -sc '[.[].labels[]] as $all | [range(4) | "label_\(.)" as $name
        | [$all[] | select(. == $name)] | length]' answers)"
    counts+=" $(jq -s '[.[].labels | length] | add' answers)"
  done
  # Each threshold gives other labels.
  same "$(tr ' ' '\n' <<<"${counts# }" | sort -nu | wc -l)" 3
}

@test "sti-importance: each metric" {
  printf 'sentence\tlabel\n%s\tlabel_0,label_2\na movie\t-\n' "$text" >sets.tsv
  for metric in accuracy loss kl; do
    works sti-importance -q multi.sti --data sets.tsv --metric $metric --submodels -o a.json
    holds "$(cat a.json)" ".metric == \"$metric\" and .examples == 2"
  done
  holds "$(cat a.json)" '.submodels[-1].accuracy == 1 and (.submodels[-1].loss | fabs) < 1e-9'
  holds "$(cat a.json)" 'all(.scores[][]; . <= 0)'
}
