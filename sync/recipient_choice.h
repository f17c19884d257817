// sync: what a recipient does on the pages of a gift (design 3.5): looks at it, accepts it, donates its
// value. Each is decided in one transaction, by what has happened to the gift so far.
#pragma once

#include <string>

#include "sync/decided_outcome.h"

namespace giftsync::sync {

/// The source of the changes that recipients make on giftsync's own pages.
inline constexpr const char* kPageSource = "page";

/// The gift was opened by a person, now. Nothing changes when it was opened before, or when its time is over:
/// that somebody looks at a gift later tells nothing about it.
schema::DecidedOutcome note_opened(schema::ChangeLog& log, schema::TransactionId gift, schema::UtcMillis now);

/// The recipient redeems or donates the gift now, which they must have opened for that: both are accepted
/// together, with whatever `hand_out` writes, or neither. Repeating does no harm: what stands is told.
Decided choose(schema::ChangeLog& log, schema::TransactionId gift, schema::Status choice,
               schema::UtcMillis now, const schema::HandOut& hand_out = {});

/// How the gift stands, everything counted that was accepted so far: also what the sync loop has not folded
/// yet.
FoldedStatus standing(schema::ChangeLog& log, const schema::RecipientTransaction& gift);

}  // namespace giftsync::sync
