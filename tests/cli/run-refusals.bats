# Containers and plans that sti-run cannot use: exit 3, one line, no label on stdout.
load helpers

is_refused() { # LINE ARGUMENTS...
  local line=$1
  shift
  refused 3 "$line" sti-run -q "$@" "$alarm"
}

@test "a container that is not there, or is a folder" {
  is_refused "sti-run: none.sti: no such file" none.sti
  is_refused "sti-run: model: not a regular file" model
}

@test "a text file, an empty file and a plan as container" {
  echo "hello" >text.sti
  is_refused "sti-run: text.sti: not a shard container; make one with sti-shard" text.sti
  head -c 100000 "$example/model/vocab.txt" >text.sti
  is_refused "sti-run: text.sti: not a shard container; make one with sti-shard" text.sti
  : >empty.sti
  is_refused "sti-run: empty.sti: not a shard container; make one with sti-shard" empty.sti
  is_refused "sti-run: device.json: not a shard container; make one with sti-shard" device.json
}

@test "a container cut short" {
  head -c 5000000 model.sti >cut.sti
  is_refused "sti-run: cut.sti: file has 5000000 bytes, its header says $(stat -Lc %s model.sti); copy the file again" cut.sti
  head -c 40 model.sti >cut.sti
  is_refused "sti-run: cut.sti: * cut short; copy the file again" cut.sti
}

@test "a container of a newer version" {
  cp model.sti new.sti
  poke new.sti 8 '\x07'
  is_refused "sti-run: new.sti: container version 7 is newer than this tool's 1; update the tools or run this version's sti-shard" new.sti
}

@test "a damaged header and a damaged index" {
  cp model.sti bad.sti
  flip bad.sti 17
  is_refused "sti-run: bad.sti: header is damaged; copy the file again or run sti-shard" bad.sti
  cp model.sti bad.sti
  flip bad.sti $(($(od -An -tu8 -j 24 -N 8 model.sti) + 100))
  is_refused "sti-run: bad.sti: index is damaged; copy the file again or run sti-shard" bad.sti
}

@test "a damaged shard is named, and no label is given" {
  # With the exact weights left out, 6 bits read every byte of every shard.
  sti-shard -q model -o bad.sti --bits 2-6
  sti-run -q bad.sti --bits 6 "$alarm" >/dev/null
  size=$(stat -c %s bad.sti)
  # The first tenths of the file that belong to a shard; each is flipped and flipped back.
  found=0
  for tenth in 1 2 3 4 5 6 7 8 9; do
    at=$((size * tenth / 10))
    flip bad.sti $at
    run --separate-stderr sti-run -q bad.sti --bits 6 "$alarm"
    if [ "$status" -ne 0 ]; then
      same "$status" 3
      same "$output" ""
      like "$stderr" "sti-run: bad.sti: * is damaged; copy the file again or run sti-shard"
      if [[ $stderr == *"layer "*" slice "* ]]; then found=$((found + 1)); fi
    fi
    flip bad.sti $at
  done
  [ "$found" -ge 1 ]
  works sti-run -q bad.sti --bits 6 "$alarm"
}

@test "what a terminal would obey is refused in a file, and never printed" {
  sti-inspect --json model.plan >plan.json
  for field in kernel read_path strategy cpus; do
    jq --arg field $field '.[$field] = "\u001b[31mred"' plan.json >red.json
    is_refused "sti-run: red.json: $field is not at most [0-9]* bytes of printable ASCII; correct it or run sti-plan again" \
      model.sti --plan red.json
  done
  jq '.machine = "a\nb"' device.json >two.json
  refused 3 "sti-inspect: two.json: machine is not at most 1024 bytes of printable ASCII; correct it or run sti-profile again" \
    sti-inspect two.json
  is_refused "sti-run: no?[31m?.sti: no such file" $'no\e[31m\xff.sti'
  refused 2 "sti-run: '?[31m' is not a way to read; choose auto, uring, threads or buffered" \
    sti-run -q model.sti --io $'\e[31m' "$alarm"
  copy_model names
  for names in '{"0": "a\u001b[31m", "1": "b"}' '{"0": "a", "1": "a"}' '{"0": "a", "1": ""}'; do
    jq --argjson names "$names" '.id2label = $names' model/config.json >names/config.json
    refused 3 "sti-shard: names/config.json: id2label: label [01] is *; give each label a name of its own, in one line of text" \
      sti-shard names -o names.sti
  done
}

