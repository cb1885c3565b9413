// The documents state each limit once, and so does types/limits.h: this reads the documents.
#include "types/limits.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

#include "base/atomic_file.h"

namespace sti {
namespace {

std::string Document(const std::string& name) {
  const auto bytes = ReadWholeFile(std::string(STI_SOURCE_DIR) + "/spec/" + name, 1 << 20);
  EXPECT_TRUE(bytes.ok());
  return bytes.ok() ? *bytes : "";
}

/// Returns the number that follows `before`, with its unit where it has one.
uint64_t NumberAfter(const std::string& text, const std::string& before) {
  const size_t at = text.find(before);
  EXPECT_NE(at, std::string::npos) << before;
  if (at == std::string::npos) return 0;
  std::istringstream words(text.substr(at + before.size(), 40));
  uint64_t number = 0;
  std::string unit;
  words >> number;
  if (words.peek() == '^') {
    uint64_t exponent = 0;
    words.ignore();
    words >> exponent;
    return uint64_t{1} << exponent;  // of 2
  }
  words >> unit;
  return number << (unit == "MiB" ? 20 : unit == "GiB" ? 30 : 0);
}

TEST(Limits, AreThoseOfTheContainerDocument) {
  const std::string document = Document("container.md");
  const std::string limits = document.substr(document.find("## Limits"));
  const std::map<std::string, uint64_t> rows = {{"N", kMaxLayers},
                                                {"M", kMaxWidth},
                                                {"d", kMaxHidden},
                                                {"f", kMaxFfn},
                                                {"V", kMaxVocabulary},
                                                {"P", kMaxPositions},
                                                {"T", kMaxTokenTypes},
                                                {"C", kMaxLabels},
                                                {"S", kMaxImageSize},
                                                {"K", kMaxChannels},
                                                {"index", kMaxIndexBytes},
                                                {"resident part, decompressed", kMaxResidentBytes},
                                                {"vocabulary, merges, decompressed", kMaxTextBytes},
                                                {"merges", kMaxMerges}};
  for (const auto& [name, limit] : rows)
    EXPECT_EQ(NumberAfter(limits, "| " + name + " | "), limit) << name;
  EXPECT_EQ(NumberAfter(limits, "P is at least "), kMinLength);
}

TEST(Limits, AreThoseOfTheDocumentsForTexts) {
  EXPECT_EQ(NumberAfter(Document("container.md"), "printable ASCII, at most "), kMaxShortTextBytes);
  EXPECT_EQ(NumberAfter(Document("frame.md"), "(0x20 to 0x7E) and at most "), kMaxShortTextBytes);
  EXPECT_EQ(NumberAfter(Document("importance.md"), "`estimate` are at most "), kMaxShortTextBytes);
  EXPECT_EQ(NumberAfter(Document("importance-part.md"), "the arithmetic; at most "),
            kMaxShortTextBytes);
}

TEST(Limits, AreThoseOfThePlanDocument) {
  const std::string document = Document("plan.md");
  EXPECT_EQ(NumberAfter(document, "input length in tokens, 1 to "), kMaxLength);
  EXPECT_EQ(NumberAfter(document, "original indexes executed, ascending, below "), kMaxLayers);
  EXPECT_EQ(NumberAfter(document, "m, 1 to "), kMaxWidth);
  EXPECT_EQ(NumberAfter(document, "stored slice indexes, below "), kMaxWidth);
  EXPECT_EQ(NumberAfter(document, "read and not yet computed; at most "), kMaxStagingBytes);
  EXPECT_EQ(NumberAfter(document, "**Variants**: at most "), kMaxVariants);
  EXPECT_EQ(NumberAfter(document, "**Turns**: at most "), kMaxTurns);
  EXPECT_EQ(NumberAfter(document, "compute lane that were profiled, at most "), kMaxThreads);
  EXPECT_EQ(NumberAfter(document, "largest merged read, at most "), kMaxMergedReadBytes);
  EXPECT_EQ(NumberAfter(document, "agents that read layers side by side, see below; at most "),
            kMaxReadStreams);
  EXPECT_EQ(NumberAfter(document, "open files of the container that reads go through, at most "),
            kMaxReadStreams);
  EXPECT_EQ(NumberAfter(document, "of several, at most "), kMaxReadsThroughStreams);
  EXPECT_EQ(NumberAfter(document, "reads in flight through an open file, at most "),
            kMaxReadsInFlight);
  EXPECT_EQ(NumberAfter(document, "such as `0-3,8`, at most "), kMaxCoresTextBytes);
  EXPECT_NE(document.find("A time is from 0 to 10^15"), std::string::npos);
  EXPECT_EQ(kMaxTimeUs, 1e15);
  EXPECT_NE(document.find("from -10^15 to 10^15"), std::string::npos);
  EXPECT_EQ(kMaxFigure, 1e15);
}

TEST(Limits, AreThoseOfTheProfileDocument) {
  const std::string document = Document("profile.md");
  EXPECT_EQ(NumberAfter(document, "A list has at most "), kMaxProfileSamples);
  EXPECT_EQ(NumberAfter(document, "A multiple of 4096, at most "), kMaxMergedReadBytes);
  EXPECT_EQ(NumberAfter(document, "as this device wants; at most "), kMaxReadsInFlight);
  EXPECT_EQ(NumberAfter(document, "compute threads, at most "), kMaxThreads);
  EXPECT_EQ(NumberAfter(document, "such as `0-3,8`, at most "), kMaxCoresTextBytes);
  EXPECT_EQ(NumberAfter(document, "for people, at most "), kMaxMachineTextBytes);
  EXPECT_EQ(NumberAfter(document, "what a run works in, at most "), kMaxProfiledBytes);
  EXPECT_EQ(NumberAfter(document, "`length` is 1 to "), kMaxLength);
  EXPECT_EQ(NumberAfter(document, "`width` 1 to "), kMaxWidth);
  EXPECT_NE(document.find("A time is from 0 to 10^9"), std::string::npos);
  EXPECT_EQ(kMaxSampleUs, 1e9);
  EXPECT_NE(document.find("0 to 10^6; since 1.1"), std::string::npos);
  EXPECT_EQ(kMaxNoise, 1e6);
  EXPECT_NE(document.find("from -10^6 to 10^6"), std::string::npos);
  EXPECT_EQ(kMaxCelsius, 1e6);
}

}  // namespace
}  // namespace sti
