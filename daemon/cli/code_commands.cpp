// The codes of gift items: brought in from a file, counted; never shown.
#include <fmt/format.h>
#include <sysexits.h>

#include <map>
#include <memory>

#include "daemon/cli/code_file.h"
#include "daemon/cli/commands.h"
#include "daemon/cli/input_file.h"
#include "daemon/cli/json_list.h"
#include "daemon/cli/text_table.h"
#include "daemon/counted.h"

namespace giftsync::daemon {
namespace {

int import_codes(const Console& console, Installation& place, schema::GiftId gift, const std::string& path) {
  if (!place.store.catalogue.item(gift))
    return console.fail(EX_DATAERR, fmt::format("the catalogue has no gift {}; bring it in first with "
                                                "\"giftsyncctl item import FILE.csv\"",
                                                gift.value));
  auto opened = InputFile::open(path, console);
  if (const auto* refusal = std::get_if<Refusal>(&opened))
    return console.fail(refusal->exit_code, refusal->lines.front());
  InputFile& input = std::get<InputFile>(opened);
  const CodeFile file = read_code_file(input.stream(), input.name());
  if (!file.faults.empty()) {
    for (const std::string& fault : file.faults) console.note(fault);
    return console.fail(EX_DATAERR, fmt::format("{} in {}; nothing was imported",
                                                counted(file.faults.size(), "fault"), input.name()));
  }
  const std::int64_t added = place.store.codes.import(gift, file.codes, console.now());
  console.out << fmt::format("{}: {} new, {} known already\n", counted(file.codes.size(), "code"), added,
                             static_cast<std::int64_t>(file.codes.size()) - added);
  return EX_OK;
}

int list_codes(const Console& console, Installation& place, bool json) {
  const auto counts = place.store.codes.counts();
  std::map<schema::GiftId, std::string> names;
  for (const schema::GiftItem& item : place.store.catalogue.items()) names[item.id] = item.name;
  const auto is_low = [&](const schema::GiftCodeCounts& row) {
    return row.left <= place.settings.catalogue.few_codes;
  };
  if (json) {
    JsonList list(console.out);
    for (const schema::GiftCodeCounts& row : counts) {
      list.add({{"gift_id", row.gift.value},
                {"name", names[row.gift]},
                {"left", row.left},
                {"handed_out", row.handed_out},
                {"low", is_low(row)}});
    }
    list.finish();
    return EX_OK;
  }
  using Kind = TextTable::Kind;
  TextTable table(console.out, {{"GIFT ID", Kind::number},
                                {"NAME", Kind::elastic},
                                {"LEFT", Kind::number},
                                {"HANDED OUT", Kind::number},
                                {"STATE"}});
  for (const schema::GiftCodeCounts& row : counts) {
    table.add({std::to_string(row.gift.value), names[row.gift], std::to_string(row.left),
               std::to_string(row.handed_out),
               row.left == 0 ? "run out"
               : is_low(row) ? "low"
                             : "good"});
  }
  table.finish();
  if (counts.empty())
    console.note("No codes yet; \"giftsyncctl item import-codes GIFT_ID FILE.csv\" brings them in.");
  return EX_OK;
}

}  // namespace

void add_code_commands(Commands& commands, CLI::App& noun) {
  const auto gift = std::make_shared<std::int64_t>(0);
  const auto path = std::make_shared<std::string>();
  CLI::App* import = commands.verb(
      noun, "import-codes",
      "Add codes to an item's list: all of them, or none and a list of every fault. Each recipient who "
      "accepts "
      "the item is given one, the oldest first. Codes that the list has already stay as they are.",
      {"item import-codes 7 codes.csv", "item import-codes 7 - < codes.csv"});
  import->add_option("GIFT_ID", *gift, "The item's gift_id")->required()->check(whole_number());
  import->add_option("FILE", *path, "CSV with the one column code; - reads stdin")->required();
  commands.run(import, [gift, path](const Console& console, Installation& place) {
    return import_codes(console, place, {*gift}, *path);
  });

  const auto json = std::make_shared<bool>(false);
  CLI::App* list =
      commands.verb(noun, "codes",
                    "How many codes are left of each item that has a list, and how many were handed "
                    "out; low: no more than catalogue.few_codes.",
                    {"item codes", "item codes --json"});
  list->add_flag("--json", *json, "Print a JSON array");
  commands.run(list, [json](const Console& console, Installation& place) {
    return list_codes(console, place, *json);
  });
}

}  // namespace giftsync::daemon
