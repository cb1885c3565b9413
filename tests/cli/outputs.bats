# No tool writes over one of its inputs.
load helpers

# keeps FILE MESSAGE COMMAND...: refused with exit 2, and the file is as it was.
keeps() {
  local file=$1 message=$2 before
  shift 2
  before=$(sha256sum <"$file")
  refused 2 "$message" "$@"
  same "$(sha256sum <"$file")" "$before"
}

# Copies in place of the links, so that a tool that failed the test would damage nothing else.
own_files() {
  local name
  for name in model.sti model.importance device.json model.plan few.tsv; do
    cp --remove-destination "$(readlink -f $name)" $name
  done
}

@test "sti-shard: a file of the model folder, a plan of --for" {
  own_files
  cp -rL model folder
  keeps folder/vocab.txt "sti-shard: -o: folder/vocab.txt is a file of the model folder, and would be replaced; name another file" \
    sti-shard folder -o folder/vocab.txt
  keeps model.plan "sti-shard: -o: model.plan is a plan of --for, *" \
    sti-shard model --for model.plan -o model.plan
}

@test "sti-profile: the model, by another name too" {
  own_files
  ln -s model.sti other.name
  keeps model.sti "sti-profile: -o: other.name is the model, *" sti-profile model.sti -o other.name
}

@test "sti-importance: the model and the dev set" {
  own_files
  keeps model.sti "sti-importance: -o: model.sti is the model, *" \
    sti-importance model.sti --data few.tsv -o model.sti
  keeps few.tsv "sti-importance: -o: few.tsv is the dev set, *" \
    sti-importance model.sti --data few.tsv -o few.tsv
}

@test "sti-importance show: the file that it draws" {
  own_files
  keeps model.importance "sti-importance: --svg: model.importance is an importance to show, *" \
    sti-importance show model.importance --svg model.importance
}

@test "sti-plan: model, profile, importance and the plan to check, for every file it writes" {
  own_files
  local plan=(sti-plan model.sti --profile device.json --importance model.importance)
  keeps device.json "sti-plan: -o: device.json is the profile, *" \
    "${plan[@]}" --target 12ms -o device.json
  keeps model.importance "sti-plan: -o: ./model.importance is the importance, *" \
    "${plan[@]}" --target 12ms -o ./model.importance
  keeps model.sti "sti-plan: --gantt: model.sti is the model, *" \
    "${plan[@]}" --target 12ms --gantt model.sti
  keeps model.plan "sti-plan: --gantt: model.plan is the plan to check, *" \
    "${plan[@]}" --check model.plan --gantt model.plan
  keeps model.sti "sti-plan: --sweep-svg: model.sti is the model, *" \
    "${plan[@]}" --sweep --sweep-svg model.sti
}

@test "a picture whose name ends as another format's is refused, and nothing is written" {
  local plan=(sti-plan model.sti --profile device.json --target 12ms)
  refused 2 "sti-plan: --gantt writes SVG, and g.png does not end in .svg; name it so" "${plan[@]}" --gantt g.png
  refused 2 "sti-plan: --gantt writes SVG, and svg does not end in .svg; name it so" "${plan[@]}" --gantt svg -o a.plan
  refused 2 "sti-plan: --sweep-svg writes SVG, and s.png does not end in .svg; name it so" \
    sti-plan model.sti --profile device.json --importance model.importance --sweep --sweep-svg s.png
  refused 2 "sti-importance: --svg writes SVG, and h.png does not end in .svg; name it so" \
    sti-importance show model.importance --svg h.png
  refused 2 "sti-importance: --png writes PNG, and h.svg does not end in .png; name it so" \
    sti-importance show model.importance --png h.svg
  same "$(echo [gsha]*.png svg h.* a.plan)" "[gsha]*.png svg h.* a.plan"
}

@test "sti-run: model, plan and data, by --trace" {
  own_files
  keeps model.sti "sti-run: --trace: model.sti is the model, *" \
    sti-run model.sti --plan model.plan --trace model.sti "$alarm"
  keeps model.plan "sti-run: --trace: model.plan is the plan, *" \
    sti-run model.sti --plan model.plan --trace model.plan "$alarm"
}
