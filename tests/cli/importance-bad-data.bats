# A dev set that cannot be used: exit 3, file and line named, nothing written.
load helpers

is_refused() { # LINE DATA
  refused 3 "$1" sti-importance model.sti --data "$2" --metric loss -o a.importance
  [ ! -e a.importance ]
  no_leftovers
}

@test "a label that the model does not have" {
  printf 'sentence\tlabel\nhello\tgreeting\nfly\tteleport\n' >bad.tsv
  is_refused 'sti-importance: bad.tsv:3: label "teleport" is none of the model'"'"'s; use accept_reservations, * or an id below 151' bad.tsv
}

@test "an id beyond the labels" {
  printf 'sentence\tlabel\nhello\t151\n' >bad.tsv
  is_refused 'sti-importance: bad.tsv:2: label "151" is none of the model'"'"'s; *' bad.tsv
}

@test "a missing label" {
  printf 'sentence\tlabel\nhello\t\n' >bad.tsv
  is_refused "sti-importance: bad.tsv:2: no label; labels are needed here" bad.tsv
}

@test "a line with too few columns" {
  printf 'sentence\tlabel\nhello\tgreeting\nonly text\n' >bad.tsv
  is_refused "sti-importance: bad.tsv:3: *" bad.tsv
}

@test "a header without the columns" {
  printf 'utterance\tintent\nhello\tgreeting\n' >bad.tsv
  is_refused "sti-importance: bad.tsv:1: *sentence*" bad.tsv
}

@test "a header and no examples" {
  printf 'sentence\tlabel\n' >bad.tsv
  is_refused "sti-importance: bad.tsv: no examples; give at least one line of data" bad.tsv
}

@test "an empty file" {
  : >bad.tsv
  is_refused "sti-importance: bad.tsv*" bad.tsv
}

@test "a broken line among JSON Lines" {
  printf '{"text":"hello","label":"greeting"}\n{"text":"hello"\n' >bad.jsonl
  is_refused "sti-importance: bad.jsonl:2: not a JSON object; give one object a line" bad.jsonl
}

@test "JSON Lines without text" {
  printf '{"utterance":"hello","label":"greeting"}\n' >bad.jsonl
  is_refused 'sti-importance: bad.jsonl:1: no text; give "sentence", *' bad.jsonl
}

@test "a file that is not there" {
  is_refused "sti-importance: none.tsv: no such file" none.tsv
}

@test "a container of one bitwidth has nothing to raise" {
  sti-shard -q model -o one.sti --bits 2
  refused 3 "sti-importance: one.sti: has one bitwidth only, so no shard can be raised; *" \
    sti-importance one.sti --data few.tsv -o a.importance
}
