#include "daemon/wiring/salesforce_config.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "crm/salesforce/salesforce_crm.h"
#include "daemon/config/text_checks.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/org_request_records.h"
#include "daemon/wiring/server_secret.h"
#include "platform/clock.h"
#include "platform/digest.h"
#include "platform/host_identity.h"
#include "platform/text.h"
#include "schema/store/store.h"

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

FactStorage facts_of(store::Store& store, bool shares_token) {
  FactStorage facts{
      [&store](const std::string& name) { return store.metadata(name); },
      [&store](const std::string& name, const std::string& value) { store.set_metadata(name, value); },
      [&store](const std::string& name, const std::string& value) {
        return store.set_metadata_if_absent(name, value);
      }};
  if (shares_token) return facts;
  facts.load = [&store](const std::string& name) {
    return name == salesforce::kTokenFact ? std::nullopt : store.metadata(name);
  };
  facts.save = [&store](const std::string& name, const std::string& value) {
    if (name != salesforce::kTokenFact) store.set_metadata(name, value);
  };
  return facts;
}

AccessTokens make_tokens(const config::SalesforceSettings& salesforce,
                         const std::optional<std::string>& secret, store::Store& store, HttpClient& http,
                         const KeepGoing& keep_going) {
  SignInSettings settings = sign_in_settings(salesforce);
  std::string fingerprint = sign_in_fingerprint(settings);
  return {[settings = std::move(settings), &http, keep_going](UtcMillis now) {
            return sign_in(settings, http, now, keep_going);
          },
          std::move(fingerprint), secret.value_or(""), facts_of(store, secret.has_value()), system_now};
}

salesforce::StatusLogNames status_log_names(const config::StatusLogSettings& log) {
  return {log.object, log.transaction_id, log.status, log.time};
}

/// The parts of the adapter, which is made when the first of them is used: a command that uses no CRM needs
/// no server secret.
class OrgCrm : public crm::Crm {
 public:
  OrgCrm(const config::Settings& settings, KeepGoing keep_going)
      : settings_(settings), keep_going_(std::move(keep_going)), request_records_([this] {
          crm::RequestRecords& records = *crm().request_records();
          return OrgRequestRecords::Connected{records, connection_->change_events()};
        }) {}

  crm::CrmPace pace() const override { return crm().pace(); }
  std::optional<crm::CrmUsage> usage() const override { return crm().usage(); }
  void require_spare_calls() override { crm().require_spare_calls(); }
  crm::Directory& directory() override { return crm().directory(); }
  crm::GiftRecords& gift_records() override { return crm().gift_records(); }
  crm::Tasks& tasks() override { return crm().tasks(); }
  // These are asked for at times without a use of the CRM.
  crm::RequestRecords* request_records() override {
    return org_has_request_records(settings_) ? &request_records_ : nullptr;
  }
  crm::RowReader* rows() override { return crm().rows(); }
  crm::LegacyStatusLog* legacy_status_log() override { return crm().legacy_status_log(); }

 private:
  crm::Crm& crm() const {
    const std::lock_guard lock(mutex_);
    if (crm_) return *crm_;
    connection_ = std::make_unique<OrgConnection>(settings_, keep_going_);
    salesforce::SalesforceCrmOptions options{.names = org_names(settings_.crm),
                                             .match_fields = match_fields(settings_.matching),
                                             .api_version = settings_.crm.salesforce.api_version,
                                             .governor = governor_options(settings_.crm.salesforce),
                                             .governor_storage = connection_->governor_storage(),
                                             .status_log = status_log_names(settings_.crm.status_log),
                                             .request_records = request_poll_options(),
                                             .mode_facts = connection_->facts()};
    if (settings_.crm.salesforce.mode == config::SalesforceMode::bare)
      options.bare = connection_->bare_options();
    crm_ = salesforce::make_salesforce_crm(connection_->client(), std::move(options));
    return *crm_;
  }

