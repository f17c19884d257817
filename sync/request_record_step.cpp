#include "sync/request_record_step.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "platform/text.h"
#include "sync/delivery_rules.h"

namespace giftsync::sync {
namespace {

using F = schema::RequestRecordField;

/// One request record in this step.
struct RequestWork {
  LoadedRequestRecord loaded;
  schema::store::RequestRecordEntry known;  ///< as in the store
};

constexpr std::int64_t kRefusedWriteDelayMillis = platform::kMinuteMillis;
/// The clock skew repair (sync/clock_skew_repair.h) resets longer waits.
static_assert(std::max({kRefusedWriteDelayMillis, kRevertedEditDelayMillis, kClaimInFlightMillis,
                        kWriteInFlightMillis}) <= kMaxSyncRetryMillis);

std::string gift_request_text(schema::GiftRequestId id) {
  return "gift request " + std::to_string(id.value);
}

class RequestRecordStep {
 public:
  RequestRecordStep(schema::store::Store& store, schema::crm::Crm& crm, const RequestRecordRules& rules,
                    platform::UtcMillis now)
      : store_(store),
        records_(*crm.request_records()),
        max_records_(crm.pace().rows_per_read),
        rules_(rules),
        now_(now) {}

  RequestRecordStepStats run() {
    collect();
    if (!record_ids_.empty()) {
      reconcile();
      claim(validate(approved_));
      send();
      defer_refused();
    }
    ack_change_events();
    return std::move(stats_);
  }

 private:
  void collect() {
    // The rest is for records that are due.
    const std::size_t max_change_events = max_records_ * 3 / 4;
    change_events_ = records_.events(max_change_events);
    std::set<std::string> record_ids;
    for (const schema::crm::RequestRecordEvent& event : change_events_) {
      if (platform::is_storable_text(event.record_id))
        record_ids.insert(event.record_id);
      else
        stats_.warnings.push_back(
            "the Id of a request record is invalid text (not UTF-8); change it in the CRM");
    }
    // Never 0: due records must not wait for the end of a long import.
    const std::size_t capacity = max_records_ - record_ids.size();
    const std::vector<std::string> due = store_.request_records.find_due(now_, capacity);
    record_ids.insert(due.begin(), due.end());
    record_ids_.assign(record_ids.begin(), record_ids.end());
    stats_.more = change_events_.size() == max_change_events || (capacity > 0 && due.size() == capacity);
    stats_.examined = record_ids_.size();
  }

  /// Reads the store first: a later decision is then visible in the CRM, or the save fails on the entry's
  /// version.
  void reconcile() {
    std::unordered_map<std::string, schema::store::RequestRecordEntry> known;
    for (schema::store::RequestRecordEntry& one : store_.request_records.find(record_ids_))
      known.emplace(one.record_id, std::move(one));
    std::unordered_map<std::string, LoadedRequestRecord> loaded;
    for (LoadedRequestRecord& one : load_with_defaults(records_, records_.find(record_ids_)))
      loaded.emplace(one.row.id, std::move(one));
    std::map<std::string, schema::GiftRequestId> sent;
    for (const schema::store::RequestRecordGift& one :
         store_.request_records.find_gifts_by_record(record_ids_))
      sent.emplace(one.link.record_id, one.gift_request);
    std::vector<RequestRecordReconciliation> reconciled;
    for (const std::string& record_id : record_ids_) {
      const auto stored = known.find(record_id);
      const schema::store::RequestRecordEntry stored_state =
          stored == known.end() ? schema::store::RequestRecordEntry() : stored->second;
      const auto row = loaded.find(record_id);
      if (row != loaded.end()) {
        RequestRecordSnapshot snapshot = snapshot_of(row->second, stored_state);
        if (const auto found = sent.find(record_id); found != sent.end()) add_sent(found->second, snapshot);
        reconciled.push_back(reconcile_request_record(snapshot, now_));
        work_.emplace(record_id, RequestWork{std::move(row->second), stored_state});
      } else if (stored != known.end()) {
        reconciled.push_back(reconcile_deleted_request_record(stored_state, sent.contains(record_id), now_));
        work_.emplace(record_id, RequestWork{{}, stored_state});
      }
    }
    save(reconciled);
    write(reconciled);
  }

