# -q silences all but errors; -v explains; results go to stdout, the rest to stderr.
load helpers

@test "-q: no tool says anything when all is well" {
  works sti-shard -q model -o a.sti --bits 2
  same "$output" ""
  head -n 4 dev.tsv >three.tsv
  works sti-importance -q model.sti --data three.tsv --metric loss -o a.importance
  same "$output" ""
  works sti-profile -q model.sti -o a.profile --budget 1s --lengths 16 --widths 12
  same "$output" ""
  works sti-plan -q model.sti --profile device.json --target 12ms -o a.plan
  same "$output" ""
  works sti-run -q model.sti "$alarm"
  like "$output" $'alarm\t0.*\t'"$alarm"
}

@test "without -q a tool that writes a file tells on stderr what it wrote" {
  run --separate-stderr sti-shard model -o a.sti --bits 2
  same "$status" 0
  same "$output" ""
  like "$stderr" "sti-shard: a.sti: 6x12 shards, * MB, *bits a weight, *% outliers"
}

@test "-q does not silence an error" {
  refused 3 "sti-run: none.sti: no such file" sti-run -q none.sti "$alarm"
}

@test "-v explains how the run reads and computes" {
  run --separate-stderr sti-run -v --io threads model.sti "$alarm"
  same "$status" 0
  like "$stderr" "*sti-run: reading through threads, computing with *"
}
