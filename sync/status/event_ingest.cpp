#include "sync/status/event_ingest.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "platform/text.h"
#include "schema/enums.h"

namespace giftsync::sync {
namespace {

using store::EventState;
using store::InboundBatch;
using store::IngestResult;
using store::UnappliedEvent;

constexpr std::size_t kReprocessBatchSize = 500;

/// Looks up each catalogue item once: a batch has many events of few gifts.
FindItem cached_item_lookup(store::Catalogue& catalogue) {
  return [&catalogue, cache = std::map<GiftId, std::optional<store::GiftItem>>()](GiftId id) mutable {
    const auto found = cache.find(id);
    if (found != cache.end()) return found->second;
    return cache.emplace(id, catalogue.item(id)).first->second;
  };
}

/// Events of one page with equal fields and different texts are different events: a pointer may be wrong.
/// They are numbered, and get the same numbers when the page is read again.
void number_identical_events(std::span<const InboundEvent> events, std::vector<ClassifiedEvent>& classified) {
  std::map<std::string, std::map<std::string_view, std::size_t>> numbers;  // of payloads, by digest
  for (std::size_t i = 0; i < events.size(); ++i) {
    std::string& digest = classified[i].item.event.digest;
    auto& payloads = numbers[digest];
    const std::size_t number = payloads.emplace(events[i].payload, payloads.size()).first->second;
    if (number > 0) digest += "/" + std::to_string(number);
  }
}

void ignore_outdated_generations(store::GiftRequests& gifts, std::span<const InboundEvent> events,
                                 std::vector<ClassifiedEvent>& classified) {
  const auto is_about_mail = [&](std::size_t i) { return events[i].generation && classified[i].item.change; };
  std::set<TransactionId> mailed;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (is_about_mail(i)) mailed.insert(classified[i].item.change->transaction);
  }
  if (mailed.empty()) return;
  std::map<TransactionId, std::int64_t> generations;
  for (const store::Gift& gift : gifts.find(std::vector(mailed.begin(), mailed.end())))
    generations[gift.transaction.id] = gift.transaction.generation;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!is_about_mail(i)) continue;
    const auto present = generations.find(classified[i].item.change->transaction);
    if (present != generations.end() && *events[i].generation < present->second)
      ignore(classified[i], "it is about a mail to an address that the gift no longer has");
  }
}

/// The transactions of the source's own ids (SRC-58). Durable before the batch is: an id that is allotted for
/// a batch that is then refused stays for the next report.
void assign_transactions(store::ExternalIds& external_ids, const EventRules& rules,
                         std::span<store::InboundItem> items) {
  if (!rules.allots_ids) return;
  std::set<std::string> reported;
  for (const store::InboundItem& item : items) {
    if (item.change) reported.insert(item.event.transaction);
  }
  const auto transactions = external_ids.find_or_allot(rules.gift_source, reported);
  for (store::InboundItem& item : items) {
    if (!item.change) continue;
    const TransactionId id = transactions.at(item.event.transaction);
    item.change->transaction = id;
    if (item.sent) item.sent->transaction = id;
    if (item.gift) item.gift->id = id;
  }
}

InboundBatch new_batch(const EventRules& rules, UtcMillis now) {
  InboundBatch batch;
  batch.source = rules.source;
  batch.gift_source = rules.gift_source;
  batch.now = now;
  return batch;
}

/// A message that is repeated after an edit of the settings may mean something else now, so it is ingested
/// again; known changes have no effect, for the signature covers all of it. A mail provider's signature may
/// cover the id alone, so a known id stays known (SRC-26).
std::optional<std::string> dedup_message_id(const std::optional<std::string>& id, const EventRules& rules) {
  if (!id || rules.mapping_fingerprint.empty()) return id;
  return *id + " " + rules.mapping_fingerprint;
}

/// Those of the transactions, as the store formats them, that have no gift.
std::set<std::string> transactions_without_gift(store::GiftRequests& gifts,
                                                const std::vector<UnappliedEvent>& kept) {
  std::vector<TransactionId> ids;
  for (const UnappliedEvent& event : kept)
    ids.push_back({std::strtoll(event.transaction.c_str(), nullptr, 10)});
  std::set<std::string> without_gift;
  for (const TransactionId id : gifts.filter_unknown(ids)) without_gift.insert(std::to_string(id.value));
  return without_gift;
}

/// "... its source already has 100000 orphaned changes; purge some ..."
std::string capacity_advice(const std::string& source) {
  return " source already has " + std::to_string(store::kMaxOrphanedChanges) +
         " orphaned changes; purge some with \"giftsyncctl change purge --orphaned --source " + source +
         "\", then reload";
}

/// Kept events of one batch, of one state.
struct KeptBatch {
  EventState state = EventState::quarantined;
  std::vector<UnappliedEvent> events;
  std::set<std::string> without_gift;  ///< transactions of orphaned ones
};