  RequestRecordSnapshot snapshot_of(const LoadedRequestRecord& loaded,
                                    const schema::store::RequestRecordEntry& known) const {
    RequestRecordSnapshot snapshot{loaded.row, approved_content_of(loaded.completed), known, false,
                                   rules_.auto_approved_default};
    snapshot.item_link = item_link_to_write(loaded.row);
    snapshot.integration_user = rules_.integration_user;
    return snapshot;
  }

  void add_sent(schema::GiftRequestId id, RequestRecordSnapshot& snapshot) const {
    snapshot.has_gift = true;
    if (const auto request = store_.gifts.find_gift_request(id)) snapshot.gift_sent = request->gift;
  }

  /// An item link that giftsync wrote follows the Gift Id, so that approvers see the right item; a custom
  /// link is kept. Nullopt when nothing has to be written.
  std::optional<std::string> item_link_to_write(const schema::RequestRecord& row) const {
    const std::string current = row.text(F::item_link);
    if (!current.empty() && !is_own_link(current)) return std::nullopt;
    const auto gift = gift_id_of(row);
    std::string wanted = gift ? rules_.item_link(*gift) : std::string();
    return wanted == current ? std::nullopt : std::optional(std::move(wanted));
  }

  /// Whether giftsync would write this link for the gift id at its end.
  bool is_own_link(const std::string& link) const {
    const auto gift = parse_gift_id(link.substr(link.find_last_not_of("0123456789") + 1));
    return gift && rules_.item_link(*gift) == link;
  }

  /// Saves the changes and drops the records that another process changed meanwhile.
  void save(std::vector<RequestRecordReconciliation>& reconciled) {
    std::vector<schema::store::RequestRecordEntryUpdate> changes;
    for (const RequestRecordReconciliation& one : reconciled) {
      stats_.warnings.insert(stats_.warnings.end(), one.warnings.begin(), one.warnings.end());
      if (one.is_changed) changes.push_back(one.change);
    }
    const std::set<std::string> saved = save(changes);
    const auto is_conflicted = [&](const RequestRecordReconciliation& one) {
      return one.is_changed && !saved.contains(one.change.next.record_id);
    };
    reconciled.erase(std::remove_if(reconciled.begin(), reconciled.end(), is_conflicted), reconciled.end());
  }

  /// Saves and updates `work_`; returns the record Ids that were saved.
  std::set<std::string> save(const std::vector<schema::store::RequestRecordEntryUpdate>& changes) {
    std::set<std::string> saved = store_.request_records.save(changes);
    for (const schema::store::RequestRecordEntryUpdate& change : changes) {
      const std::string& record_id = change.next.record_id;
      if (saved.contains(record_id)) {
        schema::store::RequestRecordEntry& known = work_.at(record_id).known;
        known = change.next;
        ++known.version;
      } else {
        conflicted_.insert(record_id);
      }
    }
    return saved;
  }

  void write(const std::vector<RequestRecordReconciliation>& reconciled) {
    std::vector<schema::crm::RequestRecordUpdate> writes;
    for (const RequestRecordReconciliation& one : reconciled) {
      if (one.is_written) writes.push_back(one.write);
    }
    const std::set<std::string> written = write(writes);
    for (const RequestRecordReconciliation& one : reconciled) {
      const std::string& record_id = one.change.next.record_id;
      if (one.is_written && !written.contains(record_id))
        continue;  // changed meanwhile: its own change event brings it back
      if (one.may_claim) approved_.push_back(record_id);
      if (one.must_send) claimed_.push_back(record_id);
    }
  }

