// sync: what an admin does to a gift by hand: send it again, and cancel it. Both are decided over everything
// that was accepted so far, under the gift's lock, so that neither a timer nor a mail that is just leaving
// comes in between; what is not possible is refused with what already happened.
#pragma once

#include <optional>
#include <string>

#include "schema/store/store.h"
#include "sync/status_rules.h"

namespace giftsync::sync {

struct Resend {
  schema::TransactionId gift;
  std::optional<std::string> email;  ///< another address: a new link, and the old one dies
  std::string who;
};

struct HandResult {
  enum class Kind {
    done,
    unknown,    ///< there is no such gift
    refused,    ///< it cannot be any more
    try_later,  ///< its mail is on its way this very moment
  };
  Kind kind = Kind::unknown;
  std::string why;        ///< a sentence, of what was not done
  FoldedStatus state;     ///< how the gift stands, with what was done
  bool is_moved = false;  ///< it went to another address: whom it belongs to is to be matched anew
  std::string moved_from;
};

/// Puts the mail of a gift into the outbox once more, under a Message-ID of its own. Only a gift that
/// giftsync mailed itself, that nobody has opened, and that is not over.
HandResult resend(schema::Store& store, const Resend& asked, schema::UtcMillis now);

/// Takes a gift back: it is refunded, its links are dead, and a mail that has not left is not sent.
HandResult cancel(schema::Store& store, schema::TransactionId gift, const std::string& who,
                  schema::UtcMillis now);

}  // namespace giftsync::sync
