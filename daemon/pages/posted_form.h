// daemon/pages: what a browser posts from a page's form, and whether it was this site's page. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "daemon/http/http_message.h"

namespace giftsync::daemon {

/// The fields of an application/x-www-form-urlencoded body, of each name the first; none when it is broken or
/// holds what no text is.
std::map<std::string, std::string> posted_fields(std::string_view body);

/// True when the browser says that another site's page posts this. Browsers that say nothing (ancient ones,
/// and those that keep a page's address to themselves and so send the origin "null") are believed: to post at
/// all one must know the link.
bool is_from_elsewhere(const HttpRequest& request, std::string_view base_url);

}  // namespace giftsync::daemon
