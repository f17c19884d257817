#include "schema/store/event/sources.h"

#include <algorithm>
#include <utility>

#include "schema/enums.h"
#include "schema/sql/queries.h"
#include "schema/store/event/ingest_transaction.h"
#include "schema/store/statements/claims.h"

namespace giftsync::store {

using QuarantineWord =
    sql::WordConversion<QuarantineReason, quarantine_reason_from_word, QuarantineReason::malformed>;
using EventStateWord = sql::WordConversion<EventState, event_state_from_word, EventState::quarantined>;

}  // namespace giftsync::store

template <>
struct soci::type_conversion<giftsync::store::QuarantineReason> : giftsync::store::QuarantineWord {};
template <>
struct soci::type_conversion<giftsync::store::EventState> : giftsync::store::EventStateWord {};

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

constexpr auto kQuarantineReasons =
    enum_words<QuarantineReason>({{QuarantineReason::unknown_status, "unknown_status"},
                                  {QuarantineReason::implausible_time, "implausible_time"},
                                  {QuarantineReason::may_set, "may_set"},
                                  {QuarantineReason::malformed, "malformed"},
                                  {QuarantineReason::other_source, "other_source"}});

constexpr auto kEventStates = enum_words<EventState>({{EventState::quarantined, "quarantined"},
                                                      {EventState::orphaned, "orphaned"},
                                                      {EventState::ignored, "ignored"}});

std::set<std::string> as_set(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

/// The rows of source s, with its counts of orphaned changes and quarantined events.
std::vector<SourceSummary> select_summaries(soci::session& session) {
  SourceSummary row;
  return sql::select_rows(
      row, session,
      "SELECT s.name, s.state, s.state_since, s.reason, s.cursor_state, s.next_attempt_at, s.failures, "
      "s.last_received_at, s.accepted, s.duplicates, s.ignored, s.gifts, s.rejected, s.refused_in_row, "
      "s.last_refused_at, s.last_refusal, (SELECT count(*) FROM "
      "change_log c WHERE c.source = s.name AND c.orphaned = 1), (SELECT count(*) FROM inbound_event e "
      "WHERE e.source = s.name AND e.state = 'quarantined') FROM source s ORDER BY s.name",
      into(row.name), into(row.state), into(row.state_since), into(row.reason), into(row.cursor_state),
      into(row.next_attempt_at), into(row.failures), into(row.last_received_at), into(row.accepted),
      into(row.duplicates), into(row.ignored), into(row.gifts), into(row.rejected), into(row.refused_in_row),
      into(row.last_refused_at), into(row.last_refusal), into(row.orphaned), into(row.quarantined));
}

/// `which`: a constant condition.
std::vector<UnappliedEvent> select_events(soci::session& session, const std::string& which,
                                          const std::string& source, std::int64_t after, std::size_t limit) {
  sql::Conditions where{which};
  where.add("id > :after", "after", std::to_string(after));
  // "|| ''" keeps an index of sources from being read, all events of one for each page.
  if (!source.empty()) where.add("source || '' = :source", "source", source);
  UnappliedEvent row;
  return sql::select_rows(
      row, session,
      "SELECT id, source, digest, state, reason, status_word, detail, transaction_id, payload, "
      "received_at FROM inbound_event WHERE " +
          where.text + " ORDER BY id LIMIT " + std::to_string(limit),
      where, into(row.id), into(row.source), into(row.digest), into(row.state), into(row.reason),
      into(row.status_word), into(row.detail), into(row.transaction), into(row.payload),
      into(row.received_at));
}

bool is_other_state(soci::session& session, const SourceHealthUpdate& update) {
  return sql::has_row(session, "source WHERE name = :name AND (state <> :state OR reason <> :reason)",
                      use(update.source), use(update.state->word), use(update.state->reason));
}

bool has_refusals(const SourceHealthUpdate& update) {
  return update.refused > 0 || !update.messages.empty();
}

void update_state(soci::session& session, const SourceHealthUpdate& update) {
  const SourceHealthUpdate::State& state = *update.state;
  session << "UPDATE source SET state_since = CASE WHEN state = :same THEN state_since ELSE :now END, "
             "state = :state, reason = :reason WHERE name = :name",
      use(state.word), use(state.at), use(state.word), use(state.reason), use(update.source);
}

void add_refusals(soci::session& session, const SourceHealthUpdate& update) {
  session << "UPDATE source SET rejected = rejected + :refused, refused_in_row = refused_in_row + :in_row "
             "WHERE name = :name",
      use(update.refused), use(update.refused_in_row), use(update.source);
  if (!update.last_refusal) return;
  session << "UPDATE source SET last_refused_at = :at, last_refusal = :reason WHERE name = :name",
      use(update.last_refusal->at), use(update.last_refusal->reason), use(update.source);
}

}  // namespace

