// The program of a layer lists the steps that a layer computes, once for all who compute it or
// count what it takes: the transformer executes it by slice, importance with its backward pass, and
// buffers and floating-point operations follow from it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "network/tensors.h"
#include "types/model_info.h"

namespace sti {

/// A value that a layer computes, a row a token. What a slice has a part of lies by slices.
enum class LayerValue : uint8_t {
  kInput,   ///< the layer's input; with norms in front, the rows to which the layer adds
  kNormed,  ///< the norm of that, where it stands in front of attention
  kQueries,
  kKeys,
  kValues,
  kContext,       ///< what attention gives
  kAttentionSum,  ///< the products of O, and behind an AddStep the input too
  kAttended,      ///< what the FFN is given: the norm of that, or of what it was added to
  kInner,         ///< the products of FFN1
  kActive,        ///< their activation
  kOutputSum,     ///< the products of FFN2, and behind an AddStep what they were made from too
  kOutput,        ///< the layer's output, where a norm makes it
};

/// All values of a layer.
inline constexpr auto kLayerValues = [] {
  std::array<LayerValue, static_cast<size_t>(LayerValue::kOutput) + 1> values{};
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<LayerValue>(i);
  return values;
}();

/// Holds something for each value of a layer.
template <typename T>
class ByValue {
 public:
  constexpr T& operator[](LayerValue value) { return held_[static_cast<size_t>(value)]; }
  constexpr const T& operator[](LayerValue value) const {
    return held_[static_cast<size_t>(value)];
  }

 private:
  std::array<T, kLayerValues.size()> held_{};
};

/// out = in W^T + bias, with the weight's cut by slices: where it is cut by outputs each slice
/// makes its part of `out`, and where by inputs the products of the slices' parts are summed.
struct LinearStep {
  TensorRole weight;
  TensorRole bias;
  LayerValue in;
  LayerValue out;
};

/// out = softmax(queries keys / sqrt(head_dim)) values, head by head, sequence by sequence.
struct AttendStep {
  LayerValue queries;
  LayerValue keys;
  LayerValue values;
  LayerValue out;
};

/// out = activation(in), by number.
struct ActivateStep {
  LayerValue in;
  LayerValue out;
};

/// out += in, as a residual connection has it.
struct AddStep {
  LayerValue in;
  LayerValue out;
};

/// out = norm(in) * weight + bias, by row.
struct NormStep {
  TensorRole weight;
  TensorRole bias;
  LayerValue in;
  LayerValue out;
};

using LayerStep = std::variant<LinearStep, AttendStep, ActivateStep, AddStep, NormStep>;

/// The steps of a layer in the order in which they run. Each value but kInput is written by one
/// step, apart from what an AddStep adds, and by none that comes behind one that reads it. The
/// value that the last step writes is the layer's output.
using LayerProgram = std::span<const LayerStep>;

/// Returns BERT's layer: attention, then the FFN, each with a residual connection and a norm behind
/// it. A backward pass, which goes the other way, adds up the gradients of queries, keys and values
/// in this order.
LayerProgram EncoderLayer();

/// Returns the layer of a model of `shape`: BERT's, or one with its norms in front, as ViT and
/// GPT-2 have it.
LayerProgram LayerOf(const ModelShape& shape);

/// Returns the first piece of a program, up to the context of attention, and the second, what comes
/// behind it: layers that differ in one slice share the contexts of the others.
LayerProgram ContextSteps(LayerProgram program);
LayerProgram FinishSteps(LayerProgram program);

/// Returns whether a value is wanted of all rows even where the output is wanted of some alone:
/// attention looks at the keys and values of a whole sequence.
bool IsOfAllRows(LayerProgram program, LayerValue value);

/// Returns how many numbers a row of each value has, those of all slices together.
ByValue<uint64_t> WidthsOf(LayerProgram program, const ModelShape& shape);

/// Returns whether a step reads a value.
bool Reads(const LayerStep& step, LayerValue value);

/// Returns the value that a step writes.
LayerValue WrittenBy(const LayerStep& step);

}  // namespace sti
