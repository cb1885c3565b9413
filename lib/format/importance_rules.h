// Rules and limits that hold for an importance file and for an importance part. Only lib/format
// includes this.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "format/flatbuffer_values.h"
#include "types/bits.h"
#include "types/limits.h"
#include "types/word_use.h"

namespace sti {

/// Returns what is wrong with the metric or the shape; empty if nothing is.
inline std::string ProblemOfShape(const std::string& metric, uint32_t layers, uint32_t width) {
  if (metric != "accuracy" && metric != "loss" && metric != "kl") {
    return "metric is not accuracy, loss or kl";
  }
  if (layers == 0 || layers > kMaxLayers) return "layers is not from 1 to 1024";
  if (width == 0 || width > kMaxWidth) return "width is not from 1 to 256";
  return "";
}

/// Returns what is wrong with a list of submodels (each a depth, width and bits) of such a model,
/// or what `problem_of` finds in one; empty if nothing is.
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

/// Returns what is wrong with the use of words; empty if nothing is.
std::string ProblemOfWordUse(const WordUse& use);

/// Adds the rooms of a table to the entries that they are of. A list that is too short, or an entry
/// that is not there, leaves an entry of length 0, which is refused.
template <typename Table>
void AddRoomsOf(const Table& table, WordUse* use) {
  const std::vector<uint32_t> entries = NumbersOf(table.room_entries());
  const std::vector<uint32_t> tokens = NumbersOf(table.room_tokens());
  const std::vector<double> shares = NumbersOf(table.room_shares());
  const std::vector<double> p99_shares = NumbersOf(table.room_p99_shares());
  const size_t whole = std::min({entries.size(), tokens.size(), shares.size(), p99_shares.size()});
  bool sound = whole == std::max({entries.size(), tokens.size(), shares.size(), p99_shares.size()});
  for (size_t i = 0; i < whole && sound; ++i) {
    sound = entries[i] < use->reads.size();
    if (sound) use->reads[entries[i]].rooms.push_back({tokens[i], shares[i], p99_shares[i]});
  }
  if (!sound) use->reads.emplace_back();
}

/// Lists of a table that holds the use of words: importance and part have the same.
template <typename Table>
WordUse WordUseOf(const Table& table) {
  WordUse use;
  use.words = NumbersOf(table.words());
  const std::vector<uint32_t> lengths = NumbersOf(table.row_lengths());
  const std::vector<uint32_t> words = NumbersOf(table.row_words());
  const std::vector<double> shares = NumbersOf(table.row_shares());
  const std::vector<double> p99_shares = NumbersOf(table.row_p99_shares());
  // A list that is too short leaves entries of length 0, which are refused.
  use.reads.resize(std::max({lengths.size(), words.size(), shares.size(), p99_shares.size()}));
  const size_t whole = std::min({lengths.size(), words.size(), shares.size(), p99_shares.size()});
  for (size_t i = 0; i < whole; ++i)
    use.reads[i] = {lengths[i], words[i], shares[i], p99_shares[i]};
  AddRoomsOf(table, &use);
  return use;
}

/// The same lists, on their way into a table; absent where nothing was counted.
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

}  // namespace sti
