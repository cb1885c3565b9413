# scripts/walk-run for some seconds: a sti-run that has been through plans, signals, pauses and failing
# flash answers as fresh ones do. An hour of it is for people, by hand.
load helpers

@test "some seconds of it: each line answered in order, as a fresh run does" {
  works "$repo/scripts/walk-run" 6 60
  like "$output" "walk-run: seed 60, 6 s: *SIGHUP *; nothing wrong"
}

@test "an answer under a plan that is not in force is noticed: exit 1, the steps and the seed" {
  export STI_WALK_SWAP=1 TMPDIR=$BATS_TEST_TMPDIR
  run --separate-stderr "$repo/scripts/walk-run" 1 60
  same "$status" 1
  like "${lines[0]}" "one.plan is *"
  like "${lines[-1]}" "walk-run: * as under *, where * may be in force: * (seed 60, walk 0, *)"
}
