# Flash that fails, tears or cuts reads short below the tools, and files that change while they are
# open: one line and its exit code, or the label of the whole file; never another label, no hang.
load helpers

export STI_BUILD=${STI_BIN%/*}

# FAULTS SCRIPT: runs the script with flash/model.sti on flash that goes wrong in this way while the
# file `broken` exists. The script finds it at $STI_FLASH/model.sti.
on_flash() {
  mkdir -p flash
  [ -e flash/model.sti ] || cp -L model.sti flash/model.sti
  run --separate-stderr timeout 120 "$repo/tests/support/slow-flash" --latency 0us --fault "$1" \
    --while broken 1GiB flash -- bash -c "$2"
  [ "$status" -ne 77 ] || skip "$stderr"
}

# CONTAINER CHANGE: a run that waits for its second line, the change, the line. Its code is left in
# `code`, its output in answers, its messages in errors.
between_lines() {
  rm -f lines answers errors
  mkfifo lines
  timeout 60 sti-run -q "$1" --plan model.plan <lines >answers 2>errors &
  local process=$!
  code=0
  exec 7>lines
  echo "$alarm" >&7
  await_answers 1
  eval "$2"
  echo "$alarm" >&7
  exec 7>&-
  wait $process || code=$?
  echo "code $code"
}
export -f between_lines
export alarm

first_answer_only() {
  same "$(wc -l <answers)" 1
  like "$(cat answers)" $'alarm\t*'
  same "$(wc -l <errors)" 1
}

@test "an error of the device while opening: exit 1 and one line" {
  touch broken
  on_flash "eio@0+1" 'sti-run -q "$STI_FLASH/model.sti" hello'
  same "$status" 1
  same "$output" ""
  like "$stderr" "sti-run: *model.sti: cannot read: Input/output error"
}

# NAME: three lines for the model, the flash broken under the second. Each waits for the answer
# before it, in the file `answers`.
three_lines() {
  printf '%s\n' "$1$alarm"
  await_answers 1
  touch broken
  printf '%s\n' "$1$alarm"
  await_answers 2
  rm broken
  printf '%s\n' "$1$alarm"
}
export -f three_lines

@test "an error of the device is that of one input, of one model and of several: exit 1 at the end" {
  local one='three_lines "" | sti-run -q "$STI_FLASH/model.sti" --plan model.plan'
  local several='three_lines m$'\''\t'\'' | sti-run -q --model "m=$STI_FLASH/model.sti,model.plan"'
  for script in "$one" "$several"; do
    rm -f broken answers
    on_flash "eio@0+1GiB" "$script >answers; code=\$?; cat answers; exit \$code"
    same "$status" 1
    same "${#lines[@]}" 3
    output=$(sed 's/^m\t//' <<<"$output")
    like "$output" $'alarm\t*\n! *model.sti: cannot read: Input/output error*\nalarm\t*'
    same "${#stderr_lines[@]}" 1
    like "$stderr" "sti-run: *model.sti: cannot read: Input/output error*"
  done
}

@test "an error of the device leaves rows of an evaluation unanswered: exit 1 at the end" {
  rm -f broken
  mkfifo rows
  # The rows are opened, and so let us write, once the model is.
  on_flash "eio@0+1GiB" 'sti-run -q --json "$STI_FLASH/model.sti" --plan model.plan --eval rows &
    exec 7>rows
    touch broken
    cat few.tsv >&7
    exec 7>&-
    wait $!'
  same "$status" 1
  holds "$output" '.examples == 30 and .unanswered > 0
    and (.errors[0].error | test("cannot read: Input/output error"))'
}

@test "bytes torn for good below a running sti-run: exit 3, never a label" {
  on_flash "torn@0+1GiB" 'between_lines "$STI_FLASH/model.sti" "touch broken"'
  same "$output" "code 3"
  first_answer_only
  like "$(cat errors)" "sti-run: *model.sti: * damaged; *"
}

@test "bytes torn once below a running sti-run are read again" {
  on_flash "torn-once@0+1GiB" 'between_lines "$STI_FLASH/model.sti" "touch broken"'
  same "$output" "code 0"
  same "$(cat errors)" ""
  same "$(wc -l <answers)" 2
  same "$(cut -f 1,3 answers | uniq | wc -l)" 1
}

@test "bytes torn once while opening heal, torn for good do not" {
  touch broken
  sti-run -q model.sti "$alarm" >whole
  on_flash "torn-once@9+200" 'sti-run -q "$STI_FLASH/model.sti" "$alarm"'
  same "$status" 0
  same "$stderr" ""
  same "$output" "$(cat whole)"
  on_flash "torn@9+200" 'sti-run -q "$STI_FLASH/model.sti" "$alarm"'
  same "$status" 3
  same "$output" ""
  same "${#stderr_lines[@]}" 1
}

@test "sti-inspect --verify reads torn parts again" {
  touch broken
  torn=torn-once@100+1
  for at in 400kB 1MB 2MB 4MB 7MB 9MB; do torn+=",torn-once@$at+1"; done
  on_flash "$torn" 'sti-inspect --verify "$STI_FLASH/model.sti"'
  same "$status" 0
  same "$stderr" ""
  on_flash "${torn//-once/}" 'sti-inspect --verify "$STI_FLASH/model.sti"'
  same "$status" 3
}

@test "short and late reads change nothing, whatever the way to read" {
  touch broken
  tail -n +2 few.tsv | cut -f 1 >texts
  sti-run -q model.sti --plan model.plan <texts >whole
  for way in uring threads buffered; do
    on_flash "short@0+1GiB,delay=1ms@1MiB+1MiB" \
      "sti-run -q --io $way \$STI_FLASH/model.sti --plan model.plan <texts >answers; echo \$?"
    if [[ $stderr == *"cannot read"* || $stderr == *io_uring* ]]; then continue; fi
    same "$output$stderr" 0
    same "$(cut -f 1,3 answers)" "$(cut -f 1,3 whole)"
  done
}

@test "a fault that does not exist is refused" {
  on_flash "bent@0+1" true
  same "$status" 2
  like "$stderr" "*bent: no such fault*"
}

@test "a container that is cut short below a running sti-run" {
  cp -L model.sti a.sti
  between_lines a.sti "truncate -s 8192 a.sti"
  same "$code" 3
  first_answer_only
  like "$(cat errors)" "sti-run: a.sti: ends at byte 8192, inside a part; *"
}

@test "a container that is replaced below a running sti-run goes on being the old one" {
  make_other_model
  cp -L model.sti a.sti
  between_lines a.sti "mv -f other.sti a.sti"
  same "$code" 0
  same "$(cat errors)" ""
  same "$(wc -l <answers)" 2
  same "$(cut -f 1,3 answers | uniq | wc -l)" 1
  refused 3 "sti-run: the plan does not fit a.sti: it was made for model *" sti-run -q a.sti --plan model.plan "$alarm"
}

@test "a container that is removed below a running sti-run goes on being read" {
  cp -L model.sti a.sti
  between_lines a.sti "rm a.sti"
  same "$code" 0
  same "$(wc -l <answers)" 2
}
