// schema/store: what was done with a gift that is no status change, and what became of its former mails: by
// whom, when and why.
#pragma once

#include <string>
#include <string_view>

#include "platform/time.h"
#include "schema/ids.h"

namespace giftsync::store {

enum class GiftActionKind {
  resent,
  reminded,
  cancelled,
  extended,
  linked,
  // On the gift's mail, in the console (MailAction):
  mail_released,
  mail_withdrawn,
  mail_retried,
  // What a mail was until it was sent again, withdrawn or replaced by the next one (CON-60):
  mail_accepted,
  mail_undelivered,
  mail_uncertain,
  mail_held,
  mail_deferred,
};
std::string_view to_word(GiftActionKind kind);

struct GiftAction {
  TransactionId transaction;
  UtcMillis at;
  GiftActionKind kind = GiftActionKind::resent;
  std::string actor;
  std::string comment;          ///< readable
  bool is_readdressed = false;  ///< it changed the gift's address (CON-55)
};

}  // namespace giftsync::store
