#include "schema/store/mail/delivery_queue.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <unordered_set>

#include "platform/text.h"
#include "schema/sql/record_rows.h"
#include "schema/store/gift/change_rows.h"
#include "schema/store/gift/gift_rows.h"
#include "schema/store/mail/gift_mails.h"
#include "schema/store/statements/bounded_queries.h"
#include "schema/store/statements/claims.h"
#include "schema/store/statements/metadata.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

std::string long_pause_fact(const std::string& daemon) {
  return "mail_pause_ended_at " + daemon;
}

/// With the condition of the index mail_outbox_state; accepted mails, nearly all of them, need none.
std::string is_in_state(DeliveryState state) {
  const std::string condition = "state = '" + std::string(to_word(state)) + "'";
  return state == DeliveryState::accepted ? condition : condition + " AND state <> 'accepted'";
}

/// A condition on `column`, a mail's transaction id: it is neither a test gift's mail (TEST-2) nor one with a
/// sign-in link (SIGN-15), which no list has.
std::string is_listed_mail(const std::string& column) {
  return " AND " + column + " >= " + std::to_string(-kTestMailIds);
}

struct Lease {
  const std::string& owner;
  std::int64_t millis;
};

// One field a line.
// clang-format off
constexpr auto kClaimFields = record_fields(
    "mail_outbox",
    field<&DeliveryClaim::transaction>("transaction_id"),
    field<&DeliveryClaim::state>("state"),
    field<&DeliveryClaim::attempt>("attempt"),
    field<&DeliveryClaim::uncertain_retries>("uncertain_retries"),
    field<&DeliveryClaim::message_id>("message_id"),
    field<&DeliveryClaim::first_deferred_at>("first_deferred_at"),
    field<&DeliveryClaim::kind>("kind"),
    field<&DeliveryClaim::number>("number"),
    field<&DeliveryClaim::ordered_at>("ordered_at"),
    field<&DeliveryClaim::turn>("turn"),
    field<&DeliveryClaim::next_attempt_at>("next_attempt_at"));
constexpr auto kBreakerFields = record_fields(
    "mail_breaker",
    field<&CircuitBreaker::since>("since"),
    field<&CircuitBreaker::until>("until"),
    field<&CircuitBreaker::failures>("failures"),
    field<&CircuitBreaker::reason>("reason"),
    field<&CircuitBreaker::relay>("relay"),
    field<&CircuitBreaker::daemon>("daemon"));
// clang-format on

const std::string kClaimColumns = sql::select_list(kClaimFields);

/// Claims the rows of a SELECT with or without :now.
void claim_rows(soci::session& session, const Lease& lease, const std::string& rows,
                std::optional<UtcMillis> now, std::vector<DeliveryClaim>& claims) {
  const std::string update = "UPDATE mail_outbox SET lease_owner = :owner, lease_until = " +
                             std::string(sql::database_now(session)) + " + :lease WHERE transaction_id " +
                             sql::in_subquery(session, rows + for_update(session, " SKIP LOCKED")) +
                             " RETURNING " + kClaimColumns;
  const auto claimed = [&](auto&&... bound) {
    return sql::select_records(kClaimFields, session, update, use(lease.owner, "owner"),
                               use(lease.millis, "lease"), bound...);
  };
  const auto added = now ? claimed(use(*now, "now")) : claimed();
  claims.insert(claims.end(), added.begin(), added.end());
}

using Type = sql::BulkRows::Type;

/// The input of an UPDATE on PostgreSQL, its rows locked in the order of their keys (ARCH-40).
std::string ordered_input(const sql::BulkRows& rows) {
  return "(SELECT input_row.* FROM " + rows.as_table() +
         " JOIN mail_outbox locked ON locked.transaction_id = input_row.id ORDER BY locked.transaction_id "
         "FOR "
         "UPDATE OF locked) input_row";
}

