#include "crm/salesforce/calls/sign_in.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "platform/digest.h"
#include "platform/json.h"
#include "platform/strict_json.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::salesforce {
namespace {

/// Salesforce accepts at most five minutes; an exact clock needs seconds.
constexpr std::int64_t kAssertionSeconds = 180;
constexpr const char* kTokenPath = "/services/oauth2/token";

std::string audience_of(const std::string& login) {
  if (login == "production") return "https://login.salesforce.com";
  if (login == "sandbox") return "https://test.salesforce.com";
  return login;
}

std::string assertion(const SignInSettings& settings, UtcMillis now) {
  const nlohmann::ordered_json claims = {
      {"iss", settings.client_id},
      {"sub", settings.username},
      {"aud", audience_of(settings.login)},
      {"exp", now.value / kSecondMillis + kAssertionSeconds},
  };
  return signed_jwt(settings.private_key.value(), claims.dump());
}

std::string form_body(const SignInSettings& settings, UtcMillis now) {
  if (settings.flow == SignInFlow::jwt_bearer)
    return "grant_type=" + percent_encoded("urn:ietf:params:oauth:grant-type:jwt-bearer") +
           "&assertion=" + percent_encoded(assertion(settings, now));
  return "grant_type=client_credentials&client_id=" + percent_encoded(settings.client_id) +
         "&client_secret=" + percent_encoded(settings.client_secret);
}

bool is_record_id(std::string_view id) {
  return (id.size() == 15 || id.size() == 18) && std::all_of(id.begin(), id.end(), is_ascii_letter_or_digit);
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

SignInOutcome session_of(const JsonValue& answer) {
  Session session;
  session.access_token = text_at(answer, "access_token");
  session.instance_url = text_at(answer, "instance_url");
  while (session.instance_url.ends_with('/')) session.instance_url.pop_back();
  read_identity(text_at(answer, "id"), session);
  if (!is_header_text(session.access_token)) return SignInFault{"the org's answer has no access_token"};
  if (!is_https_or_loopback(session.instance_url))
    return SignInFault{"the org's answer has no instance_url with https"};
  if (!is_record_id(session.organization_id) || !is_record_id(session.user_id))
    return SignInFault{"the org's answer has no id with the ids of its organization and user"};
  return session;
}

std::optional<std::int64_t> seconds_of(const std::string& retry_after) {
  const auto seconds = parse_number<std::int64_t>(retry_after);
  return seconds && *seconds >= 0 ? seconds : std::nullopt;
}

/// How far this host's clock is from the server's; nullopt when the answer does not say.
std::optional<std::int64_t> clock_lead_seconds(const HttpResponse& response, UtcMillis now) {
  const auto date = from_http_date(response.header("date"));
  if (!date) return std::nullopt;
  return (now.value - date->value) / kSecondMillis;
}

std::string describe_without_token(const HttpResponse& response) {
  if (response.body.find("access_token") != std::string::npos)
    return fmt::format("HTTP {}, with a token in an unknown form", response.status);
  return describe_unexpected(response);
}

SignInOutcome refusal_of(const JsonValue& answer, const HttpResponse& response, UtcMillis now) {
  const OAuthError error{text_at(answer, "error"), text_at(answer, "error_description")};
  const std::string reason =
      visible_text(error.description.empty() ? error.code : error.code + ": " + error.description);
  if (error.code.empty()) return SignInFault{describe_without_token(response)};
  if (is_temporary(error))
    return SignInFault{.reason = reason,
                       .retry_after_seconds = seconds_of(response.header("retry-after")),
                       .is_answered = true};
  return SignInRefusal{reason, next_step_after(error, clock_lead_seconds(response, now))};
}

SignInOutcome outcome_of(const HttpResponse& response, UtcMillis now) {
  if (response.status == 0) return SignInFault{"no answer: " + response.error};
  const bool is_refusal = response.status >= 400 && response.status < 500;
  const auto document = parse_json(response.body);
  if (!document || !document->root().is_object() || (response.status != 200 && !is_refusal))
    return SignInFault{describe_without_token(response), seconds_of(response.header("retry-after")),
                       response.status};
  return is_refusal ? refusal_of(document->root(), response, now) : session_of(document->root());
}

}  // namespace

SignInOutcome sign_in(const SignInSettings& settings, HttpClient& http, UtcMillis now,
                      const KeepGoing& keep_going) {
  const HttpRequest request{
      .method = "POST",
      .url = settings.domain + kTokenPath,
      .headers = {"Content-Type: application/x-www-form-urlencoded", "Accept: application/json"},
      .body = form_body(settings, now)};
  return outcome_of(http.send(request, keep_going), now);
}

std::string sign_in_fingerprint(const SignInSettings& settings) {
  const bool is_jwt = settings.flow == SignInFlow::jwt_bearer;
  return sha256_hex(fmt::format("{}\n{}\n{}\n{}", settings.domain, is_jwt ? "jwt" : "client_credentials",
                                settings.client_id, is_jwt ? settings.username : ""));
}

namespace {

/// Beyond it an assertion that lives for three minutes may have expired on arrival.
constexpr std::int64_t kMaxClockLeadSeconds = 60;

constexpr std::array<std::string_view, 5> kTemporaryCodes{
    "temporarily_unavailable", "server_error", "unknown_error", "rate_limit_exceeded", "login_rate_exceeded"};
constexpr std::string_view kRateExceeded = "rate exceeded";

constexpr std::string_view kApprove =
    "in Setup, External Client App Manager, open the app's policies, let admin-approved users be "
    "pre-authorized and select the integration user's permission set";
constexpr std::string_view kApp =
    "check that crm.salesforce.client_id is the app's consumer key and that the External Client App is "
    "installed in this org; for such an app crm.salesforce.login may have to be the My Domain URL";
constexpr std::string_view kCertificate =
    "upload the certificate that belongs to crm.salesforce.private_key to the app";
constexpr std::string_view kUser =
    "check crm.salesforce.username, and in Setup, Users, that the integration user is active and not locked";
constexpr std::string_view kOther =
    "check the External Client App and the integration user; Setup, Login History shows each attempt with "
    "its reason";

struct Remedy {
  std::string_view words;  ///< of the code or the description, in lower case
  std::string_view next_step;
};

/// The first row whose words occur counts.
constexpr auto kRemedies = std::to_array<Remedy>({
    {"approved this consumer",
     "check crm.salesforce.username, since a user whom the org does not have gets the same answer; then in "
     "Setup, External Client App Manager, open the app's policies, let admin-approved users be "
     "pre-authorized "
     "and select the integration user's permission set"},
    {"not admin approved", kApprove},
    {"no client credentials user",
     "in the app's policies enable the client credentials flow and select the integration user as Run As"},
    {"not supported on this domain",
     "set crm.salesforce.domain to the org's My Domain URL, https://NAME.my.salesforce.com"},
    {"audience",
     "set crm.salesforce.login to production or sandbox, whichever the org is, or to its My Domain URL"},
    {"ip restricted",
     "in the app's policies relax the IP restrictions, or add this host's address to the login IP ranges of "
     "the integration user's profile"},
    {"login hours", "remove the login hours from the integration user's profile"},
    {"invalid assertion", kCertificate},
    {"expired assertion", kCertificate},
    {"app_not_found", kApp},
    {"app is blocked", "in Setup, Connected Apps OAuth Usage, unblock or install the app"},
    {"app_blocked", "in Setup, Connected Apps OAuth Usage, unblock or install the app"},
    {"client identifier invalid", kApp},
    {"invalid_client_id", kApp},
    {"invalid_client",
     "check crm.salesforce.client_id and crm.salesforce.client_secret: a new secret in the "
     "app ends the former one"},
    {"unsupported_grant_type",
     "enable the flow of crm.salesforce.flow in the External Client App: JWT bearer or client credentials"},
    {"inactive org", "the org is locked or suspended; an admin of the org has to ask Salesforce"},
    {"inactive_org", "the org is locked or suspended; an admin of the org has to ask Salesforce"},
    {"user", kUser},
});

std::string clock_sentence(std::int64_t lead) {
  return fmt::format("set this host's clock, which is {} s {} the server's", std::abs(lead),
                     lead < 0 ? "behind" : "ahead of");
}

}  // namespace

bool is_temporary(const OAuthError& error) {
  const std::string code = ascii_lower(error.code);
  return std::find(kTemporaryCodes.begin(), kTemporaryCodes.end(), code) != kTemporaryCodes.end() ||
         ascii_lower(error.description).find(kRateExceeded) != std::string::npos;
}

std::string next_step_after(const OAuthError& error, std::optional<std::int64_t> clock_lead_seconds) {
  const std::string words = ascii_lower(error.code + ": " + error.description);
  const auto remedy = std::find_if(kRemedies.begin(), kRemedies.end(), [&](const Remedy& one) {
    return words.find(one.words) != std::string::npos;
  });
  const std::string_view next_step = remedy == kRemedies.end() ? kOther : remedy->next_step;
  const bool is_off = clock_lead_seconds && std::abs(*clock_lead_seconds) > kMaxClockLeadSeconds;
  if (next_step != kCertificate) return std::string(next_step);
  return is_off ? clock_sentence(*clock_lead_seconds) : std::string(next_step);
}

namespace {

constexpr std::size_t kShownCharacters = 200;

/// Bytes first: what is not UTF-8 may have no code points to count.
std::string beginning(std::string_view text) {
  return visible_text(truncated(text.substr(0, 4 * kShownCharacters), kShownCharacters));
}

}  // namespace

std::string describe_unexpected(const HttpResponse& response) {
  std::string text = fmt::format("HTTP {}", response.status);
  const std::string location = response.header("location");
  if (!location.empty()) text += ", a redirect to " + in_quotes(location);
  const std::string type = response.header("content-type");
  if (!type.empty()) text += ", " + beginning(type);
  const std::string_view body = trimmed(response.body);
  if (body.empty()) return text + ", without a body";
  return text + ": " + beginning(body);
}

}  // namespace giftsync::salesforce
