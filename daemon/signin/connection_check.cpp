#include "daemon/signin/connection_check.h"

#include <fmt/format.h>

#include <bit>
#include <fstream>
#include <iterator>
#include <optional>

#include "daemon/config/connection_urls.h"
#include "daemon/config/text_checks.h"
#include "platform/digest.h"
#include "platform/keys.h"
#include "platform/strict_json.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::signin {
namespace {

constexpr std::size_t kMaxDocumentBytes = std::size_t{1} << 20;
constexpr std::int64_t kFetchTimeoutMillis = 20'000;

class ConnectionCheck {
 public:
  ConnectionCheck(const config::SsoSettings& sso, const config::SsoConnectionSettings& connection,
                  const HttpGet& fetch, UtcMillis now)
      : sso_(sso), connection_(connection), fetch_(fetch), now_(now) {}

  CheckReport run() {
    if (connection_.kind == config::SsoKind::saml)
      check_saml();
    else
      check_oidc_provider();
    return std::move(report_);
  }

 private:
  HttpGetResponse get(const std::string& url) {
    HttpGetRequest request;
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
    const HttpGetResponse response = get(url);
    if (response.status == 200) return response.body;
    if (response.status == 0) {
      add_unreachable(what, url, response.error);
    } else if (response.status >= 300 && response.status < 400) {
      report_.add_failure(fmt::format("{} at {} redirects: {}. Set the address that it redirects to.", what,
                                      url, in_quotes(response.location)));
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
    const std::string name = in_quotes(path);
    const auto info = parse_certificate(pem);
    if (!info) return report_.add_failure(fmt::format("The certificate is {}, {}.", name, info.error()));
    const CertificateIssues issues = validate_certificate(*info, now_);
    for (const auto& fault : issues.faults)
      report_.add_failure(fmt::format("The certificate is {}, {}.", name, fault.clause));
    for (const std::string& warning : issues.warnings)
      report_.add_warning(fmt::format("The certificate is {}, {}.", name, warning));
    if (issues.faults.empty()) {
      report_.add_ok(fmt::format("certificate of {}: {} {} bits, until {}", info->subject, info->key_type,
                                 info->key_bits, to_rfc3339(info->not_after).substr(0, 10)));
    }
  }

  void check_saml() {
    check_certificate(connection_.certificate);
    if (!connection_.next_certificate.empty()) check_certificate(connection_.next_certificate);
    if (connection_.sha1)
      report_.add_warning(
          "SHA1 signatures are accepted, but SHA1 can be forged. Ask the provider for SHA256.");
    const HttpGetResponse response = get(connection_.sign_in_url);
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
  const HttpGet& fetch_;
  const UtcMillis now_;
  CheckReport report_;
};

}  // namespace

CheckReport check_connection(const config::SsoSettings& sso, const config::SsoConnectionSettings& connection,
                             const HttpGet& fetch, UtcMillis now) {
  return ConnectionCheck(sso, connection, fetch, now).run();
}

namespace {

constexpr std::size_t kMinRsaBits = 2048;

/// Nullopt when the document has no such member.
std::optional<std::vector<std::string>> string_list_member(const JsonValue& object, std::string_view name) {
  const JsonValue* list = object.find(name);
  if (!list || !list->is_array()) return std::nullopt;
  std::vector<std::string> strings;
  for (const JsonValue& element : list->elements()) strings.emplace_back(element.text().value_or(""));
  return strings;
}

bool contains_string(const std::vector<std::string>& strings, std::string_view wanted) {
  return std::find(strings.begin(), strings.end(), wanted) != strings.end();
}

std::string endpoint_member(const JsonValue& root, std::string_view name, CheckReport& report) {
  std::string address(root.text_of(name));
  if (address.empty()) {
    report.add_failure(fmt::format("The discovery document names no {}.", name));
    return {};
  }
  std::string checked = address;
  if (const config::TextFault fault = config::check_https_url(checked)) {
    report.add_failure(
        fmt::format("The discovery document's {} is {}, {}.", name, in_quotes(address), *fault));
    return {};
  }
  report.add_ok(fmt::format("{}: {}", name, address));
  return address;
}

bool is_guid(std::string text) {
  return !config::check_tenant_id(text);
}

std::string without_trailing_slash(std::string text) {
  if (text.ends_with('/')) text.pop_back();
  return text;
}

void validate_issuer(const std::string& issuer, const config::SsoSettings& sso,
                     const config::SsoConnectionSettings& connection, CheckReport& report) {
  if (issuer.empty()) return report.add_failure("The discovery document names no issuer.");
  if (is_expected_issuer(sso, connection, issuer)) return report.add_ok(fmt::format("issuer: {}", issuer));
  if (connection.kind == config::SsoKind::oidc &&
      without_trailing_slash(issuer) == without_trailing_slash(connection.issuer)) {
    return report.add_failure(
        fmt::format("The provider's issuer is {}, the settings have {}: they differ in the slash at the end, "
                    "and every sign-in would be refused. Set the issuer exactly as the provider does.",
                    in_quotes(issuer), in_quotes(connection.issuer)));
  }
  const std::string expected = connection.kind == config::SsoKind::oidc
                                   ? in_quotes(connection.issuer)
                                   : fmt::format("the directory {} at {}", connection.domain, sso.authority);
  report.add_failure(
      fmt::format("The provider's issuer is {}, which is not {}. Either the settings have the wrong address, "
                  "or another server responds there.",
                  in_quotes(issuer), expected));
}

void validate_capabilities(const JsonValue& root, CheckReport& report) {
  if (const auto types = string_list_member(root, "response_types_supported");
      types && !contains_string(*types, "code"))
    report.add_failure("The provider does not offer the authorization code flow (response type \"code\").");
  if (const auto algorithms = string_list_member(root, "id_token_signing_alg_values_supported")) {
    const bool is_signed = std::any_of(algorithms->begin(), algorithms->end(), [](const std::string& one) {
      return one != "none" && !one.starts_with("HS");
    });
    if (!is_signed)
      report.add_failure("The provider signs its tokens with no algorithm that can be verified.");
  }
  const auto methods = string_list_member(root, "token_endpoint_auth_methods_supported");
  if (methods && !contains_string(*methods, "client_secret_basic") &&
      !contains_string(*methods, "client_secret_post"))
    report.add_failure("The provider accepts no client secret at its token endpoint.");
}

std::size_t bit_length(const std::string& number) {
  const std::size_t first = number.find_first_not_of('\0');
  if (first == std::string::npos) return 0;
  return (number.size() - first) * 8 -
         static_cast<std::size_t>(std::countl_zero(static_cast<unsigned char>(number[first])));
}

std::string pem_of(const std::string& base64) {
  std::string pem = "-----BEGIN CERTIFICATE-----\n";
  for (std::size_t at = 0; at < base64.size(); at += 64) pem += base64.substr(at, 64) + "\n";
  return pem + "-----END CERTIFICATE-----\n";
}

/// Checks the optional certificate of a key.
void validate_key_certificate(const JsonValue& key, const std::string& name, UtcMillis now,
                              CheckReport& report) {
  const auto chain = string_list_member(key, "x5c");
  if (!chain || chain->empty()) return;
  const auto certificate = parse_certificate(pem_of(chain->front()));
  if (!certificate)
    return report.add_warning(fmt::format("Key {} has a certificate (x5c) {}.", name, certificate.error()));
  const CertificateIssues issues = validate_certificate(*certificate, now);
  for (const auto& fault : issues.faults)
    report.add_warning(fmt::format("Key {} has a certificate {}.", name, fault.clause));
}

/// Whether tokens may be signed with this key.
bool validate_key(const JsonValue& key, UtcMillis now, CheckReport& report) {
  const std::string_view type = key.text_of("kty");
  const std::string_view use = key.text_of("use");
  const std::string name = in_quotes(key.text_of("kid"));
  if (key.find("d") || key.find("k")) {
    report.add_failure(
        fmt::format("The provider publishes the private part of key {}: anyone can sign in as "
                    "any user. The provider must replace the key.",
                    name));
    return false;
  }
  if (!use.empty() && use != "sig") return false;
  if (type != "RSA" && type != "EC" && type != "OKP") return false;
  if (type == "RSA") {
    const std::size_t bits = bit_length(from_base64url(key.text_of("n")).value_or(""));
    if (bits < kMinRsaBits) {
      report.add_failure(
          fmt::format("Key {} has {} bits; at least {} are required.", name, bits, kMinRsaBits));
      return false;
    }
  }
  validate_key_certificate(key, name, now, report);
  return true;
}

}  // namespace

bool is_expected_issuer(const config::SsoSettings& sso, const config::SsoConnectionSettings& connection,
                        const std::string& issuer) {
  if (connection.kind == config::SsoKind::oidc) return issuer == connection.issuer;
  if (connection.identity_api_v2) {
    const std::string begin = sso.authority + "/";
    constexpr std::string_view kEnd = "/v2.0";
    if (!issuer.starts_with(begin) || !issuer.ends_with(kEnd) || issuer.size() < begin.size() + kEnd.size())
      return false;
    const std::string tenant = issuer.substr(begin.size(), issuer.size() - begin.size() - kEnd.size());
    return is_guid(tenant) || ascii_lower(tenant) == connection.domain;
  }
  // The v1 issuer contains the directory's id: "https://sts.windows.net/{id}/".
  const std::size_t host = std::string_view("https://").size();
  const std::size_t slash = issuer.find('/', host);
  if (!issuer.starts_with("https://") || slash == std::string::npos) return false;
  const bool is_service = issuer.compare(host, 4, "sts.") == 0 || is_same_origin(issuer, sso.authority);
  return is_service && is_guid(without_trailing_slash(issuer.substr(slash + 1)));
}

AdvertisedEndpoints validate_discovery(std::string_view document, const config::SsoSettings& sso,
                                       const config::SsoConnectionSettings& connection, CheckReport& report) {
  const auto json = parse_json(without_byte_order_mark(document));
  if (!json) {
    report.add_failure(fmt::format("The discovery document is not valid JSON: {}", json.error().message));
    return {};
  }
  const JsonValue& root = json->root();
  if (!root.is_object()) {
    report.add_failure(fmt::format("The discovery document is {} instead of an object.", root.kind_name()));
    return {};
  }
  validate_issuer(std::string(root.text_of("issuer")), sso, connection, report);
  AdvertisedEndpoints endpoints;
  endpoints.authorize = endpoint_member(root, "authorization_endpoint", report);
  endpoints.token = endpoint_member(root, "token_endpoint", report);
  endpoints.jwks = endpoint_member(root, "jwks_uri", report);
  validate_capabilities(root, report);
  return endpoints;
}

void validate_jwks(std::string_view document, UtcMillis now, CheckReport& report) {
  const auto json = parse_json(without_byte_order_mark(document));
  if (!json)
    return report.add_failure(
        fmt::format("The provider's keys are not valid JSON: {}", json.error().message));
  const JsonValue* keys = json->root().find("keys");
  if (!keys || !keys->is_array()) return report.add_failure("The provider's keys have no list \"keys\".");
  std::size_t signing = 0;
  for (const JsonValue& key : keys->elements()) signing += validate_key(key, now, report) ? 1 : 0;
  if (signing == 0)
    return report.add_failure("None of the provider's keys can be used to check a signature.");
  report.add_ok(
      fmt::format("{} of {} keys can be used to check signatures", signing, keys->elements().size()));
}

}  // namespace giftsync::signin
