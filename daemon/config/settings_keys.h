// daemon/config: the table of the keys of giftsyncd.yaml, the only source of what a key is (SET-2). Parsing,
// error messages, giftsyncctl settings show and the generated documents (settings_documents.h) use it.
// Defaults are those of settings.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/config/settings.h"
#include "daemon/config/text_checks.h"

namespace giftsync::config {

/// The member of Settings that holds a key's value; of a list's key that of the list's last element.
template <class T>
using Accessor = std::function<T&(Settings&)>;

/// A whole number in decimal digits.
struct WholeNumber {
  Accessor<std::int64_t> accessor;
  std::int64_t minimum;
  std::int64_t maximum;
  std::string unit;
};

struct BooleanValue {
  Accessor<bool> accessor;
};

/// One of several values, identified by its index.
struct Choice {
  std::vector<std::string> values;
  std::function<void(Settings&, std::size_t)> choose;
  std::function<std::size_t(Settings&)> chosen;
};

/// What a text must look like.
struct TextForm {
  std::string allowed;        ///< as it follows "allowed: " in a message
  TextCheck check = nullptr;  ///< null: any text
  std::string schema =
      "{}";  ///< JSON Schema keywords besides type and minLength; accept all that `check` accepts
  bool may_be_empty = false;  ///< "" is a value, which `check` does not get
};

/// Non-empty text, unless its form says otherwise.
struct Text {
  Accessor<std::string> accessor;
  TextForm form;
};

/// From `minimum` to `maximum` different texts, each of the form.
struct TextList {
  Accessor<std::vector<std::string>> accessor;
  std::size_t minimum;
  std::size_t maximum;
  TextForm form;
};

/// A path, made absolute from the settings file's folder.
struct FilePath {
  Accessor<std::string> accessor;
  std::string allowed;
  bool must_be_readable;           ///< the file must exist; else it may be created later
  bool may_be_credential = false;  ///< credential:NAME is the path of systemd's credential
};

/// A reference to a secret (secrets.h).
struct SecretReference {
  Accessor<Secret> accessor;
  bool may_be_pem = false;  ///< a key of several lines
};

/// One reference to a secret, or a list of up to `maximum` different ones.
struct SecretList {
  Accessor<std::vector<Secret>> accessor;
  std::size_t maximum;
};

/// Names that the admin chooses, with one of `values` each.
struct ChoiceMap {
  Accessor<std::vector<std::pair<std::string, std::string>>> accessor;
  std::size_t maximum;
  std::string allowed;  ///< each name
  std::vector<std::string> values;
};

/// Names that the admin chooses, with a reference to a secret each.
struct SecretMap {
  Accessor<std::vector<std::pair<std::string, Secret>>> accessor;
  std::size_t maximum;
  TextForm name;
};

/// Names that the admin chooses, with a name each.
struct NameMap {
  Accessor<std::vector<std::pair<std::string, std::string>>> accessor;
  std::size_t maximum;
  std::string allowed;
  std::string (*fault)(const std::string& name, const std::string& value);  ///< empty when both are valid
  std::string schema;  ///< JSON Schema keywords besides type and maxProperties
};

using ValueRule = std::variant<WholeNumber, BooleanValue, Choice, Text, TextList, FilePath, SecretReference,
                               SecretList, ChoiceMap, SecretMap, NameMap>;

/// The key applies only with this value of another key; with any other value it is a fault.
struct OnlyWith {
  std::string key;  ///< empty: always
  std::string value;
};

struct KeyDetails {
  std::string example = {};  ///< as written in YAML; empty: the default is the example
  bool is_required = false;  ///< unless `only_with` excludes it; the example file sets it
  bool is_set_at_first =
      false;  ///< the example file, with which an installation begins, sets it to the example
  OnlyWith only_with = {};
  std::string only_beside = {};  ///< the path of a key without which this one has no effect
};

struct SettingsKey {
  std::string path;  ///< "email.smtp.url"
  std::string
      description;  ///< one or two sentences for the admin, without the allowed values and the default
  ValueRule rule;
  KeyDetails details = {};
};

/// A part of the file that has keys; "" is the whole file.
struct SettingsSection {
  std::string path;
  std::string description;
  std::string schema = "[]";  ///< JSON Schemas of what the checks of several keys together refuse, an array
};

/// A section that can occur any number of times, as a list. Its keys are in the table like all others; their
/// accessors refer to the last element.
struct SettingsList {
  std::string path;
  std::size_t maximum;
  std::string allowed;
  std::function<void(Settings&)> add;                               ///< an element with its defaults
  std::function<void(Settings& all, Settings& one)> append_from;    ///< moves the last element of `one`
  std::function<const std::string&(const Settings&)> name_of_last;  ///< unique among the elements
  std::function<std::size_t(const Settings&)> count;
  std::function<Settings(const Settings&, std::size_t)> extract;  ///< the settings with one element alone
  /// Further values of the last element that no two elements may have, each with its key; may be null.
  std::function<std::vector<std::pair<std::string, std::string>>(const Settings&)> unique = nullptr;
};
const std::vector<SettingsList>& settings_lists();
/// Null when `path` is not that of a list.
const SettingsList* find_settings_list(std::string_view path);
/// The list that the key at `path` is in; null when it is in none.
const SettingsList* enclosing_list(std::string_view path);

/// Every key that has an effect, in the order of the example file.
const std::vector<SettingsKey>& settings_keys();

/// Every section, lists included.
const std::vector<SettingsSection>& settings_sections();

/// Null when there is no such key.
const SettingsKey* find_settings_key(std::string_view path);

/// "email.smtp" of "email.smtp.url"; "" at the top.
std::string section_of(std::string_view path);
/// "url" of "email.smtp.url".
std::string name_in_section(std::string_view path);

/// The names one level below `section` ("" is the top), in the table's order.
std::vector<std::string> names_in_section(std::string_view section);

/// What the rule allows, as text for a message: "a whole number from 1 to 10000 (recipients)".
std::string allowed_by(const ValueRule& rule);

}  // namespace giftsync::config
