#include "crm/row_reader.h"

#include <algorithm>

namespace giftsync::crm {

const std::vector<std::string> kReadableObjects{"contact",
                                                "lead",
                                                "account",
                                                "opportunity",
                                                "opportunity_contact_role",
                                                "user",
                                                "permission_set_assignment",
                                                "task",
                                                "gift_record",
                                                "request_record"};

bool CrmRow::has(std::string_view field) const {
  return std::any_of(fields.begin(), fields.end(), [&](const auto& one) { return one.first == field; });
}

std::string CrmRow::text(std::string_view field) const {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const auto& one) { return one.first == field; });
  return found == fields.end() ? std::string() : found->second.value_or("");
}

}  // namespace giftsync::crm
