# README.md: its first transcript is what the tools print, on any machine.
load helpers

# Blanks out what rounding may change from one instruction set to the next: a label's score.
without_scores() { sed -E 's/^([^\t]+)\t[0-9.]+\t/\1\tscore\t/'; }

@test "README's commands print what README shows" {
  ln -s "$repo/examples" examples
  rm model.sti model.plan # links to what all tests share
  sed -n '/^```console$/,/^```$/p' "$repo/README.md" | sed '1d;$d' >shown
  # A command begins with "$ ", and goes on after a line that ends in a backslash.
  awk -v commands=commands -v expected=expected '
    /^\$ / { sub(/^\$ /, ""); typed = 1 }
    { print >(typed ? commands : expected) }
    !/\\$/ { typed = 0 }' shown
  same "$(grep -c '^sti-' commands)" 4
  bash -e commands >printed 2>&1
  same "$(without_lateness <printed | without_scores)" "$(without_scores <expected)"
}
