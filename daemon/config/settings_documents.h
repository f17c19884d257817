// daemon/config: the three documents of the settings, made from the table of keys (SET-2). The build writes
// them with daemon/wiring/settings_documents_main.cpp and installs them; conf/giftsyncd.yaml is a copy of the
// first for readers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/settings_keys.h"
#include "platform/json.h"

namespace giftsync::config {

/// giftsyncd.yaml: a valid settings file that shows every key with its description, allowed values and
/// default. Required keys are set; every other key is commented out and shows its default or an example.
std::string settings_example();

/// giftsyncd.schema.json: a JSON Schema (draft 2020-12), for editors. It accepts every settings file that
/// giftsyncd accepts, but not only those.
std::string settings_schema();

/// giftsyncd.yaml(5): the manual page, in mdoc.
std::string settings_manual();

/// Text lines of mdoc: each sentence begins a line, and none begins with the mark of a macro.
std::string manual_lines(std::string text);

// What the documents of the settings say about one key.

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