@test "a plan for another model: both digests" {
  make_other_model
  other=$(sti-inspect --json other.sti | jq -r '.model[0:8]')
  mine=$(sti-inspect --json model.sti | jq -r '.model[0:8]')
  is_refused "sti-run: the plan does not fit other.sti: it was made for model $mine…, not $other…; run sti-plan on this model" \
    other.sti --plan model.plan
}

@test "a plan that wants bits which the container lacks" {
  sti-shard -q model -o exact.sti --bits 32
  sti-shard -q model -o two.sti --bits 2
  sti-inspect --json model.plan |
    jq --arg model "$(sti-inspect --json two.sti | jq -r .model)" '.model = $model | .preload = []
      | .bits |= map(map(5))' >five.json
  is_refused "sti-run: the plan does not fit two.sti: layer * slice * at 5 bits is not stored; run sti-plan on this model" \
    two.sti --plan five.json
}

@test "a plan that is not one" {
  is_refused "sti-run: none.plan: no such file" model.sti --plan none.plan
  is_refused "sti-run: dev.tsv: neither JSON nor a binary * file; give one of these" model.sti --plan dev.tsv
  is_refused "sti-run: device.json: * is missing; correct it or make it again" model.sti --plan device.json
  echo '{"layers": [0,' >broken.json
  is_refused "sti-run: broken.json: not well-formed JSON at byte *; correct it or make it again" model.sti --plan broken.json
}

@test "a damaged plan, a plan cut short, a plan of a newer version" {
  cp model.plan bad.plan
  flip bad.plan $(($(stat -c %s bad.plan) - 3))
  is_refused "sti-run: bad.plan: the payload does not match its checksum; the file is damaged, make it again" \
    model.sti --plan bad.plan
  head -c 100 model.plan >cut.plan
  is_refused "sti-run: cut.plan: the payload is not as long as the header says; the file is damaged, make it again" \
    model.sti --plan cut.plan
  head -c 20 model.plan >cut.plan
  is_refused "sti-run: cut.plan: the header is cut short; the file is damaged, make it again" \
    model.sti --plan cut.plan
  cp model.plan new.plan
  poke new.plan 8 '\x07'
  is_refused "sti-run: new.plan: format version 7 is newer than this tool knows (1); use a newer tool or make the file again with this one" \
    model.sti --plan new.plan
}

@test "an edited plan beyond the model" {
  sti-inspect --json model.plan >plan.json
  jq '.layers[-1] = 6 | .preload = []' plan.json >edited.json
  is_refused "sti-run: the plan does not fit model.sti: layer 6 is beyond the last; run sti-plan on this model" \
    model.sti --plan edited.json
  jq '.length = 129' plan.json >edited.json
  is_refused "sti-run: the plan does not fit model.sti: length 129 is more than any input has; run sti-plan on this model" \
    model.sti --plan edited.json
}

@test "a plan measured with other arithmetic or reads is warned of, and runs" {
  sti-inspect --json model.plan | jq '.kernel = "abacus" | .read_path = "tape"' >far.json
  run --separate-stderr sti-run model.sti --plan far.json "$alarm"
  same "$status" 0
  like "$output" $'alarm\t*'
  mapfile -t stderr_lines < <(without_lateness <<<"$stderr")
  same "${#stderr_lines[@]}" 2
  like "${stderr_lines[0]}" "sti-run: warning: the plan counts on reads through tape, this run has *; run sti-profile here"
  like "${stderr_lines[1]}" "sti-run: warning: the plan counts on kernel abacus, this run has *; run sti-profile here"
}
