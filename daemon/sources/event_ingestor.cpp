#include "daemon/sources/event_ingestor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "daemon/sources/event_extraction.h"
#include "platform/plural.h"

namespace giftsync::daemon::sources {
namespace {

constexpr std::size_t kReprocessBatchSize = 500;

/// Looks up each catalogue item once: a batch has many events of few gifts.
FindItem cached_item_lookup(schema::store::Catalogue& catalogue) {
  return [&catalogue, cache = std::map<schema::GiftId, std::optional<schema::store::GiftItem>>()](
             schema::GiftId id) mutable {
    const auto found = cache.find(id);
    if (found != cache.end()) return found->second;
    return cache.emplace(id, catalogue.item(id)).first->second;
  };
}

/// Events of one page with equal fields and different vendor JSON are different events: a pointer may be
/// wrong. They are numbered, and get the same numbers when the page is read again.
void number_identical_events(std::span<const InboundEvent> events, std::vector<ClassifiedEvent>& classified) {
  std::map<std::string, std::map<std::string_view, std::size_t>>
      payloads_by_digest;  // with their numbers, by digest
  for (std::size_t i = 0; i < events.size(); ++i) {
    std::string& digest = classified[i].item.event.digest;
    auto& payloads = payloads_by_digest[digest];
    const std::size_t number = payloads.emplace(events[i].payload, payloads.size()).first->second;
    if (number > 0) digest += fmt::format("/{}", number);
  }
}

/// Under the present settings its classification is unchanged.
bool stays_quarantined(const ClassifiedEvent& classified_event,
                       const schema::store::QuarantinedEvent& stored) {
  const schema::store::QuarantinedEvent& entry = classified_event.item.event;
  return classified_event.item.quarantined && entry.reason == stored.reason && entry.detail == stored.detail;
}

schema::store::InboundBatch new_ingest_batch(const CompiledSource& source, platform::UtcMillis now) {
  schema::store::InboundBatch batch;
  batch.source = source.settings.name;
  batch.gift_source = source.gift_source;
  batch.now = now;
  return batch;
}

/// A message that is repeated after an edit of the settings may mean something else now, so it is ingested
/// again; known changes have no effect, for the signature covers all of it. A mail provider's signature may
/// cover the id alone, so a known id stays known (SRC-26).
std::optional<std::string> dedup_message_id(const std::optional<std::string>& id,
                                            const CompiledSource& source) {
  if (!id || source.mapping_fingerprint.empty()) return id;
  return *id + " " + source.mapping_fingerprint;
}

/// A kept event under the present settings; nullopt when its text cannot be parsed.
std::optional<ClassifiedEvent> reclassify(const schema::store::QuarantinedEvent& kept,
                                          const CompiledSource& source, const FindItem& find_item) {
  auto event = parse_inbound_event(kept.payload);
  if (!event) return std::nullopt;
  ClassifiedEvent classified_event =
      classify(reextract(std::move(*event), source), source, kept.received_at, find_item);
  classified_event.item.event.digest = kept.digest;  // digest of the original; the kept text may be shorter
  return classified_event;
}

/// Its reading contains nothing new that could be applied, so it stays with its change.
bool stays_orphaned(const ClassifiedEvent& classified_event, const schema::store::QuarantinedEvent& stored) {
  const schema::store::InboundItem& item = classified_event.item;
  return !item.quarantined && !item.gift && item.orphan_detail == stored.detail;
}

/// Those of the transactions, as the store formats them, that have no gift.
std::set<std::string> transactions_without_gift(schema::store::Store& store,
                                                const std::vector<schema::store::QuarantinedEvent>& kept) {
  std::vector<schema::TransactionId> ids;
  for (const schema::store::QuarantinedEvent& one : kept)
    ids.push_back({std::strtoll(one.transaction.c_str(), nullptr, 10)});
  std::set<std::string> without_gift;
  for (const schema::TransactionId id : store.gifts.filter_unknown(ids))
    without_gift.insert(std::to_string(id.value));
  return without_gift;
}

/// The reason stored when an applicable event cannot be stored as an orphaned change for lack of capacity.
void mark_awaiting_capacity(schema::store::QuarantinedEvent& entry,
                            const schema::store::QuarantinedEvent& stored) {
  entry.reason = stored.reason;
  entry.detail = fmt::format(
      "it could be applied now, but its transaction is unknown and its source already has {} orphaned "
      "changes; purge some with \"giftsyncctl change purge --orphaned --source {}\", then reload",
      schema::store::kMaxOrphanedChanges, stored.source);
}

}  // namespace

std::vector<ClassifiedEvent> EventIngestor::classify_events(const CompiledSource& source,
                                                            std::span<const InboundEvent> events,
                                                            platform::UtcMillis now) {
  const FindItem find_item = cached_item_lookup(store_.catalogue);
  std::vector<ClassifiedEvent> classified;
  classified.reserve(events.size());
  for (const InboundEvent& event : events) classified.push_back(classify(event, source, now, find_item));
  number_identical_events(events, classified);
  ignore_outdated_generations(events, classified);
  return classified;
}

void EventIngestor::ignore_outdated_generations(std::span<const InboundEvent> events,
                                                std::vector<ClassifiedEvent>& classified) {
  std::set<schema::TransactionId> mailed_transactions;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].generation && classified[i].item.change)
      mailed_transactions.insert(classified[i].item.change->transaction);
  }
  if (mailed_transactions.empty()) return;
  const std::vector<schema::TransactionId> ids(mailed_transactions.begin(), mailed_transactions.end());
  std::map<schema::TransactionId, std::int64_t> generations;
  for (const schema::store::Gift& gift : store_.gifts.find(ids))
    generations[gift.transaction.id] = gift.transaction.generation;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!events[i].generation || !classified[i].item.change) continue;
    const auto now = generations.find(classified[i].item.change->transaction);
    if (now != generations.end() && *events[i].generation < now->second) classified[i].ignored = true;
  }
}

