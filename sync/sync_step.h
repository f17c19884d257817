// sync: one round of keeping the CRM true. It claims a batch of transactions that have something the CRM does
// not know, folds their changes, decides once whom each gift belongs to, upserts the gift records and closes
// the claims. A step returns counts; the loop that runs it only paces it. A round that dies anywhere is
// simply done again: decisions are stored before they are used, and records carry versions.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schema/crm.h"
#include "schema/store/store.h"
#include "sync/task_draft.h"

namespace giftsync::sync {

struct SyncRules {
  schema::MatchFields match_fields;
  bool skip_unmatched = false;                                              ///< matching.on_no_match: skip
  std::string integration_user;                                             ///< CRM user id, may be empty
  std::function<std::string(const schema::RecipientTransaction&)> link_of;  ///< the record's Link
  TaskRules tasks = {};
};

/// A batch is done well within; also when a command does it.
inline constexpr std::int64_t kSyncLeaseMillis = 30'000;

/// Who claims, and for how long (database clock).
struct SyncLease {
  std::string owner;
  std::int64_t millis = kSyncLeaseMillis;
};

struct SyncReport {
  std::size_t claimed = 0;
  std::size_t folded = 0;  ///< transactions whose state changed
  std::size_t created = 0;
  std::size_t updated = 0;
  std::size_t unchanged = 0;
  std::size_t skipped = 0;
  std::size_t tasks = 0;           ///< made or completed
  std::size_t failed = 0;          ///< gone, rejected or to be tried again
  bool more = false;               ///< as much was claimed as a call takes: there may be more
  std::vector<std::string> notes;  ///< one sentence for each failure and warning, for the operator's log
};

/// Does at most one batch (Crm::rows_a_call). Throws schema::BrokenWorld when store or CRM fail; then the
/// claims run out by themselves, or are freed with break_leases.
SyncReport sync_step(schema::Store& store, schema::Crm& crm, const SyncRules& rules, const SyncLease& lease,
                     schema::UtcMillis now);

}  // namespace giftsync::sync
