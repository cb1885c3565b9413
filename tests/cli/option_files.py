"""The files that option_pairs.py gives the tools: a small random model, and what the tools make of
it."""
import json
import pathlib
import random
import shutil
import struct
import subprocess

from formula_importance import load_unchanged

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
SENTENCES = ["set an alarm", "play it again", "what is the time", "never mind"]


def write_model(folder, elastic):
    """Writes a BERT of 3 layers and 4 heads with random weights and labels "no" and "yes"."""
    folder.mkdir()
    rng = random.Random(7)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *sorted(set(" ".join(SENTENCES).split()))]
    hidden, ffn, layers, positions = 64, 256, 3, 64
    config = {"architectures": ["BertForSequenceClassification"], "model_type": "bert",
              "hidden_size": hidden, "intermediate_size": ffn, "num_hidden_layers": layers,
              "num_attention_heads": 4, "vocab_size": len(words),
              "max_position_embeddings": positions, "type_vocab_size": 2, "hidden_act": "gelu",
              "layer_norm_eps": 1e-12, "id2label": {"0": "no", "1": "yes"}}
    if elastic:
        config["elastic"] = {"min_width": 2, "depth_layers": [[1], [0, 2], [0, 1, 2]]}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    shapes = {"bert.embeddings.word_embeddings.weight": (len(words), hidden),
              "bert.embeddings.position_embeddings.weight": (positions, hidden),
              "bert.embeddings.token_type_embeddings.weight": (2, hidden),
              "bert.pooler.dense.weight": (hidden, hidden), "bert.pooler.dense.bias": (hidden,),
              "classifier.weight": (2, hidden), "classifier.bias": (2,)}
    norms = ["bert.embeddings.LayerNorm"]
    for k in range(layers):
        layer = f"bert.encoder.layer.{k}."
        for name, rows, columns in (("attention.self.query", hidden, hidden),
                                    ("attention.self.key", hidden, hidden),
                                    ("attention.self.value", hidden, hidden),
                                    ("attention.output.dense", hidden, hidden),
                                    ("intermediate.dense", ffn, hidden),
                                    ("output.dense", hidden, ffn)):
            shapes[f"{layer}{name}.weight"] = (rows, columns)
            shapes[f"{layer}{name}.bias"] = (rows,)
        norms += [f"{layer}attention.output.LayerNorm", f"{layer}output.LayerNorm"]
    for norm in norms:
        shapes[f"{norm}.weight"] = shapes[f"{norm}.bias"] = (hidden,)
    header, data = {}, bytearray()
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = [rng.gauss(float(name.endswith("LayerNorm.weight")), 0.25) for _ in range(count)]
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [len(data), len(data) + 4 * count]}
        data += struct.pack(f"<{count}f", *values)
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


def cascades():
    """Returns cascades of 1x2, 2x2 and 3x4 shards, in numbers that nobody measured."""
    def cut(cutoff, *shares):
        accuracy = 0.6 + cutoff / 10
        ones = [1] * (len(shares) - 1)
        return {"cutoff": cutoff, "slope": None, "weights": ones, "shares": shares,
                "accuracies": [accuracy] * len(shares), "accuracy": accuracy, "words_left": ones}

    same = {"nll": 0.5, "calibrated_nll": 0.5, "ece": 0.1, "calibrated_ece": 0.1, "temperature": 1}
    rows = [([0, 1], cut(0.5, 0.9, 0.1), cut(0.9, 0.5, 0.5)), ([0, 2], cut(0.9, 0.9, 0.1)),
            ([0, 1, 2], cut(0.9, 0.95, 0.03, 0.02))]
    return {"levels": [{"layers": layers, "width": width, "bits": 2, "accuracy": accuracy, **same}
                       for layers, width, accuracy in ((1, 2, 0.5), (2, 2, 0.6), (3, 4, 0.7))],
            "cascades": [{"levels": levels, "alpha": 0, "cuts": cuts} for levels, *cuts in rows]}


