#include "daemon/cli/item_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "daemon/cli/csv_reader.h"
#include "daemon/settings/nearest_word.h"
#include "daemon/settings/settings_fault.h"
#include "schema/text.h"

namespace giftsync::daemon {
namespace {

using schema::GiftItem;
using schema::Money;

const std::vector<std::string> kRequired{
    "gift_id", "name", "description", "item_cost", "shipping_cost", "carbon_neutral_cost", "transaction_fee"};
const std::vector<std::string> kOptional{"picture", "redemption_text", "redemption_link", "active"};
constexpr std::size_t kMostNameCodePoints = 255;
constexpr std::size_t kMostTextCodePoints = 131'072;  // the record's Description, Spec 2.5
constexpr std::size_t kMostLinkCodePoints = 2048;

std::vector<std::string> all_columns() {
  std::vector<std::string> all = kRequired;
  all.insert(all.end(), kOptional.begin(), kOptional.end());
  return all;
}

/// Reads the file row by row and keeps account of what is wrong.
class ItemReading {
 public:
  ItemReading(std::istream& in, const std::string& name) : csv_(in, name), name_(name) {}

  ItemFile read() {
    if (read_header()) {
      while (const auto row = csv_.next()) read_row(*row);
    }
    if (!csv_.fault().empty()) file_.faults.push_back(csv_.fault());
    if (file_.faults.empty() && file_.items.empty())
      blame(1, "found no items below the header; allowed: one or more");
    return std::move(file_);
  }

 private:
  void blame(std::size_t line, const std::string& what) {
    file_.faults.push_back(fmt::format("{}:{}: {}", name_, line, what));
  }
  void blame_cell(const std::string& column, const std::string& found, const std::string& allowed) {
    blame(row_->line, fmt::format("{}: found {}; allowed: {}", column, found, allowed));
  }

  bool read_header();
  void add_column(const std::string& written, std::size_t line);
  void read_row(const CsvRow& row);

  /// The trimmed cell; empty when the file has no such column.
  std::string cell(const std::string& column) const;
  schema::GiftId id();
  std::string text(const std::string& column, std::size_t least, std::size_t most);
  std::string link(const std::string& column);
  Money money(const std::string& column);
  std::optional<Money> money_if_any(const std::string& column);
  bool active();
  void check_total(const GiftItem& item);

  CsvReader csv_;
  const std::string name_;
  std::map<std::string, std::size_t> column_at_;
  std::size_t columns_ = 0;
  const CsvRow* row_ = nullptr;
  std::map<std::int64_t, std::size_t> line_of_id_;
  ItemFile file_;
};

void ItemReading::add_column(const std::string& written, std::size_t line) {
  const std::vector<std::string> known = all_columns();
  const std::string column = schema::ascii_lower(schema::trimmed(written));
  if (std::find(known.begin(), known.end(), column) == known.end()) {
    const std::string nearest = nearest_word(column, known);
    blame(line,
          fmt::format("found a column {}{}; allowed: {}", in_quotes(written),
                      nearest.empty() ? "" : "; did you mean " + nearest + "?", fmt::join(known, ", ")));
  } else if (!column_at_.emplace(column, columns_).second) {
    blame(line, fmt::format("found the column {} twice; allowed: once", column));
  }
  ++columns_;
}

bool ItemReading::read_header() {
  const auto header = csv_.next();
  if (!header) {
    if (csv_.fault().empty())
      blame(1, fmt::format("found an empty file; allowed: a header line with {}", fmt::join(kRequired, ",")));
    return false;
  }
  if (header->cells.size() == 1 && header->cells.front().find_first_of(";\t") != std::string::npos) {
    blame(header->line, "found columns that are not parted by commas; save the file as comma-separated CSV");
    return false;
  }
  for (const std::string& column : header->cells) add_column(column, header->line);
  for (const std::string& column : kRequired) {
    if (!column_at_.contains(column))
      blame(header->line, fmt::format("{}: found no such column; it is required", column));
  }
  return file_.faults.empty();
}

std::string ItemReading::cell(const std::string& column) const {
  const auto at = column_at_.find(column);
  return at == column_at_.end() ? std::string() : std::string(schema::trimmed(row_->cells[at->second]));
}

schema::GiftId ItemReading::id() {
  const std::string written = cell("gift_id");
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), value);
  if (error != std::errc() || end != written.data() + written.size() || value < 1 || value > schema::kMaxId) {
    blame_cell("gift_id", in_quotes(written), fmt::format("a whole number from 1 to {}", schema::kMaxId));
    return {};
  }
  const auto [known, is_new] = line_of_id_.try_emplace(value, row_->line);
  if (!is_new)
    blame_cell("gift_id", std::to_string(value),
               fmt::format("each id once; line {} has it already", known->second));
  return {value};
}

