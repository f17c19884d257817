#include "schema/store/gift/gift_requests.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "schema/contact_normalization.h"
#include "schema/sql/bulk_rows.h"
#include "schema/sql/queries.h"
#include "schema/store/gift/change_rows.h"
#include "schema/store/gift/gift_rows.h"
#include "schema/store/statements/claims.h"
#include "schema/store/statements/feed_marks.h"
#include "schema/store/statements/mail_ids.h"
#include "schema/store/statements/rollup_deltas.h"

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
  bool is_former = false;  ///< a version before `reference` used it
};
using KeyUsages = std::map<std::tuple<std::int64_t, std::string, std::string>, KeyUsage>;

/// The mode of an idempotency key: a live key and a test key of an account may use the same text.
std::string key_mode(SendMode mode, bool is_test) {
  return (is_test ? "test_" : "") + std::string(to_word(mode));
}

}  // namespace

/// A request with its ids, ready for repeated write attempts.
struct GiftRequests::Draft {
  const NewGiftRequest* input;
  GiftRequestId id;
  TransactionId first;
  std::string key_mode;  ///< of its Idempotency-Key
  LifecycleStamp stamp = {};
  std::int64_t first_turn = 0;  ///< of its mails (MAIL-29)
  SendingCharge charge = {};
  bool may_be_committed = false;  ///< a COMMIT of it had an unknown result

