#include "daemon/mail/smtp_option_checks.h"

#include <arpa/inet.h>
#include <curl/curl.h>

#include <memory>

#include "platform/text.h"
#include "schema/contact_normalization.h"

namespace giftsync::daemon::mail {
namespace {

struct UrlCleanup {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using Url = std::unique_ptr<CURLU, UrlCleanup>;

std::string url_part(const Url& url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, 0) != CURLUE_OK) return {};
  std::string copy(text);
  curl_free(text);
  return copy;
}

bool is_loopback(const std::string& host) {
  // libcurl resolves "localhost" itself, to loopback.
  if (host == "localhost" || host == "[::1]") return true;
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
}

}  // namespace

bool requires_verified_tls(const SmtpOptions& options) {
  return options.require_tls || platform::ascii_lower(options.url).starts_with("smtps:");
}

std::string smtp_options_fault(const SmtpOptions& options) {
  const Url url(curl_url());
  const bool parsed = curl_url_set(url.get(), CURLUPART_URL, options.url.c_str(), 0) == CURLUE_OK;
  const std::string scheme = parsed ? url_part(url, CURLUPART_SCHEME) : "";
  if (scheme != "smtp" && scheme != "smtps") {
    return "email.smtp.url must have the form smtp://host:port or smtps://host:port";
  }
  if (!url_part(url, CURLUPART_USER).empty() || !url_part(url, CURLUPART_PASSWORD).empty()) {
    return "email.smtp.url contains a login; move it to email.smtp.username and email.smtp.password";
  }
  if (!options.username.empty() && !requires_verified_tls(options) &&
      !is_loopback(url_part(url, CURLUPART_HOST))) {
    return "email.smtp.username is set, but a password is only sent over TLS or to this machine; set "
           "email.smtp.require_tls: true or use an smtps:// url";
  }
  return {};
}

std::string default_client_name(const std::string& host_name, const std::string& from_address) {
  if (host_name.find('.') != std::string::npos) return host_name;
  const std::string from = schema::email_for_envelope(from_address);
  return from.substr(from.rfind('@') + 1);
}

}  // namespace giftsync::daemon::mail
