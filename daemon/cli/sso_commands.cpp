#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <memory>

#include "daemon/cli/commands.h"
#include "daemon/cli/json_list.h"
#include "daemon/cli/text_table.h"
#include "daemon/settings/settings_fault.h"
#include "daemon/sso/connection_addresses.h"
#include "daemon/sso/connection_check.h"
#include "daemon/sso/route.h"
#include "daemon/sso/sp_metadata.h"

namespace giftsync::daemon {
namespace {

constexpr const char* kHidden = "********";

const SsoConnectionSettings* find_connection(const SsoSettings& sso, const std::string& name) {
  for (const SsoConnectionSettings& one : sso.connections)
    if (one.name == name) return &one;
  return nullptr;
}

int no_connection(const Console& console, const std::string& name) {
  return console.fail(EX_DATAERR, fmt::format("there is no connection {} in the settings (sso.connections); "
                                              "\"giftsyncctl sso list\" shows them",
                                              in_quotes(name)));
}

int list_connections(const Console& console, const SsoSettings& sso, bool json) {
  if (json) {
    JsonList list(console.out);
    for (const SsoConnectionSettings& one : sso.connections)
      list.add({{"name", one.name}, {"type", to_word(one.kind)}, {"domains", domains_of(one)}});
    list.finish();
    return EX_OK;
  }
  TextTable table(console.out, {{"NAME"}, {"TYPE"}, {"DOMAINS", TextTable::Kind::elastic}});
  for (const SsoConnectionSettings& one : sso.connections)
    table.add(
        {one.name, std::string(to_word(one.kind)), fmt::format("{}", fmt::join(domains_of(one), ", "))});
  table.finish();
  if (sso.connections.empty())
    console.note("No connections; the settings' section sso.connections names them.");
  return EX_OK;
}

/// What the customer's administrator needs, member by member; never the client secret.
Json shown(const Settings& settings, const SsoConnectionSettings& one) {
  const SsoSettings& sso = settings.sso;
  const auto text = [](const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); };
  Json all = {{"name", one.name},
              {"type", to_word(one.kind)},
              {"domains", domains_of(one)},
              {"post_back_url", post_back_url(sso, one)},
              {"login_redirect_url", login_redirect_url(sso)}};
  if (one.kind == SsoKind::saml) {
    all["entity_id"] = saml_entity_id(sso, one);
    all["audience"] = saml_entity_id(sso, one);
    all["metadata_url"] = metadata_url(settings, one);
    all["sign_in_url"] = one.sign_in_url;
    all["certificate"] = one.certificate;
    all["hash"] = one.sha1 ? "sha1" : "sha256";
    all["claims"] = {{"user_id", one.claim_user_id}, {"email", one.claim_email}, {"name", one.claim_name}};
    all["metadata"] = sp_metadata(sso, one);
    return all;
  }
  const ProviderAddresses provider = provider_addresses(sso, one);
  all["client_id"] = one.client_id;
  all["client_secret"] = kHidden;
  if (one.kind == SsoKind::directory) {
    all["domain"] = one.domain;
    all["identity_api"] = one.identity_api_v2 ? "v2" : "v1";
  }
  all["issuer"] = text(provider.issuer);
  all["discovery_endpoint"] = provider.discovery;
  all["authorize_endpoint"] = text(provider.authorize);
  all["token_endpoint"] = text(provider.token);
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
    if (value.is_null()) text = "as the discovery document says (giftsyncctl sso check shows it)";
    if (value.is_array()) {
      for (const Json& one : value) text += (text.empty() ? "" : ", ") + one.get<std::string>();
    }
    fmt::print(console.out, "{}{}: {}\n", prefix, name, printable(text));
  }
  if (all.contains("metadata")) console.out << '\n' << all["metadata"].get<std::string>() << '\n';
}

struct ShowWords {
  std::string name;
  bool json = false;
  bool metadata = false;
};

int show_connection(const Console& console, const Settings& settings, const ShowWords& words) {
  const SsoConnectionSettings* one = find_connection(settings.sso, words.name);
  if (one == nullptr) return no_connection(console, words.name);
  if (words.metadata) {
    if (one->kind != SsoKind::saml)
      return console.fail(EX_DATAERR, fmt::format("{} is no SAML connection: it has no metadata", one->name));
    console.out << sp_metadata(settings.sso, *one) << '\n';
    return EX_OK;
  }
  const Json all = shown(settings, *one);
  if (words.json)
    console.out << json_text(all, 2) << '\n';
  else
    print_text(console, all);
  return EX_OK;
}

std::string_view word_of(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::good:
      return "good";
    case Finding::Kind::warning:
      return "warning";
    case Finding::Kind::fault:
      return "fault";
    case Finding::Kind::unreachable:
      break;
  }
  return "unreachable";
}

