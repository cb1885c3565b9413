// Runs under plans of random requests, measured: each reads the blocks that were predicted and no
// others, and the model takes no more memory than that.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "api/plan_inputs.h"
#include "api/session.h"
#include "second_figures.h"
#include "second_opinion.h"
#include "second_world.h"
#include "shard/parts.h"
#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "text/tokenizer.h"

namespace sti::test {
namespace {

constexpr uint64_t kBlock = 4096;
constexpr int kEach = 5;  // requests of each kind

/// Blocks of a file, by their numbers.
using Blocks = std::set<uint64_t>;

void AddBlocks(uint64_t offset, uint64_t length, Blocks* blocks) {
  for (uint64_t block = offset / kBlock; block * kBlock < offset + length; ++block)
    blocks->insert(block);
}

/// A container, a request, its plan, and the session that runs it.
class MeasuredPlans : public ::testing::TestWithParam<Layout> {
 protected:
  void SetUp() override {
    TinyModelOptions model;
    model.layers = 4;
    model.heads = 3;
    model.hidden = 96;
    model.ffn = 192;
    model.max_positions = 128;
    model.extra_tokens = 200;
    ShardOptions options;
    options.layout = GetParam();
    auto report = WriteTinyContainer(path_, model, options);
    ASSERT_TRUE(Succeeded(report));
    index_ = report->index;
    text_.ids = {index_.info.tokenizer.cls_id, 5, 7, 100, 180, index_.info.tokenizer.sep_id};
    text_.types.assign(text_.ids.size(), 0);
    text_.words = {kNoWord, 0, 1, 2, 3, kNoWord};
  }

  [[nodiscard]] World Stored(Random& random) const {
    const ModelShape& shape = index_.info.shape;
    World world(shape.layers, shape.width, index_.bits, std::vector<uint64_t>(6, 1));
    world.info = index_.info;
    world.catalog = CatalogOf(index_);
    world.Io({3, 4, 5, 6, 7, 20});
    world.use_importance = random.Below(2) == 0;
    world.importance.layers = shape.layers;
    world.importance.width = shape.width;
    for (uint32_t shard = 0; shard < shape.layers * shape.width; ++shard)
      world.importance.scores.push_back(random.Below(100));
    return world;
  }

  /// Opens a session for a plan of the request. Returns whether there is a plan.
  bool Open(const SecondWorld& drawn) {
    auto file = ContainerFile::Open(path_);
    EXPECT_TRUE(Succeeded(file));
    std::optional<Importance> importance;
    if (drawn.world.use_importance) importance = drawn.world.importance;
    const auto inputs = ReadPlanInputs(*file, drawn.world.profile, importance, drawn.request);
    EXPECT_TRUE(Succeeded(inputs));
    const PlanInput input = inputs->ViewOfOwnMemory();
    Result<Plan> plan = MakePlan(input, drawn.request);
    if (!plan.ok()) return false;
    for (const std::string& line : FiguresThatDiffer(input, drawn.request, *plan))
      ADD_FAILURE() << line;
    plan_ = std::move(*plan);
    if (plan_.cascade) {
      for (CascadeLevel& level : plan_.cascade->levels) level.rule = {.cutoff = 1};  // all go on
    }
    SessionOptions options;
    options.threads = std::max(1U, drawn.world.profile.threads);
    auto session = Session::Open(std::move(*file), plan_, options);
    EXPECT_TRUE(Succeeded(session));
    if (!session.ok()) return false;
    session_ = std::move(*session);
    ExpectWithinPeak();
    return true;
  }
  void ExpectWithinPeak() const { EXPECT_LE(session_->memory_bytes(), plan_.predicted_peak_bytes); }

  /// Bytes of embedding rows that the first text reads: those of words that are not preloaded, and
  /// of its positions, which come with preloaded words. What a fallback holds is for it alone.
  [[nodiscard]] uint64_t FirstRows() const {
    const std::set<uint32_t> preloaded(plan_.words.begin(), plan_.words.end());
    Blocks blocks;
    for (const uint32_t id : text_.ids) {
      if (preloaded.contains(id)) continue;
      AddBlocks(index_.words.offset + uint64_t{id} * index_.words.row_bytes, index_.words.row_bytes,
                &blocks);
    }
    if (preloaded.empty())
      AddBlocks(index_.positions.offset, text_.ids.size() * index_.positions.row_bytes, &blocks);
    return blocks.size() * kBlock;
  }
  /// Adds the blocks of the parts that a shard at `bits` has and one at `held` bits lacks.
  void AddShard(ShardId id, uint32_t held, uint32_t bits, Blocks* blocks) const {
    for (const PartKind kind : kPartKinds) {
      const uint32_t at = BitsOf(kind);
      const bool wanted = bits == 32 ? at == 32 && held != 32 : at <= bits && at > held;
      const PartLocation& part = index_.shard(id).parts[kind];
      if (wanted) AddBlocks(part.offset, part.length, blocks);
    }
  }
  /// Expects that a run with these shards in memory reads each block once, and `rows` bytes of
  /// rows; and that what a plan counts shard by shard is no less: as much, and of planes that are
  /// missing up to a block more. Where some of it stays for a later turn or level, reads that land
  /// in the buffer and reads that land in the arena both read a block that they share, as a plan
  /// counts it too, but for that within one of the `split` shards.
  void ExpectRead(uint64_t bytes_read, uint64_t rows, const SecondPass& pass, bool some_stays,
                  uint64_t split = 0) const {
    Blocks blocks;
    uint64_t counted = 0;
    uint64_t apart = 0;
    uint64_t parted = 0;
    for (const ShardAtBits& shard : SecondShardsOf(pass)) {
      const uint32_t held = pass.held.BitsOf(shard.id, shard.bits);
      Blocks own;
      AddShard(shard.id, held, shard.bits, &own);
      blocks.insert(own.begin(), own.end());
      apart += own.size() * kBlock;
      counted += SecondMissing(CatalogOf(index_), shard.id, held, shard.bits);
      if (held != 0 && held < shard.bits) ++parted;
    }
    const uint64_t once = rows + blocks.size() * kBlock;
    EXPECT_GE(bytes_read, once);
    EXPECT_LE(bytes_read, some_stays ? rows + apart + split * kBlock : once);
    EXPECT_LE(apart, counted);
    EXPECT_LE(counted, apart + parted * kBlock);
  }

