#include <fmt/format.h>
#include <sysexits.h>

#include <memory>

#include "cli/account/credential_pauses.h"
#include "cli/account/key_commands.h"
#include "cli/command_audit.h"
#include "cli/console.h"
#include "cli/listing.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "sync/access/credential.h"

namespace giftsync::cli {
namespace {

/// Prints the token, or with --json also its organization. Its text is not stored: this is the only time that
/// it is shown.
void print_token(const Console& console, OrganizationId id, const std::string& name,
                 const sync::NewCredential& token, bool json) {
  const Json shown{{"id", id.value},
                   {"name", name},
                   {"token", token.text},
                   {"prefix", token.prefix},
                   {"created_at", json_time(token.created_at)}};
  console.out << (json ? json_text(shown, 2) : token.text) << std::endl;
  console.info(fmt::format("This token is shown only now; listings show it as {}...", token.prefix));
  console.info(
      "Next: enter it in the package settings, in requests.organization_token, and in the CRM's interface.");
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
  const sync::NewCredential token = sync::make_credential(CredentialKind::organization_token, console.now());
  const auto id = ctx.store.organizations.create(name, token);
  if (!id) {
    return console.fail(
        EX_DATAERR,
        fmt::format(
            "there is already an organization {}; \"giftsyncctl organization rotate\" creates another "
            "token for it",
            in_quotes(name)));
  }
  print_token(console, *id, name, token, options.json);
  return EX_OK;
}

int list_organizations(const Console& console, store::Store& store, bool json) {
  const auto organizations = store.organizations.list();
  const auto tokens = store.credentials.list(CredentialKind::organization_token);
  const UtcMillis now = console.now();
  const auto each_token = [&](const store::Organization& one, const auto& action) {
    for (const store::Credential& token : tokens)
      if (token.organization == one.id) action(token);
  };
  if (json) {
    JsonArrayWriter list(console.out);
    for (const store::Organization& one : organizations) {
      Json shown = Json::array();
      each_token(one, [&](const store::Credential& token) {
        shown.push_back({{"prefix", token.prefix},
                         {"state", to_word(sync::state_of(token, now))},
                         {"created_at", json_time(token.created_at)},
                         {"expires_at", json_time(token.expires_at)},
                         {"revoked_at", json_time(token.revoked_at)},
                         {"paused_at", json_time(token.paused_at)},
                         {"pause_reason", text_or_null(token.pause_reason)}});
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
    each_token(one, [&](const store::Credential& token) {
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
  const auto old = ctx.store.credentials.list(CredentialKind::organization_token);
  sync::NewCredential token = sync::make_credential(CredentialKind::organization_token, now);
  token.organization = organization->id;
  ctx.store.credentials.insert(token);
  print_token(console, organization->id, organization->name, token, options.json);
  for (const store::Credential& credential : old) {
    if (credential.organization != organization->id || !sync::is_usable(sync::state_of(credential, now)))
      continue;
    audit_object(console, organization->name,
                 "token " + credential.prefix + " is replaced by " + token.prefix);
    end_replaced(console, ctx, credential, token.prefix, options);
  }
  return EX_OK;
}

int revoke_token(const Console& console, store::Store& store, const RevokeOptions& options) {
  const auto token = find_token(store, options.of);
  if (!token) return console.fail(EX_DATAERR, token.error());
  if (const auto refused = refuse_revocation(console, *token, "token", options.yes)) return *refused;
  audit_object(console, token->owner, "token " + token->prefix);
  revoke(console, store, *token);
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
  add_token_pause_commands(commands, *noun);
}

tl::expected<store::Credential, std::string> find_token(store::Store& store, const std::string& word) {
  std::vector<store::Credential> found;
  std::vector<store::Credential> revoked;
  for (const store::Credential& token : store.credentials.list(CredentialKind::organization_token))
    if (sync::is_meant_by(token, word)) (token.revoked_at ? revoked : found).push_back(token);
  if (found.empty() && revoked.size() == 1) found = revoked;
  if (found.size() == 1) return found.front();
  // A misspelt whole token must not be printed.
  const std::string shown = word.size() > 16 ? "that token" : in_quotes(word);
  return tl::unexpected(
      found.empty()
          ? fmt::format("no unrevoked token begins with {}; \"giftsyncctl organization list\" shows them",
                        shown)
          : fmt::format("{} matches {} tokens; give more characters", shown, found.size()));
}

}  // namespace giftsync::cli
