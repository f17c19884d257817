#include "wiring/salesforce_config.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "daemon/config/text_checks.h"
#include "daemon/salesforce/salesforce_crm.h"
#include "platform/clock.h"
#include "platform/host_identity.h"
#include "platform/random.h"
#include "platform/text.h"
#include "schema/store/crm_wake.h"
#include "wiring/config_error.h"
#include "wiring/database_config.h"
#include "wiring/org_request_records.h"
#include "wiring/server_secret_config.h"

namespace giftsync::wiring {
namespace {

using daemon::salesforce::AccessTokens;
using daemon::salesforce::FactStorage;
using daemon::salesforce::SignInFlow;
using daemon::salesforce::SignInSettings;

constexpr const char* kWriterLeaseName = "salesforce";

/// "host, process 4711, 1f2e": admins see which one writes, and no two are the same.
std::string writer_name() {
  return fmt::format("{}, process {}, {}", platform::host_identity(), ::getpid(), platform::random_hex(4));
}

/// A proxy does not reach this host.
platform::HttpClientOptions http_options(const daemon::config::SalesforceSettings& salesforce) {
  return {.bypass_proxy = daemon::config::is_loopback_host(daemon::config::host_of_url(salesforce.domain))};
}

SignInSettings sign_in_settings(const daemon::config::SalesforceSettings& salesforce) {
  SignInSettings settings{.domain = salesforce.domain,
                          .login = salesforce.login,
                          .flow = SignInFlow::client_credentials,
                          .client_id = salesforce.client_id,
                          .username = salesforce.username,
                          .private_key = {},
                          .client_secret = salesforce.client_secret.reveal()};
  if (salesforce.flow == daemon::config::SalesforceFlow::client_credentials) return settings;
  settings.flow = SignInFlow::jwt_bearer;
  auto key = platform::SigningKey::from_pem(salesforce.private_key.reveal());
  if (!key) throw ConfigError("crm.salesforce.private_key: a key " + key.error());
  settings.private_key = std::move(*key);
  return settings;
}

FactStorage facts_of(schema::store::Store& store, bool shares_token) {
  FactStorage facts{
      [&store](const std::string& name) { return store.fact(name); },
      [&store](const std::string& name, const std::string& value) { store.set_metadata(name, value); },
      [&store](const std::string& name, const std::string& value) {
        return store.set_metadata_if_absent(name, value);
      }};
  if (shares_token) return facts;
  facts.load = [&store](const std::string& name) {
    return name == daemon::salesforce::kTokenFact ? std::nullopt : store.fact(name);
  };
  facts.save = [&store](const std::string& name, const std::string& value) {
    if (name != daemon::salesforce::kTokenFact) store.set_metadata(name, value);
  };
  return facts;
}

AccessTokens make_tokens(const daemon::config::SalesforceSettings& salesforce,
                         const std::optional<std::string>& secret, schema::store::Store& store,
                         platform::HttpClient& http, const platform::KeepGoing& keep_going) {
  SignInSettings settings = sign_in_settings(salesforce);
  std::string fingerprint = sign_in_fingerprint(settings);
  return {[settings = std::move(settings), &http, keep_going](platform::UtcMillis now) {
            return sign_in(settings, http, now, keep_going);
          },
          std::move(fingerprint), secret.value_or(""), facts_of(store, secret.has_value()),
          platform::system_now};
}

daemon::salesforce::StatusLogNames status_log_names(const daemon::config::StatusLogSettings& log) {
  return {log.object, log.transaction_id, log.status, log.time};
}

/// The parts of the adapter, which is made when the first of them is used: a command that uses no CRM needs
/// no server secret.
class OrgCrm : public schema::crm::Crm {
 public:
  OrgCrm(const daemon::config::Settings& settings, platform::KeepGoing keep_going)
      : settings_(settings), keep_going_(std::move(keep_going)), request_records_([this] {
          schema::crm::RequestRecords& records = *crm().request_records();
          return OrgRequestRecords::Connected{records, connection_->change_events()};
        }) {}

  schema::crm::CrmPace pace() const override { return crm().pace(); }
  std::optional<schema::crm::CrmUsage> usage() const override { return crm().usage(); }
  void require_spare_calls() override { crm().require_spare_calls(); }
  schema::crm::Directory& directory() override { return crm().directory(); }
  schema::crm::GiftRecords& gift_records() override { return crm().gift_records(); }
  schema::crm::Tasks& tasks() override { return crm().tasks(); }
  // These are asked for at times without a use of the CRM.
  schema::crm::RequestRecords* request_records() override {
    return org_has_request_records(settings_) ? &request_records_ : nullptr;
  }
  schema::crm::RowReader* rows() override { return crm().rows(); }
  schema::crm::LegacyStatusLog* legacy_status_log() override { return crm().legacy_status_log(); }

