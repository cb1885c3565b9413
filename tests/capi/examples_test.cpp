// Labels of examples through sti.h: given, replaced and taken back.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "api/label_source.h"
#include "capi/sti_fixture.h"
#include "format/label_vectors_file.h"

namespace sti {
namespace {

const std::string kExamples = "text\tlabel\na b\tletters\nthe movie\tfilm\nb a c\tletters\n";

class ExamplesTest : public StiTest {
 protected:
  void SetUp() override {
    StiTest::SetUp();
    Open("sentences", false);
  }

  // Opens a model that embeds as model_, from now on at path_.
  void Open(const std::string& name, bool zeros) {
    sti_close(model_);
    const std::string dir = folder_.File(name);
    path_ = folder_.File(name + ".sti");
    ASSERT_TRUE(Succeeded(WriteTinyModel(dir)));
    ASSERT_TRUE(Succeeded(AddSentenceModules(dir)));
    if (zeros) {
      ASSERT_TRUE(Succeeded(ZeroLastRows(dir)));
    }
    const auto source = ModelFolder::Open(dir);
    ASSERT_TRUE(Succeeded(source));
    ASSERT_TRUE(Succeeded(ShardModel(*source, {}, path_)));
    ASSERT_TRUE(Is(STI_OK, sti_open(host_, path_.c_str(), &model_, &error_), error_));
  }
  // The file of label vectors of examples, at so many bits; 0: at the most.
  [[nodiscard]] std::string Kept(uint32_t bits = 0) const {
    const auto rows = ParseLabelledRows(kExamples, "rows", {}, {});
    EXPECT_TRUE(Succeeded(rows));
    const auto vectors = EmbedExamples(*OpenSession(bits), *rows, {}, {});
    EXPECT_TRUE(Succeeded(vectors));
    const auto bytes = EncodeLabelVectors(*vectors);
    EXPECT_TRUE(Succeeded(bytes));
    return {bytes->begin(), bytes->end()};
  }
  // The labels that the model gives a text, by rank, with their scores.
  std::vector<std::pair<std::string, double>> Said(std::string_view text) {
    EXPECT_TRUE(Is(STI_OK, Run(text), error_));
    std::vector<std::pair<std::string, double>> said;
    for (uint32_t rank = 0; sti_label(model_, rank) >= 0; ++rank) {
      const int32_t label = sti_label(model_, rank);
      said.emplace_back(sti_name(model_, label), sti_score(model_, label));
    }
    return said;
  }
};

TEST_F(ExamplesTest, ADataSetGivesLabelsAsItsVectorsDo) {
  ASSERT_TRUE(Is(STI_OK, Run("the movie"), error_));
  EXPECT_EQ(sti_label(model_, 0), -1);
  ASSERT_TRUE(Is(STI_OK, Give(STI_EXAMPLES, kExamples), error_));
  EXPECT_EQ(sti_stat(model_, STI_LABELS), 2);
  EXPECT_EQ(sti_stat(model_, STI_DIMENSIONS), 0);
  const auto said = Said("the movie");
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0].first, "film");
  EXPECT_GT(said[0].second, 0.5);
  EXPECT_NEAR(said[0].second + said[1].second, 1, 1e-6);
  EXPECT_EQ(sti_stat(model_, STI_CHOSEN), 1);
  EXPECT_EQ(sti_stat(model_, STI_TURN), 1) << "examples are no turns";
  EXPECT_EQ(sti_vector(model_, nullptr, 0), 0U);

  sti_model* other = nullptr;
  ASSERT_TRUE(Is(STI_OK, sti_open(host_, path_.c_str(), &other, &error_), error_));
  std::swap(other, model_);
  ASSERT_TRUE(Is(STI_OK, Give(STI_EXAMPLES, Kept()), error_));
  EXPECT_EQ(Said("the movie"), said);
  // They stay where memory is given back, and within a bound that is set.
  ASSERT_TRUE(Is(STI_OK, sti_trim(model_, 0, &error_), error_));
  EXPECT_EQ(Said("the movie"), said);
  ASSERT_TRUE(Is(STI_OK, sti_set(model_, STI_MEMORY_BYTES, 1 << 20, &error_), error_));
  EXPECT_EQ(Said("the movie"), said);
  ASSERT_TRUE(Is(STI_OK, Give(STI_EXAMPLES, kExamples), error_));
  EXPECT_EQ(Said("the movie"), said);
  sti_close(other);
}

