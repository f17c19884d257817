#include "tests/salesforce/short_ids.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <regex>
#include <utility>

#include "tests/salesforce/fake_org/record_ids.h"

namespace giftsync::tests {
namespace {

constexpr std::size_t kBody = 12;
constexpr std::size_t kLongId = 18;

struct NamedObject {
  char letter;
  std::string_view key_prefix;
};
constexpr std::array<NamedObject, 8> kObjects{{{'a', kAccountIds},
                                               {'c', kContactIds},
                                               {'u', kUserIds},
                                               {'o', kOpportunityIds},
                                               {'k', kRoleIds},
                                               {'x', kRoleIds},
                                               {'l', kLeadIds},
                                               {'g', kGiftIds}}};

std::string prefix_of(char letter) {
  for (const NamedObject& object : kObjects)
    if (object.letter == letter) return std::string(object.key_prefix);
  return std::string(kOpportunityIds);  // 'gone'
}

/// Three characters that follow from where the capital letters are; names have none.
std::string suffix_of(const std::string& key_prefix) {
  return fake_org::to_long_id(key_prefix + std::string(kBody, '0')).substr(kLongId - 3);
}

std::string replaced(const std::string& text, const std::regex& pattern,
                     const std::function<std::string(const std::smatch&)>& replacement) {
  std::string made;
  auto rest = text.cbegin();
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
    made.append(rest, (*at)[0].first);
    made += replacement(*at);
    rest = (*at)[0].second;
  }
  return made.append(rest, text.cend());
}

bool is_object(std::string_view key_prefix) {
  for (const NamedObject& object : kObjects)
    if (object.key_prefix == key_prefix) return true;
  return false;
}

/// The name in an Id; nullopt for Ids that the org made.
std::optional<std::string> name_in(std::string_view id) {
  static const std::regex kName("0*([a-z]+[0-9]*)");
  if (id.size() != kLongId || !is_object(id.substr(0, 3))) return std::nullopt;
  const std::string body(id.substr(3, kBody));
  std::smatch match;
  return std::regex_match(body, match, kName) ? std::optional(match[1].str()) : std::nullopt;
}

}  // namespace

std::string to_org_id(std::string_view key_prefix, const std::string& name) {
  if (name.empty()) return {};
  const std::string padding(kBody - std::min(kBody, name.size()), '0');
  return std::string(key_prefix) + padding + name + suffix_of(std::string(key_prefix));
}

std::string to_short_name(const std::string& id) {
  return name_in(id).value_or(id);
}

std::string with_org_ids(const std::string& statement, std::string_view gift_ids) {
  static const std::regex kMany(R"('([clox])' \|\| (\([^()]*\)|i))");
  static const std::regex kOne(R"('([acuokxlg][0-9]+|gone|old[0-9]*)')");
  const std::string many = replaced(statement, kMany, [](const std::smatch& match) {
    const std::string prefix = prefix_of(match[1].str()[0]);
    return "('" + prefix + "' || substr('" + std::string(kBody, '0') + match[1].str() + "' || " +
           match[2].str() + ", -12) || '" + suffix_of(prefix) + "')";
  });
  return replaced(many, kOne, [&](const std::smatch& match) {
    const std::string name = match[1].str();
    const std::string prefix = name.starts_with("old") ? std::string(gift_ids) : prefix_of(name[0]);
    return "'" + to_org_id(prefix, name) + "'";
  });
}

std::string with_short_names(const std::string& text) {
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    const std::optional<std::string> name = name_in(std::string_view(text).substr(at, kLongId));
    made += name ? *name : std::string(1, text[at]);
    at += name ? kLongId : 1;
  }
  return made;
}

}  // namespace giftsync::tests
