#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <memory>

#include "cli/account/key_commands.h"
#include "cli/command_audit.h"
#include "cli/console.h"
#include "cli/listing.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "sync/access/credential.h"

namespace giftsync::cli {
namespace {

constexpr std::string_view kTokenPrefix = "got_live_";

store::OrganizationToken row_of(const sync::NewCredential& token, UtcMillis now) {
  store::OrganizationToken row;
  row.prefix = token.prefix;
  row.hash = token.hash;
  row.created_at = now;
  return row;
}

/// The token's text is not stored: this is the only time that it is shown.
void print_token(const Console& console, const sync::NewCredential& token, const std::string& shown) {
  console.out << shown << std::endl;
  console.info(fmt::format("This token is shown only now; listings show it as {}...", token.prefix));
  console.info(
      "Next: enter it in the package settings, in requests.organization_token, and in the CRM's interface.");
}

std::string token_json(OrganizationId id, const std::string& name, const sync::NewCredential& token,
                       const store::OrganizationToken& row) {
  const Json json{{"id", id.value},
                  {"name", name},
                  {"token", token.text},
                  {"prefix", token.prefix},
                  {"created_at", json_time(row.created_at)}};
  return json_text(json, 2);
}

int no_organization(const Console& console, const std::string& name) {
  return console.fail(EX_DATAERR,
                      fmt::format("there is no organization {}; \"giftsyncctl organization list\" shows them",
                                  in_quotes(name)));
}

struct NewOrganizationOptions {
  std::string name;
  bool json = false;
};

int create_organization(const Console& console, CliContext& ctx, const NewOrganizationOptions& options) {
  const std::string& given = options.name;
  const std::string name(trimmed(given));
  if (!is_plain_line(name) || name.empty() || count_code_points(name) > kMaxNameCodePoints) {
    return console.fail(EX_USAGE, fmt::format("--name: found {}; allowed: 1 to {} characters of UTF-8 on one "
                                              "line, without control characters and bidirectional overrides",
                                              in_quotes(given), kMaxNameCodePoints));
  }
  const sync::NewCredential token = sync::make_organization_token();
  const store::OrganizationToken row = row_of(token, console.now());
  const auto id = ctx.store.organizations.create(name, row);
  if (!id) {
    return console.fail(
        EX_DATAERR,
        fmt::format(
            "there is already an organization {}; \"giftsyncctl organization rotate\" creates another "
            "token for it",
            in_quotes(name)));
  }
  print_token(console, token, options.json ? token_json(*id, name, token, row) : token.text);
  return EX_OK;
}

int list_organizations(const Console& console, store::Store& store, bool json) {
  const auto organizations = store.organizations.list();
  const auto tokens = store.organizations.list_tokens();
  const UtcMillis now = console.now();
  const auto each_token = [&](const store::Organization& one, const auto& action) {
    for (const store::OrganizationToken& token : tokens)
      if (token.organization == one.id) action(token);
  };
  if (json) {
    JsonArrayWriter list(console.out);
    for (const store::Organization& one : organizations) {
      Json shown = Json::array();
      each_token(one, [&](const store::OrganizationToken& token) {
        shown.push_back({{"prefix", token.prefix},
                         {"state", to_word(sync::state_of(token, now))},
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
  for (const store::Organization& one : organizations) {
    each_token(one, [&](const store::OrganizationToken& token) {
      table.add({one.name, std::to_string(one.accounts), token.prefix,
                 std::string(to_word(sync::state_of(token, now))), minute_text(token.created_at),
                 minute_text(token.revoked_at ? token.revoked_at : token.expires_at)});
    });
  }
  table.finish();
  if (organizations.empty())
    console.info("No organizations yet; \"giftsyncctl organization create --name NAME\" creates one.");
  return EX_OK;
}

int rotate_token(const Console& console, CliContext& ctx, const RotateOptions& options) {
  const auto organization = ctx.store.organizations.find_by_name(options.of);
  if (!organization) return no_organization(console, options.of);
  const UtcMillis now = console.now();
  const auto old = ctx.store.organizations.list_tokens();
  const sync::NewCredential token = sync::make_organization_token();
  store::OrganizationToken row = row_of(token, now);
  row.organization = organization->id;
  ctx.store.organizations.insert_token(row);
  print_token(console, token,
              options.json ? token_json(organization->id, organization->name, token, row) : token.text);
  for (const store::OrganizationToken& one : old) {
    if (one.organization != organization->id || !sync::is_usable(sync::state_of(one, now))) continue;
    end_replaced(console, one.prefix, one.expires_at, options, [&](std::optional<UtcMillis> end) {
      audit_object(console, organization->name, "token " + one.prefix + " is replaced by " + token.prefix);
      end ? ctx.store.organizations.set_token_expiry(one.id, *end)
          : ctx.store.organizations.revoke_token(one.id, now);
    });
  }
  return EX_OK;
}

bool matches_prefix(const store::OrganizationToken& token, const std::string& word) {
  if (sync::is_organization_token(word)) return token.hash == sync::api_key_hash(word);
  return has_prefix(token.prefix, kTokenPrefix, word);
}

int revoke_token(const Console& console, store::Store& store, const RevokeOptions& options) {
  const std::string& word = options.of;
  std::vector<store::OrganizationToken> found;
  std::vector<store::OrganizationToken> revoked;
  for (const store::OrganizationToken& token : store.organizations.list_tokens())
    if (matches_prefix(token, word)) (token.revoked_at ? revoked : found).push_back(token);
  if (found.empty() && revoked.size() == 1) {
    console.info(fmt::format("{} is already revoked (since {} UTC).", revoked.front().prefix,
                             minute_text(revoked.front().revoked_at)));
    return EX_OK;
  }
  // A misspelt whole token must not be printed.
  if (found.size() != 1) {
    const std::string shown = word.size() > 16 ? "that token" : in_quotes(word);
    return console.fail(EX_DATAERR,
                        found.empty()
                            ? fmt::format("no unrevoked token begins with {}; "
                                          "\"giftsyncctl organization list\" shows them",
                                          shown)
                            : fmt::format("{} matches {} tokens; give more characters", shown, found.size()));
  }
  const std::string question =
      fmt::format("Revoke token {} of {}?", found.front().prefix, printable(found.front().organization_name));
  if (const auto refused = refuse_unconfirmed(console, options.yes, question)) return *refused;
  audit_object(console, found.front().organization_name, "token " + found.front().prefix);
  store.organizations.revoke_token(found.front().id, console.now());
  console.info(
      fmt::format("{} of {} is revoked.", found.front().prefix, printable(found.front().organization_name)));
  return EX_OK;
}

void add_create(Commands& commands, Command& noun) {
  const auto options = std::make_shared<NewOrganizationOptions>();
  Command* verb =
      commands.verb(noun, "create",
                    "Create an organization: a company whose CRM may send on behalf of its accounts. "
                    "Prints only its token on stdout; it is shown only once.",
                    {"organization create --name \"Edge Communications\""});
  verb->add_option("--name", options->name, "The organization's name")
      ->required()
      ->option_text("NAME REQUIRED");
  verb->add_flag("--json", options->json, "Print JSON, with the token");
  commands.run(verb, options, create_organization);
}

void add_list(Commands& commands, Command& noun) {
  Command* verb =
      commands.verb(noun, "list", "List all organizations with the first characters of their tokens.",
                    {"organization list", "organization list --json"});
  commands.run_with_store_alone(verb, json_flag(verb, "Print a JSON array"), list_organizations);
}

void add_rotate(Commands& commands, Command& noun) {
  const auto options = std::make_shared<RotateOptions>();
  Command* verb =
      commands.verb(noun, "rotate",
                    "Create another token for an organization. Prints only the token on stdout; older tokens "
                    "work until the grace period ends.",
                    {"organization rotate \"Edge Communications\"", "organization rotate edge --grace 0"});
  verb->add_option("NAME", options->of, "The organization's name")->required();
  add_grace_option(*verb, *options, "How long older tokens still work: 90s, 30m, 24h, 7d, 0 (default 24h)");
  verb->add_flag("--json", options->json, "Print JSON, with the token");
  commands.run(verb, options, rotate_token);
}

void add_revoke(Commands& commands, Command& noun) {
  Command* verb =
      commands.verb(noun, "revoke", "Revoke a token. It stops working now. This cannot be undone.",
                    {"organization revoke got_live_x3Kd9aQ", "organization revoke x3K --yes"});
  const auto options = std::make_shared<RevokeOptions>();
  verb->add_option("PREFIX", options->of,
                   "The token's first characters, enough to be unique; got_live_ may be left out")
      ->required();
  add_yes_flag(*verb, options->yes);
  commands.run_with_store_alone(verb, options, revoke_token);
}

}  // namespace

void add_organization_commands(Commands& commands) {
  Command* noun = commands.noun("organization", "Companies whose CRM may send, with their tokens");
  add_create(commands, *noun);
  add_list(commands, *noun);
  add_rotate(commands, *noun);
  add_revoke(commands, *noun);
}

}  // namespace giftsync::cli
