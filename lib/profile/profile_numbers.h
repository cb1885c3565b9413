// The numbers of a device profile, each as something to time and a place to put the result.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "model/loaded_model.h"
#include "model/transformer.h"
#include "profile/background_reads.h"
#include "profile/rehearsal.h"
#include "profile/sampler.h"
#include "text/tokenizer.h"
#include "types/device_profile.h"

namespace sti {

/// Tokens of the inputs whose runs and layers show what shards take.
inline constexpr uint32_t kTokensOfRun = 16;

/// Numbers of one kind have alike tails.
enum NumberKind : uint32_t { kIo, kLayer, kLastLayer, kDecode, kText, kRows, kTail };

/// How large a pass is.
struct PassSize {
  uint32_t batch = 1;   ///< inputs
  uint32_t length = 0;  ///< tokens of each
  [[nodiscard]] uint32_t tokens() const { return batch * length; }
  /// Returns how names of numbers end: " at 16 tokens", " at 4 x 16 tokens".
  [[nodiscard]] std::string At() const;
};

/// Holds what the numbers of a profile are measured with. It outlives them and stays in place. One
/// thread.
struct ProfileBench {
  ProfileBench(LoadedModel loaded, const Tokenizer* text, uint32_t threads)
      : model(std::move(loaded)), tokenizer(text), pool(threads) {}

  AlignedBuffer arena;  ///< where reads land; outlives the reader, which is told of it
  /// Hidden rows of the largest pass, [tokens, d], which all that is computed works on: what the
  /// values are does not change a time, as long as they are finite.
  AlignedVector<float> hidden;
  LoadedModel model;           ///< at `decode_bits`
  const Tokenizer* tokenizer;  ///< null of a model of images
  ThreadPool pool;
  std::unique_ptr<Transformer> transformer;
  std::unique_ptr<BackgroundReads> lane;  ///< reads beside layers
  std::unique_ptr<Rehearsal> rehearsal;   ///< reads of runs
  uint32_t decode_bits = 0;
  uint32_t read_bytes = 0;  ///< bytes of the largest read
  uint32_t longest = 0;     ///< most tokens of an input
};

/// Makes room for the hidden rows of passes of so many tokens, and values in it.
void FillHidden(uint32_t tokens, ProfileBench& bench);

/// Refers to the times of passes of one number of inputs.
struct PassTimes {
  std::vector<ComputeSample>& compute;
  std::vector<FixedSample>& fixed;
};

/// Returns those of passes of `batch` inputs; they are added behind all others where there are none
/// yet.
PassTimes TimesOfBatch(DeviceProfile& profile, uint32_t batch);

/// A number, and where its median and its p99 belong in a profile.
struct ProfileNumber {
  TimedQuantity number;
  /// The series that its samples are items of; null: none.
  std::vector<SeriesSample> DeviceProfile::*series = nullptr;
  std::function<void(DeviceProfile&, const Timing&)> store;
  double parts = 1;  ///< what a sample did took so many times as long as it says
};

/// Returns the numbers of T_io: one shard's share of what a run loads for whole layers (STI 3.1: a
/// layer is one IO job), at each bitwidth offered; and one plane alone where there are planes,
/// which is what a later turn reads, as its share of a batch of reads. Sizes that are equal are one
/// number. Layers take turns, so that no device cache holds what comes next.
Result<std::vector<ProfileNumber>> IoNumbers(ProfileBench& bench);

/// Returns the numbers of T_comp of passes of `batch` inputs, for every length and width: a layer
/// while the shards of one arrive, which is how a run computes it, and the last layer of a
/// submodel, beside which nothing is left to read.
std::vector<ProfileNumber> LayerNumbers(ProfileBench& bench, uint32_t batch,
                                        std::span<const uint32_t> lengths,
                                        std::span<const uint32_t> widths);

/// Returns the numbers of decoding: a short layer of the slices of `at_bits` at each of its
/// bitwidths, with nothing read beside it; none where there is one bitwidth alone. What a layer
/// does with a slice that has been decoded is the same at all bits, so that its times differ by
/// decoding alone. `at_bits` outlives them.
std::vector<ProfileNumber> DecodeNumbers(ProfileBench& bench, const LoadedModel& at_bits);

/// Leaves of the times of decoding what each bitwidth adds to that of `usual_bits`, which the
/// layers of the profile have. All numbers are stored.
void TakeUsualBitsOff(uint32_t usual_bits, DeviceProfile& profile);

/// Numbers of T_fixed at one length, at most.
inline constexpr size_t kFixedNumbers = 3;

/// Returns the numbers of T_fixed of passes of `batch` inputs at each length: texts or images to
/// embeddings, the reads of all embedding rows of texts in one lot, and the end of a run, whose
/// last layer TakeLastLayersOff takes off.
Result<std::vector<ProfileNumber>> FixedNumbers(ProfileBench& bench, uint32_t batch,
                                                std::span<const uint32_t> lengths);

/// Leaves of the ends of runs, of each number of inputs, what comes beside a last layer of the
/// widest width: the head, and what a run takes longer for its last layer than back to back. All
/// numbers are stored.
void TakeLastLayersOff(DeviceProfile& profile);

/// Returns the bits that layers are timed at, of those that a container offers: the most up to 6
/// (STI 5.2), else the fewest.
uint32_t DecodeBits(const std::vector<uint32_t>& offered);

/// Returns the microseconds that `body` takes.
template <typename Body>
double TimeUs(Body body) {
  const auto begin = Clock::now();
  body();
  return MicrosecondsBetween(begin, Clock::now());
}

}  // namespace sti
