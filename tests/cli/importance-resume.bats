# sti-importance --resume: killed at any moment, the work goes on and ends in the same bytes.
load helpers

setup() {
  make_links
  head -n 21 dev.tsv >twenty.tsv
}

measure() { sti-importance -q model.sti --data twenty.tsv --metric loss --threads 1 "$@"; }

# SECONDS OPTION...: starts a run and kills it after that long. False if it was done before.
killed_after() {
  local code=0
  timeout -s KILL "$1" sti-importance -q model.sti --data twenty.tsv --metric loss --threads 1 \
    "${@:2}" || code=$?
  [ "$code" -ne 0 ]
}

# How long an undisturbed run takes, so that kills fall all over it on any machine.
time_whole() {
  local begin=${EPOCHREALTIME/./}
  measure -o whole.importance
  whole_ms=$(((${EPOCHREALTIME/./} - begin) / 1000))
}

seconds_of() { printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)); }

@test "killed 50 times at random, each time resumed, it ends in the undisturbed bytes" {
  time_whole
  RANDOM=8
  local wanted=50 kills=0 progressed=0 ended=0
  if [ $whole_ms -gt 3000 ]; then wanted=10; fi # a build with a sanitizer, say
  while [ $kills -lt $wanted ]; do
    if killed_after "$(seconds_of $((RANDOM % whole_ms + 10)))" --resume -o a.importance; then
      kills=$((kills + 1))
    fi
    if [ -e a.importance.resume ]; then progressed=$((progressed + 1)); fi
    if [ -e a.importance ]; then
      ended=$((ended + 1))
      cmp a.importance whole.importance
      rm a.importance
    fi
  done 2>kills.log
  measure --resume -o a.importance
  cmp a.importance whole.importance
  [ ! -e a.importance.resume ]
  no_leftovers
  echo "killed $kills times, $progressed with progress kept; ended $ended times"
  [ $((progressed + ended)) -gt 5 ]
}

@test "a part is resumed too, and a finished one is not done again" {
  time_whole
  for part in 1/2 2/2; do
    for ((ms = whole_ms / 4; ms < 100 * whole_ms; ms += whole_ms / 4)); do
      killed_after "$(seconds_of $ms)" --resume --part $part -o "p${part%/*}" || break
    done
  done
  works sti-importance merge -q p1 p2 -o joined.importance
  cmp joined.importance whole.importance
  cp p2 before
  run --separate-stderr sti-importance -v model.sti --data twenty.tsv --metric loss --resume \
    --part 2/2 -o p2
  like "$stderr" "*sti-importance: p2: * of * units are done*"
  cmp p2 before
}

@test "SIGTERM keeps what was done" {
  measure -o whole.importance
  sti-importance model.sti --data twenty.tsv --metric loss --threads 1 -o a.importance 2>errors &
  local process=$! code=0
  for _ in {1..200}; do
    [ ! -e a.importance.resume ] || break
    sleep 0.02
  done
  kill -TERM "$process"
  wait "$process" || code=$?
  [ "$code" -eq 143 ] || skip "done before it could be stopped"
  same "$(cat errors)" ""
  [ ! -e a.importance ]
  works sti-inspect a.importance.resume
  like "${lines[0]}" "part 1/1 of an importance: units 1 to * of 73, unfinished: * to do"
  refused 3 "sti-importance: a.importance.resume: part 1/1 is unfinished (* of 73 units done); let it finish, with --resume" \
    sti-importance merge a.importance.resume -o x.importance
  works measure --resume -o a.importance
  cmp a.importance whole.importance
  [ ! -e a.importance.resume ]
}

# Leaves a.importance.resume of some units.
leave_progress() {
  local tries
  time_whole
  for tries in 3 4 5 6 7 8; do
    rm -f a.importance
    if killed_after "$(seconds_of $((whole_ms * tries / 10)))" -o a.importance &&
      [ -e a.importance.resume ]; then return; fi
  done
  skip "no run could be killed between a checkpoint and the end"
}

@test "progress of other work is refused, with what to do" {
  leave_progress
  cp a.importance.resume kept
  is_refused() {
    refused 3 "sti-importance: a.importance.resume: is of $1, so it cannot be resumed; start again without --resume" \
      sti-importance "${@:2}" --resume -o a.importance
    cmp a.importance.resume kept
  }
  make_other_model
  is_refused "another model (*)" other.sti --data twenty.tsv --metric loss
  is_refused "other data (*)" model.sti --data few.tsv --metric loss
  is_refused "another metric (loss, not kl)" model.sti --data twenty.tsv --metric kl
  is_refused "another part of the work" model.sti --data twenty.tsv --metric loss --part 1/2
  is_refused "a measurement without gains" model.sti --data twenty.tsv --metric loss --gains
  flip a.importance.resume 100
  refused 3 "sti-importance: a.importance.resume: the payload does not match its checksum; *" \
    sti-importance model.sti --data twenty.tsv --metric loss --resume -o a.importance
}

