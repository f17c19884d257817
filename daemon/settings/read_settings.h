// daemon/settings: reads giftsyncd.yaml. A part's keys, their types, limits and one sentence each stand in
// one table (settings_keys.cpp), from which reading, the JSON Schema's test and the error messages come.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "daemon/settings/settings.h"

namespace giftsync::daemon {

/// One fault, ready to print: "giftsyncd.yaml:4: email.transport: found "pigeon"; allowed: smtp, file".
struct SettingsFaults {
  std::vector<std::string> lines;
};

/// All of the file's faults at once, or the complete settings. Unknown and repeated keys, wrong types and
/// values, merge keys and anchors used as such, keys known but without effect in this version ("not available
/// in this version"), unreadable secrets are faults. Relative paths (store.connection for sqlite,
/// email.directory, file: secrets, ca_file) are relative to the settings file's folder. Secrets: "file:PATH",
/// "env:NAME", "credential:NAME"
/// ($CREDENTIALS_DIRECTORY/NAME), or a literal (with a warning).
std::variant<Settings, SettingsFaults> read_settings(const std::string& path);

/// The same from text; `path` only names it in messages and anchors relative paths.
std::variant<Settings, SettingsFaults> read_settings_text(const std::string& text, const std::string& path);

}  // namespace giftsync::daemon
