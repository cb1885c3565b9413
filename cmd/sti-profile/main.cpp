// sti-profile: what this device's flash and cores can do (STI 5.2).

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "api/plan_inputs.h"
#include "api/process_bytes.h"
#include "base/log.h"
#include "base/result.h"
#include "common/cli.h"
#include "common/files.h"
#include "common/machine.h"
#include "common/option_rules.h"
#include "common/parse.h"
#include "common/tool.h"
#include "format/profile_file.h"
#include "options.h"
#include "profile/compute_choice.h"
#include "profile/device_state.h"
#include "profile/profile.h"
#include "profile/profile_join.h"
#include "profile/start_time.h"
#include "types/limits.h"

namespace sti {
namespace {

// Writes the profile, to stdout too with --json.
Status WriteAndPrint(const Tool& tool, const ProfileToolOptions& options,
                     const DeviceProfile& profile) {
  STI_RETURN_IF_ERROR(WriteProfile(options.output, profile));
  if (tool.json() && options.output != "-") std::fputs(ProfileToJson(profile).c_str(), stdout);
  return {};
}

// Joins the profiles that were named, and writes the joined one. Returns the exit code.
Result<int> Merge(const Tool& tool, const ProfileToolOptions& options) {
  std::vector<NamedProfile> profiles;
  profiles.reserve(options.merge_files.size());
  for (const std::string& path : options.merge_files) {
    STI_RETURN_IF_ERROR(CheckKeepsInput({"-o", options.output}, path, "one of the profiles"));
    STI_ASSIGN_OR_RETURN(DeviceProfile profile, ReadProfile(path, tool));
    profiles.push_back({path, std::move(profile)});
  }
  STI_ASSIGN_OR_RETURN(const DeviceProfile joined, JoinProfiles(profiles));
  STI_RETURN_IF_ERROR(WriteAndPrint(tool, options, joined));
  return 0;
}

// Has passes of so many inputs measured beside those of one. Their memory grows with their tokens.
Status AddBatches(const std::vector<uint32_t>& batches, ProfileOptions& work) {
  for (const uint32_t batch : batches) {
    if (batch > 1) work.batches.push_back(batch);
  }
  const uint64_t inputs = work.batches.back();
  if (inputs * work.lengths.back() <= kMaxLength) return {};
  return UsageError("--batches: " + std::to_string(inputs) + " inputs of " +
                    std::to_string(work.lengths.back()) + " tokens are more than " +
                    std::to_string(kMaxLength) + " tokens a pass");
}

// All images of a model have one length.
Status CheckForImages(const CLI::App& app, const std::string& model) {
  return RefuseOptions(app, model, {"--lengths"}, "all images have one length");
}

Result<ProfileOptions> WorkOf(const Tool& tool, const ProfileToolOptions& options,
                              const ModelInfo& info) {
  ProfileOptions work;
  work.lengths = options.lengths.empty() ? UsualLengths(info) : LengthsFor(options.lengths, info);
  work.widths = options.widths.empty() ? TrainedWidths(info) : options.widths;
  if (work.widths.front() < 1 || work.widths.back() > info.shape.width) {
    return UsageError("--widths: the model has 1 to " + std::to_string(info.shape.width) +
                      " slices a layer");
  }
  if (!info.has_text()) STI_RETURN_IF_ERROR(CheckForImages(tool.app(), options.model));
  if (const uint32_t least = LeastProfiledLength(info); work.lengths.front() < least)
    return UsageError("--lengths: an input has at least " + std::to_string(least) + " tokens");
  STI_RETURN_IF_ERROR(AddBatches(options.batches, work));
  work.threads = options.threads != 0 ? options.threads : std::min(AvailableThreads(), kMaxThreads);
  STI_ASSIGN_OR_RETURN(work.compute, ParseCompute(options.compute));
  work.may_skip_widths = options.widths.empty();
  work.gap_us = options.gap_us;
  work.precision = options.precision;
  work.budget_us = options.budget_us;
  if (options.gap_us > 0)
    tool.Explain("idle for " + FormatTimeUs(options.gap_us) + " before each sample");
  work.progress = tool.Progress("profiling");
  work.cancelled = StopRequested;
  work.log = [&tool](const LogLine& line) { tool.Log(line); };
  return work;
}

void Summarise(const Tool& tool, const DeviceProfile& profile) {
  const IoSample& io = profile.io.back();
  const ComputeSample& layer = profile.compute.back();
  char line[200];
  std::snprintf(line, sizeof(line),
                "reads %.0f MB/s through %s; a layer of %s at %u tokens takes %s on %s",
                static_cast<double>(io.bytes) / io.load_us, profile.read_path.c_str(),
                Counted(layer.width, "slice").c_str(), layer.length,
                FormatTimeUs(layer.layer_us).c_str(), Counted(profile.threads, "thread").c_str());
  tool.Say(line);
  std::snprintf(
      line, sizeof(line),
      "best read by %u of %s at once%s; a start takes %s; medians are known to within %.1f %%",
      profile.read_depth, FormatBytes(profile.read_bytes).c_str(),
      profile.read_streams > 1
          ? (" through each of " + Counted(profile.read_streams, "open file")).c_str()
          : "",
      FormatTimeUs(profile.start_us).c_str(), 100 * profile.noise);
  tool.Say(line);
}

// Times the types that `auto` chooses from, fp32 and, where this CPU has it, bf16, which costs no
// accuracy to speak of; says what they take, and takes the faster.
Result<ComputeType> FasterCompute(const Tool& tool, const ProfileToolOptions& options,
                                  const ProfileOptions& work) {
  std::vector<ComputeType> types{ComputeType::kFp32};
  STI_ASSIGN_OR_RETURN(const ComputeType other, ParseCompute("auto"));
  if (other == types.front()) return other;
  types.push_back(other);
  STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(options.model));
  STI_ASSIGN_OR_RETURN(const auto times,
                       TimeComputeTypes(std::move(file), types, work.lengths.back(), work.threads));
  std::string line = "--compute auto: " + std::string(NameOf(times.front().type));
  for (size_t i = 0; i < times.size(); ++i) {
    line += (i == 0 ? ", a layer in " : " and ") + std::string(NameOf(times[i].type)) + " takes " +
            FormatTimeUs(times[i].layer_us);
  }
  tool.Say(line);
  return times.front().type;
}

// A runner that starts, as only a fresh process shows it.
struct Start {
  uint64_t process_bytes = 0;
  double open_us = 0;  ///< MeasureOpenUs
};

Result<Start> MeasureStart(const ProfileToolOptions& options, ReadPath path,
                           const ProfileOptions& work, ContainerFile file) {
  Start start;
  STI_ASSIGN_OR_RETURN(start.process_bytes,
                       MeasureProcessBytes(std::move(file), work.threads, work.compute));
  STI_ASSIGN_OR_RETURN(start.open_us, MeasureOpenUs(FileSource(options.model), path, work.threads));
  return start;
}

Result<DeviceProfile> Measure(const Tool& tool, const ProfileToolOptions& options, double exec_us) {
  STI_ASSIGN_OR_RETURN(const ReadPath path, ParseReadPath(options.io));
  STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(options.model, path));
  STI_RETURN_IF_ERROR(file.RequireWholeLayers());
  STI_ASSIGN_OR_RETURN(ProfileOptions work, WorkOf(tool, options, file.index().info));
  if (options.compute == "auto") {
    STI_ASSIGN_OR_RETURN(work.compute, FasterCompute(tool, options, work));
  }
  STI_ASSIGN_OR_RETURN(const Start start, MeasureStart(options, path, work, std::move(file)));
  const std::vector<uint32_t> cores = AffinityCores();
  StateWatch watch(cores);
  work.each_round = [&watch] { watch.Look(); };
  STI_ASSIGN_OR_RETURN(file, ContainerFile::Open(options.model, path));
  const ColdBytes cold = ColdBytesOf(file);
  STI_ASSIGN_OR_RETURN(DeviceProfile profile, MeasureProfile(std::move(file), work));
  profile.thermal = watch.Finish();
  profile.process_bytes = start.process_bytes;
  // A plan counts the reads by their load times, which say nothing of a read that goes alone.
  STI_ASSIGN_OR_RETURN(const double load_us, OpeningLoadUs(cold, profile));
  profile.start_us = exec_us + std::max(0.0, start.open_us - load_us);
  if (const auto unsteady = StateWarning(profile.thermal)) tool.Log(*unsteady);
  SetClock(profile.thermal.freq_max, &profile);
  return profile;
}

