// partition-tables: EdgePipe's clusters (Table 4, Figures 3 and 6), partitioned by BestPartition
// and as its baselines do, GPipe evenly and PipeDream for devices that are alike. Prints tables for
// docs/measured/partition.md.
//
// All is simulated. A transformer layer is four parts: attention with its projections, of 3/12 of
// the layer's time, attention's output, 1/12, and the two maps of the FFN, 4/12 each; behind them
// 2d, d, 5d and d floats a token are sent. One part of ViT-Base, the second map of its eleventh
// layer, takes half of the whole, which is what the printed rates imply. A part is a layer to
// BestPartition. A device holds weights in all of its memory but 1 GB, and two devices are linked
// at the rate of the slower one.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/samples.h"
#include "plan/partition.h"
#include "support/random.h"

namespace sti {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr uint32_t kPartsOfLayer = 4;
constexpr std::array<double, kPartsOfLayer> kTwelfths = {3, 1, 4, 4};
constexpr std::array<double, kPartsOfLayer> kWidthsSent = {2, 1, 5, 1};
constexpr double kSystemGb = 1;  // of a device's memory, that is not for weights
constexpr int kOrders = 10;

enum Board : uint8_t { kRccVe, kMinnow };

struct Model {
  const char* name;
  uint32_t layers;
  uint32_t hidden;
  uint32_t tokens;
  double images_per_s[2];  // of one device, by board; of what fits on none scaled from more
  bool is_uneven;          // one part takes half of the time
};

constexpr Model kBase = {"Base", 12, 768, 197, {0.41, 0.32}, true};
constexpr Model kLarge = {"Large", 24, 1024, 197, {0.23, 0.13}, false};
constexpr Model kHuge = {"Huge", 32, 1280, 257, {0.085, 0.049}, false};
constexpr const Model* kModels[] = {&kBase, &kLarge, &kHuge};

// Devices that are alike.
struct Kind {
  uint32_t count;
  Board board;
  double cpu;  // share of the processor
  double memory_gb;
  double mbit_per_s;
};

// A cluster of Table 4, and the images a second that Figure 5's text has, of each model.
struct Case {
  std::vector<Kind> kinds;
  std::array<double, 3> printed;  // EdgePipe's
  std::array<const char*, 3> printed_gpipe;
  std::array<const char*, 3> printed_pipedream;
};

const Case kCases[] = {
    {{{8, kRccVe, 1, 8, 1000}, {8, kMinnow, 1, 2, 1000}},
     {0.82, 2.23, 0.88},
     {"0.57 to 0.76", "1.99", "0.81"},
     {"0.64 to 0.82", "1.99", "0.81"}},
    {{{4, kRccVe, 1, 8, 1000},
      {4, kRccVe, 0.75, 4, 1000},
      {4, kRccVe, 0.25, 4, 1000},
      {4, kMinnow, 1, 2, 1000}},
     {0.82, 1.69, 0.67},
     {"0.47 to 0.75", "0.76", "0.31"},
     {"0.50 to 0.82", "0.76", "0.31"}},
    {{{8, kRccVe, 1, 8, 40}, {8, kMinnow, 1, 2, 10}},
     {0.78, 1.37, 0.53},
     {"0.29 to 0.32", "1.02", "0.44"},
     {"0.32 to 0.38", "1.02", "0.44"}},
    {{{4, kRccVe, 1, 8, 30}, {4, kRccVe, 1, 8, 20}, {4, kMinnow, 1, 2, 10}, {4, kMinnow, 1, 2, 5}},
     {0.63, 1.05, 0.51},
     {"0.16 to 0.20", "0.55", "0.31"},
     {"0.18 to 0.32", "0.55", "0.31"}},
    {{{3, kRccVe, 1, 8, 50}, {8, kRccVe, 0.1, 4, 20}, {5, kMinnow, 1, 2, 30}},
     {0.73, 0.99, 0.39},
     {"0.22 to 0.66", "0.26", "0.10"},
     {"0.26 to 0.69", "0.26", "0.10"}},
    {{{2, kRccVe, 1, 8, 100},
      {3, kRccVe, 0.75, 4, 60},
      {4, kRccVe, 0.5, 4, 40},
      {3, kRccVe, 0.25, 4, 20},
      {2, kRccVe, 0.1, 4, 10},
      {2, kMinnow, 1, 2, 80}},
     {0.80, 1.33, 0.57},
     {"0.18 to 0.48", "0.33", "0.14"},
     {"0.22 to 0.54", "0.33", "0.14"}}};

// Returns the share of the model's time that each part takes.
std::vector<double> SharesOf(const Model& model) {
  std::vector<double> shares;
  for (uint32_t part = 0; part < model.layers * kPartsOfLayer; ++part)
    shares.push_back(kTwelfths[part % kPartsOfLayer]);
  const size_t heavy = size_t{10} * kPartsOfLayer + kPartsOfLayer - 1;
  if (model.is_uneven) shares[heavy] = 0;
  const double rest = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share *= (model.is_uneven ? 0.5 : 1) / rest;
  if (model.is_uneven) shares[heavy] = 0.5;
  return shares;
}

double WeightsGb(const Model& model, uint32_t parts) {
  const double d = model.hidden;
  return 12 * d * d * sizeof(float) * parts / kPartsOfLayer / 1e9;  // of a layer 4 d d and 8 d d
}

PartitionTimes TimesOf(const Model& model, const std::vector<Kind>& kinds) {
  const std::vector<double> shares = SharesOf(model);
  const auto parts = static_cast<uint32_t>(shares.size());
  const auto count = static_cast<uint32_t>(kinds.size());
  PartitionTimes times(parts, count);
  for (uint32_t kind = 0; kind < count; ++kind) {
    const Kind& device = kinds[kind];
    const double image_us = 1e6 / (model.images_per_s[device.board] * device.cpu);
    for (uint32_t begin = 0; begin < parts; ++begin) {
      double share = 0;
      for (uint32_t end = begin + 1; end <= parts; ++end) {
        share += shares[end - 1];
        if (WeightsGb(model, end - begin) > device.memory_gb - kSystemGb) break;
        times.SetStage(begin, end, kind, share * image_us);
      }
    }
    for (uint32_t to = 0; to < count; ++to) {
      const double rate = std::min(device.mbit_per_s, kinds[to].mbit_per_s);  // bits a microsecond
      for (uint32_t end = 1; end < parts; ++end) {
        const double floats = kWidthsSent[(end - 1) % kPartsOfLayer] * model.hidden * model.tokens;
        times.SetTransfer(end, kind, to, floats * sizeof(float) * 8 / rate);
      }
    }
  }
  return times;
}

std::vector<uint32_t> CountsOf(const std::vector<Kind>& kinds) {
  std::vector<uint32_t> counts;
  for (const Kind& kind : kinds) counts.push_back(kind.count);
  return counts;
}

// Returns where GPipe's stages end: all have as many parts, or one more.
std::vector<uint32_t> EvenEnds(uint32_t parts, uint32_t stages) {
  std::vector<uint32_t> ends;
  for (uint32_t stage = 1; stage <= stages; ++stage) ends.push_back(parts * stage / stages);
  return ends;
}

// Returns where PipeDream's stages end: its dynamic programming over one level of devices that are
// alike, forward alone. They are as fast and as well linked as the cluster's are on average.
std::vector<uint32_t> PipeDreamEnds(const PartitionTimes& times,
                                    const std::vector<uint32_t>& devices) {
  const uint32_t parts = times.layers();
  const uint32_t stages = std::min(parts, std::accumulate(devices.begin(), devices.end(), 0U));
  std::vector<double> part_us(parts);
  std::vector<double> sent_us(parts);
  const double all = std::accumulate(devices.begin(), devices.end(), 0.0);
  for (uint32_t kind = 0; kind < times.kinds(); ++kind) {
    for (uint32_t i = 0; i < parts; ++i) {
      part_us[i] += times.Stage(i, i + 1, kind) * devices[kind] / all;
      if (i > 0) sent_us[i] += times.Transfer(i, kind, kind) * devices[kind] / all;
    }
  }
  std::vector<double> sums{0};
  for (const double us : part_us) sums.push_back(sums.back() + us);
  // best[m][j]: the period of the first j parts on m devices; from[m][j]: where the last begins.
  std::vector<std::vector<double>> best(stages + 1, std::vector<double>(parts + 1, kNever));
  std::vector<std::vector<uint32_t>> from(stages + 1, std::vector<uint32_t>(parts + 1));
  best[0][0] = 0;
  for (uint32_t m = 1; m <= stages; ++m) {
    for (uint32_t j = m; j <= parts; ++j) {
      for (uint32_t i = m - 1; i < j; ++i) {
        const double period_us = std::max({best[m - 1][i], sent_us[i], sums[j] - sums[i]});
        if (period_us < best[m][j]) {
          best[m][j] = period_us;
          from[m][j] = i;
        }
      }
    }
  }
  std::vector<uint32_t> ends(stages);
  for (uint32_t m = stages, j = parts; m > 0; j = from[m--][j]) ends[m - 1] = j;
  return ends;
}

struct Range {
  double least = kNever;
  double most = 0;
};

// Returns the images a second of these stages on devices in orders drawn by a seed.
Range InAnyOrder(const PartitionTimes& times, const std::vector<uint32_t>& devices,
                 const std::vector<uint32_t>& ends) {
  std::vector<uint32_t> order;
  for (uint32_t kind = 0; kind < devices.size(); ++kind)
    order.insert(order.end(), devices[kind], kind);
  TestRandom random(4);
  Range range;
  for (int i = 0; i < kOrders; ++i) {
    for (size_t left = order.size(); left > 1; --left)
      std::swap(order[left - 1], order[random.Below(left)]);
    std::vector<PartitionStage> stages;
    for (size_t s = 0; s < ends.size(); ++s)
      stages.push_back({order[s], s == 0 ? 0 : ends[s - 1], ends[s]});
    const double rate = 1e6 / PeriodOf(times, stages);
    range.least = std::min(range.least, rate);
    range.most = std::max(range.most, rate);
  }
  return range;
}

// Returns a rate with two digits that say something.
std::string Rate(double rate) {
  char text[32];
  std::snprintf(text, sizeof(text), rate < 0.1 ? "%.3f" : "%.2f", rate);
  return text;
}

std::string Text(const Range& range) {
  const std::string least = Rate(range.least);
  const std::string most = Rate(range.most);
  return least == most ? least : least + " to " + most;
}

void PrintCases() {
  std::printf(
      "| case | model | EdgePipe | printed | devices | GPipe | printed | PipeDream | printed |\n");
  std::printf("|---|---|---|---|---|---|---|---|---|\n");
  for (size_t c = 0; c < std::size(kCases); ++c) {
    for (size_t m = 0; m < std::size(kModels); ++m) {
      const Model& model = *kModels[m];
      const PartitionTimes times = TimesOf(model, kCases[c].kinds);
      const std::vector<uint32_t> devices = CountsOf(kCases[c].kinds);
      const auto best = BestPartition(times, devices);
      const uint32_t all = std::accumulate(devices.begin(), devices.end(), 0U);
      const Range even = InAnyOrder(times, devices, EvenEnds(times.layers(), all));
      const Range alike = InAnyOrder(times, devices, PipeDreamEnds(times, devices));
      std::printf("| %zu | %s | %s | %s | %zu | %s | %s | %s | %s |\n", c + 1, model.name,
                  best ? Rate(1e6 / best->period_us).c_str() : "-",
                  Rate(kCases[c].printed[m]).c_str(), best ? best->stages.size() : size_t{0},
                  Text(even).c_str(), kCases[c].printed_gpipe[m], Text(alike).c_str(),
                  kCases[c].printed_pipedream[m]);
    }
  }
}

void PrintAlike() {
  std::printf("\n| board | model | 1 | 2 | 4 | 8 | 16 |\n|---|---|---|---|---|---|---|\n");
  for (const Board board : {kRccVe, kMinnow}) {
    for (const Model* model : kModels) {
      std::printf("| %s | %s |", board == kRccVe ? "RCC-VE" : "MinnowBoard", model->name);
      for (const uint32_t count : {1U, 2U, 4U, 8U, 16U}) {
        const std::vector<Kind> kinds = {{count, board, 1, board == kRccVe ? 8.0 : 2.0, 1000}};
        const auto best = BestPartition(TimesOf(*model, kinds), {count});
        std::printf(" %s |", best ? Rate(1e6 / best->period_us).c_str() : "-");
      }
      std::printf("\n");
    }
  }
}

void PrintBandwidths() {
  constexpr double kMbits[] = {120, 60, 30, 15, 10, 5};
  std::printf("\n| board | model | devices | 120 Mbit/s | 60 | 30 | 15 | 10 | 5 |\n");
  std::printf("|---|---|---|---|---|---|---|---|---|\n");
  for (const Board board : {kRccVe, kMinnow}) {
    for (const Model* model : kModels) {
      const uint32_t count = model == &kBase ? 4 : 16;
      std::printf("| %s | %s | %u |", board == kRccVe ? "RCC-VE" : "MinnowBoard", model->name,
                  count);
      for (const double mbit : kMbits) {
        const std::vector<Kind> kinds = {{count, board, 1, board == kRccVe ? 8.0 : 2.0, mbit}};
        const auto best = BestPartition(TimesOf(*model, kinds), {count});
        std::printf(" %s |", best ? Rate(1e6 / best->period_us).c_str() : "-");
      }
      std::printf("\n");
    }
  }
}

// Returns the median of some runs, in ms.
double SolvedInMs(const PartitionTimes& times, const std::vector<uint32_t>& devices) {
  Samples samples;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    (void)BestPartition(times, devices);
    const std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - begin;
    samples.Add(taken.count());
  }
  return samples.median();
}

