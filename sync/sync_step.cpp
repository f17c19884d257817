#include "sync/sync_step.h"

#include <map>
#include <unordered_map>
#include <unordered_set>

#include "schema/address.h"
#include "sync/decision.h"
#include "sync/delivery_rules.h"
#include "sync/gift_record_draft.h"
#include "sync/given_links.h"
#include "sync/lifecycle_rules.h"
#include "sync/sending_times.h"
#include "sync/status_rules.h"

namespace giftsync::sync {
namespace {

using schema::Gift;
using schema::GiftMirror;
using schema::MirrorState;
using schema::RowResult;
using schema::TransactionId;

template <class Row, class IdOf>
auto by_transaction(std::vector<Row> rows, IdOf id_of) {
  std::unordered_map<TransactionId, Row> indexed;
  indexed.reserve(rows.size());
  for (Row& row : rows) indexed.emplace(id_of(row), std::move(row));
  return indexed;
}

/// Where the decision keeps a lookup; null for those that it does not have.
std::string* decided_id(schema::MatchDecision& decision, schema::GiftField field) {
  switch (field) {
    case schema::GiftField::recipient_contact:
      return &decision.contact_id;
    case schema::GiftField::account:
      return &decision.account_id;
    case schema::GiftField::recipient_lead:
      return &decision.lead_id;
    case schema::GiftField::opportunity:
      return &decision.opportunity_id;
    case schema::GiftField::sender:
      return &decision.sender_id;
    default:
      return nullptr;
  }
}

/// The work of one batch, step by step; each step leaves the store in a state from which the batch can be
/// done again.
class Batch {
 public:
  Batch(schema::Store& store, schema::Crm& crm, const SyncRules& rules, const SyncLease& lease,
        schema::UtcMillis now)
      : store_(store), crm_(crm), rules_(rules), lease_(lease), now_(now) {}

  SyncReport run() {
    claims_ = store_.sync.claim(lease_.owner, lease_.millis, crm_.rows_a_call(), now_);
    report_.claimed = claims_.size();
    report_.more = claims_.size() >= crm_.rows_a_call();
    if (claims_.empty()) return std::move(report_);
    load();
    fold_changes();
    decide_undecided();
    upsert();
    store_.sync.close(lease_.owner, closes_);
    return std::move(report_);
  }

 private:
  void load() {
    for (const schema::SyncClaim& claim : claims_) ids_.push_back(claim.transaction);
    gifts_ = by_transaction(store_.gifts.gifts(ids_), [](const Gift& gift) { return gift.transaction.id; });
  }

  void fold_changes() {
    const std::vector<schema::ChangeSpan> counting = store_.changes.spans_of(ids_);
    std::unordered_map<TransactionId, std::vector<schema::ChangeSpan>> spans;
    for (const schema::ChangeSpan& span : counting) spans[span.transaction].push_back(span);
    const auto sent_outside = reported_times_of_sending(store_.changes, gifts(), counting);
    std::vector<schema::FoldedState> changed;
    for (auto& [id, gift] : gifts_) {
      schema::RecipientTransaction& transaction = gift.transaction;
      const auto reported = sent_outside.find(id);
      const schema::UtcMillis sent_at =
          reported != sent_outside.end() ? reported->second : *transaction.times[schema::Status::sent];
      const FoldedStatus folded = fold(sent_at, spans[id], transaction.untimed_status);
      const FoldedStatus known{transaction.status, transaction.times, transaction.contradictory};
      if (folded == known) continue;
      changed.push_back({id, transaction.version, folded.status, folded.times, folded.contradictory,
                         next_look(gift, folded)});
    }
    const std::vector<TransactionId> ids = store_.sync.save(changed);
    const std::unordered_set<TransactionId> saved(ids.begin(), ids.end());
    report_.folded = saved.size();
    for (const schema::FoldedState& state : changed) {
      // A fold that somebody else overtook is not written to the CRM: the overtaker does that.
      if (!saved.contains(state.transaction)) {
        gifts_.erase(state.transaction);
        continue;
      }
      schema::RecipientTransaction& transaction = gifts_.at(state.transaction).transaction;
      transaction.status = state.status;
      transaction.times = state.times;
      transaction.contradictory = state.contradictory;
      ++transaction.version;
    }
  }

