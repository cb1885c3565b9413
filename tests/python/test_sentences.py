"""sti.SentenceTransformer beside sentence_transformers.SentenceTransformer, on the folder `sentences`
and its container `sentences.sti` (tests/cli/python-sentences.bats). Without numpy the whole is skipped;
without sentence-transformers what needs the reference."""

import inspect
import pathlib
import unittest
import unittest.mock

import sti

try:
    import numpy
except ImportError:
    numpy = None
try:
    import sentence_transformers
    import torch
except ImportError:
    sentence_transformers = torch = None

TEXTS = ["the movie was very good, not bad!", "", "play it again", "a b"]
PROMPTS = {"query": "the movie ", "document": "play "}


def from_reference(test):
    return unittest.skipUnless(sentence_transformers, "no sentence-transformers")(test)


class Refusals(unittest.TestCase):
    """What needs no numpy."""

    def setUp(self):
        self.model = self.enterContext(sti.SentenceTransformer("sentences.sti", threads=1, prompts=PROMPTS))

    def refuses(self, kind, said, call, *arguments, **options):
        with self.assertRaises(kind) as caught:
            call(*arguments, **options)
        self.assertIn(said, str(caught.exception))

    def test_what_it_cannot_do_is_refused_by_name(self):
        encode = self.model.encode
        for options, said in (({"output_value": "token_embeddings"}, "output_value='token_embeddings'"),
                              ({"output_value": None}, "output_value=None"),
                              ({"precision": "int8"}, "precision='int8': vectors are 32-bit floats"),
                              ({"device": "cuda:0"}, "device='cuda:0'"), ({"pool": {}}, "pool, chunk_size"),
                              ({"chunk_size": 2}, "pool, chunk_size"), ({"batch_size": 0}, "batch_size must be"),
                              ({"prompt_name": "other"}, "prompt_name 'other' is none of the prompts")):
            self.refuses(ValueError, said, encode, ["a"], **options)
        self.refuses(TypeError, "encode takes sentences, once", encode)
        self.refuses(TypeError, "encode takes sentences, once", encode, ["a"], sentences=["a"])
        self.refuses(TypeError, "unexpected keyword argument 'task'", encode, ["a"], task="query")
        self.refuses(AttributeError, "has no 'tokenize': it embeds", lambda: self.model.tokenize)
        self.refuses(AttributeError, "has no 'fit'", lambda: self.model.fit)
        with self.assertRaises(AttributeError):
            self.model.max_seq_length = 5
        self.refuses(TypeError, "unexpected keyword argument 'backend'", sti.SentenceTransformer,
                     "sentences.sti", backend="onnx")
        self.refuses(ValueError, "similarity_fn_name is one of", sti.SentenceTransformer, "sentences.sti",
                     similarity_fn_name="maxsim")
        self.refuses(ValueError, "default_prompt_name 'x' is none", sti.SentenceTransformer, "sentences.sti",
                     default_prompt_name="x")
        self.refuses(TypeError, "gives labels, no vectors", sti.SentenceTransformer, "model.sti")
        self.refuses(sti.Error, "missing.sti", sti.SentenceTransformer, "missing.sti")

    def test_a_module_that_is_missing_is_named(self):
        with unittest.mock.patch("importlib.import_module", side_effect=ImportError("none")):
            self.refuses(ImportError, "needs numpy for this; install it, or embed by", self.model.encode, ["a"])
            self.refuses(ImportError, "needs numpy for this", self.model.similarity, [[1]], [[1]])

    def test_sizes_are_those_of_the_model(self):
        self.assertEqual(self.model.get_embedding_dimension(), 16)
        self.assertEqual(self.model.get_sentence_embedding_dimension(), 16)
        self.assertEqual(self.model.max_seq_length, 12)
        self.assertEqual(self.model.get_max_seq_length(), 12)
        with sti.SentenceTransformer("sentences.sti", truncate_dim=5) as cut:
            self.assertEqual(cut.get_embedding_dimension(), 5)