/// Returns the outcomes' transactions whose row still has their attempt; the other outcomes are stale.
std::unordered_set<TransactionId> finish_attempts(soci::session& session,
                                                  std::span<const DeliveryOutcome> outcomes, UtcMillis now) {
  if (outcomes.empty()) return {};
  sql::BulkRows rows(session, {{"id", Type::integer},
                               {"attempt", Type::integer},
                               {"new_state", Type::text},
                               {"due", Type::integer},
                               {"reply", Type::text},
                               {"finished_at", Type::integer},
                               {"retries", Type::integer},
                               {"first_try", Type::integer}});
  for (const DeliveryOutcome& outcome : outcomes) {
    const std::int64_t retry = outcome.state == DeliveryState::uncertain ? 1 : 0;
    rows.add({outcome.transaction.value, outcome.attempt, to_word(outcome.state),
              outcome.next_attempt_at.value, std::string_view(outcome.reply), now.value, retry,
              outcome.deferred ? sql::Cell(now.value) : sql::Cell()});
  }
  const auto update = [](const std::string& of) {
    return " SET state = CASE WHEN mail_outbox.state = 'withdrawn' AND " + of +
           "new_state IN ('queued', 'uncertain', 'held') THEN 'withdrawn' ELSE " + of +
           "new_state END, turn = 0, next_attempt_at = " + of + "due, last_reply = " + of +
           "reply, updated_at = " + of + "finished_at, uncertain_retries = mail_outbox.uncertain_retries + " +
           of + "retries, first_deferred_at = coalesce(mail_outbox.first_deferred_at, " + of +
           "first_try), lease_owner = '', lease_until = 0";
  };
  const auto where = [](const std::string& of) {
    return " WHERE mail_outbox.transaction_id = " + of + "id AND mail_outbox.attempt = " + of +
           "attempt AND mail_outbox.state IN ('queued', 'sending', 'uncertain', 'held', 'withdrawn') AND "
           // Repeated after an unknown COMMIT, it would count as two.
           "(mail_outbox.state <> 'uncertain' OR " +
           of + "new_state <> 'uncertain')";
  };
  const std::string of_input = "input_row.";
  const std::vector<std::int64_t> finished =
      rows.run_returning_keys(session, "UPDATE mail_outbox" + update(":") + where(":"),
                              "UPDATE mail_outbox" + update(of_input) + " FROM " + ordered_input(rows) +
                                  where(of_input) + " RETURNING mail_outbox.transaction_id");
  std::unordered_set<TransactionId> ids;
  for (const std::int64_t id : finished) ids.insert({id});
  return ids;
}

std::vector<bool> begin_attempts(soci::session& session, const DeliveryQueue::AttemptStart& beginning,
                                 UtcMillis now) {
  if (beginning.sendings.empty()) return {};
  sql::BulkRows rows(session, {{"id", Type::integer},
                               {"attempt", Type::integer},
                               {"sent_as", Type::text},
                               {"begun_at", Type::integer},
                               {"lease", Type::integer},
                               {"owner", Type::text}});
  for (const DeliveryQueue::Sending& sending : beginning.sendings)
    rows.add({sending.claim.transaction.value, sending.claim.attempt, std::string_view(sending.message_id),
              now.value, beginning.lease_millis, std::string_view(beginning.owner)});
  const std::string clock(sql::database_now(session));
  const auto update = [&](const std::string& of) {
    return " SET state = 'sending', turn = 0, attempt = mail_outbox.attempt + 1, message_id = " + of +
           // The time of its request would keep the claims' floor down while it is sent (ARCH-44); and now
           // would hide it from daemons whose clocks are a little behind.
           "sent_as, next_attempt_at = CASE WHEN next_attempt_at < " + of + "begun_at - 60000 THEN " + of +
           "begun_at - 60000 ELSE next_attempt_at END, updated_at = " + of +
           "begun_at, lease_until = " + clock + " + " + of + "lease";
  };
  const auto where = [&](const std::string& of) {
    return " WHERE mail_outbox.transaction_id = " + of + "id AND mail_outbox.attempt = " + of +
           "attempt AND mail_outbox.lease_owner = " + of + "owner AND mail_outbox.lease_until >= " + clock;
  };
  const std::string of_input = "input_row.";
  const std::vector<std::int64_t> started =
      rows.run_returning_keys(session, "UPDATE mail_outbox" + update(":") + where(":"),
                              "UPDATE mail_outbox" + update(of_input) + " FROM " + ordered_input(rows) +
                                  where(of_input) + " RETURNING mail_outbox.transaction_id");
  const std::unordered_set<std::int64_t> ids(started.begin(), started.end());
  std::vector<bool> has_started;
  for (const DeliveryQueue::Sending& sending : beginning.sendings)
    has_started.push_back(ids.contains(sending.claim.transaction.value));
  return has_started;
}

