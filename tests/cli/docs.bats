# scripts/check-docs: the documents keep their rules, and each rule is one that can be broken.
load helpers

check="$repo/scripts/check-docs"

# A small checkout whose documents keep every rule, as tree/.
setup() {
  cd "$BATS_TEST_TMPDIR"
  git init -q tree
  mkdir -p tree/docs/measured tree/docs/pictures
  cat >tree/README.md <<'EOF'
# Name

Two words, and [a link](docs/measured/speed.md#how-fast-2-cores), and
[one](docs).
EOF
  cat >tree/docs/measured/speed.md <<'EOF'
# Speed

## How fast: 2 cores

- Command: `make bench`, which
  takes a while
- Commit: `0123abc`
- Machine: not recorded
- Date: 2026-11-22

| a | b |
|---|---|
| 1 | 2 |

    | no table, but code |
EOF
  cat >tree/docs/pictures/README.md <<'EOF'
# Pictures

## front.svg

    make front
EOF
  touch tree/docs/pictures/front.svg
}

# Puts text in place of a line's from a pattern on, and expects one complaint:
# FILE PATTERN TEXT COMPLAINT
breaks() {
  sed -i "s|$2.*|$3|" "tree/$1"
  run "$check" tree
  same "$status" 1
  like "$output" "$4"
  same "$(wc -l <<<"$output")" 1
}

@test "the documents of this repository keep the rules" {
  works "$check"
  same "$output" ""
}

@test "documents that keep the rules pass" {
  works "$check" tree
  same "$output" ""
}

@test "a measured table without command, commit, machine or date is refused" {
  local fact
  for fact in Command Commit Machine Date; do
    setup
    breaks docs/measured/speed.md "^- $fact" "- Other: fact" \
      "docs/measured/speed.md:11: the table lacks its ${fact,,}; *"
    rm -rf tree
  done
}

@test "facts of another section, or below the table, are not the table's" {
  sed -i 's/^- Date.*/&\n\n## Another\n/' tree/docs/measured/speed.md
  sed -n '/^- Command/,/^- Date/p' tree/docs/measured/speed.md >facts
  cat facts >>tree/docs/measured/speed.md
  run "$check" tree
  same "$status" 1
  same "$(grep -c '^docs/measured/speed.md:14: the table lacks ' <<<"$output")" 4
}

@test "a commit is a hash, and a date a date" {
  breaks docs/measured/speed.md "^- Commit" "- Commit: the last one" \
    "docs/measured/speed.md:11: the table names no commit by its hash; *"
  setup
  breaks docs/measured/speed.md "^- Date" "- Date: 2026-13-01" \
    'docs/measured/speed.md:11: the table has the date "2026-13-01", *'
}

@test "a table without a head, or one that a blank line cuts in two, is refused" {
  sed -i '/^|---/d' tree/docs/measured/speed.md
  printf '\n| a |\n|---|\n| 1 |\n\n| 2 |\n' >>tree/README.md
  run "$check" tree
  same "${lines[1]}" "docs/measured/speed.md:11: a table without a head; write |---| below its first line, and no blank line in it"
  same "${lines[0]}" "README.md:10: a table without a head; write |---| below its first line, and no blank line in it"
}

@test "a link to a file or a heading that is not there is refused" {
  breaks README.md "^.one" "[one](docs/none.md)." "README.md:4: no docs/none.md, where a link leads"
  setup
  breaks docs/measured/speed.md "^## " "## How slow" \
    "README.md:3: docs/measured/speed.md has no heading #how-fast-2-cores, where a link leads"
}

@test "a picture that nothing says how to make is refused" {
  breaks docs/pictures/README.md "^    make front" "Made with care." \
    "docs/pictures/front.svg:1: * has no section with the command that made it"
}

@test "a line over 100 columns is refused; tables, code and targets of links do not count" {
  local long
  long=$(printf 'word %.0s' {1..21})
  printf '\n| %s |\n|---|\n\n    %s\n\n```\n%s\n```\n\n[a](docs/%s)\n' \
    "$long" "$long" "$long" "${long// /./}" >>tree/README.md
  mkdir -p "tree/docs/${long// /./}"
  works "$check" tree
  breaks README.md "^.one" "$long" "README.md:4: 105 columns, over 100"
}

# The last commands of a picture's section in docs/pictures, which draw it of what is kept: PICTURE.
drawing_of() {
  awk -v picture="$1" '
    /^## / { inside = $2 == picture }
    inside && /^    / { if (!open) text = ""; open = 1; text = text substr($0, 5) "\n" }
    !/^    / { open = 0 }
    END { printf "%s", text }' "$repo/docs/pictures/README.md"
}

@test "each picture is the one that its commands draw of what is kept beside it" {
  ln -s "$repo/docs" "$repo/examples" "$repo/bench" .
  ln -s "$fixtures/model.sti" model.sti
  same "$(cd "$repo/docs/pictures" && echo *.png)" '*.png'
  local picture python=python3
  "$python" -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
  for picture in "$repo"/docs/pictures/*.svg; do
    picture=${picture##*/}
    drawing_of "$picture" >command
    grep -q "$picture" command || { echo "$picture: no command draws it"; return 1; }
    sed -i "s|^bench/experiments/|$python bench/experiments/|" command
    bash -e command
    cmp "$picture" "$repo/docs/pictures/$picture"
  done
}
