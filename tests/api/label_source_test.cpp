// Models that embed answer with the labels of examples; vectors of another model or plan do not.
#include "api/label_source.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <string>

#include "api/evaluate.h"
#include "base/remedy.h"
#include "format/label_vectors_file.h"
#include "io/container_file.h"
#include "pipeline/whole_plan.h"
#include "score/nearest.h"
#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "text/tokenizer.h"
#include "types/score.h"

namespace sti {
namespace {

constexpr const char* kExamples =
    "text\tlabel\na b\tletters\nthe movie\tfilm\nb a c\tletters\nvery good\tfilm\n";

class LabelSourceTest : public ::testing::Test {
 protected:
  void SetUp() override { MakeModel(path_, {}); }

  // Makes the container of a tiny model that embeds; all its vectors are zeros where that is
  // wanted.
  void MakeModel(const std::string& path, const SentenceOptions& sentences, bool zeros = false) {
    const std::string dir = path + ".model";
    ASSERT_TRUE(Succeeded(WriteTinyModel(dir)));
    ASSERT_TRUE(Succeeded(AddSentenceModules(dir, sentences)));
    if (zeros) {
      ASSERT_TRUE(Succeeded(ZeroLastRows(dir)));
    }
    const auto source = ModelFolder::Open(dir);
    ASSERT_TRUE(Succeeded(source));
    ASSERT_TRUE(Succeeded(ShardModel(*source, {}, path)));
  }
  Result<std::unique_ptr<Session>> Open(const SessionOptions& options = {},
                                        const WholePlanOptions& whole = {}) {
    STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(path_));
    STI_ASSIGN_OR_RETURN(Plan plan, MakeWholePlan(file.index(), whole));
    return Session::Open(std::move(file), std::move(plan), options);
  }
  static WholePlanOptions WholeAt(uint32_t bits) {
    WholePlanOptions whole;
    whole.bits = bits;
    return whole;
  }
  static SessionOptions With(std::shared_ptr<const LabelVectors> vectors) {
    SessionOptions options;
    options.label_vectors = std::move(vectors);
    return options;
  }
  static LabelledRows Rows(const char* content = kExamples) {
    auto rows = ParseLabelledRows(content, "rows.tsv", {}, {});
    EXPECT_TRUE(Succeeded(rows));
    return *std::move(rows);
  }
  // Embeds examples by a session.
  static std::shared_ptr<const LabelVectors> VectorsBy(Session& session,
                                                       const char* content = kExamples) {
    auto vectors = EmbedExamples(session, Rows(content), {}, {});
    EXPECT_TRUE(Succeeded(vectors));
    return std::make_shared<const LabelVectors>(*std::move(vectors));
  }
  static Result<Answer> Asked(Session& session, const std::string& text) {
    STI_ASSIGN_OR_RETURN(const Encoding encoding, session.Encode(text));
    Answer answer;
    STI_RETURN_IF_ERROR(session.Ask(encoding, Clock::now(), &answer));
    return answer;
  }
  static std::vector<float> EmbeddingOf(Session& session, const std::string& text) {
    auto answer = Asked(session, text);
    EXPECT_TRUE(Succeeded(answer));
    return std::get<Embedding>(answer->content).values;
  }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
};

TEST_F(LabelSourceTest, AnAnswerIsThatOfTheNearestMean) {
  auto session = Open();
  ASSERT_TRUE(Succeeded(session));
  const std::vector<float> embedding = EmbeddingOf(**session, "the movie was");
  // The mean of what the same session gives for each example.
  std::vector<double> means[2] = {std::vector<double>(32), std::vector<double>(32)};
  const std::pair<const char*, size_t> examples[] = {
      {"the movie", 0}, {"very good", 0}, {"a b", 1}, {"b a c", 1}};
  for (const auto& [text, label] : examples) {
    const std::vector<float> vector = EmbeddingOf(**session, text);
    for (size_t i = 0; i < vector.size(); ++i) means[label][i] += double{vector[i]};
  }
  double cosines[2] = {0, 0};
  for (size_t label = 0; label < 2; ++label) {
    double squares = 0;
    for (size_t i = 0; i < embedding.size(); ++i) {
      cosines[label] += double{embedding[i]} * means[label][i];
      squares += means[label][i] * means[label][i];
    }
    cosines[label] /= std::sqrt(squares);
  }

  const auto vectors = VectorsBy(**session);
  EXPECT_EQ(vectors->labels, (std::vector<std::string>{"film", "letters"}));
  EXPECT_EQ(vectors->examples, (std::vector<uint32_t>{2, 2}));
  ASSERT_TRUE(Succeeded((*session)->AnswerBy(vectors)));
  EXPECT_FALSE((*session)->info().has_labels());
  EXPECT_TRUE((*session)->answer_info().has_labels());
  EXPECT_EQ((*session)->answer_info().labels, vectors->labels);
  const auto answer = Asked(**session, "the movie was");
  ASSERT_TRUE(Succeeded(answer));
  EXPECT_EQ(answer->turn, 1U) << "examples are no turns";
  const LabelScores& said = answer->labels();
  ASSERT_EQ(said.scores.size(), 2U);
  EXPECT_EQ(said.label, cosines[0] >= cosines[1] ? 0U : 1U);
  const double sum =
      std::exp(kLogitsPerCosine * cosines[0]) + std::exp(kLogitsPerCosine * cosines[1]);
  for (size_t label = 0; label < 2; ++label) {
    EXPECT_NEAR(answer->run.values[label], kLogitsPerCosine * cosines[label], 1e-4);
    EXPECT_NEAR(said.scores[label], std::exp(kLogitsPerCosine * cosines[label]) / sum, 1e-5);
  }
  EXPECT_EQ(answer->logits(), answer->run.values);

  ASSERT_TRUE(Succeeded((*session)->AnswerBy(nullptr)));
  EXPECT_EQ(EmbeddingOf(**session, "the movie was"), embedding) << "as before";
}

TEST_F(LabelSourceTest, AnEvaluationCountsItsLabels) {
  auto session = Open();
  ASSERT_TRUE(Succeeded(session));
  ASSERT_TRUE(
      Succeeded((*session)->AnswerBy(VectorsBy(**session, "text\tlabel\na b\tx\nthe movie\ty\n"))));
  const auto rows = ParseDataset("text\tlabel\na b\tx\nthe movie\ty\na b\ty\n", "dev.tsv",
                                 {(*session)->answer_info().labels});
  ASSERT_TRUE(Succeeded(rows));
  const auto evaluation = EvaluateRows(**session, *rows, {});
  ASSERT_TRUE(Succeeded(evaluation));
  EXPECT_EQ(evaluation->right, (std::vector<bool>{true, true, false}))
      << "an example is nearest to itself";
}

TEST_F(LabelSourceTest, VectorsServeASessionOfTheirModelAndPlanAlone) {
  auto session = Open();
  ASSERT_TRUE(Succeeded(session));
  const auto vectors = VectorsBy(**session);
  const auto refused = [&](Session& by, const LabelVectors& given, const char* words) {
    const Status answers = by.AnswerBy(std::make_shared<const LabelVectors>(given));
    EXPECT_TRUE(FailedWith(answers, ErrorKind::kForeign, words, Remedy::kEmbedExamples));
    EXPECT_FALSE(by.answer_info().has_labels()) << "it embeds as before";
  };
  auto fewer_bits = Open({}, WholeAt(3));
  ASSERT_TRUE(Succeeded(fewer_bits));
  refused(**fewer_bits, *vectors, "examples: has embeddings of other layers, slices or bits");
  WholePlanOptions part;
  part.depth = 1;
  auto shallower = Open({}, part);
  ASSERT_TRUE(Succeeded(shallower));
  refused(**shallower, *vectors, "has embeddings of other layers, slices or bits");
  part = {};
  part.width = 1;
  auto narrower = Open({}, part);
  ASSERT_TRUE(Succeeded(narrower));
  refused(**narrower, *vectors, "has embeddings of other layers, slices or bits");

  LabelVectors other = *vectors;
  other.model.bytes[0] ^= 1;
  refused(**session, other, "was made for model ");
  other = *vectors;
  other.dimensions = 33;
  refused(**session, other, "has embeddings of 33 dimensions, not of 32");

  SessionOptions asks;
  asks.dimensions = 5;
  auto cut = Open(asks);
  ASSERT_TRUE(Succeeded(cut));
  refused(**cut, *vectors, "has embeddings of 32 dimensions, not of 5");
  asks = {};
  asks.prefix = "query: ";
  auto prefixed = Open(asks);
  ASSERT_TRUE(Succeeded(prefixed));
  refused(**prefixed, *vectors, "has embeddings of texts with another prefix");
}

TEST_F(LabelSourceTest, PrefixAndDimensionsAreThoseOfTheVectors) {
  SessionOptions asks;
  asks.prefix = "a ";
  asks.dimensions = 5;
  auto made = Open(asks);
  ASSERT_TRUE(Succeeded(made));
  const auto vectors = VectorsBy(**made);
  EXPECT_EQ(vectors->prefix, "a ");
  EXPECT_EQ(vectors->dimensions, 5U);
  ASSERT_TRUE(Succeeded((*made)->AnswerBy(vectors)));
  auto plain = Open();
  ASSERT_TRUE(Succeeded(plain));
  ASSERT_TRUE(Succeeded((*plain)->AnswerBy(vectors)));
  const auto expected = Asked(**made, "the movie");
  const auto answer = Asked(**plain, "the movie");
  ASSERT_TRUE(Succeeded(expected));
  ASSERT_TRUE(Succeeded(answer));
  EXPECT_EQ(answer->run.values, expected->run.values);
  ASSERT_TRUE(Succeeded((*plain)->AnswerBy(nullptr)));
  EXPECT_EQ(EmbeddingOf(**plain, "the movie").size(), 32U) << "and its own again";
}

TEST_F(LabelSourceTest, ASessionOpensWithVectorsAndCountsTheirMemory) {
  auto session = Open();
  ASSERT_TRUE(Succeeded(session));
  const auto vectors = VectorsBy(**session);
  const uint64_t without = (*session)->memory_bytes();
  ASSERT_TRUE(Succeeded((*session)->AnswerBy(vectors)));
  EXPECT_EQ((*session)->memory_bytes(), without + BytesOf(*vectors));
  auto opened = Open(With(vectors));
  ASSERT_TRUE(Succeeded(opened));
  const auto expected = Asked(**session, "the movie");
  const auto answer = Asked(**opened, "the movie");
  ASSERT_TRUE(Succeeded(expected));
  ASSERT_TRUE(Succeeded(answer));
  EXPECT_EQ(answer->labels().scores, expected->labels().scores);
  // They are in what a bound has to hold.
  SessionOptions bounded;
  bounded.own_bytes = 1;
  const auto refused = Open(bounded);
  bounded.label_vectors = vectors;
  const auto with_vectors = Open(bounded);
  ASSERT_FALSE(refused.ok() || with_vectors.ok());
  EXPECT_EQ(*with_vectors.error().needed_bytes, *refused.error().needed_bytes + BytesOf(*vectors));
  EXPECT_TRUE(FailedWith(Open(With(vectors), WholeAt(3)), ErrorKind::kForeign,
                         "other layers, slices or bits"));
}

TEST_F(LabelSourceTest, APlanOfOtherBitsIsRefusedUntilTheVectorsGo) {
  auto session = Open();
  ASSERT_TRUE(Succeeded(session));
  ASSERT_TRUE(Succeeded((*session)->AnswerBy(VectorsBy(**session))));
  const auto before = Asked(**session, "the movie");
  ASSERT_TRUE(Succeeded(before));
  const ContainerIndex& index = (*session)->status().file->index();
  auto coarser = MakeWholePlan(index, WholeAt(3));
  ASSERT_TRUE(Succeeded(coarser));
  EXPECT_TRUE(FailedWith((*session)->SetPlan(*coarser), ErrorKind::kForeign,
                         "examples: has embeddings of other layers, slices or bits"));
  const auto after = Asked(**session, "the movie");
  ASSERT_TRUE(Succeeded(after));
  EXPECT_EQ(after->labels().scores, before->labels().scores);
  // A plan that preloads more gives the same vectors.
  Plan same = *MakeWholePlan(index, {});
  same.preload = {{same.Id(0, 0), same.bits.At(0, 0)}};
  EXPECT_TRUE(Succeeded((*session)->SetPlan(same)));
  ASSERT_TRUE(Succeeded((*session)->AnswerBy(nullptr)));
  EXPECT_TRUE(Succeeded((*session)->SetPlan(*coarser)));
}

TEST_F(LabelSourceTest, AModelThatGivesLabelsHasItsOwn) {
  const std::string path = folder_.File("labels.sti");
  ASSERT_TRUE(Succeeded(WriteTinyContainer(path)));
  auto session = Open();
  ASSERT_TRUE(Succeeded(session));
  const auto vectors = VectorsBy(**session);
  path_ = path;
  auto labels = Open();
  ASSERT_TRUE(Succeeded(labels));
  EXPECT_TRUE(FailedWith((*labels)->AnswerBy(vectors), ErrorKind::kForeign,
                         "is for a model that embeds, and this one gives labels"));
  EXPECT_TRUE(FailedWith(EmbedExamples(**labels, Rows(), {}, {}), ErrorKind::kForeign,
                         "examples are for a model that embeds"));
}

TEST_F(LabelSourceTest, ExamplesThatMakeNoClassifierAreRefused) {
  auto session = Open();
  ASSERT_TRUE(Succeeded(session));
  EXPECT_TRUE(FailedWith(EmbedExamples(**session, Rows("text\tlabel\na\tx\nb\tx\n"), {}, {}),
                         ErrorKind::kDamaged, "all examples have one label"));
  uint64_t asked = 0;
  const auto stop = [&asked] { return ++asked == 3; };
  uint64_t done = 0;
  const auto progress = [&](uint64_t now, uint64_t all) {
    done = now;
    EXPECT_EQ(all, 4U);
  };
  EXPECT_TRUE(FailedWith(EmbedExamples(**session, Rows(), progress, stop), ErrorKind::kCancelled));
  EXPECT_EQ(done, 2U);
  EXPECT_FALSE(EmbeddingOf(**session, "a").empty()) << "it can be used on";
}

// Zeros have no direction, which a vector of unit length, and a comparison, are about.
TEST_F(LabelSourceTest, AVectorWithoutDirectionIsItsTextsOwnError) {
  const char* const why = "input: its embedding is all zeros, which has no direction";
  path_ = folder_.File("zeros.sti");
  MakeModel(path_, {}, true);
  auto unit = Open();
  ASSERT_TRUE(Succeeded(unit));
  for (int turn = 0; turn < 2; ++turn) {
    const auto answer = Asked(**unit, "the movie");
    EXPECT_TRUE(FailedWith(answer, ErrorKind::kDamaged, why));
    ASSERT_FALSE(answer.ok());
    EXPECT_NE(OwnErrorOf(answer.error()), nullptr) << "other inputs can be used";
  }
  EXPECT_TRUE(FailedWith(EmbedExamples(**unit, Rows(), {}, {}), ErrorKind::kDamaged,
                         "example 1: its embedding is all zeros"));

  path_ = folder_.File("any-length.sti");
  SentenceOptions any_length;
  any_length.pooling = "max";
  any_length.unit_length = false;
  MakeModel(path_, any_length, true);
  auto session = Open();
  ASSERT_TRUE(Succeeded(session));
  EXPECT_EQ(EmbeddingOf(**session, "the movie"), std::vector<float>(32, 0)) << "it may be zeros";
  EXPECT_TRUE(FailedWith(EmbedExamples(**session, Rows(), {}, {}), ErrorKind::kDamaged,
                         "example 1: its embedding is all zeros"));
  LabelVectors vectors;
  vectors.model = (*session)->status().file->index().model;
  vectors.submodel = SubmodelDigest((*session)->plan());
  vectors.dimensions = 32;
  vectors.labels = {"a", "b"};
  vectors.vectors.assign(64, 1);
  ASSERT_TRUE(Succeeded((*session)->AnswerBy(std::make_shared<const LabelVectors>(vectors))));
  EXPECT_TRUE(FailedWith(Asked(**session, "the movie"), ErrorKind::kDamaged, why));
}

// Degraded embeddings would be of other bits than the texts that are compared with them.
TEST_F(LabelSourceTest, ExamplesAreEmbeddedAtThePlannedBitsHoweverLateReadsAre) {
  auto in_time = Open();
  ASSERT_TRUE(Succeeded(in_time));
  const auto expected = VectorsBy(**in_time);

  auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  Plan plan = *MakeWholePlan(file->index(), {});
  plan.target_us = 1;
  plan.times.emplace().layer_io_us.assign(plan.layers.size(), 0);
  SessionOptions options;
  options.late = Late::kDegrade;
  auto late = Session::Open(std::move(*file), std::move(plan), options);
  ASSERT_TRUE(Succeeded(late));
  EXPECT_EQ(VectorsBy(**late)->vectors, expected->vectors);
  const auto answer = Asked(**late, "the movie");
  ASSERT_TRUE(Succeeded(answer));
  EXPECT_FALSE(answer->run.degraded.empty()) << "a text is degraded";
}

// Windows are for texts that are answered: an example is cut, as it is without windows.
TEST_F(LabelSourceTest, ExamplesAreCutWhereTextsAreReadInWindows) {
  std::string content = kExamples;
  content += "b c";
  for (int i = 0; i < 300; ++i) content += " good a b";
  content += "\tletters\n";
  auto plain = Open();
  ASSERT_TRUE(Succeeded(plain));
  SessionOptions options;
  options.windows = WindowSizes{8, 4};
  auto windowed = Open(options);
  ASSERT_TRUE(Succeeded(windowed));
  ASSERT_LT((*plain)->status().max_length, 900U) << "the example is longer";
  const auto expected = VectorsBy(**plain, content.c_str());
  EXPECT_EQ(VectorsBy(**windowed, content.c_str())->vectors, expected->vectors);
}

TEST_F(LabelSourceTest, AColdStartEndsWithTheFirstExample) {
  auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  Plan plan = *MakeWholePlan(file->index(), {});
  plan.cold = true;
  SessionOptions options;
  options.started = Clock::now() - std::chrono::hours(1);
  auto session = Session::Open(std::move(*file), std::move(plan), options);
  ASSERT_TRUE(Succeeded(session));
  ASSERT_TRUE(Succeeded((*session)->AnswerBy(VectorsBy(**session))));
  const auto answer = Asked(**session, "the movie");
  ASSERT_TRUE(Succeeded(answer));
  EXPECT_FALSE(answer->cold);
  EXPECT_LT(answer->latency_us, 1800e6) << "it does not count from the start";
}

TEST_F(LabelSourceTest, KeptVectorsStandForTheirExamplesAlone) {
  auto session = Open();
  ASSERT_TRUE(Succeeded(session));
  const auto vectors = VectorsBy(**session);
  const auto bytes = EncodeLabelVectors(*vectors);
  ASSERT_TRUE(Succeeded(bytes));
  const std::string kept(bytes->begin(), bytes->end());

  auto source = ParseLabelSource(kExamples, "rows.tsv", {}, {});
  ASSERT_TRUE(Succeeded(source));
  EXPECT_FALSE(source->vectors.has_value());
  EXPECT_EQ(source->labels(), 2U);
  ASSERT_TRUE(Succeeded(TakeKept(kept, "kept", &*source)));
  EXPECT_EQ(source->vectors->vectors, vectors->vectors);

  auto other = ParseLabelSource("text\tlabel\na\tx\nb\ty\n", "rows.tsv", {}, {});
  ASSERT_TRUE(Succeeded(other));
  EXPECT_TRUE(FailedWith(TakeKept(kept, "kept", &*other), ErrorKind::kForeign,
                         "kept: keeps other examples than these"));
  EXPECT_TRUE(FailedWith(TakeKept("text\tlabel\n", "kept", &*other), ErrorKind::kForeign,
                         "kept: is there and holds no label vectors"));
  EXPECT_FALSE(other->vectors.has_value());

  const auto alone = ParseLabelSource(kept, "kept", {}, {});
  ASSERT_TRUE(Succeeded(alone));
  EXPECT_EQ(alone->vectors->labels, vectors->labels);
  EXPECT_TRUE(FailedWith(ParseLabelSource(kept.substr(0, 60), "kept", {}, {}), ErrorKind::kDamaged,
                         "kept: "));
}

}  // namespace
}  // namespace sti
