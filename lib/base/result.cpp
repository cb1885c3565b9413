#include "base/result.h"

#include <algorithm>

namespace sti {

std::string OneLine(std::string message) {
  constexpr size_t kHead = 4096;  // a path and what is wrong
  constexpr size_t kTail = 512;   // what to do
  if (message.size() > kHead + kTail) {
    message.replace(kHead, message.size() - kHead - kTail, " ... ");
  }
  std::replace_if(
      message.begin(), message.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
  return message;
}

}  // namespace sti
