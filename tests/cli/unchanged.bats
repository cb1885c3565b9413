# scripts/unchanged: containers and plans of the shipped model are what tests/data/unchanged.digests
# recorded, and so are some of a larger model of ../shared. The script itself checks all of them.
load helpers

setup_file() { :; } # none of the files that others share

setup() { cd "$BATS_TEST_TMPDIR"; }

@test "no byte of a container or a plan of the shipped model has changed" {
  works "$repo/scripts/unchanged" check "$STI_BIN" --model=shipped
  like "$output" "* requests, 0 differ"
}

@test "some plans of a larger model have not changed: the room for their shards is another" {
  [ -d "$shared/models/clinc150-minilm-6x12" ] || skip "needs ../shared: models/clinc150-minilm-6x12"
  works "$repo/scripts/unchanged" check "$STI_BIN" --model=clinc150-minilm-6x12 \
    --request=submodel --request=sti-paper --request=cold
  same "$output" "6 requests, 0 differ"
}

# A sti-plan that flips the lowest bit of one character of the plan that it wrote: 32 becomes 33.
@test "one bit of one plan is noticed" {
  mkdir bin
  ln -s "$STI_BIN"/sti-* bin/
  rm bin/sti-plan
  cat >bin/sti-plan <<END
#!/usr/bin/env bash
"$STI_BIN/sti-plan" "\$@" || exit
[[ "\$*" != *" --turns 4 "*" -o made.json" ]] || sed -i 's/"length": 32,/"length": 33,/' made.json
END
  chmod +x bin/sti-plan
  run "$repo/scripts/unchanged" check bin --model=shipped --request=turns --request=submodel
  same "$status" 1
  same "$(head -n 2 <<<"$output")" "shipped/gobo/turns: not what it was
shipped/tree/turns: not what it was"
  same "${lines[2]}" "4 requests, 2 differ"
}

@test "a build that is not there, and commands that do not exist" {
  refused 1 "unchanged: no sti-plan in nowhere; run make" "$repo/scripts/unchanged" check nowhere
  run "$repo/scripts/unchanged" forget
  same "$status" 2
  like "$output" "*Usage: scripts/unchanged check*"
}
