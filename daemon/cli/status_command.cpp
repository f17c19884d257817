#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <algorithm>
#include <memory>

#include "daemon/cli/commands.h"
#include "daemon/cli/daemon_look.h"
#include "daemon/cli/json_list.h"
#include "daemon/cli/key_search.h"
#include "daemon/cli/text_table.h"
#include "daemon/counted.h"
#include "daemon/store_address.h"
#include "schema/store/store_glance.h"

namespace giftsync::daemon {
namespace {

using schema::DeliveryState;
using schema::MirrorState;

constexpr std::size_t kMostMailsListed = 20;
constexpr MirrorState kMirrorsOfNote[] = {MirrorState::skipped, MirrorState::gone, MirrorState::rejected};

/// What stands where in the store, at one look.
struct StatusReport {
  std::size_t accounts = 0;
  std::size_t active_accounts = 0;
  std::size_t keys = 0;
  std::size_t working_keys = 0;
  std::size_t keys_without_access = 0;  ///< they would work, but their account or its plan does not
  std::vector<std::pair<DeliveryState, std::int64_t>> mails;
  std::optional<schema::DeliveryPause> pause;
  std::vector<schema::DeliveryRow> unsure_mails;
  schema::SyncQueue::Counts sync;
  std::vector<std::pair<MirrorState, std::int64_t>> mirrors;
  std::int64_t held_changes = 0;
  std::vector<schema::SourceStanding> sources;
  std::vector<schema::GiftCodeCounts> codes;
  schema::StoreGlance glance;
  DaemonLook daemon;
};

constexpr std::int64_t kSoonDays = 7;

/// "2026-11-21 12:31:07": what happens within seconds is told to the second.
std::string second_text(schema::UtcMillis time) {
  std::string text = schema::to_rfc3339(time).substr(0, std::string_view("2026-11-21T12:31:07").size());
  text[text.find('T')] = ' ';
  return text;
}

std::int64_t count_of(const StatusReport& report, schema::RequestState state) {
  return report.glance.requests[static_cast<std::size_t>(state)];
}

StatusReport look(schema::Store& store, const Settings& settings, schema::UtcMillis now) {
  StatusReport report;
  for (const schema::Account& account : store.accounts.accounts()) {
    ++report.accounts;
    report.active_accounts += account.active ? 1 : 0;
  }
  for (const schema::KeyHolder& holder : store.accounts.keys()) {
    const std::string state = key_state(holder.key, now);
    ++report.keys;
    if (state != "active" && state != "ending") continue;
    const bool is_let_in = holder.account.active && has_api_access(holder.account.plan);
    ++(is_let_in ? report.working_keys : report.keys_without_access);
  }
  report.mails = store.deliveries.counts();
  report.pause = store.deliveries.pause();
  report.unsure_mails =
      store.deliveries.rows({DeliveryState::uncertain, DeliveryState::held}, kMostMailsListed);
  report.sync = store.sync.counts();
  for (const MirrorState state : kMirrorsOfNote)
    report.mirrors.emplace_back(state, store.sync.count_mirrors(state));
  report.held_changes = store.changes.count_held();
  report.sources = store.sources.standings();
  for (schema::SourceStanding& row : report.sources) {
    const bool is_removed = std::none_of(settings.sources.begin(), settings.sources.end(),
                                         [&](const SourceSettings& one) { return one.name == row.name; });
    if (!is_removed) continue;
    row.state = "removed";
    row.reason.clear();
  }
  report.codes = store.codes.counts();
  report.glance = schema::store_glance(store_address(settings.store), now + kSoonDays * schema::kDayMillis);
  report.daemon = look_at_daemon(settings.server);
  return report;
}

std::int64_t count_of(const StatusReport& report, DeliveryState state) {
  const auto found = std::find_if(report.mails.begin(), report.mails.end(),
                                  [&](const auto& mail) { return mail.first == state; });
  return found == report.mails.end() ? 0 : found->second;
}

Json mails_json(const StatusReport& report) {
  Json json = Json::object();
  for (const DeliveryState state : schema::kAllDeliveryStates)
    json[std::string(to_word(state))] = count_of(report, state);
  json["pause"] = nullptr;
  if (report.pause) {
    json["pause"] = {{"since", json_time(report.pause->since)},
                     {"until", json_time(report.pause->until)},
                     {"failures", report.pause->failures},
                     {"reason", report.pause->reason}};
  }
  json["unsure"] = Json::array();
  for (const schema::DeliveryRow& row : report.unsure_mails) {
    json["unsure"].push_back(
        {{"recipient_transaction_id", row.transaction.value},
         {"email", row.email},
         {"state", to_word(row.state)},
         {"since", json_time(row.updated_at)},
         {"next_try_at", row.state == DeliveryState::uncertain ? json_time(row.due_at) : Json(nullptr)},
         {"message_id", row.message_id},
         {"last_reply", row.last_reply}});
  }
  return json;
}

Json sources_json(const StatusReport& report) {
  Json json = Json::array();
  for (const schema::SourceStanding& row : report.sources) {
    json.push_back({{"name", row.name},
                    {"state", row.state},
                    {"reason", row.reason.empty() ? Json(nullptr) : Json(row.reason)},
                    {"accepted", row.accepted},
                    {"held", row.held},
                    {"kept_aside", row.kept_aside},
                    {"refused", row.refused},
                    {"last_heard_at", json_time(row.last_heard_at)}});
  }
  return json;
}

Json codes_json(const StatusReport& report, std::int64_t few) {
  Json json = Json::array();
  for (const schema::GiftCodeCounts& row : report.codes) {
    json.push_back({{"gift_id", row.gift.value},
                    {"left", row.left},
                    {"handed_out", row.handed_out},
                    {"low", row.left <= few}});
  }
  return json;
}

Json requests_json(const StatusReport& report, bool enabled) {
  Json json = {{"enabled", enabled}};
  for (const schema::RequestState state : schema::kAllRequestStates)
    json[std::string(to_word(state))] = count_of(report, state);
  json["in_error"] = report.glance.requests_in_error;
  json["last_error"] = nullptr;
  if (report.glance.requests_in_error > 0) {
    json["last_error"] = {{"number", report.glance.request_in_error}, {"error", report.glance.request_error}};
  }
  return json;
}

Json daemon_json(const DaemonLook& look) {
  const bool known = look.state != DaemonState::unknown;
  const bool answers = look.state == DaemonState::ready || look.state == DaemonState::not_ready;
  return {{"address", look.address.empty() ? Json(nullptr) : Json(look.address)},
          {"answers", known ? Json(answers) : Json(nullptr)},
          {"ready", known ? Json(look.state == DaemonState::ready) : Json(nullptr)},
          {"fault", look.fault.empty() ? Json(nullptr) : Json(look.fault)}};
}

Json report_json(const StatusReport& report, const Settings& settings) {
  Json mirrors = Json::object();
  for (const auto& [state, count] : report.mirrors) mirrors[std::string(to_word(state))] = count;
  return {
      {"daemon", daemon_json(report.daemon)},
      {"store", {{"place", store_place(settings)}, {"version", schema::kStoreVersion}, {"answers", true}}},
      {"accounts", {{"all", report.accounts}, {"active", report.active_accounts}}},
      {"keys",
       {{"all", report.keys},
        {"working", report.working_keys},
        {"without_access", report.keys_without_access}}},
      {"mail", mails_json(report)},
      {"sync",
       {{"waiting", report.sync.waiting},
        {"failing", report.sync.failing},
        {"oldest_due", json_time(report.sync.oldest_due)},
        {"last_error", report.sync.last_error.empty() ? Json(nullptr) : Json(report.sync.last_error)}}},
      {"records", mirrors},
      {"held_changes", report.held_changes},
      {"requests", requests_json(report, settings.requests.enabled)},
      {"timers", {{"within_7_days", report.glance.due_soon}, {"next", json_time(report.glance.next_due)}}},
      {"sources", sources_json(report)},
      {"codes", codes_json(report, settings.catalogue.few_codes)}};
}

void tell_mails(std::ostream& out, const StatusReport& report) {
  std::string counts;
  for (const DeliveryState state : schema::kAllDeliveryStates) {
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count_of(report, state), to_word(state));
  }
  fmt::print(out, "mail      {}\n", counts);
  if (report.pause) {
    fmt::print(out, "          PAUSED since {} UTC, next try {} UTC, {}: {}\n",
               minute_text(report.pause->since), second_text(report.pause->until),
               counted(report.pause->failures, "failure"), printable(report.pause->reason));
  }
  for (const schema::DeliveryRow& row : report.unsure_mails) {
    const std::string next =
        row.state == DeliveryState::uncertain ? ", goes again " + minute_text(row.due_at) + " UTC" : "";
    fmt::print(out, "          gift {} to {} is {} since {} UTC{}: {}\n", row.transaction.value,
               printable(row.email), to_word(row.state), minute_text(row.updated_at), next,
               printable(row.last_reply));
  }
}

void tell_requests(std::ostream& out, const StatusReport& report, bool enabled) {
  std::string counts;
  for (const schema::RequestState state : schema::kAllRequestStates)
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count_of(report, state), to_word(state));
  fmt::print(out, "requests  {}{}\n", counts, enabled ? "" : "; NOT IN USE, requests.enabled is false");
  if (report.glance.requests_in_error == 0) return;
  fmt::print(out, "          {} in error, the last one {}: {}\n", report.glance.requests_in_error,
             printable(report.glance.request_in_error), printable(report.glance.request_error));
}

