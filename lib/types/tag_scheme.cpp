#include "types/tag_scheme.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace sti {
namespace {

struct Letter {
  char letter;
  TagPlace place;
};
constexpr Letter kLetters[] = {{'B', TagPlace::kBegin}, {'I', TagPlace::kInside},
                               {'L', TagPlace::kLast},  {'U', TagPlace::kOnly},
                               {'E', TagPlace::kLast},  {'S', TagPlace::kOnly}};

// Returns the place that the letter in front of a label says; nothing if none is there.
std::optional<TagPlace> PlaceIn(std::string_view label) {
  if (label.size() < 3 || label[1] != '-') return std::nullopt;
  for (const Letter& known : kLetters) {
    if (known.letter == label.front()) return known.place;
  }
  return std::nullopt;
}

bool Begins(std::span<const std::string> labels, std::string_view letter_and_dash) {
  return std::ranges::any_of(
      labels, [&](const std::string& label) { return label.starts_with(letter_and_dash); });
}

}  // namespace

bool GoesOn(const Tag& before, const Tag& tag) {
  if (tag.place == TagPlace::kOutside || before.place == TagPlace::kOutside) return false;
  if (before.place == TagPlace::kLast || before.place == TagPlace::kOnly) return false;
  return tag.kind == before.kind && tag.place != TagPlace::kBegin && tag.place != TagPlace::kOnly;
}

Result<TagScheme> TagScheme::Of(std::span<const std::string> labels) {
  const auto is_marked = [](const std::string& label) { return PlaceIn(label).has_value(); };
  const bool marks = std::ranges::any_of(labels, is_marked);
  TagScheme scheme;
  scheme.labels_ = labels.size();
  scheme.names_.assign(labels.begin(), labels.end());
  for (const std::string& label : labels) {
    if (label == kOutsideLabel) {
      scheme.tags_.push_back({});
    } else if (!marks) {
      scheme.tags_.push_back({TagPlace::kInside, scheme.KindOf(label)});
    } else if (is_marked(label)) {
      scheme.tags_.push_back({*PlaceIn(label), scheme.KindOf(label.substr(2))});
    } else {
      return ForeignError("labels fit no scheme of tags: \"" + label.substr(0, 64) +
                          "\" has no letter and dash in front, as B- or I-, and others have; give "
                          "labels in IO, BIO or BILOU");
    }
  }
  const bool two_ways = marks && (Begins(labels, "L-") || Begins(labels, "U-")) &&
                        (Begins(labels, "E-") || Begins(labels, "S-"));
  if (!two_ways) return scheme;
  return ForeignError(
      "labels fit no scheme of tags: the last token of a span is both L- and E-, or U- and S-; "
      "give labels in IO, BIO or BILOU");
}

std::optional<uint32_t> TagScheme::FindLabel(TagPlace place, uint32_t kind) const {
  using enum TagPlace;
  // Each place has others that stand for it, in this order: a scheme may not mark the end, or not
  // the begin either.
  static constexpr TagPlace kOutsides[] = {kOutside};
  static constexpr TagPlace kBegins[] = {kBegin, kInside};
  static constexpr TagPlace kInsides[] = {kInside};
  static constexpr TagPlace kLasts[] = {kLast, kInside};
  static constexpr TagPlace kOnlies[] = {kOnly, kBegin, kInside};
  constexpr std::span<const TagPlace> kStandIns[] = {kOutsides, kBegins, kInsides, kLasts, kOnlies};
  for (const TagPlace candidate : kStandIns[static_cast<size_t>(place)]) {
    const auto found = std::ranges::find_if(tags_, [&](const Tag& tag) {
      return tag.place == candidate && (candidate == kOutside || tag.kind == kind);
    });
    if (found != tags_.end()) return static_cast<uint32_t>(found - tags_.begin());
  }
  return std::nullopt;
}

std::optional<uint32_t> TagScheme::FindKind(std::string_view name) const {
  const auto first = names_.begin() + static_cast<std::ptrdiff_t>(labels_);
  const auto found = std::find(first, names_.end(), name);
  if (found == names_.end()) return std::nullopt;
  return static_cast<uint32_t>(found - names_.begin());
}

uint32_t TagScheme::KindOf(std::string name) {
  if (const auto known = FindKind(name)) return *known;
  names_.push_back(std::move(name));
  return static_cast<uint32_t>(names_.size() - 1);
}

}  // namespace sti
