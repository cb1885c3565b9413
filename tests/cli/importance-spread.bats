# The job engines of examples/importance-jobs, each run for real: parts joined give the bytes of
# the undivided run.
load helpers
load slurm

jobs="$repo/examples/importance-jobs"

setup() {
  make_links
  head -n 7 dev.tsv >six.tsv
}

teardown() { slurm_stop; }

whole() { sti-importance -q model.sti --data six.tsv --metric loss "$@" -o whole.importance; }

@test "GNU parallel" {
  command -v parallel >/dev/null || skip "no GNU parallel; install parallel"
  whole --gains
  works "$jobs/parallel-importance" model.sti six.tsv a.importance 5 --metric loss --gains
  cmp a.importance whole.importance
  [ ! -e a.importance.parts ]
}

# Puts a sti-importance first in PATH whose third part fails the first time. It notes in calls what
# is asked for, and in done which parts it found done.
make_flaky() {
  mkdir bin
  cat >bin/sti-importance <<SCRIPT
#!/bin/bash
echo "\$*" >>$PWD/calls
case "\$*" in *"--part 3/4"*) if mkdir $PWD/failed 2>/dev/null; then exit 1; fi ;; esac
code=0
$STI_BIN/sti-importance "\$@" -v 2>$PWD/said.\$\$ || code=\$?
grep 'units are done' $PWD/said.\$\$ >>$PWD/done
[ \$code -eq 0 ] || cat $PWD/said.\$\$ >&2
exit \$code
SCRIPT
  chmod +x bin/sti-importance
  PATH="$PWD/bin:$PATH"
}

in_parts() { "$jobs/parallel-importance" model.sti six.tsv a.importance 4 "$@"; }

@test "GNU parallel: an aborted run's finished parts are used again" {
  command -v parallel >/dev/null || skip "no GNU parallel; install parallel"
  whole
  make_flaky
  run in_parts --metric loss
  [ "$status" -ne 0 ]
  [ ! -e a.importance ]
  same "$(cat done)" ""
  made=$(ls a.importance.parts/*.part | wc -l)
  [ "$made" -gt 0 ]
  works in_parts --metric loss
  cmp a.importance whole.importance
  same "$(grep -c -- "--part 3/4" calls)" 2
  # Each part found is whole: as many of its units are done as it has.
  same "$(grep -cE '\.part: ([0-9]+) of \1 units are done$' done)" "$made"
}

@test "GNU parallel: parts of another request are refused, not merged" {
  command -v parallel >/dev/null || skip "no GNU parallel; install parallel"
  whole
  make_flaky
  run in_parts --metric loss
  [ "$status" -ne 0 ]
  run in_parts --metric accuracy
  same "$status" 1
  like "$output" "*.part: is of another metric (loss, not accuracy), so it cannot be resumed*"
  like "$output" "*parallel-importance: a part failed; run this again, or remove a.importance.parts if the request has changed"
  run "$jobs/parallel-importance" model.sti few.tsv a.importance 4 --metric loss
  same "$status" 1
  like "$output" "*.part: is of other data (*"
  [ ! -e a.importance ]
  works in_parts --metric loss
  cmp a.importance whole.importance
}

@test "GNU parallel: all parts finished, then another request" {
  command -v parallel >/dev/null || skip "no GNU parallel; install parallel"
  mkdir a.importance.parts
  for part in 1 2; do
    sti-importance -q model.sti --data six.tsv --metric loss --part $part/2 \
      -o a.importance.parts/$part.part
  done
  run "$jobs/parallel-importance" model.sti six.tsv a.importance 2 --metric kl
  same "$status" 1
  [ ! -e a.importance ]
  # What else lies in the folder is no part of this.
  cp a.importance.parts/2.part a.importance.parts/9.part
  works "$jobs/parallel-importance" model.sti six.tsv a.importance 2 --metric loss
  whole
  cmp a.importance whole.importance
}

@test "a Slurm array" {
  slurm_start "$BATS_TEST_TMPDIR/slurm"
  whole
  works "$jobs/slurm-importance" model.sti six.tsv a.importance 3 --metric loss
  cmp a.importance whole.importance
  [ ! -e a.importance.parts ]
}

ci() { env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -f "$jobs/Makefile" -j2 MODEL=m.sti DATA=d.tsv OUT=a.importance PARTS=3 "$@"; }

@test "make redoes what changed by content, not by time" {
  whole
  cp model.sti m.sti
  cp six.tsv d.tsv
  same "$(ci)" "made a.importance"
  cmp a.importance whole.importance
  made=$(stat -c %y a.importance .importance/*/*.part)
  touch m.sti d.tsv
  same "$(ci)" ""
  same "$(stat -c %y a.importance .importance/*/*.part)" "$made"
  # A part that went missing is the only one redone, and only if the whole did too.
  rm .importance/*/2.part .importance/*/whole
  kept=$(stat -c %y .importance/*/[13].part)
  same "$(ci)" ""
  same "$(stat -c %y .importance/*/[13].part)" "$kept"
  # Other data, with the old file's time.
  head -n 5 dev.tsv >d.tsv
  touch -r six.tsv d.tsv
  same "$(ci)" "made a.importance"
  holds "$(sti-importance show --json a.importance)" '.examples == 4'
  # Back again: nothing is measured, the old parts serve.
  cp six.tsv d.tsv
  same "$(ci)" "made a.importance"
  cmp a.importance whole.importance
  same "$(stat -c %y .importance/*/[13].part | grep -cFf <(echo "$kept"))" 2
}

@test "make redoes a model that was sharded again with other bits, or for another kernel" {
  cp six.tsv d.tsv
  sti-shard -q model -o m.sti --bits 2,4
  same "$(ci)" "made a.importance"
  sti-shard -q model -o m.sti --bits 2,6
  same "$(ci)" "made a.importance"
  sti-importance -q m.sti --data d.tsv --metric loss -o whole.importance
  cmp a.importance whole.importance
  sti-shard -q model -o m.sti --bits 3,6
  same "$(ci)" "made a.importance"
  same "$(ls .importance | wc -l)" 3
  sti-importance -q m.sti --data d.tsv --compute bf16 -o x 2>/dev/null || skip "no bf16 here"
  same "$(ci OPTIONS='--metric loss --compute auto')" "made a.importance"
  holds "$(sti-importance show --json a.importance)" '.kernel | endswith("bf16")'
  mkdir bin
  # Another CPU, for which auto is another kernel.
  cat >bin/sti-importance <<SCRIPT
#!/bin/sh
for word; do
  shift
  [ "\$word" != auto ] || word=fp32
  set -- "\$@" "\$word"
done
exec $STI_BIN/sti-importance "\$@"
SCRIPT
  chmod +x bin/sti-importance
  PATH="$PWD/bin:$PATH"
  same "$(ci OPTIONS='--metric loss --compute auto')" "made a.importance"
  holds "$(sti-importance show --json a.importance)" '.kernel | endswith("fp32")'
}

@test "make: a model that cannot be read is an error" {
  cp six.tsv d.tsv
  run ci MODEL=none.sti
  same "$status" 2
  like "$output" "*cannot read MODEL=none.sti or DATA=d.tsv*"
}