void tell_timers(std::ostream& out, const StatusReport& report) {
  fmt::print(out, "timers    {} {} a deadline or a reminder within {} days",
             counted(report.glance.due_soon, "gift"), verb_for(report.glance.due_soon, "has", "have"),
             kSoonDays);
  if (report.glance.next_due) fmt::print(out, ", next {} UTC", minute_text(report.glance.next_due));
  out << '\n';
}

void tell_daemon(std::ostream& out, const DaemonLook& look) {
  switch (look.state) {
    case DaemonState::ready:
      fmt::print(out, "daemon    ready at {}\n", look.address);
      break;
    case DaemonState::not_ready:
      fmt::print(out, "daemon    answers at {}, NOT READY: {}\n", look.address, printable(look.fault));
      break;
    case DaemonState::silent:
      fmt::print(out, "daemon    DOES NOT ANSWER: {}\n", printable(look.fault));
      break;
    case DaemonState::unknown:
      fmt::print(out, "daemon    cannot be asked: {}\n", look.fault);
      break;
  }
}

void tell(std::ostream& out, const StatusReport& report, const Settings& settings) {
  tell_daemon(out, report.daemon);
  fmt::print(out, "store     {}, version {}, answers\n", store_place(settings), schema::kStoreVersion);
  fmt::print(out, "accounts  {} ({} active), {} ({} working{})\n", report.accounts, report.active_accounts,
             counted(report.keys, "key"), report.working_keys,
             report.keys_without_access == 0
                 ? ""
                 : fmt::format(", {} refused for their account or its plan", report.keys_without_access));
  tell_mails(out, report);
  fmt::print(out, "sync      {} waiting, {} failing", report.sync.waiting, report.sync.failing);
  if (report.sync.oldest_due) fmt::print(out, ", oldest due {} UTC", minute_text(report.sync.oldest_due));
  out << '\n';
  if (!report.sync.last_error.empty())
    fmt::print(out, "          last error: {}\n", printable(report.sync.last_error));
  std::string mirrors;
  for (const auto& [state, count] : report.mirrors) {
    mirrors += fmt::format("{}{} {}", mirrors.empty() ? "" : ", ", count, to_word(state));
  }
  fmt::print(out, "records   {}\n", mirrors);
  fmt::print(out, "changes   {} held for transactions that are not known yet\n", report.held_changes);
  const bool has_requests = std::any_of(report.glance.requests.begin(), report.glance.requests.end(),
                                        [](std::int64_t count) { return count > 0; });
  if (has_requests || settings.requests.enabled) tell_requests(out, report, settings.requests.enabled);
  tell_timers(out, report);
  for (const schema::SourceStanding& row : report.sources) {
    fmt::print(out, "source    {}: {}{}{}; {} accepted, {} of them held now, {} kept aside, {} refused\n",
               row.name, row.state, row.reason.empty() ? "" : ", ", printable(row.reason), row.accepted,
               row.held, row.kept_aside, row.refused);
  }
  for (const schema::GiftCodeCounts& row : report.codes) {
    const bool is_low = row.left <= settings.catalogue.few_codes;
    fmt::print(out, "codes     item {}: {} left, {} handed out{}\n", row.gift.value, row.left, row.handed_out,
               row.left == 0 ? "; RUN OUT, recipients must wait"
               : is_low      ? "; LOW, bring in more with item import-codes"
                             : "");
  }
}

}  // namespace

void add_status_command(Commands& commands) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* verb = commands.verb(
      commands.root(), "status",
      "How it stands: whether the daemon answers, the store, accounts and keys, the outbox and whether it "
      "rests, what the CRM "
      "does not know yet, what was held, requests of the CRM, coming deadlines, the sources, the codes "
      "that are left.",
      {"status", "status --json"});
  verb->add_flag("--json", *json, "Print JSON");
  commands.run(verb, [json](const Console& console, Installation& place) {
    const StatusReport report = look(place.store, place.settings, console.now());
    if (*json)
      console.out << json_text(report_json(report, place.settings), 2) << '\n';
    else
      tell(console.out, report, place.settings);
    return EX_OK;
  });
}

}  // namespace giftsync::daemon
