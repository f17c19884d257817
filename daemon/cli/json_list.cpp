#include "daemon/cli/json_list.h"

namespace giftsync::daemon {

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json json_time(const std::optional<schema::UtcMillis>& time) {
  return time ? Json(schema::to_rfc3339(*time)) : Json(nullptr);
}

Json json_amount(std::optional<schema::Money> amount) {
  return amount ? Json(to_decimal(*amount)) : Json(nullptr);
}

void JsonList::add(const Json& element) {
  out_ << (empty_ ? "[\n  " : ",\n  ") << json_text(element);
  empty_ = false;
}

void JsonList::finish() {
  out_ << (empty_ ? "[]\n" : "\n]\n");
}

}  // namespace giftsync::daemon
