# sti-plan --explain and --gantt: the two lanes over time, for a terminal and as a picture.
load helpers

plan() { sti-plan model.sti --profile device.json --importance model.importance "$@"; }

# Well-formed XML whose root is svg.
is_svg() {
  python3 - "$1" <<'PYTHON'
import sys
import xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
sys.exit(0 if root.tag == "{http://www.w3.org/2000/svg}svg" else 1)
PYTHON
}

@test "--explain ends with the lanes over time, in 80 columns" {
  works plan --target 12ms --preload 200kB --explain -q -o a.plan
  same "$(awk 'length > 80' <<<"$output")" ""
  like "$output" "*timeline   by medians: * of 12.00 ms*"
  same "$(grep -c '^layer ' <<<"$output")" "$(sti-inspect --json a.plan | jq '.layers | length')"
  like "$output" "*IO            r*compute       *"
  # Through a pipe there are no box characters.
  same "$(LC_ALL=C grep -c -P '[^\x00-\x7f]' <<<"$output")" 0
}

@test "--gantt writes a picture of the plan" {
  works plan --target 12ms --preload 200kB -q -o a.json --gantt a.svg
  is_svg a.svg
  grep -q "S = 200.0 kB" a.svg
  grep -q "T = 12.00 ms" a.svg
  # A load for each shard that is read, in its lane and in its layer's row.
  loads=$(grep -c "slice [0-9]*, [0-9]* bits: " a.svg)
  same "$loads" "$(jq '2 * ((.layers | length) * .width - (.preload | length))' a.json)"
  same "$(grep -c ", preloaded" a.svg)" "$(jq '.preload | length' a.json)"
  plan --target 12ms --preload 200kB -q --gantt b.svg
  cmp a.svg b.svg
}

@test "--gantt of a plan that --check judges, also of one that is late" {
  works plan --check model.plan --gantt a.svg
  same "${lines[-1]}" valid
  is_svg a.svg
  sti-inspect --json model.plan | jq '.bits[-1] |= map(6) | .bits[-2] |= map(6)' >edited.json
  run --separate-stderr plan --check edited.json --gantt late.svg
  same "$status" 4
  is_svg late.svg
  grep -q "waits for IO: " late.svg
}

@test "--gantt - is the only thing on stdout" {
  works plan --target 12ms --gantt -
  is_svg <(echo "$output")
  refused 2 "sti-plan: -o - and --gantt - both want stdout; name a file for one" \
    plan --target 12ms -o - --gantt -
  refused 2 "sti-plan: --json and --gantt - both want stdout; name a file for --gantt" \
    plan --target 12ms --json --gantt -
}

@test "lead time is left of the text's arrival" {
  works plan --submodel 6x6 --target 6ms --wake 2ms --explain -q --gantt a.svg
  is_svg a.svg
  like "$output" "*IO from 2.00 ms before*"
}

@test "a picture that cannot be written leaves no plan behind" {
  refused 1 "sti-plan: *no-such-folder/a.svg*" plan -q --target 12ms -o a.plan --gantt no-such-folder/a.svg
  [ ! -e a.plan ]
}
