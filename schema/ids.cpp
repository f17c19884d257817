#include "schema/ids.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "platform/text.h"

namespace giftsync {

std::optional<TransactionId> gift_number(std::string_view text) {
  constexpr std::string_view kGift = "gift";
  if (ascii_lower(text).starts_with(kGift)) text.remove_prefix(kGift.size());
  text.remove_prefix(std::min(text.find_first_not_of(" :#"), text.size()));
  const auto number = parse_number<std::int64_t>(text);
  return number && *number > 0 ? std::optional(TransactionId{*number}) : std::nullopt;
}

namespace {

constexpr std::size_t kShortLength = 15;
constexpr std::size_t kLongLength = 18;
/// Each of the last three characters stands for so many of the others.
constexpr std::size_t kPartLength = 5;

bool is_capital(char c) {
  return c >= 'A' && c <= 'Z';
}

char check_character(std::string_view part) {
  std::size_t capitals = 0;
  for (std::size_t i = 0; i < part.size(); ++i) capitals |= std::size_t{is_capital(part[i])} << i;
  return std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZ012345")[capitals];
}

/// Whether a record Id begins with the prefix of a known object.
bool is_of_known_object(std::string_view id) {
  constexpr std::size_t kReserved = 5;  // always 0
  const bool is_of_package = id.front() == 'a' && id[kReserved] == '0';
  return is_of_package ||
         kCrmIdPrefixes.find("'" + std::string(id.substr(0, 3)) + "'") != std::string_view::npos;
}

}  // namespace

std::optional<std::string> long_record_id(std::string_view text) {
  if (text.size() != kShortLength && text.size() != kLongLength) return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), is_ascii_letter_or_digit)) return std::nullopt;
  std::string id(text.substr(0, kShortLength));
  for (std::size_t at = 0; at < kShortLength; at += kPartLength)
    id += check_character(text.substr(at, kPartLength));
  return text.size() == kShortLength || id == text ? std::optional(id) : std::nullopt;
}

std::string long_crm_id(std::string_view id) {
  const auto long_id = id.size() == kShortLength ? long_record_id(id) : std::nullopt;
  return long_id && is_of_known_object(id) ? *long_id : std::string(id);
}

std::string short_crm_id(std::string_view id) {
  return std::string(long_record_id(id) && is_of_known_object(id) ? id.substr(0, kShortLength) : id);
}

std::vector<std::string> long_crm_ids(std::span<const std::string> ids) {
  std::vector<std::string> all;
  for (const std::string& id : ids) all.push_back(long_crm_id(id));
  return all;
}

std::vector<std::string> crm_id_forms(std::span<const std::string> ids) {
  std::set<std::string> forms;
  for (const std::string& id : ids) forms.insert({long_crm_id(id), short_crm_id(id)});
  forms.erase("");
  return {forms.begin(), forms.end()};
}

}  // namespace giftsync
