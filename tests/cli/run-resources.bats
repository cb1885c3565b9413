# What a run that waits for its next line has of the machine: memory that is locked or given back,
# and a place ahead of other processes. By the kernel's word.
load helpers

@test "a stack of 64 KiB is enough for every tool" {
  ulimit -S -s 64
  works sti-shard -q model -o small.sti
  works sti-importance -q small.sti --data few.tsv --metric loss --quick -o small.importance
  works sti-importance show small.importance --svg s.svg
  works sti-profile -q small.sti -o small.profile --budget 200ms --lengths 32 --widths 12
  works sti-plan small.sti --profile device.json --importance small.importance --target 12ms \
    --explain --gantt g.svg -o small.plan
  works sti-plan small.sti --profile device.json --sweep
  works sti-run -q --plan small.plan small.sti "$alarm"
  works sti-run -q --plan small.plan small.sti --eval few.tsv
  works sti-inspect --verify small.sti
  works sti-inspect small.sti --export 6 -q -o exported
}

# Begins a run that has answered one line and waits for the next. What it says is in `said`.
begin_run() { # OPTION...
  begin_serving "" model.sti --plan model.plan "$@"
}

begin_serving() { # NAME-OF-A-MODEL-AND-TAB ARGUMENT...
  name=$1
  coproc RUN { exec "${as[@]}" sti-run "${@:2}" 2>said; }
  pid=$RUN_PID
  answer_line
}

answer_line() {
  echo "$name$alarm" >&"${RUN[1]}"
  read -r label <&"${RUN[0]}"
  like "$label" "$name"$'alarm\t*'
}

end_run() {
  exec {RUN[1]}>&-
  wait "$pid"
}

memory_of() { sed -n "s/^$1:\t *\([0-9]*\) kB/\1/p" "/proc/$pid/status"; }

# Prints the policy, the rank and the class of reads of each thread, sorted; but for those that the
# kernel makes for io_uring where a file system, such as one in memory, cannot read without waiting.
threads_of() {
  python3 - "$pid" <<'END'
import ctypes, os, platform, sys
ioprio_get = {"x86_64": 252, "aarch64": 31}[platform.machine()]
libc = ctypes.CDLL(None)
names = {os.SCHED_OTHER: "other", os.SCHED_RR: "rr"}
task = f"/proc/{sys.argv[1]}/task"
threads = sorted(int(name) for name in os.listdir(task)
                 if not open(f"{task}/{name}/comm").read().startswith("iou-"))
for thread in threads:
    print(names[os.sched_getscheduler(thread)], os.sched_getparam(thread).sched_priority,
          libc.syscall(ioprio_get, 1, thread) >> 13)
END
}

@test "--lock-memory: shards and working memory are locked, others not" {
  skip_if_sanitized "a sanitizer lets mlock do nothing"
  begin_run
  same "$(memory_of VmLck)" 0
  end_run
  begin_run --lock-memory
  held=$(($(sti-inspect --json model.plan | jq .preload_bytes) / 1024))
  [ "$(memory_of VmLck)" -gt $((held + 200)) ]
  [ "$(memory_of VmLck)" -lt "$(memory_of VmRSS)" ]
  end_run
  same "$(without_lateness <said)" ""
}

@test "--lock-memory where it is not allowed: one warning, and the run goes on" {
  skip_if_sanitized "a sanitizer lets mlock do nothing"
  setpriv --bounding-set -ipc_lock true 2>/dev/null || skip "needs setpriv, and the right to drop a capability"
  as=(prlimit --memlock=8192 setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock)
  begin_run --lock-memory
  end_run
  like "$(without_lateness <said)" "sti-run: warning: memory cannot be locked (*); raise ulimit -l, or leave --lock-memory out"
}

@test "--priority: threads in real time, the one that reads ahead of those that compute" {
  begin_run
  same "$(threads_of | sort -u)" "other 0 0"
  end_run
  begin_run --priority --threads 2
  if chrt -r 1 true 2>/dev/null; then
    # Whoever calls, and the other one that computes; then what reads.
    same "$(threads_of | head -n 2 | sort -u)" "rr 1 1"
    same "$(threads_of | tail -n +3 | sort -u)" "rr 2 1"
    end_run
    same "$(without_lateness <said)" ""
  else
    end_run
    like "$(without_lateness <said)" "sti-run: warning: --priority: no real-time scheduling (*"
  fi
}

@test "--priority where it is not allowed: a warning, and the run goes on" {
  setpriv --bounding-set -sys_nice true 2>/dev/null || skip "needs setpriv, and the right to drop a capability"
  as=(prlimit --rtprio=0 --nice=0 setpriv --bounding-set -sys_nice,-sys_admin --inh-caps -sys_nice,-sys_admin)
  begin_run --priority
  same "$(threads_of | sort -u)" "other 0 2"
  end_run
  like "$(without_lateness <said)" "sti-run: warning: --priority: no real-time scheduling (Operation not permitted); give CAP_SYS_NICE, or ulimit -r 2"
}

@test "--idle: what only inputs need is given back, and made again, with several models too" {
  skip_if_sanitized "sanitizers have an allocator of their own"
  working=400 # kB, at the least: the arena of a layer and what it is computed in
  for one in "|model.sti --plan model.plan" $'a\t|--model a=model.sti,model.plan'; do
    # shellcheck disable=SC2086
    begin_serving "${one%%|*}" ${one#*|}
    before=$(memory_of VmRSS)
    first=$label
    end_run
    # shellcheck disable=SC2086
    begin_serving "${one%%|*}" ${one#*|} --idle 300ms
    for _ in {1..100}; do
      [ "$(memory_of VmRSS)" -gt $((before - working)) ] || break
      sleep 0.1
    done
    [ "$(memory_of VmRSS)" -le $((before - working)) ]
    answer_line
    same "$label" "$first"
    end_run
  done
}

@test "--idle does not go with inputs that have no pauses, nor with locked memory" {
  refused 2 "sti-run: TEXT takes no --idle: inputs have no pauses then; drop one" \
    sti-run model.sti --idle 1s "$alarm"
  refused 2 "sti-run: --eval takes no --idle: inputs have no pauses then; drop one" sti-run model.sti --idle 1s --eval few.tsv
  refused 2 "sti-run: --lock-memory takes no --idle: locked memory stays; drop one" \
    sti-run model.sti --idle 1s --lock-memory
}
