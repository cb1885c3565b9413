// A second opinion on what texts read of their embedding rows (spec/importance.md, `row_reads`): a
// pipeline that holds all shards answers them one after another, and its bytes are counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "importance/importance_job.h"
#include "pipeline/pipeline.h"
#include "pipeline/whole_plan.h"
#include "support/expect.h"
#include "support/random.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

using Text = std::vector<uint32_t>;

class SecondWords : public ::testing::Test {
 protected:
  void SetUp() override {
    TinyModelOptions model;
    model.layers = 1;
    model.heads = 1;
    model.hidden = 512;
    model.ffn = 16;
    model.extra_tokens = 2000;
    model.max_positions = 64;
    const auto report = WriteTinyContainer(path_, model);
    ASSERT_TRUE(Succeeded(report));
    index_ = report->index;
    // Some words are frequent, and there is room for the others only where texts may be longer.
    TestRandom random(5);
    batch_.offsets = {0};
    for (int example = 0; example < 90; ++example) {
      batch_.ids.push_back(2);
      for (uint64_t left = 3 + random.Below(12); left > 0; --left) {
        const uint64_t among = random.Below(3) == 0 ? 40 : 700;
        batch_.ids.push_back(static_cast<uint32_t>(40 + random.Below(among)));
      }
      batch_.ids.push_back(3);
      batch_.offsets.push_back(static_cast<uint32_t>(batch_.ids.size()));
    }
    // Examples are mixed by a hash of their number, and belong to the halves in turn.
    std::map<uint64_t, Text> mixed;
    for (size_t i = 0; i + 1 < batch_.offsets.size(); ++i) {
      mixed[(i + 1) * 0x9E3779B97F4A7C15U] = {batch_.ids.begin() + batch_.offsets[i],
                                              batch_.ids.begin() + batch_.offsets[i + 1]};
    }
    size_t at = 0;
    for (const auto& [hash, text] : mixed) halves_[at++ % 2].push_back(text);
  }

  /// Returns the words that two examples or more have, those of most examples first.
  static std::vector<uint32_t> Frequent(const std::vector<Text>& examples) {
    std::map<uint32_t, int> count;
    for (const Text& text : examples) {
      for (const uint32_t word : std::set<uint32_t>(text.begin(), text.end())) ++count[word];
    }
    std::vector<uint32_t> words;
    for (const auto& [word, times] : count) {
      if (times >= 2) words.push_back(word);
    }
    std::ranges::stable_sort(words, [&](uint32_t a, uint32_t b) { return count[a] > count[b]; });
    return words;
  }
  /// Returns texts of `length` tokens made of the examples one behind the other.
  static std::vector<Text> Cut(const std::vector<Text>& examples, uint32_t length) {
    std::vector<uint32_t> inner;
    for (const Text& text : examples) inner.insert(inner.end(), text.begin() + 1, text.end() - 1);
    std::vector<Text> texts;
    for (size_t at = 0; at + length - 2 <= inner.size(); at += length - 2) {
      Text& text = texts.emplace_back(Text{2});
      text.insert(text.end(), inner.begin() + static_cast<ptrdiff_t>(at),
                  inner.begin() + static_cast<ptrdiff_t>(at + length - 2));
      text.push_back(3);
    }
    return texts;
  }

  /// Returns the bytes that texts read, ascending, of both halves but for the first eighth of each,
  /// where there is memory for the rows of a text of `room` tokens.
  std::vector<double> Replayed(uint32_t length, uint32_t room, size_t words, bool keeps) {
    std::vector<double> bytes;
    for (const size_t half : {0, 1}) {
      WholePlanOptions whole;
      whole.bits = 2;
      Plan plan = *MakeWholePlan(index_, whole);
      plan.length = room;
      plan.preload = {{{0, 0}, 2}};
      plan.words = Frequent(halves_[1 - half]);
      plan.words.resize(std::min(plan.words.size(), words));
      std::ranges::sort(plan.words);
      auto file = ContainerFile::Open(path_);
      EXPECT_TRUE(Succeeded(file));
      PipelineOptions options;
      options.keep_rows = keeps;
      auto pipeline = Pipeline::Create(std::move(*file), plan, options);
      EXPECT_TRUE(Succeeded(pipeline));
      const std::vector<Text> texts = Cut(halves_[half], length);
      for (size_t i = 0; i < texts.size(); ++i) {
        const auto run = RunTokens(**pipeline, texts[i], Text(length, 0));
        EXPECT_TRUE(Succeeded(run));
        if (i >= texts.size() / 8) bytes.push_back(static_cast<double>(run->bytes_read));
      }
    }
    std::ranges::sort(bytes);
    return bytes;
  }
  /// Returns the smallest of ascending values that so many hundredths of all do not exceed.
  static double RankOf(const std::vector<double>& sorted, double hundredths) {
    const double rank = std::ceil(hundredths * static_cast<double>(sorted.size()) / 100);
    return sorted[static_cast<size_t>(rank) - 1];
  }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  ContainerIndex index_;
  ExampleBatch batch_;
  std::vector<Text> halves_[2];
};

TEST_F(SecondWords, SharesOfRowsAreThoseThatAPipelineReads) {
  const WordUse use = MeasureWordUse(index_, {&batch_, 1});
  std::vector<Text> all = halves_[0];
  all.insert(all.end(), halves_[1].begin(), halves_[1].end());
  EXPECT_EQ(use.words, Frequent(all));
  size_t counted = 0;
  for (const RowReads& reads : use.reads) {
    if (reads.length != 16) continue;  // longer texts take as long, and say as much
    const std::vector<double> whole = Replayed(reads.length, reads.length, 0, false);
    const auto expect = [&](uint32_t room, double share, double p99_share) {
      const std::vector<double> read = Replayed(reads.length, room, reads.words, true);
      EXPECT_NEAR(share, RankOf(read, 50) / RankOf(whole, 50), 1e-12)
          << reads.length << " tokens, room for " << room << ", words " << reads.words;
      EXPECT_NEAR(p99_share, RankOf(read, 99) / RankOf(whole, 99), 1e-12) << reads.length;
      ++counted;
    };
    expect(reads.length, reads.share, reads.p99_share);
    for (const RowRoom& room : reads.rooms) expect(room.tokens, room.share, room.p99_share);
  }
  EXPECT_GE(counted, 9U);
}

}  // namespace
}  // namespace sti
