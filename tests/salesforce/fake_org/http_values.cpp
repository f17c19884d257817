#include "tests/salesforce/fake_org/http_values.h"

#include <Poco/DateTime.h>
#include <Poco/DateTimeFormat.h>
#include <Poco/DateTimeFormatter.h>
#include <Poco/DateTimeParser.h>
#include <Poco/Timestamp.h>
#include <Poco/URI.h>

#include <algorithm>

#include "platform/text.h"
#include "tests/salesforce/fake_org/api_error.h"

namespace giftsync::tests::fake_org {
namespace {

std::string decoded(std::string_view text) {
  std::string made;
  Poco::URI::decode(std::string(text), made);
  return made;
}

std::string value_in(const auto& map, const std::string& name) {
  const auto found = map.find(name);
  return found == map.end() ? std::string() : found->second;
}

}  // namespace

bool NameOrder::operator()(const std::string& one, const std::string& other) const {
  return ascii_lower(one) < ascii_lower(other);
}

std::string ApiRequest::parameter(const std::string& name) const {
  return value_in(query, name);
}

std::string ApiRequest::header(const std::string& name) const {
  return value_in(headers, name);
}

Json ApiRequest::json() const {
  Json parsed = read_json(body);
  if (parsed.is_discarded() || !parsed.is_object())
    throw ApiError(400, "JSON_PARSER_ERROR",
                   "Unexpected character in the request body at [line:1, column:1]");
  return parsed;
}

std::map<std::string, std::string> decoded_form(std::string_view text) {
  std::map<std::string, std::string> values;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
    std::string with_blanks(pair);
    std::ranges::replace(with_blanks, '+', ' ');
    const std::size_t equals = std::min(with_blanks.find('='), with_blanks.size());
    values[decoded(std::string_view(with_blanks).substr(0, equals))] =
        equals == with_blanks.size() ? std::string()
                                     : decoded(std::string_view(with_blanks).substr(equals + 1));
  }
  return values;
}

void set_address(ApiRequest& request, std::string_view address) {
  const std::size_t mark = std::min(address.find('?'), address.size());
  request.path = decoded(address.substr(0, mark));
  while (request.path.size() > 1 && request.path.back() == '/') request.path.pop_back();
  request.query =
      mark == address.size() ? std::map<std::string, std::string>{} : decoded_form(address.substr(mark + 1));
}

std::string http_date(std::int64_t millis) {
  return Poco::DateTimeFormatter::format(Poco::Timestamp(millis * 1000), Poco::DateTimeFormat::HTTP_FORMAT);
}

std::int64_t millis_of_http_date(const std::string& text) {
  Poco::DateTime time;
  int zone = 0;
  if (!Poco::DateTimeParser::tryParse(Poco::DateTimeFormat::HTTP_FORMAT, text, time, zone)) return -1;
  return time.timestamp().epochMicroseconds() / 1000;
}

}  // namespace giftsync::tests::fake_org
