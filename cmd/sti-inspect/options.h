#pragma once

#include <string>

#include "common/tool.h"

namespace sti {

struct InspectOptions {
  std::string file;
  bool verify = false;
  bool tokenize = false;
  bool pairs = false;
};

}  // namespace sti
