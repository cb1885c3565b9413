# sti-importance --part and merge: work spread over any number of jobs gives the undivided bytes.
load helpers

setup() {
  make_links
  head -n 7 dev.tsv >six.tsv
}

measure() { sti-importance -q model.sti --data six.tsv --metric loss "$@"; }

make_parts() { # N OPTION...
  local part
  for part in $(seq "$1"); do measure --part "$part/$1" -o "part$part-of-$1" "${@:2}"; done
}

merge() { sti-importance merge -q "$@"; }

@test "any number of parts, joined in any order, gives the undivided bytes" {
  measure -o whole.importance
  for n in 1 2 5 80; do
    make_parts $n
    # shellcheck disable=SC2046
    works merge $(ls -r part*-of-$n) -o joined.importance
    cmp joined.importance whole.importance
  done
}

@test "so it does with submodels and gains, for any threads and memory" {
  measure --submodels --gains -o whole.json
  measure --submodels --gains --part 1/3 --threads 1 -o a
  measure --submodels --gains --part 2/3 --cache-bytes 1 -o b
  measure --submodels --gains --part 3/3 --cache-bytes 1GiB -o c
  works merge c a b -o joined.json
  cmp joined.json whole.json
}

@test "--cache-bytes changes no bit, and -v says what is held" {
  measure -o whole.importance
  for size in 1 300kB 2MB; do
    measure --cache-bytes $size -o a.importance
    cmp a.importance whole.importance
  done
  run --separate-stderr sti-importance -v model.sti --data six.tsv --metric loss \
    --cache-bytes 1 -o a.importance
  like "$stderr" "*sti-importance: --cache-bytes: the longest example alone needs * for activations*"
  like "$stderr" "* s on * thread*, *TFLOP, * of activations; plain evaluations take * times as many, and * times padded to 128*"
}

@test "--compute is recorded, and parts of another are refused" {
  measure --compute fp32 -o a.json
  measure -o b.json
  cmp a.json b.json
  make_parts 2
  run --separate-stderr sti-importance -q model.sti --data six.tsv --metric loss --part 2/2 \
    --compute bf16 -o low
  [ "$status" -eq 0 ] || skip "no bf16 here"
  refused 3 "sti-importance: low: is of another kernel (*-bf16, not *-fp32), unlike part1-of-2; join parts of one measurement only" \
    merge part1-of-2 low -o x.importance
  [ ! -e x.importance ]
}

@test "gaps, overlaps and unfinished parts are refused, and named" {
  make_parts 4
  refused 3 "sti-importance: no part has units * of 73, which come before part2-of-4 (part 2/4); give all parts" \
    merge part[2-4]-of-4 -o x.importance
  refused 3 "sti-importance: no part has units * of 73, which come after part1-of-4 before part3-of-4 (part 3/4); give all parts" \
    merge part[134]-of-4 -o x.importance
  refused 3 "sti-importance: no part has units * to 73 of 73, which come after part3-of-4 (part 3/4); give all parts" \
    merge part[123]-of-4 -o x.importance
  cp part2-of-4 again
  refused 3 "sti-importance: again and part2-of-4 overlap: both have units *; give each part once" \
    merge part[1-4]-of-4 again -o x.importance
  make_parts 2
  refused 3 "sti-importance: part1-of-* and part1-of-* overlap: both have units *" \
    merge part[12]-of-2 part1-of-4 -o x.importance
  [ ! -e x.importance ]
}

@test "parts of another model, data, metric and of other options are refused, and named" {
  make_parts 2
  part2() { sti-importance -q "${1}" --data "$2" --metric "$3" --part 2/2 -o alien "${@:4}"; }
  is_refused() {
    refused 3 "sti-importance: alien: is of $1, unlike part1-of-2; join parts of one measurement only" \
      merge part1-of-2 alien -o x.importance
  }
  make_other_model
  part2 other.sti six.tsv loss
  is_refused "another model (*, not *)"
  part2 model.sti few.tsv loss
  is_refused "other data (*, not *)"
  part2 model.sti six.tsv accuracy
  is_refused "another metric (accuracy, not loss)"
  part2 model.sti six.tsv loss --gains
  is_refused "a measurement with gains"
  part2 model.sti six.tsv loss --submodels
  is_refused "a measurement with submodels"
  [ ! -e x.importance ]
}

@test "a part is no importance, and an importance no part" {
  make_parts 2
  line="part1-of-2: is part 1/2 of an importance; join the parts with sti-importance merge"
  refused 3 "sti-importance: $line" sti-importance show part1-of-2
  refused 3 "sti-plan: $line" sti-plan model.sti --profile device.json --importance part1-of-2 \
    --target 12ms -o x.plan
  refused 3 "sti-importance: model.importance: is no part of an importance; give files that --part wrote" \
    merge part1-of-2 model.importance -o x.importance
  flip part2-of-2 200
  refused 3 "sti-importance: part2-of-2: the payload does not match its checksum; *" \
    merge part1-of-2 part2-of-2 -o x.importance
}

