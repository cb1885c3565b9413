#include "plan/device_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "support/expect.h"

namespace sti {
namespace {

DeviceProfile Profile() {
  DeviceProfile profile;
  profile.io = {{4096, 0, 100, 150}, {8192, 0, 200, 250}, {16384, 0, 300, 450}};
  profile.compute = {
      {32, 2, 10, 11, 0}, {32, 4, 20, 22, 0}, {128, 2, 40, 44, 0}, {128, 4, 80, 88, 0}};
  profile.fixed = {{32, 1, 2, 3}, {128, 4, 5, 6}};
  return profile;
}

TEST(DeviceModel, SmallestLengthThatHoldsTheInputCounts) {
  auto model = DeviceModel::Make(Profile(), 33, Risk::kMedian);
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->length(), 128u);
  EXPECT_EQ(model->LayerUs(2), 40);
  EXPECT_EQ(model->fixed().embed_io_us, 5);
  EXPECT_EQ(DeviceModel::Make(Profile(), 32, Risk::kP99)->LayerUs(4), 22);
  auto longer = DeviceModel::Make(Profile(), 129, Risk::kMedian);
  ASSERT_FALSE(longer.ok());
  EXPECT_EQ(longer.error().kind, ErrorKind::kUsage);
  EXPECT_NE(longer.error().Message().find("32,128"), std::string::npos);
  EXPECT_EQ(LongestProfiledLength(Profile()), 128u);
}

TEST(DeviceModel, WidthsBetweenAreInterpolatedOnlyWhenToldTo) {
  auto model = DeviceModel::Make(Profile(), 32, Risk::kMedian);
  EXPECT_FALSE(model->LayerUs(3));
  EXPECT_EQ(model->narrowest(), 2u);
  model = DeviceModel::Make(Profile(), 32, Risk::kMedian, {0, true});
  EXPECT_DOUBLE_EQ(*model->LayerUs(3), 15);
  EXPECT_FALSE(model->LayerUs(1));
  EXPECT_FALSE(model->LayerUs(5));
}

TEST(DeviceModel, LastLayerTakesAsLongAsAnyOtherUnlessTheProfileSaysMore) {
  DeviceProfile profile = Profile();
  EXPECT_EQ(DeviceModel::Make(profile, 128, Risk::kP99)->LastLayerUs(4), 88);
  profile.compute[0].last_p99_us = 900;  // of nothing
  EXPECT_EQ(DeviceModel::Make(profile, 32, Risk::kP99)->LastLayerUs(2), 11);
  profile.compute[2].last_us = 7;
  profile.compute[3].last_us = 17;
  profile.compute[3].last_p99_us = 19;
  for (const Risk risk : {Risk::kMedian, Risk::kP99}) {
    const auto model = DeviceModel::Make(profile, 128, risk, {0, true});
    ASSERT_TRUE(model.ok());
    EXPECT_EQ(model->LastLayerUs(2), 7);
    EXPECT_EQ(model->LastLayerUs(4), risk == Risk::kP99 ? 19 : 17);
    EXPECT_EQ(model->LastLayerUs(3), risk == Risk::kP99 ? 13 : 12);
    EXPECT_EQ(model->LayerUs(4), risk == Risk::kP99 ? 88 : 80);
    EXPECT_FALSE(model->LastLayerUs(5));
  }
}

TEST(DeviceModel, HighestFrequencyCounts) {
  DeviceProfile profile = Profile();
  profile.compute = {{32, 2, 30, 30, 1000}, {32, 2, 10, 10, 2000}, {32, 2, 12, 12, 2000}};
  EXPECT_EQ(DeviceModel::Make(profile, 32, Risk::kMedian)->LayerUs(2), 12);
  EXPECT_EQ(DeviceModel::Make(profile, 32, Risk::kMedian, {1999, false})->LayerUs(2), 30);
  EXPECT_EQ(DeviceModel::Make(profile, 32, Risk::kMedian, {2000, false})->LayerUs(2), 12);
  const auto none = DeviceModel::Make(profile, 32, Risk::kMedian, {999, false});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::kUsage);
}

