"""What Python's module sti says of the shipped model. Runs in a folder with model.sti, model.plan
and device.json, with the tools on PATH (tests/cli/python.bats, packaging/test-wheel)."""

import array
import gc
import json
import math
import multiprocessing
import os
import pathlib
import re
import struct
import subprocess
import threading
import unittest
import unittest.mock
import weakref

import sti
from sti import _library

HEADER = pathlib.Path(__file__).parents[2] / "lib/capi/sti.h"
TEXTS = ["set an alarm for seven tomorrow", "what is the weather like", "tell me a joke"]


class Numbers(unittest.TestCase):
    def test_are_those_of_the_header(self):
        said = dict(re.findall(r"^#define STI_([A-Z0-9_]+) (\d+)\b", HEADER.read_text(), re.M))
        have = {}
        for numbers, prefix in ((sti.Code, ""), (sti.Kind, ""), (sti.Option, ""), (sti.Stat, ""),
                                (sti.Late, "LATE_"), (sti.Compute, "COMPUTE_"),
                                (sti.Aggregation, "AGGREGATION_"), (sti.Log, "LOG_")):
            have.update({prefix + number.name: str(number.value) for number in numbers})
        self.assertEqual(have, said)

    def test_functions_are_those_of_the_header(self):
        declared = set(re.findall(r"\b(sti_[a-z_]+)\(", re.sub(r"/\*.*?\*/", "", HEADER.read_text(),
                                                               flags=re.S)))
        missing = {name for name in declared
                   if getattr(_library.library, name).argtypes is None and name != "sti_version"}
        self.assertEqual(missing, set())


class Continuations(unittest.TestCase):
    def setUp(self):
        data = pathlib.Path(__file__).parents[2] / "tests/data"
        self.model = self.enterContext(
            self.enterContext(sti.Host(threads=1)).open(data / "v1.9/gpt2.sti"))

    def test_come_whole_and_token_by_token(self):
        pieces = []
        whole = self.model.generate("a b", 6, lambda number, piece: pieces.append((number, piece)))
        self.assertEqual(self.model.stat(sti.Stat.MADE), len(pieces))
        self.assertTrue(whole.startswith("".join(piece for _, piece in pieces)))
        self.assertEqual(self.model.generate("a b", 6), whole)
        left = self.model.stat(sti.Stat.CONTEXT_LEFT)
        self.model.generate("a b", 2)
        self.assertEqual(self.model.stat(sti.Stat.CONTEXT_LEFT), left + len(pieces) - 2)
        self.model.generate("a b", 6, lambda *_: True)
        self.assertEqual(self.model.stat(sti.Stat.MADE), 1)

    def test_end_with_what_the_function_raises(self):
        def fail(*_):
            raise KeyError("enough")
        with self.assertRaises(KeyError):
            self.model.generate("a b", 6, fail)
        self.assertEqual(self.model.stat(sti.Stat.MADE), 1)

    def test_are_all_that_the_model_gives(self):
        with self.assertRaisesRegex(TypeError, "use generate"):
            self.model.run("a b")
        with self.assertRaisesRegex(ValueError, "at least 1 token"):
            self.model.generate("a b", 0)
        with self.assertRaisesRegex(sti.Error, "no room") as caught:
            self.model.generate("a b " * 100, 1)
        self.assertEqual(caught.exception.code, sti.Code.BAD_INPUT)


class Images(unittest.TestCase):
    def test_are_pixels_or_numbers(self):
        data = pathlib.Path(__file__).parents[2] / "tests/data"
        model = self.enterContext(self.enterContext(sti.Host(threads=1)).open(data / "v1.8/vit.sti"))
        size, channels = int(model.stat(sti.Stat.IMAGE_SIZE)), int(model.stat(sti.Stat.IMAGE_CHANNELS))
        zeros = array.array("f", [0]) * (size * size * channels)
        answer = model.run_image(zeros)
        self.assertEqual(answer, model.run_image(zeros.tobytes()))
        pixels = b"P6 %d %d 255\n" % (size, size) + bytes(size * size * channels)
        self.assertNotEqual(answer.score, model.run_image(pixels).score)
        for wrong, said in ((zeros[1:], "neither PNG nor PPM"), (pixels[:-1], "it ends early")):
            with self.assertRaisesRegex(sti.Error, said) as caught:
                model.run_image(wrong)
            self.assertEqual(caught.exception.code, sti.Code.BAD_INPUT)
        with self.assertRaisesRegex(TypeError, "items of format 'd'; make it float32"):
            model.run_image(array.array("d", zeros))
        with self.assertRaisesRegex(sti.Error, "takes images, and no texts"):
            model.run("a text")


