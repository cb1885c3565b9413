# A Slurm of one host for a test: munged, slurmctld and slurmd on free ports, in a folder of the
# test. slurm_start skips the test with the reason where it cannot be; slurm_stop ends all three.

slurm_free_ports() {
  python3 - <<'PYTHON'
import socket
sockets = [socket.socket() for _ in range(2)]
for one in sockets:
    one.bind(("127.0.0.1", 0))
print(*(one.getsockname()[1] for one in sockets))
PYTHON
}

slurm_write_conf() { # FOLDER HOST PORT PORT
  cat <<CONF
ClusterName=sti
SlurmctldHost=$2(127.0.0.1)
SlurmUser=root
SlurmctldPort=$3
SlurmdPort=$4
AuthType=auth/munge
AuthInfo=socket=$1/munge.socket
StateSaveLocation=$1/state
SlurmdSpoolDir=$1/spool
SlurmctldPidFile=$1/slurmctld.pid
SlurmdPidFile=$1/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000
MpiDefault=none
NodeName=$2 NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$2 Default=YES MaxTime=10 State=UP
CONF
}

# WHAT TENTHS COMMAND...: waits until the command succeeds.
slurm_wait() {
  local what=$1 tenths=$2
  shift 2
  while ! "$@" >/dev/null 2>&1; do
    tenths=$((tenths - 1))
    [ $tenths -gt 0 ] || skip "no $what here; see $slurm_folder/*.log"
    sleep 0.1
  done
}

slurm_is_idle() { sinfo -h -o %T | grep -q idle; }

slurm_start() { # FOLDER
  local tool ports host
  [ "$(id -u)" -eq 0 ] || skip "only root can run slurmd"
  for tool in munged slurmctld slurmd sbatch; do
    command -v $tool >/dev/null || skip "no $tool; install slurmctld, slurmd and munge"
  done
  slurm_folder=$1
  slurm_pids=()
  mkdir -p "$slurm_folder/state" "$slurm_folder/spool"
  (umask 077 && head -c 128 /dev/urandom >"$slurm_folder/munge.key")
  host=$(hostname -s)
  read -ra ports < <(slurm_free_ports)
  export SLURM_CONF=$slurm_folder/slurm.conf
  slurm_write_conf "$slurm_folder" "$host" "${ports[@]}" >"$SLURM_CONF"
  # Descriptor 3 is Bats' own: whoever holds it keeps Bats waiting.
  munged --force --foreground --key-file="$slurm_folder/munge.key" \
    --socket="$slurm_folder/munge.socket" --pid-file="$slurm_folder/munged.pid" \
    --log-file="$slurm_folder/munged.log" --seed-file="$slurm_folder/munged.seed" \
    >"$slurm_folder/munged.out.log" 2>&1 3>&- &
  slurm_pids+=($!)
  slurm_wait munged 50 [ -S "$slurm_folder/munge.socket" ]
  slurmctld -D -c -f "$SLURM_CONF" >"$slurm_folder/slurmctld.log" 2>&1 3>&- &
  slurm_pids=($! "${slurm_pids[@]}")
  slurmd -D -f "$SLURM_CONF" -N "$host" >"$slurm_folder/slurmd.log" 2>&1 3>&- &
  slurm_pids=($! "${slurm_pids[@]}")
  slurm_wait "Slurm that starts" 150 slurm_is_idle
}

slurm_stop() {
  local pid
  [ -n "${slurm_folder:-}" ] || return 0
  scancel --user=root >/dev/null 2>&1 || true
  for pid in "${slurm_pids[@]}"; do
    kill "$pid" 2>/dev/null || continue
    wait "$pid" 2>/dev/null || true
  done
  # What the daemons started by themselves knows their folder.
  same "$(pgrep -f "$slurm_folder" || true)" ""
}
