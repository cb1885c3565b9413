# What shells complete of the tools, with the files that the build makes from the tools' options.
# Each shell is a real one on a terminal, into which keys are typed.
load helpers

setup_file() { :; } # needs no model

setup() {
  cd "$BATS_TEST_TMPDIR"
  files=$STI_BIN/../completion
  touch only.sti devil.json folly 1ms
  mkdir folder
}

# SHELL: the same keys lead to the same words in each, but for a = before a value and the slash of a
# folder. What is typed stands before the #.
completes_in() {
  command -v "$1" >/dev/null || skip "needs $1; scripts/install-deps --shells"
  cat >table <<'END'
sti-run onl\t --on-l\td\t # only.sti --on-late degrade
sti-run onl\t --io=u\t # only.sti --io uring
sti-run onl\t --compute b\t # only.sti --compute bf16
sti-plan onl\t --prof\tdevi\t --risk m\t # only.sti --profile devil.json --risk median
sti-plan onl\t --target 1\t2ms # only.sti --target 12ms
sti-plan onl\t --strategy sti-\t --expl\t # only.sti --strategy sti-paper --explain
sti-profile onl\t --outp\tx.pro --compute i\t # only.sti --output x.pro --compute int8
sti-shard fol\t --codebook t\t # folder --codebook tree
sti-inspect onl\t --export 6\t -o fol\t # only.sti --export 6 -o folder
sti-importance onl\t --metri\tk\t # only.sti --metric kl
sti-importance mer\t onl\t --o\tx.imp # merge only.sti --output x.imp
sti-importance sho\t --sv\tx.svg onl\t # show --svg x.svg only.sti
END
  sed 's/ # .*//' table | python3 "$BATS_TEST_DIRNAME/type_keys.py" "$1" "$files" |
    sed 's/=/ /; s#/##; s/ *$//' >words
  sed 's/.* # //' table >expected
  diff expected words
}

@test "bash completes options, their values, files and folders" { completes_in bash; }
@test "zsh completes options, their values, files and folders" { completes_in zsh; }
@test "fish completes options, their values, files and folders" { completes_in fish; }

@test "every option of --help is completed in each shell" {
  for tool in "${tools[@]}"; do
    mapfile -t options < <("$tool" --help | grep -oP '^  (-\w, )?--\K[a-z0-9-]+')
    [ "${#options[@]}" -ge 9 ]
    for option in "${options[@]}"; do
      grep -q -e "--$option\\b" "$files/bash/$tool"
      grep -q -e "--$option[=[]" "$files/zsh/_$tool"
      grep -q -e " -l $option " "$files/fish/$tool.fish"
    done
  done
}
