#include "daemon/handlers/gift_request_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <unordered_map>

#include "daemon/handlers/placeholder.h"
#include "daemon/http/json_object_reader.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"

namespace giftsync::daemon::handlers {
namespace {

using LocatedObject = http::JsonObjectReader::LocatedObject;

constexpr std::string_view kRedeemByEmail = "email";
constexpr std::size_t kMaxUserId = 255;
constexpr std::size_t kMaxEmail = 254;
constexpr std::size_t kMaxCheckedWhenTooMany = 100;

/// The number that a text of digits only represents.
std::optional<std::int64_t> parse_digits(std::string_view text) {
  std::int64_t number = 0;
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  return digits && result.ec == std::errc{} ? std::optional(number) : std::nullopt;
}

/// Parses one request from its document.
class GiftRequestReader {
 public:
  GiftRequestReader(schema::SendMode mode, const GiftRequestLimits& limits) : mode_(mode), limits_(limits) {}

  std::variant<CrmGiftRequestBody, platform::JsonError, http::FieldIssues> read_from_crm(
      const platform::JsonValue& root) {
    is_from_crm_ = true;
    auto outcome = read(root);
    if (auto* errors = std::get_if<http::FieldIssues>(&outcome)) return std::move(*errors);
    crm_body_.gift = std::get<GiftRequestBody>(std::move(outcome));
    return std::move(crm_body_);
  }

  std::variant<GiftRequestBody, platform::JsonError, http::FieldIssues> read(
      const platform::JsonValue& root) {
    read_root(root);
    if (http::FieldIssues errors = fields_.take_errors(); !errors.empty()) return errors;
    body_.warnings = fields_.take_warnings();
    write_canonical();
    return std::move(body_);
  }

 private:
  bool is_by_email() const { return mode_ == schema::SendMode::email; }

  void read_root(const platform::JsonValue& root) {
    if (!root.is_object()) {
      return fields_.add_error("", "wrong_type",
                               fmt::format("The body must be an object; found {}.", root.kind_name()));
    }
    const LocatedObject parent{root, ""};
    read_gift_id(parent);
    read_recipients(parent);
    if (is_from_crm_) {
      read_sender(parent);
      return fields_.warn_unknown_members(parent, {"sender", "gift_id", "recipients"});
    }
    if (is_by_email()) return fields_.warn_unknown_members(parent, {"gift_id", "recipients"});
    const std::string campaign =
        fields_.read_optional_line(parent, "utm_campaign_id", limits_.max_name_code_points);
    if (!campaign.empty()) body_.utm_campaign_id = campaign;
    fields_.warn_unknown_members(parent, {"gift_id", "recipients", "utm_campaign_id"});
  }

  void read_sender(const LocatedObject& root) {
    const platform::JsonValue* value = fields_.required_member(root, "sender");
    if (value == nullptr) return;
    const LocatedObject sender{*value, "sender"};
    if (!value->is_object()) {
      return fields_.add_error("sender", "wrong_type",
                               fmt::format("sender must be an object; found {}.", value->kind_name()));
    }
    const bool has_id = http::JsonObjectReader::optional_member(sender, "user_id") != nullptr;
    const bool has_email = http::JsonObjectReader::optional_member(sender, "email") != nullptr;
    crm_body_.user_id = fields_.read_optional_line(sender, "user_id", kMaxUserId);
    crm_body_.email = fields_.read_optional_line(sender, "email", kMaxEmail);
    if (has_id == has_email || (has_id ? crm_body_.user_id : crm_body_.email).empty()) {
      fields_.add_error("sender", "invalid_sender", "sender must name one CRM user, by user_id or by email.");
    }
    fields_.warn_unknown_members(sender, {"user_id", "email"});
  }

  void read_gift_id(const LocatedObject& root) {
    const platform::JsonValue* value = fields_.required_member(root, "gift_id");
    if (value == nullptr) return;
    const auto text = value->text();
    const auto number = text ? parse_digits(*text) : value->integer();
    if (number && *number >= 1 && *number <= schema::kMaxId) {
      body_.gift = schema::GiftId{*number};
      return;
    }
    const std::string found = text     ? http::quoted(*text)
                              : number ? fmt::format("{}", *number)
                                       : std::string(value->kind_name());
    fields_.add_error(
        "gift_id", "invalid_gift_id",
        fmt::format("gift_id must be a whole number from 1 to {}; found {}.", schema::kMaxId, found));
  }

  void read_recipients(const LocatedObject& root) {
    const platform::JsonValue* list = fields_.required_member(root, "recipients");
    if (list == nullptr) return;
    if (!list->is_array()) {
      return fields_.add_error(
          "recipients", "wrong_type",
          fmt::format("recipients must be a list of objects; found {}.", list->kind_name()));
    }
    std::span<const platform::JsonValue> elements = list->elements();
    if (elements.empty())
      return fields_.add_error("recipients", "empty", "recipients must name at least one recipient.");
    if (elements.size() > limits_.max_recipients) {
      fields_.add_error(
          "recipients", "too_many",
          fmt::format("recipients has {} elements; at most {} are allowed. Send several requests.",
                      elements.size(), limits_.max_recipients));
      // The list is cut anyway: its first elements show the other errors.
      elements = elements.first(std::min(limits_.max_recipients, kMaxCheckedWhenTooMany));
    }
    body_.recipients.reserve(elements.size());
    for (std::size_t index = 0; index < elements.size(); ++index) read_recipient(elements[index], index);
  }

