# sti-run --eval: a labelled set in numbers, and gates for continuous integration.
load helpers

@test "--json: one object with every promised field" {
  works sti-run --json model.sti --plan model.plan --eval few.tsv
  same "${#lines[@]}" 1
  holds "$output" '.examples == 30 and .accuracy > 0.8 and .accuracy <= 1 and .mean_loss > 0'
  holds "$output" '.latency_us | .p50 > 0 and .p95 >= .p50 and .p99 >= .p95 and .max >= .p99'
  holds "$output" '.stall_us | .p50 >= 0 and .p99 >= .p50'
  holds "$output" '.deadline_misses >= 0 and .deadline_misses <= 30 and .target_us == 12000'
  holds "$output" '.bytes_read_per_input > 0 and .preload_bytes > 0 and .peak_rss_bytes > 1000000'
  holds "$output" '.degraded_inputs == 0 and (.over_bound | .p50 > 0 and .p99 >= .p50)'
  for field in examples accuracy mean_loss latency_us deadline_misses stall_us bytes_read_per_input \
    preload_bytes peak_rss_bytes target_us predicted_latency_us predicted_p99_us; do
    holds "$output" "has(\"$field\")"
  done
  plan=$(sti-inspect --json model.plan)
  same "$(jq .predicted_latency_us <<<"$output")" "$(jq .predicted_latency_us <<<"$plan")"
  same "$(jq .predicted_p99_us <<<"$output")" "$(jq .predicted_p99_us <<<"$plan")"
}

@test "without a plan target and predictions are null" {
  works sti-run -q --json model.sti --eval few.tsv
  holds "$output" '.target_us == null and .predicted_latency_us == null and .deadline_misses == 0'
}

@test "plain: one line a number" {
  works sti-run model.sti --plan model.plan --eval few.tsv
  for line in 'accuracy  * % of 30, within * and * % at 95 % confidence' 'F1  *macro *' \
    'mean loss *' 'latency  *median *, p95 *, p99 *, max *' \
    'predicted *' 'target  *12.00 ms, missed * times' 'stalled *' 'read an input *' 'memory *'; do
    like "$output" "*$line*"
  done
}

@test "the shipped set at full fidelity" {
  works sti-run -q --json model.sti --eval dev.tsv
  holds "$output" '.examples == 310 and .accuracy > 0.92'
}

@test "examples from stdin" {
  works sti-run -q --json model.sti --eval - <few.tsv
  holds "$output" '.examples == 30'
}

@test "--min-accuracy: a gate, exit 4, the summary still printed" {
  works sti-run model.sti --plan model.plan --eval few.tsv --min-accuracy 50%
  run --separate-stderr sti-run --json model.sti --submodel 1x2 --bits 2 --eval few.tsv --min-accuracy 1
  same "$status" 4
  holds "$output" '.examples == 30 and .accuracy < 1'
  like "$(without_lateness <<<"$stderr")" "sti-run: accuracy 0.* is below --min-accuracy 1.0000"
}

@test "--max-p99: a gate, exit 4" {
  works sti-run model.sti --plan model.plan --eval few.tsv --max-p99 100s
  run --separate-stderr sti-run --json model.sti --plan model.plan --eval few.tsv --max-p99 1us
  same "$status" 4
  holds "$output" '.examples == 30'
  like "$(without_lateness <<<"$stderr")" "sti-run: p99 latency * is above --max-p99 1 us"
}

