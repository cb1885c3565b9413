// Tags of tokens, which are a model's labels: each says of what kind the span is that a token is
// in, and which place the token has in it. Three schemes are in use. In IO a tag is a kind, or
// "I-" and a kind. BIO marks the first token of a span ("B-PER", then "I-PER"), and BILOU its last
// and its only one too ("L-", "U-"; some write "E-" and "S-"). "O" is outside of all spans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sti {

/// The place of a token in a span.
enum class TagPlace : uint8_t {
  kOutside,  ///< it is in none
  kBegin,
  kInside,  ///< in IO and BIO perhaps the last too, and in IO perhaps the first
  kLast,
  kOnly,
};

/// The meaning of a label.
struct Tag {
  TagPlace place = TagPlace::kOutside;
  uint32_t kind = 0;  ///< number of the span's kind in names(); of kOutside 0
};

/// Returns whether a token whose tag is `tag` goes on with the span of the token in front of it,
/// whose tag is `before`. A span may begin and end where no tag says so, as readers of tags take
/// it: kinds have to agree, and what has ended does not go on.
bool GoesOn(const Tag& before, const Tag& tag);

/// The label of what is outside of all spans.
inline constexpr std::string_view kOutsideLabel = "O";

/// The tags of one model. Immutable once made: any number of threads may call at once.
class TagScheme {
 public:
  /// Reads `labels`, by id. ForeignError, whose place the caller adds, for labels that fit no
  /// scheme: some have a letter and a dash in front and others have none, or last tokens are marked
  /// in two ways.
  static Result<TagScheme> Of(std::span<const std::string> labels);

  /// Returns the meaning of a label.
  [[nodiscard]] const Tag& operator[](uint32_t label) const { return tags_[label]; }
  /// Returns how many labels there are.
  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(tags_.size()); }
  /// Returns the names of labels, by id, and behind them those of kinds, in the order in which
  /// labels name them first: what a span may be called, by number.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  /// Returns the label of words with this place in a span of this kind (no matter which outside of
  /// all): the one that says so, or that of the scheme that stands for it, such as "I-" for a last
  /// word in BIO. Nothing if there is none.
  [[nodiscard]] std::optional<uint32_t> FindLabel(TagPlace place, uint32_t kind) const;
  /// Returns the number of a kind; nothing if no label is of it.
  [[nodiscard]] std::optional<uint32_t> FindKind(std::string_view name) const;

 private:
  uint32_t KindOf(std::string name);

  size_t labels_ = 0;
  std::vector<Tag> tags_;
  std::vector<std::string> names_;
};

}  // namespace sti