  /// Writes to the CRM and updates the loaded rows; returns the Ids that were written.
  std::set<std::string> write(const std::vector<schema::crm::RequestRecordUpdate>& writes) {
    std::set<std::string> written;
    if (writes.empty()) return written;
    const std::vector<schema::crm::RowResult> results = records_.update(writes);
    for (std::size_t i = 0; i < writes.size(); ++i) {
      const schema::crm::RequestRecordUpdate& one = writes[i];
      if (results[i].kind == schema::crm::RowResult::Kind::rejected)
        refused_writes_.emplace(one.expected.id, results[i].reason);
      if (results[i].kind != schema::crm::RowResult::Kind::updated) continue;
      RequestWork& changed = work_.at(one.expected.id);
      for (schema::RequestRecord* row : {&changed.loaded.row, &changed.loaded.completed}) apply(one, *row);
      written.insert(one.expected.id);
    }
    return written;
  }

  static void apply(const schema::crm::RequestRecordUpdate& write, schema::RequestRecord& row) {
    if (write.status) row.set(F::status, std::string(to_word(*write.status)));
    const auto set_text = [&](F field, const std::optional<std::string>& text) {
      if (text) row.set(field, text->empty() ? schema::FieldValue() : schema::FieldValue(*text));
    };
    set_text(F::error_log, write.error_log);
    if (write.auto_approved) row.set(F::auto_approved, *write.auto_approved);
    set_text(F::item_link, write.item_link);
    if (write.claimed) row.claimed = *write.claimed;
  }

  /// Prepares the gift requests of valid records; reports the failures of the others.
  std::vector<std::string> validate(const std::vector<std::string>& record_ids) {
    std::vector<schema::RequestRecord> records;
    for (const std::string& record_id : record_ids) records.push_back(work_.at(record_id).loaded.completed);
    std::vector<std::string> valid_ids;
    std::vector<Failure> failures;
    const std::vector<SenderAuthorization> senders = authorizations(records);
    for (std::size_t i = 0; i < record_ids.size(); ++i) {
      auto failure =
          prepare(record_ids[i], records[i], work_.at(record_ids[i]).loaded.person_found, senders[i]);
      if (failure)
        failures.push_back(std::move(*failure));
      else
        valid_ids.push_back(record_ids[i]);
    }
    report_failures(failures);
    return valid_ids;
  }

  struct Failure {
    std::string record_id;
    std::string text;
    bool is_transient = false;  ///< not caused by the record: retried automatically
  };

  std::optional<Failure> prepare(const std::string& record_id, const schema::RequestRecord& record,
                                 bool person_found, const SenderAuthorization& sender) {
    const auto gift = gift_id_of(record);
    auto gift_request =
        make_gift_request(record, person_found, gift ? item(*gift) : nullptr,
                          sender.account.value_or(schema::store::Account()), rules_.limits, now_);
    if (const auto* fault = std::get_if<RequestRecordError>(&gift_request))
      return Failure{record_id, fault->text, false};
    if (record.text(F::sender).empty())
      return Failure{record_id, "Sender is empty: enter the CRM user on whose behalf the gift is sent.",
                     false};
    if (!sender.account) return Failure{record_id, sender.fault, true};
    gift_requests_.insert_or_assign(record_id,
                                    std::move(std::get<schema::store::NewGiftRequest>(gift_request)));
    return std::nullopt;
  }

  std::vector<SenderAuthorization> authorizations(const std::vector<schema::RequestRecord>& records) {
    std::set<std::string> users;
    for (const schema::RequestRecord& record : records) users.insert(record.text(F::sender));
    users.erase("");
    const std::vector<std::string> ids(users.begin(), users.end());
    std::map<std::string, SenderAuthorization> by_user;
    if (!ids.empty()) {
      std::vector<SenderAuthorization> found = rules_.authorize_senders(ids);
      for (std::size_t i = 0; i < ids.size(); ++i) by_user.emplace(ids[i], std::move(found[i]));
    }
    std::vector<SenderAuthorization> authorizations;
    for (const schema::RequestRecord& record : records) {
      const auto found = by_user.find(record.text(F::sender));
      authorizations.push_back(found == by_user.end() ? SenderAuthorization() : found->second);
    }
    return authorizations;
  }

