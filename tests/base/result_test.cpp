#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/remedy.h"

namespace sti {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return DataError("odd");
  return value / 2;
}

Result<int> Quarter(int value, int* steps) {
  STI_ASSIGN_OR_RETURN(const int half, Half(value));
  ++*steps;
  STI_ASSIGN_OR_RETURN(const int quarter, Half(half));
  ++*steps;
  return quarter;
}

Status Check(int value, int* steps) {
  STI_RETURN_IF_ERROR(Half(value));
  ++*steps;
  return {};
}

TEST(Error, SaysWhereAndWhat) {
  EXPECT_EQ(DataError("is damaged").Message(), "is damaged");
  EXPECT_EQ(DataError("is damaged").At("layer 3").At("a.sti").Message(),
            "a.sti: layer 3: is damaged");
  EXPECT_EQ(UsageError("is missing").At("io").In(Source::kProfile).Message(),
            "profile: io: is missing");
  EXPECT_EQ(UsageError("is missing").In(Source::kPlan).Message(), "plan: is missing");
}

TEST(Error, KeepsARemedyAndWhatThatTakes) {
  EXPECT_EQ(DataError("odd").remedy, Remedy::kNone);
  const Error error = InfeasibleError("too slow").Fix(Remedy::kMoreMemory, "216\n");
  EXPECT_EQ(error.kind, ErrorKind::kInfeasible);
  EXPECT_EQ(error.remedy, Remedy::kMoreMemory);
  EXPECT_EQ(error.value, "216?");
  EXPECT_EQ(error.Message(), "too slow");
}

TEST(Error, SaysHowMuchMemoryWouldBeEnough) {
  const Error error = InfeasibleError("too small").NeedingMemory(3399);
  EXPECT_EQ(error.remedy, Remedy::kMoreMemory);
  EXPECT_EQ(error.needed_bytes, 3399U);
  EXPECT_EQ(InfeasibleError("too small").Fix(Remedy::kMoreMemory).needed_bytes, std::nullopt);
}

TEST(Error, BlamesDataWhereNeitherMachineNorCallerIsAtFault) {
  for (const Error& error : {NoSuchFileError(""), DataError(""), ForeignError("")}) {
    EXPECT_TRUE(BlamesData(error.kind));
  }
  for (const Error& error :
       {MachineError(""), UsageError(""), InfeasibleError(""), CancelledError(),
        Error{ErrorKind::kReadFailed, ""}, Error{ErrorKind::kNoMemory, ""}}) {
    EXPECT_FALSE(BlamesData(error.kind));
  }
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> good = Half(8);
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, 4);
  const Result<int> bad = Half(7);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().kind, ErrorKind::kDamaged);
  EXPECT_EQ(bad.error().Message(), "odd");
}

TEST(Result, AssignOrReturnStopsAtTheFirstError) {
  int steps = 0;
  EXPECT_EQ(*Quarter(12, &steps), 3);
  EXPECT_EQ(steps, 2);
  EXPECT_EQ(Quarter(6, &steps).error().Message(), "odd");
  EXPECT_EQ(steps, 3);
  EXPECT_FALSE(Quarter(5, &steps).ok());
  EXPECT_EQ(steps, 3);
}

TEST(Result, ReturnIfErrorTurnsAResultIntoAStatus) {
  int steps = 0;
  EXPECT_TRUE(Check(2, &steps).ok());
  EXPECT_EQ(Check(3, &steps).error().Message(), "odd");
  EXPECT_EQ(steps, 1);
}

TEST(Error, OneLineOfText) {
  EXPECT_EQ(OneLine("a: \"two\nlines\x1b[0m\x7f\"; mend"), "a: \"two?lines?[0m?\"; mend");
  EXPECT_EQ(OneLine("é"), "é");
  EXPECT_EQ(OneLine("\xE9\xC2\x9B"), "??");
  const std::string line = OneLine("a: " + std::string(100000, 'x') + "; mend it");
  EXPECT_LT(line.size(), 5000U);
  EXPECT_TRUE(line.starts_with("a: x"));
  EXPECT_TRUE(line.ends_with("; mend it"));
  EXPECT_EQ(DataError("a\tb").At("c\nd").Message(), "c?d: a?b");
}

TEST(Result, HoldsWhatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 5);
}

}  // namespace
}  // namespace sti