TEST_F(ExamplesTest, TakenBackTheModelEmbedsAgain) {
  std::vector<float> before(32);
  ASSERT_TRUE(Is(STI_OK, Run("the movie"), error_));
  ASSERT_EQ(sti_vector(model_, before.data(), 32), 32U);
  ASSERT_TRUE(Is(STI_OK, Give(STI_EXAMPLES, kExamples), error_));
  const char* const name = sti_name(model_, 0);
  ASSERT_TRUE(Is(STI_OK, sti_give(model_, STI_EXAMPLES, nullptr, 0, &error_), error_));
  EXPECT_EQ(sti_stat(model_, STI_LABELS), 0);
  EXPECT_EQ(sti_stat(model_, STI_DIMENSIONS), 32);
  EXPECT_EQ(sti_name(model_, 0), nullptr);
  EXPECT_STREQ(name, "film") << "a name is valid until the model is closed";
  std::vector<float> after(32);
  ASSERT_TRUE(Is(STI_OK, Run("the movie"), error_));
  ASSERT_EQ(sti_vector(model_, after.data(), 32), 32U);
  EXPECT_EQ(after, before);
}

TEST_F(ExamplesTest, ThoseOfAnotherPlanOrModelChangeNothing) {
  ASSERT_TRUE(Is(STI_OK, Give(STI_EXAMPLES, kExamples), error_));
  const auto said = Said("the movie");
  const auto refused = [&](sti_code code, const std::string& bytes, const char* words) {
    EXPECT_TRUE(Is(code, Give(STI_EXAMPLES, bytes), error_));
    EXPECT_EQ(error_.about, STI_EXAMPLES);
    EXPECT_NE(std::string(error_.text).find(words), std::string::npos) << error_.text;
    EXPECT_EQ(Said("the movie"), said);
  };
  refused(STI_FOREIGN, Kept(3), "of other layers, slices or bits than the plan runs; embed the ");
  refused(STI_DAMAGED, Kept().substr(0, 60), "the payload is not as long as the header says");
  refused(STI_DAMAGED, "text\tlabel\na\tone\n", "all examples have one label");
  refused(STI_DAMAGED, "text\tlabel\na\tone\nb\t\n", "examples: data:3: no label");
  refused(STI_DAMAGED, "text\tlabel\n", "no examples");
  // Vectors and plan go together: whoever has another plan embeds the examples again.
  EXPECT_TRUE(Is(STI_FOREIGN, Give(STI_PLAN, PlanAt(3)), error_));
  EXPECT_EQ(error_.about, STI_EXAMPLES);
  EXPECT_EQ(Said("the movie"), said);
  ASSERT_TRUE(Is(STI_OK, Give(STI_EXAMPLES, ""), error_));
  ASSERT_TRUE(Is(STI_OK, Give(STI_PLAN, PlanAt(3)), error_));
  ASSERT_TRUE(Is(STI_OK, Give(STI_EXAMPLES, Kept(3)), error_));
  EXPECT_EQ(Said("the movie").size(), 2U);
}

TEST_F(ExamplesTest, AModelThatGivesLabelsTakesNone) {
  const std::string path = folder_.File("a.sti");
  const std::string kept = Kept();
  sti_close(model_);
  ASSERT_TRUE(Is(STI_OK, sti_open(host_, path.c_str(), &model_, &error_), error_));
  EXPECT_TRUE(Is(STI_FOREIGN, Give(STI_EXAMPLES, kExamples), error_));
  EXPECT_TRUE(Is(STI_FOREIGN, Give(STI_EXAMPLES, kept), error_));
  EXPECT_EQ(Said("the movie").size(), 3U);
}

TEST_F(ExamplesTest, AVectorWithoutDirectionIsABadInput) {
  Open("zeros", true);
  EXPECT_TRUE(Is(STI_BAD_INPUT, Run("the movie"), error_));
  EXPECT_STREQ(error_.text, "input: its embedding is all zeros, which has no direction");
  EXPECT_EQ(sti_vector(model_, nullptr, 0), 0U) << "there is no answer";
  EXPECT_TRUE(Is(STI_DAMAGED, Give(STI_EXAMPLES, kExamples), error_));
  EXPECT_NE(std::string(error_.text).find("example 1: its embedding is all zeros"),
            std::string::npos);
}

TEST_F(ExamplesTest, OtherThreadsReadNamesWhileLabelsAreReplaced) {
  std::thread reader([&] {
    for (int i = 0; i < 2000; ++i) {
      const char* const name = sti_name(model_, i % 3);
      EXPECT_TRUE(name == nullptr || std::string(name) != "");
    }
  });
  for (int i = 0; i < 4; ++i)
    EXPECT_TRUE(Is(STI_OK, Give(STI_EXAMPLES, i % 2 == 0 ? kExamples : ""), error_));
  reader.join();
}

}  // namespace
}  // namespace sti
