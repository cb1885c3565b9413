# sti-run --window: texts that are longer than a window, read in several.
load helpers

# Sixty words, 62 tokens with the control tokens.
long() { for _ in 1 2 3 4 5 6 7 8 9 10; do printf '%s ' set an alarm for seven tomorrow; done; }

answer() { sti-run -q model.sti --plan model.plan "$@"; }

@test "a label's score is the mean of its probabilities over the windows" {
  # Windows of 30 words, each of which begins 15 behind the one before.
  words=($(long))
  for first in 0 15 30; do echo "${words[@]:first:30}"; done >windows
  works answer --json <windows
  jq -s '[.[].scores.alarm] | add / length' <<<"$output" >expected
  works answer --json --window 32 --stride 15 "${words[*]}"
  holds "$output" '.windows == 3 and .tokens == 62 and .truncated == false and .label == "alarm"'
  jq -e --slurpfile mean expected '(.scores.alarm - $mean[0]) | fabs < 1e-6' <<<"$output"
  holds "$output" '(.scores | add) > 0.99999 and (.scores | add) < 1.00001'
  holds "$output" '(.logits | length) == (.scores | length)'
  # Half a window is the stride where none is named.
  works answer --json --window 32 "${words[*]}"
  holds "$output" '.windows == 3'
}

@test "a text that fits is answered as ever, and JSON says one window" {
  works answer --json --window 32 "$alarm"
  holds "$output" '.windows == 1 and (.layers | length) > 0'
  jq -S '.scores, .logits, .tokens' <<<"$output" >windowed
  works answer --json "$alarm"
  holds "$output" 'has("windows") | not'
  jq -S '.scores, .logits, .tokens' <<<"$output" | cmp windowed
}

@test "plain lines, --stats and the summary say how many windows" {
  works answer --window 32 "$(long)"
  like "$output" $'alarm\t*tomorrow  [[]3 windows]'
  run --separate-stderr sti-run model.sti --bits 6 --window 32 --stats < <(
    long; echo; echo "$alarm")
  same "$status" 0
  like "$stderr" '*in 3 windows, the slowest *'
  like "$stderr" '*1 of 2 inputs read in 3 windows'
  like "${lines[1]}" "alarm"$'\t'*"$alarm"
}

@test "a word that alone is longer than a window is split between pieces" {
  works answer --json --window 8 --stride 4 "$(printf 'x1y2z3%.0s' {1..12})"
  holds "$output" '.windows > 3 and .label != null'
}

@test "the time of a text is that of all windows, each of which has the target" {
  works answer --json --window 16 --stride 4 "$(long)"
  holds "$output" '.windows > 8 and .latency_us > 0 and (.deadline_met | type) == "boolean"'
  jq '.target_us = 0.001 | .meets_target = false' < <(sti-inspect --json model.plan) >late.json
  run --separate-stderr sti-run model.sti --plan late.json --window 16 --on-late fail "$(long)"
  same "$status" 4
  like "$stderr" '*input 1 has a window that is late: *'
}

@test "--eval: the time of a text counts, and windows are counted" {
  printf 'sentence\tlabel\n%s\talarm\n%s\talarm\n' "$(long)" "$alarm" >set.tsv
  works answer --eval set.tsv --window 32 --json
  holds "$output" '.windows == 4 and .examples == 2 and .accuracy == 1'
  works answer --eval set.tsv --window 32
  like "$output" '*windows         4, of 2 inputs*'
  works answer --eval set.tsv --json
  holds "$output" 'has("windows") | not'
  run sti-run -q model.sti --plan model.plan --eval set.tsv --window 32 --max-p99 1us
  same "$status" 4
}

@test "--pairs: the second text is split; a first text that leaves it no room is its own error" {
  run --separate-stderr sti-run -q --json model.sti --plan model.plan --pairs --window 16 < <(
    printf 'set an alarm\t%s\n%s\ttomorrow\n%s\tset\n' "$(long)" "$(long)" "$alarm")
  same "$status" 3
  holds "${lines[0]}" '.windows > 3 and .label != null'
  holds "${lines[1]}" '.error | contains("leaves the second no room in a window of 16")'
  holds "${lines[2]}" '.windows == 1'
}

@test "--memory counts what a long text takes" {
  # In front of the first shard: as much as the process and the model have, and tokens and windows.
  needed() {
    sti-run -q model.sti --plan model.plan --memory 1MB "$@" "$alarm" 2>&1 |
      sed -n 's/.* less than the \([0-9.]*\) MB needed before the first shard.*/\1/p'
  }
  holds "[$(needed), $(needed --window 16), $(needed --window 16 --stride 1)]" \
    '(.[1] - .[0] > 3) and (.[2] - .[1] > 2)'
  several() {
    sti-run -q --model a=model.sti --model b=model.sti --memory 1MB "$@" 2>&1 <<<$'a\tx' |
      sed -n 's/.* less than the \([0-9.]*\) MB that the models and the process need.*/\1/p'
  }
  holds "[$(several), $(several --window 16)]" '.[1] - .[0] > 6'
}

@test "--trace has the lanes of each window" {
  works answer --window 32 --trace trace.json "$(long)"
  holds "$(cat trace.json)" '[.traceEvents[].args.window] | unique == [null, 1, 2, 3]'
  works answer --window 32 --trace trace.json "$alarm"
  holds "$(cat trace.json)" '[.traceEvents[].args.window] | unique == [null]'
  # A short text behind a long one is of no window.
  works answer --window 32 --trace both.json "$(long)" "$alarm"
  holds "$(cat both.json)" '[.traceEvents[] | select(.args.window == null and .ph == "X")] | length > 0'
  holds "$(jq -s '[(.[0].traceEvents | map(select(.args.window == null)) | length),
    (.[1].traceEvents | map(select(.args.window == null)) | length)]' trace.json both.json)" '.[1] >= .[0]'
}

