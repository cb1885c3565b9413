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

@test "GNU parallel: an aborted run's finished parts are used again" {
  command -v parallel >/dev/null || skip "no GNU parallel; install parallel"
  whole
  mkdir bin
  # The first time, the third part fails.
  cat >bin/sti-importance <<SCRIPT
#!/bin/sh
echo "\$*" >>$PWD/calls
case "\$*" in *"--part 3/4"*) if mkdir $PWD/failed 2>/dev/null; then exit 1; fi ;; esac
exec $STI_BIN/sti-importance "\$@"
SCRIPT
  chmod +x bin/sti-importance
  PATH="$PWD/bin:$PATH"
  run "$jobs/parallel-importance" model.sti six.tsv a.importance 4 --metric loss
  [ "$status" -ne 0 ]
  [ ! -e a.importance ]
  works "$jobs/parallel-importance" model.sti six.tsv a.importance 4 --metric loss
  cmp a.importance whole.importance
  same "$(grep -c -- "--part 1/4" calls)" 1
  same "$(grep -c -- "--part 3/4" calls)" 2
}

@test "a Slurm array" {
  slurm_start "$BATS_TEST_TMPDIR/slurm"
  whole
  works "$jobs/slurm-importance" model.sti six.tsv a.importance 3 --metric loss
  cmp a.importance whole.importance
  [ ! -e a.importance.parts ]
}

ci() { make -s -f "$jobs/Makefile" -j2 MODEL=m.sti DATA=d.tsv OUT=a.importance PARTS=3 "$@"; }

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

@test "make: a model that cannot be read is an error" {
  cp six.tsv d.tsv
  run ci MODEL=none.sti
  same "$status" 2
  like "$output" "*cannot read MODEL=none.sti or DATA=d.tsv*"
}
