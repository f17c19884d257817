// sync: what the ingest would do with the events of a message or page, as the settings and the store are now
// (SRC-62). It decides by the same rules as event_ingest.h and writes nothing. Throws
// platform::DependencyError when the store fails.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/store/store.h"
#include "sync/event_classification.h"

namespace giftsync::sync {

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
  std::optional<schema::Status> status;              ///< of an event that is understood
  std::optional<platform::UtcMillis> occurred_at;    ///< likewise
  std::optional<schema::TransactionId> transaction;  ///< of a gift, or allotted; else not known yet
  std::string external_id;                           ///< the source's own id, with EventRules::allots_ids
  bool gift_exists = false;                          ///< already
  bool creates_gift = false;                         ///< the event itself
  bool gift_known = false;                           ///< it exists, or an event of the document creates it
  std::optional<schema::store::QuarantineReason> reason;
  std::string detail;  ///< why it is quarantined, or what it lacks to create its gift; else empty

  /// Its change would count, or does already.
  bool is_applied() const {
    return gift_known && (outcome == TrialOutcome::accepted || outcome == TrialOutcome::duplicate);
  }
};

/// One for each event, in their order. `classified` as from classify_events().
std::vector<EventTrial> try_events(schema::store::Store& store, const EventRules& rules,
                                   std::vector<ClassifiedEvent> classified, platform::UtcMillis now);

}  // namespace giftsync::sync
