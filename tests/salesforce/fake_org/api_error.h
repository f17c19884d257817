// Refusals in the words of Salesforce.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/salesforce/fake_org/json_text.h"

namespace giftsync::tests::fake_org {

/// A refused row of a save.
struct RowError {
  std::string code;
  std::string message;
  std::vector<std::string> fields = {};
};

/// A refused request: [{"message":"...","errorCode":"..."}] with an HTTP status.
class ApiError : public std::runtime_error {
 public:
  ApiError(int http_status, std::string_view code, const std::string& message,
           std::vector<std::string> fields = {})
      : std::runtime_error(message), status(http_status), body(Json::array()) {
    Json one{{"message", message}, {"errorCode", code}};
    if (!fields.empty()) one["fields"] = fields;
    body.push_back(std::move(one));
  }
  int status;
  Json body;
};

}  // namespace giftsync::tests::fake_org
