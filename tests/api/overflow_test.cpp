// Files whose numbers are finite, each of them, and give none: no input gets a label, and each says
// so for itself.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "api/session.h"
#include "base/little_endian.h"
#include "base/remedy.h"
#include "kernels/backend.h"
#include "pipeline/whole_plan.h"
#include "support/expect.h"
#include "support/forged_container.h"
#include "text/tokenizer.h"

namespace sti {
namespace {

/// Plus infinity in 16 bits.
constexpr uint16_t kInfinity = 0x7C00;

struct Overflow {
  std::string name;
  std::function<void(ForgedContainer&)> make;
  uint32_t bits = 6;
};

void FillHalves(std::span<uint8_t> values, uint16_t number) {
  for (size_t at = 0; at + 2 <= values.size(); at += 2) {
    StoreLittle<uint16_t>(&values[at], number);
  }
}

std::vector<Overflow> Overflows() {
  const auto centroids = [](float huge) {
    return [huge](ForgedContainer& forged) {
      for (Codebook& codebook : forged.index().centroids) codebook.centroids[6].assign(64, huge);
    };
  };
  return {{"centroids whose sums overflow", centroids(3e38F)},
          {"centroids whose squares overflow", centroids(1e25F)},
          {"scales",
           [](ForgedContainer& forged) {
             for (Codebook& codebook : forged.index().centroids) {
               std::fill(codebook.scales.begin(), codebook.scales.end(), 0x1p127F);
             }
           }},
          {"full fidelity",
           [](ForgedContainer& forged) {
             for (const ShardLocation& shard : forged.index().shards) {
               FillHalves(forged.Part(shard.parts[PartKind::kFull]), kInfinity);
             }
           },
           32},
          {"exact rows", [](ForgedContainer& forged) {
             const RowTable& rows = forged.index().words;
             for (uint32_t r = 0; r < rows.rows; ++r) FillHalves(forged.Row(rows, r), kInfinity);
           }}};
}

TEST(Overflow, IsTheInputsOwnErrorInEveryArithmetic) {
  for (const Overflow& overflow : Overflows()) {
    for (const ComputeType type : ComputeTypes()) {
      SCOPED_TRACE(overflow.name + ", " + std::string(NameOf(type)));
      ForgedContainer forged;
      overflow.make(forged);
      auto file = forged.Open();
      ASSERT_TRUE(Succeeded(file));
      WholePlanOptions whole;
      whole.bits = overflow.bits;
      const auto plan = MakeWholePlan(file->index(), whole);
      ASSERT_TRUE(Succeeded(plan));
      SessionOptions options;
      options.compute = type;
      const auto session = Session::Open(std::move(*file), *plan, options);
      ASSERT_TRUE(Succeeded(session));
      for (int input = 0; input < 2; ++input) {
        Answer answer;
        const auto encoding = (*session)->Encode("a b c");
        const Status asked = (*session)->Ask(*encoding, Clock::now(), &answer);
        ASSERT_TRUE(FailedWith(asked, ErrorKind::kDamaged, "input: the model's numbers overflow"));
        EXPECT_EQ(asked.error().source, Source::kInput);
      }
    }
  }
}

// A number that a reader refuses is the model's error, and ends it.
TEST(Overflow, NumbersThatAreNotFiniteAreRefusedWhenTheyAreRead) {
  const std::pair<std::string, std::function<void(ForgedContainer&)>> forgeries[] = {
      {"layer 0 parameters: holds a number that is not finite",
       [](ForgedContainer& forged) {
         FillHalves(forged.Part(forged.index().Resident(ResidentKind::kLayer).part), kInfinity);
       }},
      {"head parameters: holds a number that is not finite", [](ForgedContainer& forged) {
         FillHalves(forged.Part(forged.index().Resident(ResidentKind::kHead).part), kInfinity);
       }}};
  for (const auto& [words, make] : forgeries) {
    ForgedContainer forged;
    make(forged);
    auto file = forged.Open();
    ASSERT_TRUE(Succeeded(file));
    const auto plan = MakeWholePlan(file->index(), {});
    EXPECT_TRUE(FailedWith(Session::Open(std::move(*file), *plan, {}), ErrorKind::kDamaged,
                           "a.sti: " + words, Remedy::kMakeModelAgain));
  }
}

}  // namespace
}  // namespace sti
