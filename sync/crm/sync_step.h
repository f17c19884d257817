// sync: one step of the CRM synchronization. It claims a batch of transactions from the CRM outbox, folds
// their changes, decides once to whom each gift belongs, upserts the gift records and closes the claims. It
// returns counts; the worker decides when to run it. An interrupted step can be repeated: decisions are
// stored before they are used, and records carry versions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "crm/crm.h"
#include "platform/log_line.h"
#include "schema/enums.h"
#include "schema/store/store.h"
#include "sync/crm/gift_folds.h"
#include "sync/crm/gift_record_draft.h"
#include "sync/gift/gift_event.h"

namespace giftsync::sync {

struct SyncRules {
  crm::MatchFields match_fields;
  bool skip_unmatched = false;                                             ///< matching.on_no_match: skip
  std::string integration_user;                                            ///< CRM user id, may be empty
  std::function<std::string(const store::RecipientTransaction&)> link_of;  ///< the record's Link
  TaskRules tasks = {};
  std::map<std::string, std::string> sender_aliases = {};  ///< email_key() to email_key() (SYNC-74)
  std::string fallback_owner = {};                         ///< CRM user id, may be empty (SYNC-75)
  /// The Link of older gifts may be of a former server secret: it stays, and is not compared (SYNC-11).
  UtcMillis links_since{INT64_MIN};

  bool knows_link_of(const store::Gift& gift) const {
    return link_of != nullptr && gift.request.created_at >= links_since;
  }
};

/// So begins the last error of a gift whose record was written, and whose task was not.
inline constexpr std::string_view kTaskError = "task: ";

/// The shortest lease of claims.
inline constexpr std::int64_t kSyncLeaseMillis = 30'000;
/// Longer than any batch takes, also one of a command.
std::int64_t sync_lease_millis(const crm::CrmPace& pace);

/// Owner, duration (database clock) and number of the claims of one step.
struct SyncLease {
  std::string owner;
  std::int64_t millis = kSyncLeaseMillis;
  std::size_t max_rows = SIZE_MAX;  ///< at most CrmPace::rows_per_write
};

struct SyncStepStats {
  std::size_t claimed = 0;
  std::size_t folded = 0;  ///< transactions whose state changed
  std::size_t created = 0;
  std::size_t updated = 0;
  std::size_t unchanged = 0;
  std::size_t skipped = 0;
  std::size_t tasks = 0;          ///< created or completed
  std::size_t failed = 0;         ///< deleted in the CRM, rejected, or to be retried
  std::size_t waiting = 0;        ///< whose decision must wait (LookupNotReady)
  std::size_t lost = 0;           ///< taken over by another owner before they were written
  bool more = false;              ///< the claim was as large as one call allows: there may be more
  std::vector<LogLine> warnings;  ///< one for each failure and warning, for the operator's log
  std::vector<GiftEvent> events;  ///< decisions, then written records
  /// By status: gifts that have got a time of it, without test gifts. A gift is counted as sent once it is
  /// decided to whom it belongs.
  ReachedCounts reached{};
  /// Of each gift whose record has its state now: SyncClaim::due_since.
  std::vector<UtcMillis> written_since;
};

/// Processes at most one batch. Claims are renewed before each write to the CRM; gifts whose claim another
/// owner has taken over meanwhile are left to it (SYNC-24). Throws DependencyError when store or
/// CRM fail; the claims then expire, or are released with release_leases.
SyncStepStats sync_step(store::Store& store, crm::Crm& crm, const SyncRules& rules, const SyncLease& lease,
                        UtcMillis now);

}  // namespace giftsync::sync
