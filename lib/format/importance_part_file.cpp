#include "format/importance_part_file.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/remedy.h"
#include "format/flatbuffer_values.h"
#include "format/framed_file.h"
#include "format/importance_rules.h"
#include "importance_part_generated.h"

namespace sti {
namespace {

constexpr uint64_t kMaxExamples = uint64_t{1} << 31;
/// More than spans of any data set add up to, squared; of as many parts as there may be the sums
/// still fit.
constexpr uint64_t kMaxSpanSum = uint64_t{1} << 52;

/// Returns what is wrong with the scores of pairs; empty if nothing is.
std::string ProblemOfScores(const ImportanceJob& job) {
  const uint64_t pairs = job.metric == Metric::kSpearman ? job.examples : 0;
  if (job.scores.size() != pairs) return "scores is not one for each pair of spearman, else none";
  const bool finite = std::ranges::all_of(job.scores, [](double s) { return std::isfinite(s); });
  return finite ? "" : "scores holds what is not a finite number";
}

/// Returns what is wrong with counting spans or not; empty if nothing is.
std::string ProblemOfSpans(const ImportanceJob& job) {
  const bool may_count = IsFor(job.metric, HeadOutput::kTokenLabels);
  if (job.of_spans && !may_count) return "spans is there, and the metric is not of token labels";
  return job.metric == Metric::kF1 && !job.of_spans ? "spans is missing" : "";
}

/// Returns what is wrong with the job; empty if nothing is.
std::string ProblemOfJob(const ImportanceJob& job) {
  if (job.model.empty()) return "model is missing";
  if (job.data.empty()) return "data is missing";
  if (job.kernel.empty()) return "kernel is missing";
  std::string shape = ProblemOfShape(job.layers, job.width);
  if (!shape.empty()) return shape;
  if (job.examples == 0 || job.examples > kMaxExamples) return "job_examples is not 1 to 2^31";
  const std::vector<uint32_t>& bits = job.raised_bits;
  if (bits.empty() || !std::all_of(bits.begin(), bits.end(), IsBits) ||
      std::adjacent_find(bits.begin(), bits.end(), std::greater_equal<>()) != bits.end()) {
    return "raised_bits is not an ascending list of 3 to 6 or 32";
  }
  if (!IsBits(job.base_bits) || job.base_bits >= bits[0]) {
    return "base_bits is not 2 to 6, below raised_bits";
  }
  std::string use = ProblemOfWordUse(job.word_use);
  if (!use.empty()) return use;
  std::string scores = ProblemOfScores(job);
  if (!scores.empty()) return scores;
  std::string spans = ProblemOfSpans(job);
  if (!spans.empty()) return spans;
  const auto no_problem = [](const SubmodelCell&) { return std::string(); };
  return ProblemOfSubmodels(job.submodels, job.layers, job.width, no_problem);
}

/// Returns what is wrong with a part, its tallies left out; empty if nothing is.
std::string ProblemOfPart(const ImportancePart& part) {
  std::string problem = ProblemOfJob(part.job);
  if (!problem.empty()) return problem;
  if (part.part == 0 || part.part > part.parts) return "part is not from 1 to parts";
  if (part.begin > part.end || part.end > part.due || part.due > part.job.units) {
    return "begin, end, due and units do not ascend";
  }
  return "";
}

std::string ProblemOfTallies(const ImportancePart& part) {
  for (const Tally& tally : part.tallies) {
    const auto is_cosine = [](int32_t c) { return c >= -kCosineUnits && c <= kCosineUnits; };
    if (!std::ranges::all_of(tally.cosines, is_cosine)) return "cosines holds what is not -1 to 1";
    if (tally.examples > part.job.examples || tally.right > tally.examples ||
        tally.gained > tally.right || tally.lost > tally.examples - tally.right) {
      return "a tally counts more than there are examples";
    }
    if (std::ranges::any_of(tally.spans, [](uint64_t sum) { return sum > kMaxSpanSum; }) ||
        SumOf(tally, SpanSum::kRight) > SumOf(tally, SpanSum::kBoth) / 2) {
      return "a tally counts more spans than there can be";
    }
  }
  return "";
}

using Numbers = std::vector<uint64_t>;
using TableNumbers = const flatbuffers::Vector<uint64_t>*;

/// Reads the lists of tallies, each of them as long as it must be.
Status FillTallies(const fb::ImportancePart& table, const std::string& name, uint64_t cells,
                   ListRoom* room, std::vector<Tally>* tallies) {
  const std::pair<TableNumbers, uint64_t> stored[] = {{table.examples(), cells},
                                                      {table.right(), cells},
                                                      {table.gained(), cells},
                                                      {table.lost(), cells},
                                                      {table.loss(), 2 * cells},
                                                      {table.loss_squares(), 2 * cells},
                                                      {table.difference_squares(), 2 * cells}};
  Numbers lists[std::size(stored)];
  for (const auto& [list, count] : stored) {
    if (list == nullptr || list->size() != count)
      return TableError(name, "the tallies are not one for each cell");
  }
  for (size_t i = 0; i < std::size(stored); ++i)
    STI_RETURN_IF_ERROR(room->Copy(stored[i].first, &lists[i]));
  const auto& [examples, right, gained, lost, loss, squares, differences] = lists;
  tallies->resize(cells);
  for (size_t i = 0; i < cells; ++i) {
    (*tallies)[i] = {examples[i],
                     right[i],
                     gained[i],
                     lost[i],
                     {loss[2 * i], loss[2 * i + 1]},
                     {squares[2 * i], squares[2 * i + 1]},
                     {differences[2 * i], differences[2 * i + 1]}};
  }
  return {};
}

/// Reads the cosines of pairs, as many of each cell as it has examples.
Status FillCosines(const fb::ImportancePart& table, const std::string& name, bool are_there,
                   ListRoom* room, std::vector<Tally>* tallies) {
  std::vector<int32_t> all;
  STI_RETURN_IF_ERROR(room->Copy(table.cosines(), &all));
  size_t at = 0;
  for (Tally& tally : *tallies) {
    if (!are_there) break;
    if (tally.examples > all.size() - at) break;
    const auto begin = all.begin() + static_cast<ptrdiff_t>(at);
    tally.cosines.assign(begin, begin + static_cast<ptrdiff_t>(tally.examples));
    at += tally.examples;
  }
  const bool complete = std::ranges::all_of(*tallies, [&](const Tally& tally) {
    return tally.cosines.size() == (are_there ? tally.examples : 0);
  });
  if (complete && at == all.size()) return {};
  return TableError(name,
                    "cosines is not one for each example of each cell of spearman, else none");
}

/// Reads the sums of spans, as many of each cell.
Status FillSpans(const fb::ImportancePart& table, const std::string& name, ListRoom* room,
                 std::vector<Tally>* tallies) {
  Numbers all;
  STI_RETURN_IF_ERROR(room->Copy(table.spans(), &all));
  if (all.size() != tallies->size() * kSpanSums)
    return TableError(name, "spans is not nine sums for each cell");
  auto next = all.begin();
  for (Tally& tally : *tallies) {
    for (uint64_t& sum : tally.spans) sum = *next++;
  }
  return {};
}

Status ReadJob(const fb::ImportancePart& table, const std::string& name, ListRoom* room,
               ImportanceJob* job) {
  if (const auto* model = table.model()) {
    STI_ASSIGN_OR_RETURN(job->model,
                         DigestFromBytes(model->data(), model->size(), name + ": model"));
  }
  if (const auto* data = table.data()) {
    STI_ASSIGN_OR_RETURN(job->data, DigestFromBytes(data->data(), data->size(), name + ": data"));
  }
  const std::optional<Metric> metric = FindMetric(ViewOf(table.metric()));
  if (!metric) return TableError(name, MetricProblem());
  job->metric = *metric;
  STI_RETURN_IF_ERROR(ReadShortText(table.kernel(), name, "kernel", &job->kernel));
  job->layers = table.layers();
  job->width = table.width();
  job->of_spans = table.spans() != nullptr;
  job->gains = table.gains();
  job->examples = table.job_examples();
  job->units = table.units();
  STI_RETURN_IF_ERROR(room->Copy(table.raised_bits(), &job->raised_bits));
  job->base_bits = table.base_bits();
  STI_RETURN_IF_ERROR(ReadWordUse(table, name, room, &job->word_use));
  STI_RETURN_IF_ERROR(room->Copy(table.scores(), &job->scores));
  if (const auto* list = table.submodels()) {
    job->submodels.reserve(list->size());
    for (const fb::SubmodelCell* cell : *list) {
      job->submodels.push_back({cell->layers(), cell->width(), cell->bits()});
    }
  }
  return {};
}

Result<ImportancePart> FromTable(const fb::ImportancePart& table, size_t payload_bytes,
                                 const std::string& name) {
  ImportancePart part;
  ListRoom room(payload_bytes, TableError(name, kFullProblem));
  STI_RETURN_IF_ERROR(ReadJob(table, name, &room, &part.job));
  part.part = table.part();
  part.parts = table.parts();
  part.begin = table.begin();
  part.end = table.end();
  part.due = table.due();
  // It bounds the cells, before they are taken.
  std::string problem = ProblemOfPart(part);
  if (!problem.empty()) return TableError(name, problem);
  STI_RETURN_IF_ERROR(FillTallies(table, name, CellsOf(part.job), &room, &part.tallies));
  const bool of_pairs = part.job.metric == Metric::kSpearman;
  STI_RETURN_IF_ERROR(FillCosines(table, name, of_pairs, &room, &part.tallies));
  if (part.job.of_spans) STI_RETURN_IF_ERROR(FillSpans(table, name, &room, &part.tallies));
  problem = ProblemOfTallies(part);
  if (!problem.empty()) return TableError(name, problem);
  return part;
}

using Builder = flatbuffers::FlatBufferBuilder;
using Wide = WideNumber Tally::*;

flatbuffers::Offset<flatbuffers::Vector<uint64_t>> Counts(Builder& builder,
                                                          const std::vector<Tally>& tallies,
                                                          uint64_t Tally::*field) {
  Numbers numbers;
  numbers.reserve(tallies.size());
  for (const Tally& tally : tallies) numbers.push_back(tally.*field);
  return builder.CreateVector(numbers);
}

flatbuffers::Offset<flatbuffers::Vector<uint64_t>> Sums(Builder& builder,
                                                        const std::vector<Tally>& tallies,
                                                        Wide field) {
  Numbers numbers;
  numbers.reserve(2 * tallies.size());
  for (const Tally& tally : tallies) {
    numbers.push_back((tally.*field).low);
    numbers.push_back((tally.*field).high);
  }
  return builder.CreateVector(numbers);
}

/// All cells one behind another, as below.
Numbers AllSpans(const std::vector<Tally>& tallies) {
  Numbers all;
  for (const Tally& tally : tallies) all.insert(all.end(), tally.spans.begin(), tally.spans.end());
  return all;
}

std::vector<int32_t> AllCosines(const std::vector<Tally>& tallies) {
  std::vector<int32_t> all;
  for (const Tally& tally : tallies)
    all.insert(all.end(), tally.cosines.begin(), tally.cosines.end());
  return all;
}

}  // namespace

bool IsImportancePart(std::span<const uint8_t> bytes) {
  return bytes.size() >= kImportancePartMagic.size() &&
         std::equal(kImportancePartMagic.begin(), kImportancePartMagic.end(), bytes.begin(),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

Result<ImportancePart> ParseImportancePart(std::span<const uint8_t> bytes,
                                           const std::string& name) {
  if (!IsImportancePart(bytes)) {
    return ForeignError("is no part of an importance").At(name).Fix(Remedy::kGiveParts);
  }
  STI_ASSIGN_OR_RETURN(const std::span<const uint8_t> framed,
                       FindPayload(kImportancePartMagic, bytes, name));
  const AlignedPayload payload(framed);
  flatbuffers::Verifier verifier(payload.data(), payload.size());
  if (!fb::VerifyImportancePartBuffer(verifier)) {
    return TableError(name, kNoTable);
  }
  return FromTable(*fb::GetImportancePart(payload.data()), payload.size(), name);
}

std::vector<uint8_t> EncodeImportancePart(const ImportancePart& part) {
  Builder builder;
  const ImportanceJob& job = part.job;
  const std::vector<Tally>& tallies = part.tallies;
  const auto model = builder.CreateVector(job.model.bytes.data(), job.model.bytes.size());
  const auto data = builder.CreateVector(job.data.bytes.data(), job.data.bytes.size());
  const auto metric = builder.CreateString(NameOf(job.metric));
  const auto kernel = builder.CreateString(job.kernel);
  const auto bits = builder.CreateVector(job.raised_bits);
  std::vector<flatbuffers::Offset<fb::SubmodelCell>> cells;
  cells.reserve(job.submodels.size());
  for (const SubmodelCell& cell : job.submodels) {
    cells.push_back(fb::CreateSubmodelCell(builder, cell.depth, cell.width, cell.bits));
  }
  const auto submodels = builder.CreateVector(cells);
  const auto examples = Counts(builder, tallies, &Tally::examples);
  const auto right = Counts(builder, tallies, &Tally::right);
  const auto gained = Counts(builder, tallies, &Tally::gained);
  const auto lost = Counts(builder, tallies, &Tally::lost);
  const auto loss = Sums(builder, tallies, &Tally::loss);
  const auto squares = Sums(builder, tallies, &Tally::loss_squares);
  const auto differences = Sums(builder, tallies, &Tally::difference_squares);
  const WordUseLists use(builder, job.word_use);
  flatbuffers::Offset<flatbuffers::Vector<double>> scores;
  flatbuffers::Offset<flatbuffers::Vector<int32_t>> cosines;
  if (!job.scores.empty()) {
    scores = builder.CreateVector(job.scores);
    cosines = builder.CreateVector(AllCosines(tallies));
  }
  flatbuffers::Offset<flatbuffers::Vector<uint64_t>> spans;
  if (job.of_spans) spans = builder.CreateVector(AllSpans(tallies));
  builder.Finish(fb::CreateImportancePart(
      builder, model, data, metric, kernel, job.layers, job.width, job.gains, job.examples,
      job.units, bits, submodels, part.part, part.parts, part.begin, part.end, part.due, examples,
      right, gained, lost, loss, squares, differences, job.base_bits, use.words, use.row_lengths,
      use.row_words, use.row_shares, use.row_p99_shares, use.room_entries, use.room_tokens,
      use.room_shares, use.room_p99_shares, scores, cosines, spans));
  return WrapFrame(kImportancePartMagic, {builder.GetBufferPointer(), builder.GetSize()});
}

std::string ImportancePartToJson(const ImportancePart& part) {
  const ImportanceJob& job = part.job;
  nlohmann::ordered_json json{{"model", job.model.Hex()},
                              {"data", job.data.Hex()},
                              {"metric", NameOf(job.metric)},
                              {"kernel", job.kernel},
                              {"layers", job.layers},
                              {"width", job.width},
                              {"gains", job.gains},
                              {"examples", job.examples},
                              {"base_bits", job.base_bits},
                              {"raised_bits", job.raised_bits},
                              {"submodels", job.submodels.size()},
                              {"units", job.units},
                              {"part", part.part},
                              {"parts", part.parts},
                              {"begin", part.begin},
                              {"end", part.end},
                              {"due", part.due}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace sti
