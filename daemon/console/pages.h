// daemon/console: the pages that the table of routes names. Each takes a request that is signed in, has the
// route's permission and, if it posts, the form's token. Any thread.
#pragma once

#include "daemon/console/page_call.h"

namespace giftsync::daemon::console {

http::HttpResponse overview_page(const PageCall& call);
/// The list; with format=csv all of its rows as CSV (CON-17, CON-18).
http::HttpResponse gifts_page(const PageCall& call);
http::HttpResponse gift_page(const PageCall& call);
http::HttpResponse audit_page(const PageCall& call);
http::HttpResponse users_page(const PageCall& call);
http::HttpResponse end_sessions(const PageCall& call);

}  // namespace giftsync::daemon::console