TEST(DeviceModel, MoreWorkInLessTimeIsRefusedByName) {
  const auto refused = [](const std::function<void(DeviceProfile&)>& spoil) -> std::string {
    DeviceProfile profile = Profile();
    spoil(profile);
    const Status status = ValidateProfile(profile);
    return status.ok() ? "" : status.error().Message();
  };
  EXPECT_EQ(refused([](DeviceProfile&) {}), "");
  const auto holds = [](const std::string& message, const char* words) {
    return message.find(words) != std::string::npos;
  };
  EXPECT_TRUE(holds(refused([](DeviceProfile& p) {
                      p.compute = {{32, 4, 9, 9, 0}, {32, 2, 10, 10, 0}};
                    }),
                    "compute[0].layer_us is less than that of less work, compute[1]"));
  EXPECT_TRUE(holds(refused([](DeviceProfile& p) {
                      p.compute = {{32, 2, 10, 10, 0}, {64, 2, 9, 12, 0}};
                    }),
                    "compute[1].layer_us is less"));
  EXPECT_TRUE(holds(refused([](DeviceProfile& p) {
                      p.compute = {{32, 2, 10, 14, 0}, {64, 2, 11, 13, 0}};
                    }),
                    "compute[1].p99_us is less"));
  EXPECT_TRUE(holds(refused([](DeviceProfile& p) {
                      p.io = {{0, 2, 10, 10}, {0, 3, 9, 9}};
                    }),
                    "io[1].load_us is less than that of less work, io[0]"));
  EXPECT_TRUE(holds(refused([](DeviceProfile& p) {
                      p.io = {{100, 0, 10, 9}};
                    }),
                    "io[0].p99_us is below the median"));
  // Another clock is another machine; a p99 of 0 was not measured.
  EXPECT_EQ(refused([](DeviceProfile& p) {
              p.compute = {{32, 2, 10, 0, 2000}, {32, 4, 9, 0, 3000}};
            }),
            "");
}

TEST(DeviceModel, IoByBytesIsPiecewiseLinear) {
  auto model = DeviceModel::Make(Profile(), 32, Risk::kMedian);
  EXPECT_DOUBLE_EQ(*model->LoadUs(6, 8192), 200);
  EXPECT_DOUBLE_EQ(*model->LoadUs(6, 6144), 150);
  EXPECT_DOUBLE_EQ(*model->LoadUs(6, 12288), 250);
  EXPECT_DOUBLE_EQ(*model->LoadUs(6, 24576), 400);
  EXPECT_DOUBLE_EQ(*model->LoadUs(6, 2048), 50);
  EXPECT_DOUBLE_EQ(*DeviceModel::Make(Profile(), 32, Risk::kP99)->LoadUs(2, 8192), 250);
}

TEST(DeviceModel, NeverBelowZeroAndOneSampleIsABandwidth) {
  DeviceProfile profile = Profile();
  profile.io = {{1000, 0, 10, 10}, {2000, 0, 110, 110}};
  EXPECT_EQ(*DeviceModel::Make(profile, 32, Risk::kMedian)->LoadUs(2, 500), 0);
  profile.io = {{1000, 0, 10, 10}};
  EXPECT_DOUBLE_EQ(*DeviceModel::Make(profile, 32, Risk::kMedian)->LoadUs(2, 2500), 25);
}

TEST(DeviceModel, IoByBitsIsTakenAsWritten) {
  DeviceProfile profile = Profile();
  profile.io = {{0, 2, 7, 0}, {0, 6, 9, 12}};
  auto model = DeviceModel::Make(profile, 32, Risk::kP99);
  EXPECT_EQ(model->LoadUs(2, 123), 7);  // a p99 that was not measured is the median
  EXPECT_EQ(model->LoadUs(6, 1), 12);
  EXPECT_FALSE(model->LoadUs(32, 1));
}

