// A text to measure with, whose embedding rows cost as much as those of real texts.
#pragma once

#include <cstdint>
#include <string>

#include "text/tokenizer.h"

namespace sti {

/// Returns a text of about `length` tokens from all over the vocabulary, so that rows lie apart as
/// they do in real inputs. Words repeat as they do there: by Heaps' law a text of n words has
/// 1.2 n^0.9 different ones (rows of SST-2 and CLINC150 joined to 16 to 128 tokens have within a
/// tenth of that).
std::string SampleText(const Tokenizer& tokenizer, uint32_t length);

}  // namespace sti
