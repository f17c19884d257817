#include "cli/item_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "cli/csv_reader.h"
#include "daemon/config/suggestion.h"
#include "platform/quoted_text.h"
#include "platform/text.h"

namespace giftsync::cli {
namespace {

const std::vector<std::string> kRequired{
    "gift_id", "name", "description", "item_cost", "shipping_cost", "carbon_neutral_cost", "transaction_fee"};
const std::vector<std::string> kOptional{"picture", "redemption_text", "redemption_link", "active"};
constexpr std::size_t kMaxNameCodePoints = 255;
constexpr std::size_t kMaxTextCodePoints = 131'072;  // the record's Description (SYNC-3)
constexpr std::size_t kMaxLinkCodePoints = 2048;

std::vector<std::string> all_columns() {
  std::vector<std::string> all = kRequired;
  all.insert(all.end(), kOptional.begin(), kOptional.end());
  return all;
}

/// Reads the file row by row and collects its faults.
class ItemCsvParser {
 public:
  ItemCsvParser(std::istream& in, const std::string& name) : csv_(in, name), name_(name) {}

  ItemCsv read() {
    if (read_header()) {
      while (const auto row = csv_.next()) read_row(*row);
    }
    if (!csv_.fault().empty()) file_.faults.push_back(csv_.fault());
    if (file_.faults.empty() && file_.items.empty())
      add_fault(1, "found no items below the header; allowed: one or more");
    return std::move(file_);
  }

 private:
  void add_fault(std::size_t line, const std::string& what) {
    file_.faults.push_back(fmt::format("{}:{}: {}", name_, line, what));
  }
  void add_cell_fault(const std::string& column, const std::string& found, const std::string& allowed) {
    add_fault(row_->line, fmt::format("{}: found {}; allowed: {}", column, found, allowed));
  }

  bool read_header();
  void add_column(const std::string& written, std::size_t line);
  void read_row(const CsvRow& row);

  /// The trimmed cell; empty if the file has no such column.
  std::string cell(const std::string& column) const;
  schema::GiftId id();
  std::string text(const std::string& column, std::size_t min_length, std::size_t max_length);
  std::string link(const std::string& column);
  schema::Money money(const std::string& column);
  std::optional<schema::Money> money_if_any(const std::string& column);
  bool active();
  void check_total(const schema::store::GiftItem& item);

  CsvReader csv_;
  const std::string name_;
  std::map<std::string, std::size_t> column_at_;
  std::size_t columns_ = 0;
  const CsvRow* row_ = nullptr;
  std::map<std::int64_t, std::size_t> line_of_id_;
  ItemCsv file_;
};

void ItemCsvParser::add_column(const std::string& written, std::size_t line) {
  const std::vector<std::string> known = all_columns();
  const std::string column = platform::ascii_lower(platform::trimmed(written));
  if (std::find(known.begin(), known.end(), column) == known.end()) {
    const std::string nearest = daemon::config::suggestion_for(column, known);
    add_fault(line,
              fmt::format("found a column {}{}; allowed: {}", platform::in_quotes(written),
                          nearest.empty() ? "" : "; did you mean " + nearest + "?", fmt::join(known, ", ")));
  } else if (!column_at_.emplace(column, columns_).second) {
    add_fault(line, fmt::format("found the column {} twice; allowed: once", column));
  }
  ++columns_;
}

bool ItemCsvParser::read_header() {
  const auto header = csv_.next();
  if (!header) {
    if (csv_.fault().empty())
      add_fault(
          1, fmt::format("found an empty file; allowed: a header line with {}", fmt::join(kRequired, ",")));
    return false;
  }
  if (header->cells.size() == 1 && header->cells.front().find_first_of(";\t") != std::string::npos) {
    add_fault(header->line,
              "found columns that are not separated by commas; save the file as comma-separated CSV");
    return false;
  }
  for (const std::string& column : header->cells) add_column(column, header->line);
  for (const std::string& column : kRequired) {
    if (!column_at_.contains(column))
      add_fault(header->line, fmt::format("{}: found no such column; it is required", column));
  }
  return file_.faults.empty();
}

std::string ItemCsvParser::cell(const std::string& column) const {
  const auto at = column_at_.find(column);
  return at == column_at_.end() ? std::string() : std::string(platform::trimmed(row_->cells[at->second]));
}

schema::GiftId ItemCsvParser::id() {
  const std::string written = cell("gift_id");
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), value);
  if (error != std::errc() || end != written.data() + written.size() || value < 1 || value > schema::kMaxId) {
    add_cell_fault("gift_id", platform::in_quotes(written),
                   fmt::format("a whole number from 1 to {}", schema::kMaxId));
    return {};
  }
  const auto [known, is_new] = line_of_id_.try_emplace(value, row_->line);
  if (!is_new)
    add_cell_fault("gift_id", std::to_string(value),
                   fmt::format("each id once; line {} has this id", known->second));
  return {value};
}

