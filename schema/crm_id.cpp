#include "schema/crm_id.h"

#include <algorithm>
#include <set>

#include "schema/record_id.h"

namespace giftsync::schema {
namespace {

constexpr std::size_t kShort = 15;
constexpr std::size_t kLong = 18;

bool is_short_id(std::string_view id) {
  const auto is_letter_or_digit = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  if (id.size() != kShort || !std::all_of(id.begin(), id.end(), is_letter_or_digit)) return false;
  constexpr std::size_t kReserved = 5;  // always 0
  const bool is_of_package = id.front() == 'a' && id[kReserved] == '0';
  return is_of_package ||
         kCrmIdPrefixes.find("'" + std::string(id.substr(0, 3)) + "'") != std::string_view::npos;
}

}  // namespace

std::string long_crm_id(std::string_view id) {
  return is_short_id(id) ? long_record_id(id).value_or(std::string(id)) : std::string(id);
}

std::string short_crm_id(std::string_view id) {
  const std::string_view start = id.substr(0, kShort);
  const bool is_long = id.size() == kLong && is_short_id(start) && long_record_id(id);
  return std::string(is_long ? start : id);
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

}  // namespace giftsync::schema