IngestSummary EventIngestor::ingest(const CompiledSource& source, std::vector<ClassifiedEvent> classified,
                                    const IngestContext& context, platform::UtcMillis now) {
  IngestSummary summary;
  schema::store::InboundBatch batch = new_ingest_batch(source, now);
  batch.message_id = dedup_message_id(context.message_id, source);
  batch.advance = context.advance;
  for (ClassifiedEvent& one : classified) {
    if (one.ignored) {
      ++batch.ignored;
      continue;
    }
    batch.items.push_back(std::move(one.item));
  }
  summary.ignored = batch.ignored;
  summary.result = store_.sources.accept(batch);
  if (summary.result.kind != schema::store::IngestResult::Kind::stored) return summary;
  for (const std::string& collision : summary.result.id_conflicts)
    health_monitor_.warn(batch.source, collision, now);
  if (summary.result.id_conflicts.empty() && summary.result.quarantined > 0)
    health_monitor_.warn(
        batch.source,
        context.warning.empty() ? "an event cannot be applied and is quarantined" : context.warning, now);
  if (summary.result.accepted + summary.result.gifts > 0) on_changes_();
  return summary;
}

template <class ReadBatch, class IsUnchanged, class OnAccepted>
bool EventIngestor::reprocess_kept(const CompiledSource& source, platform::UtcMillis now,
                                   const std::function<bool()>& keep_going, const ReadBatch& read_batch,
                                   const IsUnchanged& is_unchanged, const OnAccepted& on_accepted) {
  std::int64_t after = 0;
  std::set<std::string> seen_digests;  // a re-quarantined event comes back under a new id
  while (keep_going()) {
    const FindItem find_item = cached_item_lookup(store_.catalogue);
    const std::vector<schema::store::QuarantinedEvent> kept = read_batch(after);
    if (kept.empty()) return true;
    std::size_t reclassified_count = 0;
    schema::store::InboundBatch batch = new_ingest_batch(source, now);
    for (const schema::store::QuarantinedEvent& one : kept) {
      after = one.id;
      auto classified_event = reclassify(one, source, find_item);
      if (!classified_event || is_unchanged(*classified_event, one) ||
          !seen_digests.insert(one.digest).second)
        continue;
      batch.reprocessed_ids.push_back(one.id);
      if (classified_event->ignored) {
        ++batch.ignored;
        continue;
      }
      if (classified_event->item.quarantined)
        ++reclassified_count;
      else
        mark_awaiting_capacity(classified_event->item.event, one);
      batch.items.push_back(std::move(classified_event->item));
    }
    if (batch.reprocessed_ids.empty()) continue;
    const schema::store::IngestResult result = store_.sources.accept(batch);
    if (result.kind != schema::store::IngestResult::Kind::stored) return false;
    on_accepted(batch, result, reclassified_count);
    if (result.accepted + result.gifts > 0) on_changes_();
  }
  return false;
}