// Measures at each clock that was asked for. Whatever ends this, a signal too, the bounds of the
// clocks are put back.
Result<DeviceProfile> MeasureAtClocks(const Tool& tool, const ProfileToolOptions& options,
                                      double exec_us) {
  if (options.clocks_khz.empty()) return Measure(tool, options, exec_us);
  const std::vector<uint32_t> cores = AffinityCores();
  auto setting = ClockSetting::Make(cores);
  if (!setting.ok()) return Error(setting.error()).At("--clocks");
  std::vector<NamedProfile> profiles;
  for (const uint32_t khz : options.clocks_khz) {
    if (const Status set = setting->Set(khz); !set.ok()) return Error(set.error()).At("--clocks");
    tool.Say("at " + std::to_string(khz) + " kHz");
    STI_ASSIGN_OR_RETURN(DeviceProfile profile, Measure(tool, options, exec_us));
    SetClock(khz, &profile);
    profiles.push_back({std::to_string(khz) + " kHz", std::move(profile)});
  }
  STI_RETURN_IF_ERROR(setting->Restore());
  return JoinProfiles(profiles);
}

Result<int> Run(const Tool& tool, const ProfileToolOptions& options) {
  const double exec_us = ProcessCpuUs();
  STI_RETURN_IF_ERROR(CheckProfileToolOptions(tool.app(), options));
  if (tool.app().got_subcommand("merge")) return Merge(tool, options);
  STI_RETURN_IF_ERROR(CheckKeepsInput({"-o", options.output}, options.model, "the model"));
  STI_RETURN_IF_ERROR(CheckOutput({"-o", options.output}));
  STI_RETURN_IF_ERROR(TakeCpusOption(options.cpus));
  STI_RETURN_IF_ERROR(TakeInstructionsOption(options.instructions));
  STI_ASSIGN_OR_RETURN(DeviceProfile profile, MeasureAtClocks(tool, options, exec_us));
  profile.cpus = AffinityList();
  profile.machine = MachineName();
  STI_RETURN_IF_ERROR(WriteAndPrint(tool, options, profile));
  Summarise(tool, profile);
  return 0;
}

}  // namespace

}  // namespace sti

int main(int argc, char** argv) {
  sti::Tool tool("sti-profile",
                 "Measures what a device can do with models of this shape: reads of shards, layers "
                 "of every width, and the rest.",
                 "sti-profile model.sti -o device.profile");
  sti::ProfileToolOptions options;
  sti::AddProfileToolOptions(tool.app(), options);
  return tool.Main(argc, argv, [&] { return sti::Run(tool, options); });
}
