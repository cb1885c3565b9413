# What programs that were linked with libsti.so.0 count on (scripts/abi).
load helpers

setup_file() { :; }

setup() {
  skip_if_sanitized "sanitizers have symbols of their own"
  command -v abidw >/dev/null || skip "needs abidw; scripts/install-deps --test"
  cd "$BATS_TEST_TMPDIR"
  cp "$repo"/tests/data/abi/* .
  functions=libsti.so.0.abi
  numbers=libsti.so.0.numbers
}

check() { "$repo/scripts/abi" check "$STI_BIN/.." .; }

# TEXT: the edited promise is another one, and today's library does not keep it.
is_broken() {
  run ! diff -rq . "$repo/tests/data/abi"
  run -1 check
  like "$output" "*$1*abi: libsti.so breaks what was promised*"
}

@test "libsti.so keeps what was promised" {
  works check
}

@test "a function that is gone breaks the promise" {
  sed -i "s/'sti_version'/'sti_origin'/g" $functions
  is_broken sti_origin
}

@test "a parameter of another type breaks the promise" {
  narrow=$(sed -nE "s/.*typedef-decl name='uint32_t'.* id='([^']*)'.*/\1/p" $functions)
  sed -i "/function-decl name='sti_trim'/,/function-decl>/s/type-id='[^']*' name='bytes'/type-id='$narrow' name='bytes'/" $functions
  is_broken sti_trim
}

@test "a struct of another size breaks the promise" {
  sed -i "s/size-in-bits='4032'/size-in-bits='4000'/; s/length='504'/length='500'/" $functions
  is_broken sti_error
}

@test "a number that means something else breaks the promise" {
  sed -i 's/^STI_DAMAGED .*/STI_DAMAGED 60/' $numbers
  is_broken "sti.h does not say STI_DAMAGED 60"
}

@test "additions break nothing" {
  # The library has them, and the promise has not.
  sed -i "/elf-symbol name='sti_version'/d; /function-decl name='sti_version'/,/function-decl>/d" $functions
  sed -i /^STI_LONGEST/d $numbers
  works check
}
