#include "daemon/signin/connection_check.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <optional>

#include "daemon/config/connection_urls.h"
#include "daemon/signin/oidc_documents.h"
#include "platform/certificate.h"
#include "platform/quoted_text.h"

namespace giftsync::daemon::signin {
namespace {

constexpr std::size_t kMaxDocumentBytes = std::size_t{1} << 20;
constexpr std::int64_t kFetchTimeoutMillis = 20'000;

class ConnectionCheck {
 public:
  ConnectionCheck(const config::SsoSettings& sso, const config::SsoConnectionSettings& connection,
                  const platform::HttpGet& fetch, platform::UtcMillis now)
      : sso_(sso), connection_(connection), fetch_(fetch), now_(now) {}

  CheckReport run() {
    if (connection_.kind == config::SsoKind::saml)
      check_saml();
    else
      check_oidc_provider();
    return std::move(report_);
  }

 private:
  platform::HttpGetResponse get(const std::string& url) {
    platform::HttpGetRequest request;
    request.url = url;
    request.ca_file = connection_.ca_file;
    request.max_bytes = kMaxDocumentBytes;
    request.timeout_millis = kFetchTimeoutMillis;
    request.https_only = true;
    return fetch_(request, [] { return true; });
  }

  void add_unreachable(const std::string& what, const std::string& url, const std::string& reason) {
    const bool is_trust = reason.find("certificate") != std::string::npos;
    report_.add_unreachable(fmt::format(
        "{} at {} cannot be fetched: {}.{}", what, url, reason,
        is_trust ? " Its TLS certificate is not trusted here; if a private authority issued it, set "
                   "ca_file to that authority's certificate."
                 : ""));
  }

  std::optional<std::string> fetch_document(const std::string& what, const std::string& url) {
    const platform::HttpGetResponse response = get(url);
    if (response.status == 200) return response.body;
    if (response.status == 0) {
      add_unreachable(what, url, response.error);
    } else if (response.status >= 300 && response.status < 400) {
      report_.add_failure(fmt::format("{} at {} redirects: {}. Set the address that it redirects to.", what,
                                      url, platform::in_quotes(response.location)));
    } else if (response.status >= 500 || response.status == 429) {
      report_.add_unreachable(fmt::format("{} at {} cannot be fetched: the provider responds with {}.", what,
                                          url, response.status));
    } else {
      report_.add_failure(
          fmt::format("{} at {} does not exist: the provider responds with {}. Check the address.", what, url,
                      response.status));
    }
    return std::nullopt;
  }

  void check_oidc_provider() {
    const auto discovery =
        fetch_document("The discovery document", config::provider_endpoints(sso_, connection_).discovery);
    if (!discovery) return;
    const AdvertisedEndpoints endpoints = validate_discovery(*discovery, sso_, connection_, report_);
    if (endpoints.jwks.empty()) return;
    if (const auto keys = fetch_document("The list of keys", endpoints.jwks))
      validate_jwks(*keys, now_, report_);
  }

  void check_certificate(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string pem{std::istreambuf_iterator<char>(file), {}};
    const std::string name = platform::in_quotes(path);
    const auto info = platform::parse_certificate(pem);
    if (!info) return report_.add_failure(fmt::format("The certificate is {}, {}.", name, info.error()));
    const platform::CertificateIssues issues = platform::validate_certificate(*info, now_);
    for (const std::string& fault : issues.faults)
      report_.add_failure(fmt::format("The certificate is {}, {}.", name, fault));
    for (const std::string& warning : issues.warnings)
      report_.add_warning(fmt::format("The certificate is {}, {}.", name, warning));
    if (issues.faults.empty()) {
      report_.add_ok(fmt::format("certificate of {}: {} {} bits, until {}", info->subject, info->key_type,
                                 info->key_bits, platform::to_rfc3339(info->not_after).substr(0, 10)));
    }
  }

  void check_saml() {
    check_certificate(connection_.certificate);
    if (!connection_.next_certificate.empty()) check_certificate(connection_.next_certificate);
    if (connection_.sha1)
      report_.add_warning(
          "SHA1 signatures are accepted, but SHA1 can be forged. Ask the provider for SHA256.");
    const platform::HttpGetResponse response = get(connection_.sign_in_url);
    if (response.status == 0)
      return add_unreachable("The sign-in page", connection_.sign_in_url, response.error);
    // Without a SAML request the page may respond with an error, but it exists.
    if (response.status == 404 || response.status == 410) {
      return report_.add_failure(fmt::format("There is no sign-in page at {}: the provider responds with {}.",
                                             connection_.sign_in_url, response.status));
    }
    if (response.status >= 500) {
      return report_.add_warning(
          fmt::format("The sign-in page at {} responds with {} to a visit without a SAML request.",
                      connection_.sign_in_url, response.status));
    }
    report_.add_ok(fmt::format("sign-in page: {}", connection_.sign_in_url));
  }

  const config::SsoSettings& sso_;
  const config::SsoConnectionSettings& connection_;
  const platform::HttpGet& fetch_;
  const platform::UtcMillis now_;
  CheckReport report_;
};

}  // namespace

CheckReport check_connection(const config::SsoSettings& sso, const config::SsoConnectionSettings& connection,
                             const platform::HttpGet& fetch, platform::UtcMillis now) {
  return ConnectionCheck(sso, connection, fetch, now).run();
}

}  // namespace giftsync::daemon::signin
