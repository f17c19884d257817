// `item codes`: import the codes of gift items from a file and count them; codes are never printed.
#include <fmt/format.h>
#include <sysexits.h>

#include <map>
#include <memory>

#include "cli/commands.h"
#include "cli/gift_code_csv.h"
#include "cli/input_file.h"
#include "cli/json_array_writer.h"
#include "cli/text_table.h"
#include "platform/plural.h"

namespace giftsync::cli {
namespace {

int import_codes(const Console& console, CliContext& ctx, schema::GiftId gift, const std::string& path) {
  if (!ctx.store.catalogue.item(gift))
    return console.fail(EX_DATAERR, fmt::format("the catalogue has no gift {}; import it first with "
                                                "\"giftsyncctl item import FILE.csv\"",
                                                gift.value));
  auto opened = InputFile::open(path, console);
  if (const auto* refusal = std::get_if<Refusal>(&opened))
    return console.fail(refusal->exit_code, refusal->lines.front());
  InputFile& input = std::get<InputFile>(opened);
  const GiftCodeCsv file = parse_gift_code_csv(input.stream(), input.name());
  if (!file.faults.empty()) {
    for (const std::string& fault : file.faults) console.info(fault);
    return console.fail(EX_DATAERR,
                        fmt::format("{} in {}; nothing was imported",
                                    platform::pluralize(file.faults.size(), "fault"), input.name()));
  }
  const std::int64_t added = ctx.store.codes.import(gift, file.codes, console.now());
  console.out << fmt::format("{}: {} new, {} already known\n", platform::pluralize(file.codes.size(), "code"),
                             added, static_cast<std::int64_t>(file.codes.size()) - added);
  return EX_OK;
}

int list_codes(const Console& console, CliContext& ctx, bool json) {
  const auto counts = ctx.store.codes.counts();
  std::map<schema::GiftId, std::string> names;
  for (const schema::store::GiftItem& item : ctx.store.catalogue.items()) names[item.id] = item.name;
  const auto is_low = [&](const schema::store::GiftCodeCounts& row) {
    return row.left <= ctx.settings.catalogue.low_code_threshold;
  };
  if (json) {
    JsonArrayWriter list(console.out);
    for (const schema::store::GiftCodeCounts& row : counts) {
      list.add({{"gift_id", row.gift.value},
                {"name", names[row.gift]},
                {"remaining", row.left},
                {"issued", row.handed_out},
                {"low", is_low(row)}});
    }
    list.finish();
    return EX_OK;
  }
  using Kind = TextTable::Kind;
  TextTable table(console.out, {{"GIFT ID", Kind::number},
                                {"NAME", Kind::elastic},
                                {"REMAINING", Kind::number},
                                {"ISSUED", Kind::number},
                                {"STATE"}});
  for (const schema::store::GiftCodeCounts& row : counts) {
    table.add({std::to_string(row.gift.value), names[row.gift], std::to_string(row.left),
               std::to_string(row.handed_out),
               row.left == 0 ? "exhausted"
               : is_low(row) ? "low"
                             : "good"});
  }
  table.finish();
  if (counts.empty())
    console.info("No codes yet; import some with \"giftsyncctl item codes import GIFT_ID FILE.csv\".");
  return EX_OK;
}

}  // namespace

void add_gift_code_commands(Commands& commands, CLI::App& item) {
  CLI::App* noun = commands.noun(item, "codes", "The codes of gift items: import them, count them");
  const auto gift = std::make_shared<std::int64_t>(0);
  const auto path = std::make_shared<std::string>();
  CLI::App* import = commands.verb(
      *noun, "import",
      "Add codes to an item's list. A file with a fault is refused whole, with a list of all faults. Each "
      "recipient who accepts the item gets one code, the oldest first. Codes that the list already has stay "
      "unchanged.",
      {"item codes import 7 codes.csv", "item codes import 7 - < codes.csv"});
  import->add_option("GIFT_ID", *gift, "The item's gift_id")->required()->check(whole_number());
  import->add_option("FILE", *path, "CSV with the one column code; - reads stdin")->required();
  commands.run(import, [gift, path](const Console& console, CliContext& ctx) {
    return import_codes(console, ctx, {*gift}, *path);
  });

  const auto json = std::make_shared<bool>(false);
  CLI::App* list = commands.verb(
      *noun, "list",
      "List each item that has codes, with how many remain and how many are issued; low: at most "
      "catalogue.low_code_threshold remain.",
      {"item codes list", "item codes list --json"});
  list->add_flag("--json", *json, "Print a JSON array");
  commands.run(list,
               [json](const Console& console, CliContext& ctx) { return list_codes(console, ctx, *json); });
}

}  // namespace giftsync::cli
