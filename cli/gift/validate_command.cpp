// `gift validate`: what a gift request would do now, without making it (VALID-6).
#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/commands.h"
#include "cli/input_file.h"
#include "cli/listing.h"
#include "daemon/validation/gift_request_body.h"
#include "daemon/validation/gift_request_verdict.h"
#include "daemon/wiring/components_config.h"
#include "daemon/wiring/database_config.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "sync/access/budget_use.h"
#include "sync/access/sending_policy.h"
#include "sync/gift/held_requests.h"

namespace giftsync::cli {
namespace {

using Kind = TextTable::Kind;
using validation::FieldIssue;
using validation::FieldIssues;
using validation::ValidatedRequest;

struct ValidateOptions {
  std::string path;
  std::string account;
  std::string delivery = "email";
  bool match = false;
  bool json = false;
};

/// The account, if keys of it may send.
tl::expected<store::Account, Refusal> sending_account(CliContext& ctx, const std::string& email) {
  const auto refused = [](std::string text) {
    return tl::unexpected(Refusal{EX_DATAERR, {std::move(text)}});
  };
  const auto account = ctx.store.accounts.find_by_email(std::string(trimmed(email)));
  if (!account)
    return refused(fmt::format("--account: there is no account {}; \"giftsyncctl account list\" shows them",
                               in_quotes(email)));
  if (!account->active)
    return refused(
        fmt::format("account {} is deactivated, so its keys are refused; \"giftsyncctl account "
                    "activate {}\" activates it",
                    account->email, shell_word(account->email)));
  if (!has_api_access(account->plan))
    return refused(
        fmt::format("account {} has the plan {}, which has no API access; \"giftsyncctl account "
                    "set-plan {} team\" gives it a plan that has",
                    account->email, to_word(account->plan), shell_word(account->email)));
  return *account;
}

/// The whole file, at most one byte more than a call may have.
std::string body_of(InputFile& input, std::size_t max_bytes) {
  std::string body(max_bytes + 1, '\0');
  input.stream().read(body.data(), static_cast<std::streamsize>(body.size()));
  body.resize(static_cast<std::size_t>(input.stream().gcount()));
  return body;
}

Json issues_json(const FieldIssues& issues) {
  Json list = Json::array();
  for (const FieldIssue& issue : issues)
    list.push_back({{"field", issue.field}, {"code", issue.code}, {"message", issue.message}});
  return list;
}

/// The faults for which the call would be refused whatever the sending policy says.
int fail_faults(const Console& console, const ValidateOptions& options, const std::string& file,
                const FieldIssues& faults) {
  if (options.json)
    console.out << json_text({{"message", "The request is not valid. Nothing was created."},
                              {"errors", issues_json(faults)}},
                             2)
                << '\n';
  else
    for (const FieldIssue& fault : faults) console.info(validation::describe(fault));
  return console.fail(EX_DATAERR, fmt::format("{} in {}; the call would be refused and create nothing",
                                              pluralize(faults.size(), "fault"), file));
}

FieldIssues faults_of(const validation::BodyError& error) {
  if (const auto* malformed = std::get_if<JsonError>(&error))
    return {{"", validation::FieldCode::of_finding(malformed->code), malformed->message}};
  return std::get<FieldIssues>(error);
}

std::string match_text(const std::optional<store::MatchDecision>& match) {
  if (!match) return "?";
  if (match->contact_id.empty() && match->lead_id.empty()) return "none";
  const std::string person =
      match->contact_id.empty() ? "lead " + match->lead_id : "contact " + match->contact_id;
  return person + (match->opportunity_id.empty() ? "" : ", opportunity " + match->opportunity_id);
}

void print_recipients(std::ostream& out, const ValidatedRequest& validated) {
  Listing list(out, false);
  for (const validation::RecipientVerdict& recipient : validated.recipients)
    list.add([&](ListedRow& row) {
      row.add_cell({"RECIPIENT", Kind::elastic}, recipient.email);
      row.add_cell({"VERDICT"}, recipient.findings.empty() ? "send" : "refuse");
      row.add_cell({"MATCH", Kind::elastic}, match_text(recipient.match));
      std::string findings;
      for (const FieldIssue& finding : recipient.findings)
        findings += (findings.empty() ? "" : " ") + finding.message;
      row.set_below(findings);
    });
  list.finish();
}

void print_budgets(std::ostream& out, const ValidatedRequest& validated) {
  if (!validated.limits) return;
  for (const store::AskedLimit& asked : *validated.limits) {
    if (asked.limit.is_burst() || asked.limit.limits.empty()) continue;
    const auto gifts = sync::gifts_left(asked.limit.limits, asked.used);
    const auto amount = sync::amount_left(asked.limit.limits, asked.used);
    std::string left = gifts ? pluralize(*gifts, "gift") : "";
    if (amount) left += (left.empty() ? "" : " and ") + to_decimal(*amount);
    out << fmt::format("Budget: {} left of that of the {} for {}\n", left, sync::to_word(*asked.limit.kind),
                       asked.limit.period);
  }
}

void print_verdict(std::ostream& out, const ValidatedRequest& validated,
                   const validation::CallVerdict& verdict) {
  print_recipients(out, validated);
  const auto price = validation::total_price(validated);
  out << fmt::format("Price: {} for {}\n", price ? to_decimal(*price) : "not known",
                     pluralize(validated.recipients.size(), "gift"));
  print_budgets(out, validated);
  const auto line = [&](const char* label, const std::string& text) {
    out << label << ": " << printable(text) << '\n';
  };
  for (const FieldIssue& warning : validated.warnings) line("Warning", validation::describe(warning));
  if (!validated.match_missing.empty()) line("Match", validated.match_missing);
  for (const FieldIssue& finding : verdict.findings) line("Finding", finding.message);
  for (const store::HoldReason& reason : verdict.hold_reasons) line("Reason", sync::describe(reason));
  line("Verdict", verdict.word);
}

/// What the call would do, or why it is refused before that is asked.
tl::expected<ValidatedRequest, FieldIssues> validated(const Console& console, CliContext& ctx,
                                                      const ValidateOptions& options,
                                                      const store::Account& account,
                                                      const std::string& text) {
  const SendMode mode = options.delivery == to_word(SendMode::urls) ? SendMode::urls : SendMode::email;
  auto body =
      validation::parse_gift_request_body(text, mode, wiring::gift_request_limits(ctx.settings.limits));
  if (!body) return tl::unexpected(faults_of(body.error()));
  if (FieldIssues issues = validation::test_recipient_issues(body->recipients, false); !issues.empty())
    return tl::unexpected(std::move(issues));
  const auto item = ctx.store.catalogue.item(body->gift);
  if (!item || !item->active) return tl::unexpected(FieldIssues{validation::unknown_gift_issue(body->gift)});
  std::vector<std::string> emails;
  for (const store::NewRecipient& recipient : body->recipients) emails.push_back(recipient.email);
  const auto findings = sync::refused_recipients(ctx.store.do_not_send, ctx.settings.sending.allowed_domains,
                                                 emails, console.now());
  validation::WarningList warnings = body->warnings;
  const store::NewGiftRequest asked =
      validation::draft(std::move(*body), mode, account, *item, console.now());
  prepare_sending(console, ctx);
  ValidatedRequest result =
      validation::validate(ctx.store.gifts, wiring::approval_rules(ctx.settings.sending.approval), asked,
                           findings, std::move(warnings));
  validation::add_matches(result, *ctx.crm, wiring::match_fields(ctx.settings.matching), options.match,
                          "Add --match to have it asked.");
  return result;
}

int validate_gift(const Console& console, CliContext& ctx, const ValidateOptions& options) {
  const auto account = sending_account(ctx, options.account);
  if (!account) return console.fail(account.error());
  if (const auto refusal = refuse_unknown_erased_entries(ctx)) return console.fail(*refusal);
  auto input = InputFile::open(options.path, console);
  if (!input) return console.fail(input.error());
  const auto max_bytes = static_cast<std::size_t>(ctx.settings.limits.max_body_bytes);
  const std::string text = body_of(*input, max_bytes);
  if (text.size() > max_bytes)
    return fail_faults(
        console, options, input->name(),
        {{"", validation::FieldCode::of_finding("too_large"),
          fmt::format("The body is larger than {} bytes (limits.max_body_bytes).", max_bytes)}});
  const auto result = validated(console, ctx, options, *account, text);
  if (!result) return fail_faults(console, options, input->name(), result.error());
  const validation::CallVerdict verdict = validation::verdict_of(*result);
  if (options.json)
    console.out << json_text(Json::parse(validation::validated_request_json(*result)), 2) << '\n';
  else
    print_verdict(console.out, *result, verdict);
  if (verdict.word != "refuse") return EX_OK;
  return console.fail(EX_DATAERR, "the call would be refused and create nothing");
}

}  // namespace

void add_gift_validate_command(Commands& commands, Command& gift) {
  const auto options = std::make_shared<ValidateOptions>();
  Command* verb = commands.verb(
      gift, "validate",
      "Show what a gift request would do now, without making it: the verdict of POST "
      "/api/v1/gift_requests/validate for this body under an account. A verdict for each recipient, the "
      "price, budgets, warnings, matches, and for the call send, hold or refuse. A body with a fault, and a "
      "request that would be refused, are exit code 65. Nothing is written.",
      {"gift validate gift.json --account rose@example.com",
       "gift validate gift.json --account rose@example.com --json",
       "gift validate - --account rose@example.com --delivery urls < gift.json"});
  verb->add_option("FILE", options->path, "The JSON body of the call; - reads stdin")->required();
  verb->add_option("--account", options->account, "The account whose key would send it")
      ->option_text("EMAIL")
      ->required();
  verb->add_option("--delivery", options->delivery,
                   "As the endpoint that mails the gifts (email), which is the default, or the one that "
                   "returns their URLs (urls)")
      ->option_text("HOW")
      ->check(one_of({"email", "urls"}));
  verb->add_flag("--match", options->match, "Ask also a CRM of which each call counts");
  verb->add_flag("--json", options->json, "Print what the endpoint answers");
  commands.run(verb, options, validate_gift);
}

}  // namespace giftsync::cli
