# The example of a model over boards (examples/cluster), with four network namespaces for boards: a
# bridge joins them, in a fifth where the caller is, and each has an sshd. So nothing of this
# machine's network is touched, and all of it goes with the namespaces.
load helpers

cluster="$repo/examples/cluster"
boards=(pi-1 pi-2 pi-3 pi-4)

setup() {
  skip_if_sanitized "a process with a sanitizer takes several times as long to start"
  [ "$(id -u)" -eq 0 ] || skip "needs root for network namespaces"
  command -v ip >/dev/null || skip "needs ip, of iproute2"
  sshd=$(PATH="$PATH:/usr/sbin" command -v sshd) || skip "needs sshd, of openssh-server"
  make_links
  space=sti-$$-$BATS_TEST_NUMBER
  ip netns add "$space-hub" 2>netns.err || skip "no network namespaces here: $(head -n 1 netns.err)"
  make_network
  start_boards
  PATH="$cluster:$PATH"
}

teardown() {
  local name pids
  [ -n "${space:-}" ] || return 0
  for name in "${boards[@]}" hub; do
    pids=$(ip netns pids "$space-$name" 2>/dev/null) || continue
    # shellcheck disable=SC2086
    [ -z "$pids" ] || kill -KILL $pids 2>/dev/null || true
    ip netns delete "$space-$name" || true
  done
}

make_network() {
  local i
  ip -n "$space-hub" link add bridge type bridge
  ip -n "$space-hub" address add 10.77.0.100/24 dev bridge
  ip -n "$space-hub" link set bridge up
  for i in "${!boards[@]}"; do
    ip netns add "$space-${boards[$i]}"
    ip -n "$space-hub" link add "port$i" type veth peer name eth0 netns "$space-${boards[$i]}"
    ip -n "$space-hub" link set "port$i" master bridge up
    ip -n "$space-${boards[$i]}" address add "10.77.0.$((i + 1))/24" dev eth0
    ip -n "$space-${boards[$i]}" link set eth0 up
    ip -n "$space-${boards[$i]}" link set lo up
  done
}

# Each board has a folder of its own, where its commands begin as in a home.
start_boards() {
  local i board home address
  ssh-keygen -q -t ed25519 -N "" -f key
  for i in "${!boards[@]}"; do
    board=${boards[$i]} address=10.77.0.$((i + 1)) home=$PWD/home-${boards[$i]}
    mkdir "$home"
    ssh-keygen -q -t ed25519 -N "" -f "$board.key"
    echo "$address $(cut -d ' ' -f 1,2 "$board.key.pub")" >>known
    # shellcheck disable=SC2016
    printf '#!/bin/sh\ncd %q && exec bash -c "$SSH_ORIGINAL_COMMAND"\n' "$home" >"$board.shell"
    chmod +x "$board.shell"
    printf '%s\n' "ListenAddress $address" "HostKey $PWD/$board.key" "PidFile none" "UsePAM no" \
      "AuthorizedKeysFile $PWD/key.pub" "StrictModes no" "PermitRootLogin prohibit-password" \
      "ForceCommand $PWD/$board.shell" "SetEnv PATH=$PATH HOME=$home" "MaxStartups 100" >"$board.conf"
    # sshd wants a folder in /run, which only this namespace of mounts sees.
    ip netns exec "$space-$board" sh -c 'mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec "$@"' sh \
      "$sshd" -D -f "$PWD/$board.conf" -E "$PWD/$board.log" </dev/null >/dev/null 2>&1 3>&- &
    disown
    echo "$board pi $address" >>hosts
  done
  export STI_SSH="ssh -F none -i $PWD/key -o IdentityAgent=none -o UserKnownHostsFile=$PWD/known \
    -o BatchMode=yes -o LogLevel=ERROR -o ServerAliveInterval=1 -o ServerAliveCountMax=2 \
    -o KexAlgorithms=curve25519-sha256"
  for board in 1 2 3 4; do
    for i in {1..100}; do
      # shellcheck disable=SC2086
      here $STI_SSH "10.77.0.$board" true 2>ssh.err </dev/null && continue 2
      sleep 0.05
    done
    skip "sshd lets nobody in here: $(head -n 1 ssh.err)"
  done
}

# COMMAND...: runs it where the caller is.
here() { ip netns exec "$space-hub" timeout 60 "$@"; }

lines() { tail -n +2 few.tsv | cut -f 1; }

# A cluster as measure writes it, of boards that device.json describes.
write_cluster() {
  mkdir work
  jq '{devices: [{name: "pi-1", kind: "pi", profile: .}, {name: ("pi-2", "pi-3", "pi-4"), kind: "pi"}],
    links: [{from: "pi", to: "pi", bits_per_s: 1e9, delay_us: 200}]}' device.json >work/cluster.json
}

