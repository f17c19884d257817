#include "sync/request/request_record_sending.h"

#include <algorithm>
#include <limits>
#include <tl/expected.hpp>

#include "platform/text.h"
#include "sync/access/recent_recipients.h"
#include "sync/access/sending_budgets.h"
#include "sync/mail/delivery_rules.h"
#include "sync/request/request_record_findings.h"

namespace giftsync::sync {
namespace {

using F = RequestRecordField;
using State = store::RequestRecordState;
using store::RequestRecordEntry;
using store::RequestRecordEntryUpdate;
using Ids = std::vector<std::string>;

struct Failure {
  std::string record_id;
  std::string text;
  bool is_transient = false;  ///< not caused by the record: retried automatically
  std::int64_t most_retry_after_millis = kMaxSyncRetryMillis;
  std::optional<UtcMillis> retry_by = {};  ///< also before the growing wait is over
};

/// An approved record, or a claimed one as it was saved with its claim.
struct RecordToSend {
  std::string record_id;
  RequestRecord record;
  bool person_found = true;
};

void apply(const crm::RequestRecordUpdate& write, RequestRecord& row) {
  if (write.status) row.set(F::status, std::string(to_word(*write.status)));
  const auto set_text = [&](F field, const std::optional<std::string>& text) {
    if (text) row.set(field, text->empty() ? FieldValue() : FieldValue(*text));
  };
  set_text(F::error_log, write.error_log);
  if (write.auto_approved) row.set(F::auto_approved, *write.auto_approved);
  set_text(F::item_link, write.item_link);
  if (write.claimed) row.claimed = *write.claimed;
}

/// The update that makes Error Log what the store has.
crm::RequestRecordUpdate error_log_update(const RequestWork& work) {
  crm::RequestRecordUpdate write{work.loaded.row};
  if (work.loaded.row.text(F::error_log) != work.known.error) write.error_log = work.known.error;
  return write;
}

/// Leaves them Approved with an Error Log; transient failures are scheduled for a retry.
void report_failures(const RequestRecordContext& context, const std::vector<Failure>& failures,
                     RequestRecordBatch& batch) {
  std::vector<RequestRecordEntryUpdate> changes;
  for (const Failure& failure : failures) {
    ++batch.stats.failed;
    RequestRecordEntry next = batch.works.at(failure.record_id).known;
    const std::string text = error_log_text(failure.text);
    if (next.error != text)
      batch.stats.warnings.push_back(
          request_record_line(LogEvent::request_record_not_sent, next.number, " was not sent: " + text));
    if (next.state == State::claimed) next.state = *state_after(next.state, RequestRecordAction::release);
    next.error = text;
    next.failures += 1;
    next.next_attempt_at.reset();
    if (failure.is_transient)
      next.next_attempt_at = std::min(
          context.now + std::min(rejected_retry_millis(next.failures), failure.most_retry_after_millis),
          failure.retry_by.value_or(UtcMillis{std::numeric_limits<std::int64_t>::max()}));
    changes.push_back({std::move(next), {}});
  }
  const std::set<std::string> saved = save_entries(context.store.request_records, changes, batch);
  std::vector<crm::RequestRecordUpdate> writes;
  for (const Failure& failure : failures) {
    if (!saved.contains(failure.record_id)) continue;
    const RequestWork& work = batch.works.at(failure.record_id);
    crm::RequestRecordUpdate write = error_log_update(work);
    if (work.loaded.row.claimed) write.claimed = false;
    if (write.error_log || write.claimed) writes.push_back(std::move(write));
  }
  write_records(context.records, writes, batch);
}

struct WaitingRecord {
  std::string record_id;
  std::string why;
};

/// A person has to approve them: Auto-Approved is not applied, and giftsync unchecks it (GUARD-30).
void let_wait(const RequestRecordContext& context, const std::vector<WaitingRecord>& waiting,
              RequestRecordBatch& batch) {
  std::vector<RequestRecordEntryUpdate> changes;
  for (const WaitingRecord& record : waiting) {
    RequestRecordEntry next = batch.works.at(record.record_id).known;
    if (next.state == State::claimed) next.state = *state_after(next.state, RequestRecordAction::release);
    next.state = *state_after(next.state, RequestRecordAction::withdraw);
    next.approval = store::Approval::none;
    next.approved_by.clear();
    next.approved_content.clear();
    next.gift_request_text.clear();
    next.failures = 0;
    next.error = error_log_text(std::string(kHeldError) + record.why);
    next.next_attempt_at = context.now + kWriteInFlightMillis;
    const store::RequestRecordTransition withdrawn{context.now, "giftsync",
                                                   std::string(to_word(State::approved)),
                                                   std::string(to_word(next.state)), next.error};
    changes.push_back({std::move(next), {withdrawn}});
  }
  const std::set<std::string> saved = save_entries(context.store.request_records, changes, batch);
  std::vector<crm::RequestRecordUpdate> writes;
  for (const std::string& record_id : saved) {
    const RequestWork& work = batch.works.at(record_id);
    crm::RequestRecordUpdate& write = writes.emplace_back(error_log_update(work));
    write.status = RequestRecordStatus::pending;
    write.auto_approved = false;
    if (work.loaded.row.claimed) write.claimed = false;
  }
  save_withdrawn(context.store.request_records, write_records(context.records, writes, batch), batch);
}

/// Why the record waits for a person; empty: it does not.
std::string reason_to_wait(const RequestRecordContext& context, const RequestWork& work,
                           const store::NewGiftRequest& request) {
  std::string why;
  if (!context.rules.hold_reasons || work.known.approval != store::Approval::automatic) return why;
  for (const store::HoldReason& reason : context.rules.hold_reasons(request))
    why += (why.empty() ? "" : " ") + reason.message;
  return why;
}

/// By user, of the records that name one.
std::map<std::string, SenderAuthorization> authorizations(const RequestRecordRules& rules,
                                                          const std::vector<RecordToSend>& records) {
  std::set<std::string> users;
  for (const RecordToSend& to_send : records) users.insert(to_send.record.text(F::sender));
  users.erase("");
  std::map<std::string, SenderAuthorization> by_user;
  if (users.empty()) return by_user;
  const Ids ids(users.begin(), users.end());
  std::vector<SenderAuthorization> found = rules.authorize_senders(ids);
  for (std::size_t i = 0; i < ids.size(); ++i) by_user.emplace(ids[i], std::move(found[i]));
  return by_user;
}

/// What was found out about all records before, with one lookup for each.
struct LookedUp {
  std::map<std::string, SenderAuthorization> senders;
  std::map<std::string, std::string> refusals;
};

LookedUp look_up(const RequestRecordRules& rules, const std::vector<RecordToSend>& records) {
  std::set<std::string> emails;
  for (const RecordToSend& to_send : records) emails.insert(recipient_of(to_send.record));
  return {authorizations(rules, records), refusals_of(std::move(emails), rules)};
}

tl::expected<store::NewGiftRequest, Failure> prepare(const RequestRecordContext& context,
                                                     const RecordToSend& to_send, const LookedUp& looked_up,
                                                     RequestRecordBatch& batch) {
  const auto known_sender = looked_up.senders.find(to_send.record.text(F::sender));
  const SenderAuthorization sender =
      known_sender == looked_up.senders.end() ? SenderAuthorization() : known_sender->second;
  const store::GiftItem* item = nullptr;
  if (const auto gift = gift_id_of(to_send.record)) {
    auto known = batch.items.find(*gift);
    if (known == batch.items.end())
      known = batch.items.emplace(*gift, context.store.catalogue.item(*gift)).first;
    if (known->second) item = &*known->second;
  }
  SendingFacts facts{item, to_send.person_found, sender, context.rules.limits};
  const auto refusal = looked_up.refusals.find(recipient_of(to_send.record));
  if (refusal != looked_up.refusals.end()) facts.refusal = refusal->second;
  const std::vector<RequestRecordFinding> findings = sending_findings(to_send.record, facts);
  if (findings.empty()) return make_gift_request(to_send.record, *item, *sender.account, context.now);
  return tl::unexpected(Failure{to_send.record_id, error_log_of(findings, to_send.record.text(F::number)),
                                findings.front().is_retried, context.rules.most_sender_retry_after_millis});
}

/// Prepares the gift requests of valid records and returns their Ids; reports the failures of the others.
Ids prepare(const RequestRecordContext& context, const std::vector<RecordToSend>& records,
            RequestRecordBatch& batch) {
  const LookedUp looked_up = look_up(context.rules, records);
  Ids valid_ids;
  std::vector<Failure> failures;
  std::vector<WaitingRecord> waiting;
  for (const RecordToSend& to_send : records) {
    auto prepared = prepare(context, to_send, looked_up, batch);
    if (!prepared) {
      failures.push_back(prepared.error());
      continue;
    }
    RequestWork& work = batch.works.at(to_send.record_id);
    if (std::string why = reason_to_wait(context, work, *prepared); !why.empty()) {
      waiting.push_back({to_send.record_id, std::move(why)});
      continue;
    }
    prepared->passes_holding_limits = work.known.approval == store::Approval::person;
    work.gift_request = std::move(*prepared);
    valid_ids.push_back(to_send.record_id);
  }
  report_failures(context, failures, batch);
  let_wait(context, waiting, batch);
  return valid_ids;
}

/// Claims the records: the claim and the content to send are saved in the store, then claimed in the CRM by
/// a conditional update, which fails if the record was edited or rejected meanwhile. Only a record whose
/// update succeeded is sent; returns those.
Ids claim(const RequestRecordContext& context, const Ids& record_ids, RequestRecordBatch& batch) {
  std::vector<RequestRecordEntryUpdate> changes;
  for (const std::string& record_id : record_ids) {
    const RequestWork& work = batch.works.at(record_id);
    RequestRecordEntry next = work.known;
    next.state = *state_after(next.state, RequestRecordAction::claim);
    next.gift_request_text = format_request_record(work.loaded.completed);
    next.next_attempt_at = context.now + kClaimInFlightMillis;
    changes.push_back({std::move(next), {}});
  }
  const std::set<std::string> saved = save_entries(context.store.request_records, changes, batch);
  std::vector<crm::RequestRecordUpdate> writes;
  for (const std::string& record_id : record_ids) {
    if (!saved.contains(record_id)) continue;
    crm::RequestRecordUpdate write{batch.works.at(record_id).loaded.row};
    write.claimed = true;
    writes.push_back(std::move(write));
  }
  const std::set<std::string> claimed = write_records(context.records, writes, batch);
  std::vector<RequestRecordEntryUpdate> lost;
  for (const std::string& record_id : saved) {
    if (claimed.contains(record_id)) continue;
    RequestRecordEntry next = batch.works.at(record_id).known;
    next.state = *state_after(next.state, RequestRecordAction::release);
    next.gift_request_text.clear();
    // Reconciled again at once, unless the CRM asks for a while (REQ-56).
    const bool is_postponed = batch.works.at(record_id).is_postponed;
    const std::int64_t rest = batch.works.at(record_id).retry_after_millis;
    next.next_attempt_at = context.now + (is_postponed ? std::max(kPostponedClaimMillis, rest) : 0);
    lost.push_back({std::move(next), {}});
  }
  save_entries(context.store.request_records, lost, batch);
  return {claimed.begin(), claimed.end()};
}

/// A rejection after the claim is reverted and reported in Error Log.
std::string error_of_late_edit(const RequestRecord& row) {
  const std::string status = row.text(F::status);
  if (request_record_status_from_word(status) == RequestRecordStatus::approved) return {};
  return error_log_text(transition_error(State::sent, status));
}

RequestRecordEntryUpdate sent_change(const RequestWork& work, GiftRequestId request, UtcMillis now) {
  RequestRecordEntry next = work.known;
  next.state = *state_after(next.state, RequestRecordAction::send);
  next.error = error_of_late_edit(work.loaded.row);
  next.gift_request_text.clear();
  next.approved_content.clear();
  next.failures = 0;
  next.next_attempt_at = now + kWriteInFlightMillis;
  return {std::move(next),
          {{now, "giftsync", std::string(to_word(State::approved)), std::string(to_word(State::sent)),
            "gift request " + std::to_string(request.value)}}};
}

void publish_sent(const RequestRecordContext& context, const std::vector<RequestRecordEntryUpdate>& changes,
                  RequestRecordBatch& batch) {
  std::vector<crm::RequestRecordUpdate> writes;
  for (const std::string& record_id : save_entries(context.store.request_records, changes, batch)) {
    const RequestWork& work = batch.works.at(record_id);
    if (work.known.state != State::sent) continue;
    crm::RequestRecordUpdate& write = writes.emplace_back(error_log_update(work));
    write.status = RequestRecordStatus::sent;
    write.claimed = false;
  }
  write_records(context.records, writes, batch);
}

std::string limits_text(const store::CreateOutcome& outcome) {
  std::string text;
  for (const store::ExceededLimit& exceeded : outcome.exceeded) {
    for (const std::string& sentence : describe(exceeded)) text += (text.empty() ? "" : " ") + sentence;
  }
  for (const store::RecentRecipient& recipient : outcome.recent)
    text += (text.empty() ? "" : " ") + describe(recipient);
  return text;
}

/// Of a record that no person approved: all of the limits that it exceeds hold.
bool is_held_by_limits(const RequestWork& work, const store::CreateOutcome& outcome) {
  return work.known.approval == store::Approval::automatic &&
         std::ranges::all_of(outcome.exceeded,
                             [](const store::ExceededLimit& exceeded) { return exceeded.limit.holds; }) &&
         std::ranges::all_of(outcome.recent,
                             [](const store::RecentRecipient& recipient) { return recipient.holds; });
}

/// Tried again as other failures, since an admin may raise the limit, and when the next period begins
/// (GUARD-12) or the recipient may get a gift again (GUARD-19).
Failure refused_by_limit(const RequestRecordContext& context, const std::string& record_id,
                         const store::CreateOutcome& outcome) {
  Failure failure{record_id, limits_text(outcome), true, context.rules.most_sender_retry_after_millis};
  // Not at once where the daemon's clock is behind: each attempt writes to the CRM.
  const auto available =
      outcome.recent.empty() ? available_at(outcome.exceeded) : available_at(outcome.recent);
  if (available && *available > context.now) failure.retry_by = *available;
  return failure;
}

/// Sends the claimed records whose gift requests are prepared.
void send(const RequestRecordContext& context, const Ids& claimed, RequestRecordBatch& batch) {
  Ids record_ids;
  std::vector<store::NewGiftRequest> gift_requests;
  for (const std::string& record_id : claimed) {
    const RequestWork& work = batch.works.at(record_id);
    if (!work.gift_request) continue;
    record_ids.push_back(record_id);
    gift_requests.push_back(*work.gift_request);
    gift_requests.back().request_record->entry_version = work.known.version;
  }
  if (gift_requests.empty()) return;
  const std::vector<store::CreateOutcome> outcomes = context.store.gifts.create(gift_requests);
  std::vector<RequestRecordEntryUpdate> changes;
  std::vector<Failure> refused;
  std::vector<WaitingRecord> waiting;
  for (std::size_t i = 0; i < record_ids.size(); ++i) {
    const store::CreateOutcome& outcome = outcomes[i];
    const RequestWork& work = batch.works.at(record_ids[i]);
    if (outcome.kind == store::CreateOutcome::Kind::created ||
        outcome.kind == store::CreateOutcome::Kind::replayed) {
      ++batch.stats.sent;
      if (outcome.kind == store::CreateOutcome::Kind::created)
        batch.stats.made.push_back({work.known.number, outcome.request, outcome.recipients});
      for (const store::RecentRecipient& recipient : outcome.recent)
        batch.stats.warnings.push_back(request_record_line(LogEvent::request_record_recent_gift,
                                                           work.known.number, ": " + describe(recipient)));
      changes.push_back(sent_change(work, outcome.request, context.now));
    } else if (outcome.kind == store::CreateOutcome::Kind::refused && is_held_by_limits(work, outcome)) {
      waiting.push_back({record_ids[i], limits_text(outcome)});
    } else if (outcome.kind == store::CreateOutcome::Kind::refused) {
      refused.push_back(refused_by_limit(context, record_ids[i], outcome));
    } else if (outcome.kind == store::CreateOutcome::Kind::failed && !outcome.transient) {
      refused.push_back({record_ids[i], "giftsync could not store the gift: " + outcome.error, true});
    } else {
      changes.push_back(deferred_change(work.known, context.now + sync_retry_millis(1)));
    }
  }
  publish_sent(context, changes, batch);
  report_failures(context, refused, batch);
  let_wait(context, waiting, batch);
}

}  // namespace

std::set<std::string> save_entries(store::RequestRecords& request_records,
                                   const std::vector<RequestRecordEntryUpdate>& changes,
                                   RequestRecordBatch& batch) {
  std::set<std::string> saved = request_records.save(changes);
  for (const RequestRecordEntryUpdate& change : changes) {
    RequestWork& work = batch.works.at(change.next.record_id);
    if (saved.contains(change.next.record_id)) {
      work.known = change.next;
      ++work.known.version;
    } else {
      work.is_conflicted = true;
    }
  }
  return saved;
}

std::set<std::string> write_records(crm::RequestRecords& records,
                                    const std::vector<crm::RequestRecordUpdate>& writes,
                                    RequestRecordBatch& batch) {
  std::set<std::string> written;
  if (writes.empty()) return written;
  const std::vector<crm::RowResult> results = records.update(writes);
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const crm::RequestRecordUpdate& record_update = writes[i];
    RequestWork& work = batch.works.at(record_update.expected.id);
    if (results[i].kind == crm::RowResult::Kind::rejected && !work.refusal) {
      work.refusal = results[i].reason;
      work.retry_after_millis = results[i].retry_after_millis;
    }
    work.is_postponed = results[i].kind == crm::RowResult::Kind::retry;
    if (work.is_postponed) work.retry_after_millis = results[i].retry_after_millis;
    if (results[i].kind != crm::RowResult::Kind::updated) continue;
    for (RequestRecord* row : {&work.loaded.row, &work.loaded.completed}) apply(record_update, *row);
    written.insert(record_update.expected.id);
  }
  return written;
}

