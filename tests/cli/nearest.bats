# A classifier without training: the label of the nearest examples, embedded once and kept.
load helpers

setup() {
  make_links
  cp -r "$repo/tests/data/multilabel-tiny" encoder
  [ -e "$fixtures/nearest.sti" ] || {
    jq '.architectures = ["BertModel"]' "$repo/tests/data/multilabel-tiny/config.json" >encoder/config.json
    sti-shard -q encoder --pooling mean -o nearest.sti.new
    mv nearest.sti.new "$fixtures/nearest.sti"
  }
  ln -s "$fixtures/nearest.sti" embed.sti
  printf '%s\n' $'text\tlabel' $'the movie was good\tfilm' $'play a song\tmusic' \
    $'a film to watch\tfilm' $'play it again\tmusic' $'never mind\tnone' >examples.tsv
}

near() { sti-run -q embed.sti --nearest "$@"; }

@test "a text has the label of the nearest examples, as a classifier says it" {
  works near examples.tsv "the movie was good" "never mind"
  like "${lines[0]}" $'film\t0.*\tthe movie was good'
  like "${lines[1]}" $'none\t0.*\tnever mind'
  works near examples.tsv --json "never mind"
  holds "$output" '.label == "none" and .label_id == 2 and (.scores | keys) == ["film", "music", "none"]'
  holds "$output" '(.scores | add) - 1 | fabs < 0.00001'
  # Scores are the softmax of logits, which are 20 times a cosine.
  holds "$output" '(.logits | map(exp) | add) as $sum | [.logits, (.scores | map(.))] | transpose |
    all((.[0] | exp) / $sum - .[1] | fabs < 0.0001)'
  holds "$output" '.logits | all(fabs <= 20.0001)'
  holds "$output" 'has("embedding") | not'
  works near examples.tsv --json --top 1 "never mind"
  holds "$output" '.scores | keys == ["none"]'
}

@test "lines are answered one by one, and one that cannot be used is an error of its own" {
  printf '%s\n' "1 2 3" "no id" "4 5" >lines
  run -3 --separate-stderr sti-run -q embed.sti --nearest examples.tsv --ids <lines
  [ "${#lines[@]}" = 3 ]
  same "${lines[1]}" "! 'no' is not a token id"
}

@test "--eval measures it on labelled lines" {
  works near examples.tsv --eval examples.tsv --json
  holds "$output" '.examples == 5 and .accuracy > 0.5 and (.classes | keys) == ["film", "music", "none"]'
  run -4 --separate-stderr sti-run -q embed.sti --nearest examples.tsv --eval examples.tsv --min-accuracy 100%
  like "$stderr" "sti-run: accuracy *"
  printf 'text\tlabel\na film\tother\n' >dev.other.tsv
  refused 3 'sti-run: dev.other.tsv:2: label "other" is none of the model'\''s; use film, music, none*' \
    near examples.tsv --eval dev.other.tsv
}

@test "--keep writes the vectors once, and whoever has them needs no examples" {
  works near examples.tsv --keep kept "play a song"
  made=$output
  sum=$(sha256sum kept)
  works near examples.tsv --keep kept "play a song"
  same "$output" "$made"
  works near kept "play a song"
  same "$output" "$made"
  same "$(sha256sum kept)" "$sum"
  works near examples.tsv --keep again "play a song"
  cmp kept again
  # It is a file like the others.
  works sti-inspect kept
  like "$output" "labels      3 labels of 5 examples, vectors of 16 numbers"*
  holds "$(sti-inspect --json kept)" '.examples == {"film": 2, "music": 2, "none": 1} and .dimensions == 16'
  works sti-inspect --verify kept
  flip kept 100
  refused 3 "sti-run: kept: the payload does not match its checksum; the file is damaged, make it again" \
    near kept "play a song"
  refused 3 "sti-inspect: kept: the payload does not match its checksum; *" sti-inspect --verify kept
}

