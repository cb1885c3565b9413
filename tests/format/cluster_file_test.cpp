#include "format/cluster_file.h"

#include <gtest/gtest.h>

#include <string>

#include "base/utf8.h"
#include "format/small_file_test.h"
#include "support/test_container.h"

namespace sti {
namespace {

constexpr const char* kBoard =
    R"("profile": {"io": [{"bits": 2, "load_us": 9}],
       "compute": [{"length": 64, "width": 3, "layer_us": 50}]})";

/// Boards a and b of one kind, whose profile b has, and a hub.
std::string ClusterText() {
  return std::string(R"({"devices": [
    {"name": "a", "kind": "board", "memory_bytes": 1e9},
    {"name": "b", "kind": "board", "preload_bytes": 4096, )") +
         kBoard + R"(},
    {"name": "hub", "kind": "hub", "memory_bytes": null, )" +
         kBoard + R"(}],
  "links": [
    {"from": "board", "to": "hub", "bits_per_s": 3e7, "delay_us": 20.5},
    {"from": "board", "to": "board", "bits_per_s": 1, "delay_us": 0},
    {"from": "hub", "to": "a", "bits_per_s": 1e9, "delay_us": 7},
    {"from": "hub", "to": "b", "bits_per_s": 1e9, "delay_us": 7}]})";
}

Status StatusOfCluster(std::span<const uint8_t> file) {
  const auto parsed = ParseCluster(file, "a.file");
  return parsed.ok() ? Status() : Status(parsed.error());
}

void ExpectClusterRefused(const std::string& from, const std::string& to,
                          const std::string& words) {
  SCOPED_TRACE(to);
  test::ExpectRefused(ClusterText(), from, to, words, StatusOfCluster);
}

TEST(ClusterFile, DevicesOfAKindSayWhatTheyHaveOnce) {
  const auto cluster = ParseCluster(AsBytes(ClusterText()), "a.file");
  ASSERT_TRUE(cluster.ok()) << cluster.error().Message();
  ASSERT_EQ(cluster->devices.size(), 3u);
  for (const size_t board : {0, 1}) {
    EXPECT_EQ(cluster->devices[board].name, board == 0 ? "a" : "b");
    EXPECT_EQ(cluster->devices[board].kind, "board");
    EXPECT_EQ(cluster->devices[board].profile.compute.at(0).layer_us, 50);
    EXPECT_EQ(cluster->devices[board].memory_bytes, 1000000000u);
    EXPECT_EQ(cluster->devices[board].preload_bytes, 4096u);
  }
  EXPECT_EQ(cluster->devices[2].name, "hub");
  EXPECT_EQ(cluster->devices[2].memory_bytes, std::nullopt);
  EXPECT_EQ(cluster->devices[2].preload_bytes, 0u);
}

TEST(ClusterFile, ALinkOfAKindIsOneOfEachOfItsDevices) {
  const auto cluster = ParseCluster(AsBytes(ClusterText()), "a.file");
  ASSERT_TRUE(cluster.ok()) << cluster.error().Message();
  EXPECT_EQ(cluster->links.size(), 6u);
  for (const uint32_t board : {0u, 1u}) {
    ASSERT_NE(cluster->Link(board, 2), nullptr);
    EXPECT_EQ(cluster->Link(board, 2)->bits_per_s, 3e7);
    EXPECT_EQ(cluster->Link(board, 2)->delay_us, 20.5);
    ASSERT_NE(cluster->Link(2, board), nullptr);
    EXPECT_EQ(cluster->Link(2, board)->bits_per_s, 1e9);
    ASSERT_NE(cluster->Link(board, 1 - board), nullptr);
    EXPECT_EQ(cluster->Link(board, 1 - board)->bits_per_s, 1);
    EXPECT_EQ(cluster->Link(board, board), nullptr);
  }
  EXPECT_EQ(KindsOf(*cluster)->links.size(), 3u);
}

TEST(ClusterFile, OneDeviceNeedsNoLink) {
  const std::string one = std::string(R"({"devices": [{"name": "x", "kind": "x", )") + kBoard;
  for (const char* end : {"}]}", R"(}], "links": []})", R"(}], "links": null})"}) {
    const auto cluster = ParseCluster(AsBytes(one + end), "a.file");
    ASSERT_TRUE(cluster.ok()) << cluster.error().Message();
    EXPECT_EQ(cluster->devices.size(), 1u);
    EXPECT_TRUE(cluster->links.empty());
  }
}

