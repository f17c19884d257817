#include "cli/gift/item_commands.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/csv_reader.h"
#include "cli/gift/item_csv.h"
#include "cli/input_file.h"
#include "cli/listing.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "sync/attention.h"

namespace giftsync::cli {
namespace {

using Kind = TextTable::Kind;

/// Recipients who accept such an item read that its sender will follow up.
void warn_of_nothing_to_redeem(const Console& console, const std::vector<GiftId>& items) {
  constexpr std::size_t kMaxNamed = 10;
  if (items.empty()) return;
  std::vector<std::int64_t> named;
  for (std::size_t i = 0; i < std::min(items.size(), kMaxNamed); ++i) named.push_back(items[i].value);
  console.info(fmt::format(
      "{} {} nothing to redeem ({}{}): recipients who accept read that the sender will tell them how to get "
      "it. Set redemption_text or redemption_link, or import codes with \"giftsyncctl item codes import\".",
      pluralize(items.size(), "item"), plural_verb(items.size(), "has", "have"), fmt::join(named, ", "),
      items.size() > kMaxNamed ? ", ..." : ""));
}

int import_items(const Console& console, CliContext& ctx, const std::string& path) {
  auto input = InputFile::open(path, console);
  if (!input) return console.fail(input.error());
  const ItemCsv file = parse_item_csv(input->stream(), input->name());
  if (!file.faults.empty()) return refuse_input(console, *input, file.faults);
  audit_object(console, "", pluralize(file.items.size(), "item") + " of " + input->name());
  const auto counts = ctx.store.catalogue.import(file.items);
  console.out << fmt::format("{}: {} new, {} changed, {} unchanged\n", pluralize(file.items.size(), "item"),
                             counts.inserted, counts.updated, counts.unchanged);
  warn_of_nothing_to_redeem(console,
                            items_without_redemption(file.items, items_with_codes(ctx.store.codes.counts())));
  retry_failed_requests(console, ctx);
  return EX_OK;
}

int list_items(const Console& console, CliContext& ctx, bool json) {
  const auto items = ctx.store.catalogue.items();
  Listing list(console.out, json);
  const std::set<GiftId> with_codes = items_with_codes(ctx.store.codes.counts());
  for (const store::GiftItem& item : items) {
    const std::vector<std::string> redemption = redemption_of(item, with_codes);
    list.add([&](ListedRow& row) {
      row.add("gift_id", {"ITEM ID", Kind::number}, item.id.value);
      row.add("name", {"NAME", Kind::elastic}, item.name);
      row.add_json("description", item.description);
      row.add("item_cost", {"ITEM", Kind::number}, item.costs.item);
      row.add("shipping_cost", {"SHIPPING", Kind::number}, item.costs.shipping);
      row.add("carbon_neutral_cost", {"CARBON", Kind::number}, item.costs.carbon_neutral);
      row.add("transaction_fee", {"FEE", Kind::number}, item.costs.transaction_fee);
      row.add("total", {"TOTAL", Kind::number}, item.costs.total());
      row.add_json("picture", item.picture);
      row.add_json("redemption_text", item.redemption_text);
      row.add_json("redemption_link", item.redemption_link);
      row.add("redemption", {"REDEMPTION"}, redemption,
              redemption.empty() ? "nothing" : fmt::format("{}", fmt::join(redemption, ", ")));
      row.add("active", {"STATE"}, item.active, item.active ? "active" : "inactive");
      row.add_currency(ctx.settings.catalogue.currency);
    });
  }
  list.finish();
  if (items.empty() && !json)
    console.info("No items yet; import some with \"giftsyncctl item import FILE.csv\".");
  return EX_OK;
}

void add_import(Commands& commands, Command& noun) {
  Command* verb =
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

void add_list(Commands& commands, Command& noun) {
  Command* verb = commands.verb(
      noun, "list",
      "List all gift items with their costs and what their recipients redeem: text, link, codes or nothing.",
      {"item list", "item list --json"});
  commands.run(verb, json_flag(verb, "Print a JSON array"), list_items);
}

}  // namespace

void add_item_commands(Commands& commands) {
  Command* noun = commands.noun("item", "The catalogue of gift items");
  add_import(commands, *noun);
  add_list(commands, *noun);
  add_gift_code_commands(commands, *noun);
}

// `item codes`: import the codes of gift items from a file and count them; codes are never printed.

namespace {

using sync::count_text;

constexpr std::size_t kMaxCodePoints = 255;
constexpr const char* kAllowed = "1 to 255 printable characters of UTF-8";

bool is_code(std::string_view text) {
  return !text.empty() && is_plain_line(text) && count_code_points(text) <= kMaxCodePoints;
}

struct GiftCodeCsv {
  std::vector<std::string> codes;   ///< in the file's order
  std::vector<std::string> faults;  ///< "codes.csv:3: ..."; use the codes only if there are none
};

/// CSV with the single column `code`. Fault messages never show a code.
GiftCodeCsv parse_gift_code_csv(std::istream& in, const std::string& name) {
  GiftCodeCsv file;
  CsvReader csv(in, name);
  const auto add_fault = [&](std::size_t line, const std::string& what) {
    file.faults.push_back(fmt::format("{}:{}: {}", name, line, what));
  };
  const auto header = csv.next();
  if (header && (header->cells.size() != 1 || ascii_lower(trimmed(header->cells.front())) != "code")) {
    add_fault(header->line, "found another header; allowed: the single column code");
    return file;
  }
  std::unordered_map<std::string, std::size_t> lines;
  while (const auto row = csv.next()) {
    const std::string code(row->cells.size() == 1 ? trimmed(row->cells.front()) : "");
    // A recipient would get "#N/A", or the first digits of a code.
    auto fault = formula_error(code);
    if (!fault) fault = rounded_number(code);
    if (!fault && ascii_lower(code) == "code") fault = "which is the header once more; delete the line";
    if (fault) {
      add_fault(row->line, fmt::format("code: found a cell, {}", *fault));
      continue;
    }
    if (!is_code(code)) {
      add_fault(row->line, row->cells.size() == 1
                               ? fmt::format("code: found an invalid code; allowed: {}", kAllowed)
                               : fmt::format("found {} cells; allowed: 1", row->cells.size()));
      continue;
    }
    const auto [known, is_new] = lines.emplace(code, row->line);
    if (is_new)
      file.codes.push_back(code);
    else
      add_fault(row->line,
                fmt::format("code: found the code of line {} again; allowed: each once", known->second));
  }
  if (!csv.fault().empty()) file.faults.push_back(csv.fault());
  if (file.faults.empty() && file.codes.empty())
    add_fault(1, "found no codes; allowed: a line \"code\", then one code per line");
  return file;
}

struct ImportOptions {
  std::int64_t gift = 0;
  std::string path;
};

int import_codes(const Console& console, CliContext& ctx, const ImportOptions& options) {
  const GiftId gift{options.gift};
  if (!ctx.store.catalogue.item(gift))
    return console.fail(EX_DATAERR, fmt::format("the catalogue has no item {}; import it first with "
                                                "\"giftsyncctl item import FILE.csv\"",
                                                gift.value));
  auto input = InputFile::open(options.path, console);
  if (!input) return console.fail(input.error());
  const GiftCodeCsv file = parse_gift_code_csv(input->stream(), input->name());
  if (!file.faults.empty()) return refuse_input(console, *input, file.faults);
  audit_object(console, std::to_string(gift.value),
               pluralize(file.codes.size(), "code") + " of " + input->name());
  const std::int64_t added = ctx.store.codes.import(gift, file.codes, console.now());
  console.out << fmt::format("{}: {} new, {} already known\n", pluralize(file.codes.size(), "code"), added,
                             static_cast<std::int64_t>(file.codes.size()) - added);
  return EX_OK;
}

int list_codes(const Console& console, CliContext& ctx, bool json) {
  const auto counts = ctx.store.codes.counts(ctx.settings.catalogue.low_code_threshold);
  std::map<GiftId, std::string> names;
  for (const store::GiftItem& item : ctx.store.catalogue.items()) names[item.id] = item.name;
  Listing list(console.out, json);
  for (const store::GiftCodeCounts& count : counts) {
    const bool is_low = count.left <= ctx.settings.catalogue.low_code_threshold;
    list.add([&](ListedRow& row) {
      row.add("gift_id", {"ITEM ID", Kind::number}, count.gift.value);
      row.add("name", {"NAME", Kind::elastic}, names[count.gift]);
      row.add("remaining", {"REMAINING", Kind::number}, count.left, count_text(count.left));
      row.add("issued", {"ISSUED", Kind::number}, count.handed_out, count_text(count.handed_out));
      row.add("low", {"STATE"}, is_low, count.left == 0 ? "exhausted" : is_low ? "low" : "good");
    });
  }
  list.finish();
  if (counts.empty() && !json)
    console.info("No codes yet; import some with \"giftsyncctl item codes import ITEM_ID FILE.csv\".");
  return EX_OK;
}

}  // namespace

void add_gift_code_commands(Commands& commands, Command& item) {
  Command* noun = commands.noun(item, "codes", "The codes of gift items: import them, count them");
  const auto options = std::make_shared<ImportOptions>();
  Command* import = commands.verb(
      *noun, "import",
      "Add codes to an item's list. A file with a fault is refused whole, with a list of all faults. Each "
      "recipient who accepts the item gets one code, the oldest first. Codes that the list already has stay "
      "unchanged.",
      {"item codes import 7 codes.csv", "item codes import 7 - < codes.csv"});
  import->add_option("ITEM_ID", options->gift, "The item's id: gift_id in its import file")
      ->required()
      ->check(whole_number());
  import->add_option("FILE", options->path, "CSV with the one column code; - reads stdin")->required();
  commands.run(import, options, import_codes);
  Command* list = commands.verb(
      *noun, "list",
      "List each item that has codes, with how many remain and how many are issued; low: at most "
      "catalogue.low_code_threshold remain.",
      {"item codes list", "item codes list --json"});
  commands.run(list, json_flag(list, "Print a JSON array"), list_codes);
}

std::set<GiftId> items_with_codes(const std::vector<store::GiftCodeCounts>& counts) {
  std::set<GiftId> items;
  for (const store::GiftCodeCounts& row : counts) items.insert(row.gift);
  return items;
}

std::vector<std::string> redemption_of(const store::GiftItem& item, const std::set<GiftId>& with_codes) {
  std::vector<std::string> parts;
  if (!item.redemption_text.empty()) parts.emplace_back("text");
  if (!item.redemption_link.empty()) parts.emplace_back("link");
  if (with_codes.contains(item.id)) parts.emplace_back("codes");
  return parts;
}

std::vector<GiftId> items_without_redemption(const std::vector<store::GiftItem>& items,
                                             const std::set<GiftId>& with_codes) {
  std::vector<GiftId> found;
  for (const store::GiftItem& item : items) {
    if (item.active && redemption_of(item, with_codes).empty()) found.push_back(item.id);
  }
  return found;
}

}  // namespace giftsync::cli
