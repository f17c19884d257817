// daemon/pages: the page behind a gift's link, rendered from web/page.html.mustache, web/page.css and the
// messages of the recipient's language. It shows the gift and its status, and offers the one decision that
// its link is for. Text from senders and recipients is escaped and bidi-isolated. Pure.
#pragma once

#include <kainjow/mustache.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/settings.h"
#include "daemon/content/branding.h"
#include "daemon/content/messages.h"
#include "daemon/http/http_message.h"
#include "platform/time.h"
#include "schema/enums.h"
#include "schema/ids.h"
#include "schema/store/page_views.h"
#include "sync/gift/gift_links.h"

namespace giftsync::pages {

/// What has just happened on the page.
enum class PageNotice {
  none,
  thanks,           ///< the recipient has decided
  out_of_codes,     ///< no code was left; nothing was decided
  charity_missing,  ///< no charity was chosen; nothing was decided
};

struct StatusEvent {
  Status status = Status::sent;
  UtcMillis at;
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
  Status status = Status::sent;
  std::vector<StatusEvent> history;  ///< in this order; shown on the view page; the end date comes from here
  TransactionId transaction;         ///< shown on the view page only
  std::optional<UtcMillis> until;    ///< until when the recipient can decide
  /// The charities of a donate page, to choose from; empty: the sender's company chooses.
  std::vector<config::CharitySettings> charities;
  std::optional<store::Donation> donation;  ///< what was chosen
  std::string redemption_text;              ///< how to use the gift: shown to the recipient once accepted
  std::string redemption_link;
  std::string code;
  std::string stop_url;  ///< shown below; empty: not offered
};

/// 200 with the gift.
http::HttpResponse gift_page(const GiftPageModel& model, const content::Messages& messages,
                             const content::Branding& branding);

/// 404: the link was never valid, or was not copied whole.
http::HttpResponse unknown_link_page(const content::Messages& messages, const content::Branding& branding);

/// 410: the link was valid once; a newer one replaced it, or the gift was withdrawn.
http::HttpResponse superseded_link_page(const content::Messages& messages, const content::Branding& branding);

/// 410: a stop link of an address that the gift no longer goes to.
http::HttpResponse former_address_page(const content::Messages& messages, const content::Branding& branding);

/// A stop link of a gift whose recipient's data was erased: 200 if `is_refused`, no gifts are sent to the
/// address; else 410, since without the address the link can stop nothing.
http::HttpResponse erased_person_page(bool is_refused, const content::Messages& messages,
                                      const content::Branding& branding);

/// 429 + Retry-After: too many unknown links from one client.
http::HttpResponse rate_limited_page(const content::Messages& messages, const content::Branding& branding,
                                     std::int64_t retry_after_seconds);

/// 429 + Retry-After: gifts were allowed again too often by one link; they stay stopped.
http::HttpResponse changed_often_page(const content::Messages& messages, const content::Branding& branding,
                                      std::int64_t retry_after_seconds);

/// 503: the store does not respond.
http::HttpResponse unavailable_page(const content::Messages& messages, const content::Branding& branding,
                                    std::int64_t retry_after_seconds);

/// 403: the decision was posted from another site's page.
http::HttpResponse cross_site_page(const content::Messages& messages, const content::Branding& branding,
                                   const std::string& gift_url);

// The response of every page: template, style sheet and security headers. A page may load only
// what its policy names, run only its own scripts, not be framed, and not leak its address: the address is
// the key to the gift.

/// The resources that a page needs beyond its text; the policy forbids all others.
struct PageResources {
  bool form = false;
  bool script = false;  ///< web/page.js, which reports that a person uses the page
  std::string picture;  ///< its URL or empty; adds web/picture.js, which hides a picture that does not load
};

/// The response with web/page.html.mustache rendered with `page` (every text is escaped).
http::HttpResponse page_response(int status, kainjow::mustache::data& page, const content::Messages& messages,
                                 const content::Branding& branding, const PageResources& resources = {});

/// The headers of every response under a secret address.
std::vector<std::pair<std::string, std::string>> private_headers();

// What a page shows, as a function of the store's data of the gift and of the visit (PAGE-2,
// PAGE-11, PAGE-16). Pure: a view needs nothing else from the store (PAGE-21).

/// One visit of a page.
struct PageVisit {
  sync::LinkKind kind = sync::LinkKind::redeem;
  bool is_revoked_view = false;  ///< a view link from before the gift's links were replaced
  std::string_view query;        ///< of the URL
  UtcMillis now;
  bool has_stop_link = false;  ///< of a recipient's page
};

GiftPageModel page_model(const store::PageView& view, const PageVisit& visit, const sync::GiftLinks& links,
                         const std::vector<config::CharitySettings>& charities);

/// The queries of a page's URL that show a notice, if it is true.
inline constexpr std::string_view kThanks = "thanks";
inline constexpr std::string_view kOutOfCodes = "later";
inline constexpr std::string_view kCharityMissing = "choose";

}  // namespace giftsync::pages