/// `rest` has :daemon when there is one.
std::vector<CircuitBreaker> select_breakers(soci::session& session, const std::string& rest,
                                            const std::string* daemon) {
  return daemon ? sql::find_records(kBreakerFields, session, rest, use(*daemon, "daemon"))
                : sql::find_records(kBreakerFields, session, rest);
}

/// Those of the mails that the viewer sees which "<rest>" selects, with :ids when there are some.
std::vector<ListedMail> select_listed(soci::session& session, const Viewer& viewer, const std::string& rest,
                                      const std::optional<std::string>& ids) {
  const std::string shown =
      viewer.is_masked() ? masked_column("d.last_reply") + ", " + masked_address_column(session, "t.email")
                         : "d.last_reply, " + mail_recipient_column();
  const std::string select =
      "SELECT d.transaction_id, d.state, d.kind, d.attempt - (d.number - 1), d.next_attempt_at, "
      "d.updated_at, d.message_id, " +
      shown +
      // Who withdrew this mail: another person may have withdrawn an earlier one. The first did it:
      // a gift can be cancelled after its mail was withdrawn.
      ", CASE WHEN d.state = 'withdrawn' THEN coalesce((SELECT a.actor FROM gift_action a WHERE "
      "a.transaction_id = d.transaction_id AND a.action IN ('mail_withdrawn', 'cancelled') AND a.done_at >= "
      "d.ordered_at ORDER BY a.id LIMIT 1), '') ELSE '' END FROM mail_outbox d LEFT JOIN "
      "recipient_transaction t ON t.id = d.transaction_id LEFT JOIN "
      "gift_request r ON r.id = t.request_id WHERE " +
      senders_condition(viewer) + " AND " + rest;
  ListedMail row;
  const auto read = [&](auto&&... bound) {
    return sql::select_rows(row, session, select, bound..., into(row.transaction), into(row.state),
                            into(row.kind), into(row.attempts), into(row.next_attempt_at),
                            into(row.updated_at), into(row.message_id), into(row.last_reply), into(row.email),
                            into(row.withdrawn_by));
  };
  return ids ? read(use(*ids, "ids")) : read();
}

}  // namespace

DeliveryQueue::DeliveryQueue(std::shared_ptr<sql::Database> database, ChangeLog& changes, MailTurns& turns)
    : database_(std::move(database)), changes_(changes), turns_(turns) {}

std::optional<UtcMillis> DeliveryQueue::find_retry_floor(UtcMillis now) {
  return find_floor(*database_, retry_floor_, now, smallest_retry);
}

