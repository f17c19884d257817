#include "daemon/pages/page_response.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "daemon/content/branding.h"
#include "daemon/content/html_text.h"
#include "embedded/giftsync_daemon_content.h"
#include "schema/picture_url.h"

namespace giftsync::daemon::pages {
namespace {

using content::source_hash;

/// web/page.html.mustache, parsed once on each thread: rendering uses members of a kainjow template, so
/// threads cannot share one.
kainjow::mustache::mustache& page_template() {
  thread_local kainjow::mustache::mustache parsed = [] {
    kainjow::mustache::mustache page{std::string(embedded::web_page_html_mustache)};
    page.set_custom_escape([](const std::string& text) { return content::html_escaped(text); });
    return page;
  }();
  return parsed;
}

/// Appended to one text: the library's own stream would copy the page once more.
std::string rendered(const kainjow::mustache::data& page, const content::Branding& branding) {
  std::string html;
  html.reserve(branding.style.size() + embedded::web_page_html_mustache.size());
  const kainjow::mustache::mustache::render_handler append = [&html](const std::string& text) {
    html += text;
  };
  page_template().render(page, append);
  return html;
}

std::string content_security_policy(const content::Branding& branding, const PageResources& resources) {
  std::string policy =
      "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; style-src " + branding.style_source;
  std::string pictures = branding.logo ? " 'self'" : "";
  if (!resources.picture.empty()) pictures += " " + schema::csp_image_source(resources.picture);
  if (!pictures.empty()) policy += "; img-src" + pictures;
  static const std::string page_script = source_hash(embedded::web_page_js);
  static const std::string picture_script = source_hash(embedded::web_picture_js);
  std::string scripts = resources.script ? " " + page_script : "";
  if (!resources.picture.empty()) scripts += " " + picture_script;
  if (!scripts.empty()) policy += "; script-src" + scripts;
  if (resources.script) policy += "; connect-src 'self'";
  policy += resources.form ? "; form-action 'self'" : "; form-action 'none'";
  return policy;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> private_headers() {
  return {{"Cache-Control", "no-store"},
          {"Referrer-Policy", "no-referrer"},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"X-Robots-Tag", "noindex, nofollow"}};
}

http::HttpResponse page_response(int status, kainjow::mustache::data& page, const content::Messages& messages,
                                 const content::Branding& branding, const PageResources& resources) {
  using kainjow::mustache::data;
  page["language"] = data(messages.language());
  page["style"] = data(branding.style);
  if (resources.script) page["script"] = data(std::string(embedded::web_page_js));
  if (!resources.picture.empty()) page["picture_script"] = data(std::string(embedded::web_picture_js));
  if (!branding.company.empty()) page["company"] = data(branding.company);
  if (branding.logo) page["logo"] = data(branding.logo->name);
  page["brand"] = data(branding.logo.has_value() || !branding.company.empty());
  http::HttpResponse response;
  response.status = status;
  response.body = rendered(page, branding);
  response.headers = private_headers();
  response.headers.emplace_back("Content-Type", "text/html; charset=utf-8");
  response.headers.emplace_back("Content-Language", messages.language());
  response.headers.emplace_back("Content-Security-Policy", content_security_policy(branding, resources));
  return response;
}

}  // namespace giftsync::daemon::pages
