#include "schema/store/account/admin_notices.h"

#include "schema/sql/queries.h"
#include "schema/sql/record_rows.h"
#include "schema/store/statements/word_conversions.h"

namespace giftsync::store {

void insert_admin_notices(soci::session& session, AdminNotice notice,
                          std::optional<OrganizationId> organization) {
  const std::string seen =
      organization ? " OR u.organization_id = " + std::to_string(organization->value) : std::string();
  const auto admins = sql::select_column<UserId>(
      session, "SELECT u.id FROM console_user u WHERE u.active = 1 AND (u.organization_id IS NULL" + seen +
                   ") AND EXISTS (SELECT 1 FROM user_role r WHERE r.user_id = u.id AND r.role = 'admin') "
                   "ORDER BY u.id");
  for (const UserId admin : admins) {
    notice.user = admin;
    sql::insert_record(
        session, kAdminNoticeFields, notice,
        "ON CONFLICT (user_id, kind, scope, period, threshold) DO UPDATE SET owner = "
        "excluded.owner, gifts = excluded.gifts, amount = excluded.amount, gifts_limit = "
        "excluded.gifts_limit, amount_limit = excluded.amount_limit, mail_number = 0, created_at "
        "= excluded.created_at");
  }
}

}  // namespace giftsync::store
