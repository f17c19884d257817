#include "sync/request_step.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "schema/text.h"
#include "sync/delivery_rules.h"

namespace giftsync::sync {
namespace {

using schema::CreateOutcome;
using schema::KnownRequest;
using schema::RequestRecord;
using schema::RequestState;
using schema::RowResult;
using F = schema::RequestField;

/// What the round knows of one request.
struct Case {
  SeenRequest seen;
  KnownRequest known;  ///< as it stands in the book now
};

/// Of a round's kCrmBatch requests; the rest is for those that are due.
constexpr std::size_t kMostNotes = schema::kCrmBatch * 3 / 4;

constexpr std::int64_t kRefusedRestMillis = schema::kMinuteMillis;
/// What waits longer than that waits for a wrong clock's time (sync/false_waits.h).
static_assert(std::max({kRefusedRestMillis, kPutBackRestMillis, kClaimInFlightMillis,
                        kWriteInFlightMillis}) <= kLongestSyncRetryMillis);

std::string gift_request_text(schema::GiftRequestId id) {
  return "gift request " + std::to_string(id.value);
}

class Round {
 public:
  Round(schema::Store& store, schema::Crm& crm, const RequestRules& rules, schema::UtcMillis now)
      : store_(store), crm_(crm), rules_(rules), now_(now) {}

  RequestReport run() {
    collect();
    if (!keys_.empty()) {
      look();
      claim(check(approved_));
      send();
      put_off_refused();
    }
    settle_notes();
    return std::move(report_);
  }

 private:
  void collect() {
    notes_ = crm_.request_notes(kMostNotes);
    std::set<std::string> keys;
    for (const schema::RequestNote& note : notes_) {
      if (schema::is_storable_text(note.request_id))
        keys.insert(note.request_id);
      else
        report_.notes.push_back(
            "a request's Id holds bytes that are no text; give it another one in the CRM");
    }
    // There is always some: what is due must not wait for the end of a long import.
    const std::size_t room = schema::kCrmBatch - keys.size();
    const std::vector<std::string> due = store_.requests.due(now_, room);
    keys.insert(due.begin(), due.end());
    keys_.assign(keys.begin(), keys.end());
    report_.more = notes_.size() == kMostNotes || (room > 0 && due.size() == room);
    report_.looked = keys_.size();
  }

  /// The book first: what somebody decides from here on is seen in the CRM, or is told by the book's
  /// versions.
  void look() {
    std::unordered_map<std::string, KnownRequest> known;
    for (KnownRequest& one : store_.requests.find(keys_)) known.emplace(one.key, std::move(one));
    std::unordered_map<std::string, SeenRequest> seen;
    for (SeenRequest& one : complete_all(crm_, crm_.find_requests(keys_)))
      seen.emplace(one.row.id, std::move(one));
    std::map<std::string, schema::GiftRequestId> sent;
    for (const schema::SentRequest& one : store_.requests.sent(keys_))
      sent.emplace(one.origin.key, one.gift_request);
    std::vector<RequestJudgement> judgements;
    for (const std::string& key : keys_) {
      const auto in_book = known.find(key);
      const KnownRequest book = in_book == known.end() ? KnownRequest() : in_book->second;
      const auto row = seen.find(key);
      if (row != seen.end()) {
        RequestSight sight = sight_of(row->second, book);
        if (const auto found = sent.find(key); found != sent.end()) add_sent(found->second, sight);
        judgements.push_back(judge(sight, now_));
        cases_.emplace(key, Case{std::move(row->second), book});
      } else if (in_book != known.end()) {
        judgements.push_back(judge_deleted(book, sent.contains(key), now_));
        cases_.emplace(key, Case{{}, book});
      }
    }
    keep(judgements);
    write(judgements);
  }

  RequestSight sight_of(const SeenRequest& seen, const KnownRequest& known) const {
    RequestSight sight{seen.row, content_of(seen.completed), known, false, rules_.auto_approved_default};
    sight.item_link = item_link_to_write(seen.row);
    sight.own_user = rules_.integration_user;
    return sight;
  }

