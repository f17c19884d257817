// daemon/cli: what both backfills have in common: a position in the store, so that a run that was killed goes
// on where it stopped, the pace beside a daemon, and how far it has come. With a dry run there is no position
// and nothing is written.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "daemon/cli/installation.h"
#include "daemon/cli/sync_hand.h"
#include "daemon/cli/work_progress.h"

namespace giftsync::daemon {

/// The words of a backfill's command line.
struct BackfillWords {
  bool recreate = false;
  bool restart = false;
  bool dry_run = false;
  bool json = false;
};

/// Gifts that are shown on a terminal; the others are only counted. --json has them all.
inline constexpr std::size_t kMostSamples = 20;

class BackfillRun {
 public:
  BackfillRun(const Console& console, Installation& place, std::string name, const BackfillWords& words);

  schema::TransactionId after() const { return after_; }
  /// As the run that stopped had kept them; an empty object at the beginning.
  nlohmann::json counts() const { return counts_; }
  struct Chunk {
    schema::TransactionId last;  ///< the greatest id that was looked at
    std::vector<schema::TransactionId> to_write;
    bool is_end = false;  ///< there is none behind it
  };
  /// The position behind a chunk is kept, and what it put into the sync queue is written. There is none
  /// behind the last one: a run that breaks off there looks at it again.
  void chunk_done(const Chunk& chunk, const nlohmann::json& counts, WorkProgress& progress);
  void finish();

  const sync::SyncRules& rules() const { return hand_.rules(); }
  /// That some records are left to the daemon; nothing when none is.
  void say_left() const;

 private:
  const Console& console_;
  Installation& place_;
  const std::string name_;
  const std::string run_;
  const BackfillWords words_;
  SyncHand hand_;
  schema::TransactionId after_{0};
  nlohmann::json counts_ = nlohmann::json::object();
  std::size_t left_ = 0;
  bool is_ours_ = true;  // the position
};

/// The two commands.
int backfill_gift_records(const Console& console, Installation& place, const BackfillWords& words);
int backfill_status_timestamps(const Console& console, Installation& place, const BackfillWords& words);

}  // namespace giftsync::daemon
