#include "daemon/pages/page_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "daemon/crypto/digest.h"
#include "daemon/pages/html_text.h"
#include "embedded/giftsync_daemon.h"

namespace giftsync::daemon {
namespace {

/// 'sha256-...' of CSP Level 3: the one inline source of its kind that the browser may use.
std::string source_hash(std::string_view text) {
  return "'sha256-" + to_base64_text(sha256(text)) + "'";
}

std::string content_security_policy(const PageFace& face, const PageNeeds& needs) {
  std::string policy =
      "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; style-src " + source_hash(face.style);
  std::string pictures = face.logo ? " 'self'" : "";
  if (!needs.picture.empty()) pictures += " " + picture_source(needs.picture);
  if (!pictures.empty()) policy += "; img-src" + pictures;
  std::string scripts = needs.script ? " " + source_hash(embedded::web_page_js) : "";
  if (!needs.picture.empty()) scripts += " " + source_hash(embedded::web_picture_js);
  if (!scripts.empty()) policy += "; script-src" + scripts;
  if (needs.script) policy += "; connect-src 'self'";
  policy += needs.form ? "; form-action 'self'" : "; form-action 'none'";
  return policy;
}

}  // namespace

std::string picture_source(const std::string& url) {
  constexpr std::string_view kScheme = "https://";
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/?[]@!$&()*+=%";
  if (!url.starts_with(kScheme) || url.find_first_not_of(kAllowed) != std::string::npos) return {};
  const std::string_view host =
      std::string_view(url).substr(kScheme.size(), url.find('/', kScheme.size()) - kScheme.size());
  if (host.empty() || host.find_first_of("@?*") != std::string_view::npos) return {};
  return url.substr(0, url.find('?'));
}

std::vector<std::pair<std::string, std::string>> private_headers() {
  return {{"Cache-Control", "no-store"},
          {"Referrer-Policy", "no-referrer"},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"X-Robots-Tag", "noindex, nofollow"}};
}

HttpResponse page_answer(int status, kainjow::mustache::data& page, const Words& words, const PageFace& face,
                         const PageNeeds& needs) {
  page.set("language", words.language());
  page.set("style", face.style);
  if (needs.script) page.set("script", std::string(embedded::web_page_js));
  if (!needs.picture.empty()) page.set("picture_script", std::string(embedded::web_picture_js));
  if (!face.company.empty()) page.set("company", face.company);
  if (face.logo) page.set("logo", face.logo->name);
  page.set("brand", face.logo.has_value() || !face.company.empty());
  // Read anew for each page: a kainjow template is changed by rendering, so threads cannot share one.
  kainjow::mustache::mustache form{std::string(embedded::web_page_html_mustache)};
  form.set_custom_escape([](const std::string& text) { return html_escaped(text); });
  HttpResponse response;
  response.status = status;
  response.body = form.render(page);
  response.headers = private_headers();
  response.headers.emplace_back("Content-Type", "text/html; charset=utf-8");
  response.headers.emplace_back("Content-Language", words.language());
  response.headers.emplace_back("Content-Security-Policy", content_security_policy(face, needs));
  return response;
}

}  // namespace giftsync::daemon
