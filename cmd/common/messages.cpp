#include "common/messages.h"

// Neither library is linked: two shared ones would start every tool later.
// A sink here throws nothing that its logger could report, for which it would bring all of fmt.
#define SPDLOG_HEADER_ONLY
#define SPDLOG_NO_EXCEPTIONS
#define FMT_HEADER_ONLY
#include <spdlog/logger.h>
#include <spdlog/sinks/sink.h>

#include <cstdio>
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

}  // namespace sti
