#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <memory>

#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/sso_sign_in.h"
#include "daemon/config/connection_urls.h"
#include "daemon/signin/connection_check.h"
#include "daemon/signin/home_realm.h"
#include "daemon/signin/sp_metadata.h"
#include "platform/quoted_text.h"

namespace giftsync::cli {
namespace {

using daemon::config::Settings;
using daemon::config::SsoConnectionSettings;

constexpr const char* kRedacted = "********";

int no_connection(const Console& console, const std::string& name) {
  return console.fail(EX_DATAERR, fmt::format("there is no connection {} in the settings (sso.connections); "
                                              "\"giftsyncctl sso list\" shows them",
                                              platform::in_quotes(name)));
}

int list_connections(const Console& console, const Settings& settings, bool json) {
  const auto& connections = settings.sso.connections;
  Listing list(console.out, json, {{"NAME"}, {"TYPE"}, {"DOMAINS", TextTable::Kind::elastic}});
  for (const SsoConnectionSettings& one : connections) {
    const auto domains = daemon::config::all_domains(one);
    list.add(
        [&]() -> Json {
          return {{"name", one.name}, {"type", to_word(one.kind)}, {"domains", domains}};
        },
        [&]() -> TextTable::Row {
          return {{one.name, std::string(to_word(one.kind)), fmt::format("{}", fmt::join(domains, ", "))}};
        });
  }
  list.finish();
  if (connections.empty() && !json)
    console.info("No connections; add them to sso.connections in the settings.");
  return EX_OK;
}

/// The values that the customer's administrator needs, without the client secret.
Json connection_json(const Settings& settings, const SsoConnectionSettings& one) {
  const daemon::config::SsoSettings& sso = settings.sso;
  Json all = {{"name", one.name},
              {"type", to_word(one.kind)},
              {"domains", daemon::config::all_domains(one)},
              {"post_back_url", daemon::config::post_back_url(sso, one)},
              {"login_redirect_url", daemon::config::login_redirect_url(sso)}};
  if (one.kind == daemon::config::SsoKind::saml) {
    all["entity_id"] = daemon::config::saml_entity_id(sso, one);
    all["audience"] = daemon::config::saml_entity_id(sso, one);
    all["metadata_url"] = daemon::config::saml_metadata_url(settings, one);
    all["sign_in_url"] = one.sign_in_url;
    all["certificate"] = one.certificate;
    if (!one.next_certificate.empty()) all["next_certificate"] = one.next_certificate;
    if (!one.provider_entity_id.empty()) all["provider_entity_id"] = one.provider_entity_id;
    all["hash"] = one.sha1 ? "sha1" : "sha256";
    all["claims"] = {{"user_id", one.claim_user_id}, {"email", one.claim_email}, {"name", one.claim_name}};
    all["metadata"] = daemon::signin::sp_metadata(sso, one);
    return all;
  }
  const daemon::config::ProviderEndpoints provider = daemon::config::provider_endpoints(sso, one);
  all["client_id"] = one.client_id;
  all["client_secret"] = kRedacted;
  if (one.kind == daemon::config::SsoKind::directory) {
    all["domain"] = one.domain;
    all["identity_api"] = one.identity_api_v2 ? "v2" : "v1";
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
      for (const Json& one : value) text += (text.empty() ? "" : ", ") + one.get<std::string>();
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
  const SsoConnectionSettings* one = daemon::signin::find_by_name(settings.sso, options.name);
  if (one == nullptr) return no_connection(console, options.name);
  if (options.metadata) {
    if (one->kind != daemon::config::SsoKind::saml)
      return console.fail(EX_DATAERR,
                          fmt::format("{} is not a SAML connection and has no metadata", one->name));
    console.out << daemon::signin::sp_metadata(settings.sso, *one) << '\n';
    return EX_OK;
  }
  const Json all = connection_json(settings, *one);
  if (options.json)
    console.out << json_text(all, 2) << '\n';
  else
    print_text(console, all);
  return EX_OK;
}

std::string_view kind_name(daemon::signin::CheckResult::Kind kind) {
  switch (kind) {
    case daemon::signin::CheckResult::Kind::ok:
      return "good";
    case daemon::signin::CheckResult::Kind::warning:
      return "warning";
    case daemon::signin::CheckResult::Kind::failure:
      return "fault";
    case daemon::signin::CheckResult::Kind::unreachable:
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
  const daemon::config::SsoSettings& sso = settings.sso;
  const SsoConnectionSettings* one = daemon::signin::find_by_name(sso, name);
  if (one == nullptr) return no_connection(console, name);
  const daemon::signin::CheckReport findings =
      daemon::signin::check_connection(sso, *one, platform::http_get, console.now());
  const bool is_faulty = findings.has(daemon::signin::CheckResult::Kind::failure);
  const bool is_unreachable = findings.has(daemon::signin::CheckResult::Kind::unreachable);
  if (json) {
    Json list = Json::array();
    for (const daemon::signin::CheckResult& finding : findings.all())
      list.push_back({{"kind", kind_name(finding.kind)}, {"text", finding.text}});
    const Json all = {{"name", one->name}, {"good", !is_faulty && !is_unreachable}, {"findings", list}};
    console.out << json_text(all, 2) << '\n';
  } else {
    for (const daemon::signin::CheckResult& finding : findings.all())
      fmt::print(console.out, "{:<12} {}\n", kind_name(finding.kind), printable(finding.text));
  }
  if (is_faulty) return EX_DATAERR;
  return is_unreachable ? EX_UNAVAILABLE : EX_OK;
}

int run_sign_in_test(const Console& console, const Settings& settings, const Query& query) {
  const SsoConnectionSettings* one = daemon::signin::find_by_name(settings.sso, query.of);
  if (one == nullptr) return no_connection(console, query.of);
  return sign_in_test(console, settings.sso, *one, daemon::identity::oidc::send_to_provider, query.json);
}

int print_route(const Console& console, const Settings& settings, const Query& query) {
  const auto& [address, json] = query;
  const SsoConnectionSettings* one = daemon::signin::find_connection(settings.sso, address);
  if (json) {
    const Json all = {{"address", address},
                      {"connection", one ? Json(one->name) : Json(nullptr)},
                      {"type", one ? Json(to_word(one->kind)) : Json(nullptr)}};
    console.out << json_text(all, 2) << '\n';
    return EX_OK;
  }
  if (one == nullptr) {
    return console.fail(EX_DATAERR,
                        fmt::format("no connection has the domain of {}: the user can sign in with a "
                                    "password only",
                                    platform::in_quotes(address)));
  }
  console.out << one->name << '\n';
  return EX_OK;
}

void add_list(Commands& commands, CLI::App& noun) {
  CLI::App* verb = commands.verb(noun, "list", "List all connections.", {"sso list", "sso list --json"});
  commands.run(verb, json_flag(verb, "Print a JSON array"), list_connections);
}

void add_show(Commands& commands, CLI::App& noun) {
  const auto options = std::make_shared<ShowOptions>();
  CLI::App* verb = commands.verb(
      noun, "show",
      "Show what the administrator of the identity provider needs: post-back URL, login redirect URL, entity "
      "id, metadata, endpoints.",
      {"sso show acme", "sso show acme --json", "sso show acme --metadata > giftsync-metadata.xml"});
  verb->add_option("NAME", options->name, "The connection's name")->required();
  CLI::Option* json = verb->add_flag("--json", options->json, "Print JSON");
  verb->add_flag("--metadata", options->metadata, "Print only the metadata of a SAML connection")
      ->excludes(json);
  commands.run(verb, options, show_connection);
}

void add_check(Commands& commands, CLI::App& noun) {
  const auto options = std::make_shared<Query>();
  CLI::App* verb = commands.verb(
      noun, "check",
      "Test a connection: fetch the provider's discovery document and keys over TLS and compare the issuer, "
      "or check a SAML provider's certificate and sign-in page. Exit 0: good; 65: a fault; 69: no response.",
      {"sso check acme", "sso check acme --json"});
  verb->add_option("NAME", options->of, "The connection's name")->required();
  verb->add_flag("--json", options->json, "Print JSON");
  commands.run(verb, options, check);
}

void add_sign_in_test(Commands& commands, CLI::App& noun) {
  const auto options = std::make_shared<Query>();
  CLI::App* verb = commands.verb(
      noun, "sign-in-test",
      "Sign in through a connection as yourself and print the verdict of each rule. Prints a URL, then reads "
      "the URL at which the browser ends or, with SAML, the name of a file with the response. No session "
      "begins. Exit 0: good; 65: a fault; 69: no response.",
      {"sso sign-in-test acme", "sso sign-in-test acme --json"});
  verb->add_option("NAME", options->of, "The connection's name")->required();
  verb->add_flag("--json", options->json, "Print JSON");
  commands.run(verb, options, run_sign_in_test);
}

void add_route(Commands& commands, CLI::App& noun) {
  const auto options = std::make_shared<Query>();
  CLI::App* verb =
      commands.verb(noun, "route",
                    "Show the connection through which a user signs in, by the domain of the e-mail address.",
                    {"sso route rose@example.com", "sso route rose@example.com --json"});
  verb->add_option("ADDRESS", options->of, "The user's e-mail address")->required();
  verb->add_flag("--json", options->json, "Print JSON");
  commands.run(verb, options, print_route);
}

}  // namespace

void add_sso_commands(Commands& commands) {
  CLI::App* noun = commands.noun("sso", "Single-sign-on connections");
  add_list(commands, *noun);
  add_show(commands, *noun);
  add_check(commands, *noun);
  add_sign_in_test(commands, *noun);
  add_route(commands, *noun);
}

}  // namespace giftsync::cli
