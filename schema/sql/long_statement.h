// schema/sql: one statement that may take longer than the watchdog allows, such as CREATE INDEX on a table of
// millions of rows. Included by schema/'s .cpp files only.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "schema/sql/database.h"

namespace giftsync::sql {

/// run_long_statement() was asked to end, and the database has undone the statement.
class StatementStopped : public std::runtime_error {
 public:
  StatementStopped() : std::runtime_error("a long statement was stopped") {}
};

/// Runs a statement without parameters to its end, however long that is. `should_run()` is called several
/// times a second, by this thread; once it is false the statement is cancelled and StatementStopped thrown.
/// For use inside of Database::read (PostgreSQL: outside of a transaction) and Database::write.
void run_long_statement(soci::session& session, const std::string& statement,
                        const std::function<bool()>& should_run);

}  // namespace giftsync::sql
