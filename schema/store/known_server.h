// schema/store: what is remembered of a store's server, and whether another one may be used (ARCH-42).
// Internal to schema/store and its tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schema/sql/server_identity.h"

namespace giftsync::schema::store {

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

}  // namespace giftsync::schema::store
