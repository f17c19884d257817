#include "cli/gift_export_rows.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "cli/gift_json.h"
#include "platform/plural.h"

namespace giftsync::cli {
namespace {

std::string cell_text(const Json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? csv_cell(value.get<std::string>()) : value.dump();
}

std::string amount_or_unknown(std::optional<schema::Money> amount) {
  return amount ? schema::to_decimal(*amount) : "unknown";
}

void add_costs(Json& row, const schema::store::GiftCosts& costs) {
  row["item_cost"] = json_amount(costs.item);
  row["shipping_cost"] = json_amount(costs.shipping);
  row["carbon_neutral_cost"] = json_amount(costs.carbon_neutral);
  row["transaction_fee"] = json_amount(costs.transaction_fee);
  row["total_price"] = json_amount(costs.total());
}

}  // namespace

Json export_row(const schema::store::Gift& gift, const std::optional<schema::store::Donation>& donation) {
  const schema::store::GiftRequest& request = gift.request;
  const schema::store::RecipientTransaction& transaction = gift.transaction;
  Json row = {{"recipient_transaction_id", transaction.id.value},
              {"gift_request_id", request.id.value},
              {"status", to_word(transaction.status)}};
  for (const schema::Status status : schema::kAllStatuses)
    row[std::string(to_word(status)) + "_at"] = json_time(transaction.times[status]);
  row["recipient_email"] = text_or_null(transaction.email);
  row["recipient_phone"] = text_or_null(transaction.phone);
  row["first_name"] = text_or_null(transaction.first_name);
  row["last_name"] = text_or_null(transaction.last_name);
  row["sender_email"] = text_or_null(request.sender_email);
  row["sender_name"] = text_or_null(request.sender_name);
  row["gift_id"] = request.gift.value == 0 ? Json(nullptr) : Json(request.gift.value);
  row["item_name"] = text_or_null(request.item_name);
  add_costs(row, request.costs);
  row["utm_campaign_id"] = text_or_null(request.utm_campaign_id.value_or(""));
  row["charity"] = donation ? text_or_null(donation->charity) : Json(nullptr);
  row["mode"] = to_word(request.mode);
  row["origin"] = text_or_null(transaction.gift_source);
  row["external_id"] = text_or_null(transaction.external_id);
  row["credential_prefix"] = text_or_null(request.credential_prefix);
  row["http_request_id"] = text_or_null(request.http_request_id);
  return row;
}

std::vector<std::string> export_columns() {
  std::vector<std::string> names;
  const Json row = export_row({});  // must outlive items()
  for (const auto& [name, value] : row.items()) names.push_back(name);
  return names;
}

std::string csv_line(const std::vector<std::string>& texts) {
  std::string line;
  for (const std::string& text : texts) line.append(line.empty() ? "" : ",").append(csv_cell(text));
  return line + "\r\n";
}

std::string csv_line(const Json& row) {
  std::string line;
  bool first = true;
  for (const auto& [name, value] : row.items()) {
    line.append(first ? "" : ",").append(cell_text(value));
    first = false;
  }
  return line + "\r\n";
}

void ExportTotals::add(const schema::store::Gift& gift) {
  Sum& sum = sums_[gift.transaction.status];
  const schema::store::GiftCosts& costs = gift.request.costs;
  ++sum.gifts;
  sum.costs = {sum.costs.item + costs.item, sum.costs.shipping + costs.shipping,
               sum.costs.carbon_neutral + costs.carbon_neutral,
               sum.costs.transaction_fee + costs.transaction_fee};
}

std::int64_t ExportTotals::count() const {
  std::int64_t count = 0;
  for (const auto& [status, sum] : sums_) count += sum.gifts;
  return count;
}

std::vector<Json> ExportTotals::rows() const {
  std::vector<Json> rows;
  for (const auto& [status, sum] : sums_) {
    Json row = {{"status", to_word(status)}, {"gifts", sum.gifts}};
    add_costs(row, sum.costs);
    rows.push_back(std::move(row));
  }
  return rows;
}

void ExportTotals::print(std::ostream& out) const {
  for (const auto& [status, sum] : sums_)
    fmt::print(out, "{} {}: total {}\n", platform::pluralize(sum.gifts, "gift"), to_word(status),
               amount_or_unknown(sum.costs.total()));
}

}  // namespace giftsync::cli