@unittest.skipUnless(numpy, "no numpy")
class Vectors(unittest.TestCase):
    def setUp(self):
        self.model = self.enterContext(sti.SentenceTransformer("sentences.sti", threads=1, prompts=PROMPTS))

    def test_are_of_unit_length_once_they_are_cut(self):
        whole = self.model.encode(TEXTS)
        cut = self.model.encode(TEXTS, truncate_dim=5, normalize_embeddings=True)
        self.assertEqual(cut.shape, (len(TEXTS), 5))
        lengths = numpy.linalg.norm(whole[:, :5], axis=1, keepdims=True)
        numpy.testing.assert_allclose(cut, whole[:, :5] / lengths, rtol=1e-5)

    def test_are_those_of_the_model(self):
        with sti.Host(threads=1) as host, host.open("sentences.sti") as model:
            expected = numpy.asarray(model.embed(TEXTS))
        vectors = self.model.encode(TEXTS)
        self.assertEqual((type(vectors), vectors.shape, vectors.dtype),
                         (numpy.ndarray, (4, 16), numpy.float32))
        self.assertTrue((vectors == expected).all())
        self.assertTrue((self.model.encode(sentences=TEXTS, batch_size=1) == expected).all())
        self.assertTrue((self.model.encode(tuple(TEXTS)) == expected).all())
        self.assertTrue((self.model.encode(numpy.array(TEXTS)) == expected).all())
        self.assertTrue((self.model.encode(TEXTS[0]) == expected[0]).all())
        self.assertEqual(len(self.model.encode([])), 0)

    def test_prompts_stand_in_front(self):
        prefixed = self.model.encode(["the movie a b"])
        for vectors in (self.model.encode(["a b"], prompt="the movie "),
                        self.model.encode(["a b"], prompt_name="query"), self.model.encode(["a b"], "query"),
                        self.model.encode_query(["a b"])):
            self.assertTrue((vectors == prefixed).all())
        played = self.model.encode(["play a b"])
        self.assertTrue((self.model.encode_document(["a b"]) == played).all())
        self.assertTrue((self.model.encode_document(["a b"], None, None, 4) == played).all())
        self.assertTrue((self.model.encode_query(["a b"], prompt="play ") == played).all())
        with sti.SentenceTransformer("sentences.sti", prompts=PROMPTS, default_prompt_name="query") as model:
            self.assertTrue((model.encode("a b") == prefixed[0]).all())
        with sti.SentenceTransformer("sentences.sti") as model:  # whose prompts are empty
            self.assertTrue((model.encode_query("play a b") == played[0]).all())
            self.assertTrue((model.encode_document("play a b") == played[0]).all())

    def test_what_is_no_text_and_what_fails_is_named(self):
        with self.assertRaisesRegex(TypeError, "input 1 is a str, not int"):
            self.model.encode(["a", 3])
        with self.assertRaisesRegex(TypeError, "input 0 is a str, not tuple"):
            self.model.encode([("a", "b")])
        self.model.close()
        with self.assertRaisesRegex(sti.Error, "model is NULL"):
            self.model.encode(["a"])

    def test_similarity_is_the_formula(self):
        a, b = self.model.encode(TEXTS), self.model.encode(TEXTS[2:])
        for name, formula in (("cosine", lambda x, y: x @ y / (x @ x) ** 0.5 / (y @ y) ** 0.5),
                              ("dot", lambda x, y: x @ y),
                              ("euclidean", lambda x, y: -(((x - y) ** 2).sum() ** 0.5)),
                              ("manhattan", lambda x, y: -abs(x - y).sum())):
            self.model.similarity_fn_name = name
            numbers = self.model.similarity(a, b)
            expected = numpy.array([[formula(x, y) for y in b] for x in a])
            self.assertEqual(numbers.shape, (4, 2))
            numpy.testing.assert_allclose(numbers, expected, atol=1e-5)
            numpy.testing.assert_allclose(self.model.similarity_pairwise(a[:2], b), expected[[0, 1], [0, 1]],
                                          atol=1e-5)
            self.assertEqual(self.model.similarity(a[0], b[0]).shape, (1, 1))


@unittest.skipUnless(numpy, "no numpy")
class Reference(unittest.TestCase):
    """Both, asked the same."""

    @from_reference
    def setUp(self):
        names = {"prompts": PROMPTS, "device": "cpu"}
        # The folder's weights are stored as fp16, which is not what they are computed in here.
        self.theirs = sentence_transformers.SentenceTransformer(
            "sentences", model_kwargs={"dtype": torch.float32}, **names)
        self.ours = self.enterContext(sti.SentenceTransformer("sentences.sti", **names))

    def same(self, ours, theirs):
        self.assertIs(type(ours), type(theirs))
        if isinstance(theirs, list):
            self.assertEqual(len(ours), len(theirs))
            return [self.same(*pair) for pair in zip(ours, theirs)]
        self.assertEqual((ours.shape, ours.dtype), (theirs.shape, theirs.dtype))
        numpy.testing.assert_allclose(numpy.asarray(ours), numpy.asarray(theirs), atol=1e-5)

    def test_encode_has_its_parameters_and_defaults(self):
        theirs, ours = ([parameter for parameter in inspect.signature(of.encode).parameters.values()
                         if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
                        for of in (sentence_transformers.SentenceTransformer, sti.SentenceTransformer))
        self.assertEqual([parameter.name for parameter in ours], [parameter.name for parameter in theirs])
        self.assertEqual([parameter.default for parameter in ours[2:]],
                         [parameter.default for parameter in theirs[2:]])

    def test_encode_gives_what_it_gives(self):
        for options in ({}, {"normalize_embeddings": True}, {"truncate_dim": 5}, {"prompt_name": "query"},
                        {"truncate_dim": 5, "normalize_embeddings": True}, {"prompt": "play "},
                        {"convert_to_tensor": True}, {"convert_to_numpy": False}, {"batch_size": 1},
                        {"show_progress_bar": True}, {"truncate_dim": 99}):
            with self.subTest(**options):
                for given in (TEXTS, TEXTS[0]):
                    self.same(self.ours.encode(given, **options), self.theirs.encode(given, **options))
        for name in ("encode_query", "encode_document"):
            self.same(getattr(self.ours, name)(TEXTS), getattr(self.theirs, name)(TEXTS))
        self.assertEqual(self.ours.encode([]).shape, self.theirs.encode([]).shape)

    def test_similarities_and_sizes_are_its_own(self):
        a, b = self.theirs.encode(TEXTS), self.theirs.encode(TEXTS[:2])
        for name in ("cosine", "dot", "euclidean", "manhattan"):
            self.ours.similarity_fn_name = self.theirs.similarity_fn_name = name
            for method, second in (("similarity", b), ("similarity_pairwise", a[::-1].copy())):
                expected = getattr(self.theirs, method)(a, second)
                self.same(getattr(self.ours, method)(torch.from_numpy(a), torch.from_numpy(second)), expected)
                numpy.testing.assert_allclose(getattr(self.ours, method)(a, second), expected, atol=1e-5)
        self.assertEqual(self.ours.get_embedding_dimension(), self.theirs.get_embedding_dimension())
        self.assertEqual(self.ours.max_seq_length, self.theirs.max_seq_length)


if __name__ == "__main__":
    unittest.main()