std::string_view to_word(EventState state) {
  return kEventStates.word_of(state);
}

std::optional<EventState> event_state_from_word(std::string_view word) {
  return kEventStates.parse(word);
}

std::string_view to_word(QuarantineReason reason) {
  return kQuarantineReasons.word_of(reason);
}

std::optional<QuarantineReason> quarantine_reason_from_word(std::string_view word) {
  return kQuarantineReasons.parse(word);
}

Sources::Sources(std::shared_ptr<sql::Database> database, ChangeLog& changes)
    : database_(std::move(database)),
      changes_(changes),
      request_ids_(database_, "gift_request"),
      event_ids_(database_, "inbound_event") {}

void Sources::open(const std::string& source, const std::string& gift_source, UtcMillis now) {
  database_->write([&](soci::session& session) {
    session
        << "INSERT INTO source (name, state, state_since, reason, cursor_state, revision, next_attempt_at, "
           "failures, "
           "lease_owner, lease_until, accepted, duplicates, ignored, gifts, rejected) VALUES (:name, 'new', "
           ":now, '', '', 0, 0, 0, '', 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING",
        use(source), use(now);
    session << "UPDATE change_log SET gift_source = :gift_source WHERE source = :source AND orphaned = 1 AND "
               "gift_source <> "
               ":other",
        use(gift_source), use(source), use(gift_source);
  });
}

void Sources::begin_reprocessing(const std::string& source, const std::string& fingerprint) {
  database_->write([&](soci::session& session) {
    session << "UPDATE source SET reprocess_fingerprint = :fingerprint WHERE name = :name", use(fingerprint),
        use(source);
  });
}

void Sources::end_reprocessing(const std::string& source, const std::string& fingerprint) {
  database_->write([&](soci::session& session) {
    session << "UPDATE source SET reprocess_fingerprint = '' WHERE name = :name AND reprocess_fingerprint = "
               ":fingerprint",
        use(source), use(fingerprint);
  });
}

std::set<std::string> Sources::sources_to_reprocess() {
  return database_->read([](soci::session& session) {
    return as_set(sql::select_column<std::string>(
        session, "SELECT name FROM source WHERE reprocess_fingerprint <> ''"));
  });
}

void Sources::request_reprocessing(const std::string& source, const AuditEvent& audit) {
  database_->write([&](soci::session& session) {
    session << "UPDATE source SET reprocess_fingerprint = 'requested' WHERE name = :name", use(source);
    insert_audit_event(session, audit);
  });
}

PreparedBatch Sources::prepare(const InboundBatch& batch) {
  std::int64_t gifts = 0;
  for (const InboundItem& item : batch.items) gifts += item.gift && !item.quarantined ? 1 : 0;
  PreparedBatch prepared{&batch, changes_.with_ids(changes_in(batch))};
  prepared.orphan_capacity = &changes_.orphan_capacity_;
  if (gifts > 0) prepared.request_id = request_ids_.allocate(gifts);
  const std::size_t events = batch.items.size() + batch.ignored.size();
  if (events > 0) prepared.event_id = event_ids_.allocate(static_cast<std::int64_t>(events));
  return prepared;
}

