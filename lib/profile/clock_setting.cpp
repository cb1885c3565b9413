#include "profile/clock_setting.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

namespace sti {
namespace {

constexpr const char* kMin = "scaling_min_freq";
constexpr const char* kMax = "scaling_max_freq";

std::optional<uint64_t> ReadKhz(const std::string& path) {
  std::ifstream file(path);
  uint64_t khz = 0;
  if (!(file >> khz) || khz == 0) return std::nullopt;
  return khz;
}

Error Refused(const std::string& path, const char* why) {
  return InfeasibleError("the clock cannot be set (" + std::string(why) +
                         "); as root it may be, or set it by other means, measure at each clock "
                         "and join the profiles")
      .At(path);
}

// The file exists; one system call, since the kernel takes a whole number at a time.
Status WriteKhz(const std::string& path, uint64_t khz) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return Refused(path, std::strerror(errno));
  const std::string text = std::to_string(khz) + "\n";
  const bool written = ::write(file, text.data(), text.size()) >= 0;
  const int failed = errno;
  ::close(file);
  return written ? Status() : Status(Refused(path, std::strerror(failed)));
}

}  // namespace

Result<ClockSetting> ClockSetting::Make(std::span<const uint32_t> cores,
                                        const std::string& folder) {
  ClockSetting setting;
  for (const uint32_t number : cores) {
    Core core;
    core.folder = folder + "/cpu" + std::to_string(number) + "/cpufreq/";
    const auto min = ReadKhz(core.folder + kMin);
    const auto max = ReadKhz(core.folder + kMax);
    if (!min || !max) return Refused(core.folder + kMax, "this system does not scale it");
    core.found_min_khz = *min;
    core.found_max_khz = *max;
    core.least_khz = ReadKhz(core.folder + "cpuinfo_min_freq").value_or(*min);
    core.most_khz = ReadKhz(core.folder + "cpuinfo_max_freq").value_or(*max);
    for (const char* bound : {kMin, kMax}) {
      if (::access((core.folder + bound).c_str(), W_OK) != 0)
        return Refused(core.folder + bound, std::strerror(errno));
    }
    setting.cores_.push_back(std::move(core));
  }
  return setting;
}

ClockSetting::ClockSetting(ClockSetting&& other) noexcept
    : cores_(std::move(other.cores_)), changed_(std::exchange(other.changed_, false)) {}

ClockSetting::~ClockSetting() { (void)Restore(); }

// No bound may pass the other on the way.
Status ClockSetting::Bound(const Core& core, uint64_t min_khz, uint64_t max_khz) {
  const bool up = ReadKhz(core.folder + kMax).value_or(0) < min_khz;
  if (up) STI_RETURN_IF_ERROR(WriteKhz(core.folder + kMax, max_khz));
  STI_RETURN_IF_ERROR(WriteKhz(core.folder + kMin, min_khz));
  if (!up) STI_RETURN_IF_ERROR(WriteKhz(core.folder + kMax, max_khz));
  return {};
}

Status ClockSetting::Set(uint64_t khz) {
  for (const Core& core : cores_) {
    if (khz < core.least_khz || khz > core.most_khz) {
      return InfeasibleError("its clock goes from " + std::to_string(core.least_khz) + " to " +
                             std::to_string(core.most_khz) + " kHz, and not to " +
                             std::to_string(khz))
          .At(core.folder);
    }
  }
  changed_ = true;
  for (const Core& core : cores_) {
    STI_RETURN_IF_ERROR(Bound(core, khz, khz));
    const uint64_t set = ReadKhz(core.folder + kMax).value_or(0);
    if (set != khz) {
      return InfeasibleError("the system sets its clock to " + std::to_string(set) +
                             " kHz in place of " + std::to_string(khz) +
                             "; ask for a clock of its own")
          .At(core.folder);
    }
  }
  return {};
}

Status ClockSetting::Restore() {
  Status status;
  if (!changed_) return status;
  for (const Core& core : cores_) {
    Status restored = Bound(core, core.found_min_khz, core.found_max_khz);
    if (status.ok()) status = restored;
  }
  changed_ = false;
  return status;
}

}  // namespace sti
