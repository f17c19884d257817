#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <algorithm>
#include <memory>

#include "daemon/cli/commands.h"
#include "daemon/cli/json_list.h"
#include "daemon/cli/key_search.h"
#include "daemon/cli/text_table.h"
#include "daemon/store_address.h"

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
  std::vector<std::pair<DeliveryState, std::int64_t>> mails;
  std::optional<schema::DeliveryPause> pause;
  std::vector<schema::DeliveryRow> unsure_mails;
  schema::SyncQueue::Counts sync;
  std::vector<std::pair<MirrorState, std::int64_t>> mirrors;
  std::int64_t held_changes = 0;
  std::vector<schema::SourceStanding> sources;
  std::vector<schema::GiftCodeCounts> codes;
};

StatusReport look(schema::Store& store, schema::UtcMillis now) {
  StatusReport report;
  for (const schema::Account& account : store.accounts.accounts()) {
    ++report.accounts;
    report.active_accounts += account.active ? 1 : 0;
  }
  for (const schema::KeyHolder& holder : store.accounts.keys()) {
    const std::string state = key_state(holder.key, now);
    ++report.keys;
    report.working_keys += state == "active" || state == "ending" ? 1 : 0;
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
  report.codes = store.codes.counts();
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
    json["unsure"].push_back({{"recipient_transaction_id", row.transaction.value},
                              {"email", row.email},
                              {"state", to_word(row.state)},
                              {"since", json_time(row.updated_at)},
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

Json report_json(const StatusReport& report, const Settings& settings) {
  Json mirrors = Json::object();
  for (const auto& [state, count] : report.mirrors) mirrors[std::string(to_word(state))] = count;
  return {
      {"store", {{"place", store_place(settings)}, {"version", schema::kStoreVersion}, {"answers", true}}},
      {"accounts", {{"all", report.accounts}, {"active", report.active_accounts}}},
      {"keys", {{"all", report.keys}, {"working", report.working_keys}}},
      {"mail", mails_json(report)},
      {"sync",
       {{"waiting", report.sync.waiting},
        {"failing", report.sync.failing},
        {"oldest_due", json_time(report.sync.oldest_due)},
        {"last_error", report.sync.last_error.empty() ? Json(nullptr) : Json(report.sync.last_error)}}},
      {"records", mirrors},
      {"held_changes", report.held_changes},
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
    fmt::print(out, "          PAUSED since {} UTC, next try {} UTC, {} failures: {}\n",
               minute_text(report.pause->since), minute_text(report.pause->until), report.pause->failures,
               printable(report.pause->reason));
  }
  for (const schema::DeliveryRow& row : report.unsure_mails) {
    fmt::print(out, "          gift {} to {} is {} since {} UTC: {}\n", row.transaction.value,
               printable(row.email), to_word(row.state), minute_text(row.updated_at),
               printable(row.last_reply));
  }
}

void tell(std::ostream& out, const StatusReport& report, const Settings& settings) {
  fmt::print(out, "store     {}, version {}, answers\n", store_place(settings), schema::kStoreVersion);
  fmt::print(out, "accounts  {} ({} active), {} keys ({} working)\n", report.accounts, report.active_accounts,
             report.keys, report.working_keys);
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
  for (const schema::SourceStanding& row : report.sources) {
    fmt::print(out, "source    {}: {}{}{}; {} accepted, {} held, {} kept aside, {} refused\n", row.name,
               row.state, row.reason.empty() ? "" : ", ", printable(row.reason), row.accepted, row.held,
               row.kept_aside, row.refused);
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
      "How it stands: the store, accounts and keys, the outbox and whether it rests, what the CRM "
      "does not know yet, what was held, the sources, the codes that are left.",
      {"status", "status --json"});
  verb->add_flag("--json", *json, "Print JSON");
  commands.run(verb, [json](const Console& console, Installation& place) {
    const StatusReport report = look(place.store, console.now());
    if (*json)
      console.out << json_text(report_json(report, place.settings), 2) << '\n';
    else
      tell(console.out, report, place.settings);
    return EX_OK;
  });
}

}  // namespace giftsync::daemon
