#include "tests/salesforce/fake_org/json_text.h"

#include <array>
#include <charconv>
#include <cmath>

namespace giftsync::tests::fake_org {
namespace {

/// The fewest digits that give the same double again: "1.23e+09".
std::string shortest(double number, std::chars_format format) {
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, format).ptr;
  return {buffer.data(), end};
}

void append(std::string& text, const Json& value) {
  if (value.is_number_float()) {
    text += java_number(value.get<double>());
  } else if (value.is_array()) {
    text += "[";
    for (const Json& one : value) {
      if (&one != &value.front()) text += ",";
      append(text, one);
    }
    text += "]";
  } else if (value.is_object()) {
    text += "{";
    bool is_first = true;
    for (const auto& [name, one] : value.items()) {
      text += (is_first ? "" : ",") + Json(name).dump() + ":";
      append(text, one);
      is_first = false;
    }
    text += "}";
  } else {
    text += value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

}  // namespace

std::string java_number(double number) {
  const double size = std::abs(number);
  if (size == 0 || (size >= 1e-3 && size < 1e7)) {
    const std::string text = shortest(number, std::chars_format::fixed);
    return text.find('.') == std::string::npos ? text + ".0" : text;
  }
  const std::string text = shortest(number, std::chars_format::scientific);
  const std::size_t exponent_at = text.find('e');
  std::string mantissa = text.substr(0, exponent_at);
  if (mantissa.find('.') == std::string::npos) mantissa += ".0";
  std::string exponent = text.substr(exponent_at + 1);
  const bool is_negative = exponent.front() == '-';
  exponent.erase(0, exponent.find_first_not_of("+-0"));
  return mantissa + "E" + (is_negative ? "-" : "") + exponent;
}

std::string json_text(const Json& value) {
  std::string text;
  append(text, value);
  return text;
}

Json read_json(std::string_view text) {
  return Json::parse(text, nullptr, false);
}

}  // namespace giftsync::tests::fake_org
