#include "sync/rematch.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "platform/text.h"
#include "sync/explicit_associations.h"
#include "sync/match_decision.h"

namespace giftsync::sync {
namespace {

using Kind = RematchResult::Kind;

bool is_matched(const schema::Associations& links) {
  return !links.contact_id.empty() || !links.lead_id.empty();
}

void set_links(schema::store::MatchDecision& decision, const schema::Associations& links) {
  decision.contact_id = links.contact_id;
  decision.account_id = links.account_id;
  decision.lead_id = links.lead_id;
  decision.opportunity_id = links.opportunity_id;
}

/// Whether `to` clears a lookup that `from` has.
bool removes_lookup(const schema::Associations& from, const schema::Associations& to) {
  const auto is_removed = [](const std::string& before, const std::string& after) {
    return !before.empty() && after.empty();
  };
  return is_removed(from.contact_id, to.contact_id) || is_removed(from.lead_id, to.lead_id) ||
         is_removed(from.account_id, to.account_id) || is_removed(from.opportunity_id, to.opportunity_id);
}

/// A new decision, or why there is none.
struct NewMatch {
  std::optional<schema::store::MatchDecision> decision;
  std::string detail;
};

/// A gift and its current links.
struct LinkedGift {
  const schema::store::Gift* gift;
  const schema::store::CrmSyncState* sync_state;
};
using RequestLinks = std::map<schema::GiftRequestId, schema::store::RequestRecordLink>;

/// What the request records of these gifts name, without rows that the CRM no longer has.
RequestLinks current_request_links(schema::store::Store& store, schema::crm::Crm& crm,
                                   const std::vector<LinkedGift>& known) {
  std::vector<const schema::store::Gift*> gifts;
  for (const LinkedGift& one : known) gifts.push_back(one.gift);
  RequestLinks request_links = request_links_of(store, gifts);
  drop_missing_associations(crm, request_links);
  for (const LinkedGift& one : known) {
    const auto request_link = request_links.find(one.gift->request.id);
    if (request_link == request_links.end()) continue;
    // The CRM refused this account before: do not use it again.
    if (one.sync_state->decision.account_id != request_link->second.account_id)
      request_link->second.account_id.clear();
  }
  return request_links;
}

std::vector<NewMatch> match_again(schema::store::Store& store, schema::crm::Crm& crm,
                                  const RematchRules& rules, const std::vector<LinkedGift>& known) {
  std::vector<schema::crm::RecipientMatchKeys> recipients;
  for (const LinkedGift& one : known) recipients.push_back(recipient_keys(*one.gift, rules.match_fields));
  std::vector<schema::store::MatchDecision> decisions =
      match_recipients(crm.directory(), rules.match_fields, recipients);
  const RequestLinks request_links = current_request_links(store, crm, known);
  std::vector<ExplicitAssociations> explicit_associations;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const auto request_link = request_links.find(known[i].gift->request.id);
    if (request_link != request_links.end())
      explicit_associations.push_back({&decisions[i], &request_link->second});
  }
  apply_explicit_associations(crm, rules.match_fields, explicit_associations);
  std::vector<NewMatch> matches;
  for (schema::store::MatchDecision& decision : decisions) matches.push_back({std::move(decision), ""});
  return matches;
}

NewMatch match_converted_lead(const schema::crm::ConvertedLead* lead) {
  if (!lead) return {};
  if (lead->contact_id.empty()) return {std::nullopt, "its lead was converted without a contact"};
  if (!lead->contact_exists) {
    return {std::nullopt,
            "its lead was converted to contact " + lead->contact_id + ", which is not in the CRM"};
  }
  schema::store::MatchDecision decision;
  decision.contact_id = lead->contact_id;
  decision.account_id = lead->account_id;
  decision.reason = "Lead " + lead->lead_id + " was converted to contact " + lead->contact_id +
                    (lead->contact_name.empty() ? "" : " (" + lead->contact_name + ")") + ".";
  return {std::move(decision), ""};
}

std::vector<NewMatch> match_converted_leads(schema::store::Store& store, schema::crm::Crm& crm,
                                            const RematchRules& rules, const std::vector<LinkedGift>& known) {
  std::vector<std::string> ids;
  for (const LinkedGift& one : known) ids.push_back(one.sync_state->decision.lead_id);
  const std::vector<schema::crm::ConvertedLead> leads = crm.directory().find_converted_leads(ids);
  std::map<std::string, const schema::crm::ConvertedLead*> by_id;
  for (const schema::crm::ConvertedLead& lead : leads) by_id[lead.lead_id] = &lead;
  std::vector<NewMatch> matches;
  std::vector<schema::store::MatchDecision> decisions;
  std::vector<LinkedGift> converted;
  for (const LinkedGift& one : known) {
    const auto lead = by_id.find(one.sync_state->decision.lead_id);
    matches.push_back(match_converted_lead(lead == by_id.end() ? nullptr : lead->second));
    if (!matches.back().decision) continue;
    decisions.push_back(*matches.back().decision);
    converted.push_back(one);
  }
  if (converted.empty()) return matches;
  add_opportunities(crm.directory(), rules.match_fields, decisions);
  RequestLinks request_links = current_request_links(store, crm, converted);
  std::vector<ExplicitAssociations> explicit_associations;
  for (std::size_t i = 0; i < converted.size(); ++i) {
    const auto request_link = request_links.find(converted[i].gift->request.id);
    if (request_link == request_links.end()) continue;
    request_link->second.lead_id.clear();  // it is the contact now
    explicit_associations.push_back({&decisions[i], &request_link->second});
  }
  apply_explicit_associations(crm, rules.match_fields, explicit_associations);
  auto next = decisions.begin();
  for (NewMatch& one : matches) {
    if (one.decision) one.decision = std::move(*next++);
  }
  return matches;
}

/// The associations that a record has.
struct RecordLinks {
  schema::Associations links;
  schema::Associations existing;  ///< without lookups to missing rows
  std::string stage;              ///< Deal Stage
};

/// Rematches one batch: classifies it, writes it to the CRM, then to the store.
class Rematcher {
 public:
  Rematcher(schema::store::Store& store, schema::crm::Crm& crm, const RematchRules& rules,
            const std::vector<schema::store::CrmSyncState>& sync_states, platform::UtcMillis now)
      : store_(store), crm_(crm), rules_(rules), sync_states_(sync_states), now_(now) {}

