#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <algorithm>
#include <map>

#include "cli/commands.h"
#include "cli/gift/item_commands.h"
#include "cli/listing.h"
#include "cli/status/source_commands.h"
#include "cli/status/status_report.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/org_status.h"
#include "daemon/wiring/store_preflight.h"
#include "platform/text.h"
#include "sync/access/credential.h"
#include "sync/attention.h"
#include "sync/crm/backfill_runs.h"

namespace giftsync::cli {
namespace {

using sync::count_text;

constexpr std::size_t kMaxMailsListed = 20;
constexpr store::CrmSyncStatus kReportedSyncStates[] = {
    store::CrmSyncStatus::skipped, store::CrmSyncStatus::deleted, store::CrmSyncStatus::rejected};

constexpr std::int64_t kSoonDays = 7;
constexpr std::int64_t kUndeliveredDays = store::ConsoleGifts::kUndeliveredDays;

/// "2026-11-21 12:31:07", for times within the next seconds.
std::string second_text(UtcMillis time) {
  std::string text = to_rfc3339(time).substr(0, std::string_view("2026-11-21T12:31:07").size());
  text[text.find('T')] = ' ';
  return text;
}

std::int64_t count_of(const StatusReport& report, store::RequestRecordState state) {
  return report.stats.requests[static_cast<std::size_t>(state)];
}

StatusReport collect_status(store::Store& store, const config::Settings& settings, UtcMillis now) {
  StatusReport report;
  report.stats = store::store_stats(wiring::store_dsn(settings.store), now, now + kSoonDays * kDayMillis);
  report.facts = wiring::attention_facts(settings, store, report.stats, program_with(settings), now);
  const auto keys = store.credentials.list(CredentialKind::api_key);
  std::map<AccountId, store::Account> accounts;
  for (const store::Account& account : store.accounts.list()) {
    ++report.accounts;
    report.active_accounts += account.active ? 1 : 0;
    accounts.emplace(account.id, account);
  }
  for (const store::Credential& key : keys) {
    ++report.keys;
    const sync::CredentialState state = sync::state_of(key, now);
    report.paused_keys += state == sync::CredentialState::paused ? 1 : 0;
    if (state == sync::CredentialState::paused || !sync::is_usable(state)) continue;
    const bool has_access =
        sync::access_of({key, accounts.at(key.account)}, {}, now) == sync::ApiKeyAccess::allowed;
    ++(has_access ? report.working_keys : report.keys_without_access);
  }
  report.mails = store.deliveries.count_by_state();
  report.uncertain_mails =
      store.deliveries.list({DeliveryState::uncertain, DeliveryState::held}, kMaxMailsListed);
  report.undelivered_gifts = store.console_gifts.count_undelivered(store::Viewer::of_command_line(),
                                                                   now - kUndeliveredDays * kDayMillis);
  for (const store::CrmSyncStatus state : kReportedSyncStates)
    report.sync_states.emplace_back(state, store.sync.count_states(state));
  report.orphaned_changes = store.changes.count_orphaned();
  report.items_without_redemption =
      items_without_redemption(store.catalogue.items(), items_with_codes(report.facts.codes)).size();
  report.org = wiring::org_status(settings, store, now);
  report.daemons = daemon_reports(store::DaemonInstances(wiring::store_dsn(settings.store)).list(),
                                  place_of(settings), probe_daemon);
  if (!report.daemons.front().is_alive()) report.unit = find_unit();
  return report;
}

/// A faulty file has values that are not meant: they are not compared.
void compare_settings(StatusReport& report, const config::SettingsReading& file) {
  report.settings_faults = file.faults;
  const auto& row = report.daemons.front().row;
  if (!row || !file.faults.empty()) return;
  if (const auto in_force = config::effective_settings_from(row->instance.settings))
    report.differences = config::differences(*in_force, config::effective_settings(file.settings));
}

std::int64_t count_of(const StatusReport& report, DeliveryState state) {
  const auto found = std::find_if(report.mails.begin(), report.mails.end(),
                                  [&](const auto& mail) { return mail.first == state; });
  return found == report.mails.end() ? 0 : found->second;
}

Json mails_json(const StatusReport& report) {
  Json json = Json::object();
  for (const DeliveryState state : kAllDeliveryStates)
    json[std::string(to_word(state))] = count_of(report, state);
  json["gifts_undelivered_within_7_days"] = report.undelivered_gifts;
  json["pauses"] = Json::array();
  for (const store::CircuitBreaker& pause : report.facts.mail_pauses) {
    json["pauses"].push_back({{"daemon", pause.daemon},
                              {"since", json_time(pause.since)},
                              {"until", json_time(pause.until)},
                              {"failures", pause.failures},
                              {"reason", pause.reason}});
  }
  json["pause"] = report.facts.mail_pauses.empty() ? Json() : json["pauses"].front();
  json["paused_by_admin"] = nullptr;
  if (const auto& pause = report.facts.admin_pause)
    json["paused_by_admin"] = {
        {"since", json_time(pause->since)}, {"by", pause->by}, {"reason", text_or_null(pause->reason)}};
  json["uncertain_or_held"] = Json::array();
  for (const store::DeliveryRow& row : report.uncertain_mails) {
    json["uncertain_or_held"].push_back(
        {{"recipient_transaction_id", is_of_gift(row.kind) ? Json(row.transaction.value) : Json(nullptr)},
         {"kind", to_word(row.kind)},
         {"email", row.email},
         {"state", to_word(row.state)},
         {"since", json_time(row.updated_at)},
         {"next_attempt_at",
          row.state == DeliveryState::uncertain ? json_time(row.next_attempt_at) : Json(nullptr)},
         {"message_id", row.message_id},
         {"last_reply", row.last_reply}});
  }
  return json;
}

/// Null when an upgrade has left nothing to do.
Json upgrade_json(const store::BackgroundWork& upgrade) {
  if (upgrade.remaining == 0) return nullptr;
  return {{"remaining", upgrade.remaining},
          {"present", upgrade.present},
          {"filled_to_id", upgrade.is_index ? Json(nullptr) : Json(upgrade.filled)},
          {"fault", text_or_null(upgrade.fault)}};
}

Json sources_json(const StatusReport& report) {
  Json json = Json::array();
  for (const store::SourceSummary& row : report.facts.sources) {
    json.push_back({{"name", row.name},
                    {"state", row.state},
                    {"reason", text_or_null(row.reason)},
                    {"accepted", row.accepted},
                    {"orphaned", row.orphaned},
                    {"quarantined", row.quarantined},
                    {"refused", row.rejected},
                    {"refused_in_row", row.refused_in_row},
                    {"last_refused_at", json_time(row.last_refused_at)},
                    {"last_refusal", text_or_null(row.last_refusal)},
                    {"last_received_at", json_time(row.last_received_at)}});
  }
  return json;
}

Json codes_json(const StatusReport& report, std::int64_t threshold) {
  Json json = Json::array();
  for (const store::GiftCodeCounts& row : report.facts.codes) {
    json.push_back({{"gift_id", row.gift.value},
                    {"remaining", row.left},
                    {"issued", row.handed_out},
                    {"low", row.left <= threshold}});
  }
  return json;
}

Json backfills_json(const StatusReport& report, UtcMillis now) {
  Json json = Json::array();
  for (const store::BackfillRun& run : report.facts.backfills) {
    json.push_back({{"name", run.name},
                    {"state", to_word(sync::state_of(run))},
                    {"started_at", json_time(run.started_at)},
                    {"ended_at", json_time(run.ended_at)},
                    {"examined", run.examined},
                    {"repaired", run.repaired},
                    {"differing", run.differing},
                    {"late_since", json_time(sync::late_since(run, now))},
                    {"summary", run.summary},
                    {"error", text_or_null(run.error)}});
  }
  return json;
}

Json requests_json(const StatusReport& report, bool enabled) {
  Json json = {{"enabled", enabled}};
  for (const store::RequestRecordState state : store::kAllRequestRecordStates)
    json[std::string(to_word(state))] = count_of(report, state);
  json["in_error"] = report.stats.requests_in_error;
  json["last_error"] = nullptr;
  if (report.stats.requests_in_error > 0) {
    json["last_error"] = {{"number", report.stats.last_request_in_error},
                          {"error", report.stats.request_error}};
  }
  return json;
}

std::string_view state_word(DaemonState state) {
  switch (state) {
    case DaemonState::ready:
      return "ready";
    case DaemonState::not_ready:
      return "not_ready";
    case DaemonState::another_program:
      return "another_program";
    case DaemonState::unreachable:
      return "unreachable";
    case DaemonState::seen:
      return "seen";
    case DaemonState::unseen:
      return "unseen";
    case DaemonState::unknown:
      break;
  }
  return "unknown";
}

Json instance_json(const store::SeenDaemonInstance& row) {
  const store::DaemonInstance& daemon_instance = row.instance;
  Json reload = nullptr;
  if (daemon_instance.last_reload_at)
    reload = {{"at", json_time(daemon_instance.last_reload_at)},
              {"refused", !daemon_instance.reload_faults.empty()},
              {"reasons", reload_fault_lines(daemon_instance)}};
  return {{"id", daemon_instance.id},
          {"host", daemon_instance.host.substr(0, daemon_instance.host.find(' '))},
          {"pid", daemon_instance.pid},
          {"version", daemon_instance.version},
          {"settings_file", daemon_instance.settings_file},
          {"started_at", json_time(daemon_instance.started_at)},
          {"settings_loaded_at", json_time(daemon_instance.loaded_at)},
          {"last_seen_at", json_time(row.last_seen_at)},
          {"last_reload", std::move(reload)}};
}

Json daemon_json(const DaemonReport& report) {
  const DaemonProbe& probe = report.probe;
  const bool known = probe.state != DaemonState::unknown && probe.state != DaemonState::seen;
  const bool is_reachable = probe.state == DaemonState::ready || probe.state == DaemonState::not_ready;
  return {{"address", text_or_null(probe.address)},
          {"reachable", known ? Json(is_reachable) : Json(nullptr)},
          {"ready", known ? Json(probe.state == DaemonState::ready) : Json(nullptr)},
          {"fault", text_or_null(probe.fault)},
          {"clock_doubt", text_or_null(probe.clock_doubt)},
          {"state", state_word(probe.state)},
          {"instance", report.row ? instance_json(*report.row) : Json(nullptr)}};
}

/// Null when it was not asked for, or is not there.
Json unit_json(const std::optional<UnitState>& unit) {
  if (!unit) return nullptr;
  return {{"state", unit->state},
          {"since", json_time(unit->since)},
          {"status", text_or_null(unit->status)},
          {"exit_code", unit->exit_code ? Json(*unit->exit_code) : Json(nullptr)}};
}

Json org_json(const std::optional<wiring::OrgStatus>& org) {
  if (!org) return nullptr;
  const auto number = [](const std::optional<std::int64_t>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  Json refused = nullptr;
  if (org->refused_sign_in)
    refused = {{"reason", org->refused_sign_in->refusal.reason},
               {"next_step", org->refused_sign_in->refusal.next_step},
               {"since", json_time(org->refused_sign_in->since)}};
  Json refusals = Json::array();
  for (const wiring::OrgStatus::Refusal& refusal : org->refusals)
    refusals.push_back(
        {{"what", refusal.what}, {"until", json_time(refusal.until)}, {"reason", refusal.reason}});
  return {{"organization_id", text_or_null(org->organization_id)},
          {"other_organization_id", text_or_null(org->other_organization_id)},
          {"refused_sign_in", std::move(refused)},
          {"messages",
           {{"waiting_records", org->messages.count}, {"oldest_at", json_time(org->messages.oldest)}}},
          {"calls",
           {{"own_in_24_hours", org->own_calls},
            {"share", number(org->share)},
            {"org_used", number(org->org_calls)},
            {"org_limit", number(org->org_limit)},
            {"resting_until", json_time(org->paused_until)},
            {"resting_reason", text_or_null(org->pause_reason)},
            {"share_free_at", json_time(org->share_free_at)},
            {"refusals", std::move(refusals)}}},
          {"write_obstacle", text_or_null(org->write_problem)}};
}

Json attention_json(const std::vector<sync::AttentionItem>& attention) {
  Json json = Json::array();
  for (const sync::AttentionItem& item : attention)
    json.push_back({{"condition", item.condition}, {"what", item.what}, {"next_step", item.next_step}});
  return json;
}

Json daemons_json(const StatusReport& report) {
  Json json = Json::array();
  for (const DaemonReport& daemon : report.daemons) json.push_back(daemon_json(daemon));
  return json;
}

Json report_json(const StatusReport& report, const config::Settings& settings,
                 const std::vector<sync::AttentionItem>& attention, UtcMillis now) {
  Json sync_states = Json::object();
  for (const auto& [state, count] : report.sync_states) sync_states[std::string(to_word(state))] = count;
  return {
      {"daemon", daemon_json(report.daemons.front())},
      {"daemons", daemons_json(report)},
      {"unit", unit_json(report.unit)},
      {"settings", {{"differing_keys", report.differences.size()}, {"faults", report.settings_faults}}},
      {"store",
       {{"location", wiring::store_location(settings)},
        {"version", store::kStoreVersion},
        {"reachable", true},
        {"full_disk", text_or_null(report.facts.full_disk)},
        {"upgrade", upgrade_json(report.facts.upgrade)}}},
      {"accounts", {{"all", report.accounts}, {"active", report.active_accounts}}},
      {"keys",
       {{"all", report.keys},
        {"working", report.working_keys},
        {"without_access", report.keys_without_access},
        {"paused", report.paused_keys}}},
      {"mail", mails_json(report)},
      {"sync",
       {{"queued", report.facts.sync.waiting},
        {"failing", report.facts.sync.failing},
        {"rejected", report.facts.sync.rejected},
        {"next_rejected_at", json_time(report.facts.sync.next_rejected_at)},
        {"oldest_due_at", json_time(report.facts.sync.oldest_due)},
        {"last_error", text_or_null(report.facts.sync.last_error)}}},
      {"records", sync_states},
      {"backfills", backfills_json(report, now)},
      {"salesforce", org_json(report.org)},
      {"orphaned_changes", report.orphaned_changes},
      {"requests", requests_json(report, settings.requests.enabled)},
      {"deadlines",
       {{"within_7_days", report.stats.due_until_horizon}, {"next_at", json_time(report.stats.next_due)}}},
      {"gifts_in_future", report.facts.gifts_in_future},
      {"sources", sources_json(report)},
      {"codes", codes_json(report, settings.catalogue.low_code_threshold)},
      {"items_without_redemption", report.items_without_redemption},
      {"sending", {{"has_limit", report.facts.has_sending_limit}}},
      {"needs_attention", attention_json(attention)}};
}

void print_mails(std::ostream& out, const StatusReport& report) {
  std::vector<std::string> counts;
  for (const DeliveryState state : kAllDeliveryStates)
    counts.push_back(fmt::format("{} {}", count_text(count_of(report, state)), to_word(state)));
  fmt::print(out, "mail      {}\n", fmt::join(counts, ", "));
  if (report.undelivered_gifts > 0)
    fmt::print(out,
               "          {} of the last {} days {} undelivered; giftsyncctl gift list --status undelivered "
               "--since {}d\n",
               count_text(report.undelivered_gifts, "gift"), kUndeliveredDays,
               plural_verb(report.undelivered_gifts, "is", "are"), kUndeliveredDays);
  if (const auto& pause = report.facts.admin_pause)
    fmt::print(out, "          PAUSED BY AN ADMIN: {}; giftsyncctl mail resume sends {}\n",
               printable(sync::describe(*pause)), count_text(report.facts.waiting_mails, "waiting mail"));
  for (const store::CircuitBreaker& pause : report.facts.mail_pauses) {
    fmt::print(out, "          PAUSED since {} UTC, next attempt {} UTC, {}: {} (daemon {})\n",
               minute_text(pause.since), second_text(pause.until), pluralize(pause.failures, "failure"),
               printable(pause.reason), printable(pause.daemon));
  }
  for (const store::DeliveryRow& row : report.uncertain_mails) {
    const std::string next = row.state == DeliveryState::uncertain
                                 ? ", next attempt " + minute_text(row.next_attempt_at) + " UTC"
                                 : "";
    const std::string what = is_of_gift(row.kind)           ? fmt::format("gift {} to", row.transaction.value)
                             : row.kind == MailKind::sender ? "the mail to the sender"
                                                            : "the mail of notices to";
    fmt::print(out, "          {} {} is {} since {} UTC{}: {}\n", what, printable(row.email),
               to_word(row.state), minute_text(row.updated_at), next, printable(row.last_reply));
  }
  if (count_of(report, DeliveryState::held) + count_of(report, DeliveryState::uncertain) >
      std::int64_t{kMaxMailsListed})
    for (const DeliveryState state : {DeliveryState::held, DeliveryState::uncertain})
      if (count_of(report, state) > 0)
        fmt::print(out, "          All that are {0}: giftsyncctl mail list --state {0}\n", to_word(state));
}

void print_requests(std::ostream& out, const StatusReport& report, bool enabled) {
  std::vector<std::string> counts;
  for (const store::RequestRecordState state : store::kAllRequestRecordStates)
    counts.push_back(fmt::format("{} {}", count_text(count_of(report, state)), to_word(state)));
  fmt::print(out, "requests  {}{}\n", fmt::join(counts, ", "),
             enabled ? "" : "; NOT IN USE, requests.enabled is false");
  if (report.stats.requests_in_error == 0) return;
  fmt::print(out, "          {} in error, the last one {}: {}\n", count_text(report.stats.requests_in_error),
             printable(report.stats.last_request_in_error), printable(report.stats.request_error));
}

/// What a count of gifts in this state means.
std::string_view meaning_of(store::CrmSyncStatus state) {
  switch (state) {
    case store::CrmSyncStatus::skipped:
      return "skipped for lack of a match";
    case store::CrmSyncStatus::deleted:
      return "deleted in the CRM";
    case store::CrmSyncStatus::rejected:
      return "rejected by the CRM";
    default:
      return to_word(state);
  }
}

/// Numbers of calls are exact: they are no counts of rows.
void print_org(std::ostream& out, const wiring::OrgStatus& org) {
  fmt::print(out, "org       {}, {} within 24 hours",
             org.organization_id.empty() ? "not known yet" : org.organization_id,
             pluralize(org.own_calls, "call"));
  if (org.share) fmt::print(out, " of giftsync's {}", *org.share);
  if (org.org_limit) fmt::print(out, "; the org has used {} of {}", *org.org_calls, *org.org_limit);
  out << '\n';
  if (org.refused_sign_in)
    fmt::print(out, "          SIGN-IN REFUSED since {} UTC: {}\n", minute_text(org.refused_sign_in->since),
               printable(org.refused_sign_in->refusal.reason));
  if (const std::string clause = wiring::other_org_clause(org); !clause.empty())
    fmt::print(out, "          PAUSED: {}\n", printable(clause));
  if (org.paused_until)
    fmt::print(out, "          NO CALL before {} UTC: {}\n", second_text(*org.paused_until),
               printable(org.pause_reason));
  for (const wiring::OrgStatus::Refusal& refusal : org.refusals)
    fmt::print(out, "          REFUSED until {} UTC, {}: {}\n", second_text(refusal.until), refusal.what,
               printable(refusal.reason));
  if (org.share_free_at)
    fmt::print(out, "          SHARE USED UP until {} UTC: {}\n", second_text(*org.share_free_at),
               printable(org.share_reason));
  if (!org.write_problem.empty()) fmt::print(out, "          NO WRITES: {}\n", printable(org.write_problem));
  if (org.messages.count > 0)
    fmt::print(out, "          {} of outbound messages {} to be looked up, the oldest since {} UTC\n",
               count_text(org.messages.count, "record"), plural_verb(org.messages.count, "waits", "wait"),
               second_text(*org.messages.oldest));
}

void print_backfills(std::ostream& out, const StatusReport& report, UtcMillis now) {
  for (const store::BackfillRun& run : report.facts.backfills) {
    fmt::print(out, "backfill  {}\n", printable(sync::describe(run)));
    for (const std::string& warning : sync::warnings(run, report.facts.program, now))
      fmt::print(out, "          {}\n", printable(warning));
  }
}

void print_deadlines(std::ostream& out, const StatusReport& report) {
  fmt::print(out, "deadlines {} {} a deadline or a reminder within {} days",
             count_text(report.stats.due_until_horizon, "gift"),
             plural_verb(report.stats.due_until_horizon, "has", "have"), kSoonDays);
  if (report.stats.next_due) fmt::print(out, ", next {} UTC", minute_text(report.stats.next_due));
  out << '\n';
}

void print_probe(std::ostream& out, const DaemonReport& report) {
  const DaemonProbe& probe = report.probe;
  switch (probe.state) {
    case DaemonState::ready:
      fmt::print(out, "daemon    ready at {}\n", probe.address);
      break;
    case DaemonState::not_ready:
      fmt::print(out, "daemon    NOT READY at {}: {}\n", probe.address, printable(probe.fault));
      break;
    case DaemonState::another_program:
      fmt::print(out, "daemon    NOT RUNNING: another program answers at {}\n", probe.address);
      break;
    case DaemonState::unreachable:
      fmt::print(out, "daemon    UNREACHABLE: {}\n", printable(probe.fault));
      break;
    case DaemonState::seen:
    case DaemonState::unseen:
      fmt::print(out, "daemon    {} {} UTC\n", probe.state == DaemonState::seen ? "seen" : "NOT SEEN since",
                 second_text(report.row->last_seen_at));
      break;
    case DaemonState::unknown:
      fmt::print(out, "daemon    unknown: {}\n", printable(probe.fault));
      break;
  }
}

void print_daemon(std::ostream& out, const DaemonReport& report) {
  print_probe(out, report);
  if (!report.row) return;
  const store::DaemonInstance& daemon_instance = report.row->instance;
  fmt::print(out, "          giftsyncd {} on {} with {}, instance {}, started {} UTC\n",
             printable(daemon_instance.version),
             printable(daemon_instance.host.substr(0, daemon_instance.host.find(' '))),
             printable(daemon_instance.settings_file), daemon_instance.id,
             second_text(daemon_instance.started_at));
  if (!report.probe.clock_doubt.empty())
    fmt::print(out, "          CLOCK IN DOUBT: {}\n", printable(report.probe.clock_doubt));
  if (!daemon_instance.last_reload_at) return;
  if (daemon_instance.reload_faults.empty()) {
    fmt::print(out, "          settings reloaded {} UTC\n", second_text(*daemon_instance.last_reload_at));
    return;
  }
  fmt::print(out, "          reload REFUSED {} UTC; the settings of {} UTC stay in force:\n",
             second_text(*daemon_instance.last_reload_at), second_text(daemon_instance.loaded_at));
  for (const std::string& line : reload_fault_lines(daemon_instance))
    fmt::print(out, "          {}\n", printable(line));
}

void print_unit(std::ostream& out, const std::optional<UnitState>& unit) {
  if (!unit) return;
  fmt::print(out, "unit      giftsyncd.service is {}", printable(unit->state));
  if (unit->since) fmt::print(out, " since {} UTC", second_text(*unit->since));
  if (unit->exit_code) fmt::print(out, ", exit code {}", *unit->exit_code);
  if (!unit->status.empty()) fmt::print(out, "; {}", printable(unit->status));
  out << '\n';
}

void print_attention(std::ostream& out, const std::vector<sync::AttentionItem>& attention) {
  for (const sync::AttentionItem& item : attention)
    fmt::print(out, "attention {}; next: {}\n", printable(item.what), printable(item.next_step));
}

void print(std::ostream& out, const StatusReport& report, const config::Settings& settings, UtcMillis now) {
  for (const DaemonReport& daemon : report.daemons) print_daemon(out, daemon);
  print_unit(out, report.unit);
  if (!report.differences.empty())
    fmt::print(out, "settings  the file on disk differs from what runs: {}, see settings show\n",
               pluralize(report.differences.size(), "key"));
  fmt::print(out, "store     {}, version {}, reachable{}\n", wiring::store_location(settings),
             store::kStoreVersion, report.facts.full_disk.empty() ? "" : "; ITS DISK IS FULL");
  if (const store::BackgroundWork& upgrade = report.facts.upgrade; upgrade.remaining > 0)
    fmt::print(out, "upgrade   {} to do beside the calls, now {}{}\n",
               pluralize(upgrade.remaining, "statement"), upgrade.present,
               upgrade.is_index ? "" : fmt::format(", done up to id {}", upgrade.filled));
  fmt::print(out, "accounts  {} ({} active), {} ({} working{}{})\n", report.accounts, report.active_accounts,
             pluralize(report.keys, "key"), report.working_keys,
             report.paused_keys == 0 ? "" : fmt::format(", {} paused", report.paused_keys),
             report.keys_without_access == 0
                 ? ""
                 : fmt::format(", {} refused because of their account or plan", report.keys_without_access));
  print_mails(out, report);
  fmt::print(out, "sync      {} queued, {} failing", count_text(report.facts.sync.waiting),
             count_text(report.facts.sync.failing));
  if (report.facts.sync.oldest_due)
    fmt::print(out, ", oldest due {} UTC", minute_text(report.facts.sync.oldest_due));
  out << '\n';
  if (!report.facts.sync.last_error.empty())
    fmt::print(out, "          last error: {}\n", printable(report.facts.sync.last_error));
  if (report.facts.sync.next_rejected_at)
    fmt::print(
        out,
        "          {} refused by the CRM, tried again from {} UTC; \"giftsyncctl crm retry\" tries now\n",
        report.facts.sync.rejected, minute_text(report.facts.sync.next_rejected_at));
  std::vector<std::string> sync_states;
  for (const auto& [state, count] : report.sync_states)
    sync_states.push_back(fmt::format("{} {}", count_text(count), meaning_of(state)));
  fmt::print(out, "records   {}\n", fmt::join(sync_states, ", "));
  print_backfills(out, report, now);
  if (report.org) print_org(out, *report.org);
  fmt::print(out, "changes   {} orphaned: their gift is not known yet\n",
             count_text(report.orphaned_changes));
  const bool has_request_records = std::any_of(report.stats.requests.begin(), report.stats.requests.end(),
                                               [](std::int64_t count) { return count > 0; });
  if (has_request_records || settings.requests.enabled)
    print_requests(out, report, settings.requests.enabled);
  print_deadlines(out, report);
  if (!report.facts.has_sending_limit)
    fmt::print(out,
               "sending   NO LIMIT: neither a budget nor a burst is set, so nothing limits what a leaked key "
               "spends; this sets a limit: giftsyncctl budget set installation --day-gifts 500\n");
  for (const store::SourceSummary& row : report.facts.sources) {
    fmt::print(out, "source    {}: {}{}{}; {} accepted, {} of them orphaned, {} quarantined, {} refused\n",
               row.name, row.state, row.reason.empty() ? "" : ", ", printable(row.reason), row.accepted,
               row.orphaned, row.quarantined, row.rejected);
    if (const std::string refusal = last_refusal_text(row); !refusal.empty())
      fmt::print(out, "          {}\n", printable(refusal));
  }
  if (report.items_without_redemption > 0)
    fmt::print(out, "items     {} {} nothing to redeem; giftsyncctl item list shows which\n",
               pluralize(report.items_without_redemption, "active item"),
               plural_verb(report.items_without_redemption, "has", "have"));
  for (const store::GiftCodeCounts& row : report.facts.codes) {
    const bool is_low = row.left <= settings.catalogue.low_code_threshold;
    fmt::print(out, "codes     item {}: {} remaining, {} issued{}\n", row.gift.value, count_text(row.left),
               count_text(row.handed_out),
               row.left == 0 ? "; EXHAUSTED, recipients must wait"
               : is_low      ? "; LOW, import more with item codes import"
                             : "");
  }
}

int show_status(const Console& console, store::Store& store, const config::SettingsReading& file, bool json) {
  const config::Settings& settings = file.settings;
  const UtcMillis now = console.now();
  StatusReport report = collect_status(store, settings, now);
  compare_settings(report, file);
  const std::vector<sync::AttentionItem> attention = needs_attention(report);
  if (json) {
    console.out << json_text(report_json(report, settings, attention, now), 2) << '\n';
  } else {
    print(console.out, report, settings, now);
    print_attention(console.out, attention);
  }
  return exit_code(report, attention);
}

/// What can be known without the store: whether the daemon answers, how its unit is, what is at fault.
void tell_without_store(const Console& console, const config::SettingsReading& file, const Refusal& refusal,
                        bool json) {
  const std::optional<UnitState> unit = find_unit();
  const DaemonReport daemon{std::nullopt, probe_without_store(file, unit, probe_daemon)};
  const std::vector<sync::AttentionItem> attention{refused_item(file, refusal.lines)};
  if (json) {
    const Json report = {{"daemon", daemon_json(daemon)},
                         {"unit", unit_json(unit)},
                         {"settings", {{"file", file.settings.file}, {"faults", file.faults}}},
                         {"refusal", refusal.lines},
                         {"needs_attention", attention_json(attention)}};
    console.out << json_text(report, 2) << '\n';
    return;
  }
  print_probe(console.out, daemon);
  if (!daemon.probe.instance_id.empty())
    fmt::print(console.out, "          instance {}\n", printable(daemon.probe.instance_id));
  if (!daemon.probe.clock_doubt.empty())
    fmt::print(console.out, "          CLOCK IN DOUBT: {}\n", printable(daemon.probe.clock_doubt));
  print_unit(console.out, unit);
  print_attention(console.out, attention);
}

}  // namespace

void add_status_command(Commands& commands) {
  Command* verb = commands.verb(
      commands.root(), "status",
      "Show health: daemon, store, accounts and keys, mail and CRM queues, "
      "orphaned changes, request records, "
      "deadlines, backfills, sources, remaining gift codes, and what needs an admin. Exit 0: "
      "nothing does; 1: something does; 69: the daemon does not answer. Where settings or store "
      "cannot be used, shows what is known of the daemon, why, and the next step.",
      {"status", "status --json"});
  const auto json = json_flag(verb);
  const RefusedCommand tell = [json](const Console& console, const config::SettingsReading& file,
                                     const Refusal& refusal) {
    tell_without_store(console, file, refusal, *json);
  };
  commands.before_refusal(verb, tell);
  commands.run_despite_faults(
      verb, [json, tell](const Console& console, const config::SettingsReading& file) {
        const auto refuse = [&](const Refusal& refusal) {
          tell(console, file, refusal);
          return console.fail(refusal);
        };
        if (!file.faults.empty()) {
          const auto store = open_store_alone(file.settings);
          return store ? show_status(console, **store, file, *json) : refuse(store.error());
        }
        const auto ctx = open_cli_context(file.settings, console);
        return ctx ? show_status(console, (*ctx)->store, file, *json) : refuse(ctx.error());
      });
}

}  // namespace giftsync::cli
