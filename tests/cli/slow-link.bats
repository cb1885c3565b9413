# bench/slow-link, the filter that is as slow as a network: it changes no byte, and ends with its
# input or its reader. How fast it is, scripts/bench reports.
load helpers

setup_file() { :; } # needs no model

setup() {
  link="${STI_BIN%/*}/bench/slow-link"
  [ -x "$link" ] || skip "no benchmarks in this build"
  cd "$BATS_TEST_TMPDIR"
}

# OPTION...: the filter, which must end within a minute.
slowly() { timeout 60 "$link" "$@"; }

@test "bytes come out as they went in, whatever their number and the link" {
  local size options
  for size in 0 1 2 4095 4096 4097 65536 65537 $((RANDOM % 100 + 3)) $((RANDOM * 9 + RANDOM)) 3000001; do
    head -c "$size" /dev/urandom >bytes
    for options in "--rate 1Gbit" "--rate 300Mbit --delay 20ms" "--delay 500us --rate 99.5Mbit"; do
      # shellcheck disable=SC2086
      slowly $options <bytes >out
      cmp bytes out
      # Through pipes, which hold it up.
      # shellcheck disable=SC2086
      head -c "$size" bytes | slowly $options | cmp bytes -
    done
  done
}

@test "a slow link passes single bytes on, and a writer that pauses" {
  { echo one; sleep 0.2; echo two; sleep 0.1; printf three; } | slowly --rate 1kbit --delay 1ms >out
  same "$(cat out)" $'one\ntwo\nthree'
}

@test "a reader that is slow gets all, and more than the link holds" {
  head -c 2000000 /dev/urandom >bytes
  slowly --rate 1Gbit <bytes | { sleep 0.3; cat; } | cmp bytes -
}

@test "two links one behind the other, and an answer on the way back" {
  mkfifo back
  slowly --rate 100Mbit --delay 1ms <back | tr a-z A-Z >answers &
  echo "there and back" | slowly --rate 100Mbit | slowly --rate 50Mbit --delay 2ms >back
  wait $!
  same "$(cat answers)" "THERE AND BACK"
}

@test "it ends when its reader leaves, also while its writer is silent, and says nothing" {
  run --separate-stderr bash -c \
    'set -o pipefail; head -c 5000000 /dev/zero | timeout 60 "$1" --rate 1Gbit | head -c 10 >/dev/null' _ "$link"
  same "$status" 141
  same "$stderr" ""
  mkfifo silent
  sleep 60 >silent 3>&- &
  writer=$!
  run --separate-stderr bash -c 'timeout 60 "$1" --rate 1Mbit <silent | true; echo "${PIPESTATUS[0]}"' _ "$link"
  kill "$writer"
  same "$output" 141
  same "$stderr" ""
}

@test "options that are wrong, and help" {
  local wrong='slow-link: --rate: not a rate from 1kbit to 100Gbit, such as 30Mbit' rate delay
  refused 2 'slow-link: --rate is missing; give one such as 30Mbit' "$link"
  for rate in 30 30MBit 30Mbits Mbit "" 0Mbit -1Mbit nanMbit infGbit 1e3Mbit 999bit 101Gbit; do
    refused 2 "$wrong" "$link" --rate "$rate"
  done
  refused 2 "$wrong" "$link" --delay 1ms --rate
  for delay in 20 20mss -1ms 61s nan ms; do
    refused 2 'slow-link: --delay: not a time from 0us to 60s, such as 20ms' \
      "$link" --rate 1Mbit --delay "$delay"
  done
  refused 2 'slow-link: more than 1 GiB would be on the link; lower --rate or --delay' \
    "$link" --rate 100Gbit --delay 1s
  refused 2 'slow-link: no such option; use --rate and --delay' "$link" --rate 1Mbit $'--bad\e[31m'
  works "$link" --help
  like "$output" 'usage: slow-link --rate RATE *'
}

@test "an input that cannot be read, and an output that cannot be written" {
  run --separate-stderr slowly --rate 1Gbit <"$BATS_TEST_TMPDIR"
  same "$status" 1
  like "$stderr" 'slow-link: *'
  run --separate-stderr bash -c 'echo text | "$1" --rate 1Gbit >/dev/full' _ "$link"
  same "$status" 1
  like "$stderr" 'slow-link: No space left on device'
}