std::vector<DeliveryClaim> DeliveryQueue::claim(const std::string& owner, std::int64_t lease_millis,
                                                std::size_t limit, UtcMillis now) {
  const sql::Dialect dialect = database_->dialect();
  const auto retry_floor = find_retry_floor(now);
  const auto turn_floor = turns_.claim_floor(now);
  const auto retries = [&](std::size_t count) { return due_retries(dialect, count, retry_floor); };
  const auto first_attempts = [&](std::size_t count) {
    return due_first_attempts(dialect, count, turn_floor);
  };
  const auto has_due = [&](soci::session& session) {
    return sql::has_row(session, "(" + first_attempts(1) + ") due") ||
           sql::has_row(session, "(" + retries(1) + ") due", use(now, "now"));
  };
  const Lease lease{owner, lease_millis};
  std::vector<DeliveryClaim> claims = write_if_any(*database_, has_due, [&](soci::session& session) {
    std::vector<DeliveryClaim> rows;
    claim_rows(session, lease, retries((limit + 1) / 2), now, rows);
    const std::size_t retried = rows.size();
    claim_rows(session, lease, first_attempts(limit - rows.size()), std::nullopt, rows);
    const bool has_place = rows.size() < limit && retried == (limit + 1) / 2;
    if (has_place) claim_rows(session, lease, retries(limit - rows.size()), now, rows);
    return rows;
  });
  // A first attempt leaves an entry among both: begun, it is one that was tried.
  retry_floor_.count(claims.size());
  turns_.count_claimed(claims.size());
  for (DeliveryClaim& one : claims)
    if (is_sign_in_mail(one.transaction)) one.kind = MailKind::sign_in;  // stored as another one (SIGN-15)
  std::sort(claims.begin(), claims.end(), [](const DeliveryClaim& a, const DeliveryClaim& b) {
    return std::tuple(a.turn, a.next_attempt_at, a.transaction) <
           std::tuple(b.turn, b.next_attempt_at, b.transaction);
  });
  return claims;
}

std::vector<bool> DeliveryQueue::begin_sending(const std::string& owner, std::span<const Sending> sendings,
                                               std::int64_t lease_millis, UtcMillis now) {
  return finish_and_begin({}, {owner, {sendings.begin(), sendings.end()}, lease_millis}, now);
}

std::vector<StatusChange> DeliveryQueue::changes_with_ids(std::span<const DeliveryOutcome> outcomes) {
  std::vector<StatusChange> changes;
  for (const DeliveryOutcome& outcome : outcomes) {
    if (outcome.change) changes.push_back(*outcome.change);
  }
  return changes_.with_ids(changes);
}

std::size_t DeliveryQueue::store_outcomes(soci::session& session, std::span<const DeliveryOutcome> outcomes,
                                          std::span<const StatusChange> changes, UtcMillis now) {
  const std::unordered_set<TransactionId> finished = finish_attempts(session, outcomes, now);
  std::vector<StatusChange> accepted;
  for (const StatusChange& change : changes) {
    if (finished.contains(change.transaction)) accepted.push_back(change);
  }
  // Of a stale outcome too: the address is bad whatever mail the gift has now.
  std::vector<DoNotSendEntry> entries;
  for (const DeliveryOutcome& outcome : outcomes) {
    if (outcome.do_not_send) entries.push_back(*outcome.do_not_send);
  }
  upsert_reported_do_not_send(session, entries);  // before crm_outbox, as in ingestion (ARCH-40)
  accept_changes(session, accepted);
  return finished.size();
}

std::size_t DeliveryQueue::finish(std::span<const DeliveryOutcome> outcomes, UtcMillis now) {
  if (outcomes.empty()) return 0;
  const std::vector<StatusChange> changes = changes_with_ids(outcomes);
  return database_->write(
      [&](soci::session& session) { return store_outcomes(session, outcomes, changes, now); });
}

std::vector<bool> DeliveryQueue::finish_and_begin(std::span<const DeliveryOutcome> outcomes,
                                                  const AttemptStart& beginning, UtcMillis now) {
  const std::vector<StatusChange> changes = changes_with_ids(outcomes);
  std::vector<std::int64_t> mails;
  for (const DeliveryOutcome& outcome : outcomes) mails.push_back(outcome.transaction.value);
  for (const Sending& sending : beginning.sendings) mails.push_back(sending.claim.transaction.value);
  return database_->write([&](soci::session& session) {
    // Each of the two statements locks its own mails in order, but not both together.
    if (!outcomes.empty() && !beginning.sendings.empty()) lock_in_order(session, kMailOutbox, mails);
    store_outcomes(session, outcomes, changes, now);
    return begin_attempts(session, beginning, now);
  });
}