  std::tuple<std::int64_t, std::string, std::string> key() const {
    return {input->request.account.value, key_mode, input->idempotency->key};
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
                        {"created_at", Type::integer},
                        {"is_former", Type::integer}},
                       "ON CONFLICT DO NOTHING");
  // In one order everywhere, so that of two groups with the same keys one waits for the other.
  std::multimap<std::tuple<std::int64_t, std::string, std::string>, const typename Drafts::value_type*> keyed;
  for (const auto& draft : drafts) {
    if (draft.input->idempotency) keyed.emplace(draft.key(), &draft);
  }
  for (const auto& [key, draft] : keyed) {
    const NewGiftRequest& input = *draft->input;
    rows.add({input.request.account.value, draft->key_mode, input.idempotency->key,
              input.idempotency->body_hash, draft->id.value, input.warnings, input.request.created_at.value,
              std::int64_t{0}});
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
  soci::statement statement =
      sql::bound(session,
                 "SELECT account_id, mode, key, body_hash, request_id, warnings, is_former "
                 "FROM gift_request_idempotency WHERE " +
                     sql::in_list(session, "key", "keys", true),
                 use(list), into(account), into(mode), into(key), into(row.body_hash), into(row.request),
                 into(row.warnings), into(row.is_former));
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

bool all_hold(const std::vector<ExceededLimit>& exceeded) {
  return std::ranges::all_of(exceeded, [](const ExceededLimit& limit) { return limit.limit.holds; });
}

void insert_held_of(soci::session& session, std::span<const CreateOutcome> outcomes) {
  std::vector<HeldGiftRequest> rows;
  for (const CreateOutcome& outcome : outcomes)
    if (outcome.kind == CreateOutcome::Kind::held) rows.push_back(*outcome.held);
  if (!rows.empty()) insert_held(session, rows);
}

/// Of so many gifts; what is known of it.
std::optional<Money> price_of(const GiftRequest& request, std::int64_t gifts) {
  return price_of_gifts(request.costs.total(), gifts);
}

/// The transaction is to be made again, with locks on what its limits count.
struct LocksNeeded {};

/// Counts the request in the limits of `charge` if it fits; else pauses the key or token whose burst it is,
/// unless that holds.
template <class Draft>
std::vector<ExceededLimit> add_usage(soci::session& session, UsageCount& count, const Draft& draft,
                                     const SendingCharge& charge) {
  const GiftRequest& request = draft.input->request;
  const auto gifts = static_cast<std::int64_t>(draft.input->recipients.size());
  std::vector<ExceededLimit> exceeded =
      count.add(charge, gifts, price_of(request, gifts), request.costs.item.has_value());
  for (ExceededLimit& limit : exceeded) {
    if (!limit.limit.is_burst() || limit.limit.holds) continue;
    // A key is paused for what is certain, and locked after usage by all.
    if (!count.is_locked()) throw LocksNeeded();
    limit.is_new_pause = pause_for_burst(session, limit.limit, request.created_at);
  }
  return exceeded;
}

/// The limits that the request exceeds; counts nothing.
template <class Draft>
std::vector<ExceededLimit> ask_usage(const UsageCount& count, const Draft& draft) {
  const GiftRequest& request = draft.input->request;
  const auto gifts = static_cast<std::int64_t>(draft.input->recipients.size());
  std::vector<ExceededLimit> exceeded;
  for (AskedLimit& asked :
       count.ask(draft.charge, gifts, price_of(request, gifts), request.costs.item.has_value()))
    if (asked.is_exceeded()) exceeded.push_back({std::move(asked)});
  return exceeded;
}

SendingCharge pausing_bursts(SendingCharge charge) {
  std::erase_if(charge.limits, [](const UsageLimit& limit) { return !limit.is_burst() || limit.holds; });
  return charge;
}

/// Its lost COMMIT has become visible meanwhile: it is counted or held already, and its rows must stay. The
/// caller looks it up again.
template <class Draft>
void throw_if_committed(soci::session& session, const Draft& draft) {
  if (sql::has_row(session, "gift_request WHERE id = :id", use(draft.id)))
    throw sql::ConstraintViolation("the gift request exists already");
  if (!draft.input->approval &&
      sql::has_row(session, "held_gift_request WHERE request_id = :id", use(draft.id)))
    throw sql::ConstraintViolation("the gift request is held already");
}

/// A refused request leaves nothing behind.
template <class Draft>
void delete_traces(soci::session& session, const Draft& draft) {
  if (draft.input->idempotency) {
    const auto& [account, mode, key] = draft.key();
    session
        << "DELETE FROM gift_request_idempotency WHERE account_id = :account AND mode = :mode AND key = :key",
        use(account, "account"), use(mode, "mode"), use(key, "key");
  }
  if (draft.input->request_record)
    session << "DELETE FROM request_record_gift WHERE record_id = :id",
        use(draft.input->request_record->record_id);
}

/// The warnings of a created request, which a repeat under its key gets too.
template <class Draft>
void add_warnings(soci::session& session, const Draft& draft, CreateOutcome& outcome) {
  if (outcome.recent.empty() || !draft.input->warnings_with_recent) return;
  outcome.warnings = draft.input->warnings_with_recent(outcome.recent);
  if (!draft.input->idempotency) return;
  const auto& [account, mode, key] = draft.key();
  session
      << "UPDATE gift_request_idempotency SET warnings = :warnings WHERE account_id = :account AND mode = "
         ":mode AND key = :key",
      use(outcome.warnings, "warnings"), use(account, "account"), use(mode, "mode"), use(key, "key");
}

/// Its gifts differ in nothing that is counted.
void add_made_gifts(const GiftRequest& request, std::size_t count, RollupDeltas& deltas) {
  RecipientTransaction made;
  made.times[Status::sent] = request.created_at;
  const auto gift = counted_gift(request, made);
  if (!gift) return;
  GiftNumbers numbers = numbers_of(*gift);
  for (std::int64_t& value : numbers.values) value *= static_cast<std::int64_t>(count);
  deltas.add(gift->by, numbers);
}

template <class Draft>
void insert_gifts(soci::session& session, const std::vector<const Draft*>& drafts,
                  const std::set<std::string>& new_domains, bool mails_test_gifts) {
  sql::BulkInsert domains(session, "recipient_domain", {{"domain", Type::text}, {"first_at", Type::integer}},
                          "ON CONFLICT DO NOTHING");
  for (const std::string& domain : new_domains)
    domains.add({std::string_view(domain), drafts.front()->input->request.created_at.value});
  sql::BulkInsert requests = gift_request_rows(session);
  std::vector<sql::BulkInsert::Column> more{
      {"due_at", Type::integer}, {"is_test", Type::integer}, {"reference", Type::text}};
  const bool is_in_feed = keeps_feed(session);
  if (is_in_feed) more.push_back({"published", Type::text});
  sql::BulkInsert transactions = recipient_transaction_rows(session, more);
  sql::BulkInsert feed = feed_mark_rows(session);
  // As if its first event was published already, so that the feed does not write the row again for it.
  const std::string_view published = kPublishedOfMade;
  sql::BulkInsert marks = crm_outbox_rows(session);
  std::vector<sql::BulkInsert::Column> mail_columns{
      {"transaction_id", Type::integer},  {"state", Type::text},         {"attempt", Type::integer},
      {"next_attempt_at", Type::integer}, {"message_id", Type::text},    {"uncertain_retries", Type::integer},
      {"last_reply", Type::text},         {"updated_at", Type::integer}, {"lease_owner", Type::text},
      {"lease_until", Type::integer},     {"turn", Type::integer}};
  sql::BulkInsert deliveries(session, "mail_outbox", mail_columns);
  // A test gift has no mail of its own, so none can leave for its recipient (TEST-2).
  mail_columns.push_back({"kind", Type::text});
  sql::BulkInsert test_mails(session, "mail_outbox", std::move(mail_columns));
  sql::BulkInsert references(
      session, "gift_reference",
      {{"reference", Type::text}, {"request_id", Type::integer}, {"transaction_id", Type::integer}});
  RollupDeltas deltas;
  const std::string_view none;
  const std::int64_t zero = 0;
  for (const Draft* draft : drafts) {
    add_made_gifts(draft->input->request, draft->input->recipients.size(), deltas);
    if (const std::string& own = draft->input->request.reference; !own.empty())
      references.add({own, draft->id.value, zero});
    const std::int64_t now = draft->input->request.created_at.value;
    add_gift_request(requests, draft->id, draft->input->request, draft->stamp.terms, draft->charge.day);
    const sql::Cell due = draft->stamp.due_at ? sql::Cell(draft->stamp.due_at->value) : sql::Cell();
    std::int64_t position = 0;
    for (const NewRecipient& to : draft->input->recipients) {
      const std::int64_t id = draft->first.value + position;
      const std::string email = email_to_store(to.email);
      const sql::Cell cells[] = {id,
                                 draft->id.value,
                                 position,
                                 email,
                                 to.first_name,
                                 to.last_name,
                                 to.message,
                                 zero,
                                 to_word(Status::sent),
                                 now,
                                 std::int64_t{1},
                                 due,
                                 std::int64_t{draft->input->request.is_test},
                                 to.reference,
                                 published};
      transactions.add(std::span(cells).first(is_in_feed ? std::size(cells) : std::size(cells) - 1));
      add_crm_outbox_row(marks, {id}, {now});
      if (is_in_feed) add_feed_mark(feed, FeedMarkKind::gift, id, feed_reason::kMade, {now});
      if (!to.reference.empty()) references.add({to.reference, draft->id.value, id});
      const bool is_mailed = draft->input->request.mode == SendMode::email;
      if (draft->input->request.is_test) {
        if (is_mailed && mails_test_gifts)
          test_mails.add({test_mail_of({id}).value, to_word(DeliveryState::queued), zero, now, none, zero,
                          none, now, none, zero, draft->first_turn + position, to_word(MailKind::test)});
      } else if (is_mailed) {
        deliveries.add({id, to_word(DeliveryState::queued), zero, now, none, zero, none, now, none, zero,
                        draft->first_turn + position});
      }
      ++position;
    }
  }
  sql::BulkInsert rollup = deltas.rows(session, false);
  sql::BulkInsert::run_combined(session, {&requests, &transactions, &marks, &deliveries, &test_mails,
                                          &domains, &references, &feed, &rollup});
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

CreateOutcome decided_before(GiftRequestId id) {
  return {CreateOutcome::Kind::failed, id, {}, "", "the held request was decided before"};
}

CreateOutcome replay_outcome(const KeyUsage& use, const IdempotencyKey& key) {
  const bool is_of_former = use.is_former && !key.former_hash.empty();
  if (use.body_hash != (is_of_former ? key.former_hash : key.body_hash))
    return {CreateOutcome::Kind::body_mismatch, use.request, {}, "", ""};
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
    transaction.email = email_to_store(to.email);
    transaction.first_name = to.first_name;
    transaction.last_name = to.last_name;
    transaction.message = to.message;
    transaction.times[Status::sent] = draft.input->request.created_at;
    transaction.is_test = draft.input->request.is_test;
  }
  return outcome;
}

}  // namespace

