// A label of a data file is written as one of the model's names or as its id. An example of a
// multi-label model has a set of them. A model of one label, which applies or does not, is asked
// yes or no: there 1 and 0 are these answers and no ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/dataset.h"
#include "text/dataset/row.h"

namespace sti {

/// Turns labels as they are written into ids.
class LabelReader {
 public:
  /// `labels` are the model's, and outlive the reader.
  LabelReader(const std::vector<std::string>& labels, Problem problem);

  /// Reads the label or the set of labels in `cell` into `example`. DataError, whose place the
  /// caller adds, for no label, one that is not the model's, or what is neither a name nor an id.
  [[nodiscard]] Status Read(const Cell& cell, Example* example) const;

 private:
  [[nodiscard]] Result<uint32_t> Find(std::string_view label) const;
  [[nodiscard]] Status ReadSet(std::string_view text, std::vector<uint32_t>* ids) const;
  [[nodiscard]] Status AddTo(std::string_view label, std::vector<uint32_t>* ids) const;
  [[nodiscard]] std::string Known() const;
  [[nodiscard]] bool YesOrNo() const { return several_ && labels_.size() == 1; }

  const std::vector<std::string>& labels_;
  bool several_;  // an example may have any number of labels
  std::unordered_map<std::string_view, uint32_t> ids_;
};

}  // namespace sti
