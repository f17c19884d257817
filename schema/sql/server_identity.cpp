#include "schema/sql/server_identity.h"

#include <soci/postgresql/soci-postgresql.h>

#include <cstdlib>

#include "platform/dependency_error.h"

namespace giftsync::schema::sql {
namespace {

/// pg_control_checkpoint() would give the timeline of the last checkpoint, which a promotion does not wait
/// for; a WAL file's name begins with the timeline in force. A standby has none.
constexpr const char* kIdentity =
    "SELECT cast(system_identifier as text), CASE WHEN pg_is_in_recovery() THEN '' ELSE "
    "pg_walfile_name(pg_current_wal_insert_lsn()) END FROM pg_control_system()";
constexpr std::size_t kTimelineDigits = 8;

bool does_not_tell(const soci::postgresql_soci_error& error) {
  constexpr const char* kMissingRight = "42501";
  constexpr const char* kNoFunction = "42883";
  constexpr const char* kNoTable = "42P01";
  const std::string state = error.sqlstate();
  return state == kMissingRight || state == kNoFunction || state == kNoTable || state == "0A000";
}

}  // namespace

std::optional<ServerIdentity> read_server_identity(soci::session& session) {
  std::string system_identifier;
  std::string wal_file;
  try {
    session << kIdentity, soci::into(system_identifier), soci::into(wal_file);
  } catch (const soci::postgresql_soci_error& error) {
    if (does_not_tell(error)) return std::nullopt;
    throw;
  }
  if (wal_file.empty())
    throw platform::DependencyError(
        true,
        "the database server is a standby that is not promoted; with several hosts the connection string "
        "needs target_session_attrs=read-write");
  constexpr int kHexadecimal = 16;
  return ServerIdentity{system_identifier,
                        std::strtoll(wal_file.substr(0, kTimelineDigits).c_str(), nullptr, kHexadecimal)};
}

}  // namespace giftsync::schema::sql