@test "vectors of another model, plan, prefix or of other dimensions are refused" {
  near examples.tsv --keep kept x >/dev/null
  again="embed the examples for this model and plan: sti-run --nearest EXAMPLES --keep NEW-FILE"
  refused 3 "sti-run: kept: has embeddings of other layers, slices or bits than the plan runs; $again" \
    near kept --bits 3 x
  refused 3 "sti-run: kept: has embeddings of other layers, *" near examples.tsv --keep kept --bits 3 x
  refused 3 "sti-run: kept: has embeddings of 16 dimensions, not of 4; $again" near kept --dimensions 4 x
  refused 3 "sti-run: kept: has embeddings of texts with another prefix; $again" near kept --prefix "a " x
  sti-shard -q encoder --pooling max -o other.sti
  refused 3 "sti-run: kept: was made for model *, not *; $again" sti-run -q other.sti --nearest kept x
  printf 'text\tlabel\na\tx\nb\ty\n' >few.tsv.new
  refused 3 "sti-run: kept: keeps other examples than these; remove it, or name another file" \
    near few.tsv.new --keep kept x
  # Nothing is lost.
  works sti-inspect --verify kept
}

@test "prefix and dimensions of the examples are those of the texts" {
  works near examples.tsv --prefix "the movie " --dimensions 4 --keep kept --json "was good"
  made=$(jq .logits <<<"$output")
  works near kept --json "was good"
  same "$(jq .logits <<<"$output")" "$made"
  works near examples.tsv --json "was good"
  [ "$(jq .logits <<<"$output")" != "$made" ]
  holds "$(sti-inspect --json kept)" '.prefix == "the movie " and .dimensions == 4'
}

@test "examples that make no classifier are refused, and say where" {
  : >empty
  refused 3 "sti-run: empty: no examples; give at least one line of data" near empty x
  printf 'text\tlabel\na\tx\nb\tx\n' >one
  refused 3 "sti-run: one: all examples have one label; give those of two at least" near one x
  printf 'text\tlabel\na\tx\nb\t\n' >none
  refused 3 "sti-run: none:3: no label; labels are needed here*" near none x
  printf 'a\tb\n' >header
  refused 3 "sti-run: header:1: no text such as *" near header x
  { printf 'text\tlabel\n'; head -c 3000000 /dev/zero | tr '\0' a; printf '\tx\n'; } >long
  refused 3 "sti-run: long*" near long x
  refused 3 "sti-run: missing.tsv: *" near missing.tsv x
  # Equal vectors cannot be told apart: the first label has them.
  printf 'text\tlabel\na\tx\na\ty\n' >equal
  works near equal --json a
  holds "$output" '.label == "x" and .scores.x == .scores.y'
}

@test "columns are chosen as for --eval" {
  printf 'intent\twords\nfilm\tthe movie\nmusic\tplay a song\n' >columns.tsv
  refused 3 "sti-run: columns.tsv:1: no text *" near columns.tsv x
  works near columns.tsv --text-column words --label-column intent "play a song"
  like "$output" $'music\t*'
}

@test "what --keep names is written whole or not at all, and replaces nothing" {
  refused 2 "sti-run: --keep: examples.tsv is the examples, and would be replaced; name another file" \
    near examples.tsv --keep examples.tsv x
  refused 2 "sti-run: --keep: embed.sti is the model, and would be replaced; name another file" \
    near examples.tsv --keep embed.sti x
  cp dev.tsv precious
  refused 3 "sti-run: precious: is there and holds no label vectors; name another file" \
    near examples.tsv --keep precious x
  cmp dev.tsv precious
  refused 1 "sti-run: missing/kept: *" near examples.tsv --keep missing/kept x
  printf 'text\tlabel\na\tx\nb\tx\n' >one
  refused 3 "sti-run: one: *" near one --keep kept x
  [ ! -e kept ]
}

