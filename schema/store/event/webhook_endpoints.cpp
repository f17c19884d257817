#include "schema/store/event/webhook_endpoints.h"

#include "schema/enums.h"
#include "schema/sql/record_rows.h"
#include "schema/store/statements/claims.h"
#include "schema/store/statements/id_block.h"

namespace giftsync {
namespace {

constexpr auto kStates = enum_words<WebhookState>({{WebhookState::active, "active"},
                                                   {WebhookState::failing, "failing"},
                                                   {WebhookState::disabled, "disabled"}});

}  // namespace

std::string_view to_word(WebhookState state) {
  return kStates.word_of(state);
}

std::optional<WebhookState> webhook_state_from_word(std::string_view word) {
  return kStates.parse(word);
}

}  // namespace giftsync

namespace soci {

template <>
struct type_conversion<giftsync::WebhookState>
    : giftsync::sql::WordConversion<giftsync::WebhookState, giftsync::webhook_state_from_word,
                                    giftsync::WebhookState::disabled> {};

}  // namespace soci

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

constexpr std::int64_t kDeletedAtOnce = 5'000;

/// The numbers of so many attempts of the endpoint begin behind the result; nothing when there is no
/// endpoint.
std::optional<std::int64_t> count_attempts(soci::session& session, std::int64_t endpoint,
                                           std::int64_t attempts) {
  return sql::first_of(sql::select_column<std::int64_t>(
      session, "UPDATE webhook_endpoint SET attempts = attempts + :n WHERE id = :id RETURNING attempts - :n2",
      use(attempts, "n"), use(endpoint, "id"), use(attempts, "n2")));
}

void insert_attempts(soci::session& session, std::int64_t before, std::vector<WebhookAttempt> attempts) {
  if (attempts.empty()) return;
  sql::BulkInsert rows(session, kWebhookAttemptFields.table, sql::bulk_columns(kWebhookAttemptFields));
  for (WebhookAttempt& attempt : attempts) {
    attempt.number = ++before;
    rows.add(sql::cells_of(kWebhookAttemptFields, attempt));
  }
  rows.run(session);
}

/// Nothing of it when an admin has moved, enabled or disabled the endpoint meanwhile.
void save_place(soci::session& session, const WebhookEndpoint& before, const WebhookEndpoint& after) {
  session
      << "UPDATE webhook_endpoint SET position = :position, state = :state, state_since = :since, "
         "reason = :reason, failures = :failures, next_attempt_at = CASE WHEN next_attempt_at = :old_next "
         "THEN :next ELSE next_attempt_at END WHERE id = :id AND epoch = :epoch AND position = "
         ":old_position AND state = :old_state AND state_since = :old_since",
      use(after.position, "position"), use(after.state, "state"), use(after.state_since, "since"),
      use(after.reason, "reason"), use(after.failures, "failures"), use(before.next_attempt_at, "old_next"),
      use(after.next_attempt_at, "next"), use(before.id, "id"), use(before.epoch, "epoch"),
      use(before.position, "old_position"), use(before.state, "old_state"),
      use(before.state_since, "old_since");
}

void set_place(soci::session& session, const WebhookEndpoint& endpoint) {
  session << "UPDATE webhook_endpoint SET epoch = :epoch, position = :position WHERE id = :id",
      use(endpoint.epoch, "epoch"), use(endpoint.position, "position"), use(endpoint.id, "id");
}

/// Retries are of events of one epoch: in another one their numbers, and so their ids, are of other events.
void leave_epoch(soci::session& session, const WebhookEndpoint& endpoint) {
  session << "DELETE FROM webhook_retry WHERE endpoint_id = :id AND EXISTS (SELECT 1 FROM webhook_endpoint "
             "WHERE id = :id2 AND epoch <> :epoch)",
      use(endpoint.id, "id"), use(endpoint.id, "id2"), use(endpoint.epoch, "epoch");
}

/// Ends the wait of one that is failing; whether there was one.
bool end_wait(soci::session& session, std::int64_t endpoint, UtcMillis now) {
  return sql::change_rows(session,
                          "UPDATE webhook_endpoint SET next_attempt_at = :now WHERE id = :id AND state = "
                          "'failing' AND next_attempt_at > :now2",
                          use(now, "now"), use(endpoint, "id"), use(now, "now2")) > 0;
}

