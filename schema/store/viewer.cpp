#include "schema/store/viewer.h"

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

}  // namespace

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
