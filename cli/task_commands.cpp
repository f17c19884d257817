#include <sysexits.h>

#include <memory>

#include "cli/commands.h"
#include "cli/listing.h"

namespace giftsync::cli {
namespace {

Json json_of(const schema::crm::Task& task) {
  return {{"Id", task.id},
          {"RecipientTransactionId", task.transaction.value},
          {"WhatId", text_or_null(task.what_id)},
          {"WhoId", text_or_null(task.who_id)},
          {"Type", text_or_null(task.type)},
          {"Status", text_or_null(task.status)},
          {"Subject", text_or_null(task.subject)},
          {"OwnerId", text_or_null(task.owner_id)}};
}

struct ListOptions {
  bool json = false;
  std::int64_t limit = 0;
};

int list_tasks(const Console& console, CliContext& ctx, const ListOptions& options) {
  Listing list(console.out, options.json,
               {{"GIFT", TextTable::Kind::number},
                {"STATUS"},
                {"TYPE"},
                {"SUBJECT", TextTable::Kind::elastic},
                {"NAME (CONTACT)"},
                {"RELATED TO"}});
  const auto next_page = [&, after = schema::TransactionId{0}]() mutable {
    auto page = ctx.crm->tasks().page(after, ctx.crm->pace().rows_per_read);
    if (!page.empty()) after = page.back().transaction;
    return page;
  };
  const std::int64_t listed = each_row(console, options.limit, next_page, [&](const schema::crm::Task& task) {
    list.add([&] { return json_of(task); },
             [&]() -> TextTable::Row {
               return {{std::to_string(task.transaction.value), task.status, task.type, task.subject,
                        task.who_id, task.what_id}};
             });
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
  CLI::App* noun = commands.noun("task", "The tasks of gifts in the CRM");
  CLI::App* verb = commands.verb(
      *noun, "list", "List the CRM tasks of gifts, one per gift, by Transaction Id (setting tasks.enabled).",
      {"task list", "task list --json | jq '.[] | select(.WhoId == null)'"});
  verb->add_flag("--json", options->json, "Print a JSON array of tasks with their fields by API names");
  verb->add_option("--limit", options->limit, "At most N tasks")->option_text("N")->check(whole_number());
  commands.run(verb, options, list_tasks);
}

}  // namespace giftsync::cli
