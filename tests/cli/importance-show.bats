# sti-importance show: one file or two, as text, colours, SVG and PNG.
load helpers

# The first line and the rows of one heat map, without what comes before the legend.
map_of() { sed -n '/^layer  slices/,$p' <<<"$1"; }

# Runs show on a terminal of its own, with variables in front: VARIABLE=VALUE... FILE.
on_terminal() {
  command -v script >/dev/null || skip "no script(1) to make a terminal with"
  local file=${!#}
  env -u NO_COLOR -u COLORTERM "${@:1:$#-1}" script -qec "sti-importance show $file" /dev/null
}

@test "through a pipe: figures, means at the sides, at most 80 characters, no escapes" {
  works sti-importance show model.importance
  like "${lines[0]}" "30 examples: loss * to * with a shard raised, * without"
  like "${lines[1]}" "* of 72 shards differ by more than two standard errors (one is *)"
  like "${lines[2]}" "reliability of ranks *"
  mapfile -t map < <(map_of "$output")
  same "${map[0]}" "layer  slices 0..11, 0 least to 99 most important"
  same "${map[1]}" "         0   1   2   3   4   5   6   7   8   9  10  11  mean"
  for layer in 0 1 2 3 4 5; do
    [[ ${map[$((layer + 2))]} =~ ^\ \ \ \ $layer\ \ (\ *[0-9]+){13}$ ]]
  done
  [[ ${map[8]} =~ ^\ mean\ \ (\ *[0-9]+){12}$ ]]
  same "${#map[@]}" 9
  grep -qw 99 <<<"$output"
  same "$(awk 'length > 80' <<<"$output")" ""
  same "$(grep -c $'\033' <<<"$output" || true)" 0
}

@test "a wide model breaks into blocks of at most 80 characters" {
  jq -n '{model: ("ab" * 16), metric: "loss", layers: 2, width: 24,
    scores: [range(2) | [range(24)]]}' >wide.json
  works sti-importance show wide.json
  same "$(awk 'length > 80' <<<"$output")" ""
  same "$(grep -c '^    1 ' <<<"$output")" 2
  like "$output" "*  23  mean*"
}

@test "on a terminal: colours, as many as it has" {
  run on_terminal TERM=xterm-256color model.importance
  same "$(grep -c $'\033\[48;5;' <<<"$output")" 6
  run on_terminal TERM=xterm-256color COLORTERM=truecolor model.importance
  same "$(grep -c $'\033\[48;2;' <<<"$output")" 6
  like "$output" "*lighter is more*"
}

@test "no colours against NO_COLOR or on a dumb terminal" {
  for setting in NO_COLOR=1 TERM=dumb TERM=; do
    run on_terminal TERM=xterm COLORTERM=truecolor $setting model.importance
    same "$(grep -c $'\033' <<<"$output" || true)" 0
    same "$(tr -d '\r' <<<"$output")" "$(sti-importance show model.importance)"
  done
}

@test "--svg: a well-formed picture of every shard" {
  works sti-importance show model.importance --svg a.svg
  same "$(head -c 4 a.svg)" "<svg"
  same "$(tail -n 1 a.svg)" "</svg>"
  same "$(grep -c '<title>layer [0-5] slice [0-9]*: ' a.svg)" 72
  # Each element that opens closes.
  for element in svg text rect title; do
    opened=$(grep -o "<${element}[ >]" a.svg | wc -l)
    closed=$(($(grep -o "</$element>" a.svg | wc -l) + $(grep -c "<${element} [^>]*/>" a.svg || true)))
    same "$closed" "$opened"
  done
  if command -v xmllint >/dev/null; then xmllint --noout a.svg; fi
}

# The colours of the middles of the cells of one map, as rgb(r,g,b), row by row: FILE LEFT.
png_colours() {
  python3 - "$1" "$2" <<'PYTHON'
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n"
at, packed = 8, b""
while at < len(data):
    length, kind = struct.unpack(">I4s", data[at:at + 8])
    body = data[at + 8:at + 8 + length]
    assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0]
    assert kind not in (b"tIME", b"tEXt"), kind
    if kind == b"IHDR":
        width, height, depth, colours = struct.unpack(">IIBB", body[:10])
        assert (depth, colours) == (8, 2)
    if kind == b"IDAT":
        packed += body
    at += 12 + length
