// Damaged containers (spec/container.md, "Checksums"): each flipped byte, each missing block ends
// in a DataError that names file and part, or, where this run does not read the byte, in the very
// same logits. VerifyContainer names each one.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <regex.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <map>

#include "base/aligned_buffer.h"
#include "io/block_reader.h"
#include "io/container_file.h"
#include "model/verify.h"
#include "pipeline/pipeline.h"
#include "pipeline/whole_plan.h"
#include "support/expect.h"
#include "support/random.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

using Bin = std::vector<uint8_t>;

// One input: a run reads some rows of the embedding tables and leaves others alone.
const std::vector<uint32_t> kIds{2, 5, 7, 9, 11, 14, 16, 3};
const std::vector<uint32_t> kTypes{0, 0, 0, 0, 0, 1, 1, 1};

// Where the damage may be said to be.
constexpr const char* kPart =
    "header|index|not a shard container|container version|cut short|"
    "layer [0-9]+ slice [0-9]+ (base|plane [3-6]|full fidelity)|"
    "layer [0-9]+ parameters|embedding parameters|head parameters|vocabulary|"
    "(word|position) embedding row [0-9]+|bytes between parts at [0-9]+";

bool NamesPart(const std::string& message) {
  static const regex_t pattern = [] {
    regex_t compiled;
    EXPECT_EQ(regcomp(&compiled, kPart, REG_EXTENDED | REG_NOSUB), 0);
    return compiled;
  }();
  return regexec(&pattern, message.c_str(), 0, nullptr, 0) == 0;
}

/// A container under attack, and what runs of it gave while it was whole.
class Victim {
 public:
  explicit Victim(Bin whole) : whole_(std::move(whole)) {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    Restore(whole_.size());
    auto file = Open();
    EXPECT_TRUE(Succeeded(file));
    if (!file.ok()) return;
    index_end_ = 64 + file->index_bytes();
    for (const uint32_t bits : file->index().bits) {
      auto logits = Run(bits);
      EXPECT_TRUE(Succeeded(logits));
      if (logits.ok()) logits_[bits] = *logits;
    }
  }
  ~Victim() { ::close(fd_); }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  [[nodiscard]] uint64_t size() const { return whole_.size(); }
  [[nodiscard]] uint64_t index_end() const { return index_end_; }
  [[nodiscard]] const Bin& whole() const { return whole_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] size_t refused() const { return refused_; }
  [[nodiscard]] size_t unread() const { return unread_; }