  std::optional<salesforce::RequestPollOptions> request_poll_options() const {
    if (!org_has_request_records(settings_)) return std::nullopt;
    return salesforce::RequestPollOptions{.facts = connection_->facts(),
                                          .pushed = pushed_events(connection_->change_events()),
                                          .is_enabled = settings_.requests.enabled};
  }

  const config::Settings settings_;
  const KeepGoing keep_going_;
  OrgRequestRecords request_records_;
  mutable std::mutex mutex_;  // guards the following
  mutable std::unique_ptr<OrgConnection> connection_;
  mutable std::unique_ptr<crm::Crm> crm_;
};

}  // namespace

salesforce::SignInOutcome sign_in_afresh(const config::Settings& settings) {
  HttpClient http(http_options(settings.crm.salesforce));
  return sign_in(sign_in_settings(settings.crm.salesforce), http, system_now());
}

OrgConnection::OrgConnection(const config::Settings& settings, KeepGoing keep_going)
    : store_(store_dsn(settings.store)),
      governor_state_(store_dsn(settings.store), salesforce::kGovernorFact),
      writer_lease_(store_dsn(settings.store), kWriterLeaseName, writer_name()),
      http_(http_options(settings.crm.salesforce)),
      tokens_(make_tokens(settings.crm.salesforce, readable_server_secret(settings, store_), store_, http_,
                          keep_going)),
      client_(http_, tokens_, std::move(keep_going)) {}

salesforce::GovernorStorage OrgConnection::governor_storage() {
  return [this](const salesforce::GovernorChange& change) { governor_state_.update(change); };
}

salesforce::BareOptions OrgConnection::bare_options() {
  salesforce::BareOptions options;
  options.lease = {[this](std::int64_t millis) {
                     const store::WriterLease::Holder holder = writer_lease_.take(millis);
                     return salesforce::LeaseHolder{holder.is_this, holder.owner, holder.remaining_millis};
                   },
                   [this](std::int64_t millis) { return writer_lease_.renew(millis); },
                   [this] { writer_lease_.release(); }};
  options.newest_versions = [this](std::span<const TransactionId> ids) {
    std::vector<std::pair<TransactionId, std::int64_t>> versions;
    for (const store::Gift& gift : store_.gifts.find(ids))
      versions.emplace_back(gift.transaction.id, gift.transaction.version);
    return versions;
  };
  return options;
}

salesforce::ApiNames org_names(const config::CrmSettings& crm) {
  salesforce::ApiNames names({.name_space = crm.name_space,
                              .objects = {crm.objects.begin(), crm.objects.end()},
                              .columns = {crm.columns.begin(), crm.columns.end()}});
  const bool is_created_by_named =
      std::any_of(crm.columns.begin(), crm.columns.end(),
                  [](const auto& column) { return ascii_lower(column.first) == "gift_record.createdbyid"; });
  if (!is_created_by_named) names.leave_out(GiftField::created_by);
  return names;
}

salesforce::GovernorOptions governor_options(const config::SalesforceSettings& salesforce) {
  return {static_cast<int>(salesforce.share), static_cast<int>(salesforce.keep_free),
          static_cast<std::size_t>(salesforce.rows_a_call)};
}

void OrgConnection::wake_crm_workers() {
  const UtcMillis now = system_now();
  store_.sync.reset_scheduled_after(now, now);
  store::wake_crm_workers(store_);
}

salesforce::FactStorage OrgConnection::facts() {
  return facts_of(store_, true);
}

bool org_has_request_records(const config::Settings& settings) {
  return settings.crm.salesforce.mode != config::SalesforceMode::bare;
}

std::unique_ptr<crm::Crm> make_org_crm(const config::Settings& settings, KeepGoing keep_going) {
  return std::make_unique<OrgCrm>(settings, std::move(keep_going));
}

std::string org_location(const config::Settings& settings) {
  return fmt::format("Salesforce ({})", settings.crm.salesforce.domain);
}

}  // namespace giftsync::wiring