/// How many endpoints have the same owner.
std::int64_t count_of_owner(soci::session& session, const WebhookEndpoint& endpoint) {
  const std::int64_t account = endpoint.account ? endpoint.account->value : 0;
  const std::int64_t organization = endpoint.organization ? endpoint.organization->value : 0;
  return sql::select_value<std::int64_t>(
      session,
      "SELECT count(*) FROM webhook_endpoint WHERE coalesce(account_id, 0) = :account AND "
      "coalesce(organization_id, 0) = :organization",
      use(account, "account"), use(organization, "organization"));
}

void save_retry(soci::session& session, std::int64_t endpoint, const WebhookRetry& retry) {
  session
      << "INSERT INTO webhook_retry (endpoint_id, seq, attempt, next_attempt_at) VALUES (:endpoint, :seq, "
         ":attempt, :next) ON CONFLICT (endpoint_id, seq) DO UPDATE SET attempt = excluded.attempt, "
         "next_attempt_at = excluded.next_attempt_at",
      use(endpoint, "endpoint"), use(retry.seq, "seq"), use(retry.attempt, "attempt"),
      use(retry.next_attempt_at, "next");
}

/// `rest`: what follows the table's name.
template <class... Uses>
std::vector<WebhookRetry> find_retries(sql::Database& database, const std::string& rest, Uses&&... uses) {
  return database.read([&](soci::session& session) {
    WebhookRetry row;
    return sql::select_rows(row, session, "SELECT seq, attempt, next_attempt_at FROM webhook_retry " + rest,
                            uses..., into(row.seq), into(row.attempt), into(row.next_attempt_at));
  });
}

}  // namespace

WebhookEndpoints::Inserted WebhookEndpoints::insert(WebhookEndpoint& endpoint, const AuditEvent& audit) {
  return database_->write([&](soci::session& session) {
    // Allotting the id locks out another insert, so the count holds until the commit.
    endpoint.id = allocate_id(session, "webhook_endpoint");
    if (sql::has_row(session, "webhook_endpoint WHERE name = :name", use(endpoint.name, "name")))
      return Inserted::name_exists;
    if (count_of_owner(session, endpoint) >= static_cast<std::int64_t>(kMaxWebhookEndpoints))
      return Inserted::too_many;
    const auto all = sql::select_value<std::int64_t>(session, "SELECT count(*) FROM webhook_endpoint");
    if (all >= static_cast<std::int64_t>(kMaxWebhookEndpointsInAll)) return Inserted::too_many_in_all;
    sql::insert_record(session, kWebhookEndpointFields, endpoint);
    insert_audit_event(session, audit);
    return Inserted::done;
  });
}

std::vector<WebhookEndpoint> WebhookEndpoints::list() {
  return database_->read([](soci::session& session) {
    return sql::find_records(kWebhookEndpointFields, session, "ORDER BY name");
  });
}

std::vector<WebhookEndpoint> WebhookEndpoints::list(const Viewer& viewer) {
  return database_->read([&](soci::session& session) {
    return sql::find_records(kWebhookEndpointFields, session,
                             "WHERE " + webhooks_condition(viewer) + " ORDER BY name");
  });
}

std::optional<WebhookEndpoint> WebhookEndpoints::find(const Viewer& viewer, std::int64_t id) {
  return database_->read([&](soci::session& session) {
    return sql::first_of(sql::find_records(
        kWebhookEndpointFields, session, "WHERE id = :id AND " + webhooks_condition(viewer), use(id, "id")));
  });
}

std::optional<WebhookEndpoint> WebhookEndpoints::find(const std::string& name) {
  return database_->read([&](soci::session& session) {
    return sql::first_of(
        sql::find_records(kWebhookEndpointFields, session, "WHERE name = :name", use(name, "name")));
  });
}

std::optional<WebhookEndpoint> WebhookEndpoints::find(std::int64_t id) {
  return database_->read([&](soci::session& session) {
    return sql::first_of(sql::find_records(kWebhookEndpointFields, session, "WHERE id = :id", use(id, "id")));
  });
}

template <class Change>
bool WebhookEndpoints::change(std::int64_t endpoint, const AuditEvent& audit, const Change& change) {
  return database_->write([&](soci::session& session) {
    if (!sql::has_row(session, "webhook_endpoint WHERE id = :id", use(endpoint, "id"))) return false;
    change(session);
    insert_audit_event(session, audit);
    return true;
  });
}

bool WebhookEndpoints::update(const WebhookEndpoint& endpoint, const AuditEvent& audit) {
  return change(endpoint.id, audit, [&](soci::session& session) {
    session << "UPDATE webhook_endpoint SET name = :name, url = :url, types = :types WHERE id = :id",
        use(endpoint.name, "name"), use(endpoint.url, "url"), use(endpoint.types, "types"),
        use(endpoint.id, "id");
  });
}

