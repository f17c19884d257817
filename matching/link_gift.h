// matching: an admin's own match of one gift, for a match that the rules got wrong (MATCH-32). It is stored
// like a decision of the rules, with who, when and why; no rematch, relink or backfill replaces it. Reads and
// writes store and CRM; throws DependencyError when one of them fails.
#pragma once

#include <string>

#include "matching/rematch.h"

namespace giftsync::matching {

struct LinkTarget {
  enum class Kind { contact, lead, none, by_rules };
  Kind kind = Kind::none;
  std::string id;  ///< of a contact or lead
};

struct LinkOrder {
  TransactionId gift;
  LinkTarget target;
  std::string actor;
  std::string reason;
};

struct LinkOutcome {
  enum class Kind {
    linked,       ///< stored, and written to the record if there is one
    already,      ///< it was linked so by an admin, or is decided by the rules; nothing changed
    to_create,    ///< stored; its record is still to be created
    unknown,      ///< there is no such gift
    undecided,    ///< the daemon has not matched it yet
    no_target,    ///< the CRM has no such contact or lead
    not_changed,  ///< `match.detail` says why; with `failed` a repetition may succeed
  };
  Kind kind = Kind::linked;
  RematchResult match{};
};

/// `rules` are those of a rematch; which gift they apply to is set here.
LinkOutcome link_gift(store::Store& store, crm::Crm& crm, RematchRules rules, LinkOrder order, UtcMillis now);

}  // namespace giftsync::matching
