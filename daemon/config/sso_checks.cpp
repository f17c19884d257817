#include "daemon/config/sso_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "daemon/config/connection_urls.h"
#include "platform/certificate.h"
#include "platform/quoted_text.h"

namespace giftsync::daemon::config {
namespace {

const std::string kList = "sso.connections";

void require(ParsedConfig& one, const char* name) {
  const std::string path = kList + "." + name;
  if (one.has(path) || one.faulty.contains(path)) return;
  const std::string_view kind = to_word(one.settings.sso.connections.back().kind);
  one.refuse(path, "nothing", allowed_by(find_settings_key(path)->rule),
             fmt::format("add it: a connection of type {} needs it", kind));
}

/// Without `openid` a provider signs no one in.
void check_scopes(ParsedConfig& one) {
  const std::string path = kList + ".scopes";
  const std::vector<std::string>& scopes = one.settings.sso.connections.back().scopes;
  if (!one.has(path) || one.faulty.contains(path) ||
      std::find(scopes.begin(), scopes.end(), "openid") != scopes.end())
    return;
  one.refuse(path, "a list without openid", "a list with openid", "add openid");
}

/// A client of the provider has an id and a secret; SAML uses neither.
void check_client(ParsedConfig& one) {
  if (one.settings.sso.connections.back().kind != SsoKind::saml) {
    require(one, "client_id");
    require(one, "client_secret");
    return;
  }
  for (const char* name : {"client_id", "client_secret", "redirect", "algorithms", "scopes"}) {
    const std::string path = kList + "." + name;
    if (!one.has(path)) continue;
    one.refuse(path, "a key that type: saml leaves without effect", "only with type: oidc or directory",
               "remove it");
  }
}

void check_certificate(ParsedConfig& one, const char* key, const std::string& file_name,
                       platform::UtcMillis now) {
  const std::string path = kList + "." + key;
  const SsoConnectionSettings& connection = one.settings.sso.connections.back();
  if (!one.has(path) || one.faulty.contains(path) || connection.kind != SsoKind::saml) return;
  const auto refuse = [&](const std::string& clause) {
    one.refuse(path, platform::in_quotes(file_name) + ", " + clause,
               "a current X.509 certificate (PEM) with an RSA key of 2048 bits or more, or an EC key of 256",
               "ask the provider's administrator for the certificate with which it signs now");
  };
  std::ifstream file(file_name, std::ios::binary);
  const std::string pem{std::istreambuf_iterator<char>(file), {}};
  const auto certificate = platform::parse_certificate(pem);
  if (!certificate) return refuse(certificate.error());
  const platform::CertificateIssues issues = platform::validate_certificate(*certificate, now);
  for (const std::string& fault : issues.faults) refuse(fault);
  for (const std::string& warning : issues.warnings)
    one.warnings.push_back({one.line_of(path), path, platform::in_quotes(file_name) + ", " + warning});
}

}  // namespace

void check_connection_keys(ParsedConfig& one, platform::UtcMillis now) {
  if (one.faulty.contains(kList + ".type")) return;
  check_client(one);
  const SsoConnectionSettings& connection = one.settings.sso.connections.back();
  if (connection.kind == SsoKind::oidc) require(one, "domains");
  if (connection.kind == SsoKind::oidc && one.has(kList + ".domains") && connection.domains.empty() &&
      !one.faulty.contains(kList + ".domains")) {
    const std::string path = kList + ".domains";
    one.refuse(path, "none", "at least one domain",
               "add the domain whose people sign in through this connection");
  }
  check_scopes(one);
  check_certificate(one, "certificate", connection.certificate, now);
  check_certificate(one, "next_certificate", connection.next_certificate, now);
  if (connection.kind == SsoKind::saml && connection.sha1) {
    one.warnings.push_back({one.lines.at(kList + ".hash"), kList + ".hash",
                            "SHA1 signatures can be forged; ask the provider's administrator for SHA256"});
  }
}

void check_sso(ParsedConfig& parsed) {
  const bool is_known = !parsed.faulty.contains("sso") && !parsed.faulty.contains("sso.auth_url");
  if (!parsed.has(kList) || parsed.has("sso.auth_url") || !is_known ||
      parsed.settings.sso.connections.empty())
    return;
  parsed.faults.push_back({parsed.lines.at(kList), "sso.auth_url", "nothing",
                           allowed_by(find_settings_key("sso.auth_url")->rule),
                           "add it: the post-back URLs of the connections begin with it"});
}

}  // namespace giftsync::daemon::config