  std::vector<RematchResult> run() {
    load();
    for (std::size_t i = 0; i < sync_states_.size(); ++i) classify(i);
    if (rules_.dry_run) return std::move(results_);
    relink();
    save_decisions();
    return std::move(results_);
  }

 private:
  schema::Associations links_of(const schema::store::MatchDecision& decision) const {
    return visible_associations(crm_.gift_records(), decision);
  }
  /// The stage that a record of this CRM can hold.
  std::string stage_of(const schema::store::MatchDecision& decision) const {
    return crm_.gift_records().has_field(schema::GiftField::deal_stage) ? decision.deal_stage : "";
  }

  void load() {
    std::vector<schema::TransactionId> ids;
    for (const schema::store::CrmSyncState& sync_state : sync_states_) {
      ids.push_back(sync_state.transaction);
      RematchResult& result = results_.emplace_back();
      result.transaction = sync_state.transaction;
      result.from = links_of(sync_state.decision);
      result.stage_from = stage_of(sync_state.decision);
    }
    load_links(ids);
    const std::vector<schema::store::Gift> gifts = store_.gifts.find(ids);
    std::vector<LinkedGift> known;
    for (const schema::store::Gift& gift : gifts) {
      const auto sync_state = std::find_if(
          sync_states_.begin(), sync_states_.end(),
          [&](const schema::store::CrmSyncState& one) { return one.transaction == gift.transaction.id; });
      known.push_back({&gift, &*sync_state});
      if (!gift.transaction.gift_source.empty()) external_gifts_.insert(gift.transaction.id);
    }
    std::vector<NewMatch> matches = rules_.follow_leads ? match_converted_leads(store_, crm_, rules_, known)
                                                        : match_again(store_, crm_, rules_, known);
    for (std::size_t i = 0; i < gifts.size(); ++i) matches_[gifts[i].transaction.id] = std::move(matches[i]);
  }

  void load_links(const std::vector<schema::TransactionId>& ids) {
    const std::vector<schema::GiftRecord> records = crm_.gift_records().find(ids);
    std::vector<schema::Associations> links;
    for (const schema::GiftRecord& record : records) links.push_back(associations_of(record));
    const std::vector<std::vector<schema::GiftField>> missing = crm_.gift_records().missing_lookups(links);
    for (std::size_t i = 0; i < records.size(); ++i) {
      RecordLinks& found = record_links_[records[i].transaction()];
      found.links = found.existing = links[i];
      if (const auto* stage = std::get_if<std::string>(&records[i].get(schema::GiftField::deal_stage)))
        found.stage = *stage;
      for (const schema::GiftField lookup : missing[i]) clear_lookup(found.existing, lookup);
    }
  }