  std::vector<const Gift*> gifts() const {
    std::vector<const Gift*> all;
    all.reserve(gifts_.size());
    for (const auto& [id, gift] : gifts_) all.push_back(&gift);
    return all;
  }

  void decide_undecided() {
    mirrors_ = by_transaction(store_.sync.mirrors(ids_),
                              [](const GiftMirror& mirror) { return mirror.transaction; });
    std::vector<const Gift*> undecided;
    for (const TransactionId id : ids_) {
      const auto gift = gifts_.find(id);
      if (gift != gifts_.end() && !mirrors_.contains(id)) undecided.push_back(&gift->second);
    }
    if (undecided.empty()) return;
    for (GiftMirror& mirror : store_.sync.decide(new_decisions(undecided))) {
      mirrors_.emplace(mirror.transaction, std::move(mirror));
    }
  }

  std::vector<GiftMirror> new_decisions(const std::vector<const Gift*>& gifts) {
    std::vector<schema::RecipientKeys> recipients;
    for (const Gift* gift : gifts) recipients.push_back(recipient_keys(*gift, rules_.match_fields));
    std::vector<schema::MatchDecision> decisions = decide(crm_, rules_.match_fields, recipients);
    take_given_links(gifts, decisions);
    add_senders(gifts, decisions);
    std::vector<GiftMirror> mirrors;
    const auto task = rules_.tasks.enabled ? schema::TaskState::wanted : schema::TaskState::none;
    for (std::size_t i = 0; i < gifts.size(); ++i) {
      stamp_deal_stage(decisions[i], *gifts[i]->transaction.times[schema::Status::sent], now_);
      const bool matched = !decisions[i].contact_id.empty() || !decisions[i].lead_id.empty();
      const MirrorState state =
          matched || !rules_.skip_unmatched ? MirrorState::decided : MirrorState::skipped;
      mirrors.push_back({gifts[i]->transaction.id, state, now_, std::move(decisions[i]), 0, "", false, task});
    }
    return mirrors;
  }

  /// A gift that was sent for a request record refers to what that record names (design 3.3).
  void take_given_links(const std::vector<const Gift*>& gifts,
                        std::vector<schema::MatchDecision>& decisions) {
    const auto origins = origins_of(store_, gifts);
    std::vector<GivenLinks> given;
    for (std::size_t i = 0; i < gifts.size(); ++i) {
      const auto origin = origins.find(gifts[i]->request.id);
      if (origin != origins.end()) given.push_back({&decisions[i], &origin->second});
    }
    if (!given.empty()) apply_given_links(crm_, rules_.match_fields, given);
  }

  void add_senders(const std::vector<const Gift*>& gifts, std::vector<schema::MatchDecision>& decisions) {
    std::map<std::string, std::vector<schema::CrmUser>> users;
    for (std::size_t i = 0; i < gifts.size(); ++i) {
      if (decisions[i].sender_id.empty() && !gifts[i]->request.sender_email.empty())
        users[schema::email_key(gifts[i]->request.sender_email)];
    }
    std::vector<std::string> keys;
    for (const auto& [key, unused] : users) keys.push_back(key);
    std::vector<std::vector<schema::CrmUser>> found = crm_.find_users(keys);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (found[i].empty())
        report_.notes.push_back("no CRM user has the address " + keys[i] + ": Sender stays empty");
      users[keys[i]] = std::move(found[i]);
    }
    for (std::size_t i = 0; i < gifts.size(); ++i) {
      if (!decisions[i].sender_id.empty()) continue;  // a request record names it
      const std::string& sender = gifts[i]->request.sender_email;
      if (sender.empty()) continue;  // sent elsewhere, by nobody that is named
      const std::vector<schema::CrmUser>& matching = users[schema::email_key(sender)];
      if (matching.empty()) {
        add_warning(decisions[i], "No CRM user has the sender's address " + sender + ": Sender stays empty.");
      } else {
        decisions[i].sender_id = matching.front().id;
      }
    }
  }