deploy_here() {
  here deploy --hosts hosts --work work --importance model.importance "$@" model model.sti
}

# OPTION...: starts a run over many lines, and waits until some have their answers.
start_run() {
  for _ in {1..25}; do lines; done >many
  here run --hosts hosts --work work "$@" <many >answers 2>run.err 3>&- &
  runner=$!
  await_answers 40
}

# CODE: the run ends so, and no stage is left.
ends_with() {
  local code=0
  wait "$runner" || code=$?
  cat run.err
  same "$code" "$1"
  same "$(pids_of_stages)" ""
}

pids_of_stages() {
  local board
  for board in "${boards[@]}"; do
    ip netns pids "$space-$board" | xargs -r ps -o comm= -p | grep -Fx sti-run || true
  done
}

@test "boards are measured, get their stages, and give one process's labels" {
  # What a wire carries is an upper bound of what a link does, on a busy machine too.
  local board
  for board in "${boards[@]}"; do
    tc -n "$space-$board" qdisc add dev eth0 root tbf rate 30mbit burst 16kb latency 50ms 2>tc.err ||
      skip "no slow links here: $(head -n 1 tc.err)"
  done
  here measure --hosts hosts --work work --batches 1 --budget 200ms --bytes 200000 --tolerance 1000 \
    --memory 100000000 model.sti
  same "$(jq -c '[.devices[] | [.name, .kind, (.profile != null), .memory_bytes]]' work/cluster.json)" \
    '[["pi-1","pi",true,100000000],["pi-2","pi",false,null],["pi-3","pi",false,null],["pi-4","pi",false,null]]'
  same "$(jq -c '[.links[] | [.from, .to, .bits_per_s > 1e5, .bits_per_s < 31e6, .delay_us < 1e6]]' work/cluster.json)" \
    '[["pi","pi",true,true,true]]'
  same "$(find home-* -type f)" ""
  deploy_here
  [ -x "$cluster/run" ] && [ -s home-pi-1/sti-cluster/stage ]
  lines | here run --hosts hosts --work work >answers
  lines | sti-run -q model.sti --plan work/c.plan | cut -f 1,3 | cmp - <(cut -f 1,3 answers)
  same "$(pids_of_stages)" ""
}

@test "a stage that is killed and a link that is cut cost no line, and none is answered twice" {
  write_cluster
  deploy_here
  same "$(sti-inspect --json work/c.plan | jq '.stages | length')" 4
  start_run
  kill -KILL "$(<home-pi-2/sti-cluster/pid)"
  # What the stages behind still hold is answered too: the link goes when the boards that are left
  # have begun to answer.
  for _ in {1..1200}; do
    grep -q '^run: pi-2 is lost' run.err && break
    sleep 0.05
  done
  await_answers $(($(wc -l <answers) + 40))
  ip -n "$space-pi-3" link set eth0 down
  ends_with 0
  same "$(sed -n 's/^run: \(.*\) is lost after .*/\1/p' run.err)" $'pi-2\npi-3'
  same "$(jq -c '[.devices[] | [.name, (.profile != null)]]' work/used.json)" '[["pi-1",true],["pi-4",false]]'
  cut -f 3 answers | cmp - many
  sti-run -q model.sti --plan work/c.plan <many | cut -f 1 >labels
  cut -f 1 answers | cmp - labels
}

@test "a stage that stands still is named in time, and stop ends all stages" {
  write_cluster
  deploy_here --stage-timeout 2
  start_run --no-replan
  kill -STOP "$(<home-pi-3/sti-cluster/pid)"
  stopped=$SECONDS
  ends_with 1
  like "$(tail -n 1 run.err)" "run: pi-3 is lost after * of 750 lines"
  [ $((SECONDS - stopped)) -lt 20 ]
  start_run --no-replan
  here stop --hosts hosts
  ends_with 1
  [ "$(wc -l <answers)" -lt 750 ]
  status=$(here run --hosts hosts --work work <many 2>run.err | head -n 1 >first; echo "${PIPESTATUS[0]}")
  same "$status $(cut -f 3 first)" "0 $(head -n 1 many)"
  same "$(pids_of_stages)" ""
}

@test "files and options that make no sense are refused" {
  refused 3 "measure: none.sti: no such file" measure --hosts hosts none.sti
  refused 3 "deploy: none/cluster.json: no such file; run measure" \
    deploy --hosts hosts --work none model model.sti
  refused 3 "run: none/deployed: no such file; run deploy" "$cluster/run" --hosts hosts --work none
  refused 2 "stop: --host: no such option, or it lacks a value; see stop --help" stop --host hosts
  echo pi-1 pi >short
  refused 3 "stop: short: no line of NAME KIND ADDRESS: pi-1" stop --hosts short
}
