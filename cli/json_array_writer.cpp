#include "cli/json_array_writer.h"

#include "platform/visible_text.h"

namespace giftsync::cli {

std::string json_text(const Json& json, int indent) {
  return platform::visible_json(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

Json json_time(const std::optional<platform::UtcMillis>& time) {
  return time ? Json(platform::to_rfc3339(*time)) : Json(nullptr);
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json json_amount(std::optional<schema::Money> amount) {
  return amount ? Json(schema::to_decimal(*amount)) : Json(nullptr);
}

void JsonArrayWriter::add(const Json& element) {
  out_ << (empty_ ? "[\n  " : ",\n  ") << json_text(element);
  empty_ = false;
}

void JsonArrayWriter::finish() {
  out_ << (empty_ ? "[]\n" : "\n]\n");
}

}  // namespace giftsync::cli