  void upsert() {
    std::vector<schema::GiftUpsert> rows;
    std::vector<const schema::SyncClaim*> row_claims;
    for (const schema::SyncClaim& claim : claims_) {
      const auto gift = gifts_.find(claim.transaction);
      const auto mirror = mirrors_.find(claim.transaction);
      if (gift == gifts_.end() || mirror == mirrors_.end()) {
        closes_.push_back(
            {claim, false, now_ + sync_retry_millis(1), "another daemon is at it", std::nullopt});
      } else if (mirror->second.state == MirrorState::skipped) {
        ++report_.skipped;
        closes_.push_back({claim, true, now_, "", std::nullopt});
      } else {
        rows.push_back(row_for(gift->second, mirror->second));
        row_claims.push_back(&claim);
      }
    }
    const std::vector<RowResult> results = crm_.upsert_gift_records(rows);
    const std::size_t first = closes_.size();
    for (std::size_t i = 0; i < results.size(); ++i) settle(*row_claims[i], rows[i], results[i]);
    write_tasks(std::span(closes_).subspan(first), rows);
  }

  /// `closes` and `rows` are of the same gifts.
  void write_tasks(std::span<schema::SyncClose> closes, const std::vector<schema::GiftUpsert>& rows) {
    std::vector<schema::TaskUpsert> due;
    std::vector<schema::SyncClose*> due_closes;
    for (std::size_t i = 0; i < closes.size(); ++i) {
      if (!closes[i].done) continue;
      auto row =
          task_due(gifts_.at(closes[i].claim.transaction), *closes[i].mirror, rows[i].record, rules_.tasks);
      if (!row) continue;
      due.push_back(std::move(*row));
      due_closes.push_back(&closes[i]);
    }
    if (due.empty()) return;
    const std::vector<RowResult> results = crm_.upsert_tasks(due);
    for (std::size_t i = 0; i < results.size(); ++i) settle_task(*due_closes[i], due[i], results[i]);
  }

  void settle_task(schema::SyncClose& close, const schema::TaskUpsert& row, const RowResult& result) {
    const std::string gift = "gift " + std::to_string(row.transaction.value) + ": ";
    if (result.kind == RowResult::Kind::retry || result.kind == RowResult::Kind::rejected) {
      ++report_.failed;
      close.done = false;
      close.retry_at = now_ + sync_retry_millis(close.claim.attempts + 1);
      close.error = "task: " + result.reason;
      report_.notes.push_back(gift + "the CRM did not take its task: " + result.reason);
      return;
    }
    close.mirror->task = task_state_after(row, result);
    if (result.kind == RowResult::Kind::gone)
      report_.notes.push_back(gift + result.reason + " and is not made again");
    else
      ++report_.tasks;
  }

  /// What the CRM refused is left empty in the decision as well, so that store and record agree.
  void clear_lookups(GiftMirror& mirror, const schema::GiftUpsert& row, const RowResult& result) {
    schema::MatchDecision& decision = mirror.decision;
    for (const schema::GiftField field : result.cleared) {
      std::string* id = decided_id(decision, field);
      if (id) id->clear();
      if (field == schema::GiftField::opportunity) decision.deal_stage.clear();
      const bool is_association = id && id != &decision.sender_id;
      mirror.needs_rematch = mirror.needs_rematch || is_association;
      // Created By and Owner are who Actual Sender is: said once.
      if (!id && field != schema::GiftField::actual_sender) continue;
      const auto* refused = std::get_if<std::string>(&row.record.get(field));
      const std::string lookup = std::string(schema::field_of(field).label) + " " + (refused ? *refused : "");
      add_warning(decision, lookup + " is not in the CRM any more: the field stays empty.");
      report_.notes.push_back(is_association
                                  ? "gift " + std::to_string(mirror.transaction.value) + ": its " + lookup +
                                        " is not in the CRM any more and stays empty; "
                                        "\"giftsyncctl rematch --unmatched\" decides anew"
                                  : lookup + " is not in the CRM: the field stays empty");
    }
  }