int check(const Console& console, const SsoSettings& sso, const std::string& name, bool json) {
  const SsoConnectionSettings* one = find_connection(sso, name);
  if (one == nullptr) return no_connection(console, name);
  const Findings findings = check_connection(sso, *one, fetch_web, console.now());
  const bool is_faulty = findings.has(Finding::Kind::fault);
  const bool is_unreachable = findings.has(Finding::Kind::unreachable);
  if (json) {
    Json list = Json::array();
    for (const Finding& finding : findings.all())
      list.push_back({{"kind", word_of(finding.kind)}, {"text", finding.text}});
    const Json all = {{"name", one->name}, {"good", !is_faulty && !is_unreachable}, {"findings", list}};
    console.out << json_text(all, 2) << '\n';
  } else {
    for (const Finding& finding : findings.all())
      fmt::print(console.out, "{:<12} {}\n", word_of(finding.kind), printable(finding.text));
  }
  if (is_faulty) return EX_DATAERR;
  return is_unreachable ? EX_UNAVAILABLE : EX_OK;
}

int route_address(const Console& console, const SsoSettings& sso, const std::string& address, bool json) {
  const SsoConnectionSettings* one = route(sso, address);
  if (json) {
    const Json all = {{"address", address},
                      {"connection", one ? Json(one->name) : Json(nullptr)},
                      {"type", one ? Json(to_word(one->kind)) : Json(nullptr)}};
    console.out << json_text(all, 2) << '\n';
    return EX_OK;
  }
  if (one == nullptr) {
    return console.fail(EX_DATAERR,
                        fmt::format("no connection has the domain of {}: its user signs in with a "
                                    "password, or not at all",
                                    in_quotes(address)));
  }
  console.out << one->name << '\n';
  return EX_OK;
}

void add_list(Commands& commands, CLI::App& noun) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* verb = commands.verb(noun, "list", "All connections.", {"sso list", "sso list --json"});
  verb->add_flag("--json", *json, "Print a JSON array");
  commands.run_with_settings(verb, [json](const Console& console, const Settings& settings) {
    return list_connections(console, settings.sso, *json);
  });
}

void add_show(Commands& commands, CLI::App& noun) {
  const auto words = std::make_shared<ShowWords>();
  CLI::App* verb = commands.verb(
      noun, "show",
      "What the administrator of the identity provider needs: post-back URL, login redirect URL, entity id, "
      "metadata, endpoints.",
      {"sso show acme", "sso show acme --json", "sso show acme --metadata > giftsync-metadata.xml"});
  verb->add_option("NAME", words->name, "The connection's name")->required();
  CLI::Option* json = verb->add_flag("--json", words->json, "Print JSON");
  verb->add_flag("--metadata", words->metadata, "Print a SAML connection's metadata alone")->excludes(json);
  commands.run_with_settings(verb, [words](const Console& console, const Settings& settings) {
    return show_connection(console, settings, *words);
  });
}

void add_check(Commands& commands, CLI::App& noun) {
  struct Words {
    std::string name;
    bool json = false;
  };
  const auto words = std::make_shared<Words>();
  CLI::App* verb = commands.verb(
      noun, "check",
      "Try a connection: fetch the provider's discovery document and keys over TLS and compare its issuer, "
      "or "
      "look at a SAML provider's certificate and sign-in page. Exit 0: good; 65: a fault; 69: no answer.",
      {"sso check acme", "sso check acme --json"});
  verb->add_option("NAME", words->name, "The connection's name")->required();
  verb->add_flag("--json", words->json, "Print JSON");
  commands.run_with_settings(verb, [words](const Console& console, const Settings& settings) {
    return check(console, settings.sso, words->name, words->json);
  });
}

void add_route(Commands& commands, CLI::App& noun) {
  struct Words {
    std::string address;
    bool json = false;
  };
  const auto words = std::make_shared<Words>();
  CLI::App* verb = commands.verb(
      noun, "route", "The connection through which a user signs in, by the domain of the e-mail address.",
      {"sso route rose@example.com", "sso route rose@example.com --json"});
  verb->add_option("ADDRESS", words->address, "The user's e-mail address")->required();
  verb->add_flag("--json", words->json, "Print JSON");
  commands.run_with_settings(verb, [words](const Console& console, const Settings& settings) {
    return route_address(console, settings.sso, words->address, words->json);
  });
}

}  // namespace

void add_sso_commands(Commands& commands) {
  CLI::App* noun = commands.noun("sso", "Single-sign-on connections");
  add_list(commands, *noun);
  add_show(commands, *noun);
  add_check(commands, *noun);
  add_route(commands, *noun);
}

}  // namespace giftsync::daemon
