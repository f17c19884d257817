#include "crm/external_names.h"

#include <algorithm>

namespace giftsync::crm {

const std::vector<std::string> kExternalCrmObjects{"contact",
                                                   "lead",
                                                   "account",
                                                   "opportunity",
                                                   "opportunity_contact_role",
                                                   "user",
                                                   "task",
                                                   "gift_record",
                                                   "permission_set_assignment"};

namespace {

bool is_identifier(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && name.size() <= 63 && letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace

std::string external_name_fault(const std::string& name, bool is_table) {
  if (name == "-" || is_identifier(name)) return {};
  const std::size_t dot = name.find('.');
  if (is_table && dot != std::string::npos && is_identifier(name.substr(0, dot)) &&
      is_identifier(name.substr(dot + 1)))
    return {};
  return "which is no name of letters, digits and underscores";
}

}  // namespace giftsync::crm
