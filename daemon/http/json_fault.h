// daemon/http: finds the words and the place for a JSON text that was refused. Part of strict_json, which
// alone decides what is refused; this only runs after a refusal.
#pragma once

#include <string>
#include <string_view>

#include "daemon/http/strict_json.h"

namespace giftsync::daemon {

/// The fault of a text that the reader refused. `reason` is the reader's own word for it, used when no better
/// one is found.
JsonFault explain_json_fault(std::string_view text, std::string_view reason);

/// The fault of a document nested beyond kMaxJsonDepth.
JsonFault too_deep_fault();

/// `text`, cut to at most `code_points` with "..." behind it, to be quoted in a message.
std::string excerpt(std::string_view text, std::size_t code_points);

}  // namespace giftsync::daemon
