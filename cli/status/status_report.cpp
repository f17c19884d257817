#include "cli/status/status_report.h"

#include <fmt/format.h>
#include <sysexits.h>

#include "platform/visible_text.h"

namespace giftsync::cli {
namespace {

/// What the daemon's own answer says; the store says the rest.
std::optional<sync::Finding> fault_of(const DaemonProbe& probe) {
  switch (probe.state) {
    case DaemonState::ready:
    case DaemonState::seen:
    case DaemonState::unseen:
      break;
    case DaemonState::not_ready:
      return sync::Finding{fmt::format("giftsyncd at {} is not ready: {}", probe.address, probe.fault),
                           "journalctl -u giftsyncd -e"};
    case DaemonState::another_program:
      return sync::Finding{fmt::format("another program answers at {}", probe.address),
                           "find it with \"ss -ltnp\"; systemctl status giftsyncd"};
    case DaemonState::unreachable:
    case DaemonState::unknown:
      return sync::Finding{fmt::format("giftsyncd does not answer: {}", probe.fault),
                           "systemctl status giftsyncd"};
  }
  return std::nullopt;
}

}  // namespace

std::vector<sync::AttentionItem> needs_attention(const StatusReport& report) {
  sync::AttentionFacts facts = report.facts;
  facts.settings_faults = report.settings_faults;
  for (const DaemonReport& daemon : report.daemons) {
    if (auto fault = fault_of(daemon.probe)) facts.daemon_faults.push_back(std::move(*fault));
    if (!daemon.row) continue;
    if (facts.clock_doubt.empty()) facts.clock_doubt = daemon.probe.clock_doubt;
    facts.daemons.push_back(*daemon.row);
    // A daemon of this host was asked.
    if (daemon.probe.state != DaemonState::unseen) facts.daemons.back().unseen_millis = 0;
  }
  return sync::needs_attention(facts);
}

DaemonProbe probe_without_store(const config::SettingsReading& file, const std::optional<UnitState>& unit,
                                const ProbeDaemon& probe) {
  const bool unit_says = unit && !unit->listen.empty() && unit->settings_file == file.settings.file;
  return probe(unit_says ? unit->listen : file.settings.server.listen);
}

sync::AttentionItem refused_item(const config::SettingsReading& file,
                                 const std::vector<std::string>& refusal) {
  const std::string check = "giftsyncd --config " + shell_word(file.settings.file) + " --check";
  if (!file.has_store)
    return {{"the settings file is faulty: " + file.faults.front(),
             check + " lists every fault; correct them, then systemctl reload-or-restart giftsyncd"},
            "daemon.settings_faulty",
            sync::Part::daemon};
  // A refusal ends with what to do.
  const std::string& line = refusal.front();
  const std::size_t step = line.rfind("; ");
  return {{line.substr(0, step), step == std::string::npos ? check : line.substr(step + 2)},
          "store.unreadable",
          sync::Part::store};
}

int exit_code(const StatusReport& report, const std::vector<sync::AttentionItem>& attention) {
  if (report.daemons.empty() || !report.daemons.front().is_alive()) return EX_UNAVAILABLE;
  return attention.empty() ? EX_OK : 1;
}

}  // namespace giftsync::cli
