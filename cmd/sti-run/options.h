// The options of sti-run, as a user gives them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/tool.h"
#include "kernels/backend.h"
#include "score/evaluation.h"
#include "score/spans.h"
#include "text/dataset.h"
#include "types/submodel.h"

namespace sti {

/// The fate of an input that is short of time.
enum class OnLate : uint8_t {
  kWait,     ///< it is reported
  kDegrade,  ///< it is computed with what has arrived
  kFail,     ///< it makes the exit code
};

/// How embeddings are written to stdout.
enum class VectorFormat : uint8_t {
  kText,  ///< a line of numbers each
  kF32,   ///< 32-bit floats, the lowest byte first, without anything between
  kNpy,   ///< numpy's file of such floats
};

/// How the stages of a plan are joined.
enum class StageCarrier : uint8_t {
  kFrames,  ///< frames on stdin and stdout, which whoever starts the stages joins
  kMpi,     ///< ranks of MPI
};

/// Holds the options. An empty text means that its option was not given.
struct RunOptions {
  std::string model;
  std::vector<std::string> models;  ///< of --model, as given; empty: `model` is the only one
  std::string name;                 ///< of this model among several; empty: it is the only one
  std::vector<std::string> texts;
  std::string plan;
  std::string replan;      ///< device profile to plan anew by, when the device changes
  std::string importance;  ///< that such plans are made by too
  std::optional<Submodel> submodel;
  std::optional<uint32_t> bits;
  OnLate on_late = OnLate::kWait;
  std::string io = "auto";
  Backend backend = Backend::kNative;
  std::string compute;       ///< empty: as the plan says, or fp32
  std::string instructions;  ///< set that kernels keep to; empty: the best here
  std::optional<uint64_t> memory_bytes;
  bool lock_memory = false;
  bool priority = false;       ///< ahead of other processes
  uint32_t threads = 0;        ///< 0: as many as the plan says or this machine has
  std::vector<uint32_t> cpus;  ///< cores to keep to; empty: as the plan says, or all
  bool one_shot = false;
  std::optional<double> idle_us;      ///< after such a pause memory that only inputs need goes
  std::optional<double> turn_gap_us;  ///< longer pauses end an engagement; default: kTurnGap_us
  std::optional<uint32_t> generate;   ///< most tokens that each text is continued by
  bool stream = false;                ///< of them each is written as soon as it is there
  bool ids = false;
  bool pairs = false;
  bool stats = false;
  std::optional<uint32_t> window;  ///< tokens of the windows that longer texts are read in
  std::optional<uint32_t> stride;  ///< from one to the next; default: UsualStride
  uint32_t top = 0;                ///< 0: all
  std::optional<uint64_t> seed;    ///< of inputs that a cascade sends on by chance; default: 0
  VectorFormat format = VectorFormat::kText;
  std::optional<Aggregation> aggregation;  ///< of tokens into spans; default: by first tokens
  std::optional<uint32_t> dimensions;      ///< of embeddings, the first so many; default: all
  std::string prefix;                      ///< in front of each text
  std::string nearest;                     ///< examples whose labels a model that embeds gives
  std::string keep;                        ///< file of their embeddings, read or else written
  std::optional<double> threshold;  ///< least score of a label, multi-label only; default: 0.5
  std::string stage;                ///< device whose stage of the plan is run; empty: all
  StageCarrier link = StageCarrier::kFrames;
  std::optional<double> stage_timeout_us;  ///< default: ten periods, and at least 5 s
  std::string trace;
  std::string eval;
  ColumnChoice columns;  ///< of the data set to evaluate, and of the examples
  Gates gates;
  std::string baseline;

  /// Returns what messages about this model begin with: its name, or nothing if it is the only one.
  [[nodiscard]] std::string Prefix() const { return name.empty() ? "" : name + ": "; }
};

/// One of several models, as --model names it.
struct ModelChoice {
  std::string name;
  std::string model;
  std::string plan;  ///< empty: none
};

/// Reads values of --model, NAME=FILE or NAME=FILE,PLAN. The last comma is the one before the plan,
/// so that a container whose path has a comma and that has no plan is written with a comma at its
/// end. A name is 1 to 64 letters, digits, points, dashes and underscores, and no other model's.
/// kUsage for what breaks these rules.
Result<std::vector<ModelChoice>> ParseModelChoices(const std::vector<std::string>& values);

/// Adds the options to a tool's parser, which fills `options` in.
void AddRunOptions(CLI::App& app, RunOptions& options);

/// Returns kUsage for combinations of options that make no sense.
Status CheckRunOptions(const CLI::App& app, const RunOptions& options);

}  // namespace sti
