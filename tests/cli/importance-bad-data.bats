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
  is_refused "sti-importance: bad.jsonl:2: not well-formed JSON at byte 16; give one object a line" bad.jsonl
}

@test "JSON Lines without text" {
  printf '{"utterance":"hello","label":"greeting"}\n' >bad.jsonl
  is_refused 'sti-importance: bad.jsonl:1: no text such as "sentence" or "text" among "label", "utterance"; name the columns with --text-column, *' bad.jsonl
}

@test "a file that is not there" {
  is_refused "sti-importance: none.tsv: no such file" none.tsv
}

@test "a container of one bitwidth has nothing to raise" {
  sti-shard -q model -o one.sti --bits 2
  refused 3 "sti-importance: one.sti: has one bitwidth only, so no shard can be raised; *" \
    sti-importance one.sti --data few.tsv -o a.importance
}

@test "a set of another task: its first label is named" {
  printf 'sentence1\tsentence2\tlabel\nIt rains.\tIt is wet.\tentailment\n' >rte.tsv
  is_refused 'sti-importance: rte.tsv:2: label "entailment" is none of the model'"'"'s; *' rte.tsv
}

@test "--metric kl takes no labels: another task's, this model's and none give the same bytes" {
  printf 'sentence\tlabel\nhello\tentailment\nfly\t7.5\n' >other.tsv
  printf 'sentence\tlabel\nhello\tgreeting\nfly\t\n' >own.tsv
  printf 'sentence\nhello\nfly\n' >plain.tsv
  printf '{"text":"hello","label":[1.5]}\n{"text":"fly","label":"*"}\n' >other.jsonl
  for data in plain.tsv other.tsv own.tsv other.jsonl; do
    works sti-importance -q model.sti --data $data --metric kl -o a.importance
    works sti-importance -q model.sti --data $data --metric kl --quick -o quick.importance
    [ $data = plain.tsv ] && mv a.importance kl.importance && mv quick.importance quick
    [ $data = plain.tsv ] || cmp a.importance kl.importance
    [ $data = plain.tsv ] || cmp quick.importance quick
  done
  rm a.importance
  is_refused 'sti-importance: own.tsv:3: no label; *' own.tsv # kl alone does without
}

@test "invalid UTF-8 is measured as U+FFFD" {
  printf 'sentence\tlabel\nset an \xff alarm\taccept_reservations\nhello\tgreeting\n' >bad.tsv
  printf 'sentence\tlabel\nset an \xef\xbf\xbd alarm\taccept_reservations\nhello\tgreeting\n' >good.tsv
  works sti-importance -q model.sti --data bad.tsv --metric loss -o bad.json
  works sti-importance -q model.sti --data good.tsv --metric loss -o good.json
  same "$(jq -c .scores bad.json)" "$(jq -c .scores good.json)"
}

@test "an output folder that does not exist" {
  refused 1 "sti-importance: none/a.importance: *" \
    sti-importance -q model.sti --data few.tsv --metric loss -o none/a.importance
}

@test "a closed stdout ends quietly with 141" {
  head -n 3 dev.tsv >two.tsv
  status=0
  sti-importance -q model.sti --data two.tsv --metric loss -o - 2>errors >&- || status=$?
  same "$status" 141
  same "$(cat errors)" ""
}

@test "a full disk: one line, what there was stays, no temporary" {
  [ "$(id -u)" -eq 0 ] || skip "only root can mount a small file system"
  mkdir small
  mount -t tmpfs -o size=64k tmpfs small 2>/dev/null || skip "cannot mount a tmpfs here"
  full_disk small || { umount small; return 1; }
  umount small
}

full_disk() { # FOLDER
  sti-importance -q model.sti --data few.tsv --metric loss -o "$1/a.importance" || return
  mv "$1/a.importance" "$1/a.png"
  cp "$1/a.png" before
  dd if=/dev/zero of="$1/filler" bs=1k count=64 2>/dev/null || true
  run --separate-stderr sti-importance show model.importance --png "$1/a.png"
  same "$status" 1 || return
  like "$stderr" "sti-importance: $1/a.png: *" || return
  cmp before "$1/a.png" || return
  same "$(ls "$1")" $'a.png\nfiller'
}