TEST(ClusterFile, DevicesThatBreakARuleAreNamed) {
  ExpectClusterRefused("\"devices\"", "\"boards\"", "devices is missing");
  test::ExpectRefused(R"({"devices": [7]})", "7", "7", "devices[0]: is not a JSON object",
                      StatusOfCluster);
  test::ExpectRefused(R"({"devices": [1]})", "1", "", "devices is an empty list", StatusOfCluster);
  ExpectClusterRefused(R"("name": "a", )", "", "devices[0]: name is missing");
  ExpectClusterRefused(R"("kind": "hub")", R"("kind": "a board")",
                       "devices[2]: kind is not 1 to 64 bytes of printable ASCII");
  ExpectClusterRefused(R"("name": "a")", R"("name": "\u001b[31m")", "devices[0]: name is not 1");
  ExpectClusterRefused(R"("name": "a")", R"("name": "auto")", "name is auto, which is no name");
  ExpectClusterRefused(R"("name": "hub")", R"("name": "a")",
                       "devices[2]: name is that of devices[0] too, a");
  ExpectClusterRefused(R"("name": "hub")", R"("name": "board")",
                       "devices[2]: name is also the kind of devices[0], board");
  ExpectClusterRefused(R"("name": "a")", R"("name": "board")",
                       "devices[0]: name is also the kind of devices[1], board");
  ExpectClusterRefused("1e9}", "0}", "devices[0]: memory_bytes is 0");
  ExpectClusterRefused("1e9}", "2e15}", "devices[0]: memory_bytes is above 2^50");
  ExpectClusterRefused("4096", "-1", "devices[1]: preload_bytes is not a whole number");
  ExpectClusterRefused("4096", "1e16", "devices[1]: preload_bytes is not a whole number");
  ExpectClusterRefused("4096", "2e15", "devices[1]: preload_bytes is above 2^50");
}

TEST(ClusterFile, ProfilesAreHeldToTheirRules) {
  ExpectClusterRefused(kBoard, R"("profile": null)",
                       "devices[0]: profile is missing, and no device of the kind board has one");
  ExpectClusterRefused(R"("layer_us")", R"("layer_ms")",
                       "devices[1]: profile: compute[0]: layer_us is missing");
  ExpectClusterRefused(R"("load_us": 9)", R"("load_us": -9)",
                       "devices[1]: profile: io[0].load_us is negative");
  ExpectClusterRefused(kBoard, R"("profile": "board.profile")", "devices[1]: profile: is not a");
}

TEST(ClusterFile, DevicesOfAKindAreAlike) {
  ExpectClusterRefused("4096, ", "4096, \"memory_bytes\": 5, ",
                       "a and b are of the kind board and differ in memory_bytes");
  ExpectClusterRefused(R"(1e9})",
                       R"(1e9, "profile": {"io": [{"bits": 2, "load_us": 9}],
      "compute": [{"length": 64, "width": 3, "layer_us": 51}]}})",
                       "a and b are of the kind board and differ in profile");
  ExpectClusterRefused(R"("to": "b", "bits_per_s": 1e9)", R"("to": "b", "bits_per_s": 1e8)",
                       "hub to b is not linked as hub to a");
}

TEST(ClusterFile, LinksThatBreakARuleAreNamed) {
  ExpectClusterRefused(R"("from": "hub", )", "", "links[2]: from is missing");
  ExpectClusterRefused(R"("to": "hub")", R"("to": "hbu\u001b")",
                       "links[0]: to is no name of a device and no kind: hbu?");
  ExpectClusterRefused(R"("to": "hub")", R"("to": 2)", "links[0]: to is not text");
  ExpectClusterRefused(R"("to": "a")", R"("to": "hub")", "links[2]: links hub to itself");
  ExpectClusterRefused(R"("from": "hub", "to": "b")", R"("from": "hub", "to": "a")",
                       "links[3]: links hub to a, as a link above does");
  ExpectClusterRefused(R"("from": "hub", "to": "b")", R"("from": "board", "to": "b")",
                       "links[3]: links a to b, as a link above does");
  for (const char* bad : {"0", "-1", "0.5", "1e16"}) {
    ExpectClusterRefused("\"bits_per_s\": 3e7", std::string("\"bits_per_s\": ") + bad,
                         "links[0]: bits_per_s is not from 1 to 10^15");
  }
  for (const char* bad : {"-1", "1e10"}) {
    ExpectClusterRefused("20.5", bad, "links[0]: delay_us is not from 0 to 10^9");
  }
  ExpectClusterRefused(", \"delay_us\": 20.5", "", "links[0]: delay_us is missing");
  ExpectClusterRefused("\"bits_per_s\": 3e7, ", "", "links[0]: bits_per_s is missing");
  ExpectClusterRefused("3e7", "\"30Mbit\"", "links[0]: bits_per_s is not a finite number");
  ExpectClusterRefused("3e7", "NaN", "where NaN and Infinity are no numbers");
  ExpectClusterRefused("3e7", "1e999", "a.file: ");
  EXPECT_FALSE(StatusOfCluster(AsBytes("STIPROF")).ok());
}

