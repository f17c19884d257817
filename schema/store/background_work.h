// schema/store: the work of an upgrade that may take longer than a start (ARCH-13): the statements in the
// background parts of the scripts ("--@background", schema/sql/database.h). A daemon does them one after the
// other while it serves calls; another one, or the next one, goes on where it stopped. Two kinds:
//
// - "CREATE [UNIQUE] INDEX name ON table ...": on PostgreSQL CONCURRENTLY, which holds no writer back; on
//   SQLite in one transaction, for which all writers wait and readers do not;
// - "UPDATE table SET ... WHERE id > :after AND id <= :until": in transactions of 5,000 rows each, by the
//   table's integer key.
//
// Any thread. A database error throws DependencyError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "schema/sql/dsn.h"
#include "schema/store/store.h"

namespace giftsync::store {

/// What is left to do.
struct BackgroundWork {
  std::size_t remaining = 0;  ///< statements, the present one included; 0: all is done
  std::string present = {};   ///< the present one's beginning, in one line: "CREATE INDEX name ON table"
  bool is_index = false;      ///< the present one
  std::int64_t filled = 0;    ///< of an UPDATE: up to this id the rows are filled
  std::string fault = {};     ///< why it does not go on; empty: it does
};
/// 0 remain in a store without tables. `scripts`: as of run_migration(), which has run them.
BackgroundWork background_work(const sql::Dsn& dsn, MigrationScripts scripts = store_scripts());

enum class BackgroundStep : std::uint8_t {
  none,     ///< all is done
  more,     ///< a part was done
  busy,     ///< another process does it
  stopped,  ///< should_run() was false; nothing is lost
};
/// Makes one index or fills 5,000 rows. `should_run()` is called several times a second meanwhile.
BackgroundStep do_background_step(const sql::Dsn& dsn, const std::function<bool()>& should_run,
                                  MigrationScripts scripts = store_scripts());

/// For the status, until the next step succeeds.
void note_background_fault(const sql::Dsn& dsn, const std::string& fault);

}  // namespace giftsync::store
