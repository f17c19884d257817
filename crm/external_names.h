// crm: the names that the settings may give to the tables and columns of an external CRM. Pure.
#pragma once

#include <string>
#include <vector>

namespace giftsync::crm {

/// Why a mapped name is invalid. Valid are letters, digits and underscores, not beginning with a digit; a
/// table may have its schema before a dot. Empty when it is valid; "-" is valid.
std::string external_name_fault(const std::string& name, bool is_table);

/// The objects by their names in the settings.
extern const std::vector<std::string> kExternalCrmObjects;

}  // namespace giftsync::crm
