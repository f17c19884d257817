#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <memory>

#include "daemon/cli/commands.h"
#include "daemon/cli/json_list.h"
#include "daemon/cli/overlap.h"
#include "daemon/cli/text_table.h"
#include "daemon/crypto/api_key.h"
#include "daemon/organization_token.h"
#include "daemon/settings/settings_fault.h"
#include "schema/text.h"

namespace giftsync::daemon {
namespace {

using schema::OrganizationToken;

constexpr std::size_t kMostNameCodePoints = 255;
constexpr std::string_view kTokenStart = "got_live_";

OrganizationToken row_of(const NewKey& token, schema::UtcMillis now) {
  OrganizationToken row;
  row.prefix = token.prefix;
  row.hash = token.hash;
  row.created_at = now;
  return row;
}

/// The only time that a token's text is anywhere.
void hand_out(const Console& console, const NewKey& token) {
  console.out << token.text << std::endl;
  console.note(fmt::format("This token is shown only now; listings show it as {}...", token.prefix));
  console.note(
      "Next: enter it in the package settings, requests.organization_token, and in the CRM's interface.");
}

int no_organization(const Console& console, const std::string& name) {
  return console.fail(EX_DATAERR,
                      fmt::format("there is no organization {}; \"giftsyncctl organization list\" shows them",
                                  in_quotes(name)));
}

int create_organization(const Console& console, Installation& place, const std::string& given) {
  const std::string name(schema::trimmed(given));
  if (!schema::is_storable_text(name) || name.empty() ||
      schema::count_code_points(name) > kMostNameCodePoints) {
    return console.fail(EX_USAGE, fmt::format("--name: found {}; allowed: 1 to {} characters of UTF-8",
                                              in_quotes(given), kMostNameCodePoints));
  }
  const NewKey token = make_organization_token();
  if (!place.store.organizations.create(name, row_of(token, console.now()))) {
    return console.fail(
        EX_DATAERR,
        fmt::format("there is an organization {} already; \"giftsyncctl organization rotate\" makes another "
                    "token for it",
                    in_quotes(name)));
  }
  hand_out(console, token);
  return EX_OK;
}

int list_organizations(const Console& console, Installation& place, bool json) {
  const auto organizations = place.store.organizations.organizations();
  const auto tokens = place.store.organizations.tokens();
  const schema::UtcMillis now = console.now();
  const auto each_token = [&](const schema::Organization& one, const auto& work) {
    for (const OrganizationToken& token : tokens)
      if (token.organization == one.id) work(token);
  };
  if (json) {
    JsonList list(console.out);
    for (const schema::Organization& one : organizations) {
      Json shown = Json::array();
      each_token(one, [&](const OrganizationToken& token) {
        shown.push_back({{"prefix", token.prefix},
                         {"state", token_state(token, now)},
                         {"created_at", json_time(token.created_at)},
                         {"expires_at", json_time(token.expires_at)},
                         {"revoked_at", json_time(token.revoked_at)}});
      });
      list.add({{"id", one.id.value},
                {"name", one.name},
                {"accounts", one.accounts},
                {"created_at", json_time(one.created_at)},
                {"tokens", shown}});
    }
    list.finish();
    return EX_OK;
  }
  using Kind = TextTable::Kind;
  TextTable table(console.out, {{"NAME", Kind::elastic},
                                {"ACCOUNTS", Kind::number},
                                {"TOKEN"},
                                {"STATE"},
                                {"CREATED (UTC)"},
                                {"ENDS (UTC)"}});
  for (const schema::Organization& one : organizations) {
    each_token(one, [&](const OrganizationToken& token) {
      table.add({one.name, std::to_string(one.accounts), token.prefix, std::string(token_state(token, now)),
                 minute_text(token.created_at),
                 minute_text(token.revoked_at ? token.revoked_at : token.expires_at)});
    });
  }
  table.finish();
  if (organizations.empty())
    console.note("No organizations yet; \"giftsyncctl organization create --name NAME\" makes one.");
  return EX_OK;
}

int rotate_token(const Console& console, Installation& place, const std::string& name,
                 std::int64_t overlap_millis) {
  const auto organization = place.store.organizations.organization(name);
  if (!organization) return no_organization(console, name);
  const schema::UtcMillis now = console.now();
  const auto old = place.store.organizations.tokens();
  const NewKey token = make_organization_token();
  OrganizationToken row = row_of(token, now);
  row.organization = organization->id;
  place.store.organizations.add_token(row);
  hand_out(console, token);
  for (const OrganizationToken& one : old) {
    const std::string_view state = token_state(one, now);
    if (one.organization != organization->id || state == "revoked" || state == "expired") continue;
    if (overlap_millis == 0) {
      place.store.organizations.revoke(one.id, now);
      console.note(fmt::format("{} is revoked.", one.prefix));
      continue;
    }
    // A token that was rotated before keeps its earlier end.
    const schema::UtcMillis end =
        std::min(one.expires_at.value_or(now + overlap_millis), now + overlap_millis);
    place.store.organizations.set_expiry(one.id, end);
    console.note(fmt::format("{} works until {} UTC.", one.prefix, minute_text(end)));
  }
  return EX_OK;
}

bool begins(const OrganizationToken& token, const std::string& word) {
  if (is_organization_token(word)) return token.hash == api_key_hash(word);
  const std::string_view prefix = token.prefix;
  return !word.empty() && (prefix.starts_with(word) || prefix.substr(kTokenStart.size()).starts_with(word));
}

int revoke_token(const Console& console, Installation& place, const std::string& word) {
  std::vector<OrganizationToken> found;
  for (const OrganizationToken& token : place.store.organizations.tokens())
    if (!token.revoked_at && begins(token, word)) found.push_back(token);
  // A whole token that was mistyped is not shown back.
  if (found.size() != 1) {
    const std::string shown = word.size() > 16 ? "that token" : in_quotes(word);
    return console.fail(
        EX_DATAERR, found.empty()
                        ? fmt::format("no token that is not revoked yet begins with {}; "
                                      "\"giftsyncctl organization list\" shows them",
                                      shown)
                        : fmt::format("{} may mean {} tokens; give more characters", shown, found.size()));
  }
  place.store.organizations.revoke(found.front().id, console.now());
  console.note(
      fmt::format("{} of {} is revoked.", found.front().prefix, printable(found.front().organization_name)));
  return EX_OK;
}

void add_create(Commands& commands, CLI::App& noun) {
  const auto name = std::make_shared<std::string>();
  CLI::App* verb = commands.verb(noun, "create",
                                 "A company whose CRM may send on behalf of its accounts. Prints its token "
                                 "alone on stdout; it is shown only once.",
                                 {"organization create --name \"Edge Communications\""});
  verb->add_option("--name", *name, "The organization's name")->required()->option_text("NAME REQUIRED");
  commands.run(verb, [name](const Console& console, Installation& place) {
    return create_organization(console, place, *name);
  });
}

void add_list(Commands& commands, CLI::App& noun) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* verb = commands.verb(noun, "list", "All organizations with their tokens by first characters.",
                                 {"organization list", "organization list --json"});
  verb->add_flag("--json", *json, "Print a JSON array");
  commands.run(verb, [json](const Console& console, Installation& place) {
    return list_organizations(console, place, *json);
  });
}

void add_rotate(Commands& commands, CLI::App& noun) {
  struct Words {
    std::string name;
    std::string overlap = "24h";
  };
  const auto words = std::make_shared<Words>();
  CLI::App* verb = commands.verb(
      noun, "rotate",
      "A new token for an organization. Prints it alone on stdout; older ones work on until the overlap has "
      "passed.",
      {"organization rotate \"Edge Communications\"", "organization rotate edge --overlap 0"});
  verb->add_option("NAME", words->name, "The organization's name")->required();
  verb->add_option("--overlap", words->overlap,
                   "How long older tokens work on: 90s, 30m, 24h, 7d, 0 (default 24h)")
      ->option_text("TIME")
      ->check(CLI::Validator([](const std::string& text) { return overlap_fault(text); }, ""));
  commands.run(verb, [words](const Console& console, Installation& place) {
    return rotate_token(console, place, words->name, *overlap_millis(words->overlap));
  });
}

void add_revoke(Commands& commands, CLI::App& noun) {
  const auto prefix = std::make_shared<std::string>();
  CLI::App* verb = commands.verb(noun, "revoke", "End a token at once, for good.",
                                 {"organization revoke got_live_x3Kd9aQ", "organization revoke x3K"});
  verb->add_option("PREFIX", *prefix, "Its first characters, as many as it takes; got_live_ may be left out")
      ->required();
  commands.run(verb, [prefix](const Console& console, Installation& place) {
    return revoke_token(console, place, *prefix);
  });
}

}  // namespace

void add_organization_commands(Commands& commands) {
  CLI::App* noun = commands.noun("organization", "The companies whose CRM may send, with their tokens");
  add_create(commands, *noun);
  add_list(commands, *noun);
  add_rotate(commands, *noun);
  add_revoke(commands, *noun);
}

}  // namespace giftsync::daemon
