# The example that makes models elastic, with heads that label words and heads that embed texts.
load helpers
load elastic

# Texts whose words have tags, in CoNLL's columns.
tagged() {
  local i
  printf -- '-DOCSTART- O\r\n\n# a comment\n#1 NN\tB-NUM\r\n\n'
  for i in {1..30}; do
    printf 'play O\nsong B-NUM\nnumber I-NUM\n%d I-NUM\nin O\nparis B-LOC\n\nstop O\nin O\nnew B-LOC\nyork I-LOC\n\n' "$i"
  done
}

@test "models that label words go through, of each architecture" {
  tagged >words.conll
  echo "play in york" >texts.txt
  for kind in bert distilbert roberta; do
    works quick fine-tune "$repo/tests/data/spans-$kind" --head words --train words.conll --dev words.conll --steps 20 \
      --rate 1e-2 -o "$kind"
    local said=$output
    like "$said" "span F1 * % of 61 rows"
    holds "$(cat "$kind/config.json")" '(.architectures[0] | endswith("ForTokenClassification")) and .id2label["0"] == "O"'
    works sti-shard -q "$kind" -o "$kind.sti"
    same "$said" "$(sti-run -q "$kind.sti" --eval words.conll --json |
      LC_ALL=C awk -F '"f1":' '{ printf "span F1 %.2f %% of 61 rows\n", 100 * $2 }')"
    works quick make-elastic "$kind" --train words.conll --dev words.conll --unlabelled texts.txt --steps 8 -o "$kind-elastic"
    like "${lines[0]}" "span F1 in % of 61 rows; the plain model has *[0-9]"
    works program agree "$kind-elastic" --data words.conll
    like "$output" "*2x2: scores of 61 rows are at most * apart*submodels: F1 of spans differs by at most 0.0000"
    works sti-shard -q "$kind-elastic" -o "$kind-elastic.sti"
  done
}

@test "labels of words stay with their tokens in batches, and what looks answers up finds those of tokens" {
  tagged >words.conll
  PYTHONPATH="$elastic" "$python" - "$repo/tests/data/spans-bert" <<'PY'
import pathlib, sys, numpy, torch
from elastic import data, remembered, tables
from elastic.folder import ModelFolder
folder = ModelFolder(pathlib.Path(sys.argv[1]))
tags = folder.labels()
pathlib.Path("words.conll").write_text(pathlib.Path("words.conll").read_text().replace("NUM", "PER"))
texts = folder.head.read(folder.path, pathlib.Path("words.conll"), None, tags)
words = [tags[label] for label in texts.labels[texts.begins[1]:texts.begins[2]] if label != data.UNLABELLED]
assert words == ["O", "B-PER", "I-PER", "I-PER", "O", "B-LOC"], words
bare = folder.head.read_bare(folder.path, pathlib.Path("words.conll"), tables.Columns())
assert len(bare.labels) == len(bare.ids) and not bare.take([0, 1]).labels.max() > data.UNLABELLED
texts.labels = texts.ids % 5
texts = data.joined([texts.take([3, 1, 2]), texts.take(range(20))])
unchanged = 0
for step, batch in zip(range(20), data.shuffled(texts, 128, seed=1)):
    assert torch.equal(batch.labels, batch.ids % 5)
    assert (~batch.inside()).sum() == 2 * len(batch.rows) and not batch.inside()[batch.firsts].any()
    assert torch.equal(batch.ids, torch.from_numpy(texts.ids)[texts.places(batch)])
    changed = data.with_words_changed(texts, batch, 0.03, numpy.random.default_rng(step))
    kept = changed.labels != data.UNLABELLED
    assert torch.equal(changed.labels[kept], changed.ids[kept] % 5)
    unchanged += int(kept.sum())
assert unchanged
teacher = folder.load().eval()
looked_up = remembered.Remembered(teacher, texts, teacher.shape, torch.device("cpu"))
with torch.no_grad():
    for batch in data.in_order(texts, 64):
        torch.testing.assert_close(looked_up(batch).answers, teacher(batch).answers, atol=1e-4, rtol=1e-4)
PY
}

