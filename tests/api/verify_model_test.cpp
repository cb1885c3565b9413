// Verifying finds whatever a session refuses, in the same words.
#include "api/verify_model.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "api/session.h"
#include "base/utf8.h"
#include "import/model_folder.h"
#include "pipeline/whole_plan.h"
#include "support/expect.h"
#include "support/forged_container.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

/// Expects that both refuse the container for this reason, and that nothing else is found.
void ExpectBothFind(ForgedContainer& forged, const std::string& line) {
  auto file = forged.Open();
  ASSERT_TRUE(Succeeded(file));
  const auto report = VerifyModel(*file, {});
  ASSERT_TRUE(Succeeded(report));
  ASSERT_EQ(report->damaged.size(), 1U) << line;
  EXPECT_EQ(report->damaged[0].Message(), line);
  const auto plan = MakeWholePlan(file->index(), {});
  ASSERT_TRUE(Succeeded(plan));
  EXPECT_TRUE(FailedWith(Session::Open(std::move(*file), *plan, {}), ErrorKind::kDamaged, line));
}

ForgedContainer WithByteBpe() {
  const auto folder = ModelFolder::Open(std::string(STI_SOURCE_DIR) + "/tests/data/roberta-tiny");
  EXPECT_TRUE(Succeeded(folder));
  const TempFolder temporary;
  EXPECT_TRUE(Succeeded(ShardModel(*folder, {}, temporary.File("a.sti"))));
  return ForgedContainer(FileBytes(temporary.File("a.sti")));
}

TEST(VerifyModel, FindsNothingInWholeContainers) {
  ForgedContainer bpe = WithByteBpe();
  ForgedContainer pieces;
  pieces.SetText(ResidentKind::kVocabulary, "one token\n");
  for (ForgedContainer* forged : {&bpe, &pieces}) {
    auto file = forged->Open();
    ASSERT_TRUE(Succeeded(file));
    const auto report = VerifyModel(*file, {});
    ASSERT_TRUE(Succeeded(report));
    EXPECT_TRUE(report->damaged.empty());
  }
}

TEST(VerifyModel, AVocabularyHasATokenForEachRowAtMost) {
  ForgedContainer forged;
  const uint32_t most = forged.index().info.shape.vocabulary;
  std::string text;
  for (uint32_t i = 0; i <= most; ++i) text += "t" + std::to_string(i) + "\n";
  forged.SetText(ResidentKind::kVocabulary, text);
  ExpectBothFind(forged, "a.sti: vocabulary has " + std::to_string(most + 1) +
                             " tokens, the model " + std::to_string(most));
}

TEST(VerifyModel, AVocabularyThatIsDamagedIsFoundOnce) {
  ForgedContainer forged;
  ResidentLocation& location =
      forged.index().resident[ResidentPlace(forged.index().info, ResidentKind::kVocabulary)];
  ASSERT_EQ(location.compression, Compression::kNone);
  location.compression = Compression::kZstd;
  ExpectBothFind(forged, "a.sti: vocabulary: a resident part claims another size");
}

TEST(VerifyModel, MergesJoinTokensIntoTokensAndStandOnce) {
  const std::pair<std::string, std::string> cases[] = {
      {"notoken a\n", "a.sti: merges: line 1 is of or into what is no token"},
      {"a notoken\n", "a.sti: merges: line 1 is of or into what is no token"},
      {"! ~\n", "a.sti: merges: line 1 is of or into what is no token"},
      {"ab\n", "a.sti: merges: line 1 is not two tokens"}};
  for (const auto& [merges, line] : cases) {
    ForgedContainer forged = WithByteBpe();
    forged.SetText(ResidentKind::kMerges, merges);
    ExpectBothFind(forged, line);
  }
  ForgedContainer forged = WithByteBpe();
  auto file = forged.Open();
  ASSERT_TRUE(Succeeded(file));
  const auto merges = file->ReadText(ResidentKind::kMerges);
  ASSERT_TRUE(Succeeded(merges));
  const std::string first = merges->substr(0, merges->find('\n') + 1);
  forged.SetText(ResidentKind::kMerges, first + first);
  ExpectBothFind(forged, "a.sti: merges: line 2 stands twice");
}

TEST(VerifyModel, EachByteHasAToken) {
  ForgedContainer forged = WithByteBpe();
  auto file = forged.Open();
  ASSERT_TRUE(Succeeded(file));
  auto text = file->ReadText(ResidentKind::kVocabulary);
  ASSERT_TRUE(Succeeded(text));
  const std::string line = "\n" + ByteSpelling(200) + "\n";
  const size_t at = text->find(line);
  ASSERT_NE(at, std::string::npos);
  text->replace(at + 1, line.size() - 2, "other");
  forged.SetText(ResidentKind::kVocabulary, *text);
  ExpectBothFind(forged, "a.sti: vocabulary: no token for byte 200, so it is no byte-level BPE");
}

}  // namespace
}  // namespace sti
