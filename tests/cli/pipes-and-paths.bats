# Paths that name no regular file, and options that name nothing: each tool says so at once.
load helpers

@test "a named pipe is no container, and is not waited for" {
  mkfifo pipe
  refused 3 "sti-run: pipe: not a regular file*" timeout 20 sti-run pipe hello
  refused 3 "sti-inspect: pipe: not a regular file*" timeout 20 sti-inspect pipe
  refused 3 "sti-profile: pipe: not a regular file*" timeout 20 sti-profile pipe -o x.profile
  refused 3 "sti-plan: pipe: not a regular file*" \
    timeout 20 sti-plan pipe --profile device.json --target 12ms
  refused 3 "sti-importance: pipe: not a regular file*" \
    timeout 20 sti-importance pipe --data few.tsv -o x.importance
  refused 3 "sti-shard: pipe: not a regular file*" timeout 20 sti-shard model --labels pipe -o x.sti
  copy_model folder
  rm folder/config.json folder/model.safetensors
  mkfifo folder/config.json folder/model.safetensors
  refused 3 "sti-shard: folder*" timeout 20 sti-shard folder -o x.sti
}

@test "a signal ends the wait for what a pipe gives" {
  mkfifo pipe
  for command in "sti-run model.sti --plan pipe hello" "sti-run model.sti --eval pipe" \
    "sti-plan model.sti --profile pipe --target 12ms" "sti-inspect --tokenize model.sti"; do
    $command <>pipe &
    sleep 0.5
    kill -TERM $!
    local code=0
    wait $! || code=$?
    same "$command: $code" "$command: 143"
  done
}

@test "what a pipe gives is read" {
  works sti-run -q model.sti --plan <(cat model.plan) "$alarm"
  like "$output" $'alarm\t*'
  mkfifo pipe
  cat device.json >pipe &
  works sti-plan -q model.sti --profile pipe --target 12ms -o x.plan
}

@test "an option with an empty value: exit 2" {
  is_empty() { refused 2 "${1%% *}: $2: its value is empty; give one, or leave the option out" "${@:3}"; }
  local plan=(sti-plan model.sti --profile device.json --target 12ms)
  is_empty sti-plan --output "${plan[@]}" -o ""
  is_empty sti-plan --gantt "${plan[@]}" --gantt ""
  is_empty sti-plan --sweep-svg "${plan[@]}" --sweep --sweep-svg ""
  is_empty sti-run --plan sti-run model.sti --plan "" hello
  is_empty sti-run --trace sti-run model.sti --trace "" hello
  is_empty sti-run --eval sti-run model.sti --eval ""
  is_empty sti-shard --output sti-shard model -o ""
  is_empty sti-profile --output sti-profile model.sti -o ""
  is_empty sti-importance --output sti-importance model.sti --data few.tsv -o ""
  is_empty sti-importance --svg sti-importance show model.importance --svg ""
  is_empty sti-inspect --output sti-inspect model.sti --export 6 -o ""
  works sti-run -q model.sti --plan model.plan "" # an empty text is an input
}

@test "an output that cannot be written is refused before the work" {
  cp model.sti copy.sti
  is_refused() {
    refused 1 "${1##*/}: none/x: cannot create a file beside it: No such file or directory" \
      timeout 20 "${@:1}"
  }
  # Were they to work first, these would take minutes.
  for _ in {1..100}; do tail -n +2 dev.tsv; done | sed $'1i sentence\tlabel' >many.tsv
  is_refused sti-importance model.sti --data many.tsv -o none/x
  is_refused sti-profile model.sti --budget 300s -o none/x
  is_refused sti-plan model.sti --profile device.json --target 12ms --gantt none/x
  is_refused sti-run -q model.sti --eval many.tsv --trace none/x
  is_refused sti-shard model -o none/x
}

@test "permissions and links of what is replaced stay" {
  umask 022
  local plan=(sti-plan -q model.sti --profile device.json --target 12ms)
  "${plan[@]}" -o a.plan
  same "$(stat -c %a a.plan)" 644
  chmod 600 a.plan
  mkdir far
  ln -s ../a.plan far/link
  "${plan[@]}" --preload 100kB -o far/link
  same "$(stat -c %a a.plan)" 600
  [ -L far/link ]
  works sti-inspect --json far/link
  holds "$output" '.preload_bytes > 0'
  long=$(printf 'n%.0s' {1..250}).plan
  "${plan[@]}" -o "$long"
  works sti-inspect --verify "$long"
  same "$(ls far)" link
}

@test "what an input would do to a terminal is not done" {
  python3 - <<'P' >shown
import os, pty
text = "\033]0;renamed\007\x1b[2J\u009b2J set an alarm\tfor seven"
def read(fd):
    return os.read(fd, 1024)
status = pty.spawn(["sti-run", "-q", "model.sti", "--plan", "model.plan", text], read)
raise SystemExit(os.waitstatus_to_exitcode(status))
P
  LC_ALL=C
  like "$(cat shown)" $'alarm\t*\t?]0;renamed??\[2J?2J set an alarm\tfor seven*'
  works sti-run -q model.sti --plan model.plan $'\e[2J set an alarm'
  like "$output" $'*\t\e\[2J set an alarm' # whoever reads a pipe gets what was given
}
