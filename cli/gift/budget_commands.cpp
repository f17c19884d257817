// `budget`: what accounts, organizations and the installation may spend (GUARD-8, GUARD-13).
#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/gift/budget_listing.h"
#include "daemon/wiring/components_config.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::cli {
namespace {

using Kind = TextTable::Kind;
using store::BudgetKind;
using store::SendingBudget;
using sync::BudgetNames;
using sync::ListedBudget;

constexpr std::size_t kMaxListed = 20;

struct ScopeWords {
  std::string kind;
  std::string name;
};

/// What a budget is of.
struct Scope {
  BudgetKind kind;
  std::int64_t id = 0;
  std::string name;  ///< empty: the installation
  std::optional<OrganizationId> organization = {};

  std::string key() const { return store::usage_scope(kind, id); }
  /// As the command line has it: "account rose@example.com".
  std::string words() const {
    const std::string word(sync::to_word(kind));
    return name.empty() ? word : word + " " + name;
  }
};

tl::expected<Scope, Refusal> refused(int code, std::string line) {
  return tl::unexpected(Refusal{code, {std::move(line)}});
}

tl::expected<Scope, Refusal> scope_of(store::Store& store, const ScopeWords& words) {
  if (words.kind == "installation") {
    if (words.name.empty()) return Scope{BudgetKind::installation, 0, {}};
    return refused(EX_USAGE,
                   fmt::format("NAME: found {}; allowed: nothing after installation", in_quotes(words.name)));
  }
  if (trimmed(words.name).empty())
    return refused(EX_USAGE, fmt::format("NAME: found nothing; allowed: {}",
                                         words.kind == "account"
                                             ? "the e-mail address of an account, as \"giftsyncctl account "
                                               "list\" shows it"
                                             : "the name of an organization, as \"giftsyncctl organization "
                                               "list\" shows it"));
  if (words.kind == "account") {
    const auto account = store.accounts.find_by_email(std::string(trimmed(words.name)));
    if (account) return Scope{BudgetKind::account, account->id.value, account->email, account->organization};
    return refused(EX_DATAERR, fmt::format("there is no account {}; \"giftsyncctl account list\" shows them",
                                           in_quotes(words.name)));
  }
  const auto organization = store.organizations.find_by_name(std::string(trimmed(words.name)));
  if (organization)
    return Scope{BudgetKind::organization, organization->id.value, organization->name, organization->id};
  return refused(EX_DATAERR,
                 fmt::format("there is no organization {}; \"giftsyncctl organization list\" shows them",
                             in_quotes(words.name)));
}

SendingBudget budget_of(store::Store& store, const std::string& scope) {
  for (SendingBudget& budget : store.sending_usage.budgets())
    if (budget.scope == scope) return std::move(budget);
  return {.scope = scope};
}

/// One value of a budget as text; 0 is no limit.
std::string text_of(const std::optional<std::int64_t>& gifts) {
  if (!gifts) return "as the settings say";
  return *gifts == 0 ? "no limit" : std::to_string(*gifts);
}
std::string text_of(const std::optional<Money>& amount) {
  if (!amount) return "as the settings say";
  return *amount == Money{} ? "no limit" : to_decimal(*amount);
}

/// The values that differ: "day-gifts 100 (before: as the settings say), ..."; empty if none does.
std::string changes_between(const SendingBudget& before, const SendingBudget& after) {
  std::string changes;
  const auto compare = [&](std::string_view name, const auto& old_value, const auto& new_value) {
    if (old_value == new_value) return;
    changes += fmt::format("{}{} {} (before: {})", changes.empty() ? "" : ", ", name, text_of(new_value),
                           text_of(old_value));
  };
  compare("day-gifts", before.day_gifts, after.day_gifts);
  compare("day-amount", before.day_amount, after.day_amount);
  compare("month-gifts", before.month_gifts, after.month_gifts);
  compare("month-amount", before.month_amount, after.month_amount);
  return changes;
}

store::AuditEvent event_about(const Console& console, const std::string& action, const Scope& scope,
                              const std::string& changes) {
  store::AuditEvent event = command_event(console, action, {}, changes);
  event.object_kind = "budget";
  event.object_id = scope.words();
  event.organization = scope.organization;
  return event;
}

/// Counts what was requested in periods that are counted only since this change, as daemons do.
void count_begun_periods(const sync::SendingBudgetRules& rules, store::Store& store,
                         const std::vector<SendingBudget>& before, UtcMillis now) {
  const std::vector<store::UsageLimit> counted = sync::counted_periods(rules, before, now);
  std::vector<store::UsageLimit> begun = sync::counted_periods(rules, store.sending_usage.budgets(), now);
  std::erase_if(begun, [&](const store::UsageLimit& limit) {
    return std::ranges::any_of(counted, [&](const store::UsageLimit& other) {
      return other.kind == limit.kind && other.period == limit.period;
    });
  });
  store.sending_usage.count(begun);
}

/// What applies to the scope now, and which of its limits are passed already.
void show_scope(const Console& console, const sync::SendingBudgetRules& rules, store::Store& store,
                const Scope& scope) {
  const auto rows = sync::budgets_of_scope(rules, store, scope.kind, scope.id, scope.name, console.now());
  Listing list(console.out, false);
  for (const ListedBudget& budget : rows) list.add([&](ListedRow& row) { describe(row, budget, ""); });
  list.finish();
  for (const ListedBudget& budget : rows) {
    if (!budget.used || !sync::is_exceeded(budget.limit.limits, *budget.used)) continue;
    console.info(fmt::format(
        "The limit for {} is below what is used already ({}, {}). It applies from now on; a gift may fit "
        "from {} UTC on.",
        budget.limit.period, pluralize(budget.used->gifts, "gift"), to_decimal(budget.used->amount),
        minute_text(budget.limit.ends_at)));
  }
}

struct SetOptions {
  ScopeWords scope;
  std::optional<std::int64_t> day_gifts;
  std::optional<std::int64_t> month_gifts;
  std::optional<std::string> day_amount;
  std::optional<std::string> month_amount;

