#include "sync/access/approval_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "platform/text.h"
#include "schema/contact_normalization.h"
#include "schema/enums.h"
#include "sync/access/credential.h"
#include "sync/access/recent_recipients.h"
#include "sync/access/sending_budgets.h"

namespace giftsync::sync {
namespace {

constexpr std::size_t kMaxNamedRecipients = 100;
constexpr auto kEndpoints = enum_words<GiftEndpoint>(
    {{GiftEndpoint::email, "email"}, {GiftEndpoint::urls, "urls"}, {GiftEndpoint::crm, "crm"}});

/// Nothing for a request record. A request that is only validated may name no credential: an account's key
/// would ask.
std::optional<GiftEndpoint> endpoint_of(const store::NewGiftRequest& request) {
  const std::string& prefix = request.request.credential_prefix;
  if (request.request_record) return std::nullopt;
  if (kind_of_prefix(prefix) == CredentialKind::organization_token) return GiftEndpoint::crm;
  return request.request.mode == SendMode::urls ? GiftEndpoint::urls : GiftEndpoint::email;
}

/// Of all gifts; nothing when the item's cost is not known.
std::optional<Money> price_of(const store::NewGiftRequest& request) {
  const store::GiftCosts& costs = request.request.costs;
  return costs.item ? price_of_gifts(costs.total(), static_cast<std::int64_t>(request.recipients.size()))
                    : std::nullopt;
}

/// The conditions about who asks for what.
bool is_concerned(const ApprovalRule& rule, const store::NewGiftRequest& request) {
  const store::GiftRequest& asked = request.request;
  if (!rule.items.empty() && !rule.items.contains(asked.gift)) return false;
  if (!rule.accounts.empty() && !rule.accounts.contains(email_key(asked.sender_email))) return false;
  const auto is_named = [&](const std::string& prefix) {
    return !asked.credential_prefix.empty() && asked.credential_prefix.starts_with(prefix);
  };
  if (!rule.credentials.empty() && std::ranges::none_of(rule.credentials, is_named)) return false;
  const auto endpoint = endpoint_of(request);
  return rule.endpoints.empty() || (endpoint && rule.endpoints.contains(*endpoint));
}

/// What of the request meets the rule, as clauses, with the code of the first one; nothing when it does not
/// meet it.
std::optional<store::HoldReason> reason_of(const ApprovalRule& rule, const store::NewGiftRequest& request,
                                           const std::string& new_domain) {
  if (!is_concerned(rule, request)) return std::nullopt;
  std::vector<std::string> clauses;
  std::string code;
  const auto meets = [&](std::string_view condition, std::string clause) {
    if (code.empty()) code = condition;
    clauses.push_back(std::move(clause));
  };
  if (rule.amount_above) {
    const auto price = price_of(request);
    if (price && *price <= *rule.amount_above) return std::nullopt;
    meets("amount_above",
          price ? fmt::format("it costs {}, more than {}", to_decimal(*price), to_decimal(*rule.amount_above))
                : "its cost is not known");
  }
  if (rule.recipients_above > 0) {
    const auto recipients = static_cast<std::int64_t>(request.recipients.size());
    if (recipients <= rule.recipients_above) return std::nullopt;
    meets("recipients_above",
          fmt::format("it has {} recipients, more than {}", recipients, rule.recipients_above));
  }
  if (rule.first_gift_to_domain) {
    if (new_domain.empty()) return std::nullopt;
    meets("first_gift_to_domain", "no gift was sent to " + new_domain + " before");
  }
  if (code.empty()) code = "rule";
  return store::HoldReason{code, "",
                           clauses.empty()
                               ? fmt::format("A person has to approve it by the rule \"{}\".", rule.name)
                               : fmt::format("A person has to approve it by the rule \"{}\": {}.", rule.name,
                                             fmt::join(clauses, "; "))};
}

}  // namespace

std::string_view to_word(GiftEndpoint endpoint) {
  return kEndpoints.word_of(endpoint);
}

std::optional<GiftEndpoint> gift_endpoint_from_word(std::string_view word) {
  return kEndpoints.parse(word);
}

void add_account(ApprovalRule& rule, const std::string& address) {
  rule.accounts.insert(email_key(address));
}

bool asks_for_domains(std::span<const ApprovalRule> rules) {
  return std::ranges::any_of(rules, [](const ApprovalRule& rule) { return rule.first_gift_to_domain; });
}

std::vector<store::HoldReason> hold_reasons(std::span<const ApprovalRule> rules,
                                            const store::NewGiftRequest& request,
                                            const std::string& new_domain) {
  std::vector<store::HoldReason> reasons;
  for (const ApprovalRule& rule : rules)
    if (auto reason = reason_of(rule, request, new_domain)) reasons.push_back(std::move(*reason));
  return reasons;
}

std::vector<store::HoldReason> limit_reasons(const std::vector<store::ExceededLimit>& exceeded,
                                             const std::vector<store::RecentRecipient>& recent) {
  std::vector<store::HoldReason> reasons;
  for (std::size_t i = 0; i < std::min(recent.size(), kMaxNamedRecipients); ++i) {
    SendingFinding finding = finding_of(recent[i]);
    reasons.push_back({std::move(finding.code), fmt::format("recipients[{}].email", recent[i].place),
                       std::move(finding.message)});
  }
  if (recent.size() > kMaxNamedRecipients)
    reasons.push_back(
        {"more", "recipients",
         fmt::format("{} more recipients got too many gifts lately.", recent.size() - kMaxNamedRecipients)});
  for (const store::ExceededLimit& limit : exceeded) {
    const std::string code = limit.limit.is_burst()    ? "burst_exceeded"
                             : limit.is_cost_unknown() ? "unknown_cost"
                                                       : "budget_exceeded";
    for (std::string& sentence : describe(limit)) reasons.push_back({code, "", std::move(sentence)});
  }
  return reasons;
}

}  // namespace giftsync::sync
