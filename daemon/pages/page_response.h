// daemon/pages: the response of every page: template, style sheet and security headers. A page may load only
// what its policy names, run only its own scripts, not be framed, and not leak its address: the address is
// the key to the gift.
#pragma once

#include <kainjow/mustache.hpp>

#include "daemon/content/branding.h"
#include "daemon/content/messages.h"
#include "daemon/http/http_message.h"

namespace giftsync::daemon::pages {

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

}  // namespace giftsync::daemon::pages