GiftRequests::GiftRequests(const std::shared_ptr<sql::Database>& database, MailTurns& mail_turns)
    : database_(database),
      domains_(database),
      request_ids_(database, "gift_request"),
      transaction_ids_(database, "recipient_transaction", highest_external_id),
      mail_turns_(mail_turns) {}

LifecycleStamp GiftRequests::lifecycle_stamp_of(const GiftRequest& request) const {
  if (request.is_test) return {std::string(kTestTerms), request.created_at + kSecondMillis};
  return lifecycle_stamp_ ? lifecycle_stamp_(request.mode, request.created_at) : LifecycleStamp();
}

std::int64_t GiftRequests::first_turn_of(const GiftRequest& request) {
  const bool is_mailed = request.mode == SendMode::email && (!request.is_test || mails_test_gifts_);
  return is_mailed ? mail_turns_.first_turn(request.account, request.created_at) : 0;
}

FrequencyRequest GiftRequests::frequency_request(const NewGiftRequest& asked) const {
  FrequencyRequest request{frequency_time_ ? frequency_time_() : asked.request.created_at,
                           asked.request.organization.value_or(OrganizationId{}),
                           {},
                           {},
                           asked.request.is_test};
  for (const NewRecipient& recipient : asked.recipients) request.emails.push_back(recipient.email);
  return request;
}

