#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <algorithm>
#include <map>
#include <memory>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/listing.h"
#include "cli/request/request_record_detail.h"
#include "platform/digest.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "schema/contact_normalization.h"
#include "sync/request/request_record_approval.h"
#include "sync/request/request_record_state_machine.h"
#include "sync/request/request_record_to_gift_request.h"

namespace giftsync::cli {
namespace {

using F = RequestRecordField;

/// Sets the action of a verb, which is refused for a CRM that has no request records.
template <class Options, class Action>
void run_with_request_records(Commands& commands, Command* verb, std::shared_ptr<Options> options,
                              Action action) {
  commands.run(verb, [=](const Console& console, CliContext& ctx) {
    if (ctx.crm->request_records()) return action(console, ctx, *options);
    return console.fail(
        EX_CONFIG, fmt::format("{}: {}", ctx.settings.file, wiring::no_request_records_clause(ctx.settings)));
  });
}

/// "Recipient_Email": "--recipient-email".
std::string option_of(F field) {
  std::string name = "--" + ascii_lower(descriptor_of(field).name);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

struct CreateOptions {
  std::map<F, std::string> texts;
  std::map<F, bool> checks;
  bool json = false;
};

/// The fault of a text that is too long for its field or not UTF-8; else empty.
std::string text_fault(F field, const std::string& text) {
  const FieldDescriptor& described = descriptor_of(field);
  if (!is_storable_text(text)) return option_of(field) + " is not UTF-8 text";
  const std::size_t length = count_code_points(text);
  if (described.length == 0 || length <= static_cast<std::size_t>(described.length)) return {};
  return fmt::format("{} has {} characters; at most {} are allowed", option_of(field), length,
                     described.length);
}

/// The CRM user's Id of a sender that is given by address; other texts stay as they are.
std::optional<std::string> sender_id(CliContext& ctx, const std::string& given) {
  if (given.find('@') == std::string::npos) return given;
  const std::string key = email_key(given);
  const auto users = ctx.crm->directory().find_users_by_email(std::span(&key, 1)).front();
  return users.empty() ? std::nullopt : std::optional(users.front().id);
}

/// The options that the request needs before it can be sent; empty if all are given. The existence of gift,
/// recipient and sender is checked on approval, as for all request records.
std::string missing_options(const CreateOptions& options, const config::Settings& settings) {
  const auto given = [&](F field) {
    const auto found = options.texts.find(field);
    return found != options.texts.end() && !trimmed(found->second).empty();
  };
  std::vector<std::string> missing;
  if (!given(F::gift_id)) missing.push_back("--gift-id");
  if (!given(F::recipient_email) && !given(F::recipient_contact) && !given(F::recipient_lead))
    missing.push_back("--recipient-email (or --recipient-contact, or --recipient-lead)");
  if (!given(F::message)) missing.push_back("--message");
  // giftsync itself creates the record, and its creator sends it.
  if (!given(F::sender) && settings.crm.integration_user.empty()) missing.push_back("--sender");
  return fmt::format("{}", fmt::join(missing, ", "));
}

int create(const Console& console, CliContext& ctx, const CreateOptions& options) {
  if (const std::string missing = missing_options(options, ctx.settings); !missing.empty())
    return console.fail(EX_USAGE,
                        fmt::format("request create: a request that can be sent also needs {}", missing));
  RequestRecord record;
  for (const auto& [field, text] : options.texts) {
    if (const std::string fault = text_fault(field, text); !fault.empty())
      return console.fail(EX_USAGE, fault);
    if (!text.empty()) record.set(field, text);
  }
  // Unchecked unless given: the package's default is for automation inside the CRM.
  record.set(F::auto_approved, false);
  for (const auto& [field, checked] : options.checks) record.set(field, checked);
  if (record.text(F::sender).empty()) record.set(F::sender, ctx.settings.crm.integration_user);
  if (const std::string sender = record.text(F::sender); !sender.empty()) {
    const auto id = sender_id(ctx, sender);
    if (!id)
      return console.fail(EX_DATAERR, fmt::format("no CRM user has the address {}", in_quotes(sender)));
    record.set(F::sender, *id);
  }
  const crm::NewRequestRecord new_request{random_hex(16), record};
  const RequestRecord made = ctx.crm->request_records()->create(std::span(&new_request, 1)).front();
  audit_object(console, made.text(F::number));
  ctx.store.request_records.record_created(
      {made.id, made.text(F::number), os_user(), new_request.creation_key}, ctx.store.request_records.now());
  if (options.json) {
    fmt::print(console.out, "{}\n", json_text(request_record_summary(made), 2));
  } else {
    fmt::print(console.out, "{}\n", made.text(F::number));
  }
  if (!ctx.settings.requests.enabled)
    console.info("Requests are not sent: requests.enabled in the settings is false.");
  return EX_OK;
}

struct OptionHelp {
  F field;
  const char* placeholder;
  const char* about;
};

/// Help of the options that says more than the field's label.
constexpr OptionHelp kHelp[] = {
    {F::account, "ID", "The related CRM account"},
    {F::opportunity, "ID", "The related opportunity"},
    {F::auto_approved, "", "Send it without approval"},
    {F::gift_id, "ID REQUIRED", "The item to send (\"item list\" shows them)"},
    {F::gift_item_description, "TEXT",
     "The item's description for the recipient, instead of the catalogue's"},
    {F::include_shipping, "", "Include the item's shipping cost"},
    {F::include_carbon_neutral_cost, "", "Include the item's carbon neutral cost"},
    {F::send_type, "WORD",
     "email (the default): giftsync mails the gift; link: giftsync issues its URLs, which \"request "
     "show\" prints, and mails nothing"},
    {F::recipient_contact, "ID", "The recipient's CRM contact; address and names come from it unless given"},
    {F::recipient_lead, "ID", "The recipient's CRM lead; give a contact or a lead, not both"},
    {F::recipient_email, "ADDRESS", "The recipient's address; this, a contact or a lead is REQUIRED"},
    {F::recipient_first_name, "NAME", "First name, for the mail and the page"},
    {F::recipient_last_name, "NAME", "Last name, for the mail and the page"},
    {F::message, "TEXT REQUIRED", "The sender's message to the recipient"},
    {F::sender, "USER",
     "The sender: a CRM user's Id or address; may be left out if crm.integration_user is set"},
    {F::utm_campaign_id, "ID", "The campaign of the gift"},
    {F::use_user_balance, "", "Stored with the record for accounting (Use User Balance)"}};

void add_create(Commands& commands, Command& noun) {
  const auto options = std::make_shared<CreateOptions>();
  Command* verb =
      commands.verb(noun, "create",
                    "Create a request record in the CRM and print its Request Number. The gift is sent "
                    "after approval: by \"giftsyncctl request approve\", in the CRM, or immediately "
                    "with --auto-approved. The sender is a CRM user's Id or address.",
                    {"request create --gift-id 7 --recipient-email ada@example.com --message "
                     "'Thank you!' --sender ana@example.com",
                     "request create --gift-id 7 --recipient-contact 003A --message 'Thank "
                     "you!' --sender 005A --auto-approved"});
  for (const F field : creatable_fields()) {
    const FieldDescriptor& described = descriptor_of(field);
    const auto* help =
        std::find_if(std::begin(kHelp), std::end(kHelp), [&](const auto& one) { return one.field == field; });
    const bool has_help = help != std::end(kHelp);
    const std::string about =
        has_help ? help->about : fmt::format("Stored with the record for accounting ({})", described.label);
    if (described.type == FieldType::checkbox) {
      verb->add_flag_callback(
          option_of(field), [options, field] { options->checks[field] = true; }, about);
    } else {
      Option* option = verb->add_option_function(
          option_of(field), [options, field](const std::string& text) { options->texts[field] = text; },
          about);
      option->option_text(has_help ? help->placeholder : "TEXT");
      if (field == F::send_type) option->check(one_of({"email", "link"}));
    }
  }
  verb->add_flag("--json", options->json, "Print JSON: Id, Name and Request_Status");
  run_with_request_records(commands, verb, options, create);
}

/// The CRM's spelling of a status in any case; other texts stay as they are.
std::string normalized_status(const std::string& word) {
  const auto status = trimmed(word).empty() ? std::nullopt : request_record_status_from_word(word);
  return status ? std::string(to_word(*status)) : word;
}

struct ListOptions {
  std::string status;
  bool json = false;
  std::int64_t limit = 0;
};

std::string recipient_of(const RequestRecord& row) {
  for (const F field : {F::recipient_email, F::recipient_contact, F::recipient_lead}) {
    if (!row.text(field).empty()) return row.text(field);
  }
  return {};
}

void describe(ListedRow& row, const RequestRecord& request) {
  if (row.is_json()) return row.set_json(request_json(request));
  using Kind = TextTable::Kind;
  const auto* created = std::get_if<UtcMillis>(&request.get(F::created_date));
  row.add_cell({"REQUEST"}, request.text(F::number));
  row.add_cell({"STATUS"}, request.text(F::status));
  row.add_cell({"AUTO"}, request.checkbox(F::auto_approved).value_or(false) ? "yes" : "no");
  row.add_cell({"GIFT", Kind::elastic}, request.text(F::gift_id));
  row.add_cell({"RECIPIENT", Kind::elastic}, recipient_of(request));
  row.add_cell({"SENDER", Kind::elastic}, request.text(F::sender));
  row.add_cell({"CREATED (UTC)"}, created ? minute_text(*created) : "");
  row.set_below(request.text(F::error_log));
}

int list_requests(const Console& console, CliContext& ctx, const ListOptions& options) {
  const auto status = options.status.empty() ? std::nullopt : request_record_status_from_word(options.status);
  Listing list(console.out, options.json);
  const auto next_page = [&, after = std::string()]() mutable {
    auto page = ctx.crm->request_records()->page(after, status, ctx.crm->pace().rows_per_read);
    if (!page.empty()) after = page.back().text(F::number);
    return page;
  };
  const std::int64_t listed = each_row(console, options.limit, next_page, [&](const RequestRecord& row) {
    list.add([&](ListedRow& described) { describe(described, row); });
  });
  list.finish();
  if (listed == 0) {
    console.info(ctx.settings.requests.enabled ? "No requests found."
                                               : "No requests found. Request records are not in use: "
                                                 "requests.enabled in the settings is false.");
  }
  return EX_OK;
}

void add_list(Commands& commands, Command& noun) {
  const auto options = std::make_shared<ListOptions>();
  Command* verb = commands.verb(
      noun, "list",
      "List request records by number. A request that giftsync could not send shows its Error Log "
      "below.",
      {"request list", "request list --status Pending",
       "request list --json | jq -r '.[] | select(.Error_Log) | .Name'"});
  verb->add_option("--status", options->status, "Only requests with this status")
      ->option_text("STATUS")
      ->transform([](std::string& word) { word = normalized_status(word); })
      ->check(one_of({"Pending", "Approved", "Rejected", "Sent"}));
  verb->add_option("--limit", options->limit, "At most N requests")->option_text("N")->check(whole_number());
  verb->add_flag("--json", options->json, "Print a JSON array of requests with their fields by API names");
  run_with_request_records(commands, verb, options, list_requests);
}

struct ShowOptions {
  std::string number;
  bool json = false;
};

int show(const Console& console, CliContext& ctx, const ShowOptions& options) {
  return show_request_record(console, ctx, options.number, options.json);
}

void add_show(Commands& commands, Command& noun) {
  const auto options = std::make_shared<ShowOptions>();
  Command* verb = commands.verb(
      noun, "show",
      "Show one request record: its fields, its state, all transitions (actor, time, from, to, comment) and "
      "its gift, with the URLs if its Send Type is link. Anyone who has these URLs can accept the gift.",
      {"request show R-000001", "request show R-000001 --json"});
  verb->add_option("NUMBER", options->number, "Request Number, or Id in the CRM")->required();
  verb->add_flag("--json", options->json, "Print JSON");
  run_with_request_records(commands, verb, options, show);
}

int check(const Console& console, CliContext& ctx, const ShowOptions& options) {
  return print_request_record_check(console, ctx, options.number, options.json);
}

void add_check(Commands& commands, Command& noun) {
  const auto options = std::make_shared<ShowOptions>();
  Command* verb = commands.verb(
      noun, "check",
      "List everything that keeps a request record from being sent, each with the next step: settings, "
      "approval, gift, recipient, sender, token, account, permission set. Changes nothing. Exits 0 when "
      "nothing keeps it or it was sent, 1 otherwise.",
      {"request check R-000001", "request check R-000001 --json | jq -r '.findings[].message'"});
  verb->add_option("NUMBER", options->number, "Request Number, or Id in the CRM")->required();
  verb->add_flag("--json", options->json, "Print JSON: sent, findings");
  run_with_request_records(commands, verb, options, check);
}

struct DecisionOptions {
  sync::RequestRecordAction action;
  std::vector<std::string> numbers;
  std::string comment;
  bool yes = false;
};

/// "R-000001 is already Approved (by ana, 2026-11-21 12:31 UTC)."; without who and when if the last
/// transition that the store has is another one.
std::string already_decided(CliContext& ctx, const sync::ApprovalResult& outcome) {
  const auto transitions = ctx.store.request_records.find_transitions(outcome.id);
  std::string by;
  if (!transitions.empty() && transitions.back().to == ascii_lower(to_word(outcome.status)))
    by = fmt::format(" (by {}, {} UTC)", transitions.back().who, minute_text(transitions.back().at));
  return fmt::format("{} is already {}{}.", outcome.number, to_word(outcome.status), printable(by));
}

/// What is about to be approved, and its version: the approval applies to what was shown.
std::vector<std::string> show_content(const Console& console, CliContext& ctx, const std::string& number) {
  const auto row = ctx.crm->request_records()->find_one(number);
  if (!row) return {};
  std::vector<std::string> parts;
  for (const F field : approval_bound_fields()) {
    const std::string value = request_value_text(*row, field);
    if (!value.empty()) parts.push_back(fmt::format("{} {}", descriptor_of(field).label, in_quotes(value)));
  }
  console.info(fmt::format("{}: {}", row->text(F::number), fmt::join(parts, ", ")));
  return {sync::content_version(*ctx.crm->request_records(), *row)};
}

int decide(const Console& console, CliContext& ctx, const DecisionOptions& options) {
  using Kind = sync::ApprovalResult::Kind;
  if (options.action == sync::RequestRecordAction::reject) {
    const std::string question = fmt::format("Reject {}?", fmt::join(options.numbers, ", "));
    if (const auto refused = refuse_unconfirmed(console, options.yes, printable(question))) return *refused;
  }
  int code = EX_OK;
  for (const std::string& number : options.numbers) {
    const bool approves = options.action == sync::RequestRecordAction::approve;
    sync::ApprovalDecision decision{options.action, os_user(), options.comment};
    if (approves) decision.versions = show_content(console, ctx, number);
    const auto known = ctx.store.request_records.find_by_number_or_id(number);
    audit_object(console, known ? known->number : number);
    const sync::ApprovalResult outcome =
        sync::decide_request_record(ctx.store.request_records, *ctx.crm->request_records(), number, decision,
                                    ctx.store.request_records.now());
    if (outcome.kind == Kind::done) {
      fmt::print(console.out, "{} {}\n", outcome.number, to_word(outcome.status));
      if (approves) warn_of_findings(console, ctx, outcome.id);
    } else if (outcome.is_already_so) {
      fmt::print(console.out, "{} {}\n", outcome.number, to_word(outcome.status));
      console.info(already_decided(ctx, outcome));
    } else {
      const std::string& name = outcome.number.empty() ? number : outcome.number;
      code = console.fail(EX_DATAERR, outcome.kind == Kind::unknown
                                          ? fmt::format("{}; \"giftsyncctl request list\" "
                                                        "shows them",
                                                        outcome.reason)
                                          : fmt::format("{}: {}", name, outcome.reason));
    }
  }
  return code;
}

void add_decision(Commands& commands, Command& noun, sync::RequestRecordAction action,
                  const std::string& name, const std::string& about) {
  const auto options = std::make_shared<DecisionOptions>();
  options->action = action;
  Command* verb = commands.verb(
      noun, name, about,
      {"request " + name + " R-000001", "request " + name + " R-000001 R-000002 --comment 'as agreed'"});
  verb->add_option("NUMBER", options->numbers, "Request Numbers, or Ids in the CRM")->required();
  verb->add_option("--comment", options->comment, "Reason; stored with the transition")->option_text("TEXT");
  if (action == sync::RequestRecordAction::reject) add_yes_flag(*verb, options->yes);
  run_with_request_records(commands, verb, options, decide);
}

struct RetryOptions {
  std::vector<std::string> numbers;
  bool all = false;
};

/// Empty when the record is retried.
std::string retry_fault(CliContext& ctx, const std::string& number) {
  switch (sync::retry_request_record(ctx.store.request_records, number)) {
    case sync::RequestRecordRetry::retried:
      return {};
    case sync::RequestRecordRetry::unknown:
      return fmt::format("giftsync has read no request {}; \"giftsyncctl request list\" shows the CRM's",
                         in_quotes(number));
    case sync::RequestRecordRetry::not_failed:
      break;
  }
  return fmt::format(
      "{} is not an approved request whose last attempt failed; \"giftsyncctl request check\" "
      "shows what keeps it",
      in_quotes(number));
}

int retry(const Console& console, CliContext& ctx, const RetryOptions& options) {
  if (options.all != options.numbers.empty()) return console.fail(EX_USAGE, "give Request Numbers or --all");
  if (options.all) {
    audit_object(console, "");
    const std::int64_t count = sync::retry_failed_request_records(ctx.store.request_records);
    console.info(fmt::format("{} tried again now.",
                             pluralize(count, "request record") + (count == 1 ? " is" : " are")));
    return EX_OK;
  }
  int code = EX_OK;
  for (const std::string& number : options.numbers) {
    audit_object(console, number);
    const std::string fault = retry_fault(ctx, number);
    if (fault.empty())
      console.info(fmt::format("{} is tried again now.", printable(number)));
    else
      code = console.fail(EX_DATAERR, fault);
  }
  return code;
}

void add_retry(Commands& commands, Command& noun) {
  const auto options = std::make_shared<RetryOptions>();
  Command* verb = commands.verb(noun, "retry",
                                "Try approved requests again whose last attempt failed, at once instead of "
                                "after their wait or an edit. "
                                "A start or reload of giftsyncd does the same, and so do approvals and the "
                                "commands that import rows or "
                                "items or change accounts; a change by plain SQL does not.",
                                {"request retry R-000001", "request retry --all"});
  verb->add_option("NUMBER", options->numbers, "Request Numbers, or Ids in the CRM");
  verb->add_flag("--all", options->all, "All of them, except those that wait a minute after a refused edit");
  run_with_request_records(commands, verb, options, retry);
}

}  // namespace

void add_request_record_commands(Commands& commands) {
  Command* noun = commands.noun("request", "Request records: gifts requested in the CRM, with approval");
  add_create(commands, *noun);
  add_list(commands, *noun);
  add_show(commands, *noun);
  add_check(commands, *noun);
  add_decision(
      commands, *noun, sync::RequestRecordAction::approve, "approve",
      "Approve pending requests with their current content, which is printed. Your user name is stored with "
      "the "
      "transition. The daemon sends the gifts within seconds. What still keeps one from being sent is "
      "printed as a warning (\"request check\").");
  add_decision(
      commands, *noun, sync::RequestRecordAction::reject, "reject",
      "Reject requests that are pending, or approved and not being sent yet. A rejected request stays "
      "rejected: this cannot be undone.");
  add_retry(commands, *noun);
}

}  // namespace giftsync::cli
