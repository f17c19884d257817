#include "crm/row_import.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>

#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::crm {
namespace {

constexpr std::size_t kMaxNameLength = 60;  // PostgreSQL cuts names at 63 bytes
constexpr std::size_t kMaxColumns = 500;

constexpr std::array<std::string_view, 7> kObjectNames{"contact",
                                                       "lead",
                                                       "account",
                                                       "opportunity",
                                                       "opportunity_contact_role",
                                                       "user",
                                                       "permission_set_assignment"};

bool is_api_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameLength || !is_ascii_letter(name.front())) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return is_ascii_letter_or_digit(c) || c == '_'; });
}

/// PostgreSQL's system columns, which every table has.
bool is_system_column(std::string_view name) {
  const std::set<std::string_view> names{"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"};
  return names.contains(name);
}

/// A name for a message.
std::string printable(std::string_view name) {
  if (!is_storable_text(name)) return "(not UTF-8 text)";
  return "\"" + visible_text(truncated(name, kMaxNameLength)) + "\"";
}

}  // namespace

std::string_view to_word(ImportObject object) {
  return kObjectNames[static_cast<std::size_t>(object)];
}

std::optional<ImportObject> parse_import_object(std::string_view word) {
  const auto found = std::find(kObjectNames.begin(), kObjectNames.end(), word);
  if (found == kObjectNames.end()) return std::nullopt;
  return static_cast<ImportObject>(found - kObjectNames.begin());
}

std::vector<std::string> standard_columns(ImportObject object) {
  std::vector<std::string> names{"Id"};
  const auto add = [&](std::initializer_list<const char*> more) {
    names.insert(names.end(), more.begin(), more.end());
  };
  switch (object) {
    case ImportObject::contact:
      add({"Salutation", "FirstName", "LastName", "Name", "Email", "Phone", "MobilePhone", "HomePhone",
           "OtherPhone", "AccountId", "Title", "Department", "LeadSource", "Birthdate", "OwnerId"});
      break;
    case ImportObject::lead:
      add({"Salutation", "FirstName", "LastName", "Name", "Company", "Title", "Email", "Phone", "MobilePhone",
           "Status", "Rating", "LeadSource", "OwnerId", "IsConverted", "ConvertedDate", "ConvertedContactId",
           "ConvertedAccountId", "ConvertedOpportunityId"});
      break;
    case ImportObject::account:
      add({"Name", "Phone", "Website", "Type", "Industry", "OwnerId"});
      break;
    case ImportObject::opportunity:
      add({"Name", "AccountId", "StageName", "Amount", "CloseDate", "Probability", "IsClosed", "IsWon",
           "Type", "LeadSource", "OwnerId"});
      break;
    case ImportObject::opportunity_contact_role:
      add({"ContactId", "OpportunityId", "Role", "IsPrimary"});
      break;
    case ImportObject::user:
      add({"FirstName", "LastName", "Name", "Email", "Username", "IsActive"});
      break;
    case ImportObject::permission_set_assignment:
      add({"AssigneeId", "PermissionSetName", "IsActive", "ExpirationDate"});
      break;
  }
  add({"CreatedDate", "LastModifiedDate"});
  return names;
}

std::string import_column(std::string_view header_cell) {
  return ascii_lower(trimmed(without_byte_order_mark(header_cell)));
}

std::vector<std::string> import_header_faults(std::span<const std::string> header) {
  std::vector<std::string> faults;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string name = import_column(header[i]);
    const std::string where =
        "column " + std::to_string(i + 1) + " is named " + printable(trimmed(header[i]));
    if (!is_api_name(name)) {
      faults.push_back(where + "; a name is a letter, then letters, digits and underscores, 60 at most");
    } else if (is_system_column(name)) {
      faults.push_back(where + ", the name of a system column; choose another name");
    } else if (!seen.insert(name).second) {
      faults.push_back(where + ", like an earlier column; each name is allowed once");
    }
  }
  if (!seen.contains("id")) faults.push_back("there is no column Id, which identifies the rows");
  if (header.size() > kMaxColumns) {
    faults.push_back("there are " + std::to_string(header.size()) + " columns; at most 500 are allowed");
  }
  return faults;
}

}  // namespace giftsync::crm
