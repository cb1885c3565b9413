// A session as the command line of sti-run says: how it is opened, and how a line becomes its
// input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "api/input.h"
#include "api/served_models.h"
#include "api/session.h"
#include "base/result.h"
#include "common/tool.h"
#include "options.h"

namespace sti {

/// A session of this tool, which waits at its end for no read that hangs.
using OpenedSession = std::unique_ptr<Session, CloseOrLeave>;

/// Opens model, plan and session as the options say, with memory for the vectors of so many labels
/// that examples have; warns through `tool` where a person should know something. Both outlive the
/// session.
Result<OpenedSession> OpenSession(const RunOptions& options, size_t labels, const Tool& tool);

/// Opens model and plan as the options say, and says how their session is to be opened, but for its
/// threads and memory; warns through `tool`, which outlives the session.
Result<ModelToServe> OpenModel(const RunOptions& options, const Tool& tool);

/// Returns the ids of a line as the options read it: text, two texts with a tab between them, or
/// ids. An error is the line's own: others can be used.
Result<Encoding> EncodeLine(const RunOptions& options, const Session& session,
                            const std::string& line);

/// Returns what a line asks, as the options read it: EncodeLine, or of a model of images what the
/// file holds whose path it is. Errors as there.
Result<SessionInput> ReadLineInput(const RunOptions& options, const Session& session,
                                   const std::string& line);

/// Returns whether the plan has a cascade that sends inputs on by chance.
bool LeavesToChance(const Plan& plan);

/// Returns the most bytes that an input takes beside its line and its run: a text that is read in
/// windows, or an image.
uint64_t MostInputBytes(const RunOptions& options, const ModelInfo& model);

/// Returns how many of the bytes that --memory allows are left for models. `held` gets the others:
/// what the process holds, its code included, and `later`, what it will hold that is no model's.
uint64_t BytesForModels(const RunOptions& options, uint64_t later, uint64_t* held);

/// Returns an error of opening sessions in terms of the process, where memory is what they lack.
Error InProcess(Error error, const RunOptions& options, uint64_t held);

/// Returns the bytes of the process that `plan` was made for, where --memory bounds it; 0 if it was
/// not, or nothing does.
uint64_t PlannedForBytes(const RunOptions& options, const Plan& plan);

}  // namespace sti
