#include "importance/attention_gradient.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/checked.h"
#include "kernels/dense.h"
#include "kernels/elementwise.h"
#include "kernels/linear.h"

namespace sti {
namespace {

/// Room for one head of one sequence.
struct Scratch {
  std::vector<float> turned;    ///< [head_dim, stride] keys or values, or [length, stride] below
  std::vector<float> weights;   ///< [length, stride] of attention
  std::vector<float> gradient;  ///< [length, stride] at the weights, then at the scores
};

class HeadGradient {
 public:
  HeadGradient(const AttentionTape& tape, uint32_t head, uint32_t begin, uint32_t end)
      : tape_(tape),
        length_(end - begin),
        dim_(tape.hidden / tape.heads),
        stride_(RoundUp(length_, kDenseSlack)),
        at_(size_t{begin} * tape.hidden + size_t{head} * dim_) {}

  void Run(Scratch* scratch) const {
    scratch->turned.resize(std::max<size_t>(dim_, length_) * stride_ + kDenseSlack);
    scratch->weights.resize(length_ * stride_ + kDenseSlack);
    scratch->gradient.resize(length_ * stride_ + kDenseSlack);
    float* turned = scratch->turned.data();
    float* weights = scratch->weights.data();
    float* gradient = scratch->gradient.data();
    const float scale = 1.0f / std::sqrt(static_cast<float>(dim_));
    ByTurned(tape_.queries, tape_.keys, turned, weights);
    ByTurned(tape_.context_gradient, tape_.values, turned, gradient);
    for (uint32_t r = 0; r < length_; ++r) {
      SoftmaxRow(weights + r * stride_, length_, scale);
      SoftmaxGradientRow(weights + r * stride_, length_, scale, gradient + r * stride_);
    }
    Combine(gradient, tape_.keys, tape_.query_gradient);
    TransposeTile(gradient, stride_, length_, length_, turned, stride_);
    Combine(turned, tape_.queries, tape_.key_gradient);
    TransposeTile(weights, stride_, length_, length_, turned, stride_);
    Combine(turned, tape_.context_gradient, tape_.value_gradient);
  }

 private:
  // out [length, length] = this head's rows of `a` times those of `b`, each by each.
  void ByTurned(const float* a, const float* b, float* turned, float* out) const {
    TransposeTile(b + at_, tape_.hidden, length_, dim_, turned, stride_);
    MultiplySmall({.a = a + at_,
                   .a_stride = tape_.hidden,
                   .b = turned,
                   .b_stride = stride_,
                   .c = out,
                   .c_stride = stride_,
                   .rows = length_,
                   .ins = dim_,
                   .outs = length_});
  }

  // This head's rows of `out` = square [length, length] times those of `b`.
  void Combine(const float* square, const float* b, float* out) const {
    MultiplySmall({.a = square,
                   .a_stride = stride_,
                   .b = b + at_,
                   .b_stride = tape_.hidden,
                   .c = out + at_,
                   .c_stride = tape_.hidden,
                   .rows = length_,
                   .ins = length_,
                   .outs = dim_});
  }

  const AttentionTape& tape_;
  uint32_t length_;
  uint32_t dim_;
  size_t stride_;
  size_t at_;  // of the head's first number
};

}  // namespace

void AttentionGradient(const AttentionTape& tape, ThreadPool& pool) {
  std::vector<Scratch> scratch(pool.threads());
  const auto sequences = static_cast<uint32_t>(tape.offsets.size() - 1);
  pool.ParallelFor(sequences * tape.heads, [&](uint32_t index, uint32_t worker) {
    const uint32_t sequence = index / tape.heads;
    const HeadGradient head(tape, index % tape.heads, tape.offsets[sequence],
                            tape.offsets[sequence + 1]);
    head.Run(&scratch[worker]);
  });
}

}  // namespace sti