std::size_t EventIngestor::reprocess_quarantined(const CompiledSource& source, platform::UtcMillis now,
                                                 const std::function<bool()>& keep_going) {
  std::size_t applied = 0;
  std::size_t awaiting_capacity = 0;
  reprocess_kept(
      source, now, keep_going,
      [&](std::int64_t after) {
        return store_.sources.list_quarantined(source.settings.name, after, kReprocessBatchSize);
      },
      stays_quarantined,
      [&](const schema::store::InboundBatch& batch, const schema::store::IngestResult& result,
          std::size_t reclassified_count) {
        awaiting_capacity += result.quarantined -
                             std::min(result.quarantined, result.id_conflicts.size() + reclassified_count);
        applied += result.accepted + result.duplicates + result.orphaned + batch.ignored;
      });
  if (awaiting_capacity > 0)
    health_monitor_.warn(
        source.settings.name,
        fmt::format(
            "{} quarantined events could be applied now, but the source already has {} orphaned changes; "
            "purge some with \"giftsyncctl change purge --orphaned --source {}\", then reload",
            awaiting_capacity, schema::store::kMaxOrphanedChanges, source.settings.name),
        now);
  return applied;
}

std::size_t EventIngestor::reprocess_orphaned(const CompiledSource& source, platform::UtcMillis now,
                                              const std::function<bool()>& keep_going) {
  std::size_t gifts = 0;
  std::size_t quarantined_count = 0;
  std::set<std::string> without_gift;  // transactions of the batch
  const bool is_complete = reprocess_kept(
      source, now, keep_going,
      [&](std::int64_t after) {
        auto kept = store_.sources.orphaned_payloads(source.settings.name, after, kReprocessBatchSize);
        without_gift = transactions_without_gift(store_, kept);
        return kept;
      },
      // A change whose status is ignored now stays as it was read; an admin may void it (SRC-15).
      [&](const ClassifiedEvent& classified_event, const schema::store::QuarantinedEvent& stored) {
        return classified_event.ignored ||
               (stays_orphaned(classified_event, stored) && without_gift.contains(stored.transaction));
      },
      [&](const schema::store::InboundBatch&, const schema::store::IngestResult& result, std::size_t) {
        gifts += result.gifts;
        quarantined_count += result.quarantined;
      });
  if (is_complete) store_.sources.end_reprocessing(source.settings.name, source.mapping_fingerprint);
  if (quarantined_count > 0)
    health_monitor_.warn(
        source.settings.name,
        fmt::format("{} of orphaned changes cannot be applied with the present settings and {} quarantined",
                    platform::pluralize(quarantined_count, "event"),
                    platform::plural_verb(quarantined_count, "is", "are")),
        now);
  return gifts;
}

}  // namespace giftsync::daemon::sources
