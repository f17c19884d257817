#include "schema/store/mail/notices.h"

#include <algorithm>
#include <optional>

#include "platform/text.h"
#include "schema/request_record.h"
#include "schema/sql/queries.h"
#include "schema/sql/record_rows.h"
#include "schema/store/crm/request_records.h"
#include "schema/store/gift/gift_rows.h"
#include "schema/store/statements/claims.h"
#include "schema/store/statements/metadata.h"
#include "schema/store/statements/word_conversions.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

/// In place of a mail's number: the record was decided before a mail with it left.
constexpr const char* kDecidedBefore = "-1";
/// The record waits since the notice's transition: a later one has its own notice. Or the gift request is
/// held.
constexpr const char* kStillWaits =
    "(EXISTS (SELECT 1 FROM held_gift_request h WHERE h.request_id = -approver_notice.transition_id AND "
    "h.state = 'held') OR transition_id = (SELECT max(t.id) FROM request_record_transition t JOIN "
    "request_record_state s ON "
    "s.record_id = t.record_id AND s.state = 'pending' AND s.deleted = 0 WHERE t.record_id = "
    "approver_notice.record_id AND t.to_state = 'pending'))";

/// The user of a notice `n` of a held gift request sees its organization.
constexpr const char* kIsSeen =
    "(n.transition_id > 0 OR EXISTS (SELECT 1 FROM held_gift_request h JOIN console_user u ON u.id = "
    "n.user_id WHERE h.request_id = -n.transition_id AND (u.organization_id IS NULL OR u.organization_id = "
    "h.organization_id)))";

/// Since when the key or token of the held gift request is paused.
constexpr const char* kPausedAt =
    "paused_at = (SELECT max(c.paused_at) FROM held_gift_request h JOIN (SELECT prefix, paused_at, "
    "revoked_at "
    "FROM api_key UNION ALL SELECT prefix, paused_at, revoked_at FROM organization_token) c ON c.prefix = "
    "h.credential_prefix WHERE h.request_id = -approver_notice.transition_id AND c.revoked_at IS NULL)";

/// The notice's mail is on its way.
constexpr const char* kMayHaveLeft =
    "EXISTS (SELECT 1 FROM mail_outbox d WHERE d.transaction_id = -approver_notice.user_id AND d.number IN "
    "(approver_notice.mail_number, approver_notice.repeated_in) AND (d.message_id <> '' OR d.lease_owner <> "
    "'') AND d.state NOT IN ('accepted', 'undelivered', 'withdrawn'))";

/// The name that the catalogue has for the CRM's Gift Id, else that id.
std::string item_of(soci::session& session, const std::string& gift_id) {
  const auto number = parse_number<std::int64_t>(gift_id);
  if (!number) return gift_id;
  return sql::first_of(sql::select_column<std::string>(
                           session, "SELECT name FROM gift_item WHERE gift_id = :id", use(*number, "id")))
      .value_or(gift_id);
}

/// Without the condition of LeasedTable's index: all states are meant.
constexpr LeasedTable kMails{"mail_outbox", "transaction_id", ""};

/// The mail's user is an admin of whose notices one has no mail: it does not wait (GUARD-31).
constexpr const char* kIsUrgent =
    "transaction_id IN (SELECT -a.user_id FROM admin_notice a WHERE a.mail_number = 0)";

/// When the mail after this row's may leave.
std::string next_time() {
  const std::string after = "updated_at + " + std::to_string(kApproverMailPauseMillis);
  return "CASE WHEN state = 'withdrawn' OR " + after + " < :now OR " + kIsUrgent +
         " THEN cast(:now as bigint) ELSE " + after + " END";
}

/// A condition on the mails that were queued for the end of the user's ten minutes, and are urgent now.
std::string waits_though_urgent(UtcMillis now) {
  return "state = 'queued' AND message_id = '' AND first_deferred_at IS NULL AND lease_owner = '' AND "
         "next_attempt_at > " +
         std::to_string(now.value) + " AND " + kIsUrgent;
}

