#include "sync/event_trial.h"

#include <map>
#include <set>

#include "schema/enum_words.h"

namespace giftsync::sync {
namespace {

using schema::TransactionId;
using schema::store::AcceptOutcome;

constexpr auto kOutcomeNames = schema::enum_words<TrialOutcome>({{TrialOutcome::accepted, "accepted"},
                                                                 {TrialOutcome::duplicate, "duplicate"},
                                                                 {TrialOutcome::orphaned, "orphaned"},
                                                                 {TrialOutcome::over_limit, "over_limit"},
                                                                 {TrialOutcome::ignored, "ignored"},
                                                                 {TrialOutcome::quarantined, "quarantined"}});

/// Numbers below 1 stand for ids that have no transaction yet: no gift has one of them.
void assign_transactions(schema::store::Store& store, const EventRules& rules,
                         std::vector<schema::store::InboundItem>& items) {
  if (!rules.allots_ids) return;
  std::set<std::string> external_ids;
  for (const schema::store::InboundItem& item : items) {
    if (item.change) external_ids.insert(item.event.transaction);
  }
  auto transactions = store.external_ids.find_known(rules.gift_source, external_ids);
  std::int64_t unknown = 0;
  for (const std::string& external_id : external_ids) {
    if (!transactions.contains(external_id)) transactions.emplace(external_id, TransactionId{--unknown});
  }
  for (schema::store::InboundItem& item : items) {
    if (!item.change) continue;
    const TransactionId id = transactions.at(item.event.transaction);
    item.change->transaction = id;
    if (item.sent) item.sent->transaction = id;
    if (item.gift) item.gift->id = id;
  }
}

TrialOutcome outcome_of(AcceptOutcome outcome) {
  switch (outcome) {
    case AcceptOutcome::accepted:
      return TrialOutcome::accepted;
    case AcceptOutcome::duplicate:
      return TrialOutcome::duplicate;
    case AcceptOutcome::orphaned:
      return TrialOutcome::orphaned;
    case AcceptOutcome::too_many_orphaned:
      return TrialOutcome::over_limit;
    case AcceptOutcome::other_source:
      break;
  }
  return TrialOutcome::quarantined;
}

EventTrial quarantined(const schema::store::UnappliedEvent& event) {
  EventTrial trial;
  trial.outcome = TrialOutcome::quarantined;
  trial.reason = event.reason;
  trial.detail = event.detail;
  return trial;
}

EventTrial trial_of(const schema::store::InboundItem& item, const schema::store::ForeseenItem& foreseen,
                    const EventRules& rules) {
  if (item.quarantined || !item.change) return quarantined(item.event);
  EventTrial trial;
  trial.outcome = outcome_of(foreseen.outcome);
  trial.status = item.change->status;
  trial.occurred_at = item.change->occurred_at;
  if (item.change->transaction.value > 0) trial.transaction = item.change->transaction;
  if (rules.allots_ids) trial.external_id = item.event.transaction;
  trial.gift_exists = foreseen.gift_exists;
  trial.creates_gift = foreseen.creates_gift;
  trial.gift_known = foreseen.gift_known;
  if (trial.outcome == TrialOutcome::quarantined) {
    trial.reason = schema::store::QuarantineReason::other_source;
    trial.detail = foreseen.conflict;
  } else if (!trial.gift_known) {
    trial.detail = item.orphan_detail;
  }
  return trial;
}

}  // namespace

std::string_view to_word(TrialOutcome outcome) {
  return kOutcomeNames.word_of(outcome);
}

std::vector<EventTrial> try_events(schema::store::Store& store, const EventRules& rules,
                                   std::vector<ClassifiedEvent> classified, platform::UtcMillis now) {
  std::vector<EventTrial> trials(classified.size());
  std::vector<std::size_t> places;
  schema::store::InboundBatch batch;
  batch.source = rules.source;
  batch.gift_source = rules.gift_source;
  batch.now = now;
  for (std::size_t i = 0; i < classified.size(); ++i) {
    if (classified[i].ignored) {
      trials[i].outcome = TrialOutcome::ignored;
      continue;
    }
    places.push_back(i);
    batch.items.push_back(std::move(classified[i].item));
  }
  assign_transactions(store, rules, batch.items);
  const std::vector<schema::store::ForeseenItem> foreseen = store.sources.foresee(batch);
  for (std::size_t i = 0; i < places.size(); ++i)
    trials[places[i]] = trial_of(batch.items[i], foreseen[i], rules);
  return trials;
}

}  // namespace giftsync::sync
