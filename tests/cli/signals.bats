# Signals and closed pipes: tools end soon, quietly, and leave nothing behind.
load helpers

# SIGNAL CODE: sti-run is stopped while it waits for its second line; the first is answered.
stops_on() {
  mkfifo lines
  # A background job of a script ignores SIGINT; setsid's child would too, so env restores it.
  env --default-signal=INT sti-run -q model.sti --plan model.plan <lines >answers 2>errors &
  local process=$! code=0
  exec 7>lines
  echo "$alarm" >&7
  for _ in {1..400}; do
    [ -s answers ] && break
    sleep 0.05
  done
  kill "-$1" "$process"
  wait "$process" || code=$?
  exec 7>&-
  same "$code" "$2"
  like "$(cat answers)" $'alarm\t*'
  same "$(cat errors)" ""
}

@test "SIGINT while waiting for a line: 130" { stops_on INT 130; }

@test "SIGTERM while waiting for a line: 143" { stops_on TERM 143; }

@test "SIGTERM while measuring: 143, quietly, and nothing is written" {
  for _ in {1..20}; do tail -n +2 dev.tsv; done | sed $'1i sentence\tlabel' >many.tsv
  sti-importance model.sti --data many.tsv --metric loss -o a.importance 2>errors &
  local process=$! code=0
  sleep 0.5
  kill -TERM "$process"
  wait "$process" || code=$?
  same "$code" 143
  same "$(cat errors)" ""
  [ ! -e a.importance ]
  no_leftovers
}

@test "SIGTERM while sharding: 143 or done, and the older container or the new one, whole" {
  echo "an older container" >old.sti
  sti-shard -q model -o old.sti --threads 1 &
  local process=$! code=0
  sleep 0.05
  kill -TERM "$process" 2>/dev/null || true
  wait "$process" || code=$?
  if [ "$(head -c 8 old.sti)" = "an older" ]; then same "$code" 143; else cmp old.sti model.sti; fi
  no_leftovers
}

@test "a reader that goes away ends sti-run with 141, quietly" {
  yes "$alarm" | head -n 20000 >lines
  set +o pipefail
  sti-run -q model.sti --plan model.plan <lines 2>errors | head -n 1 >first
  local codes=("${PIPESTATUS[@]}")
  same "${codes[0]}" 141
  like "$(cat first)" $'alarm\t*'
  same "$(cat errors)" ""
}

@test "a closed stdout of the other tools: 141" {
  for command in "sti-inspect model.sti" "sti-inspect --json model.plan" \
    "sti-importance show model.importance" "sti-run --help" \
    "sti-plan model.sti --profile device.json --target 12ms -o -"; do
    # The pipe's reader has ended before the tool writes.
    mkfifo pipe
    exec 8<>pipe
    exec 9>pipe
    exec 8<&-
    code=0
    $command >&9 2>errors || code=$?
    exec 9>&-
    rm pipe
    same "$command: $code" "$command: 141"
    same "$(cat errors)" ""
  done
}

@test "a full disk is the machine's fault: exit 1, and said" {
  [ -c /dev/full ] || skip "needs /dev/full"
  for command in "sti-inspect --json model.sti" "sti-run -q model.sti hello" \
    "sti-plan model.sti --profile device.json --target 12ms -o -"; do
    code=0
    $command >/dev/full 2>errors || code=$?
    same "$command: $code" "$command: 1"
    same "$(cat errors)" "${command%% *}: stdout: cannot write all of the output; is the disk full?"
  done
}
