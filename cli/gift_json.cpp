#include "cli/gift_json.h"

namespace giftsync::cli {
namespace {

struct ValueAsJson {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(const std::string& text) const { return text; }
  Json operator()(std::int64_t number) const { return number; }
  Json operator()(schema::Money amount) const { return schema::to_decimal(amount); }
  Json operator()(platform::UtcMillis time) const { return platform::to_rfc3339(time); }
  Json operator()(bool checked) const { return checked; }
};

}  // namespace

Json gift_record_json(const schema::GiftRecord& record) {
  Json json = Json::object();
  for (std::size_t i = 0; i < schema::kGiftFieldCount; ++i) {
    const auto field = static_cast<schema::GiftField>(i);
    json[std::string(schema::descriptor_of(field).name)] = std::visit(ValueAsJson{}, record.get(field));
  }
  return json;
}

Json costs_json(const schema::store::GiftCosts& costs) {
  return {{"item", json_amount(costs.item)},
          {"shipping", json_amount(costs.shipping)},
          {"carbon_neutral", json_amount(costs.carbon_neutral)},
          {"transaction_fee", json_amount(costs.transaction_fee)},
          {"total", json_amount(costs.total())}};
}

}  // namespace giftsync::cli
