// daemon/config: reads giftsyncd.yaml by the table of keys (settings_keys.h).
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "daemon/config/settings.h"

namespace giftsync::config {

/// The settings file of both programs unless --config names one: $GIFTSYNC_CONFIG, else
/// /etc/giftsync/giftsyncd.yaml.
std::string default_settings_path();

/// One fault, ready to print: "giftsyncd.yaml:4: email.transport: found "pigeon"; allowed: smtp, file".
struct SettingsFaults {
  std::vector<std::string> lines;
};

/// All faults of the file, or the complete settings. Unknown and repeated keys, wrong types and values, merge
/// keys and anchors, keys known but without effect in this version ("not available in this version"),
/// unreadable secrets are faults. Relative paths (store.connection for sqlite, email.directory, file:
/// secrets, ca_file) are relative to the settings file's folder. Secrets: "file:PATH", "env:NAME",
/// "credential:NAME" ($CREDENTIALS_DIRECTORY/NAME), or a literal (with a warning).
tl::expected<Settings, SettingsFaults> read_settings(const std::string& path);

/// The same from text; `path` is used only in messages and for relative paths.
tl::expected<Settings, SettingsFaults> read_settings_text(const std::string& text, const std::string& path);

/// A file whose faults do not keep a command from finding the store: `settings` has the defaults where a
/// value is faulty.
struct SettingsReading {
  Settings settings;
  std::vector<std::string> faults;  ///< all of the file; empty: `settings` are complete
  bool has_store = true;            ///< the section `store` has no fault
};
SettingsReading read_settings_despite_faults(const std::string& path);

}  // namespace giftsync::config