std::string ItemCsvParser::text(const std::string& column, std::size_t min_length, std::size_t max_length) {
  std::string written = cell(column);
  if (!platform::is_storable_text(written)) {
    add_cell_fault(column, "text that is not UTF-8", "UTF-8 text without NUL; save the file as UTF-8");
    return {};
  }
  const std::size_t length = platform::count_code_points(written);
  if (length < min_length || length > max_length) {
    add_cell_fault(column, length == 0 ? "nothing" : fmt::format("{} characters", length),
                   fmt::format("{} to {} characters", min_length, max_length));
  }
  return written;
}

std::string ItemCsvParser::link(const std::string& column) {
  std::string written = text(column, 0, kMaxLinkCodePoints);
  if (!written.empty() && !written.starts_with("https://") && !written.starts_with("http://")) {
    add_cell_fault(column, platform::in_quotes(written), "a link that begins with https:// or http://");
  }
  return written;
}

std::optional<schema::Money> ItemCsvParser::money_if_any(const std::string& column) {
  return cell(column).empty() ? std::nullopt : std::optional(money(column));
}

schema::Money ItemCsvParser::money(const std::string& column) {
  const std::string written = cell(column);
  const auto amount = schema::from_decimal(written);
  if (!amount || *amount < schema::Money{}) {
    add_cell_fault(column, written.empty() ? "nothing" : platform::in_quotes(written),
                   "an amount with at most two decimals such as 5.00, not below 0");
  }
  return amount.value_or(schema::Money{});
}

bool ItemCsvParser::active() {
  const std::string written = platform::ascii_lower(cell("active"));
  if (written.empty() || written == "true" || written == "1" || written == "yes") return true;
  if (written != "false" && written != "0" && written != "no")
    add_cell_fault("active", platform::in_quotes(written), "true, false");
  return false;
}

void ItemCsvParser::check_total(const schema::store::GiftItem& item) {
  schema::Money left = schema::kMaxMoney;
  for (const std::optional<schema::Money> cost :
       {item.costs.item, item.costs.shipping, item.costs.carbon_neutral, item.costs.transaction_fee}) {
    left = {left.minor_units - cost.value_or(schema::Money{}).minor_units};
    if (left < schema::Money{}) {
      add_cell_fault("item_cost", "costs of more than " + schema::to_decimal(schema::kMaxMoney) + " in all",
                     "a total that fits the CRM's Currency(16,2)");
      return;
    }
  }
}

void ItemCsvParser::read_row(const CsvRow& row) {
  row_ = &row;
  if (row.cells.size() != columns_) {
    add_fault(row.line,
              fmt::format("found {} cells; allowed: {}, as in the header", row.cells.size(), columns_));
    return;
  }
  schema::store::GiftItem item;
  item.id = id();
  item.name = text("name", 1, kMaxNameCodePoints);
  item.description = text("description", 0, kMaxTextCodePoints);
  item.costs.item = money("item_cost");
  item.costs.shipping = money_if_any("shipping_cost");
  item.costs.carbon_neutral = money_if_any("carbon_neutral_cost").value_or(schema::Money{});
  item.costs.transaction_fee = money_if_any("transaction_fee").value_or(schema::Money{});
  check_total(item);
  item.picture = text("picture", 0, kMaxLinkCodePoints);
  item.redemption_text = text("redemption_text", 0, kMaxTextCodePoints);
  item.redemption_link = link("redemption_link");
  item.active = active();
  file_.items.push_back(std::move(item));
}

}  // namespace

ItemCsv parse_item_csv(std::istream& in, const std::string& name) {
  return ItemCsvParser(in, name).read();
}

}  // namespace giftsync::cli
