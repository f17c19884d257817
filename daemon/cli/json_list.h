// daemon/cli: --json output: an array written element by element, one a line, so that a listing of any length
// needs the memory of one element.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>

#include "schema/money.h"
#include "schema/time.h"

namespace giftsync::daemon {

/// Members stay in the order in which they were set.
using Json = nlohmann::ordered_json;

/// Ill-formed UTF-8, which only plain SQL can have put into a CRM row, is shown as U+FFFD.
std::string json_text(const Json& json, int indent = -1);

/// RFC 3339 in UTC, or null.
Json json_time(const std::optional<schema::UtcMillis>& time);

/// "5.50", or null.
Json json_amount(std::optional<schema::Money> amount);

class JsonList {
 public:
  explicit JsonList(std::ostream& out) : out_(out) {}
  void add(const Json& element);
  void finish();

 private:
  std::ostream& out_;
  bool empty_ = true;
};

}  // namespace giftsync::daemon
