#include "schema/store/gift_ledger.h"

#include <map>
#include <tuple>

#include "schema/sql/bulk_insert.h"
#include "schema/sql/database.h"
#include "schema/store/change_rows.h"
#include "schema/store/gift_inserts.h"
#include "schema/store/gift_rows.h"

namespace giftsync::schema {
namespace {

using soci::into;
using soci::use;
using sql::BulkInsert;
using Type = BulkInsert::Type;

/// Who first used an idempotency key, as the table now has it.
struct KeyUse {
  GiftRequestId request;
  std::string body_hash;
  std::string warnings;
};
using KeyUses = std::map<std::tuple<std::int64_t, std::string, std::string>, KeyUse>;

}  // namespace

/// A request with its ids, ready to be written as often as it takes.
struct GiftLedger::Draft {
  const NewGiftRequest* asked;
  GiftRequestId id;
  TransactionId first;
  std::string mode;
  LifeStamp stamp = {};

  std::tuple<std::int64_t, std::string, std::string> key() const {
    return {asked->request.account.value, mode, asked->idempotency->key};
  }
};

namespace {

template <class Drafts>
void insert_idempotency(soci::session& session, Dialect dialect, const Drafts& drafts) {
  BulkInsert rows(dialect, "idempotency",
                  {{"account_id", Type::integer},
                   {"mode", Type::text},
                   {"key", Type::text},
                   {"body_hash", Type::text},
                   {"request_id", Type::integer},
                   {"warnings", Type::text},
                   {"created_at", Type::integer}},
                  "ON CONFLICT DO NOTHING");
  for (const auto& draft : drafts) {
    if (!draft.asked->idempotency) continue;
    const GiftRequest& request = draft.asked->request;
    rows.add({request.account.value, draft.mode, draft.asked->idempotency->key,
              draft.asked->idempotency->body_hash, draft.id.value, draft.asked->warnings,
              request.created_at.value});
  }
  rows.run(session);
}

KeyUses key_uses(soci::session& session, Dialect dialect, const std::vector<std::string>& keys) {
  KeyUses uses;
  if (keys.empty()) return uses;
  const std::string list = sql::list_of(dialect, keys);
  long long account = 0;
  std::string mode;
  std::string key;
  KeyUse row;
  soci::statement statement = sql::bound(session,
                                         "SELECT account_id, mode, key, body_hash, request_id, warnings "
                                         "FROM idempotency WHERE " +
                                             sql::in_list(dialect, "key", "keys", true),
                                         use(list), into(account), into(mode), into(key), into(row.body_hash),
                                         into(row.request), into(row.warnings));
  sql::each_row(statement, [&] { uses[{account, mode, key}] = row; });
  return uses;
}

using SentFor = std::map<std::string, GiftRequestId>;

SentFor sent_for(soci::session& session, Dialect dialect, const std::string& keys) {
  SentFor sent;
  std::string key;
  GiftRequestId id;
  soci::statement statement = sql::bound(session,
                                         "SELECT request_key, gift_request_id FROM sent_request WHERE " +
                                             sql::in_list(dialect, "request_key", "keys", true),
                                         use(keys), into(key), into(id));
  sql::each_row(statement, [&] { sent[key] = id; });
  return sent;
}

/// The versions of those that are claimed, locked until the gifts are durable: nobody releases a claim
/// meanwhile.
std::map<std::string, std::int64_t> claimed_versions(soci::session& session, Dialect dialect,
                                                     const std::string& keys) {
  std::map<std::string, std::int64_t> versions;
  std::string key;
  long long version = 0;
  soci::statement statement =
      sql::bound(session,
                 "SELECT request_key, version FROM request_state WHERE state = 'claimed' AND " +
                     sql::in_list(dialect, "request_key", "keys", true) + " ORDER BY request_key" +
                     (dialect == Dialect::postgresql ? " FOR UPDATE" : ""),
                 use(keys), into(key), into(version));
  sql::each_row(statement, [&] { versions[key] = version; });
  return versions;
}

/// The gift request of each request record among the drafts, as it now stands; none for those that were
/// overtaken.
template <class Drafts>
SentFor settle_origins(soci::session& session, Dialect dialect, const Drafts& drafts) {
  std::vector<std::string> keys;
  for (const auto& draft : drafts) {
    if (draft.asked->origin) keys.push_back(draft.asked->origin->key);
  }
  if (keys.empty()) return {};
  const std::string list = sql::list_of(dialect, keys);
  const auto claimed = claimed_versions(session, dialect, list);
  const SentFor before = sent_for(session, dialect, list);
  BulkInsert rows = sql::origin_rows(dialect);
  for (const auto& draft : drafts) {
    if (!draft.asked->origin || before.contains(draft.asked->origin->key)) continue;
    const auto version = claimed.find(draft.asked->origin->key);
    if (version == claimed.end() || version->second != draft.asked->origin->book_version) continue;
    sql::add_origin(rows, draft.id, *draft.asked->origin);
  }
  rows.run(session);
  return sent_for(session, dialect, list);
}

CreateOutcome overtaken() {
  CreateOutcome outcome{
      CreateOutcome::Kind::failed, {}, {}, "", "somebody else has seen to the request meanwhile"};
  outcome.transient = true;
  return outcome;
}

template <class Drafts>
void insert_gifts(soci::session& session, Dialect dialect, const Drafts& drafts) {
  BulkInsert requests = sql::request_rows(dialect);
  BulkInsert transactions(dialect, "recipient_transaction",
                          {{"id", Type::integer},
                           {"request_id", Type::integer},
                           {"position", Type::integer},
                           {"email", Type::text},
                           {"first_name", Type::text},
                           {"last_name", Type::text},
                           {"message", Type::text},
                           {"generation", Type::integer},
                           {"status", Type::text},
                           {"sent_at", Type::integer},
                           {"version", Type::integer},
                           {"due_at", Type::integer}});
  BulkInsert marks = sql::mark_rows(dialect);
  BulkInsert deliveries(dialect, "delivery",
                        {{"transaction_id", Type::integer},
                         {"state", Type::text},
                         {"attempt", Type::integer},
                         {"due_at", Type::integer},
                         {"message_id", Type::text},
                         {"repeats", Type::integer},
                         {"last_reply", Type::text},
                         {"updated_at", Type::integer},
                         {"lease_owner", Type::text},
                         {"lease_until", Type::integer}});
  const std::string_view none;
  const std::int64_t zero = 0;
  for (const auto& draft : drafts) {
    const std::int64_t now = draft.asked->request.created_at.value;
    sql::add_request(requests, draft.id, draft.asked->request, draft.stamp.terms);
    const sql::Cell due = draft.stamp.due_at ? sql::Cell(draft.stamp.due_at->value) : sql::Cell();
    std::int64_t position = 0;
    for (const NewRecipient& to : draft.asked->recipients) {
      const std::int64_t id = draft.first.value + position;
      transactions.add({id, draft.id.value, position, to.email, to.first_name, to.last_name, to.message, zero,
                        to_word(Status::sent), now, std::int64_t{1}, due});
      sql::add_mark(marks, {id}, {now});
      if (draft.asked->request.mode == SendMode::email) {
        deliveries.add({id, to_word(DeliveryState::queued), zero, now, none, zero, none, now, none, zero});
      }
      ++position;
    }
  }
  BulkInsert::run_together(session, dialect, {&requests, &transactions, &marks, &deliveries});
}

/// The highest id from `first` to before `end` that a gift from outside has: ours go around them.
std::optional<std::int64_t> last_external(soci::session& session, std::int64_t first, std::int64_t end) {
  std::optional<TransactionId> last;
  session << "SELECT max(id) FROM recipient_transaction WHERE id >= :first AND id < :end_id AND origin <> ''",
      use(first), use(end), into(last);
  return last ? std::optional(last->value) : std::nullopt;
}

/// The key's row, which is there unless it was pruned between the insert and this look.
template <class Draft>
const KeyUse& use_of(const KeyUses& uses, const Draft& draft) {
  const auto found = uses.find(draft.key());
  if (found == uses.end()) throw BrokenWorld(true, "an Idempotency-Key was forgotten while it was looked up");
  return found->second;
}

CreateOutcome used_before(const KeyUse& use, const std::string& body_hash) {
  if (use.body_hash != body_hash) return {CreateOutcome::Kind::body_mismatch, use.request, {}, "", ""};
  return {CreateOutcome::Kind::replayed, use.request, {}, use.warnings, ""};
}

CreateOutcome failed(GiftRequestId id, const BrokenWorld& fault) {
  CreateOutcome outcome{CreateOutcome::Kind::failed, id, {}, "", fault.what()};
  outcome.transient = fault.transient();
  return outcome;
}

template <class Draft>
CreateOutcome unknown(const Draft& draft, const BrokenWorld& fault) {
  CreateOutcome outcome{CreateOutcome::Kind::unknown, draft.id, {}, "", fault.what()};
  outcome.transient = true;
  outcome.first_transaction = draft.first;
  return outcome;
}

template <class Draft>
CreateOutcome created(const Draft& draft) {
  CreateOutcome outcome{CreateOutcome::Kind::created, draft.id, {}, draft.asked->warnings, ""};
  std::int64_t id = draft.first.value;
  for (const NewRecipient& to : draft.asked->recipients) {
    RecipientTransaction& one = outcome.recipients.emplace_back();
    one.id = {id++};
    one.email = to.email;
    one.first_name = to.first_name;
    one.last_name = to.last_name;
    one.message = to.message;
    one.times[Status::sent] = draft.asked->request.created_at;
  }
  return outcome;
}

}  // namespace

GiftLedger::GiftLedger(const std::shared_ptr<sql::Database>& database)
    : database_(database),
      request_ids_(database, "request"),
      transaction_ids_(database, "transaction", last_external) {}

LifeStamp GiftLedger::stamp_of(const GiftRequest& request) const {
  return stamp_ ? stamp_(request.mode, request.created_at) : LifeStamp();
}

std::vector<GiftLedger::Draft> GiftLedger::draft(std::span<const NewGiftRequest> requests) {
  std::vector<Draft> drafts;
  drafts.reserve(requests.size());
  std::int64_t request_id = request_ids_.take(static_cast<std::int64_t>(requests.size()));
  for (const NewGiftRequest& asked : requests) {
    const std::int64_t first = transaction_ids_.take(static_cast<std::int64_t>(asked.recipients.size()));
    drafts.push_back(
        {&asked, {request_id++}, {first}, std::string(to_word(asked.request.mode)), stamp_of(asked.request)});
  }
  return drafts;
}

std::vector<CreateOutcome> GiftLedger::commit(std::span<const Draft> drafts) {
  const Dialect dialect = database_->dialect();
  std::vector<std::string> keys;
  for (const Draft& draft : drafts) {
    if (draft.asked->idempotency) keys.push_back(draft.asked->idempotency->key);
  }
  std::vector<CreateOutcome> outcomes = database_->write_urgently([&](soci::session& session) {
    insert_idempotency(session, dialect, drafts);
    const KeyUses uses = key_uses(session, dialect, keys);
    const auto sent = settle_origins(session, dialect, drafts);
    std::vector<Draft> fresh;
    std::vector<CreateOutcome> result;
    for (const Draft& draft : drafts) {
      if (draft.asked->origin) {
        const auto standing = sent.find(draft.asked->origin->key);
        if (standing == sent.end() || standing->second != draft.id) {
          result.push_back(standing == sent.end()
                               ? overtaken()
                               : CreateOutcome{CreateOutcome::Kind::replayed, standing->second, {}, "", ""});
          continue;
        }
      }
      const KeyUse* use = draft.asked->idempotency ? &use_of(uses, draft) : nullptr;
      if (!use || use->request == draft.id) {
        fresh.push_back(draft);
        result.push_back(created(draft));
      } else {
        result.push_back(used_before(*use, draft.asked->idempotency->body_hash));
      }
    }
    insert_gifts(session, dialect, fresh);
    return result;
  });
  for (CreateOutcome& outcome : outcomes) {
    if (outcome.kind == CreateOutcome::Kind::replayed) read_replay(outcome);
  }
  return outcomes;
}

/// The others in the group are durable by now, so a fault here is this outcome's alone.
void GiftLedger::read_replay(CreateOutcome& outcome) {
  try {
    outcome.recipients = recipients(outcome.request);
  } catch (const BrokenWorld& fault) {
    outcome = failed(outcome.request, fault);
  }
}

/// True when a gift from outside has come to one of the draft's ids since these were taken.
bool GiftLedger::meets_external(const Draft& draft) {
  const std::int64_t count = static_cast<std::int64_t>(draft.asked->recipients.size());
  return database_->read([&](soci::session& session) {
    return last_external(session, draft.first.value, draft.first.value + count).has_value();
  });
}

/// One draft by itself. When it may stand already, from a COMMIT whose fate was unknown, its ids tell. A row
/// that refuses it then may be its own: the lost commit went through after the look, and the next look sees
/// it. A row from outside that took one of its ids makes room for it by fresh ones.
/// Never throws BrokenWorld: others of its group may be durable already, whose outcome it must not take
/// along.
CreateOutcome GiftLedger::commit_alone(Draft draft, bool may_stand) {
  std::optional<sql::ConstraintBroken> refusal;
  while (true) {
    try {
      if (refusal) {
        if (!meets_external(draft)) return failed(draft.id, *refusal);
        while (meets_external(draft))
          draft.first = {transaction_ids_.take(static_cast<std::int64_t>(draft.asked->recipients.size()))};
      }
      if (may_stand && request(draft.id)) return created(draft);
      return commit(std::span(&draft, 1)).front();
    } catch (const sql::CommitUnknown& fault) {
      return unknown(draft, fault);
    } catch (const sql::ConstraintBroken& fault) {
      if (may_stand) return unknown(draft, fault);
      if (refusal) return failed(draft.id, fault);
      refusal = fault;
    } catch (const BrokenWorld& fault) {
      return may_stand && fault.transient() ? unknown(draft, fault) : failed(draft.id, fault);
    }
  }
}

std::vector<CreateOutcome> GiftLedger::create(std::span<const NewGiftRequest> requests) {
  const std::vector<Draft> drafts = draft(requests);
  bool may_stand = false;
  try {
    return commit(drafts);
  } catch (const sql::CommitUnknown&) {
    may_stand = true;  // nobody knows: each one is looked up
  } catch (const BrokenWorld& fault) {
    if (fault.transient()) throw;
    // One of them is refused: each for itself, so that it cannot fail the others.
  }
  std::vector<CreateOutcome> outcomes;
  outcomes.reserve(drafts.size());
  for (const Draft& draft : drafts) {
    // Who asks next would wait as long as the one before: whoever needs to know looks once the store is back.
    const bool is_away = !outcomes.empty() && outcomes.back().kind == CreateOutcome::Kind::unknown;
    outcomes.push_back(is_away ? unknown(draft, BrokenWorld(true, outcomes.back().error))
                               : commit_alone(draft, may_stand));
  }
  return outcomes;
}

CreateOutcome GiftLedger::settle(const NewGiftRequest& asked, const CreateOutcome& unknown) {
  return commit_alone({&asked, unknown.request, unknown.first_transaction,
                       std::string(to_word(asked.request.mode)), stamp_of(asked.request)},
                      true);
}

std::optional<CreateOutcome> GiftLedger::first_use(AccountId account, SendMode mode,
                                                   const IdempotencyKey& key) {
  const KeyUses uses = database_->read(
      [&](soci::session& session) { return key_uses(session, database_->dialect(), {key.key}); });
  const auto use = uses.find({account.value, std::string(to_word(mode)), key.key});
  if (use == uses.end()) return std::nullopt;
  CreateOutcome outcome = used_before(use->second, key.body_hash);
  if (outcome.kind == CreateOutcome::Kind::replayed) outcome.recipients = recipients(outcome.request);
  return outcome;
}

std::optional<GiftRequest> GiftLedger::request(GiftRequestId id) {
  return database_->read([&](soci::session& session) {
    std::optional<GiftRequest> found;
    sql::KeptQuery row(
        session, "SELECT " + std::string(sql::kRequestColumns) + " FROM gift_request r WHERE r.id = :id",
        {"id"});
    row.each_row({std::to_string(id.value)}, [&] { found = sql::gift_request_in(row, 0); });
    return found;
  });
}

std::vector<RecipientTransaction> GiftLedger::recipients(GiftRequestId id) {
  return database_->read([&](soci::session& session) {
    std::vector<RecipientTransaction> found;
    sql::KeptQuery row(session,
                       "SELECT " + std::string(sql::kTransactionColumns) +
                           " FROM recipient_transaction t WHERE t.request_id = :id ORDER BY t.position",
                       {"id"});
    row.each_row({std::to_string(id.value)}, [&] { found.push_back(sql::recipient_transaction_in(row, 0)); });
    return found;
  });
}

std::vector<Gift> GiftLedger::gifts(std::span<const TransactionId> ids) {
  const Dialect dialect = database_->dialect();
  const std::string list = sql::list_of(dialect, sql::values_of(ids));
  return database_->read([&](soci::session& session) {
    std::vector<Gift> found;
    found.reserve(ids.size());
    sql::KeptQuery row(session,
                       sql::gifts_query(sql::in_list(dialect, "t.id", "list", false) + " ORDER BY t.id"));
    row.each_row({list}, [&] { found.push_back(sql::gift_in(row)); });
    return found;
  });
}

std::vector<TransactionId> GiftLedger::contradictory(TransactionId after, std::size_t limit) {
  return database_->read([&](soci::session& session) {
    TransactionId id;
    std::vector<TransactionId> ids;
    soci::statement statement =
        sql::bound(session,
                   "SELECT id FROM recipient_transaction WHERE contradictory = 1 AND id > :after "
                   "ORDER BY id LIMIT " +
                       std::to_string(limit),
                   use(after), into(id));
    sql::each_row(statement, [&] { ids.push_back(id); });
    return ids;
  });
}

std::vector<TransactionId> GiftLedger::sent_elsewhere(std::span<const TransactionId> ids) {
  return database_->read([&](soci::session& session) {
    const std::string list = sql::list_of(database_->dialect(), sql::values_of(ids));
    TransactionId id;
    std::vector<TransactionId> found;
    soci::statement statement = sql::bound(session,
                                           "SELECT id FROM recipient_transaction WHERE origin NOT IN ('', '" +
                                               std::string(kAdoptedOrigin) + "') AND " +
                                               sql::in_list(database_->dialect(), "id", "ids", false),
                                           use(list), into(id));
    sql::each_row(statement, [&] { found.push_back(id); });
    return found;
  });
}

std::vector<TransactionId> GiftLedger::without_gift(std::span<const TransactionId> ids) {
  if (ids.empty()) return {};
  return database_->read([&](soci::session& session) {
    const auto known = sql::known_transactions(session, database_->dialect(), ids);
    std::vector<TransactionId> without;
    for (const TransactionId id : ids) {
      if (!known.contains(id)) without.push_back(id);
    }
    return without;
  });
}

TransactionId GiftLedger::next_transaction_id() {
  return {transaction_ids_.lowest_next()};
}

std::optional<TransactionId> GiftLedger::highest_transaction_id() {
  return database_->read([](soci::session& session) {
    std::optional<TransactionId> highest;
    session << "SELECT max(id) FROM recipient_transaction WHERE origin = ''", into(highest);
    return highest;
  });
}

void GiftLedger::start_transaction_ids_at(TransactionId lowest) {
  transaction_ids_.start_at(lowest.value);
}

std::int64_t GiftLedger::prune_idempotency(UtcMillis before) {
  return database_->write([&](soci::session& session) {
    soci::statement statement =
        sql::bound(session, "DELETE FROM idempotency WHERE created_at < :before", use(before));
    statement.execute(true);
    return static_cast<std::int64_t>(statement.get_affected_rows());
  });
}

}  // namespace giftsync::schema
