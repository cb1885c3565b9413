// Texts whose words have tags, in the columns of CoNLL: a line for each word, the word in front and
// its tag last, with blanks or tabs between, and an empty line behind each text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/log.h"
#include "base/result.h"
#include "text/dataset.h"
#include "types/tag_scheme.h"

namespace sti {

/// Reads the whole content of such a file; `name` is the file's name for messages. Each example is
/// a text, its words with a space between, and has their tags. These may be of another scheme than
/// the model's, whose are `model`: only kinds have to be its own.
///
/// Lines end with LF or CRLF. A line of "-DOCSTART-" parts documents, and one that begins with "#"
/// and ends with no tag that a model could have is a comment; both are skipped. DataError with file
/// and line for a word without a tag, a kind that the model does not know, tags that fit no scheme,
/// more words than kMaxDatasetRows or a line or text longer than kMaxDatasetLineBytes, or a file
/// without a text. `log` is warned of the first line that is not UTF-8. Pure.
Result<std::vector<Example>> ParseTaggedTexts(std::string_view content, const std::string& name,
                                              const TagScheme& model, const LogSink& log);

/// Returns the digest of texts and the spans that their tags say, in their order.
Digest DigestOfTagged(std::span<const Example> texts, const TagScheme& model);

}  // namespace sti
