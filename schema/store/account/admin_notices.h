// schema/store: what admins are mailed of budgets and bursts (GUARD-31): one notice for each admin who sees
// the scope, inserted with what it is about. The mails are those of schema/store/mail/notices.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "platform/time.h"
#include "schema/enums.h"
#include "schema/ids.h"
#include "schema/money.h"
#include "schema/record_fields.h"

namespace soci {
class session;
}

namespace giftsync::store {

struct AdminNotice {
  UserId user = {};
  AdminNoticeKind kind = AdminNoticeKind::budget;
  std::string scope = {};      ///< usage_scope(); of a key or token its prefix
  std::string period = {};     ///< "2026-11-28" or "2026-11"; of a pause the milliseconds when it began
  std::int64_t threshold = 0;  ///< percent; of a pause 0
  std::string owner = {};     ///< the account's address or the organization's name; of the installation empty
  std::string key_name = {};  ///< what the admin calls the key; may be empty
  std::int64_t gifts = 0;     ///< that were used when the notice was made; of a pause 0
  Money amount = {};
  std::optional<std::int64_t> gifts_limit = {};
  std::optional<Money> amount_limit = {};
  UtcMillis begins_at = {};  ///< the period, or the window of the burst
  UtcMillis ends_at = {};
  std::int64_t mail_number = 0;  ///< of the mail that has it; 0: none yet
  UtcMillis created_at = {};
};

// One field a line.
// clang-format off
inline constexpr auto kAdminNoticeFields = record_fields(
    "admin_notice",
    field<&AdminNotice::user>("user_id"),
    field<&AdminNotice::kind>("kind"),
    field<&AdminNotice::scope>("scope"),
    field<&AdminNotice::period>("period"),
    field<&AdminNotice::threshold>("threshold"),
    field<&AdminNotice::owner>("owner"),
    field<&AdminNotice::key_name>("key_name"),
    field<&AdminNotice::gifts>("gifts"),
    field<&AdminNotice::amount>("amount"),
    field<&AdminNotice::gifts_limit>("gifts_limit"),
    field<&AdminNotice::amount_limit>("amount_limit"),
    field<&AdminNotice::begins_at>("begins_at"),
    field<&AdminNotice::ends_at>("ends_at"),
    field<&AdminNotice::mail_number>("mail_number"),
    field<&AdminNotice::created_at>("created_at"));
// clang-format on

/// Inserts the notice for each active admin who sees the organization; without one, who sees all. One that
/// exists, of a limit that was raised since, becomes this one and is mailed again. Inside the caller's
/// transaction.
void insert_admin_notices(soci::session& session, AdminNotice notice,
                          std::optional<OrganizationId> organization);

}  // namespace giftsync::store
