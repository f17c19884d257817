// matching: rematching: decides again to whom gifts belong, on an admin's command only (MATCH-25, MATCH-26).
// Records are relinked through the port only while they hold what giftsync wrote; manual corrections are
// reported. Deal Stage belongs to its opportunity and is never filled in, except for a gift that is just
// being sent to another recipient. Each gift is processed independently and repeating is harmless, so an
// interrupted command can simply be run again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crm/crm.h"
#include "schema/store/store.h"

namespace giftsync::matching {

/// An admin's own match of a gift (MATCH-32).
struct AdminLink {
  store::MatchDecision decision;
  std::string actor;
  std::string reason;
};

struct RematchRules {
  crm::MatchFields match_fields;
  bool skip_unmatched = false;  ///< matching.on_no_match: skip
  bool tasks_enabled = false;   ///< a skipped gift that gets a record also gets a task
  bool follow_leads = false;  ///< move gifts of converted leads to their contacts, instead of matching again
  bool overwrite_corrections = false;  ///< the admin named the gift: manual corrections are overwritten
  bool is_sending = false;  ///< the gift was just sent to another recipient: Deal Stage is stamped again
  std::optional<AdminLink> link = std::nullopt;  ///< of the one gift, instead of matching again
  bool replaces_link = false;                    ///< an admin's link gives way to the rules again
  bool dry_run = false;
  /// Who decides again and where from, for the stored reason: "ana@example.com in the console".
  std::string by = "an admin's command";
  /// For one gift: the fingerprint() of its dry run. With another answer nothing is written.
  std::string expected = {};
  /// For one gift: inserted with the decision that is stored, or by itself when none is.
  std::optional<store::AuditEvent> audit = std::nullopt;
};

struct RematchResult {
  enum class Kind {
    unchanged,  ///< same decision as before
    relinked,   ///< its record's lookups were written
    to_create,  ///< it has no record yet; the sync worker creates it
    kept,       ///< not changed, as each gift of an erased person; `detail` says why
    failed,     ///< the CRM or another process prevented it; try again later
    not_found,  ///< its record was deleted in the CRM
  };
  TransactionId transaction;
  Kind kind = Kind::unchanged;
  Associations from;            ///< from the record, or from the decision when there is no record
  Associations to;              ///< as it would be or was linked
  std::string stage_from = {};  ///< Deal Stage, as `from`
  std::string stage_to = {};    ///< differs only if the opportunity changes
  std::string reason;           ///< of the new decision
  std::string detail;
  bool is_outdated = false;  ///< it is not what RematchRules::expected names
};
std::string_view to_word(RematchResult::Kind kind);
/// Changes with everything that a rematch would change, and with the reason.
std::string fingerprint(const RematchResult& result);
/// "contact 003..., account 001...", or "no one".
std::string describe(const Associations& links);

/// What a record of this CRM can hold of a decision: a lookup that the CRM does not have is empty in every
/// record. A written record with other values was corrected manually.
Associations visible_associations(const crm::GiftRecords& records, const store::MatchDecision& decision);

/// At most CrmPace::rows_per_read sync_states, as the store has them; one result for each, in the same order.
/// With dry_run nothing is written, and `relinked` and `to_create` say what would be done.
std::vector<RematchResult> rematch(store::Store& store, crm::Crm& crm, const RematchRules& rules,
                                   const std::vector<store::CrmSyncState>& sync_states, UtcMillis now);

/// Matches a gift again that was just sent to another address, which may belong to another contact, and
/// stamps Deal Stage. Nothing when it is not matched yet: the sync worker then matches it.
std::optional<RematchResult> rematch_readdressed(store::Store& store, crm::Crm& crm, RematchRules rules,
                                                 TransactionId gift, UtcMillis now);

}  // namespace giftsync::matching
