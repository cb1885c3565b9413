// Makes files of at most 1 MB that would be as large as they can be once they are read:
// hostile-files FOLDER; or a sound importance that is as large as one may be: hostile-files --large
// FILE. Checksums are right. Offsets of a FlatBuffer may name one table or one list many times;
// JSON has the least text for the most values. tests/cli/hostile-files.bats gives them to the
// tools.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "format/importance_file.h"
#include "format/shared_lists.h"
#include "importance_generated.h"
#include "plan_generated.h"
#include "profile_generated.h"

namespace {

using sti::test::Builder;
using sti::test::Repeated;
namespace fb = sti::fb;

constexpr size_t kMostBytes = 1'000'000;

template <typename T>
using Many = std::vector<flatbuffers::Offset<T>>;

std::string AsText(const std::vector<uint8_t>& file) { return {file.begin(), file.end()}; }

std::string Framed(std::string_view magic, const Builder& builder) {
  return AsText(sti::test::Framed(magic, builder));
}

/// An importance of 2 x 2 shards with what `add` makes of its builder.
template <typename Make>
std::string ImportanceWith(const Make& make) {
  Builder builder;
  const auto model = Repeated<uint8_t>(builder, 16, 1);
  const auto metric = builder.CreateString("accuracy");
  const auto scores = Repeated(builder, 4, 0.5);
  const auto add = make(builder);
  fb::ImportanceBuilder importance(builder);
  importance.add_model(model);
  importance.add_metric(metric);
  importance.add_layers(2);
  importance.add_width(2);
  importance.add_scores(scores);
  add(importance);
  builder.Finish(importance.Finish());
  return Framed(sti::kImportanceMagic, builder);
}

std::string Cascades(size_t cascades, size_t cuts) {
  return ImportanceWith([&](Builder& builder) {
    const auto levels = builder.CreateVector(std::vector<uint32_t>{0, 1});
    const auto ones = Repeated(builder, cuts, 1.0);
    const auto halves = Repeated(builder, 2 * cuts, 0.5);
    const auto zeros = Repeated(builder, cuts, 0.0);
    const auto cascade = fb::CreateCascadeScore(builder, levels, 0, ones, zeros, ones, halves,
                                                halves, ones, ones, zeros);
    const auto list = builder.CreateVector(Many<fb::CascadeScore>(cascades, cascade));
    const auto level = [&](uint32_t width) {
      return fb::CreateCascadeLevelScore(builder, 1, width, 2, 0.5, 1);
    };
    const auto both = builder.CreateVector(Many<fb::CascadeLevelScore>{level(1), level(2)});
    return [=](fb::ImportanceBuilder& importance) {
      importance.add_cascade_levels(both);
      importance.add_cascades(list);
    };
  });
}

std::string Words() {
  return ImportanceWith([](Builder& builder) {
    const auto numbers = Repeated<uint32_t>(builder, 80'000, 1);
    const auto shares = Repeated(builder, 80'000, 0.5);
    return [=](fb::ImportanceBuilder& importance) {
      importance.add_words(numbers);
      importance.add_row_lengths(numbers);
      importance.add_row_words(numbers);
      importance.add_row_shares(shares);
      importance.add_row_p99_shares(shares);
    };
  });
}

std::string Submodels() {
  return ImportanceWith([](Builder& builder) {
    const auto one = fb::CreateSubmodelScore(builder, 1, 1, 2, 0.5, 0.5);
    const auto list = builder.CreateVector(Many<fb::SubmodelScore>(249'000, one));
    return [=](fb::ImportanceBuilder& importance) { importance.add_submodels(list); };
  });
}

/// A profile in which one layer, or one series, stands as often as fits.
std::string Profile(bool layers) {
  Builder builder;
  const auto layer = fb::CreateComputeSample(builder, 8, 1, 10);
  const auto series = fb::CreateSeriesSample(builder, 10, 20);
  const auto io =
      builder.CreateVector(Many<fb::IoSample>{fb::CreateIoSample(builder, 4096, 0, 10)});
  const auto compute = builder.CreateVector(Many<fb::ComputeSample>(layers ? 249'000 : 1, layer));
  const auto list = builder.CreateVector(Many<fb::SeriesSample>(layers ? 1 : 249'000, series));
  fb::ProfileBuilder profile(builder);
  profile.add_io(io);
  profile.add_compute(compute);
  profile.add_io_series(list);
  profile.add_compute_series(list);
  builder.Finish(profile.Finish());
  return Framed(sti::kProfileMagic, builder);
}

/// A plan of 900 layers of 256 slices in which all rows are one, and so are 64 variants or turns.
std::string Plan(bool variants) {
  constexpr size_t kRows = 900;
  constexpr uint32_t kWidth = 256;
  Builder builder;
  const auto model = Repeated<uint8_t>(builder, 16, 1);
  std::vector<uint32_t> numbers(kRows);
  std::iota(numbers.begin(), numbers.end(), 0U);
  const auto layers = builder.CreateVector(numbers);
  const auto slices = builder.CreateVector(numbers.data(), kWidth);
  const auto twos = Repeated<uint32_t>(builder, kWidth, 2);
  const auto rows =
      builder.CreateVector(std::vector(kRows, fb::CreatePlanRow(builder, slices, twos)));
  const auto bits = Repeated<uint32_t>(builder, variants ? 1 : kRows * kWidth, 2);
  const auto turns =
      builder.CreateVector(std::vector(variants ? 0 : 64, fb::CreatePlanTurn(builder, bits)));
  const auto plan_of = [&](auto others) {
    fb::PlanBuilder plan(builder);
    plan.add_model(model);
    plan.add_length(8);
    plan.add_width(kWidth);
    plan.add_layers(layers);
    plan.add_rows(rows);
    plan.add_variants(others);
    return plan;
  };
  const auto none = builder.CreateVector(Many<fb::Plan>());
  auto variant = plan_of(none);
  const auto one = variant.Finish();
  const auto list = builder.CreateVector(Many<fb::Plan>(variants ? 64 : 0, one));
  auto plan = plan_of(list);
  plan.add_turns(turns);
  builder.Finish(plan.Finish());
  return Framed(sti::kPlanMagic, builder);
}

/// A JSON object with these fields, then a list of as many items as fit.
std::string Json(const std::string& fields, const char* list, const std::string& item) {
  std::string text = "{" + fields + "\"" + list + "\":[" + item;
  while (text.size() + item.size() + 4 < kMostBytes) text += "," + item;
  return text + "]}";
}

/// An importance of almost 64 MiB: as many cascades as there may be, whose cuts take more memory
/// than any other part of an importance takes for its size.
sti::Importance LargeImportance() {
  constexpr size_t kCascades = 4096;
  constexpr size_t kCuts = 195;
  sti::Importance importance;
  importance.model.bytes[0] = 1;
  importance.metric = sti::Metric::kLoss;
  importance.layers = 2;
  importance.width = 2;
  importance.scores = {1, 2, 3, 4};
  for (uint32_t width = 1; width <= 2; ++width)
    importance.cascade_levels.push_back({1, width, 2, 0.5, 1, 0.5, 0.5, 0.5, 0.5});
  const sti::CascadeCut cut{0.5, 4, {1}, {0.5, 0.5}, {0.5, 0.5}, 0.5, {1}, 0.25};
  importance.cascades.assign(kCascades, {{0, 1}, 0, std::vector<sti::CascadeCut>(kCuts, cut)});
  return importance;
}

int WriteLarge(const char* path) {
  const auto bytes = sti::EncodeImportance(LargeImportance());
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return file.flush() ? 0 : 1;
}

bool Write(const std::string& folder, const char* name, const std::string& content) {
  if (content.size() > kMostBytes) {
    std::fprintf(stderr, "%s has %zu bytes\n", name, content.size());
    return false;
  }
  std::ofstream file(folder + "/" + name, std::ios::binary);
  file << content;
  std::printf("%s\n", name);
  return static_cast<bool>(file.flush());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--large") return WriteLarge(argv[2]);
  if (argc != 2) return 2;
  const std::string folder = argv[1];
  const std::string importance =
      R"("model":"000102030405060708090a0b0c0d0e0f","metric":"loss","layers":1,"width":1,)"
      R"("scores":[[1]],)";
  const std::string plan = R"("model":"000102030405060708090a0b0c0d0e0f","length":8,"width":1,)";
  const std::string io = R"("io":[{"bits":2,"load_us":1}],)";
  const bool written =
      Write(folder, "cascades.importance", Cascades(100'000, 256)) &&
      Write(folder, "within-limits.importance", Cascades(4096, 256)) &&
      Write(folder, "words.importance", Words()) &&
      Write(folder, "submodels.importance", Submodels()) &&
      Write(folder, "tallies.part", AsText(sti::test::PartOfTwoLists(160))) &&
      Write(folder, "layers.profile", Profile(true)) &&
      Write(folder, "series.profile", Profile(false)) &&
      Write(folder, "variants.plan", Plan(true)) && Write(folder, "turns.plan", Plan(false)) &&
      Write(folder, "lists.plan.json", Json(plan, "layers", "[]")) &&
      Write(folder, "numbers.plan.json", Json(plan, "words", "1")) &&
      Write(folder, "objects.plan.json", Json(plan, "variants", "{}")) &&
      Write(folder, "objects.profile.json", Json(io, "compute", "{}")) &&
      Write(folder, "unknown.profile.json",
            Json(io, "compute", R"({"length":8,"width":1,"layer_us":1,"a":{},"b":{}})")) &&
      Write(folder, "cuts.importance.json",
            Json(importance, "cascades", R"({"levels":[0,0],"alpha":0,"cuts":[]})")) &&
      Write(folder, "lists.importance.json", Json(importance, "losses", "[]"));
  return written ? 0 : 1;
}
