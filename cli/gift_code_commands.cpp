// `item codes`: import the codes of gift items from a file and count them; codes are never printed.
#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/csv_reader.h"
#include "cli/input_file.h"
#include "cli/listing.h"
#include "platform/plural.h"
#include "platform/spreadsheet_text.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "sync/count_text.h"

namespace giftsync::cli {
namespace {

using sync::count_text;

constexpr std::size_t kMaxCodePoints = 255;
constexpr const char* kAllowed = "1 to 255 printable characters of UTF-8";

bool is_code(std::string_view text) {
  return !text.empty() && platform::is_plain_line(text) &&
         platform::count_code_points(text) <= kMaxCodePoints;
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
  if (header && (header->cells.size() != 1 ||
                 platform::ascii_lower(platform::trimmed(header->cells.front())) != "code")) {
    add_fault(header->line, "found another header; allowed: the single column code");
    return file;
  }
  std::unordered_map<std::string, std::size_t> lines;
  while (const auto row = csv.next()) {
    const std::string code(row->cells.size() == 1 ? platform::trimmed(row->cells.front()) : "");
    // A recipient would get "#N/A", or the first digits of a code.
    auto fault = platform::formula_error(code);
    if (!fault) fault = platform::rounded_number(code);
    if (!fault && platform::ascii_lower(code) == "code")
      fault = "which is the header once more; delete the line";
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
  const schema::GiftId gift{options.gift};
  if (!ctx.store.catalogue.item(gift))
    return console.fail(EX_DATAERR, fmt::format("the catalogue has no item {}; import it first with "
                                                "\"giftsyncctl item import FILE.csv\"",
                                                gift.value));
  auto input = InputFile::open(options.path, console);
  if (!input) return refuse(console, input.error());
  const GiftCodeCsv file = parse_gift_code_csv(input->stream(), input->name());
  if (!file.faults.empty()) return refuse_input(console, *input, file.faults);
  audit_object(console, std::to_string(gift.value),
               platform::pluralize(file.codes.size(), "code") + " of " + input->name());
  const std::int64_t added = ctx.store.codes.import(gift, file.codes, console.now());
  console.out << fmt::format("{}: {} new, {} already known\n", platform::pluralize(file.codes.size(), "code"),
                             added, static_cast<std::int64_t>(file.codes.size()) - added);
  return EX_OK;
}

int list_codes(const Console& console, CliContext& ctx, bool json) {
  const auto counts = ctx.store.codes.counts(ctx.settings.catalogue.low_code_threshold);
  std::map<schema::GiftId, std::string> names;
  for (const schema::store::GiftItem& item : ctx.store.catalogue.items()) names[item.id] = item.name;
  const auto is_low = [&](const schema::store::GiftCodeCounts& row) {
    return row.left <= ctx.settings.catalogue.low_code_threshold;
  };
  using Kind = TextTable::Kind;
  Listing list(console.out, json,
               {{"ITEM ID", Kind::number},
                {"NAME", Kind::elastic},
                {"REMAINING", Kind::number},
                {"ISSUED", Kind::number},
                {"STATE"}});
  for (const schema::store::GiftCodeCounts& row : counts) {
    list.add(
        [&]() -> Json {
          return {{"gift_id", row.gift.value},
                  {"name", names[row.gift]},
                  {"remaining", row.left},
                  {"issued", row.handed_out},
                  {"low", is_low(row)}};
        },
        [&]() -> TextTable::Row {
          return {{std::to_string(row.gift.value), names[row.gift], count_text(row.left),
                   count_text(row.handed_out),
                   row.left == 0 ? "exhausted"
                   : is_low(row) ? "low"
                                 : "good"}};
        });
  }
  list.finish();
  if (counts.empty() && !json)
    console.info("No codes yet; import some with \"giftsyncctl item codes import ITEM_ID FILE.csv\".");
  return EX_OK;
}

}  // namespace

void add_gift_code_commands(Commands& commands, CLI::App& item) {
  CLI::App* noun = commands.noun(item, "codes", "The codes of gift items: import them, count them");
  const auto options = std::make_shared<ImportOptions>();
  CLI::App* import = commands.verb(
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
  CLI::App* list = commands.verb(
      *noun, "list",
      "List each item that has codes, with how many remain and how many are issued; low: at most "
      "catalogue.low_code_threshold remain.",
      {"item codes list", "item codes list --json"});
  commands.run(list, json_flag(list, "Print a JSON array"), list_codes);
}

}  // namespace giftsync::cli
