#include "schema/store/gift/gift_requests.h"

#include <map>
#include <tuple>

#include "schema/sql/bulk_rows.h"
#include "schema/sql/queries.h"
#include "schema/store/gift/change_rows.h"
#include "schema/store/gift/gift_rows.h"
#include "schema/store/statements/claims.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;
using Type = sql::BulkInsert::Type;

/// Who first used an idempotency key, as the table now has it.
struct KeyUsage {
  GiftRequestId request;
  std::string body_hash;
  std::string warnings;
};
using KeyUsages = std::map<std::tuple<std::int64_t, std::string, std::string>, KeyUsage>;

}  // namespace

/// A request with its ids, ready for repeated write attempts.
struct GiftRequests::Draft {
  const NewGiftRequest* input;
  GiftRequestId id;
  TransactionId first;
  std::string mode;
  LifecycleStamp stamp = {};
  std::int64_t first_turn = 0;  ///< of its mails (MAIL-29)

  std::tuple<std::int64_t, std::string, std::string> key() const {
    return {input->request.account.value, mode, input->idempotency->key};
  }
};

namespace {

template <class Drafts>
void insert_idempotency(soci::session& session, const Drafts& drafts) {
  sql::BulkInsert rows(session, "gift_request_idempotency",
                       {{"account_id", Type::integer},
                        {"mode", Type::text},
                        {"key", Type::text},
                        {"body_hash", Type::text},
                        {"request_id", Type::integer},
                        {"warnings", Type::text},
                        {"created_at", Type::integer}},
                       "ON CONFLICT DO NOTHING");
  // In one order everywhere, so that of two groups with the same keys one waits for the other.
  std::multimap<std::tuple<std::int64_t, std::string, std::string>, const typename Drafts::value_type*> keyed;
  for (const auto& draft : drafts) {
    if (draft.input->idempotency) keyed.emplace(draft.key(), &draft);
  }
  for (const auto& [key, draft] : keyed) {
    const NewGiftRequest& input = *draft->input;
    rows.add({input.request.account.value, draft->mode, input.idempotency->key, input.idempotency->body_hash,
              draft->id.value, input.warnings, input.request.created_at.value});
  }
  rows.run(session);
}

KeyUsages select_key_usages(soci::session& session, const std::vector<std::string>& keys) {
  KeyUsages uses;
  if (keys.empty()) return uses;
  const std::string list = sql::list_of(session, keys);
  long long account = 0;
  std::string mode;
  std::string key;
  KeyUsage row;
  soci::statement statement = sql::bound(session,
                                         "SELECT account_id, mode, key, body_hash, request_id, warnings "
                                         "FROM gift_request_idempotency WHERE " +
                                             sql::in_list(session, "key", "keys", true),
                                         use(list), into(account), into(mode), into(key), into(row.body_hash),
                                         into(row.request), into(row.warnings));
  sql::each_row(statement, [&] { uses[{account, mode, key}] = row; });
  return uses;
}

using GiftByRecord = std::map<std::string, GiftRequestId>;

GiftByRecord select_gifts_by_record(soci::session& session, const std::string& keys) {
  std::pair<std::string, GiftRequestId> row;
  const auto rows = sql::select_rows(row, session,
                                     "SELECT record_id, gift_request_id FROM request_record_gift WHERE " +
                                         sql::in_list(session, "record_id", "keys", true),
                                     use(keys), into(row.first), into(row.second));
  return {rows.begin(), rows.end()};
}

/// The versions of the claimed records, locked until the gifts are durable: no claim is released meanwhile.
std::map<std::string, std::int64_t> claimed_versions(soci::session& session, const std::string& keys) {
  std::pair<std::string, std::int64_t> row;
  const auto rows = sql::select_rows(
      row, session,
      "SELECT record_id, version FROM request_record_state WHERE state = 'claimed' AND " +
          sql::in_list(session, "record_id", "keys", true) + " ORDER BY record_id" + for_update(session),
      use(keys), into(row.first), into(row.second));
  return {rows.begin(), rows.end()};
}

/// The stored gift request of each request record among the drafts; none for superseded ones.
template <class Drafts>
GiftByRecord insert_record_gifts(soci::session& session, const Drafts& drafts) {
  std::vector<std::string> keys;
  for (const auto& draft : drafts) {
    if (draft.input->request_record) keys.push_back(draft.input->request_record->record_id);
  }
  if (keys.empty()) return {};
  const std::string list = sql::list_of(session, keys);
  const auto claimed = claimed_versions(session, list);
  const GiftByRecord before = select_gifts_by_record(session, list);
  // An existing row of the record is not replaced.
  sql::BulkInsert rows(session, kRequestRecordGiftFields.table, sql::bulk_columns(kRequestRecordGiftFields),
                       "ON CONFLICT (record_id) DO NOTHING");
  for (const auto& draft : drafts) {
    if (!draft.input->request_record || before.contains(draft.input->request_record->record_id)) continue;
    const auto version = claimed.find(draft.input->request_record->record_id);
    if (version == claimed.end() || version->second != draft.input->request_record->entry_version) continue;
    rows.add(sql::cells_of(kRequestRecordGiftFields, {draft.id, *draft.input->request_record}));
  }
  rows.run(session);
  return select_gifts_by_record(session, list);
}

CreateOutcome superseded() {
  CreateOutcome outcome{
      CreateOutcome::Kind::failed, {}, {}, "", "another process has handled the request record meanwhile"};
  outcome.transient = true;
  return outcome;
}

template <class Drafts>
void insert_gifts(soci::session& session, const Drafts& drafts) {
  sql::BulkInsert requests = gift_request_rows(session);
  sql::BulkInsert transactions = recipient_transaction_rows(session, {{"due_at", Type::integer}});
  sql::BulkInsert marks = crm_outbox_rows(session);
  sql::BulkInsert deliveries(session, "mail_outbox",
                             {{"transaction_id", Type::integer},
                              {"state", Type::text},
                              {"attempt", Type::integer},
                              {"next_attempt_at", Type::integer},
                              {"message_id", Type::text},
                              {"uncertain_retries", Type::integer},
                              {"last_reply", Type::text},
                              {"updated_at", Type::integer},
                              {"lease_owner", Type::text},
                              {"lease_until", Type::integer},
                              {"turn", Type::integer}});
  const std::string_view none;
  const std::int64_t zero = 0;
  for (const auto& draft : drafts) {
    const std::int64_t now = draft.input->request.created_at.value;
    add_gift_request(requests, draft.id, draft.input->request, draft.stamp.terms);
    const sql::Cell due = draft.stamp.due_at ? sql::Cell(draft.stamp.due_at->value) : sql::Cell();
    std::int64_t position = 0;
    for (const NewRecipient& to : draft.input->recipients) {
      const std::int64_t id = draft.first.value + position;
      transactions.add({id, draft.id.value, position, to.email, to.first_name, to.last_name, to.message, zero,
                        to_word(Status::sent), now, std::int64_t{1}, due});
      add_crm_outbox_row(marks, {id}, {now});
      if (draft.input->request.mode == SendMode::email) {
        deliveries.add({id, to_word(DeliveryState::queued), zero, now, none, zero, none, now, none, zero,
                        draft.first_turn + position});
      }
      ++position;
    }
  }
  sql::BulkInsert::run_combined(session, {&requests, &transactions, &marks, &deliveries});
}

/// The highest id from `first` to before `end` of a gift that was sent elsewhere: own ids skip them.
std::optional<std::int64_t> highest_external_id(soci::session& session, std::int64_t first,
                                                std::int64_t end) {
  const auto last = sql::select_value<std::optional<TransactionId>>(
      session,
      "SELECT max(id) FROM recipient_transaction WHERE id >= :first AND id < :end_id AND gift_source <> ''",
      use(first), use(end));
  return last ? std::optional(last->value) : std::nullopt;
}

/// The key's row, which exists unless it was pruned between the insert and this lookup.
template <class Draft>
const KeyUsage& usage_of(const KeyUsages& uses, const Draft& draft) {
  const auto found = uses.find(draft.key());
  if (found == uses.end()) throw DependencyError(true, "an Idempotency-Key was deleted during its lookup");
  return found->second;
}

CreateOutcome replay_outcome(const KeyUsage& use, const std::string& body_hash) {
  if (use.body_hash != body_hash) return {CreateOutcome::Kind::body_mismatch, use.request, {}, "", ""};
  return {CreateOutcome::Kind::replayed, use.request, {}, use.warnings, ""};
}

CreateOutcome failed(GiftRequestId id, const DependencyError& fault) {
  CreateOutcome outcome{CreateOutcome::Kind::failed, id, {}, "", fault.what()};
  outcome.transient = fault.transient();
  return outcome;
}

template <class Draft>
CreateOutcome unknown(const Draft& draft, const DependencyError& fault) {
  CreateOutcome outcome{CreateOutcome::Kind::unknown, draft.id, {}, "", fault.what()};
  outcome.transient = true;
  outcome.first_transaction = draft.first;
  return outcome;
}

/// It failed for a fault that the next one would meet too. A superseded one is transient as well, but has no
/// id.
bool is_store_unavailable(const CreateOutcome& outcome) {
  if (outcome.kind == CreateOutcome::Kind::unknown) return true;
  return outcome.kind == CreateOutcome::Kind::failed && outcome.transient && outcome.request.value != 0;
}

template <class Draft>
CreateOutcome created(const Draft& draft) {
  CreateOutcome outcome{CreateOutcome::Kind::created, draft.id, {}, draft.input->warnings, ""};
  std::int64_t id = draft.first.value;
  for (const NewRecipient& to : draft.input->recipients) {
    RecipientTransaction& transaction = outcome.recipients.emplace_back();
    transaction.id = {id++};
    transaction.email = to.email;
    transaction.first_name = to.first_name;
    transaction.last_name = to.last_name;
    transaction.message = to.message;
    transaction.times[Status::sent] = draft.input->request.created_at;
  }
  return outcome;
}

}  // namespace

