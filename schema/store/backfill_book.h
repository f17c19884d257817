// schema/store: what backfills need of the store (design 4): how far one has come, transactions in the order
// of their ids, gift records that giftsync takes over from the CRM, and gifts whose record is to be written
// again. Whatever a backfill changes is a few rows in a short transaction, guarded by what it had read, so
// that two of them and a daemon may be at work at once.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/ids.h"
#include "schema/store/change_log.h"
#include "schema/store/gift_ledger.h"
#include "schema/store/id_block.h"
#include "schema/store/sync_queue.h"

namespace giftsync::schema {

struct BackfillPosition {
  TransactionId after{0};
  std::string counts;  ///< the command's own text; empty at the beginning
};

/// What the store knows of a transaction's status.
struct GiftState {
  TransactionId transaction;
  Status status = Status::sent;
  StatusTimes times;
  std::string origin;
};

/// A gift record of the CRM that the store does not know, as it is to be known. Its transaction's origin is
/// kAdoptedOrigin.
struct Adoption {
  Gift gift;
  std::vector<StatusChange> facts;  ///< its timestamps as changes; not numbered
  GiftMirror mirror;
  bool write = false;  ///< the record is not as it should be: the sync step writes it
};

/// A gift whose record is written again, with everything that giftsync owns of it.
struct Rewrite {
  TransactionId transaction;
  std::int64_t from_version = 0;  ///< only while this is still its version
  std::int64_t above = 0;         ///< the record's version, which the new one exceeds
};

class BackfillBook {
 public:
  explicit BackfillBook(const std::shared_ptr<sql::Database>& database);

  /// Where the backfill of that name stopped, or its beginning; the position is `run`'s from now on.
  BackfillPosition begin(const std::string& name, const std::string& run, bool restart);
  /// False when another run has taken the position over: it goes on for both.
  bool keep(const std::string& name, const std::string& run, const BackfillPosition& position);
  /// Done: the next one begins anew.
  void finish(const std::string& name, const std::string& run);

  std::int64_t count_transactions();
  /// Ids above `after`, in their order.
  std::vector<TransactionId> transactions(TransactionId after, std::size_t limit);
  /// Those that exist, in any order.
  std::vector<GiftState> states(std::span<const TransactionId> transactions);
  /// Those that the sync loop has still to do.
  std::vector<TransactionId> waiting(std::span<const TransactionId> transactions);

  /// Takes over those that the store still does not know; returns them.
  std::vector<TransactionId> adopt(std::span<const Adoption> adoptions, UtcMillis now);
  /// Puts them into the sync queue under a new version; returns those that had not changed meanwhile.
  std::vector<TransactionId> rewrite(std::span<const Rewrite> rewrites, UtcMillis now);
  /// Notes that the records of these gifts are gone, where the mirror is still as it was read.
  void note_gone(std::span<const GiftMirror> mirrors, const std::string& reason);
  /// Notes that these gifts want a rematch, with the warnings given, where the decision is still as it was
  /// read.
  void note_lost_links(std::span<const GiftMirror> mirrors);
  /// Has records that are gone made again, by the decision that stands; returns those of them that are.
  std::vector<TransactionId> recreate(std::span<const GiftMirror> mirrors, UtcMillis now);

 private:
  std::shared_ptr<sql::Database> database_;
  IdBlock request_ids_;
  IdBlock change_ids_;
};

}  // namespace giftsync::schema