SendingCharge GiftRequests::charge_of(const NewGiftRequest& input) const {
  if (!sending_charge_) return {};
  SendingCharge charge = sending_charge_(input.request);
  // What a person approved is counted in budgets, but exceeds none; its key asked for it long ago.
  if (input.approval) std::erase_if(charge.limits, [](const UsageLimit& limit) { return limit.is_burst(); });
  for (UsageLimit& limit : charge.limits)
    if (input.approval || (input.passes_holding_limits && limit.holds)) limit.limits = {};
  return charge;
}

std::vector<GiftRequests::Draft> GiftRequests::draft(std::span<const NewGiftRequest> requests) {
  std::vector<Draft> drafts;
  drafts.reserve(requests.size());
  const auto fresh_ids =
      std::ranges::count_if(requests, [](const NewGiftRequest& input) { return !input.approval; });
  std::int64_t request_id = fresh_ids > 0 ? request_ids_.allocate(fresh_ids) : 0;
  for (const NewGiftRequest& input : requests) {
    const std::int64_t first = transaction_ids_.allocate(static_cast<std::int64_t>(input.recipients.size()));
    drafts.push_back({&input,
                      input.approval ? input.approval->request : GiftRequestId{request_id++},
                      {first},
                      key_mode(input.request.mode, input.request.is_test),
                      lifecycle_stamp_of(input.request),
                      first_turn_of(input.request),
                      charge_of(input)});
  }
  return drafts;
}