  void classify(std::size_t i) {
    const schema::store::CrmSyncState& sync_state = sync_states_[i];
    RematchResult& result = results_[i];
    const auto found = record_links_.find(sync_state.transaction);
    if (found != record_links_.end()) {
      result.from = found->second.links;
      result.stage_from = found->second.stage;
    }
    result.to = result.from;
    result.stage_to = result.stage_from;
    if (sync_state.state == schema::store::CrmSyncStatus::deleted ||
        (found == record_links_.end() && sync_state.was_written())) {
      result.kind = Kind::gone;
      result.detail = "its record was deleted in the CRM";
      return;
    }
    if (found != record_links_.end() && !sync_state.was_written() &&
        !external_gifts_.contains(sync_state.transaction)) {
      result.kind = Kind::kept;
      result.detail = "the CRM has a record of this Transaction Id that giftsync did not write";
      return;
    }
    NewMatch& match = matches_[sync_state.transaction];
    if (!match.decision) {
      result.kind = match.detail.empty() ? Kind::unchanged : Kind::kept;
      result.detail = match.detail;
      return;
    }
    set_stage(sync_state.decision, *match.decision);
    result.to = links_of(*match.decision);
    result.reason = match.decision->reason;
    if (found == record_links_.end())
      classify_unwritten(i);
    else
      classify_record(i, found->second);
  }

  /// Deal Stage is the stage of one opportunity when the gift was sent. With another opportunity, or none, it
  /// is cleared, and only sending sets it again.
  void set_stage(const schema::store::MatchDecision& before, schema::store::MatchDecision& next) const {
    const auto max_length =
        static_cast<std::size_t>(schema::descriptor_of(schema::GiftField::deal_stage).length);
    if (next.opportunity_id == before.opportunity_id)
      next.deal_stage = before.deal_stage;
    else if (rules_.is_sending)
      next.deal_stage.resize(platform::truncated(next.deal_stage, max_length).size());
    else
      next.deal_stage.clear();
  }

  /// Whether the record's Deal Stage is what giftsync wrote and has to change.
  bool changes_stage(std::size_t i, const RecordLinks& record) {
    const schema::store::CrmSyncState& before = sync_states_[i];
    return record.stage == before.decision.deal_stage &&
           record.stage != matches_[before.transaction].decision->deal_stage;
  }

  void classify_unwritten(std::size_t i) {
    const bool skip = rules_.skip_unmatched && !is_matched(results_[i].to);
    const bool was_skipped = sync_states_[i].state == schema::store::CrmSyncStatus::skipped;
    if (was_skipped ? skip : results_[i].to == results_[i].from) return;
    results_[i].kind = Kind::to_create;
    plan(i, skip ? schema::store::CrmSyncStatus::skipped : schema::store::CrmSyncStatus::decided);
  }

  void classify_record(std::size_t i, const RecordLinks& record) {
    const schema::store::CrmSyncState& sync_state = sync_states_[i];
    const schema::Associations& recorded = record.links;
    const schema::Associations& existing = record.existing;
    RematchResult& result = results_[i];
    const schema::Associations written = links_of(sync_state.decision);
    if (result.to == recorded) {
      // The record is correct already, because of an interrupted rematch or a manual edit. A gift that an
      // admin named gets the new reason, since its address may have changed.
      const bool has_stale_stage = changes_stage(i, record);
      if (has_stale_stage) result.kind = Kind::relinked;
      if (has_stale_stage || recorded != written || sync_state.needs_relink ||
          (rules_.overwrite_corrections && is_new_reason(sync_state, result.reason)))
        plan(i, sync_state.state);
      return;
    }
    const bool has_missing = existing != recorded;
    // A manual correction to a row that is missing now does not count.
    const bool is_corrected = recorded != written && (!has_missing || is_matched(existing));
    const bool is_left_alone = !is_matched(result.to) && removes_lookup(recorded, result.to);
    if (has_missing && (is_corrected || is_left_alone) && !rules_.overwrite_corrections) {
      remove_dead_lookups(i, existing);
      return;
    }
    if (is_corrected && !rules_.overwrite_corrections) {
      result.kind = Kind::kept;
      result.detail = "linked manually to " + describe(recorded) + " (giftsync wrote " + describe(written) +
                      "); --gift " + std::to_string(sync_state.transaction.value) + " overwrites it";
      if (sync_state.needs_relink) clear_needs_relink(i);
      return;
    }
    if (is_left_alone && !rules_.overwrite_corrections) {
      result.kind = Kind::kept;
      result.detail = "no match any more; its links are kept";
      return;
    }
    result.kind = Kind::relinked;
    if (recorded != written)
      result.detail =
          "overwrites a manual link: " + describe(recorded) + " (giftsync wrote " + describe(written) + ")";
    plan(i, sync_state.state);
  }

