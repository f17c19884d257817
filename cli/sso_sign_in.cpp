#include "cli/sso_sign_in.h"

#include <Poco/Exception.h>
#include <Poco/URI.h>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <algorithm>
#include <fstream>
#include <istream>
#include <iterator>
#include <string>
#include <utility>

#include "cli/listing.h"
#include "daemon/identity/oidc/oidc_client.h"
#include "daemon/identity/saml/authn_request.h"
#include "daemon/identity/saml/saml_rules.h"
#include "daemon/identity/saml/saml_sign_in.h"
#include "platform/digest.h"

namespace giftsync::cli {
namespace {

namespace oidc = daemon::identity::oidc;
namespace saml = daemon::identity::saml;

using daemon::signin::Outcome;
using daemon::signin::RuleVerdict;
using daemon::signin::RuleVerdicts;
using daemon::signin::VerifiedIdentity;

/// A sign-in through either protocol: the rules that hold, then who signed in or which rule refused it.
struct TestedSignIn {
  RuleVerdicts passed;
  Outcome<VerifiedIdentity> outcome;
};

/// Tells the person at the browser what to do; returns the line that is entered then.
std::string ask(const Console& console, const char* how_to_open, const std::string& url,
                const char* what_to_enter) {
  console.info(how_to_open);
  console.info(url);
  console.info(what_to_enter);
  std::string line;
  std::getline(console.in, line);
  return line;
}

/// The URL from the address bar, or its query alone.
std::string query_in(std::string_view line) {
  const std::size_t question = line.find('?');
  if (question != std::string_view::npos) line.remove_prefix(question + 1);
  return std::string(line.substr(0, line.find_first_of("# \t\r")));
}

/// The reply must be to this test's own request.
Outcome<oidc::AuthorizationReply> reply_in(const std::string& line, const std::string& state) {
  auto reply = oidc::parse_authorization_reply(query_in(line));
  if (reply && !platform::equal_in_constant_time(reply->state, state))
    return daemon::signin::refuse("OIDC-2", "The URL has no state, or that of another sign-in.");
  return reply;
}

int print(const Console& console, const std::string& name, const TestedSignIn& tested, bool json) {
  const Outcome<VerifiedIdentity>& outcome = tested.outcome;
  Json rules = Json::array();
  for (const RuleVerdict& one : tested.passed)
    rules.push_back({{"rule", one.rule}, {"verdict", "good"}, {"text", one.text}});
  if (!outcome) {
    rules.push_back({{"rule", outcome.error().rule},
                     {"verdict", outcome.error().is_unavailable ? "unreachable" : "fault"},
                     {"text", outcome.error().text}});
  }
  Json identity = nullptr;
  if (outcome) {
    identity = {{"subject", outcome->subject},
                {"tenant", text_or_null(outcome->tenant)},
                {"address", text_or_null(outcome->address)},
                {"name", text_or_null(outcome->name)}};
  }
  if (json) {
    const Json all = {
        {"name", name}, {"good", outcome.has_value()}, {"rules", rules}, {"identity", identity}};
    console.out << json_text(all, 2) << '\n';
  } else {
    for (const Json& one : rules) {
      fmt::print(console.out, "{:<8} {:<12} {}\n", one["rule"].get<std::string>(),
                 one["verdict"].get<std::string>(), printable(one["text"].get<std::string>()));
    }
  }
  if (!outcome) return outcome.error().is_unavailable ? EX_UNAVAILABLE : EX_DATAERR;
  if (!json) {
    fmt::print(console.out, "subject: {}\naddress: {}\n", printable(outcome->subject),
               outcome->address.empty() ? "none that may link a user" : printable(outcome->address));
  }
  return EX_OK;
}

/// The field SAMLResponse of what was entered: its value, a form with it, or the name of a file with either,
/// since a terminal's line has 4,095 characters at most.
std::string response_in(std::string text) {
  if (std::ifstream file(text, std::ios::binary); file && !text.empty())
    text.assign(std::istreambuf_iterator<char>(file), {});
  const std::string name = "SAMLResponse=";
  const std::size_t field = text.find(name);
  if (field == std::string::npos) return text;
  const std::size_t begin = field + name.size();
  std::string decoded;
  try {
    Poco::URI::decode(text.substr(begin, text.find_first_of("& \t\r\n", begin) - begin), decoded, true);
  } catch (const Poco::Exception&) {
    return {};
  }
  return decoded;
}

/// Of the rules before the refusing one, or of all.
RuleVerdicts passed_saml_rules(const Outcome<VerifiedIdentity>& outcome) {
  const auto refusing =
      std::find_if(saml::kSamlRules.begin(), saml::kSamlRules.end(),
                   [&](const RuleVerdict& one) { return !outcome && one.rule == outcome.error().rule; });
  return {saml::kSamlRules.begin(), refusing};
}

TestedSignIn test_saml(const Console& console, const saml::SamlConnection& connection) {
  const saml::AuthnRequest request{
      .id = saml::new_request_id(), .relay_state = oidc::random_token(), .issued_at = console.now()};
  const std::string entered = ask(
      console,
      "Open this URL in a browser with its developer tools open (Network, \"Preserve log\"), and sign in:",
      saml::authn_request_url(connection, request),
      "Then copy the form field SAMLResponse of the request \"callback\", whatever the page shows, into a "
      "file "
      "and enter the file's name here:");
  const auto first_use = [](const std::string&, platform::UtcMillis) { return true; };
  Outcome<VerifiedIdentity> outcome = saml::complete_saml_sign_in(
      {response_in(entered), request.relay_state}, connection, request, first_use, console.now());
  return {passed_saml_rules(outcome), std::move(outcome)};
}

TestedSignIn test_openid(const Console& console, const daemon::config::SsoSettings& sso,
                         const daemon::config::SsoConnectionSettings& connection, const oidc::Send& send) {
  oidc::OidcClient client(sso, send);
  const oidc::AuthorizationRequest request = oidc::make_authorization_request(console.now());
  const auto url = client.begin(connection, request);
  if (!url) return {{}, tl::unexpected(url.error())};
  const std::string entered =
      ask(console, "Open this URL in a browser and sign in:", *url,
          "Then copy the URL of the page on which the browser ends, whatever it shows, and enter it here:");
  const auto reply = reply_in(entered, request.state);
  if (!reply) return {{}, tl::unexpected(reply.error())};
  RuleVerdicts passed;
  Outcome<VerifiedIdentity> outcome = client.complete(connection, *reply, request, console.now(), passed);
  return {std::move(passed), std::move(outcome)};
}

}  // namespace

int sign_in_test(const Console& console, const daemon::config::SsoSettings& sso,
                 const daemon::config::SsoConnectionSettings& connection, const oidc::Send& send, bool json) {
  const bool is_saml = connection.kind == daemon::config::SsoKind::saml;
  return print(console, connection.name,
               is_saml ? test_saml(console, saml::saml_connection(sso, connection))
                       : test_openid(console, sso, connection, send),
               json);
}

}  // namespace giftsync::cli
