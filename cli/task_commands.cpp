#include <sysexits.h>

#include <memory>

#include "cli/commands.h"
#include "cli/json_array_writer.h"
#include "cli/text_table.h"

namespace giftsync::cli {
namespace {

Json json_of(const schema::crm::Task& task) {
  const auto text = [](const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); };
  return {{"Id", task.id},
          {"RecipientTransactionId", task.transaction.value},
          {"WhatId", text(task.what_id)},
          {"WhoId", text(task.who_id)},
          {"Type", text(task.type)},
          {"Status", text(task.status)},
          {"Subject", text(task.subject)},
          {"OwnerId", text(task.owner_id)}};
}

/// Calls `each(task)` for all tasks, until it returns false.
template <class Each>
void for_each_task(schema::crm::Crm& crm, Each&& each) {
  for (schema::TransactionId after{0};;) {
    const std::vector<schema::crm::Task> page = crm.tasks().page(after, crm.pace().rows_per_read);
    if (page.empty()) return;
    for (const schema::crm::Task& task : page) {
      if (!each(task)) return;
    }
    after = page.back().transaction;
  }
}

int list_tasks(const Console& console, CliContext& ctx, bool json, std::int64_t limit) {
  JsonArrayWriter list(console.out);
  TextTable table(console.out, {{"GIFT", TextTable::Kind::number},
                                {"STATUS"},
                                {"TYPE"},
                                {"SUBJECT", TextTable::Kind::elastic},
                                {"NAME (CONTACT)"},
                                {"RELATED TO"}});
  std::int64_t listed = 0;
  for_each_task(*ctx.crm, [&](const schema::crm::Task& task) {
    if ((limit > 0 && listed == limit) || !console.out) return false;
    ++listed;
    if (json)
      list.add(json_of(task));
    else
      table.add({std::to_string(task.transaction.value), task.status, task.type, task.subject, task.who_id,
                 task.what_id});
    return true;
  });
  if (json)
    list.finish();
  else
    table.finish();
  if (listed == 0) {
    console.info(ctx.settings.tasks.enabled ? "No gift has a task yet."
                                            : "No gift has a task; tasks.enabled in the settings is false.");
  }
  return EX_OK;
}

}  // namespace

void add_task_commands(Commands& commands) {
  struct Options {
    bool json = false;
    std::int64_t limit = 0;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* noun = commands.noun("task", "The tasks of gifts in the CRM");
  CLI::App* verb = commands.verb(
      *noun, "list", "List the CRM tasks of gifts, one per gift, by Transaction Id (setting tasks.enabled).",
      {"task list", "task list --json | jq '.[] | select(.WhoId == null)'"});
  verb->add_flag("--json", options->json, "Print a JSON array of tasks with their fields by API names");
  verb->add_option("--limit", options->limit, "At most N tasks")->option_text("N")->check(whole_number());
  commands.run(verb, [options](const Console& console, CliContext& ctx) {
    return list_tasks(console, ctx, options->json, options->limit);
  });
}

}  // namespace giftsync::cli
