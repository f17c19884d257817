// cli: --json output: an array written element by element, one per line, so that memory holds one element.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>

#include "platform/time.h"
#include "schema/money.h"

namespace giftsync::cli {

/// Keeps the order of insertion.
using Json = nlohmann::ordered_json;

/// Replaces invalid UTF-8 (from CRM rows that were written with plain SQL) by U+FFFD; invisible characters
/// are \u escapes.
std::string json_text(const Json& json, int indent = -1);

/// RFC 3339 in UTC, or null.
Json json_time(const std::optional<platform::UtcMillis>& time);

/// The text; null if it is empty.
Json text_or_null(const std::string& text);

/// "5.50", or null.
Json json_amount(std::optional<schema::Money> amount);

class JsonArrayWriter {
 public:
  explicit JsonArrayWriter(std::ostream& out) : out_(out) {}
  void add(const Json& element);
  void finish();

 private:
  std::ostream& out_;
  bool empty_ = true;
};

}  // namespace giftsync::cli
