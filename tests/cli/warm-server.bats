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

# Starts a server, and waits until it listens.
start_server() {
  ./warm-server intents.socket model.sti model.plan 2>errors 3>&- &
  server=$!
  for _ in {1..400}; do
    [ -S intents.socket ] && break
    sleep 0.05
  done
}

@test "clients that leave, send half a line, do not read or send too much keep nobody waiting" {
  start_server
  python3 - <<'P'
import socket
def client():
    one = socket.socket(socket.AF_UNIX)
    one.connect("intents.socket")
    one.settimeout(60)
    return one
half, deaf = client(), client()
half.sendall(b"half a l")
deaf.setblocking(False)
try:
    while True:
        deaf.send(b"tell me a joke\n" * 1000)
except BlockingIOError:
    pass
for _ in range(40):  # more than it has places for, each gone before its answer
    gone = client()
    gone.sendall(b"set an alarm\n" * 20)
    gone.close()
long = client()
long.sendall(b"a" * 100000 + b"\n")
answer = b""
try:
    while chunk := long.recv(4096):
        answer += chunk
except ConnectionResetError:  # it was closed before all was read
    pass
assert answer in (b"", b"error\t10\ta line of over 16384 bytes\n"), answer
whole = client()
whole.sendall(b"set an alarm\r\nwithout an end")
whole.shutdown(socket.SHUT_WR)
answers = whole.makefile().read().splitlines()
assert len(answers) == 2 and not any(answer.startswith("error") for answer in answers), answers
P
  works ./warm-server intents.socket ask "$alarm"
  like "$output" $'alarm\t*'
  works ./warm-server intents.socket ask .help ".trim x" ".target 0" ".trim 100000000000000000000x"
  for line in "${lines[@]}"; do like "$line" $'error\t4\t*'; done
  like "${lines[0]}" *".trim BYTES, .target US, .stat and .quit"
  kill -TERM $server
  wait $server
  [ ! -e intents.socket ]
  same "$(cat errors)" ""
}

@test "nothing but a dead server's socket is replaced" {
  echo mine >intents.socket
  run --separate-stderr ./warm-server intents.socket model.sti
  same "$status $stderr" "1 warm-server: intents.socket: something else is there"
  same "$(cat intents.socket)" mine
  rm intents.socket
  start_server
  run --separate-stderr ./warm-server intents.socket model.sti
  same "$status $stderr" "1 warm-server: intents.socket: something else is there"
  works ./warm-server intents.socket ask "$alarm"
  kill -KILL $server
  wait $server || true
  [ -S intents.socket ]
  rm -f errors
  ./warm-server intents.socket model.sti 2>errors 3>&- &
  for _ in {1..400}; do
    ./warm-server intents.socket ask "$alarm" 2>/dev/null && break
    sleep 0.05
  done
  works ./warm-server intents.socket ask .quit
  wait
}

@test "a plan that is missing, or none, is named" {
  run --separate-stderr ./warm-server intents.socket model.sti none.plan
  same "$status $stderr" "1 warm-server: none.plan: No such file or directory"
  run --separate-stderr ./warm-server intents.socket model.sti dev.tsv
  same "$status" 1
  like "$stderr" "warm-server: dev.tsv: *"
  [ ! -e intents.socket ]
}

@test "a warm process answers, gives memory back, plans again and ends" {
  sti-run -q model.sti --plan model.plan "$alarm" | cut -f 1 >expected
  ./warm-server intents.socket model.sti model.plan 3>&- &
  for _ in {1..1000}; do [ -S intents.socket ] && break || sleep 0.05; done
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