  bool is_empty() const { return !day_gifts && !day_amount && !month_gifts && !month_amount; }
};

/// The values that were given replace those before.
SendingBudget with_options(SendingBudget budget, const SetOptions& options) {
  if (options.day_gifts) budget.day_gifts = options.day_gifts;
  if (options.month_gifts) budget.month_gifts = options.month_gifts;
  if (options.day_amount) budget.day_amount = from_decimal(*options.day_amount);
  if (options.month_amount) budget.month_amount = from_decimal(*options.month_amount);
  return budget;
}

int set_budget(const Console& console, CliContext& ctx, const SetOptions& options) {
  if (options.is_empty())
    return console.fail(EX_USAGE,
                        "found no limit; allowed: at least one of --day-gifts, --day-amount, --month-gifts "
                        "and --month-amount; 0 is no limit");
  const auto scope = scope_of(ctx.store, options.scope);
  if (!scope) return console.fail(scope.error());
  const sync::SendingBudgetRules rules = wiring::sending_budget_rules(ctx.settings.sending);
  const std::vector<SendingBudget> all_before = ctx.store.sending_usage.budgets();
  const SendingBudget before = budget_of(ctx.store, scope->key());
  SendingBudget budget = with_options(before, options);
  const std::string changes = changes_between(before, budget);
  if (changes.empty()) {
    console.info(fmt::format("The budget of {} is unchanged.", scope->words()));
  } else {
    budget.changed_at = console.now();
    budget.changed_by = os_user();
    ctx.store.sending_usage.set(budget, event_about(console, "budget.set", *scope, changes));
    count_begun_periods(rules, ctx.store, all_before, console.now());
    console.info(
        fmt::format("The budget of {} is set; it counts within a second: {}.", scope->words(), changes));
  }
  show_scope(console, rules, ctx.store, *scope);
  return EX_OK;
}

int unset_budget(const Console& console, CliContext& ctx, const ScopeWords& words) {
  const auto scope = scope_of(ctx.store, words);
  if (!scope) return console.fail(scope.error());
  const sync::SendingBudgetRules rules = wiring::sending_budget_rules(ctx.settings.sending);
  const std::vector<SendingBudget> all_before = ctx.store.sending_usage.budgets();
  const std::string key = scope->key();
  const std::string changes = changes_between(budget_of(ctx.store, key), {.scope = key});
  if (!ctx.store.sending_usage.unset(key, event_about(console, "budget.unset", *scope, changes)))
    return console.fail(EX_DATAERR,
                        fmt::format("no budget is set for {}: the settings' values apply; \"giftsyncctl "
                                    "budget list\" shows all",
                                    scope->words()));
  count_begun_periods(rules, ctx.store, all_before, console.now());
  console.info(
      fmt::format("The budget of {} is as the settings say again, within a second.", scope->words()));
  show_scope(console, rules, ctx.store, *scope);
  return EX_OK;
}

struct ListOptions {
  bool json = false;
};

int list_budgets(const Console& console, CliContext& ctx, const ListOptions& options) {
  const sync::SendingBudgetRules rules = wiring::sending_budget_rules(ctx.settings.sending);
  const sync::BudgetList found = sync::listed_budgets(
      rules, ctx.store, console.now(), options.json ? std::numeric_limits<std::size_t>::max() : kMaxListed);
  Listing list(console.out, options.json);
  for (const ListedBudget& budget : found.rows)
    list.add([&](ListedRow& row) { describe(row, budget, ctx.settings.catalogue.currency); });
  list.finish();
  if (options.json) return EX_OK;
  if (found.rows.empty())
    console.info(
        "There is no budget: nothing limits how much is sent; \"giftsyncctl budget set\" and the settings "
        "sending.budgets set limits.");
  if (found.omitted > 0)
    console.info(fmt::format("{} more with a lower use {} not shown; --json has all.",
                             pluralize(found.omitted, "budget"), plural_verb(found.omitted, "is", "are")));
  return EX_OK;
}

/// "account", "organization" or "installation" of a scope.
std::string_view kind_word(const std::string& scope) {
  const std::string_view kind = std::string_view(scope).substr(0, scope.find(':'));
  if (kind == "account") return "account";
  return kind == "organization" ? "organization" : "installation";
}

/// `row.id`: the period and the scope.
void describe(ListedRow& row, const store::UsageDifference& difference, const BudgetNames& names) {
  const std::size_t space = difference.id.find(' ');
  const std::string scope = difference.id.substr(space + 1);
  const std::string name = names.name_of(scope);
  row.add("period", {"PERIOD"}, difference.id.substr(0, space));
  row.add("scope", {"SCOPE"}, kind_word(scope));
  row.add("name", {"NAME", Kind::elastic}, text_or_null(name), name);
  row.add("counted_gifts", {"COUNTED", Kind::number}, difference.counted.gifts);
  row.add("gifts", {"GIFTS", Kind::number}, difference.gifts.gifts);
  row.add("counted_amount", {"COUNTED", Kind::number}, std::optional(difference.counted.amount));
  row.add("amount", {"AMOUNT", Kind::number}, std::optional(difference.gifts.amount));
}

int check_budgets(const Console& console, CliContext& ctx, const ListOptions& options) {
  const sync::SendingBudgetRules rules = wiring::sending_budget_rules(ctx.settings.sending);
  const auto periods = sync::counted_periods(rules, ctx.store.sending_usage.budgets(), console.now());
  const auto differences = ctx.store.sending_usage.check(periods);
  const BudgetNames names(ctx.store);
  Listing list(console.out, options.json);
  for (const store::UsageDifference& difference : differences)
    list.add([&](ListedRow& row) {
      describe(row, difference, names);
      row.add_currency(ctx.settings.catalogue.currency);
    });
  list.finish();
  if (!differences.empty()) {
    console.info(
        fmt::format("{}: what is counted is not what the gifts say. A restart of giftsyncd counts the "
                    "present day and month again.",
                    pluralize(differences.size(), "difference")));
    return 1;
  }
  console.info(periods.empty() ? "No difference: there is no budget, and nothing is counted."
                               : "No difference: what is counted is what the gifts say.");
  return EX_OK;
}

Check amount_check() {
  return {[](const std::string& word) -> std::string {
    const auto amount = from_decimal(word);
    if (amount && !word.starts_with('-')) return {};
    return fmt::format("found {}; allowed: an amount such as 500.00, not negative, with at most two decimals",
                       in_quotes(word));
  }};
}

void add_scope(Command& verb, ScopeWords& scope) {
  verb.add_option("SCOPE", scope.kind, "What the budget is of")
      ->required()
      ->check(one_of({"account", "organization", "installation"}));
  verb.add_option("NAME", scope.name,
                  "The account's e-mail address or the organization's name; nothing for the installation");
}

void add_list(Commands& commands, Command& noun) {
  const auto options = std::make_shared<ListOptions>();
  Command* verb = commands.verb(
      noun, "list",
      "List the budgets of the present day and month: of the installation, of each organization and account "
      "as the settings say, those that \"budget set\" set, and by the settings the 20 whose use is highest.",
      {"budget list", "budget list --json"});
  verb->add_flag("--json", options->json, "Print a JSON array, with every account that requested a gift");
  commands.run(verb, options, list_budgets);
}

void add_set(Commands& commands, Command& noun) {
  const auto options = std::make_shared<SetOptions>();
  Command* verb = commands.verb(
      noun, "set",
      "Set limits of an account, an organization or the installation, instead of those of the settings. A "
      "limit that is not named keeps its value; 0 is no limit. What was requested in the period before "
      "counts. Daemons keep to it within a second.",
      {"budget set account rose@example.com --month-amount 500.00",
       "budget set organization Edge --day-gifts 200 --month-gifts 2000",
       "budget set installation --day-amount 1000.00"});
  add_scope(*verb, options->scope);
  const Check gifts = number_between(0, kMaxId);
  verb->add_option("--day-gifts", options->day_gifts, "At most N gifts a day")
      ->option_text("N")
      ->check(gifts);
  verb->add_option("--day-amount", options->day_amount, "Gifts for at most this amount a day")
      ->option_text("AMOUNT")
      ->check(amount_check());
  verb->add_option("--month-gifts", options->month_gifts, "At most N gifts a calendar month")
      ->option_text("N")
      ->check(gifts);
  verb->add_option("--month-amount", options->month_amount, "Gifts for at most this amount a calendar month")
      ->option_text("AMOUNT")
      ->check(amount_check());
  commands.run(verb, options, set_budget);
}

void add_unset(Commands& commands, Command& noun) {
  const auto scope = std::make_shared<ScopeWords>();
  Command* verb =
      commands.verb(noun, "unset", "Remove what \"budget set\" set: the settings' limits apply again.",
                    {"budget unset account rose@example.com", "budget unset installation"});
  add_scope(*verb, *scope);
  commands.run(verb, scope, unset_budget);
}

void add_check(Commands& commands, Command& noun) {
  const auto options = std::make_shared<ListOptions>();
  Command* verb = commands.verb(
      noun, "check",
      "Compare what is counted in the present day and month with the gifts themselves. Exit 0: no "
      "difference; 1: there are differences, which a restart of the daemon corrects.",
      {"budget check", "budget check --json"});
  verb->add_flag("--json", options->json, "Print a JSON array of the differences");
  commands.run(verb, options, check_budgets);
}

}  // namespace

void add_budget_commands(Commands& commands) {
  Command* noun = commands.noun("budget", "Limits of gifts and money for a day and a month");
  add_list(commands, *noun);
  add_set(commands, *noun);
  add_unset(commands, *noun);
  add_check(commands, *noun);
}

}  // namespace giftsync::cli
