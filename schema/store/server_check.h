// schema/store: uses a store only on the PostgreSQL server that it was last used on. Refused are a restored
// or copied cluster, an old primary that came back after its standby was promoted, and a standby (ARCH-42).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "schema/sql/dsn.h"

namespace giftsync::schema::sql {
class ConnectionCheck;
}

namespace giftsync::schema::store {

/// Where this machine remembers the server, which an old primary cannot know: also after a restart.
struct ServerFile {
  std::string path = {};  ///< empty: only this process and the store remember
  bool may_write = true;  ///< false: only compared, in the store too
  /// Called with a sentence when the file cannot be written, once until it can be again. Any thread.
  std::function<void(const std::string&)> on_write_fault = {};
};

/// While it exists, each new connection of this program to this store is checked: a server that is not the
/// right one is refused with a transient platform::DependencyError that says why and what to do. Nothing is
/// checked on SQLite, before the store's first start, and on servers that do not tell who they are. Any
/// thread.
class ServerCheck {
 public:
  ServerCheck(const sql::Dsn& dsn, const ServerFile& file);
  ~ServerCheck();
  ServerCheck(const ServerCheck&) = delete;
  ServerCheck& operator=(const ServerCheck&) = delete;

 private:
  std::unique_ptr<sql::ConnectionCheck> check_;  ///< null for SQLite
};

/// From now on the server of this store is the right one, for every daemon. Returns how the server names
/// itself; nullopt when the store is a file, or when the server does not tell.
std::optional<std::string> accept_server(const sql::Dsn& dsn);

}  // namespace giftsync::schema::store