/// The mails of users with such notices.
NoticeMails mails_to_users(std::string notices) {
  return {.kind = MailKind::approval,
          .notices = std::move(notices),
          .recipient = "-n.user_id",
          .may_follow = "state IN ('accepted', 'undelivered', 'withdrawn', 'held')",
          .due = next_time()};
}

void queue_if_any(sql::Database& database, const NoticeMails& mails, UtcMillis now) {
  const auto has_work = [&](soci::session& session) {
    return has_mail_to_queue(session, mails) ||
           sql::has_row(session, "mail_outbox WHERE " + waits_though_urgent(now));
  };
  write_if_any(database, has_work, [&](soci::session& session) {
    queue_notice_mails(session, mails, now);
    session << ordered_update(session, kMails, "next_attempt_at = :now, ordered_at = :now",
                              waits_though_urgent(now)),
        use(now, "now");
  });
}

bool has_role(soci::session& session, UserId user, Role role) {
  const std::string word(to_word(role));
  return sql::has_row(session,
                      "console_user u JOIN user_role r ON r.user_id = u.id AND r.role = :role WHERE u.id = "
                      ":id AND u.active = 1",
                      use(word, "role"), use(user, "id"));
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
    const std::string item = item_of(session, std::string(trimmed(after.text(F::gift_id))));
    session << "UPDATE approver_notice SET item = :item, cost = ''" + of_record, use(item, "item"),
        use(record_id, "record");
  } else if (is_edited(F::include_shipping) || is_edited(F::include_carbon_neutral_cost)) {
    session << "UPDATE approver_notice SET cost = ''" + of_record, use(record_id, "record");
  }
}

std::vector<UnnoticedRecord> ApproverNotices::find_unnoticed(std::span<const std::string> record_ids) {
  if (record_ids.empty()) return {};
  const std::string list = sql::list_of(database_->dialect(), record_ids);
  return database_->read([&](soci::session& session) {
    UnnoticedRecord row;
    return sql::select_rows(
        row, session,
        "SELECT w.record_id, w.transition_id FROM (SELECT s.record_id, max(t.id) AS transition_id FROM "
        "request_record_state s JOIN request_record_transition t ON t.record_id = s.record_id AND t.to_state "
        "= 'pending' WHERE s.state = 'pending' AND s.deleted = 0 AND s.number <> '' AND " +
            sql::in_list(session, "s.record_id", "keys", true) +
            " GROUP BY s.record_id) w WHERE NOT EXISTS (SELECT 1 FROM approver_notice n WHERE "
            "n.transition_id = w.transition_id)",
        use(list), into(row.record_id), into(row.transition));
  });
}

std::vector<HeldGiftRequest> ApproverNotices::find_unnoticed_held(GiftRequestId after, std::size_t limit) {
  return database_->read([&](soci::session& session) {
    const std::string columns =
        sql::select_list(kHeldGiftRequestFields, "", [](const auto& column_field, const std::string& column) {
          return column_field.column == "content" ? "CASE WHEN gifts = 1 THEN content ELSE '' END" : column;
        });
    return sql::select_records(
        kHeldGiftRequestFields, session,
        "SELECT " + columns + " FROM held_gift_request WHERE state = 'held' AND request_id > :after AND " +
            held_test_condition(false) +
            " AND NOT EXISTS (SELECT 1 "
            "FROM "
            "approver_notice n WHERE n.transition_id = -request_id) ORDER BY request_id LIMIT " +
            std::to_string(limit),
        use(after, "after"));
  });
}

