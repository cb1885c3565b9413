# Every weight of a gobo container reads as numpy and scikit-learn make it: the same outliers, and
# the means of the same clusters.
load helpers

# A Python with numpy, and with scikit-learn if any has it; without scikit-learn the script fits
# the Gaussian itself.
setup() {
  make_links
  local candidate
  python=
  for candidate in python3 /usr/bin/python3; do
    "$candidate" -c 'import sklearn.mixture, numpy' 2>/dev/null && python=$candidate && return
  done
  for candidate in python3 /usr/bin/python3; do
    "$candidate" -c 'import numpy' 2>/dev/null && python=$candidate && return
  done
  skip "no python3 with numpy"
}

exactness() { "$python" "$BATS_TEST_DIRNAME/exactness.py" "$@"; }

# Shards the model folder $1 the paper's way and compares all that can be read of it.
compare() {
  local bits
  sti-shard -q --codebook gobo --bits 2-6 "$1" -o gobo.sti
  mkdir exports
  for bits in 2 3 4 5 6; do sti-inspect -q gobo.sti --export "$bits" -o "exports/$bits"; done
  run exactness check "$1" exports 2 3 4 5 6
  same "$status" 0 || {
    echo "$output"
    return 1
  }
}

@test "the comparison finds what is wrong" {
  exactness selftest
}

@test "the example: the same outliers and reconstructions at every bitwidth" {
  compare model
  [[ $output == *"layer 0: 442368 weights, "*" outliers"* ]]
  [[ $output != *" 0 outliers"* ]]
}

@test "a few values, nearly all tied" {
  exactness coarse model few
  compare few
}

@test "a layer of one value and a layer of two" {
  exactness constant model flat
  compare flat
  [[ $output == *"layer 0: 442368 weights, 0 outliers"* ]]
}

@test "a layer so wide that every weight is an outlier" {
  exactness large model wide
  compare wide
  [[ $output == *"layer 0: 442368 weights, 442368 outliers"* ]]
}
