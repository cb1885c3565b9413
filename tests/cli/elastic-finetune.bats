# The example that makes models elastic, with classifiers of texts; elastic-heads.bats has the other heads.
load helpers
load elastic

# Runs the Python on stdin, which finds the model folder as `folder` and the texts of few.tsv as `texts`.
with_texts() {
  PYTHONPATH="$elastic" "$python" - <<PY
import pathlib, torch
from elastic import data, tables
from elastic.folder import ModelFolder
few = pathlib.Path("few.tsv")
folder = ModelFolder(pathlib.Path("model"))
rows = tables.read_rows(few, tables.Columns())
texts = data.tokenized(folder.path, rows, tables.labels_of(rows, folder.labels(), few))
$(cat)
PY
}

# A random BERT of four layers and four heads, as bert/.
make_bert() {
  PYTHONPATH="$elastic" "$python" - "$repo/tests/data/distilbert-tiny" <<'PY'
import json, pathlib, shutil, sys, torch
from elastic.folder import ModelFolder
from elastic.network import Network

source, bert = pathlib.Path(sys.argv[1]), pathlib.Path("seed")
bert.mkdir()
for name in ("vocab.txt", "tokenizer_config.json"):
    shutil.copyfile(source / name, bert / name)
words = len((bert / "vocab.txt").read_text().splitlines())
(bert / "config.json").write_text(json.dumps({
    "model_type": "bert", "num_hidden_layers": 4, "num_attention_heads": 4, "hidden_size": 32,
    "intermediate_size": 64, "vocab_size": words, "max_position_embeddings": 32, "type_vocab_size": 2,
    "id2label": {str(i): f"label_{i}" for i in range(4)}}))
torch.manual_seed(7)
folder = ModelFolder(bert)
folder.save(Network(folder.shape(4)), pathlib.Path("bert"), {})
PY
}

# Fine-tunes a folder, makes it elastic, and has the tools agree with PyTorch.
goes_through() {
  works quick fine-tune "$1" --train rows.tsv --steps 8 --rate 1e-3 -o "$2-plain"
  works quick make-elastic "$2-plain" --train rows.tsv --dev rows.tsv --steps 8 -o "$2-elastic"
  like "$output" "accuracy in % of 160 rows; the plain model has *"
  [ ! -e "$2-elastic.training" ]
  works quick_agree "$2-elastic"
  works sti-shard -q "$2-elastic" -o "$2.sti"
  works sti-inspect --verify "$2.sti"
}

quick_agree() { program agree "$1" --data rows.tsv --inputs 40; }

@test "a BERT of random weights goes through, from fine-tuning to the tools" {
  make_bert
  goes_through bert bert
  holds "$(cat bert-elastic/config.json)" \
    '.elastic | .min_width == 1 and (.depth_layers | length == 4 and all(.[]; . == sort)) and .depth_layers[3] == [0, 1, 2, 3]'
}

@test "so does a DistilBERT" {
  goes_through "$repo/tests/data/distilbert-tiny" distilbert
}

@test "so does a RoBERTa" {
  goes_through "$repo/tests/data/roberta-tiny" roberta
}

@test "the whole model computes what it did after its heads and neurons are sorted" {
  with_texts <<'PY'
from elastic import order
batches = list(data.in_order(texts, 512))
before, after = folder.load().eval(), folder.load().eval()
for scores in (worth := order.scores(after, batches)).heads:
    scores.copy_(torch.arange(len(scores)))  # the last head first, whatever the order was
order.sort(after, worth)
with torch.no_grad():
    for batch in batches:
        torch.testing.assert_close(after(batch).answers, before(batch).answers, atol=1e-4, rtol=1e-4)
assert not torch.equal(after.layers[0].query.weight, before.layers[0].query.weight)
PY
}

