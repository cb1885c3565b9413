#include "types/tag_scheme.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sti {
namespace {

using Names = std::vector<std::string>;

TagScheme SchemeOf(const Names& labels) {
  auto scheme = TagScheme::Of(labels);
  EXPECT_TRUE(scheme.ok());
  return *std::move(scheme);
}

// Returns where spans begin in a row of labels: 'x' where a token begins one, '-' where it goes on,
// '.' outside.
std::string SpansIn(const TagScheme& scheme, const std::vector<uint32_t>& labels) {
  std::string spans;
  for (size_t i = 0; i < labels.size(); ++i) {
    const bool outside = scheme[labels[i]].place == TagPlace::kOutside;
    const bool goes_on = i > 0 && GoesOn(scheme[labels[i - 1]], scheme[labels[i]]);
    spans += outside ? '.' : goes_on ? '-' : 'x';
  }
  return spans;
}

TEST(TagScheme, NamesKindsBehindLabels) {
  const TagScheme bio = SchemeOf({"O", "B-PER", "I-PER", "B-LOC", "I-LOC"});
  EXPECT_EQ(bio.names(), (Names{"O", "B-PER", "I-PER", "B-LOC", "I-LOC", "PER", "LOC"}));
  EXPECT_EQ(bio.size(), 5U);
  EXPECT_EQ(bio[2].kind, 5U);
  EXPECT_EQ(bio[2].place, TagPlace::kInside);
  EXPECT_EQ(bio[3].kind, 6U);
  EXPECT_EQ(bio[0].place, TagPlace::kOutside);
}

TEST(TagScheme, ReadsBio) {
  const TagScheme bio = SchemeOf({"O", "B-PER", "I-PER", "B-LOC", "I-LOC"});
  EXPECT_EQ(SpansIn(bio, {0, 1, 2, 2, 0}), ".x--.");
  EXPECT_EQ(SpansIn(bio, {1, 1, 2, 4, 3}), "xx-xx") << "a kind that changes begins a span";
  EXPECT_EQ(SpansIn(bio, {2, 2, 0, 4}), "x-.x") << "a span may begin without B";
}

TEST(TagScheme, ReadsIo) {
  const TagScheme marked = SchemeOf({"I-PER", "O", "I-LOC"});
  EXPECT_EQ(SpansIn(marked, {0, 0, 2, 1, 2}), "x-x.x");
  const TagScheme plain = SchemeOf({"NOUN", "O", "geo-loc", "B"});
  EXPECT_EQ(SpansIn(plain, {0, 0, 2, 2, 3, 1}), "x-x-x.");
  EXPECT_EQ(plain.names()[plain[2].kind], "geo-loc") << "a dash behind a word marks no place";
}

TEST(TagScheme, ReadsBilouInBothSpellings) {
  for (const Names& labels : {Names{"O", "B-X", "I-X", "L-X", "U-X", "B-Y"},
                              Names{"O", "B-X", "I-X", "E-X", "S-X", "B-Y"}}) {
    const TagScheme bilou = SchemeOf(labels);
    EXPECT_EQ(SpansIn(bilou, {1, 2, 3, 0, 4, 4}), "x--.xx");
    EXPECT_EQ(SpansIn(bilou, {1, 3, 2, 3}), "x-x-") << "what has ended does not go on";
    EXPECT_EQ(SpansIn(bilou, {4, 2, 3}), "xx-");
    EXPECT_EQ(SpansIn(bilou, {3, 3}), "xx");
    EXPECT_EQ(SpansIn(bilou, {1, 4, 5, 2}), "xxxx");
  }
}

TEST(TagScheme, RefusesLabelsOfNoScheme) {
  for (const Names& labels :
       {Names{"O", "B-PER", "PER"}, Names{"B-X", "I-X", "B-"}, Names{"B-X", "L-X", "E-X"},
        Names{"U-X", "S-X"}, Names{"B-X", "Q-X"}}) {
    const auto scheme = TagScheme::Of(labels);
    ASSERT_FALSE(scheme.ok()) << labels.back();
    EXPECT_EQ(scheme.error().kind, ErrorKind::kForeign);
    EXPECT_NE(scheme.error().what.find("labels fit no scheme of tags"), std::string::npos);
  }
}

}  // namespace
}  // namespace sti