IngestResult Sources::accept(const InboundBatch& batch) {
  const PreparedBatch prepared = prepare(batch);
  try {
    return database_->write_urgent([&](soci::session& session) {
      lock_new_gifts(session, std::span(&prepared, 1));
      IngestEnd end;
      IngestResult result = ingest_batch(session, prepared, end);
      end.write(session, batch.now);
      return result;
    });
  } catch (const QuotaExceeded&) {
    IngestResult result;
    result.kind = IngestResult::Kind::over_limit;
    return result;
  }
}

std::vector<PreviewItem> Sources::preview(const InboundBatch& batch) {
  return database_->snapshot([&](soci::session& session) { return preview_batch(session, batch); });
}

std::optional<SourceClaim> Sources::claim(const std::string& source, const std::string& owner,
                                          std::int64_t lease_millis, UtcMillis now) {
  const std::string clock(sql::database_now(database_->dialect()));
  const std::string is_due = "name = :name AND next_attempt_at <= :now AND lease_until < " + clock;
  const auto has_due = [&](soci::session& session) {
    return sql::has_row(session, "source WHERE " + is_due, use(source), use(now));
  };
  return write_if_any(*database_, has_due, [&](soci::session& session) {
    SourceClaim row;
    return sql::first_of(sql::select_rows(row, session,
                                          "UPDATE source SET lease_owner = :owner, lease_until = " + clock +
                                              " + :lease WHERE " + is_due +
                                              " RETURNING cursor_state, revision, failures",
                                          use(owner), use(lease_millis), use(source), use(now),
                                          into(row.cursor_state), into(row.revision), into(row.failures)));
  });
}

void Sources::release_claim(const std::string& source, const std::string& owner, const NextPoll& next) {
  database_->write([&](soci::session& session) {
    if (next.cursor_state) {
      session
          << "UPDATE source SET cursor_state = :cursor_state, revision = revision + 1 WHERE name = :name AND "
             "lease_owner = :owner",
          use(*next.cursor_state), use(source), use(owner);
    }
    session << "UPDATE source SET next_attempt_at = :due, failures = :failures, lease_owner = '', "
               "lease_until = 0 "
               "WHERE name = :name AND lease_owner = :owner",
        use(next.next_attempt_at), use(next.failures), use(source), use(owner);
  });
}

std::vector<SourceSchedule> Sources::list_schedules() {
  return database_->read([](soci::session& session) {
    SourceSchedule row;
    return sql::select_rows(
        row, session, "SELECT name, next_attempt_at, failures, cursor_state FROM source ORDER BY name",
        into(row.name), into(row.next_attempt_at), into(row.failures), into(row.cursor_state));
  });
}

bool Sources::reset_schedule(const SourceSchedule& seen, UtcMillis now) {
  return database_->write([&](soci::session& session) {
    return sql::change_rows(
               session,
               "UPDATE source SET next_attempt_at = :now WHERE name = :name AND next_attempt_at = :seen",
               use(now), use(seen.name), use(seen.next_attempt_at)) > 0;
  });
}

bool Sources::reset_cursor(const std::string& source) {
  return database_->write([&](soci::session& session) {
    return sql::change_rows(session,
                            "UPDATE source SET cursor_state = '', revision = revision + 1, next_attempt_at = "
                            "0, failures = 0, lease_owner = '', lease_until = 0 WHERE name = :name",
                            use(source)) > 0;
  });
}

void Sources::release_leases(const std::vector<std::string>& owners) {
  store::release_leases(*database_, kSource, owners);
}

void Sources::cap_leases(std::int64_t max_millis) {
  store::cap_leases(*database_, kSource, max_millis);
}

void Sources::release_lease(const std::string& source, const std::string& owner) {
  database_->write([&](soci::session& session) {
    session << "UPDATE source SET lease_owner = '', lease_until = 0 WHERE name = :name AND lease_owner = "
               ":owner",
        use(source), use(owner);
  });
}

void Sources::save_health(std::span<const SourceHealthUpdate> updates) {
  const auto differs = [&](soci::session& session) {
    return std::any_of(updates.begin(), updates.end(), [&](const SourceHealthUpdate& update) {
      return has_refusals(update) || (update.state && is_other_state(session, update));
    });
  };
  if (updates.empty()) return;
  write_if_any(*database_, differs, [&](soci::session& session) {
    for (const SourceHealthUpdate& update : updates) {
      if (update.state) update_state(session, update);
      if (has_refusals(update)) add_refusals(session, update);
      insert_refused_messages(session, update.messages);
    }
  });
}

