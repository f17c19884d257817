// daemon/sources: the ingest of webhooks and polls (sync/status/event_ingest.h), with warnings for the
// operator and a wake-up for the sync worker. Any thread.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "daemon/sources/compiled_source.h"
#include "daemon/sources/source_health.h"
#include "sync/status/event_ingest.h"

namespace giftsync::sources {

class EventIngestor {
 public:
  /// `on_changes` is called after changes became durable; it wakes the sync worker.
  EventIngestor(store::Store& store, SourceHealthMonitor& health_monitor, std::function<void()> on_changes)
      : store_(store), health_monitor_(health_monitor), on_changes_(std::move(on_changes)) {}

  /// Classifies the events of a message or page; writes nothing.
  std::vector<sync::ClassifiedEvent> classify_events(const CompiledSource& source,
                                                     std::span<const sync::InboundEvent> events,
                                                     UtcMillis now);
  /// Stores the events of a page in a transaction of their own.
  sync::IngestSummary ingest(const CompiledSource& source, std::vector<sync::ClassifiedEvent> classified,
                             const sync::IngestContext& context, UtcMillis now);
  /// The events of a message, for a writer; complete() follows when they are durable.
  store::InboundBatch make_batch(const CompiledSource& source, std::vector<sync::ClassifiedEvent> classified,
                                 const sync::IngestContext& context, UtcMillis now);
  /// Warns the operator and wakes the sync worker.
  sync::IngestSummary complete(const CompiledSource& source, sync::IngestSummary summary, UtcMillis now);
  /// Classifies the source's events that are not applied, quarantined ones and those of orphaned changes,
  /// again with the present settings (SRC-9, SRC-13). Calls `keep_going` before each batch; false ends the
  /// work.
  sync::Reprocessing reprocess(const CompiledSource& source, UtcMillis now,
                               const std::function<bool()>& keep_going);

 private:
  store::Store& store_;
  SourceHealthMonitor& health_monitor_;
  const std::function<void()> on_changes_;
};

}  // namespace giftsync::sources
