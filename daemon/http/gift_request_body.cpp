#include "daemon/http/gift_request_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <unordered_map>

#include "daemon/http/body_fields.h"
#include "daemon/http/placeholder.h"
#include "schema/address.h"
#include "schema/text.h"

namespace giftsync::daemon {
namespace {

using Parent = BodyFields::Parent;

constexpr std::string_view kRedeemByEmail = "email";
constexpr std::size_t kMaxUserId = 255;
constexpr std::size_t kMaxEmail = 254;
constexpr std::size_t kLookedAtOfTooMany = 100;

/// The number that a text of digits and nothing else stands for.
std::optional<std::int64_t> number_of_digits(std::string_view text) {
  std::int64_t number = 0;
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  return digits && result.ec == std::errc{} ? std::optional(number) : std::nullopt;
}

/// Reads one request from its document.
class GiftRequestReader {
 public:
  GiftRequestReader(schema::SendMode mode, const GiftRequestLimits& limits) : mode_(mode), limits_(limits) {}

  std::variant<CrmGiftRequestBody, JsonFault, FieldNotes> read_from_crm(const JsonValue& root) {
    is_from_crm_ = true;
    auto outcome = read(root);
    if (auto* faults = std::get_if<FieldNotes>(&outcome)) return std::move(*faults);
    sender_.gift = std::get<GiftRequestBody>(std::move(outcome));
    return std::move(sender_);
  }

  std::variant<GiftRequestBody, JsonFault, FieldNotes> read(const JsonValue& root) {
    read_root(root);
    if (FieldNotes faults = fields_.take_faults(); !faults.empty()) return faults;
    body_.warnings = fields_.take_warnings();
    write_canonical();
    return std::move(body_);
  }

 private:
  bool by_email() const { return mode_ == schema::SendMode::email; }

  void read_root(const JsonValue& root) {
    if (!root.is_object()) {
      return fields_.fault("", "wrong_type",
                           fmt::format("The body must be an object; found {}.", root.kind_in_words()));
    }
    const Parent parent{root, ""};
    read_gift_id(parent);
    read_recipients(parent);
    if (is_from_crm_) {
      read_sender(parent);
      return fields_.warn_of_unknown(parent, {"sender", "gift_id", "recipients"});
    }
    if (by_email()) return fields_.warn_of_unknown(parent, {"gift_id", "recipients"});
    const std::string campaign = fields_.optional_line(parent, "utm_campaign_id", limits_.name_code_points);
    if (!campaign.empty()) body_.utm_campaign_id = campaign;
    fields_.warn_of_unknown(parent, {"gift_id", "recipients", "utm_campaign_id"});
  }

  void read_sender(const Parent& root) {
    const JsonValue* value = fields_.required_member(root, "sender");
    if (value == nullptr) return;
    const Parent sender{*value, "sender"};
    if (!value->is_object()) {
      return fields_.fault("sender", "wrong_type",
                           fmt::format("sender must be an object; found {}.", value->kind_in_words()));
    }
    const bool has_id = BodyFields::optional_member(sender, "user_id") != nullptr;
    const bool has_email = BodyFields::optional_member(sender, "email") != nullptr;
    sender_.user_id = fields_.optional_line(sender, "user_id", kMaxUserId);
    sender_.email = fields_.optional_line(sender, "email", kMaxEmail);
    if (has_id == has_email || (has_id ? sender_.user_id : sender_.email).empty()) {
      fields_.fault("sender", "invalid_sender", "sender must name one CRM user, by user_id or by email.");
    }
    fields_.warn_of_unknown(sender, {"user_id", "email"});
  }

  void read_gift_id(const Parent& root) {
    const JsonValue* value = fields_.required_member(root, "gift_id");
    if (value == nullptr) return;
    const auto text = value->text();
    const auto number = text ? number_of_digits(*text) : value->integer();
    if (number && *number >= 1 && *number <= schema::kMaxId) {
      body_.gift = schema::GiftId{*number};
      return;
    }
    const std::string found = text     ? quoted(*text)
                              : number ? fmt::format("{}", *number)
                                       : std::string(value->kind_in_words());
    fields_.fault(
        "gift_id", "invalid_gift_id",
        fmt::format("gift_id must be a whole number from 1 to {}; found {}.", schema::kMaxId, found));
  }

  void read_recipients(const Parent& root) {
    const JsonValue* list = fields_.required_member(root, "recipients");
    if (list == nullptr) return;
    if (!list->is_array()) {
      return fields_.fault(
          "recipients", "wrong_type",
          fmt::format("recipients must be a list of objects; found {}.", list->kind_in_words()));
    }
    std::span<const JsonValue> elements = list->elements();
    if (elements.empty())
      return fields_.fault("recipients", "empty", "recipients must name at least one recipient.");
    if (elements.size() > limits_.recipients) {
      fields_.fault("recipients", "too_many",
                    fmt::format("recipients has {} elements; at most {} are allowed. Send several requests.",
                                elements.size(), limits_.recipients));
      // The list has to be cut anyway: the first of them show what else is wrong.
      elements = elements.first(std::min(limits_.recipients, kLookedAtOfTooMany));
    }
    body_.recipients.reserve(elements.size());
    for (std::size_t index = 0; index < elements.size(); ++index) read_recipient(elements[index], index);
  }