def make_files(binaries, folder):
    def must(tool, *arguments):
        subprocess.run([binaries / tool, "-q", *arguments], cwd=folder, check=True)

    write_model(folder / "model", True)
    write_model(folder / "plain", False)
    (folder / "names.txt").write_text("never\nalways\n")
    (folder / "words").mkdir()
    shutil.copy(folder / "model" / "vocab.txt", folder / "words")
    (folder / "words" / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    must("sti-shard", "model", "-o", "model.sti")
    must("sti-shard", "plain", "-o", "plain.sti")
    described = subprocess.run([binaries / "sti-inspect", "--json", "model.sti"], cwd=folder,
                               check=True, capture_output=True, text=True).stdout
    importance = load_unchanged().importance(folder / "model", json.loads(described)["model"])
    (folder / "importance.json").write_text(json.dumps(importance))
    (folder / "kl.json").write_text(json.dumps(importance | {"metric": "kl"}))
    (folder / "cascade.json").write_text(json.dumps(importance | cascades()))
    importance["scores"][0][0] = -0.5
    (folder / "other.json").write_text(json.dumps(importance))
    rows = [f"{text}\t{i % 2}\t{text.split()[1]}\t{1 - i % 2}"
            for i, text in enumerate(SENTENCES * 4)]
    (folder / "dev.tsv").write_text("\n".join(["sentence\tlabel\tword\tmark", *rows]) + "\n")
    # A shard of k bits loads in 6 k us (median) and 8 k us (p99), and as many KiB.
    clocks = ((1200000, 2), (1800000, 1))
    profile = {
        "io": [{"bytes": 2048 * bits, "load_us": 6 * bits, "p99_us": 8 * bits}
               for bits in (1, 2, 3, 4, 5, 6, 32)],
        "compute": [{"length": length, "width": width, "freq": freq,
                     "layer_us": (20 + 10 * width) * slower * length / 64,
                     "p99_us": (25 + 12 * width) * slower * length / 64}
                    for length in (32, 64) for width in (1, 2, 4) for freq, slower in clocks],
        "fixed": [{"length": length, "embed_us": 10, "embed_io_us": 20, "head_us": 5}
                  for length in (32, 64)],
        "read_bytes": 4096, "read_depth": 2,
        "streams": [{"streams": n, "bytes_per_us": 60 * n} for n in (1, 2, 4)], "process_bytes": 3 << 20, "start_us": 50}
    (folder / "device.json").write_text(json.dumps(profile))
    full = json.loads(json.dumps(profile))
    full["compute"] += [dict(entry, width=3, layer_us=entry["layer_us"] * 0.8,
                             p99_us=entry["p99_us"] * 0.8)
                        for entry in profile["compute"] if entry["width"] == 4]
    (folder / "full.json").write_text(json.dumps(full))
    for name, khz in (("slow", 1200000), ("fast", 1800000)):
        layers = [entry for entry in profile["compute"] if entry["freq"] == khz]
        (folder / f"{name}.json").write_text(json.dumps({**profile, "compute": layers}))
    must("sti-shard", DATA / "multilabel-tiny", "-o", "multi.sti")
    must("sti-shard", DATA / "multilabel-tiny", "--pooling", "mean", "-o", "embed.sti")
    must("sti-shard", DATA / "spans-bert", "-o", "tokens.sti")
    must("sti-shard", DATA / "gpt2-tiny", "-o", "gpt2.sti")
    must("sti-shard", DATA / "vit-tiny", "-o", "vit.sti")
    (folder / "batches.json").write_text(json.dumps({**profile, "batches": [
        {"batch": 4, "compute": profile["compute"], "fixed": profile["fixed"]}]}))
    (folder / "tagged.conll").write_text("Anna B-PER\nBeek I-PER\n\nMay B-DATE\n")
    planned = ["model.sti", "--profile", "full.json", "--importance", "importance.json"]
    must("sti-importance", "plain.sti", "--data", "dev.tsv", "--quick", "--order", "-o", "order.json")
    for part in "12":
        must("sti-importance", "model.sti", "--data", "dev.tsv", "--part", f"{part}/2", "-o",
             f"{part}.part")
    must("sti-plan", *planned, "--target", "700us", "--preload", "20kB", "--turns", "2", "-o",
         "model.plan")
    must("sti-plan", *planned, "--target", "700us", "-o", "late.json")
    whole = {"batches": [{"batch": 4, "compute": [dict(entry, layer_us=3 * entry["layer_us"],
                                                       p99_us=3 * entry["p99_us"])
                                                  for entry in full["compute"]],
                          "fixed": full["fixed"]}], **full}
    (folder / "two.json").write_text(json.dumps({
        "devices": [{"name": "a", "kind": "k", "profile": whole}, {"name": "b", "kind": "k"}],
        "links": [{"from": "k", "to": "k", "bits_per_s": 1e9, "delay_us": 5}]}))
    (folder / "one.json").write_text(json.dumps({
        "devices": [{"name": "a", "kind": "k", "profile": whole}]}))
    must("sti-plan", "model.sti", "--cluster", "one.json", "-o", "staged.json")
    late = json.loads((folder / "late.json").read_text())
    for plan in (late, *late["variants"]):
        plan["target_us"] = 1
    (folder / "late.json").write_text(json.dumps(late))
    cluster = {"devices": [{"name": "b1", "kind": "board", "profile": full}, {"name": "b2", "kind": "board"}],
               "links": [{"from": "board", "to": "board", "bits_per_s": 1e9, "delay_us": 10}]}
    (folder / "cluster.json").write_text(json.dumps(cluster))
    must("sti-plan", "model.sti", "--cluster", "cluster.json", "-o", "stages.plan")
    must("sti-plan", "model.sti", "--profile", "full.json", "--importance", "cascade.json",
         "--target", "700us", "--cascade", "--min-accuracy", "60%", "-o", "chance.json")
    chance = json.loads((folder / "chance.json").read_text())
    chance["cascade"]["levels"][0] |= {"cutoff": 0, "slope": 0.01}
    (folder / "chance.json").write_text(json.dumps(chance))
    evaluated = subprocess.run([binaries / "sti-run", "-q", "--json", "model.sti", "--eval",
                                "dev.tsv"], cwd=folder, check=True, capture_output=True, text=True)
    right = {**json.loads(evaluated.stdout), "correct_bits": "f" * 4}
    (folder / "all-right.json").write_text(json.dumps(right))
