#include "schema/store/viewer.h"

#include <string_view>

namespace giftsync::schema::store {
namespace {

constexpr const char* kAll = "1 = 1";
constexpr const char* kNone = "1 = 0";

template <class Tag>
std::string digits(Id<Tag> id) {
  return std::to_string(id.value);
}

/// An operator or auditor without an organization sees every organization's objects; so does an admin.
bool sees_everything(const Viewer& viewer) {
  return viewer.sees_all_senders() && !viewer.organization;
}

/// What may be before the @ of an address, without quotes; bytes of other scripts too.
bool is_of_local_part(char c) {
  return std::string_view(" \t\r\n<>()[],;:\"@").find(c) == std::string_view::npos;
}

/// Where the local part begins that ends at the end of `text`, itself without quotes or within them.
std::size_t begin_of_local_part(const std::string& text) {
  if (text.size() > 1 && text.ends_with('"')) {
    const std::size_t quote = text.rfind('"', text.size() - 2);
    if (quote != std::string::npos) return quote;
  }
  std::size_t begin = text.size();
  while (begin > 0 && is_of_local_part(text[begin - 1])) --begin;
  return begin;
}

std::string without_addresses(const std::string& text) {
  std::string made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '@' || text.compare(i, 3, "%40") == 0) {
      const std::size_t begin = begin_of_local_part(made);
      if (begin < made.size()) made.replace(begin, std::string::npos, "***");
    }
    made += text[i];
  }
  return made;
}

}  // namespace

std::string error_code(const std::string& error) {
  const std::size_t colon = error.find(':');
  if (colon != std::string::npos) return without_addresses(error.substr(0, colon));
  return error.empty() ? "" : "***";
}

std::string shown_error(const Viewer& viewer, const std::string& error) {
  return viewer.is_masked() ? error_code(error) : error;
}

std::string shown_text(const Viewer& viewer, const std::string& text) {
  return viewer.is_masked() ? without_addresses(text) : text;
}

std::string gifts_condition(const Viewer& viewer) {
  if (sees_everything(viewer)) return kAll;
  const std::string own = viewer.account ? "r.account_id = " + digits(*viewer.account) : kNone;
  if (!viewer.sees_all_senders()) return viewer.roles.empty() ? kNone : own;
  return "(r.account_id IN (SELECT id FROM account WHERE organization_id = " + digits(*viewer.organization) +
         ") OR " + own + ")";
}

std::string request_records_condition(const Viewer& viewer, std::optional<OrganizationId> owner) {
  if (viewer.organization && viewer.organization != owner) return kNone;
  if (viewer.sees_all_senders() || viewer.has(Role::approver)) return kAll;
  if (viewer.roles.empty() || !viewer.account) return kNone;
  return "s.requested_by <> '' AND s.requested_by = (SELECT email FROM account WHERE id = " +
         digits(*viewer.account) + ")";
}

std::string audit_condition(const Viewer& viewer) {
  if (sees_everything(viewer)) return kAll;
  const std::string own = "e.user_id = " + digits(viewer.user);
  if (!viewer.sees_all_senders()) return viewer.roles.empty() ? kNone : own;
  return "(e.organization_id = " + digits(*viewer.organization) + " OR " + own + ")";
}

std::string users_condition(const Viewer& viewer) {
  if (sees_everything(viewer)) return kAll;
  const std::string own = "u.id = " + digits(viewer.user);
  if (!viewer.sees_all_senders()) return viewer.roles.empty() ? kNone : own;
  return "(u.organization_id = " + digits(*viewer.organization) + " OR " + own + ")";
}

}  // namespace giftsync::schema::store
