// Plans that sti_plan makes: those of a model that was given the same profile and options and has
// done nothing else, whatever this one has been through.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "format/profile_file.h"
#include "sti_fixture.h"

namespace sti {
namespace {

class PlanAgain : public StiTest {
 protected:
  /// Reads take a millisecond, and a layer so long for each of its slices.
  static std::string Profile(double layer_us) {
    DeviceProfile profile;
    for (const uint32_t bits : {2U, 3U, 4U, 5U, 6U, 32U})
      profile.io.push_back({.bits = bits, .load_us = 1000, .p99_us = 1000});
    for (uint32_t width = 1; width <= 2; ++width)
      profile.compute.push_back({32, width, layer_us * width, layer_us * width});
    const std::vector<uint8_t> bytes = EncodeProfile(profile);
    return {bytes.begin(), bytes.end()};
  }
  sti_model* Another() {
    sti_model* model = nullptr;
    EXPECT_TRUE(Is(STI_OK, sti_open(host_, path_.c_str(), &model, &error_), error_));
    return model;
  }
  void GiveTo(sti_model* model, int32_t kind, const std::string& bytes) {
    ASSERT_TRUE(Is(STI_OK, sti_give(model, kind, bytes.data(), bytes.size(), &error_), error_));
  }
  using Values = std::vector<std::pair<int32_t, int64_t>>;
  /// Makes a plan by a profile and these options.
  void PlanBy(sti_model* model, const std::string& profile, const Values& options) {
    GiveTo(model, STI_PROFILE, profile);
    for (const auto& [option, value] : options)
      ASSERT_TRUE(Is(STI_OK, sti_set(model, option, value, &error_), error_));
    ASSERT_TRUE(Is(STI_OK, sti_plan(model, &error_), error_));
  }
  static void ExpectSame(sti_model* walked, sti_model* fresh) {
    for (const int32_t figure : {STI_PREDICTED_US, STI_PREDICTED_P99_US, STI_PRELOADED_BYTES,
                                 STI_OWN_BYTES, STI_COMPUTE_DRIFT, STI_READ_DRIFT})
      EXPECT_EQ(sti_stat(walked, figure), sti_stat(fresh, figure)) << "figure " << figure;
  }
};

// A model that is open has its vocabulary at hand, in which a guarantee finds its common words; one
// that is not reads it.
TEST_F(PlanAgain, AModelThatHasRunPlansAsOneThatHasNot) {
  const std::vector<Values> all = {
      {{STI_PRELOAD_BYTES, 1 << 16}},
      {{STI_PRELOAD_BYTES, 1 << 16}, {STI_GUARANTEE, 1}},
      {{STI_PRELOAD_BYTES, 1 << 16}, {STI_GUARANTEE, 1}, {STI_MEMORY_BYTES, 1 << 22}},
      {{STI_PRELOAD_BYTES, 1 << 16}, {STI_TURNS, 3}},
      {{STI_LEAD_TIME_US, 5000}, {STI_LENGTH, 16}}};
  for (const Values& options : all) {
    sti_model* const walked = Another();
    sti_model* const fresh = Another();
    ASSERT_TRUE(Is(STI_OK, RunOn(walked, "the movie"), error_));
    for (sti_model* model : {walked, fresh}) {
      ASSERT_TRUE(Is(STI_OK, sti_set(model, STI_TARGET_US, 1'000'000, &error_), error_));
      PlanBy(model, Profile(100), options);
    }
    ExpectSame(walked, fresh);
    sti_close(walked);
    sti_close(fresh);
  }
}

// Runs show that layers take far longer than one profile says. Another profile knows nothing of
// that, and a plan from elsewhere counts on the profile as it is.
TEST_F(PlanAgain, DriftEndsWithTheProfileAndThePlanThatItIsOf) {
  const Values options = {{STI_TARGET_US, 1'000'000'000}};
  const std::vector<uint32_t> ids(30, 3);
  for (const bool other_profile : {false, true}) {
    sti_model* const walked = Another();
    PlanBy(walked, Profile(1e-3), options);
    for (int run = 0; run < 8; ++run)
      ASSERT_TRUE(Is(STI_OK, sti_run_ids(walked, ids.data(), ids.size(), &error_), error_));
    ASSERT_GT(sti_stat(walked, STI_COMPUTE_DRIFT), 2);
    const std::string profile = Profile(other_profile ? 1000 : 1e-3);
    if (other_profile)
      PlanBy(walked, profile, options);
    else
      GiveTo(walked, STI_PLAN, PlanAt(4));
    EXPECT_EQ(sti_stat(walked, STI_COMPUTE_DRIFT), 1);
    ASSERT_TRUE(Is(STI_OK, sti_plan(walked, &error_), error_));
    sti_model* const fresh = Another();
    PlanBy(fresh, profile, options);
    ExpectSame(walked, fresh);
    sti_close(walked);
    sti_close(fresh);
  }
}

}  // namespace
}  // namespace sti