/// The next ones; none: all were read.
KeptBatch read_kept(store::Store& store, const std::string& source, Reprocessing& progress) {
  KeptBatch batch;
  if (!progress.has_read_quarantined) {
    batch.events = store.sources.list_quarantined(source, progress.after, kReprocessBatchSize);
    if (!batch.events.empty()) return batch;
    progress.has_read_quarantined = true;
    progress.after = 0;
  }
  batch.state = EventState::orphaned;
  batch.events = store.sources.orphaned_payloads(source, progress.after, kReprocessBatchSize);
  batch.without_gift = transactions_without_gift(store.gifts, batch.events);
  return batch;
}

/// A kept event under the present rules; nullopt when its text cannot be read.
std::optional<ClassifiedEvent> classify_again(const UnappliedEvent& kept, const EventRules& rules,
                                              const EventTexts& texts, const FindItem& find_item) {
  const auto event = texts.read(kept.payload);
  if (!event) return std::nullopt;
  ClassifiedEvent classified = classify_event(*event, texts.keep(*event), rules, kept.received_at, find_item);
  classified.item.event.digest = kept.digest;  // of the original; the kept text may be shorter
  return classified;
}

/// The reason stored when an applicable event cannot be stored as an orphaned change for lack of capacity.
void mark_awaiting_capacity(UnappliedEvent& entry, const UnappliedEvent& stored) {
  entry.state = stored.state;
  entry.reason = stored.reason;
  entry.detail =
      "it could be applied now, but its transaction is unknown and its" + capacity_advice(stored.source);
}

/// With the present rules nothing is different.
bool is_unchanged(const ClassifiedEvent& now, const UnappliedEvent& stored, const KeptBatch& kept) {
  const store::InboundItem& item = now.item;
  if (kept.state == EventState::quarantined)
    return item.quarantined && item.event.reason == stored.reason && item.event.detail == stored.detail;
  // A change whose status is ignored now stays as it was read; an admin may void it (SRC-15).
  return now.ignored || (!item.quarantined && !item.gift && item.orphan_detail == stored.detail &&
                         kept.without_gift.contains(stored.transaction));
}

/// What the store does not count of a batch.
struct ReclassifiedCounts {
  std::size_t ignored = 0;
  std::size_t requarantined = 0;
};

void add_result(Reprocessing& progress, EventState state, const IngestResult& result,
                const ReclassifiedCounts& counts) {
  progress.has_changes = result.accepted + result.gifts > 0;
  if (state == EventState::orphaned) {
    progress.gifts += result.gifts;
    progress.quarantined += result.quarantined;
    return;
  }
  progress.applied += result.accepted + result.duplicates + result.orphaned + counts.ignored;
  progress.awaiting_capacity +=
      result.quarantined - std::min(result.quarantined, result.id_conflicts.size() + counts.requarantined);
}

}  // namespace

std::vector<ClassifiedEvent> classify_events(store::Catalogue& catalogue, store::GiftRequests& gifts,
                                             const EventRules& rules, const EventTexts& texts,
                                             std::span<const InboundEvent> events, UtcMillis now) {
  const FindItem find_item = cached_item_lookup(catalogue);
  std::vector<ClassifiedEvent> classified;
  classified.reserve(events.size());
  for (const InboundEvent& event : events)
    classified.push_back(classify_event(event, texts.keep(event), rules, now, find_item));
  number_identical_events(events, classified);
  ignore_outdated_generations(gifts, events, classified);
  return classified;
}

InboundBatch make_batch(store::ExternalIds& external_ids, const EventRules& rules,
                        std::vector<ClassifiedEvent> classified, const IngestContext& context,
                        UtcMillis now) {
  InboundBatch batch = new_batch(rules, now);
  batch.message_id = dedup_message_id(context.message_id, rules);
  batch.advance = context.advance;
  for (ClassifiedEvent& classified_event : classified) {
    if (classified_event.do_not_send) batch.do_not_send.push_back(std::move(*classified_event.do_not_send));
    if (classified_event.ignored)
      batch.ignored.push_back(std::move(classified_event.item.event));
    else
      batch.items.push_back(std::move(classified_event.item));
  }
  assign_transactions(external_ids, rules, batch.items);
  return batch;
}

IngestSummary summarize(IngestResult result, std::size_t ignored, const IngestContext& context) {
  IngestSummary summary{std::move(result), ignored, {}};
  if (summary.result.kind != IngestResult::Kind::stored) return summary;
  summary.warnings = summary.result.id_conflicts;
  if (summary.warnings.empty() && summary.result.quarantined > 0)
    summary.warnings = {context.warning.empty() ? "an event cannot be applied and is quarantined"
                                                : context.warning};
  return summary;
}

IngestSummary ingest_events(store::Sources& sources, store::ExternalIds& external_ids,
                            const EventRules& rules, std::vector<ClassifiedEvent> classified,
                            const IngestContext& context, UtcMillis now) {
  const InboundBatch batch = make_batch(external_ids, rules, std::move(classified), context, now);
  return summarize(sources.accept(batch), batch.ignored.size(), context);
}

