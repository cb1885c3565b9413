# bench/experiments/trace-picture: the first input of a trace as a picture.
load helpers

picture="$repo/bench/experiments/trace-picture"

@test "three lanes, reads by bits, the first run only" {
  sti-run -q model.sti --plan model.plan --trace one.json "$alarm" >/dev/null
  works "$picture" one.json one.svg
  python3 -c 'import sys, xml.dom.minidom as dom; dom.parse(sys.argv[1])' one.svg
  for word in IO decode compute "embedding rows" "layer 5 slice 11, [2-6] bits" \
    ">head:" "compute waits"; do
    grep -q "$word" one.svg
  done
  # Of two runs the first is drawn: no more boxes of layers than the plan has.
  sti-run -q model.sti --plan model.plan --trace two.json "$alarm" "tell me a joke" >/dev/null
  works "$picture" two.json two.svg
  layers=$(sti-inspect --json model.plan | jq '.layers | length')
  same "$(grep -c '<title>layer [0-9]*: ' two.svg)" "$layers"
}

@test "of a cascade all levels that the first input went through, and where each begins" {
  sti-run -q model.sti --plan model.plan --trace one.json "$alarm" >/dev/null
  # Two inputs: one that goes through two levels, one that the first level answers.
  jq 'def run($level; $us): map(select(.ph == "X") | .ts += $us | .args.cascade_level = $level);
    .traceEvents as $e | .traceEvents = ($e | run(1; 0) + run(2; 1e6) + run(1; 2e6))' \
    one.json >levels.json
  works "$picture" levels.json levels.svg
  layers=$(sti-inspect --json model.plan | jq '.layers | length')
  same "$(grep -c '<title>layer [0-9]*: ' levels.svg)" $((2 * layers))
  same "$(grep -o '>level [0-9]<' levels.svg | tr -d '\n')" ">level 1<>level 2<"
}

@test "what is no trace is refused with one line" {
  refused 1 "trace-picture: model.plan: no trace of sti-run --trace *; give it one" \
    "$picture" model.plan out.svg
  refused 1 "trace-picture: none.json: no trace *" "$picture" none.json out.svg
  echo '{"traceEvents": []}' >empty.json
  refused 1 "trace-picture: empty.json: holds no whole run; *" "$picture" empty.json out.svg
  refused 1 "trace-picture: usage: *" "$picture" one.json
}
