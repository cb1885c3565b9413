// The options of the tools that read a data set: which of its columns are text, pair and label,
// where the names of the columns do not tell.
#pragma once

#include "text/dataset.h"

namespace CLI {
class App;
}  // namespace CLI

namespace sti {

/// Adds --text-column, --pair-column and --label-column, which fill `columns` in. CheckColumnChoice
/// tells whether they make sense together.
void AddColumnOptions(CLI::App& app, ColumnChoice& columns);

}  // namespace sti