@test "a signal ends the embedding of examples, and keeps nothing" {
  seq 400000 | awk 'BEGIN { print "text\tlabel" } { print "play " $1 "\tlabel " $1 % 2 }' >many.tsv
  run timeout --preserve-status -s INT 1 sti-run -q embed.sti --nearest many.tsv --keep kept x
  same "$status" 130
  same "$(ls -A | grep kept)" ""
}

@test "options that have no place beside it say why" {
  refused 2 "sti-run: --nearest is for models that embed texts; model.sti labels texts" \
    sti-run -q model.sti --nearest examples.tsv x
  refused 2 "sti-run: --nearest takes no --format: its answers are labels; drop one" \
    near examples.tsv --format f32 x
  refused 2 "sti-run: --model takes no --nearest: its examples are for one model alone; drop one" \
    sti-run --model a=embed.sti --nearest examples.tsv
  refused 2 "sti-run: --keep goes with --nearest; add it, or drop --keep" sti-run embed.sti --keep kept x
  refused 2 "sti-run: --threshold is for multi-label models; embed.sti gives one label an input" \
    near examples.tsv --threshold 0.5 x
  refused 2 "sti-run: --replan is for models that label texts or label tokens; *" \
    near examples.tsv --plan model.plan --replan device.json x
  refused 2 "sti-run: --nearest is a file; name one" near - x
  near examples.tsv --keep kept x >/dev/null
  refused 2 "sti-run: --nearest kept is what --keep wrote; leave --keep out" near kept --keep other x
}

@test "a text whose vector has no direction is its line's error" {
  python3 - encoder/model.safetensors <<'END'
import json, sys
data = bytearray(open(sys.argv[1], "rb").read())
size = int.from_bytes(data[:8], "little")
for name, tensor in json.loads(data[8:8 + size]).items():
    if "layer.1.output.LayerNorm" in name:
        begin, end = (8 + size + offset for offset in tensor["data_offsets"])
        data[begin:end] = bytes(end - begin)
open(sys.argv[1], "wb").write(data)
END
  sti-shard -q encoder --pooling mean -o zeros.sti
  works sti-run -q zeros.sti "the movie"
  like "$output" "0 0 0*"
  refused 3 "sti-run: examples.tsv: example 1: its embedding is all zeros, which has no direction" \
    sti-run -q zeros.sti --nearest examples.tsv x
  mkdir -p encoder/1_Pooling
  echo '[{"type": "sentence_transformers.models.Transformer", "path": ""},
    {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
    {"type": "sentence_transformers.models.Normalize", "path": "2_Normalize"}]' >encoder/modules.json
  echo '{"pooling_mode_mean_tokens": true}' >encoder/1_Pooling/config.json
  sti-shard -q encoder -o unit.sti
  why="its embedding is all zeros, which has no direction"
  run -3 --separate-stderr sti-run -q unit.sti "the movie" again
  same "$output" "! input: $why"$'\n'"! input: $why"
  run -3 --separate-stderr sti-run -q --json unit.sti "the movie"
  holds "$output" ".error == \"input: $why\" and .text == \"the movie\""
  sti-run -q unit.sti --format f32 --dimensions 2 "the movie" >rows 2>error && false
  [ "$?" = 3 ]
  [ "$(od -An -tf4 rows | tr -s ' ')" = " nan nan" ]
  run -3 --separate-stderr sti-run -q --model m=unit.sti <<<$'m\tthe movie'
  same "$output" $'m\t! input: '"$why"
}

@test "--memory counts the vectors of all labels" {
  # As many rows, of as many labels or of two: 40,000 names take 6 to 7 MB, and their vectors 7.7.
  for labels in 40000 2; do
    awk -v labels=$labels 'BEGIN { print "text\tlabel"
      for (i = 0; i < 40000; ++i) print "a\tl" 10000 + i % labels }' >$labels.tsv
    near $labels.tsv --memory 1MB x 2>&1 |
      sed -n 's/.* less than the \([0-9.]*\) MB needed before the first shard.*/\1/p' >$labels.needed
  done
  holds "[$(<40000.needed), $(<2.needed)]" '.[0] - .[1] > 10'
}
