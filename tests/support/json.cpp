#include "tests/support/json.h"

#include <ostream>

namespace giftsync::tests {

nlohmann::json parse_json(std::string_view text) {
  return nlohmann::json::parse(text);
}

Json parse_ordered_json(std::string_view text) {
  return Json::parse(text);
}

}  // namespace giftsync::tests

namespace nlohmann {

void PrintTo(const json& value, std::ostream* out) {
  *out << value;
}

void PrintTo(const ordered_json& value, std::ostream* out) {
  *out << value;
}

}  // namespace nlohmann