@test "attention on a padded table, as on a GPU, is that of texts of equal length" {
  with_texts <<'PY'
import dataclasses
from elastic.network import Submodel
network = folder.load().eval()
part = Submodel((0, network.shape.layers - 1), network.shape.heads - 1)
for batch in data.in_order(texts, 512):
    assert len(batch.groups) > 1
    padded = dataclasses.replace(batch, padded=batch.table(torch.device("cpu")))
    found = []
    for each in (batch, padded):
        network.zero_grad()
        logits = network(each, part).answers
        logits.square().sum().backward()
        found.append([logits.detach(), network.words.weight.grad.clone(), network.layers[0].key.weight.grad.clone()])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, atol=5e-4, rtol=1e-3)
PY
}

@test "answers that are looked up are the teacher's, whatever the batches are" {
  with_texts <<'PY'
from elastic import remembered
teacher = folder.load().eval()
kept = remembered.Remembered(teacher, texts, teacher.shape, torch.device("cpu"))
batches = data.shuffled(texts, 64, seed=1)
with torch.no_grad():
    for batch in [next(batches) for _ in range(8)]:
        own, looked_up = teacher(batch), kept(batch)
        torch.testing.assert_close(looked_up.answers, own.answers, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(looked_up.states[-1], own.states[-1], atol=5e-3, rtol=5e-3)
PY
}

# Kills a run at random moments until it has ended by itself.
killed() {
  local n=0
  while [ ! -e "$1" ]; do
    n=$((n + 1))
    # Later kills come later, so that a run ends.
    timeout -s KILL "$(awk -v n="$n" -v s="$RANDOM" 'BEGIN { print 1.5 + n / 4 + 2 * s / 32768 }')" \
      "$python" "$elastic/make-elastic" "${@:2}" --threads 1 -q --resume -o "$1" 2>>log || [ $? -eq 137 ] || { cat log; return 1; }
  done
  echo "$n" >kills
}

@test "a run that is killed at random moments ends in the same weights" {
  make_bert
  # What is kept each minute otherwise is kept at each step.
  export ELASTIC_SAVE_EVERY_S=0
  options=(bert --train rows.tsv --steps 60 --tokens 256)
  works quick make-elastic "${options[@]}" -o once
  killed again "${options[@]}"
  [ "$(cat kills)" -gt 1 ]
  cmp once/model.safetensors again/model.safetensors
  cmp once/config.json again/config.json
}

@test "so does one whose gradients wait for several steps, and one whose teacher answers each time" {
  make_bert
  export ELASTIC_SAVE_EVERY_S=0
  for method in sortednet words; do
    options=(bert --train rows.tsv --steps 42 --tokens 256 --method "$method")
    works quick make-elastic "${options[@]}" -o "$method"
    killed "$method-again" "${options[@]}"
    cmp "$method/model.safetensors" "$method-again/model.safetensors"
  done
}

@test "a run that another process is at is left alone" {
  make_bert
  "$python" "$elastic/make-elastic" bert --train rows.tsv --steps 100000 --threads 1 -q -o out & # itself, so that it is what is killed
  local other=$!
  until [ -e out.training/run.json ]; do sleep 0.2; done
  run --separate-stderr quick make-elastic bert --train rows.tsv --steps 100000 --resume -o out
  kill -9 "$other"
  same "$status" 1
  same "$stderr" "make-elastic: out.training: another process is at this run; wait for it, or choose another name"
}

@test "a run that was stopped is not begun anew by mistake, nor gone on with otherwise" {
  make_bert
  ELASTIC_SAVE_EVERY_S=0 timeout -s KILL 8 "$python" "$elastic/make-elastic" bert --train rows.tsv --steps 100000 --threads 1 -o out || true
  [ -e out.training/run.json ]
  refused 1 "make-elastic: out.training is of a run that was stopped: go on with --resume, or remove it" quick make-elastic bert --train rows.tsv --steps 100000 -o out
  refused 1 "*the run was begun with rate 0.0006, not 0.001*" quick make-elastic bert --train rows.tsv --steps 100000 --rate 1e-3 --resume -o out
  refused 1 "*the run has 100000 steps, not 50" quick make-elastic bert --train rows.tsv --steps 50 --resume -o out
}

@test "data that cannot be learned from is refused in one line" {
  make_bert
  grep -v 'label_[123]' rows.tsv >one.tsv
  refused 1 "make-elastic: one.tsv: all rows have the label 'label_0'; nothing can be learned from them" quick make-elastic bert --train one.tsv --steps 2 -o out
  sed 's/label_3/tables/' rows.tsv >other.tsv
  refused 1 "make-elastic: other.tsv: line 5: label 'tables' is none of the model's 4 (label_0, label_1, label_2 ...); the data may be another task's" quick make-elastic bert --train other.tsv --steps 2 -o out
  printf 'text;label\nx;1\n' >columns.tsv
  refused 1 "make-elastic: columns.tsv: no column that is usual for text among 'text;label'; name it with --text-column" quick make-elastic bert --train columns.tsv --steps 2 -o out
  printf '{"text": "a"}\n{"text": \n' >broken.jsonl
  refused 1 "make-elastic: broken.jsonl: line 2: not JSON *" quick make-elastic bert --train broken.jsonl --label-column text --steps 2 -o out
  [ ! -e out ] && [ ! -e out.training ]
}

@test "tables with tabs and commas, columns by number and JSON Lines are read alike" {
  printf 'sentence\tlabel\nplay "it", now\t1\n\nstop\t0\n' >a.tsv
  printf 'id,sentence,label\r\n7,"play ""it"", now",1\r\n8,stop,0\r\n' >b.csv
  printf '1\tx\tplay "it", now\n0\tx\tstop\n' >c.tsv
  printf '{"label": 1, "text": "play \\"it\\", now"}\n{"text": "stop", "label": "0"}\n' >d.jsonl
  printf 'play "it", now\nstop\n' >e.txt
  PYTHONPATH="$elastic" works "$python" - <<'PY'
import pathlib
from elastic.tables import Columns, read_rows

wanted = [('play "it", now', "1"), ("stop", "0")]
numbered = Columns(text="3", label="1")
for name, columns in (("a.tsv", Columns()), ("b.csv", Columns()), ("c.tsv", numbered), ("d.jsonl", Columns())):
    read = [(row.text, row.label) for row in read_rows(pathlib.Path(name), columns)]
    assert read == wanted, (name, read)
for name, columns in (("a.tsv", Columns()), ("b.csv", Columns()), ("c.tsv", numbered), ("e.txt", Columns())):
    read = [row.text for row in read_rows(pathlib.Path(name), columns, labelled=False)]
    assert read == [text for text, _ in wanted], (name, read)
assert [row.line for row in read_rows(pathlib.Path("a.tsv"), Columns())] == [2, 4]
PY
  printf 'sentence,label\n"open,1\n' >broken.csv
  make_bert
  refused 1 "make-elastic: broken.csv: line 2: unexpected end of data" quick make-elastic bert --train broken.csv --steps 2 -o out
}

@test "a model that cannot be cut, an output that exists and a rate that is too high are refused" {
  make_bert
  cp -r bert odd
  jq '.num_attention_heads = 3' bert/config.json >odd/config.json
  refused 1 "make-elastic: odd/config.json: 3 heads do not divide hidden size 32 and FFN size 64; such a model cannot be cut" quick make-elastic odd --train rows.tsv --steps 2 -o out
  refused 1 "make-elastic: model exists already; remove it or choose another name" quick make-elastic bert --train rows.tsv --steps 2 -o model
  refused 1 "*make-elastic: the loss is not a number at step *; out.training has the weights before it: begin again with a smaller --rate" quick make-elastic bert --train rows.tsv --steps 200 --rate 1e5 -o out
  [ ! -e out ] && [ -e out.training/state.pt ]
}

@test "a disk that is full ends a run in one line, and what was kept is there yet" {
  make_bert
  works quick make-elastic bert --train rows.tsv --steps 3 -o whole
  (
    ulimit -f 100 # KiB: run.json fits, state.pt does not
    refused 1 "make-elastic: out.training/state.pt: cannot be written (*make room, and go on with --resume" quick make-elastic bert --train rows.tsv --steps 3 -o out
  )
  [ ! -e out ]
  works quick make-elastic bert --train rows.tsv --steps 3 --resume -o out
  cmp out/model.safetensors whole/model.safetensors
}

@test "each submodel from the least on comes up near the grid, the whole one at every step" {
  PYTHONPATH="$elastic" "$python" - <<'PY'
import numpy
from elastic.method import METHODS, Family

family = Family(tuple(tuple(range(n)) for n in range(1, 13)), 12, least_depth=2, least_width=3)
name = lambda each: (len(each.layers), each.width)
assert [name(each) for each in family.grid()] == [(n, m) for n in (3, 6, 12) for m in (3, 6, 12)]
draw, seen = numpy.random.default_rng(1), set()
for _ in range(2000):
    step = family.near_grid(draw)
    assert len(step) in (9, 10) and step.count(family.whole()) == 1 and step[-1] == family.whole()
    seen |= {name(each) for each in step}
assert seen == {(n, m) for n in range(2, 13) for m in range(3, 13)}
turns = [METHODS["turns"].submodels(family, draw, only_width=False) for _ in range(2000)]
assert all(len(step) == 4 and step[0] == family.whole() and step.count(family.whole()) == 1 for step in turns)
assert {name(each) for step in turns for each in step} == seen
for layers, heads in ((1, 1), (2, 2), (3, 12)):
    small = Family(tuple(tuple(range(n)) for n in range(1, layers + 1)), heads, 1, heads)
    assert small.grid()[-1] == small.whole() and len(set(small.grid())) == len(small.grid())
    assert METHODS["turns"].submodels(small, draw, only_width=False)[0] == small.whole()
PY
}

@test "depths below the least one are not trained, and not in the table" {
  make_bert
  works quick make-elastic bert --train rows.tsv --dev rows.tsv --steps 2 --least-depth 3 --least-width 2 -o deep
  same "$(awk '$1 ~ /^[0-9]+$/ { print $1 }' <<<"$output" | xargs)" "3 4"
  holds "$(cat deep/config.json)" '.elastic.min_depth == 3 and .elastic.min_width == 2'
  refused 1 "make-elastic: --least-depth 5: the model has 4 layers" quick make-elastic bert --train rows.tsv --steps 2 --least-depth 5 -o none
}

@test "JSON Lines, pairs, texts without labels, and each method" {
  make_bert
  tail -n +2 rows.tsv | jq -Rc 'split("\t") | {premise: .[0], hypothesis: "it is", label: .[1]}' >pairs.jsonl
  tail -n +2 rows.tsv | cut -f 1 >texts.txt
  works quick make-elastic bert --train pairs.jsonl --steps 2 -o pairs
  run --separate-stderr program make-elastic bert --train rows.tsv --unlabelled texts.txt --steps 2 -o more
  like "$stderr" "trains 2 steps on 304 rows"$'\n'"step 2 of 2 *"
  refused 1 "make-elastic: --method sortednet learns from labels alone, and not from --unlabelled; leave one out" quick make-elastic bert --train rows.tsv --unlabelled texts.txt --method sortednet --steps 2 -o none
  refused 1 "make-elastic: --method sortednet learns from labels alone, and not from --words; leave one out" quick make-elastic bert --train rows.tsv --words 0.3 --method sortednet --steps 2 -o none
  refused 1 "make-elastic: --method layerskip has depths of the first layers; leave --depth-map nested out" quick make-elastic bert --train rows.tsv --method layerskip --depth-map nested --steps 2 -o none
  works quick make-elastic bert --train rows.tsv --bits 2 --hours 0.0001 -o hours
  for method in base once-for-all sortednet matformer layerskip cofi words grid turns anchored; do
    works quick make-elastic bert --train rows.tsv --method "$method" --steps 4 -o "$method"
  done
  works quick make-elastic bert --train rows.tsv --method base --words 0.15 --steps 4 -o changed
  cmp words/model.safetensors changed/model.safetensors
  run ! cmp -s base/model.safetensors changed/model.safetensors
  PYTHONPATH="$elastic" "$python" - <<'PY'
import pathlib
import torch
from elastic.folder import ModelFolder
of = {name: ModelFolder(pathlib.Path(name)).load() for name in ("bert", "turns", "anchored")}
for name in ("words.weight", "positions.weight", "types.weight", "embedding_norm.weight", "embedding_norm.bias"):
    plain, turns, anchored = (each.get_parameter(name).half() for each in of.values())
    assert torch.equal(plain, anchored), f"{name} stays"
    assert not torch.equal(plain, turns), f"{name} learns"
assert not torch.equal(of["bert"].layers[0].inner.weight.half(), of["anchored"].layers[0].inner.weight.half())
PY
}

@test "steps on weights as a reader of few bits sees them, stopped and gone on with" {
  make_bert
  export ELASTIC_SAVE_EVERY_S=0
  options=(bert --train rows.tsv --steps 12 --bits 2,3 --bits-every 5)
  works quick make-elastic "${options[@]}" -o once
  killed again "${options[@]}"
  cmp once/model.safetensors again/model.safetensors
  works quick make-elastic bert --train rows.tsv --steps 12 -o without
  ! cmp -s once/model.safetensors without/model.safetensors
  PYTHONPATH="$elastic" "$python" - <<'PY'
import pathlib
from elastic.bits import FewBits
from elastic.folder import ModelFolder
from elastic.network import MATRICES
source = ModelFolder(pathlib.Path("bert"))
network, seen = source.load(), FewBits(source, (2,), 1)
seen.refresh(network)
seen.show(network, 2)
for layer in network.layers:
    values = {round(float(x), 4) for x in layer.matrix("inner").flatten()}
    assert len(values) < layer.inner.weight.numel() / 2, "few bits have few values"
    assert all(layer.matrix(name).shape == getattr(layer, name).weight.shape for name in MATRICES)
seen.show(network, None)
assert all(layer.matrix("inner") is layer.inner.weight for layer in network.layers)
PY
}

@test "plans of a plain and an elastic model for parts of the time, side by side" {
  make_plain_model
  ROWS=20 works "$elastic/at-targets" plain model few.tsv few.tsv 1 2000
  same "${#lines[@]}" 3
  like "${lines[0]}" "share *target *plain *sorted *elastic"
  like "${lines[1]}" "1 % *ms *no plan *no plan *no plan"
  like "${lines[2]}" "2000 % *ms *x* % *x* % *x* %"
}

@test "of phrases and sentences, sentences are held out, and none of their phrases is trained on" {
  printf 'sentence\tlabel\n' >few.tsv
  local i
  for i in {a..z}; do
    printf 'the %s songs that play at %s\talarm\n%s songs\taccount_blocked\nplay at %s\talarm\n' "$i" "$i" "$i" "$i" >>few.tsv
  done
  printf 'songs\talarm\nsongs at play\talarm\n' >>few.tsv
  with_texts <<'PY'
from elastic import parts
texts_of = [row.text for row in rows]
wholes = {i for i, text in enumerate(texts_of)
          if not any(f" {text} " in f" {other} " and text != other for other in texts_of)}
train, held_out = parts.split(texts, 0.5, apart=True)
assert len(held_out) == round(len(wholes) / 2) and set(held_out) <= wholes, held_out
said = {i for i, text in enumerate(texts_of) if any(f" {text} " in f" {texts_of[j]} " for j in held_out)}
assert set(train) == set(range(len(rows))) - said, train
assert len(said) > 2 * len(held_out) and texts_of.index("songs") in said and texts_of.index("songs at play") in wholes
train, held_out = parts.split(texts, 0.5, apart=False)
assert len(held_out) == len(rows) // 2 and not set(train) & set(held_out)
PY
  works quick fine-tune model --train few.tsv --apart --held-out 0.3 --steps 2 -o plain
}

@test "a smaller model from a larger one" {
  make_bert
  works quick make-smaller bert --train rows.tsv --hidden 16 --vocabulary 45 --steps 4 -o small
  holds "$(cat small/config.json)" '.hidden_size == 16 and .vocab_size == 45 and .intermediate_size == 32'
  [ "$(wc -l <small/vocab.txt)" -eq 45 ]
  works quick make-elastic small --train rows.tsv --steps 2 -o small-elastic
  works quick_agree small-elastic
  works quick make-elastic small --teacher bert --train rows.tsv --steps 2 -o taught
  works quick_agree taught
  run ! cmp -s small-elastic/model.safetensors taught/model.safetensors
}

@test "a teacher of other words, other labels or none at all is refused" {
  make_bert
  works quick make-smaller bert --train rows.tsv --hidden 16 --vocabulary 45 --steps 2 -o small
  refused 1 "make-elastic: --teacher small: its vocabulary lacks*of bert; name a model whose vocabulary holds them" \
    quick make-elastic bert --teacher small --train rows.tsv --steps 2 -o none
  cp -r bert others
  sed -i 's/"label_2"/"other"/' others/config.json
  refused 1 "make-elastic: --teacher others: its labels are not those of small; both must be of one task*" \
    quick make-elastic small --teacher others --train rows.tsv --steps 2 -o none
  refused 1 "make-elastic: missing: no config.json; it has to be a model folder" \
    quick make-elastic small --teacher missing --train rows.tsv --steps 2 -o none
  refused 1 "make-elastic: --method sortednet learns from labels alone, and not from --teacher; leave one out" \
    quick make-elastic small --teacher bert --train rows.tsv --method sortednet --steps 2 -o none
}

@test "a teacher that has other numbers for the same words answers as the network does, and its states fit" {
  with_texts <<'PY'
from elastic.elder import elder_of
network = folder.load().eval()
words = (folder.path / "vocab.txt").read_text("utf-8").splitlines()
other = folder.load()
with torch.no_grad():
    other.words.weight.copy_(other.words.weight.flip(0))
folder.save(other, pathlib.Path("other"), {}, files={"vocab.txt": "".join(word + "\n" for word in reversed(words))})
elder = elder_of(ModelFolder(pathlib.Path("other")), folder, network, texts, torch.device("cpu"))
with torch.no_grad():
    for batch in data.in_order(texts, 512):
        own, learned_from = network(batch), elder(batch)
        torch.testing.assert_close(learned_from.answers, own.answers, atol=1e-3, rtol=1e-3)
        torch.testing.assert_close(learned_from.states[-1], own.states[-1], atol=1e-2, rtol=1e-2)
PY
}

@test "compare keeps what is measured with its models, and beside the README only to record it" {
  cp -r "$elastic" example
  works env PYTHONPATH=example "$python" -B - <<'PY'
import pathlib
from comparison.rows import RECORDED, Rows
before, work = RECORDED.read_text(), pathlib.Path("work")
Rows(work, False).add("mine", rows=1)
print(RECORDED.read_text() == before, "mine" in Rows(work, False), "mine" in Rows(pathlib.Path("other"), False))
Rows(work, True).add("all", rows=2)
print(RECORDED.read_text().startswith(before), "all" in Rows(pathlib.Path("other"), False))
PY
  same "$(grep -v '^{' <<<"$output")" "True True False
True True"
}
