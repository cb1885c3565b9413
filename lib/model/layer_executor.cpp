#include "model/layer_executor.h"

#include <algorithm>
#include <cassert>

#include "kernels/elementwise.h"
#include "model/attention.h"
#include "network/tensors.h"

namespace sti {
namespace {

using Region = ValuePlace::Region;

LinearLimits LinearLimitsOf(const ShardMatrixTable& matrices, const TransformerLimits& most) {
  LinearLimits limits;
  limits.rows = most.tokens;
  limits.terms = most.width;
  for (const ShardMatrix& matrix : matrices) {
    limits.matrix_weights = std::max(limits.matrix_weights, matrix.outs * matrix.ins);
    limits.outs = std::max(limits.outs, matrix.outs);
    limits.ins = std::max(limits.ins, matrix.ins);
    if (matrix.scaled_by_output) limits.summed_ins = std::max(limits.summed_ins, matrix.ins);
  }
  return limits;
}

// Returns whether a step adds rows whose sum nothing but the norm behind it wants: not to kInput,
// to which a layer with its norms in front goes on adding.
bool AddsForANormAlone(const LayerStep& step) {
  const auto* add = std::get_if<AddStep>(&step);
  return add != nullptr && add->out != LayerValue::kInput;
}

// Returns how many of the first of `steps` are run as one.
size_t FusedSteps(LayerProgram steps, const ByValue<bool>& is_of_all_rows) {
  const auto* first = std::get_if<LinearStep>(&steps.front());
  if (first == nullptr) return AddsForANormAlone(steps.front()) ? 2 : 1;
  size_t count = 1;
  for (; count < steps.size(); ++count) {
    if (std::holds_alternative<ActivateStep>(steps[count])) return count + 1;
    const auto* linear = std::get_if<LinearStep>(&steps[count]);
    if (linear == nullptr || linear->in != first->in ||
        is_of_all_rows[linear->out] != is_of_all_rows[first->out]) {
      break;
    }
  }
  return count;
}

// sums[t] += parts[0, t] + ... + parts[heads - 1, t], in this order.
void AddHeadsOf(const float* parts, size_t heads, uint32_t tokens, float* sums) {
  for (size_t head = 0; head < heads; ++head) {
    for (uint32_t t = 0; t < tokens; ++t) sums[t] += parts[head * tokens + t];
  }
}

}  // namespace

// The memory of a value while a call is executed.
struct LayerExecutor::Place {
  float* data = nullptr;
  size_t stride = 0;
  size_t slice_step = 0;
  bool transposed = false;
};

// A call that is being executed.
struct LayerExecutor::Frame {
  Place& operator[](LayerValue value) { return places[value]; }

