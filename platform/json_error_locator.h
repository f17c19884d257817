// platform: finds reason and position of an error in a JSON text. Part of strict_json, which alone decides
// what is refused; this code runs only after a refusal.
#pragma once

#include <string>
#include <string_view>

#include "platform/strict_json.h"

namespace giftsync::platform {

/// The error of a refused text. `reason` is the reader's own message, used when no better one is found.
JsonError explain_json_error(std::string_view text, std::string_view reason);

/// The error of a document nested beyond kMaxJsonDepth.
JsonError too_deep_error();

/// `text` cut to at most `code_points` plus "...", for a message.
std::string excerpt(std::string_view text, std::size_t code_points);

}  // namespace giftsync::platform