  /// Counts the shards of a cascade level that later levels run at fewer bits: their planes for
  /// these land in the buffer, the others in the arena, by reads that may share a block.
  [[nodiscard]] uint64_t SplitBehind(size_t level, const SecondPass& pass) const {
    SecondHeld later;
    for (size_t i = level + 1; i <= plan_.cascade->levels.size(); ++i) {
      const bool last = i == plan_.cascade->levels.size();
      const PlanCore& plan = last ? plan_ : plan_.cascade->levels[i].plan;
      later.Put(SecondShardsOf(PassOf(plan, {})));
    }
    uint64_t split = 0;
    for (const ShardAtBits& shard : SecondShardsOf(pass)) {
      const uint32_t bits = later.BitsOf(shard.id, shard.bits);
      if (bits != 0 && bits < shard.bits) ++split;
    }
    return split;
  }

  void MeasureCascade() {
    Answer answer = Ask();
    SecondHeld held;
    const auto levels = answer.cascade->before();
    ASSERT_EQ(levels.size(), plan_.cascade->levels.size());
    held.Put(plan_.cascade->levels[0].plan.preload);
    for (size_t i = 0; i <= levels.size(); ++i) {
      const PlanCore& level = i < levels.size() ? plan_.cascade->levels[i].plan : plan_;
      SecondPass pass = PassOf(level, held);
      const uint64_t read = i < levels.size() ? levels[i].run.bytes_read : answer.run.bytes_read;
      ExpectRead(read, i == 0 ? FirstRows() : 0, pass, true, SplitBehind(i, pass));
      held.Put(SecondShardsOf(pass));
    }
  }
  void Measure() {
    const size_t turns = plan_.turns.empty() ? 2 : plan_.turns.size();
    for (size_t t = 0; t < turns; ++t) {
      const Answer answer = Ask();
      SecondHeld held;
      held.Put(answer.plan->preload);
      held.Put(FallbackShards(plan_));
      SecondPass pass = PassOf(*answer.plan, held);
      if (!plan_.turns.empty()) {
        pass.bits = &plan_.turns[t].bits;
        pass.held = {};
        pass.held.Put(plan_.turns[t].preload);
      }
      ExpectRead(answer.run.bytes_read, t == 0 ? FirstRows() : 0, pass, !plan_.turns.empty());
    }
  }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  ContainerIndex index_;
  Plan plan_;
  std::unique_ptr<Session> session_;
  Encoding text_;

 private:
  static SecondPass PassOf(const PlanCore& plan, const SecondHeld& held) {
    SecondPass pass;
    pass.plan = &plan;
    pass.bits = &plan.bits;
    pass.held = held;
    return pass;
  }
  Answer Ask() {
    Answer answer;
    EXPECT_TRUE(Succeeded(session_->Ask(text_, Clock::now(), &answer)));
    ExpectWithinPeak();
    return answer;
  }
};

TEST_P(MeasuredPlans, ReadTheBlocksThatWerePredictedAndTakeNoMoreMemory) {
  Random random(30);
  std::map<Asked, int> measured;
  for (int tried = 0; measured.size() + 1 < size_t(Asked::kCount) ||
                      std::ranges::any_of(measured, [](auto& one) { return one.second < kEach; });
       ++tried) {
    ASSERT_LT(tried, 5000);
    const SecondWorld drawn(random, Stored(random));
    if (drawn.asked == Asked::kCold) continue;  // most of it is read while the container opens
    if (measured[drawn.asked] == kEach || !Open(drawn)) continue;
    ++measured[drawn.asked];
    plan_.cascade ? MeasureCascade() : Measure();
    session_.reset();
    ASSERT_FALSE(HasFailure()) << "request " << tried << ": " << drawn.Name();
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, MeasuredPlans, ::testing::Values(Layout::kShard, Layout::kPlane),
                         [](const auto& test) {
                           return test.param == Layout::kShard ? "Shards" : "Planes";
                         });

}  // namespace
}  // namespace sti::test