std::vector<SourceSummary> Sources::list() {
  return database_->read(select_summaries);
}

std::vector<SourceHealth> Sources::list_health() {
  return database_->read([](soci::session& session) {
    SourceHealth row;
    return sql::select_rows(
        row, session, "SELECT name, state, last_received_at, refused_in_row FROM source ORDER BY name",
        into(row.name), into(row.state), into(row.last_received_at), into(row.refused_in_row));
  });
}

std::vector<UnappliedEvent> Sources::list_quarantined(const std::string& source, std::int64_t after,
                                                      std::size_t limit) {
  return database_->read([&](soci::session& session) {
    return select_events(session, "state = 'quarantined'", source, after, limit);
  });
}

std::vector<UnappliedEvent> Sources::orphaned_payloads(const std::string& source, std::int64_t after,
                                                       std::size_t limit) {
  return database_->read([&](soci::session& session) {
    // A change that was applied or voided is never derived again, so its event does not wait any more.
    return select_events(session,
                         "state = 'orphaned' AND NOT EXISTS (SELECT 1 FROM change_log c WHERE c.id IN "
                         "(change_id, sent_id) AND c.orphaned = 0)",
                         source, after, limit);
  });
}

std::vector<UnappliedEvent> Sources::list_ignored(const std::string& source, std::int64_t after,
                                                  std::size_t limit) {
  return database_->read([&](soci::session& session) {
    return select_events(session, "state = 'ignored'", source, after, limit);
  });
}

std::set<std::string> Sources::all_orphaned(UtcMillis before) {
  return database_->read([&](soci::session& session) {
    return as_set(sql::select_column<std::string>(session, all_orphaned_query(":before"), use(before)));
  });
}

std::vector<Sources::QuarantineCount> Sources::count_quarantined(const std::string& source) {
  sql::Conditions where{"state = 'quarantined'"};
  if (!source.empty()) where.add("source = :source", "source", source);
  return database_->read([&](soci::session& session) {
    QuarantineCount row{};
    return sql::select_rows(
        row, session,
        "SELECT source, reason, status_word, count(*) FROM inbound_event WHERE " + where.text +
            " GROUP BY source, reason, status_word ORDER BY 4 DESC, source, reason, status_word",
        where, into(row.source), into(row.reason), into(row.status_word), into(row.count));
  });
}

std::int64_t Sources::count_ignored(const std::string& source) {
  return database_->read([&](soci::session& session) {
    return sql::select_value<std::int64_t>(
        session, "SELECT count(*) FROM inbound_event WHERE source = :source AND state = 'ignored'",
        use(source));
  });
}

std::int64_t Sources::purge_quarantined(const std::string& source, std::optional<QuarantineReason> reason,
                                        const std::optional<AuditEvent>& audit) {
  sql::Conditions where{"state = 'quarantined'"};
  where.add("source = :source", "source", source);
  if (reason) where.add("reason = :reason", "reason", std::string(to_word(*reason)));
  return database_->write([&](soci::session& session) {
    const std::int64_t count =
        sql::change_rows(session, "DELETE FROM inbound_event WHERE " + where.text, where);
    if (audit) {
      AuditEvent counted = *audit;  // the transaction may run again
      counted.detail += (counted.detail.empty() ? "" : ", ") + std::to_string(count) + " events";
      insert_audit_event(session, counted);
    }
    return count;
  });
}

std::int64_t Sources::purge_ignored(const std::string& source) {
  return database_->write([&](soci::session& session) {
    return sql::change_rows(session, "DELETE FROM inbound_event WHERE source = :source AND state = 'ignored'",
                            use(source));
  });
}

void Sources::prune_messages(UtcMillis before) {
  prune(*database_, {"source_message", "received_at"}, before);
}

}  // namespace giftsync::store
