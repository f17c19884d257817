#include "tests/salesforce/fake_org/token.h"

#include "platform/digest.h"
#include "platform/text.h"
#include "tests/salesforce/fake_org/api_error.h"
#include "tests/salesforce/fake_org/jwt_check.h"

namespace giftsync::tests::fake_org {
namespace {

constexpr std::int64_t kLongestAssertionSeconds = 300;
constexpr std::string_view kJwtGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer";

struct TokenRefusal {
  std::string error;
  std::string description;
};

ApiAnswer refused(const TokenRefusal& refusal) {
  return {.status = 400, .body = {{"error", refusal.error}, {"error_description", refusal.description}}};
}

std::int64_t seconds_of(const Json& claims, const char* name) {
  return claims.contains(name) && claims[name].is_number() ? claims[name].get<std::int64_t>() : 0;
}

bool is_active(Org& org, const std::string& user) {
  const std::optional<StoredRecord> record = org.find(*org.schema().find("User"), user);
  return record && record->values.at("IsActive") == Value(true);
}

/// The user of an assertion, or why it is refused.
std::variant<std::string, TokenRefusal> user_of_assertion(Org& org, const std::string& assertion) {
  const std::optional<Json> claims = verified_claims(assertion, org.setting("certificate"));
  if (!claims) return TokenRefusal{"invalid_grant", "invalid assertion"};
  if (claims->value("iss", "") != org.setting("consumer_key"))
    return TokenRefusal{"invalid_client_id", "client identifier invalid"};
  if (claims->value("aud", "") != org.setting("audience"))
    return TokenRefusal{"invalid_grant", "audience is invalid"};
  const std::int64_t left = seconds_of(*claims, "exp") - org.now().value / 1000;
  if (left <= 0 || left > kLongestAssertionSeconds) return TokenRefusal{"invalid_grant", "invalid assertion"};
  const std::string user = org.user_id(claims->value("sub", ""));
  if (user.empty()) return TokenRefusal{"invalid_grant", "user hasn't approved this consumer"};
  if (!is_active(org, user)) return TokenRefusal{"inactive_user", "user is inactive"};
  return user;
}

std::variant<std::string, TokenRefusal> user_of_credentials(Org& org,
                                                            const std::map<std::string, std::string>& form) {
  const auto given = [&](const char* name) {
    const auto found = form.find(name);
    return found == form.end() ? std::string() : found->second;
  };
  if (given("client_id") != org.setting("consumer_key"))
    return TokenRefusal{"invalid_client_id", "client identifier invalid"};
  if (given("client_secret").empty() || given("client_secret") != org.setting("client_secret"))
    return TokenRefusal{"invalid_client", "invalid client credentials"};
  const std::string user = org.user_id(org.setting("run_as"));
  if (user.empty()) return TokenRefusal{"invalid_grant", "no client credentials user enabled"};
  return user;
}

ApiAnswer granted(Org& org, const std::string& user, const ApiRequest& request) {
  const std::string token = org.organization_id().substr(0, 15) + "!" + random_hex(24);
  const auto seconds = parse_number<std::int64_t>(org.setting("session_seconds")).value_or(7200);
  org.database().run("INSERT INTO org_session (token, user_id, ends_at) VALUES (?, ?, ?)",
                     {token, user, static_cast<double>(org.now().value + seconds * 1000)});
  const std::string given = org.setting("instance_url");
  const std::string url = given.empty() ? "http://" + request.header("Host") : given;
  return {.body = {{"access_token", token},
                   {"scope", "api"},
                   {"instance_url", url},
                   {"id", url + "/id/" + org.organization_id() + "/" + user},
                   {"token_type", "Bearer"},
                   {"issued_at", std::to_string(org.now().value)}}};
}

}  // namespace

ApiAnswer token_answer(Org& org, const ApiRequest& request) {
  const std::map<std::string, std::string> form = decoded_form(request.body);
  const auto grant = form.find("grant_type");
  if (org.setting("app_state") == "blocked")
    return refused({"app_not_found", "External client app is not installed in this org"});
  std::variant<std::string, TokenRefusal> user =
      TokenRefusal{"unsupported_grant_type", "grant type not supported"};
  if (grant != form.end() && grant->second == kJwtGrant) {
    const auto assertion = form.find("assertion");
    user = user_of_assertion(org, assertion == form.end() ? std::string() : assertion->second);
  } else if (grant != form.end() && grant->second == "client_credentials") {
    user = user_of_credentials(org, form);
  }
  if (const auto* refusal = std::get_if<TokenRefusal>(&user)) return refused(*refusal);
  return granted(org, std::get<std::string>(user), request);
}

std::string session_user(Org& org, const ApiRequest& request) {
  // Neither is cured by a new token.
  if (const std::string words = org.setting("session_refusal"); !words.empty())
    throw ApiError(401, "INVALID_SESSION_ID", words);
  std::string token = request.header("Authorization");
  constexpr std::string_view kScheme = "Bearer ";
  if (token.starts_with(kScheme)) token.erase(0, kScheme.size());
  const auto rows = org.database().run("SELECT user_id FROM org_session WHERE token = ? AND ends_at > ?",
                                       {token, static_cast<double>(org.now().value)});
  if (rows.empty()) throw ApiError(401, "INVALID_SESSION_ID", "Session expired or invalid");
  return rows[0][0].value_or("");
}

}  // namespace giftsync::tests::fake_org
