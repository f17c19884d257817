// schema/store: a lease that makes its owner the only writer to something outside of the store, among all
// processes that share the store. Its times are those of the database's clock (ARCH-17). Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "schema/sql/database.h"
#include "schema/sql/dsn.h"

namespace giftsync::schema::store {

/// A writer that wants the lease tries more often than that.
inline constexpr std::int64_t kWriterWaitMillis = 1000;

class WriterLease {
 public:
  /// Opens nothing. The store exists when the functions are called. `name`: what is written to. `owner` is
  /// another text for each object that may write; it is shown to admins.
  WriterLease(const sql::Dsn& dsn, std::string name, std::string owner);

  struct Holder {
    bool is_this = false;               ///< of the lease's owner
    std::string owner = {};             ///< of the lease
    std::int64_t remaining_millis = 0;  ///< until it ends by itself
  };
  /// Takes the lease for `millis` when it is free, has ended or is this owner's; tells who has it then. A
  /// lease that runs for longer than `millis` was taken while the database's clock was ahead: it is free. All
  /// owners of a lease use the same `millis`. Who does not get it comes next: for kWriterWaitMillis from its
  /// last attempt a lease that was released is given to no other. Throws platform::DependencyError, like the
  /// following.
  Holder take(std::int64_t millis);
  /// Prolongs it. False when another owner took it since this one did, also when that one has released it:
  /// what this owner decided under the lease may not hold any more.
  bool renew(std::int64_t millis);
  /// Of this owner only; another one may take it at once.
  void release();

 private:
  void claim(soci::session& session, const std::string& name, std::int64_t millis) const;
  Holder read(soci::session& session, const std::string& name) const;
  void release(soci::session& session, const std::string& name) const;

  const std::shared_ptr<sql::Database> database_;
  const std::string name_;
  const std::string next_name_;  ///< of the row of who comes next
  const std::string owner_;
};

}  // namespace giftsync::schema::store
