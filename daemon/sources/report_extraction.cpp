#include "daemon/sources/report_extraction.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/http/json_ambiguity.h"
#include "daemon/sources/source_json.h"

namespace giftsync::daemon {
namespace {

bool needs_escape(char c) {
  return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
}

void write_quoted(std::string_view text, std::string& out) {
  if (std::none_of(text.begin(), text.end(), needs_escape)) {
    out.append("\"").append(text).append("\"");
  } else {
    out += nlohmann::json(text).dump();
  }
}

/// What there is of equal names and the like, to go on in other sentences.
std::string ambiguity_in_words(const JsonValue& value, const JsonValue* except = nullptr) {
  const auto fault = ambiguity_in(value, except);
  return fault ? fault->message.substr(0, fault->message.find_last_not_of('.') + 1) : std::string();
}

/// Writes what reads back as the same value. Once there is more than is kept of a report it only stops.
void write_json(const JsonValue& value, std::string& out) {
  if (out.size() > kMaxItemBytes) return;
  if (value.is_array()) {
    out += '[';
    for (const JsonValue& element : value.elements()) {
      if (out.back() != '[') out += ',';
      write_json(element, out);
      if (out.size() > kMaxItemBytes) return;
    }
    out += ']';
  } else if (value.is_object()) {
    out += '{';
    for (const JsonMember& member : value.members()) {
      if (out.back() != '{') out += ',';
      write_quoted(member.name, out);
      out += ':';
      write_json(member.value, out);
      if (out.size() > kMaxItemBytes) return;
    }
    out += '}';
  } else if (const auto text = value.text()) {
    write_quoted(*text, out);
  } else {
    out += value.is_null() ? "null" : text_of(value);
  }
}

RawReport extract_one(const JsonValue& item, const SourcePlan& plan) {
  RawReport report;
  report.unread = ambiguity_in_words(item);
  for (const auto& [field, pointer] : plan.pointers) {
    if (!report.unread.empty()) break;
    if (const JsonValue* value = pointer.in(item)) report.set(field, text_of(*value));
  }
  write_json(item, report.item);
  report.is_item_too_long = report.item.size() > kMaxItemBytes;
  if (report.is_item_too_long) report.item = {};
  return report;
}

}  // namespace

std::string text_of(const JsonValue& value) {
  if (const auto text = value.text()) return std::string(*text);
  if (const auto number = value.integer()) return std::to_string(*number);
  if (const auto number = value.real()) return fmt::format("{}", *number);
  if (const auto truth = value.boolean()) return *truth ? "true" : "false";
  return {};
}

std::variant<std::vector<RawReport>, TooManyReports, std::string> extract_reports(const JsonValue& root,
                                                                                  const SourcePlan& plan) {
  const JsonValue* items = plan.items->in(root);
  if (std::string ambiguity = ambiguity_in_words(root, items); !ambiguity.empty()) return ambiguity;
  if (items == nullptr) return fmt::format("there is nothing at {}", plan.settings.items);
  std::vector<RawReport> reports;
  if (items->is_object()) {
    reports.push_back(extract_one(*items, plan));
  } else if (items->is_array()) {
    const std::span<const JsonValue> elements = items->elements();
    if (elements.size() > kMaxReports) return TooManyReports{elements.size()};
    reports.reserve(elements.size());
    for (const JsonValue& item : elements) reports.push_back(extract_one(item, plan));
  } else if (!items->is_null() || plan.settings.items.empty()) {
    return fmt::format("{} is {}, neither an object nor a list of objects",
                       plan.settings.items.empty() ? "the document" : plan.settings.items,
                       items->kind_in_words());
  }
  return reports;
}

RawReport read_again(RawReport kept, const SourcePlan& plan) {
  if (kept.item.empty() || plan.pointers.empty()) return kept;
  const auto read = read_source_json(kept.item);
  const auto* document = std::get_if<JsonDocument>(&read);
  if (document == nullptr) return kept;
  return extract_one(document->root(), plan);
}

}  // namespace giftsync::daemon