  /// Clears the lookups to missing rows and nothing else.
  void remove_dead_lookups(std::size_t i, const schema::Associations& existing) {
    RematchResult& result = results_[i];
    schema::store::MatchDecision& decision = *matches_[result.transaction].decision;
    set_links(decision, existing);
    set_stage(sync_states_[i].decision, decision);
    decision.reason = "Lookups to missing rows were cleared, the others are kept.";
    result.to = existing;
    result.reason = decision.reason;
    result.kind = Kind::relinked;
    plan(i, sync_states_[i].state);
  }

  static bool is_new_reason(const schema::store::CrmSyncState& sync_state, const std::string& reason) {
    return sync_state.decision.reason.find(reason) == std::string::npos;
  }

  /// The decision to store if the CRM write succeeds.
  void plan(std::size_t i, schema::store::CrmSyncStatus state) {
    const schema::store::CrmSyncState& before = sync_states_[i];
    const schema::store::MatchDecision& match = *matches_[before.transaction].decision;
    RematchResult& result = results_[i];
    if (result.kind == Kind::to_create ||
        (result.kind == Kind::relinked && changes_stage(i, record_links_.at(before.transaction))))
      result.stage_to = stage_of(match);
    schema::store::DecisionUpdate planned{before, before.decided_at, result.kind == Kind::to_create};
    schema::store::CrmSyncState& sync_state = planned.sync_state;
    sync_state.state = state;
    sync_state.decided_at = std::max(now_, before.decided_at + 1);
    sync_state.needs_relink = false;
    set_links(sync_state.decision, associations_of(match));
    sync_state.decision.deal_stage = match.deal_stage;
    sync_state.decision.reason = "Matched again on " + platform::to_rfc3339(now_) +
                                 " by an admin's command. " + match.reason +
                                 " Before: " + describe(result.from) + ".";
    if (match.opportunity_id != before.decision.opportunity_id)
      set_deal_stage_warning(sync_state.decision, stage_warning(before, match));
    if (before.state == schema::store::CrmSyncStatus::skipped && rules_.tasks_enabled)
      sync_state.task = schema::store::TaskState::wanted;
    planned_.emplace_back(i, std::move(planned));
  }

  /// The warning for a gift whose opportunity changes; empty when there is none.
  std::string stage_warning(const schema::store::CrmSyncState& before,
                            const schema::store::MatchDecision& next) const {
    const std::string& was = before.decision.deal_stage;
    const auto found = record_links_.find(before.transaction);
    if (found != record_links_.end() && crm_.gift_records().has_field(schema::GiftField::deal_stage) &&
        found->second.stage != was && found->second.stage != next.deal_stage)
      return "Deal Stage was edited in the CRM and is kept.";
    if (rules_.is_sending) return "";
    if (!was.empty())
      return "Deal Stage was cleared: \"" + was +
             "\" was the stage of another opportunity, and a rematch never fills it.";
    return next.opportunity_id.empty() ? "" : "Deal Stage stays empty: a rematch never fills it.";
  }

  /// A lookup that the CRM had refused was corrected manually: no rematch is needed any more.
  void clear_needs_relink(std::size_t i) {
    const schema::store::CrmSyncState& before = sync_states_[i];
    schema::store::DecisionUpdate planned{before, before.decided_at, false};
    planned.sync_state.decided_at = std::max(now_, before.decided_at + 1);
    planned.sync_state.needs_relink = false;
    manually_resolved_.push_back(std::move(planned));
  }

  void relink() {
    std::vector<schema::crm::GiftRelink> rows;
    std::vector<std::size_t> row_plans;
    for (std::size_t p = 0; p < planned_.size(); ++p) {
      const RematchResult& result = results_[planned_[p].first];
      if (result.kind != Kind::relinked) continue;
      schema::crm::GiftRelink& row = rows.emplace_back();
      row = {result.transaction, result.from, result.to};
      if (const RecordLinks& record = record_links_.at(result.transaction);
          changes_stage(planned_[p].first, record)) {
        row.stage_from = record.stage;
        row.stage_to = planned_[p].second.sync_state.decision.deal_stage;
      }
      row_plans.push_back(p);
    }
    if (rows.empty()) return;
    const std::vector<schema::crm::RowResult> row_results = crm_.gift_records().relink(rows);
    for (std::size_t i = 0; i < row_results.size(); ++i) apply_result(planned_[row_plans[i]], row_results[i]);
  }

