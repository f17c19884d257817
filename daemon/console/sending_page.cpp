// How much is sent and what stops it: budgets, paused keys and tokens, and the pause of all mail (CON-67).
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <span>

#include "daemon/console/access.h"
#include "daemon/console/pages.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "sync/access/budget_list.h"
#include "sync/access/credential.h"
#include "sync/access/credential_changes.h"
#include "sync/attention.h"
#include "sync/mail/delivery_rules.h"

namespace giftsync::console {
namespace {

using store::BudgetLimits;
using store::Credential;
using sync::ListedBudget;

constexpr std::string_view kPath = "/sending";
/// Of accounts and organizations without a limit of their own, for each period.
constexpr std::size_t kMostOfKind = 10;
constexpr std::size_t kMaxBudgets = 40;

/// The scopes of the viewer's organization and its accounts.
std::set<std::string> scopes_of(store::Store& store, OrganizationId organization) {
  std::set<std::string> scopes{store::usage_scope(store::BudgetKind::organization, organization.value)};
  for (const store::Account& account : store.accounts.list())
    if (account.organization == organization)
      scopes.insert(store::usage_scope(store::BudgetKind::account, account.id.value));
  return scopes;
}

/// Those that the viewer sees, kMaxBudgets at most.
sync::BudgetList budgets_of(const PageCall& call) {
  const auto& organization = call.viewer().organization;
  const std::size_t most = organization ? std::numeric_limits<std::size_t>::max() : kMostOfKind;
  sync::BudgetList list =
      sync::listed_budgets(call.console.options.budget_rules, call.store(), call.now, most);
  if (organization) {
    const auto seen = scopes_of(call.store(), *organization);
    std::erase_if(list.rows, [&](const ListedBudget& row) {
      return !row.is_of_each && !seen.contains(row.limit.scope);
    });
  }
  if (list.rows.size() > kMaxBudgets) {
    list.omitted += list.rows.size() - kMaxBudgets;
    list.rows.resize(kMaxBudgets);
  }
  return list;
}

/// "17 of 200, 183 left".
std::string use_text(const std::string& used, const std::string& limit, const std::string& left) {
  if (used.empty()) return texts().text("budget_uncounted", {{"limit", limit}});
  return texts().text("budget_use", {{"used", used}, {"limit", limit}, {"left", left}});
}

/// Empty without a limit.
std::string gifts_text(const ListedBudget& budget) {
  const BudgetLimits& limits = budget.limit.limits;
  if (!limits.gifts) return {};
  if (!budget.used) return use_text("", std::to_string(*limits.gifts), "");
  return use_text(std::to_string(budget.used->gifts), std::to_string(*limits.gifts),
                  std::to_string(*sync::gifts_left(limits, *budget.used)));
}

std::string amount_text(const PageCall& call, const ListedBudget& budget) {
  const BudgetLimits& limits = budget.limit.limits;
  if (!limits.amount) return {};
  if (!budget.used) return use_text("", amount_on_page(call, limits.amount), "");
  return use_text(amount_on_page(call, budget.used->amount), amount_on_page(call, limits.amount),
                  amount_on_page(call, sync::amount_left(limits, *budget.used)));
}

/// The command that sets the limits as they are, to be edited; empty where there is no scope to name.
std::string command_of(const ListedBudget& budget) {
  if (budget.is_of_each) return {};
  const std::string_view kind = sync::to_word(*budget.limit.kind);
  const std::string_view period = sync::is_month(budget.limit) ? "month" : "day";
  const BudgetLimits& limits = budget.limit.limits;
  std::string command = fmt::format("giftsyncctl budget set {}{}{}", kind, budget.name.empty() ? "" : " ",
                                    budget.name.empty() ? std::string() : shell_word(budget.name));
  if (limits.gifts) command += fmt::format(" --{}-gifts {}", period, *limits.gifts);
  if (limits.amount || !limits.gifts)
    command += fmt::format(" --{}-amount {}", period, to_decimal(limits.amount.value_or(Money{})));
  return command;
}

/// The bar of what is used. A meter whose best value is 0 is amber above `low` and red above `high`, which is
/// 99: from the first percentage that is warned of, and once it is used up.
Data bar_data(const ListedBudget& budget, const std::vector<std::int64_t>& warn_at) {
  constexpr std::int64_t kUsedUp = 100;
  const std::int64_t percent = sync::percent_used(budget.limit.limits, *budget.used);
  const std::int64_t warned = warn_at.empty() ? kUsedUp : warn_at.front();
  Data bar;
  bar.set("percent", std::to_string(percent));
  bar.set("shown", std::to_string(std::min(percent, kUsedUp)));
  bar.set("low", std::to_string(warned - 1));
  bar.set("is_used_up", percent >= kUsedUp);
  return bar;
}

Data budget_data(const PageCall& call, const ListedBudget& budget, const std::vector<std::int64_t>& warn_at,
                 bool shows_command) {
  Data row;
  const std::string kind(sync::to_word(*budget.limit.kind));
  row.set("scope", texts().text((budget.is_of_each ? "budget_each_" : "budget_of_") + kind));
  set_address(row, "name", budget.name);
  row.set("period", budget.limit.period);
  set_text(row, "gifts", gifts_text(budget));
  set_text(row, "amount", amount_text(call, budget));
  row.set("from", texts().text(budget.is_set ? "budget_is_set" : "budget_of_settings"));
  row.set("resets", time_data(budget.limit.ends_at));
  if (budget.used && !budget.limit.limits.empty()) {
    row.set("bar", bar_data(budget, warn_at));
  } else if (budget.limit.limits.empty()) {
    row.set("is_free", true);
  }
  if (shows_command) set_text(row, "command", command_of(budget));
  return row;
}

/// The paused keys and tokens that the viewer sees and that would send again after a release.
std::vector<Credential> paused_of(const PageCall& call) {
  std::vector<Credential> paused;
  for (const CredentialKind kind : {CredentialKind::api_key, CredentialKind::organization_token})
    for (Credential& credential : call.store().credentials.list(call.viewer(), kind))
      if (sync::state_of(credential, call.now) == sync::CredentialState::paused)
        paused.push_back(std::move(credential));
  return paused;
}

Data paused_data(const PageCall& call, const Credential& credential, bool may_release) {
  const bool is_key = credential.kind == CredentialKind::api_key;
  Data row;
  row.set("prefix", credential.prefix);
  row.set("kind", texts().text(is_key ? "sending_key" : "sending_token"));
  row.set("owner", credential.owner);
  row.set("since", time_data(*credential.paused_at));
  set_text(row, "reason", shown_text(call.viewer(), credential.pause_reason));
  if (may_release)
    row.set("release", release_form(call,
                                    (is_key ? "/keys/" : std::string(kPath) + "/tokens/") +
                                        std::to_string(credential.id.value) + "/release",
                                    *credential.paused_at));
  return row;
}

/// The pause of all mail with the form that ends it, or the form that begins one; for viewers of all
/// organizations.
void add_mail_pause(Data& data, const PageCall& call, bool may_change) {
  const auto pause = call.store().mail_pauses.state().pause;
  data.set("sees_mail", true);
  if (!pause) {
    if (may_change) data.set("pause_mail", form_data(call, std::string(kPath) + "/pause"));
    return;
  }
  Data shown;
  shown.set("text", shown_text(call.viewer(), sync::describe(*pause)));
  if (may_change) shown.set("resume", release_form(call, std::string(kPath) + "/resume", pause->since));
  data.set("mail_pause", shown);
}

http::HttpResponse redirect_to_page(const PageCall& call, const std::string& notice) {
  return redirect_with_notice(call, std::string(kPath), notice);
}

}  // namespace

http::HttpResponse sending_page(const PageCall& call) {
  const store::Viewer& viewer = call.viewer();
  const bool is_new = has_new_proof(call);
  const bool may_release = may(viewer.roles, Permission::manage_keys);
  const bool may_pause = sees_installation(viewer) && may(viewer.roles, Permission::pause_mail);
  Data data;
  const sync::BudgetList budgets = budgets_of(call);
  const bool shows_commands = sees_installation(viewer) && !viewer.is_masked();
  set_list(data, "budgets", list_of(budgets.rows, [&](const ListedBudget& budget) {
             return budget_data(call, budget, call.console.options.budget_rules.warn_at, shows_commands);
           }));
  if (budgets.omitted > 0)
    data.set("omitted", texts().text("budgets_omitted", {{"count", std::to_string(budgets.omitted)}}));
  data.set("shows_commands", shows_commands);
  if (sees_installation(viewer)) {
    data.set("unlimited", !sync::has_sending_limit(call.console.options.budget_rules,
                                                   call.store().sending_usage.budgets(), call.now));
    add_mail_pause(data, call, may_pause && is_new);
  }
  const std::vector<Credential> paused = paused_of(call);
  const std::span shown = std::span(paused).first(std::min(paused.size(), kRowsWithForms));
  if (paused.size() > shown.size())
    data.set("more_paused",
             texts().text("sending_more_paused", {{"count", std::to_string(paused.size() - shown.size())}}));
  set_list(data, "paused", list_of(shown, [&](const Credential& credential) {
             return paused_data(call, credential, may_release && is_new);
           }));
  const bool needs_proof = !is_new && ((may_release && !paused.empty()) || may_pause);
  if (needs_proof) data.set("proof", new_proof_data(call, std::string(kPath)));
  http::HttpResponse response = page(call, "sending", texts().text("sending"), std::move(data));
  if (!needs_proof) return response;
  return with_return_to(call.url(), std::move(response), url_of(call, std::string(kPath)));
}

http::HttpResponse release_token(const PageCall& call) {
  const auto number = parse_number<std::int64_t>(call.parameter);
  for (const Credential& token :
       call.store().credentials.list(call.viewer(), CredentialKind::organization_token)) {
    if (!number || token.id.value != *number) continue;
    store::AuditEvent event = event_of(call, "organization.release-token", "organization", token.owner);
    event.detail = "token " + token.prefix;
    event.organization = token.organization;
    const bool is_done =
        is_pause_of_form(call, token.paused_at) &&
        sync::release_credential(call.store(), token, call.now, event) == sync::CredentialChange::done;
    return redirect_to_page(call, is_done ? "token_released" : "token_unchanged");
  }
  return not_found(call);
}

/// As "giftsyncctl mail pause" does.
http::HttpResponse pause_mail(const PageCall& call) {
  if (!sees_installation(call.viewer())) return not_found(call);
  const std::string reason(trimmed(field(call.form, "reason")));
  if (!sync::is_plain_reason(reason)) return redirect_to_page(call, "key_bad_reason");
  store::AuditEvent event = event_of(call, "mail.pause", "mail");
  event.detail = reason;
  const bool is_done = call.store().mail_pauses.begin({call.now, call.by->user.email, reason}, event);
  return redirect_to_page(call, is_done ? "mail_paused" : "mail_already_paused");
}

/// As "giftsyncctl mail resume" does.
http::HttpResponse resume_mail(const PageCall& call) {
  if (!sees_installation(call.viewer())) return not_found(call);
  if (field(call.form, "confirm") != "1") return redirect_to_page(call, "not_confirmed");
  const auto pause = call.store().mail_pauses.state().pause;
  const bool is_done =
      pause && is_pause_of_form(call, pause->since) &&
      call.store().mail_pauses.end(call.now, event_of(call, "mail.resume", "mail"), pause->since);
  if (is_done) call.console.options.wake_workers();
  return redirect_to_page(call, is_done ? "mail_resumed" : "mail_not_paused");
}

}  // namespace giftsync::console
