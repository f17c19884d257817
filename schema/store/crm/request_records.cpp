#include "schema/store/crm/request_records.h"

#include <algorithm>

#include "schema/contact_normalization.h"
#include "schema/enums.h"
#include "schema/sql/record_rows.h"
#include "schema/store/gift/gift_rows.h"
#include "schema/store/statements/claims.h"
#include "schema/store/statements/feed_marks.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

constexpr auto kRequestRecordStates =
    enum_words<RequestRecordState>({{RequestRecordState::pending, "pending"},
                                    {RequestRecordState::approved, "approved"},
                                    {RequestRecordState::claimed, "claimed"},
                                    {RequestRecordState::rejected, "rejected"},
                                    {RequestRecordState::sent, "sent"}});
constexpr auto kApprovals = enum_words<Approval>(
    {{Approval::none, ""}, {Approval::automatic, "automatic"}, {Approval::person, "person"}});

}  // namespace

/// A word that this program does not support is a fault of the store; the record is left alone.
template <const auto& words>
auto stored_word(const std::string& word) {
  if (const auto found = words.parse(word)) return found;
  throw DependencyError(
      false, "request_record_state holds \"" + word + "\", which is no state that this program supports");
}
using RequestRecordStateWord =
    sql::WordConversion<RequestRecordState, stored_word<kRequestRecordStates>, RequestRecordState::pending>;
using ApprovalWord = sql::WordConversion<Approval, stored_word<kApprovals>, Approval::none>;
using RequestRecordStatusWord =
    sql::WordConversion<RequestRecordStatus, request_record_status_from_word, RequestRecordStatus::pending>;

}  // namespace giftsync::store

template <>
struct soci::type_conversion<giftsync::store::RequestRecordState> : giftsync::store::RequestRecordStateWord {
};
template <>
struct soci::type_conversion<giftsync::store::Approval> : giftsync::store::ApprovalWord {};
template <>
struct soci::type_conversion<giftsync::RequestRecordStatus> : giftsync::store::RequestRecordStatusWord {};

