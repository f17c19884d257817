// cli: finds an API key by its first characters. Pure.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "schema/store/accounts.h"

namespace giftsync::cli {

/// The key that starts with `word`, with or without gsk_live_, or whose full text is `word`. Prefers usable
/// keys over others. Otherwise the error: no such key, or the keys that match.
std::variant<schema::store::ApiKeyOwner, std::string> find_api_key(
    const std::vector<schema::store::ApiKeyOwner>& keys, const std::string& word, platform::UtcMillis now);

}  // namespace giftsync::cli