void DeliveryQueue::release(const std::string& owner, std::span<const DeliveryClaim> claims) {
  if (claims.empty()) return;
  const auto where = [](const std::string& of) {
    return " WHERE mail_outbox.transaction_id = " + of + "id AND mail_outbox.attempt = " + of +
           "attempt AND mail_outbox.lease_owner = " + of + "owner";
  };
  const std::string update = "UPDATE mail_outbox SET lease_owner = '', lease_until = 0";
  database_->write([&](soci::session& session) {
    sql::BulkRows rows(session, {{"id", Type::integer}, {"attempt", Type::integer}, {"owner", Type::text}});
    for (const DeliveryClaim& claim : claims)
      rows.add({claim.transaction.value, claim.attempt, std::string_view(owner)});
    rows.run(session, update + where(":"), update + " FROM " + ordered_input(rows) + where("input_row."));
  });
}

void DeliveryQueue::release_leases(const std::vector<std::string>& owners) {
  store::release_leases(*database_, kMailOutbox, owners);
}

void DeliveryQueue::cap_leases(std::int64_t max_millis) {
  store::cap_leases(*database_, kMailOutbox, max_millis);
}

std::int64_t DeliveryQueue::reset_scheduled_after(UtcMillis latest, UtcMillis now) {
  const ScheduledRows mails = {
      .table = "mail_outbox",
      .key = "transaction_id",
      .condition = "state IN ('queued', 'sending', 'uncertain') AND turn = 0 AND next_attempt_at > :latest",
      .order = "next_attempt_at, transaction_id",
      .assignments =
          "next_attempt_at = :now, first_deferred_at = CASE WHEN first_deferred_at > :now THEN cast(:now as "
          "bigint) ELSE "
          "first_deferred_at END"};
  return store::reset_scheduled_after(*database_, mails, latest, now);
}

std::int64_t DeliveryQueue::retry_deferred(std::optional<TransactionId> transaction, UtcMillis now,
                                           const std::optional<AuditEvent>& audit) {
  // With the condition of the index mail_outbox_due. A notice's mail waits for its pause (CON-31).
  const std::string condition =
      "state IN ('queued', 'sending', 'uncertain') AND turn = 0 AND state = 'queued' AND next_attempt_at > "
      ":latest AND transaction_id > 0";
  if (!transaction) {
    const ScheduledRows mails = {.table = "mail_outbox",
                                 .key = "transaction_id",
                                 .condition = condition,
                                 .order = "next_attempt_at, transaction_id",
                                 .assignments = "next_attempt_at = :now"};
    return store::reset_scheduled_after(*database_, mails, now, now, audit);
  }
  return database_->write([&](soci::session& session) {
    const std::int64_t count = sql::change_rows(
        session, "UPDATE mail_outbox SET next_attempt_at = :now WHERE transaction_id = :id AND " + condition,
        use(now, "now"), use(*transaction, "id"), use(now, "latest"));
    insert_counted_event(session, audit, count);
    return count;
  });
}

std::optional<CircuitBreaker> DeliveryQueue::breaker(const std::string& daemon) {
  return database_->read([&](soci::session& session) {
    return sql::first_of(select_breakers(session, "WHERE daemon = :daemon", &daemon));
  });
}

std::vector<CircuitBreaker> DeliveryQueue::breakers() {
  return database_->read(
      [](soci::session& session) { return select_breakers(session, "ORDER BY since, daemon", nullptr); });
}

void DeliveryQueue::open_breaker(const CircuitBreaker& breaker) {
  database_->write([&](soci::session& session) {
    session << "INSERT INTO mail_breaker (daemon, since, until, failures, reason, relay) VALUES (:daemon, "
               ":since, :until, :failures, :reason, :relay) ON CONFLICT (daemon) DO UPDATE SET since = CASE "
               "WHEN mail_breaker.relay = excluded.relay THEN mail_breaker.since ELSE excluded.since END, "
               "until = excluded.until, failures = excluded.failures, reason = excluded.reason, relay = "
               "excluded.relay",
        use(breaker.daemon), use(breaker.since), use(breaker.until), use(breaker.failures),
        use(breaker.reason), use(breaker.relay);
  });
}