TEST(DeviceModel, FixedMayBeMissing) {
  DeviceProfile profile = Profile();
  profile.fixed.clear();
  EXPECT_EQ(DeviceModel::Make(profile, 32, Risk::kP99)->fixed().compute_us(), 0);
  profile.fixed = {{16, 1, 1, 1}};
  EXPECT_EQ(DeviceModel::Make(profile, 32, Risk::kP99).error().kind, ErrorKind::kDamaged);
}

TEST(DeviceModel, FixedTimesFollowTheRisk) {
  DeviceProfile profile = Profile();
  profile.fixed = {{32, 1, 2, 3, 10, 20, 0}};  // the last was not measured
  const FixedTimes median = DeviceModel::Make(profile, 32, Risk::kMedian)->fixed();
  EXPECT_EQ(median.compute_us(), 4);
  EXPECT_EQ(median.embed_io_us, 2);
  const FixedTimes p99 = DeviceModel::Make(profile, 32, Risk::kP99)->fixed();
  EXPECT_EQ(p99.compute_us(), 13);
  EXPECT_EQ(p99.embed_io_us, 20);
}

// On the line through the shortest length and the first that is twice as long, two words before
// none.
TEST(DeviceModel, RowsTakeATimeToBeginWhateverTheirNumber) {
  const auto start_us = [](std::vector<FixedSample> fixed, Risk risk = Risk::kMedian) {
    DeviceProfile profile = Profile();
    profile.fixed = std::move(fixed);
    return DeviceModel::Make(profile, 16, risk)->fixed().embed_io_start_us;
  };
  const std::vector<FixedSample> three = {
      {16, 1, 100, 1, 1, 300}, {24, 1, 130, 1}, {32, 1, 180, 1}};
  EXPECT_DOUBLE_EQ(start_us(three), 10);
  EXPECT_DOUBLE_EQ(start_us(three, Risk::kP99), 10);
  EXPECT_EQ(start_us({{16, 1, 100, 1}, {24, 1, 130, 1}}), 0) << "too near each other";
  EXPECT_EQ(start_us({{16, 1, 100, 1}}), 0);
  EXPECT_EQ(start_us({{16, 1, 10, 1}, {32, 1, 90, 1}}), 0) << "not less than nothing";
  EXPECT_EQ(start_us({{16, 1, 100, 1}, {32, 1, 90, 1}}), 100) << "not more than all of it";
}

DeviceProfile WithSeries() {
  DeviceProfile profile = Profile();
  profile.fixed = {{32, 1, 2, 3, 10, 20, 30}, {128, 4, 5, 6}};
  profile.io_series = {{1000, 1500}, {3000, 3600}};
  profile.compute_series = {{2000, 4000}};
  return profile;
}

TEST(DeviceModels, SeriesTellThe99thPercentileOfARun) {
  const auto models = [](double target_us) {
    return *DeviceModels::Make(WithSeries(), 32, 0, Judging(), target_us);
  };
  struct Case {
    double target_us;
    double io_ratio;
  };
  // Shorter and longer runs have the ratio of the nearest series, others lie on a line.
  for (const auto& [target_us, io_ratio] :
       {Case{10, 1.5}, Case{1000, 1.5}, Case{2000, 1.35}, Case{3000, 1.2}, Case{1e9, 1.2}}) {
    const DeviceModels device = models(target_us);
    EXPECT_DOUBLE_EQ(*device.p99.LoadUs(2, 8192), 200 * io_ratio);
    EXPECT_DOUBLE_EQ(*device.p99.LoadUs(2, 12288), 250 * io_ratio);
    EXPECT_DOUBLE_EQ(*device.p99.LayerUs(4), 2.0 * 20);
    EXPECT_DOUBLE_EQ(*device.p99.LastLayerUs(4), 2.0 * 20);
    EXPECT_DOUBLE_EQ(device.p99.fixed().compute_us(), 2.0 * 4);
    EXPECT_EQ(device.p99.fixed().embed_io_us, 20);  // rows have their own
    EXPECT_EQ(*device.median.LoadUs(2, 8192), 200);
    EXPECT_EQ(device.median.fixed().embed_io_us, 2);
  }
  // Without a target runs are as short as any; later one may say how long they are.
  const DeviceModels any = *DeviceModels::Make(WithSeries(), 32, 0, Judging(), std::nullopt);
  EXPECT_DOUBLE_EQ(*any.p99.LoadUs(2, 8192), 300);
  EXPECT_DOUBLE_EQ(*any.ForRunsOf(3000, WithSeries()).p99.LoadUs(2, 8192), 240);
}

