#include "cli/change_parser.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "daemon/config/suggestion.h"
#include "platform/iso8601.h"
#include "platform/lenient_json.h"
#include "platform/quoted_text.h"
#include "platform/text.h"
#include "sync/status_rules.h"

namespace giftsync::cli {
namespace {

constexpr std::size_t kMaxEventIdCodePoints = 255;

std::string found_text(const platform::JsonValue* value) {
  if (value == nullptr) return "nothing";
  if (const auto text = value->text()) return platform::in_quotes(*text);
  if (const auto number = value->integer()) return std::to_string(*number);
  return std::string(value->kind_name());
}

/// Why a member that is read is not what its writer meant; empty: all can be read.
std::string unreadable_member(const platform::JsonValue& object) {
  using platform::JsonPointer;
  static const std::array<JsonPointer, 4> kMembers{
      *JsonPointer::parse("/recipient_transaction_id"), *JsonPointer::parse("/status"),
      *JsonPointer::parse("/occurred_at"), *JsonPointer::parse("/event_id")};
  for (const JsonPointer& member : kMembers) {
    std::string fault = platform::describe_unreadable_value(member, object, platform::ValueUse::exact);
    if (!fault.empty()) return fault;
  }
  return {};
}

class ChangeParser {
 public:
  ChangeParser(const platform::JsonValue& object, platform::UtcMillis now) : object_(object), now_(now) {}

  tl::expected<schema::store::StatusChange, ChangeFaults> read() {
    schema::store::StatusChange change;
    change.source = kImportSource;
    change.received_at = now_;
    change.transaction = transaction();
    change.status = status();
    change.occurred_at = occurred_at();
    change.event_ids = event_ids();
    if (!faults_.empty()) return tl::unexpected(std::move(faults_));
    return change;
  }

 private:
  void add_fault(std::string_view member, const std::string& found, const std::string& allowed) {
    faults_.push_back(fmt::format("{}: found {}; allowed: {}", member, found, allowed));
  }

  schema::TransactionId transaction() {
    constexpr std::string_view kMember = "recipient_transaction_id";
    const platform::JsonValue* value = object_.find(kMember);
    std::optional<std::int64_t> id = value ? value->integer() : std::nullopt;
    if (value && value->text()) id = platform::parse_number<std::int64_t>(*value->text());
    if (id && *id >= 1 && *id <= schema::kMaxId) return {*id};
    add_fault(kMember, found_text(value),
              fmt::format("a whole number from 1 to {}, or a text of its digits", schema::kMaxId));
    return {};
  }

  schema::Status status() {
    const platform::JsonValue* value = object_.find("status");
    const auto word = value ? value->text() : std::nullopt;
    if (const auto known = word ? schema::status_from_word(*word) : std::nullopt) return *known;
    std::vector<std::string> names;
    for (const schema::Status allowed : schema::kAllStatuses) names.emplace_back(to_word(allowed));
    const std::string nearest = word ? daemon::config::suggestion_for(*word, names) : "";
    const std::string allowed = fmt::format("{}", fmt::join(names, ", "));
    add_fault("status", found_text(value),
              nearest.empty() ? allowed : allowed + "; did you mean " + nearest + "?");
    return schema::Status::sent;
  }

  platform::UtcMillis occurred_at() {
    const platform::JsonValue* value = object_.find("occurred_at");
    const auto text = value ? value->text() : std::nullopt;
    const auto time = text ? platform::from_iso8601(*text) : std::nullopt;
    if (!time) {
      add_fault("occurred_at", found_text(value),
                "a time with its zone (ISO 8601) such as 2026-11-21T12:31:07Z");
      return {};
    }
    if (const std::string fault = sync::time_error(*time, now_); !fault.empty()) {
      add_fault("occurred_at", fmt::format("{}, which {}", platform::in_quotes(*text), fault),
                "2000-01-01 to 24 hours from now");
    }
    return *time;
  }

  std::vector<std::string> event_ids() {
    const platform::JsonValue* value = object_.find("event_id");
    if (value == nullptr || value->is_null()) return {};
    if (const auto number = value->integer()) return {std::to_string(*number)};
    const auto text = value->text();
    const bool fits = text && !text->empty() && platform::count_code_points(*text) <= kMaxEventIdCodePoints;
    if (fits) return {std::string(*text)};
    add_fault("event_id", found_text(value),
              fmt::format("a text of 1 to {} characters, or leave it out", kMaxEventIdCodePoints));
    return {};
  }

  const platform::JsonValue& object_;
  const platform::UtcMillis now_;
  ChangeFaults faults_;
};

}  // namespace

tl::expected<schema::store::StatusChange, ChangeFaults> parse_change(std::string_view line,
                                                                     platform::UtcMillis now) {
  auto parsed = platform::parse_json(platform::without_byte_order_mark(line));
  if (!parsed) parsed = platform::parse_lenient_json(line);
  std::string fault = parsed ? unreadable_member(parsed->root()) : parsed.error().message;
  if (!fault.empty()) {
    return tl::unexpected(ChangeFaults{
        fmt::format("found what cannot be read: {}; allowed: one JSON object", std::move(fault))});
  }
  const platform::JsonValue& root = parsed->root();
  if (!root.is_object()) {
    return tl::unexpected(ChangeFaults{fmt::format("found {}; allowed: one JSON object", root.kind_name())});
  }
  return ChangeParser(root, now).read();
}

}  // namespace giftsync::cli
