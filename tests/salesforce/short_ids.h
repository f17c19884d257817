// Short names of records for the CRM conformance tests: "c1" for a contact, "o2" for an opportunity. An org
// takes only Ids of its own form, so the tests' names become such Ids on the way to the org and names again
// on the way back. Equal lengths keep their order. Pure; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "crm/crm.h"

namespace giftsync::tests {

// The objects by the start of their Ids.
inline constexpr std::string_view kAccountIds = "001";
inline constexpr std::string_view kContactIds = "003";
inline constexpr std::string_view kUserIds = "005";
inline constexpr std::string_view kOpportunityIds = "006";
inline constexpr std::string_view kRoleIds = "00K";
inline constexpr std::string_view kLeadIds = "00Q";
inline constexpr std::string_view kGiftIds = "a0G";  ///< of the fake org's gift records

/// 18 characters. Empty stays empty.
std::string to_org_id(std::string_view key_prefix, const std::string& name);
/// Ids that to_org_id() did not make stay as they are.
std::string to_short_name(const std::string& id);

/// The names in plain SQL as Ids: 'c1', and 'c' || i in statements that make many rows. The first letter says
/// the object; `gift_ids` begins the Ids of gift records.
std::string with_org_ids(const std::string& statement, std::string_view gift_ids);
/// Every Id of to_org_id() within the text as its name.
std::string with_short_names(const std::string& text);

/// The CRM as the tests see it: names instead of Ids.
std::unique_ptr<crm::Crm> with_short_ids(std::unique_ptr<crm::Crm> crm);

}  // namespace giftsync::tests
