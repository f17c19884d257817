// daemon/pages: the frame of every page: template, style sheet and the headers that keep a page to itself. A
// page may load nothing but what it names, run nothing but its own scripts, be framed by nothing and tell its
// address to nobody: the address is the key to the gift.
#pragma once

#include <kainjow/mustache.hpp>

#include "daemon/http/http_message.h"
#include "daemon/pages/page_face.h"
#include "daemon/pages/words.h"

namespace giftsync::daemon {

/// What a page needs beyond its text; each thing that it does not need is forbidden to it.
struct PageNeeds {
  bool form = false;
  bool script = false;  ///< web/page.js, which reports that a person is there
  std::string picture;  ///< its URL, else empty; with it comes web/picture.js, for one that does not load
};

/// The answer whose body is web/page.html.mustache filled with `page` (every text is escaped).
HttpResponse page_answer(int status, kainjow::mustache::data& page, const Words& words, const PageFace& face,
                         const PageNeeds& needs = {});

/// The headers that every answer has whose address is a key.
std::vector<std::pair<std::string, std::string>> private_headers();

/// What a Content Security Policy says to allow this picture and no other; empty for a URL that no page
/// loads: anything but https, and what has no place in a policy.
std::string picture_source(const std::string& url);

}  // namespace giftsync::daemon