class Spans(unittest.TestCase):
    def setUp(self):
        self.path = pathlib.Path(__file__).parents[2] / "tests/data/v1.6/tokens.sti"
        self.model = self.enterContext(self.enterContext(sti.Host(threads=1)).open(self.path))

    def test_are_those_of_the_tool_by_characters(self):
        texts = ["Anna van der Beek, Berlin", "Caf\u00e9 Cafe\u0301 \u4e2d\u56fd (good) film 3.14", "",
                 "\ud800 Anna \U0001f600 film"]
        for way, word in ((sti.Aggregation.NONE, "none"), (sti.Aggregation.MAX, "max")):
            self.model.set(sti.Option.AGGREGATION, way)
            for text in texts:
                line = text.encode("utf-8", "surrogatepass")
                said = subprocess.run(["sti-run", "-q", "--json", self.path, "--aggregate", word], check=True,
                                      input=line + b"\n", capture_output=True).stdout
                expected = json.loads(said)["spans"]
                spans = self.model.spans(text)
                self.assertEqual([s.label for s in spans], [s["label"] for s in expected])
                for span, other in zip(spans, expected):
                    self.assertAlmostEqual(span.score, other["score"], 6)
                    whole = text[span.begin:span.end].encode("utf-8", "surrogatepass")
                    self.assertEqual(whole, line[other["begin"]:other["end"]])
        self.assertGreater(len(self.model.spans(texts[1])), 0)

    def test_a_model_labels_tokens_or_texts_and_says_which(self):
        for call, said in ((lambda: self.model.run("a"), "labels tokens, and not texts; use spans"),
                           (lambda: self.model.run_ids([2, 3]), "labels tokens, and not texts; use spans"),
                           (lambda: self.model.embed(["a"]), "no vectors; use run or spans"),
                           (lambda: self.model.spans(3), "a text is a str, not int")):
            with self.assertRaisesRegex(TypeError, re.escape(said)):
                call()
        with self.enterContext(sti.Host(threads=1)).open("model.sti") as model:
            with self.assertRaisesRegex(TypeError, "labels no tokens; use run or embed"):
                model.spans("a")
        self.assertEqual(self.model.labels[:2], ["O", "B-PER"])


