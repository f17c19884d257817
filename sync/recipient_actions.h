// sync: a recipient's actions on the pages of a gift: view it, accept it, donate its value (PAGE-6, PAGE-9).
// Each is decided in one transaction from what has happened to the gift so far.
#pragma once

#include <span>
#include <string>

#include "sync/conditional_outcome.h"

namespace giftsync::sync {

/// The source of changes that recipients make on giftsync's own pages.
inline constexpr const char* kPageSource = "page";

/// A person opened the gift now. Nothing changes if it was opened before or has ended.
schema::store::Decision opened_decision(schema::TransactionId gift, platform::UtcMillis now);
schema::store::ConditionalOutcome record_opened(schema::store::ChangeLog& log, schema::TransactionId gift,
                                                platform::UtcMillis now);

/// The recipient redeems or donates the gift now. This implies that it was opened: both changes and `effect`
/// are accepted together, or none. Repeating is harmless: the current state is returned. To be called shortly
/// before the decision is made.
PendingOutcome redeem_or_donate_decision(schema::store::ChangeLog& log, schema::TransactionId gift,
                                         schema::Status choice, platform::UtcMillis now,
                                         const schema::store::TransactionEffect& effect = {});
/// The same, decided at once.
OutcomeResult redeem_or_donate(schema::store::ChangeLog& log, schema::TransactionId gift,
                               schema::Status choice, platform::UtcMillis now,
                               const schema::store::TransactionEffect& effect = {});

/// The gift's current state, including changes that the sync worker has not folded yet.
FoldedStatus current_status(schema::store::ChangeLog& log, const schema::store::RecipientTransaction& gift);
/// The same from the gift's counting changes.
FoldedStatus current_status(const schema::store::RecipientTransaction& gift,
                            std::span<const schema::store::ChangeSpan> changes);

}  // namespace giftsync::sync
