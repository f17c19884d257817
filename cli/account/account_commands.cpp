#include <fmt/format.h>
#include <sysexits.h>

#include <map>
#include <memory>

#include "cli/account/key_commands.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "schema/contact_normalization.h"

namespace giftsync::cli {
namespace {

using Kind = TextTable::Kind;

void add_plan_option(Command& verb, std::string& plan) {
  verb.add_option("--plan", plan, "team, enterprise, enterprise_plus or individual")
      ->required()
      ->option_text("PLAN REQUIRED")
      ->check(one_of({"team", "enterprise", "enterprise_plus", "individual"}));
}

struct NewAccountOptions {
  std::string email;
  std::string name;
  std::string plan;
  std::string organization;  ///< empty: none
  bool with_key = false;
  bool json = false;
};

/// `organization`: the name of the account's organization; empty: none.
void describe(ListedRow& row, const store::Account& account, const std::string& organization) {
  row.add("id", {"ID", Kind::number}, account.id.value);
  row.add("email", {"EMAIL", Kind::elastic}, account.email);
  row.add("name", {"NAME", Kind::elastic}, account.name);
  row.add("plan", {"PLAN"}, to_word(account.plan));
  row.add_json("active", account.active);
  row.add("organization", {"ORGANIZATION", Kind::elastic}, text_or_null(organization), organization);
  row.add_cell({"STATE"}, account.active ? "active" : "deactivated");
  row.add("created_at", {"CREATED (UTC)"}, account.created_at);
}

int no_account(const Console& console, const std::string& email) {
  return console.fail(EX_DATAERR,
                      fmt::format("there is no account {}; \"giftsyncctl account list\" shows them, "
                                  "\"giftsyncctl account create\" creates one",
                                  in_quotes(email)));
}

int no_organization(const Console& console, const std::string& name) {
  return console.fail(EX_DATAERR,
                      fmt::format("--organization: there is no organization {}; \"giftsyncctl organization "
                                  "list\" shows them, \"giftsyncctl organization create\" creates one",
                                  in_quotes(name)));
}

/// The first fault of a new account's options; empty if there is none.
std::string account_fault(const NewAccountOptions& options) {
  if (const auto fault = email_error(options.email)) {
    return fmt::format("--email: found {}: {}", in_quotes(options.email), *fault);
  }
  const std::string_view name = trimmed(options.name);
  if (!is_plain_line(name) || name.empty() || count_code_points(name) > kMaxNameCodePoints) {
    return fmt::format(
        "--name: found {}; allowed: 1 to {} characters of UTF-8 on one line, without control "
        "characters and bidirectional overrides",
        in_quotes(options.name), kMaxNameCodePoints);
  }
  return {};
}

int create_account(const Console& console, CliContext& ctx, const NewAccountOptions& options) {
  const std::string fault = account_fault(options);
  if (!fault.empty()) return console.fail(EX_USAGE, fault);
  store::Account account;
  account.email = trimmed(options.email);
  account.name = trimmed(options.name);
  account.plan = *plan_from_word(options.plan);
  account.created_at = console.now();
  std::string organization_name;
  if (!options.organization.empty()) {
    const auto organization = ctx.store.organizations.find_by_name(options.organization);
    if (!organization) return no_organization(console, options.organization);
    account.organization = organization->id;
    organization_name = organization->name;
  }
  const auto id = ctx.store.accounts.create(account);
  if (!id) {
    return console.fail(EX_DATAERR,
                        fmt::format("there is already an account {}; \"giftsyncctl account list\" shows it, "
                                    "\"giftsyncctl account set-plan\" changes its plan",
                                    in_quotes(account.email)));
  }
  account.id = *id;
  if (options.json) {
    ListedRow row(true);
    describe(row, account, organization_name);
    console.out << json_text(row.json(), 2) << '\n';
  } else {
    const std::string line = fmt::format("account {}: {} ({}), plan {}", id->value, account.email,
                                         printable(account.name), options.plan);
    if (options.with_key)
      console.info(line);
    else
      console.out << line << '\n';
  }
  if (options.with_key) issue_first_key(console, ctx, account);
  if (!has_api_access(account.plan))
    console.info("Plan individual has no API access: its keys are refused (403).");
  else if (!options.with_key)
    console.info(fmt::format("Next: {}key create --account {}", program_with(ctx.settings), account.email));
  retry_failed_requests(console, ctx);
  return EX_OK;
}

int list_accounts(const Console& console, CliContext& ctx, bool json) {
  const auto accounts = ctx.store.accounts.list();
  std::map<OrganizationId, std::string> organizations;
  for (const store::Organization& one : ctx.store.organizations.list()) organizations[one.id] = one.name;
  const auto organization_of = [&](const store::Account& account) {
    return account.organization ? organizations[*account.organization] : std::string();
  };
  Listing list(console.out, json);
  for (const store::Account& account : accounts)
    list.add([&](ListedRow& row) { describe(row, account, organization_of(account)); });
  list.finish();
  if (accounts.empty() && !json) console.info("No accounts yet; \"giftsyncctl account create\" creates one.");
  return EX_OK;
}

int set_active(const Console& console, store::Store& store, const std::string& email, bool active) {
  const auto before = store.accounts.find_by_email(email);
  if (before && before->active == active) {
    console.info(
        fmt::format("{} is already {}.", printable(before->email), active ? "active" : "deactivated"));
    return EX_OK;
  }
  if (!store.accounts.set_active(email, active)) return no_account(console, email);
  console.info(active ? fmt::format("{} is active: its keys work again.", printable(email))
                      : fmt::format("{} is deactivated: its keys are now refused (401).", printable(email)));
  return EX_OK;
}

void add_create(Commands& commands, Command& noun) {
  const auto options = std::make_shared<NewAccountOptions>();
  Command* verb = commands.verb(
      noun, "create", "Create a sender account. API access needs a team or enterprise plan.",
      {"account create --email rose@example.com --name \"Rose Gonzalez\" --plan team",
       "account create --email rose@example.com --name \"Rose Gonzalez\" --plan team --with-key > rose.key"});
  verb->add_option("--email", options->email, "The sender's e-mail address")
      ->required()
      ->option_text("EMAIL REQUIRED");
  verb->add_option("--name", options->name, "The sender's name, as mails show it")
      ->required()
      ->option_text("NAME REQUIRED");
  add_plan_option(*verb, options->plan);
  verb->add_option("--organization", options->organization,
                   "The organization whose CRM may send on behalf of the account (default none)")
      ->option_text("NAME");
  Option* json = verb->add_flag("--json", options->json, "Print JSON, as account list --json");
  verb->add_flag("--with-key", options->with_key,
                 "Create its first API key, too, and print that alone, as key create does")
      ->excludes(json);
  commands.run_or_create(verb, options, create_account);
}

void add_list(Commands& commands, Command& noun) {
  Command* verb = commands.verb(noun, "list", "List all accounts.", {"account list", "account list --json"});
  commands.run(verb, json_flag(verb, "Print a JSON array"), list_accounts);
}

void add_activate(Commands& commands, Command& noun) {
  Command* verb = commands.verb(noun, "activate", "Activate a deactivated account: its keys work again.",
                                {"account activate rose@example.com"});
  const auto action = [](const Console& console, CliContext& ctx, const std::string& email) {
    const int code = set_active(console, ctx.store, email, true);
    if (code == EX_OK) retry_failed_requests(console, ctx);
    return code;
  };
  commands.run(verb, text_argument(verb, "EMAIL", "The account's e-mail address"), action);
}

void add_deactivate(Commands& commands, Command& noun) {
  Command* verb =
      commands.verb(noun, "deactivate", "Deactivate an account: its keys are refused until it is activated.",
                    {"account deactivate rose@example.com"});
  const auto action = [](const Console& console, store::Store& store, const std::string& email) {
    return set_active(console, store, email, false);
  };
  commands.run_with_store_alone(verb, text_argument(verb, "EMAIL", "The account's e-mail address"), action);
}

struct PlanOptions {
  std::string email;
  std::string plan;
};

int set_plan(const Console& console, CliContext& ctx, const PlanOptions& options) {
  const auto& [email, word] = options;
  const Plan plan = *plan_from_word(word);
  const std::optional<Plan> before = ctx.store.accounts.set_plan(email, plan);
  if (!before) return no_account(console, email);
  const std::string who = printable(trimmed(email));
  std::string message = *before == plan
                            ? fmt::format("{} already has the plan {}.", who, word)
                            : fmt::format("{} now has the plan {}; it was {}.", who, word, to_word(*before));
  if (!has_api_access(plan)) message += " It has no API access: its keys are refused (403).";
  console.info(message);
  retry_failed_requests(console, ctx);
  return EX_OK;
}

void add_set_plan(Commands& commands, Command& noun) {
  const auto options = std::make_shared<PlanOptions>();
  Command* verb = commands.verb(noun, "set-plan",
                                "Set the plan of an account. It takes effect within a second. API access and "
                                "sending from the CRM need a team or enterprise plan.",
                                {"account set-plan rose@example.com --plan enterprise"});
  verb->add_option("EMAIL", options->email, "The account's e-mail address")->required();
  add_plan_option(*verb, options->plan);
  commands.run(verb, options, set_plan);
}

struct OrganizationOptions {
  std::string email;
  std::string organization;
  bool none = false;
};

int set_organization(const Console& console, CliContext& ctx, const OrganizationOptions& options) {
  const auto& [email, name, none] = options;
  if (name.empty() != none) return console.fail(EX_USAGE, "give --organization NAME or --none");
  std::optional<OrganizationId> organization;
  if (!name.empty()) {
    const auto found = ctx.store.organizations.find_by_name(name);
    if (!found) return no_organization(console, name);
    organization = found->id;
  }
  const auto before = ctx.store.accounts.find_by_email(email);
  if (before && before->organization == organization) {
    console.info(organization
                     ? fmt::format("The CRM of {} may already send on behalf of {}.", printable(name),
                                   printable(before->email))
                     : fmt::format("{} already belongs to no organization.", printable(before->email)));
    return EX_OK;
  }
  if (!ctx.store.accounts.set_organization(email, organization)) return no_account(console, email);
  console.info(organization ? fmt::format("The CRM of {} may now send on behalf of {}.", printable(name),
                                          printable(email))
                            : fmt::format("No CRM may now send on behalf of {}.", printable(email)));
  if (organization) retry_failed_requests(console, ctx);
  return EX_OK;
}

void add_set_organization(Commands& commands, Command& noun) {
  const auto options = std::make_shared<OrganizationOptions>();
  Command* verb = commands.verb(
      noun, "set-organization", "Set the organization whose CRM may send on behalf of an account, or none.",
      {"account set-organization rose@example.com --organization \"Edge Communications\"",
       "account set-organization rose@example.com --none"});
  verb->add_option("EMAIL", options->email, "The account's e-mail address")->required();
  Option* named = verb->add_option("--organization", options->organization, "The organization's name")
                      ->option_text("NAME");
  verb->add_flag("--none", options->none, "No organization")->excludes(named);
  commands.run(verb, options, set_organization);
}

}  // namespace

void add_account_commands(Commands& commands) {
  Command* noun = commands.noun("account", "The senders: accounts with their plans");
  add_create(commands, *noun);
  add_list(commands, *noun);
  add_set_plan(commands, *noun);
  add_set_organization(commands, *noun);
  add_activate(commands, *noun);
  add_deactivate(commands, *noun);
}

}  // namespace giftsync::cli
