#include "cli/daemon_report.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "platform/host_identity.h"

namespace giftsync::cli {
namespace {

using schema::store::SeenDaemonInstance;

/// A daemon that runs is seen every ten seconds.
constexpr std::int64_t kMaxUnseenMillis = 60'000;

bool is_own(const SeenDaemonInstance& row, const Place& place) {
  return row.instance.host == place.host && row.instance.settings_file == place.settings_file;
}

/// An answer is only that of the daemon whose id it tells.
DaemonProbe probe_row(const SeenDaemonInstance& row, const Place& place, const ProbeDaemon& probe) {
  if (row.instance.host != place.host) {
    DaemonProbe seen;
    seen.state = row.unseen_millis <= kMaxUnseenMillis ? DaemonState::seen : DaemonState::unseen;
    seen.address = row.instance.listen;
    return seen;
  }
  DaemonProbe found = probe(row.instance.listen);
  const bool answers = found.state == DaemonState::ready || found.state == DaemonState::not_ready;
  if (answers && found.instance_id != row.instance.id) found.state = DaemonState::another_program;
  return found;
}

/// Nothing at this address is known to the store.
DaemonReport unknown_daemon(const Place& place, const ProbeDaemon& probe) {
  DaemonReport report{std::nullopt, probe(place.listen)};
  if (report.is_alive()) report.probe.state = DaemonState::another_program;
  return report;
}

}  // namespace

std::vector<std::string> reload_fault_lines(const schema::store::DaemonInstance& daemon) {
  std::vector<std::string> lines;
  std::istringstream text(daemon.reload_faults);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

Place place_of(const daemon::config::Settings& settings) {
  return {platform::host_identity(), settings.file, settings.server.listen};
}

std::vector<DaemonReport> daemon_reports(const std::vector<SeenDaemonInstance>& rows, const Place& place,
                                         const ProbeDaemon& probe) {
  std::vector<DaemonReport> reports;
  for (const SeenDaemonInstance& row : rows) reports.push_back({row, probe_row(row, place, probe)});
  const auto owns = [&](const DaemonReport& report) { return is_own(*report.row, place); };
  const bool own_is_alive = std::any_of(reports.begin(), reports.end(), [&](const DaemonReport& report) {
    return owns(report) && report.is_alive();
  });
  // A daemon that was killed, and started again at another address.
  if (own_is_alive)
    std::erase_if(reports, [&](const DaemonReport& one) { return owns(one) && !one.is_alive(); });
  std::stable_sort(reports.begin(), reports.end(), [&](const DaemonReport& a, const DaemonReport& b) {
    return std::pair(owns(a), a.is_alive()) > std::pair(owns(b), b.is_alive());
  });
  if (reports.empty() || (!owns(reports.front()) && !reports.front().is_alive()))
    reports.insert(reports.begin(), unknown_daemon(place, probe));
  return reports;
}

std::optional<SeenDaemonInstance> find_own_daemon(const std::vector<SeenDaemonInstance>& rows,
                                                  const Place& place, const ProbeDaemon& probe) {
  for (const SeenDaemonInstance& row : rows) {
    if (!is_own(row, place)) continue;
    const DaemonState state = probe_row(row, place, probe).state;
    if (state == DaemonState::ready || state == DaemonState::not_ready) return row;
  }
  return std::nullopt;
}

}  // namespace giftsync::cli
