#include <fmt/format.h>
#include <sysexits.h>

#include "cli/count_text.h"
#include "cli/status_report.h"
#include "cli/text_table.h"
#include "platform/plural.h"

namespace giftsync::cli {
namespace {

using Items = std::vector<AttentionItem>;

std::string host_name(const DaemonReport& report) {
  const std::string& host = report.row->instance.host;
  return host.substr(0, host.find(' '));
}

void check_daemon(const DaemonReport& report, Items& items) {
  const std::string& address = report.probe.address;
  switch (report.probe.state) {
    case DaemonState::ready:
    case DaemonState::seen:
      break;
    case DaemonState::not_ready:
      items.push_back(
          {fmt::format("giftsyncd at {} is not ready: {}", address, printable(report.probe.fault)),
           "journalctl -u giftsyncd -e"});
      break;
    case DaemonState::another_program:
      items.push_back({fmt::format("another program answers at {}", address),
                       "find it with \"ss -ltnp\"; systemctl status giftsyncd"});
      break;
    case DaemonState::unreachable:
    case DaemonState::unknown:
      items.push_back({fmt::format("giftsyncd does not answer: {}", printable(report.probe.fault)),
                       "systemctl status giftsyncd"});
      break;
    case DaemonState::unseen:
      items.push_back({fmt::format("giftsyncd on {} was not seen since {} UTC", printable(host_name(report)),
                                   minute_text(report.row->last_seen_at)),
                       "systemctl status giftsyncd on that host"});
      break;
  }
  if (!report.row || report.row->instance.reload_faults.empty()) return;
  items.push_back(
      {fmt::format("the last reload of giftsyncd on {} was refused", printable(host_name(report))),
       fmt::format("correct {}, then systemctl reload giftsyncd",
                   printable(report.row->instance.settings_file))});
}

void check_store(const StatusReport& report, const std::string& program, Items& items) {
  if (!report.full_disk.empty())
    items.push_back({printable(report.full_disk), "free some space there; giftsyncd then goes on by itself"});
  if (report.stats.gifts_in_future > 0)
    items.push_back({fmt::format("{} {} a time in the future, from a wrong clock or time zone",
                                 count_text(report.stats.gifts_in_future, "gift"),
                                 platform::plural_verb(report.stats.gifts_in_future, "has", "have")),
                     program + "change list --newest --limit 100; \"Wrong clock\" in troubleshooting.md"});
}

void check_mail(const StatusReport& report, const std::string& program, Items& items) {
  for (const schema::store::CircuitBreaker& pause : report.pauses)
    items.push_back(
        {fmt::format("mail delivery is paused on {}: {}", printable(pause.daemon), printable(pause.reason)),
         "correct email.smtp or its password and reload the daemon, or correct the relay; the daemon "
         "tries again from time to time"});
  for (const auto& [state, count] : report.mails) {
    if (state != schema::DeliveryState::held || count == 0) continue;
    items.push_back(
        {fmt::format("{} {} held", count_text(count, "mail"), platform::plural_verb(count, "is", "are")),
         "search the relay's log for it, then " + program + "gift resend ID; " + program +
             "mail list shows each"});
  }
}

void check_crm(const StatusReport& report, const std::string& program, Items& items) {
  for (const auto& [state, count] : report.sync_states) {
    if (state != schema::store::CrmSyncStatus::rejected || count == 0) continue;
    items.push_back({fmt::format("the CRM rejected {}", count_text(count, "gift record")),
                     program + "gift list --refused tells why"});
  }
  if (report.org) {
    for (const wiring::OrgPause& pause : wiring::org_pauses(*report.org, program)) {
      if (!pause.next_step.empty()) items.push_back({printable(pause.summary), printable(pause.next_step)});
    }
  }
  if (report.stats.requests_in_error > 0)
    items.push_back(
        {fmt::format("{} {} in error", count_text(report.stats.requests_in_error, "request record"),
                     platform::plural_verb(report.stats.requests_in_error, "is", "are")),
         program + "request list"});
}

/// One refused message is the message's fault; so many without an accepted one are the settings' or the
/// vendor's.
constexpr std::int64_t kManyRefusedInRow = 10;

void check_sources(const StatusReport& report, const std::string& program, Items& items) {
  for (const schema::store::SourceSummary& row : report.sources) {
    if (row.refused_in_row >= kManyRefusedInRow)
      items.push_back({fmt::format("source {}: {} messages in a row were refused: {}", printable(row.name),
                                   row.refused_in_row, printable(row.last_refusal)),
                       fmt::format("{}source refused {}", program, printable(row.name))});
    if (row.state != "failing" && row.state != "invalid" && row.state != "over_limit") continue;
    items.push_back({fmt::format("source {} is {}{}{}", printable(row.name), row.state,
                                 row.reason.empty() ? "" : ": ", printable(row.reason)),
                     program + "source list"});
  }
}

void check_codes(const StatusReport& report, const std::string& program, Items& items) {
  for (const schema::store::GiftCodeCounts& row : report.codes) {
    if (row.left > 0) continue;
    items.push_back({fmt::format("item {} has no gift codes left", row.gift.value),
                     fmt::format("{}item codes import {} FILE", program, row.gift.value)});
  }
}

}  // namespace

std::vector<AttentionItem> needs_attention(const StatusReport& report, const std::string& program) {
  Items items;
  for (const DaemonReport& one : report.daemons) check_daemon(one, items);
  if (!report.settings_faults.empty())
    items.push_back(
        {fmt::format("the settings file is faulty: {}", printable(report.settings_faults.front())),
         "giftsyncd --check lists every fault"});
  check_store(report, program, items);
  check_mail(report, program, items);
  check_crm(report, program, items);
  check_sources(report, program, items);
  check_codes(report, program, items);
  return items;
}

int exit_code(const StatusReport& report, const std::vector<AttentionItem>& attention) {
  if (report.daemons.empty() || !report.daemons.front().is_alive()) return EX_UNAVAILABLE;
  return attention.empty() ? EX_OK : 1;
}

}  // namespace giftsync::cli
