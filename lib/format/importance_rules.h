// Rules and limits that hold for both files of importance: the importance file, which is finished,
// and the importance part, a share of a measurement. Only lib/format includes this.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/log.h"
#include "base/remedy.h"
#include "base/result.h"
#include "base/utf8.h"
#include "format/flatbuffer_values.h"
#include "format/unknown_keys.h"
#include "types/bits.h"
#include "types/importance.h"
#include "types/limits.h"
#include "types/word_use.h"

namespace sti {

/// Returns the problem of a file whose metric has no name that FindMetric knows.
inline std::string MetricProblem() {
  std::vector<std::string> names;
  for (const MetricTraits& traits : kMetrics) names.emplace_back(traits.name);
  return "metric is not " + EitherOf(names);
}

/// Reads the metric of an importance file by its name. DataError naming `name` for any other text.
inline Status ReadMetric(std::string_view stored, const std::string& name, Metric* metric) {
  const std::optional<Metric> found = FindMetric(stored);
  if (!found) return DataError(MetricProblem()).At(name).Fix(Remedy::kCorrectImportance);
  *metric = *found;
  return {};
}

/// Returns what is wrong with N layers of M slices; empty if nothing is.
inline std::string ProblemOfShape(uint32_t layers, uint32_t width) {
  if (layers == 0 || layers > kMaxLayers) return "layers is not from 1 to 1024";
  if (width == 0 || width > kMaxWidth) return "width is not from 1 to 256";
  return "";
}

/// Returns what is wrong with a short text, which a message calls `field`; empty if nothing is.
inline std::string ProblemOfText(const char* field, std::string_view text) {
  if (IsPlainText(text, kMaxShortTextBytes)) return "";
  return std::string(field) + " is not at most 64 bytes of printable ASCII";
}

/// Reads a short text; empty if absent. DataError naming `name` if it breaks the rule.
inline Status ReadShortText(const flatbuffers::String* stored, const std::string& name,
                            const char* field, std::string* text) {
  if (stored == nullptr) return {};
  const std::string problem = ProblemOfText(field, stored->string_view());
  if (!problem.empty()) return TableError(name, problem);
  *text = stored->str();
  return {};
}

/// Returns what is wrong with a list of submodels (each a depth, width and bits) of a model that
/// has `layers` layers of `width` slices, or what `problem_of` finds in one; empty if nothing is.
template <typename Submodel, typename ProblemOf>
std::string ProblemOfSubmodels(const std::vector<Submodel>& submodels, uint32_t layers,
                               uint32_t width, const ProblemOf& problem_of) {
  const auto key = [](const Submodel& s) { return std::tuple(s.depth, s.width, s.bits); };
  const Submodel* last = nullptr;
  for (const Submodel& submodel : submodels) {
    const bool fits = submodel.depth >= 1 && submodel.depth <= layers && submodel.width >= 1 &&
                      submodel.width <= width && IsBits(submodel.bits);
    if (!fits) return "submodels holds layers, width or bits that no such model has";
    if (last != nullptr && key(*last) >= key(submodel)) {
      return "submodels is not sorted by layers, width and bits, or has one twice";
    }
    std::string problem = problem_of(submodel);
    if (!problem.empty()) return problem;
    last = &submodel;
  }
  return "";
}

/// Returns what is wrong with a word use (types/word_use.h); empty if nothing is.
std::string ProblemOfWordUse(const WordUse& use);

/// Most entries of WordUse::words, and of WordUse::reads.
inline constexpr size_t kMostUseEntries = 4096;
inline constexpr const char* kUseProblem = "words or row_reads has more than 4096 entries";

/// A word use as both files store it: a list for each field of RowReads, all of them as long as
/// WordUse::reads, and a list for each field of RowRoom, with all rooms of all reads one behind the
/// other. `room_entries` tells the reads that a room belongs to, by index.
struct StoredWordUse {
  std::vector<uint32_t> row_lengths, row_words, room_entries, room_tokens;
  std::vector<double> row_shares, row_p99_shares, room_shares, room_p99_shares;
};

/// Sets `use->reads` to what is stored; returns what is wrong with the lists, empty if nothing is.
std::string JoinReads(const StoredWordUse& stored, WordUse* use);

/// Reads the word use of a table of either file. DataError naming `name` if words or reads are more
/// than kMostUseEntries, or lists that belong together differ in length; the error of `room` if the
/// lists take more bytes than it has, which alone bounds the lists of rooms.
template <typename Table>
Status ReadWordUse(const Table& table, const std::string& name, ListRoom* room, WordUse* use) {
  const auto too_long = [](const auto* list) {
    return list != nullptr && list->size() > kMostUseEntries;
  };
  if (too_long(table.words()) || too_long(table.row_lengths()) || too_long(table.row_words()) ||
      too_long(table.row_shares()) || too_long(table.row_p99_shares()))
    return TableError(name, kUseProblem);
  StoredWordUse stored;
  STI_RETURN_IF_ERROR(room->Copy(table.words(), &use->words));
  STI_RETURN_IF_ERROR(room->Copy(table.row_lengths(), &stored.row_lengths));
  STI_RETURN_IF_ERROR(room->Copy(table.row_words(), &stored.row_words));
  STI_RETURN_IF_ERROR(room->Copy(table.row_shares(), &stored.row_shares));
  STI_RETURN_IF_ERROR(room->Copy(table.row_p99_shares(), &stored.row_p99_shares));
  STI_RETURN_IF_ERROR(room->Copy(table.room_entries(), &stored.room_entries));
  STI_RETURN_IF_ERROR(room->Copy(table.room_tokens(), &stored.room_tokens));
  STI_RETURN_IF_ERROR(room->Copy(table.room_shares(), &stored.room_shares));
  STI_RETURN_IF_ERROR(room->Copy(table.room_p99_shares(), &stored.room_p99_shares));
  const std::string problem = JoinReads(stored, use);
  if (!problem.empty()) return TableError(name, problem);
  return {};
}

/// Writes the lists of a StoredWordUse, and the words, to `builder`, and holds their offsets for
/// the table. The lists of an empty word use are null, and so are those of rooms where there are
/// none: the table leaves such fields out.
struct WordUseLists {
  using Numbers = flatbuffers::Offset<flatbuffers::Vector<uint32_t>>;
  using Shares = flatbuffers::Offset<flatbuffers::Vector<double>>;
  WordUseLists(flatbuffers::FlatBufferBuilder& builder, const WordUse& use);

  Numbers words;
  Numbers row_lengths;
  Numbers row_words;
  Shares row_shares;
  Shares row_p99_shares;
  Numbers room_entries;
  Numbers room_tokens;
  Shares room_shares;
  Shares room_p99_shares;
};

/// Each of these reads an importance file in one of its two spellings, binary and JSON; `name` is
/// for messages. Only its lengths are checked, against the size of the file: no other rule. The
/// fields that the JSON has and this version does not know are added to `unknown`, which may be
/// null.
Result<Importance> ImportanceFromBinary(std::span<const uint8_t> bytes, const std::string& name);
Result<Importance> ImportanceFromJson(std::span<const uint8_t> bytes, const std::string& name,
                                      UnknownKeys* unknown);

}  // namespace sti