class Embeddings(unittest.TestCase):
    def setUp(self):
        data = pathlib.Path(__file__).parents[2] / "tests/data/v1.5/sentences.sti"
        self.model = self.enterContext(self.enterContext(sti.Host(threads=1)).open(data))
        self.path = data

    def test_are_those_of_the_tool_in_one_buffer(self):
        texts = ["the movie was very good", "", "not bad"]
        bare = subprocess.run(["sti-run", "-q", self.path, "--format", "f32"], check=True,
                              input="\n".join(texts).encode() + b"\n", capture_output=True).stdout
        vectors = self.model.embed(texts)
        self.assertEqual((vectors.shape, vectors.itemsize), ((3, 16), 4))
        self.assertEqual(vectors.tobytes(), bare)
        self.assertEqual(vectors.tolist(), [list(row) for row in struct.iter_unpack("16f", bare)])
        self.assertEqual(self.model.embed([]).shape, (0, 16))
        self.assertEqual(self.model.stat(sti.Stat.DIMENSIONS), 16)

    def test_long_texts_are_read_in_windows(self):
        text = "the movie was very good and not bad " * 4
        cut = self.model.embed([text]).tobytes()
        self.assertEqual(self.model.stat(sti.Stat.WINDOWS), 1)
        self.model.set(sti.Option.WINDOW, 12)
        whole = self.model.embed([text]).tobytes()
        self.assertNotEqual(whole, cut)
        self.assertGreater(self.model.stat(sti.Stat.WINDOWS), 4)
        self.model.set(sti.Option.STRIDE, 12)
        self.assertNotEqual(self.model.embed([text]).tobytes(), whole)

    def test_examples_give_it_labels_until_they_are_taken_back(self):
        before = self.model.embed(["the movie"]).tobytes()
        examples = b"text\tlabel\nthe movie\tfilm\nplay it again\tmusic\n"
        self.model.give(sti.Kind.EXAMPLES, examples)
        self.assertEqual(self.model.labels, ["film", "music"])
        answer = self.model.run("the movie")
        self.assertEqual((answer.label, answer.chosen), ("film", [("film", answer.score)]))
        self.assertEqual([one.label for one in self.model.run_batch(["play it again"])], ["music"])
        with self.assertRaisesRegex(TypeError, "gives labels, no vectors; use run"):
            self.model.embed(["a"])
        pathlib.Path("examples.tsv").write_bytes(examples)
        said = subprocess.run(["sti-run", "-q", self.path, "--nearest", "examples.tsv", "--keep", "kept",
                               "the movie"], check=True, capture_output=True, text=True).stdout
        self.assertEqual(said.split("\t")[:2], ["film", f"{answer.score:.4f}"])
        self.model.give(sti.Kind.EXAMPLES, pathlib.Path("kept").read_bytes())
        self.assertEqual(self.model.run("the movie"), answer)
        with self.assertRaises(sti.Error) as caught:
            self.model.give(sti.Kind.EXAMPLES, b"text\tlabel\na\tone\n")
        self.assertEqual((caught.exception.code, caught.exception.about),
                         (sti.Code.DAMAGED, sti.Kind.EXAMPLES))
        self.model.give(sti.Kind.EXAMPLES, b"")
        self.assertEqual(self.model.embed(["the movie"]).tobytes(), before)

    def test_a_closed_model_says_so(self):
        self.model.close()
        for call in (lambda: self.model.embed(["a"]), lambda: self.model.run("a"), lambda: self.model.labels):
            with self.assertRaisesRegex(sti.Error, "model is NULL"):
                call()

    def test_a_model_gives_labels_or_vectors_and_says_which(self):
        for call, said in ((lambda: self.model.run("a"), "gives no labels; use embed"),
                           (lambda: self.model.run_ids([2, 3]), "gives no labels; use embed"),
                           (lambda: self.model.embed("a"), "not one str; pass [text]"),
                           (lambda: self.model.embed([3]), "a text is a str, not int")):
            with self.assertRaises(TypeError) as caught:
                call()
            self.assertIn(said, str(caught.exception))
        self.assertEqual(self.model.labels, [])
        with sti.Host() as host, host.open("model.sti") as model:
            with self.assertRaisesRegex(TypeError, "gives labels, no vectors; use run"):
                model.embed(["a"])


