#include "cli/daemon_report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

#include "daemon/wiring/host_identity.h"
#include "platform/http_client.h"
#include "platform/text.h"

namespace giftsync::cli {
namespace {

constexpr std::int64_t kTimeoutMillis = 2000;
constexpr std::size_t kMaxBytes = 4096;

/// The address at which a client on this host reaches the listener.
std::string reachable(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  const std::string host = listen.substr(0, colon);
  const std::string local = host == "0.0.0.0" ? "127.0.0.1" : host == "[::]" ? "[::1]" : host;
  return local + listen.substr(colon);
}

/// What follows "\nLABEL: " on its line; empty without one.
std::string value_in(const std::string& body, std::string_view label) {
  const std::string before = "\n" + std::string(label) + ": ";
  const std::size_t at = body.find(before);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + before.size();
  return body.substr(begin, body.find('\n', begin) - begin);
}

/// A daemon with `server.tls` refuses the request without TLS, and is asked again with it. Any certificate
/// will do: its names are not those of this address, no secret is sent, and only an instance id that the
/// store knows is believed.
HttpGetResponse ask(const std::string& address) {
  HttpGetRequest request;
  request.url = "http://" + address + "/-/ready";
  request.max_bytes = kMaxBytes;
  request.timeout_millis = kTimeoutMillis;
  request.bypass_proxy = true;
  request.verify_tls = false;
  HttpGetResponse response = http_get(request, [] { return true; });
  if (response.status != 400) return response;
  request.url = "https://" + address + "/-/ready";
  HttpGetResponse encrypted = http_get(request, [] { return true; });
  return encrypted.status == 0 ? response : encrypted;
}

}  // namespace

DaemonProbe probe_daemon(const std::string& listen) {
  DaemonProbe probe;
  if (listen.ends_with(":0")) {
    probe.fault = "server.listen has port 0, so the port is not known";
    return probe;
  }
  probe.address = reachable(listen);
  const HttpGetResponse response = ask(probe.address);
  probe.instance_id = value_in(response.body, "instance");
  if (!probe.instance_id.empty()) probe.clock_doubt = value_in(response.body, "clock");
  if (response.status == 0) {
    probe.state = DaemonState::unreachable;
    probe.fault = response.error;
  } else if (probe.instance_id.empty()) {
    probe.state = DaemonState::another_program;
  } else if (response.status == 200) {
    probe.state = DaemonState::ready;
  } else {
    probe.state = DaemonState::not_ready;
    probe.fault = response.body.substr(0, response.body.find('\n'));
  }
  return probe;
}

std::optional<UnitState> parse_unit(const std::string& shown) {
  std::map<std::string, std::string> values;
  std::istringstream lines(shown);
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t equals = line.find('='); equals != std::string::npos)
      values[line.substr(0, equals)] = line.substr(equals + 1);
  if (values["LoadState"] != "loaded") return std::nullopt;
  UnitState unit;
  unit.state = values["ActiveState"] + " (" + values["SubState"] + ")";
  const std::string& since = values["StateChangeTimestamp"];
  if (const auto seconds =
          since.starts_with('@') ? parse_number<std::int64_t>(since.substr(1)) : std::nullopt)
    unit.since = UtcMillis{*seconds * kSecondMillis};
  unit.status = values["StatusText"];
  constexpr std::string_view kListening = "Listening on ";
  constexpr std::string_view kWith = " with ";
  const std::size_t with = unit.status.find(kWith);
  if (unit.status.starts_with(kListening) && with != std::string::npos) {
    unit.listen = unit.status.substr(kListening.size(), with - kListening.size());
    unit.settings_file = unit.status.substr(with + kWith.size());
  }
  if (values["Result"] == "exit-code") unit.exit_code = parse_number<int>(values["ExecMainStatus"]);
  return unit;
}

std::optional<UnitState> find_unit() {
  // A fixed command; without systemd it prints nothing.
  constexpr const char* kCommand =
      "timeout 3 systemctl show giftsyncd.service --timestamp=unix --property=LoadState,ActiveState,SubState,"
      "StateChangeTimestamp,StatusText,Result,ExecMainStatus 2>/dev/null";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(kCommand, "re"), ::pclose);
  if (!pipe) return std::nullopt;
  std::string shown;
  std::array<char, 4096> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe.get()))
    shown.append(part.data(), count);
  return parse_unit(shown);
}

namespace {

using store::SeenDaemonInstance;

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

std::vector<std::string> reload_fault_lines(const store::DaemonInstance& daemon) {
  std::vector<std::string> lines;
  std::istringstream text(daemon.reload_faults);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

Place place_of(const config::Settings& settings) {
  return {wiring::host_identity(), settings.file, settings.server.listen};
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
    std::erase_if(reports, [&](const DaemonReport& daemon_report) {
      return owns(daemon_report) && !daemon_report.is_alive();
    });
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