TEST(DeviceModel, BitsAddToALayerWhatTheProfileSays) {
  DeviceProfile profile = Profile();
  profile.decode = {{2, -1.5}, {32, 2}, {32, 2.5}};
  const auto model = DeviceModel::Make(profile, 32, Risk::kP99);
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->DecodeUs(2), -1.5);
  EXPECT_EQ(model->DecodeUs(6), 0);
  EXPECT_EQ(model->DecodeUs(32), 2.5) << "the slower counts";
  EXPECT_EQ(model->LayerUs(4), 22) << "whatever the bits";
  EXPECT_EQ(model->SlowestLayerUs(4), 32);
  EXPECT_EQ(model->SlowestLayerUs(3), std::nullopt);
  EXPECT_EQ(DeviceModel::Make(Profile(), 32, Risk::kP99)->SlowestLayerUs(4), 22);
  EXPECT_EQ(model->Slowed(1, 3, 0).DecodeUs(32), 7.5);
}

TEST(DeviceModel, BitsAddWhatTheyDoAtTheClockInUse) {
  DeviceProfile profile = Profile();
  for (ComputeSample& sample : profile.compute) sample.freq = 1000;
  profile.decode = {{2, -1, 2000}, {2, -2, 1000}, {3, -0.5, 2000}};
  const auto at = [&](uint64_t freq) {
    return *DeviceModel::Make(profile, 32, Risk::kMedian, {freq, false});
  };
  EXPECT_EQ(at(0).DecodeUs(2), -1);
  EXPECT_EQ(at(1999).DecodeUs(2), -2);
  EXPECT_EQ(at(1999).DecodeUs(3), 0) << "not known there";
  EXPECT_EQ(at(2000).DecodeUs(3), -0.5);
}

TEST(DeviceModel, NoBitsLeaveALayerWithoutTime) {
  DeviceProfile profile = Profile();
  profile.decode = {{2, -1}, {3, -6}};  // of two slices that take 10
  EXPECT_TRUE(FailedWith(ValidateProfile(profile), ErrorKind::kDamaged,
                         "decode[1].extra_us takes off all that a layer takes"));
  profile.decode = {{2, std::nan("")}};
  EXPECT_TRUE(FailedWith(ValidateProfile(profile), ErrorKind::kDamaged,
                         "decode[0].extra_us is not a finite number"));
  profile.decode = {{2, -1}, {32, 1e9}};
  EXPECT_TRUE(ValidateProfile(profile).ok());
  profile.compute[0].last_us = 1;
  EXPECT_FALSE(ValidateProfile(profile).ok()) << "a last layer too";
}

// As many samples as a file may have; compared pair by pair they would take a minute.
TEST(DeviceModel, ListsMayBeLong) {
  DeviceProfile profile = Profile();
  profile.compute.resize(65536, {128, 4, 80, 88, 0});
  profile.decode.assign(65536, {2, -1});
  ASSERT_TRUE(ValidateProfile(profile).ok());
  const auto model = DeviceModel::Make(profile, 128, Risk::kP99);
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->LayerUs(4), 88);
  EXPECT_EQ(model->DecodeUs(2), -1);
}

TEST(DeviceModels, WithoutSeriesItemsHaveTheirOwn) {
  for (const double target_us : {10.0, 1e6}) {
    const auto device = DeviceModels::Make(Profile(), 32, 0, Judging(), target_us);
    ASSERT_TRUE(device.ok());
    EXPECT_EQ(device->p99.LoadUs(2, 8192), 250);
    EXPECT_EQ(device->p99.LayerUs(4), 22);
  }
}

