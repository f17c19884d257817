#include "daemon/salesforce/sign_in.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "daemon/salesforce/response_text.h"
#include "daemon/salesforce/sign_in_refusals.h"
#include "platform/digest.h"
#include "platform/strict_json.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::daemon::salesforce {
namespace {

/// Salesforce accepts at most five minutes; an exact clock needs seconds.
constexpr std::int64_t kAssertionSeconds = 180;
constexpr const char* kTokenPath = "/services/oauth2/token";

std::string audience_of(const std::string& login) {
  if (login == "production") return "https://login.salesforce.com";
  if (login == "sandbox") return "https://test.salesforce.com";
  return login;
}

std::string assertion(const SignInSettings& settings, platform::UtcMillis now) {
  const nlohmann::ordered_json claims = {
      {"iss", settings.client_id},
      {"sub", settings.username},
      {"aud", audience_of(settings.login)},
      {"exp", now.value / platform::kSecondMillis + kAssertionSeconds},
  };
  return platform::signed_jwt(settings.private_key.value(), claims.dump());
}

std::string form_body(const SignInSettings& settings, platform::UtcMillis now) {
  if (settings.flow == SignInFlow::jwt_bearer)
    return "grant_type=" + platform::percent_encoded("urn:ietf:params:oauth:grant-type:jwt-bearer") +
           "&assertion=" + platform::percent_encoded(assertion(settings, now));
  return "grant_type=client_credentials&client_id=" + platform::percent_encoded(settings.client_id) +
         "&client_secret=" + platform::percent_encoded(settings.client_secret);
}

std::string text_member(const platform::JsonValue& object, std::string_view name) {
  const platform::JsonValue* member = object.find(name);
  return member == nullptr ? "" : std::string(member->text().value_or(""));
}

bool is_record_id(std::string_view id) {
  return (id.size() == 15 || id.size() == 18) &&
         std::all_of(id.begin(), id.end(), platform::is_ascii_letter_or_digit);
}

/// It becomes part of a header.
bool is_header_text(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

/// Sets organization and user from "https://login.salesforce.com/id/ORGANIZATION/USER".
void read_identity(std::string_view url, Session& session) {
  const std::size_t user = url.rfind('/');
  if (user == std::string_view::npos || user == 0) return;
  const std::size_t organization = url.rfind('/', user - 1);
  if (organization == std::string_view::npos) return;
  session.organization_id = url.substr(organization + 1, user - organization - 1);
  session.user_id = url.substr(user + 1);
}

SignInOutcome session_of(const platform::JsonValue& answer) {
  Session session;
  session.access_token = text_member(answer, "access_token");
  session.instance_url = text_member(answer, "instance_url");
  while (session.instance_url.ends_with('/')) session.instance_url.pop_back();
  read_identity(text_member(answer, "id"), session);
  if (!is_header_text(session.access_token)) return SignInFault{"the org's answer has no access_token"};
  if (!platform::is_https_or_loopback(session.instance_url))
    return SignInFault{"the org's answer has no instance_url with https"};
  if (!is_record_id(session.organization_id) || !is_record_id(session.user_id))
    return SignInFault{"the org's answer has no id with the ids of its organization and user"};
  return session;
}

std::optional<std::int64_t> seconds_of(const std::string& retry_after) {
  const auto seconds = platform::parse_number<std::int64_t>(retry_after);
  return seconds && *seconds >= 0 ? seconds : std::nullopt;
}

/// How far this host's clock is from the server's; nullopt when the answer does not say.
std::optional<std::int64_t> clock_lead_seconds(const platform::HttpResponse& response,
                                               platform::UtcMillis now) {
  const auto date = platform::from_http_date(response.header("date"));
  if (!date) return std::nullopt;
  return (now.value - date->value) / platform::kSecondMillis;
}

std::string describe_without_token(const platform::HttpResponse& response) {
  if (response.body.find("access_token") != std::string::npos)
    return fmt::format("HTTP {}, with a token in an unknown form", response.status);
  return describe_unexpected(response);
}

SignInOutcome refusal_of(const platform::JsonValue& answer, const platform::HttpResponse& response,
                         platform::UtcMillis now) {
  const OAuthError error{text_member(answer, "error"), text_member(answer, "error_description")};
  const std::string reason =
      platform::visible_text(error.description.empty() ? error.code : error.code + ": " + error.description);
  if (error.code.empty()) return SignInFault{describe_without_token(response)};
  if (is_temporary(error))
    return SignInFault{.reason = reason,
                       .retry_after_seconds = seconds_of(response.header("retry-after")),
                       .is_answered = true};
  return SignInRefusal{reason, next_step_after(error, clock_lead_seconds(response, now))};
}

SignInOutcome outcome_of(const platform::HttpResponse& response, platform::UtcMillis now) {
  if (response.status == 0) return SignInFault{"no answer: " + response.error};
  const bool is_refusal = response.status >= 400 && response.status < 500;
  const auto document = platform::parse_json(response.body);
  if (!document || !document->root().is_object() || (response.status != 200 && !is_refusal))
    return SignInFault{describe_without_token(response), seconds_of(response.header("retry-after")),
                       response.status};
  return is_refusal ? refusal_of(document->root(), response, now) : session_of(document->root());
}

}  // namespace

SignInOutcome sign_in(const SignInSettings& settings, platform::HttpClient& http, platform::UtcMillis now,
                      const platform::KeepGoing& keep_going) {
  const platform::HttpRequest request{
      .method = "POST",
      .url = settings.domain + kTokenPath,
      .headers = {"Content-Type: application/x-www-form-urlencoded", "Accept: application/json"},
      .body = form_body(settings, now)};
  return outcome_of(http.send(request, keep_going), now);
}

std::string sign_in_fingerprint(const SignInSettings& settings) {
  const bool is_jwt = settings.flow == SignInFlow::jwt_bearer;
  return platform::sha256_hex(fmt::format("{}\n{}\n{}\n{}", settings.domain,
                                          is_jwt ? "jwt" : "client_credentials", settings.client_id,
                                          is_jwt ? settings.username : ""));
}

}  // namespace giftsync::daemon::salesforce
