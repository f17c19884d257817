#include <fmt/format.h>
#include <sysexits.h>

#include <map>
#include <memory>

#include "daemon/cli/commands.h"
#include "daemon/cli/json_list.h"
#include "daemon/cli/text_table.h"
#include "daemon/settings/settings_fault.h"
#include "schema/address.h"
#include "schema/text.h"

namespace giftsync::daemon {
namespace {

constexpr std::size_t kMostNameCodePoints = 255;

void add_plan_option(CLI::App& verb, std::string& plan) {
  verb.add_option("--plan", plan, "team, enterprise, enterprise_plus or individual")
      ->required()
      ->option_text("PLAN REQUIRED")
      ->check(one_of({"team", "enterprise", "enterprise_plus", "individual"}));
}

struct NewAccountWords {
  std::string email;
  std::string name;
  std::string plan;
  std::string organization;  ///< empty: none
};

int no_account(const Console& console, const std::string& email) {
  return console.fail(EX_DATAERR,
                      fmt::format("there is no account {}; \"giftsyncctl account list\" shows them, "
                                  "\"giftsyncctl account create\" makes one",
                                  in_quotes(email)));
}

int no_organization(const Console& console, const std::string& name) {
  return console.fail(EX_DATAERR,
                      fmt::format("--organization: there is no organization {}; \"giftsyncctl organization "
                                  "list\" shows them, \"giftsyncctl organization create\" makes one",
                                  in_quotes(name)));
}

/// What is wrong with the words of a new account; empty when nothing is.
std::string account_fault(const NewAccountWords& words) {
  if (const auto fault = schema::email_fault(words.email)) {
    return fmt::format("--email: found {}: {}", in_quotes(words.email), *fault);
  }
  const std::string_view name = schema::trimmed(words.name);
  if (!schema::is_storable_text(name) || name.empty() ||
      schema::count_code_points(name) > kMostNameCodePoints) {
    return fmt::format("--name: found {}; allowed: 1 to {} characters of UTF-8", in_quotes(words.name),
                       kMostNameCodePoints);
  }
  return {};
}

int create_account(const Console& console, Installation& place, const NewAccountWords& words) {
  const std::string fault = account_fault(words);
  if (!fault.empty()) return console.fail(EX_USAGE, fault);
  schema::Account account;
  account.email = schema::trimmed(words.email);
  account.name = schema::trimmed(words.name);
  account.plan = *schema::plan_from_word(words.plan);
  account.created_at = console.now();
  if (!words.organization.empty()) {
    const auto organization = place.store.organizations.organization(words.organization);
    if (!organization) return no_organization(console, words.organization);
    account.organization = organization->id;
  }
  const auto id = place.store.accounts.create(account);
  if (!id) {
    return console.fail(EX_DATAERR,
                        fmt::format("there is an account {} already; \"giftsyncctl account list\" shows it, "
                                    "\"giftsyncctl account plan\" changes its plan",
                                    in_quotes(account.email)));
  }
  console.out << fmt::format("account {}: {} ({}), plan {}\n", id->value, account.email,
                             printable(account.name), words.plan);
  console.note(
      has_api_access(account.plan)
          ? fmt::format("Next: {}key create --account {}", program_with(place.settings), account.email)
          : "Plan individual has no API access: its keys are refused (403).");
  return EX_OK;
}

int list_accounts(const Console& console, Installation& place, bool json) {
  const auto accounts = place.store.accounts.accounts();
  std::map<schema::OrganizationId, std::string> organizations;
  for (const schema::Organization& one : place.store.organizations.organizations())
    organizations[one.id] = one.name;
  const auto organization_of = [&](const schema::Account& account) {
    return account.organization ? organizations[*account.organization] : std::string();
  };
  if (json) {
    JsonList list(console.out);
    for (const schema::Account& account : accounts) {
      list.add({{"id", account.id.value},
                {"email", account.email},
                {"name", account.name},
                {"plan", to_word(account.plan)},
                {"active", account.active},
                {"organization", account.organization ? Json(organization_of(account)) : Json(nullptr)},
                {"created_at", json_time(account.created_at)}});
    }
    list.finish();
    return EX_OK;
  }
  using Kind = TextTable::Kind;
  TextTable table(console.out, {{"ID", Kind::number},
                                {"EMAIL", Kind::elastic},
                                {"NAME", Kind::elastic},
                                {"PLAN"},
                                {"ORGANIZATION", Kind::elastic},
                                {"STATE"},
                                {"CREATED (UTC)"}});
  for (const schema::Account& account : accounts) {
    table.add({std::to_string(account.id.value), account.email, account.name,
               std::string(to_word(account.plan)), organization_of(account),
               account.active ? "active" : "deactivated", minute_text(account.created_at)});
  }
  table.finish();
  if (accounts.empty()) console.note("No accounts yet; \"giftsyncctl account create\" makes one.");
  return EX_OK;
}

int set_active(const Console& console, Installation& place, const std::string& email, bool active) {
  if (!place.store.accounts.set_active(email, active)) return no_account(console, email);
  console.note(
      active ? fmt::format("{} is active: its keys work again.", printable(email))
             : fmt::format("{} is deactivated: its keys are refused from now on (401).", printable(email)));
  return EX_OK;
}

void add_create(Commands& commands, CLI::App& noun) {
  const auto words = std::make_shared<NewAccountWords>();
  CLI::App* verb = commands.verb(
      noun, "create",
      "A new sender. Gifts are sent on behalf of an account; API access needs a team or enterprise plan.",
      {"account create --email rose@example.com --name \"Rose Gonzalez\" --plan team"});
  verb->add_option("--email", words->email, "The sender's e-mail address")
      ->required()
      ->option_text("EMAIL REQUIRED");
  verb->add_option("--name", words->name, "The sender's name, as mails show it")
      ->required()
      ->option_text("NAME REQUIRED");
  add_plan_option(*verb, words->plan);
  verb->add_option("--organization", words->organization,
                   "The organization whose CRM may send on the account's behalf (default none)")
      ->option_text("NAME");
  commands.run(verb, [words](const Console& console, Installation& place) {
    return create_account(console, place, *words);
  });
}

void add_list(Commands& commands, CLI::App& noun) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* verb = commands.verb(noun, "list", "All accounts.", {"account list", "account list --json"});
  verb->add_flag("--json", *json, "Print a JSON array");
  commands.run(verb, [json](const Console& console, Installation& place) {
    return list_accounts(console, place, *json);
  });
}

void add_switch(Commands& commands, CLI::App& noun, const std::string& name, const std::string& about,
                bool active) {
  const auto email = std::make_shared<std::string>();
  CLI::App* verb = commands.verb(noun, name, about, {"account " + name + " rose@example.com"});
  verb->add_option("EMAIL", *email, "The account's e-mail address")->required();
  commands.run(verb, [email, active](const Console& console, Installation& place) {
    return set_active(console, place, *email, active);
  });
}

int change_plan(const Console& console, Installation& place, const std::string& email,
                const std::string& word) {
  const schema::Plan plan = *schema::plan_from_word(word);
  const std::optional<schema::Plan> before = place.store.accounts.set_plan(email, plan);
  if (!before) return no_account(console, email);
  const std::string who = printable(schema::trimmed(email));
  std::string told = *before == plan ? fmt::format("{} has the plan {} already.", who, word)
                                     : fmt::format("{} has the plan {} from now on; it was {}.", who, word,
                                                   to_word(*before));
  if (!has_api_access(plan)) told += " It has no API access: its keys are refused (403).";
  console.note(told);
  return EX_OK;
}

void add_plan(Commands& commands, CLI::App& noun) {
  struct Words {
    std::string email;
    std::string plan;
  };
  const auto words = std::make_shared<Words>();
  CLI::App* verb =
      commands.verb(noun, "plan",
                    "Give an account another plan, which is in force within a second. API access and "
                    "sending from the CRM need a team or enterprise plan.",
                    {"account plan --email rose@example.com --plan enterprise"});
  verb->add_option("--email", words->email, "The account's e-mail address")
      ->required()
      ->option_text("EMAIL REQUIRED");
  add_plan_option(*verb, words->plan);
  commands.run(verb, [words](const Console& console, Installation& place) {
    return change_plan(console, place, words->email, words->plan);
  });
}

int assign(const Console& console, Installation& place, const std::string& email, const std::string& name) {
  std::optional<schema::OrganizationId> organization;
  if (!name.empty()) {
    const auto found = place.store.organizations.organization(name);
    if (!found) return no_organization(console, name);
    organization = found->id;
  }
  if (!place.store.accounts.set_organization(email, organization)) return no_account(console, email);
  console.note(organization ? fmt::format("The CRM of {} may send on behalf of {} from now on.",
                                          printable(name), printable(email))
                            : fmt::format("No CRM may send on behalf of {} from now on.", printable(email)));
  return EX_OK;
}

void add_assign(Commands& commands, CLI::App& noun) {
  struct Words {
    std::string email;
    std::string organization;
    bool none = false;
  };
  const auto words = std::make_shared<Words>();
  CLI::App* verb = commands.verb(
      noun, "assign", "Say whose CRM may send on an account's behalf: that of one organization, or none.",
      {"account assign rose@example.com --organization \"Edge Communications\"",
       "account assign rose@example.com --none"});
  verb->add_option("EMAIL", words->email, "The account's e-mail address")->required();
  CLI::Option* named =
      verb->add_option("--organization", words->organization, "The organization's name")->option_text("NAME");
  verb->add_flag("--none", words->none, "No organization")->excludes(named);
  commands.run(verb, [words](const Console& console, Installation& place) {
    if (words->organization.empty() != words->none)
      return console.fail(EX_USAGE, "give --organization NAME or --none");
    return assign(console, place, words->email, words->organization);
  });
}

}  // namespace

void add_account_commands(Commands& commands) {
  CLI::App* noun = commands.noun("account", "The senders: accounts with their plans");
  add_create(commands, *noun);
  add_list(commands, *noun);
  add_plan(commands, *noun);
  add_assign(commands, *noun);
  add_switch(commands, *noun, "activate", "Let a deactivated account send again.", true);
  add_switch(commands, *noun, "deactivate", "Refuse an account's keys until it is activated again.", false);
}

}  // namespace giftsync::daemon