/// What becomes of the draft behind those before it: it is created, held or refused. `outcome.recent`: its
/// recipients beyond the frequency rule.
CreateOutcome::Kind GiftRequests::decide(soci::session& session, UsageCount& count, const Draft& draft,
                                         CreateOutcome& outcome) const {
  using Kind = CreateOutcome::Kind;
  const NewGiftRequest& input = *draft.input;
  std::vector<HoldReason> reasons = input.hold_reasons;
  if (reasons.empty()) {
    const bool is_recent = !outcome.recent.empty() && frequency_rule_.refuses;
    if (is_recent && !frequency_rule_.holds) return Kind::refused;
    // A request that a recipient holds is not counted; one that a limit refuses all the same may pause its
    // key.
    outcome.exceeded = is_recent ? ask_usage(count, draft) : add_usage(session, count, draft, draft.charge);
    if (outcome.exceeded.empty() && !is_recent) return Kind::created;
    const bool is_held = all_hold(outcome.exceeded);
    if (!is_held && is_recent) outcome.exceeded = add_usage(session, count, draft, draft.charge);
    if (!is_held || !is_recent) outcome.recent.clear();
    // A request record waits in the CRM instead.
    if (!is_held || input.request_record) return Kind::refused;
    reasons = hold_terms_.reasons_of(outcome.exceeded, outcome.recent);
  }
  // What is held counts in the burst that pauses: a program that asks on and on is to be stopped.
  outcome.exceeded = add_usage(session, count, draft, pausing_bursts(draft.charge));
  if (!outcome.exceeded.empty()) {
    outcome.recent.clear();
    return Kind::refused;
  }
  outcome.held = std::make_shared<HeldGiftRequest>(
      held_row(draft.id, input, reasons, input.request.created_at + hold_terms_.expire_millis));
  return Kind::held;
}

/// Counts the drafts in their order and keeps those that are created; `outcomes` of the others, at their
/// places, become held or refused.
UsageCount GiftRequests::keep_allowed(soci::session& session, UsageCount::Use use,
                                      std::vector<const Draft*>& drafts,
                                      const std::vector<std::size_t>& places,
                                      std::vector<CreateOutcome>& outcomes) const {
  std::vector<const SendingCharge*> charges;
  std::vector<FrequencyRequest> requests;
  for (const Draft* draft : drafts) {
    charges.push_back(&draft->charge);
    if (frequency_rule_.gifts > 0) requests.push_back(frequency_request(*draft->input));
  }
  RecipientFrequency frequency(session, frequency_rule_, requests, RecipientFrequency::Use::to_create);
  UsageCount count(session, charges, use);
  std::vector<const Draft*> allowed;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    const Draft& draft = *drafts[i];
    CreateOutcome& outcome = outcomes[places[i]];
    // What a person approved exceeds no limit; what a rule holds is not checked yet.
    const NewGiftRequest& input = *draft.input;
    const bool is_limited = !input.approval && input.hold_reasons.empty() &&
                            !(input.passes_holding_limits && frequency_rule_.holds);
    if (!requests.empty() && is_limited) outcome.recent = frequency.beyond_limit(requests[i]);
    outcome.kind = decide(session, count, draft, outcome);
    if (outcome.kind == CreateOutcome::Kind::refused || draft.may_be_committed)
      throw_if_committed(session, draft);
    if (outcome.kind == CreateOutcome::Kind::created) {
      if (!requests.empty()) frequency.add(requests[i]);
      add_warnings(session, draft, outcome);
      allowed.push_back(&draft);
      continue;
    }
    outcome.recipients.clear();
    if (outcome.kind == CreateOutcome::Kind::held) {
      outcome.recent.clear();
      continue;
    }
    outcome.warnings.clear();
    delete_traces(session, draft);
  }
  drafts = std::move(allowed);
  return count;
}

