#include "inputs.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace sti {
namespace {

Result<Encoding> EncodeIds(const Session& session, const std::string& line) {
  constexpr std::string_view kSeparators = " ,\t";
  const uint32_t length = session.pipeline().max_length();
  Encoding encoding;
  for (size_t at = line.find_first_not_of(kSeparators); at != std::string::npos;
       at = line.find_first_not_of(kSeparators, at)) {
    const size_t end = std::min(line.find_first_of(kSeparators, at), line.size());
    uint32_t id = 0;
    const auto [rest, error] = std::from_chars(line.data() + at, line.data() + end, id);
    if (error != std::errc() || rest != line.data() + end) {
      return DataError("'" + line.substr(at, end - at) + "' is not a token id");
    }
    encoding.truncated = encoding.ids.size() == length;
    if (!encoding.truncated) encoding.ids.push_back(id);
    at = end;
  }
  encoding.types.assign(encoding.ids.size(), 0);
  STI_RETURN_IF_ERROR(session.pipeline().CheckInput(encoding.ids, encoding.types));
  return encoding;
}

}  // namespace

const Error* OwnErrorOf(const Status& asked) {
  if (asked.ok()) return nullptr;
  const Error& error = asked.error();
  const bool own = error.source == Source::kInput || error.kind == ErrorKind::kReadFailed;
  return own ? &error : nullptr;
}

Result<Encoding> EncodeLine(const RunOptions& options, const Session& session,
                            const std::string& line) {
  if (options.ids) return EncodeIds(session, line);
  if (!options.pairs) return session.Encode(line);
  const size_t tab = line.find('\t');
  if (tab == std::string::npos) return DataError("no tab between two sentences");
  const std::string_view text(line);
  return session.Encode(text.substr(0, tab), text.substr(tab + 1));
}

}  // namespace sti
