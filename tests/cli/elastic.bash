# What tests of examples/elastic-finetune share: its programs, a table of rows, and the Python that runs
# them. Needs PyTorch: STI_PYTORCH names a Python that has it; without one the tests are skipped.

python=${STI_PYTORCH:-python3}
elastic="$repo/examples/elastic-finetune"

setup() {
  "$python" -c 'from importlib.util import find_spec; exit(not (find_spec("numpy") and find_spec("torch")))' ||
    skip "needs a Python with PyTorch; STI_PYTORCH may name one"
  make_links
  rows >rows.tsv
}

# Rows of four labels whose words tell them apart.
rows() {
  printf 'sentence\tlabel\n'
  local i
  for i in {1..40}; do
    printf 'play the song number %d\tlabel_0\nset an alarm for %d\tlabel_1\n' "$i" "$i"
    printf 'how is the weather in %d\tlabel_2\nbook a table %d\tlabel_3\n' "$i" "$i"
  done
}

program() { local name=$1; shift; "$python" "$elastic/$name" "$@"; }
quick() { program "$@" --threads 1 -q; }