  const schema::store::GiftItem* item(schema::GiftId id) {
    const auto known = items_.find(id);
    const auto& found =
        known != items_.end() ? known->second : items_.emplace(id, store_.catalogue.item(id)).first->second;
    return found ? &*found : nullptr;
  }

  /// Leaves them Approved with an Error Log; transient failures are scheduled for a retry.
  void report_failures(const std::vector<Failure>& failures) {
    std::vector<schema::store::RequestRecordEntryUpdate> changes;
    for (const Failure& failure : failures) {
      ++stats_.failed;
      schema::store::RequestRecordEntry next = work_.at(failure.record_id).known;
      const std::string text = error_log_text(failure.text);
      if (next.error != text) stats_.warnings.push_back("request " + next.number + " was not sent: " + text);
      if (next.state == schema::store::RequestRecordState::claimed)
        next.state = *state_after(next.state, RequestRecordAction::release);
      next.error = text;
      next.failures += 1;
      next.next_attempt_at.reset();
      if (failure.is_transient) next.next_attempt_at = now_ + sync_retry_millis(next.failures);
      changes.push_back({std::move(next), {}});
    }
    const std::set<std::string> saved = save(changes);
    std::vector<schema::crm::RequestRecordUpdate> writes;
    for (const Failure& failure : failures) {
      const RequestWork& one = work_.at(failure.record_id);
      if (!saved.contains(failure.record_id)) continue;
      schema::crm::RequestRecordUpdate write{one.loaded.row};
      if (one.loaded.row.text(F::error_log) != one.known.error) write.error_log = one.known.error;
      if (one.loaded.row.claimed) write.claimed = false;
      if (write.error_log || write.claimed) writes.push_back(std::move(write));
    }
    write(writes);
  }

  /// Claims the records: the claim and the content to send are saved in the store, then claimed in the CRM by
  /// a conditional update, which fails if the record was edited or rejected meanwhile. Only a record whose
  /// update succeeded is sent.
  void claim(const std::vector<std::string>& record_ids) {
    std::vector<schema::store::RequestRecordEntryUpdate> changes;
    for (const std::string& record_id : record_ids) {
      const RequestWork& one = work_.at(record_id);
      schema::store::RequestRecordEntry next = one.known;
      next.state = *state_after(next.state, RequestRecordAction::claim);
      next.gift_request_text = format_request_record(one.loaded.completed);
      next.next_attempt_at = now_ + kClaimInFlightMillis;
      changes.push_back({std::move(next), {}});
    }
    const std::set<std::string> saved = save(changes);
    std::vector<schema::crm::RequestRecordUpdate> writes;
    for (const std::string& record_id : record_ids) {
      if (!saved.contains(record_id)) continue;
      schema::crm::RequestRecordUpdate write{work_.at(record_id).loaded.row};
      write.claimed = true;
      writes.push_back(std::move(write));
    }
    const std::set<std::string> claimed = write(writes);
    std::vector<schema::store::RequestRecordEntryUpdate> lost;
    for (const std::string& record_id : saved) {
      if (claimed.contains(record_id)) {
        claimed_.push_back(record_id);
      } else {
        lost.push_back(after_lost_claim(work_.at(record_id).known));
      }
    }
    save(lost);
  }

  /// Records whose update the CRM's constraints or triggers rejected are in flight until the next attempt.
  void defer_refused() {
    std::vector<schema::store::RequestRecordEntryUpdate> changes;
    for (const auto& [record_id, reason] : refused_writes_) {
      schema::store::RequestRecordEntry next = work_.at(record_id).known;
      stats_.warnings.push_back("request " + next.number + ": the CRM rejected giftsync's update: " + reason);
      next.next_attempt_at = now_ + kRefusedWriteDelayMillis;
      changes.push_back({std::move(next), {}});
    }
    save(changes);
  }