@test "--json: F1, classes and confusion add up to the accuracy" {
  works sti-run -q --json model.sti --submodel 1x2 --bits 2 --eval dev.tsv
  holds "$output" '.accuracy as $a | .accuracy_interval | .[0] < $a and $a < .[1]'
  holds "$output" '.macro_f1 > 0 and .macro_f1 < 1 and .positive_f1 == null and .baseline == null'
  holds "$output" '[.classes[].examples] | add == 310'
  holds "$output" '[.classes[].given] | add == 310'
  holds "$output" '([.classes[].right] | add / 310) == .accuracy'
  holds "$output" '.classes as $c | all(.confusion | to_entries[]; .key as $k |
    ([.value[]] | add) == $c[$k].examples and (.value[$k] // 0) == $c[$k].right)'
  # By another way: each line with its label, as a run without --eval gives it.
  cut -f 1 dev.tsv | tail -n +2 | sti-run -q --json model.sti --submodel 1x2 --bits 2 | jq -r .label >given
  tail -n +2 dev.tsv | cut -f 2 | paste -d ' ' - given >both
  holds "$output" ".macro_f1 - $(macro_f1 <both) | fabs < 1e-9"
  same "$(jq -r .correct_bits <<<"$output")" "$(awk '{ print ($1 == $2) }' both | bits)"
}

macro_f1() { # of lines TRUTH GIVEN
  awk '{ n[$1]++; n[$2]++; seen[$1]; seen[$2]; if ($1 == $2) r[$1]++ }
    END { for (l in seen) { sum += 2 * r[l] / n[l]; all++ } printf "%.12f", sum / all }'
}

bits() { # of lines 0 or 1
  tr -d '\n' | awk '{ while (length($0) % 4) $0 = $0 "0"
    for (i = 1; i < length($0); i += 4)
      printf "%x", substr($0, i, 1) * 8 + substr($0, i + 1, 1) * 4 + substr($0, i + 2, 1) * 2 + substr($0, i + 3, 1) }'
}

@test "two labels have a positive one" {
  make_yes_or_no
  works sti-run -q --json two.sti --eval two.tsv
  holds "$output" '.classes.yes.f1 == .positive_f1 and .positive_f1 != null'
  holds "$output" '.macro_f1 == ([.classes[].f1] | add / length)'
  works sti-run -q two.sti --eval two.tsv
  like "$output" '*F1  *macro *, positive *'
}

# A model of two labels, as two.sti: the first two of the example's classifier.
make_yes_or_no() {
  copy_model two
  jq 'del(.num_labels) | .id2label = {"0": "no", "1": "yes"} | .label2id = {no: 0, yes: 1}' \
    model/config.json >two/config.json
  python3 - two/model.safetensors <<'END'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size, = struct.unpack("<Q", data[:8])
header, body = json.loads(data[8:8 + size]), data[8 + size:]
out = b""
for name, entry in sorted((n, e) for n, e in header.items() if n != "__metadata__"):
    begin, end = entry["data_offsets"]
    if name.startswith("classifier."):
        end, entry["shape"][0] = begin + (end - begin) // entry["shape"][0] * 2, 2
    entry["data_offsets"] = [len(out), len(out) + end - begin]
    out += body[begin:end]
text = json.dumps(header).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + out)
END
  sti-shard -q two -o two.sti --bits 2
  { printf 'sentence\tlabel\n'; tail -n +2 few.tsv | cut -f 1 | awk '{ print $0 "\t" NR % 2 }'; } >two.tsv
}

@test "--max-memory, --max-bytes and --max-misses: gates, exit 4" {
  works sti-run -q model.sti --plan model.plan --eval few.tsv --max-memory 1GiB --max-bytes 1GiB --max-misses 30
  run --separate-stderr sti-run --json model.sti --plan model.plan --eval few.tsv --max-memory 1MiB --max-bytes 1kB
  same "$status" 4
  like "$(without_lateness <<<"$stderr")" "sti-run: peak memory * MB is above --max-memory 1.0 MB
sti-run: read an input * kB is above --max-bytes 1.0 kB"
  sti-inspect --json model.plan | jq '.target_us = 1' >fast.json
  run --separate-stderr sti-run --json model.sti --plan fast.json --eval few.tsv --max-misses 29
  same "$status" 4
  like "$stderr" "*sti-run: 30 inputs missed the target, above --max-misses 29"
  refused 2 "sti-run: --max-misses needs a target to miss; give a --plan that has one" \
    sti-run -q model.sti --eval few.tsv --max-misses 1
}

