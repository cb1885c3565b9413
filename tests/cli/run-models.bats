# Several models in one process (--model): lines say which one they are for, and answers which one
# they are of.
load helpers

setup() {
  make_links
  printf 'a\t%s\nb\ttell me a joke\na\tplay it again\nb\t%s\n' "$alarm" "$alarm" >lines
}

both() { sti-run -q --model a=model.sti,model.plan --model b=model.sti "$@"; }

@test "each line is answered by the model that it names, in the order of its lines" {
  works both <lines
  same "${#lines[@]}" 4
  same "$(grep ^a <<<"$output")" "$(sed -n 's/^a\t//p' lines | sti-run -q model.sti --plan model.plan | sed 's/^/a\t/')"
  same "$(grep ^b <<<"$output")" "$(sed -n 's/^b\t//p' lines | sti-run -q model.sti | sed 's/^/b\t/')"
}

@test "--json names the model, and how long a line waited for it" {
  works both --json --top 1 <lines
  holds "$(jq -s . <<<"$output")" 'map(.model) | sort == ["a", "a", "b", "b"]'
  holds "$(jq -s . <<<"$output")" 'all(.waited_us >= 0 and has("logits"))
    and (map(select(.model == "b")) | map(.turn) == [1, 2])
    and (map(select(.model == "a")) | map(.text)[1] == "play it again")'
}

@test "--turn-gap is each model's: without a gap each of its lines is a first turn" {
  works both --turn-gap 0 --json <lines
  holds "$(jq -s . <<<"$output")" 'length == 4 and all(.turn == 1)'
}

@test "one answer comes before the next line is asked for" {
  coproc RUN { both; }
  for name in a b a; do
    printf '%s\t%s\n' $name "$alarm" >&"${RUN[1]}"
    read -r answer <&"${RUN[0]}"
    like "$answer" "$name"$'\talarm\t*'
  done
  local pid=$RUN_PID # bash forgets it once the process has ended
  exec {RUN[1]}>&-
  wait "$pid"
}

@test "on SIGHUP each model reads its plan file again; what does not fit leaves the old" {
  sti-plan -q model.sti --profile device.json --submodel 6x6 -o one.json
  sti-plan -q model.sti --profile device.json --submodel 5x6 -o two.json
  mkfifo lines-in
  env --default-signal=HUP sti-run --json --model one=model.sti,one.json --model two=model.sti,two.json \
    --model whole=model.sti <lines-in >answers 2>errors &
  exec 7>lines-in
  ask_each() { # ANSWERS: as many are there then
    printf '%s\tset an alarm\n' one two whole >&7
    for _ in {1..400}; do
      [ "$(wc -l <answers)" -eq "$1" ] && break
      sleep 0.05
    done
  }
  ask_each 3
  sti-plan -q model.sti --profile device.json --submodel 3x6 -o next.json
  mv next.json one.json
  echo none >two.json
  kill -HUP $!
  ask_each 6
  exec 7>&-
  wait $!
  depths() { jq -c "select(.model == \"$1\") | .layers | length" answers | xargs; }
  same "$(depths one), $(depths two), $(depths whole)" "6 3, 5 5, 6 6"
  like "$(cat errors)" "*sti-run: one: one.json: read again*"
  like "$(cat errors)" "*sti-run: warning: two: two.json: *; the plan in force stays*"
}

@test "--pairs and --ids: the name stands before the first tab" {
  run --separate-stderr both --pairs < <(printf 'a\tone\ttwo\na\tone\n')
  same "$status" 3
  like "${lines[0]}" $'a\t*\t0.*\tone\ttwo'
  same "${lines[1]}" $'a\t! no tab between two sentences'
  works both --ids < <(printf 'b\t2 3\n')
  like "$output" $'b\t*\t0.*\t2 3'
}

@test "a line for no model is refused alone, and no name of it obeyed" {
  run --separate-stderr both < <(printf 'none\nc\tx\n\e[31m\xff\tx\n\nA\tx\n' && cat lines)
  same "$status" 3
  same "$stderr" ""
  same "$(grep -c $'^[ab]\t' <<<"$output")" 4
  same "$(grep ^! <<<"$output")" "! no tab after the name of a model
! no model has the name 'c'
! no model has the name '?[31m?'
! no tab after the name of a model
! no model has the name 'A'"
  run --separate-stderr both --json < <(printf 'c\tx\n')
  same "$status" 3
  same "$output" '{"model":null,"error":"no model has the name '"'c'"'","text":"c\tx"}'
}

@test "a line over 1 MiB is refused alone, in its turn" {
  { printf 'a\t' && head -c 1100000 /dev/zero | tr '\0' x && echo && cat lines; } >more
  run --separate-stderr both <more
  same "$status" 3
  same "$(grep ^a <<<"$output" | head -n 1)" $'a\t! a line over 1 MiB'
  same "$(wc -l <<<"$output")" 5
}

@test "what happened is told of each model, with its name" {
  sti-inspect --json model.plan | jq '.target_us = 1' >never.json
  long=$(printf 'alarm %.0s' {1..200})
  both=(--model late=model.sti,never.json --model cut=model.sti)
  run --separate-stderr sti-run "${both[@]}" --stats < <(printf 'late\tx\nlate\ty\ncut\t%s\ncut\tx\n' "$long")
  same "$status" 0
  for line in "cut: no plan: running the whole model *" "warning: late: input 1 is late: * of 1 us;*" \
    "late: 2 of 2 inputs late, worst by *" "warning: cut: input 1 is truncated to 128 tokens;*" \
    "cut: 1 of 2 inputs truncated" "late: * of 1 us (late), *peak memory*" "cut: layer 5: IO *"; do
    like "$stderr" "*sti-run: $line*"
  done
  refused_late() { run --separate-stderr sti-run -q "${both[@]}" --on-late fail; }
  refused_late < <(printf 'cut\tx\nlate\tx\n')
  same "$status" 4
  same "$stderr" "sti-run: late: an input missed the target; plan with a longer --target"
  refused_late < <(printf 'cut\tx\n')
  same "$status" 0
}