bool WebhookEndpoints::replace_secrets(const WebhookEndpoint& endpoint, const AuditEvent& audit) {
  // The secret that goes on signing must still be the present one: of two rotations at the same time the
  // second would end the secret that the first one has just shown.
  return database_->write([&](soci::session& session) {
    const std::int64_t changed = sql::change_rows(
        session,
        "UPDATE webhook_endpoint SET secret = :secret, previous_secret = :previous, previous_until = :until "
        "WHERE id = :id AND (secret = :present OR CAST(:present2 AS text) = '')",
        use(endpoint.secret, "secret"), use(endpoint.previous_secret, "previous"),
        use(endpoint.previous_until, "until"), use(endpoint.id, "id"),
        use(endpoint.previous_secret, "present"), use(endpoint.previous_secret, "present2"));
    if (changed > 0) insert_audit_event(session, audit);
    return changed > 0;
  });
}

bool WebhookEndpoints::move(const WebhookEndpoint& endpoint, const AuditEvent& audit) {
  return change(endpoint.id, audit, [&](soci::session& session) {
    leave_epoch(session, endpoint);
    set_place(session, endpoint);
  });
}

bool WebhookEndpoints::set_state(const WebhookEndpoint& endpoint, const AuditEvent& audit) {
  return change(endpoint.id, audit, [&](soci::session& session) {
    leave_epoch(session, endpoint);
    session << "UPDATE webhook_endpoint SET epoch = :epoch, position = :position, state = :state, "
               "state_since = :since, reason = :reason, failures = :failures, next_attempt_at = :next WHERE "
               "id = :id",
        use(endpoint.epoch, "epoch"), use(endpoint.position, "position"), use(endpoint.state, "state"),
        use(endpoint.state_since, "since"), use(endpoint.reason, "reason"),
        use(endpoint.failures, "failures"), use(endpoint.next_attempt_at, "next"), use(endpoint.id, "id");
  });
}

bool WebhookEndpoints::remove(std::int64_t endpoint, const AuditEvent& audit) {
  const bool found = change(endpoint, audit, [&](soci::session& session) {
    session << "DELETE FROM webhook_endpoint WHERE id = :id", use(endpoint, "id");
    session << "DELETE FROM webhook_retry WHERE endpoint_id = :id", use(endpoint, "id");
  });
  database_->write_in_batches([&](soci::session& session) {
    return sql::change_rows(
        session,
        "DELETE FROM webhook_attempt WHERE endpoint_id = :id AND number IN (SELECT number "
        "FROM webhook_attempt WHERE endpoint_id = :id2 LIMIT :limit)",
        use(endpoint, "id"), use(endpoint, "id2"), use(kDeletedAtOnce, "limit"));
  });
  return found;
}

std::int64_t WebhookEndpoints::retry_now(std::int64_t endpoint, std::optional<std::int64_t> seq,
                                         UtcMillis now, const AuditEvent& audit) {
  const std::string one = seq ? " AND seq = " + std::to_string(*seq) : "";
  return database_->write([&](soci::session& session) {
    const std::int64_t changed = sql::change_rows(
        session, "UPDATE webhook_retry SET next_attempt_at = :now WHERE endpoint_id = :id" + one,
        use(now, "now"), use(endpoint, "id"));
    const bool is_woken = (!seq || changed > 0) && end_wait(session, endpoint, now);
    if (changed > 0 || is_woken) insert_audit_event(session, audit);
    return changed;
  });
}

void WebhookEndpoints::wake(std::int64_t endpoint, UtcMillis now) {
  database_->write([&](soci::session& session) { end_wait(session, endpoint, now); });
}

std::vector<WebhookRetry> WebhookEndpoints::due_retries(std::int64_t endpoint, UtcMillis now,
                                                        std::size_t limit) {
  return find_retries(
      *database_,
      "WHERE endpoint_id = :id AND next_attempt_at <= :now ORDER BY next_attempt_at, seq LIMIT " +
          std::to_string(limit),
      use(endpoint, "id"), use(now, "now"));
}

std::optional<WebhookRetry> WebhookEndpoints::next_retry(std::int64_t endpoint) {
  return sql::first_of(find_retries(
      *database_,
      "WHERE endpoint_id = :id AND next_attempt_at IS NOT NULL ORDER BY next_attempt_at, seq LIMIT 1",
      use(endpoint, "id")));
}

