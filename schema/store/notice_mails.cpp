#include "schema/store/notice_mails.h"

#include "schema/sql/queries.h"
#include "schema/store/leases.h"

namespace giftsync::schema::store {
namespace {

using soci::use;

/// Without the condition of LeasedTable's index: all states are meant.
constexpr LeasedTable kMails{"mail_outbox", "transaction_id", ""};

}  // namespace

bool has_mail_to_queue(soci::session& session, const NoticeMails& mails) {
  return sql::select_value<std::int64_t>(
             session, "SELECT count(*) FROM (SELECT 1 FROM " + mails.table +
                          " n LEFT JOIN mail_outbox d ON d.transaction_id = " + mails.recipient +
                          " WHERE n.mail_number = 0 AND (d.transaction_id IS NULL OR " + mails.may_follow +
                          ") LIMIT 1) due") > 0;
}

void queue_notice_mails(soci::session& session, sql::Dialect dialect, const NoticeMails& mails,
                        platform::UtcMillis now) {
  const std::string waiting = " FROM " + mails.table + " n WHERE n.mail_number = 0";
  // The attempt number continues, so that a late outcome of the last mail does not count for this one.
  session << ordered_update(
      dialect, kMails,
      "turn = 0, next_attempt_at = " + mails.due + ", ordered_at = " + mails.due +
          ", state = 'queued', message_id = '', first_deferred_at = NULL, attempt = attempt + 1, "
          "uncertain_retries = 0, last_reply = '', updated_at = :now, lease_owner = '', lease_until = 0, "
          "number = number + 1",
      "transaction_id IN (SELECT " + mails.recipient + waiting + ") AND " + mails.may_follow),
      use(now, "now");
  session << "INSERT INTO mail_outbox (transaction_id, state, attempt, next_attempt_at, message_id, "
             "first_deferred_at, uncertain_retries, last_reply, updated_at, lease_owner, lease_until, "
             "kind, number, ordered_at, turn) SELECT DISTINCT " +
                 mails.recipient +
                 ", 'queued', 0, cast(:now as bigint), '', cast(NULL as bigint), 0, '', cast(:now as "
                 "bigint), '', 0, '" +
                 std::string(to_word(mails.kind)) + "', 1, cast(:now as bigint), 0" + waiting +
                 " ORDER BY 1 ON CONFLICT (transaction_id) DO NOTHING",
      use(now, "now");
}

}  // namespace giftsync::schema::store
