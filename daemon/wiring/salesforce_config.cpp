#include "daemon/wiring/salesforce_config.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "crm/salesforce/salesforce_crm.h"
#include "daemon/config/text_checks.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/host_identity.h"
#include "daemon/wiring/server_secret.h"
#include "platform/clock.h"
#include "platform/digest.h"
#include "platform/text.h"

namespace giftsync::wiring {
namespace {

using salesforce::AccessTokens;
using salesforce::FactStorage;
using salesforce::SignInFlow;
using salesforce::SignInSettings;

constexpr const char* kWriterLeaseName = "salesforce";

/// "host, process 4711, 1f2e": admins see which one writes, and no two are the same.
std::string writer_name() {
  return fmt::format("{}, process {}, {}", host_identity(), ::getpid(), random_hex(4));
}

/// A proxy does not reach this host.
HttpClientOptions http_options(const config::SalesforceSettings& salesforce) {
  return {.bypass_proxy = config::is_loopback_host(config::host_of_url(salesforce.domain))};
}

SignInSettings sign_in_settings(const config::SalesforceSettings& salesforce) {
  SignInSettings settings{.domain = salesforce.domain,
                          .login = salesforce.login,
                          .flow = SignInFlow::client_credentials,
                          .client_id = salesforce.client_id,
                          .username = salesforce.username,
                          .private_key = {},
                          .client_secret = salesforce.client_secret.reveal()};
  if (salesforce.flow == config::SalesforceFlow::client_credentials) return settings;
  settings.flow = SignInFlow::jwt_bearer;
  auto key = SigningKey::from_pem(salesforce.private_key.reveal());
  if (!key) throw ConfigError("crm.salesforce.private_key: a key " + key.error());
  settings.private_key = std::move(*key);
  return settings;
}

FactStorage facts_of(const std::function<store::Store&()>& store, bool shares_token) {
  const auto is_stored = [shares_token](const std::string& name) {
    return shares_token || name != salesforce::kTokenFact;
  };
  return {[=](const std::string& name) { return is_stored(name) ? store().metadata(name) : std::nullopt; },
          [=](const std::string& name, const std::string& value) {
            if (is_stored(name)) store().set_metadata(name, value);
          },
          [=](const std::string& name, const std::string& value) {
            return store().set_metadata_if_absent(name, value);
          }};
}

AccessTokens make_tokens(const config::SalesforceSettings& salesforce,
                         const std::optional<ServerSecrets>& secrets, store::Store& store, HttpClient& http,
                         const KeepGoing& keep_going) {
  SignInSettings settings = sign_in_settings(salesforce);
  std::string fingerprint = sign_in_fingerprint(settings);
  return {[settings = std::move(settings), &http, keep_going](UtcMillis now) {
            return sign_in(settings, http, now, keep_going);
          },
          std::move(fingerprint),
          secrets ? secrets->current : std::string(),
          facts_of([&store]() -> store::Store& { return store; }, secrets.has_value()),
          system_now,
          secrets && secrets->former ? secrets->former->secret : std::string()};
}

salesforce::StatusLogNames status_log_names(const config::StatusLogSettings& log) {
  return {log.object, log.transaction_id, log.status, log.time};
}

}  // namespace

salesforce::SignInOutcome sign_in_afresh(const config::Settings& settings) {
  HttpClient http(http_options(settings.crm.salesforce));
  return sign_in(sign_in_settings(settings.crm.salesforce), http, system_now());
}

OrgConnection::Parts::Parts(const config::Settings& settings, HttpClient& http, const KeepGoing& keep_going)
    : store(store_dsn(settings.store)),
      governor_state(store_dsn(settings.store), salesforce::kGovernorFact),
      writer_lease(store_dsn(settings.store), kWriterLeaseName, writer_name()),
      tokens(make_tokens(settings.crm.salesforce, readable_server_secrets(settings, store), store, http,
                         keep_going)) {}

OrgConnection::OrgConnection(const config::Settings& settings, KeepGoing keep_going)
    : settings_(settings),
      keep_going_(std::move(keep_going)),
      http_(http_options(settings.crm.salesforce)),
      client_(
          http_, [this]() -> AccessTokens& { return tokens(); }, keep_going_) {}

OrgConnection::Parts& OrgConnection::parts() {
  const std::lock_guard lock(mutex_);
  if (!parts_) parts_.emplace(settings_, http_, keep_going_);
  return *parts_;
}

salesforce::GovernorStorage OrgConnection::governor_storage() {
  return [this](const salesforce::GovernorChange& change) { parts().governor_state.update(change); };
}

FactStorage OrgConnection::facts() {
  return facts_of([this]() -> store::Store& { return parts().store; }, true);
}

salesforce::PushedEvents OrgConnection::pushed_events() {
  return {[this](std::size_t limit) {
            std::vector<crm::RequestRecordEvent> pushed;
            for (store::CrmChangeEvent& event : parts().store.crm_change_events.list(limit))
              pushed.push_back({event.id, std::move(event.record_id)});
            return pushed;
          },
          [this](std::span<const std::int64_t> ids) { parts().store.crm_change_events.acknowledge(ids); },
          [this](std::span<const std::string> record_ids) {
            constexpr std::int64_t kNoToken = 0;  // no message brought these
            parts().store.crm_change_events.add(record_ids, kNoToken, system_now());
          }};
}

salesforce::BareOptions OrgConnection::bare_options() {
  salesforce::BareOptions options;
  options.lease = {[this](std::int64_t millis) {
                     const store::WriterLease::Holder holder = parts().writer_lease.take(millis);
                     return salesforce::LeaseHolder{holder.is_this, holder.owner, holder.remaining_millis};
                   },
                   [this](std::int64_t millis) { return parts().writer_lease.renew(millis); },
                   [this] { parts().writer_lease.release(); }};
  options.newest_versions = [this](std::span<const TransactionId> ids) {
    std::vector<std::pair<TransactionId, std::int64_t>> versions;
    for (const store::Gift& gift : parts().store.gifts.find(ids))
      versions.emplace_back(gift.transaction.id, gift.transaction.version);
    return versions;
  };
  return options;
}

salesforce::ApiNames org_names(const config::CrmSettings& crm) {
  salesforce::ApiNames names({.name_space = crm.name_space,
                              .objects = {crm.objects.begin(), crm.objects.end()},
                              .columns = {crm.columns.begin(), crm.columns.end()}});
  const auto is_named = [&](std::string_view field) {
    return std::any_of(crm.columns.begin(), crm.columns.end(),
                       [&](const auto& column) { return ascii_lower(column.first) == field; });
  };
  if (!is_named("gift_record.createdbyid")) names.skip_field(GiftField::created_by);
  // Another owner's package has no such field.
  if (crm.salesforce.mode == config::SalesforceMode::bare && !is_named("gift_record.utm_campaign_id"))
    names.skip_field(GiftField::utm_campaign_id);
  return names;
}

salesforce::GovernorOptions governor_options(const config::SalesforceSettings& salesforce) {
  return {static_cast<int>(salesforce.share), static_cast<int>(salesforce.keep_free),
          static_cast<std::size_t>(salesforce.rows_a_call)};
}

void OrgConnection::wake_crm_workers() {
  const UtcMillis now = system_now();
  parts().store.sync.reset_scheduled_after(now, now);
  store::wake_crm_workers(parts().store);
}

bool org_has_request_records(const config::Settings& settings) {
  return settings.crm.salesforce.mode != config::SalesforceMode::bare;
}

std::unique_ptr<crm::Crm> make_org_crm(const config::Settings& settings, KeepGoing keep_going) {
  const auto connection = std::make_shared<OrgConnection>(settings, std::move(keep_going));
  salesforce::SalesforceCrmOptions options{.names = org_names(settings.crm),
                                           .match_fields = match_fields(settings.matching),
                                           .api_version = settings.crm.salesforce.api_version,
                                           .governor = governor_options(settings.crm.salesforce),
                                           .governor_storage = connection->governor_storage(),
                                           .status_log = status_log_names(settings.crm.status_log),
                                           .mode_facts = connection->facts(),
                                           .connection = connection};
  if (org_has_request_records(settings))
    options.request_records = salesforce::RequestPollOptions{.facts = connection->facts(),
                                                             .pushed = connection->pushed_events(),
                                                             .is_enabled = settings.requests.enabled};
  else
    options.bare = connection->bare_options();
  return salesforce::make_salesforce_crm(connection->client(), std::move(options));
}

std::string org_location(const config::Settings& settings) {
  return fmt::format("Salesforce ({})", settings.crm.salesforce.domain);
}

}  // namespace giftsync::wiring