GiftRequests::GiftRequests(const std::shared_ptr<sql::Database>& database, MailTurns& mail_turns)
    : database_(database),
      request_ids_(database, "gift_request"),
      transaction_ids_(database, "recipient_transaction", highest_external_id),
      mail_turns_(mail_turns) {}

LifecycleStamp GiftRequests::lifecycle_stamp_of(const GiftRequest& request) const {
  return lifecycle_stamp_ ? lifecycle_stamp_(request.mode, request.created_at) : LifecycleStamp();
}

std::int64_t GiftRequests::first_turn_of(const GiftRequest& request) {
  return request.mode == SendMode::email ? mail_turns_.first_turn(request.account, request.created_at) : 0;
}

std::vector<GiftRequests::Draft> GiftRequests::draft(std::span<const NewGiftRequest> requests) {
  std::vector<Draft> drafts;
  drafts.reserve(requests.size());
  std::int64_t request_id = request_ids_.allocate(static_cast<std::int64_t>(requests.size()));
  for (const NewGiftRequest& input : requests) {
    const std::int64_t first = transaction_ids_.allocate(static_cast<std::int64_t>(input.recipients.size()));
    drafts.push_back({&input,
                      {request_id++},
                      {first},
                      std::string(to_word(input.request.mode)),
                      lifecycle_stamp_of(input.request),
                      first_turn_of(input.request)});
  }
  return drafts;
}