TEST(DeviceModels, SeriesThatCannotBeAreNamed) {
  using List = std::vector<SeriesSample>;
  const double nan = std::nan("");
  struct Case {
    List io;
    List compute;
    const char* words;
  };
  const Case cases[] = {
      {{{1000, 1500}}, {}, "one of io_series and compute_series is missing"},
      {{}, {{1000, 1500}}, "one of io_series and compute_series is missing"},
      {{{1000, 1500}}, {{1000, 999}}, "compute_series[0].p99_us is below the median"},
      {{{1000, 1500}, {1000, 1500}}, {{1, 2}}, "io_series[1].median_us does not ascend"},
      {{{1000, 1500}, {2000, 3001}},
       {{1, 2}},
       "io_series[1].p99_us is more of its median than that of a shorter series"},
      {{{nan, 1500}}, {{1, 2}}, "io_series[0].median_us is not a finite"},
      {{{1000, nan}}, {{1, 2}}, "io_series[0].p99_us is not a finite"},
      {{{0, 1500}}, {{1, 2}}, "io_series[0].median_us is 0"},
  };
  for (const auto& [io, compute, words] : cases) {
    DeviceProfile profile = Profile();
    profile.io_series = io;
    profile.compute_series = compute;
    EXPECT_TRUE(FailedWith(ValidateProfile(profile), ErrorKind::kDamaged, words));
  }
  EXPECT_TRUE(ValidateProfile(WithSeries()).ok());
}

TEST(DeviceModel, BadNumbersAreNamed) {
  struct Case {
    std::function<void(DeviceProfile&)> spoil;
    const char* words;
  };
  const double nan = std::nan("");
  const double inf = std::numeric_limits<double>::infinity();
  const Case cases[] = {
      {[](DeviceProfile& p) { p.io.clear(); }, "io is missing"},
      {[](DeviceProfile& p) { p.compute.clear(); }, "compute is missing"},
      {[](DeviceProfile& p) { p.io[1].load_us = -1; }, "io[1].load_us is negative"},
      {[&](DeviceProfile& p) { p.io[2].p99_us = nan; }, "io[2].p99_us is not a finite"},
      {[](DeviceProfile& p) { p.io[0].bits = 2; }, "io[0].bytes or bits"},
      {[](DeviceProfile& p) { p.compute[3].layer_us = 0; }, "compute[3].layer_us is 0"},
      {[&](DeviceProfile& p) { p.compute[0].layer_us = inf; }, "compute[0].layer_us is not"},
      {[](DeviceProfile& p) { p.compute[0].width = 0; }, "compute[0].width is 0"},
      {[](DeviceProfile& p) { p.compute[1].last_us = -1; }, "compute[1].last_us is negative"},
      {[&](DeviceProfile& p) { p.compute[1].last_us = nan; }, "compute[1].last_us is not a finite"},
      {[](DeviceProfile& p) {
         p.compute[1].last_us = 2;
         p.compute[1].last_p99_us = 1;
       },
       "compute[1].last_p99_us is below the median"},
      {[](DeviceProfile& p) {
         p.compute[0].last_us = 3;
         p.compute[1].last_us = 2;
       },
       "compute[1].last_us is less than that of less work, compute[0]"},
      {[](DeviceProfile& p) { p.fixed[1].head_us = -2; }, "fixed[1].head_us is negative"},
      {[&](DeviceProfile& p) { p.fixed[0].embed_p99_us = nan; }, "fixed[0].embed_p99_us is not"},
      {[](DeviceProfile& p) { p.fixed[1].head_p99_us = 5; }, "fixed[1].head_p99_us is below the"},
      {[](DeviceProfile& p) { p.start_us = -1; }, "start_us is not from 0 to 10^9"},
  };
  for (const Case& c : cases) {
    DeviceProfile profile = Profile();
    c.spoil(profile);
    const Status status = ValidateProfile(profile);
    ASSERT_FALSE(status.ok()) << c.words;
    EXPECT_EQ(status.error().kind, ErrorKind::kDamaged);
    EXPECT_NE(status.error().Message().find(c.words), std::string::npos)
        << status.error().Message();
  }
}

}  // namespace
}  // namespace sti