  void add_sent(schema::GiftRequestId id, RequestSight& sight) const {
    sight.has_gift = true;
    if (const auto request = store_.gifts.request(id)) sight.gift_sent = request->gift;
  }

  /// A link of ours follows the Gift Id, or an approver would look at another gift; one that somebody else
  /// wrote stays. Nothing when it is as it should be.
  std::optional<std::string> item_link_to_write(const RequestRecord& row) const {
    const std::string held = row.text(F::item_link);
    if (!held.empty() && !is_own_link(held)) return std::nullopt;
    const auto gift = gift_of(row);
    std::string wanted = gift ? rules_.item_link(*gift) : std::string();
    return wanted == held ? std::nullopt : std::optional(std::move(wanted));
  }

  /// Whether giftsync would give this link to the gift whose number it ends with.
  bool is_own_link(const std::string& link) const {
    const auto gift = gift_from_digits(link.substr(link.find_last_not_of("0123456789") + 1));
    return gift && rules_.item_link(*gift) == link;
  }

  /// What the judgements want kept; those that somebody else was faster with are dropped.
  void keep(std::vector<RequestJudgement>& judgements) {
    std::vector<schema::RequestChange> changes;
    for (const RequestJudgement& one : judgements) {
      report_.notes.insert(report_.notes.end(), one.notes.begin(), one.notes.end());
      if (one.is_changed) changes.push_back(one.change);
    }
    const std::set<std::string> kept = keep(changes);
    const auto overtaken = [&](const RequestJudgement& one) {
      return one.is_changed && !kept.contains(one.change.next.key);
    };
    judgements.erase(std::remove_if(judgements.begin(), judgements.end(), overtaken), judgements.end());
  }

  /// Saves, and keeps the cases in step; returns the keys of those that were saved.
  std::set<std::string> keep(const std::vector<schema::RequestChange>& changes) {
    std::set<std::string> saved = store_.requests.save(changes);
    for (const schema::RequestChange& change : changes) {
      const std::string& key = change.next.key;
      if (saved.contains(key)) {
        KnownRequest& known = cases_.at(key).known;
        known = change.next;
        ++known.version;
      } else {
        overtaken_.insert(key);
      }
    }
    return saved;
  }

  void write(const std::vector<RequestJudgement>& judgements) {
    std::vector<schema::RequestWrite> writes;
    for (const RequestJudgement& one : judgements) {
      if (one.is_written) writes.push_back(one.write);
    }
    const std::set<std::string> written = write(writes);
    for (const RequestJudgement& one : judgements) {
      const std::string& key = one.change.next.key;
      if (one.is_written && !written.contains(key))
        continue;  // changed just now: its own note brings it back
      if (one.may_claim) approved_.push_back(key);
      if (one.must_finish) claimed_.push_back(key);
    }
  }

  /// Writes into the CRM and into the rows as they were read; returns the Ids that were written.
  std::set<std::string> write(const std::vector<schema::RequestWrite>& writes) {
    std::set<std::string> written;
    if (writes.empty()) return written;
    const std::vector<RowResult> results = crm_.write_requests(writes);
    for (std::size_t i = 0; i < writes.size(); ++i) {
      const schema::RequestWrite& one = writes[i];
      if (results[i].kind == RowResult::Kind::rejected) refused_.emplace(one.as_read.id, results[i].reason);
      if (results[i].kind != RowResult::Kind::updated) continue;
      Case& changed = cases_.at(one.as_read.id);
      for (RequestRecord* row : {&changed.seen.row, &changed.seen.completed}) apply(one, *row);
      written.insert(one.as_read.id);
    }
    return written;
  }

  static void apply(const schema::RequestWrite& write, RequestRecord& row) {
    if (write.status) row.set(F::status, std::string(to_word(*write.status)));
    const auto set_text = [&](F field, const std::optional<std::string>& text) {
      if (text) row.set(field, text->empty() ? schema::FieldValue() : schema::FieldValue(*text));
    };
    set_text(F::error_log, write.error_log);
    if (write.auto_approved) row.set(F::auto_approved, *write.auto_approved);
    set_text(F::item_link, write.item_link);
    if (write.claimed) row.claimed = *write.claimed;
  }