  schema::GiftUpsert row_for(const Gift& gift, GiftMirror& mirror) {
    const bool exists = mirror.was_written();
    // Link is written once, and to sign one costs as much as all else here.
    const std::string link = exists ? "" : rules_.link_of(gift.transaction);
    GiftRecordDraft draft = draft_gift_record(gift, mirror.decision, link, rules_.integration_user);
    for (const std::string& warning : draft.warnings) add_warning(mirror.decision, warning);
    if (exists && gift.transaction.origin == schema::kAdoptedOrigin) leave_as_found(draft.record);
    return {std::move(draft.record), exists, !gift.transaction.origin.empty()};
  }

  /// An adopted record's prices are as they were made, by rules that giftsync does not know, and it may say
  /// better than giftsync when it was sent.
  static void leave_as_found(schema::GiftRecord& record) {
    for (std::size_t i = 0; i < schema::kGiftFieldCount; ++i) {
      const auto field = static_cast<schema::GiftField>(i);
      if (is_left_when_absent(field)) record.set(field, {});
    }
  }

  void settle(const schema::SyncClaim& claim, const schema::GiftUpsert& row, const RowResult& result) {
    GiftMirror mirror = mirrors_.at(claim.transaction);
    schema::SyncClose close{claim, true, now_, "", std::nullopt};
    const std::string gift = "gift " + std::to_string(claim.transaction.value) + ": ";
    switch (result.kind) {
      case RowResult::Kind::created:
      case RowResult::Kind::updated:
      case RowResult::Kind::unchanged:
        ++(result.kind == RowResult::Kind::created   ? report_.created
           : result.kind == RowResult::Kind::updated ? report_.updated
                                                     : report_.unchanged);
        mirror.state = MirrorState::written;
        mirror.written_version = row.record.version;
        mirror.error.clear();
        clear_lookups(mirror, row, result);
        close.lookups_cleared = !result.cleared.empty();
        break;
      case RowResult::Kind::gone:
        ++report_.failed;
        mirror.state = MirrorState::gone;
        mirror.error = result.reason;
        report_.notes.push_back(gift + "its record was deleted in the CRM and is not made again");
        break;
      case RowResult::Kind::retry:
      case RowResult::Kind::rejected:
        ++report_.failed;
        close.done = false;
        close.retry_at = now_ + sync_retry_millis(claim.attempts + 1);
        close.error = result.reason;
        if (result.kind == RowResult::Kind::rejected) mirror.state = MirrorState::rejected;
        mirror.error = result.reason;
        report_.notes.push_back(gift + "the CRM did not take its record: " + result.reason);
        break;
    }
    close.mirror = std::move(mirror);
    closes_.push_back(std::move(close));
  }

  schema::Store& store_;
  schema::Crm& crm_;
  const SyncRules& rules_;
  const SyncLease& lease_;
  const schema::UtcMillis now_;
  SyncReport report_;
  std::vector<schema::SyncClaim> claims_;
  std::vector<TransactionId> ids_;
  std::unordered_map<TransactionId, Gift> gifts_;
  std::unordered_map<TransactionId, GiftMirror> mirrors_;
  std::vector<schema::SyncClose> closes_;
};

}  // namespace

SyncReport sync_step(schema::Store& store, schema::Crm& crm, const SyncRules& rules, const SyncLease& lease,
                     schema::UtcMillis now) {
  return Batch(store, crm, rules, lease, now).run();
}

}  // namespace giftsync::sync