  void Flip(uint64_t at, uint8_t mask) {
    const auto byte = static_cast<uint8_t>(whole_[at] ^ mask);
    Put(at, {&byte, 1});
  }
  void Put(uint64_t at, std::span<const uint8_t> bytes) {
    ASSERT_EQ(::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(at)),
              static_cast<ssize_t>(bytes.size()));
  }
  void Undo(uint64_t at, uint64_t length = 1) { Put(at, std::span(whole_).subspan(at, length)); }
  /// The first `size` bytes of the whole file, or all of them and zeros.
  void Restore(uint64_t size) {
    ASSERT_EQ(::ftruncate(fd_, static_cast<off_t>(size)), 0);
    Undo(0, std::min<uint64_t>(size, whole_.size()));
  }

  /// Buffered reads: thousands of files are read once each, and all ways are checked alike.
  [[nodiscard]] Result<ContainerFile> Open() const {
    return ContainerFile::Open(path_, ReadPath::kBuffered);
  }
  [[nodiscard]] Result<std::vector<float>> Run(uint32_t bits) const {
    STI_ASSIGN_OR_RETURN(ContainerFile file, Open());
    WholePlanOptions options;
    options.bits = bits;
    STI_ASSIGN_OR_RETURN(Plan plan, MakeWholePlan(file.index(), options));
    STI_ASSIGN_OR_RETURN(auto pipeline, Pipeline::Create(std::move(file), plan, {}));
    STI_ASSIGN_OR_RETURN(RunResult result, RunTokens(*pipeline, kIds, kTypes));
    return result.values;
  }
  /// Runs it, damaged as it is. True if the outcome is one of the two allowed.
  [[nodiscard]] ::testing::AssertionResult RunIsSafe(uint32_t bits) {
    const auto logits = Run(bits);
    if (!logits.ok()) return IsNamed(logits.error());
    ++unread_;
    if (*logits == logits_.at(bits)) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "other logits at " << bits << " bits";
  }
  [[nodiscard]] ::testing::AssertionResult IsNamed(const Error& error) {
    ++refused_;
    return Names(error.kind, error.Message());
  }
  [[nodiscard]] ::testing::AssertionResult Names(ErrorKind kind, const std::string& message) const {
    const std::string rest = message.substr(std::min(path_.size(), message.size()));
    if (BlamesData(kind) && message.starts_with(path_ + ": ") && NamesPart(rest) &&
        message.find('\n') == std::string::npos) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << static_cast<int>(kind) << ": " << message;
  }
  /// Verifies it, damaged as it is. True if damage is reported and every line names a part.
  [[nodiscard]] ::testing::AssertionResult VerifyFinds() {
    auto file = Open();
    if (!file.ok()) return IsNamed(file.error());
    const auto report = VerifyContainer(*file, {});
    if (!report.ok()) return ::testing::AssertionFailure() << report.error().Message();
    if (report->damaged.empty()) return ::testing::AssertionFailure() << "nothing found";
    for (const Error& damage : report->damaged) {
      const auto named = Names(damage.kind, damage.Message());
      if (!named) return named;
    }
    ++refused_;
    return ::testing::AssertionSuccess();
  }
  void Report(const std::string& what) const {
    ::testing::Test::RecordProperty("refused", static_cast<int>(refused_));
    ::testing::Test::RecordProperty("unread", static_cast<int>(unread_));
    printf("%s: %zu refused, %zu not read by the run\n", what.c_str(), refused_, unread_);
  }

 private:
  Bin whole_;
  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  int fd_ = -1;
  uint64_t index_end_ = 0;
  std::map<uint32_t, std::vector<float>> logits_;
  size_t refused_ = 0;
  size_t unread_ = 0;
};

Bin Frozen() { return FileBytes(std::string(STI_SOURCE_DIR) + "/tests/data/v1/tiny.sti"); }

// Returns a container of another type, layout and codebook than the frozen one, with more to read.
Bin Fresh() {
  const TempFolder folder;
  TinyModelOptions model;
  model.layers = 3;
  model.data_type = DataType::kF32;
  ShardOptions options;
  options.layout = Layout::kPlane;
  EXPECT_TRUE(Succeeded(WriteTinyContainer(folder.File("a"), model, options)));
  return FileBytes(folder.File("a"));
}

constexpr std::array<uint8_t, 4> kMasks{0x01, 0x10, 0x80, 0xFF};

TEST(Corruption, EveryByteOfHeaderAndIndex) {
  Victim victim(Frozen());
  for (uint64_t at = 0; at < victim.index_end(); ++at) {
    victim.Flip(at, kMasks[at % kMasks.size()]);
    const auto file = victim.Open();
    ASSERT_FALSE(file.ok()) << "byte " << at;
    ASSERT_TRUE(victim.IsNamed(file.error())) << "byte " << at;
    victim.Undo(at);
  }
  victim.Report("header and index");
}

void RunWithRandomFlips(Victim& victim, uint64_t seed, size_t count) {
  constexpr std::array<uint32_t, 3> kBits{2, 6, 32};
  TestRandom random(seed);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t at = victim.index_end() + random.Below(victim.size() - victim.index_end());
    const auto mask = static_cast<uint8_t>(1 + random.Below(255));
    victim.Flip(at, mask);
    ASSERT_TRUE(victim.RunIsSafe(kBits[random.Below(kBits.size())])) << "byte " << at;
    victim.Undo(at);
  }
  EXPECT_GT(victim.refused(), count / 20);
  EXPECT_GT(victim.unread(), count / 20);
}

TEST(Corruption, RandomBytesOfTheFrozenFile) {
  Victim victim(Frozen());
  RunWithRandomFlips(victim, 1, 3000);
  victim.Report("frozen file");
}

