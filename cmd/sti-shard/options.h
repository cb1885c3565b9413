// The command line of sti-shard.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/tool.h"
#include "import/model_folder.h"

namespace sti {

struct ShardToolOptions {
  std::string folder;
  std::string output;
  FolderParts parts;
  std::vector<uint32_t> bits{2, 3, 4, 5, 6, 32};
  std::vector<std::string> plans;
  std::string stage;  ///< device whose stage of the one plan is stored; empty: all
  std::string sort;   ///< importance file with an order; empty: as published
  std::string codebook = "tree";
  std::string embeddings = "exact";
  std::string layout = "shard";
  uint32_t threads = AvailableThreads();
  bool dry_run = false;
};

void AddShardToolOptions(CLI::App& app, ShardToolOptions& options);
Status CheckShardToolOptions(const CLI::App& app, const ShardToolOptions& options);

}  // namespace sti