@test "--baseline: the same rows before, and --max-drop as a gate" {
  head -n 101 dev.tsv >hundred.tsv
  sti-run -q --json model.sti --eval hundred.tsv >full.json
  works sti-run -q --json model.sti --eval hundred.tsv --baseline full.json --max-drop 0
  holds "$output" '.baseline | .gained == 0 and .lost == 0 and .p_value == 1'
  holds "$output" ".baseline.accuracy == $(jq .accuracy full.json)"
  run --separate-stderr sti-run -q model.sti --submodel 1x2 --bits 2 --eval hundred.tsv --baseline full.json --max-drop 0.5%
  same "$status" 4
  like "$output" '*baseline  *%, since then * gained, * lost, p 0.00[01][0-9]*'
  like "$stderr" "sti-run: accuracy 0.* is below the baseline's 0.9* by more than --max-drop 0.0050, and not by chance (p 0.00[01][0-9])"
  # Without the gate it is told only, and a higher accuracy is no fall.
  works sti-run -q --json model.sti --submodel 1x2 --bits 2 --eval hundred.tsv --baseline full.json
  echo "$output" >small.json
  holds "$output" '.baseline | .lost > .gained and .p_value < 0.02'
  works sti-run -q --json model.sti --eval hundred.tsv --baseline small.json --max-drop 0
  holds "$output" '.baseline | .gained > .lost'
}

@test "--baseline: other rows and what is no baseline are exit 3, before anything is measured" {
  sti-run -q --json model.sti --eval few.tsv >few.json
  refused 3 "sti-run: few.json: was measured on 30 rows, *, and these are 310, *; measure a baseline on this data" \
    sti-run -q --json model.sti --eval dev.tsv --baseline few.json
  sed '2s/^/again /' few.tsv >other.tsv
  refused 3 "sti-run: few.json: was measured on 30 rows, *; *" \
    sti-run -q --json model.sti --eval other.tsv --baseline few.json
  # The same rows in another spelling are the same rows.
  tail -n +2 few.tsv | jq -R -c 'split("\t") | {text: .[0], label: .[1]}' >few.jsonl
  works sti-run -q --json model.sti --eval few.jsonl --baseline few.json --max-drop 0
  jq -c 'del(.correct_bits)' few.json >old.json
  refused 3 'sti-run: old.json: no "correct_bits"; give what sti-run --eval --json printed' \
    sti-run -q model.sti --eval few.tsv --baseline old.json
  refused 3 "sti-run: none.json: no such file" sti-run -q model.sti --eval few.tsv --baseline none.json
}

@test "--on-late fail with a target that cannot be kept: exit 4" {
  sti-inspect --json model.plan | jq '.target_us = 1' >fast.json
  run --separate-stderr sti-run --json --on-late fail model.sti --plan fast.json --eval few.tsv
  same "$status" 4
  holds "$output" '.deadline_misses == 30'
  same "$(without_lateness <<<"$stderr")" "sti-run: 30 inputs missed the target"
}

@test "a broken set: exit 3 with file and line, no summary" {
  printf 'sentence\tlabel\nhello\tgreeting\nfly\tteleport\n' >bad.tsv
  refused 3 'sti-run: bad.tsv:3: label "teleport" is none of the model'"'"'s; *' \
    sti-run -q model.sti --eval bad.tsv
  refused 3 "sti-run: none.tsv: no such file" sti-run -q model.sti --eval none.tsv
}

@test "the first rows of SST-2 as GLUE has them" {
  [ -d "$shared/models/sst2-minilm-12x12" ] || skip "needs ../shared: models/sst2-minilm-12x12"
  sti-shard -q "$shared/models/sst2-minilm-12x12" -o sst2.sti --bits 6
  head -n 41 "$shared/data/SST-2/dev.tsv" >first.tsv
  works sti-run -q --json sst2.sti --bits 6 --eval first.tsv
  holds "$output" '.examples == 40 and .accuracy > 0.8'
}

