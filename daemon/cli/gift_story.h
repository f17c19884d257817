// daemon/cli: everything that store and CRM know of one gift, for `gift show`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/cli/installation.h"
#include "daemon/cli/json_list.h"
#include "sync/lifecycle_rules.h"

namespace giftsync::daemon {

struct ToldChange {
  schema::StatusChange change;
  std::string contradiction;  ///< empty when there is none
};

struct GiftStory {
  schema::Gift gift;
  std::optional<schema::GiftMirror> mirror;       ///< none before the first sync
  std::optional<schema::GiftRecord> record;       ///< as the CRM has it now
  std::optional<schema::DeliveryRow> delivery;    ///< none for gifts that hand out URLs (Spec 4.2)
  std::vector<ToldChange> history;                ///< by the time they occurred
  std::vector<schema::GiftAct> acts;              ///< by the time they were done
  std::optional<sync::DueOutcome> next;           ///< what a timer will do to it, unless something happens
  std::optional<sync::DueReminder> reminder;      ///< and of what it reminds before
  std::optional<schema::Donation> donation = {};  ///< where its value goes, when it was donated on the page
  bool has_code = false;                          ///< the recipient was given a code
  std::string linked_by_hand =
      {};  ///< "contact 003...": what the record shows instead of the decision; or empty
  bool is_sending_guessed = false;  ///< of an adopted gift: nobody told when it was sent
};

/// How often a mail of the gift was begun to be sent. The row's own number also counts each order of a
/// further mail, so that outcomes of the mail before are told from those of the next.
inline std::int64_t tries_of(const schema::DeliveryRow& row) {
  return row.attempt - (row.number - 1);
}

/// What the record is linked to where that is not what was decided: somebody corrected it in the CRM. Empty
/// when they agree.
std::string linked_by_hand(const schema::Crm& crm, const schema::GiftMirror& mirror,
                           const schema::GiftRecord& record);

/// Empty when the store has no such gift.
std::optional<GiftStory> gift_story(Installation& place, schema::TransactionId id);

Json story_json(const GiftStory& story);

/// For a person, in paragraphs.
void tell(const GiftStory& story, std::ostream& out);

}  // namespace giftsync::daemon