  /// The orders of those that can be sent; the others are told what is wrong.
  std::vector<std::string> check(const std::vector<std::string>& keys) {
    std::vector<RequestRecord> records;
    for (const std::string& key : keys) records.push_back(cases_.at(key).seen.completed);
    std::vector<std::string> good;
    std::vector<Failure> failures;
    const std::vector<SenderVerdict> senders = verdicts(records);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      auto failure = prepare(keys[i], records[i], cases_.at(keys[i]).seen.person_found, senders[i]);
      if (failure)
        failures.push_back(std::move(*failure));
      else
        good.push_back(keys[i]);
    }
    tell(failures);
    return good;
  }

  struct Failure {
    std::string key;
    std::string text;
    bool may_pass = false;  ///< it is not the record's own fault: tried again by itself
  };

  std::optional<Failure> prepare(const std::string& key, const RequestRecord& record, bool person_found,
                                 const SenderVerdict& sender) {
    const auto gift = gift_of(record);
    auto order = make_order(record, person_found, gift ? item(*gift) : nullptr,
                            sender.account.value_or(schema::Account()), rules_.limits, now_);
    if (const auto* fault = std::get_if<OrderFault>(&order)) return Failure{key, fault->text, false};
    if (record.text(F::sender).empty())
      return Failure{key, "Sender is empty: enter the CRM user on whose behalf the gift is sent.", false};
    if (!sender.account) return Failure{key, sender.fault, true};
    orders_.insert_or_assign(key, std::move(std::get<schema::NewGiftRequest>(order)));
    return std::nullopt;
  }

  std::vector<SenderVerdict> verdicts(const std::vector<RequestRecord>& records) {
    std::set<std::string> users;
    for (const RequestRecord& record : records) users.insert(record.text(F::sender));
    users.erase("");
    const std::vector<std::string> ids(users.begin(), users.end());
    std::map<std::string, SenderVerdict> by_user;
    if (!ids.empty()) {
      std::vector<SenderVerdict> found = rules_.check_senders(ids);
      for (std::size_t i = 0; i < ids.size(); ++i) by_user.emplace(ids[i], std::move(found[i]));
    }
    std::vector<SenderVerdict> verdicts;
    for (const RequestRecord& record : records) {
      const auto found = by_user.find(record.text(F::sender));
      verdicts.push_back(found == by_user.end() ? SenderVerdict() : found->second);
    }
    return verdicts;
  }

  const schema::GiftItem* item(schema::GiftId id) {
    const auto known = items_.find(id);
    const auto& found =
        known != items_.end() ? known->second : items_.emplace(id, store_.catalogue.item(id)).first->second;
    return found ? &*found : nullptr;
  }

  /// Leaves them Approved with an Error Log; those whose fault may pass get their time for the next try.
  void tell(const std::vector<Failure>& failures) {
    std::vector<schema::RequestChange> changes;
    for (const Failure& failure : failures) {
      ++report_.failed;
      KnownRequest next = cases_.at(failure.key).known;
      const std::string text = error_log_text(failure.text);
      if (next.error != text) report_.notes.push_back("request " + next.number + " was not sent: " + text);
      if (next.state == RequestState::claimed) next.state = *state_after(next.state, RequestAct::release);
      next.error = text;
      next.failures += 1;
      next.due_at.reset();
      if (failure.may_pass) next.due_at = now_ + sync_retry_millis(next.failures);
      changes.push_back({std::move(next), {}});
    }
    const std::set<std::string> kept = keep(changes);
    std::vector<schema::RequestWrite> writes;
    for (const Failure& failure : failures) {
      const Case& one = cases_.at(failure.key);
      if (!kept.contains(failure.key)) continue;
      schema::RequestWrite write{one.seen.row};
      if (one.seen.row.text(F::error_log) != one.known.error) write.error_log = one.known.error;
      if (one.seen.row.claimed) write.claimed = false;
      if (write.error_log || write.claimed) writes.push_back(std::move(write));
    }
    write(writes);
  }

