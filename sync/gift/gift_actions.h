// sync: what is done with a gift: send, resend, cancel and extend. All but the first are decided from
// everything accepted so far, under the gift's lock, so that no timer and no mail being sent interferes. A
// refusal names what happened before.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/store/account/accounts.h"
#include "schema/store/gift/catalogue.h"
#include "schema/store/gift/gift_requests.h"
#include "schema/store/store.h"
#include "sync/status/status_rules.h"

namespace giftsync::sync {

/// What a gift's row and its mails were when they were read (API-8): each mail, fold, address and extension
/// changes it.
struct GiftVersion {
  std::int64_t version = 0;
  std::int64_t mails = 0;  ///< the number of its latest mail; 0: it has none
  friend bool operator==(const GiftVersion&, const GiftVersion&) = default;
};

struct ResendAction {
  TransactionId gift;
  std::optional<std::string>
      email;  ///< another address: the gift gets new links, the old ones become invalid
  std::string who;
  std::optional<store::AuditEvent> audit = std::nullopt;  ///< inserted with the action
  std::vector<std::string> allowed_domains = {};          ///< of the settings; empty: all (GUARD-6)
  /// What the caller saw of it, checked under the gift's lock; nothing: it is not compared.
  std::optional<GiftVersion> seen = std::nullopt;
};

struct ExtendAction {
  TransactionId gift;
  UtcMillis until;  ///< not before its present expiry
  std::string who;
  std::optional<store::AuditEvent> audit = std::nullopt;  ///< inserted with the action
};

struct ActionResult {
  enum class Kind {
    done,
    unknown,    ///< there is no such gift
    refused,    ///< the gift's state does not allow it
    try_later,  ///< its mail is being sent; try again later
    already,    ///< what was asked for holds already; nothing was changed
    outdated,   ///< it is not as it was seen; nothing was changed
  };
  Kind kind = Kind::unknown;
  std::string reason;           ///< a sentence that says why it was not done
  FoldedStatus state;           ///< the gift's state afterwards
  bool is_readdressed = false;  ///< it was sent to another address and has to be matched again
  std::string previous_email;
};

/// Why the gift cannot be mailed again, to its address or to another one; nothing when it can. Pure: resend()
/// decides by it under the gift's lock.
std::optional<ActionResult> resend_problem(const store::MailContext& view, bool to_other_address);

/// Why no gift is mailed again to this address: its domain is not allowed (GUARD-6), or it is listed
/// (GUARD-1). A gift's own address may be listed as bounced, since the mailbox may work again; another one
/// may not be listed at all. Empty when it can be. Reads the store.
std::string address_problem(store::DoNotSend& list, std::span<const std::string> allowed_domains,
                            const std::string& email, bool is_other_address, UtcMillis now);

/// Why the gift cannot be cancelled; empty when it can. Pure: cancel() decides the same under its lock.
std::string cancel_problem(const store::MailContext& view);

/// Why the gift's record is not tried now on demand; empty when it rests and can be. `wait`: of the sync
/// queue; `state`: of the record, none before the first sync.
std::string retry_problem(const std::optional<store::SyncWait>& wait,
                          const std::optional<store::CrmSyncStatus>& state, UtcMillis now);
/// The same, read from the store.
std::string retry_problem(store::SyncQueue& queue, TransactionId gift, UtcMillis now);

/// Enqueues the gift's mail again, with a new Message-ID. Only for a gift that giftsync mailed itself, that
/// is not opened and has not ended, and only to an address without an address_problem().
ActionResult resend(store::Store& store, const ResendAction& action, UtcMillis now);

/// Cancels a gift: it is refunded, its links become invalid, and a mail that is still queued is not sent.
ActionResult cancel(store::ChangeLog& changes, store::LifecycleStore& lifecycle, TransactionId gift,
                    const std::string& who, UtcMillis now,
                    const std::optional<store::AuditEvent>& audit = {});

/// How far behind the expiry that its terms give a gift can be extended.
inline constexpr std::int64_t kMostExtensionMillis = 365 * kDayMillis;

/// Moves the expiry of a gift that giftsync sent and that has not ended, and its timer with it (LIFE-23). The
/// refund of an undelivered gift stays.
ActionResult extend(store::Store& store, const ExtendAction& action, UtcMillis now);

// A recipient's actions on the pages of a gift: view it, accept it, donate its value (PAGE-6, PAGE-9).
// Each is decided in one transaction from what has happened to the gift so far.

/// The source of changes that recipients make on giftsync's own pages.
inline constexpr const char* kPageSource = "page";

/// A person opened the gift now. Nothing changes if it was opened before or has ended.
store::Decision opened_decision(TransactionId gift, UtcMillis now);
store::ConditionalOutcome record_opened(store::ChangeLog& log, TransactionId gift, UtcMillis now);

/// The recipient redeems or donates the gift now. This implies that it was opened: both changes and `effect`
/// are accepted together, or none. Repeating is harmless: the current state is returned. To be called shortly
/// before the decision is made.
PendingOutcome redeem_or_donate_decision(store::ChangeLog& log, TransactionId gift, Status choice,
                                         UtcMillis now, const store::TransactionEffect& effect = {});
/// The same, decided at once.
OutcomeResult redeem_or_donate(store::ChangeLog& log, TransactionId gift, Status choice, UtcMillis now,
                               const store::TransactionEffect& effect = {});

/// The gift's current state, including changes that the sync worker has not folded yet.
FoldedStatus current_status(store::ChangeLog& log, const store::RecipientTransaction& gift);
/// The same from the gift's counting changes.
FoldedStatus current_status(const store::RecipientTransaction& gift,
                            std::span<const store::ChangeSpan> changes);

// The gift request that one caller asks for, built from its parts. Endpoints A and B, the CRM's sending
// interface and request records all use it. Pure.

struct GiftToSend {
  const store::Account& sender;
  const store::GiftItem& item;  ///< stored as a snapshot: later edits of the catalogue do not change it
  SendMode mode = SendMode::email;
  std::vector<store::NewRecipient> recipients;
  std::string triggered_by = {};       ///< CRM user id; empty: the sender
  std::string credential_prefix = {};  ///< of the API key or organization token; empty: a request record
  std::string http_request_id = {};    ///< the Request-Id of the call; empty: a request record
  std::optional<std::string> utm_campaign_id = std::nullopt;
  std::string reference = {};   ///< the caller's own; may be empty
  std::string warnings = "[]";  ///< JSON array, returned with a replay
  std::optional<store::IdempotencyKey> idempotency = std::nullopt;
  std::optional<store::RequestRecordLink> request_record = std::nullopt;
};

store::NewGiftRequest new_gift_request(GiftToSend gift, UtcMillis now);

}  // namespace giftsync::sync
