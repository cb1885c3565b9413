// The reads that an IO lane has under way, each in pieces, and the agents whose reads they are.
//
// A large read is made in pieces, so that no more is in flight than keeps the device busy: table
// rows that come meanwhile do not queue behind all of it, and reads that follow it are in flight
// before it ends. A small read is one piece.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "io/block_reader.h"

namespace sti {

/// Reads of one job. Not thread-safe.
class ReadPieces {
 public:
  /// Forgets all reads, and begins a job. Of several `agents` each has one piece in flight; one
  /// alone has no bound here. An agent's pieces go through a stream of its own, where there are so
  /// many streams; those of one agent alone through any.
  void Reset(uint64_t piece_bytes, uint32_t agents, uint32_t streams);
  /// Begins a read for an agent, or for nobody, as table rows are read. Returns its first piece.
  ReadRequest Begin(ReadRequest read, std::optional<uint32_t> agent);
  /// Returns the next piece of the read that has been under way longest of those that have more to
  /// submit, now; nothing if there is none.
  std::optional<ReadRequest> Next();
  /// Notes that a piece with this tag has ended. Returns whether its read, which is under way, has
  /// ended with it.
  bool Ended(uint64_t tag);
  /// Forgets reads, none of which has a piece left to submit: those in flight have failed.
  void Drop() { reads_.clear(); }

  /// Returns whether a read has pieces that are not submitted.
  [[nodiscard]] bool HasRest() const;
  /// Returns whether Next would return one.
  [[nodiscard]] bool HasNext() const { return FindNext() != reads_.size(); }
  /// Returns the bit i of each agent i that has a read under way, of several.
  [[nodiscard]] uint32_t busy() const;

 private:
  struct Read {
    uint64_t tag = 0;
    std::optional<uint32_t> agent;
    uint64_t offset = 0;      ///< of what is not in flight yet
    std::span<uint8_t> rest;  ///< where that lands
    uint32_t in_flight = 0;   ///< pieces
  };
  [[nodiscard]] size_t FindNext() const;
  ReadRequest Submit(Read& read) const;

  uint64_t piece_bytes_ = 0;
  uint32_t agents_ = 1;
  uint32_t streams_ = 1;
  std::vector<Read> reads_;  ///< in the order in which they were begun
};

}  // namespace sti
