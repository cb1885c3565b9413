# Machines that are short of something: descriptors, memory, room on the disk, a stdin. And kill -9.
load helpers

teardown() {
  if [ -n "${full:-}" ]; then umount "$full" 2>/dev/null || umount -l "$full" || true; fi
  if [ -n "${group:-}" ]; then rmdir "$group" 2>/dev/null || true; fi
}

# COUNT COMMAND...: with so many descriptors, three of which are the standard streams, and without
# those that Bats has open.
# shellcheck disable=SC2016
with_descriptors() {
  timeout 60 bash -c 'for fd in 3 4 5 6 7 8 9 10 11 12; do eval "exec $fd>&-"; done
    ulimit -n $1; shift; exec "$@"' - "$@"
}

# COMMAND...: with a stdin that is closed, not empty.
# shellcheck disable=SC2016
without_stdin() { bash -c 'exec timeout 60 "$@" <&-' - "$@"; }

# UndefinedBehaviorSanitizer asks through a pipe whether memory is there.
no_descriptors() { skip_if_sanitized "sanitizers need descriptors of their own"; }

@test "no descriptor for io_uring: reads go another way" {
  no_descriptors
  sti-run -q model.sti "$alarm" >whole
  with_descriptors 4 sti-run -q model.sti "$alarm" >answer 2>errors
  same "$(cat errors)" ""
  cmp answer whole
}

@test "out of descriptors: exit 1, one line, nothing half written" {
  no_descriptors
  refused 1 "sti-run: dev.tsv: cannot open: Too many open files" \
    with_descriptors 4 sti-run -q --eval dev.tsv model.sti
  refused 1 "sti-importance: *: Too many open files" \
    with_descriptors 4 sti-importance -q model.sti --data few.tsv -o new.importance
  refused 1 "sti-plan: *: Too many open files" \
    with_descriptors 4 sti-plan -q model.sti --profile device.json --target 12ms -o new.plan
  [ ! -e new.importance ]
  [ ! -e new.plan ]
  no_leftovers
}

@test "too little address space, at every step: the label, or exit 1 and one line" {
  skip_if_sanitized "memory means nothing under AddressSanitizer"
  local room code refusals=0
  for room in 200000 40000 36000 33000 30000 27000 24000 20000 16000; do
    code=0
    (ulimit -v $room && exec timeout 60 sti-run -q model.sti --plan model.plan "$alarm") \
      >out 2>err || code=$?
    # The dynamic linker's own words are not ours to test.
    if [ $code -eq 127 ]; then continue; fi
    if [ $code -eq 0 ]; then
      like "$(cat out)" $'alarm\t*'
      continue
    fi
    same "$room $code $(wc -l <err)" "$room 1 1"
    same "$(cat out)" ""
    like "$(cat err)" "sti-run: *; *"
    refusals=$((refusals + 1))
  done
  [ $refusals -gt 0 ] || skip "the limit binds nothing here"
}

@test "32 MB of memory are enough for a small model" {
  skip_if_sanitized "memory means nothing under AddressSanitizer"
  [ "$(id -u)" -eq 0 ] || skip "needs root to limit memory"
  [ -d /sys/fs/cgroup/memory ] || skip "needs the memory control group (v1)"
  local made=/sys/fs/cgroup/memory/sti-test.$$
  mkdir "$made" 2>/dev/null || skip "may make no control group"
  group=$made
  echo $((32 * 1000 * 1000)) >"$group/memory.limit_in_bytes" || skip "may set no memory limit"
  tail -n +2 few.tsv | cut -f 1 >texts
  sti-run -q model.sti --plan model.plan <texts | cut -f 1,3 >whole
  # shellcheck disable=SC2016
  timeout 60 bash -c 'echo $$ >"$1/cgroup.procs"; exec sti-run -q model.sti --plan model.plan' \
    - "$group" <texts >answers 2>errors
  same "$(cat errors)" ""
  cut -f 1,3 answers | cmp - whole
  rmdir "$group"
  group=
}

@test "a disk without room: exit 1, one line, the older file is kept" {
  [ "$(id -u)" -eq 0 ] || skip "needs root to mount a small disk"
  mkdir small
  mount -t tmpfs -o size=64k tmpfs small 2>/dev/null || skip "may not mount"
  full=$PWD/small
  for name in a.sti a.importance a.plan; do echo older >"small/$name"; done
  head -c 60000 /dev/zero >small/filler 2>/dev/null || true
  cat /dev/zero >small/rest 2>/dev/null || true
  for command in "sti-shard -q model -o small/a.sti" \
    "sti-importance -q model.sti --data few.tsv -o small/a.importance" \
    "sti-plan -q model.sti --profile device.json --target 12ms -o small/a.plan"; do
    refused 1 "${command%% *}: small/a.*" timeout 120 $command
    like "$stderr" "*No space left on device*"
  done
  for name in a.sti a.importance a.plan; do same "$(cat "small/$name")" older; done
  no_leftovers
  umount small
  full=
}

@test "kill -9 of sti-run leaves nothing behind, and the next run works" {
  mkdir here
  cp -L model.sti here/
  mkfifo lines
  sti-run -q here/model.sti --plan model.plan <lines >answers &
  local process=$! code=0
  exec 7>lines
  echo "$alarm" >&7
  await_answers 1
  kill -9 $process
  wait $process || code=$?
  exec 7>&-
  same $code 137
  same "$(ls here)" model.sti
  cmp here/model.sti model.sti
  works timeout 60 sti-run -q here/model.sti --plan model.plan "$alarm"
  like "$output" $'alarm\t*'
}

@test "kill -9 of sti-shard leaves the older container or the new one, and the next run works" {
  local after
  for after in 0.02 0.1 0.3; do
    cp -L model.sti a.sti
    sti-shard -q model --bits 2-4 -o a.sti &
    sleep $after
    kill -9 $! 2>/dev/null || true
    wait $! || true
    works timeout 60 sti-run -q a.sti "$alarm"
  done
  works timeout 120 sti-shard -q model -o a.sti
  cmp a.sti model.sti
}

@test "a closed stdin is said, and is never a file that was opened since" {
  refused 1 "sti-run: stdin: cannot read: Bad file descriptor" \
    without_stdin sti-run -q --io buffered model.sti --plan model.plan
  refused 3 "sti-run: *" \
    without_stdin sti-run -q model.sti --plan - "$alarm"
  works without_stdin sti-run -q model.sti --plan model.plan "$alarm"
  like "$output" $'alarm\t*'
}

@test "a closed stdout or stderr is never a file that was opened since" {
  local code=0
  timeout 60 sti-plan model.sti --profile device.json --target 12ms -o a.plan >&- 2>&- || code=$?
  sti-inspect --verify a.plan
  code=0
  timeout 60 sti-run -q model.sti --plan a.plan "$alarm" >&- 2>errors || code=$?
  same $code 141
  same "$(cat errors)" ""
}
