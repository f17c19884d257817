#include "schema/store/delivery_queue.h"

#include "schema/store/change_rows.h"
#include "schema/store/leases.h"
#include "schema/store/mail_rows.h"
#include "schema/store/scheduled_rows.h"

namespace giftsync::schema::store {
namespace {

using soci::into;
using soci::use;

std::string state_list(const std::vector<DeliveryState>& states) {
  std::string list;
  for (const DeliveryState state : states) {
    list.append(list.empty() ? "'" : ", '").append(to_word(state)).append("'");
  }
  return list;
}

/// Rows with pending work whose lease has expired, oldest first.
std::string due_deliveries(sql::Dialect dialect, std::size_t limit) {
  return "SELECT transaction_id FROM mail_outbox WHERE state IN ('queued', 'sending', 'uncertain') AND "
         "next_attempt_at "
         "<= :now AND "
         "lease_until < " +
         std::string(sql::database_now(dialect)) + " ORDER BY next_attempt_at, transaction_id LIMIT " +
         std::to_string(limit);
}

/// False when the row has another attempt by now: the outcome is stale.
bool finish_attempt(soci::session& session, const DeliveryOutcome& outcome, platform::UtcMillis now) {
  const bool uncertain_retry = outcome.state == DeliveryState::uncertain;
  const std::optional<platform::UtcMillis> first_try = outcome.deferred ? std::optional(now) : std::nullopt;
  const std::int64_t finished = sql::change_rows(
      session,
      "UPDATE mail_outbox SET state = CASE WHEN state = 'withdrawn' AND :state_again IN ('queued', "
      "'uncertain', 'held') THEN 'withdrawn' ELSE :state END, next_attempt_at = :due, last_reply = :reply, "
      "updated_at "
      "= :now, "
      "uncertain_retries = uncertain_retries + :uncertain_retries, first_deferred_at = "
      "coalesce(first_deferred_at, cast(:first_try as "
      "bigint)), lease_owner = '', lease_until = 0 WHERE transaction_id = :id "
      "AND attempt = :attempt AND state IN ('queued', 'sending', 'uncertain', 'held', 'withdrawn')",
      use(outcome.state), use(outcome.state), use(outcome.next_attempt_at), use(outcome.reply), use(now),
      use(uncertain_retry), use(first_try), use(outcome.transaction), use(outcome.attempt));
  return finished == 1;
}

}  // namespace

DeliveryQueue::DeliveryQueue(std::shared_ptr<sql::Database> database, ChangeLog& changes)
    : database_(std::move(database)), changes_(changes) {}

std::vector<DeliveryClaim> DeliveryQueue::claim(const std::string& owner, std::int64_t lease_millis,
                                                std::size_t limit, platform::UtcMillis now) {
  const sql::Dialect dialect = database_->dialect();
  const auto is_idle = [&](soci::session& session) {
    return sql::select_value<std::int64_t>(
               session, "SELECT count(*) FROM (" + due_deliveries(dialect, 1) + ") due", use(now)) == 0;
  };
  if (database_->read(is_idle)) return {};  // without work no write lock is taken
  return database_->write([&](soci::session& session) {
    DeliveryClaim row;
    return sql::select_rows(
        row, session,
        "UPDATE mail_outbox SET lease_owner = :owner, lease_until = " +
            std::string(sql::database_now(dialect)) + " + :lease WHERE transaction_id " +
            sql::in_subquery(dialect, due_deliveries(dialect, limit) + for_update(dialect, " SKIP LOCKED")) +
            " RETURNING transaction_id, state, attempt, uncertain_retries, message_id, first_deferred_at, "
            "kind, number, "
            "ordered_at",
        use(owner), use(lease_millis), use(now), into(row.transaction), into(row.state), into(row.attempt),
        into(row.uncertain_retries), into(row.message_id), into(row.first_deferred_at), into(row.kind),
        into(row.number), into(row.ordered_at));
  });
}

std::vector<bool> DeliveryQueue::begin_sending(const std::string& owner, std::span<const Sending> sendings,
                                               std::int64_t lease_millis, platform::UtcMillis now) {
  const std::string clock(sql::database_now(database_->dialect()));
  return database_->write([&](soci::session& session) {
    std::vector<bool> begun;
    for (const Sending& sending : sendings) {
      const std::int64_t changed = sql::change_rows(
          session,
          "UPDATE mail_outbox SET state = 'sending', attempt = attempt + 1, message_id = :message_id, "
          "updated_at = :now, lease_until = " +
              clock +
              " + :lease WHERE transaction_id = :id AND attempt = :attempt AND "
              "lease_owner = :owner AND lease_until >= " +
              clock,
          use(sending.message_id), use(now), use(lease_millis), use(sending.claim.transaction),
          use(sending.claim.attempt), use(owner));
      begun.push_back(changed == 1);
    }
    return begun;
  });
}

std::size_t DeliveryQueue::finish(std::span<const DeliveryOutcome> outcomes, platform::UtcMillis now) {
  std::vector<StatusChange> new_changes;
  for (const DeliveryOutcome& outcome : outcomes) {
    if (outcome.change) new_changes.push_back(*outcome.change);
  }
  const std::vector<StatusChange> with_ids = changes_.with_ids(new_changes);
  return database_->write([&](soci::session& session) {
    std::vector<StatusChange> accepted;
    std::size_t saved = 0;
    std::size_t next_change = 0;
    for (const DeliveryOutcome& outcome : outcomes) {
      const StatusChange* change = outcome.change ? &with_ids[next_change++] : nullptr;
      if (!finish_attempt(session, outcome, now)) continue;
      ++saved;
      if (change) accepted.push_back(*change);
    }
    accept_changes(session, database_->dialect(), accepted);
    return saved;
  });
}

void DeliveryQueue::release(const std::string& owner, std::span<const DeliveryClaim> claims) {
  if (claims.empty()) return;
  database_->write([&](soci::session& session) {
    for (const DeliveryClaim& claim : claims) {
      session << "UPDATE mail_outbox SET lease_owner = '', lease_until = 0 WHERE transaction_id = :id AND "
                 "lease_owner = :owner",
          use(claim.transaction), use(owner);
    }
  });
}

void DeliveryQueue::release_leases(const std::vector<std::string>& owners) {
  store::release_leases(*database_, kMailOutbox, owners);
}

void DeliveryQueue::cap_leases(std::int64_t max_millis) {
  store::cap_leases(*database_, kMailOutbox, max_millis);
}

std::int64_t DeliveryQueue::reset_scheduled_after(platform::UtcMillis latest, platform::UtcMillis now) {
  const ScheduledRows mails = {
      .table = "mail_outbox",
      .key = "transaction_id",
      .condition = "state IN ('queued', 'sending', 'uncertain') AND next_attempt_at > :latest",
      .order = "next_attempt_at, transaction_id",
      .assignments =
          "next_attempt_at = :now, first_deferred_at = CASE WHEN first_deferred_at > :now THEN cast(:now as "
          "bigint) ELSE "
          "first_deferred_at END"};
  return store::reset_scheduled_after(*database_, mails, latest, now);
}

std::int64_t DeliveryQueue::retry_deferred(std::optional<TransactionId> transaction,
                                           platform::UtcMillis now) {
  // With the condition of the index mail_outbox_due.
  const std::string condition =
      "state IN ('queued', 'sending', 'uncertain') AND state = 'queued' AND next_attempt_at > :latest";
  if (!transaction) {
    const ScheduledRows mails = {.table = "mail_outbox",
                                 .key = "transaction_id",
                                 .condition = condition,
                                 .order = "next_attempt_at, transaction_id",
                                 .assignments = "next_attempt_at = :now"};
    return store::reset_scheduled_after(*database_, mails, now, now);
  }
  return database_->write([&](soci::session& session) {
    return sql::change_rows(
        session, "UPDATE mail_outbox SET next_attempt_at = :now WHERE transaction_id = :id AND " + condition,
        use(now, "now"), use(*transaction, "id"), use(now, "latest"));
  });
}

std::optional<CircuitBreaker> DeliveryQueue::breaker() {
  return database_->read([](soci::session& session) {
    CircuitBreaker row;
    return sql::first_of(sql::select_rows(
        row, session, "SELECT since, until, failures, reason, relay FROM mail_breaker WHERE id = 1",
        into(row.since), into(row.until), into(row.failures), into(row.reason), into(row.relay)));
  });
}

void DeliveryQueue::open_breaker(const CircuitBreaker& breaker) {
  database_->write([&](soci::session& session) {
    session
        << "INSERT INTO mail_breaker (id, since, until, failures, reason, relay) VALUES (1, :since, :until, "
           ":failures, :reason, :relay) ON CONFLICT (id) DO UPDATE SET since = CASE WHEN mail_breaker.relay "
           "= "
           "excluded.relay THEN mail_breaker.since ELSE excluded.since END, until = excluded.until, failures "
           "= excluded.failures, reason = excluded.reason, relay = excluded.relay",
        use(breaker.since), use(breaker.until), use(breaker.failures), use(breaker.reason),
        use(breaker.relay);
  });
}

void DeliveryQueue::close_breaker() {
  database_->write([](soci::session& session) { session << "DELETE FROM mail_breaker WHERE id = 1"; });
}

bool DeliveryQueue::reset_breaker_after(platform::UtcMillis latest, platform::UtcMillis now) {
  const ScheduledRows breaker = {
      .table = "mail_breaker",
      .key = "id",
      .condition = "until > :latest",
      .order = "id",
      .assignments = "since = CASE WHEN since > :now THEN cast(:now as bigint) ELSE since END, until = :now"};
  return store::reset_scheduled_after(*database_, breaker, latest, now) > 0;
}

std::vector<std::pair<DeliveryState, std::int64_t>> DeliveryQueue::count_by_state() {
  return database_->read([](soci::session& session) {
    std::pair<DeliveryState, std::int64_t> row;
    return sql::select_rows(row, session,
                            "SELECT state, count(*) FROM mail_outbox GROUP BY state ORDER BY state",
                            into(row.first), into(row.second));
  });
}

std::optional<DeliveryRow> DeliveryQueue::find(TransactionId transaction) {
  return sql::first_of(select("d.transaction_id = " + std::to_string(transaction.value), 1));
}

std::vector<DeliveryRow> DeliveryQueue::list(const std::vector<DeliveryState>& states, std::size_t limit) {
  return select("d.state IN (" + state_list(states) + ")", limit);
}

std::vector<DeliveryRow> DeliveryQueue::select(const std::string& condition, std::size_t limit) {
  return database_->read([&](soci::session& session) {
    return select_mails(session, condition + " ORDER BY d.transaction_id LIMIT " + std::to_string(limit));
  });
}

}  // namespace giftsync::schema::store