TEST(Corruption, RandomBytesOfAnotherFile) {
  Victim victim(Fresh());
  RunWithRandomFlips(victim, 2, 1500);
  victim.Report("plane layout");
}

// One byte in sixteen; each of them is found too, in a minute.
TEST(Corruption, VerifyFindsBytesAllOverTheFrozenFile) {
  Victim victim(Frozen());
  TestRandom random(5);
  for (uint64_t at = 0; at < victim.size(); at += 1 + random.Below(31)) {
    victim.Flip(at, kMasks[at % kMasks.size()]);
    ASSERT_TRUE(victim.VerifyFinds()) << "byte " << at;
    victim.Undo(at);
  }
  victim.Report("verify");
}

TEST(Corruption, VerifyFindsRandomBytesOfAnotherFile) {
  Victim victim(Fresh());
  TestRandom random(3);
  for (int i = 0; i < 1000; ++i) {
    const uint64_t at = random.Below(victim.size());
    victim.Flip(at, static_cast<uint8_t>(1 + random.Below(255)));
    ASSERT_TRUE(victim.VerifyFinds()) << "byte " << at;
    victim.Undo(at);
  }
  victim.Report("verify, plane layout");
}

TEST(Corruption, CutOrGrownAtEveryBlock) {
  Victim victim(Frozen());
  for (uint64_t edge = 0; edge <= victim.size() + 2 * kBlockBytes; edge += kBlockBytes) {
    for (const int64_t off : {-1, 0, 1}) {
      const auto size = static_cast<int64_t>(edge) + off;
      if (size < 0 || size == static_cast<int64_t>(victim.size())) continue;
      victim.Restore(static_cast<uint64_t>(size));
      ASSERT_TRUE(victim.RunIsSafe(6)) << size;
      ASSERT_TRUE(victim.VerifyFinds()) << size;
    }
  }
  EXPECT_EQ(victim.unread(), 0U);
  victim.Report("cut or grown");
}

// A disk or a copy may leave a block of zeros, or of what stands elsewhere in the file.
TEST(Corruption, BlocksLostAndBlocksAstray) {
  Victim victim(Fresh());
  const uint64_t blocks = victim.size() / kBlockBytes;
  const Bin zeros(kBlockBytes, 0);
  for (uint64_t block = 0; block < blocks; ++block) {
    const uint64_t at = block * kBlockBytes;
    const uint64_t other = (block + 1) % blocks * kBlockBytes;
    const auto here = std::span(victim.whole()).subspan(at, kBlockBytes);
    for (const auto& bytes :
         {std::span<const uint8_t>(zeros), std::span(victim.whole()).subspan(other, kBlockBytes)}) {
      if (std::equal(bytes.begin(), bytes.end(), here.begin())) continue;
      victim.Put(at, bytes);
      ASSERT_TRUE(victim.RunIsSafe(6)) << "block " << block;
      ASSERT_TRUE(victim.RunIsSafe(32)) << "block " << block;
      ASSERT_TRUE(victim.VerifyFinds()) << "block " << block;
    }
    victim.Undo(at, kBlockBytes);
  }
  victim.Report("blocks");
}

// The checks do not depend on how bytes come in.
TEST(Corruption, EveryReadPathChecks) {
  Victim victim(Frozen());
  TestRandom random(4);
  for (int i = 0; i < 60; ++i) {
    const uint64_t at = random.Below(victim.size());
    victim.Flip(at, 0x04);
    for (const ReadPath path : {ReadPath::kAuto, ReadPath::kThreads}) {
      auto file = ContainerFile::Open(victim.path(), path);
      if (!file.ok() && !BlamesData(file.error().kind)) continue;  // not on this system
      if (!file.ok()) {
        ASSERT_TRUE(victim.IsNamed(file.error()));
        continue;
      }
      const auto report = VerifyContainer(*file, {});
      ASSERT_TRUE(Succeeded(report));
      ASSERT_FALSE(report->damaged.empty()) << "byte " << at;
    }
    victim.Undo(at);
  }
}

}  // namespace
}  // namespace sti