@test "models that embed go through, and the whole one keeps its vectors" {
  make_sentence_model
  tail -n +2 rows.tsv | cut -f 1 >texts.txt
  works quick make-elastic sentences --train texts.txt --dev texts.txt --steps 8 --rate 1e-5 -o elastic
  same "${lines[0]}" "mean cosine of 160 rows with the plain model's vectors"
  like "${lines[-1]}" "*2 * 1.0000"
  for file in modules.json 1_Pooling/config.json sentence_bert_config.json; do cmp "sentences/$file" "elastic/$file"; done
  works program agree elastic --data texts.txt
  like "$output" "*2x2: numbers of vectors of 100 rows are at most * apart"
  works sti-shard -q elastic -o elastic.sti
  like "$(sti-inspect elastic.sti)" "*embeds *mean of all tokens, unit length*elastic *any depth*"
  for kind in distilbert roberta; do
    works quick make-elastic "$repo/tests/data/$kind-tiny" --pooling max --train texts.txt --steps 4 --bits 2 -o "$kind"
    works program agree "$kind" --pooling max --data texts.txt
  done
  mkdir -p older/1_Pooling
  cp -r "$repo/tests/data/multilabel-tiny" older/0_Transformer
  cp sentences/1_Pooling/config.json older/1_Pooling/
  jq '.[0].path = "0_Transformer" | del(.[2])' sentences/modules.json >older/modules.json
  works quick make-elastic older --train texts.txt --steps 2 -o older-elastic
  works program agree older-elastic --data texts.txt
}

@test "other heads are refused where they cannot be" {
  make_sentence_model
  tagged >words.conll
  refused 1 "make-elastic: --method sortednet learns from labels alone, and sentences embeds texts; name another" \
    quick make-elastic sentences --train rows.tsv --method sortednet --steps 2 -o none
  refused 1 "make-elastic: sentences: modules.json says how its vectors are pooled; leave --pooling out" \
    quick make-elastic sentences --pooling cls --train rows.tsv --steps 2 -o none
  refused 1 "make-smaller: sentences: labels no texts; only a classifier of texts can be made smaller here" \
    quick make-smaller sentences --train rows.tsv --hidden 8 --steps 2 -o none
  jq '.[1].type = "sentence_transformers.models.Dense"' sentences/modules.json >dense
  mv dense sentences/modules.json
  refused 1 "make-elastic: sentences/modules.json: Transformer, Dense, Normalize; this trains *" \
    quick make-elastic sentences --train rows.tsv --steps 2 -o none
  printf 'O\nB-X\n' >tags.txt
  refused 1 "fine-tune: rows.tsv: line 1: tag 'label' is none of the model's 2 (O, B-X); the data may be another task's" \
    quick fine-tune "$repo/tests/data/spans-bert" --head words --labels tags.txt --train rows.tsv --steps 2 -o none
  printf 'a O\nword\n' >bare.conll
  refused 1 "fine-tune: bare.conll: line 2: a word without a tag; *" \
    quick fine-tune "$repo/tests/data/spans-bert" --head words --train bare.conll --steps 2 -o none
}

@test "spans of tags are those that seqeval counts" {
  PYTHONPATH="$elastic" "$python" - "$repo/tests/data/word-spans.jsonl" <<'PY'
import json, sys
from elastic import tagged
for row in map(json.loads, open(sys.argv[1], encoding="utf-8")):
    for tags, spans in zip(row["tags"], row["spans"], strict=True):
        assert tagged.spans(tags) == {(begin, end, kind) for kind, begin, end in spans}, (tags, spans)
PY
}

@test "numbers, dates and places are tagged by rule" {
  printf 'sentence\tlabel\nfly to new york city, ny on the 5th of june at 7:30 pm\tx\n' >dated.tsv
  printf 'i may need twenty five of this one next week in reading or portland, maine\tx\n' >>dated.tsv
  works program tag-by-rule dated.tsv
  same "$(tr '\t\n' '/ ' <<<"$output" | xargs)" "fly/O to/O new/B-PLACE york/I-PLACE city/I-PLACE ,/O ny/O on/O the/B-DATE \
5th/I-DATE of/I-DATE june/I-DATE at/O 7:30/B-DATE pm/I-DATE i/O may/O need/O twenty/B-NUM five/I-NUM of/O this/O one/O \
next/B-DATE week/I-DATE in/O reading/B-PLACE or/O portland/B-PLACE ,/I-PLACE maine/I-PLACE"
}