std::vector<CreateOutcome> GiftRequests::insert(soci::session& session, std::span<const Draft> drafts) {
  if (drafts.empty()) return {};
  std::vector<std::string> keys;
  for (const Draft& draft : drafts) {
    if (draft.input->idempotency) keys.push_back(draft.input->idempotency->key);
  }
  insert_idempotency(session, drafts);
  const KeyUsages uses = select_key_usages(session, keys);
  const auto sent = insert_record_gifts(session, drafts);
  std::vector<Draft> fresh;
  std::vector<CreateOutcome> result;
  for (const Draft& draft : drafts) {
    if (draft.input->request_record) {
      const auto standing = sent.find(draft.input->request_record->record_id);
      if (standing == sent.end() || standing->second != draft.id) {
        result.push_back(standing == sent.end()
                             ? superseded()
                             : CreateOutcome{CreateOutcome::Kind::replayed, standing->second, {}, "", ""});
        continue;
      }
    }
    const KeyUsage* use = draft.input->idempotency ? &usage_of(uses, draft) : nullptr;
    if (!use || use->request == draft.id) {
      fresh.push_back(draft);
      result.push_back(created(draft));
    } else {
      result.push_back(replay_outcome(*use, draft.input->idempotency->body_hash));
    }
  }
  insert_gifts(session, fresh);
  return result;
}

std::vector<CreateOutcome> GiftRequests::commit(std::span<const Draft> drafts, const OtherWrites& others) {
  std::vector<CreateOutcome> outcomes = database_->write_urgent([&](soci::session& session) {
    std::vector<CreateOutcome> result = insert(session, drafts);
    if (others) others(session);
    return result;
  });
  for (CreateOutcome& outcome : outcomes) {
    if (outcome.kind == CreateOutcome::Kind::replayed) read_replay(outcome);
  }
  return outcomes;
}

