#include "cli/gift/item_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "cli/console.h"
#include "cli/csv_reader.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "schema/picture_url.h"

namespace giftsync::cli {
namespace {

const std::vector<std::string> kRequired{
    "gift_id", "name", "description", "item_cost", "shipping_cost", "carbon_neutral_cost", "transaction_fee"};
const std::vector<std::string> kOptional{"picture", "redemption_text", "redemption_link", "active"};
constexpr std::size_t kMaxTextCodePoints = 131'072;  // the record's Description (SYNC-3)
constexpr std::size_t kMaxLinkCodePoints = 2048;

struct CellFault {
  std::string found;
  std::string allowed;
};

/// A value beside a fault: later checks of the row take it, so that all faults are listed.
template <class Value>
struct ReadCell {
  Value value = {};
  std::optional<CellFault> fault = {};
};

ReadCell<GiftId> read_id(const std::string& written) {
  const auto id = parse_number<std::int64_t>(written);
  if (id && *id >= 1 && *id <= kMaxId) return {{*id}};
  return {{}, CellFault{in_quotes(written), fmt::format("a whole number from 1 to {}", kMaxId)}};
}

ReadCell<std::string> read_text(const std::string& written, std::size_t min_length, std::size_t max_length) {
  if (!is_storable_text(written))
    return {{}, CellFault{"text that is not UTF-8", "UTF-8 text without NUL; save the file as UTF-8"}};
  if (const auto fault = formula_error(written))
    return {written, CellFault{fmt::format("{}, {}", in_quotes(written), *fault), "text"}};
  const std::size_t length = count_code_points(written);
  if (length >= min_length && length <= max_length) return {written};
  return {written, CellFault{length == 0 ? "nothing" : fmt::format("{} characters", length),
                             fmt::format("{} to {} characters", min_length, max_length)}};
}

std::optional<CellFault> link_fault(const std::string& link) {
  if (link.empty()) return std::nullopt;
  const std::string found = in_quotes(link);
  if (!link.starts_with("https://") && !link.starts_with("http://"))
    return CellFault{found, "a link that begins with https:// or http://"};
  const std::string authority = link.substr(0, link.find_first_of("/?#", link.find("//") + 2));
  if (authority.ends_with("//") || authority.find('@') != std::string::npos)
    return CellFault{found, "a link to a host, without a user"};
  if (link.find_first_of(" \"<>\\") != std::string::npos || visible_text(link) != link)
    return CellFault{found,
                     "a link without blanks, quotation marks and invisible characters; write them as "
                     "%20 and the like"};
  return std::nullopt;
}

/// A gift's page would not show it.
std::optional<CellFault> picture_fault(const std::string& url) {
  if (url.empty() || !csp_image_source(url).empty()) return std::nullopt;
  return CellFault{
      in_quotes(url),
      "the https URL of a picture that anyone can load, such as https://cdn.example.com/mug.jpg"};
}

ReadCell<Money> read_cost(const std::string& written) {
  const auto amount = from_decimal(written);
  if (amount && *amount >= Money{}) return {*amount};
  return {amount.value_or(Money{}),
          CellFault{written.empty() ? "nothing" : in_quotes(written),
                    "an amount with at most two decimals such as 5.00, not below 0"}};
}

std::optional<CellFault> total_fault(const store::GiftCosts& costs) {
  Money total;
  for (const auto& cost : {costs.item, costs.shipping, costs.carbon_neutral, costs.transaction_fee}) {
    total = total + cost.value_or(Money{});
    if (total > kMaxMoney)
      return CellFault{"costs of more than " + to_decimal(kMaxMoney) + " in all",
                       "a total that fits the CRM's Currency(16,2)"};
  }
  return std::nullopt;
}

ReadCell<bool> read_active(const std::string& written) {
  const std::string word = ascii_lower(written);
  if (word.empty() || word == "true" || word == "1" || word == "yes") return {true};
  if (word == "false" || word == "0" || word == "no") return {false};
  return {false, CellFault{in_quotes(word), "true, false"}};
}

std::string fault_text(const std::string& column, const CellFault& fault) {
  return fmt::format("{}: found {}; allowed: {}", column, fault.found, fault.allowed);
}

struct ItemRow {
  store::GiftItem item;  // to be used only if there are no faults
  std::vector<std::string> faults;
};

/// Whether another row has the same id is not checked.
ItemRow read_row(const CsvHeader& header, const std::vector<std::string>& cells) {
  if (auto fault = header.row_fault(cells)) return {{}, {std::move(*fault)}};
  std::vector<std::string> faults;
  const auto cell = [&](const std::string& column) { return header.cell(cells, column); };
  const auto add_fault = [&](const std::string& column, const std::optional<CellFault>& fault) {
    if (fault) faults.push_back(fault_text(column, *fault));
  };
  const auto take = [&](const std::string& column, auto read) {
    add_fault(column, read.fault);
    return std::move(read.value);
  };
  const auto text = [&](const std::string& column, std::size_t min_length, std::size_t max_length) {
    return take(column, read_text(cell(column), min_length, max_length));
  };
  const auto cost = [&](const std::string& column) { return take(column, read_cost(cell(column))); };
  const auto cost_if_any = [&](const std::string& column) {
    return cell(column).empty() ? std::nullopt : std::optional(cost(column));
  };
  store::GiftItem item;
  item.id = take("gift_id", read_id(cell("gift_id")));
  item.name = text("name", 1, kMaxNameCodePoints);
  if (!is_plain_line(item.name))
    add_fault("name", CellFault{in_quotes(item.name),
                                "one line without control characters and bidirectional overrides"});
  item.description = text("description", 0, kMaxTextCodePoints);
  item.costs.item = cost("item_cost");
  item.costs.shipping = cost_if_any("shipping_cost");
  item.costs.carbon_neutral = cost_if_any("carbon_neutral_cost").value_or(Money{});
  item.costs.transaction_fee = cost_if_any("transaction_fee").value_or(Money{});
  add_fault("item_cost", total_fault(item.costs));
  item.picture = text("picture", 0, kMaxLinkCodePoints);
  add_fault("picture", picture_fault(item.picture));
  item.redemption_text = text("redemption_text", 0, kMaxTextCodePoints);
  item.redemption_link = text("redemption_link", 0, kMaxLinkCodePoints);
  add_fault("redemption_link", link_fault(item.redemption_link));
  item.active = take("active", read_active(cell("active")));
  return {std::move(item), std::move(faults)};
}

}  // namespace

ItemCsv parse_item_csv(std::istream& in, const std::string& name) {
  CsvReader csv(in, name);
  ItemCsv file;
  const auto add_faults = [&](std::size_t line, const std::vector<std::string>& faults) {
    for (const std::string& fault : faults)
      file.faults.push_back(fmt::format("{}:{}: {}", name, line, fault));
  };
  CsvHeader header;
  if (const auto first = csv.next()) {
    header = read_csv_header(first->cells, kRequired, kOptional);
    add_faults(first->line, header.faults);
  } else if (csv.fault().empty()) {
    add_faults(
        1, {fmt::format("found an empty file; allowed: a header line with {}", fmt::join(kRequired, ","))});
  }
  std::map<std::int64_t, std::size_t> line_of_id;
  while (const auto row = header.faults.empty() ? csv.next() : std::nullopt) {
    ItemRow read = read_row(header, row->cells);
    const std::int64_t id = read.item.id.value;  // 0: the row has no valid id
    if (const auto [known, is_new] = line_of_id.try_emplace(id, row->line); id != 0 && !is_new) {
      const CellFault repeated{std::to_string(id),
                               fmt::format("each id once; line {} has this id", known->second)};
      add_faults(row->line, {fault_text("gift_id", repeated)});
    }
    add_faults(row->line, read.faults);
    file.items.push_back(std::move(read.item));
  }
  if (!csv.fault().empty()) file.faults.push_back(csv.fault());
  if (file.faults.empty() && file.items.empty())
    add_faults(1, {"found no items below the header; allowed: one or more"});
  return file;
}

}  // namespace giftsync::cli