void ApproverNotices::add(std::span<const ApproverNotice> notices, UtcMillis now) {
  if (notices.empty()) return;
  database_->write([&](soci::session& session) {
    for (const ApproverNotice& notice : notices) {
      session
          << "INSERT INTO approver_notice (transition_id, user_id, record_id, number, item, cost, "
             "asked_by, recipient, reasons, created_at) VALUES (:transition, :user_id, :record, :number, "
             ":item, :cost, :asked_by, :recipient, :reasons, :now) ON CONFLICT (transition_id, user_id) DO "
             "NOTHING",
          use(notice.transition), use(notice.user), use(notice.record_id), use(notice.number),
          use(notice.item), use(notice.cost), use(notice.asked_by), use(notice.recipient),
          use(notice.reasons), use(now);
    }
  });
}

void ApproverNotices::queue_mails(UtcMillis now) {
  queue_if_any(
      *database_,
      mails_to_users(has_console_
                         ? "(SELECT user_id, mail_number FROM approver_notice WHERE mail_number = 0 UNION "
                           "ALL SELECT user_id, mail_number FROM admin_notice WHERE mail_number = 0)"
                         : "admin_notice"),
      now);
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
    std::string take_new = "UPDATE approver_notice SET " + std::string(kPausedAt) +
                           ", mail_number = " + outcome + kDecidedBefore + " END WHERE mail_number IN (0, " +
                           number + ")" + is_owned;
    std::string repeat = "UPDATE approver_notice SET " + std::string(kPausedAt) +
                         ", repeated_in = " + outcome + "0 END WHERE mail_number > 0 AND mail_number < " +
                         number + " AND (repeated_in = " + number + " OR " + kStillWaits + ")" + is_owned;
    if (!has_console_) {
      take_new = "UPDATE approver_notice SET mail_number = 0 WHERE mail_number = " + number + is_owned;
      repeat = "UPDATE approver_notice SET repeated_in = 0 WHERE repeated_in = " + number + is_owned;
    }
    const std::string take_admins =
        "UPDATE admin_notice SET mail_number = " + number + " WHERE mail_number = 0" + is_owned;
    database_->write([&](soci::session& session) {
      session << take_new, use(claimed_by, "owner");
      session << repeat, use(claimed_by, "owner");
      session << take_admins, use(claimed_by, "owner");
    });
  }
  return database_->read([&](soci::session& session) {
    ApproverMail mail;
    mail.email = sql::select_value<std::string>(session, "SELECT email FROM console_user WHERE id = :id",
                                                use(user, "id"));
    if (has_role(session, user, Role::admin))
      mail.admin_notices =
          sql::find_records(kAdminNoticeFields, session,
                            "WHERE mail_number = :mail AND user_id = :id ORDER BY CASE WHEN kind = 'budget' "
                            "THEN 1 ELSE 0 END, created_at, scope, period, threshold",
                            use(mail_number, "mail"), use(user, "id"));
    mail.is_obsolete = mail.admin_notices.empty();
    if (!has_role(session, user, Role::approver)) return mail;
    ApproverNotice row;
    row.user = user;
    mail.notices = sql::select_rows(
        row, session,
        "SELECT n.transition_id, n.record_id, n.number, n.item, n.cost, CASE WHEN n.mail_number = :mail THEN "
        "0 ELSE 1 END AS is_repeated, CASE WHEN t.from_state = 'approved' AND t.actor <> 'giftsync' THEN 1 "
        "ELSE 0 END, n.asked_by, n.recipient, n.reasons, n.paused_at FROM "
        "approver_notice n LEFT JOIN request_record_transition t ON t.id = n.transition_id WHERE n.user_id = "
        ":id AND (n.mail_number = :mail OR n.repeated_in = :mail) AND " +
            std::string(kIsSeen) +
            " ORDER BY is_repeated, n.number, "
            "n.transition_id",
        use(mail_number, "mail"), use(user, "id"), into(row.transition), into(row.record_id),
        into(row.number), into(row.item), into(row.cost), into(row.is_repeated), into(row.was_approved),
        into(row.asked_by), into(row.recipient), into(row.reasons), into(row.paused_at));
    mail.is_obsolete =
        mail.is_obsolete &&
        !sql::has_row(
            session,
            "approver_notice n WHERE n.mail_number = :mail AND n.user_id = :id AND " + std::string(kIsSeen) +
                " AND (EXISTS (SELECT "
                "1 FROM request_record_state s WHERE s.record_id = n.record_id AND s.state = 'pending' "
                "AND s.deleted = 0) OR EXISTS (SELECT 1 FROM held_gift_request h WHERE h.request_id = "
                "-n.transition_id AND h.state = 'held'))",
            use(mail_number, "mail"), use(user, "id"));
    return mail;
  });
}

