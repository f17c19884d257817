// daemon: the options of server, endpoints and pages, from the settings. Main thread, at the start.
#pragma once

#include <string>

#include "daemon/config/settings.h"
#include "daemon/content/branding.h"
#include "daemon/handlers/gift_request_handler.h"
#include "daemon/http/http_server.h"

namespace giftsync::daemon {

handlers::GiftRequestHandlerOptions gift_request_options(const config::LimitSettings& limits);

/// Options of the listener at address `listen`.
http::HttpServerOptions http_server_options(const config::Settings& settings, const std::string& listen);

/// A logo that has become unreadable is logged and omitted.
content::Branding branding_from(const config::PageSettings& pages);

}  // namespace giftsync::daemon
