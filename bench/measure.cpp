// measure: runs a command and says what it took.
//
//   measure [-o FILE] [--first-line] -- COMMAND...
//
// Prints one JSON object (to FILE, or to stderr): exit, wall_s, user_s, system_s, max_rss_bytes;
// with --first-line also first_line_s, from just before fork to the moment the first whole line of
// the command's stdout is here, and line itself (the rest of stdout is dropped). wait4 reports the
// child's greatest resident size, which for a program is VmHWM; our own pages count until exec, a
// floor of about 2 MiB.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

struct Options {
  const char* output = nullptr;
  bool first_line = false;
  char** command = nullptr;
};

double Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

bool Parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "-o") == 0 && i + 1 < argc) {
      options->output = argv[++i];
    } else if (std::strcmp(argv[i], "--first-line") == 0) {
      options->first_line = true;
    } else if (std::strcmp(argv[i], "--") == 0) {
      options->command = argv + i + 1;
      return i + 1 < argc;
    } else {
      return false;
    }
  }
  return false;
}

/// The first line of a stream, and when it was whole.
struct FirstLine {
  char text[1 << 16] = "";
  double at = 0;

  void ReadFrom(int descriptor) {
    size_t used = 0;
    char block[4096];
    ssize_t got = 0;
    while ((got = read(descriptor, block, sizeof(block))) != 0) {
      if (got < 0 && errno != EINTR) return;
      for (ssize_t i = 0; i < got && at == 0; ++i) {
        if (block[i] == '\n') at = Now();
        if (at == 0 && used + 1 < sizeof(text)) text[used++] = block[i];
      }
    }
  }
};

void PrintText(std::FILE* file, const char* text) {
  std::fputc('"', file);
  for (; *text != '\0'; ++text) {
    const auto byte = static_cast<unsigned char>(*text);
    if (byte == '"' || byte == '\\') {
      std::fprintf(file, "\\%c", byte);
    } else if (byte < 0x20) {
      std::fprintf(file, "\\u%04x", static_cast<unsigned>(byte));
    } else {
      std::fputc(byte, file);
    }
  }
  std::fputc('"', file);
}

[[noreturn]] void Become(char** command, int output) {
  if (output >= 0) dup2(output, STDOUT_FILENO);
  execvp(command[0], command);
  std::fprintf(stderr, "measure: %s: %s\n", command[0], std::strerror(errno));
  _exit(127);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, &options)) {
    std::fprintf(stderr, "usage: measure [-o FILE] [--first-line] -- COMMAND...\n");
    return 2;
  }
  int pipe_ends[2] = {-1, -1};
  if (options.first_line && pipe2(pipe_ends, O_CLOEXEC) != 0) return 1;
  const double begin = Now();
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) Become(options.command, pipe_ends[1]);
  FirstLine line;
  if (options.first_line) {
    close(pipe_ends[1]);
    line.ReadFrom(pipe_ends[0]);
  }
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, 0, &usage) < 0) {
    if (errno != EINTR) return 1;
  }
  const double wall = Now() - begin;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::FILE* file = options.output != nullptr ? std::fopen(options.output, "w") : stderr;
  if (file == nullptr) return 1;
  std::fprintf(file,
               "{\"exit\":%d,\"wall_s\":%.6f,\"user_s\":%.6f,\"system_s\":%.6f,"
               "\"max_rss_bytes\":%lld",
               code, wall, Seconds(usage.ru_utime), Seconds(usage.ru_stime),
               static_cast<long long>(usage.ru_maxrss) * 1024);
  if (options.first_line) {
    if (line.at > 0) {
      std::fprintf(file, ",\"first_line_s\":%.6f,\"line\":", line.at - begin);
    } else {
      std::fprintf(file, ",\"first_line_s\":null,\"line\":");
    }
    PrintText(file, line.text);
  }
  std::fprintf(file, "}\n");
  if (file != stderr) std::fclose(file);
  return code;
}
