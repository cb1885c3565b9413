#include "common/data_options.h"

#include "common/cli.h"

namespace sti {

void AddColumnOptions(CLI::App& app, ColumnChoice& columns) {
  app.add_option("--text-column", columns.text, "of the data: name, or number without header")
      ->type_name("COLUMN");
  app.add_option("--pair-column", columns.pair, "of the second text, if there are two")
      ->type_name("COLUMN");
  app.add_option("--label-column", columns.label, "of the label")->type_name("COLUMN");
}

}  // namespace sti
