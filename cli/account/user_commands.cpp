#include <fmt/format.h>
#include <sysexits.h>

#include <map>
#include <memory>
#include <span>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/listing.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "schema/contact_normalization.h"

namespace giftsync::cli {
namespace {

using store::ConsoleUser;
using store::Store;
using Kind = TextTable::Kind;

Check role_word() {
  return one_of({"sender", "approver", "admin", "operator", "auditor"});
}

std::string roles_text(const ConsoleUser& user) {
  std::string text;
  for (const Role role : user.role_set()) text.append(text.empty() ? "" : ", ").append(to_word(role));
  return text;
}

/// "approver (group), sender": with the origin of a role that no command granted.
std::string roles_with_origins(const ConsoleUser& user) {
  std::string text;
  for (const store::UserRole& role : user.roles) {
    text.append(text.empty() ? "" : ", ").append(to_word(role.role));
    if (role.origin != RoleOrigin::granted) text.append(" (").append(to_word(role.origin)).append(")");
  }
  return text;
}

void describe(ListedRow& row, const ConsoleUser& user, const std::string& organization) {
  Json roles = Json::array();
  for (const store::UserRole& role : user.roles)
    roles.push_back({{"role", to_word(role.role)},
                     {"origin", to_word(role.origin)},
                     {"granted_by", role.granted_by},
                     {"granted_at", json_time(role.granted_at)}});
  row.add_json("id", user.id.value);
  row.add("email", {"EMAIL", Kind::elastic}, user.email);
  row.add("name", {"NAME", Kind::elastic}, text_or_null(user.name), user.name);
  row.add_json("active", user.active);
  row.add_cell({"ROLES", Kind::elastic}, roles_with_origins(user));
  row.add("organization", {"ORGANIZATION", Kind::elastic}, text_or_null(organization), organization);
  row.add_json("roles", roles);
  row.add_cell({"STATE"}, user.active ? "active" : "deactivated");
  row.add("created_at", {"CREATED (UTC)"}, user.created_at);
}

struct NewUserOptions {
  std::string email;
  std::string name;
  std::string organization;
  std::vector<std::string> grants;
  bool json = false;
};

std::string user_fault(const NewUserOptions& options) {
  if (const auto fault = email_error(options.email))
    return fmt::format("--email: found {}: {}", in_quotes(options.email), *fault);
  const std::string_view name = trimmed(options.name);
  if (!is_plain_line(name) || count_code_points(name) > kMaxNameCodePoints)
    return fmt::format(
        "--name: found {}; allowed: at most {} characters of UTF-8 on one line, without control "
        "characters and bidirectional overrides",
        in_quotes(options.name), kMaxNameCodePoints);
  return {};
}

int create_user(const Console& console, CliContext& ctx, const NewUserOptions& options) {
  if (const std::string fault = user_fault(options); !fault.empty()) return console.fail(EX_USAGE, fault);
  ConsoleUser user;
  user.email = trimmed(options.email);
  user.name = trimmed(options.name);
  user.created_at = console.now();
  if (!options.organization.empty()) {
    const auto organization = ctx.store.organizations.find_by_name(options.organization);
    if (!organization)
      return console.fail(
          EX_DATAERR, fmt::format("--organization: there is no organization {}; \"giftsyncctl organization "
                                  "list\" shows them",
                                  in_quotes(options.organization)));
    user.organization = organization->id;
  }
  RoleSet roles;
  for (const std::string& word : options.grants) roles.insert(*role_from_word(word));
  for (const Role role : roles) user.roles.push_back({role, RoleOrigin::granted, os_user(), console.now()});
  const auto id =
      ctx.store.console_users.create(user, command_event(console, "user.create", user, roles_text(user)));
  if (!id)
    return console.fail(EX_DATAERR,
                        fmt::format("there is already a user {}; \"giftsyncctl user list\" shows it, "
                                    "\"giftsyncctl user grant\" gives it roles",
                                    in_quotes(user.email)));
  user.id = *id;
  if (options.json) {
    ListedRow row(true);
    describe(row, user, options.organization);
    console.out << json_text(row.json(), 2) << '\n';
  } else {
    console.out << fmt::format("user {}: {}, roles: {}\n", id->value, user.email,
                               roles.empty() ? "none" : roles_text(user));
  }
  console.info(fmt::format("Next: {}console sign-in-link --user {}", program_with(ctx.settings), user.email));
  return EX_OK;
}

int list_users(const Console& console, Store& store, bool json) {
  std::map<OrganizationId, std::string> organizations;
  for (const store::Organization& one : store.organizations.list()) organizations[one.id] = one.name;
  const auto organization_of = [&](const ConsoleUser& user) {
    return user.organization ? organizations[*user.organization] : std::string();
  };
  const auto users = store.console_users.list(store::Viewer::of_command_line());
  Listing list(console.out, json);
  for (const ConsoleUser& user : users)
    list.add([&](ListedRow& row) { describe(row, user, organization_of(user)); });
  list.finish();
  if (users.empty() && !json)
    console.info("No users yet; \"giftsyncctl user create --email EMAIL --grant operator\" creates one.");
  return EX_OK;
}

struct RoleOptions {
  std::string email;
  std::vector<std::string> roles;
};

int grant_roles(const Console& console, Store& store, const RoleOptions& options) {
  const auto user = find_user(console, store, options.email);
  if (!user) return user.error();
  for (const std::string& word : options.roles) {
    const store::UserRole role{*role_from_word(word), RoleOrigin::granted, os_user(), console.now()};
    const bool granted =
        store.console_users.grant(user->id, role, command_event(console, "user.grant", *user, word));
    console.info(
        fmt::format("{} {} the role {}.", printable(user->email), granted ? "has" : "already has", word));
  }
  return EX_OK;
}

int revoke_roles(const Console& console, Store& store, const RoleOptions& options) {
  const auto user = find_user(console, store, options.email);
  if (!user) return user.error();
  for (const std::string& word : options.roles) {
    const Role role = *role_from_word(word);
    const bool revoked =
        store.console_users.revoke(user->id, role, command_event(console, "user.revoke", *user, word));
    const ConsoleUser now = *store.console_users.find(user->id);
    console.info(fmt::format("{} {}{}.", printable(user->email),
                             revoked ? "lost the granted role " : "was not granted the role ", word));
    for (const store::UserRole& left : now.roles)
      if (left.role == role)
        console.info(
            left.origin == RoleOrigin::group
                ? fmt::format("The user still has the role {} from the group {} of an identity "
                              "provider, until a sign-in without it or \"giftsyncctl user unlink\".",
                              word, in_quotes(left.granted_by))
                : fmt::format("The user still has the role {} from a permission set of the CRM.", word));
  }
  return EX_OK;
}

int set_active(const Console& console, Store& store, const std::string& email, bool active) {
  const auto user = find_user(console, store, email);
  if (!user) return user.error();
  if (user->active == active) {
    console.info(fmt::format("{} is already {}.", printable(user->email), active ? "active" : "deactivated"));
    return EX_OK;
  }
  store.console_users.set_active(user->id, active,
                                 command_event(console, active ? "user.activate" : "user.deactivate", *user));
  console.info(active ? fmt::format("{} is active and may sign in.", printable(user->email))
                      : fmt::format("{} is deactivated; its sessions and sign-in links have ended.",
                                    printable(user->email)));
  return EX_OK;
}

struct UnlinkOptions {
  std::string email;
  std::string connection;
};

int unlink_identity(const Console& console, Store& store, const UnlinkOptions& options) {
  const auto user = find_user(console, store, options.email);
  if (!user) return user.error();
  if (!store.user_identities.unlink(user->id, options.connection,
                                    command_event(console, "user.unlink", *user, options.connection))) {
    return console.fail(EX_DATAERR, fmt::format("{} is not linked to connection {}", printable(user->email),
                                                printable(options.connection)));
  }
  console.info(
      fmt::format("{} is unlinked; its sessions of {} and its roles from groups have ended; its address is "
                  "linked again at the next sign-in.",
                  printable(user->email), printable(options.connection)));
  return EX_OK;
}

void add_unlink(Commands& commands, Command& noun) {
  const auto options = std::make_shared<UnlinkOptions>();
  Command* verb = commands.verb(noun, "unlink",
                                "Forget who the user is at an identity provider, with the roles from its "
                                "groups, so that the next sign-in with the address links it again.",
                                {"user unlink ana@example.com --connection acme"});
  verb->add_option("EMAIL", options->email, "The user's e-mail address")->required();
  verb->add_option("--connection", options->connection, "The connection's name")
      ->required()
      ->option_text("NAME REQUIRED");
  commands.run_with_store_alone(verb, options, unlink_identity);
}

void add_create(Commands& commands, Command& noun) {
  const auto options = std::make_shared<NewUserOptions>();
  Command* verb = commands.verb(noun, "create", "Create a user of the console.",
                                {"user create --email ana@example.com --grant operator,admin",
                                 "user create --email ben@example.com --name \"Ben Ito\" --grant auditor"});
  verb->add_option("--email", options->email, "The user's e-mail address")
      ->required()
      ->option_text("EMAIL REQUIRED");
  verb->add_option("--name", options->name, "The user's name, which pages show")->option_text("NAME");
  verb->add_option("--organization", options->organization,
                   "The only organization whose accounts the user sees (default all)")
      ->option_text("NAME");
  verb->add_option("--grant", options->grants,
                   "The user's roles: sender, approver, admin, operator, auditor (default none)")
      ->delimiter(',')
      ->option_text("ROLE,...")
      ->check(role_word());
  verb->add_flag("--json", options->json, "Print JSON, as user list --json");
  commands.run(verb, options, create_user);
}

void add_list(Commands& commands, Command& noun) {
  Command* verb = commands.verb(noun, "list", "List the users of the console with their roles.",
                                {"user list", "user list --json"});
  commands.run_with_store_alone(verb, json_flag(verb, "Print a JSON array"), list_users);
}

template <class Action>
void add_role_verb(Commands& commands, Command& noun, const std::string& name, const std::string& about,
                   Action action) {
  const auto options = std::make_shared<RoleOptions>();
  Command* verb = commands.verb(noun, name, about, {"user " + name + " ana@example.com operator,admin"});
  verb->add_option("EMAIL", options->email, "The user's e-mail address")->required();
  verb->add_option("ROLE", options->roles, "sender, approver, admin, operator, auditor")
      ->required()
      ->delimiter(',')
      ->check(role_word());
  commands.run_with_store_alone(verb, options, action);
}

void add_active_verb(Commands& commands, Command& noun, const std::string& name, const std::string& about,
                     bool active) {
  Command* verb = commands.verb(noun, name, about, {"user " + name + " ana@example.com"});
  const auto action = [active](const Console& console, Store& store, const std::string& email) {
    return set_active(console, store, email, active);
  };
  commands.run_with_store_alone(verb, text_argument(verb, "EMAIL", "The user's e-mail address"), action);
}

}  // namespace

store::AuditEvent command_event(const Console& console, const std::string& action, const ConsoleUser& user,
                                const std::string& detail) {
  return {.occurred_at = console.now(),
          .actor_kind = store::ActorKind::command,
          .actor = os_user(),
          .action = action,
          .object_kind = "user",
          .object_id = user.email,
          .organization = user.organization,
          .detail = detail};
}

store::AuditEvent gift_command_event(const Console& console, Store& store, const std::string& action,
                                     TransactionId gift) {
  store::AuditEvent event = command_event(console, action, {});
  event.object_kind = "gift";
  event.object_id = std::to_string(gift.value);
  for (const store::Gift& one : store.gifts.find(std::span(&gift, 1)))
    if (const auto sender = store.accounts.find_by_email(one.request.sender_email))
      event.organization = sender->organization;
  return event;
}

tl::expected<ConsoleUser, int> find_user(const Console& console, Store& store, const std::string& email) {
  auto user = store.console_users.find_by_email(email);
  if (user) return std::move(*user);
  return tl::unexpected(
      console.fail(EX_DATAERR, fmt::format("there is no user {}; \"giftsyncctl user list\" shows them, "
                                           "\"giftsyncctl user create\" creates one",
                                           in_quotes(email))));
}

void add_user_commands(Commands& commands) {
  Command* noun = commands.noun("user", "Users of the console, with their roles");
  add_create(commands, *noun);
  add_list(commands, *noun);
  add_role_verb(commands, *noun, "grant", "Give a user roles.", grant_roles);
  add_role_verb(commands, *noun, "revoke",
                "Take granted roles from a user. Roles from permission sets of the CRM and from groups of an "
                "identity provider stay.",
                revoke_roles);
  add_active_verb(commands, *noun, "activate", "Activate a deactivated user.", true);
  add_active_verb(commands, *noun, "deactivate",
                  "Deactivate a user: its sessions and sign-in links end now, and it cannot sign in.", false);
  add_unlink(commands, *noun);
}

}  // namespace giftsync::cli
