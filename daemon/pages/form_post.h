// daemon/pages: parses a page's form post and checks that it comes from this site (CSRF). Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "daemon/http/http_message.h"

namespace giftsync::daemon::pages {

/// The fields of an application/x-www-form-urlencoded body, the first of each name; empty when the body is
/// malformed or not valid text.
std::map<std::string, std::string> form_fields(std::string_view body);

/// True when the browser reports that another site's page posts this. Requests without that information (old
/// browsers, and origin "null", which browsers send for pages without a referrer) are accepted: a post
/// requires the secret link anyway.
bool is_cross_site(const http::HttpRequest& request, std::string_view base_url);

}  // namespace giftsync::daemon::pages