std::string ItemReading::text(const std::string& column, std::size_t least, std::size_t most) {
  std::string written = cell(column);
  if (!schema::is_storable_text(written)) {
    blame_cell(column, "text that is not UTF-8", "UTF-8 text without NUL; save the file as UTF-8");
    return {};
  }
  const std::size_t length = schema::count_code_points(written);
  if (length < least || length > most) {
    blame_cell(column, length == 0 ? "nothing" : fmt::format("{} characters", length),
               fmt::format("{} to {} characters", least, most));
  }
  return written;
}

std::string ItemReading::link(const std::string& column) {
  std::string written = text(column, 0, kMostLinkCodePoints);
  if (!written.empty() && !written.starts_with("https://") && !written.starts_with("http://")) {
    blame_cell(column, in_quotes(written), "a link that begins with https:// or http://");
  }
  return written;
}

std::optional<Money> ItemReading::money_if_any(const std::string& column) {
  return cell(column).empty() ? std::nullopt : std::optional(money(column));
}

Money ItemReading::money(const std::string& column) {
  const std::string written = cell(column);
  const auto amount = schema::from_decimal(written);
  if (!amount || *amount < Money{}) {
    blame_cell(column, written.empty() ? "nothing" : in_quotes(written),
               "an amount with at most two decimals such as 5.00, not below 0");
  }
  return amount.value_or(Money{});
}

bool ItemReading::active() {
  const std::string written = schema::ascii_lower(cell("active"));
  if (written.empty() || written == "true" || written == "1" || written == "yes") return true;
  if (written != "false" && written != "0" && written != "no")
    blame_cell("active", in_quotes(written), "true, false");
  return false;
}

void ItemReading::check_total(const GiftItem& item) {
  Money left = schema::kMaxMoney;
  for (const std::optional<Money> cost :
       {item.costs.item, item.costs.shipping, item.costs.carbon_neutral, item.costs.transaction_fee}) {
    left = {left.minor_units - cost.value_or(Money{}).minor_units};
    if (left < Money{}) {
      blame_cell("item_cost", "costs of more than " + to_decimal(schema::kMaxMoney) + " in all",
                 "what the CRM's Currency(16,2) holds");
      return;
    }
  }
}

void ItemReading::read_row(const CsvRow& row) {
  row_ = &row;
  if (row.cells.size() != columns_) {
    blame(row.line, fmt::format("found {} cells; allowed: {}, as in the header", row.cells.size(), columns_));
    return;
  }
  GiftItem item;
  item.id = id();
  item.name = text("name", 1, kMostNameCodePoints);
  item.description = text("description", 0, kMostTextCodePoints);
  item.costs.item = money("item_cost");
  item.costs.shipping = money_if_any("shipping_cost");
  item.costs.carbon_neutral = money_if_any("carbon_neutral_cost").value_or(Money{});
  item.costs.transaction_fee = money_if_any("transaction_fee").value_or(Money{});
  check_total(item);
  item.picture = text("picture", 0, kMostLinkCodePoints);
  item.redemption_text = text("redemption_text", 0, kMostTextCodePoints);
  item.redemption_link = link("redemption_link");
  item.active = active();
  file_.items.push_back(std::move(item));
}

}  // namespace

ItemFile read_item_file(std::istream& in, const std::string& name) {
  return ItemReading(in, name).read();
}

}  // namespace giftsync::daemon
