// daemon/cli: which API key an abbreviation means. Pure.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "schema/store/account_book.h"

namespace giftsync::daemon {

/// "active", "ending" (works until it expires), "expired" or "revoked".
std::string key_state(const schema::ApiKey& key, schema::UtcMillis now);

/// The one key that `word` begins: its listed prefix, or what follows gsk_live_ in it, or the whole key. Keys
/// that still work go before those that do not. Otherwise a sentence: no such key, or which ones it may mean.
std::variant<schema::KeyHolder, std::string> find_key(const std::vector<schema::KeyHolder>& keys,
                                                      const std::string& word, schema::UtcMillis now);

}  // namespace giftsync::daemon
