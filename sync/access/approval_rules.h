// sync: which gift requests wait until a person approves them (GUARD-24): those that meet all conditions of a
// rule of the settings, and those that exceed limits which hold. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/money.h"
#include "schema/store/gift/gift_requests.h"

namespace giftsync::sync {

/// Where a gift is requested.
enum class GiftEndpoint { email, urls, crm };
std::string_view to_word(GiftEndpoint endpoint);
std::optional<GiftEndpoint> gift_endpoint_from_word(std::string_view word);

/// Conditions that must all be met; one that is absent or empty is none.
struct ApprovalRule {
  std::string name = {};
  std::optional<Money> amount_above = {};  ///< of the request; a cost that is not known is above it
  std::int64_t recipients_above = 0;
  bool first_gift_to_domain = false;
  std::set<GiftId> items = {};
  std::set<std::string> accounts = {};  ///< keys of their addresses, which add_account() makes
  /// Beginnings of public prefixes.
  std::vector<std::string> credentials = {};
  std::set<GiftEndpoint> endpoints = {};
};

/// Adds the account with that address to the condition.
void add_account(ApprovalRule& rule, const std::string& address);

/// A rule needs to know whether a recipient's domain is new.
bool asks_for_domains(std::span<const ApprovalRule> rules);

/// A reason for each rule that the request meets; none: it need not wait. `new_domain`: of a recipient, to
/// which no gift was requested before; empty: there is none. A request record meets no rule that names
/// credentials or endpoints.
std::vector<store::HoldReason> hold_reasons(std::span<const ApprovalRule> rules,
                                            const store::NewGiftRequest& request,
                                            const std::string& new_domain);

/// Why a request is held that exceeds these limits: one reason for each sentence of describe(), and for each
/// of the first 100 recipients that would get too many gifts.
std::vector<store::HoldReason> limit_reasons(const std::vector<store::ExceededLimit>& exceeded,
                                             const std::vector<store::RecentRecipient>& recent);

}  // namespace giftsync::sync
