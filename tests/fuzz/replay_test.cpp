// Every file of the corpora, and changed copies of them, through the functions that are fuzzed.
// Inputs that a fuzzer found are in there: what once was wrong stays right.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "fuzz/targets.h"
#include "support/random.h"
#include "support/test_container.h"

namespace sti::fuzz {
namespace {

class Corpus : public ::testing::TestWithParam<Target> {
 protected:
  static std::vector<std::string> Files() {
    std::vector<std::string> files;
    const std::string folder =
        std::string(STI_SOURCE_DIR) + "/tests/fuzz/corpus/" + GetParam().name;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
  }
};

TEST_P(Corpus, EveryFileIsReadOrRefused) {
  const auto files = Files();
  ASSERT_FALSE(files.empty());
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    GetParam().run(FileBytes(file));
  }
}

TEST_P(Corpus, ChangedCopiesAreReadOrRefused) {
  constexpr int kCopies = 100;
  TestRandom random(1);
  for (const std::string& file : Files()) {
    const auto whole = FileBytes(file);
    for (int i = 0; i < kCopies; ++i) {
      auto copy = whole;
      for (uint64_t changes = 1 + random.Below(3); changes > 0 && !copy.empty(); --changes) {
        copy[random.Below(copy.size())] = static_cast<uint8_t>(random.Next());
      }
      if (random.Below(8) == 0) copy.resize(random.Below(copy.size() + 1));
      GetParam().run(copy);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Corpus, ::testing::ValuesIn(Targets().begin(), Targets().end()),
                         [](const auto& made) { return std::string(made.param.name); });

}  // namespace
}  // namespace sti::fuzz
