// Models that label tokens, from folder to spans, against the pipeline of Hugging Face's
// transformers (tests/data/README.md); their evaluation; and what is for labels of texts refused.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "api/evaluate.h"
#include "api/session.h"
#include "import/model_folder.h"
#include "import/shard_model.h"
#include "io/container_file.h"
#include "model/verify.h"
#include "pipeline/whole_plan.h"
#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "text/tagged_texts.h"
#include "text/tokenizer.h"
#include "whole_session.h"

namespace sti {
namespace {

using Json = nlohmann::json;

const std::string kData = STI_SOURCE_DIR "/tests/data/";

constexpr std::pair<const char*, Aggregation> kWays[] = {{"none", Aggregation::kNone},
                                                         {"simple", Aggregation::kSimple},
                                                         {"first", Aggregation::kFirst},
                                                         {"average", Aggregation::kAverage},
                                                         {"max", Aggregation::kMax}};

Status MakeContainer(const std::string& dir, const std::string& path) {
  STI_ASSIGN_OR_RETURN(const ModelFolder source, ModelFolder::Open(dir));
  STI_ASSIGN_OR_RETURN([[maybe_unused]] const ShardReport report, ShardModel(source, {}, path));
  return {};
}

Result<Answer> AnswerTo(Session& session, const Encoding& encoding) {
  Answer answer;
  STI_RETURN_IF_ERROR(session.Ask(encoding, Clock::now(), &answer));
  return answer;
}

Result<Answer> AnswerTo(Session& session, const std::string& text) {
  STI_ASSIGN_OR_RETURN(const Encoding encoding, session.Encode(text));
  return AnswerTo(session, encoding);
}

TEST(TokenLabels, AreTheReferences) {
  const TempFolder folder;
  std::map<std::string, std::unique_ptr<Session>> sessions;
  std::ifstream lines(kData + "spans.jsonl");
  std::string line;
  size_t count = 0;
  for (; std::getline(lines, line); ++count) {
    const Json json = Json::parse(line);
    const std::string model = json.at("folder");
    auto& session = sessions[model];
    if (session == nullptr) {
      const std::string path = folder.File(model + ".sti");
      ASSERT_TRUE(Succeeded(MakeContainer(kData + model, path)));
      auto opened = OpenWhole(path);
      ASSERT_TRUE(Succeeded(opened));
      session = std::move(*opened);
    }
    for (const auto& [way, aggregation] : kWays) {
      session->SetAggregation(aggregation);
      const auto answer = AnswerTo(*session, json.at("text"));
      ASSERT_TRUE(Succeeded(answer));
      const auto& said = std::get<TextSpans>(answer->content);
      const Json& expected = json.at("spans").at(way);
      ASSERT_EQ(said.spans.size(), expected.size()) << way << " of " << line;
      for (size_t i = 0; i < said.spans.size(); ++i) {
        const LabelledSpan& span = said.spans[i];
        EXPECT_EQ(said.names[span.name], expected[i][0].get<std::string>());
        EXPECT_NEAR(double{span.score}, expected[i][1].get<double>(), 1e-5);
        EXPECT_EQ(span.bytes.begin, expected[i][2].get<uint32_t>());
        EXPECT_EQ(span.bytes.end, expected[i][3].get<uint32_t>());
      }
    }
  }
  EXPECT_EQ(count, 80U);
  EXPECT_EQ(sessions.size(), 4U);
}

class TokenModel : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(Succeeded(MakeContainer(kData + "spans-bert", path_))); }

  TempFolder folder_;
  std::string path_ = folder_.File("model.sti");
};

TEST_F(TokenModel, IsAContainerOf16ThatVerifies) {
  auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  EXPECT_EQ(FileBytes(path_)[10], 6) << "its minor version";
  const auto report = VerifyContainer(*file, {});
  ASSERT_TRUE(Succeeded(report));
  EXPECT_TRUE(report->damaged.empty());
}

TEST_F(TokenModel, TextsOfOnePassGiveWhatEachGivesAlone) {
  constexpr const char* kTexts[] = {"Anna", "the film", "Berlin, Anna van"};
  const auto alone = [](Session& session, const Encoding& encoding) -> Result<std::vector<float>> {
    STI_ASSIGN_OR_RETURN(Answer answer, AnswerTo(session, encoding));
    EXPECT_EQ(answer.run.values.size(), encoding.ids.size() * 7);
    return std::move(answer.run.values);
  };
  ExpectOnePassGivesWhatEachGives(path_, kTexts, alone);
}

TEST_F(TokenModel, TakesWhatHasATextOfItsOwnAlone) {
  auto session = OpenWhole(path_);
  ASSERT_TRUE(Succeeded(session));
  EXPECT_TRUE(FailedWith((*session)->Encode("a", "b"), ErrorKind::kDamaged, "takes no pairs"));
  auto encoding = (*session)->Encode("Anna");
  ASSERT_TRUE(Succeeded(encoding));
  encoding->continues_word.clear();
  Answer answer;
  EXPECT_TRUE(FailedWith((*session)->Ask(*encoding, Clock::now(), &answer), ErrorKind::kDamaged,
                         "is asked with a text"));
}

