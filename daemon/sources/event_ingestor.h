// daemon/sources: the one ingest for webhooks and polls: events are classified and stored in one transaction
// (SRC-1). Any thread.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "daemon/sources/compiled_source.h"
#include "daemon/sources/event_classifier.h"
#include "daemon/sources/source_health.h"
#include "schema/store/store.h"

namespace giftsync::daemon::sources {

/// What else belongs to the transaction.
struct IngestContext {
  std::optional<std::string> message_id;
  std::optional<schema::store::InboundBatch::Advance> advance;
  std::string warning = {};  ///< log line when events are quarantined; empty: the default one
};

struct IngestSummary {
  schema::store::IngestResult result;
  std::size_t ignored = 0;
};

class EventIngestor {
 public:
  /// `on_changes` is called after changes became durable; it wakes the sync worker.
  EventIngestor(schema::store::Store& store, SourceHealthMonitor& health_monitor,
                std::function<void()> on_changes)
      : store_(store), health_monitor_(health_monitor), on_changes_(std::move(on_changes)) {}

  /// Classifies the events of a message or page; writes nothing.
  std::vector<ClassifiedEvent> classify_events(const CompiledSource& source,
                                               std::span<const InboundEvent> events, platform::UtcMillis now);
  IngestSummary ingest(const CompiledSource& source, std::vector<ClassifiedEvent> classified,
                       const IngestContext& context, platform::UtcMillis now);
  /// Classifies the source's quarantined events again with the present settings (SRC-9). Applicable ones are
  /// applied; the others get their present reason. Returns how many were applied. Calls `keep_going` before
  /// each batch; false ends the work.
  std::size_t reprocess_quarantined(const CompiledSource& source, platform::UtcMillis now,
                                    const std::function<bool()>& keep_going);
  /// The same for the events kept with orphaned changes (SRC-13): those that describe their gift under the
  /// present settings create it, and its orphaned changes are applied. Replaces orphaned changes derived from
  /// an older mapping. Returns how many gifts were created.
  std::size_t reprocess_orphaned(const CompiledSource& source, platform::UtcMillis now,
                                 const std::function<bool()>& keep_going);

 private:
  /// Classifies kept events again, batch by batch. `read_batch` returns those after an id, `is_unchanged`
  /// ones are left alone, and `on_accepted` gets each accepted batch. True: all events were processed.
  template <class ReadBatch, class IsUnchanged, class OnAccepted>
  bool reprocess_kept(const CompiledSource& source, platform::UtcMillis now,
                      const std::function<bool()>& keep_going, const ReadBatch& read_batch,
                      const IsUnchanged& is_unchanged, const OnAccepted& on_accepted);
  /// Ignores events about mails to an address that the gift no longer has.
  void ignore_outdated_generations(std::span<const InboundEvent> events,
                                   std::vector<ClassifiedEvent>& classified);

  schema::store::Store& store_;
  SourceHealthMonitor& health_monitor_;
  const std::function<void()> on_changes_;
};

}  // namespace giftsync::daemon::sources