# A model that gives no finite logits to what has the word "bad", as huge.sti, and a set of six rows,
# two of them with it.
make_overflowing() {
  cp -r "$repo/tests/data/distilbert-tiny" huge
  chmod -R u+w huge
  python3 - huge/model.safetensors <<'END'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size, = struct.unpack("<Q", data[:8])
header, body = json.loads(data[8:8 + size]), data[8 + size:]
entry = header["distilbert.embeddings.word_embeddings.weight"]
begin, end = entry["data_offsets"]
values = list(struct.unpack(f"<{(end - begin) // 2}e", body[begin:end]))
values[12 * 16:13 * 16] = [3e38] * 16
entry.update(dtype="F32", data_offsets=[len(body), len(body) + 4 * len(values)])
text = json.dumps(header).encode()
open(sys.argv[1], "wb").write(
    struct.pack("<Q", len(text)) + text + body + struct.pack(f"<{len(values)}f", *values))
END
  sti-shard -q huge -o huge.sti
  printf '%s\n' 'good film' 'a bad film' 'turn on' 'bad' 'is it good' 'the movie' >texts
  sti-run -q --json huge.sti <texts | jq -r '.label // "label_0"' | paste texts - |
    sed '1i sentence\tlabel' | sed '7s/label_[0-3]$/label_0/' >huge.tsv
}

@test "an input whose numbers overflow is wrong, and the others are answered: exit 3" {
  make_overflowing
  reason="the model's numbers overflow for it, so that it has no label; run sti-shard again"
  run --separate-stderr sti-run -q --json huge.sti --eval huge.tsv
  same "$status" 3
  same "$stderr" ""
  holds "$output" '.examples == 6 and .unanswered == 2 and .accuracy == 0.5 and .correct_bits == "a8"'
  holds "$output" ".errors == [2, 4 | {row: ., error: \"input: $reason\"}]"
  holds "$output" '[.confusion[][]] | add == 4'
  holds "$output" '.classes.label_0 | .unanswered == 2 and .examples == 3 and .right == 0'
  holds "$output" '.mean_loss > 0 and .latency_us.p50 > 0'
  echo "$output" >huge.json
  run --separate-stderr sti-run -q huge.sti --eval huge.tsv --baseline huge.json
  same "$status" 3
  same "$stderr" "sti-run: input 2: $reason"$'\n'"sti-run: input 4: $reason"
  like "$output" $'accuracy  *50.00 % of 6, *\nunanswered      2 inputs, which count as wrong\nbaseline  *0 gained, 0 lost*'
  # A gate that fails comes first, as in continuous integration nothing else would be looked at.
  run --separate-stderr sti-run -q --json huge.sti --eval huge.tsv --min-accuracy 0.6
  same "$status" 4
  same "$stderr" "sti-run: accuracy 0.5000 is below --min-accuracy 0.6000"
  # Without any answer nothing is measured.
  sed -n '1p;3p' huge.tsv >none.tsv
  run --separate-stderr sti-run -q --json huge.sti --eval none.tsv
  same "$status" 3
  holds "$output" '.accuracy == 0 and .mean_loss == null and .latency_us.p99 == null and .bytes_read_per_input == null'
  run --separate-stderr sti-run -q huge.sti --eval none.tsv
  same "$status" 3
  like "$output" $'accuracy *\nunanswered *\nmemory *'
}

@test "the number of an input that is late counts those without an answer" {
  make_overflowing
  jq '.compute |= .[:1]' device.json >narrow.json
  sti-plan -q huge.sti --profile narrow.json --strategy stdpl --bits 6 --submodel 2x2 -o huge-plan.json
  jq '.target_us = 1' huge-plan.json >fast.json
  run --separate-stderr sti-run huge.sti --plan fast.json < <(printf 'bad\nturn on\n')
  same "$status" 3
  like "$stderr" "*warning: input 2 is late: *1 of 2 inputs late, *"
}
