#include "daemon/identity/oidc/oidc_client.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/config/connection_urls.h"
#include "daemon/identity/jose/jws.h"
#include "daemon/signin/home_realm.h"
#include "platform/digest.h"
#include "platform/text.h"
#include "platform/url_parameters.h"
#include "platform/visible_text.h"

namespace giftsync::oidc {

namespace {

constexpr std::size_t kMaxReplyBytes = std::size_t{16} * 1024;

}  // namespace

std::string redirect_uri(const config::SsoSettings& sso, const config::SsoConnectionSettings& connection) {
  return connection.redirect_to_login ? config::login_redirect_url(sso)
                                      : config::post_back_url(sso, connection);
}

std::string authorization_url(const Provider& provider, const config::SsoSettings& sso,
                              const config::SsoConnectionSettings& connection,
                              const AuthorizationRequest& request) {
  std::vector<std::pair<std::string, std::string>> parameters{
      {"response_type", "code"},
      {"client_id", connection.client_id},
      {"redirect_uri", redirect_uri(sso, connection)},
      {"scope", fmt::format("{}", fmt::join(connection.scopes, " "))},
      {"state", request.state},
      {"nonce", request.nonce},
      {"code_challenge", to_base64url(sha256(request.code_verifier))},
      {"code_challenge_method", "S256"}};
  if (request.must_reauthenticate) parameters.emplace_back("max_age", "0");
  std::string url = provider.authorization_endpoint;
  for (const auto& [name, value] : parameters) url = with_query_parameter(url, name, value);
  return url;
}

Outcome<AuthorizationReply> parse_authorization_reply(std::string_view query) {
  if (query.size() > kMaxReplyBytes) return refuse("OIDC-2", "The provider's reply is longer than 16 KiB.");
  const auto parameters = unique_url_parameters(query);
  if (!parameters) return refuse("OIDC-2", "The provider's reply {}.", parameters.error());
  const auto value = [&](const char* name) {
    const auto found = parameters->find(name);
    return found == parameters->end() ? std::string() : found->second;
  };
  return AuthorizationReply{value("state"),      value("code"),  value("iss"),
                            value("connection"), value("error"), value("error_description")};
}

Outcome<void> check_authorization_reply(const AuthorizationReply& reply, const Provider& provider) {
  if (!reply.error.empty()) {
    const std::string more = reply.error_description.empty() ? "" : ": " + in_quotes(reply.error_description);
    return refuse("OIDC-2", "The provider replies with the error {}{}.", in_quotes(reply.error), more);
  }
  if (reply.issuer != provider.issuer && (provider.names_issuer || !reply.issuer.empty())) {
    return refuse("OIDC-2", "The reply comes from issuer {}, not from {}.", in_quotes(reply.issuer),
                  provider.issuer);
  }
  if (reply.code.empty()) return refuse("OIDC-2", "The provider's reply has neither a code nor an error.");
  return {};
}

namespace {

/// Some providers send "true" or "1" as text, or 1.
bool is_true(const JsonValue& claims, std::string_view name) {
  const JsonValue* value = claims.find(name);
  return value != nullptr && (value->boolean() == true || value->integer() == 1 || value->text() == "1" ||
                              value->text() == "true");
}

/// Without an address.
VerifiedIdentity identity_of(const JsonValue& claims, const config::SsoConnectionSettings& connection,
                             std::string_view subject, std::string tenant) {
  return {.connection = connection.name,
          .subject = std::string(subject),
          .tenant = std::move(tenant),
          .name = std::string(truncated(claims.text_of("name"), signin::kMaxIdentityCodePoints)),
          .authenticated_at = time_claim(claims, "auth_time")};
}

/// OIDC-12. Pages, listings and the audit log show name and address.
Outcome<VerifiedIdentity> with_checked_text(VerifiedIdentity identity) {
  if (!identity.name.empty() && !signin::is_identity_line(identity.name))
    return refuse("OIDC-12", "The user's name (name) is {}; it must be one line.", in_quotes(identity.name));
  if (identity.address.empty()) return identity;
  if (const auto error = signin::address_error(identity.address))
    return refuse("OIDC-12", "The user's address {} {}.", in_quotes(identity.address), *error);
  return identity;
}

/// A person of another organization whom the directory has invited.
bool is_guest(const JsonValue& claims) {
  const std::string_view provider = claims.text_of("idp");
  return is_true(claims, "acct") || (!provider.empty() && provider != claims.text_of("iss"));
}

/// `email` is what the user's own directory writes there, unverified; only xms_edov vouches for it. The other
/// two are the name with which the user signs in, in a domain that the directory has proved to own.
std::string_view directory_address(const JsonValue& claims, const config::SsoConnectionSettings& connection) {
  const std::string_view name = claims.text_of(connection.identity_api_v2 ? "preferred_username" : "upn");
  if (signin::is_in_domains(connection, name)) return name;
  const std::string_view email = claims.text_of("email");
  return is_true(claims, "xms_edov") && signin::is_in_domains(connection, email) ? email : std::string_view();
}

}  // namespace

Outcome<VerifiedIdentity> oidc_identity(const JsonValue& claims,
                                        const config::SsoConnectionSettings& connection) {
  VerifiedIdentity identity = identity_of(claims, connection, claims.text_of("sub"), "");
  const std::string_view email = claims.text_of("email");
  const bool is_verified = is_true(claims, "email_verified");
  if (claims.find("email_verified") != nullptr && !is_verified) {
    return refuse("OIDC-8", "The provider has not verified the address {} (email_verified).",
                  in_quotes(email));
  }
  // An address in another domain says nothing about its owner: the provider speaks for its own domains only.
  if (signin::is_in_domains(connection, email)) identity.address = email;
  return with_checked_text(std::move(identity));
}

bool has_more_groups(const JsonValue& claims, const config::SsoConnectionSettings& connection) {
  const JsonValue* elsewhere = claims.find("_claim_names");
  // It says nothing of another claim, such as app roles.
  return (connection.groups_claim == "groups" && is_true(claims, "hasgroups")) ||
         (elsewhere != nullptr && elsewhere->find(connection.groups_claim) != nullptr);
}

Outcome<std::vector<std::string>> groups_of(const JsonValue& claims,
                                            const config::SsoConnectionSettings& connection) {
  const auto refuse_kind = [&](std::string_view kind) {
    return refuse("OIDC-13", "The claim {} (groups_claim) has {}; a text or a list of texts is allowed.",
                  in_quotes(connection.groups_claim), kind);
  };
  std::vector<std::string> all;
  const JsonValue* claim = claims.find(connection.groups_claim);
  if (claim == nullptr && has_more_groups(claims, connection)) {
    return refuse(
        "OIDC-13",
        "The user is in more groups than the provider puts into a token, so it names none. Let it "
        "send only the groups that are assigned to the app, or app roles with groups_claim: roles.");
  }
  if (claim == nullptr || claim->is_null()) return all;
  if (const auto text = claim->text()) {
    all.emplace_back(*text);
  } else if (claim->is_array()) {
    for (const JsonValue& one : claim->elements()) {
      if (!one.text()) return refuse_kind("a list with " + std::string(one.kind_name()));
      all.emplace_back(*one.text());
    }
  } else {
    return refuse_kind(claim->kind_name());
  }
  return signin::known_groups(connection, all);
}

Outcome<VerifiedIdentity> directory_identity(const JsonValue& claims,
                                             const config::SsoConnectionSettings& connection,
                                             const std::string& tenant) {
  const std::string claimed = ascii_lower(claims.text_of("tid"));
  if (claimed.empty() || claimed != tenant ||
      (!connection.tenant_id.empty() && claimed != connection.tenant_id)) {
    return refuse("OIDC-9", "The ID token is of directory {}; the connection's is {}.", in_quotes(claimed),
                  connection.tenant_id.empty() ? tenant : connection.tenant_id);
  }
  const std::string_view object = claims.text_of("oid");
  if (!signin::is_identity_line(object))
    return refuse("OIDC-10",
                  "The ID token has no oid of one line. Keep profile among the connection's scopes.");
  if (is_guest(claims) && !connection.allow_guests) {
    return refuse("OIDC-11",
                  "The user is a guest of the directory; the setting allow_guests of the connection lets "
                  "guests sign in.");
  }
  VerifiedIdentity identity = identity_of(claims, connection, object, claimed);
  identity.address = directory_address(claims, connection);
  return with_checked_text(std::move(identity));
}

namespace {

/// The JSON object of a reply.
Outcome<JsonDocument> parse_object(const std::string& rule, const std::string& what,
                                   const HttpResponse& response) {
  auto json = parse_json(without_byte_order_mark(response.body));
  const bool is_object = json && json->root().is_object();
  if (response.status != 200) {
    const std::string_view error = is_object ? json->root().text_of("error") : "";
    const std::string text = response.status == 0
                                 ? fmt::format("{}'s reply cannot be fetched: {}.", what, response.error)
                                 : fmt::format("{} responds with {}{}.", what, response.status,
                                               error.empty() ? "" : " and the error " + in_quotes(error));
    return tl::unexpected(SignInRefusal{rule, text, is_outage(response.status)});
  }
  if (!is_object) return refuse(rule, "{} responds with a text that is no strict JSON object.", what);
  return std::move(*json);
}

}  // namespace

HttpRequest token_request(const Provider& provider, const config::SsoSettings& sso,
                          const config::SsoConnectionSettings& connection, const std::string& code,
                          const std::string& code_verifier) {
  const auto encoded = [](std::string_view text) { return percent_encoded(text); };
  HttpRequest request{
      .method = "POST",
      .url = provider.token_endpoint,
      .headers = {"Content-Type: application/x-www-form-urlencoded", "Accept: application/json"},
      .body = "grant_type=authorization_code&code=" + encoded(code) + "&redirect_uri=" +
              encoded(redirect_uri(sso, connection)) + "&code_verifier=" + encoded(code_verifier)};
  const std::string id = encoded(connection.client_id);
  const std::string secret = encoded(connection.client_secret.reveal());
  if (provider.takes_basic)
    request.headers.push_back("Authorization: Basic " + to_base64_text(id + ":" + secret));
  else
    request.body += "&client_id=" + id + "&client_secret=" + secret;
  return request;
}

Outcome<Tokens> parse_token_reply(const HttpResponse& response) {
  const auto json = parse_object("OIDC-3", "The token endpoint", response);
  if (!json) return tl::unexpected(json.error());
  const JsonValue& root = json->root();
  Tokens tokens{std::string(root.text_of("id_token")), std::string(root.text_of("access_token"))};
  if (ascii_lower(root.text_of("token_type")) != "bearer")
    return refuse("OIDC-3", "The token endpoint's reply has another token_type than Bearer.");
  if (tokens.id_token.empty() || tokens.access_token.empty())
    return refuse("OIDC-3", "The token endpoint's reply lacks id_token or access_token.");
  return tokens;
}

HttpRequest userinfo_request(const Provider& provider, const std::string& access_token) {
  return {.url = provider.userinfo_endpoint,
          .headers = {"Authorization: Bearer " + access_token, "Accept: application/json"}};
}

Outcome<JsonDocument> parse_userinfo(const HttpResponse& response, std::string_view subject) {
  auto json = parse_object("OIDC-7", "The userinfo endpoint", response);
  if (!json) return json;
  if (json->root().text_of("sub") != subject)
    return refuse("OIDC-7", "The userinfo endpoint's reply is about another sub than the ID token.");
  return json;
}

namespace {

constexpr std::size_t kRandomBytes = 32;

/// A token of another kind, such as a logout token, is signed with the same keys.
bool is_id_token_type(const std::string& type) {
  return type.empty() || ascii_lower(type) == "jwt";
}

}  // namespace

std::string random_token() {
  return to_base64url(random_bytes(kRandomBytes));
}

AuthorizationRequest make_authorization_request(UtcMillis now, bool must_reauthenticate) {
  return {random_token(), random_token(), random_token(), now, must_reauthenticate};
}

Outcome<std::string> OidcClient::begin(const config::SsoConnectionSettings& connection,
                                       const AuthorizationRequest& request) {
  const DiscoveryCache::Found provider = discovery_.find(connection, request.started_at);
  if (!provider) return tl::unexpected(provider.error());
  return authorization_url(**provider, sso_, connection, request);
}

Outcome<VerifiedIdentity> OidcClient::complete(const config::SsoConnectionSettings& connection,
                                               const AuthorizationReply& reply,
                                               const AuthorizationRequest& request, UtcMillis now,
                                               RuleVerdicts& verdicts) {
  const DiscoveryCache::Found found = discovery_.find(connection, now);
  if (!found) return tl::unexpected(found.error());
  const Provider& provider = **found;
  verdicts.push_back({"OIDC-1", "discovery document and keys are valid"});
  if (const auto checked = check_authorization_reply(reply, provider); !checked)
    return tl::unexpected(checked.error());
  verdicts.push_back({"OIDC-2", "the reply is of this provider and has a code"});
  const auto tokens = parse_token_reply(send_(
      token_request(provider, sso_, connection, reply.code, request.code_verifier), connection.ca_file));
  if (!tokens) return tl::unexpected(tokens.error());
  verdicts.push_back({"OIDC-3", "the code was exchanged with the PKCE verifier"});
  const auto payload = verified_payload(connection, provider, tokens->id_token, now);
  if (!payload) return tl::unexpected(payload.error());
  const auto claims = parse_json(without_byte_order_mark(*payload));
  if (!claims || !claims->root().is_object())
    return refuse("OIDC-4", "The ID token's claims are no strict JSON object.");
  verdicts.push_back({"OIDC-4", "the ID token's header and signature hold"});
  ExpectedToken expected{provider.issuer,      connection.client_id, request.nonce,
                         tokens->access_token, reply.code,           {}};
  if (request.must_reauthenticate) expected.authenticated_after = request.started_at;
  if (const auto valid = validate_id_token(claims->root(), expected, now, verdicts); !valid)
    return tl::unexpected(valid.error());
  return identity_of(connection, provider, claims->root(), tokens->access_token, verdicts);
}

Outcome<std::string> OidcClient::verified_payload(const config::SsoConnectionSettings& connection,
                                                  const Provider& provider, const std::string& token,
                                                  UtcMillis now) {
  using Reason = jose::JwsRefusal::Reason;
  auto verified = jose::verify_jws(token, provider.keys, connection.algorithms);
  if (!verified && verified.error().reason == Reason::unknown_key) {
    const DiscoveryCache::Found renewed = discovery_.find_with_new_keys(connection, now);
    if (!renewed) return tl::unexpected(renewed.error());
    verified = jose::verify_jws(token, (*renewed)->keys, connection.algorithms);
  }
  if (!verified) return refuse("OIDC-4", "The ID token {}.", verified.error().text);
  if (!is_id_token_type(verified->type)) return refuse("OIDC-4", "The token is no ID token (typ).");
  return std::move(verified->payload);
}

namespace {

/// Sets the identity's groups, if the connection has some.
Outcome<VerifiedIdentity> with_groups(VerifiedIdentity identity, const JsonValue& claims,
                                      const config::SsoConnectionSettings& connection,
                                      RuleVerdicts& verdicts) {
  if (connection.groups.empty()) return identity;
  auto groups = groups_of(claims, connection);
  if (!groups) return tl::unexpected(groups.error());
  identity.groups = std::move(*groups);
  verdicts.push_back({"OIDC-13", "the user's groups can be read"});
  return identity;
}

}  // namespace

Outcome<VerifiedIdentity> OidcClient::identity_of(const config::SsoConnectionSettings& connection,
                                                  const Provider& provider, const JsonValue& claims,
                                                  const std::string& access_token, RuleVerdicts& verdicts) {
  if (connection.kind == config::SsoKind::directory) {
    auto identity = directory_identity(claims, connection, provider.tenant);
    if (!identity) return identity;
    verdicts.push_back({"OIDC-9", "tid is the connection's directory"});
    verdicts.push_back({"OIDC-10", "oid is there"});
    verdicts.push_back({"OIDC-11", "the user is no guest, or guests may sign in"});
    verdicts.push_back({"OIDC-12", "name and address are lines"});
    return with_groups(std::move(*identity), claims, connection, verdicts);
  }
  const bool lacks_address = claims.find("email") == nullptr;
  const bool lacks_groups = !connection.groups.empty() && claims.find(connection.groups_claim) == nullptr &&
                            !has_more_groups(claims, connection);
  const JsonValue* source = &claims;
  std::optional<JsonDocument> userinfo;
  if ((lacks_address || lacks_groups) && !provider.userinfo_endpoint.empty()) {
    auto reply = parse_userinfo(send_(userinfo_request(provider, access_token), connection.ca_file),
                                claims.text_of("sub"));
    if (!reply) return tl::unexpected(reply.error());
    verdicts.push_back({"OIDC-7", "the userinfo endpoint replies about the same sub"});
    source = &userinfo.emplace(std::move(*reply)).root();
  }
  auto identity = oidc_identity(lacks_address ? *source : claims, connection);
  if (!identity) return identity;
  verdicts.push_back({"OIDC-8", "the address is not one that the provider calls unverified"});
  verdicts.push_back({"OIDC-12", "name and address are lines"});
  identity->authenticated_at = time_claim(claims, "auth_time");
  return with_groups(std::move(*identity), lacks_groups ? *source : claims, connection, verdicts);
}

namespace {
using Fault = std::optional<std::string>;

constexpr double kMaxSeconds = 1e11;

struct Input {
  const JsonValue& claims;
  const ExpectedToken& expected;
  UtcMillis now;
};

Fault wrong_issuer(const Input& in) {
  const std::string_view issuer = in.claims.text_of("iss");
  if (issuer == in.expected.issuer) return std::nullopt;
  return fmt::format("The ID token's iss is {}, not {}.", in_quotes(issuer), in.expected.issuer);
}

Fault wrong_audience(const Input& in) {
  const JsonValue* audience = in.claims.find("aud");
  const auto is_own = [&](const JsonValue& json_value) { return json_value.text() == in.expected.client_id; };
  const bool is_list = audience != nullptr && audience->is_array();
  const auto list = is_list ? audience->elements() : std::span<const JsonValue>();
  const bool names_client =
      audience != nullptr && (is_list ? std::any_of(list.begin(), list.end(), is_own) : is_own(*audience));
  if (!names_client) return "The ID token's aud does not contain the connection's client_id.";
  const JsonValue* party = in.claims.find("azp");
  if ((list.size() > 1 && party == nullptr) || (party != nullptr && !is_own(*party)))
    return "The ID token is for several clients, and its azp is not the connection's client_id.";
  return std::nullopt;
}

Fault wrong_lifetime(const Input& in) {
  const auto expires = time_claim(in.claims, "exp");
  const auto issued = time_claim(in.claims, "iat");
  if (!expires) return "The ID token has no exp.";
  if (!issued) return "The ID token has no iat.";
  if (in.now >= *expires + kSkewMillis)
    return fmt::format("The ID token expired at {}.", to_rfc3339(*expires));
  if (*issued > in.now + kSkewMillis || in.now > *issued + kMaxTokenAgeMillis + kSkewMillis)
    return fmt::format("The ID token was issued at {}; allowed: at most 10 minutes ago. Compare the clocks.",
                       to_rfc3339(*issued));
  const auto begins = time_claim(in.claims, "nbf");
  if (in.claims.find("nbf") != nullptr && (!begins || *begins > in.now + kSkewMillis))
    return "The ID token is not valid yet (nbf).";
  return std::nullopt;
}

Fault wrong_nonce(const Input& in) {
  const std::string_view nonce = in.claims.text_of("nonce");
  if (!in.expected.nonce.empty() && equal_in_constant_time(nonce, in.expected.nonce)) return std::nullopt;
  return nonce.empty() ? "The ID token has no nonce." : "The ID token's nonce belongs to another sign-in.";
}

Fault wrong_subject(const Input& in) {
  const std::string_view subject = in.claims.text_of("sub");
  if (signin::is_identity_line(subject)) return std::nullopt;
  return "The ID token's sub is not one line of 1 to 255 characters.";
}

/// RS256 and ES256 both use SHA-256, and so do at_hash and c_hash.
bool is_absent_or_hash(const JsonValue& claims, std::string_view name, const std::string& text) {
  const std::string hash = sha256(text).substr(0, kSha256Bytes / 2);
  return claims.find(name) == nullptr || claims.text_of(name) == to_base64url(hash);
}

Fault wrong_hash(const Input& in) {
  if (!is_absent_or_hash(in.claims, "at_hash", in.expected.access_token))
    return "The ID token belongs to another access token (at_hash).";
  if (!is_absent_or_hash(in.claims, "c_hash", in.expected.code))
    return "The ID token belongs to another code (c_hash).";
  return std::nullopt;
}

Fault wrong_authentication_time(const Input& in) {
  if (!in.expected.authenticated_after) return std::nullopt;
  const auto time = time_claim(in.claims, "auth_time");
  if (!time) return "The ID token has no auth_time, though a new proof of the user was asked for (max_age).";
  if (*time + kSkewMillis >= *in.expected.authenticated_after && *time <= in.now + kSkewMillis)
    return std::nullopt;
  return fmt::format("The user proved who they are at {}, before this sign-in.", to_rfc3339(*time));
}

struct Check {
  const char* rule;
  const char* holds;
  Fault (*fault)(const Input&);
};
constexpr Check kChecks[] = {
    {"OIDC-5", "iss is the provider's issuer", wrong_issuer},
    {"OIDC-5", "aud contains the client id, and azp agrees", wrong_audience},
    {"OIDC-5", "exp, iat and nbf allow the token now", wrong_lifetime},
    {"OIDC-5", "nonce is that of this sign-in", wrong_nonce},
    {"OIDC-5", "sub is there", wrong_subject},
    {"OIDC-6", "at_hash and c_hash, if there, fit access token and code", wrong_hash},
    {"OIDC-6", "auth_time, if asked for, is new enough", wrong_authentication_time},
};

}  // namespace

std::optional<UtcMillis> time_claim(const JsonValue& claims, std::string_view name) {
  const JsonValue* value = claims.find(name);
  if (value == nullptr) return std::nullopt;
  const std::optional<std::int64_t> whole = value->integer();
  const double seconds = whole ? static_cast<double>(*whole) : value->real().value_or(-1);
  if (!(seconds >= 0 && seconds < kMaxSeconds)) return std::nullopt;
  return UtcMillis{static_cast<std::int64_t>(seconds * 1000)};
}

Outcome<void> validate_id_token(const JsonValue& claims, const ExpectedToken& expected, UtcMillis now,
                                RuleVerdicts& verdicts) {
  const Input input{claims, expected, now};
  for (const Check& check : kChecks) {
    if (Fault fault = check.fault(input)) return refuse(check.rule, "{}", *fault);
    verdicts.push_back({check.rule, check.holds});
  }
  return {};
}

}  // namespace giftsync::oidc
