#include "format/label_vectors_file.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/utf8.h"
#include "format/framed_file.h"
#include "format/frozen_file.h"
#include "format/shared_lists.h"
#include "format/small_file_test.h"
#include "label_vectors_generated.h"
#include "support/expect.h"
#include "support/memory_meter.h"

namespace sti {
namespace {

LabelVectors ExampleVectors() {
  LabelVectors vectors;
  for (uint8_t i = 0; i < 16; ++i) {
    vectors.model.bytes[i] = i;
    vectors.submodel.bytes[i] = static_cast<uint8_t>(100 + i);
    vectors.data.bytes[i] = static_cast<uint8_t>(200 + i);
  }
  vectors.prefix = "query: ";
  vectors.dimensions = 3;
  vectors.labels = {"alarm", "play", "uhr\xC3\xA4"};
  vectors.examples = {1, 20, 5};
  vectors.vectors = {1, 0, 0, 0, -0.6F, 0.8F, 0, 0, -1};
  return vectors;
}

void ExpectSame(const LabelVectors& a, const LabelVectors& b) {
  EXPECT_EQ(a.model, b.model);
  EXPECT_EQ(a.submodel, b.submodel);
  EXPECT_EQ(a.data, b.data);
  EXPECT_EQ(a.prefix, b.prefix);
  EXPECT_EQ(a.dimensions, b.dimensions);
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.examples, b.examples);
  EXPECT_EQ(a.vectors, b.vectors);
}

TEST(LabelVectorsFile, ReadsWhatItWrites) {
  LabelVectors vectors = ExampleVectors();
  for (int round = 0; round < 2; ++round) {
    const auto bytes = EncodeLabelVectors(vectors);
    ASSERT_TRUE(Succeeded(bytes));
    EXPECT_TRUE(IsLabelVectors(*bytes));
    const auto read = ParseLabelVectors(*bytes, "a.file");
    ASSERT_TRUE(Succeeded(read));
    ExpectSame(*read, vectors);
    EXPECT_EQ(*EncodeLabelVectors(*read), *bytes);
    const std::string json = LabelVectorsToJson(*read);
    EXPECT_EQ(json.find('\n'), json.size() - 1) << "a line";
    EXPECT_NE(json.find("\"examples\":{\"alarm\":1,\"play\":20,"), std::string::npos) << json;
    vectors.prefix.clear();
  }
}

TEST(LabelVectorsFile, TheFrozenOneLoads) {
  const std::string bytes = test::Frozen("v1.8/tiny.vectors");
  const auto read = ParseLabelVectors(AsBytes(bytes), "tiny.vectors");
  ASSERT_TRUE(Succeeded(read));
  ExpectSame(*read, ExampleVectors());
  const auto encoded = EncodeLabelVectors(*read);
  ASSERT_TRUE(Succeeded(encoded));
  EXPECT_EQ(std::string(encoded->begin(), encoded->end()), bytes);
}

TEST(LabelVectorsFile, DamageIsFound) {
  const auto bytes = EncodeLabelVectors(ExampleVectors());
  ASSERT_TRUE(Succeeded(bytes));
  test::ExpectDamageIsFound(*bytes, test::StatusOf<ParseLabelVectors>);
}

TEST(LabelVectorsFile, WrongValuesAreNamed) {
  const struct {
    void (*spoil)(LabelVectors&);
    const char* words;
  } cases[] = {
      {[](LabelVectors& v) { v.model = {}; }, "model is missing"},
      {[](LabelVectors& v) { v.submodel = {}; }, "submodel is missing"},
      {[](LabelVectors& v) { v.data = {}; }, "data is missing"},
      {[](LabelVectors& v) { v.prefix = std::string(4097, 'a'); }, "prefix is not at most 4096"},
      {[](LabelVectors& v) { v.prefix = "\xff"; }, "prefix is not at most 4096 bytes of UTF-8"},
      {[](LabelVectors& v) { v.dimensions = 0; }, "dimensions is not 1 to 16384"},
      {[](LabelVectors& v) { v.dimensions = 16385; }, "dimensions is not 1 to 16384"},
      {[](LabelVectors& v) { v.dimensions = 4; }, "vectors is not one vector a label"},
      {[](LabelVectors& v) { v.labels.clear(); }, "there are not 2 to 65536 labels"},
      {[](LabelVectors& v) { v.labels.resize(1); }, "there are not 2 to 65536 labels"},
      {[](LabelVectors& v) { v.labels.resize(2); }, "examples is not one number a label"},
      {[](LabelVectors& v) { v.labels[1] = "alarm"; }, "label 1 is that of label 0 again"},
      {[](LabelVectors& v) { v.labels[1] = ""; }, "label 1 is empty"},
      {[](LabelVectors& v) { v.labels[1] = "\x1b"; }, "label 1 is not UTF-8 or has a control"},
      {[](LabelVectors& v) { v.labels[0] = "zoo"; }, "labels do not ascend"},
      {[](LabelVectors& v) { v.examples[1] = 0; }, "a label has no examples"},
      {[](LabelVectors& v) { v.vectors.pop_back(); }, "vectors is not one vector a label"},
      {[](LabelVectors& v) { v.vectors[8] = 0; }, "the vector of label 2 is not of unit length"},
      {[](LabelVectors& v) { v.vectors[8] = 1.01F; },
       "the vector of label 2 is not of unit length"},
      {[](LabelVectors& v) { v.vectors[8] = NAN; }, "the vector of label 2 is not of unit length"},
      {[](LabelVectors& v) { v.vectors[8] = INFINITY; }, "the vector of label 2 is not of unit"},
  };
  for (const auto& one : cases) {
    LabelVectors vectors = ExampleVectors();
    one.spoil(vectors);
    EXPECT_NE(ProblemOfLabelVectors(vectors).find(one.words), std::string::npos) << one.words;
    const auto bytes = EncodeLabelVectors(vectors);
    ASSERT_TRUE(Succeeded(bytes));
    const auto read = ParseLabelVectors(*bytes, "a.file");
    EXPECT_TRUE(FailedWith(read, ErrorKind::kDamaged, std::string("a.file: ") + one.words));
  }
}

TEST(LabelVectorsFile, OtherFilesAreNone) {
  EXPECT_FALSE(IsLabelVectors(std::vector<uint8_t>{}));
  EXPECT_FALSE(IsLabelVectors(AsBytes(std::string("text\tlabel"))));
  const std::string plan = test::Frozen("v1/tiny.plan");
  EXPECT_TRUE(
      FailedWith(ParseLabelVectors(AsBytes(plan), "a.plan"), ErrorKind::kForeign, "a.plan: "));
}

// Labels that all name one text of 1 MiB: refused before memory is taken for them.
TEST(LabelVectorsFile, LabelsThatShareOneText) {
  flatbuffers::FlatBufferBuilder builder;
  const auto digest = test::Repeated<uint8_t>(builder, 16, 1);
  const auto text = builder.CreateString(std::string(size_t{1} << 20, 'x'));
  const auto labels = builder.CreateVector(std::vector(1000, text));
  const auto numbers = test::Repeated<uint32_t>(builder, 1000, 1);
  const auto floats = test::Repeated<float>(builder, 1000, 1);
  builder.Finish(
      fb::CreateLabelVectors(builder, digest, digest, digest, 0, 1, labels, numbers, floats));
  const auto file = test::Framed(kLabelVectorsMagic, builder);
  const MemoryMeter meter;
  EXPECT_TRUE(FailedWith(ParseLabelVectors(file, "a.file"), ErrorKind::kDamaged,
                         "a.file: its lists hold more than the file"));
  EXPECT_LT(meter.peak_bytes(), 3 * file.size());
}

TEST(LabelVectorsFile, MoreThanAFileMayHoldIsNotWritten) {
  LabelVectors vectors = ExampleVectors();
  vectors.dimensions = 16384;
  vectors.labels.assign(1100, "a");
  vectors.examples.assign(1100, 1);
  vectors.vectors.assign(size_t{1100} * 16384, 0);
  EXPECT_TRUE(FailedWith(EncodeLabelVectors(vectors), ErrorKind::kInfeasible, "64 MiB"));
}

}  // namespace
}  // namespace sti