GiftRequests::Inserted GiftRequests::insert(soci::session& session, UsageCount::Use use,
                                            std::span<const Draft> drafts, const OtherWrites& others) {
  if (drafts.empty()) {
    if (others) others(session);
    return {};
  }
  std::vector<std::string> keys;
  for (const Draft& draft : drafts) {
    if (draft.input->idempotency) keys.push_back(draft.input->idempotency->key);
  }
  insert_idempotency(session, drafts);
  const KeyUsages uses = select_key_usages(session, keys);
  const auto sent = insert_record_gifts(session, drafts);
  std::vector<const Draft*> fresh;
  std::vector<std::size_t> places;  // in the result
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
    if (draft.input->approval &&
        !approve_held(session, *draft.input->approval, draft.input->request.created_at)) {
      if (draft.may_be_committed) throw_if_committed(session, draft);
      result.push_back(decided_before(draft.id));
      continue;
    }
    const KeyUsage* key_use = draft.input->idempotency ? &usage_of(uses, draft) : nullptr;
    if (!key_use || key_use->request == draft.id) {
      fresh.push_back(&draft);
      places.push_back(result.size());
      result.push_back(created(draft));
    } else {
      result.push_back(replay_outcome(*key_use, *draft.input->idempotency));
    }
  }
  const UsageCount count = keep_allowed(session, use, fresh, places, result);
  insert_held_of(session, result);
  std::vector<const NewGiftRequest*> sent_now;
  for (const Draft* draft : fresh)
    if (!draft->input->request.is_test) sent_now.push_back(draft->input);
  std::set<std::string> domains = domains_.unknown_of(sent_now);
  insert_gifts(session, fresh, domains, mails_test_gifts_);
  if (others) others(session);
  if (!count.save(session)) throw LocksNeeded();
  return {std::move(result), std::move(domains)};
}

std::vector<CreateOutcome> GiftRequests::commit(std::span<const Draft> drafts, const OtherWrites& others) {
  const auto insert_once = [&](UsageCount::Use use) {
    return database_->write_urgent(
        [&](soci::session& session) { return insert(session, use, drafts, others); });
  };
  // The locks wait for a COMMIT whose result is unknown.
  const bool may_be_committed = std::ranges::any_of(drafts, &Draft::may_be_committed);
  Inserted inserted;
  try {
    inserted = insert_once(may_be_committed ? UsageCount::Use::to_count_locked : UsageCount::Use::to_count);
  } catch (const LocksNeeded&) {
    inserted = insert_once(UsageCount::Use::to_count_locked);
  }
  domains_.remember(inserted.domains);
  for (CreateOutcome& outcome : inserted.outcomes) {
    if (outcome.kind == CreateOutcome::Kind::replayed) read_replay(outcome);
  }
  return std::move(inserted.outcomes);
}

/// Of a call that was made before, whether its gifts were made or it was held.
void GiftRequests::find_replayed(CreateOutcome& outcome) {
  outcome.recipients = find_recipients(outcome.request);
  if (!outcome.recipients.empty()) return;
  auto held = HeldGiftRequests(database_).find(outcome.request);
  if (!held) return;
  outcome.held = std::make_shared<HeldGiftRequest>(std::move(*held));
  if (outcome.held->state == HeldState::sent)
    outcome.recipients = find_recipients(outcome.request);  // approved between the two reads
  else
    outcome.kind = CreateOutcome::Kind::held;
}

