#include "daemon/application.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <utility>

#include "daemon/content/branding.h"
#include "daemon/group_commit_writer.h"
#include "daemon/handlers/saml_metadata_handler.h"
#include "daemon/identity/oidc/discovery.h"
#include "daemon/metrics/metrics_page.h"
#include "daemon/metrics/store_gauges.h"
#include "daemon/wiring/components_config.h"
#include "daemon/wiring/crm_config.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/erased_addresses.h"
#include "daemon/wiring/org_status.h"
#include "platform/dependency_error.h"
#include "platform/keys.h"
#include "platform/logging.h"
#include "sync/gift/lifecycle.h"
#include "sync/request/request_record_step.h"

namespace giftsync::daemon {

/// Members in the order of construction; destroyed in reverse order.
struct Application::Parts {
  Parts(const config::Settings& settings, TrustedClock& trusted_clock, const std::string& instance_id,
        metrics::Metrics& metrics);
  /// Also runs when a later step of the start failed.
  ~Parts() { stop(); }
  void stop();

  SharedParts shared;
  Workers workers;
  GroupCommitWriter writer;
  Endpoints endpoints;
  metrics::StoreGauges store_gauges;
  metrics::MetricsPage metrics_page;
  bool has_stopped = false;
};

namespace {

GroupCommitWriter::Observer commit_observer(metrics::Metrics& metrics) {
  return {.on_commit = [&metrics](std::size_t members,
                                  std::chrono::nanoseconds took) { metrics.count_commit(members, took); },
          .on_refusal = [&metrics] { metrics.count_commit_refusal(); }};
}

/// Those that wait for nothing.
std::vector<metrics::Gauge> memory_gauges(const Workers& workers, TrustedClock& clock) {
  metrics::Gauge age{"giftsync_worker_heartbeat_age_seconds",
                     "Time since a worker's last heartbeat; of workers of one kind the longest."};
  for (const auto& [worker, millis] : workers.heartbeats())
    age.samples.push_back({static_cast<double>(millis) / 1000, {{"worker", worker}}});
  const auto doubt = clock.doubt();
  metrics::Gauge ahead{"giftsync_clock_ahead_seconds",
                       "How far the system's clock jumped ahead while timers wait because of it; 0: it is "
                       "trusted.",
                       {{doubt ? static_cast<double>(doubt->ahead_millis) / 1000 : 0.0}}};
  return {std::move(age), std::move(ahead)};
}

constexpr std::int64_t kMaxQueryAgeMillis = 10'000;

}  // namespace

Application::Parts::Parts(const config::Settings& settings, TrustedClock& trusted_clock,
                          const std::string& instance_id, metrics::Metrics& metrics)
    : shared{settings, trusted_clock, instance_id, metrics},
      workers(shared),
      writer(shared.store.urgent_writes, commit_observer(metrics)),
      endpoints(shared, workers, writer),
      store_gauges(shared.settings, shared.store),
      metrics_page(
          metrics, [this] { return memory_gauges(workers, shared.trusted_clock); },
          [this] {
            // Do not add another query while the server is unresponsive.
            if (sql::oldest_store_query_millis() > kMaxQueryAgeMillis)
              throw DependencyError(true, "the store does not respond");
            return store_gauges.read(system_now());
          }) {
  shared.store.gifts.set_sending_charge(
      [this](const store::GiftRequest& request) { return shared.budgets.charge_of(request); });
  shared.store.gifts.set_frequency_rule(
      wiring::frequency_rule(settings.sending.frequency, shared.store.do_not_send),
      [this] { return shared.budgets.period_time(); });
  shared.store.gifts.set_hold_terms(wiring::hold_terms(settings.sending.approval));
  shared.store.gifts.set_test_mail(settings.test.mail_sender);
  shared.store.approver_notices.set_console(settings.console.enabled);
  shared.store.gifts.set_lifecycle_stamp(sync::terms_stamper(wiring::lifecycle_terms(settings.lifecycle),
                                                             settings.lifecycle.expire_unopened_link_days));
  wiring::open_erased_addresses(settings, shared.store);
}

void Application::Parts::stop() {
  if (std::exchange(has_stopped, true)) return;
  workers.stop();
  endpoints.close();
}

Application::Application(const config::Settings& settings, TrustedClock& trusted_clock,
                         const std::string& instance_id, metrics::Metrics& metrics)
    : parts_(std::make_unique<Parts>(settings, trusted_clock, instance_id, metrics)) {}

Application::~Application() = default;

void Application::start(const Leases& leases, std::function<void()> keep_record) {
  Parts& parts = *parts_;
  parts.shared.sending.refresh();
  parts.shared.budgets.start();
  for (const std::string& warning :
       wiring::unknown_in_rules(parts.shared.settings.sending.approval, parts.shared.store, system_now()))
    log_event(LogEvent::settings_warning, warning);
  parts.workers.start({.owner = leases.owner,
                       .daemon = leases.daemon,
                       .ended_owners = leases.ended_owners,
                       .should_yield = [&parts] { return parts.writer.is_under_load(); },
                       .maintain_endpoints = [&parts] { parts.endpoints.maintain(); },
                       .keep_record = std::move(keep_record),
                       .save_last_used = [&parts] { parts.endpoints.save_last_used(); }});
}

void Application::request_stop() {
  parts_->workers.request_stop();
}

void Application::finish_steps() {
  parts_->workers.finish();
}

void Application::stop() {
  parts_->stop();
}

http::Router& Application::router() {
  return parts_->endpoints.router();
}

http::HttpResponse Application::serve_metrics(const http::HttpRequest& request) {
  return parts_->metrics_page.handle(request);
}

bool Application::workers_alive() const {
  return parts_->workers.are_alive();
}

wiring::SecretState Application::secret_state() const {
  return parts_->workers.secret_state();
}

namespace {

handlers::GiftRequestHandlerOptions gift_request_options(SharedParts& shared) {
  handlers::GiftRequestHandlerOptions options;
  options.crm = shared.crm.get();
  options.match_fields = wiring::match_fields(shared.settings.matching);
  options.limits = wiring::gift_request_limits(shared.settings.limits);
  options.max_body_bytes = static_cast<std::size_t>(shared.settings.limits.max_body_bytes);
  options.base_url = shared.settings.server.base_url;
  options.approval_rules = wiring::approval_rules(shared.settings.sending.approval);
  return options;
}

/// Held gift requests become gifts as those that callers make.
auto held_approval_reporter(SharedParts& shared, Workers& workers) {
  return [&shared, &workers](const sync::HeldReview& review, const sync::HeldOutcome& outcome) {
    workers.wake_sync_and_delivery();
    shared.gift_log.log_request({review.held.id, outcome.gifts, "", review.held.credential_prefix},
                                system_now());
  };
}

handlers::WebhookEndpointOptions webhook_endpoint_options(SharedParts& shared) {
  const config::WebhookSettings& settings = shared.settings.webhooks;
  return {webhooks::post_options(settings.allowed_networks, settings.ca_file),
          [&shared](std::string_view text) {
            return seal_text(shared.secrets.current, store::kWebhookSecretLabel, text);
          },
          [&shared](const std::string& sealed) {
            return wiring::open_sealed_text(shared.secrets, store::kWebhookSecretLabel, sealed);
          },
          system_now};
}

handlers::HeldRequestHandlerOptions held_request_options(SharedParts& shared, Workers& workers) {
  handlers::HeldRequestHandlerOptions options;
  options.allowed_domains = shared.settings.sending.allowed_domains;
  options.allow_self_approval = shared.settings.requests.allow_self_approval;
  options.on_approved = held_approval_reporter(shared, workers);
  return options;
}

/// What would keep a request record from being sent once it is approved.
auto record_findings(SharedParts& shared) {
  return [&shared, rules = wiring::request_record_rules(shared.settings, shared.store, *shared.crm)](
             const sync::LoadedRequestRecord& record) {
    return sync::findings_when_approved(shared.store.catalogue, record, rules);
  };
}

/// An account's owner may see the own gifts.
std::vector<store::UserRole> first_roles(store::Store& store, const std::string& address) {
  const auto account = store.accounts.find_by_email(address);
  if (!account || !account->active) return {};
  return {{.role = Role::sender, .granted_by = "account", .granted_at = system_now()}};
}

/// Null when the settings do not serve it.
std::unique_ptr<identity::ProviderSignIn> make_provider_sign_in(SharedParts& shared) {
  const config::ConsoleSettings& settings = shared.settings.console;
  if (!settings.enabled || !settings.sign_in) return nullptr;
  identity::SignInPolicy policy;
  policy.plans.clear();
  for (const std::string& word : settings.sso_plans)
    if (const auto plan = plan_from_word(word)) policy.plans.insert(*plan);
  policy.first_roles = [&store = shared.store](const std::string& address) {
    return first_roles(store, address);
  };
  policy.crm_roles = [&shared](const std::string& address) { return crm_roles_of(shared, address); };
  return std::make_unique<identity::ProviderSignIn>(shared.settings.sso, shared.store, oidc::send_to_provider,
                                                    std::move(policy));
}

handlers::GiftActionOptions gift_action_options(SharedParts& shared, Workers& workers) {
  const sync::SyncRules rules = wiring::sync_rules_with_links(shared.settings, shared.links);
  handlers::GiftActionOptions options;
  options.allowed_domains = shared.settings.sending.allowed_domains;
  options.crm = shared.crm.get();
  options.rematch.match_fields = rules.match_fields;
  options.rematch.skip_unmatched = rules.skip_unmatched;
  options.rematch.tasks_enabled = rules.tasks.enabled;
  options.rematch.overwrite_corrections = true;
  options.currency = shared.settings.catalogue.currency;
  options.on_changed = [&workers] { workers.wake_sync_and_delivery(); };
  options.on_reached = [&shared](const sync::ReachedCounts& reached) {
    shared.counters.count_reached(reached);
  };
  return options;
}

console::CrmAccess crm_access(SharedParts& shared) {
  const bool is_paid = wiring::crm_capabilities(shared.settings).is_remote;
  console::CrmAccess access{shared.crm.get(), is_paid,
                            wiring::sync_rules_with_links(shared.settings, shared.links)};
  access.rules.links_since = wiring::links_since(shared.store);
  access.has_own_database = wiring::crm_capabilities(shared.settings).has_own_database;
  if (is_paid)
    access.pause = [&shared] {
      const auto org = wiring::org_status(shared.settings, shared.store, system_now());
      return org ? wiring::other_org_clause(*org) : std::string();
    };
  return access;
}

console::WebhookAccess console_webhooks(SharedParts& shared) {
  handlers::WebhookEndpointOptions options = webhook_endpoint_options(shared);
  return {std::move(options.post), std::move(options.seal), std::move(options.unseal)};
}

/// Null when the settings do not serve it.
std::unique_ptr<console::Console> make_console(SharedParts& shared, Workers& workers,
                                               identity::ProviderSignIn* sign_in) {
  if (!shared.settings.console.enabled) return nullptr;
  auto daemons = std::make_shared<store::DaemonInstances>(wiring::store_dsn(shared.settings.store));
  std::function<std::string(const std::string&)> link_token;
  if (wiring::mails_sign_in_links(shared.settings))
    link_token = [&shared](const std::string& salt) { return shared.links.sign_in_token(salt); };
  return std::make_unique<console::Console>(
      shared.store,
      console::ConsoleOptions{shared.settings.server.admin_url, shared.settings.console, system_now,
                              [daemons] { return daemons->list(); }, sign_in, &shared.settings.sso,
                              &shared.settings, [&workers] { workers.wake_request_records(); },
                              crm_access(shared), [&shared] { return attention_facts(shared); },
                              [&workers] { workers.wake_sync_and_delivery(); }, record_findings(shared),
                              std::move(link_token), wiring::sending_budget_rules(shared.settings.sending),
                              held_approval_reporter(shared, workers), console_webhooks(shared)});
}

/// A logo that has become unreadable is logged and omitted.
content::Branding branding_from(const config::PageSettings& pages) {
  std::optional<content::Logo> logo;
  if (!pages.logo.empty()) {
    auto read = content::read_logo(pages.logo);
    // The logo was valid when the settings were read; a page without it is better than none.
    if (read)
      logo = std::move(*read);
    else
      log_event(LogEvent::settings_warning,
                fmt::format("pages.logo: {}, {}; pages are shown without it", pages.logo, read.error()));
  }
  return content::make_branding(pages.company_name, pages.colour, std::move(logo));
}

}  // namespace

Endpoints::Endpoints(SharedParts& shared, Workers& workers, sync::UrgentWriter& writer)
    : shared_(shared),
      authenticator_(shared.store.credentials, system_now, shared.settings.limits.requests_per_minute,
                     shared.settings.test.enabled),
      gift_requests_(
          shared.store, writer, authenticator_, shared.links, shared.sending, gift_request_options(shared),
          [&shared, &workers](const store::CreateOutcome& made, const handlers::GiftRequestOrigin& origin) {
            workers.wake_sync_and_delivery();
            shared.gift_log.log_request(
                {made.request, made.recipients, origin.http_request_id, origin.credential_prefix},
                system_now());
          }),
      balance_(shared.budgets, shared.store.sending_usage, authenticator_,
               shared.settings.catalogue.currency),
      events_(shared.store.feed, authenticator_,
              {shared.settings.feed.enabled, shared.settings.feed.keep_days, system_now}),
      gift_reads_(
          shared.store, authenticator_,
          {shared.settings.server.base_url, shared.secrets.current, system_now, shared.settings.feed.enabled,
           shared.settings.feed.keep_days, shared.settings.catalogue.currency}),
      gift_actions_(shared.store, authenticator_, gift_action_options(shared, workers)),
      gift_pages_(shared.store, writer, shared.links, branding_from(shared.settings.pages),
                  {shared.settings.server.base_url, shared.settings.pages.language,
                   shared.settings.pages.charities, shared.settings.catalogue.low_code_threshold, system_now,
                   [&workers] { workers.wake_sync(); }, wiring::has_stop_link(shared.settings)}),
      sns_certificates_(http_get, system_now),
      status_webhooks_(workers.sources().sources(), workers.sources().ingestor(), writer,
                       workers.sources().health_monitor(),
                       {system_now, std::ref(sns_certificates_),
                        static_cast<std::size_t>(shared.settings.limits.max_body_bytes)}),
      crm_gift_requests_(shared.store, shared.crm->directory(), gift_requests_, gift_request_options(shared),
                         shared.settings.limits.requests_per_minute, wiring::crm_has_users(shared.settings)),
      request_records_(
          shared.store, *shared.crm, authenticator_, shared.links,
          {shared.settings.requests, static_cast<std::size_t>(shared.settings.limits.max_body_bytes),
           [&shared] { return shared.store.request_records.now(); },
           [&workers] { workers.wake_request_records(); }, record_findings(shared)}),
      held_requests_(shared.store, authenticator_, held_request_options(shared, workers)),
      webhook_endpoints_(shared.store, authenticator_, webhook_endpoint_options(shared)),
      outbound_messages_(shared.store, {system_now, shared.settings.limits.requests_per_minute,
                                        [&workers] { workers.wake_request_records(); }}),
      provider_sign_in_(make_provider_sign_in(shared)),
      console_(make_console(shared, workers, provider_sign_in_.get())),
      refusal_log_(system_now),
      router_(
          make_handlers(),
          [&shared] {
            // Do not add another query while the server is unresponsive.
            if (sql::oldest_store_query_millis() > kMaxQueryAgeMillis) return false;
            shared.store.check_writable();
            return true;
          },
          shared.instance_id, refusal_log_, system_now) {
  router_.set_ready_detail([&shared, is_remote = wiring::crm_capabilities(shared.settings).is_remote] {
    std::string lines;
    if (const auto doubt = shared.trusted_clock.doubt()) lines = "clock: " + describe(*doubt) + "\n";
    const auto org =
        is_remote ? wiring::org_status(shared.settings, shared.store, system_now()) : std::nullopt;
    if (!org) return lines;
    for (const wiring::OrgPause& pause : wiring::org_pauses(*org, "giftsyncctl "))
      lines += "crm: " + pause.detail + "\n";
    return lines;
  });
}

/// http/routes.cpp lists the paths.
http::Handlers Endpoints::make_handlers() {
  const auto of = [](auto method, auto& endpoint) { return std::bind_front(method, &endpoint); };
  using handlers::GiftRequestHandler;
  using handlers::RequestRecordHandler;
  using handlers::WebhookEndpointHandler;
  http::Handlers all{
      .send_by_email = of(&GiftRequestHandler::send_by_email, gift_requests_),
      .read_gift_request = of(&GiftRequestHandler::read, gift_requests_),
      .read_balance = of(&handlers::BalanceHandler::read, balance_),
      .list_events = of(&handlers::EventHandler::list, events_),
      .page = of(&pages::GiftPageHandler::handle, gift_pages_),
      .create_urls = of(&GiftRequestHandler::create_urls, gift_requests_),
      .send_from_crm = of(&handlers::CrmGiftRequestHandler::handle, crm_gift_requests_),
      .metadata = std::bind_front(&handlers::saml_metadata, std::cref(shared_.settings.sso)),
      .status_changes = of(&handlers::StatusWebhookHandler::handle, status_webhooks_),
      .create_record = of(&RequestRecordHandler::create, request_records_),
      .read_record = of(&RequestRecordHandler::read, request_records_),
      .approve_record = of(&RequestRecordHandler::approve, request_records_),
      .reject_record = of(&RequestRecordHandler::reject, request_records_),
      .outbound_message = of(&handlers::OutboundMessageHandler::handle, outbound_messages_),
      .validate_by_email = of(&GiftRequestHandler::validate_by_email, gift_requests_),
      .validate_urls = of(&GiftRequestHandler::validate_urls, gift_requests_),
      .validate_from_crm = of(&handlers::CrmGiftRequestHandler::validate, crm_gift_requests_),
      .validate_record = of(&RequestRecordHandler::validate, request_records_),
      .list_held = of(&handlers::HeldRequestHandler::list, held_requests_),
      .read_held = of(&handlers::HeldRequestHandler::read, held_requests_),
      .approve_held = of(&handlers::HeldRequestHandler::approve, held_requests_),
      .reject_held = of(&handlers::HeldRequestHandler::reject, held_requests_),
      .list_gift_requests = of(&handlers::GiftReadHandler::list_requests, gift_reads_),
      .list_gifts = of(&handlers::GiftReadHandler::list_gifts, gift_reads_),
      .read_gift = of(&handlers::GiftReadHandler::read_gift, gift_reads_),
      .read_gift_history = of(&handlers::GiftReadHandler::read_history, gift_reads_),
      .read_gift_match = of(&handlers::GiftReadHandler::read_match, gift_reads_),
      .cancel_gift = of(&handlers::GiftActionHandler::cancel, gift_actions_),
      .resend_gift = of(&handlers::GiftActionHandler::resend, gift_actions_),
      .extend_gift = of(&handlers::GiftActionHandler::extend, gift_actions_),
      .list_webhooks = of(&WebhookEndpointHandler::list, webhook_endpoints_),
      .create_webhook = of(&WebhookEndpointHandler::create, webhook_endpoints_),
      .handle_webhook = of(&WebhookEndpointHandler::handle_one, webhook_endpoints_),
      .rotate_webhook_secret = of(&WebhookEndpointHandler::rotate_secret, webhook_endpoints_),
      .test_webhook = of(&WebhookEndpointHandler::test, webhook_endpoints_),
      .replay_webhook = of(&WebhookEndpointHandler::replay, webhook_endpoints_),
      .retry_webhook = of(&WebhookEndpointHandler::retry, webhook_endpoints_),
      .enable_webhook = of(&WebhookEndpointHandler::enable, webhook_endpoints_),
      .disable_webhook = of(&WebhookEndpointHandler::disable, webhook_endpoints_),
      .list_webhook_attempts = of(&WebhookEndpointHandler::list_attempts, webhook_endpoints_),
      .list_items = of(&handlers::GiftReadHandler::list_items, gift_reads_),
      .read_item = of(&handlers::GiftReadHandler::read_item, gift_reads_),
      .may_be_status_changes = of(&handlers::StatusWebhookHandler::may_accept, status_webhooks_),
      .page_unavailable = of(&pages::GiftPageHandler::unavailable, gift_pages_),
  };
  if (console_) {
    all.console = [this](const http::HttpRequest& request, std::string_view) {
      return console_->handle(request);
    };
    if (provider_sign_in_) {
      all.sign_in_reply = [this](const http::HttpRequest& request, std::string_view) {
        return console_->provider_reply(request);
      };
    }
    all.console_unavailable = [this](const http::HttpRequest&, std::int64_t retry_after_seconds) {
      return console_->unavailable(retry_after_seconds);
    };
  }
  return all;
}

void Endpoints::maintain() {
  refusal_log_.flush();
  gift_pages_.flush_log();
  router_.log_outage_end();
  shared_.sending.refresh();
  // A clock that is ahead must not end sessions and delete audit events.
  if (const auto now = shared_.trusted_clock.now(); now && console_) console_->prune(*now);
}

void Endpoints::save_last_used() {
  authenticator_.flush_last_used();
}

void Endpoints::close() {
  try {
    save_last_used();
  } catch (const DependencyError& fault) {
    log_event(LogEvent::last_used_not_saved,
              fmt::format("could not save API-key last-used times: {}", fault.what()));
  }
}

}  // namespace giftsync::daemon
