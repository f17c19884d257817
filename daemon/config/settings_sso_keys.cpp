// The keys of `sso`; accessors of a connection's keys refer to the last element.
#include <utility>

#include "daemon/config/settings_keys.h"

namespace giftsync::daemon::config {
namespace {

using C = SsoConnectionSettings;

constexpr std::size_t kMaxDomains = 100;
constexpr const char* kHttpsAllowed =
    "an https:// URL without user, query and fragment such as https://login.example.com";
constexpr const char* kClaimAllowed = "an attribute's name of at most 255 characters";

template <class T>
Accessor<T> sso_setting(T SsoSettings::*member) {
  return [member](Settings& settings) -> T& { return settings.sso.*member; };
}

template <class T>
Accessor<T> setting(T C::*member) {
  return [member](Settings& settings) -> T& { return settings.sso.connections.back().*member; };
}

template <class T>
Choice choice(std::vector<std::string> values, Accessor<T> accessor) {
  return {std::move(values),
          [accessor](Settings& settings, std::size_t index) { accessor(settings) = static_cast<T>(index); },
          [accessor](Settings& settings) { return static_cast<std::size_t>(accessor(settings)); }};
}

void add_saml(std::vector<SettingsKey>& keys) {
  const OnlyWith saml{"sso.connections.type", "saml"};
  keys.push_back({"sso.connections.sign_in_url", "The provider's sign-in page.",
                  Text{setting(&C::sign_in_url), "an https:// URL such as https://idp.example.com/saml/sso",
                       check_sign_in_url},
                  true, saml});
  keys.push_back({"sso.connections.certificate", "The X.509 certificate (PEM) with which the provider signs.",
                  FilePath{setting(&C::certificate), "a readable file's path", true}, true, saml});
  keys.push_back({"sso.connections.hash", "The hash of its signatures; sha1 can be forged.",
                  choice<bool>({"sha256", "sha1"}, setting(&C::sha1)), false, saml});
  const auto claim = [&](const char* name, const char* meaning, std::string C::*member) {
    keys.push_back({std::string("sso.connections.claims.") + name, meaning,
                    Text{setting(member), kClaimAllowed, check_plain_text}, false, saml});
  };
  claim("user_id", "The attribute with the user's permanent id.", &C::claim_user_id);
  claim("email", "The attribute with the user's e-mail address.", &C::claim_email);
  claim("name", "The attribute with the user's name.", &C::claim_name);
}

}  // namespace

void add_sso_keys(std::vector<SettingsKey>& keys) {
  keys.push_back(
      {"sso.auth_url",
       "The URL of the identity provider through which people sign in; post-back URLs begin with it.",
       Text{sso_setting(&SsoSettings::auth_url), kHttpsAllowed, check_https_url}});
  keys.push_back({"sso.authority",
                  "The host of Microsoft Entra ID for connections of type directory; national clouds have "
                  "others.",
                  Text{sso_setting(&SsoSettings::authority), kHttpsAllowed, check_https_url}});
  keys.push_back({"sso.connections.name",
                  "The connection's name, a part of its post-back URL and of its SAML entity id.",
                  Text{setting(&C::name), "1 to 64 lower-case letters, digits and -, with no - at either end",
                       check_connection_name},
                  true});
  keys.push_back({"sso.connections.type",
                  "oidc: OpenID Connect; saml: SAML 2.0; directory: Microsoft Entra ID.",
                  choice<SsoKind>({"oidc", "saml", "directory"}, setting(&C::kind))});
  keys.push_back(
      {"sso.connections.domains",
       "The home-realm discovery domains: people with an address there sign in through this "
       "connection.",
       TextList{setting(&C::domains), 0, kMaxDomains, "a domain such as example.com", check_domain}});
  keys.push_back({"sso.connections.client_id", "The client id that the provider assigned.",
                  Text{setting(&C::client_id), "the id as the provider shows it", check_plain_text}});
  keys.push_back({"sso.connections.client_secret",
                  "The client secret that the provider assigned, as a reference to a secret.",
                  SecretReference{setting(&C::client_secret)}});
  keys.push_back({"sso.connections.issuer",
                  "The provider's issuer URL, exactly as in its discovery document.",
                  Text{setting(&C::issuer),
                       "an https:// URL without user, query and fragment such as "
                       "https://idp.example.com",
                       check_issuer_url},
                  true,
                  {"sso.connections.type", "oidc"}});
  add_saml(keys);
  const OnlyWith directory{"sso.connections.type", "directory"};
  keys.push_back({"sso.connections.domain",
                  "The directory's domain; people with an address there sign in through this connection.",
                  Text{setting(&C::domain), "a domain such as example.onmicrosoft.com", check_domain}, true,
                  directory});
  keys.push_back({"sso.connections.identity_api", "The version of the directory's identity API.",
                  choice<bool>({"v1", "v2"}, setting(&C::identity_api_v2)), false, directory});
  keys.push_back({"sso.connections.ca_file",
                  "The certificate authorities (PEM) with which giftsyncctl sso check verifies the provider, "
                  "in place of the system's.",
                  FilePath{setting(&C::ca_file), "a readable file's path", true}});
}

}  // namespace giftsync::daemon::config