 private:
  schema::crm::Crm& crm() const {
    const std::lock_guard lock(mutex_);
    if (crm_) return *crm_;
    connection_ = std::make_unique<OrgConnection>(settings_, keep_going_);
    daemon::salesforce::SalesforceCrmOptions options{.names = org_names(settings_.crm),
                                                     .match_fields = match_fields(settings_.matching),
                                                     .api_version = settings_.crm.salesforce.api_version,
                                                     .governor = governor_options(settings_.crm.salesforce),
                                                     .governor_storage = connection_->governor_storage(),
                                                     .status_log = status_log_names(settings_.crm.status_log),
                                                     .request_records = request_poll_options(),
                                                     .mode_facts = connection_->facts()};
    if (settings_.crm.salesforce.mode == daemon::config::SalesforceMode::bare)
      options.bare = connection_->bare_options();
    crm_ = daemon::salesforce::make_salesforce_crm(connection_->client(), std::move(options));
    return *crm_;
  }

  std::optional<daemon::salesforce::RequestPollOptions> request_poll_options() const {
    if (!org_has_request_records(settings_)) return std::nullopt;
    return daemon::salesforce::RequestPollOptions{.facts = connection_->facts(),
                                                  .pushed = pushed_events(connection_->change_events()),
                                                  .is_enabled = settings_.requests.enabled};
  }

  const daemon::config::Settings settings_;
  const platform::KeepGoing keep_going_;
  OrgRequestRecords request_records_;
  mutable std::mutex mutex_;  // guards the following
  mutable std::unique_ptr<OrgConnection> connection_;
  mutable std::unique_ptr<schema::crm::Crm> crm_;
};

}  // namespace

daemon::salesforce::SignInOutcome sign_in_afresh(const daemon::config::Settings& settings) {
  platform::HttpClient http(http_options(settings.crm.salesforce));
  return sign_in(sign_in_settings(settings.crm.salesforce), http, platform::system_now());
}

OrgConnection::OrgConnection(const daemon::config::Settings& settings, platform::KeepGoing keep_going)
    : store_(store_dsn(settings.store)),
      governor_state_(store_dsn(settings.store), daemon::salesforce::kGovernorFact),
      writer_lease_(store_dsn(settings.store), kWriterLeaseName, writer_name()),
      http_(http_options(settings.crm.salesforce)),
      tokens_(make_tokens(settings.crm.salesforce, readable_server_secret(settings, store_), store_, http_,
                          keep_going)),
      client_(http_, tokens_, std::move(keep_going)) {}

daemon::salesforce::GovernorStorage OrgConnection::governor_storage() {
  return [this](const daemon::salesforce::GovernorChange& change) { governor_state_.update(change); };
}

daemon::salesforce::BareOptions OrgConnection::bare_options() {
  daemon::salesforce::BareOptions options;
  options.lease = {
      [this](std::int64_t millis) {
        const schema::store::WriterLease::Holder holder = writer_lease_.take(millis);
        return daemon::salesforce::LeaseHolder{holder.is_this, holder.owner, holder.remaining_millis};
      },
      [this](std::int64_t millis) { return writer_lease_.renew(millis); },
      [this] { writer_lease_.release(); }};
  options.newest_versions = [this](std::span<const schema::TransactionId> ids) {
    std::vector<std::pair<schema::TransactionId, std::int64_t>> versions;
    for (const schema::store::Gift& gift : store_.gifts.find(ids))
      versions.emplace_back(gift.transaction.id, gift.transaction.version);
    return versions;
  };
  return options;
}

daemon::salesforce::ApiNames org_names(const daemon::config::CrmSettings& crm) {
  daemon::salesforce::ApiNames names({.name_space = crm.name_space,
                                      .objects = {crm.objects.begin(), crm.objects.end()},
                                      .columns = {crm.columns.begin(), crm.columns.end()}});
  const bool is_created_by_named = std::any_of(
      crm.columns.begin(), crm.columns.end(),
      [](const auto& column) { return platform::ascii_lower(column.first) == "gift_record.createdbyid"; });
  if (!is_created_by_named) names.leave_out(schema::GiftField::created_by);
  return names;
}

daemon::salesforce::GovernorOptions governor_options(const daemon::config::SalesforceSettings& salesforce) {
  return {static_cast<int>(salesforce.share), static_cast<int>(salesforce.keep_free),
          static_cast<std::size_t>(salesforce.rows_a_call)};
}

void OrgConnection::wake_crm_workers() {
  const platform::UtcMillis now = platform::system_now();
  store_.sync.reset_scheduled_after(now, now);
  schema::store::wake_crm_workers(store_);
}

daemon::salesforce::FactStorage OrgConnection::facts() {
  return facts_of(store_, true);
}

bool org_has_request_records(const daemon::config::Settings& settings) {
  return settings.crm.salesforce.mode != daemon::config::SalesforceMode::bare;
}

std::unique_ptr<schema::crm::Crm> make_org_crm(const daemon::config::Settings& settings,
                                               platform::KeepGoing keep_going) {
  return std::make_unique<OrgCrm>(settings, std::move(keep_going));
}

std::string org_location(const daemon::config::Settings& settings) {
  return fmt::format("Salesforce ({})", settings.crm.salesforce.domain);
}

}  // namespace giftsync::wiring
