#include "cli/sso_sign_in.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <istream>
#include <string>

#include "cli/listing.h"
#include "daemon/identity/oidc/oidc_client.h"
#include "platform/digest.h"

namespace giftsync::cli {
namespace {

namespace oidc = daemon::identity::oidc;

/// The URL from the address bar, or its query alone.
std::string query_in(std::string_view line) {
  const std::size_t question = line.find('?');
  if (question != std::string_view::npos) line.remove_prefix(question + 1);
  return std::string(line.substr(0, line.find_first_of("# \t\r")));
}

/// The reply must be to this test's own request.
tl::expected<oidc::AuthorizationReply, oidc::OidcRefusal> read_reply(std::istream& in,
                                                                     const std::string& state) {
  std::string line;
  std::getline(in, line);
  auto reply = oidc::parse_authorization_reply(query_in(line));
  if (reply && !platform::equal_in_constant_time(reply->state, state))
    return oidc::refuse("OIDC-2", "The URL has no state, or that of another sign-in.");
  return reply;
}

int print(const Console& console, const std::string& name, const oidc::RuleVerdicts& verdicts,
          const tl::expected<oidc::OidcIdentity, oidc::OidcRefusal>& outcome, bool json) {
  Json rules = Json::array();
  for (const oidc::RuleVerdict& one : verdicts)
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

}  // namespace

int sign_in_test(const Console& console, const daemon::config::SsoSettings& sso,
                 const daemon::config::SsoConnectionSettings& connection, const oidc::Send& send, bool json) {
  if (connection.kind == daemon::config::SsoKind::saml) {
    return console.fail(EX_DATAERR, fmt::format("{} is a SAML connection, whose replies are not in a URL; "
                                                "\"giftsyncctl sso check {}\" tests it as far as it goes",
                                                connection.name, connection.name));
  }
  oidc::OidcClient client(sso, send);
  const oidc::AuthorizationRequest request = oidc::make_authorization_request();
  const platform::UtcMillis begun_at = console.now();
  oidc::RuleVerdicts verdicts;
  const auto url = client.begin(connection, request, begun_at);
  if (!url) return print(console, connection.name, verdicts, tl::unexpected(url.error()), json);
  console.info("Open this URL in a browser and sign in:");
  console.info(*url);
  console.info(
      "Then copy the URL of the page on which the browser ends, whatever it shows, and enter it here:");
  const auto reply = read_reply(console.in, request.state);
  if (!reply) return print(console, connection.name, verdicts, tl::unexpected(reply.error()), json);
  return print(console, connection.name, verdicts,
               client.complete(connection, *reply, request, begun_at, console.now(), verdicts), json);
}

}  // namespace giftsync::cli
