# What a plan predicts of a runner's memory, beside what the kernel counted.
load helpers

setup() {
  # Shadow memory and quarantine are no part of a runner.
  grep -q __asan_init "$STI_BIN/sti-run" && skip "memory means nothing under AddressSanitizer"
  make_links
}

# The whole process within 8 %: shards and working memory are counted to the byte, the rest is a
# process that the profiler measured.
close_to_prediction() { # PLAN [OPTION...]
  local predicted seen
  predicted=$(sti-inspect --json "$1" | jq .predicted_peak_bytes)
  seen=$(sti-run -q model.sti --eval few.tsv --json --plan "$@" | jq .peak_rss_bytes)
  [ $((predicted * 100)) -gt $((seen * 92)) ] && [ $((predicted * 100)) -lt $((seen * 108)) ] && return
  printf 'predicted %s, seen %s\n' "$predicted" "$seen"
  return 1
}

@test "the predicted peak is the measured one, preloaded or streamed, small or large" {
  sti-profile -q model.sti -o here.profile --budget 1s --lengths 32 --widths 3,12 --threads 2
  plan() { sti-plan -q model.sti --profile here.profile "$@"; }
  plan --strategy stdpl --bits 2 --submodel 6x3 -o small.plan
  plan --strategy stdpl --bits 32 --submodel 6x12 -o large.plan
  plan --strategy preload --bits 6 --submodel 6x12 -o held.plan
  for plan in small large held; do close_to_prediction $plan.plan --threads 2; done
}

@test "a plan made for a limit runs within it, or nearly" {
  sti-profile -q model.sti -o here.profile --budget 1s --lengths 32 --widths 12 --threads 1
  sti-plan -q model.sti --profile here.profile --strategy stdpl --bits 6 --submodel 6x12 -o free.json
  limit=$(jq '.predicted_peak_bytes - (.staging_bytes / 4 | floor)' free.json)
  sti-plan -q model.sti --profile here.profile --strategy stdpl --bits 6 --submodel 6x12 \
    --memory "$limit" -o tight.json
  holds "$(<tight.json)" ".predicted_peak_bytes <= $limit"
  close_to_prediction tight.json --threads 1 --memory "$limit"
}

# FILE OPTION...: the most memory of a run that answers the lines of the file, in bytes.
peak_of() {
  run --separate-stderr sti-run model.sti --plan model.plan --stats "${@:2}" <"$1"
  sed -n 's/.*peak memory \([0-9.]*\) MB.*/\1/p' <<<"$stderr" | tail -n 1 |
    awk '{ printf "%d", $1 * 1e6 }'
}

@test "a line of a mebibyte is held once, whatever is in it and however it is shown" {
  local bytes=1040000 short long
  echo "$alarm" >short
  short=$(peak_of short)
  yes "$alarm" | tr '\n' ' ' | head -c $bytes >words.line
  head -c $bytes /dev/zero | tr '\0' x >word.line
  head -c $bytes /dev/zero | tr '\0' '\1' >escaped.line
  yes $'\xf0\x9f' | tr -d '\n' | head -c $bytes >invalid.line
  yes $'\u302e' | tr -d '\n' | head -c $bytes >marks.line
  yes 5 | tr '\n' ' ' | head -c $bytes >ids.line
  for kind in words word escaped invalid marks ids; do
    echo >>$kind.line
    for as in "" --json; do
      long=$(peak_of $kind.line $as $([ $kind != ids ] || echo --ids))
      [ "$long" -gt 0 ]
      [ "$long" -lt $((short + bytes + 500000)) ] || same "$kind $as: $long" "about $short and a line"
    done
  done
}

@test "a word of a mebibyte takes byte-level BPE no more memory than its line" {
  local bytes=1040000 short long
  sti-shard -q "$repo/tests/data/roberta-tiny" -o bpe.sti
  peak() {
    run -0 --separate-stderr sti-run bpe.sti --stats <"$1"
    sed -n 's/.*peak memory \([0-9.]*\) MB.*/\1/p' <<<"$stderr" | tail -n 1 |
      awk '{ printf "%d", $1 * 1e6 }'
  }
  echo "$alarm" >short
  short=$(peak short)
  for unit in x the - ' '; do
    yes "$unit" | tr -d '\n' | head -c $bytes >long
    echo >>long
    long=$(peak long)
    [ "$long" -gt 0 ]
    [ "$long" -lt $((short + bytes + 700000)) ] || same "'$unit': $long" "about $short and a line"
  done
}

@test "--memory counts the longest line that may come, or says what it takes" {
  needed() { # TEXT...: in bytes
    run -4 --separate-stderr sti-run -q model.sti --plan model.plan --memory 1MB "$@" <<<"$alarm"
    sed -n 's/.* less than the \([0-9.]*\) MB needed .*/\1/p' <<<"$stderr" |
      awk '{ printf "%d", $1 * 1e6 }'
  }
  local limit peak
  limit=$(($(needed) + 400000))
  # A text of the command line is there already.
  [ $(($(needed "$alarm") + 1800000)) -gt "$limit" ]
  [ $(($(needed "$alarm") + 1100000)) -lt "$limit" ]
  # And so is a labelled set.
  [ $(($(needed --eval few.tsv) + 1100000)) -lt "$limit" ]
  yes "$alarm" | tr '\n' ' ' | head -c 1040000 >long
  echo >>long
  # How many pages of the tool's own file are mapped at once is the system's choice, by how the file
  # came into its cache: copies of one file differed by 0.4 MB.
  for as in "" --json; do
    peak=$(peak_of long --memory "$limit" $as)
    [ "$peak" -gt 0 ]
    [ "$peak" -le $((limit + 400000)) ] || same "$as $peak" "$limit at most"
  done
}

@test "a limit that one layer does not fit says how much more it takes" {
  local limit more
  run -4 --separate-stderr sti-run -q model.sti --memory 1MB "$alarm"
  limit=$(sed -n 's/.* less than the \([0-9.]*\) MB needed .*/\1/p' <<<"$stderr" |
    awk '{ printf "%d", $1 * 1e6 - 550000 }') # of it a layer takes 0.9 MB; a process 0.1 MB more or less
  run -4 --separate-stderr sti-run -q model.sti --memory "$limit" "$alarm"
  like "$stderr" "sti-run: one layer of the plan needs * bytes of staging, * more than the memory given leaves; raise --memory"
  more=$(sed -n 's/.* staging, \([0-9]*\) more .*/\1/p' <<<"$stderr")
  # A process may have a few pages more or fewer from run to run.
  works sti-run -q model.sti --memory $((limit + more + 200000)) "$alarm"
  run -4 --separate-stderr sti-run -q model.sti --memory $((limit + more - 200000)) "$alarm"
}
