#include "daemon/cli/change_line.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "daemon/http/strict_json.h"
#include "daemon/settings/nearest_word.h"
#include "daemon/settings/settings_fault.h"
#include "schema/text.h"
#include "sync/status_rules.h"

namespace giftsync::daemon {
namespace {

constexpr std::size_t kMostEventIdCodePoints = 255;

std::string found_words(const JsonValue* value) {
  if (value == nullptr) return "nothing";
  if (const auto text = value->text()) return in_quotes(*text);
  if (const auto number = value->integer()) return std::to_string(*number);
  return std::string(value->kind_in_words());
}

std::optional<std::int64_t> digits(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

class LineReading {
 public:
  LineReading(const JsonValue& object, schema::UtcMillis now) : object_(object), now_(now) {}

  std::variant<schema::StatusChange, ChangeLineFaults> read() {
    schema::StatusChange change;
    change.source = kImportSource;
    change.received_at = now_;
    change.transaction = transaction();
    change.status = status();
    change.occurred_at = occurred_at();
    change.event_ids = event_ids();
    if (!faults_.empty()) return std::move(faults_);
    return change;
  }

 private:
  void blame(std::string_view member, const std::string& found, const std::string& allowed) {
    faults_.push_back(fmt::format("{}: found {}; allowed: {}", member, found, allowed));
  }

  schema::TransactionId transaction() {
    constexpr std::string_view kMember = "recipient_transaction_id";
    const JsonValue* value = object_.find(kMember);
    std::optional<std::int64_t> id = value ? value->integer() : std::nullopt;
    if (value && value->text()) id = digits(*value->text());
    if (id && *id >= 1 && *id <= schema::kMaxId) return {*id};
    blame(kMember, found_words(value),
          fmt::format("a whole number from 1 to {}, or a text of its digits", schema::kMaxId));
    return {};
  }

  schema::Status status() {
    const JsonValue* value = object_.find("status");
    const auto word = value ? value->text() : std::nullopt;
    if (const auto known = word ? schema::status_from_word(*word) : std::nullopt) return *known;
    std::vector<std::string> words;
    for (const schema::Status allowed : schema::kAllStatuses) words.emplace_back(to_word(allowed));
    const std::string nearest = word ? nearest_word(*word, words) : "";
    const std::string allowed = fmt::format("{}", fmt::join(words, ", "));
    blame("status", found_words(value),
          nearest.empty() ? allowed : allowed + "; did you mean " + nearest + "?");
    return schema::Status::sent;
  }

  schema::UtcMillis occurred_at() {
    const JsonValue* value = object_.find("occurred_at");
    const auto text = value ? value->text() : std::nullopt;
    const auto time = text ? schema::from_rfc3339(*text) : std::nullopt;
    if (!time) {
      blame("occurred_at", found_words(value),
            "a time with its zone (RFC 3339) such as 2026-11-21T12:31:07Z");
      return {};
    }
    if (const std::string fault = sync::time_fault(*time, now_); !fault.empty()) {
      blame("occurred_at", fmt::format("{}, which {}", in_quotes(*text), fault),
            "2000-01-01 to 24 hours from now");
    }
    return *time;
  }

  std::vector<std::string> event_ids() {
    const JsonValue* value = object_.find("event_id");
    if (value == nullptr || value->is_null()) return {};
    if (const auto number = value->integer()) return {std::to_string(*number)};
    const auto text = value->text();
    const bool fits = text && !text->empty() && schema::count_code_points(*text) <= kMostEventIdCodePoints;
    if (fits) return {std::string(*text)};
    blame("event_id", found_words(value),
          fmt::format("a text of 1 to {} characters, or leave it out", kMostEventIdCodePoints));
    return {};
  }

  const JsonValue& object_;
  const schema::UtcMillis now_;
  ChangeLineFaults faults_;
};

}  // namespace

std::variant<schema::StatusChange, ChangeLineFaults> read_change_line(std::string_view line,
                                                                      schema::UtcMillis now) {
  const auto parsed = read_strict_json(line);
  if (const auto* fault = std::get_if<JsonFault>(&parsed)) {
    return ChangeLineFaults{fmt::format("found no JSON: {}; allowed: one JSON object", fault->message)};
  }
  const JsonValue& root = std::get<JsonDocument>(parsed).root();
  if (!root.is_object()) {
    return ChangeLineFaults{fmt::format("found {}; allowed: one JSON object", root.kind_in_words())};
  }
  return LineReading(root, now).read();
}

}  // namespace giftsync::daemon
