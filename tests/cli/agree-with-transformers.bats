# The example that holds a container against transformers. What it says of differences is tried with
# lists of ids; the whole of it needs a Python with transformers and PyTorch.
load helpers

program="$repo/examples/agree-with-transformers"
python=${STI_PYTORCH:-python3}

# Runs the Python on stdin, which finds the program as `agree`, and the library as `theirs`: one
# whose token i is word i of the arguments.
with_program() {
  python3 - "$program" "$@" <<PY
import importlib.machinery, importlib.util, sys
loader = importlib.machinery.SourceFileLoader("agree", sys.argv[1])
agree = importlib.util.module_from_spec(importlib.util.spec_from_loader("agree", loader))
loader.exec_module(agree)
class Theirs:
    most = 8
    def token(self, number): return sys.argv[2 + number]
    def control_tokens(self): return {"[SEP]"}
    def decides(self): return "tokenizer.json"
theirs = Theirs()
$(cat)
PY
}

@test "the first difference is said in words, with its likely cause" {
  run with_program café cafe Film film Ġa a [SEP] other <<'PY'
def said(mine, library): print(agree.explain(("text",), mine, library, theirs))
said([7, 0, 7], [7, 1, 7])
said([2], [3])
said([4], [5])
said([7, 7], [7, 6])
said([7], [0])
said([7, 7, 7], [7])
said([7] * 9, [7] * 8)
PY
  [ "${lines[0]}" = "position 1: 'café' here, 'cafe' in transformers: accents are kept by here and stripped by transformers: strip_accents of tokenizer.json; 'text'" ]
  [ "${lines[1]}" = "position 0: 'Film' here, 'film' in transformers: do_lower_case of tokenizer.json; 'text'" ]
  [[ ${lines[2]} == *"in transformers: add_prefix_space of tokenizer.json; 'text'" ]]
  [[ ${lines[3]} == "position 1: 'other' here, '[SEP]' in transformers: control tokens: "* ]]
  [[ ${lines[4]} == *": normalizer, splitting or vocabulary: tokenizer.json; 'text'" ]]
  [ "${lines[5]}" = "position 1: the container has 2 tokens more: post_processor of tokenizer.json; 'text'" ]
  [[ ${lines[6]} == "position 8: the container has 1 token more: model_max_length or truncation_side of"* ]]
}

@test "texts are of many scripts, with pairs, and the same for the same vocabulary" {
  run with_program <<'PY'
inputs = agree.made_inputs(["word", "##s", "other"], 100)
assert inputs == agree.made_inputs(["word", "##s", "other"], 100)
assert ("",) in inputs and ("", "") in inputs and any(len(t[0].split()) > 600 for t in inputs)
assert sum(len(t) == 2 for t in inputs) > 20
print(sum(any(ord(c) > 0x370 for c in t[0]) for t in inputs) > 30)
PY
  [ "$output" = True ]
}

@test "a model agrees, and one that is sharded otherwise is found out" {
  "$python" -c 'import torch, transformers' 2>/dev/null ||
    skip "needs a Python with transformers and PyTorch; STI_PYTORCH may name one"
  export HF_HUB_OFFLINE=1
  run "$python" "$program" "$repo/examples/voice-intents/model" --texts 60
  [ "$status" -eq 0 ]
  [[ $output == *" inputs agree: ids, and logits within "* ]]
  # Accents stay in the container, where the folder says that they go.
  mkdir bin
  printf '%s\n' '#!/bin/sh' 'cp -r "$1" other && shift' \
    'echo "{\"strip_accents\": false}" >other/tokenizer_config.json' \
    "exec \"$(command -v sti-shard)\" other \"\$@\"" >bin/sti-shard
  chmod +x bin/sti-shard
  printf 'play some music\ncafé\n' >texts.txt
  PATH="$PWD/bin:$PATH" run "$python" "$program" "$repo/examples/voice-intents/model" --data texts.txt
  [ "$status" -eq 1 ]
  [[ $output == *"position 1: "* ]]
}

@test "bytes of tokens and spans of texts agree" {
  "$python" -c 'import torch, transformers' 2>/dev/null ||
    skip "needs a Python with transformers and PyTorch; STI_PYTORCH may name one"
  export HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1
  works "$repo/scripts/agree-on-offsets" --python "$python" --count 40
  works "$repo/scripts/agree-on-spans" --python "$python" --lines 5 --tools "$(dirname "$(command -v sti-run)")"
  like "$output" *"spans-roberta: 5 lines, 5 ways, "*" spans, 0 lines differ"*
}