void save_withdrawn(store::RequestRecords& request_records, const std::set<std::string>& written,
                    RequestRecordBatch& batch) {
  std::vector<RequestRecordEntryUpdate> changes;
  for (const std::string& record_id : written) {
    RequestRecordEntry next = batch.works.at(record_id).known;
    if (next.state != State::pending || next.crm_status == RequestRecordStatus::pending) continue;
    next.crm_status = RequestRecordStatus::pending;
    changes.push_back({std::move(next), {}});
  }
  save_entries(request_records, changes, batch);
}

RequestRecordEntryUpdate deferred_change(RequestRecordEntry next, UtcMillis until) {
  next.next_attempt_at = until;
  return {std::move(next), {}};
}

std::map<std::string, std::string> refusals_of(std::set<std::string> emails,
                                               const RequestRecordRules& rules) {
  emails.erase("");
  std::map<std::string, std::string> by_email;
  if (!rules.refuse_recipients || emails.empty()) return by_email;
  const std::vector<std::string> asked(emails.begin(), emails.end());
  std::vector<std::optional<std::string>> found = rules.refuse_recipients(asked);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (found[i]) by_email.emplace(asked[i], std::move(*found[i]));
  }
  return by_email;
}

std::string recipient_of(const RequestRecord& completed) {
  return std::string(trimmed(completed.text(F::recipient_email)));
}

void send_request_records(const RequestRecordContext& context, const std::vector<std::string>& approved,
                          std::vector<std::string> claimed, RequestRecordBatch& batch) {
  std::vector<RecordToSend> to_claim;
  for (const std::string& record_id : approved) {
    const LoadedRequestRecord& loaded = batch.works.at(record_id).loaded;
    to_claim.push_back({record_id, loaded.completed, loaded.person_found});
  }
  const Ids claimed_now = claim(context, prepare(context, to_claim, batch), batch);
  // The content saved with an earlier claim is sent, even if the row has changed since. None of these has a
  // gift (REQ-25), so all that keeps a record from being sent may have begun after the claim.
  std::vector<RecordToSend> resumed;
  for (const std::string& record_id : claimed)
    resumed.push_back({record_id,
                       parse_request_record(record_id, batch.works.at(record_id).known.gift_request_text),
                       true});
  prepare(context, resumed, batch);
  claimed.insert(claimed.end(), claimed_now.begin(), claimed_now.end());
  send(context, claimed, batch);
}

}  // namespace giftsync::sync