  /// The deciding moment: a claim is announced in the book, with what is to be sent, and made in the CRM,
  /// where it meets whoever edits or rejects at the same moment. One row or no send.
  void claim(const std::vector<std::string>& keys) {
    std::vector<schema::RequestChange> changes;
    for (const std::string& key : keys) {
      const Case& one = cases_.at(key);
      KnownRequest next = one.known;
      next.state = *state_after(next.state, RequestAct::claim);
      next.order = order_text(one.seen.completed);
      next.due_at = now_ + kClaimInFlightMillis;
      changes.push_back({std::move(next), {}});
    }
    const std::set<std::string> announced = keep(changes);
    std::vector<schema::RequestWrite> writes;
    for (const std::string& key : keys) {
      if (!announced.contains(key)) continue;
      schema::RequestWrite write{cases_.at(key).seen.row};
      write.claimed = true;
      writes.push_back(std::move(write));
    }
    const std::set<std::string> won = write(writes);
    std::vector<schema::RequestChange> lost;
    for (const std::string& key : announced) {
      if (won.contains(key)) {
        claimed_.push_back(key);
      } else {
        lost.push_back(after_lost_claim(cases_.at(key).known));
      }
    }
    keep(lost);
  }

  /// What the CRM's own constraints and triggers do not let giftsync write is in flight until the next try.
  void put_off_refused() {
    std::vector<schema::RequestChange> changes;
    for (const auto& [key, reason] : refused_) {
      KnownRequest next = cases_.at(key).known;
      report_.notes.push_back("request " + next.number +
                              ": the CRM refuses to let giftsync write it: " + reason);
      next.due_at = now_ + kRefusedRestMillis;
      changes.push_back({std::move(next), {}});
    }
    keep(changes);
  }

  schema::RequestChange after_lost_claim(KnownRequest known) const {
    known.state = *state_after(known.state, RequestAct::release);
    known.order.clear();
    known.due_at = now_;  // seen to again at once
    return {std::move(known), {}};
  }

  /// Those that are claimed, by this round or by one that did not come to its end.
  void send() {
    prepare_found_claims();
    std::vector<std::string> keys;
    std::vector<schema::NewGiftRequest> orders;
    for (const std::string& key : claimed_) {
      const auto order = orders_.find(key);
      if (order == orders_.end()) continue;
      keys.push_back(key);
      orders.push_back(order->second);
      orders.back().origin->book_version = cases_.at(key).known.version;
    }
    if (orders.empty()) return;
    const std::vector<CreateOutcome> outcomes = store_.gifts.create(orders);
    std::vector<schema::RequestChange> changes;
    std::vector<Failure> refused;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const CreateOutcome& outcome = outcomes[i];
      if (outcome.kind == CreateOutcome::Kind::created || outcome.kind == CreateOutcome::Kind::replayed)
        changes.push_back(sent_change(cases_.at(keys[i]).known, outcome));
      else if (outcome.kind == CreateOutcome::Kind::failed && !outcome.transient)
        refused.push_back({keys[i], "giftsync could not keep the gift: " + outcome.error, true});
      else
        changes.push_back(later_change(cases_.at(keys[i]).known));
    }
    say_sent(changes);
    tell(refused);
  }

