// schema/store: a decision about a gift, inside the caller's transaction. Included by this folder's .cpp
// files only.
#pragma once

#include "schema/sql/dsn.h"
#include "schema/store/change_log.h"

namespace soci {
class session;
}

namespace giftsync::schema::store {

/// Thrown to roll back a decision together with its partly applied effect.
struct EffectUnavailable {};

/// As ChangeLog::accept_if, except that the caller enqueues the gift of an accepted decision for the sync
/// workers; throws EffectUnavailable. `change`: the decision's, with its id.
ConditionalOutcome decide(soci::session& session, sql::Dialect dialect, const StatusChange& change,
                          const AcceptCondition& condition, const TransactionEffect& effect);

}  // namespace giftsync::schema::store