/// The others in the group are durable by now, so a fault here is this outcome's alone.
void GiftRequests::read_replay(CreateOutcome& outcome) {
  try {
    find_replayed(outcome);
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

/// Of a draft whose COMMIT had an unknown result: with the warnings that it was made with.
CreateOutcome GiftRequests::committed(const Draft& draft) {
  CreateOutcome outcome = created(draft);
  if (frequency_rule_.gifts == 0 || frequency_rule_.refuses) return outcome;
  FrequencyRequest request = frequency_request(*draft.input);
  request.made = draft.first;
  outcome.recent = find_beyond(request);
  if (!outcome.recent.empty() && draft.input->warnings_with_recent)
    outcome.warnings = draft.input->warnings_with_recent(outcome.recent);
  if (!draft.input->idempotency) return outcome;
  const auto stored = find_idempotent(draft.input->request.account, draft.input->request.mode,
                                      *draft.input->idempotency, draft.input->request.is_test);
  if (stored && stored->kind == CreateOutcome::Kind::replayed) outcome.warnings = stored->warnings;
  return outcome;
}

/// What the draft became if its COMMIT happened. The gifts of a request that was held have the ids of its
/// approval.
std::optional<CreateOutcome> GiftRequests::find_committed(const Draft& draft) {
  if (find_gift_request(draft.id) && !HeldGiftRequests(database_).find(draft.id)) return committed(draft);
  CreateOutcome outcome{CreateOutcome::Kind::replayed, draft.id, {}, draft.input->warnings, ""};
  find_replayed(outcome);
  if (!outcome.recipients.empty()) return outcome;
  return outcome.held && !draft.input->approval ? std::optional(std::move(outcome)) : std::nullopt;
}

/// Creates one draft alone. After a COMMIT with an unknown result its ids show whether it exists. A row that
/// causes a conflict may be its own: the lost commit became visible after the check, and the next check finds
/// it. If a gift that was sent elsewhere took one of its ids, the draft gets new ones. Never throws
/// DependencyError, because other drafts of its group may be durable already and their outcomes must not be
/// lost.
CreateOutcome GiftRequests::commit_alone(Draft draft, bool may_be_committed) {
  draft.may_be_committed = may_be_committed;
  std::optional<sql::ConstraintViolation> refusal;
  while (true) {
    try {
      if (refusal) {
        if (!overlaps_external(draft)) return failed(draft.id, *refusal);
        while (overlaps_external(draft))
          draft.first = {
              transaction_ids_.allocate(static_cast<std::int64_t>(draft.input->recipients.size()))};
      }
      if (may_be_committed) {
        if (auto standing = find_committed(draft)) return std::move(*standing);
      }
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
  Draft draft{&input, unknown.request, unknown.first_transaction,
              key_mode(input.request.mode, input.request.is_test), lifecycle_stamp_of(input.request)};
  try {
    draft.first_turn = first_turn_of(input.request);
    draft.charge = charge_of(input);
  } catch (const DependencyError& fault) {
    return store::unknown(draft, fault);
  }
  return commit_alone(std::move(draft), true);
}

std::optional<CreateOutcome> GiftRequests::find_idempotent(AccountId account, SendMode mode,
                                                           const IdempotencyKey& key, bool is_test) {
  const KeyUsages uses =
      database_->read([&](soci::session& session) { return select_key_usages(session, {key.key}); });
  const auto use = uses.find({account.value, key_mode(mode, is_test), key.key});
  if (use == uses.end()) return std::nullopt;
  CreateOutcome outcome = replay_outcome(use->second, key);
  if (outcome.kind == CreateOutcome::Kind::replayed) find_replayed(outcome);
  return outcome;
}

std::vector<RecentRecipient> GiftRequests::find_beyond_frequency(const NewGiftRequest& new_request) {
  if (frequency_rule_.gifts == 0) return {};
  return find_beyond(frequency_request(new_request));
}

std::vector<RecentRecipient> GiftRequests::find_beyond(const FrequencyRequest& request) {
  return database_->read([&](soci::session& session) {
    return RecipientFrequency(session, frequency_rule_, std::span(&request, 1),
                              RecipientFrequency::Use::to_read)
        .beyond_limit(request);
  });
}

std::vector<AskedLimit> GiftRequests::ask_limits(const GiftRequest& request, std::size_t gifts) {
  if (!sending_charge_) return {};
  const SendingCharge charge = sending_charge_(request);
  if (charge.limits.empty()) return {};
  return database_->read([&](soci::session& session) {
    const SendingCharge* const charges[] = {&charge};
    const auto count = static_cast<std::int64_t>(gifts);
    return UsageCount(session, charges, UsageCount::Use::to_read)
        .ask(charge, count, price_of(request, count), request.costs.item.has_value());
  });
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
        "SELECT id FROM recipient_transaction WHERE has_conflict = 1 AND is_test = 0 AND id > :after "
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
