#include "sync/sync_step.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "schema/contact_normalization.h"
#include "sync/delivery_rules.h"
#include "sync/explicit_associations.h"
#include "sync/external_sent_times.h"
#include "sync/gift_record_draft.h"
#include "sync/lifecycle_rules.h"
#include "sync/match_decision.h"
#include "sync/status_rules.h"

namespace giftsync::sync {
namespace {

template <class Row, class IdOf>
auto by_transaction(std::vector<Row> rows, IdOf id_of) {
  std::unordered_map<schema::TransactionId, Row> indexed;
  indexed.reserve(rows.size());
  for (Row& row : rows) indexed.emplace(id_of(row), std::move(row));
  return indexed;
}

/// The decision's field for a lookup; null for lookups that it does not have.
std::string* lookup_of(schema::store::MatchDecision& decision, schema::GiftField field) {
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

using RequestLinks = std::map<schema::GiftRequestId, schema::store::RequestRecordLink>;

/// Processes one batch, phase by phase. After each phase the store is in a state from which the batch can be
/// repeated.
class SyncBatch {
 public:
  SyncBatch(schema::store::Store& store, schema::crm::Crm& crm, const SyncRules& rules,
            const SyncLease& lease, platform::UtcMillis now)
      : store_(store), crm_(crm), rules_(rules), lease_(lease), now_(now) {}

  SyncStepStats run() {
    const std::size_t limit = crm_.pace().rows_per_write;
    claims_ = store_.sync.claim(lease_.owner, lease_.millis, limit, now_);
    stats_.claimed = claims_.size();
    stats_.more = claims_.size() >= limit;
    if (claims_.empty()) return std::move(stats_);
    load();
    fold_changes();
    decide_undecided();
    upsert();
    store_.sync.close(lease_.owner, closes_);
    return std::move(stats_);
  }

 private:
  void load() {
    for (const schema::store::SyncClaim& claim : claims_) ids_.push_back(claim.transaction);
    gifts_ = by_transaction(store_.gifts.find(ids_),
                            [](const schema::store::Gift& gift) { return gift.transaction.id; });
  }

  void fold_changes() {
    const std::vector<schema::store::ChangeSpan> effective_spans = store_.changes.spans_of(ids_);
    std::unordered_map<schema::TransactionId, std::vector<schema::store::ChangeSpan>> spans;
    for (const schema::store::ChangeSpan& span : effective_spans) spans[span.transaction].push_back(span);
    const auto external_sent_times = reported_sent_times(store_.changes, gifts(), effective_spans);
    std::vector<schema::store::FoldedState> changed;
    for (auto& [id, gift] : gifts_) {
      schema::store::RecipientTransaction& transaction = gift.transaction;
      const auto reported = external_sent_times.find(id);
      const platform::UtcMillis sent_at =
          reported != external_sent_times.end() ? reported->second : *transaction.times[schema::Status::sent];
      const FoldedStatus folded = fold(sent_at, spans[id], transaction.untimed_status);
      const FoldedStatus known{transaction.status, transaction.times, transaction.has_conflict};
      if (folded == known) continue;
      changed.push_back({id, transaction.version, folded.status, folded.times, folded.has_conflict,
                         next_timer_at(gift, folded)});
    }
    const std::vector<schema::TransactionId> ids = store_.sync.save_folded(changed);
    const std::unordered_set<schema::TransactionId> saved(ids.begin(), ids.end());
    stats_.folded = saved.size();
    for (const schema::store::FoldedState& state : changed) {
      // Another process saved a newer fold and writes it to the CRM.
      if (!saved.contains(state.transaction)) {
        gifts_.erase(state.transaction);
        continue;
      }
      schema::store::RecipientTransaction& transaction = gifts_.at(state.transaction).transaction;
      transaction.status = state.status;
      transaction.times = state.times;
      transaction.has_conflict = state.has_conflict;
      ++transaction.version;
    }
  }

  std::vector<const schema::store::Gift*> gifts() const {
    std::vector<const schema::store::Gift*> all;
    all.reserve(gifts_.size());
    for (const auto& [id, gift] : gifts_) all.push_back(&gift);
    return all;
  }

  void decide_undecided() {
    sync_states_ =
        by_transaction(store_.sync.find_states(ids_),
                       [](const schema::store::CrmSyncState& sync_state) { return sync_state.transaction; });
    std::vector<const schema::store::Gift*> undecided;
    for (const schema::TransactionId id : ids_) {
      const auto gift = gifts_.find(id);
      if (gift != gifts_.end() && !sync_states_.contains(id)) undecided.push_back(&gift->second);
    }
    if (undecided.empty()) return;
    for (schema::store::CrmSyncState& sync_state : store_.sync.insert_decisions(new_decisions(undecided))) {
      sync_states_.emplace(sync_state.transaction, std::move(sync_state));
    }
  }

  std::vector<schema::store::CrmSyncState> new_decisions(
      const std::vector<const schema::store::Gift*>& gifts) {
    const RequestLinks request_links = request_links_of(store_, gifts);
    const schema::crm::DecisionQuestions questions = questions_about(gifts, request_links);
    const schema::crm::DecisionFacts facts = crm_.directory().look_up(questions);
    std::vector<schema::store::MatchDecision> decisions =
        match_recipients(crm_.directory(), rules_.match_fields, questions.recipients, facts);
    add_explicit_associations(gifts, request_links, decisions);
    std::map<std::string, std::vector<schema::crm::CrmUser>> senders;
    for (std::size_t i = 0; i < questions.sender_keys.size(); ++i)
      senders[questions.sender_keys[i]] = facts.senders[i];
    add_senders(gifts, senders, decisions);
    std::vector<schema::store::CrmSyncState> sync_states;
    const auto task =
        rules_.tasks.enabled ? schema::store::TaskState::wanted : schema::store::TaskState::none;
    for (std::size_t i = 0; i < gifts.size(); ++i) {
      stamp_deal_stage(decisions[i], *gifts[i]->transaction.times[schema::Status::sent], now_);
      const bool matched = !decisions[i].contact_id.empty() || !decisions[i].lead_id.empty();
      const schema::store::CrmSyncStatus state = matched || !rules_.skip_unmatched
                                                     ? schema::store::CrmSyncStatus::decided
                                                     : schema::store::CrmSyncStatus::skipped;
      sync_states.push_back(
          {gifts[i]->transaction.id, state, now_, std::move(decisions[i]), 0, "", false, task});
    }
    return sync_states;
  }

  /// Senders whom a request record names are not asked for.
  schema::crm::DecisionQuestions questions_about(const std::vector<const schema::store::Gift*>& gifts,
                                                 const RequestLinks& request_links) {
    const bool may_name_senders = crm_.request_records() != nullptr;
    schema::crm::DecisionQuestions questions;
    std::set<std::string> sender_keys;
    for (const schema::store::Gift* gift : gifts) {
      questions.recipients.push_back(recipient_keys(*gift, rules_.match_fields));
      const auto link = request_links.find(gift->request.id);
      const bool is_named =
          may_name_senders && link != request_links.end() && !link->second.sender_id.empty();
      if (!is_named && !gift->request.sender_email.empty())
        sender_keys.insert(schema::email_key(gift->request.sender_email));
    }
    questions.sender_keys.assign(sender_keys.begin(), sender_keys.end());
    return questions;
  }

  /// A gift that was sent for a request record gets the associations that the record names (REQ-28).
  void add_explicit_associations(const std::vector<const schema::store::Gift*>& gifts,
                                 const RequestLinks& request_links,
                                 std::vector<schema::store::MatchDecision>& decisions) {
    std::vector<ExplicitAssociations> explicit_associations;
    for (std::size_t i = 0; i < gifts.size(); ++i) {
      const auto request_link = request_links.find(gifts[i]->request.id);
      if (request_link != request_links.end())
        explicit_associations.push_back({&decisions[i], &request_link->second});
    }
    if (!explicit_associations.empty())
      apply_explicit_associations(crm_, rules_.match_fields, explicit_associations);
  }

  /// `users`: by the key of the sender's address.
  void add_senders(const std::vector<const schema::store::Gift*>& gifts,
                   const std::map<std::string, std::vector<schema::crm::CrmUser>>& users,
                   std::vector<schema::store::MatchDecision>& decisions) {
    for (const auto& [key, found] : users) {
      if (found.empty())
        stats_.warnings.push_back("no CRM user has the address " + key + ": Sender stays empty");
    }
    for (std::size_t i = 0; i < gifts.size(); ++i) {
      if (!decisions[i].sender_id.empty()) continue;  // a request record names it
      const std::string& sender = gifts[i]->request.sender_email;
      if (sender.empty()) continue;  // an external gift without a named sender
      const std::vector<schema::crm::CrmUser>& matching = users.at(schema::email_key(sender));
      if (matching.empty()) {
        add_warning(decisions[i], "No CRM user has the sender's address " + sender + ": Sender stays empty.");
      } else {
        decisions[i].sender_id = matching.front().id;
      }
    }
  }

  void upsert() {
    std::vector<schema::crm::GiftUpsert> rows;
    std::vector<const schema::store::SyncClaim*> row_claims;
    for (const schema::store::SyncClaim& claim : claims_) {
      const auto gift = gifts_.find(claim.transaction);
      const auto sync_state = sync_states_.find(claim.transaction);
      if (gift == gifts_.end() || sync_state == sync_states_.end()) {
        closes_.push_back(
            {claim, false, now_ + sync_retry_millis(1), "another daemon is processing it", std::nullopt});
      } else if (sync_state->second.state == schema::store::CrmSyncStatus::skipped) {
        ++stats_.skipped;
        closes_.push_back({claim, true, now_, "", std::nullopt});
      } else {
        rows.push_back(row_for(gift->second, sync_state->second));
        row_claims.push_back(&claim);
      }
    }
    const std::vector<schema::crm::RowResult> results = crm_.gift_records().upsert(rows);
    const std::size_t first = closes_.size();
    for (std::size_t i = 0; i < results.size(); ++i) apply_result(*row_claims[i], rows[i], results[i]);
    write_tasks(std::span(closes_).subspan(first), rows);
  }

  /// `closes` and `rows` are of the same gifts.
  void write_tasks(std::span<schema::store::SyncClose> closes,
                   const std::vector<schema::crm::GiftUpsert>& rows) {
    std::vector<schema::crm::TaskUpsert> due;
    std::vector<schema::store::SyncClose*> due_closes;
    for (std::size_t i = 0; i < closes.size(); ++i) {
      if (!closes[i].done) continue;
      auto row = next_task_write(gifts_.at(closes[i].claim.transaction), *closes[i].sync_state,
                                 rows[i].record, rules_.tasks);
      if (!row) continue;
      due.push_back(std::move(*row));
      due_closes.push_back(&closes[i]);
    }
    if (due.empty()) return;
    const std::vector<schema::crm::RowResult> results = crm_.tasks().upsert(due);
    for (std::size_t i = 0; i < results.size(); ++i) apply_task_result(*due_closes[i], due[i], results[i]);
  }

  void apply_task_result(schema::store::SyncClose& close, const schema::crm::TaskUpsert& row,
                         const schema::crm::RowResult& result) {
    const std::string gift = "gift " + std::to_string(row.transaction.value) + ": ";
    if (result.kind == schema::crm::RowResult::Kind::retry ||
        result.kind == schema::crm::RowResult::Kind::rejected) {
      ++stats_.failed;
      close.done = false;
      close.retry_at = now_ + sync_retry_millis(close.claim.attempts + 1);
      close.error = "task: " + result.reason;
      stats_.warnings.push_back(gift + "the CRM did not accept its task: " + result.reason);
      return;
    }
    close.sync_state->task = task_state_after(row, result);
    if (result.kind == schema::crm::RowResult::Kind::not_found)
      stats_.warnings.push_back(gift + result.reason + " and is not recreated");
    else
      ++stats_.tasks;
  }

  /// Lookups that the CRM refused are cleared in the decision too, so that store and record agree.
  void clear_lookups(schema::store::CrmSyncState& sync_state, const schema::crm::GiftUpsert& row,
                     const schema::crm::RowResult& result) {
    schema::store::MatchDecision& decision = sync_state.decision;
    for (const schema::GiftField field : result.cleared_lookups) {
      std::string* id = lookup_of(decision, field);
      if (id) id->clear();
      if (field == schema::GiftField::opportunity) decision.deal_stage.clear();
      const bool is_association = id && id != &decision.sender_id;
      sync_state.needs_relink = sync_state.needs_relink || is_association;
      // Created By and Owner equal Actual Sender: report once.
      if (!id && field != schema::GiftField::actual_sender) continue;
      const auto* refused = std::get_if<std::string>(&row.record.get(field));
      const std::string lookup =
          std::string(schema::descriptor_of(field).label) + " " + (refused ? *refused : "");
      add_warning(decision, lookup + " is not in the CRM any more: the field stays empty.");
      stats_.warnings.push_back(is_association ? "gift " + std::to_string(sync_state.transaction.value) +
                                                     ": its " + lookup +
                                                     " is not in the CRM any more and stays empty; "
                                                     "\"giftsyncctl rematch --unmatched\" matches it again"
                                               : lookup + " is not in the CRM: the field stays empty");
    }
  }

  schema::crm::GiftUpsert row_for(const schema::store::Gift& gift, schema::store::CrmSyncState& sync_state) {
    const bool exists = sync_state.was_written();
    // Link is written once, and signing it costs as much as everything else here.
    const std::string link = exists ? "" : rules_.link_of(gift.transaction);
    GiftRecordDraft draft = draft_gift_record(gift, sync_state.decision, link, rules_.integration_user);
    for (const std::string& warning : draft.warnings) add_warning(sync_state.decision, warning);
    if (exists && gift.transaction.gift_source == schema::store::kAdoptedGiftSource)
      keep_existing_values(draft.record);
    return {std::move(draft.record), exists, !gift.transaction.gift_source.empty()};
  }

  /// The prices of an adopted record are kept: they were made by rules that giftsync does not know. So is its
  /// Sent At.
  static void keep_existing_values(schema::GiftRecord& record) {
    for (std::size_t i = 0; i < schema::kGiftFieldCount; ++i) {
      const auto field = static_cast<schema::GiftField>(i);
      if (schema::is_preserved_when_absent(field)) record.set(field, {});
    }
  }

  void apply_result(const schema::store::SyncClaim& claim, const schema::crm::GiftUpsert& row,
                    const schema::crm::RowResult& result) {
    schema::store::CrmSyncState sync_state = sync_states_.at(claim.transaction);
    schema::store::SyncClose close{claim, true, now_, "", std::nullopt};
    const std::string gift = "gift " + std::to_string(claim.transaction.value) + ": ";
    switch (result.kind) {
      case schema::crm::RowResult::Kind::created:
      case schema::crm::RowResult::Kind::updated:
      case schema::crm::RowResult::Kind::unchanged:
        ++(result.kind == schema::crm::RowResult::Kind::created   ? stats_.created
           : result.kind == schema::crm::RowResult::Kind::updated ? stats_.updated
                                                                  : stats_.unchanged);
        sync_state.state = schema::store::CrmSyncStatus::written;
        sync_state.written_version = row.record.version;
        sync_state.error.clear();
        clear_lookups(sync_state, row, result);
        close.has_cleared_lookups = !result.cleared_lookups.empty();
        break;
      case schema::crm::RowResult::Kind::not_found:
        ++stats_.failed;
        sync_state.state = schema::store::CrmSyncStatus::deleted;
        sync_state.error = result.reason;
        stats_.warnings.push_back(gift + "its record was deleted in the CRM and is not recreated");
        break;
      case schema::crm::RowResult::Kind::retry:
      case schema::crm::RowResult::Kind::rejected:
        ++stats_.failed;
        close.done = false;
        close.retry_at = now_ + sync_retry_millis(claim.attempts + 1);
        close.error = result.reason;
        if (result.kind == schema::crm::RowResult::Kind::rejected)
          sync_state.state = schema::store::CrmSyncStatus::rejected;
        sync_state.error = result.reason;
        stats_.warnings.push_back(gift + "the CRM did not accept its record: " + result.reason);
        break;
    }
    close.sync_state = std::move(sync_state);
    closes_.push_back(std::move(close));
  }

  schema::store::Store& store_;
  schema::crm::Crm& crm_;
  const SyncRules& rules_;
  const SyncLease& lease_;
  const platform::UtcMillis now_;
  SyncStepStats stats_;
  std::vector<schema::store::SyncClaim> claims_;
  std::vector<schema::TransactionId> ids_;
  std::unordered_map<schema::TransactionId, schema::store::Gift> gifts_;
  std::unordered_map<schema::TransactionId, schema::store::CrmSyncState> sync_states_;
  std::vector<schema::store::SyncClose> closes_;
};

}  // namespace

std::int64_t sync_lease_millis(const schema::crm::CrmPace& pace) {
  return std::max(kSyncLeaseMillis, 2 * pace.longest_call_millis);
}

SyncStepStats sync_step(schema::store::Store& store, schema::crm::Crm& crm, const SyncRules& rules,
                        const SyncLease& lease, platform::UtcMillis now) {
  return SyncBatch(store, crm, rules, lease, now).run();
}

}  // namespace giftsync::sync