void WebhookEndpoints::save(const WebhookResults& results) {
  const std::int64_t endpoint = results.before.id;
  database_->write([&](soci::session& session) {
    const auto before = count_attempts(session, endpoint, static_cast<std::int64_t>(results.attempts.size()));
    if (!before) return;  // deleted meanwhile
    save_place(session, results.before, results.after);
    for (const WebhookRetry& retry : results.retries) save_retry(session, endpoint, retry);
    for (const std::int64_t seq : results.ended)
      session << "DELETE FROM webhook_retry WHERE endpoint_id = :id AND seq = :seq", use(endpoint, "id"),
          use(seq, "seq");
    insert_attempts(session, *before, results.attempts);
    if (results.audit) insert_audit_event(session, *results.audit);
  });
}

/// Nothing when an admin has moved it there, or elsewhere in that epoch, since it was read.
void WebhookEndpoints::begin_epoch(const WebhookEndpoint& endpoint) {
  database_->write([&](soci::session& session) {
    leave_epoch(session, endpoint);
    session << "UPDATE webhook_endpoint SET epoch = :epoch, position = :position WHERE id = :id AND epoch <> "
               ":present",
        use(endpoint.epoch, "epoch"), use(endpoint.position, "position"), use(endpoint.id, "id"),
        use(endpoint.epoch, "present");
  });
}

/// Only forward: an admin may have moved it further meanwhile.
void WebhookEndpoints::begin_place(const WebhookEndpoint& endpoint) {
  database_->write([&](soci::session& session) {
    session << "UPDATE webhook_endpoint SET position = :position WHERE id = :id AND epoch = :epoch AND "
               "position < :least",
        use(endpoint.position, "position"), use(endpoint.id, "id"), use(endpoint.epoch, "epoch"),
        use(endpoint.position, "least");
  });
}

WebhookRetryCounts WebhookEndpoints::count_retries(std::int64_t endpoint) {
  return database_->read([&](soci::session& session) {
    WebhookRetryCounts counts;
    const auto all = sql::select_value<std::int64_t>(
        session, "SELECT count(*) FROM webhook_retry WHERE endpoint_id = :id", use(endpoint, "id"));
    counts.waiting = sql::select_value<std::int64_t>(
        session, "SELECT count(*) FROM webhook_retry WHERE endpoint_id = :id AND next_attempt_at IS NOT NULL",
        use(endpoint, "id"));
    counts.given_up = all - counts.waiting;
    return counts;
  });
}

std::vector<WebhookRetry> WebhookEndpoints::list_retries(std::int64_t endpoint, std::int64_t after,
                                                         std::size_t limit) {
  return find_retries(*database_,
                      "WHERE endpoint_id = :id AND seq > :after ORDER BY seq LIMIT " + std::to_string(limit),
                      use(endpoint, "id"), use(after, "after"));
}

std::vector<WebhookAttempt> WebhookEndpoints::list_attempts(std::int64_t endpoint, bool only_failed,
                                                            std::int64_t below, std::size_t limit) {
  return database_->read([&](soci::session& session) {
    return sql::find_records(kWebhookAttemptFields, session,
                             "WHERE endpoint_id = :id AND number < :below" +
                                 std::string(only_failed ? " AND failed = 1" : "") +
                                 " ORDER BY number DESC LIMIT " + std::to_string(limit),
                             use(endpoint, "id"), use(below, "below"));
  });
}

void WebhookEndpoints::add_attempt(const WebhookAttempt& attempt) {
  database_->write([&](soci::session& session) {
    if (const auto before = count_attempts(session, attempt.endpoint, 1))
      insert_attempts(session, *before, {attempt});
  });
}

void WebhookEndpoints::prune(UtcMillis before, std::int64_t oldest) {
  const auto has_older = [&](soci::session& session) {
    return sql::has_row(session, "webhook_attempt WHERE started_at < :before", use(before, "before"));
  };
  while (write_if_any(*database_, has_older, [&](soci::session& session) {
           return sql::change_rows(
               session,
               "DELETE FROM webhook_attempt WHERE (endpoint_id, number) IN (SELECT "
               "endpoint_id, number FROM webhook_attempt WHERE started_at < :before ORDER "
               "BY started_at LIMIT :limit)",
               use(before, "before"), use(kDeletedAtOnce, "limit"));
         }) == kDeletedAtOnce) {
  }
  const auto has_ended = [&](soci::session& session) {
    return sql::has_row(session, "webhook_retry WHERE seq < :oldest", use(oldest, "oldest"));
  };
  write_if_any(*database_, has_ended, [&](soci::session& session) {
    session << "DELETE FROM webhook_retry WHERE seq < :oldest", use(oldest, "oldest");
  });
}

}  // namespace giftsync::store
