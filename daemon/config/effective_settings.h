// daemon/config: the settings as `giftsyncctl settings show` prints them: every key with its value and where
// that is from, without secrets. The daemon records them so, and giftsyncctl compares them with the file
// (SET-8).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/config/settings.h"

namespace giftsync::config {

struct EffectiveSetting {
  std::string key;             ///< "limits.max_recipients", in a list "sources[0].url"
  std::string value;           ///< as JSON; "null" without a value, a masked text for a secret
  ValueProvenance provenance;  ///< line 0: a default
};

/// Every key in the order in which it is printed: the keys outside lists, then those of the lists' elements.
std::vector<EffectiveSetting> effective_settings(Settings settings);

/// "default", "/etc/giftsync/giftsyncd.yaml:12" or, of a secret, "...:12 (credential:relay)".
std::string provenance_text(const EffectiveSetting& setting, const std::string& file);

/// For the store.
std::string to_text(const std::vector<EffectiveSetting>& settings);
/// Nothing when to_text() has not made the text.
std::optional<std::vector<EffectiveSetting>> effective_settings_from(const std::string& text);

struct SettingDifference {
  std::string key;
  std::optional<EffectiveSetting> in_force;  ///< nothing: an element that the daemon does not have
  std::optional<EffectiveSetting> in_file;   ///< nothing: an element that the file does not have
};
/// The keys whose values differ, or whose secrets have different references: a secret's own text is never
/// compared. A value that has moved to another line is no difference.
std::vector<SettingDifference> differences(const std::vector<EffectiveSetting>& in_force,
                                           const std::vector<EffectiveSetting>& in_file);

}  // namespace giftsync::config
