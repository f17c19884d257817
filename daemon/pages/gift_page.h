// daemon/pages: the page behind a gift's link, made from web/page.html.mustache and web/page.css. It shows
// the gift and says what is possible with it. A page is one answer: no script, no second request, nothing
// that a cache may keep. What senders and recipients wrote is escaped and set apart, so that it is text and
// nothing else. Pure.
#pragma once

#include <string>
#include <vector>

#include "daemon/http/http_message.h"
#include "schema/ids.h"
#include "schema/time.h"
#include "schema/words.h"

namespace giftsync::daemon {

/// Which of a gift's links was followed (design 3.5).
enum class GiftPageKind {
  redeem,  ///< the recipient's link for accepting the gift
  donate,  ///< the recipient's link for giving its value to charity
  view,    ///< the CRM record's link, for the sender's colleagues: status, nothing to decide
};

struct StatusMoment {
  schema::Status status = schema::Status::sent;
  schema::UtcMillis at;
};

struct GiftPageFacts {
  GiftPageKind kind = GiftPageKind::redeem;
  std::string sender_name;      ///< or address; empty: "Someone"
  std::string recipient_name;   ///< may be empty
  std::string recipient_email;  ///< shown on the view page only
  std::string message;          ///< line ends \n, \r\n or \r are kept
  std::string item_name;
  std::string item_description;  ///< may be empty
  std::string other_url;  ///< redeem: the donation link; donate: the redemption link; empty: not offered
  schema::Status status = schema::Status::sent;
  std::vector<StatusMoment> history;  ///< shown on the view page only, in this order
  schema::TransactionId transaction;  ///< shown on the view page only
};

/// 200 with the gift.
HttpResponse gift_page(const GiftPageFacts& facts);

/// 404: the link was never valid, or was not copied whole.
HttpResponse unknown_link_page();

/// 410: the link was valid once; a newer one took its place, or the gift was taken back.
HttpResponse old_link_page();

}  // namespace giftsync::daemon