void DeliveryQueue::close_breaker(const std::string& daemon, UtcMillis long_pause_ended_at) {
  database_->write([&](soci::session& session) {
    session << "DELETE FROM mail_breaker WHERE daemon = :daemon", use(daemon);
    write_metadata(session, long_pause_fact(daemon), std::to_string(long_pause_ended_at.value));
  });
}

UtcMillis DeliveryQueue::long_pause_ended_at(const std::string& daemon) {
  return database_->read([&](soci::session& session) {
    const auto stored = read_metadata(session, long_pause_fact(daemon));
    return UtcMillis{parse_number<std::int64_t>(stored.value_or("")).value_or(0)};
  });
}

bool DeliveryQueue::reset_breakers_after(UtcMillis latest, UtcMillis now,
                                         const std::optional<AuditEvent>& audit) {
  const ScheduledRows breakers = {
      .table = "mail_breaker",
      .key = "daemon",
      .condition = "until > :latest",
      .order = "daemon",
      .assignments = "since = CASE WHEN since > :now THEN cast(:now as bigint) ELSE since END, until = :now"};
  return store::reset_scheduled_after(*database_, breakers, latest, now, audit) > 0;
}

void DeliveryQueue::delete_breakers_before(UtcMillis before) {
  database_->write([&](soci::session& session) {
    session << "DELETE FROM mail_breaker WHERE until < :before", use(before);
  });
}

std::vector<std::pair<DeliveryState, std::int64_t>> DeliveryQueue::count_by_state(
    std::span<const DeliveryState> states) {
  return database_->read([&](soci::session& session) {
    std::vector<std::pair<DeliveryState, std::int64_t>> counts;
    for (const DeliveryState state : states)
      counts.emplace_back(state, count_bounded(session, "mail_outbox WHERE " + is_in_state(state) +
                                                            is_listed_mail("transaction_id")));
    return counts;
  });
}

bool DeliveryQueue::has_any(DeliveryState state) {
  return database_->read([&](soci::session& session) {
    return sql::has_row(session, "mail_outbox WHERE " + is_in_state(state));
  });
}

std::optional<DeliveryRow> DeliveryQueue::find(TransactionId transaction) {
  return sql::first_of(select("d.transaction_id = " + std::to_string(transaction.value), 1));
}

std::vector<DeliveryRow> DeliveryQueue::list(const std::vector<DeliveryState>& states, std::size_t limit) {
  // Mails of gifts first: notices never fill the list.
  std::vector<DeliveryRow> found;
  for (const std::string& kind : {std::string(" AND d.transaction_id > 0"),
                                  " AND d.transaction_id < 0" + is_listed_mail("d.transaction_id")}) {
    const auto begin = static_cast<std::ptrdiff_t>(found.size());
    for (const DeliveryState state : states) {
      const std::vector<DeliveryRow> some = select(is_in_state(state) + kind, limit);
      found.insert(found.end(), some.begin(), some.end());
    }
    std::sort(found.begin() + begin, found.end(),
              [](const DeliveryRow& a, const DeliveryRow& b) { return a.transaction < b.transaction; });
  }
  if (found.size() > limit) found.resize(limit);
  return found;
}

std::vector<ListedMail> DeliveryQueue::list(const Viewer& viewer, DeliveryState state,
                                            std::optional<TransactionId> before, std::size_t limit) {
  const std::string rest = "d." + is_in_state(state) + is_listed_mail("d.transaction_id") +
                           (before ? " AND d.transaction_id < " + std::to_string(before->value) : "") +
                           " ORDER BY d.transaction_id DESC LIMIT " + std::to_string(limit);
  return database_->read(
      [&](soci::session& session) { return select_listed(session, viewer, rest, std::nullopt); });
}

std::vector<ListedMail> DeliveryQueue::list(const Viewer& viewer, std::span<const TransactionId> gifts) {
  const std::string rest = sql::in_list(database_->dialect(), "d.transaction_id", "ids", false) +
                           " ORDER BY d.transaction_id DESC";
  return database_->read([&](soci::session& session) {
    return select_listed(session, viewer, rest, sql::list_of(session, gifts));
  });
}