  void read_recipient(const platform::JsonValue& element, std::size_t index) {
    const LocatedObject parent{element, fmt::format("recipients[{}]", index)};
    if (!element.is_object()) {
      return fields_.add_error(parent.path, "wrong_type",
                               fmt::format("A recipient must be an object; found {}.", element.kind_name()));
    }
    RecipientBody& recipient = body_.recipients.emplace_back();
    recipient.email = read_email(parent, index);
    recipient.first_name = read_name(parent, "first_name");
    recipient.last_name = read_name(parent, "last_name");
    recipient.message = read_message(parent);
    if (!is_by_email())
      return fields_.warn_unknown_members(parent, {"email", "first_name", "last_name", "message"});
    check_redeem_type(parent);
    fields_.warn_unknown_members(parent, {"email", "first_name", "last_name", "message", "gift_redeem_type"});
  }

  std::string read_email(const LocatedObject& recipient, std::size_t index) {
    const platform::JsonValue* value = fields_.required_member(recipient, "email");
    if (value == nullptr) return {};
    const auto text = fields_.read_string(*value, recipient, "email");
    if (!text) return {};
    const std::string_view email = platform::trimmed(*text);
    if (auto reason = schema::email_error(email)) {
      const std::string subject = email.empty() ? "email" : "email " + http::quoted(email);
      fields_.add_error(recipient.field("email"), "invalid_email", fmt::format("{} {}.", subject, *reason));
      return {};
    }
    const auto [first, is_new] = first_index_by_email_.try_emplace(schema::email_key(email), index);
    if (!is_new) {
      fields_.add_warning(recipient.field("email"), "duplicate_email",
                          fmt::format("The same address as recipients[{}].email; each recipient gets a gift.",
                                      first->second));
    }
    return std::string(email);
  }

  std::string read_name(const LocatedObject& recipient, std::string_view name) {
    std::string line = fields_.read_optional_line(recipient, name, limits_.max_name_code_points);
    check_placeholder(line, recipient, name);
    return line;
  }

  std::string read_message(const LocatedObject& recipient) {
    const platform::JsonValue* value = fields_.required_member(recipient, "message");
    if (value == nullptr) return {};
    const auto text = fields_.read_string(*value, recipient, "message");
    if (!text) return {};
    if (platform::trimmed(*text).empty()) {
      fields_.add_error(recipient.field("message"), "empty", "message must not be blank.");
      return {};
    }
    if (!fields_.check_length(*text, limits_.max_message_code_points, recipient, "message")) return {};
    check_placeholder(*text, recipient, "message");
    return std::string(*text);
  }

  void check_placeholder(std::string_view text, const LocatedObject& recipient, std::string_view name) {
    const auto found = find_placeholder(text);
    if (!found) return;
    const std::string finding = fmt::format(
        "{} contains {}, which looks like a placeholder that was not filled in", name, http::quoted(*found));
    if (limits_.refuse_placeholders)
      return fields_.add_error(recipient.field(name), "placeholder", finding + ".");
    fields_.add_warning(recipient.field(name), "placeholder", finding + "; it is sent unchanged.");
  }

  void check_redeem_type(const LocatedObject& recipient) {
    const platform::JsonValue* value = fields_.required_member(recipient, "gift_redeem_type");
    if (value == nullptr || value->text() == kRedeemByEmail) return;
    const std::string found = value->text() ? http::quoted(*value->text()) : std::string(value->kind_name());
    fields_.add_error(recipient.field("gift_redeem_type"), "unsupported_value",
                      fmt::format("gift_redeem_type must be \"{}\"; found {}.", kRedeemByEmail, found));
  }

  void write_canonical() {
    std::string& canonical = body_.canonical;
    // Lengths come before the texts, so that no content can imitate a separator.
    const auto append = [&canonical](std::string_view text) {
      fmt::format_to(std::back_inserter(canonical), "{}:{},", text.size(), text);
    };
    canonical = fmt::format("gift request 1;{};{};", body_.gift.value, body_.recipients.size());
    append(body_.utm_campaign_id.value_or(""));
    if (is_from_crm_) {
      append(crm_body_.user_id);
      append(crm_body_.email);
    }
    for (const RecipientBody& recipient : body_.recipients) {
      for (const auto* text :
           {&recipient.email, &recipient.first_name, &recipient.last_name, &recipient.message}) {
        append(*text);
      }
    }
  }

  schema::SendMode mode_;
  bool is_from_crm_ = false;
  CrmGiftRequestBody crm_body_;
  const GiftRequestLimits& limits_;
  http::JsonObjectReader fields_;
  GiftRequestBody body_;
  std::unordered_map<std::string, std::size_t> first_index_by_email_;
};

}  // namespace

std::variant<GiftRequestBody, platform::JsonError, http::FieldIssues> parse_gift_request_body(
    std::string_view body, schema::SendMode mode, const GiftRequestLimits& limits) {
  const auto document = platform::parse_json(body);
  if (!document) return document.error();
  return GiftRequestReader(mode, limits).read(document->root());
}

std::variant<CrmGiftRequestBody, platform::JsonError, http::FieldIssues> parse_crm_gift_request_body(
    std::string_view body, const GiftRequestLimits& limits) {
  const auto document = platform::parse_json(body);
  if (!document) return document.error();
  return GiftRequestReader(schema::SendMode::email, limits).read_from_crm(document->root());
}

}  // namespace giftsync::daemon::handlers