  void read_recipient(const JsonValue& element, std::size_t index) {
    const Parent parent{element, fmt::format("recipients[{}]", index)};
    if (!element.is_object()) {
      return fields_.fault(parent.path, "wrong_type",
                           fmt::format("A recipient must be an object; found {}.", element.kind_in_words()));
    }
    RecipientBody& recipient = body_.recipients.emplace_back();
    recipient.email = read_email(parent, index);
    recipient.first_name = read_name(parent, "first_name");
    recipient.last_name = read_name(parent, "last_name");
    recipient.message = read_message(parent);
    if (!by_email()) return fields_.warn_of_unknown(parent, {"email", "first_name", "last_name", "message"});
    check_redeem_type(parent);
    fields_.warn_of_unknown(parent, {"email", "first_name", "last_name", "message", "gift_redeem_type"});
  }

  std::string read_email(const Parent& recipient, std::size_t index) {
    const JsonValue* value = fields_.required_member(recipient, "email");
    if (value == nullptr) return {};
    const auto text = fields_.text_of(*value, recipient, "email");
    if (!text) return {};
    const std::string_view email = schema::trimmed(*text);
    if (auto why = schema::email_fault(email)) {
      const std::string subject = email.empty() ? "email" : "email " + quoted(email);
      fields_.fault(recipient.field("email"), "invalid_email", fmt::format("{} {}.", subject, *why));
      return {};
    }
    const auto [first, is_new] = first_with_email_.try_emplace(schema::email_key(email), index);
    if (!is_new) {
      fields_.warn(
          recipient.field("email"), "duplicate_email",
          fmt::format("The same address as recipients[{}].email; each of them gets a gift.", first->second));
    }
    return std::string(email);
  }

  std::string read_name(const Parent& recipient, std::string_view name) {
    std::string line = fields_.optional_line(recipient, name, limits_.name_code_points);
    check_placeholder(line, recipient, name);
    return line;
  }

  std::string read_message(const Parent& recipient) {
    const JsonValue* value = fields_.required_member(recipient, "message");
    if (value == nullptr) return {};
    const auto text = fields_.text_of(*value, recipient, "message");
    if (!text) return {};
    if (schema::trimmed(*text).empty()) {
      fields_.fault(recipient.field("message"), "empty", "message must not be blank.");
      return {};
    }
    if (!fields_.check_length(*text, limits_.message_code_points, recipient, "message")) return {};
    check_placeholder(*text, recipient, "message");
    return std::string(*text);
  }

  void check_placeholder(std::string_view text, const Parent& recipient, std::string_view name) {
    const auto found = find_placeholder(text);
    if (!found) return;
    const std::string what = fmt::format(
        "{} contains {}, which looks like a placeholder that was not filled in", name, quoted(*found));
    if (limits_.refuse_placeholders) return fields_.fault(recipient.field(name), "placeholder", what + ".");
    fields_.warn(recipient.field(name), "placeholder", what + "; it is used as it stands.");
  }

  void check_redeem_type(const Parent& recipient) {
    const JsonValue* value = fields_.required_member(recipient, "gift_redeem_type");
    if (value == nullptr || value->text() == kRedeemByEmail) return;
    const std::string found = value->text() ? quoted(*value->text()) : std::string(value->kind_in_words());
    fields_.fault(recipient.field("gift_redeem_type"), "unsupported_value",
                  fmt::format("gift_redeem_type must be \"{}\"; found {}.", kRedeemByEmail, found));
  }

  void write_canonical() {
    std::string& canonical = body_.canonical;
    // Lengths before the texts: no content can look like a border between two of them.
    const auto append = [&canonical](std::string_view text) {
      fmt::format_to(std::back_inserter(canonical), "{}:{},", text.size(), text);
    };
    canonical = fmt::format("gift request 1;{};{};", body_.gift.value, body_.recipients.size());
    append(body_.utm_campaign_id.value_or(""));
    if (is_from_crm_) {
      append(sender_.user_id);
      append(sender_.email);
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
  CrmGiftRequestBody sender_;
  const GiftRequestLimits& limits_;
  BodyFields fields_;
  GiftRequestBody body_;
  std::unordered_map<std::string, std::size_t> first_with_email_;
};

}  // namespace

std::variant<GiftRequestBody, JsonFault, FieldNotes> read_gift_request_body(std::string_view body,
                                                                            schema::SendMode mode,
                                                                            const GiftRequestLimits& limits) {
  auto document = read_strict_json(body);
  if (auto* fault = std::get_if<JsonFault>(&document)) return std::move(*fault);
  return GiftRequestReader(mode, limits).read(std::get<JsonDocument>(document).root());
}

std::variant<CrmGiftRequestBody, JsonFault, FieldNotes> read_crm_gift_request_body(
    std::string_view body, const GiftRequestLimits& limits) {
  auto document = read_strict_json(body);
  if (auto* fault = std::get_if<JsonFault>(&document)) return std::move(*fault);
  return GiftRequestReader(schema::SendMode::email, limits)
      .read_from_crm(std::get<JsonDocument>(document).root());
}

}  // namespace giftsync::daemon
