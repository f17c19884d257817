#include "wiring/org_status.h"

#include <fmt/format.h>

#include <variant>

#include "daemon/salesforce/request_object.h"
#include "daemon/salesforce/request_poll.h"
#include "daemon/salesforce/write_mode.h"
#include "schema/store/crm_wake.h"
#include "schema/store/shared_text.h"
#include "wiring/database_config.h"
#include "wiring/salesforce_config.h"

namespace giftsync::wiring {
namespace {

namespace salesforce = daemon::salesforce;

void add_calls(const salesforce::CallGovernor& governor, platform::UtcMillis now, OrgStatus& status) {
  status.own_calls = governor.own_calls(now);
  status.share = governor.share();
  if (governor.limits()) {
    status.org_calls = governor.limits()->org.used;
    status.org_limit = governor.limits()->org.limit;
  }
  const salesforce::CallPermit permit = governor.permit(salesforce::Spending::gifts, now);
  if (permit.is_allowed) return;
  status.resting_until = permit.not_before;
  status.resting_reason = permit.reason;
}

}  // namespace

std::optional<OrgStatus> org_status(const daemon::config::Settings& settings, schema::store::Store& store,
                                    platform::UtcMillis now) {
  if (settings.crm.kind() != daemon::config::CrmKind::salesforce) return std::nullopt;
  OrgStatus status{.organization_id = store.fact(salesforce::kOrganizationFact).value_or(""),
                   .other_organization_id = store.fact(salesforce::kOtherOrganizationFact).value_or("")};
  salesforce::CallGovernor governor(governor_options(settings.crm.salesforce));
  governor.read_text(store.fact(salesforce::kGovernorFact).value_or(""));
  add_calls(governor, now, status);
  status.refused_sign_in =
      salesforce::stored_refusal(store.fact(salesforce::kSignInRefusalFact).value_or(""));
  status.messages = store.crm_change_events.backlog();
  return status;
}

std::string other_org_clause(const OrgStatus& status) {
  if (status.other_organization_id.empty()) return {};
  return fmt::format(
      "crm.salesforce.domain leads to the org {}, and the records in the store are of the org {}",
      status.other_organization_id, status.organization_id);
}

void end_org_rest(const daemon::config::Settings& settings, schema::store::Store& store) {
  if (settings.crm.kind() != daemon::config::CrmKind::salesforce) return;
  const schema::store::SharedText state(store_dsn(settings.store), salesforce::kGovernorFact);
  state.update([&](const std::optional<std::string>& text) {
    salesforce::CallGovernor governor(governor_options(settings.crm.salesforce));
    if (text) governor.read_text(*text);
    governor.retry_now();
    return governor.to_text();
  });
  schema::store::wake_crm_workers(store);
}

tl::expected<OrgIdentity, std::string> find_org(const daemon::config::Settings& settings) {
  const salesforce::SignInOutcome outcome = sign_in_afresh(settings);
  if (const auto* session = std::get_if<salesforce::Session>(&outcome))
    return OrgIdentity{session->organization_id, session->user_id};
  if (const auto* refusal = std::get_if<salesforce::SignInRefusal>(&outcome))
    return tl::unexpected(
        fmt::format("Salesforce refuses the sign-in ({}); {}", refusal->reason, refusal->next_step));
  return tl::unexpected("the sign-in to Salesforce failed: " +
                        std::get<salesforce::SignInFault>(outcome).reason + "; try again later");
}

void accept_org(const daemon::config::Settings& settings, const std::string& organization_id) {
  constexpr const char* kHighestSeenIdFact = "highest_seen_transaction_id";
  schema::store::Store store(store_dsn(settings.store));
  store.sync.forget_crm_ids();
  // The object first: without it no message of the former org adds a further event.
  for (const char* fact :
       {salesforce::kRequestObjectFact, salesforce::kRequestCursorFact, salesforce::kTokenFact,
        salesforce::kGovernorFact, salesforce::kModeFact, kHighestSeenIdFact})
    schema::store::SharedText(store_dsn(settings.store), fact).remove();
  store.crm_change_events.clear();
  OrgConnection(settings).tokens().accept_organization(organization_id);
}

}  // namespace giftsync::wiring