  const LayerPart& part;
  ByValue<Place> places;
  std::span<const ContextRef> contexts;  ///< [slices] of the second piece
  const Batch* batch = nullptr;          ///< of the first piece
  OutputRows wanted = OutputRows::kAll;  ///< of the first piece
  float* received = nullptr;             ///< of the first piece
  std::optional<CachedLayer> kept = {};  ///< of the first piece
  uint32_t rows = 0;                     ///< that are wanted
};

LayerExecutor::LayerExecutor(const ModelInfo& info, std::unique_ptr<Linear> linear, bool packed,
                             ThreadPool& pool)
    : shape_(info.shape),
      eps_(static_cast<float>(info.layer_norm_eps)),
      matrices_(ShardMatrices(info.shape)),
      linear_(std::move(linear)),
      packed_(packed),
      pool_(pool),
      layout_(program_, shape_, packed_, limits_) {
  for (const LayerValue value : kLayerValues) {
    is_of_all_rows_[value] = IsOfAllRows(program_, value);
  }
}

uint64_t LayerExecutor::RoomFor(const ModelShape& shape, const Arithmetic& arithmetic, bool packed,
                                uint32_t threads, const TransformerLimits& limits) {
  return LayerLayout(LayerOf(shape), shape, packed, limits).bytes(threads) +
         Linear::RoomFor(arithmetic, LinearLimitsOf(ShardMatrices(shape), limits), threads);
}

void LayerExecutor::Reserve(const TransformerLimits& limits) {
  if (limits == limits_) return;
  limits_ = limits;
  layout_ = LayerLayout(program_, shape_, packed_, limits);
  buffer_.Renew(layout_.bytes(pool_.threads()));
  const size_t products = program_.size() * size_t{limits.width};  // no step has more
  terms_.reserve(products);
  sums_of_terms_.reserve(products);
  contexts_.reserve(limits.width);
  linear_->Reserve(LinearLimitsOf(matrices_, limits));
}

void LayerExecutor::MakeRoom(const TransformerLimits& limits) {
  if (limits.tokens <= limits_.tokens && limits.width <= limits_.width &&
      limits.context <= limits_.context) {
    return;
  }
  Reserve({std::max(limits.tokens, limits_.tokens), std::max(limits.width, limits_.width),
           std::max(limits.context, limits_.context)});
}

void LayerExecutor::Release() {
  buffer_ = AlignedBuffer();
  limits_ = {};
  linear_->Release();
}

void LayerExecutor::VisitMemory(FunctionRef<void(AlignedBuffer&)> visit) {
  visit(buffer_);
  linear_->VisitMemory(visit);
}

LayerExecutor::Place LayerExecutor::PlaceOf(LayerValue value, float* hidden) {
  const ValuePlace& place = layout_[value];
  float* region = hidden;
  if (place.region == Region::kSlices) region = floats();
  if (place.region == Region::kSums) region = sums();
  return {region + place.offset, place.stride, place.slice_step, place.transposed};
}

LayerExecutor::Frame LayerExecutor::FrameOf(const LayerPart& part, float* hidden) {
  Frame frame = {.part = part, .places = {}, .contexts = {}};
  for (const LayerValue value : kLayerValues) frame[value] = PlaceOf(value, hidden);
  return frame;
}

void LayerExecutor::Run(const LayerCall& call, float* hidden) {
  const auto width = static_cast<uint32_t>(call.part.slices.size());
  MakeRoom(call.limits());
  const Place context = PlaceOf(LayerValue::kContext, hidden);
  RunContext(call, hidden, context.data, context.stride);
  CopyRows(call.batch, call.rows, shape_.hidden, hidden, hidden);
  contexts_.clear();
  for (uint32_t i = 0; i < width; ++i) {
    contexts_.push_back({context.data + i * context.slice_step, context.stride});
  }
  RunFinish(call.batch.Count(call.rows), call.part, contexts_, hidden);
}

void LayerExecutor::RunContext(const LayerCall& call, const float* hidden, float* context,
                               size_t stride) {
  MakeRoom(call.limits());
  // No step of this piece writes hidden rows.
  Frame frame = FrameOf(call.part, const_cast<float*>(hidden));
  frame.batch = &call.batch;
  frame.wanted = call.rows;
  frame.received = call.received;
  frame.rows = call.batch.Count(call.rows);
  for (const LayerValue value : {LayerValue::kQueries, LayerValue::kContext}) {
    frame[value].data = context;
    frame[value].stride = stride;
  }
  frame.kept = call.kept;
  if (const auto& kept = call.kept) {
    const size_t head_dim = shape_.head_dim();
    frame[LayerValue::kKeys] = {kept->keys + kept->first, kept->key_stride,
                                head_dim * kept->key_stride, true};
    frame[LayerValue::kValues] = {kept->values + kept->first * kept->value_stride,
                                  kept->value_stride, head_dim, false};
  }
  RunSteps(ContextSteps(program_), frame);
}

void LayerExecutor::RunFinish(uint32_t rows, const LayerPart& part,
                              std::span<const ContextRef> contexts, float* hidden) {
  MakeRoom({rows, static_cast<uint32_t>(part.slices.size())});
  Frame frame = FrameOf(part, hidden);
  frame.contexts = contexts;
  frame.rows = rows;
  RunSteps(FinishSteps(program_), frame);
}

void LayerExecutor::RunSteps(LayerProgram steps, Frame& frame) {
  while (!steps.empty()) {
    const size_t count = FusedSteps(steps, is_of_all_rows_);
    const LayerStep& first = steps.front();
    if (std::holds_alternative<LinearStep>(first)) {
      RunProducts(steps.first(count), frame);
    } else if (const auto* attend = std::get_if<AttendStep>(&first)) {
      RunAttention(*attend, frame);
    } else if (const auto* norm = std::get_if<NormStep>(&steps[count - 1])) {
      RunNorm(*norm, std::get_if<AddStep>(&first), frame);
    } else {
      RunAdd(std::get<AddStep>(first), frame);
    }
    steps = steps.subspan(count);
  }
}

// Runs linear maps of one input; behind the last one its activation may stand.
void LayerExecutor::RunProducts(LayerProgram steps, Frame& frame) {
  const auto* activate = std::get_if<ActivateStep>(&steps.back());
  const auto& first = std::get<LinearStep>(steps.front());
  const bool of_all_rows = is_of_all_rows_[first.out];
  const Place input = frame[first.in];
  if (is_of_all_rows_[first.in] && !of_all_rows && frame.wanted != OutputRows::kAll) {
    // Sums over slices come later, so that their room is free; no other step wants all rows again.
    CopyRows(*frame.batch, frame.wanted, shape_.hidden, input.data, sums());
    frame[first.in].data = sums();
  }
  for (const LayerStep& step : steps.first(steps.size() - (activate != nullptr ? 1 : 0))) {
    const auto& linear = std::get<LinearStep>(step);
    AddProducts(linear, activate != nullptr && activate->in == linear.out, frame);
  }
  frame[first.in] = input;
  linear_->Run(of_all_rows ? frame.batch->tokens() : frame.rows, sums_of_terms_);
  sums_of_terms_.clear();
  terms_.clear();
}

// Adds the sums of products that a linear map is: one of all slices, or one of each.
void LayerExecutor::AddProducts(const LinearStep& step, bool activated, Frame& frame) {
  const ShardMatrix& matrix = matrices_[step.weight];
  const Place in = frame[step.in];
  const Place out = frame[step.out];
  const float* bias = frame.part.parameters[step.bias].data();
  const std::span<const ShardView> slices = frame.part.slices;
  const bool summed = IsCutByInputs(SpecOf(step.weight));
  Epilogue epilogue = activated ? Epilogue::kActivate : Epilogue::kNone;
  if (out.transposed) epilogue = Epilogue::kTranspose;
  LinearSum sum = {.terms = {},
                   .bias = bias,
                   .outs = matrix.outs,
                   .out = out.data,
                   .out_stride = out.stride,
                   .epilogue = epilogue};
  const LinearTerm* const terms = terms_.data() + terms_.size();
  for (size_t i = 0; i < slices.size(); ++i) {
    ContextRef input = {in.data + i * in.slice_step, in.stride};
    if (step.in == LayerValue::kContext) input = frame.contexts[i];
    terms_.push_back({&slices[i], matrix, input.data, input.stride});
    if (summed) continue;
    sum.terms = {&terms_.back(), 1};
    sum.bias = bias + uint64_t{frame.part.slice_indexes[i]} * matrix.outs;
    sum.out = out.data + i * out.slice_step;
    sums_of_terms_.push_back(sum);
  }
  if (!summed) return;
  sum.terms = {terms, slices.size()};
  sums_of_terms_.push_back(sum);
}

void LayerExecutor::RunAttention(const AttendStep& step, Frame& frame) {
  const Place queries = frame[step.queries];
  Place keys = frame[step.keys];
  Place values = frame[step.values];
  std::span<const uint32_t> offsets = frame.batch->offsets;
  const uint32_t past = frame.kept ? frame.kept->first : 0;
  const uint32_t of_all[2] = {0, past + frame.batch->tokens()};
  if (frame.kept) {
    assert(frame.batch->sequences() == 1 && shape_.causal && !packed_);
    keys.data = frame.kept->keys;
    values.data = frame.kept->values;
    offsets = of_all;
  }
  // Nothing is in the sums yet, which have room for a row a head.
  float* const parts = frame.received != nullptr ? sums() : nullptr;
  Attend({.queries = queries.data,
          .query_stride = queries.stride,
          .keys = keys.data,
          .key_stride = keys.stride,
          .values = values.data,
          .value_stride = values.stride,
          .heads = static_cast<uint32_t>(frame.part.slices.size()),
          .head_dim = shape_.head_dim(),
          .offsets = offsets,
          .one_row = frame.wanted != OutputRows::kAll,
          .causal = shape_.causal,
          .past = past,
          .packed = packed_,
          .received = parts},
         pool_, floats() + layout_.scores(), layout_.scores_stride());
  if (parts == nullptr) return;
  AddHeadsOf(parts, frame.part.slices.size(), frame.batch->tokens(), frame.received);
}

void LayerExecutor::RunAdd(const AddStep& add, Frame& frame) {
  const uint32_t d = shape_.hidden;
  const float* added = frame[add.in].data;
  float* sums = frame[add.out].data;
  ForRows(pool_, frame.rows,
          [&](uint32_t row) { AddTo(added + uint64_t{row} * d, d, sums + uint64_t{row} * d); });
}

// out = norm(in), where `in` is still to be added to if `add` says so.
void LayerExecutor::RunNorm(const NormStep& norm, const AddStep* add, Frame& frame) {
  assert(add == nullptr || add->out == norm.in);
  const uint32_t d = shape_.hidden;
  const uint32_t rows = is_of_all_rows_[norm.out] ? frame.batch->tokens() : frame.rows;
  const float* weight = frame.part.parameters[norm.weight].data();
  const float* bias = frame.part.parameters[norm.bias].data();
  const float* in = frame[add != nullptr ? add->in : norm.in].data;
  const float* summed = add != nullptr ? frame[add->out].data : nullptr;
  float* out = frame[norm.out].data;
  ForRows(pool_, rows, [&](uint32_t row) {
    const uint64_t at = uint64_t{row} * d;
    LayerNormRow(in + at, summed != nullptr ? summed + at : nullptr, weight, bias, d, eps_,
                 out + at);
  });
}

}  // namespace sti
