#include "daemon/validation/gift_request_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "matching/match_decision.h"
#include "platform/dependency_error.h"
#include "platform/json.h"
#include "platform/text.h"
#include "sync/access/budget_use.h"
#include "sync/access/recent_recipients.h"
#include "sync/access/sending_budgets.h"
#include "sync/gift/gift_actions.h"
#include "sync/gift/test_gifts.h"

namespace giftsync::validation {
namespace {

/// A caller does not wait for a CRM that is slow any longer.
constexpr std::int64_t kLongestLookupMillis = 3 * kSecondMillis;

using store::BudgetKind;

Json number(std::optional<std::int64_t> value) {
  return value ? Json(*value) : Json(nullptr);
}

Json amount(std::optional<Money> value) {
  return value ? Json(to_decimal(*value)) : Json(nullptr);
}

/// Of `count` gifts. Nothing if it is not known, or more than the largest amount.
std::optional<Money> price_of(std::optional<Money> of_one, std::size_t count) {
  const auto price = price_of_gifts(of_one, static_cast<std::int64_t>(count));
  return price == kMaxMoney && count > 1 ? std::nullopt : price;
}

Json price_json(std::optional<Money> of_one, std::size_t count) {
  return amount(price_of(of_one, count));
}

Json price_json(const store::GiftCosts& of_one, std::size_t count) {
  return {{"gifts", count},
          {"item_cost", price_json(of_one.item, count)},
          {"shipping_cost", price_json(of_one.shipping, count)},
          {"carbon_neutral_cost", price_json(of_one.carbon_neutral, count)},
          {"transaction_fee", price_json(of_one.transaction_fee, count)},
          {"total", price_json(of_one.total(), count)}};
}

Json issue_json(const FieldIssue& issue) {
  return {{"field", issue.field}, {"code", issue.code}, {"message", issue.message}};
}

Json issues_json(const FieldIssues& issues) {
  Json list = Json::array();
  for (const FieldIssue& issue : issues) list.push_back(issue_json(issue));
  return list;
}

std::string_view verdict_word(bool is_refused) {
  return is_refused ? "refuse" : "send";
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

/// Without the reason, which names candidates.
Json match_json(const store::MatchDecision& match) {
  const char* kind = !match.contact_id.empty() ? "contact" : !match.lead_id.empty() ? "lead" : "none";
  return {{"kind", kind},
          {"contact_id", text_or_null(match.contact_id)},
          {"account_id", text_or_null(match.account_id)},
          {"lead_id", text_or_null(match.lead_id)},
          {"opportunity_id", text_or_null(match.opportunity_id)}};
}

Json recipient_json(const RecipientVerdict& recipient) {
  Json json{{"field", recipient.field},
            {"email", recipient.email},
            {"verdict", verdict_word(!recipient.findings.empty())},
            {"findings", issues_json(recipient.findings)},
            {"warnings", Json::array()}};
  if (recipient.match) json["match"] = match_json(*recipient.match);
  return json;
}

Json budgets_json(const std::vector<store::AskedLimit>& limits) {
  Json budgets = Json::array();
  for (const store::AskedLimit& asked : limits) {
    if (asked.limit.is_burst() || asked.limit.limits.empty()) continue;
    budgets.push_back(budget_json(asked.limit, asked.used));
    budgets.back()["fits"] = !asked.is_exceeded();
  }
  return budgets;
}

/// N of a field "recipients[N].email".
std::optional<std::size_t> recipient_of(std::string_view field) {
  constexpr std::string_view kBegin = "recipients[";
  if (!field.starts_with(kBegin)) return std::nullopt;
  field.remove_prefix(kBegin.size());
  return parse_number<std::size_t>(field.substr(0, field.find(']')));
}

}  // namespace

std::string recipient_field(std::size_t index) {
  return fmt::format("recipients[{}]", index);
}

std::string email_field(std::size_t index) {
  return recipient_field(index) + ".email";
}

FieldIssue recent_gift(const store::RecentRecipient& recipient) {
  sync::SendingFinding finding = sync::finding_of(recipient);
  return {email_field(recipient.place), FieldCode::of_finding(finding.code), std::move(finding.message)};
}

void warn_of_recent_gifts(WarningList& warnings, const std::vector<store::RecentRecipient>& recipients) {
  for (const store::RecentRecipient& recipient : recipients)
    warnings.add_warning(email_field(recipient.place), "recent_gift", sync::describe(recipient));
}

FieldIssues limit_findings(const store::AskedLimit& exceeded) {
  const FieldCode code = exceeded.limit.is_burst()    ? FieldCode("key_paused")
                         : exceeded.is_cost_unknown() ? FieldCode("unknown_cost")
                                                      : FieldCode("budget_exceeded");
  FieldIssues findings;
  for (std::string& sentence : sync::describe(exceeded)) findings.push_back({"", code, std::move(sentence)});
  return findings;
}

store::NewGiftRequest draft(GiftRequestBody body, SendMode mode, const store::Account& sender,
                            const store::GiftItem& item, UtcMillis now) {
  return sync::new_gift_request({.sender = sender,
                                 .item = item,
                                 .mode = mode,
                                 .recipients = std::move(body.recipients),
                                 .utm_campaign_id = std::move(body.utm_campaign_id),
                                 .reference = std::move(body.reference)},
                                now);
}

std::vector<store::HoldReason> hold_reasons(store::GiftRequests& gifts,
                                            const std::vector<sync::ApprovalRule>& rules,
                                            const store::NewGiftRequest& request) {
  std::string new_domain;
  if (sync::asks_for_domains(rules)) {
    std::vector<store::NewRecipient> others;  // the domain of tests gets no gifts, so it stays new
    if (request.request.is_test)
      std::ranges::copy_if(request.recipients, std::back_inserter(others),
                           [](const auto& to) { return !sync::is_test_address(to.email); });
    new_domain = gifts.first_new_domain(request.request.is_test ? others : request.recipients);
  }
  std::vector<store::HoldReason> reasons = sync::hold_reasons(rules, request, std::move(new_domain));
  for (std::size_t i = 0; request.request.is_test && i < request.recipients.size(); ++i) {
    if (sync::test_outcome_of(request.recipients[i].email) == sync::TestOutcome::held)
      reasons.push_back({"test", email_field(i), "This address has each request held."});
  }
  return reasons;
}

FieldIssues test_recipient_issues(const std::vector<store::NewRecipient>& recipients, bool is_test) {
  FieldIssues issues;
  for (std::size_t i = 0; i < recipients.size(); ++i) {
    const std::string& email = recipients[i].email;
    if (!sync::is_test_address(email) || (is_test && sync::test_outcome_of(email))) continue;
    if (is_test)
      issues.push_back(
          {email_field(i), "unknown_test_recipient",
           fmt::format("{} has no outcome; before @{} one of these may stand, with or without a "
                       "+label: {}.",
                       validation::quoted(email), sync::kTestDomain, sync::test_outcome_words())});
    else
      issues.push_back({email_field(i), "test_recipient",
                        fmt::format("{} is for tests, and this key or token is live. Use a test key "
                                    "(gsk_test_...), or the recipient's address.",
                                    validation::quoted(email))});
  }
  return issues;
}

ValidatedRequest validate(store::GiftRequests& gifts, const std::vector<sync::ApprovalRule>& rules,
                          const store::NewGiftRequest& asked,
                          std::span<const std::optional<sync::SendingFinding>> findings, WarningList warnings,
                          const std::function<void(WarningList&)>& add_more) {
  ValidatedRequest validated;
  validated.costs = asked.request.costs;
  validated.hold_reasons = hold_reasons(gifts, rules, asked);
  std::vector<store::RecentRecipient> recent;
  // What a rule holds is not checked against limits.
  if (validated.hold_reasons.empty()) recent = gifts.find_beyond_frequency(asked);
  const store::FrequencyRule& rule = gifts.frequency_rule();
  if (!rule.refuses) warn_of_recent_gifts(warnings, recent);
  if (add_more) add_more(warnings);
  validated.warnings = warnings.list();
  validated.recipients.reserve(asked.recipients.size());
  for (std::size_t i = 0; i < asked.recipients.size(); ++i) {
    RecipientVerdict& verdict = validated.recipients.emplace_back(
        RecipientVerdict{recipient_field(i), asked.recipients[i].email, {}});
    if (const auto& finding = findings[i])
      verdict.findings.push_back({email_field(i), FieldCode::of_finding(finding->code), finding->message});
  }
  for (const store::RecentRecipient& recipient : recent)
    if (rule.refuses && !rule.holds)
      validated.recipients[recipient.place].findings.push_back(recent_gift(recipient));
  if (rule.holds) validated.recent = std::move(recent);
  validated.limits = gifts.ask_limits(asked.request, asked.recipients.size());
  return validated;
}

CallVerdict verdict_of(const ValidatedRequest& request) {
  CallVerdict verdict{"", {}, request.hold_reasons};
  const auto holds = [](const store::AskedLimit& limit) { return limit.limit.holds; };
  std::vector<store::ExceededLimit> exceeded;
  for (const store::AskedLimit& limit : request.limits.value_or(std::vector<store::AskedLimit>())) {
    // What a rule holds counts in a burst that pauses alone.
    const bool counts = request.hold_reasons.empty() || (limit.limit.is_burst() && !holds(limit));
    if (counts && limit.is_exceeded()) exceeded.push_back({limit});
  }
  const bool is_held_alone = request.limits && std::ranges::all_of(exceeded, holds);
  if (is_held_alone)
    for (store::HoldReason& reason : sync::limit_reasons(exceeded, request.recent))
      verdict.hold_reasons.push_back(std::move(reason));
  for (const store::ExceededLimit& limit : exceeded) {
    if (is_held_alone || (limit.limit.is_burst() && holds(limit))) continue;  // it refuses and pauses nothing
    for (FieldIssue& finding : limit_findings(limit)) verdict.findings.push_back(std::move(finding));
  }
  const bool refuses = !verdict.findings.empty() ||
                       std::ranges::any_of(request.recipients,
                                           [](const auto& recipient) { return !recipient.findings.empty(); });
  if (refuses) verdict.hold_reasons.clear();
  verdict.word = !verdict.hold_reasons.empty() ? "hold" : verdict_word(refuses);
  return verdict;
}

std::string validated_request_json(const ValidatedRequest& request) {
  const CallVerdict verdict = verdict_of(request);
  Json data{{"verdict", verdict.word},
            {"price", request.costs ? price_json(*request.costs, request.recipients.size()) : Json(nullptr)}};
  if (!verdict.hold_reasons.empty()) data["reasons"] = reasons_json(verdict.hold_reasons);
  if (request.limits) {
    data["findings"] = issues_json(verdict.findings);
    data["budgets"] = budgets_json(*request.limits);
  }
  Json recipients = Json::array();
  for (const RecipientVerdict& recipient : request.recipients)
    recipients.push_back(recipient_json(recipient));
  Json warnings = Json::array();
  for (const FieldIssue& warning : request.warnings) {
    const auto recipient = recipient_of(warning.field);
    Json& list = recipient && *recipient < recipients.size() ? recipients[*recipient]["warnings"] : warnings;
    list.push_back(issue_json(warning));
  }
  data["recipients"] = std::move(recipients);
  if (!request.match_missing.empty()) data["match_missing"] = request.match_missing;
  return json_text({{"message", "Valid. Nothing was created."},
                    {"data", std::move(data)},
                    {"warnings", std::move(warnings)}});
}

std::optional<Money> total_price(const ValidatedRequest& request) {
  return request.costs ? price_of(request.costs->total(), request.recipients.size()) : std::nullopt;
}

nlohmann::ordered_json budget_json(const store::UsageLimit& limit, const store::Usage& used) {
  const bool is_own = limit.kind == BudgetKind::account;
  Json json = {{"scope", sync::to_word(*limit.kind)}, {"period", limit.period}};
  if (is_own) {
    json["limit_gifts"] = number(limit.limits.gifts);
    json["used_gifts"] = used.gifts;
  }
  json["left_gifts"] = number(sync::gifts_left(limit.limits, used));
  if (is_own) {
    json["limit_amount"] = amount(limit.limits.amount);
    json["used_amount"] = amount(used.amount);
  }
  json["left_amount"] = amount(sync::amount_left(limit.limits, used));
  json["resets_at"] = to_rfc3339(limit.ends_at);
  return json;
}

nlohmann::ordered_json reasons_json(const std::vector<store::HoldReason>& reasons) {
  Json list = Json::array();
  for (const store::HoldReason& reason : reasons)
    list.push_back({{"field", reason.field}, {"code", reason.code}, {"message", reason.message}});
  return list;
}

namespace {

/// The decision for each of these addresses, at most kMaxMatchedRecipients, or a sentence that says why there
/// is none.
tl::expected<std::vector<store::MatchDecision>, std::string> preview_matches(
    crm::Crm& crm, const crm::MatchFields& fields, const std::vector<RecipientVerdict>& asked) {
  std::vector<crm::RecipientMatchKeys> recipients;
  for (std::size_t i = 0; i < std::min(asked.size(), kMaxMatchedRecipients); ++i)
    recipients.push_back(crm::match_keys_of(asked[i].email, "", fields.default_region));
  const ThreadCallDeadline deadline(kLongestLookupMillis);
  try {
    crm.require_spare_calls();
    return matching::match_recipients(crm.directory(), fields, recipients);
  } catch (const DependencyPause&) {
    return tl::unexpected(
        std::string("The CRM is not to be asked now: its calls are kept for gifts, or it is paused."));
  } catch (const DependencyError&) {
    return tl::unexpected(std::string("The CRM does not respond now."));
  }
}

}  // namespace

void add_matches(ValidatedRequest& validated, crm::Crm& crm, const crm::MatchFields& fields,
                 bool is_asked_for, const std::string& how_to_ask) {
  if (crm.usage() && !is_asked_for) {
    validated.match_missing = "Each call of this CRM counts. " + how_to_ask;
    return;
  }
  auto matches = preview_matches(crm, fields, validated.recipients);
  if (!matches) {
    validated.match_missing = std::move(matches.error());
    return;
  }
  for (std::size_t i = 0; i < matches->size(); ++i) validated.recipients[i].match = std::move((*matches)[i]);
  if (matches->size() < validated.recipients.size())
    validated.match_missing = fmt::format("Only the first {} recipients are matched.", matches->size());
}

}  // namespace giftsync::validation
