#include "daemon/wiring/org_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <variant>

#include "crm/salesforce/org/write_mode.h"
#include "crm/salesforce/records/outbound_message.h"
#include "crm/salesforce/records/request_poll.h"
#include "daemon/wiring/components_config.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/salesforce_config.h"
#include "daemon/wiring/store_preflight.h"
#include "platform/server_certificate.h"
#include "schema/store/shared_text.h"
#include "sync/access/budget_list.h"

namespace giftsync::wiring {
namespace {

void add_refusals(const salesforce::CallGovernor& governor, UtcMillis now, OrgStatus& status) {
  using salesforce::CallPurpose;
  constexpr std::pair<CallPurpose, const char*> kRefused[] = {
      {CallPurpose::gifts, "new gift records"},
      {CallPurpose::matching, "gifts whose recipients were not looked up yet"},
      {CallPurpose::status, "changes of gift records"},
      {CallPurpose::requests, "request records"},
      {CallPurpose::tasks, "tasks"}};
  for (const auto& [purpose, what] : kRefused) {
    if (auto refusal = governor.refusal(purpose, now))
      status.refusals.push_back(
          {what, refusal->not_before, std::move(refusal->reason), std::move(refusal->next_step)});
  }
}

void add_calls(const salesforce::CallGovernor& governor, UtcMillis now, OrgStatus& status) {
  status.own_calls = governor.own_calls(now);
  status.share = governor.share();
  if (governor.limits()) {
    status.org_calls = governor.limits()->org.used;
    status.org_limit = governor.limits()->org.limit;
  }
  add_refusals(governor, now, status);
  const salesforce::CallPermit permit = governor.permit(salesforce::CallPurpose::watch, now);
  if (!permit.is_allowed) {
    status.paused_until = permit.not_before;
    status.pause_reason = permit.reason;
    status.pause_next_step = permit.next_step;
    return;
  }
  const salesforce::CallPermit share = governor.permit(salesforce::CallPurpose::requests, now);
  if (share.is_allowed || governor.refusal(salesforce::CallPurpose::requests, now)) return;
  status.share_free_at = share.not_before;
  status.share_reason = share.reason;
  status.share_next_step = share.next_step;
}

/// The last look at the org, unless the settings name other objects since.
std::optional<salesforce::ModeFinding> mode_finding(const config::Settings& settings, store::Store& store) {
  auto finding = salesforce::read_mode_finding(store.metadata(salesforce::kModeFact).value_or(""));
  if (finding && finding->names != salesforce::mode_names(org_names(settings.crm))) return std::nullopt;
  return finding;
}

std::string problem_in(const config::Settings& settings,
                       const std::optional<salesforce::ModeFinding>& finding) {
  if (!finding) return {};
  const bool is_bare = settings.crm.salesforce.mode == config::SalesforceMode::bare;
  return salesforce::write_mode(is_bare ? salesforce::OrgMode::bare : salesforce::OrgMode::guarded, *finding)
      .problem;
}

/// An problem stays known, and the org is looked at before the next write.
void age_problem(const config::Settings& settings, store::Store& store) {
  std::optional<salesforce::ModeFinding> finding = mode_finding(settings, store);
  if (problem_in(settings, finding).empty()) return;
  finding->found_at = {};
  store.set_metadata(salesforce::kModeFact, to_text(*finding));
}

}  // namespace

std::optional<OrgStatus> org_status(const config::Settings& settings, store::Store& store, UtcMillis now) {
  if (settings.crm.kind() != config::CrmKind::salesforce) return std::nullopt;
  OrgStatus status{.organization_id = store.metadata(salesforce::kOrganizationFact).value_or(""),
                   .other_organization_id = store.metadata(salesforce::kOtherOrganizationFact).value_or("")};
  salesforce::CallGovernor governor(governor_options(settings.crm.salesforce));
  governor.read_text(store.metadata(salesforce::kGovernorFact).value_or(""));
  add_calls(governor, now, status);
  status.refused_sign_in =
      salesforce::stored_refusal(store.metadata(salesforce::kSignInRefusalFact).value_or(""));
  status.write_problem = problem_in(settings, mode_finding(settings, store));
  status.messages = store.crm_change_events.backlog();
  return status;
}

std::vector<OrgPause> org_pauses(const OrgStatus& status, const std::string& program) {
  std::vector<OrgPause> pauses;
  const auto add_whole = [&](const std::string& why, std::string next_step) {
    pauses.push_back({"the CRM is paused: " + why, "paused: " + why, std::move(next_step)});
  };
  if (const std::string clause = other_org_clause(status); !clause.empty())
    add_whole(clause,
              fmt::format("correct crm.salesforce.domain and reload giftsyncd, or {}crm accept-org {}",
                          program, status.other_organization_id));
  if (status.refused_sign_in) {
    const salesforce::SignInRefusal& refusal = status.refused_sign_in->refusal;
    pauses.push_back({"Salesforce refuses the sign-in, so the CRM is paused: " + refusal.reason,
                      "paused: Salesforce refuses the sign-in: " + refusal.reason,
                      refusal.next_step + ", then systemctl reload giftsyncd"});
  }
  if (!status.write_problem.empty())
    add_whole(status.write_problem, program + "crm retry --all, once that is done: then writing goes on");
  if (status.paused_until)
    add_whole(fmt::format("no call before {}: {}", to_rfc3339(*status.paused_until), status.pause_reason),
              status.pause_next_step);
  for (const OrgStatus::Refusal& refusal : status.refusals) {
    const std::string why =
        fmt::format("{} wait until {}: {}", refusal.what, to_rfc3339(refusal.until), refusal.reason);
    pauses.push_back({why, why, refusal.next_step});
  }
  if (status.share_free_at) {
    const std::string why = fmt::format("request records, tasks and backfills wait until {}: {}",
                                        to_rfc3339(*status.share_free_at), status.share_reason);
    pauses.push_back({why, why, status.share_next_step});
  }
  return pauses;
}

std::string other_org_clause(const OrgStatus& status) {
  if (status.other_organization_id.empty()) return {};
  return fmt::format(
      "crm.salesforce.domain leads to the org {}, and the records in the store are of the org {}",
      status.other_organization_id, status.organization_id);
}

void ask_org_again(const config::Settings& settings, store::Store& store) {
  if (settings.crm.kind() != config::CrmKind::salesforce) return;
  const store::SharedText state(store_dsn(settings.store), salesforce::kGovernorFact);
  state.update([&](const std::optional<std::string>& text) {
    salesforce::CallGovernor governor(governor_options(settings.crm.salesforce));
    if (text) governor.read_text(*text);
    governor.retry_now();
    return governor.to_text();
  });
  age_problem(settings, store);
  store::wake_crm_workers(store);
}

tl::expected<OrgIdentity, std::string> find_org(const config::Settings& settings) {
  const salesforce::SignInOutcome outcome = sign_in_afresh(settings);
  if (const auto* session = std::get_if<salesforce::Session>(&outcome))
    return OrgIdentity{session->organization_id, session->user_id};
  if (const auto* refusal = std::get_if<salesforce::SignInRefusal>(&outcome))
    return tl::unexpected(
        fmt::format("Salesforce refuses the sign-in ({}); {}", refusal->reason, refusal->next_step));
  return tl::unexpected("the sign-in to Salesforce failed: " +
                        std::get<salesforce::SignInFault>(outcome).reason + "; try again later");
}

void accept_org(const config::Settings& settings, const std::string& organization_id) {
  constexpr const char* kHighestSeenIdFact = "highest_seen_transaction_id";
  store::Store store(store_dsn(settings.store));
  store.sync.forget_crm_ids();
  // The object first: without it no message of the former org adds a further event.
  for (const char* fact :
       {salesforce::kRequestObjectFact, salesforce::kRequestCampaignFact, salesforce::kRequestCursorFact,
        salesforce::kTokenFact, salesforce::kGovernorFact, salesforce::kModeFact, kHighestSeenIdFact})
    store::SharedText(store_dsn(settings.store), fact).remove();
  store.crm_change_events.clear();
  OrgConnection(settings).tokens().accept_organization(organization_id);
}

namespace {

std::vector<sync::BudgetUse> used_up_budgets(const sync::SendingBudgetRules& rules,
                                             const sync::SetBudgets& budgets, store::Store& store,
                                             UtcMillis now) {
  std::vector<sync::BudgetUse> used_up = sync::budget_uses(rules, budgets, store.sending_usage, now);
  std::optional<Money> least;
  std::erase_if(used_up, [&](const sync::BudgetUse& use) {
    const std::int64_t percent = sync::percent_used(use.limit.limits, use.used);
    if (percent < 50) return true;  // it pays once more for what it has paid
    if (percent >= 100) return false;
    if (!least) least = sync::least_cost(store.catalogue.items());
    return !sync::pays_for_no_gift(use.limit.limits, use.used, *least);
  });
  return used_up;
}

void add_budgets(const config::Settings& settings, store::Store& store, UtcMillis now,
                 sync::AttentionFacts& facts) {
  const sync::SendingBudgetRules rules = sending_budget_rules(settings.sending);
  const sync::SetBudgets budgets = store.sending_usage.budgets();
  facts.has_sending_limit = sync::has_sending_limit(rules, budgets, now);
  std::optional<sync::BudgetNames> names;  // most often none is used up
  for (const sync::BudgetUse& use : used_up_budgets(rules, budgets, store, now)) {
    if (!names) names.emplace(store);
    if (facts.used_up_budgets.size() < sync::kMaxUsedUpBudgets)
      facts.used_up_budgets.push_back({std::string(sync::to_word(*use.limit.kind)),
                                       names->name_of(use.limit.scope), use.limit, use.used});
    else
      ++facts.more_used_up_budgets;
  }
}

/// With the state "removed" for those that the settings do not have.
std::vector<store::SourceSummary> sources_of(const config::Settings& settings, store::Store& store) {
  auto sources = store.sources.list();
  for (store::SourceSummary& row : sources) {
    const bool is_removed = std::none_of(
        settings.sources.begin(), settings.sources.end(),
        [&](const config::SourceSettings& source_settings) { return source_settings.name == row.name; });
    if (!is_removed) continue;
    row.state = "removed";
    row.reason.clear();
  }
  return sources;
}

/// As the file has it: a daemon uses a changed one within seconds. Nothing for a file that this user cannot
/// read.
std::optional<sync::BadCertificate> bad_certificate(const config::TlsSettings& tls, UtcMillis now) {
  if (tls.certificate.empty()) return std::nullopt;
  const auto certificate = read_server_certificate(tls.certificate);
  const CertificateState state = certificate ? certificate->dates.state_at(now) : CertificateState::good;
  if (state == CertificateState::good) return std::nullopt;
  return sync::BadCertificate{tls.certificate, certificate->dates, state};
}

}  // namespace

std::int64_t count_used_up_budgets(const config::Settings& settings, store::Store& store, UtcMillis now) {
  const auto used_up =
      used_up_budgets(sending_budget_rules(settings.sending), store.sending_usage.budgets(), store, now);
  return static_cast<std::int64_t>(used_up.size());
}

sync::AttentionFacts attention_facts(const config::Settings& settings, store::Store& store,
                                     const store::StoreStats& stats, const std::string& program,
                                     UtcMillis now) {
  sync::AttentionFacts facts;
  facts.program = program;
  facts.mail_pauses = store.deliveries.breakers();
  facts.admin_pause = store.mail_pauses.state().pause;
  constexpr std::array kQueued{DeliveryState::queued};
  if (facts.admin_pause) facts.waiting_mails = store.deliveries.count_by_state(kQueued).front().second;
  facts.paused_credentials = store.credentials.list_paused(now);
  facts.waiting_requests = store.held.count_waiting();
  facts.webhooks = store.webhooks.list();
  facts.is_feed_on = settings.feed.enabled;
  facts.shared_replies =
      sync::shared_replies(store.deliveries.failed_mails(now - sync::kSharedReplyMillis), now);
  constexpr std::array kHeld{DeliveryState::held};
  for (const auto& [state, count] : store.deliveries.count_by_state(kHeld)) facts.held_mails += count;
  facts.sync = store.sync.counts();
  facts.rejected_records = store.sync.count_states(store::CrmSyncStatus::rejected);
  facts.backfills = store.backfill.latest_runs();
  if (const auto org = org_status(settings, store, now))
    for (const OrgPause& pause : org_pauses(*org, program))
      if (!pause.next_step.empty()) facts.crm_pauses.push_back({pause.summary, pause.next_step});
  facts.requests_in_error = stats.requests_in_error;
  facts.gifts_in_future = stats.gifts_in_future;
  facts.certificate = bad_certificate(settings.server.tls, now);
  facts.upgrade = store::background_work(store_dsn(settings.store));
  facts.full_disk = full_disk_clause(settings).value_or("");
  facts.sources = sources_of(settings, store);
  facts.codes = store.codes.counts(settings.catalogue.low_code_threshold);
  add_budgets(settings, store, now, facts);
  return facts;
}

}  // namespace giftsync::wiring
