// sync: the one ingest of source events, for webhooks, polls and events that are classified again: events are
// classified and stored in one transaction (SRC-1). Any thread. Throws DependencyError when the
// store fails.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/store/store.h"
#include "sync/status/event_classification.h"

namespace giftsync::sync {

/// How events are kept as text, which only the caller can read.
struct EventTexts {
  std::function<KeptEvent(const InboundEvent&)> keep;
  /// The event as the source's present settings read it; nullopt for a text that keep() did not write.
  std::function<std::optional<InboundEvent>(const std::string& text)> read;
};

/// Classifies the events of a message or page; writes nothing. Events about mails to an address that the gift
/// no longer has are ignored (MAIL-22). Events with equal fields and different texts are numbered (SRC-55).
std::vector<ClassifiedEvent> classify_events(store::Catalogue& catalogue, store::GiftRequests& gifts,
                                             const EventRules& rules, const EventTexts& texts,
                                             std::span<const InboundEvent> events, UtcMillis now);

/// What else belongs to the transaction.
struct IngestContext {
  std::optional<std::string> message_id;
  std::optional<store::InboundBatch::Advance> advance;
  std::string warning = {};  ///< for the operator when events are quarantined; empty: the default one
};

struct IngestSummary {
  store::IngestResult result;
  std::size_t ignored = 0;
  std::vector<std::string> warnings;  ///< sentences for the operator

  /// There is work for the sync worker.
  bool has_changes() const { return result.accepted + result.gifts > 0; }
};

/// The classified events of a message or page as the store takes them. Allots ids to a source's own ids.
store::InboundBatch make_batch(store::ExternalIds& external_ids, const EventRules& rules,
                               std::vector<ClassifiedEvent> classified, const IngestContext& context,
                               UtcMillis now);

/// What became of a batch with that many ignored events.
IngestSummary summarize(store::IngestResult result, std::size_t ignored, const IngestContext& context);

/// Stores the classified events of a message or page in a transaction of their own.
IngestSummary ingest_events(store::Sources& sources, store::ExternalIds& external_ids,
                            const EventRules& rules, std::vector<ClassifiedEvent> classified,
                            const IngestContext& context, UtcMillis now);

/// The progress of a source's reprocessing: first its quarantined events, then those of its orphaned changes.
struct Reprocessing {
  bool has_read_quarantined = false;   ///< the rest are events of orphaned changes
  std::int64_t after = 0;              ///< id of the last event of that kind that was processed
  std::set<std::string> seen_digests;  ///< a re-quarantined event comes back under a new id
  bool has_changes = false;            ///< the last batch has work for the sync worker
  std::size_t applied = 0;             ///< quarantined events
  std::size_t awaiting_capacity =
      0;                        ///< quarantined events that could be applied if fewer changes were orphaned
  std::size_t gifts = 0;        ///< created from events of orphaned changes
  std::size_t quarantined = 0;  ///< events of orphaned changes
};

/// Classifies the next batch of the source's events that are not applied again, with the present rules.
/// Quarantined events that apply now are applied, the others get their present reason (SRC-9). Events of
/// orphaned changes that describe their gift now create it, and orphaned changes derived from an older
/// mapping are replaced (SRC-13); applied and voided changes stay as they are. False: there are no more, or
/// the store takes none now.
bool reprocess_batch(store::Store& store, const EventRules& rules, const EventTexts& texts, UtcMillis now,
                     Reprocessing& progress);

/// Sentences for the operator about events that could not be applied.
std::vector<std::string> describe(const Reprocessing& progress, const EventRules& rules);

// What the ingest would do with the events of a message or page, as the settings and the store are now
// (SRC-62). It decides by the same rules as event_ingest.h and writes nothing. Throws
// DependencyError when the store fails.

enum class TrialOutcome {
  accepted,
  duplicate,   ///< its change is known, or stands earlier in the same message
  orphaned,    ///< its gift is unknown
  over_limit,  ///< likewise, and its source has too many such changes: the whole message would be refused
  ignored,
  quarantined
};
std::string_view to_word(TrialOutcome outcome);

struct EventTrial {
  TrialOutcome outcome = TrialOutcome::accepted;
  std::optional<Status> status;              ///< of an event that is understood
  std::optional<UtcMillis> occurred_at;      ///< likewise
  std::optional<TransactionId> transaction;  ///< of a gift, or allotted; else not known yet
  std::string external_id;                   ///< the source's own id, with EventRules::allots_ids
  bool gift_exists = false;                  ///< already
  bool creates_gift = false;                 ///< the event itself
  bool gift_known = false;                   ///< it exists, or an event of the document creates it
  std::optional<store::QuarantineReason> reason;
  std::string detail;  ///< why it is quarantined, or what it lacks to create its gift; else empty

  /// Its change would count, or does already.
  bool is_applied() const {
    return gift_known && (outcome == TrialOutcome::accepted || outcome == TrialOutcome::duplicate);
  }
};

/// One for each event, in their order. `classified` as from classify_events().
std::vector<EventTrial> try_events(store::Store& store, const EventRules& rules,
                                   std::vector<ClassifiedEvent> classified, UtcMillis now);

}  // namespace giftsync::sync
