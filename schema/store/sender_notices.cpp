#include "schema/store/sender_notices.h"

#include <algorithm>
#include <optional>

#include "platform/text.h"
#include "schema/sql/queries.h"
#include "schema/store/notice_mails.h"
#include "schema/store/pruning.h"
#include "schema/store/store_migration.h"
#include "schema/store/unnoticed_gifts.h"

namespace giftsync::schema::store {
namespace {

using soci::into;
using soci::use;

/// Gifts that became undelivered since then get notices; absent while notices are off.
constexpr const char* kSinceFact = "sender_notices_since";
/// The gift is undelivered since the sending that the notice is about.
constexpr const char* kIsUndelivered =
    "EXISTS (SELECT 1 FROM recipient_transaction t JOIN mail_outbox g ON g.transaction_id = t.id WHERE t.id "
    "= sender_notice.transaction_id AND t.status = 'undelivered' AND g.number = sender_notice.sending)";

std::optional<platform::UtcMillis> read_since(soci::session& session) {
  const auto millis = platform::parse_number<std::int64_t>(read_metadata(session, kSinceFact).value_or(""));
  return millis ? std::optional(platform::UtcMillis{*millis}) : std::nullopt;
}

NoticeMails mails_after(std::int64_t pause_millis, platform::UtcMillis now) {
  // A time ahead is that of a clock which was ahead.
  return {.kind = MailKind::sender,
          .table = "sender_notice",
          .recipient = "-(" + std::to_string(kSenderMailIds) + " + n.sender_id)",
          .may_follow =
              "(state = 'withdrawn' OR (state IN ('accepted', 'undelivered', 'held') AND updated_at NOT "
              "BETWEEN " +
              std::to_string(now.value - pause_millis + 1) + " AND " +
              std::to_string(now.value + pause_millis) + "))"};
}

/// Returns how many.
std::int64_t add_notices(soci::session& session, sql::Dialect dialect, platform::UtcMillis since,
                         platform::UtcMillis now) {
  const std::string gifts = " FROM (" + unnoticed_gifts(dialect, since, SenderNotices::kMaxAdded) + ") g";
  session << "INSERT INTO notified_sender (email_key, email) SELECT g.sender_key, min(g.sender)" + gifts +
                 " GROUP BY g.sender_key ORDER BY g.sender_key ON CONFLICT (email_key) DO NOTHING";
  return sql::change_rows(
      session,
      "INSERT INTO sender_notice (transaction_id, sending, sender_id, email, reply, undelivered_at, "
      "created_at) SELECT g.id, g.sending, s.id, g.email, g.reply, g.undelivered_at, cast(:now as bigint)" +
          gifts +
          " JOIN notified_sender s ON s.email_key = g.sender_key ORDER BY g.id ON CONFLICT (transaction_id, "
          "sending) DO NOTHING",
      use(now, "now"));
}

}  // namespace

bool SenderNotices::queue_mails(std::int64_t pause_millis, platform::UtcMillis now) {
  const sql::Dialect dialect = database_->dialect();
  const NoticeMails mails = mails_after(pause_millis, now);
  const auto has_unnoticed = [&](soci::session& session, platform::UtcMillis since) {
    return sql::select_value<std::int64_t>(
               session, "SELECT count(*) FROM (" + unnoticed_gifts(dialect, since, 1) + ") first_gift") > 0;
  };
  const auto begin_of = [&](soci::session& session) {
    const auto since = read_since(session);
    return since ? std::optional(std::max(*since, now - kMaxNoticedAgeMillis)) : std::nullopt;
  };
  const bool is_idle = database_->read([&](soci::session& session) {
    const auto since = begin_of(session);
    return since && !has_unnoticed(session, *since) && !has_mail_to_queue(session, mails);
  });
  if (is_idle) return false;  // no write lock is taken
  return database_->write([&](soci::session& session) {
    if (!read_since(session))
      write_metadata(session, kSinceFact, std::to_string((now - kNoticedBeforeMillis).value));
    const std::int64_t added = add_notices(session, dialect, *begin_of(session), now);
    queue_notice_mails(session, dialect, mails, now);
    return added == static_cast<std::int64_t>(kMaxAdded);
  });
}

void SenderNotices::end() {
  if (!database_->read(read_since)) return;
  database_->write([](soci::session& session) {
    session << "DELETE FROM store_metadata WHERE name = '" + std::string(kSinceFact) + "'";
    session << "DELETE FROM sender_notice WHERE mail_number = 0";
  });
}

SenderMail SenderNotices::take(TransactionId mail, std::int64_t number, const std::string& claimed_by) {
  const std::string mail_number = std::to_string(number);
  const std::string sender = std::to_string(-kSenderMailIds - mail.value);
  const std::string of_sender = "sender_id = " + sender;
  if (!claimed_by.empty()) {
    // Whose claim has passed to another daemon adds nothing: the mail may have left without it.
    const std::string not_left =
        " AND " + of_sender +
        " AND EXISTS (SELECT 1 FROM mail_outbox d WHERE d.transaction_id = " + std::to_string(mail.value) +
        " AND d.number = " + mail_number + " AND d.message_id = '' AND d.lease_owner = :owner)";
    database_->write([&](soci::session& session) {
      session << "DELETE FROM sender_notice WHERE mail_number IN (0, " + mail_number + ")" + not_left +
                     " AND NOT " + kIsUndelivered,
          use(claimed_by, "owner");
      session << "UPDATE sender_notice SET mail_number = " + mail_number + " WHERE mail_number = 0" +
                     not_left + " AND EXISTS (SELECT 1 FROM store_metadata WHERE name = '" + kSinceFact +
                     "')",
          use(claimed_by, "owner");
    });
  }
  const std::string named = " WHERE mail_number = " + mail_number + " AND " + of_sender;
  return database_->read([&](soci::session& session) {
    const auto count = [&](const std::string& condition) {
      return sql::select_value<std::int64_t>(session,
                                             "SELECT count(*) FROM sender_notice" + named + condition);
    };
    SenderMail made;
    made.email =
        sql::select_value<std::string>(session, "SELECT email FROM notified_sender WHERE id = " + sender);
    made.gifts = count("");
    made.is_obsolete = count(std::string(" AND ") + kIsUndelivered) == 0;
    SenderNotice row;
    made.notices = sql::select_rows(
        row, session,
        "SELECT n.transaction_id, r.item_name, trim(t.first_name || ' ' || t.last_name), n.email, n.reply, "
        "t.sent_at, n.undelivered_at, r.terms FROM (SELECT * FROM sender_notice" +
            named + " ORDER BY transaction_id LIMIT " + std::to_string(SenderMail::kMaxNamed) +
            ") n JOIN recipient_transaction t ON t.id = n.transaction_id JOIN gift_request r ON r.id = "
            "t.request_id ORDER BY n.transaction_id",
        into(row.gift), into(row.item), into(row.recipient), into(row.email), into(row.reply),
        into(row.sent_at), into(row.undelivered_at), into(row.terms));
    return made;
  });
}

void SenderNotices::prune(platform::UtcMillis before) {
  store::prune(*database_, {"sender_notice", "created_at"}, before);
}

}  // namespace giftsync::schema::store
