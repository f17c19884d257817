#include "daemon/metrics/store_gauges.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <utility>

#include "daemon/wiring/database_config.h"
#include "daemon/wiring/org_status.h"
#include "daemon/wiring/store_preflight.h"
#include "schema/store/server_secret_facts.h"
#include "schema/store/store_stats.h"
#include "sync/crm/backfill_runs.h"

namespace giftsync::metrics {
namespace {

using Gauges = std::vector<Gauge>;

double number(std::int64_t value) {
  return static_cast<double>(value);
}

/// 0 when nothing waits.
double age_seconds(const std::optional<UtcMillis>& since, UtcMillis now) {
  return since ? seconds_between(*since, now) : 0;
}

Gauge plain(std::string_view name, std::string_view help, double value) {
  return {name, help, {{value}}};
}

/// Absent where there is no value.
Gauge optional_gauge(std::string_view name, std::string_view help, std::optional<double> value) {
  Gauge gauge{name, help};
  if (value) gauge.samples.push_back({*value});
  return gauge;
}

std::optional<double> file_bytes(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  return error ? std::nullopt : std::optional(static_cast<double>(bytes));
}

constexpr std::array kWaitingStates{DeliveryState::queued, DeliveryState::sending, DeliveryState::uncertain,
                                    DeliveryState::held};
/// SourceState, as the store has it.
constexpr const char* kSourceStates[] = {"new", "ok", "failing", "invalid", "over_limit"};

}  // namespace

Gauges StoreGauges::read(UtcMillis now) {
  Gauges gauges;
  add_mail(now, gauges);
  add_crm(now, gauges);
  add_sources(gauges);
  add_timers(now, gauges);
  add_feed(now, gauges);
  add_sending(now, gauges);
  add_secrets(now, gauges);
  add_backfills(gauges);
  add_files(now, gauges);
  return gauges;
}

const StoreGauges::Slow& StoreGauges::slow(UtcMillis now) {
  if (slow_ && !has_elapsed(slow_->read_at, kSlowIntervalMillis, now)) return *slow_;
  Slow read{now};
  read.paused_credentials = static_cast<std::int64_t>(store_.credentials.list_paused(now).size());
  read.used_up_budgets = wiring::count_used_up_budgets(settings_, store_, now);
  if (settings_.store.backend == config::StoreBackend::postgresql)
    read.database_bytes = store::database_bytes(wiring::store_dsn(settings_.store));
  return slow_.emplace(read);
}

void StoreGauges::add_mail(UtcMillis now, Gauges& gauges) {
  Gauge mails{"giftsync_mail_outbox_mails",
              "Mails that have not reached an end, by state; 10001 means more than 10000."};
  for (const auto& [state, count] : store_.deliveries.count_by_state(kWaitingStates))
    mails.samples.push_back({number(count), {{"state", std::string(to_word(state))}}});
  gauges.push_back(std::move(mails));
  gauges.push_back(plain("giftsync_mail_oldest_due_age_seconds",
                         "For how long the mail waits that is due the longest; 0: none is due.",
                         age_seconds(store_.deliveries.oldest_due(now), now)));
  gauges.push_back(
      {"giftsync_mail_paused",
       "Whether mail is paused: by the relay's faults for a daemon of the store, or by an admin.",
       {{store_.deliveries.breakers().empty() ? 0.0 : 1.0, {{"by", "relay"}}},
        {store_.mail_pauses.state().pause ? 1.0 : 0.0, {{"by", "admin"}}}}});
}

void StoreGauges::add_crm(UtcMillis now, Gauges& gauges) {
  const store::SyncQueue::Counts sync = store_.sync.counts();
  gauges.push_back(plain("giftsync_crm_outbox_gifts",
                         "Gifts whose state the CRM does not have; 10001 means more than 10000.",
                         number(sync.waiting)));
  gauges.push_back(plain("giftsync_crm_outbox_failing_gifts", "Those of them that failed at least once.",
                         number(sync.failing)));
  gauges.push_back(plain("giftsync_crm_outbox_rejected_gifts",
                         "Those of them whose record the CRM refuses as it is.", number(sync.rejected)));
  gauges.push_back(plain("giftsync_crm_oldest_due_age_seconds",
                         "For how long the gift is due that the CRM lacks the longest; 0: none is due.",
                         age_seconds(sync.oldest_due, now)));
  Gauge paused{"giftsync_crm_paused", "Whether Salesforce is not called, or not for everything."};
  Gauge calls{"giftsync_crm_calls",
              "Calls of Salesforce within 24 hours, giftsync's own and all of the org."};
  Gauge limits{"giftsync_crm_call_limit", "How many calls within 24 hours are allowed."};
  if (const auto org = wiring::org_status(settings_, store_, now)) {
    paused.samples.push_back({wiring::org_pauses(*org, "").empty() ? 0.0 : 1.0});
    calls.samples.push_back({number(org->own_calls), {{"of", "giftsync"}}});
    if (org->share) limits.samples.push_back({number(*org->share), {{"of", "giftsync"}}});
    if (org->org_calls) calls.samples.push_back({number(*org->org_calls), {{"of", "org"}}});
    if (org->org_limit) limits.samples.push_back({number(*org->org_limit), {{"of", "org"}}});
  }
  for (Gauge* const gauge : {&paused, &calls, &limits}) gauges.push_back(std::move(*gauge));
}

void StoreGauges::add_sources(Gauges& gauges) {
  std::map<std::string, std::int64_t> by_state;
  for (const char* const state : kSourceStates) by_state[state] = 0;
  Gauge all{"giftsync_sources", "Sources of the settings by state."};
  Gauge up{"giftsync_source_up", "Whether the source is neither failing nor invalid nor over its limit."};
  Gauge last{"giftsync_source_last_event_timestamp_seconds", "When the source's last message or page came."};
  Gauge refused{"giftsync_source_refused_in_row",
                "Messages with a verified sender that were refused since one was accepted."};
  for (const store::SourceHealth& source : store_.sources.list_health()) {
    const bool is_named = std::ranges::any_of(
        settings_.sources, [&](const config::SourceSettings& one) { return one.name == source.name; });
    if (!is_named) continue;  // it was removed from the settings
    ++by_state[source.state];
    if (up.samples.size() >= kMaxNamedSources) continue;
    const std::vector<std::pair<std::string, std::string>> name{{"source", source.name}};
    up.samples.push_back({source.state == "ok" || source.state == "new" ? 1.0 : 0.0, name});
    if (source.last_received_at) last.samples.push_back({seconds_of(*source.last_received_at), name});
    refused.samples.push_back({number(source.refused_in_row), name});
  }
  for (const auto& [state, count] : by_state) all.samples.push_back({number(count), {{"state", state}}});
  for (Gauge* const gauge : {&all, &up, &last, &refused}) gauges.push_back(std::move(*gauge));
}

void StoreGauges::add_timers(UtcMillis now, Gauges& gauges) {
  const store::DueTimers timers = store::due_timers(wiring::store_dsn(settings_.store), now);
  gauges.push_back(plain("giftsync_timers_due",
                         "Gifts whose timer is due and was not handled yet; 10001 means more than 10000.",
                         number(timers.due)));
  const bool is_late = timers.due > 0;
  gauges.push_back(plain("giftsync_timers_oldest_due_age_seconds",
                         "How late the timer is that is due the longest; 0: none is due.",
                         is_late ? age_seconds(timers.next, now) : 0));
}

void StoreGauges::add_feed(UtcMillis now, Gauges& gauges) {
  const store::FeedBacklog backlog = store_.feed.backlog();
  gauges.push_back(plain("giftsync_feed_waiting",
                         "Objects whose events are not published yet; 10001 means more than 10000.",
                         number(backlog.marks)));
  gauges.push_back(plain("giftsync_feed_lag_seconds",
                         "For how long the change waits that waits the longest for its event; 0: none does.",
                         std::max(0.0, age_seconds(backlog.oldest_at, now))));
}

void StoreGauges::add_sending(UtcMillis now, Gauges& gauges) {
  gauges.push_back(plain("giftsync_held_requests",
                         "Gift requests that wait for a person; 10001 means more than 10000.",
                         number(store_.held.count_waiting())));
  gauges.push_back(plain("giftsync_paused_credentials", "API keys and organization tokens that are paused.",
                         number(slow(now).paused_credentials)));
  gauges.push_back(plain("giftsync_used_up_budgets", "Budgets of the present day or month that are used up.",
                         number(slow(now).used_up_budgets)));
}

void StoreGauges::add_backfills(Gauges& gauges) {
  Gauge ended{"giftsync_backfill_last_end_timestamp_seconds",
              "When the latest run of the backfill ended, at its end or before."};
  Gauge failed{"giftsync_backfill_failed", "Whether the latest run ended before its end."};
  Gauge repaired{"giftsync_backfill_repaired_records", "Gift records that the latest run corrected."};
  Gauge differing{"giftsync_backfill_differing_records",
                  "Gift records with a difference that the latest run left to a person."};
  for (const store::BackfillRun& run : store_.backfill.latest_runs()) {
    const std::vector<std::pair<std::string, std::string>> name{{"backfill", run.name}};
    if (run.ended_at) ended.samples.push_back({seconds_of(*run.ended_at), name});
    failed.samples.push_back({sync::state_of(run) == sync::BackfillState::failed ? 1.0 : 0.0, name});
    repaired.samples.push_back({number(run.repaired), name});
    differing.samples.push_back({number(run.differing), name});
  }
  for (Gauge* const gauge : {&ended, &failed, &repaired, &differing}) gauges.push_back(std::move(*gauge));
}

void StoreGauges::add_secrets(UtcMillis now, Gauges& gauges) {
  Gauge expiry{"giftsync_secret_expiry_timestamp_seconds",
               "Until when a secret that was replaced still works; absent while none does."};
  const auto add = [&](const char* secret, UtcMillis until) {
    if (until > now) expiry.samples.push_back({seconds_of(until), {{"secret", secret}}});
  };
  if (const auto rotation =
          store::secret_rotation_from(store_.metadata(store::kSecretRotationFact).value_or("")))
    add("former_server_secret", rotation->links_until);
  std::optional<UtcMillis> message_token;
  for (const store::Credential& token : store_.credentials.list(CredentialKind::message_token))
    if (token.expires_at) message_token = std::max(message_token.value_or(UtcMillis{0}), *token.expires_at);
  if (message_token) add("former_message_token", *message_token);
  gauges.push_back(std::move(expiry));
}

void StoreGauges::add_files(UtcMillis now, Gauges& gauges) {
  const bool is_file = settings_.store.backend == config::StoreBackend::sqlite;
  const std::filesystem::path file = is_file ? std::filesystem::absolute(settings_.store.connection) : "";
  std::optional<double> bytes;
  if (is_file)
    bytes = file_bytes(file);
  else if (slow(now).database_bytes)
    bytes = number(*slow(now).database_bytes);
  gauges.push_back(optional_gauge("giftsync_store_size_bytes",
                                  "Size of the store: SQLite's file, or the database.", bytes));
  gauges.push_back(optional_gauge("giftsync_store_wal_bytes", "Size of SQLite's write-ahead log.",
                                  is_file ? file_bytes(file.string() + "-wal") : std::nullopt));
  gauges.push_back(optional_gauge("giftsync_disk_free_bytes",
                                  "What is free for the daemon on the disk of SQLite's file.",
                                  is_file ? wiring::free_disk_bytes(file.parent_path()) : std::nullopt));
  gauges.push_back(
      optional_gauge("giftsync_disk_needed_bytes", "With less free the disk counts as full.",
                     is_file ? std::optional(static_cast<double>(wiring::kNeededDiskBytes)) : std::nullopt));
}

}  // namespace giftsync::metrics
