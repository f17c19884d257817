// schema/store: uses a store only on the PostgreSQL server that it was last used on. Refused are a restored
// or copied cluster, an old primary that came back after its standby was promoted, and a standby (ARCH-42).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "schema/sql/connection_check.h"
#include "schema/sql/dsn.h"

namespace giftsync::sql {
class ConnectionCheck;
}

namespace giftsync::store {

/// Where this machine remembers the server, which an old primary cannot know: also after a restart.
struct ServerFile {
  std::string path = {};  ///< empty: only this process and the store remember
  bool may_write = true;  ///< false: only compared, in the store too
  /// Called with a sentence when the file cannot be written, once until it can be again. Any thread.
  std::function<void(const std::string&)> on_write_fault = {};
};

/// While it exists, each new connection of this program to this store is checked: a server that is not the
/// right one is refused with a transient DependencyError that says why and what to do. Nothing is
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

// What is remembered of a store's server, and whether another one may be used (ARCH-42).
// Internal to schema/store and its tests.

struct KnownServer {
  sql::ServerIdentity identity;
  std::int64_t accepted_at = 0;  ///< when an admin last accepted a server, by its clock; 0: never
  bool operator==(const KnownServer&) const = default;
};

/// "7711733011392458767 1 0"; nullopt for other text.
std::string to_text(const KnownServer& known);
std::optional<KnownServer> known_server_from(const std::string& text);

/// The last line of a file "INSTALLATION SYSTEM TIMELINE ACCEPTED"; nullopt if there is none of this
/// installation.
std::optional<KnownServer> read_known_server(const std::string& path, const std::string& installation);
/// Replaces the file. Of daemons that share it the last one wins; each writes what it has just checked.
/// Returns why it cannot be written, empty when it was; then what this process and the store remember counts.
std::string write_known_server(const std::string& path, const std::string& installation,
                               const KnownServer& known);

/// Why a server must not be used; empty: it may. `stored`: what the store on this server says. `remembered`:
/// what this machine remembers; an acceptance in the store that is newer than it overrules it.
std::string server_refusal(const std::optional<KnownServer>& stored,
                           const std::optional<KnownServer>& remembered, const sql::ServerIdentity& found);

}  // namespace giftsync::store
