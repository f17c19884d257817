#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <memory>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/input_file.h"
#include "cli/item_csv.h"
#include "cli/item_redemption.h"
#include "cli/listing.h"
#include "cli/request_record_retry.h"
#include "platform/plural.h"

namespace giftsync::cli {
namespace {

/// Recipients who accept such an item read that its sender will follow up.
void warn_of_nothing_to_redeem(const Console& console, const std::vector<schema::GiftId>& items) {
  constexpr std::size_t kMaxNamed = 10;
  if (items.empty()) return;
  std::vector<std::int64_t> named;
  for (std::size_t i = 0; i < std::min(items.size(), kMaxNamed); ++i) named.push_back(items[i].value);
  console.info(fmt::format(
      "{} {} nothing to redeem ({}{}): recipients who accept read that the sender will tell them how to get "
      "it. Set redemption_text or redemption_link, or import codes with \"giftsyncctl item codes import\".",
      platform::pluralize(items.size(), "item"), platform::plural_verb(items.size(), "has", "have"),
      fmt::join(named, ", "), items.size() > kMaxNamed ? ", ..." : ""));
}

int import_items(const Console& console, CliContext& ctx, const std::string& path) {
  auto input = InputFile::open(path, console);
  if (!input) return refuse(console, input.error());
  const ItemCsv file = parse_item_csv(input->stream(), input->name());
  if (!file.faults.empty()) return refuse_input(console, *input, file.faults);
  audit_object(console, "", platform::pluralize(file.items.size(), "item") + " of " + input->name());
  const auto counts = ctx.store.catalogue.import(file.items);
  console.out << fmt::format("{}: {} new, {} changed, {} unchanged\n",
                             platform::pluralize(file.items.size(), "item"), counts.inserted, counts.updated,
                             counts.unchanged);
  warn_of_nothing_to_redeem(console,
                            items_without_redemption(file.items, items_with_codes(ctx.store.codes.counts())));
  retry_failed_requests(console, ctx);
  return EX_OK;
}

Json json_of(const schema::store::GiftItem& item, const std::vector<std::string>& redemption) {
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
          {"redemption", redemption},
          {"active", item.active}};
}

int list_items(const Console& console, CliContext& ctx, bool json) {
  const auto items = ctx.store.catalogue.items();
  using Kind = TextTable::Kind;
  Listing list(console.out, json,
               {{"ITEM ID", Kind::number},
                {"NAME", Kind::elastic},
                {"ITEM", Kind::number},
                {"SHIPPING", Kind::number},
                {"CARBON", Kind::number},
                {"FEE", Kind::number},
                {"TOTAL", Kind::number},
                {"REDEMPTION"},
                {"STATE"}});
  const std::set<schema::GiftId> with_codes = items_with_codes(ctx.store.codes.counts());
  for (const schema::store::GiftItem& item : items) {
    const std::vector<std::string> redemption = redemption_of(item, with_codes);
    list.add(
        [&] { return json_of(item, redemption); },
        [&]() -> TextTable::Row {
          return {{std::to_string(item.id.value), item.name, schema::to_decimal(item.costs.item),
                   schema::to_decimal(item.costs.shipping), schema::to_decimal(item.costs.carbon_neutral),
                   schema::to_decimal(item.costs.transaction_fee), schema::to_decimal(item.costs.total()),
                   redemption.empty() ? "nothing" : fmt::format("{}", fmt::join(redemption, ", ")),
                   item.active ? "active" : "inactive"}};
        });
  }
  list.finish();
  if (items.empty() && !json)
    console.info("No items yet; import some with \"giftsyncctl item import FILE.csv\".");
  return EX_OK;
}

void add_import(Commands& commands, CLI::App& noun) {
  CLI::App* verb =
      commands.verb(noun, "import",
                    "Import gift items from a CSV file. A file with a fault is refused whole, with a "
                    "list of all faults. Items with a known gift_id are updated; items that are not "
                    "in the file stay unchanged.",
                    {"item import items.csv", "item import - < items.csv"});
  const auto path = text_argument(
      verb, "FILE",
      "CSV with the columns gift_id,name,description,item_cost,shipping_cost,carbon_neutral_cost,"
      "transaction_fee and optionally picture,redemption_text,redemption_link,active; - reads stdin");
  commands.run(verb, path, import_items);
}

void add_list(Commands& commands, CLI::App& noun) {
  CLI::App* verb = commands.verb(
      noun, "list",
      "List all gift items with their costs and what their recipients redeem: text, link, codes or nothing.",
      {"item list", "item list --json"});
  commands.run(verb, json_flag(verb, "Print a JSON array"), list_items);
}

}  // namespace

void add_item_commands(Commands& commands) {
  CLI::App* noun = commands.noun("item", "The catalogue of gift items");
  add_import(commands, *noun);
  add_list(commands, *noun);
  add_gift_code_commands(commands, *noun);
}

}  // namespace giftsync::cli