bool reprocess_batch(store::Store& store, const EventRules& rules, const EventTexts& texts, UtcMillis now,
                     Reprocessing& progress) {
  progress.has_changes = false;
  const KeptBatch kept = read_kept(store, rules.source, progress);
  if (kept.events.empty()) {
    store.sources.end_reprocessing(rules.source, rules.mapping_fingerprint);
    return false;
  }
  const FindItem find_item = cached_item_lookup(store.catalogue);
  std::size_t requarantined = 0;
  InboundBatch batch = new_batch(rules, now);
  for (const UnappliedEvent& unapplied_event : kept.events) {
    progress.after = unapplied_event.id;
    auto classified = classify_again(unapplied_event, rules, texts, find_item);
    if (!classified || is_unchanged(*classified, unapplied_event, kept) ||
        !progress.seen_digests.insert(unapplied_event.digest).second)
      continue;
    batch.reprocessed_ids.push_back(unapplied_event.id);
    if (classified->do_not_send) batch.do_not_send.push_back(std::move(*classified->do_not_send));
    if (classified->ignored) {
      batch.ignored.push_back(std::move(classified->item.event));
      continue;
    }
    if (classified->item.quarantined)
      ++requarantined;
    else
      mark_awaiting_capacity(classified->item.event, unapplied_event);
    batch.items.push_back(std::move(classified->item));
  }
  if (batch.reprocessed_ids.empty()) return true;
  assign_transactions(store.external_ids, rules, batch.items);
  const IngestResult result = store.sources.accept(batch);
  if (result.kind != IngestResult::Kind::stored) return false;
  add_result(progress, kept.state, result, {batch.ignored.size(), requarantined});
  return true;
}

std::vector<std::string> describe(const Reprocessing& progress, const EventRules& rules) {
  std::vector<std::string> sentences;
  if (progress.awaiting_capacity > 0)
    sentences.push_back(std::to_string(progress.awaiting_capacity) +
                        " quarantined events could be applied now, but the" + capacity_advice(rules.source));
  if (progress.quarantined > 0)
    sentences.push_back(pluralize(progress.quarantined, "event") +
                        " of orphaned changes cannot be applied with the present settings and " +
                        std::string(plural_verb(progress.quarantined, "is", "are")) + " quarantined");
  return sentences;
}

namespace {
using store::AcceptOutcome;

constexpr auto kOutcomeNames = enum_words<TrialOutcome>({{TrialOutcome::accepted, "accepted"},
                                                         {TrialOutcome::duplicate, "duplicate"},
                                                         {TrialOutcome::orphaned, "orphaned"},
                                                         {TrialOutcome::over_limit, "over_limit"},
                                                         {TrialOutcome::ignored, "ignored"},
                                                         {TrialOutcome::quarantined, "quarantined"}});

/// Numbers below 1 stand for ids that have no transaction yet: no gift has one of them.
void assign_transactions(store::ExternalIds& external_ids, const EventRules& rules,
                         std::vector<store::InboundItem>& items) {
  if (!rules.allots_ids) return;
  std::set<std::string> reported;
  for (const store::InboundItem& item : items) {
    if (item.change) reported.insert(item.event.transaction);
  }
  auto transactions = external_ids.find_known(rules.gift_source, reported);
  std::int64_t unknown = 0;
  for (const std::string& external_id : reported) {
    if (!transactions.contains(external_id)) transactions.emplace(external_id, TransactionId{--unknown});
  }
  for (store::InboundItem& item : items) {
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

EventTrial quarantined(const store::UnappliedEvent& event) {
  EventTrial trial;
  trial.outcome = TrialOutcome::quarantined;
  trial.reason = event.reason;
  trial.detail = event.detail;
  return trial;
}

EventTrial trial_of(const store::InboundItem& item, const store::PreviewItem& previewed,
                    const EventRules& rules) {
  if (item.quarantined || !item.change) return quarantined(item.event);
  EventTrial trial;
  trial.outcome = outcome_of(previewed.outcome);
  trial.status = item.change->status;
  trial.occurred_at = item.change->occurred_at;
  if (item.change->transaction.value > 0) trial.transaction = item.change->transaction;
  if (rules.allots_ids) trial.external_id = item.event.transaction;
  trial.gift_exists = previewed.gift_exists;
  trial.creates_gift = previewed.creates_gift;
  trial.gift_known = previewed.gift_known;
  if (trial.outcome == TrialOutcome::quarantined) {
    trial.reason = store::QuarantineReason::other_source;
    trial.detail = previewed.conflict;
  } else if (!trial.gift_known) {
    trial.detail = item.orphan_detail;
  }
  return trial;
}

}  // namespace

std::string_view to_word(TrialOutcome outcome) {
  return kOutcomeNames.word_of(outcome);
}

std::vector<EventTrial> try_events(store::Store& store, const EventRules& rules,
                                   std::vector<ClassifiedEvent> classified, UtcMillis now) {
  std::vector<EventTrial> trials(classified.size());
  std::vector<std::size_t> places;
  store::InboundBatch batch;
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
  assign_transactions(store.external_ids, rules, batch.items);
  const std::vector<store::PreviewItem> previewed = store.sources.preview(batch);
  for (std::size_t i = 0; i < places.size(); ++i)
    trials[places[i]] = trial_of(batch.items[i], previewed[i], rules);
  return trials;
}

}  // namespace giftsync::sync