void ApproverNotices::prune(UtcMillis before) {
  store::prune(*database_, {"approver_notice", "created_at"}, before);
  store::prune(*database_, {"admin_notice", "created_at"}, before);
}

bool has_mail_to_queue(soci::session& session, const NoticeMails& mails) {
  return sql::has_row(
      session, mails.notices + " n LEFT JOIN mail_outbox d ON d.transaction_id = " + mails.recipient +
                   " WHERE n.mail_number = 0 AND (d.transaction_id IS NULL OR " + mails.may_follow + ")");
}

void queue_notice_mails(soci::session& session, const NoticeMails& mails, UtcMillis now) {
  const std::string waiting = " FROM " + mails.notices + " n WHERE n.mail_number = 0";
  // The attempt number continues, so that a late outcome of the last mail does not count for this one.
  session << ordered_update(
      session, kMails,
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

namespace {

/// Gifts that became undelivered since then get notices; absent while notices are off.
constexpr const char* kSinceFact = "sender_notices_since";
/// The gift is undelivered since the sending that the notice is about.
constexpr const char* kIsUndelivered =
    "EXISTS (SELECT 1 FROM recipient_transaction t JOIN mail_outbox g ON g.transaction_id = t.id WHERE t.id "
    "= sender_notice.transaction_id AND t.status = 'undelivered' AND g.number = sender_notice.sending)";

std::optional<UtcMillis> read_since(soci::session& session) {
  const auto millis = parse_number<std::int64_t>(read_metadata(session, kSinceFact).value_or(""));
  return millis ? std::optional(UtcMillis{*millis}) : std::nullopt;
}

NoticeMails mails_after(std::int64_t pause_millis, UtcMillis now) {
  // A time ahead is that of a clock which was ahead.
  return {.kind = MailKind::sender,
          .notices = "sender_notice",
          .recipient = "-(" + std::to_string(kSenderMailIds) + " + n.sender_id)",
          .may_follow =
              "(state = 'withdrawn' OR (state IN ('accepted', 'undelivered', 'held') AND updated_at NOT "
              "BETWEEN " +
              std::to_string(now.value - pause_millis + 1) + " AND " +
              std::to_string(now.value + pause_millis) + "))"};
}

/// Returns how many.
std::int64_t add_notices(soci::session& session, UtcMillis since, UtcMillis now) {
  const std::string gifts = " FROM (" + unnoticed_gifts(session, since, SenderNotices::kMaxAdded) + ") g";
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

bool SenderNotices::queue_mails(std::int64_t pause_millis, UtcMillis now) {
  const NoticeMails mails = mails_after(pause_millis, now);
  const auto begin_of = [&](soci::session& session) {
    const auto since = read_since(session);
    return since ? std::optional(std::max(*since, now - kMaxNoticedAgeMillis)) : std::nullopt;
  };
  const auto has_work = [&](soci::session& session) {
    const auto since = begin_of(session);
    return !since || sql::has_row(session, "(" + unnoticed_gifts(session, *since, 1) + ") first_gift") ||
           has_mail_to_queue(session, mails);
  };
  return write_if_any(*database_, has_work, [&](soci::session& session) {
    if (!read_since(session))
      write_metadata(session, kSinceFact, std::to_string((now - kNoticedBeforeMillis).value));
    const std::int64_t added = add_notices(session, *begin_of(session), now);
    queue_notice_mails(session, mails, now);
    return added == static_cast<std::int64_t>(kMaxAdded);
  });
}

void SenderNotices::end() {
  write_if_any(*database_, read_since, [](soci::session& session) {
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
        "t.sent_at, n.undelivered_at, r.terms, t.extended_until FROM (SELECT * FROM sender_notice" +
            named + " ORDER BY transaction_id LIMIT " + std::to_string(SenderMail::kMaxNamed) +
            ") n JOIN recipient_transaction t ON t.id = n.transaction_id JOIN gift_request r ON r.id = "
            "t.request_id ORDER BY n.transaction_id",
        into(row.gift), into(row.item), into(row.recipient), into(row.email), into(row.reply),
        into(row.sent_at), into(row.undelivered_at), into(row.terms), into(row.extended_until));
    return made;
  });
}

void SenderNotices::prune(UtcMillis before) {
  store::prune(*database_, {"sender_notice", "created_at"}, before);
}

std::string unnoticed_gifts(sql::Dialect dialect, UtcMillis since, std::size_t limit) {
  return "SELECT t.id, d.number AS sending, t.email, t.undelivered_at, trim(r.sender_email) AS sender, " +
         address_key(dialect, "r.sender_email") +
         " AS sender_key, CASE WHEN d.kind = 'gift' AND d.state = 'undelivered' THEN d.last_reply ELSE '' "
         "END AS reply FROM recipient_transaction t JOIN gift_request r ON r.id = t.request_id JOIN "
         "mail_outbox d ON d.transaction_id = t.id WHERE t.status = 'undelivered' AND t.undelivered_at >= " +
         std::to_string(since.value) +
         " AND t.gift_source = '' AND r.sender_email <> '' AND (d.state = 'undelivered' OR (d.state = "
         "'accepted' AND t.undelivered_at > coalesce(t.resent_at, 0) - 1000)) AND NOT EXISTS (SELECT 1 FROM "
         "sender_notice n WHERE n.transaction_id = t.id AND n.sending = d.number) ORDER BY t.undelivered_at "
         "LIMIT " +
         std::to_string(limit);
}

namespace {

// One field a line.
// clang-format off
constexpr auto kSignInRequestFields = record_fields(
    "sign_in_request",
    field<&SignInRequest::token_hash>("token_hash"),
    field<&SignInRequest::salt>("salt"),
    field<&SignInRequest::email_key>("email_key"),
    field<&SignInRequest::client>("client"),
    field<&SignInRequest::mail_number>("mail_number"),
    field<&SignInRequest::created_at>("created_at"),
    field<&SignInRequest::expires_at>("expires_at"));
// clang-format on

/// A condition on console_user u: its user gets links by mail.
constexpr const char* kMayAskForLink =
    "u.active = 1 AND EXISTS (SELECT 1 FROM user_role o WHERE o.user_id = u.id) AND NOT EXISTS (SELECT 1 "
    "FROM user_role o WHERE o.user_id = u.id AND o.origin = 'group')";

/// An older daemon beside this one takes a kind that it does not know for a gift's mail, does not find the
/// gift, and loses its whole claim. Of a test gift that it does not find it leaves the mail alone.
NoticeMails sign_in_mails(UtcMillis now) {
  return {.kind = MailKind::test,
          .notices =
              "(SELECT u.id AS user_id, a.mail_number FROM sign_in_request a JOIN console_user u ON "
              "u.email_key = a.email_key WHERE a.mail_number = 0 AND a.expires_at > " +
              std::to_string(now.value) + " AND " + kMayAskForLink + ")",
          .recipient = "-(" + std::to_string(kSignInMailIds) + " + n.user_id)",
          .may_follow = "state IN ('accepted', 'undelivered', 'withdrawn', 'held')"};
}

AuditEvent link_event(const SignInRequest& request, const std::string& email, UserId user,
                      std::optional<OrganizationId> organization, UtcMillis now) {
  return {.occurred_at = now,
          .actor_kind = ActorKind::system,
          .actor = "giftsync",
          .user = user,
          .action = "sign-in-link.mail",
          .object_kind = "user",
          .object_id = email,
          .organization = organization,
          .detail = "asked for by " + request.client};
}

/// The last request that the mail has.
std::optional<SignInRequest> request_of_mail(soci::session& session, UserId user, std::int64_t number) {
  return sql::first_of(sql::find_records(
      kSignInRequestFields, session,
      "WHERE email_key = (SELECT u.email_key FROM console_user u WHERE u.id = :id) AND mail_number = :mail "
      "ORDER BY created_at DESC, token_hash LIMIT 1",
      use(user, "id"), use(number, "mail")));
}

}  // namespace

void SignInMails::add(const SignInRequest& request) {
  database_->write(
      [&](soci::session& session) { sql::insert_record(session, kSignInRequestFields, request); });
}

void SignInMails::queue_mails(UtcMillis now) {
  const NoticeMails mails = sign_in_mails(now);
  write_if_any(
      *database_, [&](soci::session& session) { return has_mail_to_queue(session, mails); },
      [&](soci::session& session) { queue_notice_mails(session, mails, now); });
}

SignInMail SignInMails::take(TransactionId mail, std::int64_t number, const std::string& claimed_by,
                             UtcMillis now) {
  const UserId user = sign_in_user_of(mail);
  struct User {
    std::string email = {};
    std::optional<OrganizationId> organization = {};
  };
  // Nothing for a user who gets no link any more.
  const auto find_user = [&](soci::session& session) {
    User row;
    return sql::first_of(sql::select_rows(
        row, session,
        std::string("SELECT u.email, u.organization_id FROM console_user u WHERE u.id = :id AND ") +
            kMayAskForLink,
        use(user, "id"), into(row.email), into(row.organization)));
  };
  if (!claimed_by.empty()) {
    const std::string is_owned =
        "EXISTS (SELECT 1 FROM mail_outbox d WHERE d.transaction_id = " + std::to_string(mail.value) +
        " AND d.number = " + std::to_string(number) + " AND d.message_id = '' AND d.lease_owner = :owner)";
    database_->write([&](soci::session& session) {
      session << "UPDATE sign_in_request SET mail_number = :mail WHERE mail_number = 0 AND email_key = "
                 "(SELECT u.email_key FROM console_user u WHERE u.id = :id) AND " +
                     is_owned,
          use(number, "mail"), use(user, "id"), use(claimed_by, "owner");
      const auto known = find_user(session);
      const auto request = request_of_mail(session, user, number);
      if (!known || !request || request->expires_at <= now) return;
      // Whose claim has passed to another sender stores nothing: the link may be used already.
      const std::int64_t stored = sql::change_rows(
          session,
          "INSERT INTO sign_in_link (token_hash, user_id, created_by, created_at, expires_at, by_mail) "
          "SELECT a.token_hash, cast(:id as bigint), a.client, a.created_at, a.expires_at, 1 FROM "
          "sign_in_request a WHERE a.token_hash = :hash AND " +
              is_owned + " ON CONFLICT (token_hash) DO NOTHING",
          use(user, "id"), use(request->token_hash, "hash"), use(claimed_by, "owner"));
      if (stored > 0)
        insert_audit_event(session, link_event(*request, known->email, user, known->organization, now));
    });
  }
  return database_->read([&](soci::session& session) {
    const auto known = find_user(session);
    const auto request = request_of_mail(session, user, number);
    SignInMail made;
    // A mail that may have arrived is repeated only while its link is there: not once it was used.
    made.is_obsolete =
        !known || !request || request->expires_at <= now ||
        !sql::has_row(session, "sign_in_link WHERE token_hash = :hash", use(request->token_hash, "hash"));
    if (known) made.email = known->email;
    if (request) {
      made.salt = request->salt;
      made.client = request->client;
      made.expires_at = request->expires_at;
    }
    return made;
  });
}

void SignInMails::prune(UtcMillis before) {
  store::prune(*database_, {"sign_in_request", "expires_at"}, before);
}

}  // namespace giftsync::store
