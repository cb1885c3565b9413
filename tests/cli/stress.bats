# scripts/stress for some seconds: lines, exit codes and temporaries under signals, full pipes, readers
# that leave and writers that are killed. An hour of it is for people, by hand.
load helpers

@test "ten seconds of it, each scene at least once" {
  works "$repo/scripts/stress" 10 59
  like "$output" "stress: seed 59, 10 s: *; nothing wrong"
}
