// The check that a whole container is sound, by what a session asks of it. VerifyContainer
// (model/verify.h) knows parts and numbers; whether vocabulary and merges make a tokenizer is known
// to the text room alone. One function does both, so that nothing is called whole which a session
// would refuse.
#pragma once

#include "base/log.h"
#include "base/result.h"
#include "io/container_file.h"
#include "model/verify.h"

namespace sti {

/// Reads every byte of a container, checks all that VerifyContainer checks, and makes the model's
/// tokenizer. Damage is reported, not returned as an error.
Result<VerifyReport> VerifyModel(ContainerFile& file, const ProgressSink& progress);

}  // namespace sti
