// The inputs of a plan, put together: a container's sizes, a device profile and importance. Tools
// and apps plan with them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "io/container_file.h"
#include "plan/request.h"
#include "plan/stages.h"
#include "text/vocabulary.h"
#include "types/cluster.h"
#include "types/device_profile.h"
#include "types/importance.h"
#include "types/shard_id.h"

namespace sti {

/// Returns the bytes that a process reads once beside shards.
ColdBytes ColdBytesOf(const ContainerFile& file);

/// Returns what the profile's load times say of the reads that open a model: index, vocabulary and
/// parameters of the embedding, in microseconds. 0 if it has none by bytes; kDamaged if it cannot
/// be a profile.
Result<double> OpeningLoadUs(const ColdBytes& bytes, const DeviceProfile& profile);

/// Owns what a PlanInput refers to. Immutable once made; any number of threads may plan with it.
class PlanInputs {
 public:
  /// Copies what planning needs of `file`, which may be closed afterwards. The profile and the
  /// importance belong to the model: the planner checks their digests. The vocabulary is the
  /// model's too; where the importance has counted no words, it tells which are common.
  PlanInputs(const ContainerFile& file, DeviceProfile profile, std::optional<Importance> importance,
             const Vocabulary* vocabulary = nullptr);

  /// Returns the planner's view, which refers to this object.
  [[nodiscard]] PlanInput View() const;
  /// Returns a view in which memory is the model's own alone: an app bounds that, and takes more.
  [[nodiscard]] PlanInput ViewOfOwnMemory() const;

  [[nodiscard]] const ModelInfo& info() const { return index_.info; }
  [[nodiscard]] const ShardCatalog& catalog() const { return catalog_; }

 private:
  ContainerIndex index_;
  ShardCatalog catalog_;
  ColdBytes cold_;
  DeviceProfile profile_;
  std::optional<Importance> importance_;
  std::vector<uint32_t> common_words_;
};

/// Owns what a ClusterInput refers to: a PlanInputs for each kind of a cluster's devices. Immutable
/// once made.
class ClusterInputs {
 public:
  /// Copies what planning needs of `file`, as PlanInputs does. `cluster` is one that was read.
  ClusterInputs(const ContainerFile& file, const Cluster& cluster,
                const std::optional<Importance>& importance);

  /// Returns the planner's view, which refers to this object.
  [[nodiscard]] ClusterInput View() const;
  [[nodiscard]] const ModelInfo& info() const { return kinds_.front().info(); }

 private:
  Cluster cluster_;
  ClusterKinds grouped_;
  std::vector<PlanInputs> kinds_;
};

/// Reads, of an open container, what a plan of the request needs beside the profile and the
/// importance: the vocabulary, where there is to be a guarantee and the importance has counted no
/// words. Fails as ContainerFile and LoadVocabulary do.
Result<PlanInputs> ReadPlanInputs(ContainerFile& file, DeviceProfile profile,
                                  std::optional<Importance> importance, const PlanRequest& request);

}  // namespace sti
