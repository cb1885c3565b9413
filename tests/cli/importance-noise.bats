# sti-importance says how much of a ranking is chance.
load helpers

setup() {
  make_links
  head -n 7 dev.tsv >six.tsv
}

@test "few examples and accuracy: one warning with the standard error and what to do" {
  run --separate-stderr sti-importance model.sti --data six.tsv --metric accuracy -o a.importance
  same "$status" 0
  like "${stderr_lines[0]}" "sti-importance: warning: the ranks are mostly noise (reliability 0.*, standard error *points); use more examples, or --metric loss or kl"
  works sti-importance show a.importance
  like "$output" "*mostly noise: more examples, or --metric loss or kl*"
}

@test "one example is no evidence, whatever the metric" {
  head -n 2 dev.tsv >one.tsv
  for metric in accuracy loss kl; do
    run --separate-stderr sti-importance model.sti --data one.tsv --metric $metric -o a.json
    same "$status" 0
    like "$stderr" "*warning: the ranks are mostly noise (reliability 0.00, *"
  done
}

@test "a ranking that stands out from its errors gets no warning" {
  jq -n '{model: ("ab" * 16), metric: "loss", layers: 2, width: 2, examples: 100, baseline: -1,
    scores: [[-0.5, -0.9], [-0.2, -1]], errors: [[0.01, 0.01], [0.01, 0.01]]}' >clear.json
  works sti-importance show clear.json
  like "$output" "*3 of 4 shards differ by more than two standard errors (one is 0.01)*"
  same "$(grep -c "mostly noise" <<<"$output" || true)" 0
}

@test "a file without standard errors says nothing of noise" {
  sti-importance show --json model.importance | jq 'del(.errors)' >old.json
  works sti-importance show old.json
  same "$(grep -cE "standard errors|reliability" <<<"$output" || true)" 0
}

@test "one label only: a warning, and the measurement goes on" {
  { head -n 1 dev.tsv && tail -n +2 dev.tsv | awk -F '\t' 'NR == 1 { l = $2 } $2 == l'; } >one.tsv
  [ "$(wc -l <one.tsv)" -ge 3 ]
  run --separate-stderr sti-importance model.sti --data one.tsv --metric loss -o a.importance
  same "$status" 0
  like "${stderr_lines[0]}" 'sti-importance: warning: one.tsv: all * examples are labelled "*", which loss rewards saying always; add other labels, or use --metric kl'
  [ -s a.importance ]
  run --separate-stderr sti-importance model.sti --data one.tsv --metric kl -o a.importance
  same "$(grep -c labelled <<<"$stderr" || true)" 0
}
