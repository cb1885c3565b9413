# The cores and threads of a run: those that were profiled, unless it is told otherwise.
load helpers

# Cores that this process may run on, the first and all of them.
cores=$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)
first=${cores%%[-,]*}

# FIELD VALUE...: model.plan as a profile measured here makes it, with these fields.
planned() {
  local kernel filter
  kernel=$(sti-run -v model.sti "$alarm" 2>&1 >/dev/null | sed -n 's/.*computing with //p')
  filter=".kernel = \"$kernel\""
  while (($#)); do
    filter+=" | .$1 = $2"
    shift 2
  done
  sti-inspect --json model.plan | jq "$filter"
}

# Threads and allowed cores of a run that waits for its input, by the kernel's word.
waiting_run() { # OPTION...
  coproc RUN { exec sti-run model.sti "$@" 2>said; }
  echo "$alarm" >&"${RUN[1]}"
  read -r label <&"${RUN[0]}"
  like "$label" $'alarm\t*'
  allowed=$(sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$RUN_PID/status")
  threads=$(ls "/proc/$RUN_PID/task" | wc -l)
  local pid=$RUN_PID
  exec {RUN[1]}>&-
  wait "$pid"
}

@test "the profile's cores and threads are the plan's" {
  sti-profile -q model.sti -o here.json --budget 50ms --lengths 32 --threads 1 --cpus "$first"
  works sti-plan model.sti --profile here.json --interpolate --submodel 6x12 -o a.json
  like "$output" "*cores      $first, 1 thread*"
  holds "$(cat a.json)" ".threads == 1 and .cpus == \"$first\""
}

@test "a run keeps to the plan's cores, and to its own where it is told to" {
  [ "$cores" != "$first" ] || skip "one core alone"
  planned cpus "\"$first\"" threads 1 >one.json
  waiting_run --plan one.json
  same "$allowed" "$first"
  one=$threads
  waiting_run --plan one.json --cpus "$cores" --threads 2
  same "$allowed" "$cores"
  same "$threads" $((one + 1))
}

@test "a list of cores that fills screens is clipped where it is named" {
  planned cpus "\"$(printf '4000,%.0s' {1..5000})\"" >long.json
  run --separate-stderr sti-run --json model.sti --plan long.json "$alarm"
  same "$status" 0
  like "$stderr" "sti-run: warning: the plan counts on cores 4000,4000,*..., this process may run on *"
  [ "${#stderr}" -lt 300 ]
  sti-inspect long.json >shown
  same "$(awk 'length > 80' shown)" ""
  planned cpus "\"$(printf '4000,%.0s' {1..7000})\"" >longer.json
  refused 3 "sti-run: longer.json: cpus is not at most 32768 bytes of printable ASCII; *" \
    sti-run model.sti --plan longer.json "$alarm"
}

@test "cores and threads that are not there: a warning, and the run goes on" {
  planned cpus '"4000"' >far.json
  run --separate-stderr sti-run --json model.sti --plan far.json "$alarm"
  same "$status" 0
  like "$(without_lateness <<<"$stderr")" "sti-run: warning: the plan counts on cores 4000, this process may run on *; give --cpus, or run sti-profile here"
  planned threads 200 >many.json
  run --separate-stderr sti-run --json model.sti --plan many.json "$alarm"
  same "$status" 0
  like "$(without_lateness <<<"$stderr")" "sti-run: warning: the plan counts on 200 threads, this process has * cores; run sti-profile here"
  works sti-run --json model.sti --plan many.json --threads 2 "$alarm"
  # A profile that was written by hand is of a device that is not at hand.
  planned threads 200 kernel '""' >written.json
  works sti-run --json model.sti --plan written.json "$alarm"
  refused 2 "sti-run: --cpus: this process may not run on core 4000" \
    sti-run -q model.sti --cpus 4000 "$alarm"
}
