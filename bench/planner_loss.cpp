// planner-loss MODEL PROFILE IMPORTANCE: how far plans for a real model are from the best there is.
//
// The model's shards, the profile's layer times and the importance file's values are real; flash is
// 80 MiB/s with 20 us a read. Times are rounded to 10 us, so that the exact solver of the tests can
// tell the best.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/utf8.h"
#include "format/importance_file.h"
#include "format/profile_file.h"
#include "io/container_file.h"
#include "plan/exact_plan.h"
#include "plan/search/joint.h"

namespace sti {
namespace {

constexpr double kGridUs = 10;
constexpr uint64_t kBlock = 4096;

std::string ReadAll(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

template <typename Value>
Result<Value> Parsed(const char* path,
                     Result<Value> (*parse)(std::span<const uint8_t>, const std::string&)) {
  const std::string bytes = ReadAll(path);
  return parse(AsBytes(bytes), path);
}

double OnGrid(double time_us) { return kGridUs * std::ceil(time_us / kGridUs); }

/// The profile with every time on the grid, and 50 us a block of flash.
DeviceProfile Rounded(DeviceProfile profile, const ShardCatalog& catalog) {
  profile.io.clear();
  const uint64_t most = *std::max_element(catalog.read_bytes.begin(), catalog.read_bytes.end());
  for (const uint64_t blocks : {uint64_t{1}, most / kBlock}) {
    const double load_us = 20 + 50 * static_cast<double>(blocks);
    profile.io.push_back({blocks * kBlock, 0, load_us, load_us});
  }
  for (ComputeSample& sample : profile.compute) {
    sample.layer_us = sample.p99_us = OnGrid(sample.layer_us);
    if (sample.last_us > 0) sample.last_us = sample.last_p99_us = OnGrid(sample.last_us);
  }
  for (FixedSample& sample : profile.fixed) {
    sample = {sample.length, OnGrid(sample.embed_us), OnGrid(sample.embed_io_us),
              OnGrid(sample.head_us)};
  }
  return profile;
}

Status Measure(char** paths) {
  STI_ASSIGN_OR_RETURN(const ContainerFile file, ContainerFile::Open(paths[1]));
  STI_ASSIGN_OR_RETURN(DeviceProfile measured, Parsed(paths[2], ParseProfile));
  STI_ASSIGN_OR_RETURN(const Importance importance, Parsed(paths[3], ParseImportance));
  const ShardCatalog catalog = CatalogOf(file.index());
  const DeviceProfile profile = Rounded(std::move(measured), catalog);
  STI_ASSIGN_OR_RETURN(
      const CheckedInput input,
      CheckedInput::Make({file.index().info, catalog, profile, &importance, {}, {}, {}}));
  test::Missed shipped;
  test::Missed paper;
  int late = 0;
  for (const double target_us : {10e3, 20e3, 30e3, 50e3, 80e3, 120e3}) {
    for (const uint64_t preload : {uint64_t{0}, uint64_t{64} << 10, uint64_t{256} << 10}) {
      PlanRequest request;
      request.target_us = target_us;
      request.preload_bytes = preload;
      STI_ASSIGN_OR_RETURN(const PlanningContext context,
                           PlanningContext::Make(input, request, {.length = 64}, nullptr));
      const double best = test::LeastLossOfAny(context, kGridUs, kBlock);
      const auto feasible = context.ComputeFeasible();
      const auto chosen = ChooseJointly(context, feasible);
      if (!chosen || best == test::kNever) continue;
      // Misses are shares of what lies between the worst that fits and the best.
      double worst = best;
      for (const Submodel& submodel : feasible)
        worst = std::max(worst, context.value.FullLoss(submodel.depth, submodel.width) +
                                    context.value.Damage(submodel.depth, submodel.width));
      shipped.Add((chosen->loss - best) / (worst - best));
      const Submodel first = LargestThenDeepest(feasible, request.similar);
      Allocation printed = context.AllocationOf(first);
      std::printf("%4.0f ms %3llu KiB: %-6s loss %.4f, best %.4f, two stages %s", target_us / 1e3,
                  static_cast<unsigned long long>(preload >> 10), NameOf(chosen->submodel).c_str(),
                  chosen->loss, best, NameOf(first).c_str());
      if (SetHighestUniform(&printed)) {
        RaiseToHighest(&printed, context.ShardOrder(first));
        std::printf(" loss %.4f\n", context.LossOf(printed));
        paper.Add((context.LossOf(printed) - best) / (worst - best));
      } else {
        std::printf(" too late\n");
        ++late;
      }
    }
  }
  shipped.Print("shipped, of the range of losses");
  paper.Print("two stages as printed");
  std::printf("two stages as printed miss T in %d of %d cases\n", late, shipped.cases);
  return {};
}

}  // namespace
}  // namespace sti

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: planner-loss MODEL PROFILE IMPORTANCE\n");
    return 2;
  }
  const sti::Status status = sti::Measure(argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "planner-loss: %s\n", status.error().Message().c_str());
  return 1;
}