  schema::store::RequestRecordEntryUpdate after_lost_claim(schema::store::RequestRecordEntry known) const {
    known.state = *state_after(known.state, RequestRecordAction::release);
    known.gift_request_text.clear();
    known.next_attempt_at = now_;  // reconciled again at once
    return {std::move(known), {}};
  }

  /// Sends the claimed records of this step and of interrupted ones.
  void send() {
    prepare_resumed_claims();
    std::vector<std::string> record_ids;
    std::vector<schema::store::NewGiftRequest> gift_requests;
    for (const std::string& record_id : claimed_) {
      const auto found = gift_requests_.find(record_id);
      if (found == gift_requests_.end()) continue;
      record_ids.push_back(record_id);
      gift_requests.push_back(found->second);
      gift_requests.back().request_record->entry_version = work_.at(record_id).known.version;
    }
    if (gift_requests.empty()) return;
    const std::vector<schema::store::CreateOutcome> outcomes = store_.gifts.create(gift_requests);
    std::vector<schema::store::RequestRecordEntryUpdate> changes;
    std::vector<Failure> refused;
    for (std::size_t i = 0; i < record_ids.size(); ++i) {
      const schema::store::CreateOutcome& outcome = outcomes[i];
      if (outcome.kind == schema::store::CreateOutcome::Kind::created ||
          outcome.kind == schema::store::CreateOutcome::Kind::replayed)
        changes.push_back(sent_change(work_.at(record_ids[i]).known, outcome));
      else if (outcome.kind == schema::store::CreateOutcome::Kind::failed && !outcome.transient)
        refused.push_back({record_ids[i], "giftsync could not store the gift: " + outcome.error, true});
      else
        changes.push_back(deferred_change(work_.at(record_ids[i]).known));
    }
    publish_sent(changes);
    report_failures(refused);
  }

  /// The content saved with the claim is sent, even if the row has changed since.
  void prepare_resumed_claims() {
    std::vector<std::string> record_ids;
    std::vector<schema::RequestRecord> records;
    for (const std::string& record_id : claimed_) {
      if (gift_requests_.contains(record_id)) continue;
      record_ids.push_back(record_id);
      records.push_back(parse_request_record(record_id, work_.at(record_id).known.gift_request_text));
    }
    const std::vector<SenderAuthorization> senders = authorizations(records);
    std::vector<Failure> failures;
    for (std::size_t i = 0; i < record_ids.size(); ++i) {
      auto failure = prepare(record_ids[i], records[i], true, senders[i]);
      if (failure) failures.push_back(std::move(*failure));
    }
    report_failures(failures);
  }

  schema::store::RequestRecordEntryUpdate sent_change(schema::store::RequestRecordEntry known,
                                                      const schema::store::CreateOutcome& outcome) {
    ++stats_.sent;
    const auto from = std::string(to_word(schema::store::RequestRecordState::approved));
    known.state = *state_after(known.state, RequestRecordAction::send);
    known.error = error_of_late_edit(known.record_id);
    known.gift_request_text.clear();
    known.approved_content.clear();
    known.failures = 0;
    known.next_attempt_at = now_ + kWriteInFlightMillis;
    return {std::move(known),
            {{now_, "giftsync", from, std::string(to_word(schema::store::RequestRecordState::sent)),
              gift_request_text(outcome.request)}}};
  }

  /// A rejection after the claim is reverted and reported in Error Log.
  std::string error_of_late_edit(const std::string& record_id) const {
    const std::string status = work_.at(record_id).loaded.row.text(F::status);
    if (schema::request_record_status_from_word(status) == schema::RequestRecordStatus::approved) return {};
    return error_log_text(transition_error(schema::store::RequestRecordState::sent, status));
  }

