#include "daemon/pages/page_answer.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <string>
#include <string_view>

#include "daemon/crypto/digest.h"
#include "embedded/giftsync_daemon.h"

namespace giftsync::daemon {
namespace {

/// 'sha256-...' of CSP Level 3: the one inline style sheet that the browser may use.
std::string source_hash(std::string_view text) {
  const std::string digest = sha256(text);
  unsigned char base64[4 * ((kSha256Bytes + 2) / 3) + 1];
  const int length = EVP_EncodeBlock(base64, reinterpret_cast<const unsigned char*>(digest.data()),
                                     static_cast<int>(digest.size()));
  return "'sha256-" + std::string(base64, base64 + length) + "'";
}

const std::string& content_security_policy() {
  static const std::string policy = fmt::format(
      "default-src 'none'; style-src {}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      source_hash(embedded::web_page_css));
  return policy;
}

}  // namespace

HttpResponse page_answer(int status, kainjow::mustache::data& page) {
  page.set("style", std::string(embedded::web_page_css));
  // Read anew for each page: a kainjow template is changed by rendering, so threads cannot share one.
  kainjow::mustache::mustache form{std::string(embedded::web_page_html_mustache)};
  HttpResponse response;
  response.status = status;
  response.body = form.render(page);
  response.headers = {{"Content-Type", "text/html; charset=utf-8"},
                      {"Content-Security-Policy", content_security_policy()},
                      {"Cache-Control", "no-store"},
                      {"Referrer-Policy", "no-referrer"},
                      {"X-Content-Type-Options", "nosniff"},
                      {"X-Frame-Options", "DENY"},
                      {"X-Robots-Tag", "noindex, nofollow"}};
  return response;
}

}  // namespace giftsync::daemon
