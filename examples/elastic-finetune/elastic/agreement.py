"""How far what PyTorch computes of a submodel is from what the tools do, for each head.

The tools give logits of texts, vectors, or of words' labels the likeliest one of each token with its score, if that is
not the one outside of all spans. What they count over a data set is compared too, where there are labels.
"""

import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy
import torch

from . import evaluate, tables, tagged, tools
from .folder import ModelFolder
from .head import Vectors, WordLabels
from .network import Network, Submodel
from .tables import Columns

_CPU = torch.device("cpu")


class OfTexts:
    """Answers to texts: logits, or vectors. Rows with labels are counted as right by sti-importance too."""

    def __init__(self, source: ModelFolder, file: pathlib.Path, columns: Columns):
        self.source, self.file = source, file
        self.labelled = not isinstance(source.head, Vectors)
        self.key, self.what = ("logits", "logits") if self.labelled else ("embedding", "numbers of vectors")
        self.rows = tables.read_rows(file, columns, self.labelled)
        self.texts = source.head.read(source.path, file, columns, source.labels())

    def apart(self, network: Network, submodel: Submodel, run: Sequence[str | pathlib.Path], count: int) -> float:
        """The largest difference of numbers in answers to the first texts. `run`: sti-run at the submodel."""
        text, pairs = tools.lines([(row.text, row.pair) for row in self.rows[:count]])
        made = tools.run([*run, *pairs], text)
        theirs = numpy.array([json.loads(line)[self.key] for line in made.splitlines()])
        ours = evaluate.answers(network, self.texts.take(range(len(theirs))), submodel, _CPU).numpy()
        return float(numpy.abs(ours - theirs).max())

    def counts_agree(self, network: Network, depth_layers: Sequence[Sequence[int]], container: pathlib.Path,
                     scratch: pathlib.Path) -> bool:
        """Prints how many rows are counted as right by one alone; whether it is at most one in each submodel."""
        if not self.labelled:
            return True
        labelled = [{"text": row.text, "label": row.label} | ({"pair": row.pair} if row.pair else {})
                    for row in self.rows]
        file = scratch / "some.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in labelled), "utf-8")
        made = json.loads(tools.run(["sti-importance", container, "--data", file, "--metric", "accuracy",
                                     "--submodels", "-q", "-o", "-"]))
        worst = 0
        cells = [cell for cell in made["submodels"] if cell["bits"] == 32]
        for cell in cells:
            submodel = Submodel(tuple(depth_layers[cell["layers"] - 1]), cell["width"])
            ours = int(evaluate.right(network, self.texts, submodel, _CPU).sum())
            worst = max(worst, abs(ours - round(cell["accuracy"] * len(self.texts))))
        print(f"{len(cells)} submodels: rows counted as right differ by at most {worst} of {len(self.texts)}")
        return worst <= 1


class OfWords:
    """Labels of words: the score of each token's label, and spans that sti-run --eval counts."""

    what = "scores"

    def __init__(self, source: ModelFolder, file: pathlib.Path, columns: Columns):
        self.file, self.names = file, source.labels()
        self.rows = tagged.read_rows(file)
        self.texts = source.head.read(source.path, file, columns, self.names)
        made = tools.tokenize(source.path, [(row.text, None) for row in self.rows], offsets=True)
        self.offsets = [offsets for _, _, offsets in made]

    def apart(self, network: Network, submodel: Submodel, run: Sequence[str | pathlib.Path], count: int) -> float:
        """The largest difference of a score; where labels differ, of the scores that PyTorch gives the two."""
        text, _ = tools.lines([(row.text, None) for row in self.rows[:count]])
        made = [json.loads(line) for line in tools.run([*run, "--aggregate", "none"], text).splitlines()]
        some = self.texts.take(range(len(made)))
        scores = evaluate.answers(network, some, submodel, _CPU).softmax(1).numpy()
        worst = 0.0
        for row, answer in enumerate(made):
            given = {(span["begin"], span["end"]): span for span in answer["spans"]}
            ours = scores[some.begins[row]:some.begins[row + 1]]
            for token in range(1, len(ours) - 1):
                begin, end = self.offsets[row][token]
                worst = max(worst, self._apart(ours[token], given.get((begin, end))))
        return worst

    def _apart(self, scores: numpy.ndarray, given: Mapping[str, Any] | None) -> float:
        label = self.names.index(given["label"] if given else tagged.OUTSIDE)
        stated = abs(scores[label] - given["score"]) if given else 0.0
        return float(max(stated, scores.max() - scores[label]))

    def counts_agree(self, network: Network, depth_layers: Sequence[Sequence[int]], container: pathlib.Path,
                     scratch: pathlib.Path) -> bool:
        """Prints how far the F1 of the spans of all texts is from that of sti-run --eval; whether a word or two explain
        it."""
        worst = spans = 0.0
        judge = evaluate.Judge(network.shape, self.texts, _CPU, network)
        for depth, layers in enumerate(depth_layers, 1):
            submodel = Submodel(tuple(layers), network.shape.heads)
            made = json.loads(tools.run(["sti-run", container, "--submodel", f"{depth}x{submodel.width}", "--eval",
                                         self.file, "--json", "-q"]))["spans"]
            worst, spans = max(worst, abs(made["f1"] - judge(network, submodel))), made["examples"]
        print(f"{len(depth_layers)} submodels: F1 of spans differs by at most {worst:.4f}")
        return worst <= 2 / max(1, spans)


def of(source: ModelFolder, file: pathlib.Path, columns: Columns) -> OfTexts | OfWords:
    """What a model's head is compared by, on the rows of a file."""
    return (OfWords if isinstance(source.head, WordLabels) else OfTexts)(source, file, columns)
