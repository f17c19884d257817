#include "daemon/component_options.h"

#include <spdlog/spdlog.h>

#include <optional>
#include <utility>

namespace giftsync::daemon {

handlers::GiftRequestHandlerOptions gift_request_options(const config::LimitSettings& limits) {
  handlers::GiftRequestHandlerOptions options;
  options.limits.max_recipients = static_cast<std::size_t>(limits.max_recipients);
  options.limits.max_message_code_points = static_cast<std::size_t>(limits.message_code_points);
  options.limits.max_name_code_points = static_cast<std::size_t>(limits.name_code_points);
  options.limits.refuse_placeholders = limits.refuse_placeholders;
  options.max_body_bytes = static_cast<std::size_t>(limits.max_body_bytes);
  return options;
}

http::HttpServerOptions http_server_options(const config::Settings& settings, const std::string& listen) {
  http::HttpServerOptions options;
  options.listen = listen;
  options.max_body_bytes = static_cast<std::size_t>(settings.limits.max_body_bytes);
  options.max_connections = static_cast<std::size_t>(settings.limits.max_connections);
  options.max_connections_per_address = static_cast<std::size_t>(settings.limits.max_connections_per_address);
  options.trusted_proxies = settings.server.trusted_proxies;
  return options;
}

content::Branding branding_from(const config::PageSettings& pages) {
  std::optional<content::Logo> logo;
  if (!pages.logo.empty()) {
    auto read = content::read_logo(pages.logo);
    // The logo was valid when the settings were read; a page without it is better than none.
    if (read)
      logo = std::move(*read);
    else
      spdlog::warn("pages.logo: {}, {}; pages are shown without it", pages.logo, read.error());
  }
  return content::make_branding(pages.company_name, pages.colour, std::move(logo));
}

}  // namespace giftsync::daemon
