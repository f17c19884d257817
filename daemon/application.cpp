#include "daemon/application.h"

#include <spdlog/spdlog.h>

#include <optional>
#include <utility>

#include "daemon/content/branding.h"
#include "daemon/group_commit_writer.h"
#include "daemon/handlers/saml_metadata_handler.h"
#include "daemon/identity/oidc/discovery.h"
#include "daemon/wiring/components_config.h"
#include "daemon/wiring/crm_config.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/org_status.h"
#include "platform/dependency_error.h"
#include "sync/gift/lifecycle.h"
#include "sync/request/request_record_step.h"

namespace giftsync::daemon {

/// Members in the order of construction; destroyed in reverse order.
struct Application::Parts {
  Parts(const config::Settings& settings, TrustedClock& trusted_clock, const std::string& instance_id);
  /// Also runs when a later step of the start failed.
  ~Parts();

  SharedParts shared;
  Workers workers;
  GroupCommitWriter writer;
  Endpoints endpoints;
};

Application::Parts::Parts(const config::Settings& settings, TrustedClock& trusted_clock,
                          const std::string& instance_id)
    : shared{settings, trusted_clock, instance_id},
      workers(shared),
      writer(shared.store.urgent_writes),
      endpoints(shared, workers, writer) {
  shared.store.gifts.set_lifecycle_stamp(sync::terms_stamper(wiring::lifecycle_terms(settings.lifecycle),
                                                             settings.lifecycle.expire_unopened_link_days));
}

Application::Parts::~Parts() {
  workers.request_stop();
  workers.stop();
  endpoints.close();
}

Application::Application(const config::Settings& settings, TrustedClock& trusted_clock,
                         const std::string& instance_id)
    : parts_(std::make_unique<Parts>(settings, trusted_clock, instance_id)) {}

Application::~Application() = default;

void Application::start(const Leases& leases, std::function<void()> keep_record) {
  Parts& parts = *parts_;
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

http::Router& Application::router() {
  return parts_->endpoints.router();
}

bool Application::workers_alive() const {
  return parts_->workers.are_alive();
}

namespace {

constexpr std::int64_t kMaxQueryAgeMillis = 10'000;

handlers::GiftRequestHandlerOptions gift_request_options(const config::LimitSettings& limits) {
  handlers::GiftRequestHandlerOptions options;
  options.limits.max_recipients = static_cast<std::size_t>(limits.max_recipients);
  options.limits.max_message_code_points = static_cast<std::size_t>(limits.message_code_points);
  options.limits.max_name_code_points = static_cast<std::size_t>(limits.name_code_points);
  options.limits.refuse_placeholders = limits.refuse_placeholders;
  options.max_body_bytes = static_cast<std::size_t>(limits.max_body_bytes);
  return options;
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

console::CrmAccess crm_access(SharedParts& shared) {
  const bool is_paid = wiring::crm_capabilities(shared.settings).is_remote;
  console::CrmAccess access{shared.crm.get(), is_paid,
                            wiring::sync_rules_with_links(shared.settings, shared.links)};
  access.has_own_database = wiring::crm_capabilities(shared.settings).has_own_database;
  if (is_paid)
    access.pause = [&shared] {
      const auto org = wiring::org_status(shared.settings, shared.store, system_now());
      return org ? wiring::other_org_clause(*org) : std::string();
    };
  return access;
}

/// Null when the settings do not serve it.
std::unique_ptr<console::Console> make_console(SharedParts& shared, Workers& workers,
                                               identity::ProviderSignIn* sign_in) {
  if (!shared.settings.console.enabled) return nullptr;
  auto daemons = std::make_shared<store::DaemonInstances>(wiring::store_dsn(shared.settings.store));
  auto check_request = [&shared, rules = wiring::request_record_rules(shared.settings, shared.store,
                                                                      *shared.crm)](const auto& record) {
    return sync::findings_when_approved(shared.store.catalogue, record, rules);
  };
  return std::make_unique<console::Console>(
      shared.store,
      console::ConsoleOptions{
          shared.settings.server.admin_url, shared.settings.console, system_now,
          [daemons] { return daemons->list(); }, sign_in, &shared.settings.sso, &shared.settings,
          [&workers] { workers.wake_request_records(); }, crm_access(shared),
          [&shared] {
            const UtcMillis now = system_now();
            const auto stats = store::store_stats(wiring::store_dsn(shared.settings.store), now, now);
            return wiring::attention_facts(shared.settings, shared.store, stats, "giftsyncctl ", now);
          },
          [&workers] { workers.wake_sync_and_delivery(); }, std::move(check_request)});
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
      spdlog::warn("pages.logo: {}, {}; pages are shown without it", pages.logo, read.error());
  }
  return content::make_branding(pages.company_name, pages.colour, std::move(logo));
}

}  // namespace

Endpoints::Endpoints(SharedParts& shared, Workers& workers, sync::UrgentWriter& writer)
    : shared_(shared),
      authenticator_(shared.store.credentials, system_now, shared.settings.limits.requests_per_minute),
      gift_requests_(
          shared.store, writer, authenticator_, shared.links, gift_request_options(shared.settings.limits),
          [&shared, &workers](const store::CreateOutcome& made, const handlers::GiftRequestOrigin& origin) {
            workers.wake_sync_and_delivery();
            shared.gift_log.log_request(
                {made.request, made.recipients, origin.http_request_id, origin.credential_prefix},
                system_now());
          }),
      gift_pages_(
          shared.store, writer, shared.links, branding_from(shared.settings.pages),
          {shared.settings.server.base_url, shared.settings.pages.language, shared.settings.pages.charities,
           shared.settings.catalogue.low_code_threshold, system_now, [&workers] { workers.wake_sync(); }}),
      sns_certificates_(http_get, system_now),
      status_webhooks_(workers.sources().sources(), workers.sources().ingestor(), writer,
                       workers.sources().health_monitor(),
                       {system_now, std::ref(sns_certificates_),
                        static_cast<std::size_t>(shared.settings.limits.max_body_bytes)}),
      crm_gift_requests_(shared.store, shared.crm->directory(), gift_requests_,
                         gift_request_options(shared.settings.limits),
                         shared.settings.limits.requests_per_minute, wiring::crm_has_users(shared.settings)),
      request_records_(
          shared.store, *shared.crm, authenticator_, shared.links,
          {shared.settings.requests, static_cast<std::size_t>(shared.settings.limits.max_body_bytes),
           [&shared] { return shared.store.request_records.now(); },
           [&workers] { workers.wake_request_records(); }}),
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
  if (!wiring::crm_capabilities(shared.settings).is_remote) return;
  router_.set_ready_detail([&shared] {
    const auto org = wiring::org_status(shared.settings, shared.store, system_now());
    std::string lines;
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
  http::Handlers all{
      .send_by_email = of(&GiftRequestHandler::send_by_email, gift_requests_),
      .read_gift_request = of(&GiftRequestHandler::read, gift_requests_),
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
    spdlog::warn("could not save API-key last-used times: {}", fault.what());
  }
}

}  // namespace giftsync::daemon
