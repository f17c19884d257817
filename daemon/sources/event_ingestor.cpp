#include "daemon/sources/event_ingestor.h"

#include "daemon/sources/kept_event.h"

namespace giftsync::sources {
namespace {

/// Keeps a reference to `source`.
sync::EventTexts texts_of(const CompiledSource& source) {
  return {keep, [&source](const std::string& text) {
            auto event = parse_inbound_event(text);
            if (event) event = reextract(std::move(*event), source);
            return event;
          }};
}

}  // namespace

std::vector<sync::ClassifiedEvent> EventIngestor::classify_events(const CompiledSource& source,
                                                                  std::span<const sync::InboundEvent> events,
                                                                  UtcMillis now) {
  return sync::classify_events(store_, source.rules, texts_of(source), events, now);
}

sync::IngestSummary EventIngestor::ingest(const CompiledSource& source,
                                          std::vector<sync::ClassifiedEvent> classified,
                                          const sync::IngestContext& context, UtcMillis now) {
  return complete(source, sync::ingest_events(store_, source.rules, std::move(classified), context, now),
                  now);
}

store::InboundBatch EventIngestor::make_batch(const CompiledSource& source,
                                              std::vector<sync::ClassifiedEvent> classified,
                                              const sync::IngestContext& context, UtcMillis now) {
  return sync::make_batch(store_, source.rules, std::move(classified), context, now);
}

sync::IngestSummary EventIngestor::complete(const CompiledSource& source, sync::IngestSummary summary,
                                            UtcMillis now) {
  for (const std::string& warning : summary.warnings)
    health_monitor_.warn(source.settings.name, warning, now);
  if (summary.has_changes()) on_changes_();
  return summary;
}

sync::Reprocessing EventIngestor::reprocess(const CompiledSource& source, UtcMillis now,
                                            const std::function<bool()>& keep_going) {
  const sync::EventTexts texts = texts_of(source);
  sync::Reprocessing progress;
  while (keep_going() && sync::reprocess_batch(store_, source.rules, texts, now, progress)) {
    if (progress.has_changes) on_changes_();
  }
  for (const std::string& warning : describe(progress, source.rules))
    health_monitor_.warn(source.settings.name, warning, now);
  return progress;
}

}  // namespace giftsync::sources
