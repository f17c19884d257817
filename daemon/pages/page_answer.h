// daemon/pages: the frame of every page: template, style sheet and the headers that keep a page to itself. A
// page may load nothing, run nothing, be framed by nothing and tell its address to nobody: the address is the
// key to the gift.
#pragma once

#include <kainjow/mustache.hpp>

#include "daemon/http/http_message.h"

namespace giftsync::daemon {

/// The answer whose body is web/page.html.mustache filled with `page` (every text is escaped) and
/// web/page.css.
HttpResponse page_answer(int status, kainjow::mustache::data& page);

}  // namespace giftsync::daemon
