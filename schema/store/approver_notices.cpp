#include "schema/store/approver_notices.h"

#include "platform/text.h"
#include "schema/request_record.h"
#include "schema/sql/queries.h"
#include "schema/store/notice_mails.h"
#include "schema/store/noticed_content.h"
#include "schema/store/pruning.h"

namespace giftsync::schema::store {
namespace {

using soci::into;
using soci::use;

/// In place of a mail's number: the record was decided before a mail with it left.
constexpr const char* kDecidedBefore = "-1";
/// The record waits since the notice's transition: a later one has its own notice.
constexpr const char* kStillWaits =
    "transition_id = (SELECT max(t.id) FROM request_record_transition t JOIN request_record_state s ON "
    "s.record_id = t.record_id AND s.state = 'pending' AND s.deleted = 0 WHERE t.record_id = "
    "approver_notice.record_id AND t.to_state = 'pending')";

/// The notice's mail is on its way.
constexpr const char* kMayHaveLeft =
    "EXISTS (SELECT 1 FROM mail_outbox d WHERE d.transaction_id = -approver_notice.user_id AND d.number IN "
    "(approver_notice.mail_number, approver_notice.repeated_in) AND (d.message_id <> '' OR d.lease_owner <> "
    "'') AND d.state NOT IN ('accepted', 'undelivered', 'withdrawn'))";

/// The name that the catalogue has for the CRM's Gift Id, else that id.
std::string item_of(soci::session& session, const std::string& gift_id) {
  const auto number = platform::parse_number<std::int64_t>(gift_id);
  if (!number) return gift_id;
  return sql::first_of(sql::select_column<std::string>(
                           session, "SELECT name FROM gift_item WHERE gift_id = :id", use(*number, "id")))
      .value_or(gift_id);
}

/// When the mail after this row's may leave.
std::string next_time() {
  const std::string after = "updated_at + " + std::to_string(kApproverMailPauseMillis);
  return "CASE WHEN state = 'withdrawn' OR " + after + " < :now THEN cast(:now as bigint) ELSE " + after +
         " END";
}

}  // namespace

void update_noticed_content(soci::session& session, const std::string& record_id,
                            const RequestRecordEdit& edit) {
  using F = RequestRecordField;
  RequestRecord before;
  RequestRecord after;
  parse_values(edit.before, approval_bound_fields(), before);
  parse_values(edit.after, approval_bound_fields(), after);
  const auto is_edited = [&](F field) { return before.get(field) != after.get(field); };
  const std::string of_record =
      " WHERE transition_id IN (SELECT id FROM request_record_transition WHERE record_id = :record) AND "
      "NOT " +
      std::string(kMayHaveLeft);
  if (is_edited(F::gift_id)) {
    const std::string item = item_of(session, std::string(platform::trimmed(after.text(F::gift_id))));
    session << "UPDATE approver_notice SET item = :item, cost = ''" + of_record, use(item, "item"),
        use(record_id, "record");
  } else if (is_edited(F::include_shipping) || is_edited(F::include_carbon_neutral_cost)) {
    session << "UPDATE approver_notice SET cost = ''" + of_record, use(record_id, "record");
  }
}

std::vector<UnnoticedRecord> ApproverNotices::find_unnoticed(std::span<const std::string> record_ids) {
  if (record_ids.empty()) return {};
  const sql::Dialect dialect = database_->dialect();
  const std::string list =
      sql::list_of(dialect, std::vector<std::string>(record_ids.begin(), record_ids.end()));
  return database_->read([&](soci::session& session) {
    UnnoticedRecord row;
    return sql::select_rows(
        row, session,
        "SELECT w.record_id, w.transition_id FROM (SELECT s.record_id, max(t.id) AS transition_id FROM "
        "request_record_state s JOIN request_record_transition t ON t.record_id = s.record_id AND t.to_state "
        "= 'pending' WHERE s.state = 'pending' AND s.deleted = 0 AND s.number <> '' AND " +
            sql::in_list(dialect, "s.record_id", "keys", true) +
            " GROUP BY s.record_id) w WHERE NOT EXISTS (SELECT 1 FROM approver_notice n WHERE "
            "n.transition_id = w.transition_id)",
        use(list), into(row.record_id), into(row.transition));
  });
}

void ApproverNotices::add(std::span<const ApproverNotice> notices, platform::UtcMillis now) {
  if (notices.empty()) return;
  database_->write([&](soci::session& session) {
    for (const ApproverNotice& one : notices) {
      session << "INSERT INTO approver_notice (transition_id, user_id, record_id, number, item, cost, "
                 "created_at) VALUES (:transition, :user_id, :record, :number, :item, :cost, :now) ON "
                 "CONFLICT (transition_id, user_id) DO NOTHING",
          use(one.transition), use(one.user), use(one.record_id), use(one.number), use(one.item),
          use(one.cost), use(now);
    }
  });
}

void ApproverNotices::queue_mails(platform::UtcMillis now) {
  const NoticeMails mails{.kind = MailKind::approval,
                          .table = "approver_notice",
                          .recipient = "-n.user_id",
                          .may_follow = "state IN ('accepted', 'undelivered', 'withdrawn', 'held')",
                          .due = next_time()};
  const auto has_work = [&](soci::session& session) { return has_mail_to_queue(session, mails); };
  if (!database_->read(has_work)) return;  // no write lock is taken
  database_->write(
      [&](soci::session& session) { queue_notice_mails(session, database_->dialect(), mails, now); });
}

ApproverMail ApproverNotices::take(UserId user, std::int64_t mail_number, const std::string& claimed_by) {
  if (!claimed_by.empty()) {
    const std::string id = std::to_string(user.value);
    const std::string number = std::to_string(mail_number);
    // Whose claim has passed to another sender adds nothing: the mail may have left without it.
    const std::string is_owned =
        " AND user_id = " + id + " AND EXISTS (SELECT 1 FROM mail_outbox d WHERE d.transaction_id = -" + id +
        " AND d.number = " + number + " AND d.message_id = '' AND d.lease_owner = :owner)";
    const std::string outcome = std::string("CASE WHEN ") + kStillWaits + " THEN " + number + " ELSE ";
    const std::string take_new = "UPDATE approver_notice SET mail_number = " + outcome + kDecidedBefore +
                                 " END WHERE mail_number IN (0, " + number + ")" + is_owned;
    const std::string repeat = "UPDATE approver_notice SET repeated_in = " + outcome +
                               "0 END WHERE mail_number > 0 AND mail_number < " + number +
                               " AND (repeated_in = " + number + " OR " + kStillWaits + ")" + is_owned;
    database_->write([&](soci::session& session) {
      session << take_new, use(claimed_by, "owner");
      session << repeat, use(claimed_by, "owner");
    });
  }
  return database_->read([&](soci::session& session) {
    ApproverMail mail;
    mail.email = sql::select_value<std::string>(session, "SELECT email FROM console_user WHERE id = :id",
                                                use(user, "id"));
    ApproverNotice row;
    row.user = user;
    mail.notices = sql::select_rows(
        row, session,
        "SELECT n.transition_id, n.record_id, n.number, n.item, n.cost, CASE WHEN n.mail_number = :mail THEN "
        "0 ELSE 1 END AS is_repeated, CASE WHEN t.from_state = 'approved' THEN 1 ELSE 0 END FROM "
        "approver_notice n LEFT JOIN request_record_transition t ON t.id = n.transition_id WHERE n.user_id = "
        ":id AND (n.mail_number = :mail OR n.repeated_in = :mail) ORDER BY is_repeated, n.number, "
        "n.transition_id",
        use(mail_number, "mail"), use(user, "id"), into(row.transition), into(row.record_id),
        into(row.number), into(row.item), into(row.cost), into(row.is_repeated), into(row.was_approved));
    mail.is_obsolete =
        sql::select_value<std::int64_t>(
            session,
            "SELECT count(*) FROM (SELECT 1 FROM approver_notice n JOIN request_record_state s ON "
            "s.record_id = n.record_id AND s.state = 'pending' AND s.deleted = 0 JOIN console_user u ON u.id "
            "= n.user_id AND u.active = 1 JOIN user_role r ON r.user_id = u.id AND r.role = 'approver' WHERE "
            "n.mail_number = :mail AND n.user_id = :id LIMIT 1) waiting",
            use(mail_number, "mail"), use(user, "id")) == 0;
    return mail;
  });
}

void ApproverNotices::prune(platform::UtcMillis before) {
  store::prune(*database_, {"approver_notice", "created_at"}, before);
}

}  // namespace giftsync::schema::store