@test "a model whose shards are damaged leaves the other answering" {
  sti-shard -q model -o bad.sti --bits 2-6
  size=$(stat -c %s bad.sti)
  for tenth in 3 4 5 6 7; do flip bad.sti $((size * tenth / 10)); done
  printf 'bad\tx\ngood\t%s\nbad\ty\ngood\t%s\n' "$alarm" "$alarm" >lines
  run --separate-stderr sti-run -q --model bad=bad.sti --model good=model.sti,model.plan <lines
  same "$status" 3
  same "$(grep -c $'^good\talarm\t' <<<"$output")" 2
  same "$(grep -c $'^bad\t! bad.sti: .* is damaged; ' <<<"$output")" 2
  same "${#stderr_lines[@]}" 1
  like "$stderr" "sti-run: bad: bad.sti: * is damaged; copy the file again or run sti-shard"
}

@test "--memory bounds the process with all its models, or says what is needed" {
  run --separate-stderr both --memory 1MB <lines
  same "$status" 4
  like "$stderr" "sti-run: --memory 1.0 MB is less than the * MB that the models and the process need; raise it"
  same "$output" ""
  is_sanitized && skip "memory means nothing under sanitizers"
  [[ $stderr =~ the\ ([0-9.]+)\ MB\ that ]]
  limit=$(jq -n "(${BASH_REMATCH[1]} + 0.5) * 1000000 | floor")
  tail -n +2 few.tsv | cut -f 1 | awk '{ print (NR % 2 ? "a" : "b") "\t" $0 }' >many
  sti-run --model a=model.sti,model.plan --model b=model.sti --memory "$limit" --stats <many \
    >answers 2>said || { cat said; return 1; }
  same "$(wc -l <answers)" 30
  peak=$(grep -o 'peak memory .* MB' said | grep -o '[0-9.]*' | sort -g | tail -n 1)
  [ "$(jq -n "$peak * 1000000 <= $limit")" = true ]
  # Lines of a mebibyte, which each model has at hand and waiting.
  yes "$alarm" | tr '\n' ' ' | head -c 1040000 >text
  for _ in 1 2 3 4; do for name in a b; do printf '%s\t' $name && cat text && echo; done; done >long
  sti-run --model a=model.sti,model.plan --model b=model.sti --memory "$limit" --stats <long \
    >answers 2>said || { cat said; return 1; }
  same "$(wc -l <answers)" 8
  peak=$(grep -o 'peak memory .* MB' said | grep -o '[0-9.]*' | sort -g | tail -n 1)
  # As in memory.bats, copies of the tool differ; without a bound on lines it was 5 MB above.
  [ "$(jq -n "$peak * 1000000 <= $limit + 400000")" = true ] ||
    same "$peak MB" "$limit bytes at most"
}

@test "names and files of --model" {
  refuses() { refused 2 "sti-run: $1" sti-run -q --model "${@:2}" </dev/null; }
  refuses "--model x names no model; write NAME=FILE,PLAN" x
  refuses "--model a= has no container; write NAME=FILE,PLAN" a=
  refuses "--model a: stdin has the inputs, no plan; name the plan's file" a=model.sti,-
  for name in "" "a b" $'a\tb' '!' $'\e' ü "$(printf 'x%.0s' {1..65})"; do
    refuses "--model: '*' is not a name; take up to 64 letters, *" "$name=model.sti"
  done
  refuses "--model: two models have the name 'a'; give each its own" a=model.sti --model a=other.sti
  refuses "--model takes no MODEL: *; drop one" a=model.sti model.sti
  refuses "--model takes no --plan: each model has a plan of its own, *" a=model.sti --plan model.plan
  refuses "--model takes no --eval: it measures one model alone; drop one" a=model.sti --eval few.tsv
  refuses "--threshold is for multi-label models; *" a=model.sti --threshold 0.3
  refused 3 "sti-run: a: none.sti: no such file" sti-run -q --model a=none.sti
  refused 3 "sti-run: a: no?.plan: no such file" sti-run -q --model $'a=model.sti,no\e.plan'
  refused 2 "sti-run: b: --on-late degrade needs a plan with a target *" both --on-late degrade
  cp model.sti 'with,comma.sti'
  works sti-run -q --model a=with,comma.sti, --model b=with,comma.sti,model.plan --one-shot <lines
  like "$output" $'a\talarm\t*'
}

@test "SIGTERM while waiting for a line: 143, and what was given is answered" {
  mkfifo pipe
  both <pipe >answers 2>errors &
  local process=$! code=0
  exec 7>pipe
  cat lines >&7
  for _ in {1..400}; do
    [ "$(wc -l <answers)" -eq 4 ] && break
    sleep 0.05
  done
  kill -TERM "$process"
  wait "$process" || code=$?
  exec 7>&-
  same "$code" 143
  same "$(wc -l <answers)" 4
  same "$(cat errors)" ""
}

@test "a reader that goes away ends it with 141, quietly" {
  yes "$(cat lines)" | head -n 20000 >many
  set +o pipefail
  both <many 2>errors | head -n 1 >first
  local codes=("${PIPESTATUS[@]}")
  same "${codes[0]}" 141
  same "$(cat errors)" ""
}
