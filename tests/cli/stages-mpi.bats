# Stages as ranks of MPI: sti-run --stage --link mpi, started by mpirun or by Slurm's srun.
load helpers
load slurm

plugin="$STI_BIN/../lib/sti/libsti-link-mpi.so"
own=(model.sti --plan c.plan --stage auto --link mpi)

setup() {
  make_links
  jq '. as $p | {devices: [{name: "b1", kind: "board", profile: $p}, {name: "b2", kind: "board"},
      {name: "b3", kind: "board"}],
    links: [{from: "board", to: "board", bits_per_s: 1e9, delay_us: 200}]}' device.json >cluster.json
  sti-plan -q model.sti --cluster cluster.json --importance model.importance -o c.plan
}

teardown() { slurm_stop; }

needs_mpi() {
  [ -e "$plugin" ] || skip "no plug-in for Open MPI in this build: it wants libopenmpi-dev, and no sanitizers"
  mpirun --version 2>/dev/null | grep -q "Open MPI" || skip "no mpirun of Open MPI; install openmpi-bin"
}

# RANKS COMMAND...: as root too, on fewer cores too, and never for longer than a minute, also where
# mpirun itself hangs in its own clean-up, which no signal but the last one ends.
ranks() { timeout -k 5 60 mpirun --allow-run-as-root --oversubscribe -n "$@"; }

lines() { tail -n +2 few.tsv | cut -f 1; }
slow_lines() { while sleep 0.05 && echo "$alarm"; do :; done; }

# Starts three ranks of which a file each says the process: pid.0, pid.1 and pid.2.
start_slowly() {
  # shellcheck disable=SC2016
  (slow_lines 2>/dev/null | ranks 3 sh -c 'echo $$ >pid.$OMPI_COMM_WORLD_RANK; exec "$@"' sh \
    sti-run -q "${own[@]}" --stage-timeout 2s >answers 2>complaints) 3>&- &
  run=$!
  await_answers 2
}

@test "ranks give one process's labels and logits, bit for bit" {
  needs_mpi
  lines | sti-run -q model.sti --plan c.plan --json | jq -c '[.text, .label, .logits]' >expected
  lines | ranks 3 sti-run -q "${own[@]}" --json >answers 2>complaints
  same "$(cat complaints)" ""
  jq -c '[.text, .label, .logits]' answers >seen
  [ "$(wc -l <expected)" = 30 ]
  diff expected seen
  same "$(head -1 answers | jq -c '[.stages[].device]')" '["b1","b2","b3"]'
}

@test "each rank runs what was cut for its stage" {
  needs_mpi
  lines | sti-run -q model.sti --plan c.plan >expected
  local stages=() device
  for device in b1 b2 b3; do
    sti-shard -q model --for c.plan --stage $device -o $device.sti
    stages+=(: -n 1 sti-run -q $device.sti --plan c.plan --stage $device --link mpi)
  done
  lines | ranks "${stages[@]:2}" >seen
  diff expected seen
}

@test "a rank that is killed ends all" {
  needs_mpi
  start_slowly
  kill -9 "$(cat pid.1)"
  wait "$run" && return 1
  # Nobody may have asked yet how they ended.
  run ! grep -v '^Z' <(ps -o stat= -p "$(cat pid.0)" -p "$(cat pid.2)")
}

@test "a rank that stops is a loss, which ends all in time" {
  needs_mpi
  start_slowly
  kill -STOP "$(cat pid.1)"
  wait "$run" && return 1
  grep -qE '^sti-run: the stage (before|after), b2, (sent|took) nothing for 2.0 s;' complaints
}

@test "a rank that cannot run ends all, and says why" {
  needs_mpi
  run --separate-stderr timeout -k 5 60 mpirun --allow-run-as-root --oversubscribe \
    -n 2 sti-run -q "${own[@]}" : -n 1 sti-run -q none.sti "${own[@]:1}" </dev/null
  same "$status" 3
  like "$stderr" "*sti-run: none.sti: no such file*"
}

@test "ranks that are not the stages are refused" {
  needs_mpi
  refused 2 "sti-run: --link mpi: started as rank 0 of 1, and c.plan has 3 stages; start it by mpirun --bind-to none -n 3 of *" \
    sti-run "${own[@]}" "$alarm"
  run --separate-stderr ranks 2 sti-run "${own[@]}" "$alarm"
  same "$status" 2
  same "$output" ""
  like "$stderr" "*sti-run: --link mpi: started as rank ? of 2, and c.plan has 3 stages; *"
  run --separate-stderr ranks 3 sti-run model.sti --plan c.plan --stage b2 --link mpi "$alarm"
  same "$status" 2
  like "$stderr" "*sti-run: --stage: rank ? has the stage of b?, not of b2; *"
}

@test "a sti-run without its plug-in says what to install" {
  mkdir bin
  cp "$STI_BIN/sti-run" bin/
  refused 1 "sti-run: --link mpi: cannot open the plug-in for MPI (*libsti-link-mpi.so: *); install Open MPI *" \
    bin/sti-run "${own[@]}" "$alarm"
  refused 2 "sti-run: --link goes with --stage; *" sti-run model.sti --link mpi "$alarm"
  refused 2 "sti-run: --stage is for plans with stages, *" \
    sti-run model.sti --plan model.plan --stage auto --link mpi "$alarm"
}

@test "Slurm's srun starts ranks, of which the first alone reads lines" {
  needs_mpi
  slurm_start "$BATS_TEST_TMPDIR/slurm"
  srun --mpi=list 2>&1 | grep -q pmix || skip "Slurm has no plug-in for PMIx; install slurm-wlm-basic-plugins"
  lines | sti-run -q model.sti --plan c.plan >expected
  lines | timeout -k 5 60 srun --mpi=pmix -n 3 --overcommit --kill-on-bad-exit sti-run -q "${own[@]}" >seen
  diff expected seen
}
