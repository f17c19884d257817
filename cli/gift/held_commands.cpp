// `held`: gift requests that wait until a person approves them (GUARD-26).
#include <fmt/format.h>
#include <sysexits.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "daemon/validation/gift_request_verdict.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "sync/gift/held_requests.h"

namespace giftsync::cli {
namespace {

using Kind = TextTable::Kind;
using store::HeldGiftRequest;

std::string sentences_of(const std::vector<store::HoldReason>& reasons) {
  std::string text;
  for (const store::HoldReason& reason : reasons)
    text.append(text.empty() ? "" : " ").append(sync::describe(reason));
  return printable(text);
}

void describe(ListedRow& row, const HeldGiftRequest& held, const std::string& account,
              const std::string& currency) {
  const std::vector<store::HoldReason> reasons = store::reasons_of(held);
  row.add("id", {"REQUEST", Kind::number}, held.id.value);
  row.add("state", {"STATE"}, to_word(held.state));
  row.add("gifts", {"GIFTS", Kind::number}, held.gifts);
  row.add("amount", {"AMOUNT", Kind::number}, held.amount);
  row.add("gift_id", {"ITEM", Kind::number}, held.gift.value);
  row.add("account", {"ACCOUNT", Kind::elastic}, account);
  row.add("credential", {"KEY", Kind::elastic}, held.credential_prefix);
  row.add("held_at", {"HELD (UTC)"}, std::optional(held.held_at));
  row.add("expires_at", {"ENDS (UTC)"}, std::optional(held.expires_at));
  row.add_json("decided_at", json_time(held.decided_at));
  row.add_json("decided_by", text_or_null(held.decided_by));
  row.add_json("comment", text_or_null(held.comment));
  row.add_json("reasons", validation::reasons_json(reasons));
  row.add_currency(currency);
  // A budget or the gifts of a recipient may be others by now; `held show` has those of now.
  row.set_below("When it was held: " + sentences_of(reasons));
}

/// With fewer characters a slip would decide about the requests of other keys.
Check key_beginning() {
  return {[](const std::string& text) -> std::string {
    constexpr std::size_t kLeastCharacters = 12;
    const bool is_kind = text.starts_with("gsk_live_") || text.starts_with("got_live_") || is_test_key(text);
    if (is_kind && text.size() >= kLeastCharacters) return {};
    return fmt::format(
        "found {}; allowed: at least {} characters of the key or token as \"giftsyncctl key list\" shows it",
        in_quotes(text), kLeastCharacters);
  }};
}

struct ListOptions {
  std::string state = "held";
  std::string credential;
  std::int64_t limit = 0;
  bool test = false;
  bool json = false;
};

/// All of the filter, in pages.
auto pages_of(store::Store& store, const store::HeldFilter& filter) {
  return [&store, filter, after = GiftRequestId{}]() mutable {
    auto page = store.held.list(filter, after, TextTable::kPageRows);
    if (!page.empty()) after = page.back().id;
    return page;
  };
}

int list_held(const Console& console, CliContext& ctx, const ListOptions& options) {
  store::HeldFilter filter{held_state_from_word(options.state), options.credential};
  filter.test = options.test || is_test_key(options.credential);
  Listing list(console.out, options.json);
  const std::int64_t rows =
      each_row(console, options.limit, pages_of(ctx.store, filter), [&](const HeldGiftRequest& held) {
        const auto account = ctx.store.accounts.find(held.account);
        list.add([&](ListedRow& row) {
          describe(row, held, account ? account->email : "", ctx.settings.catalogue.currency);
        });
      });
  list.finish();
  if (rows > 0 || options.json) return EX_OK;
  console.info(fmt::format("No request{} {}.",
                           options.credential.empty() ? "" : " of " + in_quotes(options.credential),
                           options.state == "held" ? "waits for approval" : "is " + options.state));
  tell_of_left_out_tests(
      console, ctx, filter, "Requests of test keys",
      "held list --test" + (options.state == "held" ? "" : " --state " + options.state),
      [&ctx](const store::HeldFilter& tests) { return !ctx.store.held.list(tests, {}, 1).empty(); });
  return EX_OK;
}

std::optional<sync::HeldReview> review(const Console& console, CliContext& ctx, const std::string& id_text) {
  const auto id = parse_number<std::int64_t>(id_text);
  return id ? sync::review_held(ctx.store, ctx.settings.sending.allowed_domains, GiftRequestId{*id},
                                console.now())
            : std::nullopt;
}

int fail_unknown(const Console& console, const std::string& id) {
  return console.fail(
      EX_DATAERR, fmt::format("there is no held request {}; \"giftsyncctl held list\" shows those that wait",
                              in_quotes(id)));
}

struct ShowOptions {
  std::string id;
  bool json = false;
};

Json review_json(const sync::HeldReview& review, const std::string& currency) {
  ListedRow row(true);
  describe(row, review.held, review.account ? review.account->email : "", currency);
  Json json = row.json();
  json["amount"] = json_amount(review.amount);
  json["item"] = text_or_null(review.item ? review.item->name : "");
  json["delivery"] = to_word(review.held.mode);
  json["reference"] = text_or_null(review.reference);
  json["faults"] = validation::reasons_json(review.faults);
  json["notes"] = validation::reasons_json(review.notes);
  json["recipients"] = Json::array();
  for (const store::NewRecipient& to : review.recipients)
    json["recipients"].push_back({{"email", to.email},
                                  {"first_name", to.first_name},
                                  {"last_name", to.last_name},
                                  {"message", to.message},
                                  {"reference", text_or_null(to.reference)}});
  return json;
}

int show_held(const Console& console, CliContext& ctx, const ShowOptions& options) {
  prepare_sending(console, ctx);
  const auto found = review(console, ctx, options.id);
  if (!found) return fail_unknown(console, options.id);
  if (options.json) {
    console.out << json_text(review_json(*found, ctx.settings.catalogue.currency), 2) << '\n';
    return EX_OK;
  }
  const auto line = [&](std::string_view title, const std::string& text) {
    if (!text.empty()) console.out << fmt::format("{:<10}{}\n", title, printable(text));
  };
  const HeldGiftRequest& held = found->held;
  line("Request", std::to_string(held.id.value));
  line("State", std::string(to_word(held.state)) + ": " + sync::describe_state(held));
  line("Account", found->account ? found->account->email : "");
  line("Key", held.credential_prefix);
  line("Item", std::to_string(held.gift.value) + (found->item ? " " + found->item->name : ""));
  line("Gifts", fmt::format("{}, by {}", held.gifts, to_word(held.mode)));
  line("Amount", found->amount ? to_decimal(*found->amount) : "not known");
  line("Campaign", found->utm_campaign_id.value_or(""));
  line("Reference", found->reference);
  line("Comment", held.comment);
  line("Held", minute_text(held.held_at) + " UTC, because at that time:");
  for (const store::HoldReason& reason : found->reasons)
    line("Because", sync::describe(reason, found->recipients));
  for (const store::HoldReason& fault : found->faults)
    line("FAULT", sync::describe(fault, found->recipients));
  for (const store::HoldReason& note : found->notes) line("Note", sync::describe(note, found->recipients));
  for (const store::NewRecipient& to : found->recipients)
    line("Recipient", fmt::format("{} {} {}: {}", to.email, to.first_name, to.last_name, to.message));
  return EX_OK;
}

struct DecisionOptions {
  bool approves = false;
  std::vector<std::string> ids;
  std::string credential;
  std::string comment;
  bool yes = false;
};

/// What a decision is about, as it was read before the question.
struct Preview {
  std::vector<std::pair<std::string, std::string>> versions;  ///< of each id as given; empty: there is none
  std::size_t requests = 0;                                   ///< that can be decided as asked
  std::int64_t gifts = 0;                                     ///< of them
  std::optional<Money> amount = Money{};                      ///< of them; absent: not known
};

/// Prints what an approval overrides; what several requests have in common once.
Preview preview_of(const Console& console, CliContext& ctx, bool approves,
                   const std::vector<std::string>& ids) {
  Preview preview;
  std::set<std::string> printed;
  for (const std::string& id : ids) {
    const auto found = review(console, ctx, id);
    preview.versions.emplace_back(id, found ? found->version : "");
    if (!found || found->held.state != HeldState::held || (approves && !found->faults.empty())) continue;
    ++preview.requests;
    preview.gifts += found->held.gifts;
    preview.amount =
        preview.amount && found->amount ? std::optional(*preview.amount + *found->amount) : std::nullopt;
    for (const store::HoldReason& note : found->notes)
      if (approves && printed.insert(note.message).second)
        console.info(printable(fmt::format("{}: {}", id, sync::describe(note))));
  }
  return preview;
}

std::string question_of(const Preview& preview, bool approves) {
  return fmt::format("{} {} with {} {}?", approves ? "Approve" : "Reject",
                     pluralize(preview.requests, "request"), pluralize(preview.gifts, "gift"),
                     preview.amount ? "for " + to_decimal(*preview.amount) : "whose cost is not known");
}

/// 0 when it was decided, now or before, as asked. `version`: of what was read before the question.
int decide_one(const Console& console, CliContext& ctx, const DecisionOptions& options, const std::string& id,
               const std::string& version) {
  const auto found = review(console, ctx, id);
  if (!found) return fail_unknown(console, id);
  sync::HeldDecisionAsked asked{os_user(), options.comment, {version}};
  asked.audit = command_event(console, "", {});
  const HeldState wanted = options.approves ? HeldState::sent : HeldState::rejected;
  sync::HeldOutcome outcome{sync::HeldOutcome::Kind::illegal, sync::describe_state(found->held), wanted};
  if (found->held.state != wanted)
    outcome = options.approves ? sync::approve_held(ctx.store, *found, asked, console.now())
                               : sync::reject_held(ctx.store, *found, asked, console.now());
  if (outcome.state == wanted) {
    console.out << fmt::format("{} {}\n", found->held.id.value, to_word(outcome.state));
    if (outcome.kind != sync::HeldOutcome::Kind::done) console.info(printable(outcome.reason));
    return EX_OK;
  }
  const std::string next =
      outcome.kind == sync::HeldOutcome::Kind::faulty
          ? fmt::format(" It still waits; \"giftsyncctl held show {}\" shows all faults.",
                        found->held.id.value)
          : "";
  return console.fail(EX_DATAERR, fmt::format("{}: {}{}", found->held.id.value, outcome.reason, next));
}

int decide(const Console& console, CliContext& ctx, const DecisionOptions& options) {
  if (options.ids.empty() == options.credential.empty())
    return console.fail(EX_USAGE, "give the numbers of requests, or --credential");
  if (options.approves)
    if (const auto refusal = refuse_unknown_erased_entries(ctx)) return console.fail(*refusal);
  std::vector<std::string> ids = options.ids;
  if (!options.credential.empty()) {
    each_row(console, 0,
             pages_of(ctx.store, {HeldState::held, options.credential, {}, is_test_key(options.credential)}),
             [&](const HeldGiftRequest& held) { ids.push_back(std::to_string(held.id.value)); });
    if (ids.empty()) {
      console.info(fmt::format("No request of {} waits; \"giftsyncctl held list\" shows all.",
                               in_quotes(options.credential)));
      return EX_OK;
    }
  }
  if (options.approves) prepare_sending(console, ctx);
  const Preview preview = preview_of(console, ctx, options.approves, ids);
  if (preview.requests > 0)
    if (const auto refused = refuse_unconfirmed(console, options.yes, question_of(preview, options.approves)))
      return *refused;
  int code = EX_OK;
  for (const auto& [id, version] : preview.versions)
    if (const int failed = decide_one(console, ctx, options, id, version); failed != EX_OK) code = failed;
  return code;
}

void add_list(Commands& commands, Command& noun) {
  const auto options = std::make_shared<ListOptions>();
  Command* verb =
      commands.verb(noun, "list",
                    "List gift requests that wait until a person approves them, the oldest first, "
                    "each with the reasons. With --state those that were decided.",
                    {"held list", "held list --credential gsk_live_0sFxR2 --json",
                     "held list --state rejected --limit 20"});
  verb->add_option("--state", options->state, "Requests in this state; held if not given")
      ->option_text("STATE")
      ->check(one_of({"held", "sent", "rejected", "expired"}));
  verb->add_option("--credential", options->credential,
                   "Only requests of the key or token with these first characters")
      ->option_text("PREFIX")
      ->check(key_beginning());
  verb->add_flag("--test", options->test, "Requests of test keys alone, which are listed by it only");
  verb->add_option("--limit", options->limit, "At most N requests")->option_text("N")->check(whole_number());
  verb->add_flag("--json", options->json, "Print a JSON array");
  commands.run(verb, options, list_held);
}

void add_show(Commands& commands, Command& noun) {
  const auto options = std::make_shared<ShowOptions>();
  Command* verb =
      commands.verb(noun, "show",
                    "Show a held gift request: what was asked for, why it waits, what it costs now, "
                    "what an approval overrides, and what keeps it from being approved.",
                    {"held show 42", "held show 42 --json"});
  verb->add_option("ID", options->id, "Number of the request")->required();
  verb->add_flag("--json", options->json, "Print JSON");
  commands.run(verb, options, show_held);
}

void add_decision(Commands& commands, Command& noun, bool approves, const std::string& about) {
  const auto options = std::make_shared<DecisionOptions>();
  options->approves = approves;
  const std::string name = approves ? "approve" : "reject";
  Command* verb =
      commands.verb(noun, name, about,
                    {"held " + name + " 42", "held " + name + " 42 43 --comment 'as agreed' --yes",
                     "held " + name + " --credential gsk_live_0sFxR2 --yes"});
  verb->add_option("ID", options->ids, "Numbers of requests");
  verb->add_option("--credential", options->credential,
                   "All waiting requests of the key or token with these first characters")
      ->option_text("PREFIX")
      ->check(key_beginning());
  verb->add_option("--comment", options->comment, "Why; kept with the request and in the audit log")
      ->option_text("TEXT")
      ->check(plain_reason());
  add_yes_flag(*verb, options->yes);
  commands.run(verb, options, decide);
}

}  // namespace

void add_held_commands(Commands& commands) {
  Command* noun = commands.noun("held", "Gift requests that wait until a person approves them");
  add_list(commands, *noun);
  add_show(commands, *noun);
  add_decision(
      commands, *noun, true,
      "Approve held gift requests: each is sent at once, also beyond budgets and rules. Item, "
      "account and do-not-send list are looked at again; a request that must not be sent stays held.");
  add_decision(
      commands, *noun, false,
      "Reject held gift requests: nothing is sent. A repeat of the call gets 403 (held_request_rejected).");
}

}  // namespace giftsync::cli
