#include "api/head_rules.h"

#include <algorithm>
#include <string>

#include "base/remedy.h"
#include "types/label_vectors.h"

namespace sti {
namespace {

/// Returns whether inputs of a plan are computed by several submodels or at several bits.
bool MixesVectors(const Plan& plan) {
  const auto is_another = [&](const PlanCore& variant) {
    return variant.layers != plan.layers || variant.slices != plan.slices ||
           variant.bits != plan.bits;
  };
  return plan.cascade || plan.fallback || !plan.turns.empty() ||
         std::ranges::any_of(plan.variants, is_another);
}

/// Returns kUsage if a plan of a model that embeds would give vectors that do not compare.
Status CheckComparable(const Plan& plan, const ModelInfo& info) {
  if (!info.embeds() || !MixesVectors(plan)) return {};
  return UsageError(
             "the plan has a cascade, a fallback, turns or other bits for other inputs, which are "
             "for labels, and the model embeds")
      .Fix(Remedy::kPlanAgain);
}

/// Returns kUsage if a plan has a cascade, whose levels are sure of one label, and the model gives
/// none.
Status CheckCascade(const Plan& plan, const ModelInfo& info) {
  if (!info.labels_tokens() || (!plan.cascade && plan.turns.empty())) return {};
  return UsageError(
             "the plan has a cascade or turns, which are for labels of texts, and the model labels "
             "tokens")
      .Fix(Remedy::kPlanAgain);
}

/// Returns kUsage if a plan has what is for labels of texts, and the model takes images, or
/// continues texts, of which all tokens are of one submodel.
Status CheckRunsOneWay(const Plan& plan, const ModelInfo& info) {
  if (info.has_text() && !info.continues_texts()) return {};
  if (!plan.cascade && !plan.fallback && plan.turns.empty()) return {};
  const std::string for_others = info.has_text() ? "labels, and the model continues texts"
                                                 : "models of texts, and the model takes images";
  return UsageError("the plan has a cascade, a fallback or turns, which are for " + for_others)
      .Fix(Remedy::kPlanAgain);
}

/// Returns kForeign if a plan that is no stage's has a batch, and the model takes no images.
Status CheckBatch(const Plan& plan, const ModelInfo& info, bool is_stage) {
  if (is_stage || !info.has_text() || plan.Extent().sequences == 1) return {};
  return ForeignError("the plan has a batch, and the model takes no images")
      .Fix(Remedy::kPlanForModel);
}

/// Returns kUsage if the options ask of a model that continues texts what is for answers to whole
/// texts.
Status CheckOptionsForContinuing(const SessionOptions& options) {
  if (options.late == Late::kDegrade)
    return UsageError("late inputs are degraded where they are answered, and not continued");
  if (options.windows) return UsageError("a model that continues texts reads them in no windows");
  return {};
}

/// Returns kUsage if the options ask of a model of images what is for texts.
Status CheckOptionsForImages(const SessionOptions& options) {
  if (options.late == Late::kDegrade)
    return UsageError("late inputs are degraded of texts alone, and the model takes images");
  if (!options.prefix.empty())
    return UsageError("a model of images takes no words in front of them");
  if (options.windows) return UsageError("a model of images has no texts to read in windows");
  return {};
}

}  // namespace

Status CheckPlanForHead(const Plan& plan, const ModelInfo& info, bool is_stage) {
  STI_RETURN_IF_ERROR(CheckBatch(plan, info, is_stage));
  STI_RETURN_IF_ERROR(CheckRunsOneWay(plan, info));
  STI_RETURN_IF_ERROR(CheckComparable(plan, info));
  return CheckCascade(plan, info);
}

Status CheckOptionsForHead(const SessionOptions& options, const ModelInfo& info) {
  if (!info.has_text()) STI_RETURN_IF_ERROR(CheckOptionsForImages(options));
  if (info.continues_texts()) STI_RETURN_IF_ERROR(CheckOptionsForContinuing(options));
  if (info.labels_tokens() && !options.prefix.empty())
    return UsageError("a model that labels the tokens of a text takes no words in front of it");
  if (!options.dimensions) return {};
  if (!info.embeds()) return UsageError("a model that embeds nothing has no dimensions to choose");
  if (*options.dimensions >= 1 && *options.dimensions <= info.head_values()) return {};
  return UsageError("the model's embeddings have " + std::to_string(info.head_values()) +
                    " dimensions, of which at least 1 is taken");
}

Status CheckLabelVectors(const LabelVectors& vectors, const ContainerIndex& index,
                         const PlanCore& plan, const std::string& prefix,
                         std::optional<uint32_t> dimensions) {
  const auto foreign = [](const std::string& what) {
    return ForeignError(what).In(Source::kExamples).Fix(Remedy::kEmbedExamples);
  };
  if (!index.info.embeds()) {
    return ForeignError("is for a model that embeds, and this one gives labels")
        .In(Source::kExamples);
  }
  if (vectors.model != index.model) {
    return foreign("was made for model " + vectors.model.Prefix() + ", not " +
                   index.model.Prefix());
  }
  if (vectors.submodel != SubmodelDigest(plan))
    return foreign("has embeddings of other layers, slices or bits than the plan runs");
  if (vectors.dimensions > index.info.head_values() ||
      dimensions.value_or(vectors.dimensions) != vectors.dimensions) {
    return foreign("has embeddings of " + std::to_string(vectors.dimensions) +
                   " dimensions, not of " +
                   std::to_string(dimensions.value_or(index.info.head_values())));
  }
  if (!prefix.empty() && prefix != vectors.prefix)
    return foreign("has embeddings of texts with another prefix");
  return {};
}

ModelInfo ClassifierOf(ModelInfo info, const LabelVectors& vectors) {
  info.labels = vectors.labels;
  info.shape.labels = static_cast<uint32_t>(vectors.labels.size());
  info.head.output = HeadOutput::kLabels;
  info.problem = Problem::kSingleLabel;
  return info;
}

}  // namespace sti
