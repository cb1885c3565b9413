#include "common/messages.h"

// Neither library is linked: two shared ones would start every tool later.
// A sink here throws nothing that its logger could report, for which it would bring all of fmt.
#define SPDLOG_HEADER_ONLY
#define SPDLOG_NO_EXCEPTIONS
#define FMT_HEADER_ONLY
#include <spdlog/logger.h>
#include <spdlog/sinks/sink.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <utility>

#include "base/utf8.h"

namespace sti {
namespace {

using Buffer = spdlog::memory_buf_t;
using Message = spdlog::details::log_msg;

spdlog::level::level_enum LevelOf(MessageLevel level) {
  switch (level) {
    case MessageLevel::kDebug:
      return spdlog::level::debug;
    case MessageLevel::kInfo:
      return spdlog::level::info;
    case MessageLevel::kWarning:
      return spdlog::level::warn;
    case MessageLevel::kError:
      break;
  }
  return spdlog::level::err;
}

void Append(std::string_view text, Buffer& line) {
  line.append(text.data(), text.data() + text.size());
}

std::string_view ViewOf(spdlog::string_view_t text) { return {text.data(), text.size()}; }

class TextFormatter : public spdlog::formatter {
 public:
  void format(const Message& message, Buffer& line) override {
    Append(ViewOf(message.logger_name), line);
    Append(message.level == spdlog::level::warn ? ": warning: " : ": ", line);
    Append(MakePrintable(ViewOf(message.payload)), line);
    Append("\n", line);
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<TextFormatter>();
  }
};

// Appends a text as a JSON string: of what is printable, only two characters need a backslash.
void AppendQuoted(std::string_view text, Buffer& line) {
  line.push_back('"');
  for (const char c : MakePrintable(text)) {
    if (c == '"' || c == '\\') line.push_back('\\');
    line.push_back(c);
  }
  line.push_back('"');
}

class JsonFormatter : public spdlog::formatter {
 public:
  void format(const Message& message, Buffer& line) override {
    Append("{\"level\":", line);
    AppendQuoted(ViewOf(spdlog::level::to_string_view(message.level)), line);
    Append(",\"tool\":", line);
    AppendQuoted(ViewOf(message.logger_name), line);
    Append(",\"message\":", line);
    AppendQuoted(ViewOf(message.payload), line);
    Append("}\n", line);
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

// Writes each message to stderr at once. The sinks that come with spdlog begin with a formatter of
// patterns, which is larger than all else of it, and which no message here has any use for.
class StderrSink : public spdlog::sinks::sink {
 public:
  void log(const Message& message) override {
    const std::lock_guard lock(mutex_);
    Buffer line;
    formatter_->format(message, line);
    std::fwrite(line.data(), 1, line.size(), stderr);
    std::fflush(stderr);
  }
  void flush() override { std::fflush(stderr); }
  void set_pattern(const std::string& /*pattern*/) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter> formatter) override {
    const std::lock_guard lock(mutex_);
    formatter_ = std::move(formatter);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<spdlog::formatter> formatter_ = std::make_unique<TextFormatter>();
};

}  // namespace

Messages::Messages(std::string tool)
    : logger_(std::make_unique<spdlog::logger>(std::move(tool), std::make_shared<StderrSink>())) {}

Messages::~Messages() = default;

void Messages::SetLeast(MessageLevel least) { logger_->set_level(LevelOf(least)); }

void Messages::UseJson() { logger_->set_formatter(std::make_unique<JsonFormatter>()); }

void Messages::Write(MessageLevel level, std::string_view line) const {
  logger_->log(LevelOf(level), spdlog::string_view_t(line.data(), line.size()));
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBarWidth = 28;
constexpr auto kRedraw = std::chrono::milliseconds(100);

class Bar {
 public:
  Bar(std::string what, std::string unit, uint64_t steps)
      : what_(std::move(what)), unit_(std::move(unit)), steps_(static_cast<double>(steps)) {}

  void Update(uint64_t done, uint64_t total) {
    auto now = Clock::now();
    if (done >= total) {
      std::fputs("\r\033[K", stderr);
      return;
    }
    if (now - drawn_ < kRedraw) return;
    drawn_ = now;
    double seconds = std::chrono::duration<double>(now - begin_).count();
    double share = static_cast<double>(done) / static_cast<double>(total);
    double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
    double left = rate > 0 ? static_cast<double>(total - done) / rate : 0;
    auto filled = static_cast<int>(share * kBarWidth);
    std::string bar(static_cast<size_t>(filled), '#');
    bar.resize(kBarWidth, '.');
    std::fprintf(stderr, "\r%s [%s] %3.0f %%  %.1f%s/s  %.0f s left\033[K", what_.c_str(),
                 bar.c_str(), share * 100, rate / steps_, unit_.c_str(), left);
  }

 private:
  std::string what_;
  std::string unit_;
  double steps_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point drawn_{};
};

}  // namespace

ProgressSink MakeProgressBar(std::string what, std::string unit, uint64_t steps) {
  auto bar = std::make_shared<Bar>(std::move(what), std::move(unit), steps);
  return [bar](uint64_t done, uint64_t total) { bar->Update(done, total); };
}

}  // namespace sti
