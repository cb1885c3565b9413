# The manual: a page of section 1 for each tool, made from its --help, and one of section 5 for each
# document of spec/.
load helpers

setup_file() { # needs no model
  if [ -z "$(missing_program)" ]; then
    "$repo/packaging/make-man" "$STI_BIN" "$BATS_FILE_TMPDIR/man"
  fi
}

# The first of the programs that make and read pages which is not here.
missing_program() {
  local program
  for program in help2man lowdown mandoc; do
    command -v $program >/dev/null || { echo $program; return; }
  done
}

setup() {
  [ -z "$(missing_program)" ] || skip "needs $(missing_program); scripts/install-deps --man"
  cd "$BATS_FILE_TMPDIR"
}

# The page as it is read, on one line, without what makes it bold.
text_of() { mandoc -T ascii "$1" | sed 's/.\x08//g' | tr -s '\n ' ' '; }

@test "every tool and every format has a page, and mandoc finds nothing to warn of" {
  local pages=("${tools[@]/%/.1}") document
  for document in "$repo"/spec/*.md; do pages+=("sti-$(basename "$document" .md).5"); done
  same "$(find man -type f -printf '%f\n' | sort)" "$(printf '%s\n' "${pages[@]}" | sort)"
  works mandoc -T lint -W style man/man1/*.1 man/man5/*.5
  same "$output" ""
}

@test "a tool's page has its name, all of its options, its example, exit codes and other pages" {
  for tool in "${tools[@]}"; do
    page=$(text_of "man/man1/$tool.1")
    like "$page" "*NAME $tool - [a-z]*SYNOPSIS $tool *EXIT STATUS 0 done *EXAMPLES *$tool *SEE ALSO *sti-container(5),*"
    help=$("$tool" --help)
    while read -r option; do like "$page" "* $option[ ,]*"; done < <(grep -oP '^  (-\w, )?\K--[a-z0-9-]+' <<<"$help")
    like "$page" "* $(sed '1,/^Example:/d' <<<"$help" | tr -s '\n ' ' ' | sed 's/^ //; s/[\]/\\&/g')*"
  done
  like "$(text_of man/man1/sti-importance.1)" "*SYNOPSIS*sti-importance show ...*IMPORTANCE SHOW *--svg FILE also write*"
}

@test "a format's page says what its document says" {
  for document in "$repo"/spec/*.md; do
    page=$(text_of "man/man5/sti-$(basename "$document" .md).5")
    while read -r heading; do like "$page" "* $heading *"; done < <(sed -n 's/^##* //p' "$document" | sed 1d)
  done
  page=$(text_of man/man5/sti-plan.5)
  like "$page" "*NAME sti-plan - the plan file DESCRIPTION Version 1.*Binary spelling: sti-frame(5) with magic STIPLAN\\\\0 *"
  like "$(text_of man/man5/sti-profile.5)" "*What a device can do: T_io, T_comp and T_fixed (STI 5.2).*"
}

@test "pages that are made twice are the same bytes, dated as one asks" {
  SOURCE_DATE_EPOCH=86400 "$repo/packaging/make-man" "$STI_BIN" one
  SOURCE_DATE_EPOCH=86400 "$repo/packaging/make-man" "$STI_BIN" two
  diff -r one two
  for page in one/*/*; do grep -q '^\.TH .*"1970-01-02"' "$page"; done
}