raw, stride, rows = zlib.decompress(packed), 3 * width, []
for y in range(height):
    filtering, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
    above = rows[-1] if rows else bytes(stride)
    for i in range(stride):
        left, up = line[i - 3] if i >= 3 else 0, above[i]
        corner = above[i - 3] if i >= 3 else 0
        guess = left + up - corner
        paeth = min((left, up, corner), key=lambda c: abs(guess - c))
        line[i] = (line[i] + (0, left, up, (left + up) // 2, paeth)[filtering]) & 255
    rows.append(bytes(line))
for layer in range(6):
    for slice in range(12):
        x, y = int(sys.argv[2]) + 36 * slice + 18, 44 + 36 * layer + 18
        print("rgb(%d,%d,%d)" % tuple(rows[y][3 * x:3 * x + 3]))
PYTHON
}

@test "--png: the colours of the SVG, shard by shard, the same bytes twice" {
  works sti-importance show model.importance --png a.png --svg a.svg
  grep -o 'rgb([0-9,]*)' a.svg >want
  same "$(wc -l <want)" 72
  same "$(png_colours a.png 64)" "$(cat want)"
  works sti-importance show model.importance --png b.png
  cmp a.png b.png
  no_leftovers
}

@test "a picture on stdout has it to itself" {
  sti-importance show model.importance --png a.png >/dev/null
  sti-importance show model.importance --png - >b.png
  cmp a.png b.png
}

@test "a picture that cannot be written is one line, and what there was stays" {
  refused 1 "sti-importance: none/a.png: *" \
    sti-importance show model.importance --png none/a.png
  echo old >a.png
  refused 3 "sti-importance: dev.tsv: *" sti-importance show dev.tsv --png a.png
  same "$(cat a.png)" old
}

@test "two files: side by side, with correlations" {
  sti-importance -q model.sti --data few.tsv --metric kl -o kl.json
  works sti-importance show model.importance kl.json
  like "${lines[0]}" "A: model.importance"
  like "$output" "*B: kl.json*"
  same "$(map_of "$output" | grep -cE '^   [0-5] ( *[0-9]+){24}$')" 6
  like "${lines[-1]}" "ranks: Spearman *, Kendall *; * of the top 18 shards are in both"
  same "$(awk 'length > 80' <<<"$output")" ""
  works sti-importance show --json model.importance kl.json
  holds "$output" '.spearman > -1 and .spearman < 1 and .kendall > -1 and .kendall < 1'
  holds "$output" '.top == 18 and .top_shared >= 0 and .top_shared <= 18'
  holds "$output" '[.importances[].metric] == ["loss", "kl"] and (.reliability | length) == 2'
  same "$(jq -c '.importances[1]' <<<"$output")" "$(jq -c . kl.json)"
}

@test "a file beside itself agrees wholly; beside its reverse not at all" {
  sti-importance show --json model.importance >a.json
  jq 'del(.losses) | .scores |= map(map(-.)) ' a.json >reverse.json
  works sti-importance show --json a.json model.importance
  holds "$output" '.spearman == 1 and .kendall == 1 and .top_shared == 18'
  works sti-importance show --json a.json reverse.json
  holds "$output" '(.spearman + 1 | fabs) < 1e-12 and (.kendall + 1 | fabs) < 1e-12 and .top_shared == 0'
}

@test "two files in one picture" {
  works sti-importance show model.importance model.importance --svg a.svg --png a.png
  same "$(grep -c '<title>layer' a.svg)" 144
  grep -q '>A: loss' a.svg
  grep -q '>B: loss' a.svg
  grep -o 'rgb([0-9,]*)' a.svg | head -n 72 >want
  second=$(grep '<title>layer 0 slice 0:' a.svg | tail -n 1 | sed 's/.* x="\([0-9]*\)".*/\1/')
  same "$(png_colours a.png 64)" "$(cat want)"
  [ "$second" -gt $((64 + 12 * 36)) ]
}

@test "two files of other shapes or models, or three files, are refused in one line" {
  sti-importance show --json model.importance >a.json
  jq '.layers = 5 | .scores |= .[:5] | del(.losses, .errors)' a.json >small.json
  refused 3 "sti-importance: small.json has 5 x 12 shards, a.json 6 x 12 shards; give two files of one model" \
    sti-importance show a.json small.json
  jq '.model |= gsub("[0-9]"; "a")' a.json >other.json
  refused 3 "sti-importance: other.json was made for model *, a.json for *; give two files of one model" \
    sti-importance show a.json other.json
  refused 2 "sti-importance: *" sti-importance show a.json a.json a.json
}

@test "the table of submodels below the heat map" {
  sti-importance -q model.sti --data few.tsv --submodels -o a.json
  works sti-importance show a.json
  mapfile -t table < <(sed -n '/^accuracy, %/,$p' <<<"$output")
  same "${table[0]}" "accuracy, %, of n layers (down) x m slices (across) at 32 bits"
  same "${table[1]}" "    n     2     3     4     5     6     7     8     9    10    11    12"
  for depth in 1 2 3 4 5 6; do
    [[ ${table[$((depth + 1))]} =~ ^\ \ \ \ $depth(\ +[0-9]+\.[0-9]){11}$ ]]
  done
  [[ ${table[8]} =~ ^6x12\ by\ bits:(\ (2|3|4|5|6|32):\ [0-9.]+){6}$ ]]
  same "${#table[@]}" 9
  same "$(awk 'length > 80' <<<"$output")" ""
  same "$(awk '{print $NF}' <<<"${table[7]}")" \
    "$(printf %.1f "$(jq '.submodels[-1].accuracy * 100' a.json)")"
}

@test "options that show would ignore are refused, and nothing is written" {
  refused 2 "sti-importance: show takes no -o; write a picture with --svg FILE or --png FILE" \
    sti-importance show model.importance -o map.svg
  for option in "--data few.tsv" "--metric kl" "--part 1/2" --resume --gains --submodels --quick \
    "--threads 2" "--compute fp32" "--cache-bytes 1MiB"; do
    # shellcheck disable=SC2086
    refused 2 "sti-importance: show takes no ${option%% *}; leave it out, see sti-importance show --help" \
      sti-importance show model.importance $option
  done
  refused 2 "sti-importance: show takes no MODEL; *" sti-importance model.sti show model.importance
  refused 2 "sti-importance: show takes no *" \
    sti-importance model.sti --data few.tsv -o zz show model.importance
  [ ! -e map.svg ] && [ ! -e zz ]
  works sti-importance show -q -v --json model.importance
  works sti-importance --json show model.importance
}

@test "two pictures in one place are refused" {
  refused 2 "sti-importance: --svg and --png both write stdout; name two files" \
    sti-importance show model.importance --svg - --png -
  for other in same ./same "$PWD/same"; do
    refused 2 "sti-importance: --svg and --png both write same; name two files" \
      sti-importance show model.importance --svg same --png "$other"
  done
  [ ! -e same ]
}

# A file by hand: SCORES METRIC [ESTIMATE].
write_scores() {
  jq -n --argjson scores "$1" --arg metric "$2" --arg estimate "${3:-}" '{model: ("ab" * 16),
    metric: $metric, layers: 1, width: ($scores | length), scores: [$scores], estimate: $estimate}'
}

