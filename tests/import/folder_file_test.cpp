#include "import/folder_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/safetensors_writer.h"

namespace sti {
namespace {

TEST(FolderFile, ReadsUpToTheLimit) {
  const std::string path = testing::TempDir() + "folder_file." + std::to_string(getpid());
  ASSERT_TRUE(WriteBytes(path, std::string("a\0b", 3)).ok());
  EXPECT_TRUE(IsFile(path));
  EXPECT_EQ(*ReadSmallFile(path, 3), std::string("a\0b", 3));
  EXPECT_EQ(ReadSmallFile(path, 2).error().kind, ErrorKind::kDamaged);
  std::filesystem::remove(path);
  EXPECT_FALSE(IsFile(path));
  EXPECT_EQ(ReadSmallFile(path, 3).error().kind, ErrorKind::kNoSuchFile);
  EXPECT_FALSE(IsFile(testing::TempDir()));
}

TEST(FolderFile, ObjectReaderChecksTypes) {
  const std::string path = "c.json";
  const auto json = nlohmann::json::parse(R"({"n": 5, "s": "t", "b": true, "none": null})");
  const ObjectReader reader(path, json);
  EXPECT_EQ(*reader.Number("n", 0, 5), 5u);
  EXPECT_EQ(*reader.Number("none", 0, 5, 3), 3u);
  EXPECT_FALSE(reader.Number("none", 0, 5).ok());
  EXPECT_FALSE(reader.Number("n", 6, 9).ok());
  EXPECT_FALSE(reader.Number("s", 0, 9).ok());
  EXPECT_EQ(*reader.String("s", ""), "t");
  EXPECT_EQ(*reader.String("none", "d"), "d");
  EXPECT_FALSE(reader.String("n", "").ok());
  EXPECT_EQ(*reader.Bool("b"), true);
  EXPECT_EQ(*reader.Bool("x"), std::nullopt);
  EXPECT_FALSE(reader.Bool("n").ok());
  EXPECT_EQ(*reader.Real("n", 0), 5.0);
  EXPECT_EQ(reader.Real("s", 0).error().Message(), "c.json: s is not a number; mend the file");
}

}  // namespace
}  // namespace sti