@test "sti-inspect describes and verifies a part" {
  make_parts 3
  works sti-inspect part2-of-3
  like "${lines[0]}" "part 2/3 of an importance: units * to * of 73"
  works sti-inspect --json part2-of-3
  holds "$output" '.part == 2 and .parts == 3 and .begin < .end and .end == .due and .units == 73'
  works sti-inspect --verify part2-of-3
  same "$output" "part of an importance is whole"
  flip part2-of-3 200
  refused 3 "sti-inspect: part2-of-3: the payload does not match its checksum; *" \
    sti-inspect --verify part2-of-3
}

@test "wrong parts on the command line" {
  for part in 0/2 3/2 1/0 2 2/ /2 1/2/3 a/b 1/1000001 -1/2; do
    run --separate-stderr sti-importance model.sti --data six.tsv "--part=$part" -o x
    same "$part: $status" "$part: 2"
    like "$stderr" "sti-importance: --part: *"
  done
  refused 2 "sti-importance: -o: a part is a binary file; *" \
    sti-importance model.sti --data six.tsv --part 1/2 -o x.json
  refused 2 "sti-importance: -o: a part is a binary file; *" \
    sti-importance model.sti --data six.tsv --part 1/2 -o -
  refused 2 "sti-importance: -o FILE is required; see sti-importance merge --help" \
    sti-importance merge model.importance
  [ ! -e x ]
}

# The model's digest does not know which bitwidths a container holds.
@test "parts of containers with other fewest bits are not joined, nor resumed" {
  local bits
  for bits in 2 3; do
    sti-shard -q model --bits $bits,32 -o $bits.sti
    sti-importance -q $bits.sti --data six.tsv --metric loss --part 1/2 -o $bits.part1
    sti-importance -q $bits.sti --data six.tsv --metric loss --part 2/2 -o $bits.part2
  done
  refused 3 "*a container with other bits*" merge 2.part1 3.part2 -o whole
  refused 3 "*a container with other bits*" \
    sti-importance -q 3.sti --data six.tsv --metric loss --part 1/2 -o 2.part1 --resume
  works merge 3.part1 3.part2 -o whole
}

@test "options that merge would ignore are refused; what follows it are parts" {
  make_parts 2
  for option in "--data six.tsv" "--metric loss" "--part 1/2" --resume --gains --submodels --quick \
    "--threads 2" "--compute fp32" "--cache-bytes 1MiB"; do
    # shellcheck disable=SC2086
    refused 2 "sti-importance: merge takes no ${option%% *}; leave it out, see sti-importance merge --help" \
      sti-importance merge part1-of-2 part2-of-2 -o x $option
  done
  refused 2 "sti-importance: merge takes no MODEL; *" \
    sti-importance model.sti merge part1-of-2 part2-of-2 -o x
  refused 3 "sti-importance: show: no such file" \
    sti-importance merge part1-of-2 part2-of-2 show model.importance -o x
  [ ! -e x ]
  run --separate-stderr sti-importance merge -v --json part1-of-2 part2-of-2 -o x
  same "$status" 0
}

@test "an output that is one of the inputs is refused, and the input stays" {
  cp -L model.sti mm.sti
  cp six.tsv dx.tsv
  ln -s dx.tsv link.tsv
  make_parts 2
  mkdir kept
  cp mm.sti dx.tsv part?-of-2 kept
  is_refused() { # OUTPUT WHAT COMMAND...
    refused 2 "sti-importance: -o: $1 is $2, and would be replaced; name another file" \
      "${@:3}" -o "$1"
  }
  measuring=(sti-importance mm.sti --data dx.tsv --metric loss)
  is_refused mm.sti "the model" "${measuring[@]}"
  is_refused ./mm.sti "the model" "${measuring[@]}" --quick
  is_refused dx.tsv "the dev set" "${measuring[@]}" --part 1/2 --resume
  is_refused link.tsv "the dev set" "${measuring[@]}"
  is_refused part1-of-2 "one of the parts" sti-importance merge part1-of-2 part2-of-2
  is_refused part2-of-2 "one of the parts" sti-importance merge part1-of-2 part2-of-2
  for file in mm.sti dx.tsv part1-of-2 part2-of-2; do cmp "$file" "kept/$file"; done
  # A finished part is no input of its own resumption.
  measure --part 1/2 --resume -o part1-of-2
  cmp part1-of-2 kept/part1-of-2
}
