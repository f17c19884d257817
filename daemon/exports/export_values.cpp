#include "daemon/exports/export_values.h"

#include "platform/visible_text.h"

namespace giftsync::exports {

std::string json_text(const Json& json, int indent) {
  return visible_json(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

Json json_time(const std::optional<UtcMillis>& time) {
  return time ? Json(to_rfc3339(*time)) : Json(nullptr);
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json json_amount(std::optional<Money> amount) {
  return amount ? Json(to_decimal(*amount)) : Json(nullptr);
}

void add_currency(Json& json, const std::string& currency) {
  if (!currency.empty()) json["currency"] = currency;
}

}  // namespace giftsync::exports
