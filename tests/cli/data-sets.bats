# Data sets as people have them: the same rows in any spelling are the same data, and a file whose
# columns cannot be told is refused.
load helpers

options="--text-column, --pair-column and --label-column"

# Six rows in each spelling: rows.tsv, rows.csv with quotes, rows.jsonl, and other.tsv with names
# that nobody knows and a text beside the one that is meant.
make_spellings() {
  head -n 7 few.tsv >rows.tsv
  tail -n +2 rows.tsv >bare.tsv
  { printf 'label,text\r\n'; awk -F '\t' '{ printf "%s,\"%s\"\r\n", $2, $1 }' bare.tsv; } >rows.csv
  jq -R -c 'split("\t") | {text: .[0], label: .[1]}' bare.tsv >rows.jsonl
  { printf 'utterance\tcomment\tintent\n'; awk -F '\t' '{ print $1 "\tno comment\t" $2 }' bare.tsv; } >other.tsv
}

@test "sti-run and sti-importance read the same from every spelling" {
  make_spellings
  chosen=(--text-column utterance --label-column intent)
  sti-run -q --json model.sti --eval rows.tsv >rows.result
  sti-importance -q model.sti --data rows.tsv --metric loss --quick -o rows.importance
  while read -r file columns; do
    # shellcheck disable=SC2086
    works sti-run -q --json model.sti --eval "$file" $columns
    same "$(jq -c '[.examples, .accuracy, .mean_loss]' <<<"$output")" \
      "$(jq -c '[.examples, .accuracy, .mean_loss]' rows.result)"
    # shellcheck disable=SC2086
    works sti-importance -q model.sti --data "$file" $columns --metric loss --quick -o a.importance
    cmp a.importance rows.importance
  done <<END
rows.csv
rows.jsonl
other.tsv ${chosen[*]}
bare.tsv --text-column 1 --label-column 2
END
}

@test "a column of text that nothing would read is refused by both tools" {
  printf 'question\tcontext\tlabel\nwho\tsome one\tgreeting\n' >bad.tsv
  printf 'sentence\tcontext\tlabel\nwho\tsome one\tgreeting\n' >left.tsv
  for tool in "sti-run -q model.sti --eval" "sti-importance model.sti -o a.importance --data"; do
    # shellcheck disable=SC2086
    refused 3 "${tool%% *}: bad.tsv:1: no text such as \"sentence\" or \"text\" among \"question\", \"context\", \"label\"; name the columns with $options, *" $tool bad.tsv
    # shellcheck disable=SC2086
    refused 3 "${tool%% *}: left.tsv:1: nothing would read the text in \"context\"; name the columns with $options, *" $tool left.tsv
  done
}

@test "CoLA has no header: refused, or read by numbers" {
  printf 'gj04\t1\t\tOur friends will not buy this\n' >cola.tsv
  refused 3 "sti-run: cola.tsv:1: no text such as *; name the columns with $options, or number them from 1 if there is no header" \
    sti-run -q model.sti --eval cola.tsv
  works sti-run -q --json model.sti --eval cola.tsv --text-column 4 --label-column 2
  holds "$output" '.examples == 1'
}

@test "STS-B predicts a number: refused" {
  printf 'sentence1\tsentence2\tscore\na\tb\t5.0\n' >sts.tsv
  refused 3 'sti-run: sts.tsv:1: "score" is a number to predict, and regression is not supported; *' \
    sti-run -q model.sti --eval sts.tsv
}

@test "a pair is the model's pair: QNLI asks with its question" {
  printf 'index\tquestion\tsentence\tlabel\n0\tis it seven\tset an alarm\t1\n' >qnli.tsv
  printf 'sentence1\tsentence2\tlabel\nis it seven\tset an alarm\t1\n' >rte.tsv
  printf 'sentence\tlabel\nset an alarm\t1\n' >alone.tsv
  loss() { sti-run -q --json model.sti --eval "$@" | jq .mean_loss; }
  same "$(loss qnli.tsv)" "$(loss rte.tsv)"
  [ "$(loss qnli.tsv)" != "$(loss alone.tsv)" ]
  same "$(loss qnli.tsv --text-column sentence)" "$(loss alone.tsv)"
}
