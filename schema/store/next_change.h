// schema/store: the audit event of a program that does one thing after another, a command: it is inserted by
// the transaction of the next change, whatever that changes (CON-8).
#pragma once

#include <memory>
#include <string>

#include "schema/sql/dsn.h"
#include "schema/store/audit_log.h"

namespace giftsync::schema::sql {
class Database;
}

namespace giftsync::schema::store {

/// Main thread. A destroyed one inserts nothing more.
class NextChange {
 public:
  /// Shares the connections of a Store of the same dsn.
  explicit NextChange(const sql::Dsn& dsn);
  ~NextChange();
  NextChange(const NextChange&) = delete;
  NextChange& operator=(const NextChange&) = delete;

  /// With the next transaction that changes a row, instead of an event that still waits for one.
  void set_event(AuditEvent event);
  /// Whether an event was inserted, since the beginning.
  bool has_inserted() const { return *has_inserted_; }

 private:
  std::shared_ptr<sql::Database> database_;
  std::shared_ptr<bool> has_inserted_ = std::make_shared<bool>(false);
};

}  // namespace giftsync::schema::store
