# The module sti for Python, out of this build's library. packaging/test-wheel tries the wheel itself.
load helpers

setup() {
  skip_if_sanitized "Python has no sanitizers"
  make_links
}

@test "Python opens, plans, runs batches and reads figures by the module sti" {
  mkdir site
  cp -r "$repo/python/sti" site/
  cp "$STI_BIN/../lib/libsti.so.0" site/sti/
  PYTHONPATH=site run python3 "$repo/tests/python/test_sti.py"
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  like "$output" "*"$'\n'"OK"
}
