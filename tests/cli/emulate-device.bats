# bench/experiments/emulate-device: what it sets, and that it puts everything back, however it ends.
load helpers

export STI_BUILD=${STI_BIN%/*}

emulate() { timeout 60 "$repo/bench/experiments/emulate-device" --flash "$PWD" --steady 1000 "$@"; }

setup() {
  [ -x "$STI_BUILD/bench/make-model" ] || skip "no benchmarks in this build"
  make_links
  rm device.json
  jq '.layer.widths = [6]' "$repo/bench/devices/odroid-n2.json" >device.json
}

left_over() { ls -d /sys/fs/cgroup/memory/sti-device.* "${TMPDIR:-/tmp}"/sti-device.* 2>/dev/null; }

@test "files that are no device, and calls without a command" {
  refused 2 'emulate-device: no device pdp-11; there are odroid-n2, or give a file.json' \
    "$repo/bench/experiments/emulate-device" pdp-11 -- true
  refused 2 'emulate-device: no -- COMMAND; *' "$repo/bench/experiments/emulate-device" odroid-n2
  local change
  for change in '.cores = 0' 'del(.flash)' '.layer.widths = []' '.layer.slice_us = "1"' '.more = 1' \
    '.instructions = "sse4; ls"' '.memory_bytes = true'; do
    jq "$change" device.json >other.json
    refused 3 'emulate-device: other.json: no device: *' \
      "$repo/bench/experiments/emulate-device" ./other.json -- true
  done
  echo '{' >other.json
  refused 3 'emulate-device: other.json: no device: *' \
    "$repo/bench/experiments/emulate-device" ./other.json -- true
}

@test "the command sees slow flash, an older CPU and the factor; killed, it leaves nothing" {
  run --separate-stderr emulate ./device.json -- bash -c '
    sti-run -v "$STI_FLASH/model.sti" "$1" 2>&1 | grep -o "native-[a-z0-9]*"
    nproc; echo "$STI_DEVICE_FACTOR"; exit 5' _ "$alarm"
  [ "$status" -ne 77 ] || skip "$stderr"
  [ "$status" -ne 4 ] || skip "a loaded machine: $stderr"
  same "$status" 5
  like "$output" "native-sse4
1
[0-9]*.*"
  like "$stderr" '*layers of BERT-base at 128 tokens, sse4*flash reads *'
  same "$(left_over)" ""

  emulate ./device.json -- bash -c 'echo "$STI_FLASH" >where; sleep 60' 2>/dev/null &
  local tries
  for tries in $(seq 300); do [ -s where ] && break; sleep 0.1; done
  [ -s where ] || skip "a loaded machine"
  mountpoint -q "$(cat where)"
  pkill -KILL -f "[e]mulate-device --flash $PWD "
  for tries in $(seq 100); do [ -d "$(cat where)" ] || [ -n "$(left_over)" ] || break; sleep 0.1; done
  [ ! -d "$(cat where)" ]
  same "$(left_over)" ""
}

@test "a machine that cannot be made the device is refused with what was reached" {
  jq '.instructions = "z80"' device.json >other.json
  refused 4 'emulate-device: the instruction set was not set: *this machine has *' \
    "$repo/bench/experiments/emulate-device" ./other.json -- true
  run --separate-stderr emulate --factor 0.002 ./device.json -- true
  same "$status" 4
  like "$stderr" '*emulate-device: f is *, not 0.0020 as --factor says'
}
