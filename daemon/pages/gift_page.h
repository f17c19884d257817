// daemon/pages: the page behind a gift's link, rendered from web/page.html.mustache, web/page.css and the
// messages of the recipient's language. It shows the gift and its status, and offers the one decision that
// its link is for. Text from senders and recipients is escaped and bidi-isolated. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/config/settings.h"
#include "daemon/content/branding.h"
#include "daemon/content/messages.h"
#include "daemon/http/http_message.h"
#include "platform/time.h"
#include "schema/enums.h"
#include "schema/ids.h"
#include "schema/store/donations.h"
#include "sync/link_token.h"

namespace giftsync::daemon::pages {

/// What has just happened on the page.
enum class PageNotice {
  none,
  thanks,           ///< the recipient has decided
  out_of_codes,     ///< no code was left; nothing was decided
  charity_missing,  ///< no charity was chosen; nothing was decided
};

struct StatusEvent {
  schema::Status status = schema::Status::sent;
  platform::UtcMillis at;
};

struct GiftPageModel {
  /// Which of the gift's links was opened (PAGE-2). The view link is for the sender's colleagues: status
  /// only.
  sync::LinkKind kind = sync::LinkKind::redeem;
  PageNotice notice = PageNotice::none;
  std::string sender_name;      ///< or address; empty: "Someone"
  std::string recipient_name;   ///< may be empty
  std::string recipient_email;  ///< shown on the view page only
  std::string message;          ///< line ends \n, \r\n or \r become line breaks
  std::string item_name;
  std::string item_description;  ///< may be empty
  std::string picture;           ///< its URL; empty: none
  std::string other_url;  ///< redeem: the donation link; donate: the redemption link; empty: not offered
  schema::Status status = schema::Status::sent;
  std::vector<StatusEvent> history;   ///< in this order; shown on the view page; the end date comes from here
  schema::TransactionId transaction;  ///< shown on the view page only
  std::optional<platform::UtcMillis> until;  ///< until when the recipient can decide
  /// Of a donate page, to choose from; empty: the sender's company chooses.
  std::vector<config::CharitySettings> charities;
  std::optional<schema::store::Donation> donation;  ///< what was chosen
  std::string redemption_text;  ///< how to use the gift: shown to the recipient once accepted
  std::string redemption_link;
  std::string code;
};

/// 200 with the gift.
http::HttpResponse gift_page(const GiftPageModel& model, const content::Messages& messages,
                             const content::Branding& branding);

/// 404: the link was never valid, or was not copied whole.
http::HttpResponse unknown_link_page(const content::Messages& messages, const content::Branding& branding);

/// 410: the link was valid once; a newer one replaced it, or the gift was withdrawn.
http::HttpResponse superseded_link_page(const content::Messages& messages, const content::Branding& branding);

/// 429 + Retry-After: too many unknown links from one client.
http::HttpResponse rate_limited_page(const content::Messages& messages, const content::Branding& branding,
                                     std::int64_t retry_after_seconds);

/// 503: the store does not respond.
http::HttpResponse unavailable_page(const content::Messages& messages, const content::Branding& branding,
                                    std::int64_t retry_after_seconds);

/// 403: the decision was posted from another site's page.
http::HttpResponse cross_site_page(const content::Messages& messages, const content::Branding& branding,
                                   const std::string& gift_url);

}  // namespace giftsync::daemon::pages
