// daemon/config: what the documents of the settings say about one key.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/settings_keys.h"

namespace giftsync::config {

using Json = nlohmann::ordered_json;

/// The key's default; null when it has none.
Json default_of(const SettingsKey& key);
/// "[Phone, MobilePhone]", "none".
std::string default_text(const SettingsKey& key);
/// The example, or the default, as written in YAML.
std::string example_text(const SettingsKey& key);

/// "Only with type: poll." or ""; for a required key without a condition "Required."
std::string condition_text(const SettingsKey& key);

/// Breaks the text at blanks into lines of at most `width` bytes; a longer word is a line of its own.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

}  // namespace giftsync::config