  /// What was announced with the claim is what is sent, whatever the row says by now.
  void prepare_found_claims() {
    std::vector<std::string> keys;
    std::vector<RequestRecord> records;
    for (const std::string& key : claimed_) {
      if (orders_.contains(key)) continue;
      keys.push_back(key);
      records.push_back(record_of_order(key, cases_.at(key).known.order));
    }
    const std::vector<SenderVerdict> senders = verdicts(records);
    std::vector<Failure> failures;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      auto failure = prepare(keys[i], records[i], true, senders[i]);
      if (failure) failures.push_back(std::move(*failure));
    }
    tell(failures);
  }

  schema::RequestChange sent_change(KnownRequest known, const CreateOutcome& outcome) {
    ++report_.sent;
    const auto from = std::string(to_word(RequestState::approved));
    known.state = *state_after(known.state, RequestAct::send);
    known.error = error_of_late_edit(known.key);
    known.order.clear();
    known.approved_content.clear();
    known.failures = 0;
    known.due_at = now_ + kWriteInFlightMillis;
    return {std::move(known),
            {{now_, "giftsync", from, std::string(to_word(RequestState::sent)),
              gift_request_text(outcome.request)}}};
  }

  /// A rejection that came after the claim is put back, and told.
  std::string error_of_late_edit(const std::string& key) const {
    const std::string status = cases_.at(key).seen.row.text(F::status);
    if (schema::request_status_from_word(status) == schema::RequestStatus::approved) return {};
    return error_log_text(refusal(RequestState::sent, status));
  }

  schema::RequestChange later_change(KnownRequest known) const {
    known.due_at = now_ + sync_retry_millis(1);
    return {std::move(known), {}};
  }

  void say_sent(const std::vector<schema::RequestChange>& changes) {
    const std::set<std::string> kept = keep(changes);
    std::vector<schema::RequestWrite> writes;
    for (const std::string& key : kept) {
      const Case& one = cases_.at(key);
      if (one.known.state != RequestState::sent) continue;
      schema::RequestWrite write{one.seen.row};
      write.status = schema::RequestStatus::sent;
      write.claimed = false;
      if (one.seen.row.text(F::error_log) != one.known.error) write.error_log = one.known.error;
      writes.push_back(std::move(write));
    }
    write(writes);
  }

  /// A note stays while its request was left to somebody who may not come to the end.
  void settle_notes() {
    std::vector<std::int64_t> settled;
    for (const schema::RequestNote& note : notes_) {
      if (!overtaken_.contains(note.request_id)) settled.push_back(note.id);
    }
    if (!settled.empty()) crm_.settle_request_notes(settled);
  }

  schema::Store& store_;
  schema::Crm& crm_;
  const RequestRules& rules_;
  const schema::UtcMillis now_;
  RequestReport report_;
  std::vector<schema::RequestNote> notes_;
  std::vector<std::string> keys_;
  std::unordered_map<std::string, Case> cases_;
  std::set<std::string> overtaken_;
  std::map<std::string, std::string> refused_;  ///< by the CRM, with its reason
  std::vector<std::string> approved_;
  std::vector<std::string> claimed_;
  std::unordered_map<std::string, schema::NewGiftRequest> orders_;
  std::map<schema::GiftId, std::optional<schema::GiftItem>> items_;
};

}  // namespace

std::vector<SeenRequest> complete_all(schema::Crm& crm, std::vector<RequestRecord> rows) {
  std::map<std::string, schema::Person> contacts;
  std::map<std::string, schema::Person> leads;
  const auto look_up = [&](schema::PersonObject object, F field,
                           std::map<std::string, schema::Person>& people) {
    std::set<std::string> wanted;
    for (const RequestRecord& row : rows) wanted.insert(row.text(field));
    wanted.erase("");
    if (wanted.empty()) return;
    const std::vector<std::string> ids(wanted.begin(), wanted.end());
    for (schema::Person& one : crm.find_people(object, ids)) people.emplace(one.id, std::move(one));
  };
  look_up(schema::PersonObject::contact, F::recipient_contact, contacts);
  look_up(schema::PersonObject::lead, F::recipient_lead, leads);
  std::vector<SeenRequest> seen;
  for (RequestRecord& row : rows) {
    const std::string contact = row.text(F::recipient_contact);
    const std::string lead = row.text(F::recipient_lead);
    const auto& people = contact.empty() ? leads : contacts;
    const auto found = people.find(contact.empty() ? lead : contact);
    const schema::Person* person = found == people.end() ? nullptr : &found->second;
    RequestRecord whole = completed(row, person);
    seen.push_back(
        {std::move(row), std::move(whole), person != nullptr || (contact.empty() && lead.empty())});
  }
  return seen;
}

RequestReport request_step(schema::Store& store, schema::Crm& crm, const RequestRules& rules,
                           schema::UtcMillis now) {
  return Round(store, crm, rules, now).run();
}

}  // namespace giftsync::sync
