# sti.SentenceTransformer: sentence-transformers' class for Python, with this library inside.
load helpers

# The first that has numpy.
for python in ${STI_PYTORCH:+"$STI_PYTORCH"} python3 /usr/bin/python3; do
  ! "$python" -c "import numpy" 2>/dev/null || break
done

setup() {
  skip_if_sanitized "Python has no sanitizers"
  make_links
  cp -r "$repo/tests/data/multilabel-tiny" sentences
  mkdir sentences/1_Pooling site
  echo '[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]' >sentences/modules.json
  echo '{"word_embedding_dimension": 16, "pooling_mode_mean_tokens": true}' >sentences/1_Pooling/config.json
  echo '{"max_seq_length": 12, "do_lower_case": false}' >sentences/sentence_bert_config.json
  sti-shard -q sentences -o sentences.sti
  cp -r "$repo/python/sti" site/
  cp "$STI_BIN/../lib/libsti.so.0" site/sti/
}

sentences() { # CLASS
  PYTHONPATH=site HF_HUB_OFFLINE=1 run "$python" "$repo/tests/python/test_sentences.py" "$@"
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  ! grep -q skipped <<<"$output" || skip "$python has no numpy, or no sentence-transformers; STI_PYTORCH names another"
  like "$output" "*"$'\n'"OK"
}

@test "what it cannot do is refused by name" { sentences Refusals; }

@test "it embeds as Host.open does, and compares" { sentences Vectors; }

@test "it gives what sentence-transformers gives, asked the same" { sentences Reference; }
