// daemon: the sync loop of a running daemon, which keeps the CRM true (sync/sync_step.h), and a second hand
// that joins it while there is more than one batch to do: one reads and folds while the other writes.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/loops/loop.h"
#include "daemon/note_limit.h"
#include "schema/broken_world.h"
#include "sync/sync_step.h"

namespace giftsync::daemon {

class SyncRoom {
 public:
  /// What to tell the operator of a fault that stops a whole batch: its own words, or better ones. Asked once
  /// while the same fault lasts: better words may cost a check of the whole CRM.
  using FaultWords = std::function<std::string(const schema::BrokenWorld&)>;

  SyncRoom(schema::Store& store, schema::Crm& crm, sync::SyncRules rules, FaultWords fault_words);

  /// `owner` holds the leases; those it held before are freed. `give_way`: somebody waits for the machine.
  void start(const std::string& owner, const std::function<bool()>& give_way);
  /// There is something to sync. Any thread; nothing before start.
  void wake();
  void request_stop();
  /// Waits for the running batches to end.
  void stop();
  /// True unless a loop has shown no life for so long.
  bool alive(std::int64_t longest_silence_millis) const;

 private:
  bool sync();
  void help();
  void free_helpers_claims();
  sync::SyncReport take_batch(const sync::SyncLease& lease, schema::UtcMillis now);
  const std::string& words_for(const schema::BrokenWorld& fault, schema::UtcMillis now);
  sync::SyncReport take_batch_or_tell(schema::UtcMillis now);
  void tell_notes(const std::vector<std::string>& notes);
  void tell_of_released(std::int64_t released, schema::UtcMillis now);

  schema::Store& store_;
  schema::Crm& crm_;
  const sync::SyncRules rules_;
  const FaultWords fault_words_;
  sync::SyncLease lease_;
  sync::SyncLease helpers_lease_;
  std::mutex mutex_;
  std::set<std::string> said_;  // guarded by mutex_: what was warned of is not repeated with every batch
  NoteLimit notes_;             // guarded by mutex_
  struct ToldFault {
    std::string own_words;
    std::string words;
    schema::UtcMillis asked_at;
  };
  // The sync loop's own:
  std::optional<ToldFault> told_fault_;  // of the last batch
  std::int64_t released_untold_ = 0;     // held changes that found their gift
  schema::UtcMillis released_told_at_{INT64_MIN / 2};
  std::atomic<bool> help_is_wanted_ = false;
  bool has_left_claims_ = false;          // the helper's own
  std::atomic<Loop*> to_wake_ = nullptr;  // while it may be
  std::unique_ptr<Loop> helper_;
  std::unique_ptr<Loop> loop_;  // wakes the helper
};

}  // namespace giftsync::daemon
