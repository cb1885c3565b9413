#include "format/importance_rules.h"

#include <functional>
#include <utility>

#include "types/limits.h"

namespace sti {
namespace {

/// Returns what is wrong with one entry behind `before`, null for the first; empty if nothing is.
std::string ProblemOfReads(const RowReads& reads, const RowReads* before, size_t words) {
  const bool first_of_length = before == nullptr || before->length != reads.length;
  if (reads.length == 0 || reads.length > kMaxLength || reads.words > words)
    return "row_reads holds a length or a number of words that cannot be";
  if (before != nullptr &&
      std::pair(before->length, before->words) >= std::pair(reads.length, reads.words))
    return "row_reads is not sorted by length and words, or has an entry twice";
  if (first_of_length && reads.words != 0) return "row_reads has a length without an entry of 0";
  for (const double share : {reads.share, reads.p99_share}) {
    if (!IsShare(share)) return "row_reads holds a share that is not from 0 to 1";
  }
  uint32_t tokens = reads.length;
  for (const RowRoom& room : reads.rooms) {
    if (room.tokens <= tokens || room.tokens > kMaxLength)
      return "row_reads has rooms that do not ascend from its length, or cannot be";
    tokens = room.tokens;
    for (const double share : {room.share, room.p99_share}) {
      if (!IsShare(share)) return "row_reads has a room's share that is not from 0 to 1";
    }
  }
  return "";
}

}  // namespace

std::string ProblemOfWordUse(const WordUse& use) {
  if (use.words.size() > kMostUseEntries || use.reads.size() > kMostUseEntries) return kUseProblem;
  std::vector<uint32_t> sorted = use.words;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return "words has an entry twice";
  if (!sorted.empty() && sorted.back() >= kMaxVocabulary)
    return "words has an entry of 2^22 or more";
  const RowReads* before = nullptr;
  for (const RowReads& reads : use.reads) {
    std::string problem = ProblemOfReads(reads, before, use.words.size());
    if (!problem.empty()) return problem;
    before = &reads;
  }
  return "";
}

std::string JoinReads(const StoredWordUse& stored, WordUse* use) {
  const size_t reads = stored.row_lengths.size();
  if (stored.row_words.size() != reads || stored.row_shares.size() != reads ||
      stored.row_p99_shares.size() != reads)
    return "the lists of row_reads differ in length";
  const size_t rooms = stored.room_entries.size();
  if (stored.room_tokens.size() != rooms || stored.room_shares.size() != rooms ||
      stored.room_p99_shares.size() != rooms)
    return "the lists of rooms of row_reads differ in length";
  use->reads.resize(reads);
  for (size_t i = 0; i < reads; ++i) {
    use->reads[i] = {stored.row_lengths[i], stored.row_words[i], stored.row_shares[i],
                     stored.row_p99_shares[i]};
  }
  for (size_t i = 0; i < rooms; ++i) {
    if (stored.room_entries[i] >= reads)
      return "row_reads has a room of an entry that is not there";
    use->reads[stored.room_entries[i]].rooms.push_back(
        {stored.room_tokens[i], stored.room_shares[i], stored.room_p99_shares[i]});
  }
  return "";
}

WordUseLists::WordUseLists(flatbuffers::FlatBufferBuilder& builder, const WordUse& use) {
  if (use.empty()) return;
  std::vector<uint32_t> lengths;
  std::vector<uint32_t> counts;
  std::vector<double> shares;
  std::vector<double> p99_shares;
  std::vector<uint32_t> entries;
  std::vector<uint32_t> tokens;
  std::vector<double> shares_in_room;
  std::vector<double> p99_shares_in_room;
  for (const RowReads& reads : use.reads) {
    for (const RowRoom& room : reads.rooms) {
      entries.push_back(static_cast<uint32_t>(lengths.size()));
      tokens.push_back(room.tokens);
      shares_in_room.push_back(room.share);
      p99_shares_in_room.push_back(room.p99_share);
    }
    lengths.push_back(reads.length);
    counts.push_back(reads.words);
    shares.push_back(reads.share);
    p99_shares.push_back(reads.p99_share);
  }
  words = builder.CreateVector(use.words);
  row_lengths = builder.CreateVector(lengths);
  row_words = builder.CreateVector(counts);
  row_shares = builder.CreateVector(shares);
  row_p99_shares = builder.CreateVector(p99_shares);
  if (entries.empty()) return;
  room_entries = builder.CreateVector(entries);
  room_tokens = builder.CreateVector(tokens);
  room_shares = builder.CreateVector(shares_in_room);
  room_p99_shares = builder.CreateVector(p99_shares_in_room);
}

}  // namespace sti
