#include <fmt/format.h>
#include <sysexits.h>

#include <memory>

#include "daemon/cli/commands.h"
#include "daemon/cli/input_file.h"
#include "daemon/cli/item_file.h"
#include "daemon/cli/json_list.h"
#include "daemon/cli/text_table.h"
#include "daemon/counted.h"

namespace giftsync::daemon {
namespace {

int import_items(const Console& console, Installation& place, const std::string& path) {
  auto opened = InputFile::open(path, console);
  if (const auto* refusal = std::get_if<Refusal>(&opened))
    return console.fail(refusal->exit_code, refusal->lines.front());
  InputFile& input = std::get<InputFile>(opened);
  const ItemFile file = read_item_file(input.stream(), input.name());
  if (!file.faults.empty()) {
    for (const std::string& fault : file.faults) console.note(fault);
    return console.fail(EX_DATAERR, fmt::format("{} in {}; nothing was imported",
                                                counted(file.faults.size(), "fault"), input.name()));
  }
  const auto counts = place.store.catalogue.import(file.items);
  console.out << fmt::format("{}: {} new, {} changed, {} unchanged\n", counted(file.items.size(), "item"),
                             counts.inserted, counts.updated, counts.unchanged);
  return EX_OK;
}

Json json_of(const schema::GiftItem& item) {
  return {{"gift_id", item.id.value},
          {"name", item.name},
          {"description", item.description},
          {"item_cost", json_amount(item.costs.item)},
          {"shipping_cost", json_amount(item.costs.shipping)},
          {"carbon_neutral_cost", json_amount(item.costs.carbon_neutral)},
          {"transaction_fee", json_amount(item.costs.transaction_fee)},
          {"total", json_amount(item.costs.total())},
          {"picture", item.picture},
          {"redemption_text", item.redemption_text},
          {"redemption_link", item.redemption_link},
          {"active", item.active}};
}

int list_items(const Console& console, Installation& place, bool json) {
  const auto items = place.store.catalogue.items();
  if (json) {
    JsonList list(console.out);
    for (const schema::GiftItem& item : items) list.add(json_of(item));
    list.finish();
    return EX_OK;
  }
  using Kind = TextTable::Kind;
  TextTable table(console.out, {{"GIFT ID", Kind::number},
                                {"NAME", Kind::elastic},
                                {"ITEM", Kind::number},
                                {"SHIPPING", Kind::number},
                                {"CARBON", Kind::number},
                                {"FEE", Kind::number},
                                {"TOTAL", Kind::number},
                                {"STATE"}});
  for (const schema::GiftItem& item : items) {
    table.add({std::to_string(item.id.value), item.name, to_decimal(item.costs.item),
               to_decimal(item.costs.shipping), to_decimal(item.costs.carbon_neutral),
               to_decimal(item.costs.transaction_fee), to_decimal(item.costs.total()),
               item.active ? "active" : "inactive"});
  }
  table.finish();
  if (items.empty()) console.note("No items yet; \"giftsyncctl item import FILE.csv\" brings them in.");
  return EX_OK;
}

void add_import(Commands& commands, CLI::App& noun) {
  const auto path = std::make_shared<std::string>();
  CLI::App* verb = commands.verb(noun, "import",
                                 "Bring gift items in from a CSV file: all of them, or none and a list of "
                                 "every fault. Items with a known gift_id are "
                                 "updated; those that the file does not name stay as they are.",
                                 {"item import items.csv", "item import - < items.csv"});
  verb->add_option(
          "FILE", *path,
          "CSV with the columns gift_id,name,description,item_cost,shipping_cost,carbon_neutral_cost,"
          "transaction_fee and optionally picture,redemption_text,redemption_link,active; - reads stdin")
      ->required();
  commands.run(verb, [path](const Console& console, Installation& place) {
    return import_items(console, place, *path);
  });
}

void add_list(Commands& commands, CLI::App& noun) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* verb =
      commands.verb(noun, "list", "All gift items with their costs.", {"item list", "item list --json"});
  verb->add_flag("--json", *json, "Print a JSON array");
  commands.run(verb, [json](const Console& console, Installation& place) {
    return list_items(console, place, *json);
  });
}

}  // namespace

void add_item_commands(Commands& commands) {
  CLI::App* noun = commands.noun("item", "The catalogue of gift items");
  add_import(commands, *noun);
  add_list(commands, *noun);
  add_code_commands(commands, *noun);
}

}  // namespace giftsync::daemon