  void apply_result(std::pair<std::size_t, schema::store::DecisionUpdate>& plan,
                    const schema::crm::RowResult& row_result) {
    RematchResult& result = results_[plan.first];
    switch (row_result.kind) {
      case schema::crm::RowResult::Kind::created:
      case schema::crm::RowResult::Kind::updated:
        break;
      case schema::crm::RowResult::Kind::unchanged:
        result.kind = Kind::kept;
        result.detail = "it was relinked in the CRM at the same moment";
        return;
      case schema::crm::RowResult::Kind::not_found:
        result.kind = Kind::gone;
        result.detail = row_result.reason;
        return;
      case schema::crm::RowResult::Kind::retry:
      case schema::crm::RowResult::Kind::rejected:
        result.kind = Kind::failed;
        result.detail = row_result.reason;
        return;
    }
    schema::store::MatchDecision& decision = plan.second.sync_state.decision;
    schema::Associations links = associations_of(decision);
    for (const schema::GiftField field : row_result.cleared_lookups) {
      plan.second.sync_state.needs_relink = true;
      result.detail += std::string(result.detail.empty() ? "" : "; ") +
                       std::string(schema::descriptor_of(field).label) +
                       " is no longer in the CRM: the field stays empty";
      clear_lookup(links, field);
      if (field != schema::GiftField::opportunity) continue;
      decision.deal_stage.clear();
      if (result.stage_to != result.stage_from) result.stage_to.clear();
    }
    set_links(decision, links);
    result.to = links_of(decision);
  }

  void save_decisions() {
    std::vector<schema::store::DecisionUpdate> decisions = manually_resolved_;
    for (const auto& [i, planned] : planned_) {
      const Kind kind = results_[i].kind;
      if (kind == Kind::unchanged || kind == Kind::relinked || kind == Kind::to_create)
        decisions.push_back(planned);
    }
    const std::vector<schema::TransactionId> kept = store_.sync.update_decisions(decisions, now_);
    for (const schema::store::DecisionUpdate& one : decisions) {
      if (std::find(kept.begin(), kept.end(), one.sync_state.transaction) != kept.end()) continue;
      RematchResult& result = *std::find_if(results_.begin(), results_.end(), [&](const RematchResult& r) {
        return r.transaction == one.sync_state.transaction;
      });
      result.kind = Kind::failed;
      result.detail = "it is being synchronized; run the command again";
    }
  }

  schema::store::Store& store_;
  schema::crm::Crm& crm_;
  const RematchRules& rules_;
  const std::vector<schema::store::CrmSyncState>& sync_states_;
  const platform::UtcMillis now_;
  std::map<schema::TransactionId, RecordLinks> record_links_;
  std::set<schema::TransactionId> external_gifts_;
  std::map<schema::TransactionId, NewMatch> matches_;
  std::vector<RematchResult> results_;
  std::vector<std::pair<std::size_t, schema::store::DecisionUpdate>>
      planned_;  ///< with the index of their result
  std::vector<schema::store::DecisionUpdate> manually_resolved_;
};

}  // namespace

schema::Associations visible_associations(const schema::crm::GiftRecords& records,
                                          const schema::store::MatchDecision& decision) {
  schema::Associations links = associations_of(decision);
  if (!records.has_field(schema::GiftField::recipient_contact)) links.contact_id.clear();
  if (!records.has_field(schema::GiftField::account)) links.account_id.clear();
  if (!records.has_field(schema::GiftField::recipient_lead)) links.lead_id.clear();
  if (!records.has_field(schema::GiftField::opportunity)) links.opportunity_id.clear();
  return links;
}

std::string describe(const schema::Associations& links) {
  std::string text = !links.contact_id.empty() ? "contact " + links.contact_id
                     : !links.lead_id.empty()  ? "lead " + links.lead_id
                                               : "no one";
  if (!links.account_id.empty()) text += ", account " + links.account_id;
  if (!links.opportunity_id.empty()) text += ", opportunity " + links.opportunity_id;
  return text;
}

std::string_view to_word(RematchResult::Kind kind) {
  switch (kind) {
    case Kind::unchanged:
      return "unchanged";
    case Kind::relinked:
      return "relinked";
    case Kind::to_create:
      return "created";
    case Kind::kept:
      return "manual_links_kept";
    case Kind::failed:
      return "failed";
    case Kind::gone:
      return "deleted_in_crm";
  }
  std::abort();  // a value outside its enumeration: a bug
}

std::vector<RematchResult> rematch(schema::store::Store& store, schema::crm::Crm& crm,
                                   const RematchRules& rules,
                                   const std::vector<schema::store::CrmSyncState>& sync_states,
                                   platform::UtcMillis now) {
  if (sync_states.empty()) return {};
  return Rematcher(store, crm, rules, sync_states, now).run();
}

}  // namespace giftsync::sync
