#include "daemon/workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <utility>

#include "daemon/webhooks/webhook_changes.h"
#include "daemon/wiring/components_config.h"
#include "daemon/wiring/org_status.h"
#include "daemon/wiring/store_preflight.h"
#include "platform/logging.h"
#include "platform/text.h"
#include "schema/store/background_work.h"
#include "schema/store/store_stats.h"
#include "sync/attention.h"
#include "sync/crm/crm_roles.h"
#include "sync/crm/transaction_id_floor.h"
#include "sync/gift/lifecycle.h"
#include "sync/gift/test_gifts.h"
#include "sync/mail/delivery_rules.h"
#include "sync/request/approver_notices.h"
#include "sync/request/request_record_state_machine.h"

namespace giftsync::daemon {

namespace {

/// Called every 15 s: with a whole 30 s every other call would come a moment too early.
constexpr std::int64_t kSqlIntervalMillis = 29 * kSecondMillis;
/// Two clocks are compared with one another's intervals: a daemon alone must not come a moment too early.
constexpr std::int64_t kToleranceMillis = 15 * kSecondMillis;
/// Then a sign-in does not wait for the CRM any more.
constexpr std::int64_t kSignInMillis = 2 * kSecondMillis;
constexpr const char* kReadAtFact = "crm_roles_read_at";

}  // namespace

CrmRoleRefresh::CrmRoleRefresh(SharedParts& shared)
    : shared_(shared), read_at_(wiring::store_dsn(shared.settings.store), kReadAtFact) {}

/// After a start or a reload the settings may name other permission sets, so nothing is taken from before.
bool CrmRoleRefresh::asks_itself() {
  if (!wiring::crm_capabilities(shared_.settings).is_remote) return true;
  const std::int64_t interval = shared_.settings.console.permission_set_minutes * kMinuteMillis;
  const bool is_first = !std::exchange(has_started_, true);
  return read_at_.begin_after(is_first ? 0 : interval - kToleranceMillis);
}

void CrmRoleRefresh::run(UtcMillis now) {
  const config::ConsoleSettings& settings = shared_.settings.console;
  if (!settings.enabled) return;
  const std::int64_t interval = wiring::crm_capabilities(shared_.settings).is_remote
                                    ? settings.permission_set_minutes * kMinuteMillis
                                    : kSqlIntervalMillis;
  if (!has_elapsed(asked_at_, std::max(interval, refusal_millis_), now)) return;
  asked_at_ = now;
  refusal_millis_ = 0;
  if (!asks_itself()) return;
  try {
    const std::size_t changed =
        sync::crm_role_step(shared_.store.console_users, shared_.store.console_sessions,
                            shared_.crm->directory(), wiring::crm_role_rules(settings), now);
    if (changed > 0)
      log_event(LogEvent::crm_roles_changed,
                fmt::format("the CRM has changed the roles of {} users of the console", changed));
  } catch (const DependencyError& fault) {
    if (!fault.of_external_crm()) throw;
    if (!fault.transient()) refusal_millis_ = kHourMillis;
    log_debug(fmt::format("roles of the console: {}", fault.what()));  // the sync worker logs what lasts
  }
}

std::optional<std::vector<store::UserRole>> crm_roles_of(SharedParts& shared, const std::string& address) {
  const ThreadCallDeadline deadline(kSignInMillis);
  try {
    auto roles =
        sync::read_crm_roles(shared.crm->directory(), wiring::crm_role_rules(shared.settings.console),
                             std::span(&address, 1), system_now());
    if (!roles) return std::nullopt;
    return std::move(roles->front());
  } catch (const DependencyError& fault) {
    log_event(
        LogEvent::crm_roles_unknown,
        fmt::format(
            "the CRM could not say which roles a user of the console has, who keeps those of before: {}",
            fault.what()));
    return std::nullopt;
  }
}

namespace {

constexpr std::int64_t kMaintenanceIntervalMillis = 15'000;
constexpr std::int64_t kTimerIntervalMillis = 1'000;
constexpr std::int64_t kFeedIntervalMillis = 500;
/// Between every second step of the timers' worker.
constexpr std::int64_t kShownValuesIntervalMillis = 1'500;
constexpr std::size_t kMaxDiscardedEvents = 1'000;
constexpr std::int64_t kIdempotencyLifeMillis = 8 * kDayMillis;
/// Of a held request, from its decision on: what it names of recipients.
constexpr std::int64_t kHeldContentLifeMillis = 30 * kDayMillis;
constexpr std::int64_t kNoticeLifeMillis = 90 * kDayMillis;
static_assert(kNoticeLifeMillis > store::kMaxNoticedAgeMillis);
/// Between two times of queueing mails to senders: it reads what became undelivered in a week.
constexpr std::int64_t kSenderNoticeIntervalMillis = 5'000;
/// Between two mails to one sender.
constexpr std::int64_t kEachPauseMillis = 10 * kMinuteMillis;
/// After its end: of a daemon that is gone.
constexpr std::int64_t kBreakerLifeMillis = kDayMillis;
/// A mail may take as long as its lease; every other step takes seconds, unless the CRM takes longer.
constexpr std::int64_t kMaxHeartbeatAgeMillis = 180'000;
/// Calls of one step: reads, gift records, questions about refused rows, tasks.
constexpr std::int64_t kMaxCallsOfStep = 6;
/// How long a start and a stop wait for a remote CRM.
constexpr std::int64_t kStartWaitMillis = 15'000;
constexpr std::int64_t kStopWaitMillis = 10'000;
constexpr std::int64_t kIdsRetryMillis = 5 * kMinuteMillis;
constexpr std::int64_t kUpgradeIntervalMillis = 5'000;
/// An index that fails has read its whole table.
constexpr std::int64_t kUpgradeRetryMillis = kMinuteMillis;
constexpr std::int64_t kAlertIntervalMillis = 30'000;
constexpr const char* kAlertLease = "alerts";
constexpr const char* kRollupLease = "rollups";
/// Also how long numbers stand still after the daemon that adds them up was killed.
constexpr std::int64_t kRollupLeaseMillis = 10 * kSecondMillis;
constexpr std::int64_t kRollupWaitMillis = 2 * kSecondMillis;
/// More than one recipient's mail takes.
constexpr std::int64_t kAlertLeaseMillis = 3 * kMinuteMillis;
/// More than a store can lack of what a CRM has.
constexpr std::int64_t kUnseenIds = 1'000'000;

void log_lines(LogThrottle& throttle, const std::vector<LogLine>& lines) {
  for (const LogLine& line : throttle.lines_to_log(lines, system_now())) log_event(line);
}

/// Skips ids that the CRM's gift records unknown to giftsync have.
void skip_used_transaction_ids(store::Store& store, crm::GiftRecords& records) {
  while (const auto id = sync::first_id_above_unknown_records(store.gifts, records)) {
    store.gifts.start_transaction_ids_at(*id);
    log_event(LogEvent::transaction_ids_raised,
              fmt::format("the CRM has gift records unknown to giftsync whose ids are just above giftsync's "
                          "own; new gifts get ids from {} on",
                          id->value));
  }
}

/// Own ids begin at the configured first id and above every id that the CRM already has (SYNC-21).
void start_transaction_ids(store::Store& store, crm::GiftRecords& records, std::int64_t first_id) {
  constexpr const char* kHighestSeenIdKey = "highest_seen_transaction_id";
  const TransactionId highest_seen_id{std::atoll(store.metadata(kHighestSeenIdKey).value_or("0").c_str())};
  const sync::TransactionIdFloor first =
      sync::find_transaction_id_floor(store.gifts, records, {first_id}, highest_seen_id);
  store.gifts.start_transaction_ids_at(first.id);
  if (first.highest_seen_id != highest_seen_id)
    store.set_metadata(kHighestSeenIdKey, std::to_string(first.highest_seen_id.value));
  skip_used_transaction_ids(store, records);
}

}  // namespace

Workers::Workers(SharedParts& shared)
    : shared_(shared),
      transports_(wiring::make_transports(shared.settings.email)),
      delivery_rules_(wiring::delivery_rules(shared.settings, shared.installation_id, shared.links)),
      mail_delivery_(shared.store, delivery_rules_, transports_.size(), transports_.front()->max_batch_size(),
                     system_now),
      request_record_rules_(wiring::request_record_rules(shared.settings, shared.store, *shared.crm)),
      sync_(
          shared.store, *shared.crm, wiring::sync_rules_with_links(shared.settings, shared.links),
          [&shared](const DependencyError& fault) {
            return wiring::describe_sync_fault(shared.settings, fault);
          },
          [&shared](const sync::SyncStepStats& stats) {
            const UtcMillis now = system_now();
            shared.gift_log.log_events(stats.events, now);
            shared.counters.count_batch(stats, now);
          },
          [&shared] { shared.counters.count_failed_batch(); }),
      sources_(shared.settings.sources, shared.installation_id, shared.settings.sending.do_not_send,
               shared.store, [this] { sync_.wake(); }),
      webhooks_(
          shared.store, wiring::store_dsn(shared.settings.store),
          webhooks::post_options(shared.settings.webhooks.allowed_networks, shared.settings.webhooks.ca_file),
          [&shared](const std::string& sealed) {
            return wiring::open_sealed_text(shared.secrets, store::kWebhookSecretLabel, sealed);
          }),
      longest_crm_call_millis_(shared.crm->pace().longest_call_millis) {
  begin_transaction_ids();
}

/// Gifts are taken and mailed also while a remote CRM cannot be reached. Its records may have ids that this
/// store does not know, if it was restored from a backup: the next ids are far above them.
void Workers::begin_transaction_ids() {
  shared_.crm_calls.end_in(kStartWaitMillis);
  try {
    start_transaction_ids(shared_.store, shared_.crm->gift_records(),
                          shared_.settings.store.first_transaction_id);
    has_started_ids_ = true;
  } catch (const DependencyError& fault) {
    if (!fault.of_external_crm() || !wiring::crm_capabilities(shared_.settings).is_remote) throw;
    const TransactionId first{shared_.store.gifts.next_transaction_id().value + kUnseenIds};
    shared_.store.gifts.start_transaction_ids_at(first);
    log_event(
        LogEvent::transaction_ids_unknown,
        fmt::format("the CRM could not say which Transaction Ids it has; new gifts get ids from {} on: {}",
                    first.value, fault.what()));
  }
  shared_.crm_calls.remove();
  ids_checked_at_ = system_now();
}

/// A remote CRM counts each call.
void Workers::check_transaction_ids(UtcMillis now) {
  const bool is_remote = wiring::crm_capabilities(shared_.settings).is_remote;
  const std::int64_t interval = has_started_ids_ || is_refused_ids_ ? kHourMillis : kIdsRetryMillis;
  if (is_remote && !has_elapsed(ids_checked_at_, interval, now)) return;
  ids_checked_at_ = now;
  is_refused_ids_ = false;
  try {
    crm::GiftRecords& records = shared_.crm->gift_records();
    if (has_started_ids_) {
      skip_used_transaction_ids(shared_.store, records);
    } else {
      start_transaction_ids(shared_.store, records, shared_.settings.store.first_transaction_id);
      has_started_ids_ = true;
    }
  } catch (const DependencyError& fault) {
    if (!is_remote || !fault.of_external_crm()) throw;
    is_refused_ids_ = !fault.transient();
    log_debug(fmt::format("maintenance: {}", fault.what()));  // the sync worker logs what lasts
  }
}

void Workers::start(const StartOptions& options) {
  if (const auto warning = wiring::webhook_warning(shared_.settings, shared_.store))
    log_event(LogEvent::settings_warning, *warning);
  switch_feed();  // before what changes gifts
  store::Store& store = shared_.store;
  // While this thread alone uses the store: later the question would need a connection of its own.
  const bool has_upgrade = store::background_work(wiring::store_dsn(shared_.settings.store)).remaining > 0;
  store.deliveries.release_leases(options.ended_owners);
  sync_.release_leases(options.ended_owners);
  store.sources.release_leases(options.ended_owners);
  store.deliveries.cap_leases(sync::kSendingLeaseMillis);
  delivery_rules_.owner = options.owner;
  delivery_rules_.refuse_mail = [this](const std::string& email) -> std::optional<std::string> {
    auto finding = shared_.sending.check_mail(email);
    return finding ? std::optional(std::move(finding->message)) : std::nullopt;
  };
  delivery_rules_.daemon = options.daemon;
  delivery_rules_.relay = wiring::relay_fingerprint(shared_.settings.email, store.do_not_send);
  repair_clock_skew();
  log_delivery_pause();
  const UtcMillis now = system_now();
  // What rested for a quota: the settings may give more calls now.
  if (wiring::crm_capabilities(shared_.settings).is_remote) store.sync.reset_scheduled_after(now, now);
  sync_.start(options.owner, options.should_yield);
  const auto start_worker = [this](Kind kind, PeriodicWorker::Options worker) {
    workers_[kind] = std::make_unique<PeriodicWorker>(std::move(worker));
  };
  start_senders(options);
  start_worker(timers, {"timers", kTimerIntervalMillis,
                        [this, options](PeriodicWorker&) { return process_timers(options); }, [] {},
                        options.should_yield});
  start_worker(budgets,
               {"budgets", kTimerIntervalMillis, [this](PeriodicWorker& worker) {
                  shared_.budgets.count_begun([&worker] { return worker.heartbeat_and_should_run(); });
                  return false;
                }});
  start_worker(feed, {"feed", kFeedIntervalMillis, [this](PeriodicWorker&) { return publish_feed(); }, [] {},
                      options.should_yield});
  for (const std::string& owner : options.ended_owners)
    store::WriterLease(wiring::store_dsn(shared_.settings.store), kRollupLease, owner).release();
  rollup_lease_ = std::make_unique<store::WriterLease>(wiring::store_dsn(shared_.settings.store),
                                                       kRollupLease, options.owner);
  start_worker(rollups,
               {"rollups", kFeedIntervalMillis,
                [this](PeriodicWorker& worker) { return count_gifts(worker); }, [] {}, options.should_yield});
  start_worker(maintenance, {"maintenance", kMaintenanceIntervalMillis,
                             [this, maintain_endpoints = options.maintain_endpoints](PeriodicWorker& worker) {
                               return maintain(worker, maintain_endpoints);
                             }});
  if (shared_.settings.requests.enabled) {
    shared_.crm->request_records()->enqueue_open();  // for rows restored or loaded without the triggers
    sync::retry_failed_request_records(store.request_records);  // the settings may have been corrected
    start_worker(request_records,
                 {"requests", 500, [this](PeriodicWorker&) { return process_request_records(); }, [] {},
                  options.should_yield});
  }
  start_alerts(options);
  sources_.start_polls(options.owner);
  webhooks_.start({options.owner, options.ended_owners, options.should_yield});
  if (has_upgrade) {
    // The start's own writes go first: those of SQLite would wait for an index.
    upgrade_failed_at_ = system_now() - (kUpgradeRetryMillis - kUpgradeIntervalMillis);
    start_worker(upgrade, {"upgrade", kUpgradeIntervalMillis,
                           [this](PeriodicWorker& worker) { return upgrade_store(worker); }, [] {},
                           options.should_yield});
  }
}

sync::AttentionFacts attention_facts(SharedParts& shared) {
  const UtcMillis now = system_now();
  const auto stats = store::store_stats(wiring::store_dsn(shared.settings.store), now, now);
  sync::AttentionFacts facts =
      wiring::attention_facts(shared.settings, shared.store, stats, "giftsyncctl ", now);
  if (const auto doubt = shared.trusted_clock.doubt()) facts.clock_doubt = describe(*doubt);
  return facts;
}

/// As the console's overview has it; the daemons' own faults are seen by `status` alone.
std::vector<sync::AttentionItem> Workers::attention() {
  sync::AttentionFacts facts = attention_facts(shared_);
  facts.daemons = store::DaemonInstances(wiring::store_dsn(shared_.settings.store)).list();
  return sync::needs_attention(facts);
}

void Workers::start_alerts(const StartOptions& options) {
  const sql::Dsn dsn = wiring::store_dsn(shared_.settings.store);
  for (const std::string& owner : options.ended_owners) store::WriterLease(dsn, kAlertLease, owner).release();
  alert_lease_ = std::make_unique<store::WriterLease>(dsn, kAlertLease, options.owner);
  const auto may_work = [this] { return alert_lease_->take(kAlertLeaseMillis).is_this; };
  store::Alerts& stored = shared_.store.alerts;
  const config::AlertSettings& settings = shared_.settings.alerts;
  if (settings.mail_to.empty()) {
    // What was stored for former recipients would be mailed late to the next ones.
    std::vector<std::string> names;
    for (const store::Alert& alert : stored.list()) names.push_back(alert.name);
    if (!names.empty() && may_work()) stored.save({}, names);
    return;
  }
  alert_mailer_ = std::make_unique<AlertMailer>(
      stored, std::move(wiring::make_transports(shared_.settings.email).front()),
      AlertMailerOptions{
          settings.mail_to, wiring::alert_rules(settings), may_work, [this] { return attention(); },
          [this](const sync::AlertMail& mail, const std::string& to) {
            return wiring::alert_mail(shared_.settings, shared_.installation_id, mail, to, system_now());
          },
          system_now});
  workers_[alerts] = std::make_unique<PeriodicWorker>(
      PeriodicWorker::Options{"alerts", kAlertIntervalMillis, [this](PeriodicWorker& worker) {
                                alert_mailer_->step([&worker] { return worker.heartbeat_and_should_run(); });
                                return false;
                              }});
}

void Workers::start_senders(const StartOptions& options) {
  const std::lock_guard lock(senders_mutex_);
  for (std::size_t number = 0; number < transports_.size(); ++number) {
    senders_.push_back(std::make_unique<PeriodicWorker>(PeriodicWorker::Options{
        "delivery", 500,
        [this, number, should_yield = options.should_yield](PeriodicWorker& worker) {
          return deliver_mails(worker, number, should_yield());
        },
        [this, number] { mail_delivery_.release_after_fault(number); }, options.should_yield}));
  }
}

void Workers::request_stop() {
  shared_.crm_calls.end_in(kStopWaitMillis);
  for (const auto& worker : workers_) {
    if (worker) worker->request_stop();
  }
  {
    const std::lock_guard lock(senders_mutex_);
    for (const auto& sender : senders_) sender->request_stop();
  }
  for (const auto& transport : transports_) transport->stop();  // now none begins another mail
  if (alert_mailer_) alert_mailer_->stop();
  sync_.request_stop();
  sources_.request_stop();
  webhooks_.request_stop();
}

void Workers::finish() {
  request_stop();
  for (const auto& worker : workers_) {
    if (worker) worker->finish();
  }
  sync_.finish();
  sources_.finish();
  webhooks_.finish();
  shared_.crm_calls.remove();  // the senders call no CRM, and requests may until they have ended
  std::vector<PeriodicWorker*> senders;
  {
    const std::lock_guard lock(senders_mutex_);  // not while they end: requests wake them
    for (const auto& sender : senders_) senders.push_back(sender.get());
  }
  for (PeriodicWorker* const sender : senders) sender->finish();
}

/// To the next daemon, or to the next application of this one.
void Workers::release_writer_leases() {
  for (const auto& lease : {alert_lease_.get(), rollup_lease_.get()}) {
    if (!lease) continue;
    try {
      lease->release();
    } catch (const DependencyError& fault) {
      log_debug(fmt::format("leases: {}", fault.what()));  // the lease ends by itself
    }
  }
}

void Workers::stop() {
  finish();  // all of them: they wake each other
  release_writer_leases();
  sources_.stop();
  for (auto& worker : workers_) worker.reset();
  {
    const std::lock_guard lock(senders_mutex_);
    senders_.clear();
  }
  sync_.stop();
  shared_.gift_log.log_dropped();
}

bool Workers::are_alive() const {
  const std::int64_t max_age = std::max(kMaxHeartbeatAgeMillis, kMaxCallsOfStep * longest_crm_call_millis_);
  if (makes_index_) return workers_[upgrade]->millis_since_heartbeat() <= max_age;
  const std::lock_guard lock(senders_mutex_);
  return longest_since_heartbeat(workers_) <= max_age && longest_since_heartbeat(senders_) <= max_age &&
         sync_.millis_since_heartbeat() <= max_age &&
         sources_.millis_since_heartbeat() <= kMaxHeartbeatAgeMillis &&
         webhooks_.millis_since_heartbeat() <= kMaxHeartbeatAgeMillis;
}

std::vector<std::pair<const char*, std::int64_t>> Workers::heartbeats() const {
  std::vector<std::pair<const char*, std::int64_t>> all{{"sync", sync_.millis_since_heartbeat()},
                                                        {"polls", sources_.millis_since_heartbeat()},
                                                        {"webhooks", webhooks_.millis_since_heartbeat()}};
  constexpr std::pair<Kind, const char*> kNames[] = {{request_records, "request_records"},
                                                     {timers, "timers"},
                                                     {budgets, "budgets"},
                                                     {feed, "feed"},
                                                     {rollups, "rollups"},
                                                     {maintenance, "maintenance"},
                                                     {alerts, "alerts"}};
  for (const auto& [kind, name] : kNames)
    if (workers_[kind]) all.emplace_back(name, workers_[kind]->millis_since_heartbeat());
  const std::lock_guard lock(senders_mutex_);
  all.emplace_back("delivery", longest_since_heartbeat(senders_));
  return all;
}

void Workers::wake_sync_and_delivery() {
  sync_.wake();
  const std::lock_guard lock(senders_mutex_);
  if (!senders_.empty()) senders_.front()->wake();
}

void Workers::wake_request_records() {
  if (workers_[request_records]) workers_[request_records]->wake();
}

/// Logged at start too, because the log line of the previous daemon may be far back.
void Workers::log_delivery_pause() {
  const std::optional<store::CircuitBreaker> pause = shared_.store.deliveries.breaker(delivery_rules_.daemon);
  if (!pause || pause->relay != delivery_rules_.relay) return;
  log_event(LogEvent::mail_paused,
            fmt::format("mail delivery has been paused since {}, {} failures, next try {}: {}",
                        to_rfc3339(pause->since), pause->failures, to_rfc3339(pause->until), pause->reason));
}

bool Workers::process_request_records() {
  const sync::RequestRecordStepStats stats = sync::request_record_step(
      shared_.store, *shared_.crm, request_record_rules_, shared_.store.request_records.now());
  log_lines(request_record_log_throttle_, stats.warnings);
  for (const sync::RequestRecordSent& record_sent : stats.made)
    shared_.gift_log.log_request(
        {.request = record_sent.request, .gifts = record_sent.gifts, .request_record = record_sent.number},
        system_now());
  if (stats.sent > 0) {
    log_event(LogEvent::request_records_sent, fmt::format("requests: {} sent", stats.sent));
    wake_sync_and_delivery();
  }
  return stats.more;
}

/// A database that was restored or replaced while the daemon runs would take new rows beside those of
/// another installation.
void Workers::check_installation() {
  if (shared_.store.metadata(store::kInstallationIdFact) == shared_.installation_id) return;
  shared_.store.refuse_use("the store was replaced by another one while in use: restart giftsyncd");
}

bool Workers::process_timers(const StartOptions& options) {
  check_installation();
  secret_watch_.check(system_now());
  options.keep_record();
  shared_.store.deliveries.refresh_turns(system_now());  // a step of delivery may last minutes
  const bool has_more_timers = process_lifecycle();
  shared_.store.sending_usage.apply_adjustments();
  const bool has_more_notices = queue_sender_notices();
  if (wiring::mails_sign_in_links(shared_.settings)) shared_.store.sign_in_mails.queue_mails(system_now());
  save_shown_values(options.save_last_used);  // last: its failure delays nothing else
  return has_more_timers || has_more_notices;
}

/// What `source list`, `status` and `key list` show is at most two seconds old (SRC-60).
void Workers::save_shown_values(const std::function<void()>& save_last_used) {
  const UtcMillis now = system_now();
  if (!has_elapsed(shown_values_saved_at_, kShownValuesIntervalMillis, now)) return;
  shown_values_saved_at_ = now;
  sources_.health_monitor().flush(now);
  save_last_used();
}

bool Workers::process_lifecycle() {
  const std::optional<UtcMillis> now = shared_.trusted_clock.now();
  if (!now) return false;
  const sync::LifecycleStepStats stats = sync::lifecycle_step(shared_.store.lifecycle, *now);
  log_lines(timer_log_throttle_, stats.warnings);
  if (stats.expired + stats.refunded + stats.reminded > 0) {
    log_event(LogEvent::timers_applied,
              fmt::format("timers: {} gifts expired, {} refunded, {} reminders queued", stats.expired,
                          stats.refunded, stats.reminded));
    wake_sync_and_delivery();
  }
  return stats.more;
}

/// Of several daemons of a store one may have the feed off: its changes have no marks, so what the others
/// publish is not whole, and readers begin again as often as this is called. Changes are marked before the
/// feed is on and until it is off; again after a reload that failed, which may have ended that.
void Workers::switch_feed() {
  store::Store& store = shared_.store;
  const bool is_on = shared_.settings.feed.enabled;
  if (is_on) store.keep_feed(true);
  const bool has_begun = store.feed.switch_to(is_on);
  store.keep_feed(is_on);
  if (!has_begun) return;
  log_event(LogEvent::feed_begun,
            fmt::format("the feed of events begins: epoch {}; readers of an older epoch list all gifts first",
                        shared_.store.feed.state().epoch));
}

/// Always runs: a daemon whose feed is off publishes what another one has marked, and without marks nothing.
bool Workers::publish_feed() {
  const sync::FeedStepStats stats = sync::feed_step(shared_.store, feed_place_);
  shared_.counters.count_reached(stats.reached);
  return stats.more;
}

/// Every daemon folds; one of them adds the differences up and counts the gifts from before.
bool Workers::count_gifts(PeriodicWorker& worker) {
  const UtcMillis now = system_now();
  const sync::FoldStepStats folded = sync::fold_step(shared_.store, fold_place_, now);
  shared_.counters.count_reached(folded.reached);
  store::Rollups& counts = shared_.store.rollups;
  if (!counts.has_work() || !holds_rollup_lease(now)) return folded.more;
  const bool has_more = counts.add_deltas() == store::Rollups::kMaxDeltas;
  return fill_rollups(worker, now) || folded.more || has_more;
}

/// Without the lease it asks again after its time, and with it after half of it.
bool Workers::holds_rollup_lease(UtcMillis now) {
  const std::int64_t wait = has_rollup_lease_ ? kRollupLeaseMillis / 2 : kRollupWaitMillis;
  if (!has_elapsed(rollup_lease_asked_at_, wait, now)) return has_rollup_lease_;
  has_rollup_lease_ = false;  // while it is not known
  has_rollup_lease_ = rollup_lease_->take(kRollupLeaseMillis).is_this;
  rollup_lease_asked_at_ = now;
  return has_rollup_lease_;
}

/// A day of the gifts that are older than their counts.
bool Workers::fill_rollups(PeriodicWorker& worker, UtcMillis now) {
  using FillStep = store::Rollups::FillStep;
  if (are_rollups_filled_ || !has_elapsed(rollup_fill_waits_since_, kRollupWaitMillis, now)) return false;
  const FillStep step =
      shared_.store.rollups.fill_step([&worker] { return worker.heartbeat_and_should_run(); });
  are_rollups_filled_ = step == FillStep::done;
  if (step == FillStep::waits) rollup_fill_waits_since_ = now;
  return step == FillStep::more;
}

bool Workers::queue_sender_notices() {
  using Notice = config::UndeliveredNotice;
  const Notice wanted = shared_.settings.email.undelivered_notice;
  const std::optional<UtcMillis> now = shared_.trusted_clock.now();
  if (wanted == Notice::never || !now ||
      !has_elapsed(sender_notices_queued_at_, kSenderNoticeIntervalMillis, *now))
    return false;
  const bool more =
      shared_.store.sender_notices.queue_mails(wanted == Notice::daily ? kDayMillis : kEachPauseMillis, *now);
  if (!more) sender_notices_queued_at_ = *now;
  return more;
}

void Workers::wake_other_senders(std::size_t connection) {
  const std::lock_guard lock(senders_mutex_);
  for (std::size_t number = 0; number < senders_.size(); ++number) {
    if (number != connection) senders_[number]->wake();
  }
}

bool Workers::deliver_mails(PeriodicWorker& worker, std::size_t connection, bool yields) {
  // Mails as files take the disk that callers wait for: one connection goes on, and in short steps.
  const bool takes_little = yields && transports_[connection]->max_batch_size() > 1;
  if (takes_little && connection > 0) return false;
  const sync::DeliveryStats stats =
      mail_delivery_.step({.number = connection,
                           .transport = *transports_[connection],
                           .may_give_up = shared_.trusted_clock.now().has_value(),
                           .should_continue = [&worker] { return worker.heartbeat_and_should_run(); },
                           .wake_others = [this, connection] { wake_other_senders(connection); },
                           .max_mails = takes_little ? sync::MailDelivery::kMaxMailsPerYieldingStep
                                                     : sync::MailDelivery::kMaxMailsPerStep});
  {
    const std::lock_guard lock(delivery_log_mutex_);
    log_lines(delivery_log_throttle_, stats.info_lines);
    log_lines(delivery_log_throttle_, stats.warnings);
  }
  shared_.gift_log.log_events(stats.events, system_now());
  shared_.counters.count_mails(stats);
  if (stats.accepted > 0) {
    log_debug(fmt::format("delivery: {} mails accepted by the transport", stats.accepted));
    wake_sync();
  }
  return stats.more;
}

/// Also while the daemon runs: the clock may be corrected at any time.
void Workers::repair_clock_skew() {
  const UtcMillis now = system_now();
  std::vector<LogLine> warnings;
  if (std::string warning =
          sync::describe(sync::repair_clock_skew(shared_.store, now, shared_.store.request_records.now(),
                                                 request_record_rules_.most_sender_retry_after_millis));
      !warning.empty())
    warnings.push_back({LogEvent::retry_times_reset, std::move(warning)});
  for (const std::string& source : sources_.release_implausible_waits(now))
    warnings.push_back(
        source_line(LogEvent::retry_times_reset, source,
                    ": the system clock had been ahead and delayed its next poll; it polls now"));
  log_lines(maintenance_log_throttle_, warnings);
}

bool Workers::maintain(PeriodicWorker& worker, const std::function<void()>& maintain_endpoints) {
  store::Store& store = shared_.store;
  switch_feed();  // first: no other fault may keep readers from what it says
  if (shared_.settings.email.undelivered_notice == config::UndeliveredNotice::never)
    store.sender_notices.end();
  repair_clock_skew();
  store.changes.apply_orphaned(system_now());
  maintain_endpoints();
  for (const sync::BudgetWarning& warning : shared_.budgets.maintain())
    log_event(LogEvent::budget_used, sync::describe(warning));
  notify_users();
  shared_.gift_log.log_dropped();
  // A call that is repeated after its key was deleted sends a second gift, and a message counts again.
  if (const auto now = shared_.trusted_clock.now()) {
    store.deliveries.delete_breakers_before(*now - kBreakerLifeMillis);
    store.gifts.prune_idempotency(*now - kIdempotencyLifeMillis);
    store.request_records.prune_idempotency(*now - kIdempotencyLifeMillis);
    store.approver_notices.prune(*now - kNoticeLifeMillis);
    store.sender_notices.prune(*now - kNoticeLifeMillis);
    store.do_not_send.prune(*now);
    store.feed.prune(*now - shared_.settings.feed.keep_days * kDayMillis);
    sync::purge_test_gifts(store.test_gifts, *now - shared_.settings.test.keep_days * kDayMillis,
                           [&worker] { return worker.heartbeat_and_should_run(); });
    expire_held_requests(*now);
    sources_.prune(*now);
    webhooks_.prune(*now - shared_.settings.webhooks.log_days * kDayMillis);
    secret_watch_.finish_rotation(*now, [&worker] { return worker.heartbeat_and_should_run(); });
  }
  if (!shared_.settings.requests.enabled && shared_.crm->request_records())
    discard_request_change_events(worker);
  sources_.run_maintenance(system_now(), [&worker] { return worker.heartbeat_and_should_run(); });
  check_transaction_ids(system_now());
  crm_roles_.run(system_now());
  return false;
}

/// Also without request records, whose worker queues the mails about those.
void Workers::notify_users() {
  const UtcMillis now = system_now();
  if (shared_.settings.console.enabled)
    sync::add_held_notices(shared_.store, shared_.settings.requests.allow_self_approval, now);
  shared_.store.approver_notices.queue_mails(now);
}

void Workers::expire_held_requests(UtcMillis now) {
  for (const GiftRequestId id : shared_.store.held.expire(now))
    log_event(
        LogEvent::held_request_expired,
        fmt::format("gift request {} was held and has expired: no one approved or rejected it", id.value),
        {LogField("request", id.value).not_in_text()});
  shared_.store.held.empty_contents(now - kHeldContentLifeMillis);
}

/// With requests.enabled off no worker reads these events. Once it is on, every open request record is
/// enqueued.
void Workers::discard_request_change_events(PeriodicWorker& worker) {
  while (worker.heartbeat_and_should_run()) {
    std::vector<std::int64_t> event_ids;
    for (const crm::RequestRecordEvent& event : shared_.crm->request_records()->events(kMaxDiscardedEvents))
      event_ids.push_back(event.id);
    if (event_ids.empty()) return;
    shared_.crm->request_records()->acknowledge(event_ids);
  }
}

/// One part of what an upgrade has left (ARCH-13).
bool Workers::upgrade_store(PeriodicWorker& worker) {
  if (!has_elapsed(upgrade_failed_at_, kUpgradeRetryMillis, system_now())) return false;
  const sql::Dsn dsn = wiring::store_dsn(shared_.settings.store);
  const store::BackgroundWork work = store::background_work(dsn);
  if (work.remaining == 0) return false;
  if (std::exchange(present_work_, work.present) != work.present)
    log_event(LogEvent::upgrade_goes_on, fmt::format("upgrade of the store: {} beside the calls; {} to do",
                                                     work.present, pluralize(work.remaining, "statement")));
  makes_index_ = work.is_index && dsn.dialect == sql::Dialect::sqlite;
  try {
    const store::BackgroundStep step =
        store::do_background_step(dsn, [&worker] { return worker.heartbeat_and_should_run(); });
    makes_index_ = false;
    if (step != store::BackgroundStep::more) return false;
    const std::size_t remaining = store::background_work(dsn).remaining;
    if (remaining < work.remaining)
      log_event(LogEvent::upgrade_part_done,
                fmt::format("upgrade of the store: done: {}; {} to do", work.present,
                            remaining == 0 ? "nothing" : pluralize(remaining, "statement")));
    upgrade_fault_.clear();
    return remaining > 0;
  } catch (const DependencyError& fault) {
    makes_index_ = false;
    upgrade_failed_at_ = system_now();
    if (std::exchange(upgrade_fault_, fault.what()) != fault.what())
      log_event(LogEvent::upgrade_failing,
                fmt::format("upgrade of the store: {}: {}; it is tried again every minute", work.present,
                            fault.what()));
    store::note_background_fault(dsn, fault.what());
    return false;
  }
}

}  // namespace giftsync::daemon
