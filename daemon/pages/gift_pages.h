// daemon/pages: from a link's token to the gift's page (design 3.5). Looking changes nothing. Any thread.
#pragma once

#include <string_view>

#include "daemon/http/gift_links.h"
#include "daemon/http/http_message.h"
#include "schema/store/gift_ledger.h"

namespace giftsync::daemon {

class GiftPages {
 public:
  GiftPages(schema::GiftLedger& gifts, const GiftLinks& links) : gifts_(gifts), links_(links) {}

  /// The page of the gift that the token opens; 404 for other tokens and for
  /// gifts that were sent elsewhere, 410 for one that a newer link replaced.
  HttpResponse answer(const HttpRequest& request, std::string_view token);

 private:
  schema::GiftLedger& gifts_;
  const GiftLinks& links_;
};

}  // namespace giftsync::daemon
