// schema: the Ids of an org of Salesforce, which exist in two forms: 15 letters and digits whose case counts,
// as reports show them, and 18, as its interfaces do, of which the last three say which of the 15 are capital
// letters (MATCH-34). Pure; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace giftsync {

/// The 18 characters of an Id of 15 or 18, of whatever object; nullopt for any other text, and where the last
/// three do not fit the others: an Id of another case is no Id.
std::optional<std::string> long_record_id(std::string_view text);

/// The form of 18 characters of an Id that has 15; any other Id as it is. An Id of 15 letters and digits is
/// Salesforce's when it begins like one: with the prefix of a standard object that giftsync uses, or as that
/// of an object of a package does.
std::string long_crm_id(std::string_view id);

/// The form of 15 characters of an Id that has 18 with the right suffix; any other Id as it is.
std::string short_crm_id(std::string_view id);

std::vector<std::string> long_crm_ids(std::span<const std::string> ids);

/// Without duplicates and empty ones, each in both forms.
std::vector<std::string> crm_id_forms(std::span<const std::string> ids);

/// The prefixes of the standard objects, for SQL: "'001', '003'".
inline constexpr std::string_view kCrmIdPrefixes =
    "'001', '003', '005', '006', '00K', '00Q', '00T', '0PS', '0Pa'";

}  // namespace giftsync
