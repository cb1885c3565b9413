# The example of a model in CI (examples/ci): its Makefile, and the commands of both CIs' files.
load helpers
load pages

ci="$repo/examples/ci"

# A repository of a team that ships the shipped model, with the tools that its CI keeps.
setup() {
  skip_if_sanitized "its bounds of memory are those of a release"
  mkdir "$BATS_TEST_TMPDIR/team"
  cd "$BATS_TEST_TMPDIR/team"
  cp "$ci/Makefile" .
  ln -s "$example/model" model
  cp "$fixtures/few.tsv" dev.tsv
  cp "$example/odroid.profile.json" device.json
  mkdir -p .tools
  ln -s "$STI_BIN" .tools/bin
  unset MAKEFLAGS MAKELEVEL MFLAGS
}

# Spares a test the cutting of the model, whose outcome is known.
cut_already() {
  mkdir .work
  cp "$fixtures/model.sti" .work/whole.sti
}

# What a CI would type: FILE PATH, the path one of jq to a list of commands.
commands_of_ci() {
  python3 -c 'import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))' "$1" |
    jq -r "$2 | .[]"
}

# FILE PATH: types all but what installs packages, and finds what ships.
ci_works() {
  commands_of_ci "$1" "$2" >commands
  same "$(head -n 1 commands | cut -d ' ' -f 1-2)" "apt-get update"
  bash -e <(tail -n +2 commands)
  same "$(tail -n +2 commands | paste -sd ,)" "make tools,make check"
  same "$(cd out && echo *)" "model.plan model.sti report.json"
  holds "$(cat out/report.json)" '.examples == 30 and .baseline.accuracy > 0.9 and .target_us == 12000'
  same "$(sti-run -q out/model.sti --plan out/model.plan "$alarm" | cut -f 1)" alarm
}

@test "GitHub's commands plan the model, pass its gates and leave what ships where it is kept" {
  ci_works "$ci/github.yml" '[.jobs.model.steps[].run // empty]'
  kept=$(python3 -c 'import sys, yaml
for step in yaml.safe_load(open(sys.argv[1]))["jobs"]["model"]["steps"]:
    print(step.get("with", {}).get("path", ""), end=" ")' "$ci/github.yml")
  same "$(xargs <<<"$kept")" ".tools out/"
}

@test "GitLab's commands do the same" {
  cut_already
  ci_works "$ci/gitlab.yml" '.model.before_script + .model.script'
  same "$(commands_of_ci "$ci/gitlab.yml" '.model.cache.paths + .model.artifacts.paths' | xargs)" \
    ".tools/ out/"
}

# TARGET [NAME=VALUE]...: make ends because a command ended with 4: a gate failed, or no plan can be.
fails() {
  run make "$@"
  same "$status" 2
  like "$output" "*\[Makefile:*\] Error 4*"
}

@test "a plan that is worse fails the gate of accuracy; what cannot be met fails before" {
  cut_already
  head -n 121 "$example/dev.tsv" >dev.tsv # fewer cannot tell so small a loss from chance
  make check
  shipped=$(sha256sum out/model.plan)
  sti-plan -q .work/whole.sti --profile device.json --length 32 --submodel 1x2 --bits 2 \
    --allow-untrained -o out/model.plan
  fails check
  like "$output" "*is below the baseline's 0.9[0-9]* by more than --max-drop 0.0100, and not by chance*"
  holds "$(cat out/report.json)" '.baseline.lost > .baseline.gained and .baseline.p_value < 0.05'
  fails check TARGET=1ms
  like "$output" "*sti-plan: no plan meets 1.000 ms: *"
  make check # what is wished for is the old again, and so is what ships
  same "$(sha256sum out/model.plan)" "$shipped"
}

@test "gates of memory and bytes hold, and on a device that of misses" {
  cut_already
  fails check MAX_MEMORY=1MB MAX_BYTES=1kB
  like "$output" "*peak memory*--max-memory*"
  like "$output" "*read an input*--max-bytes 1.0 kB*"
  make check-device TARGET=10s MAX_BYTES=9MB
  # A profile of a device a thousand times as fast as any.
  jq 'walk(if type == "object" then with_entries(if .key | endswith("_us") then .value /= 1000 else . end) else . end)' \
    device.json >fast.json
  fails check-device PROFILE=fast.json TARGET=20us MAX_BYTES=9MB
  like "$output" "*--max-misses 0*"
}

@test "the page's commands work, and plan by a measured importance" {
  cut_already
  head -n 9 dev.tsv >eight.tsv && mv eight.tsv dev.tsv
  cp "$repo/examples/importance-jobs/Makefile" importance.mk
  commands_of "$ci/README.md" >commands
  same "$(wc -l <commands)" 5
  PATH="$STI_BIN:$PATH" bash -e commands
  mv out/model.plan by-importance.plan
  make check
  run ! cmp out/model.plan by-importance.plan
}

@test "the tools are built from the source that is named, once" {
  rm -r .tools
  git init -q -b main ../source
  # shellcheck disable=SC2016
  printf 'install:\n\tmkdir -p $(PREFIX)/bin && echo made >$(PREFIX)/bin/sti-run\n' >../source/Makefile
  git -C ../source add Makefile
  git -C ../source -c user.name=a -c user.email=a@example.org commit -q -m source
  works make tools "STI_SOURCE=file://$BATS_TEST_TMPDIR/source"
  same "$(ls .tools .tools/bin | xargs)" ".tools: bin .tools/bin: sti-run"
  same "$(make tools)" "make: Nothing to be done for 'tools'."
}
