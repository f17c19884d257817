#include "matching/rematch.h"

#include <algorithm>
#include <map>

#include "matching/match_decision.h"
#include "platform/digest.h"
#include "platform/text.h"
#include "schema/enums.h"
#include "schema/store/gift/erased_address.h"

namespace giftsync::matching {

namespace {

// The new decision of each gift of a rematch (MATCH-25): matched again, or moved with its converted
// lead. Associations that a request record names still apply. It reads store and CRM and writes nothing.

/// A gift and its current links.
struct LinkedGift {
  const store::Gift* gift;
  const store::CrmSyncState* sync_state;
};

/// A new decision, or why there is none; with neither nothing changes.
struct NewMatch {
  std::optional<store::MatchDecision> decision;
  std::string detail;
};

std::vector<const store::Gift*> gifts_of(const std::vector<LinkedGift>& linked) {
  std::vector<const store::Gift*> gifts;
  for (const LinkedGift& linked_gift : linked) gifts.push_back(linked_gift.gift);
  return gifts;
}

/// What the request records of these gifts name, without rows that the CRM no longer has.
RequestLinks current_request_links(store::Store& store, crm::Crm& crm, const std::vector<LinkedGift>& gifts) {
  RequestLinks request_links = request_links_of(store.request_records, gifts_of(gifts));
  drop_missing_associations(crm, request_links);
  for (const LinkedGift& linked_gift : gifts) {
    const auto request_link = request_links.find(linked_gift.gift->request.id);
    if (request_link == request_links.end()) continue;
    // The CRM refused this account before: do not use it again.
    if (linked_gift.sync_state->decision.account_id != request_link->second.account_id)
      request_link->second.account_id.clear();
  }
  return request_links;
}

NewMatch follow(const crm::ConvertedLead& lead) {
  if (lead.contact_id.empty()) return {std::nullopt, "its lead was converted without a contact"};
  if (!lead.contact_exists)
    return {std::nullopt,
            "its lead was converted to contact " + lead.contact_id + ", which is not in the CRM"};
  store::MatchDecision decision;
  decision.contact_id = lead.contact_id;
  decision.account_id = lead.account_id;
  decision.reason = "Lead " + lead.lead_id + " was converted to contact " + lead.contact_id +
                    (lead.contact_name.empty() ? "" : " (" + lead.contact_name + ")") + ".";
  return {std::move(decision), ""};
}

/// One for each gift, in order.
std::vector<NewMatch> match_again(store::Store& store, crm::Crm& crm, const crm::MatchFields& fields,
                                  const std::vector<LinkedGift>& gifts) {
  std::vector<store::MatchDecision> decisions = match_gifts(crm.directory(), fields, gifts_of(gifts));
  const RequestLinks request_links = current_request_links(store, crm, gifts);
  apply_explicit_associations(crm, fields, gifts_of(gifts), request_links, decisions);
  std::vector<NewMatch> matches;
  for (store::MatchDecision& decision : decisions) matches.push_back({std::move(decision), ""});
  return matches;
}

/// One for each gift, in order: a decision only for gifts whose lead was converted to a contact of the CRM.
std::vector<NewMatch> follow_converted_leads(store::Store& store, crm::Crm& crm,
                                             const crm::MatchFields& fields,
                                             const std::vector<LinkedGift>& gifts) {
  std::vector<std::string> ids;
  for (const LinkedGift& gift : gifts) ids.push_back(gift.sync_state->decision.lead_id);
  std::map<std::string, NewMatch> by_lead;
  for (const crm::ConvertedLead& lead : crm.directory().find_converted_leads(ids))
    by_lead[lead.lead_id] = follow(lead);
  std::vector<NewMatch> matches;
  std::vector<store::MatchDecision> decisions;
  std::vector<LinkedGift> converted;
  for (const LinkedGift& linked_gift : gifts) {
    const auto lead = by_lead.find(linked_gift.sync_state->decision.lead_id);
    matches.push_back(lead == by_lead.end() ? NewMatch() : lead->second);
    if (!matches.back().decision) continue;
    decisions.push_back(*matches.back().decision);
    converted.push_back(linked_gift);
  }
  if (converted.empty()) return matches;
  add_opportunities(crm.directory(), fields, decisions);
  RequestLinks request_links = current_request_links(store, crm, converted);
  for (auto& [request, request_link] : request_links) request_link.lead_id.clear();  // it is the contact now
  apply_explicit_associations(crm, fields, gifts_of(converted), request_links, decisions);
  auto next = decisions.begin();
  for (NewMatch& match : matches) {
    if (match.decision) match.decision = std::move(*next++);
  }
  return matches;
}

}  // namespace

namespace {

using Kind = RematchResult::Kind;
using store::CrmSyncState;
using store::MatchDecision;

/// The associations that a record has.
struct RecordLinks {
  Associations links;
  Associations existing;  ///< without lookups to missing rows
  std::string stage;      ///< Deal Stage
};

/// What store and CRM know of one gift.
struct GiftToRematch {
  CrmSyncState before;
  std::optional<RecordLinks> record = {};
  bool has_foreign_id = false;
  bool is_erased = false;  ///< its recipient: the reason of a new decision may name the person (GUARD-17)
  NewMatch match = {};
};

/// The result for one gift, and what has to be written for it.
struct RematchPlan {
  RematchResult result;
  MatchDecision next = {};
  bool changes_stage = false;                        ///< of the record
  std::optional<store::DecisionUpdate> update = {};  ///< stored if the CRM write succeeds
};

struct RematchContext {
  const crm::GiftRecords& records;
  const RematchRules& rules;
  UtcMillis now;
};

std::map<TransactionId, RecordLinks> read_record_links(crm::GiftRecords& gift_records,
                                                       const std::vector<TransactionId>& ids) {
  const std::vector<GiftRecord> records = gift_records.find(ids);
  std::vector<Associations> links;
  for (const GiftRecord& record : records) links.push_back(associations_of(record));
  const std::vector<std::vector<GiftField>> missing = gift_records.missing_lookups(links);
  std::map<TransactionId, RecordLinks> by_id;
  for (std::size_t i = 0; i < records.size(); ++i) {
    RecordLinks& found = by_id[records[i].transaction()];
    found.links = found.existing = links[i];
    if (const auto* stage = std::get_if<std::string>(&records[i].get(GiftField::deal_stage)))
      found.stage = *stage;
    for (const GiftField lookup : missing[i]) giftsync::clear_lookup(found.existing, lookup);
  }
  return by_id;
}

std::vector<GiftToRematch> read_gifts(store::Store& store, crm::Crm& crm, const RematchRules& rules,
                                      const std::vector<CrmSyncState>& sync_states) {
  std::vector<TransactionId> ids;
  for (const CrmSyncState& sync_state : sync_states) ids.push_back(sync_state.transaction);
  std::map<TransactionId, RecordLinks> records = read_record_links(crm.gift_records(), ids);
  std::vector<GiftToRematch> all;
  std::map<TransactionId, std::size_t> position;
  for (const CrmSyncState& sync_state : sync_states) {
    position.emplace(sync_state.transaction, all.size());
    GiftToRematch& to_rematch = all.emplace_back(GiftToRematch{sync_state});
    if (const auto record = records.find(sync_state.transaction); record != records.end())
      to_rematch.record = std::move(record->second);
  }
  const std::vector<store::Gift> gifts = store.gifts.find(ids);
  std::vector<LinkedGift> known;
  for (const store::Gift& gift : gifts)
    known.push_back({&gift, &all[position.at(gift.transaction.id)].before});
  std::vector<NewMatch> matches = rules.link ? std::vector<NewMatch>(known.size(), {rules.link->decision, ""})
                                  : rules.follow_leads
                                      ? follow_converted_leads(store, crm, rules.match_fields, known)
                                      : match_again(store, crm, rules.match_fields, known);
  for (std::size_t i = 0; i < gifts.size(); ++i) {
    GiftToRematch& to_rematch = all[position.at(gifts[i].transaction.id)];
    to_rematch.has_foreign_id = store::has_foreign_id(gifts[i].transaction);
    to_rematch.is_erased = store::is_erased_address(gifts[i].transaction.email);
    to_rematch.match = std::move(matches[i]);
  }
  return all;
}

/// Whether an admin's link is stored, or one that was stored ends. Of a recipient whose address was changed
/// the link was made for the old one.
bool changes_link(const RematchRules& rules, const CrmSyncState& before) {
  return rules.link || ((rules.replaces_link || rules.is_sending) && !before.linked_by.empty());
}

/// Whether `to` clears a lookup that `from` has.
bool removes_lookup(const Associations& from, const Associations& to) {
  const auto is_removed = [](const std::string& before, const std::string& after) {
    return !before.empty() && after.empty();
  };
  return is_removed(from.contact_id, to.contact_id) || is_removed(from.lead_id, to.lead_id) ||
         is_removed(from.account_id, to.account_id) || is_removed(from.opportunity_id, to.opportunity_id);
}

/// The stage that a record of this CRM can hold.
std::string visible_stage(const crm::GiftRecords& records, const MatchDecision& decision) {
  return records.has_field(GiftField::deal_stage) ? decision.deal_stage : "";
}

/// Deal Stage is the stage of one opportunity when the gift was sent. With another opportunity, or none, it
/// is cleared, and only sending sets it again.
void set_stage(const MatchDecision& before, bool is_sending, MatchDecision& next) {
  const auto max_length = static_cast<std::size_t>(descriptor_of(GiftField::deal_stage).length);
  if (next.opportunity_id == before.opportunity_id)
    next.deal_stage = before.deal_stage;
  else if (is_sending)
    next.deal_stage.resize(truncated(next.deal_stage, max_length).size());
  else
    next.deal_stage.clear();
}

/// Whether the record's Deal Stage is what giftsync wrote and has to change.
bool has_stale_stage(const GiftToRematch& gift, const MatchDecision& next) {
  return gift.record && gift.record->stage == gift.before.decision.deal_stage &&
         gift.record->stage != next.deal_stage;
}

/// The warning for a gift whose opportunity changes; empty when there is none.
std::string stage_warning(const RematchContext& context, const GiftToRematch& gift,
                          const MatchDecision& next) {
  const std::string& was = gift.before.decision.deal_stage;
  if (gift.record && context.records.has_field(GiftField::deal_stage) && gift.record->stage != was &&
      gift.record->stage != next.deal_stage)
    return "Deal Stage was edited in the CRM and is kept.";
  if (context.rules.is_sending) return "";
  if (!was.empty())
    return "Deal Stage was cleared: \"" + was +
           "\" was the stage of another opportunity, and a rematch never fills it.";
  return next.opportunity_id.empty() ? "" : "Deal Stage stays empty: a rematch never fills it.";
}

store::DecisionUpdate rematched(const CrmSyncState& before, UtcMillis now) {
  store::DecisionUpdate update{before, before.decided_at};
  update.sync_state.decided_at = std::max(now, before.decided_at + 1);
  update.sync_state.needs_relink = false;
  return update;
}

/// The beginning of the stored reason.
std::string introduction(const RematchContext& context) {
  const std::string when = " on " + to_rfc3339(context.now) + " by ";
  if (!context.rules.link) return "Matched again" + when + context.rules.by + ". ";
  return "Linked" + when + context.rules.link->actor + ": " + context.rules.link->reason + ". ";
}

/// Plans to store `plan.next` in that state, and to write what the record lacks of it.
void set_update(const RematchContext& context, const GiftToRematch& gift, store::CrmSyncStatus state,
                RematchPlan& plan) {
  const CrmSyncState& before = gift.before;
  RematchResult& result = plan.result;
  const bool creates = result.kind == Kind::to_create;
  plan.changes_stage = has_stale_stage(gift, plan.next);
  if (creates || (result.kind == Kind::relinked && plan.changes_stage))
    result.stage_to = visible_stage(context.records, plan.next);
  plan.update = rematched(before, context.now);
  plan.update->create_record = creates;
  CrmSyncState& sync_state = plan.update->sync_state;
  sync_state.state = state;
  set_associations(sync_state.decision, associations_of(plan.next));
  sync_state.decision.deal_stage = plan.next.deal_stage;
  sync_state.decision.reason =
      introduction(context) + plan.next.reason + " Before: " + describe(result.from) + ".";
  sync_state.linked_by = context.rules.link ? context.rules.link->actor : "";
  if (context.rules.link)
    plan.update->action = {before.transaction, context.now, store::GiftActionKind::linked,
                           context.rules.link->actor,
                           "to " + describe(result.to) + ": " + context.rules.link->reason};
  if (plan.next.opportunity_id != before.decision.opportunity_id)
    set_deal_stage_warning(sync_state.decision, stage_warning(context, gift, plan.next));
  if (before.state == store::CrmSyncStatus::skipped && context.rules.tasks_enabled)
    sync_state.task = store::TaskState::wanted;
}

void plan_unwritten(const RematchContext& context, const GiftToRematch& gift, RematchPlan& plan) {
  const auto state = status_before_write(plan.result.to, context.rules.skip_unmatched);
  const bool stays = gift.before.state == store::CrmSyncStatus::skipped
                         ? state == store::CrmSyncStatus::skipped
                         : plan.result.to == plan.result.from;
  if (stays && !changes_link(context.rules, gift.before)) return;
  plan.result.kind = Kind::to_create;
  set_update(context, gift, state, plan);
}

/// The record is correct already, because of an interrupted rematch or a manual edit. A gift that an admin
/// named gets the new reason, since its address may have changed.
void plan_correct_record(const RematchContext& context, const GiftToRematch& gift,
                         const Associations& written, RematchPlan& plan) {
  const CrmSyncState& before = gift.before;
  const bool is_stage_stale = has_stale_stage(gift, plan.next);
  if (is_stage_stale) plan.result.kind = Kind::relinked;
  const bool is_new_reason = before.decision.reason.find(plan.result.reason) == std::string::npos;
  if (is_stage_stale || gift.record->links != written || before.needs_relink ||
      (context.rules.overwrite_corrections && is_new_reason) || changes_link(context.rules, before))
    set_update(context, gift, before.state, plan);
}

/// Clears the lookups to missing rows and nothing else.
void remove_dead_lookups(const RematchContext& context, const GiftToRematch& gift, RematchPlan& plan) {
  set_associations(plan.next, gift.record->existing);
  set_stage(gift.before.decision, context.rules.is_sending, plan.next);
  plan.result.reason = plan.next.reason = "Lookups to missing rows were cleared, the others are kept.";
  plan.result.to = gift.record->existing;
  plan.result.kind = Kind::relinked;
  set_update(context, gift, gift.before.state, plan);
}

void plan_record(const RematchContext& context, const GiftToRematch& gift, RematchPlan& plan) {
  const Associations& recorded = gift.record->links;
  const Associations written = visible_associations(context.records, gift.before.decision);
  RematchResult& result = plan.result;
  if (result.to == recorded) return plan_correct_record(context, gift, written, plan);
  const bool has_missing = gift.record->existing != recorded;
  // A manual correction to a row that is missing now does not count.
  const bool is_corrected = recorded != written && (!has_missing || is_matched(gift.record->existing));
  const bool is_left_alone = !is_matched(result.to) && removes_lookup(recorded, result.to);
  const std::string manual_link = describe(recorded) + " (giftsync wrote " + describe(written) + ")";
  if ((is_corrected || is_left_alone) && !context.rules.overwrite_corrections) {
    if (has_missing) return remove_dead_lookups(context, gift, plan);
    result.kind = Kind::kept;
    result.detail = "no match any more; its links are kept";
    if (!is_corrected) return;
    result.detail = "linked manually to " + manual_link + "; --gift " +
                    std::to_string(result.transaction.value) + " overwrites it";
    // A lookup that the CRM had refused was corrected manually: no rematch is needed any more.
    if (gift.before.needs_relink) plan.update = rematched(gift.before, context.now);
    return;
  }
  result.kind = Kind::relinked;
  if (recorded != written) result.detail = "overwrites a manual link: " + manual_link;
  set_update(context, gift, gift.before.state, plan);
}

RematchPlan plan_rematch(const RematchContext& context, const GiftToRematch& gift) {
  const CrmSyncState& before = gift.before;
  RematchPlan plan;
  RematchResult& result = plan.result;
  result.transaction = before.transaction;
  result.from = gift.record ? gift.record->links : visible_associations(context.records, before.decision);
  result.stage_from = gift.record ? gift.record->stage : visible_stage(context.records, before.decision);
  result.to = result.from;
  result.stage_to = result.stage_from;
  if (gift.is_erased) {
    result.kind = Kind::kept;
    result.detail = "its recipient was erased";
  } else if (before.state == store::CrmSyncStatus::deleted || (!gift.record && before.was_written())) {
    result.kind = Kind::not_found;
    result.detail = "its record was deleted in the CRM";
  } else if (gift.record && !before.was_written() && !gift.has_foreign_id) {
    result.kind = Kind::kept;
    result.detail = "the CRM has a record of this Transaction Id that giftsync did not write";
  } else if (!before.linked_by.empty() && !changes_link(context.rules, before)) {
    result.kind = Kind::kept;
    result.detail = "linked by " + before.linked_by + "; \"giftsyncctl gift link " +
                    std::to_string(before.transaction.value) + " --by-rules\" lets the rules decide again";
  } else if (!gift.match.decision) {
    result.kind = gift.match.detail.empty() ? Kind::unchanged : Kind::kept;
    result.detail = gift.match.detail;
  } else {
    plan.next = *gift.match.decision;
    set_stage(before.decision, context.rules.is_sending, plan.next);
    result.to = visible_associations(context.records, plan.next);
    result.reason = plan.next.reason;
    (gift.record ? plan_record : plan_unwritten)(context, gift, plan);
  }
  return plan;
}

/// The CRM did not write the row: the store keeps the old decision too.
void drop_update(RematchPlan& plan, Kind kind, const std::string& detail) {
  plan.result.kind = kind;
  plan.result.detail = detail;
  plan.update.reset();
}

void apply_result(const crm::GiftRecords& records, const crm::RowResult& row_result, RematchPlan& plan) {
  switch (row_result.kind) {
    case crm::RowResult::Kind::created:
    case crm::RowResult::Kind::updated:
      break;
    case crm::RowResult::Kind::unchanged:
      return drop_update(plan, Kind::kept, "it was relinked in the CRM at the same moment");
    case crm::RowResult::Kind::not_found:
      return drop_update(plan, Kind::not_found, row_result.reason);
    case crm::RowResult::Kind::retry:
    case crm::RowResult::Kind::rejected:
      return drop_update(plan, Kind::failed, row_result.reason);
  }
  RematchResult& result = plan.result;
  CrmSyncState& sync_state = plan.update->sync_state;
  for (const GiftField field : row_result.cleared_lookups) {
    sync_state.needs_relink = true;
    result.detail += std::string(result.detail.empty() ? "" : "; ") +
                     std::string(descriptor_of(field).label) +
                     " is no longer in the CRM: the field stays empty";
    clear_lookup(sync_state.decision, field);
    if (field == GiftField::opportunity && result.stage_to != result.stage_from) result.stage_to.clear();
  }
  result.to = visible_associations(records, sync_state.decision);
}

void relink_records(crm::GiftRecords& records, std::vector<RematchPlan>& plans) {
  std::vector<crm::GiftRelink> rows;
  std::vector<RematchPlan*> row_plans;
  for (RematchPlan& plan : plans) {
    const RematchResult& result = plan.result;
    if (result.kind != Kind::relinked) continue;
    crm::GiftRelink& row = rows.emplace_back();
    row = {result.transaction, result.from, result.to};
    if (plan.changes_stage) {
      row.stage_from = result.stage_from;
      row.stage_to = plan.next.deal_stage;
    }
    row_plans.push_back(&plan);
  }
  if (rows.empty()) return;
  const std::vector<crm::RowResult> row_results = records.relink(rows);
  for (std::size_t i = 0; i < row_results.size(); ++i) apply_result(records, row_results[i], *row_plans[i]);
}

store::AuditEvent audit_of(const store::AuditEvent& audit, const RematchResult& result) {
  store::AuditEvent event = audit;
  event.refused = result.is_outdated || result.kind == Kind::kept || result.kind == Kind::failed ||
                  result.kind == Kind::not_found;
  event.detail =
      std::string(to_word(result.kind)) + ": from " + describe(result.from) + " to " + describe(result.to);
  return event;
}

void save_decisions(store::Store& store, const RematchRules& rules, std::vector<RematchPlan>& plans,
                    UtcMillis now) {
  std::vector<store::DecisionUpdate> updates;
  for (RematchPlan& plan : plans) {
    if (!plan.update) continue;
    if (rules.audit) plan.update->audit = audit_of(*rules.audit, plan.result);
    updates.push_back(*plan.update);
  }
  const std::vector<TransactionId> saved = store.sync.update_decisions(updates, now);
  for (RematchPlan& plan : plans) {
    const bool is_saved = std::find(saved.begin(), saved.end(), plan.result.transaction) != saved.end();
    if (plan.update && !is_saved)
      drop_update(plan, Kind::failed, "it is being synchronized; run the command again");
  }
}

}  // namespace

std::vector<RematchResult> rematch(store::Store& store, crm::Crm& crm, const RematchRules& rules,
                                   const std::vector<CrmSyncState>& sync_states, UtcMillis now) {
  if (sync_states.empty()) return {};
  std::vector<RematchPlan> plans;
  for (const GiftToRematch& gift : read_gifts(store, crm, rules, sync_states))
    plans.push_back(plan_rematch({crm.gift_records(), rules, now}, gift));
  const bool is_outdated = !rules.expected.empty() && fingerprint(plans.front().result) != rules.expected;
  if (is_outdated) {
    plans.front().result.is_outdated = true;
    plans.front().update.reset();
  } else if (!rules.dry_run) {
    relink_records(crm.gift_records(), plans);
    save_decisions(store, rules, plans, now);
  }
  std::vector<RematchResult> results;
  for (RematchPlan& plan : plans) {
    if (rules.audit && !rules.dry_run && !plan.update) store.audit.add(audit_of(*rules.audit, plan.result));
    results.push_back(std::move(plan.result));
  }
  return results;
}

std::optional<RematchResult> rematch_readdressed(store::Store& store, crm::Crm& crm, RematchRules rules,
                                                 TransactionId gift, UtcMillis now) {
  const std::vector<CrmSyncState> sync_states = store.sync.find_states(std::span(&gift, 1));
  if (sync_states.empty()) return std::nullopt;
  rules.overwrite_corrections = true;
  rules.is_sending = true;
  return rematch(store, crm, rules, sync_states, now).front();
}

// What a rematch compares, and the words for what it found.

namespace {

using store::MatchDecision;

constexpr std::size_t kFingerprintDigits = 16;

constexpr auto kKinds = enum_words<Kind>({{Kind::unchanged, "unchanged"},
                                          {Kind::relinked, "relinked"},
                                          {Kind::to_create, "created"},
                                          {Kind::kept, "manual_links_kept"},
                                          {Kind::failed, "failed"},
                                          {Kind::not_found, "deleted_in_crm"}});

}  // namespace

Associations visible_associations(const crm::GiftRecords& records, const MatchDecision& decision) {
  Associations links = associations_of(decision);
  for (const GiftField lookup : kAssociationLookups) {
    if (!records.has_field(lookup)) giftsync::clear_lookup(links, lookup);
  }
  return links;
}

std::string describe(const Associations& links) {
  std::string text = !links.contact_id.empty() ? "contact " + links.contact_id
                     : !links.lead_id.empty()  ? "lead " + links.lead_id
                                               : "no one";
  if (!links.account_id.empty()) text += ", account " + links.account_id;
  if (!links.opportunity_id.empty()) text += ", opportunity " + links.opportunity_id;
  return text;
}

std::string_view to_word(RematchResult::Kind kind) {
  return kKinds.word_of(kind);
}

std::string fingerprint(const RematchResult& result) {
  std::string text;
  for (const std::string& part :
       {std::string(to_word(result.kind)), describe(result.from), describe(result.to), result.stage_from,
        result.stage_to, result.reason, result.detail})
    text += std::to_string(part.size()) + ":" + part;
  return sha256_hex(text).substr(0, kFingerprintDigits);
}

}  // namespace giftsync::matching
