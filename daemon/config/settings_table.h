// daemon/config: what the tables of keys (settings_keys.cpp, settings_*_keys.cpp) are written with. Adding a
// key is one entry in one of these tables and its member in settings.h.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "daemon/config/settings_keys.h"

namespace giftsync::config {

template <class Section>
Section& last_or_self(Section& section) {
  return section;
}
template <class Element>
Element& last_or_self(std::vector<Element>& list) {
  return list.back();
}

template <class Owner, class Member, class... More>
auto& member_of(Owner& owner, Member member, More... more) {
  if constexpr (sizeof...(more) == 0) {
    return owner.*member;
  } else {
    return member_of(last_or_self(owner.*member), more...);
  }
}

/// setting(&Settings::server, &ServerSettings::listen): the accessor of one value. Of a list on the way the
/// last element counts.
template <class... Members>
auto setting(Members... members) {
  using Value = std::remove_reference_t<decltype(member_of(std::declval<Settings&>(), members...))>;
  return Accessor<Value>(
      [members...](Settings& settings) -> Value& { return member_of(settings, members...); });
}

/// Values in the order of the enumerators (or of false, true).
template <class T>
Choice choice(std::vector<std::string> values, Accessor<T> accessor) {
  return {std::move(values),
          [accessor](Settings& settings, std::size_t index) { accessor(settings) = static_cast<T>(index); },
          [accessor](Settings& settings) { return static_cast<std::size_t>(accessor(settings)); }};
}

// Forms that several sections use.
/// In settings_gift_keys.cpp.
TextForm time_zone_form();
/// In settings_keys.cpp.
TextForm amount_form();
inline TextForm plain_text(std::string allowed) {
  return {std::move(allowed), check_plain_text, R"({"maxLength": 255})"};
}
inline const TextForm kWebUrl{
    "an http:// or https:// URL without user, query and fragment such as https://gifts.example.com",
    check_web_url, R"({"pattern": "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@\\s][^?#@\\s]*$"})"};
inline const std::string kHttpsPattern = R"({"pattern": "^[Hh][Tt][Tt][Pp][Ss]://[^/?#@\\s][^?#@\\s]*$"})";
inline const std::string kHttpsQueryPattern = R"({"pattern": "^[Hh][Tt][Tt][Pp][Ss]://[^/?#@\\s][^#\\s]*$"})";
inline const std::string kNamePattern = R"({"pattern": "^[A-Za-z][A-Za-z0-9_]{0,79}$"})";
inline const std::string kReadableFile = "a readable file's path";

using KeyTable = std::vector<SettingsKey>;
inline KeyTable joined(const std::vector<KeyTable (*)()>& parts) {
  KeyTable all;
  for (const auto part : parts) {
    for (SettingsKey& key : part()) all.push_back(std::move(key));
  }
  return all;
}

KeyTable approval_keys();
KeyTable crm_keys();
KeyTable salesforce_keys();
KeyTable matching_keys();
KeyTable email_keys();
KeyTable page_keys();
KeyTable lifecycle_keys();
KeyTable source_keys();
KeyTable sso_keys();

}  // namespace giftsync::config
