// Requests and answers as values, without sockets.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tests/salesforce/fake_org/json_text.h"
#include "tests/salesforce/fake_org/objects.h"

namespace giftsync::tests::fake_org {

struct NameOrder {
  bool operator()(const std::string& one, const std::string& other) const;
};
using Headers = std::map<std::string, std::string, NameOrder>;  ///< without regard to case

struct ApiRequest {
  std::string method;
  std::string path;  ///< decoded, without the query
  std::map<std::string, std::string> query;
  Headers headers;
  std::string body;

  std::string parameter(const std::string& name) const;
  std::string header(const std::string& name) const;
  /// Throws ApiError JSON_PARSER_ERROR.
  Json json() const;
};

struct ApiAnswer {
  int status = 200;
  Json body = nullptr;  ///< null: no body
  Headers headers = {};
  std::string text = {};  ///< instead of the body, for what is no JSON
  std::string content_type = "application/json;charset=UTF-8";
  bool is_cut = false;  ///< the connection ends without an answer
};

/// "/query?q=a+b%20c" into path and parameters. A "+" in the path stays.
void set_address(ApiRequest& request, std::string_view address);
/// "name=value&name=value", as in forms.
std::map<std::string, std::string> decoded_form(std::string_view text);
/// "Tue, 24 Nov 2026 20:35:04 GMT", and back; -1 for any other text.
std::string http_date(std::int64_t millis);
std::int64_t millis_of_http_date(const std::string& text);

}  // namespace giftsync::tests::fake_org
