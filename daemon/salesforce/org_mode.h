// daemon/salesforce: the mode in which giftsync can write to an org, and what it can offer there, with the
// reason of each refusal. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/salesforce/org_findings.h"

namespace giftsync::daemon::salesforce {

struct FoundMode {
  OrgMode mode = OrgMode::none;
  std::string reason = {};
};
/// What the org allows, whatever the settings ask for.
FoundMode find_mode(const OrgFacts& facts, const ApiNames& names);

/// Why gift records cannot even be written without the package's rules; nullopt when they can.
std::optional<std::string> bare_obstacle(const OrgFacts& facts, const ApiNames& names);
/// What an admin does about a bare_obstacle().
inline constexpr std::string_view kBareRemedy =
    "give the user a permission set to create and edit gift records, and make the Transaction Id an external "
    "id "
    "(Setup, Object Manager: a number of 18 digits without decimal places, External ID, better also Unique)";

/// Why the package's rule does not keep its promise; nullopt when it does. `object` as in the settings.
std::optional<std::string> rule_fault(const OrgFacts& facts, const ApiNames& names, std::string_view object,
                                      std::string_view rule);

/// Why a gift's task could be made twice; nullopt when it cannot.
std::optional<std::string> task_obstacle(const OrgFacts& facts, const ApiNames& names);
/// Why request records cannot be claimed; nullopt when they can.
std::optional<std::string> request_obstacle(const OrgFacts& facts, const ApiNames& names);

/// The field has whole numbers up to 2^53, the limit of giftsync's ids.
bool holds_ids(const FieldFacts& field);

}  // namespace giftsync::daemon::salesforce
