// sync: deciding anew to whom gifts belong, on an admin's command and never by itself (design 3.2). Records
// are linked anew through the port, only while they still hold what giftsync wrote; what somebody corrected
// by hand is reported. Deal Stage goes with the opportunity that it is the stage of, and is never filled, but
// for a gift that is just being sent to somebody else. Each gift is settled by itself and repeating is
// harmless, so a command that was killed is simply run again.
#pragma once

#include <string>
#include <vector>

#include "schema/crm.h"
#include "schema/store/store.h"

namespace giftsync::sync {

struct RematchRules {
  schema::MatchFields match_fields;
  bool skip_unmatched = false;  ///< matching.on_no_match: skip
  bool tasks_enabled = false;   ///< a skipped gift that gets its record gets a task
  bool follow_leads = false;    ///< move gifts of converted leads to their contacts, instead of deciding anew
  bool over_corrections =
      false;                ///< the gift was named by the admin: corrections made by hand are overwritten
  bool is_sending = false;  ///< the gift was sent to somebody else just now: Deal Stage is stamped anew
  bool dry_run = false;
};

struct Rematch {
  enum class Kind {
    unchanged,  ///< decided as before
    relinked,   ///< its record's lookups were written
    to_make,    ///< it has no record yet: the sync loop makes it
    kept,       ///< left as it is; `note` says why
    failed,     ///< the CRM or another process was in the way; again later
    gone,       ///< its record was deleted in the CRM
  };
  schema::TransactionId transaction;
  Kind kind = Kind::unchanged;
  schema::Associations from;    ///< as the record has it, or, without a record, as it was decided
  schema::Associations to;      ///< as it would be or was linked
  std::string stage_from = {};  ///< Deal Stage, as `from`
  std::string stage_to = {};    ///< another one only where it goes with its opportunity
  std::string reason;           ///< of the new decision
  std::string note;
};
std::string_view to_word(Rematch::Kind kind);
/// "contact 003..., account 001...", or "nobody".
std::string in_words(const schema::Associations& links);

/// What a record of this CRM can show of a decision: a lookup that the CRM does not have is empty in every
/// record. A written record that shows something else was corrected by hand.
schema::Associations links_shown(const schema::Crm& crm, const schema::MatchDecision& decision);

/// At most schema::kCrmBatch mirrors, as the store has them; one result each, in their order. With dry_run
/// nothing is written and `relinked` and `to_make` say what would be done.
std::vector<Rematch> rematch(schema::Store& store, schema::Crm& crm, const RematchRules& rules,
                             const std::vector<schema::GiftMirror>& mirrors, schema::UtcMillis now);

}  // namespace giftsync::sync
