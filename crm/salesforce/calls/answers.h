// crm/salesforce: the bodies of Salesforce's answers as values: pages of a query, rows of a Collections
// call, parts of a composite call, and the errors of each. A body that is not JSON (maintenance pages, errors
// of proxies, XML at sign-in) keeps its beginning for messages. Pure; any thread.
//
// Values with a JsonValue are views into their AnswerBody: valid as long as it exists, also after it is
// moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "platform/strict_json.h"

namespace giftsync::salesforce {

enum class BodyFormat { empty, json, html, xml, other };

struct AnswerBody {
  int status = 0;  ///< of HTTP
  BodyFormat format = BodyFormat::empty;
  std::optional<JsonDocument> document;  ///< of JSON
  std::string beginning;  ///< of a body that is no valid JSON: its first 200 characters, visible
  std::string fault;      ///< why a body that looks like JSON is none
  std::string date = {};  ///< of HTTP, as it came; empty when it is missing

  const JsonValue* json() const { return document ? &document->root() : nullptr; }
};

AnswerBody read_body(int status, std::string_view body);

/// "HTTP 503, an HTML page: \"<html>...\"": what to tell of an answer that is not as expected.
std::string describe(const AnswerBody& body);

/// An error of a whole request, a part or a row.
struct ApiError {
  std::string code;  ///< errorCode of requests, statusCode of rows
  std::string message;
  std::vector<std::string> fields;
};

/// All errors of `[{"message":..,"errorCode":..}]`, also of a single object; empty when there is none.
std::vector<ApiError> request_errors(const JsonValue& json);

/// An error without code and words when there is none.
ApiError first_error(std::span<const ApiError> errors);

/// `{"error":"invalid_grant","error_description":".."}`.
struct OAuthError {
  std::string code;
  std::string description;
};
std::optional<OAuthError> oauth_error(const JsonValue& json);

/// The text or number of a description that is missing or has another type.
using Fault = std::string;

struct QueryPage {
  std::int64_t total_size = 0;
  bool is_last = true;
  std::string next_url;  ///< empty on the last page
  std::span<const JsonValue> records;
};
/// A page that is not the last one and names no next one is a fault: its rows are not all rows.
tl::expected<QueryPage, Fault> query_page(const JsonValue& json);

/// One row of a Collections answer, or the answer to a single write.
struct WrittenRow {
  std::string id;  ///< empty where the row failed
  bool is_success = false;
  std::optional<bool> is_created;  ///< only upserts tell
  std::vector<ApiError> errors;
};
/// The rows in the order of the request; a fault when there are not `expected` ones.
tl::expected<std::vector<WrittenRow>, Fault> written_rows(const JsonValue& json, std::size_t expected);

struct CompositePart {
  int status = 0;
  std::string reference;
  const JsonValue* body = nullptr;  ///< never null; it may hold JSON's null
};
tl::expected<std::vector<CompositePart>, Fault> composite_parts(const JsonValue& json);

// The value of a member of an object, or what stands for one that is null, missing or of another type.

/// Empty: there is no text.
std::string text_at(const JsonValue& object, std::string_view name);
bool flag_at(const JsonValue& object, std::string_view name, bool otherwise = false);
/// 0: there is no whole number.
std::int64_t number_at(const JsonValue& object, std::string_view name);
/// The elements of a list.
std::span<const JsonValue> list_at(const JsonValue& object, std::string_view name);

}  // namespace giftsync::salesforce