/// The others in the group are durable by now, so a fault here is this outcome's alone.
void GiftRequests::read_replay(CreateOutcome& outcome) {
  try {
    outcome.recipients = find_recipients(outcome.request);
  } catch (const DependencyError& fault) {
    outcome = failed(outcome.request, fault);
  }
}

/// True when a gift that was sent elsewhere took one of the draft's ids after their allocation.
bool GiftRequests::overlaps_external(const Draft& draft) {
  const std::int64_t count = static_cast<std::int64_t>(draft.input->recipients.size());
  return database_->read([&](soci::session& session) {
    return highest_external_id(session, draft.first.value, draft.first.value + count).has_value();
  });
}

/// Creates one draft alone. After a COMMIT with an unknown result its ids show whether it exists. A row that
/// causes a conflict may be its own: the lost commit became visible after the check, and the next check finds
/// it. If a gift that was sent elsewhere took one of its ids, the draft gets new ones. Never throws
/// DependencyError, because other drafts of its group may be durable already and their outcomes must not be
/// lost.
CreateOutcome GiftRequests::commit_alone(Draft draft, bool may_be_committed) {
  std::optional<sql::ConstraintViolation> refusal;
  while (true) {
    try {
      if (refusal) {
        if (!overlaps_external(draft)) return failed(draft.id, *refusal);
        while (overlaps_external(draft))
          draft.first = {
              transaction_ids_.allocate(static_cast<std::int64_t>(draft.input->recipients.size()))};
      }
      if (may_be_committed && find_gift_request(draft.id)) return created(draft);
      return commit(std::span(&draft, 1)).front();
    } catch (const sql::CommitOutcomeUnknown& fault) {
      return unknown(draft, fault);
    } catch (const sql::ConstraintViolation& fault) {
      if (may_be_committed) return unknown(draft, fault);
      if (refusal) return failed(draft.id, fault);
      refusal = fault;
    } catch (const DependencyError& fault) {
      return may_be_committed && fault.transient() ? unknown(draft, fault) : failed(draft.id, fault);
    }
  }
}

GiftRequests::GroupOutcome GiftRequests::create_with(std::span<const NewGiftRequest> requests,
                                                     const OtherWrites& others) {
  const std::vector<Draft> drafts = draft(requests);
  GroupOutcome group;
  try {
    group.requests = commit(drafts, others);
    return group;
  } catch (const sql::CommitOutcomeUnknown&) {
    group.commit = GroupOutcome::Commit::unknown;  // each one is looked up
  } catch (const DependencyError& fault) {
    if (fault.transient()) throw;
    // One of them is refused: each for itself, so that it cannot fail the others.
    group.commit = GroupOutcome::Commit::refused;
  }
  const bool may_be_committed = group.commit == GroupOutcome::Commit::unknown;
  std::vector<CreateOutcome>& outcomes = group.requests;
  outcomes.reserve(drafts.size());
  for (const Draft& draft : drafts) {
    if (outcomes.empty() || !is_store_unavailable(outcomes.back())) {
      outcomes.push_back(commit_alone(draft, may_be_committed));
      continue;
    }
    // Each further one would wait as long as this one. The callers look up unknown ones when the store is
    // back.
    const bool is_unknown = outcomes.back().kind == CreateOutcome::Kind::unknown;
    const DependencyError fault(true, outcomes.back().error);
    outcomes.push_back(is_unknown ? unknown(draft, fault) : failed(draft.id, fault));
  }
  return group;
}

std::vector<CreateOutcome> GiftRequests::create(std::span<const NewGiftRequest> requests) {
  return create_with(requests, {}).requests;
}

CreateOutcome GiftRequests::resolve_unknown(const NewGiftRequest& input, const CreateOutcome& unknown) {
  Draft draft{&input, unknown.request, unknown.first_transaction, std::string(to_word(input.request.mode)),
              lifecycle_stamp_of(input.request)};
  try {
    draft.first_turn = first_turn_of(input.request);
  } catch (const DependencyError& fault) {
    return store::unknown(draft, fault);
  }
  return commit_alone(std::move(draft), true);
}

std::optional<CreateOutcome> GiftRequests::find_idempotent(AccountId account, SendMode mode,
                                                           const IdempotencyKey& key) {
  const KeyUsages uses =
      database_->read([&](soci::session& session) { return select_key_usages(session, {key.key}); });
  const auto use = uses.find({account.value, std::string(to_word(mode)), key.key});
  if (use == uses.end()) return std::nullopt;
  CreateOutcome outcome = replay_outcome(use->second, key.body_hash);
  if (outcome.kind == CreateOutcome::Kind::replayed) outcome.recipients = find_recipients(outcome.request);
  return outcome;
}

