// Fields of a JSON spelling that no reader knows: of a newer version, or a slip of whoever wrote
// the file by hand. They are ignored, and a tool can say so.
#pragma once

#include <string>
#include <vector>

namespace sti {

/// Holds the names of unknown fields, each once, the first eight that were found: "fixd", or
/// "io[].load_ms" for a field of the entries of a list. They are printable and short.
class UnknownKeys {
 public:
  void Add(const std::string& name);
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

}  // namespace sti
