// The keys of `sso`.
#include "daemon/config/settings_table.h"

namespace giftsync::config {
namespace {

using C = SsoConnectionSettings;

constexpr std::size_t kMaxDomains = 100;
constexpr std::size_t kMaxGroups = 100;
constexpr const char* kCertificates = "\"/etc/ssl/certs/ca-certificates.crt\"";

template <class T>
auto connection(T C::*member) {
  return setting(&Settings::sso, &SsoSettings::connections, member);
}

TextForm domain_form(std::string allowed) {
  return {std::move(allowed), check_domain, R"({"pattern": "^[^\\s@]+$"})"};
}

KeyTable oidc_keys() {
  return {{"sso.connections.name",
           "The connection's name, a part of its post-back URL and of its SAML entity id.",
           Text{connection(&C::name),
                {"1 to 64 lower-case letters, digits and -, with no - at either end", check_connection_name,
                 R"({"pattern": "^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$"})"}},
           {.example = "acme", .is_required = true}},
          {"sso.connections.type", "oidc: OpenID Connect; saml: SAML 2.0; directory: Microsoft Entra ID.",
           choice({"oidc", "saml", "directory"}, connection(&C::kind))},
          {"sso.connections.domains",
           "The home-realm discovery domains: people with an address there sign in through this connection. "
           "No two connections have the same; with type: oidc at least one.",
           TextList{connection(&C::domains), 0, kMaxDomains, domain_form("a domain such as example.com")},
           {.example = "[example.com]"}},
          {"sso.connections.client_id",
           "The client id that the provider assigned. Required with type: oidc and directory, and only then.",
           Text{connection(&C::client_id), plain_text("the id as the provider shows it")},
           {.example = "giftsync"}},
          {"sso.connections.client_secret",
           "The client secret that the provider assigned, as a reference to a secret. Required with type: "
           "oidc and directory, and only then.",
           SecretReference{connection(&C::client_secret)},
           {.example = "\"credential:acme-client-secret\""}},
          {"sso.connections.issuer",
           "The provider's issuer URL, exactly as in its discovery document.",
           Text{connection(&C::issuer),
                {"an https:// URL without user, query and fragment such as https://idp.example.com",
                 check_issuer_url, kHttpsPattern}},
           {.example = "\"https://idp.example.com\"",
            .is_required = true,
            .only_with = {"sso.connections.type", "oidc"}}}};
}

KeyTable sign_in_keys() {
  return {
      {"sso.connections.redirect",
       "Which of the two URLs that giftsyncctl sso show prints the provider sends people back to: "
       "post_back is one for each connection, so that no other provider can reply in its place; login is "
       "for providers that accept no URL with a query. Only with type: oidc and directory.",
       choice({"post_back", "login"}, connection(&C::redirect_to_login))},
      {"sso.connections.algorithms",
       "The algorithms with which the provider may sign its ID tokens. Only with type: oidc and "
       "directory.",
       TextList{connection(&C::algorithms),
                1,
                2,
                {"RS256 or ES256", check_signature_algorithm, R"({"enum": ["RS256", "ES256"]})"}}},
      {"sso.connections.scopes",
       "The scopes that giftsync asks the provider for; openid is one of them. Only with type: oidc and "
       "directory.",
       TextList{connection(&C::scopes),
                1,
                20,
                {"a scope such as email, without spaces", check_scope,
                 R"({"pattern": "^[!#-\\[\\]-~]{1,100}$"})"}}},
      {"sso.connections.organization",
       "The organization to which the people of this connection belong, by its name in giftsyncctl "
       "organization list: they see its gifts only. Users of another organization, or of none, are "
       "refused.",
       Text{connection(&C::organization), plain_text("an organization's name")},
       {.example = "Acme"}},
      {"sso.connections.groups",
       "Roles from the provider's groups: each group as the provider sends it, by name or id, with the role "
       "that it gives. The roles are those of the last sign-in; people without a group and without another "
       "role are refused. Without groups the provider gives no roles.",
       ChoiceMap{connection(&C::groups),
                 kMaxGroups,
                 "a group as the provider sends it",
                 {"sender", "approver", "admin", "operator", "auditor"}},
       {.example = "{\"Gift approvers\": approver}"}},
      {"sso.connections.groups_claim", "The claim, or with type: saml the attribute, with the user's groups.",
       Text{connection(&C::groups_claim), plain_text("a name of at most 255 characters")}},
      {"sso.connections.groups_give_operator",
       "Whether a group may give the role operator. Who may change groups at the provider may then act "
       "on mail and sources of all organizations that the user sees.",
       BooleanValue{connection(&C::groups_give_operator)}}};
}

KeyTable saml_keys() {
  const OnlyWith saml{"sso.connections.type", "saml"};
  const TextForm attribute = plain_text("an attribute's name of at most 255 characters");
  return {
      {"sso.connections.sign_in_url",
       "The provider's sign-in page.",
       Text{connection(&C::sign_in_url),
            {"an https:// URL such as https://idp.example.com/saml/sso", check_sign_in_url,
             kHttpsQueryPattern}},
       {.example = "\"https://idp.example.com/saml/sso\"", .is_required = true, .only_with = saml}},
      {"sso.connections.certificate",
       "The X.509 certificate (PEM) with which the provider signs. One with an RSA key of less than 2048 "
       "bits is refused; from 30 days before its end on there is a warning, and once it has expired it "
       "verifies no sign-in.",
       FilePath{connection(&C::certificate), kReadableFile, true},
       {.example = kCertificates, .is_required = true, .only_with = saml}},
      {"sso.connections.next_certificate",
       "A second certificate whose signatures count as well, for the time in which the provider changes its "
       "certificate. The same is refused and warned of as with certificate.",
       FilePath{connection(&C::next_certificate), kReadableFile, true},
       {.example = kCertificates, .only_with = saml}},
      {"sso.connections.provider_entity_id",
       "The provider's entity id, exactly as in its metadata: the issuer that its responses must have. "
       "Without it any issuer counts whose response the certificate verifies; set it when the provider "
       "signs with one certificate for several customers.",
       Text{connection(&C::provider_entity_id), plain_text("the entity id as the provider shows it")},
       {.example = "\"https://idp.example.com/saml/metadata\"", .only_with = saml}},
      {"sso.connections.hash",
       "The hash of its signatures; sha1 can be forged and causes a warning.",
       choice({"sha256", "sha1"}, connection(&C::sha1)),
       {.only_with = saml}},
      {"sso.connections.claims.user_id",
       "The attribute with the user's permanent id.",
       Text{connection(&C::claim_user_id), attribute},
       {.only_with = saml}},
      {"sso.connections.claims.email",
       "The attribute with the user's e-mail address.",
       Text{connection(&C::claim_email), attribute},
       {.only_with = saml}},
      {"sso.connections.claims.name",
       "The attribute with the user's name.",
       Text{connection(&C::claim_name), attribute},
       {.only_with = saml}}};
}

KeyTable directory_keys() {
  const OnlyWith directory{"sso.connections.type", "directory"};
  return {{"sso.connections.domain",
           "The directory's domain; people with an address there sign in through this connection.",
           Text{connection(&C::domain), domain_form("a domain such as example.onmicrosoft.com")},
           {.example = "example.onmicrosoft.com", .is_required = true, .only_with = directory}},
          {"sso.connections.identity_api",
           "The version of the directory's identity API.",
           choice({"v1", "v2"}, connection(&C::identity_api_v2)),
           {.only_with = directory}},
          {"sso.connections.tenant_id",
           "The directory's id. Without it the id of the first sign-in is kept; any other id is refused.",
           Text{connection(&C::tenant_id),
                {"an id such as 11111111-2222-3333-4444-555555555555", check_tenant_id,
                 R"({"pattern": "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"})"}},
           {.example = "11111111-2222-3333-4444-555555555555", .only_with = directory}},
          {"sso.connections.allow_guests",
           "Whether the directory's guests, who are people of other organizations, may sign in.",
           BooleanValue{connection(&C::allow_guests)},
           {.only_with = directory}},
          {"sso.connections.ca_file",
           "The certificate authorities (PEM) with which giftsync verifies the provider, in place of the "
           "system's.",
           FilePath{connection(&C::ca_file), kReadableFile, true},
           {.example = kCertificates}}};
}

KeyTable provider_keys() {
  const TextForm https{"an https:// URL without user, query and fragment such as https://login.example.com",
                       check_https_url, kHttpsPattern};
  return {{"sso.auth_url",
           "The URL of the identity provider through which people sign in; post-back URLs begin with it. "
           "Required as soon as there is a connection.",
           Text{setting(&Settings::sso, &SsoSettings::auth_url), https},
           {.example = "\"https://login.example.com\""}},
          {"sso.authority",
           "The host of Microsoft Entra ID for connections of type directory; national clouds have others.",
           Text{setting(&Settings::sso, &SsoSettings::authority), https}}};
}

}  // namespace

KeyTable sso_keys() {
  return joined({provider_keys, oidc_keys, sign_in_keys, saml_keys, directory_keys});
}

}  // namespace giftsync::config