std::optional<GiftRequest> GiftRequests::find_gift_request(GiftRequestId id) {
  return database_->read([&](soci::session& session) {
    std::optional<GiftRequest> found;
    sql::PreparedQuery row(session, "SELECT " + kRequestColumns + " FROM gift_request r WHERE r.id = :id",
                           {"id"});
    row.each_row({std::to_string(id.value)}, [&] { found = sql::read_record(kGiftRequestFields, row); });
    return found;
  });
}

std::vector<RecipientTransaction> GiftRequests::find_recipients(GiftRequestId id) {
  return database_->read([&](soci::session& session) {
    std::vector<RecipientTransaction> found;
    sql::PreparedQuery row(session,
                           "SELECT " + kTransactionColumns +
                               " FROM recipient_transaction t WHERE t.request_id = :id ORDER BY t.position",
                           {"id"});
    row.each_row({std::to_string(id.value)},
                 [&] { found.push_back(sql::read_record(kRecipientTransactionFields, row)); });
    return found;
  });
}

std::vector<Gift> GiftRequests::find(std::span<const TransactionId> ids) {
  const std::string list = sql::list_of(database_->dialect(), ids);
  return database_->read([&](soci::session& session) {
    std::vector<Gift> found;
    found.reserve(ids.size());
    sql::PreparedQuery row(session,
                           gifts_query(sql::in_list(session, "t.id", "list", false) + " ORDER BY t.id"));
    row.each_row({list}, [&] { found.push_back(gift_in(row)); });
    return found;
  });
}

std::vector<TransactionId> GiftRequests::list_conflicting(TransactionId after, std::size_t limit) {
  return database_->read([&](soci::session& session) {
    return sql::select_column<TransactionId>(
        session,
        "SELECT id FROM recipient_transaction WHERE has_conflict = 1 AND id > :after "
        "ORDER BY id LIMIT " +
            std::to_string(limit),
        use(after));
  });
}

std::vector<TransactionId> GiftRequests::filter_external(std::span<const TransactionId> ids) {
  return database_->read([&](soci::session& session) {
    const std::string list = sql::list_of(session, ids);
    return sql::select_column<TransactionId>(
        session,
        "SELECT id FROM recipient_transaction WHERE external_id = '' AND gift_source NOT IN ('', '" +
            std::string(kAdoptedGiftSource) + "') AND " + sql::in_list(session, "id", "ids", false),
        use(list));
  });
}

std::vector<TransactionId> GiftRequests::filter_unknown(std::span<const TransactionId> ids) {
  if (ids.empty()) return {};
  return database_->read([&](soci::session& session) {
    const auto known = find_gift_sources(session, ids);
    std::vector<TransactionId> without;
    for (const TransactionId id : ids) {
      if (!known.contains(id)) without.push_back(id);
    }
    return without;
  });
}

TransactionId GiftRequests::next_transaction_id() {
  return {transaction_ids_.next_minimum()};
}

std::optional<TransactionId> GiftRequests::highest_transaction_id() {
  return database_->read([](soci::session& session) {
    return sql::select_value<std::optional<TransactionId>>(
        session, "SELECT max(id) FROM recipient_transaction WHERE gift_source = '' OR external_id <> ''");
  });
}

std::vector<TransactionId> GiftRequests::allocate_transaction_ids(std::size_t count) {
  std::vector<TransactionId> ids;
  while (ids.size() < count) {
    const std::int64_t missing = static_cast<std::int64_t>(count - ids.size());
    const std::int64_t first = transaction_ids_.allocate(missing);
    std::vector<TransactionId> block;
    for (std::int64_t id = first; id < first + missing; ++id) block.push_back({id});
    // A source that keeps its ids may have taken some of the block meanwhile (SRC-20).
    const std::vector<TransactionId> free = filter_unknown(block);
    ids.insert(ids.end(), free.begin(), free.end());
  }
  return ids;
}

void GiftRequests::start_transaction_ids_at(TransactionId lowest) {
  transaction_ids_.raise_minimum(lowest.value);
}

std::int64_t GiftRequests::prune_idempotency(UtcMillis before) {
  return prune(*database_, {"gift_request_idempotency", "created_at"}, before);
}

}  // namespace giftsync::store
