#include "schema/store/server_check.h"

#include <soci/postgresql/soci-postgresql.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <sstream>
#include <system_error>
#include <utility>

#include "schema/sql/database.h"
#include "schema/store/statements/metadata.h"
#include "schema/store/store.h"

namespace giftsync::store {
namespace {

constexpr const char* kServerFact = "server";

struct Facts {
  std::optional<std::string> installation;
  std::optional<KnownServer> server;
};

/// Reads a store whose tables may not exist yet.
Facts read_facts(soci::session& session) {
  Facts facts;
  try {
    facts.installation = read_metadata(session, kInstallationIdFact);
    if (facts.installation)
      facts.server = known_server_from(read_metadata(session, kServerFact).value_or(""));
  } catch (const soci::postgresql_soci_error& error) {
    constexpr const char* kNoTable = "42P01";
    if (std::string(error.sqlstate()) != kNoTable) throw;
  }
  return facts;
}

/// The check of one store's connections. Any thread.
class ServerGuard {
 public:
  explicit ServerGuard(ServerFile file) : file_(std::move(file)) {}
  void check(soci::session& session);

 private:
  std::optional<KnownServer> remembered(const std::string& installation);
  void remember(const std::string& installation, const KnownServer& known);
  /// Under mutex_.
  void save(const std::string& installation, const KnownServer& known);

  const ServerFile file_;
  std::mutex mutex_;
  std::string installation_;          // guarded by mutex_; of known_
  std::optional<KnownServer> known_;  // guarded by mutex_; of this process
  bool has_write_fault_ = false;      // guarded by mutex_; reported already
};

void ServerGuard::check(soci::session& session) {
  const std::optional<sql::ServerIdentity> found = sql::read_server_identity(session);
  if (!found) return;
  const Facts facts = read_facts(session);
  if (!facts.installation) return;
  const std::optional<KnownServer> before = remembered(*facts.installation);
  if (const std::string refusal = server_refusal(facts.server, before, *found); !refusal.empty())
    throw DependencyError(true, refusal);
  const KnownServer now{*found, facts.server ? facts.server->accepted_at : 0};
  if (facts.server != now && file_.may_write) write_metadata(session, kServerFact, to_text(now));
  if (before != now) remember(*facts.installation, now);
}

std::optional<KnownServer> ServerGuard::remembered(const std::string& installation) {
  const std::lock_guard lock(mutex_);
  if (!known_ || installation_ != installation) {
    installation_ = installation;
    known_ = file_.path.empty() ? std::nullopt : read_known_server(file_.path, installation);
  }
  return known_;
}

void ServerGuard::remember(const std::string& installation, const KnownServer& known) {
  const std::lock_guard lock(mutex_);
  installation_ = installation;
  known_ = known;
  if (!file_.path.empty() && file_.may_write) save(installation, known);
}

void ServerGuard::save(const std::string& installation, const KnownServer& known) {
  const std::string fault = write_known_server(file_.path, installation, known);
  if (!fault.empty() && !has_write_fault_ && file_.on_write_fault)
    file_.on_write_fault("the store's server cannot be remembered in " + file_.path + ": " + fault +
                         "; after a restart an old primary that came back would be recognized only by what "
                         "the store on it says; let giftsyncd's user write this file and its folder");
  has_write_fault_ = !fault.empty();
}

}  // namespace

/// The check may still run in another thread when this object ends, hence the shared guard.
ServerCheck::ServerCheck(const sql::Dsn& dsn, const ServerFile& file) {
  if (dsn.dialect != sql::Dialect::postgresql) return;
  check_ = std::make_unique<sql::ConnectionCheck>(
      dsn, [guard = std::make_shared<ServerGuard>(file)](soci::session& session) { guard->check(session); });
}

ServerCheck::~ServerCheck() = default;

std::optional<std::string> accept_server(const sql::Dsn& dsn) {
  if (dsn.dialect != sql::Dialect::postgresql) return std::nullopt;
  sql::Database database(dsn);
  return database.read([&](soci::session& session) -> std::optional<std::string> {
    const std::optional<sql::ServerIdentity> found = sql::read_server_identity(session);
    if (!found) return std::nullopt;
    std::int64_t now = 0;
    session << "SELECT " << std::string(sql::database_now(sql::Dialect::postgresql)), soci::into(now);
    write_metadata(session, kServerFact, to_text({*found, now}));
    return "system identifier " + found->system_identifier + ", timeline " + std::to_string(found->timeline);
  });
}

namespace {

constexpr const char* kRemedy =
    "; if this server is meant, run \"giftsyncctl db accept-server\", else correct store.connection or stop "
    "that server";

std::string refusal_by(const sql::ServerIdentity& known, const sql::ServerIdentity& found) {
  if (known.system_identifier != found.system_identifier)
    return "the database server is another cluster (system identifier " + found.system_identifier +
           ", it was " + known.system_identifier + "): a restored, copied or upgraded one" + kRemedy;
  if (found.timeline < known.timeline)
    return "the database server is on timeline " + std::to_string(found.timeline) + ", and timeline " +
           std::to_string(known.timeline) + " was in use: an old primary came back after its standby was " +
           "promoted" + kRemedy;
  return {};
}

}  // namespace

std::string to_text(const KnownServer& known) {
  return known.identity.system_identifier + " " + std::to_string(known.identity.timeline) + " " +
         std::to_string(known.accepted_at);
}

std::optional<KnownServer> known_server_from(const std::string& text) {
  KnownServer known;
  std::istringstream words(text);
  words >> known.identity.system_identifier >> known.identity.timeline >> known.accepted_at;
  if (!words) return std::nullopt;
  return known;
}

std::optional<KnownServer> read_known_server(const std::string& path, const std::string& installation) {
  std::string found_installation;
  std::string rest;
  std::ifstream file(path);
  if (!(file >> found_installation) || found_installation != installation) return std::nullopt;
  std::getline(file >> std::ws, rest);
  return known_server_from(rest);
}

std::string write_known_server(const std::string& path, const std::string& installation,
                               const KnownServer& known) {
  const std::string temporary = path + "." + std::to_string(::getpid()) + ".tmp";
  errno = 0;
  bool is_written = false;
  {
    std::ofstream file(temporary, std::ios::trunc);
    file << installation << ' ' << to_text(known) << '\n';
    is_written = static_cast<bool>(file.flush());
  }
  if (is_written && std::rename(temporary.c_str(), path.c_str()) == 0) return {};
  const int fault = errno;
  std::remove(temporary.c_str());
  return fault == 0 ? "unknown error" : std::generic_category().message(fault);
}

std::string server_refusal(const std::optional<KnownServer>& stored,
                           const std::optional<KnownServer>& remembered, const sql::ServerIdentity& found) {
  if (stored) {
    if (std::string refusal = refusal_by(stored->identity, found); !refusal.empty()) return refusal;
  }
  if (!remembered || (stored && stored->accepted_at > remembered->accepted_at)) return {};
  return refusal_by(remembered->identity, found);
}

}  // namespace giftsync::store