@test "progress of the same work is gone on with, --resume or not" {
  leave_progress
  units=$(sti-inspect a.importance.resume | sed -nE '1s/.*units 1 to ([0-9]+) of.*/\1/p')
  run --separate-stderr sti-importance -v model.sti --data twenty.tsv --metric loss -o a.importance
  same "$status" 0
  like "$stderr" "sti-importance: a.importance.resume: $units of 73 units are done*"
  cmp a.importance whole.importance
  [ ! -e a.importance.resume ]
}

@test "without --resume progress of other work is replaced, with a warning" {
  leave_progress
  cp a.importance.resume kept
  measure --gains -o other.importance 2>/dev/null
  run --separate-stderr sti-importance model.sti --data twenty.tsv --metric loss --gains -o a.importance
  same "$status" 0
  like "${stderr_lines[0]}" "sti-importance: warning: a.importance.resume: is of a measurement without gains, so it cannot be resumed; it is replaced"
  cmp a.importance other.importance
  flip kept 100
  mv kept a.importance.resume
  run --separate-stderr sti-importance model.sti --data twenty.tsv --metric loss -o a.importance
  same "$status" 0
  like "${stderr_lines[0]}" "sti-importance: warning: a.importance.resume: the payload does not match its checksum*; it is replaced"
  cmp a.importance whole.importance
}

@test "Ctrl-C says how to go on" {
  env --default-signal=INT sti-importance model.sti --data dev.tsv --metric loss --threads 1 \
    -o a.importance 2>errors &
  local process=$! code=0
  for _ in {1..200}; do
    [ ! -e a.importance.resume ] || break
    sleep 0.02
  done
  kill -INT "$process"
  wait "$process" || code=$?
  [ "$code" -eq 130 ] || skip "done before it could be stopped"
  like "$(cat errors)" "sti-importance: a.importance.resume: * of * units are done; the same command goes on from there"
}

@test "temporaries of a killed run go with --resume; what only has their name stays" {
  measure -o whole.json
  head -c 100 whole.json >a.importance.tmpJJJJJJ
  head -c 100 model.importance >a.importance.tmpIIIIII
  head -c 100 model.importance >a.importance.resume.tmpIIIIII
  : >a.importance.tmpEEEEEE
  : >a.importance.resume.tmpEEEEEE
  mkdir a.importance.tmpfolder a.importance.resume.tmpfolder
  echo mine >a.importance.tmpstuffs
  echo mine >a.importance.resume.tmpstuffs
  echo mine >a.importance.tmp
  : >a.importance.tmpEEEEEEE
  : >b.importance.tmpEEEEEE
  ln -s b.importance.tmpEEEEEE a.importance.tmplinked
  measure --resume -o a.importance
  same "$(ls -d ?.importance*)" "$(printf '%s\n' a.importance a.importance.resume.tmpfolder \
    a.importance.resume.tmpstuffs a.importance.tmp a.importance.tmpEEEEEEE \
    a.importance.tmpfolder a.importance.tmplinked a.importance.tmpstuffs b.importance.tmpEEEEEE | sort)"
}

@test "a folder with the name of the progress stays" {
  mkdir a.importance.resume
  measure -o a.importance 2>/dev/null
  [ -d a.importance.resume ]
}

@test "--resume with nothing to resume begins at the beginning" {
  run --separate-stderr sti-importance -v model.sti --data twenty.tsv --metric loss --resume \
    -o a.importance
  same "$status" 0
  like "$stderr" "sti-importance: a.importance.resume: not there, so the work begins at its beginning*"
  refused 2 "sti-importance: --resume: progress is kept beside a file; name one with -o" \
    sti-importance model.sti --data twenty.tsv --resume -o -
}

@test "a full disk: one warning, then the output's own error, and what there was stays" {
  [ "$(id -u)" -eq 0 ] || skip "needs root to mount a small disk"
  mkdir small
  mount -t tmpfs -o size=64k tmpfs small 2>/dev/null || skip "may not mount"
  full=$PWD/small
  echo older >small/a.importance
  echo older >small/a.importance.resume
  cat /dev/zero >small/rest 2>/dev/null || true
  run --separate-stderr sti-importance model.sti --data twenty.tsv --metric loss --threads 1 \
    -o small/a.importance
  same "$status" 1
  same "${#stderr_lines[@]}" 2
  like "${stderr_lines[0]}" "sti-importance: warning: small/a.importance.resume: *No space left on device; the work goes on, but --resume would begin earlier"
  like "${stderr_lines[1]}" "sti-importance: small/a.importance: *No space left on device"
  same "$(cat small/a.importance small/a.importance.resume)" $'older\nolder'
  no_leftovers
}

teardown() {
  if [ -n "${full:-}" ]; then umount "$full" 2>/dev/null || true; fi
}