/// So many devices of one kind, the first of which has the profile.
std::string ManyDevices(size_t count, const std::string& profile) {
  std::string text = R"({"devices": [)";
  for (size_t i = 0; i < count; ++i) {
    text += (i == 0 ? "" : ", ") + std::string(R"({"name": "n)") + std::to_string(i) +
            R"(", "kind": "k")" + (i == 0 ? ", " + profile : "") + "}";
  }
  return text + R"(], "links": [{"from": "k", "to": "k", "bits_per_s": 5, "delay_us": 1}]})";
}

TEST(ClusterFile, HasLimits) {
  const auto most = ParseCluster(AsBytes(ManyDevices(64, kBoard)), "a.file");
  ASSERT_TRUE(most.ok()) << most.error().Message();
  EXPECT_EQ(most->links.size(), 64u * 63u);
  test::ExpectRefused(ManyDevices(65, kBoard), "{", "{", "devices[64]: is one more than the most",
                      StatusOfCluster);
  // A profile counts for each of its devices: 16,385 entries are
  // too many for 64.
  std::string reads;
  for (int i = 0; i < 16383; ++i) reads += R"({"bits": 2, "load_us": 9}, )";
  const std::string profile = R"("profile": {"io": [)" + reads + R"({"bits": 2, "load_us": 9}],
      "compute": [{"length": 64, "width": 3, "layer_us": 50}]})";
  EXPECT_TRUE(ParseCluster(AsBytes(ManyDevices(63, profile)), "a.file").ok());
  test::ExpectRefused(ManyDevices(64, profile), "{", "{", "more than 1048576 entries",
                      StatusOfCluster);
}

TEST(ClusterFile, UnknownFieldsAreNoted) {
  std::string text = ClusterText();
  text.replace(text.find("\"memory_bytes\""), 14, "\"memory\": 5, \"memory_bytes\"");
  text.replace(text.find("\"load_us\""), 9, "\"load_ms\": 1, \"load_us\"");
  text.replace(text.find("\"delay_us\""), 10, "\"both\": true, \"delay_us\"");
  UnknownKeys unknown;
  ASSERT_TRUE(ParseCluster(AsBytes(text), "a.file", &unknown).ok());
  EXPECT_EQ(unknown.names(),
            (std::vector<std::string>{"devices[].memory", "devices[].profile.io[].load_ms",
                                      "links[].both"}));
}

TEST(ClusterFile, TheExampleOfTheSpecificationIsOne) {
  const auto document = FileBytes(std::string(STI_SOURCE_DIR) + "/spec/cluster.md");
  const std::string text(document.begin(), document.end());
  const size_t begin = text.find("```json\n") + 8;
  UnknownKeys unknown;
  const auto cluster =
      ParseCluster(AsBytes(std::string_view(text).substr(begin, text.find("```", begin) - begin)),
                   "a.file", &unknown);
  ASSERT_TRUE(cluster.ok()) << cluster.error().Message();
  EXPECT_TRUE(unknown.names().empty());
  ASSERT_EQ(cluster->devices.size(), 3u);
  EXPECT_EQ(cluster->devices[1].profile.compute.at(0).layer_us, 78000);
  EXPECT_EQ(cluster->devices[1].preload_bytes, 8000000u);
  EXPECT_EQ(cluster->devices[2].memory_bytes, std::nullopt);
  ASSERT_NE(cluster->Link(1, 0), nullptr);
  EXPECT_EQ(cluster->Link(1, 0)->bits_per_s, 15e6);
  ASSERT_NE(cluster->Link(2, 1), nullptr);
  EXPECT_EQ(cluster->Link(2, 1)->delay_us, 4000);
}

}  // namespace
}  // namespace sti