namespace giftsync::store {
namespace {

// One field a line.
// clang-format off
constexpr auto kRequestRecordEntryFields = record_fields(
    "request_record_state",
    field<&RequestRecordEntry::record_id>("record_id"),
    field<&RequestRecordEntry::number>("number"),
    field<&RequestRecordEntry::state>("state"),
    field<&RequestRecordEntry::crm_status>("crm_status"),
    field<&RequestRecordEntry::approval>("approval"),
    field<&RequestRecordEntry::approved_by>("approved_by"),
    field<&RequestRecordEntry::approved_content>("approved_content"),
    field<&RequestRecordEntry::seen_content>("seen_content"),
    field<&RequestRecordEntry::gift_request_text>("gift_request_text"),
    field<&RequestRecordEntry::requested_by>("requested_by"),
    field<&RequestRecordEntry::error>("error"),
    field<&RequestRecordEntry::failures>("failures"),
    field<&RequestRecordEntry::next_attempt_at>("next_attempt_at"),
    field<&RequestRecordEntry::deleted>("deleted"),
    field<&RequestRecordEntry::version>("version"));
// clang-format on

/// A new version: a step that has read the row saves nothing over it. The condition is that of the index
/// request_record_state_failed.
constexpr const char* kRetryFailed =
    "UPDATE request_record_state SET next_attempt_at = :now, version = version + 1 WHERE failures > 0 AND "
    "state = 'approved' AND deleted = 0";

void insert_transitions(soci::session& session, const std::string& key,
                        const std::vector<RequestRecordTransition>& transitions) {
  for (const RequestRecordTransition& transition : transitions) {
    session << "INSERT INTO request_record_transition (record_id, occurred_at, actor, from_state, to_state, "
               "comment) VALUES "
               "(:key, :at, "
               ":who, :old_state, :new_state, :comment)",
        use(key), use(transition.at), use(transition.who), use(transition.from), use(transition.to),
        use(transition.comment);
    if (!keeps_feed(session)) continue;
    session << "INSERT INTO feed_queue (object_id, kind, reasons, marked_at) SELECT max(id), 2, 1, "
               "cast(:at as bigint) FROM request_record_transition WHERE record_id = :key",
        use(transition.at), use(key);
  }
}

void insert_edit(soci::session& session, const std::string& key, const RequestRecordEdit& edit) {
  session << "INSERT INTO request_record_edit (record_id, occurred_at, actor, old_values, new_values) VALUES "
             "(:key, :at, :who, :before, :after)",
      use(key), use(edit.at), use(edit.who), use(edit.before), use(edit.after);
  update_noticed_content(session, key, edit);
}

/// The row keeps its number in the CRM and who asked for it.
bool save_entry(soci::session& session, const RequestRecordEntry& entry) {
  RequestRecordEntry next = entry;
  ++next.version;
  if (entry.version == 0)
    return sql::insert_record(session, kRequestRecordEntryFields, next, "ON CONFLICT (record_id) DO NOTHING");
  return sql::update_record(session, kRequestRecordEntryFields, next, {"record_id", "requested_by"},
                            "WHERE record_id = :record_id AND version + 1 = :version") == 1;
}

std::vector<RequestRecordGift> select_gifts(soci::session& session, const std::string& where,
                                            const std::string& list) {
  return sql::find_records(kRequestRecordGiftFields, session, "WHERE " + where, use(list));
}

/// Request records whose gifts satisfy a condition on recipient_transaction t.
std::string records_of_gifts(const std::string& condition) {
  return "SELECT g.record_id FROM recipient_transaction t JOIN request_record_gift g ON g.gift_request_id = "
         "t.request_id WHERE " +
         condition;
}

/// What the filter finds.
void add_search(sql::Conditions& all, sql::Dialect dialect, const RequestRecordFilter& filter) {
  if (!filter.person.empty()) {
    const std::string key = email_key(filter.person);
    all.add(
        "s.record_id IN (SELECT a.record_id FROM request_record_state a WHERE a.deleted = 0 AND "
        "a.requested_by <> '' AND a.requested_by = (SELECT email FROM account WHERE email_key = :text) "
        "UNION ALL " +
            records_of_gifts(address_key(dialect, "t.email") + " IN (:text, :other)") + ")",
        "text", key);
    all.bind("other", email_key_in_unicode(key));
  } else if (filter.gift) {
    all.add("s.record_id IN (" + records_of_gifts("t.id = " + std::to_string(filter.gift->value)) + ")");
  } else if (!filter.number.empty()) {
    all.add("s.number IN (:text, :other)", "text", filter.number);
    all.bind("other", complete_request_number(filter.number));
  }
}

/// A list without a search has the conditions of the indexes request_record_state_state and _error. What a
/// search finds are few rows: "|| ''" keeps these indexes from being read in its place, whole states of them.
std::string state_condition(const RequestRecordFilter& filter) {
  if (filter.is_any_state) return {};
  const bool is_search = filter.gift || !filter.number.empty() || !filter.person.empty();
  const std::string no_index = is_search ? " || ''" : "";
  if (filter.has_error)
    return " AND s.error" + no_index + " <> '' AND s.state" + no_index +
           " NOT IN ('sent', 'rejected') AND s.error NOT IN ('" + std::string(kUncheckedError) + "', '" +
           std::string(kChangedError) + "')";
  return " AND s.state" + no_index + " = '" + std::string(to_word(filter.state)) + "'";
}

}  // namespace

std::string_view to_word(RequestRecordState state) {
  return kRequestRecordStates.word_of(state);
}

std::string_view to_word(Approval approval) {
  return kApprovals.word_of(approval);
}

RequestRecords::RequestRecords(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

std::vector<RequestRecordEntry> RequestRecords::find(std::span<const std::string> keys) {
  if (keys.empty()) return {};
  const std::string list = sql::list_of(database_->dialect(), keys);
  return database_->read([&](soci::session& session) {
    return sql::find_records(kRequestRecordEntryFields, session,
                             "WHERE " + sql::in_list(session, "record_id", "keys", true), use(list));
  });
}

std::set<std::string> RequestRecords::save(std::span<const RequestRecordEntryUpdate> changes) {
  if (changes.empty()) return {};
  return database_->write([&](soci::session& session) {
    std::set<std::string> saved;
    for (const RequestRecordEntryUpdate& change : changes) {
      if (!save_entry(session, change.next)) continue;
      insert_transitions(session, change.next.record_id, change.transitions);
      if (change.edit) insert_edit(session, change.next.record_id, *change.edit);
      if (change.audit) insert_audit_event(session, *change.audit);
      saved.insert(change.next.record_id);
    }
    return saved;
  });
}

std::vector<std::string> RequestRecords::find_due(UtcMillis now, std::size_t limit) {
  return database_->read([&](soci::session& session) {
    return sql::select_column<std::string>(session,
                                           "SELECT record_id FROM request_record_state WHERE next_attempt_at "
                                           "<= :now ORDER BY next_attempt_at LIMIT " +
                                               std::to_string(limit),
                                           use(now));
  });
}

std::int64_t RequestRecords::reset_scheduled_after(UtcMillis latest, UtcMillis now) {
  const ScheduledRows requests = {.table = "request_record_state",
                                  .key = "record_id",
                                  .condition = "next_attempt_at > :latest",
                                  .order = "next_attempt_at, record_id",
                                  .assignments = "next_attempt_at = :now"};
  return store::reset_scheduled_after(*database_, requests, latest, now);
}

std::int64_t RequestRecords::retry_failed(std::span<const std::string> record_ids, UtcMillis now) {
  if (record_ids.empty()) return 0;
  const std::string list = sql::list_of(database_->dialect(), record_ids);
  return database_->write([&](soci::session& session) {
    return sql::change_rows(
        session, kRetryFailed + std::string(" AND ") + sql::in_list(session, "record_id", "keys", true),
        use(now, "now"), use(list, "keys"));
  });
}

std::int64_t RequestRecords::retry_all_failed(const std::string& except_error, UtcMillis now) {
  const auto length = static_cast<std::int64_t>(except_error.size());  // ASCII
  return database_->write([&](soci::session& session) {
    return sql::change_rows(
        session, kRetryFailed + std::string(" AND substr(error, 1, cast(:length as integer)) <> :except"),
        use(now, "now"), use(length, "length"), use(except_error, "except"));
  });
}

std::optional<RequestRecordEntry> RequestRecords::find_by_number_or_id(const std::string& number_or_id) {
  const std::optional<std::string> numbered = database_->read([&](soci::session& session) {
    return sql::first_of(sql::select_column<std::string>(
        session, "SELECT record_id FROM request_record_state WHERE number = :number", use(number_or_id)));
  });
  const std::string key = numbered.value_or(number_or_id);
  return sql::first_of(find(std::span(&key, 1)));
}

std::vector<ListedRequestRecord> RequestRecords::list(const Viewer& viewer,
                                                      std::optional<OrganizationId> owner,
                                                      const RequestRecordFilter& filter,
                                                      const std::string& before, std::size_t limit) {
  return database_->read([&](soci::session& session) {
    sql::Conditions where{"s.deleted = 0"};
    add_search(where, session, filter);
    where.add(before.empty() ? "s.number >= :before" : "s.number < :before", "before", before);
    ListedRequestRecord row;
    return sql::select_rows(
        row, session,
        "SELECT s.record_id, s.number, s.state, s.requested_by, s.error, coalesce((SELECT max(t.occurred_at) "
        "FROM request_record_transition t WHERE t.record_id = s.record_id), 0) FROM request_record_state s "
        "WHERE " +
            where.text + state_condition(filter) + " AND " + request_records_condition(viewer, owner) +
            " ORDER BY s.number DESC LIMIT " + std::to_string(limit),
        where, into(row.record_id), into(row.number), into(row.state), into(row.requested_by),
        into(row.error), into(row.since));
  });
}

std::optional<RequestRecordEntry> RequestRecords::find(const Viewer& viewer,
                                                       std::optional<OrganizationId> owner,
                                                       const std::string& number_or_id) {
  const auto found = find_by_number_or_id(number_or_id);
  if (!found) return std::nullopt;
  const bool is_seen = database_->read([&](soci::session& session) {
    return sql::has_row(
        session,
        "request_record_state s WHERE s.record_id = :id AND " + request_records_condition(viewer, owner),
        use(found->record_id));
  });
  return is_seen ? found : std::nullopt;
}

CreationReservation RequestRecords::reserve_creation_key(AccountId account, const IdempotencyKey& idempotency,
                                                         const std::string& new_creation_key, UtcMillis now) {
  return database_->write_urgent([&](soci::session& session) {
    session
        << "INSERT INTO request_record_idempotency (account_id, key, body_hash, creation_key, record_id, "
           "number, "
           "created_at) VALUES (:account, :key, :hash, :new_key, '', '', :now) ON CONFLICT (account_id, key) "
           "DO UPDATE SET key = excluded.key",
        use(account), use(idempotency.key), use(idempotency.body_hash), use(new_creation_key), use(now);
    // The row is locked, so it cannot be pruned before it is read.
    CreationReservation reservation;
    std::string body_hash;
    session << "SELECT body_hash, creation_key, record_id, number FROM request_record_idempotency WHERE "
               "account_id = "
               ":account AND key = :key",
        use(account), use(idempotency.key), into(body_hash), into(reservation.creation_key),
        into(reservation.record_id), into(reservation.number);
    reservation.is_mismatch = body_hash != idempotency.body_hash;
    return reservation;
  });
}

std::int64_t RequestRecords::prune_idempotency(UtcMillis before) {
  return prune(*database_, {"request_record_idempotency", "created_at"}, before);
}

UtcMillis RequestRecords::now() {
  return database_->read([&](soci::session& session) {
    return sql::select_value<UtcMillis>(session, "SELECT " + std::string(sql::database_now(session)));
  });
}

void RequestRecords::record_created(const CreatedRequestRecord& made, UtcMillis now) {
  database_->write_urgent([&](soci::session& session) {
    session
        << "INSERT INTO request_record_state (record_id, number, state, crm_status, approval, approved_by, "
           "approved_content, gift_request_text, requested_by, error, failures, next_attempt_at, deleted, "
           "version) VALUES (:key, "
           ":number, 'pending', 'Pending', '', '', '', '', :requested_by, '', 0, :due, 0, 1) ON CONFLICT "
           "(record_id) "
           "DO UPDATE SET requested_by = excluded.requested_by",
        use(made.record_id), use(made.number), use(made.requested_by), use(now);
    insert_transitions(session, made.record_id, {{now, made.requested_by, "", "pending", "made"}});
    session << "UPDATE request_record_idempotency SET record_id = :key, number = :number WHERE creation_key "
               "= :creation",
        use(made.record_id), use(made.number), use(made.creation_key);
    return true;
  });
}

std::vector<RequestRecordTransition> RequestRecords::find_transitions(const std::string& key) {
  return database_->read([&](soci::session& session) {
    RequestRecordTransition row;
    return sql::select_rows(
        row, session,
        "SELECT occurred_at, actor, from_state, to_state, comment FROM request_record_transition "
        "WHERE record_id = "
        ":key ORDER BY id",
        use(key), into(row.at), into(row.who), into(row.from), into(row.to), into(row.comment));
  });
}

std::vector<RequestRecordEdit> RequestRecords::find_edits(const std::string& key, std::size_t limit) {
  auto edits = database_->read([&](soci::session& session) {
    RequestRecordEdit row;
    return sql::select_rows(
        row, session,
        "SELECT occurred_at, actor, old_values, new_values FROM request_record_edit WHERE "
        "record_id = :key ORDER BY id DESC LIMIT " +
            std::to_string(limit),
        use(key), into(row.at), into(row.who), into(row.before), into(row.after));
  });
  std::reverse(edits.begin(), edits.end());
  return edits;
}

std::vector<RequestRecordGift> RequestRecords::find_gifts_by_record(std::span<const std::string> keys) {
  if (keys.empty()) return {};
  const std::string list = sql::list_of(database_->dialect(), keys);
  return database_->read([&](soci::session& session) {
    return select_gifts(session, sql::in_list(session, "record_id", "keys", true), list);
  });
}

std::vector<RequestRecordGift> RequestRecords::find_gifts_by_request(
    std::span<const GiftRequestId> requests) {
  if (requests.empty()) return {};
  const std::string list = sql::list_of(database_->dialect(), requests);
  return database_->read([&](soci::session& session) {
    return select_gifts(session, sql::in_list(session, "gift_request_id", "ids", false), list);
  });
}

}  // namespace giftsync::store