TEST_F(TokenModel, RefusesWhatIsForOtherHeads) {
  SessionOptions prefixed;
  prefixed.prefix = "a ";
  EXPECT_TRUE(FailedWith(OpenWhole(path_, prefixed), ErrorKind::kUsage, "no words in front"));
  SessionOptions shortened;
  shortened.dimensions = 2;
  EXPECT_TRUE(FailedWith(OpenWhole(path_, shortened), ErrorKind::kUsage, "no dimensions"));
  auto plan = WholePlan(path_);
  ASSERT_TRUE(Succeeded(plan));
  Plan cascade = *plan;
  cascade.cascade = {.levels = {{.plan = *plan, .rule = {.cutoff = 0.5}}},
                     .return_share = {0.25},
                     .path_us = {100, 300},
                     .worst_path_us = 400};
  EXPECT_TRUE(FailedWith(OpenUnder(path_, cascade), ErrorKind::kUsage, "labels of texts"));
  auto session = OpenWhole(path_);
  ASSERT_TRUE(Succeeded(session));
  EXPECT_TRUE(FailedWith((*session)->SetPlan(cascade), ErrorKind::kUsage, "labels of texts"));
  Plan turns = *plan;
  turns.turns.resize(2);
  for (PlanTurn& turn : turns.turns) turn.bits = plan->bits;
  EXPECT_TRUE(FailedWith(OpenUnder(path_, turns), ErrorKind::kUsage, "labels of texts"));
  EXPECT_TRUE(FailedWith((*session)->SetPlan(turns), ErrorKind::kUsage, "labels of texts"));
  EXPECT_TRUE(Succeeded(AnswerTo(**session, "Anna"))) << "the plan before is in force";
}

TEST_F(TokenModel, IsAskedAgainAndAgainWithTextsOfAnyLength) {
  auto session = OpenWhole(path_);
  ASSERT_TRUE(Succeeded(session));
  const auto first = AnswerTo(**session, "Anna van der Beek, Berlin");
  ASSERT_TRUE(Succeeded(first));
  std::string longest;
  for (int i = 0; i < 300; ++i) longest += "Berlin ";
  const auto cut = AnswerTo(**session, longest);
  ASSERT_TRUE(Succeeded(cut));
  EXPECT_TRUE(cut->truncated);
  for (const LabelledSpan& span : std::get<TextSpans>(cut->content).spans)
    EXPECT_LE(span.bytes.end, longest.size());
  const auto empty = AnswerTo(**session, "");
  ASSERT_TRUE(Succeeded(empty));
  EXPECT_TRUE(std::get<TextSpans>(empty->content).spans.empty());
  const auto again = AnswerTo(**session, "Anna van der Beek, Berlin");
  ASSERT_TRUE(Succeeded(again));
  EXPECT_EQ(again->run.values, first->run.values);
}

// The words of the data are those that the tags were counted in, whatever tokens they have.
TEST_F(TokenModel, IsEvaluatedByItsSpans) {
  auto session = OpenWhole(path_);
  ASSERT_TRUE(Succeeded(session));
  const std::string text = "Anna van der Beek, Berlin 3.14";
  const auto encoding = (*session)->Encode(text);
  const auto answer = AnswerTo(**session, text);
  ASSERT_TRUE(Succeeded(answer));
  std::vector<ByteRange> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(RangeOf(begin, end));
    begin = end + 1;
  }
  const auto labels = (*session)->LabelsOfWords(*encoding, *answer, words);
  std::string data;
  for (size_t i = 0; i < words.size(); ++i) {
    ASSERT_TRUE(labels[i].has_value());
    data += text.substr(words[i].begin, words[i].size()) + " _ " +
            (*session)->info().labels[*labels[i]] + "\n";
  }
  data += "\nAnna O\n";
  const auto texts = ParseTaggedTexts(data, "data", (*session)->tags(), {});
  ASSERT_TRUE(Succeeded(texts));
  ASSERT_EQ(texts->size(), 2U);
  EXPECT_EQ(texts->front().text, text);
  const auto evaluation = EvaluateRows(**session, *texts, {});
  ASSERT_TRUE(Succeeded(evaluation));
  EXPECT_EQ(evaluation->examples(), 2U);
  EXPECT_TRUE(evaluation->right[0]);
  const LabelCount all = evaluation->AllSpans();
  EXPECT_EQ(all.right, all.examples) << "all that the data has are found";
  EXPECT_GT(all.right, 0U);
  EXPECT_EQ(evaluation->rows, DigestOfTagged(*texts, (*session)->tags()));
  EXPECT_EQ(evaluation->quality(), all.F1());
}

TEST_F(TokenModel, CountsWordsThatDidNotFitAsOutside) {
  auto session = OpenWhole(path_);
  ASSERT_TRUE(Succeeded(session));
  std::string data;
  for (int i = 0; i < 300; ++i) data += "Berlin B-LOC\n";
  const auto texts = ParseTaggedTexts(data, "data", (*session)->tags(), {});
  ASSERT_TRUE(Succeeded(texts));
  const auto evaluation = EvaluateRows(**session, *texts, {});
  ASSERT_TRUE(Succeeded(evaluation));
  EXPECT_EQ(evaluation->cut_texts, 1U);
  EXPECT_EQ(evaluation->AllSpans().examples, 300U);
  EXPECT_LT(evaluation->AllSpans().given, 160U);
}

}  // namespace
}  // namespace sti
