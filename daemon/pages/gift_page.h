// daemon/pages: the page behind a gift's link, made from web/page.html.mustache, web/page.css and the words
// of the recipient's language. It shows the gift and how it stands, and offers the one decision that its link
// is for. What senders and recipients wrote is escaped and set apart, so that it is text and nothing else.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/http/http_message.h"
#include "daemon/pages/page_face.h"
#include "daemon/pages/words.h"
#include "daemon/settings/settings.h"
#include "schema/ids.h"
#include "schema/store/donation_book.h"
#include "schema/time.h"
#include "schema/words.h"

namespace giftsync::daemon {

/// Which of a gift's links was followed (design 3.5).
enum class GiftPageKind {
  redeem,  ///< the recipient's link for accepting the gift
  donate,  ///< the recipient's link for giving its value to charity
  view,    ///< the CRM record's link, for the sender's colleagues: status, nothing to decide
};

/// What has just happened on the page.
enum class GiftPageNews {
  none,
  thanks,        ///< the recipient has decided
  later,         ///< there is none left to hand out; nothing was decided
  choose_first,  ///< no charity was chosen; nothing was decided
};

struct StatusMoment {
  schema::Status status = schema::Status::sent;
  schema::UtcMillis at;
};

struct GiftPageFacts {
  GiftPageKind kind = GiftPageKind::redeem;
  GiftPageNews news = GiftPageNews::none;
  std::string sender_name;      ///< or address; empty: "Someone"
  std::string recipient_name;   ///< may be empty
  std::string recipient_email;  ///< shown on the view page only
  std::string message;          ///< line ends \n, \r\n or \r are kept
  std::string item_name;
  std::string item_description;  ///< may be empty
  std::string picture;           ///< its URL; empty: none
  std::string other_url;  ///< redeem: the donation link; donate: the redemption link; empty: not offered
  schema::Status status = schema::Status::sent;
  std::vector<StatusMoment> history;         ///< in this order; shown on the view page, and tells the end
  schema::TransactionId transaction;         ///< shown on the view page only
  std::optional<schema::UtcMillis> until;    ///< until when it can be decided about
  std::vector<CharitySettings> charities;    ///< to choose from; empty: the sender's company chooses
  std::optional<schema::Donation> donation;  ///< what was chosen
  std::string redemption_text;               ///< how to enjoy it: shown once accepted, to the recipient
  std::string redemption_link;
  std::string code;
};

/// 200 with the gift.
HttpResponse gift_page(const GiftPageFacts& facts, const Words& words, const PageFace& face);

/// 404: the link was never valid, or was not copied whole.
HttpResponse unknown_link_page(const Words& words, const PageFace& face);

/// 410: the link was valid once; a newer one took its place, or the gift was taken back.
HttpResponse old_link_page(const Words& words, const PageFace& face);

/// 429 + Retry-After: too many links that are not known.
HttpResponse slow_down_page(const Words& words, const PageFace& face, std::int64_t retry_after_seconds);

/// 403: a decision that came from another site's page.
HttpResponse from_elsewhere_page(const Words& words, const PageFace& face, const std::string& gift_url);

}  // namespace giftsync::daemon
