#include "cli/account/sso_commands.h"

#include <Poco/Exception.h>
#include <Poco/URI.h>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/listing.h"
#include "daemon/config/connection_urls.h"
#include "daemon/identity/oidc/oidc_client.h"
#include "daemon/identity/saml/authn_request.h"
#include "daemon/identity/saml/saml_rules.h"
#include "daemon/identity/saml/saml_sign_in.h"
#include "daemon/signin/connection_check.h"
#include "daemon/signin/home_realm.h"
#include "daemon/signin/sp_metadata.h"
#include "platform/digest.h"
#include "platform/visible_text.h"

namespace giftsync::cli {
namespace {

using config::Settings;
using config::SsoConnectionSettings;

constexpr const char* kRedacted = "********";

int no_connection(const Console& console, const std::string& name) {
  return console.fail(EX_DATAERR, fmt::format("there is no connection {} in the settings (sso.connections); "
                                              "\"giftsyncctl sso list\" shows them",
                                              in_quotes(name)));
}

int list_connections(const Console& console, const Settings& settings, bool json) {
  const auto& connections = settings.sso.connections;
  Listing list(console.out, json);
  for (const SsoConnectionSettings& connection : connections) {
    const auto domains = config::all_domains(connection);
    list.add([&](ListedRow& row) {
      row.add("name", {"NAME"}, connection.name);
      row.add("type", {"TYPE"}, to_word(connection.kind));
      row.add("domains", {"DOMAINS", TextTable::Kind::elastic}, domains,
              fmt::format("{}", fmt::join(domains, ", ")));
    });
  }
  list.finish();
  if (connections.empty() && !json)
    console.info("No connections; add them to sso.connections in the settings.");
  return EX_OK;
}

/// The values that the customer's administrator needs, without the client secret.
Json connection_json(const Settings& settings, const SsoConnectionSettings& connection_settings) {
  const config::SsoSettings& sso = settings.sso;
  Json all = {{"name", connection_settings.name},
              {"type", to_word(connection_settings.kind)},
              {"domains", config::all_domains(connection_settings)},
              {"post_back_url", config::post_back_url(sso, connection_settings)},
              {"login_redirect_url", config::login_redirect_url(sso)}};
  if (connection_settings.kind == config::SsoKind::saml) {
    all["entity_id"] = config::saml_entity_id(sso, connection_settings);
    all["audience"] = config::saml_entity_id(sso, connection_settings);
    all["metadata_url"] = config::saml_metadata_url(settings, connection_settings);
    all["sign_in_url"] = connection_settings.sign_in_url;
    all["certificate"] = connection_settings.certificate;
    if (!connection_settings.next_certificate.empty())
      all["next_certificate"] = connection_settings.next_certificate;
    if (!connection_settings.provider_entity_id.empty())
      all["provider_entity_id"] = connection_settings.provider_entity_id;
    all["hash"] = connection_settings.sha1 ? "sha1" : "sha256";
    all["claims"] = {{"user_id", connection_settings.claim_user_id},
                     {"email", connection_settings.claim_email},
                     {"name", connection_settings.claim_name}};
    all["metadata"] = signin::sp_metadata(sso, connection_settings);
    return all;
  }
  const config::ProviderEndpoints provider = config::provider_endpoints(sso, connection_settings);
  all["client_id"] = connection_settings.client_id;
  all["client_secret"] = kRedacted;
  if (connection_settings.kind == config::SsoKind::directory) {
    all["domain"] = connection_settings.domain;
    all["identity_api"] = connection_settings.identity_api_v2 ? "v2" : "v1";
  }
  all["issuer"] = text_or_null(provider.issuer);
  all["discovery_endpoint"] = provider.discovery;
  all["authorize_endpoint"] = text_or_null(provider.authorize);
  all["token_endpoint"] = text_or_null(provider.token);
  return all;
}

void print_text(const Console& console, const Json& all, const std::string& prefix = {}) {
  for (const auto& [name, value] : all.items()) {
    if (name == "metadata") continue;
    if (value.is_object()) {
      print_text(console, value, prefix + name + ".");
      continue;
    }
    std::string text;
    if (value.is_string()) text = value.get<std::string>();
    if (value.is_null()) text = "from the discovery document (giftsyncctl sso check shows it)";
    if (value.is_array()) {
      for (const Json& word : value) text += (text.empty() ? "" : ", ") + word.get<std::string>();
    }
    fmt::print(console.out, "{}{}: {}\n", prefix, name, printable(text));
  }
  if (all.contains("metadata")) console.out << '\n' << all["metadata"].get<std::string>() << '\n';
}

struct ShowOptions {
  std::string name;
  bool json = false;
  bool metadata = false;
};

int show_connection(const Console& console, const Settings& settings, const ShowOptions& options) {
  const SsoConnectionSettings* connection_settings = signin::find_by_name(settings.sso, options.name);
  if (connection_settings == nullptr) return no_connection(console, options.name);
  if (options.metadata) {
    if (connection_settings->kind != config::SsoKind::saml)
      return console.fail(EX_DATAERR, fmt::format("{} is not a SAML connection and has no metadata",
                                                  connection_settings->name));
    console.out << signin::sp_metadata(settings.sso, *connection_settings) << '\n';
    return EX_OK;
  }
  const Json all = connection_json(settings, *connection_settings);
  if (options.json)
    console.out << json_text(all, 2) << '\n';
  else
    print_text(console, all);
  return EX_OK;
}

std::string_view kind_name(signin::CheckResult::Kind kind) {
  switch (kind) {
    case signin::CheckResult::Kind::ok:
      return "good";
    case signin::CheckResult::Kind::warning:
      return "warning";
    case signin::CheckResult::Kind::failure:
      return "fault";
    case signin::CheckResult::Kind::unreachable:
      break;
  }
  return "unreachable";
}

struct Query {
  std::string of;  ///< a connection's name, or a user's address
  bool json = false;
};

int check(const Console& console, const Settings& settings, const Query& query) {
  const auto& [name, json] = query;
  const config::SsoSettings& sso = settings.sso;
  const SsoConnectionSettings* connection_settings = signin::find_by_name(sso, name);
  if (connection_settings == nullptr) return no_connection(console, name);
  const signin::CheckReport findings =
      signin::check_connection(sso, *connection_settings, http_get, console.now());
  const bool is_faulty = findings.has(signin::CheckResult::Kind::failure);
  const bool is_unreachable = findings.has(signin::CheckResult::Kind::unreachable);
  if (json) {
    Json list = Json::array();
    for (const signin::CheckResult& finding : findings.all())
      list.push_back({{"kind", kind_name(finding.kind)}, {"text", finding.text}});
    const Json all = {
        {"name", connection_settings->name}, {"good", !is_faulty && !is_unreachable}, {"findings", list}};
    console.out << json_text(all, 2) << '\n';
  } else {
    for (const signin::CheckResult& finding : findings.all())
      fmt::print(console.out, "{:<12} {}\n", kind_name(finding.kind), printable(finding.text));
  }
  if (is_faulty) return EX_DATAERR;
  return is_unreachable ? EX_UNAVAILABLE : EX_OK;
}

int run_sign_in_test(const Console& console, const Settings& settings, const Query& query) {
  const SsoConnectionSettings* connection_settings = signin::find_by_name(settings.sso, query.of);
  if (connection_settings == nullptr) return no_connection(console, query.of);
  return sign_in_test(console, settings.sso, *connection_settings, oidc::send_to_provider, query.json);
}

int print_route(const Console& console, const Settings& settings, const Query& query) {
  const auto& [address, json] = query;
  const SsoConnectionSettings* connection_settings = signin::find_connection(settings.sso, address);
  if (json) {
    const Json all = {
        {"address", address},
        {"connection", connection_settings ? Json(connection_settings->name) : Json(nullptr)},
        {"type", connection_settings ? Json(to_word(connection_settings->kind)) : Json(nullptr)}};
    console.out << json_text(all, 2) << '\n';
    return EX_OK;
  }
  if (connection_settings == nullptr) {
    return console.fail(EX_DATAERR,
                        fmt::format("no connection has the domain of {}: the user can sign in with a "
                                    "password only",
                                    in_quotes(address)));
  }
  console.out << connection_settings->name << '\n';
  return EX_OK;
}

void add_list(Commands& commands, Command& noun) {
  Command* verb = commands.verb(noun, "list", "List all connections.", {"sso list", "sso list --json"});
  commands.run(verb, json_flag(verb, "Print a JSON array"), list_connections);
}

void add_show(Commands& commands, Command& noun) {
  const auto options = std::make_shared<ShowOptions>();
  Command* verb = commands.verb(
      noun, "show",
      "Show what the administrator of the identity provider needs: post-back URL, login redirect URL, entity "
      "id, metadata, endpoints.",
      {"sso show acme", "sso show acme --json", "sso show acme --metadata > giftsync-metadata.xml"});
  verb->add_option("NAME", options->name, "The connection's name")->required();
  Option* json = verb->add_flag("--json", options->json, "Print JSON");
  verb->add_flag("--metadata", options->metadata, "Print only the metadata of a SAML connection")
      ->excludes(json);
  commands.run(verb, options, show_connection);
}

void add_check(Commands& commands, Command& noun) {
  const auto options = std::make_shared<Query>();
  Command* verb = commands.verb(
      noun, "check",
      "Test a connection: fetch the provider's discovery document and keys over TLS and compare the issuer, "
      "or check a SAML provider's certificate and sign-in page. Exit 0: good; 65: a fault; 69: no response.",
      {"sso check acme", "sso check acme --json"});
  verb->add_option("NAME", options->of, "The connection's name")->required();
  verb->add_flag("--json", options->json, "Print JSON");
  commands.run(verb, options, check);
}

void add_sign_in_test(Commands& commands, Command& noun) {
  const auto options = std::make_shared<Query>();
  Command* verb = commands.verb(
      noun, "sign-in-test",
      "Sign in through a connection as yourself and print the verdict of each rule. Prints a URL, then reads "
      "the URL at which the browser ends or, with SAML, the name of a file with the response. No session "
      "begins. Exit 0: good; 65: a fault; 69: no response.",
      {"sso sign-in-test acme", "sso sign-in-test acme --json"});
  verb->add_option("NAME", options->of, "The connection's name")->required();
  verb->add_flag("--json", options->json, "Print JSON");
  commands.run(verb, options, run_sign_in_test);
}

void add_route(Commands& commands, Command& noun) {
  const auto options = std::make_shared<Query>();
  Command* verb =
      commands.verb(noun, "route",
                    "Show the connection through which a user signs in, by the domain of the e-mail address.",
                    {"sso route rose@example.com", "sso route rose@example.com --json"});
  verb->add_option("ADDRESS", options->of, "The user's e-mail address")->required();
  verb->add_flag("--json", options->json, "Print JSON");
  commands.run(verb, options, print_route);
}

}  // namespace

void add_sso_commands(Commands& commands) {
  Command* noun = commands.noun("sso", "Single-sign-on connections");
  add_list(commands, *noun);
  add_show(commands, *noun);
  add_check(commands, *noun);
  add_sign_in_test(commands, *noun);
  add_route(commands, *noun);
}

namespace {

using signin::Outcome;
using signin::RuleVerdict;
using signin::RuleVerdicts;
using signin::VerifiedIdentity;

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
  if (reply && !equal_in_constant_time(reply->state, state))
    return signin::refuse("OIDC-2", "The URL has no state, or that of another sign-in.");
  return reply;
}

int print(const Console& console, const std::string& name, const TestedSignIn& tested, bool json) {
  const Outcome<VerifiedIdentity>& outcome = tested.outcome;
  Json rules = Json::array();
  for (const RuleVerdict& verdict : tested.passed)
    rules.push_back({{"rule", verdict.rule}, {"verdict", "good"}, {"text", verdict.text}});
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
    if (!outcome->groups.empty()) identity["groups"] = outcome->groups;
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
    for (const std::string& group : outcome->groups) fmt::print(console.out, "group: {}\n", printable(group));
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

/// The rules before the refusing one, or all.
RuleVerdicts passed_saml_rules(const Outcome<VerifiedIdentity>& outcome) {
  const auto refusing = std::find_if(
      saml::kSamlRules.begin(), saml::kSamlRules.end(),
      [&](const RuleVerdict& verdict) { return !outcome && verdict.rule == outcome.error().rule; });
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
  const auto first_use = [](const std::string&, UtcMillis) { return true; };
  Outcome<VerifiedIdentity> outcome = saml::complete_saml_sign_in(
      {response_in(entered), request.relay_state}, connection, request, first_use, console.now());
  return {passed_saml_rules(outcome), std::move(outcome)};
}

TestedSignIn test_openid(const Console& console, const config::SsoSettings& sso,
                         const config::SsoConnectionSettings& connection, const oidc::Send& send) {
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

int sign_in_test(const Console& console, const config::SsoSettings& sso,
                 const config::SsoConnectionSettings& connection, const oidc::Send& send, bool json) {
  const bool is_saml = connection.kind == config::SsoKind::saml;
  return print(console, connection.name,
               is_saml ? test_saml(console, saml::saml_connection(sso, connection))
                       : test_openid(console, sso, connection, send),
               json);
}

}  // namespace giftsync::cli
