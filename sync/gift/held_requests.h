// sync: what a person decides about a gift request that waits (GUARD-26): the facts that are shown first,
// with what speaks against sending it now, and the decision. The command line, the API and the console ask
// here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/store/store.h"

namespace giftsync::sync {

/// A waiting request as it is now.
struct HeldReview {
  store::HeldGiftRequest held;
  std::vector<store::HoldReason> reasons;       ///< why it waits, as of when it was held
  std::vector<store::HoldReason> faults;        ///< why it cannot be sent now: no approval overrides them
  std::vector<store::HoldReason> notes;         ///< what an approval overrides now (GUARD-32)
  std::optional<store::Account> account;        ///< whose request it is
  std::optional<store::GiftItem> item;          ///< as the catalogue has it now
  std::vector<store::NewRecipient> recipients;  ///< empty some time after the decision
  std::optional<std::string> utm_campaign_id;
  std::string reference;        ///< the caller's own; may be empty
  std::optional<Money> amount;  ///< of all gifts by the present prices; absent: not known
  /// 32 hex digits that change with the content, the price and the faults; not with the notes, since a budget
  /// changes with each gift.
  std::string version;
};

/// Nothing when there is no such request. Reads the store; it has notes of budgets and frequency once
/// set_sending_charge() and set_frequency_rule() were called. Throws DependencyError.
std::optional<HeldReview> review_held(store::Store& store, const std::vector<std::string>& allowed_domains,
                                      GiftRequestId id, UtcMillis now);

struct HeldDecisionAsked {
  std::string who;
  std::string comment = {};
  /// HeldReview::version that the decision may apply to; empty: any.
  std::vector<std::string> versions = {};
  store::AuditEvent audit = {};  ///< inserted with the decision; its action and object are set
};

struct HeldOutcome {
  enum class Kind {
    done,
    illegal,  ///< it waits no more: `reason` says what became of it
    changed,  ///< none of the versions applies
    faulty,   ///< an approval is impossible: `reason` has the first of the review's faults
  };
  Kind kind = Kind::done;
  std::string reason = {};
  HeldState state = HeldState::held;                    ///< after it
  std::vector<store::HoldReason> faults = {};           ///< of a faulty one
  std::vector<store::RecipientTransaction> gifts = {};  ///< of an approved one
};

/// Decides about a request that was reviewed just before. Of several decisions one counts; the others are in
/// the audit log as refused. Throws
/// DependencyError; it is not known then whether it was decided, and a repeat says so.
HeldOutcome approve_held(store::Store& store, const HeldReview& review, const HeldDecisionAsked& asked,
                         UtcMillis now);
HeldOutcome reject_held(store::Store& store, const HeldReview& review, const HeldDecisionAsked& asked,
                        UtcMillis now);

/// The audit event of a decision that was refused, by which rule and why. `event`: who asked, when and from
/// where.
store::AuditEvent refused_decision(store::AuditEvent event, const HeldReview& review, bool approves,
                                   const std::string& rule, const std::string& detail);

/// "kim@example.com: The recipient asked for no gifts on 2026-11-29.", or the message alone where it names
/// the recipient. Without the recipients the place of the field stands for the address.
std::string describe(const store::HoldReason& reason, std::span<const store::NewRecipient> recipients = {});

/// "It was rejected by ana on 2026-11-28 10:03 UTC." Of a waiting one when it ends.
std::string describe_state(const store::HeldGiftRequest& held);

}  // namespace giftsync::sync