// Returns a model of so many parts on the devices of a case.
PartitionTimes PartsOnCase(uint32_t parts, const std::vector<Kind>& kinds) {
  Model model = kHuge;
  model.layers = (parts + kPartsOfLayer - 1) / kPartsOfLayer;
  return TimesOf(model, kinds);
}

void PrintSolver() {
  const std::vector<Kind> three = {
      {3, kRccVe, 1, 8, 100}, {3, kRccVe, 0.5, 8, 60}, {3, kMinnow, 1, 8, 30}};
  const std::vector<Kind>& sixth = kCases[5].kinds;
  std::printf("\n| cluster | parts | states | ms |\n|---|---|---|---|\n");
  const auto row = [](const char* name, uint32_t parts, const std::vector<Kind>& kinds) {
    const std::vector<uint32_t> devices = CountsOf(kinds);
    std::printf("| %s | %u | %llu | %.3g |\n", name, parts,
                static_cast<unsigned long long>(PartitionStates(parts, devices)),
                SolvedInMs(PartsOnCase(parts, kinds), devices));
  };
  row("three kinds of three", 12, three);
  row("case 6", 48, sixth);
  row("case 6", 96, sixth);
  row("case 6", 128, sixth);
}

}  // namespace
}  // namespace sti

int main() {
  sti::PrintCases();
  sti::PrintAlike();
  sti::PrintBandwidths();
  sti::PrintSolver();
  return 0;
}