@test "several models read in windows, and turns go on from text to text" {
  run --separate-stderr sti-run -q --json --model a=model.sti,model.plan --model b=model.sti --window 32 < <(
    printf 'a\t%s\nb\t%s\n' "$(long)" "$(long)")
  same "$status" 0
  holds "$(jq -s . <<<"$output")" 'length == 2 and all(.windows == 3)'
  works answer --json --window 32 < <(long; echo; echo "$alarm")
  holds "$(tail -n 1 <<<"$output")" '.turn == 2 and .windows == 1'
}

@test "turns go on from window to window, and guarantees and degraded runs are of each" {
  sti-plan -q model.sti --profile device.json --importance model.importance --target 12ms \
    --turns 3 --turn-buffer 400kB -o turns.plan
  works sti-run -q --json model.sti --plan turns.plan --window 32 < <(long; echo; long; echo)
  holds "$(jq -s . <<<"$output")" 'map(.turn) == [1, 2] and all(.windows == 3)'
  # The second text has the bits of later turns throughout: its windows are as texts of their own.
  words=($(long))
  for first in 0 15 30 0 15 30; do echo "${words[@]:first:30}"; done >windows
  works sti-run -q --json model.sti --plan turns.plan <windows
  jq -s '[.[3:6][].scores.alarm] | add / length' <<<"$output" >expected
  works sti-run -q --json model.sti --plan turns.plan --window 32 --stride 15 < <(
    echo "${words[*]}"; echo "${words[*]}")
  jq -se --slurpfile mean expected '(.[1].scores.alarm - $mean[0]) | fabs < 1e-6' <<<"$output"
  sti-plan -q model.sti --profile device.json --target 30ms --preload 200kB --guarantee -o safe.plan
  works sti-run -q --json model.sti --plan safe.plan --on-late degrade --window 32 "$(long)"
  holds "$output" '.windows == 3 and (.fallback | type) == "boolean" and .rows_missing >= 0'
}

@test "embeddings pool the tokens of all windows" {
  cp -rL model sentences # what the link leads to
  mkdir sentences/1_Pooling
  echo '[{"type": "models.Transformer", "path": ""}, {"type": "models.Pooling", "path": "1_Pooling"}]' \
    >sentences/modules.json
  echo '{"pooling_mode": "mean"}' >sentences/1_Pooling/config.json
  sti-shard -q sentences -o sentences.sti --bits 6
  works sti-run -q --json --window 32 sentences.sti "$(long)"
  holds "$output" '.windows == 3 and (.embedding | length) == 192'
  works sti-run -q --window 32 sentences.sti "$(long)"
  same "$(wc -w <<<"$output")" 192
  sti-run -q --window 32 --format npy sentences.sti "$(long)" >vector.npy
  same "$(wc -c <vector.npy)" $((128 + 4 * 192))
  # Examples are cut as ever, whatever windows texts are read in.
  printf 'text\tlabel\n%s\talarm\n%s\tjoke\n' "$(long) $(long) $(long)" "tell me a joke" >examples.tsv
  works sti-run -q --json sentences.sti --nearest examples.tsv --keep windowed --window 32 "$(long)"
  holds "$output" '.windows == 3 and .label == "alarm"'
  works sti-run -q sentences.sti --nearest examples.tsv --keep whole "$(long)"
  cmp windowed whole
  echo '{"pooling_mode": "cls"}' >sentences/1_Pooling/config.json
  sti-shard -q sentences -o first.sti --bits 6
  run --separate-stderr sti-run --json --window 32 first.sti "$(long)"
  same "$status" 0
  like "$stderr" "*made of a text's first token, so that of a long text the first window alone counts*"
  holds "$output" '.windows == 1 and .truncated and .tokens == 32'
}

@test "tokens are labelled in windows, and spans are of the whole text" {
  sti-shard -q "$repo/tests/data/spans-bert" -o spans.sti --bits 6
  works sti-run -q --json --window 8 spans.sti "$(long)"
  holds "$output" '.windows > 10 and .truncated == false and (.spans | length) > 0'
  holds "$output" '.spans | map(.begin) == (map(.begin) | sort)'
  works sti-run -q --window 8 spans.sti "$(long)"
  like "$output" $'*\t[[]?? windows]'
  works sti-run -q --json spans.sti "$(long)"
  holds "$output" '.truncated'
}

@test "sizes that hold no text, and what windows do not go with" {
  refused 2 "sti-run: a window of 2 tokens has no room for text beside the 2 control tokens; take at least 3" \
    sti-run -q model.sti --window 2 "$alarm"
  refused 2 "*beside the 3 control tokens; take at least 4" sti-run -q model.sti --pairs --window 3
  refused 2 "sti-run: a window of 8 tokens has a stride of 1 to 8, not 9, *" \
    sti-run -q model.sti --window 8 --stride 9 "$alarm"
  refused 2 "sti-run: a window of 65 tokens is longer than the plan's inputs, which have up to 64; *" \
    sti-run -q model.sti --plan model.plan --window 65 "$alarm"
  refused 2 "sti-run: --stride goes with --window; *" sti-run -q model.sti --stride 8 "$alarm"
  refused 2 "sti-run: --ids takes no --window: *" sti-run -q model.sti --ids --window 8
}
