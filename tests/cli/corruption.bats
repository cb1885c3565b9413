# Files with flipped bytes and lost ends: each run ends in exit 3 and one line that names file and
# part, or gives what the whole file gives, where it does not read the damaged byte.
# tests/pipeline/corruption_test.cpp does the same in thousands; these are the tools themselves.
load helpers

seed=20240607
# Sets `random` to a number below LIMIT; the same sequence everywhere.
next_random() {
  seed=$(((seed * 1103515245 + 12345) & 0x7fffffff))
  random=$(((seed >> 3) % $1))
}

parts='header|index|not a shard container|container version|cut short|bytes, its header says'
parts+='|layer [0-9]+ slice [0-9]+ (base|plane [3-6]|full fidelity)|(layer [0-9]+|embedding|head) parameters'
parts+='|vocabulary|(word|position) embedding row [0-9]+|bytes between parts|(parts are|part is) damaged'
parts+='|payload|neither JSON|format version'

# FILE COMMAND...: runs it on the damaged FILE; the outcome is one of the two, counted in `refusals`
# and `unread`.
survives() {
  local file=$1 status=0 errors
  shift
  "$@" >out 2>err </dev/null || status=$?
  mapfile -t errors <err
  if [ $status -eq 0 ]; then
    cmp out whole.out
    unread=$((unread + 1))
    return
  fi
  same $status 3
  same ${#errors[@]} 1
  like "${errors[0]}" "$1: $file: *; *"
  [[ ${errors[0]#*"$file":} =~ $parts ]] || { echo "no part: ${errors[0]}"; return 1; }
  refusals=$((refusals + 1))
}

# FILE COUNT FROM COMMAND...: COUNT random bytes of FILE from offset FROM on, one at a time.
flip_many() {
  local file=$1 count=$2 from=$3 size at
  shift 3
  size=$(stat -c %s "$file")
  refusals=0 unread=0
  "$@" >whole.out 2>/dev/null </dev/null
  for ((i = 0; i < count; ++i)); do
    next_random $((size - from))
    at=$((from + random))
    flip "$file" $at
    survives "$file" "$@" || { echo "byte $at of $file"; return 1; }
    flip "$file" $at
  done
  same $((refusals + unread)) "$count"
  echo "# $1: $file: $count bytes flipped, $refusals refused, $unread not read" >&3
}

@test "sti-run on damaged containers" {
  cp "$repo/tests/data/v1/tiny.sti" tiny.sti
  chmod u+w tiny.sti
  flip_many tiny.sti 100 0 sti-run -q --bits 6 tiny.sti "a text of some words"
  # Without exact weights many bytes are planes, of which 4 bits read a half.
  sti-shard -q model -o a.sti --bits 2-6
  flip_many a.sti 60 0 sti-run -q --bits 4 a.sti "$alarm"
  [ $refusals -gt 5 ]
  [ $unread -gt 5 ]
}

@test "sti-inspect --verify finds every damaged byte" {
  cp "$repo/tests/data/v1/tiny.sti" tiny.sti
  chmod u+w tiny.sti
  flip_many tiny.sti 100 0 sti-inspect --verify tiny.sti
  same $unread 0
  cp -L model.sti a.sti
  flip_many a.sti 60 0 sti-inspect --verify a.sti
  same $unread 0
}

@test "header and index: every tool refuses" {
  cp -L model.sti a.sti
  index_bytes=$(od -An -tu8 -j 32 -N 8 a.sti)
  for tool in "sti-run -q a.sti text" "sti-inspect a.sti" "sti-plan -q a.sti --profile device.json --target 12ms -o x.plan" \
    "sti-importance -q a.sti --data few.tsv -o x.importance"; do
    : >whole.out
    refusals=0
    for ((i = 0; i < 12; ++i)); do
      next_random $((i < 4 ? 64 : 64 + index_bytes))
      at=$random
      flip a.sti "$at"
      # shellcheck disable=SC2086
      survives a.sti $tool || { echo "byte $at"; return 1; }
      flip a.sti "$at"
    done
    same $refusals 12
    [ ! -e x.plan ]
    [ ! -e x.importance ]
  done
}

@test "containers cut at every block" {
  cp "$repo/tests/data/v1/tiny.sti" whole.sti
  size=$(stat -c %s whole.sti)
  : >whole.out
  refusals=0 unread=0 cuts=0
  for ((edge = 0; edge <= size; edge += 4096)); do
    for off in -1 0 1; do
      length=$((edge + off))
      if [ $length -lt 0 ] || [ $length -eq "$size" ]; then continue; fi
      head -c $length whole.sti >cut.sti
      [ $length -gt "$size" ] && echo -n x >>cut.sti
      survives cut.sti sti-run -q --bits 6 cut.sti text || { echo "$length bytes"; return 1; }
      survives cut.sti sti-inspect --verify cut.sti || { echo "$length bytes"; return 1; }
      cuts=$((cuts + 2))
    done
  done
  same $refusals $cuts
}

@test "small files: every tool that reads them" {
  for kind in importance profile plan; do
    cp "$repo/tests/data/v1/tiny.$kind" "bad.$kind"
    chmod u+w "bad.$kind"
    flip_many "bad.$kind" 40 0 sti-inspect --verify "bad.$kind"
    same $unread 0
  done
  sti="$repo/tests/data/v1/tiny.sti"
  plan=(sti-plan -q "$sti" --target 1s --preload 12KiB -o -)
  flip_many bad.profile 25 0 "${plan[@]}" --profile bad.profile
  same $unread 0
  flip_many bad.importance 25 0 "${plan[@]}" --profile "$repo/tests/data/v1/tiny.profile" \
    --importance bad.importance
  same $unread 0
  flip_many bad.plan 25 0 sti-run -q "$sti" --plan bad.plan "some text"
  same $unread 0
}
