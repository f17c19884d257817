#include "schema/store/known_server.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <system_error>

namespace giftsync::schema::store {
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

}  // namespace giftsync::schema::store
