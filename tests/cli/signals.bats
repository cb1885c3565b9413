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
  await_answers 1
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

# FOLDER: waits until a temporary is there, for as long as the background job runs.
await_temporary() {
  until compgen -G "$1/*.tmp*" >/dev/null; do
    kill -0 $! 2>/dev/null || return 0
    sleep 0.01
  done
}

@test "whatever signal ends a tool, no temporary stays" {
  mkdir out
  for signal in HUP QUIT XCPU ALRM USR1 USR2 VTALRM PROF ABRT; do
    sti-inspect model.sti --export 6 -q -o out/exported &
    await_temporary out
    local code=0
    kill "-$signal" $! 2>/dev/null || true
    wait $! 2>/dev/null || code=$?
    same "$signal $(find out -name '*.tmp*')" "$signal "
    if [ ! -e out/exported ]; then same "$signal $code" "$signal $((128 + $(kill -l "$signal")))"; fi
    rm -rf out/exported
  done
}

@test "what a killed tool leaves goes with the next, what a running one writes does not" {
  mkdir out
  local export_6=(sti-inspect model.sti --export 6 -q -o out/exported) left code=0
  "${export_6[@]}" &
  await_temporary out
  kill -KILL $! 2>/dev/null || true
  wait $! 2>/dev/null || true
  left=$(find out -maxdepth 1 -name '*.tmp*')
  [ -n "$left" ] || skip "done before it could be killed"
  "${export_6[@]}" 2>errors &
  for _ in {1..1000}; do
    [ -e "$left" ] || break
    sleep 0.01
  done
  [ ! -e "$left" ]
  await_temporary out
  kill -STOP $!
  works sti-inspect model.sti --export 6 -q -o out/exported
  kill -CONT $!
  wait $! || code=$?
  same "$code" 1
  like "$(cat errors)" "sti-inspect: out/exported: cannot rename to it: Directory not empty"
  same "$(ls out)" exported
}

@test "a file above the limit of the process: exit 1, said, and nothing left" {
  mkdir out
  local code=0
  (ulimit -f 100 && exec sti-shard -q model -o out/x.sti) 2>errors || code=$?
  same "$code" 1
  like "$(cat errors)" "sti-shard: out/x.sti: cannot write: File too large"
  same "$(ls out)" ""
}

@test "a signal that was ignored at the start stays ignored" {
  for signal in HUP INT TERM USR1; do
    rm -f lines answers
    mkfifo lines
    env --ignore-signal=$signal sti-run -q model.sti --plan model.plan <lines >answers &
    exec 7>lines
    echo "$alarm" >&7
    await_answers 1
    kill "-$signal" $!
    echo "$alarm" >&7
    exec 7>&-
    wait $!
    same "$(wc -l <answers)" 2
  done
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
