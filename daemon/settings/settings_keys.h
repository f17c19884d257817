// daemon/settings: the one table of the keys of giftsyncd.yaml. Reading, messages and the tests that hold
// conf/giftsyncd.yaml and conf/giftsyncd.schema.json to it all go by this table; defaults are those of
// settings.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/settings/settings.h"
#include "daemon/settings/text_rules.h"

namespace giftsync::daemon {

/// Where in the settings a key's value goes.
template <class T>
using Place = std::function<T&(Settings&)>;

/// A whole number in decimal digits.
struct WholeNumber {
  Place<std::int64_t> place;
  std::int64_t least;
  std::int64_t most;
  std::string unit;
};

struct YesNo {
  Place<bool> place;
};

/// One of some words, known by its position among them.
struct Choice {
  std::vector<std::string> words;
  std::function<void(Settings&, std::size_t)> choose;
  std::function<std::size_t(Settings&)> chosen;
};

using TextRule = TextFault (*)(std::string&);

/// Non-empty text. `rule` may be null.
struct Text {
  Place<std::string> place;
  std::string allowed;
  TextRule rule;
};

/// From `least` to `most` different texts.
struct TextList {
  Place<std::vector<std::string>> place;
  std::size_t least;
  std::size_t most;
  std::string allowed;  ///< each item
  TextRule rule;
};

/// A path, made absolute from the settings file's folder.
struct FilePath {
  Place<std::string> place;
  std::string allowed;
  bool must_be_readable;  ///< a file that exists; else it may come into being later
};

/// A reference to a secret (secrets.h).
struct SecretReference {
  Place<Secret> place;
};

/// One reference to a secret, or a list of up to `most` different ones.
struct SecretList {
  Place<std::vector<Secret>> place;
  std::size_t most;
};

/// Names of the admin's own with a word each.
struct WordMap {
  Place<std::vector<std::pair<std::string, std::string>>> place;
  std::size_t most;
  std::string allowed;  ///< each name
  std::vector<std::string> words;
};

/// Names of the admin's own with a reference to a secret each.
struct SecretMap {
  Place<std::vector<std::pair<std::string, Secret>>> place;
  std::size_t most;
  std::string allowed;  ///< each name
  TextRule rule;
};

/// Names of the admin's own with a name each.
struct NameMap {
  Place<std::vector<std::pair<std::string, std::string>>> place;
  std::size_t most;
  std::string allowed;
  std::string (*fault)(const std::string& name, const std::string& value);  ///< empty when both are good
};

using ValueRule = std::variant<WholeNumber, YesNo, Choice, Text, TextList, FilePath, SecretReference,
                               SecretList, WordMap, SecretMap, NameMap>;

/// The key counts only with this word chosen at another key; with any other it is a fault.
struct OnlyWith {
  std::string key;  ///< empty: always
  std::string word;
};

struct SettingsKey {
  std::string path;     ///< "email.smtp.url"
  std::string meaning;  ///< one sentence, the same in conf/giftsyncd.yaml and the JSON Schema
  ValueRule rule;
  bool is_required = false;
  OnlyWith only_with = {};
};

/// A section that is there any number of times, as a list. Its keys are in the table like any other's; their
/// places lead to the last element.
struct SettingsList {
  std::string path;
  std::size_t most;
  std::string allowed;
  std::function<void(Settings&)> add;                            ///< an element with its defaults
  std::function<void(Settings& all, Settings& one)> take_over;   ///< moves the last element of `one`
  std::function<const std::string&(const Settings&)> last_name;  ///< no two elements have the same
  std::function<std::size_t(const Settings&)> count;
  std::function<Settings(const Settings&, std::size_t)> only;  ///< the settings with one element alone
  /// Further values of the last element that no two elements may have, each with its key; may be null.
  std::function<std::vector<std::pair<std::string, std::string>>(const Settings&)> unique = nullptr;
};
const std::vector<SettingsList>& settings_lists();
/// The list that the key at `path` is in; null when it is in none.
const SettingsList* list_around(std::string_view path);

/// Every key that has an effect, in the order of conf/giftsyncd.yaml.
const std::vector<SettingsKey>& settings_keys();

/// Keys and sections that the design knows and this version does not have. They are refused: nobody is to
/// believe that a setting works which is only ignored.
const std::vector<std::string>& keys_not_available();

/// Null when there is no such key.
const SettingsKey* find_settings_key(std::string_view path);

/// The names one level below `section` ("" is the top), in the table's order.
std::vector<std::string> names_in_section(std::string_view section);

/// The keys of `crm` that tell of a CRM that someone else owns.
void add_foreign_crm_keys(std::vector<SettingsKey>& keys);

/// The keys of `lifecycle`.
void add_lifecycle_keys(std::vector<SettingsKey>& keys);

/// The keys of `sources`.
void add_source_keys(std::vector<SettingsKey>& keys);

/// The keys of `pages`.
void add_page_keys(std::vector<SettingsKey>& keys);

/// The keys of `sso`.
void add_sso_keys(std::vector<SettingsKey>& keys);

/// What the rule allows, as words for a message: "a whole number from 1 to 10000 (recipients)".
std::string allowed_by(const ValueRule& rule);

}  // namespace giftsync::daemon
