// The modes that a request may have, of which options may name several.
#include <gtest/gtest.h>

#include "base/remedy.h"
#include "plan/request.h"
#include "support/expect.h"

namespace sti {
namespace {

TEST(RequestModes, OneThatIsNamedIsTheMode) {
  EXPECT_TRUE(std::holds_alternative<PlanRequest::Warm>(ModeOf({}).value()));
  EXPECT_TRUE(std::holds_alternative<PlanRequest::Guaranteed>(ModeOf({.guarantee = true}).value()));
  EXPECT_TRUE(std::holds_alternative<PlanRequest::Cold>(ModeOf({.cold = true}).value()));
  PlanRequest request;
  request.mode = ModeOf({.turns = 3, .turn_bytes = 4096}).value();
  ASSERT_NE(request.turns(), nullptr);
  EXPECT_EQ(request.turns()->count, 3U);
  EXPECT_EQ(request.turns()->bytes, 4096U);
  request.mode = ModeOf({.cascade = CascadeWish{2}}).value();
  ASSERT_NE(request.cascade(), nullptr);
  EXPECT_EQ(request.cascade()->max_levels, 2U);
  EXPECT_EQ(request.turns(), nullptr);
  EXPECT_FALSE(request.cold() || request.guarantee());
}

TEST(RequestModes, TwoThatAreNamedAreRefused) {
  const struct {
    ModeOptions options;
    const char* words;
    const char* drop;
  } cases[] = {{{.cold = true, .turns = 2},
                "a cold start has nothing in memory, no turn before it and no lead time",
                "preload_bytes, turns and wake_us"},
               {{.guarantee = true, .cold = true},
                "a cold start has nothing in memory to fall back to",
                "guarantee or cold"},
               {{.guarantee = true, .turns = 2},
                "turns leave in memory what the next one runs, and no fallback",
                "guarantee or turns"},
               {{.cold = true, .cascade = CascadeWish{}},
                "a cascade answers one warm input after another, without a fallback",
                "cold, turns and guarantee"},
               {{.turns = 2, .cascade = CascadeWish{}},
                "a cascade answers one warm input after another, without a fallback",
                "cold, turns and guarantee"},
               {{.guarantee = true, .cascade = CascadeWish{}},
                "a cascade answers one warm input after another, without a fallback",
                "cold, turns and guarantee"}};
  for (const auto& c : cases) {
    const auto mode = ModeOf(c.options);
    ASSERT_FALSE(mode.ok()) << c.words;
    EXPECT_EQ(mode.error().kind, ErrorKind::kUsage);
    EXPECT_EQ(mode.error().what, c.words);
    EXPECT_EQ(mode.error().remedy, Remedy::kDropFromRequest);
    EXPECT_EQ(mode.error().value, c.drop);
  }
}

}  // namespace
}  // namespace sti