class Answers(unittest.TestCase):
    def setUp(self):
        self.host = self.enterContext(sti.Host(threads=1))
        self.model = self.enterContext(self.host.open("model.sti"))

    def give_plan(self):
        self.model.give(sti.Kind.PLAN, pathlib.Path("model.plan").read_bytes())

    def fails(self, code, what, *arguments):
        with self.assertRaises(sti.Error) as caught:
            what(*arguments)
        self.assertEqual(caught.exception.code, code)
        return caught.exception

    def test_batch_is_answered_as_by_the_tool(self):
        self.give_plan()
        lines = subprocess.run(["sti-run", "-q", "model.sti", "--plan", "model.plan"], check=True,
                               input="\n".join(TEXTS), capture_output=True, text=True).stdout
        wanted = [line.split("\t")[:2] for line in lines.splitlines()]
        answers = list(self.model.run_batch(TEXTS))
        self.assertEqual([[a.label, f"{a.score:.4f}"] for a in answers], wanted)
        self.assertEqual(answers[0].label, "alarm")
        self.assertEqual(answers[0].chosen, [("alarm", answers[0].score)])

    def test_what_is_no_text_is_a_type_error_that_says_what_to_pass(self):
        with sti.Host() as host, host.open("model.sti") as model:
            for call, said in ((lambda: model.run_batch("text"), "not one str; pass [text]"),
                               (lambda: model.run(None), "a text is a str, not NoneType"),
                               (lambda: model.run(b"text"), "a text is a str, not bytes"),
                               (lambda: model.run("a", 3), "a text is a str, not int"),
                               (lambda: list(model.run_batch(["a", 3])), "input 1 is a text or a pair"),
                               (lambda: list(model.run_batch([("a", "b", "c")])), "input 0 is a text")):
                with self.assertRaisesRegex(TypeError, re.escape(said)):
                    call()

    def test_pairs_and_ids_are_inputs(self):
        pair, = self.model.run_batch([("set an alarm", "for seven")])
        self.assertEqual(pair, self.model.run("set an alarm", "for seven"))
        self.assertNotEqual(pair.score, self.model.run("set an alarm").score)
        self.assertNotEqual(pair.score, self.model.run("set an alarm", "").score)
        self.assertEqual(self.model.run_ids([2, 3]), self.model.run_ids((2, 3)))
        self.fails(sti.Code.BAD_INPUT, self.model.run_ids, [2**31])

    def test_labels_and_stats(self):
        self.assertTrue(math.isnan(self.model.stat(sti.Stat.TOKENS)))
        self.model.run(TEXTS[0])
        self.assertEqual(len(self.model.labels), 151)
        self.assertIn("alarm", self.model.labels)
        self.assertEqual(self.model.stat(sti.Stat.TOKENS), 8)
        self.assertEqual(self.model.stat(sti.Stat.DEPTH), 6)
        self.assertGreater(self.model.stat(sti.Stat.LATENCY_US), 0)
        self.model.trim()
        self.assertLess(self.model.stat(sti.Stat.OWN_BYTES), 100_000)

    def test_error_says_code_line_and_input(self):
        error = self.fails(sti.Code.NO_SUCH_FILE, self.host.open, "missing.sti")
        self.assertIn("missing.sti", error.line)
        self.assertIsNone(error.input)
        error = self.fails(sti.Code.DAMAGED, self.model.give, sti.Kind.PLAN, b"STIPLAN\0 torn")
        self.assertEqual(error.about, sti.Kind.PLAN)

        def texts():
            yield TEXTS[0]
            self.model.close()
            yield TEXTS[1]

        batch = self.model.run_batch(texts())
        self.assertEqual(next(batch).label, "alarm")
        error = self.fails(sti.Code.USAGE, next, batch)
        self.assertEqual((error.input, str(error)), (1, f"input 1: {error.line}"))
        with self.assertRaises(ValueError):
            self.host.open("model.sti\0")

    def test_plans_are_made(self):
        self.fails(sti.Code.USAGE, self.model.plan)
        self.model.give(sti.Kind.PROFILE, pathlib.Path("device.json").read_bytes())
        self.model.set(sti.Option.TARGET_US, 12_000)
        self.model.plan()
        self.assertTrue(0 < self.model.stat(sti.Stat.PREDICTED_P99_US) <= 12_000)
        self.model.set(sti.Option.PRELOAD_BYTES, 10_000_000)
        self.model.set(sti.Option.GUARANTEE, 1)
        self.model.plan()
        self.model.set(sti.Option.LATE, sti.Late.DEGRADE)
        self.model.run(TEXTS[0])
        self.assertIn(self.model.stat(sti.Stat.FELL_BACK), (0, 1))  # as fast as this machine is
        self.model.set(sti.Option.LATE, sti.Late.WAIT)
        self.model.set(sti.Option.TARGET_US, 1)
        self.fails(sti.Code.INFEASIBLE, self.model.plan)
        self.fails(sti.Code.USAGE, self.model.set, 99, 1)

    def test_profile_is_measured_and_given(self):
        budgets = []
        function = _library.library.sti_profile

        def noting(model, budget_us, *others):
            budgets.append(budget_us)
            return function(model, budget_us, *others)

        with unittest.mock.patch.object(_library.library, "sti_profile", noting):
            profile = self.model.profile(1000)
        self.assertEqual([budget_us for budget_us in budgets if budget_us], [1000], "measured once")
        self.assertEqual(profile[:7], b"STIPROF")
        self.assertEqual(self.model.profile(0), profile, "what was returned is what the model kept")
        with self.host.open("model.sti") as other:
            other.give(sti.Kind.PROFILE, profile)
            other.set(sti.Option.TARGET_US, 10_000_000)
            other.plan()
        self.fails(sti.Code.USAGE, self.enterContext(self.host.open("model.sti")).profile, 0)

    def test_log_has_lines(self):
        lines = []
        with sti.Host(1, lambda level, line: lines.append((level, line))) as host:
            model = host.open("model.sti")
        with model:  # which outlives the host
            model.run(TEXTS[0])
        self.assertEqual(lines[0][0], sti.Log.INFO)
        self.assertRegex(lines[0][1], "^reading through ")

    def test_descriptor_is_opened(self):
        with open("model.sti", "rb") as file, self.host.open_fd(file.fileno()) as model:
            file.close()
            self.assertEqual(model.run(TEXTS[0]).label, "alarm")

    def test_function_reads_encrypted_storage(self):
        secret = bytes(byte ^ 0x5a for byte in pathlib.Path("model.sti").read_bytes())
        lengths = []

        def read_at(offset, length):
            lengths.append(length)
            return bytes(byte ^ 0x5a for byte in secret[offset:offset + min(length, 50_000)])

        model = self.host.open_read(read_at, len(secret))
        alone = self.model.run(TEXTS[0])
        self.assertEqual(model.run(TEXTS[0]), alone)
        self.assertGreater(max(lengths), 50_000)  # fewer bytes than asked for are as good
        model.trim()
        kept = weakref.ref(model)
        del model, read_at
        gc.collect()
        self.assertEqual(kept().run(TEXTS[0]), alone)  # until it is closed
        kept().close()
        gc.collect()
        self.assertIsNone(kept())

    def test_what_a_reading_function_raises_is_the_cause(self):
        content = pathlib.Path("model.sti").read_bytes()
        fault = None

        def read_at(offset, length):
            if isinstance(fault, BaseException):
                raise fault
            return content[offset:offset + length] if fault is None else fault(length)

        fault = OSError("no key")
        error = self.fails(sti.Code.READ_FAILED, self.host.open_read, read_at, len(content))
        self.assertIs(error.__cause__, fault)
        fault = None
        model = self.enterContext(self.host.open_read(read_at, len(content)))
        for fault in (OSError("no key"), SystemExit()):
            error = self.fails(sti.Code.READ_FAILED, model.run, TEXTS[0])
            self.assertIs(error.__cause__, fault)
            error = self.fails(sti.Code.READ_FAILED, list, model.run_batch(TEXTS))
            self.assertEqual((error.input, error.__cause__), (0, fault))
        for fault, kind, line in ((lambda length: bytes(length + 1), ValueError, "^read_at returned"),
                                  (lambda length: None, TypeError, "NoneType")):
            error = self.fails(sti.Code.READ_FAILED, model.run, TEXTS[0])
            self.assertIsInstance(error.__cause__, kind)
            self.assertRegex(str(error.__cause__), line)
        fault = None
        self.assertEqual(model.run(TEXTS[0]).label, "alarm")
        self.assertIsNone(self.fails(sti.Code.USAGE, model.plan).__cause__)

    def test_cancel_ends_a_run_while_a_function_hangs(self):
        content = pathlib.Path("model.sti").read_bytes()
        hangs, let_go = threading.Event(), threading.Event()
        let_go.set()

        def read_at(offset, length):
            hangs.set()
            let_go.wait()
            return content[offset:offset + length]

        model = self.enterContext(self.host.open_read(read_at, len(content)))
        self.addCleanup(let_go.set)
        hangs.clear()
        let_go.clear()
        cancelling = threading.Thread(target=lambda: hangs.wait() and model.cancel())
        cancelling.start()
        self.fails(sti.Code.CANCELLED, model.run, TEXTS[0])
        cancelling.join()
        let_go.set()
        self.assertEqual(model.run(TEXTS[0]).label, "alarm")

    def test_each_thread_reads_its_own_answer(self):
        self.give_plan()
        alone = [self.model.run(text) for text in TEXTS]
        wrong = []

        def run(number):
            for _ in range(10):
                if self.model.run(TEXTS[number]) != alone[number]:
                    wrong.append(number)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(len(TEXTS))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Forks(unittest.TestCase):
    def child(self, host, model, expected):
        with self.assertRaises(sti.Error) as raised:
            model.run(TEXTS[0])
        self.assertEqual(raised.exception.code, sti.Code.USAGE)
        model.close()
        host.close()
        with sti.Host(threads=2) as own_host, own_host.open("model.sti") as own:
            self.assertEqual([own.run(text).label for text in TEXTS], expected)

    def test_a_child_has_models_of_its_own(self):
        with sti.Host(threads=2) as host, host.open("model.sti") as model:
            expected = [model.run(text).label for text in TEXTS]
            child = multiprocessing.get_context("fork").Process(
                target=self.child, args=(host, model, expected))
            child.start()
            child.join(60)
            child.kill()  # where it hangs
            self.assertEqual(child.exitcode, 0)
            self.assertEqual(model.run(TEXTS[0]).label, expected[0])


if __name__ == "__main__":
    unittest.main()