std::vector<FailedMail> DeliveryQueue::failed_mails(UtcMillis undelivered_since) {
  const std::string limit = " LIMIT " + std::to_string(kMaxCounted);
  return database_->read([&](soci::session& session) {
    FailedMail row;
    std::vector<FailedMail> mails = sql::select_rows(
        row, session,
        "SELECT state, last_reply, updated_at FROM mail_outbox WHERE state = 'undelivered' AND updated_at >= "
        ":since AND transaction_id > 0 ORDER BY updated_at DESC" +
            limit,
        use(undelivered_since, "since"), into(row.state), into(row.reply), into(row.since));
    // With the condition of the index mail_outbox_due.
    std::ranges::move(
        sql::select_rows(
            row, session,
            "SELECT state, last_reply, first_deferred_at FROM mail_outbox WHERE state IN ('queued', "
            "'sending', 'uncertain') AND turn = 0 AND state = 'queued' AND first_deferred_at IS NOT "
            "NULL AND transaction_id > 0 ORDER BY turn, next_attempt_at, transaction_id" +
                limit,
            into(row.state), into(row.reply), into(row.since)),
        std::back_inserter(mails));
    return mails;
  });
}

std::optional<UtcMillis> DeliveryQueue::oldest_due(UtcMillis now) {
  return database_->read([&](soci::session& session) {
    std::optional<UtcMillis> oldest;
    for (const char* const mails : {"turn = 0", "turn > 0"})  // each reads the first rows of mail_outbox_due
      for (const UtcMillis at :
           sql::select_column<UtcMillis>(session,
                                         "SELECT next_attempt_at FROM mail_outbox WHERE state IN ('queued', "
                                         "'sending', 'uncertain') AND " +
                                             (mails + is_listed_mail("transaction_id")) +
                                             " ORDER BY turn, next_attempt_at, transaction_id LIMIT 1"))
        if (at <= now && (!oldest || at < *oldest)) oldest = at;
    return oldest;
  });
}

bool DeliveryQueue::apply(TransactionId transaction, MailAction action, const AuditEvent& audit,
                          UtcMillis now) {
  const std::string condition = action == MailAction::release ? "state = 'held'"
                                : action == MailAction::retry
                                    ? "state = 'queued' AND turn = 0 AND next_attempt_at > :now"
                                    : "state IN ('queued', 'sending', 'uncertain', 'held')";
  // A mail that is made due stays what it is, with the time of its deferral. The reply of one that is sent
  // again is in the gift's action.
  const std::string change =
      action == MailAction::withdraw
          ? "state = 'withdrawn', lease_owner = '', lease_until = 0, updated_at = :now"
      : action == MailAction::release
          ? "state = 'queued', turn = 0, next_attempt_at = :now, uncertain_retries = 0, "
            "last_reply = '', updated_at = :now"
          : "next_attempt_at = :now";
  const GiftActionKind kind = action == MailAction::withdraw  ? GiftActionKind::mail_withdrawn
                              : action == MailAction::release ? GiftActionKind::mail_released
                                                              : GiftActionKind::mail_retried;
  return database_->write([&](soci::session& session) {
    const auto mail = lock_mail(session, transaction);
    const std::int64_t changed = sql::change_rows(
        session, "UPDATE mail_outbox SET " + change + " WHERE transaction_id = :id AND " + condition,
        use(now, "now"), use(transaction, "id"));
    if (changed == 0) return false;
    insert_audit_event(session, audit);
    if (transaction.value > 0)
      insert_mail_action(session, action == MailAction::retry ? std::nullopt : mail,
                         {transaction, now, kind, audit.actor, ""});
    return true;
  });
}

std::vector<DeliveryRow> DeliveryQueue::select(const std::string& condition, std::size_t limit) {
  return database_->read([&](soci::session& session) {
    return select_mails(session, condition + " ORDER BY d.transaction_id LIMIT " + std::to_string(limit));
  });
}

}  // namespace giftsync::store
