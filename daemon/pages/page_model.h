// daemon/pages: what a page shows, as a function of the store's data of the gift and of the visit (PAGE-2,
// PAGE-11, PAGE-16). Pure: a view needs nothing else from the store (PAGE-21).
#pragma once

#include <string_view>
#include <vector>

#include "daemon/config/settings.h"
#include "daemon/pages/gift_page.h"
#include "platform/time.h"
#include "schema/store/page_views.h"
#include "sync/gift_links.h"

namespace giftsync::daemon::pages {

/// One visit of a page.
struct PageVisit {
  sync::LinkKind kind = sync::LinkKind::redeem;
  bool is_revoked_view = false;  ///< a view link from before the gift's links were replaced
  std::string_view query;        ///< of the URL
  platform::UtcMillis now;
};

GiftPageModel page_model(const schema::store::PageView& view, const PageVisit& visit,
                         const sync::GiftLinks& links, const std::vector<config::CharitySettings>& charities);

/// The queries of a page's URL that show a notice, if it is true.
inline constexpr std::string_view kThanks = "thanks";
inline constexpr std::string_view kOutOfCodes = "later";
inline constexpr std::string_view kCharityMissing = "choose";

}  // namespace giftsync::daemon::pages
