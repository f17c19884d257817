#include <sysexits.h>

#include <memory>

#include "daemon/cli/commands.h"
#include "daemon/cli/json_list.h"
#include "daemon/cli/text_table.h"

namespace giftsync::daemon {
namespace {

Json json_of(const schema::Task& task) {
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

/// Calls `each(task)` page by page; true to go on.
template <class Each>
void for_each_task(schema::Crm& crm, Each&& each) {
  for (schema::TransactionId after{0};;) {
    const std::vector<schema::Task> page = crm.tasks(after, schema::kCrmBatch);
    if (page.empty()) return;
    for (const schema::Task& task : page) {
      if (!each(task)) return;
    }
    after = page.back().transaction;
  }
}

int list_tasks(const Console& console, Installation& place, bool json, std::int64_t limit) {
  JsonList list(console.out);
  TextTable table(console.out, {{"GIFT", TextTable::Kind::number},
                                {"STATUS"},
                                {"TYPE"},
                                {"SUBJECT", TextTable::Kind::elastic},
                                {"NAME (CONTACT)"},
                                {"RELATED TO"}});
  std::int64_t listed = 0;
  for_each_task(*place.crm, [&](const schema::Task& task) {
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
    console.note(place.settings.tasks.enabled
                     ? "No gift has a task yet."
                     : "No gift has a task; tasks.enabled in the settings is false.");
  }
  return EX_OK;
}

}  // namespace

void add_task_commands(Commands& commands) {
  struct Words {
    bool json = false;
    std::int64_t limit = 0;
  };
  const auto words = std::make_shared<Words>();
  CLI::App* noun = commands.noun("task", "The tasks of gifts in the CRM");
  CLI::App* verb = commands.verb(
      *noun, "list", "The tasks that gifts have in the CRM, one each, by Transaction Id (settings tasks).",
      {"task list", "task list --json | jq '.[] | select(.WhoId == null)'"});
  verb->add_flag("--json", words->json, "Print a JSON array of tasks with their fields by API names");
  verb->add_option("--limit", words->limit, "At most N tasks")->option_text("N")->check(whole_number());
  commands.run(verb, [words](const Console& console, Installation& place) {
    return list_tasks(console, place, words->json, words->limit);
  });
}

}  // namespace giftsync::daemon
