# The example of a warm process behind a socket (examples/warm-server): an app in C that trims and
# plans again when it is told to.
load helpers

setup() {
  skip_if_sanitized "a program without sanitizers cannot link the library of a build that has them"
  make_links
  local built="$STI_BIN/../lib"
  cc -std=c99 -pedantic -Wall -Wextra -Werror -I "$repo/lib/capi" \
    "$repo/examples/warm-server/warm-server.c" -L "$built" -lsti -Wl,-rpath,"$built" -o warm-server
}

@test "a warm process answers, gives memory back, plans again and ends" {
  sti-run -q model.sti --plan model.plan "$alarm" | cut -f 1 >expected
  ./warm-server intents.socket model.sti model.plan 3>&- &
  for _ in {1..100}; do [ -S intents.socket ] && break || sleep 0.05; done
  works ./warm-server intents.socket ask "$alarm" .stat ".trim 0" .stat "$alarm" ".target 2000000" \
    "$alarm" ".target 1" "$alarm" .quit
  same "$(cut -f 1 <<<"${lines[0]}")" "$(cat expected)"
  like "${lines[1]}" "own [1-9]* latency_us [1-9]* compute_drift * read_drift *"
  same "${lines[2]}" ok
  like "${lines[3]}" "own 0 latency_us *"
  same "${lines[4]}" "${lines[0]}"
  same "${lines[5]}" ok
  same "$(cut -f 1 <<<"${lines[6]}")" "$(cat expected)"
  like "${lines[7]}" $'error\t8\tno plan meets 0.001 ms: *; raise STI_TARGET_US*'
  same "${lines[8]}" "${lines[6]}"
  same "${lines[9]}" ok
  wait
  [ ! -e intents.socket ]
}
