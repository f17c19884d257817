#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/gift/gift_detail.h"
#include "cli/listing.h"
#include "crm/row_reader.h"
#include "daemon/wiring/crm_config.h"
#include "daemon/wiring/org_status.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "schema/store/crm/crm_change_events.h"
#include "sync/gift/gift_actions.h"

namespace giftsync::cli {
namespace {

using crm::CrmRow;

constexpr std::int64_t kDefaultRows = 50;

struct RowOptions {
  std::string object;
  std::string id;
  std::string after;
  std::int64_t limit = kDefaultRows;
  bool json = false;
};

/// What the table shows of an object, as far as the CRM has it.
const std::vector<std::string>& listed_fields(const std::string& object) {
  static const std::map<std::string, std::vector<std::string>> kFields{
      {"contact", {"Name", "Email", "Phone", "AccountId", "LastModifiedDate"}},
      {"lead", {"Name", "Email", "Phone", "Company", "IsConverted", "LastModifiedDate"}},
      {"account", {"Name", "Phone", "Website", "LastModifiedDate"}},
      {"opportunity", {"Name", "AccountId", "StageName", "CloseDate", "IsClosed"}},
      {"opportunity_contact_role", {"ContactId", "OpportunityId", "Role", "IsPrimary"}},
      {"user", {"Name", "Email", "Username", "IsActive"}},
      {"permission_set_assignment", {"AssigneeId", "PermissionSetName", "IsActive", "ExpirationDate"}},
      {"task", {"Subject", "Status", "WhatId", "WhoId", "RecipientTransactionId"}},
      {"gift_record",
       {"RecipientTransactionId", "RecipientTransactionStatus", "Recipient_Email", "RecipientContactId",
        "RecipientLeadId"}},
      {"request_record", {"Name", "Request_Status", "Recipient_Email", "Gift_Id", "Sender"}}};
  return kFields.at(object);
}

/// A row that plain SQL has written may lack its name.
std::string listed_text(const CrmRow& row, const std::string& field) {
  std::string text = row.text(field);
  if (field != "Name" || !text.empty()) return text;
  const std::string first = row.text("FirstName");
  const std::string last = row.text("LastName");
  return first + (first.empty() || last.empty() ? "" : " ") + last;
}

std::vector<std::string> present_fields(const CrmRow& row, const std::string& object) {
  std::vector<std::string> fields;
  for (const std::string& field : listed_fields(object)) {
    if (row.has(field)) fields.push_back(field);
  }
  return fields;
}

Json json_of(const CrmRow& row) {
  Json json = {{"Id", row.id}};
  for (const auto& [field, value] : row.fields) json[field] = value ? Json(*value) : Json(nullptr);
  return json;
}

/// Nothing when the CRM has the object.
std::optional<Refusal> refuse_object(crm::RowReader& rows, const std::string& object) {
  const std::vector<std::string> objects = rows.objects();
  if (std::find(objects.begin(), objects.end(), object) != objects.end()) return std::nullopt;
  return Refusal{EX_DATAERR, {fmt::format("the CRM has no {}; it has {}", object, fmt::join(objects, ", "))}};
}

int list_rows(const Console& console, CliContext& ctx, const RowOptions& options) {
  crm::RowReader& reader = *ctx.crm->rows();
  if (const auto refusal = refuse_object(reader, options.object)) return console.fail(*refusal);
  const std::size_t page_rows = std::min(TextTable::kPageRows, static_cast<std::size_t>(options.limit));
  std::vector<CrmRow> first = reader.page(options.object, options.after, page_rows);
  const bool is_empty = first.empty();
  const std::vector<std::string> fields =
      is_empty ? std::vector<std::string>() : present_fields(first.front(), options.object);
  Listing list(console.out, options.json);
  std::string last = options.after;
  // Each page may cost a call of an org: what was read is not asked for again, nor what comes after the end.
  bool is_at_end = first.size() < page_rows;
  bool is_first = true;
  const auto next_page = [&] {
    if (std::exchange(is_first, false)) return std::move(first);
    if (is_at_end) return std::vector<CrmRow>();
    std::vector<CrmRow> page = reader.page(options.object, last, page_rows);
    is_at_end = page.size() < page_rows;
    return page;
  };
  each_row(console, options.limit, next_page, [&](const CrmRow& row) {
    last = row.id;
    list.add([&](ListedRow& described) {
      if (described.is_json()) return described.set_json(json_of(row));
      described.add_cell({"ID"}, row.id);
      for (const std::string& field : fields)
        described.add_cell({field, TextTable::Kind::elastic}, listed_text(row, field));
    });
  });
  list.finish();
  if (is_empty && !options.json) {
    console.info(fmt::format("The CRM has no {}{}.", options.object,
                             options.after.empty() ? "" : " with an Id above " + printable(options.after)));
  }
  if (!is_at_end && !reader.page(options.object, last, 1).empty()) {
    console.info(fmt::format("More follow: {}crm list {} --after {}", program_with(ctx.settings),
                             options.object, shell_word(printable(last))));
  }
  return EX_OK;
}

/// The row that the Id probably means, as words of a command: of another object, or with the Id's other
/// length (Salesforce's Ids have 15 characters, or 18 of which the first 15 are the same).
std::string nearest_row(crm::RowReader& reader, const RowOptions& options) {
  constexpr std::size_t kShortId = 15;
  if (options.id.size() > kShortId) {
    const std::string brief = options.id.substr(0, kShortId);
    if (reader.find(options.object, brief)) return options.object + " " + shell_word(printable(brief));
  }
  const auto next = reader.page(options.object, options.id, 1);
  if (!options.id.empty() && !next.empty() && next.front().id.starts_with(options.id))
    return options.object + " " + shell_word(printable(next.front().id));
  for (const std::string& object : reader.objects()) {
    if (object != options.object && reader.find(object, options.id))
      return object + " " + shell_word(printable(options.id));
  }
  return {};
}

bool is_whole_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// What to do about an Id that no row has.
std::string advice_for_id(const CliContext& ctx, const RowOptions& options) {
  const std::string program = program_with(ctx.settings);
  const std::string id = shell_word(printable(options.id));
  if (const std::string nearest = nearest_row(*ctx.crm->rows(), options); !nearest.empty())
    return fmt::format("did you mean \"{}crm show {}\"?", program, nearest);
  if (options.id.find('@') != std::string::npos)
    return fmt::format("\"{}match --email {}\" finds people by their addresses", program, id);
  if (options.object == "gift_record" && is_whole_number(options.id))
    return fmt::format("\"{}gift show {}\" finds gifts by their numbers", program, id);
  if (options.object == "request_record")
    return fmt::format("\"{}request show {}\" finds request records by their numbers", program, id);
  return fmt::format("\"{}crm list {}\" lists them", program, options.object);
}

int refuse_id(const Console& console, const CliContext& ctx, const RowOptions& options) {
  return console.fail(EX_DATAERR, fmt::format("the CRM has no {} with the Id {}; {}", options.object,
                                              in_quotes(options.id), advice_for_id(ctx, options)));
}

void print_fields(std::ostream& out, const CrmRow& row) {
  std::size_t width = 0;
  for (const auto& [field, value] : row.fields) width = std::max(width, field.size());
  for (const auto& [field, value] : row.fields)
    fmt::print(out, "  {:<{}}  {}\n", field, width, value ? printable(*value) : "(empty)");
}

int show_row(const Console& console, CliContext& ctx, const RowOptions& options) {
  crm::RowReader& reader = *ctx.crm->rows();
  if (const auto refusal = refuse_object(reader, options.object)) return console.fail(*refusal);
  const std::optional<CrmRow> row = reader.find(options.object, options.id);
  if (!row) return refuse_id(console, ctx, options);
  if (options.json) {
    console.out << json_text(json_of(*row), 2) << '\n';
    return EX_OK;
  }
  console.out << fmt::format("{} {}\n", options.object, printable(row->id));
  print_fields(console.out, *row);
  return EX_OK;
}

void add_object_argument(Command* verb, RowOptions& options) {
  verb->add_option("OBJECT", options.object,
                   "What the rows are: " + fmt::format("{}", fmt::join(crm::kReadableObjects, ", ")))
      ->required()
      ->check(one_of(crm::kReadableObjects));
}

void add_list(Commands& commands, Command& crm) {
  const auto options = std::make_shared<RowOptions>();
  Command* verb = commands.verb(
      crm, "list",
      "List rows of the CRM by their Ids, with name, e-mail address and a few more fields; --json has every "
      "field. Reads every kind of CRM; fields have their API names without prefix and suffix.",
      {"crm list contact", "crm list contact --after 003A --limit 200", "crm list gift_record --json"});
  add_object_argument(verb, *options);
  verb->add_option("--limit", options->limit, fmt::format("At most N rows, {} unless given", kDefaultRows))
      ->option_text("N")
      ->check(whole_number());
  verb->add_option("--after", options->after, "Rows with Ids above this one")->option_text("ID");
  verb->add_flag("--json", options->json, "Print a JSON array");
  commands.run(verb, options, list_rows);
}

void add_show(Commands& commands, Command& crm) {
  const auto options = std::make_shared<RowOptions>();
  Command* verb = commands.verb(crm, "show", "Show every field of one row of the CRM.",
                                {"crm show contact 003A", "crm show opportunity 006A --json"});
  add_object_argument(verb, *options);
  verb->add_option("ID", options->id, "The row's Id")->required();
  verb->add_flag("--json", options->json, "Print JSON");
  commands.run(verb, options, show_row);
}

}  // namespace

void add_crm_row_commands(Commands& commands, Command& crm) {
  add_list(commands, crm);
  add_show(commands, crm);
}

// `crm retry`.

namespace {

std::string not_waiting_reason(CliContext& ctx, TransactionId id, UtcMillis now) {
  const bool is_known = !ctx.store.gifts.find(std::span(&id, 1)).empty();
  if (!is_known) return no_such_gift(id.value);
  const std::string why = sync::retry_problem(ctx.store.sync, id, now);
  return fmt::format(
      "the record of gift {} does not wait for a retry: {}; \"giftsyncctl gift show {}\" shows it", id.value,
      why, id.value);
}

int retry_records(const Console& console, CliContext& ctx, const RetryOptions& options) {
  if (options.all == !options.gifts.empty()) return console.fail(EX_USAGE, "give either gifts or --all");
  const UtcMillis now = console.now();
  store::SyncQueue& sync = ctx.store.sync;
  const bool is_remote = wiring::crm_capabilities(ctx.settings).is_remote;
  const int code =
      retry(console, options,
            {.what = "record",
             .one =
                 [&](TransactionId gift) {
                   auto event = gift_command_event(console, ctx.store, "gift.retry", gift);
                   event.detail = store::kRetriedRecords;
                   const bool is_due = sync.reset_rejected(std::span(&gift, 1), now, event) > 0;
                   return is_due ? std::string() : not_waiting_reason(ctx, gift, now);
                 },
             .all =
                 [&] {
                   store::AuditEvent event = command_event(console, store::kCrmRetryAction, {});
                   event.occurred_at = now;
                   event.object_kind = store::kFailuresObject;  // of all classes
                   event.detail = store::kRetriedRecords;
                   const std::int64_t count = sync.reset_rejected_after(now, now, event);
                   event.object_kind = "crm";
                   // What rests for its quota; the org itself is asked again below, even if nothing rests.
                   event.detail = "the org is asked again, records";
                   if (is_remote && sync.reset_scheduled_after(now, now, event) + count == 0) {
                     event.detail = "the org is asked again";
                     ctx.store.audit.add(event);
                   }
                   return fmt::format("{} that the CRM refused {} tried now.", pluralize(count, "record"),
                                      plural_verb(count, "is", "are"));
                 }});
  if (!is_remote) return code;
  wiring::ask_org_again(ctx.settings, ctx.store);
  console.info(
      "The org is asked again within seconds, within giftsync's share of its calls, by backfills that wait, "
      "too.");
  return code;
}

}  // namespace

void add_crm_retry_command(Commands& commands, Command& crm) {
  const auto options = std::make_shared<RetryOptions>();
  Command* verb = commands.verb(
      crm, "retry",
      "Try gift records now that the CRM refused as they are, for example after its rule was corrected. "
      "Otherwise such a record is tried again after 2 s, then after twice the time before, up to a day; and "
      "when the daemon starts or reloads its settings. Where the CRM is an org of Salesforce, it is also "
      "asked "
      "again at once while giftsync makes no calls, because the org's quota was used up or it was in "
      "maintenance, or writes nothing, because the org lacks what protects gift records; a backfill that "
      "waits goes on, too. crm.salesforce.share stays a limit, and a refused sign-in needs a reload of "
      "giftsyncd.",
      {"crm retry 41", "crm retry --all"});
  add_retry_options(*verb, options, "Every refused record");
  commands.run(verb, options, retry_records);
}

namespace {

void describe(ListedRow& row, const crm::Task& task) {
  using Kind = TextTable::Kind;
  row.add_json("Id", task.id);
  row.add("RecipientTransactionId", {"GIFT", Kind::number}, task.transaction.value);
  row.add_json("WhatId", text_or_null(task.what_id));
  row.add_json("WhoId", text_or_null(task.who_id));
  row.add_json("Type", text_or_null(task.type));
  row.add("Status", {"STATUS"}, text_or_null(task.status), task.status);
  row.add_cell({"TYPE"}, task.type);
  row.add("Subject", {"SUBJECT", Kind::elastic}, text_or_null(task.subject), task.subject);
  row.add_cell({"NAME (CONTACT)"}, task.who_id);
  row.add_cell({"RELATED TO"}, task.what_id);
  row.add_json("OwnerId", text_or_null(task.owner_id));
}

struct ListOptions {
  bool json = false;
  std::int64_t limit = 0;
};

int list_tasks(const Console& console, CliContext& ctx, const ListOptions& options) {
  Listing list(console.out, options.json);
  const auto next_page = [&, after = TransactionId{0}]() mutable {
    auto page = ctx.crm->tasks().page(after, ctx.crm->pace().rows_per_read);
    if (!page.empty()) after = page.back().transaction;
    return page;
  };
  const std::int64_t listed = each_row(console, options.limit, next_page, [&](const crm::Task& task) {
    list.add([&](ListedRow& described) { describe(described, task); });
  });
  list.finish();
  if (listed == 0) {
    console.info(ctx.settings.tasks.enabled ? "No gift has a task yet."
                                            : "No gift has a task; tasks.enabled in the settings is false.");
  }
  return EX_OK;
}

}  // namespace

void add_task_commands(Commands& commands) {
  const auto options = std::make_shared<ListOptions>();
  Command* noun = commands.noun("task", "The tasks of gifts in the CRM");
  Command* verb = commands.verb(
      *noun, "list", "List the CRM tasks of gifts, one per gift, by Transaction Id (setting tasks.enabled).",
      {"task list", "task list --json | jq '.[] | select(.WhoId == null)'"});
  verb->add_flag("--json", options->json, "Print a JSON array of tasks with their fields by API names");
  verb->add_option("--limit", options->limit, "At most N tasks")->option_text("N")->check(whole_number());
  commands.run(verb, options, list_tasks);
}

}  // namespace giftsync::cli
