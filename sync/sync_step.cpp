#include "sync/sync_step.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "matching/choice.h"
#include "schema/address.h"
#include "sync/delivery_rules.h"
#include "sync/gift_record_draft.h"
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

/// The work of one batch, step by step; each step leaves the store in a state from which the batch can be
/// done again.
class Batch {
 public:
  Batch(schema::Store& store, schema::Crm& crm, const SyncRules& rules, const SyncLease& lease,
        schema::UtcMillis now)
      : store_(store), crm_(crm), rules_(rules), lease_(lease), now_(now) {}

  SyncReport run() {
    claims_ = store_.sync.claim(lease_.owner, lease_.millis, schema::kCrmBatch, now_);
    report_.claimed = claims_.size();
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
    std::unordered_map<TransactionId, std::vector<schema::StatusChange>> changes;
    for (schema::StatusChange& change : store_.changes.changes_of(ids_)) {
      changes[change.transaction].push_back(std::move(change));
    }
    std::vector<schema::FoldedState> changed;
    for (auto& [id, gift] : gifts_) {
      schema::RecipientTransaction& transaction = gift.transaction;
      const FoldedStatus folded = fold(*transaction.times[schema::Status::sent], changes[id]);
      if (folded.status == transaction.status && folded.times == transaction.times) continue;
      changed.push_back({id, transaction.version, folded.status, folded.times});
    }
    const std::vector<TransactionId> saved = store_.sync.save(changed);
    report_.folded = saved.size();
    for (const schema::FoldedState& state : changed) {
      // A fold that somebody else overtook is not written to the CRM: the overtaker does that.
      if (std::find(saved.begin(), saved.end(), state.transaction) == saved.end()) {
        gifts_.erase(state.transaction);
        continue;
      }
      schema::RecipientTransaction& transaction = gifts_.at(state.transaction).transaction;
      transaction.status = state.status;
      transaction.times = state.times;
      ++transaction.version;
    }
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
    for (const Gift* gift : gifts) {
      recipients.push_back({schema::email_key(gift->transaction.email),
                            schema::phone_key(gift->transaction.phone, rules_.match_fields.default_region)});
    }
    std::vector<schema::MatchDecision> decisions = decide(crm_, rules_.match_fields, recipients);
    add_senders(gifts, decisions);
    std::vector<GiftMirror> mirrors;
    for (std::size_t i = 0; i < gifts.size(); ++i) {
      const bool matched = !decisions[i].contact_id.empty() || !decisions[i].lead_id.empty();
      const MirrorState state =
          matched || !rules_.skip_unmatched ? MirrorState::decided : MirrorState::skipped;
      mirrors.push_back({gifts[i]->transaction.id, state, now_, std::move(decisions[i]), 0, ""});
    }
    return mirrors;
  }

  void add_senders(const std::vector<const Gift*>& gifts, std::vector<schema::MatchDecision>& decisions) {
    std::map<std::string, std::vector<schema::CrmUser>> users;
    for (const Gift* gift : gifts) users[schema::email_key(gift->request.sender_email)];
    std::vector<std::string> keys;
    for (const auto& [key, unused] : users) keys.push_back(key);
    std::vector<std::vector<schema::CrmUser>> found = crm_.find_users(keys);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (found[i].empty())
        report_.notes.push_back("no CRM user has the address " + keys[i] + ": Sender stays empty");
      users[keys[i]] = std::move(found[i]);
    }
    for (std::size_t i = 0; i < gifts.size(); ++i) {
      const std::string& sender = gifts[i]->request.sender_email;
      const std::vector<schema::CrmUser>& matching = users[schema::email_key(sender)];
      if (matching.empty()) {
        decisions[i].warnings = "No CRM user has the sender's address " + sender + ": Sender stays empty.";
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
    for (std::size_t i = 0; i < results.size(); ++i) settle(*row_claims[i], rows[i], results[i]);
  }

  schema::GiftUpsert row_for(const Gift& gift, GiftMirror& mirror) {
    GiftRecordDraft draft =
        draft_gift_record(gift, mirror.decision, rules_.link_of(gift.transaction), rules_.integration_user);
    for (const std::string& warning : draft.warnings) {
      if (mirror.decision.warnings.find(warning) != std::string::npos) continue;
      if (!mirror.decision.warnings.empty()) mirror.decision.warnings += "\n";
      mirror.decision.warnings += warning;
    }
    return {std::move(draft.record), mirror.written_version > 0};
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

std::vector<schema::MatchDecision> decide(schema::Crm& crm, const schema::MatchFields& fields,
                                          const std::vector<schema::RecipientKeys>& recipients) {
  const std::vector<schema::Candidates> contacts =
      crm.find_candidates(schema::PersonObject::contact, recipients);
  std::vector<schema::RecipientKeys> without_contact;
  for (std::size_t i = 0; i < recipients.size(); ++i) {
    if (!matching::contact_decides(contacts[i])) without_contact.push_back(recipients[i]);
  }
  std::vector<schema::Candidates> leads;
  if (!without_contact.empty()) leads = crm.find_candidates(schema::PersonObject::lead, without_contact);
  std::vector<schema::MatchDecision> decisions;
  std::size_t next_lead = 0;
  for (std::size_t i = 0; i < recipients.size(); ++i) {
    const schema::Candidates none;
    const schema::Candidates& lead = matching::contact_decides(contacts[i]) ? none : leads[next_lead++];
    matching::Choice choice = matching::choose(recipients[i], contacts[i], lead, fields);
    schema::MatchDecision& decision = decisions.emplace_back();
    decision.contact_id = std::move(choice.contact_id);
    decision.account_id = std::move(choice.account_id);
    decision.lead_id = std::move(choice.lead_id);
    decision.reason = std::move(choice.reason);
  }
  return decisions;
}

}  // namespace giftsync::sync
