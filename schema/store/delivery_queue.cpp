#include "schema/store/delivery_queue.h"

#include "schema/sql/database.h"
#include "schema/store/change_rows.h"
#include "schema/store/waiting_rows.h"

namespace giftsync::schema {
namespace {

using soci::into;
using soci::use;

DeliveryState state_of(const std::string& word) {
  return delivery_state_from_word(word).value_or(DeliveryState::queued);
}

std::string state_list(const std::vector<DeliveryState>& states) {
  std::string list;
  for (const DeliveryState state : states) {
    list.append(list.empty() ? "'" : ", '").append(to_word(state)).append("'");
  }
  return list;
}

/// Rows with work to do, oldest first, whoever held them being gone.
std::string due_rows(Dialect dialect, std::size_t limit) {
  return "SELECT transaction_id FROM delivery WHERE state IN ('queued', 'sending', 'uncertain') AND due_at "
         "<= :now AND "
         "lease_until < " +
         std::string(sql::database_now(dialect)) + " ORDER BY due_at, transaction_id LIMIT " +
         std::to_string(limit);
}

/// False when the row's attempt is another one by now: the outcome is stale and tells nothing new.
bool finish_one(soci::session& session, const DeliveryOutcome& outcome, UtcMillis now) {
  const std::string state(to_word(outcome.state));
  const long long attempt = outcome.attempt;
  const long long repeats = outcome.state == DeliveryState::uncertain ? 1 : 0;
  const std::optional<UtcMillis> first_try = outcome.deferred ? std::optional(now) : std::nullopt;
  soci::statement update = sql::bound(
      session,
      "UPDATE delivery SET state = CASE WHEN state = 'withdrawn' AND :state_again IN ('queued', "
      "'uncertain', 'held') THEN 'withdrawn' ELSE :state END, due_at = :due, last_reply = :reply, updated_at "
      "= :now, "
      "repeats = repeats + :repeats, first_try_at = coalesce(first_try_at, cast(:first_try as "
      "bigint)), lease_owner = '', lease_until = 0 WHERE transaction_id = :id "
      "AND attempt = :attempt AND state IN ('queued', 'sending', 'uncertain', 'held', 'withdrawn')",
      use(state), use(state), use(outcome.due_at), use(outcome.reply), use(now), use(repeats), use(first_try),
      use(outcome.transaction), use(attempt));
  update.execute(true);
  return update.get_affected_rows() == 1;
}

}  // namespace

DeliveryQueue::DeliveryQueue(std::shared_ptr<sql::Database> database, ChangeLog& changes)
    : database_(std::move(database)), changes_(changes) {}

std::vector<DeliveryClaim> DeliveryQueue::claim(const std::string& owner, std::int64_t lease_millis,
                                                std::size_t limit, UtcMillis now) {
  const Dialect dialect = database_->dialect();
  const auto nothing_due = [&](soci::session& session) {
    long long found = 0;
    session << "SELECT count(*) FROM (" + due_rows(dialect, 1) + ") due", use(now), into(found);
    return found == 0;
  };
  if (database_->read(nothing_due)) return {};  // at rest no write lock is taken
  return database_->write([&](soci::session& session) {
    const long long lease = lease_millis;
    DeliveryClaim row;
    std::string state;
    long long attempt = 0;
    long long repeats = 0;
    std::string kind;
    long long number = 0;
    soci::statement statement = sql::bound(
        session,
        "UPDATE delivery SET lease_owner = :owner, lease_until = " + std::string(sql::database_now(dialect)) +
            " + :lease WHERE transaction_id " +
            sql::is_one_of(dialect, due_rows(dialect, limit) +
                                        (dialect == Dialect::postgresql ? " FOR UPDATE SKIP LOCKED" : "")) +
            " RETURNING transaction_id, state, attempt, repeats, message_id, first_try_at, kind, number, "
            "ordered_at",
        use(owner), use(lease), use(now), into(row.transaction), into(state), into(attempt), into(repeats),
        into(row.message_id), into(row.first_try_at), into(kind), into(number), into(row.ordered_at));
    std::vector<DeliveryClaim> claims;
    sql::each_row(statement, [&] {
      row.state = state_of(state);
      row.attempt = attempt;
      row.repeats = repeats;
      row.kind = mail_kind_from_word(kind).value_or(MailKind::gift);
      row.number = number;
      claims.push_back(row);
    });
    return claims;
  });
}

std::vector<bool> DeliveryQueue::begin_sending(const std::string& owner, std::span<const Sending> sendings,
                                               std::int64_t lease_millis, UtcMillis now) {
  const std::string clock(sql::database_now(database_->dialect()));
  return database_->write([&](soci::session& session) {
    const long long lease = lease_millis;
    std::vector<bool> begun;
    for (const Sending& sending : sendings) {
      const long long attempt = sending.claim.attempt;
      soci::statement update = sql::bound(
          session,
          "UPDATE delivery SET state = 'sending', attempt = attempt + 1, message_id = :message_id, "
          "updated_at = :now, lease_until = " +
              clock +
              " + :lease WHERE transaction_id = :id AND attempt = :attempt AND "
              "lease_owner = :owner AND lease_until >= " +
              clock,
          use(sending.message_id), use(now), use(lease), use(sending.claim.transaction), use(attempt),
          use(owner));
      update.execute(true);
      begun.push_back(update.get_affected_rows() == 1);
    }
    return begun;
  });
}

std::size_t DeliveryQueue::finish(std::span<const DeliveryOutcome> outcomes, UtcMillis now) {
  std::vector<StatusChange> asked;
  for (const DeliveryOutcome& outcome : outcomes) {
    if (outcome.change) asked.push_back(*outcome.change);
  }
  const std::vector<StatusChange> numbered = changes_.numbered(asked);
  return database_->write([&](soci::session& session) {
    std::vector<StatusChange> accepted;
    std::size_t kept = 0;
    std::size_t next_change = 0;
    for (const DeliveryOutcome& outcome : outcomes) {
      const StatusChange* change = outcome.change ? &numbered[next_change++] : nullptr;
      if (!finish_one(session, outcome, now)) continue;
      ++kept;
      if (change) accepted.push_back(*change);
    }
    sql::accept_changes(session, database_->dialect(), accepted);
    return kept;
  });
}

void DeliveryQueue::release(const std::string& owner, std::span<const DeliveryClaim> claims) {
  if (claims.empty()) return;
  database_->write([&](soci::session& session) {
    for (const DeliveryClaim& claim : claims) {
      session << "UPDATE delivery SET lease_owner = '', lease_until = 0 WHERE transaction_id = :id AND "
                 "lease_owner = :owner",
          use(claim.transaction), use(owner);
    }
  });
}

void DeliveryQueue::break_leases(const std::string& owner) {
  database_->write([&](soci::session& session) {
    session << "UPDATE delivery SET lease_owner = '', lease_until = 0 WHERE lease_owner = :owner", use(owner);
  });
}

void DeliveryQueue::cut_leases(std::int64_t longest_millis) {
  database_->write([&](soci::session& session) {
    sql::cut_leases(session, database_->dialect(), "delivery", longest_millis);
  });
}

std::int64_t DeliveryQueue::end_waits_beyond(UtcMillis latest, UtcMillis now) {
  const sql::WaitingRows mails = {
      .table = "delivery",
      .key = "transaction_id",
      .beyond = "state IN ('queued', 'sending', 'uncertain') AND due_at > :latest",
      .order = "due_at, transaction_id",
      .ended =
          "due_at = :now, first_try_at = CASE WHEN first_try_at > :now THEN cast(:now as bigint) ELSE "
          "first_try_at END"};
  return sql::end_waits_beyond(*database_, mails, latest, now);
}

std::optional<DeliveryPause> DeliveryQueue::pause() {
  return database_->read([](soci::session& session) {
    DeliveryPause row;
    long long failures = 0;
    soci::statement statement =
        sql::bound(session, "SELECT since, until, failures, reason FROM delivery_pause WHERE id = 1",
                   into(row.since), into(row.until), into(failures), into(row.reason));
    std::optional<DeliveryPause> found;
    sql::each_row(statement, [&] {
      row.failures = failures;
      found = row;
    });
    return found;
  });
}

void DeliveryQueue::set_pause(const DeliveryPause& pause) {
  database_->write([&](soci::session& session) {
    const long long failures = pause.failures;
    session
        << "INSERT INTO delivery_pause (id, since, until, failures, reason) VALUES (1, :since, :until, "
           ":failures, "
           ":reason) ON CONFLICT (id) DO UPDATE SET until = excluded.until, failures = excluded.failures, "
           "reason = excluded.reason",
        use(pause.since), use(pause.until), use(failures), use(pause.reason);
  });
}

void DeliveryQueue::clear_pause() {
  database_->write([](soci::session& session) { session << "DELETE FROM delivery_pause WHERE id = 1"; });
}

bool DeliveryQueue::end_pause_beyond(UtcMillis latest, UtcMillis now) {
  const sql::WaitingRows pause = {
      .table = "delivery_pause",
      .key = "id",
      .beyond = "until > :latest",
      .order = "id",
      .ended = "since = CASE WHEN since > :now THEN cast(:now as bigint) ELSE since END, until = :now"};
  return sql::end_waits_beyond(*database_, pause, latest, now) > 0;
}

std::vector<std::pair<DeliveryState, std::int64_t>> DeliveryQueue::counts() {
  return database_->read([](soci::session& session) {
    std::string state;
    long long count = 0;
    soci::statement statement =
        sql::bound(session, "SELECT state, count(*) FROM delivery GROUP BY state ORDER BY state", into(state),
                   into(count));
    std::vector<std::pair<DeliveryState, std::int64_t>> counts;
    sql::each_row(statement, [&] { counts.emplace_back(state_of(state), count); });
    return counts;
  });
}

std::optional<DeliveryRow> DeliveryQueue::row(TransactionId transaction) {
  const auto found = select("d.transaction_id = " + std::to_string(transaction.value), 1);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

std::vector<DeliveryRow> DeliveryQueue::rows(const std::vector<DeliveryState>& states, std::size_t limit) {
  return select("d.state IN (" + state_list(states) + ")", limit);
}

std::vector<DeliveryRow> DeliveryQueue::select(const std::string& condition, std::size_t limit) {
  return database_->read([&](soci::session& session) {
    DeliveryRow row;
    std::string state;
    long long attempt = 0;
    long long repeats = 0;
    std::string kind;
    long long number = 0;
    soci::statement statement =
        sql::bound(session,
                   "SELECT d.transaction_id, d.state, d.attempt, d.repeats, d.due_at, d.updated_at, "
                   "d.message_id, d.last_reply, t.email, d.kind, d.number FROM delivery d JOIN "
                   "recipient_transaction t ON "
                   "t.id = d.transaction_id WHERE " +
                       condition + " ORDER BY d.transaction_id LIMIT " + std::to_string(limit),
                   into(row.transaction), into(state), into(attempt), into(repeats), into(row.due_at),
                   into(row.updated_at), into(row.message_id), into(row.last_reply), into(row.email),
                   into(kind), into(number));
    std::vector<DeliveryRow> found;
    sql::each_row(statement, [&] {
      row.state = state_of(state);
      row.attempt = attempt;
      row.repeats = repeats;
      row.kind = mail_kind_from_word(kind).value_or(MailKind::gift);
      row.number = number;
      found.push_back(row);
    });
    return found;
  });
}

}  // namespace giftsync::schema
