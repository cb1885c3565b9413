# scripts/stress for some seconds: lines, exit codes and temporaries under signals, full pipes, readers
# that leave and writers that are killed. An hour of it is for people, by hand.
load helpers

@test "some seconds of it, each scene at least once" {
  works "$repo/scripts/stress" 7 59
  like "$output" "stress: seed 59, 7 s: *; nothing wrong"
}