  schema::store::RequestRecordEntryUpdate deferred_change(schema::store::RequestRecordEntry known) const {
    known.next_attempt_at = now_ + sync_retry_millis(1);
    return {std::move(known), {}};
  }

  void publish_sent(const std::vector<schema::store::RequestRecordEntryUpdate>& changes) {
    const std::set<std::string> saved = save(changes);
    std::vector<schema::crm::RequestRecordUpdate> writes;
    for (const std::string& record_id : saved) {
      const RequestWork& one = work_.at(record_id);
      if (one.known.state != schema::store::RequestRecordState::sent) continue;
      schema::crm::RequestRecordUpdate write{one.loaded.row};
      write.status = schema::RequestRecordStatus::sent;
      write.claimed = false;
      if (one.loaded.row.text(F::error_log) != one.known.error) write.error_log = one.known.error;
      writes.push_back(std::move(write));
    }
    write(writes);
  }

  /// Events of records that another process changed meanwhile are not acked.
  void ack_change_events() {
    std::vector<std::int64_t> acked;
    for (const schema::crm::RequestRecordEvent& event : change_events_) {
      if (!conflicted_.contains(event.record_id)) acked.push_back(event.id);
    }
    if (!acked.empty()) records_.acknowledge(acked);
  }

  schema::store::Store& store_;
  schema::crm::RequestRecords& records_;
  const std::size_t max_records_;  ///< of a step
  const RequestRecordRules& rules_;
  const platform::UtcMillis now_;
  RequestRecordStepStats stats_;
  std::vector<schema::crm::RequestRecordEvent> change_events_;
  std::vector<std::string> record_ids_;
  std::unordered_map<std::string, RequestWork> work_;
  std::set<std::string> conflicted_;
  std::map<std::string, std::string> refused_writes_;  ///< rejected by the CRM, with its reason
  std::vector<std::string> approved_;
  std::vector<std::string> claimed_;
  std::unordered_map<std::string, schema::store::NewGiftRequest> gift_requests_;
  std::map<schema::GiftId, std::optional<schema::store::GiftItem>> items_;
};

}  // namespace

std::vector<LoadedRequestRecord> load_with_defaults(schema::crm::RequestRecords& records,
                                                    std::vector<schema::RequestRecord> rows) {
  std::map<std::string, schema::crm::Person> contacts;
  std::map<std::string, schema::crm::Person> leads;
  const auto look_up = [&](schema::crm::PersonObject object, F field,
                           std::map<std::string, schema::crm::Person>& people) {
    std::set<std::string> wanted;
    for (const schema::RequestRecord& row : rows) wanted.insert(row.text(field));
    wanted.erase("");
    if (wanted.empty()) return;
    const std::vector<std::string> ids(wanted.begin(), wanted.end());
    for (schema::crm::Person& one : records.find_persons(object, ids)) people.emplace(one.id, std::move(one));
  };
  look_up(schema::crm::PersonObject::contact, F::recipient_contact, contacts);
  look_up(schema::crm::PersonObject::lead, F::recipient_lead, leads);
  std::vector<LoadedRequestRecord> loaded;
  for (schema::RequestRecord& row : rows) {
    const std::string contact = row.text(F::recipient_contact);
    const std::string lead = row.text(F::recipient_lead);
    const auto& people = contact.empty() ? leads : contacts;
    const auto found = people.find(contact.empty() ? lead : contact);
    const schema::crm::Person* person = found == people.end() ? nullptr : &found->second;
    schema::RequestRecord completed = with_defaults(row, person);
    loaded.push_back(
        {std::move(row), std::move(completed), person != nullptr || (contact.empty() && lead.empty())});
  }
  return loaded;
}

RequestRecordStepStats request_record_step(schema::store::Store& store, schema::crm::Crm& crm,
                                           const RequestRecordRules& rules, platform::UtcMillis now) {
  return RequestRecordStep(store, crm, rules, now).run();
}

}  // namespace giftsync::sync
