// daemon/validation: what a gift request would do now (VALID-2): the verdict of the sending policy on each
// recipient, the price, the matches and the warnings. Nothing is written. The API's calls that only validate
// and `gift validate` answer with it, and the calls that send make their gift request by draft().
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crm/crm.h"
#include "daemon/validation/gift_request_body.h"
#include "daemon/validation/json_body.h"
#include "schema/store/account/accounts.h"
#include "schema/store/gift/catalogue.h"
#include "schema/store/gift/held_gift_requests.h"
#include "schema/store/gift/recipient_frequency.h"
#include "schema/store/gift/sending_usage.h"
#include "schema/store/gift/sync_queue.h"
#include "sync/access/approval_rules.h"
#include "sync/access/sending_policy.h"

namespace giftsync::validation {

/// What the real call would do with one recipient.
struct RecipientVerdict {
  std::string field;  ///< "recipients[3]"
  std::string email;  ///< as sent; may be empty in a request record
  /// Why nothing would be sent there; empty: a gift would be.
  FieldIssues findings;
  std::optional<store::MatchDecision> match = {};
};

struct ValidatedRequest {
  /// Of one gift; absent when it is not known which item it is.
  std::optional<store::GiftCosts> costs;
  std::vector<RecipientVerdict> recipients;
  /// Of all recipients; each is listed at its own.
  FieldIssues warnings;
  /// The budgets and the burst that the call would count in; absent for a request record, which counts when
  /// it is sent.
  std::optional<std::vector<store::AskedLimit>> limits = {};
  /// Why recipients have no match, as sentences; empty when all have one.
  std::string match_missing = {};
  /// Why a rule lets the call wait for a person; empty: none does.
  std::vector<store::HoldReason> hold_reasons = {};
  /// The recipients for whom it waits, since they got many gifts lately.
  std::vector<store::RecentRecipient> recent = {};
};

/// "recipients[3]", "recipients[3].email".
std::string recipient_field(std::size_t index);
std::string email_field(std::size_t index);

/// GUARD-19.
FieldIssue recent_gift(const store::RecentRecipient& recipient);
void warn_of_recent_gifts(WarningList& warnings, const std::vector<store::RecentRecipient>& recipients);
/// One for each value of a limit that the request passes (GUARD-12, GUARD-15).
FieldIssues limit_findings(const store::AskedLimit& exceeded);

/// What is made of a checked body; whose credential and call it is, is added by the caller.
store::NewGiftRequest draft(GiftRequestBody body, SendMode mode, const store::Account& sender,
                            const store::GiftItem& item, UtcMillis now);

/// Why the request waits for a person whatever the budgets say (GUARD-24). Reads the store.
std::vector<store::HoldReason> hold_reasons(store::GiftRequests& gifts,
                                            const std::vector<sync::ApprovalRule>& rules,
                                            const store::NewGiftRequest& request);

/// The faults of recipients that are for tests (TEST-4): of a live call all of them, since it comes from a
/// program that believes that it is testing; of a test call those without an outcome.
FieldIssues test_recipient_issues(const std::vector<store::NewRecipient>& recipients, bool is_test);

/// What the real call would do with the request, but for matches. Reads the store. `findings`: of the
/// sending policy, one for each recipient. `warnings`: of the body; `add_more` adds what only the caller
/// knows. The store has the rules of budgets and frequency.
ValidatedRequest validate(store::GiftRequests& gifts, const std::vector<sync::ApprovalRule>& rules,
                          const store::NewGiftRequest& asked,
                          std::span<const std::optional<sync::SendingFinding>> findings, WarningList warnings,
                          const std::function<void(WarningList&)>& add_more = {});

/// The parts of a verdict, as its JSON names them.
struct CallVerdict {
  std::string word;                             ///< "send", "hold", "refuse"
  FieldIssues findings;                         ///< why the call itself is refused, not a recipient
  std::vector<store::HoldReason> hold_reasons;  ///< of "hold"
};

/// "refuse" when the call or one recipient is refused, since the real call creates all gifts or none; else
/// "hold" when it waits for a person.
CallVerdict verdict_of(const ValidatedRequest& request);

/// {message, data: {verdict, price, findings, budgets, recipients: [...]}, warnings}; `reasons` of a "hold".
std::string validated_request_json(const ValidatedRequest& request);

/// The total price of all recipients; nothing if it is not known, or more than the largest amount.
std::optional<Money> total_price(const ValidatedRequest& request);

/// What a caller may know of a budget: others share those of the organization and the installation, so of
/// these what is left alone.
nlohmann::ordered_json budget_json(const store::UsageLimit& limit, const store::Usage& used);
nlohmann::ordered_json reasons_json(const std::vector<store::HoldReason>& reasons);

// To whom the gifts would be matched now (VALID-4).

/// So many recipients of a call are matched, in one lookup.
inline constexpr std::size_t kMaxMatchedRecipients = 50;

/// Adds the matches of the first recipients, or a sentence that says why there are none. A CRM that counts
/// its calls is asked only if `is_asked_for`, while it has calls to spare; `how_to_ask` says how to.
void add_matches(ValidatedRequest& validated, crm::Crm& crm, const crm::MatchFields& fields,
                 bool is_asked_for, const std::string& how_to_ask);

}  // namespace giftsync::validation
