#include "daemon/sources/report_extraction.h"

#include <fmt/format.h>

namespace giftsync::daemon {
namespace {

RawReport extract_one(const JsonValue& item, const SourcePlan& plan) {
  RawReport report;
  for (const auto& [field, pointer] : plan.pointers) {
    if (const JsonValue* value = pointer.in(item)) report.set(field, text_of(*value));
  }
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

}  // namespace giftsync::daemon
