#include "crm/salesforce/calls/answers.h"

#include <fmt/format.h>

#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::salesforce {
namespace {

constexpr std::size_t kShownCharacters = 200;

/// Bytes that are not UTF-8 are cut as single characters, which visible_text() then shows.
std::string beginning_of(std::string_view body) {
  const std::string_view trimmed = giftsync::trimmed(body);
  const std::string shown = visible_text(trimmed.substr(0, 4 * kShownCharacters));
  return std::string(truncated(shown, kShownCharacters));
}

BodyFormat format_of(std::string_view body) {
  const std::string_view text = giftsync::trimmed(body);
  if (text.empty()) return BodyFormat::empty;
  if (text.front() == '{' || text.front() == '[') return BodyFormat::json;
  if (text.front() != '<') return BodyFormat::other;
  const std::string start = ascii_lower(text.substr(0, kShownCharacters));
  const bool is_html = start.starts_with("<!doctype html") || start.find("<html") != std::string::npos ||
                       start.starts_with("<head") || start.starts_with("<body");
  return is_html ? BodyFormat::html : BodyFormat::xml;
}

std::string_view format_name(BodyFormat format) {
  switch (format) {
    case BodyFormat::empty:
      return "without a body";
    case BodyFormat::json:
      return "JSON";
    case BodyFormat::html:
      return "an HTML page";
    case BodyFormat::xml:
      return "XML";
    case BodyFormat::other:
      return "text";
  }
  return "text";
}

std::vector<std::string> texts_at(const JsonValue& object, std::string_view name) {
  std::vector<std::string> texts;
  for (const JsonValue& element : list_at(object, name)) {
    if (const auto text = element.text()) texts.emplace_back(*text);
  }
  return texts;
}

/// Requests have errorCode, rows have statusCode.
ApiError error_of(const JsonValue& json) {
  std::string code = text_at(json, "errorCode");
  if (code.empty()) code = text_at(json, "statusCode");
  return {std::move(code), text_at(json, "message"), texts_at(json, "fields")};
}

WrittenRow written_row(const JsonValue& json) {
  WrittenRow row;
  row.id = text_at(json, "id");
  row.is_success = flag_at(json, "success");
  if (const JsonValue* created = json.find("created")) row.is_created = created->boolean();
  for (const JsonValue& error : list_at(json, "errors")) row.errors.push_back(error_of(error));
  return row;
}

std::optional<CompositePart> part_of(const JsonValue& json) {
  CompositePart part;
  const std::int64_t status = number_at(json, "httpStatusCode");
  part.body = json.find("body");
  if (status < 100 || status > 599 || !part.body) return std::nullopt;
  part.status = static_cast<int>(status);
  part.reference = text_at(json, "referenceId");
  return part;
}

}  // namespace

AnswerBody read_body(int status, std::string_view body) {
  AnswerBody answer;
  answer.status = status;
  answer.format = format_of(body);
  if (answer.format == BodyFormat::json) {
    auto parsed = parse_json(body, {.large_numbers_as_text = true});
    if (parsed) {
      answer.document = std::move(*parsed);
      return answer;
    }
    answer.fault = parsed.error().message;
  }
  answer.beginning = beginning_of(body);
  return answer;
}

std::string describe(const AnswerBody& body) {
  std::string text = fmt::format("HTTP {}, {}", body.status, format_name(body.format));
  if (!body.fault.empty()) text += fmt::format(" that cannot be read ({})", body.fault);
  if (!body.beginning.empty()) text += fmt::format(": \"{}\"", body.beginning);
  return text;
}

std::vector<ApiError> request_errors(const JsonValue& json) {
  std::vector<ApiError> errors;
  const auto add = [&](const JsonValue& element) {
    ApiError error = error_of(element);
    if (!error.code.empty()) errors.push_back(std::move(error));
  };
  if (json.is_object()) add(json);
  for (const JsonValue& element : json.elements()) add(element);
  return errors;
}

ApiError first_error(std::span<const ApiError> errors) {
  return errors.empty() ? ApiError{} : errors.front();
}

std::optional<OAuthError> oauth_error(const JsonValue& json) {
  OAuthError error{text_at(json, "error"), text_at(json, "error_description")};
  return error.code.empty() ? std::nullopt : std::optional(std::move(error));
}

tl::expected<QueryPage, Fault> query_page(const JsonValue& json) {
  const JsonValue* done = json.find("done");
  const JsonValue* records = json.find("records");
  if (!done || !done->boolean() || !records || !records->is_array())
    return tl::make_unexpected(Fault("the answer to a query has no done or no records"));
  QueryPage page;
  page.total_size = number_at(json, "totalSize");
  page.is_last = *done->boolean();
  page.next_url = text_at(json, "nextRecordsUrl");
  page.records = records->elements();
  if (!page.is_last && page.next_url.empty())
    return tl::make_unexpected(Fault("the answer to a query is not complete and names no next page"));
  if (page.is_last) page.next_url.clear();
  return page;
}

tl::expected<std::vector<WrittenRow>, Fault> written_rows(const JsonValue& json, std::size_t expected) {
  std::vector<WrittenRow> rows;
  if (json.is_array()) {
    for (const JsonValue& element : json.elements()) rows.push_back(written_row(element));
  } else if (json.is_object()) {
    rows.push_back(written_row(json));
  }
  if (rows.size() != expected)
    return tl::make_unexpected(
        Fault(fmt::format("the answer has {} rows, the request had {}", rows.size(), expected)));
  return rows;
}

tl::expected<std::vector<CompositePart>, Fault> composite_parts(const JsonValue& json) {
  const JsonValue* list = json.find("compositeResponse");
  if (!list || !list->is_array())
    return tl::make_unexpected(Fault("the answer to a composite call has no compositeResponse"));
  std::vector<CompositePart> parts;
  for (const JsonValue& element : list->elements()) {
    std::optional<CompositePart> part = part_of(element);
    if (!part) return tl::make_unexpected(Fault("a part of a composite answer has no status or no body"));
    parts.push_back(*std::move(part));
  }
  return parts;
}

std::string text_at(const JsonValue& object, std::string_view name) {
  const JsonValue* value = object.find(name);
  return value ? std::string(value->text().value_or("")) : std::string();
}

bool flag_at(const JsonValue& object, std::string_view name, bool otherwise) {
  const JsonValue* value = object.find(name);
  return value ? value->boolean().value_or(otherwise) : otherwise;
}

std::int64_t number_at(const JsonValue& object, std::string_view name) {
  const JsonValue* value = object.find(name);
  return value ? value->integer().value_or(0) : 0;
}

std::span<const JsonValue> list_at(const JsonValue& object, std::string_view name) {
  const JsonValue* value = object.find(name);
  return value ? value->elements() : std::span<const JsonValue>();
}

}  // namespace giftsync::salesforce
