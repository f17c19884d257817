#include "daemon/salesforce/sign_in_refusals.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "platform/text.h"

namespace giftsync::daemon::salesforce {
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
  const std::string code = platform::ascii_lower(error.code);
  return std::find(kTemporaryCodes.begin(), kTemporaryCodes.end(), code) != kTemporaryCodes.end() ||
         platform::ascii_lower(error.description).find(kRateExceeded) != std::string::npos;
}

std::string next_step_after(const OAuthError& error, std::optional<std::int64_t> clock_lead_seconds) {
  const std::string words = platform::ascii_lower(error.code + ": " + error.description);
  const auto remedy = std::find_if(kRemedies.begin(), kRemedies.end(), [&](const Remedy& one) {
    return words.find(one.words) != std::string::npos;
  });
  const std::string_view next_step = remedy == kRemedies.end() ? kOther : remedy->next_step;
  const bool is_off = clock_lead_seconds && std::abs(*clock_lead_seconds) > kMaxClockLeadSeconds;
  if (next_step != kCertificate) return std::string(next_step);
  return is_off ? clock_sentence(*clock_lead_seconds) : std::string(next_step);
}

}  // namespace giftsync::daemon::salesforce