@test "the most extreme scores are shaded and printed in short lines" {
  for metric in loss accuracy; do
    write_scores '[-1e308, 0, 1e308, 1.7e308]' $metric >far.json
    works sti-importance show far.json --svg a.svg --png a.png
    same "$(awk '/^    0  / {print $2, $3, $4, $5}' <<<"$output")" "0 36 73 99"
    same "$(grep -ciE 'inf|nan' <<<"$output" || true)" 0
    same "$(awk 'length > 120' <<<"$output")" ""
    same "$(grep -o 'rgb([0-9,]*)' a.svg | sed -n '1p;4p' | tr '\n' ' ')" \
      "rgb(30,40,90) rgb(253,231,150) "
    same "$(grep -ciE 'inf|nan' a.svg || true)" 0
  done
  write_scores '[-1e308, 1e308]' loss >far.json
  like "$(sti-importance show far.json)" "0 examples: loss 1e+308 to -1e+308 with *"
  write_scores '[-1e308, 1e308]' accuracy >far.json
  like "$(sti-importance show far.json)" "0 examples: accuracy -1e+310 % to 1e+310 % with *"
}

@test "an estimate of escapes or of any length is refused; a long one does not widen a picture" {
  write_scores '[1, 2]' loss $'\033]0;owned\a' >bad.json
  refused 3 "sti-importance: bad.json: estimate is not at most 64 bytes of printable ASCII; *" \
    sti-importance show bad.json --png a.png
  write_scores '[1, 2]' loss "$(printf %065d 0)" >bad.json
  refused 3 "sti-importance: bad.json: estimate is not *" sti-importance show bad.json --png a.png
  [ ! -e a.png ]
  write_scores '[1, 2]' accuracy "$(printf %064d 0)" >long.json
  works sti-importance show long.json --svg a.svg --png a.png
  same "$(od -An -tu1 -j16 -N4 a.png | awk '{print $3 * 256 + $4}')" $((64 + 80 * 12 + 20))
  like "$(grep -o 'accuracy 100.00 % to 200.00 %, 0*\.\.\.<' a.svg)" "accuracy *...<"
}
