#include "daemon/validation/gift_request_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <span>
#include <unordered_map>

#include "daemon/validation/placeholders.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"

namespace giftsync::validation {

namespace {

using LocatedObject = JsonObjectReader::LocatedObject;
using store::NewRecipient;

constexpr std::string_view kRedeemByEmail = "email";
constexpr std::size_t kMaxUserId = 255;
constexpr std::size_t kMaxReference = 255;
constexpr std::size_t kMaxEmail = 254;
constexpr std::size_t kMaxCheckedWhenTooMany = 100;

/// The number that a text of digits only represents.
std::optional<std::int64_t> parse_digits(std::string_view text) {
  return text.starts_with('-') ? std::nullopt : parse_number<std::int64_t>(text);
}

/// One body while it is read.
struct BodyReading {
  JsonObjectReader& fields;
  const GiftRequestLimits& limits;
  SendMode mode;
  bool takes_references = true;
  std::unordered_map<std::string, std::size_t> first_index_by_email = {};
};

GiftId read_gift_id(JsonObjectReader& fields, const LocatedObject& root) {
  const JsonValue* value = fields.required_member(root, "gift_id");
  if (value == nullptr) return {};
  const auto text = value->text();
  const auto number = text ? parse_digits(*text) : value->integer();
  if (number && *number >= 1 && *number <= kMaxId) return {*number};
  const std::string found = text     ? quoted(*text)
                            : number ? fmt::format("{}", *number)
                                     : std::string(value->kind_name());
  fields.add_error("gift_id", "invalid_gift_id",
                   fmt::format("gift_id must be a whole number from 1 to {}; found {}.", kMaxId, found));
  return {};
}

std::string read_email(BodyReading& reading, const LocatedObject& recipient, std::size_t index) {
  const auto text = reading.fields.required_string(recipient, "email");
  if (!text) return {};
  const std::string_view email = trimmed(*text);
  if (auto reason = email_error(email)) {
    const std::string subject = email.empty() ? "email" : "email " + quoted(email);
    reading.fields.add_error(recipient.field("email"), "invalid_email",
                             fmt::format("{} {}.", subject, *reason));
    return {};
  }
  const auto [first, is_new] = reading.first_index_by_email.try_emplace(email_key(email), index);
  if (!is_new) {
    reading.fields.add_warning(
        recipient.field("email"), "duplicate_email",
        fmt::format("The same address as recipients[{}].email; each recipient gets a gift.", first->second));
  }
  return std::string(email);
}

void check_placeholder(BodyReading& reading, std::string_view text, const LocatedObject& recipient,
                       std::string_view name) {
  const auto found = find_placeholder(text);
  if (!found) return;
  const std::string finding = fmt::format(
      "{} contains {}, which looks like a placeholder that was not filled in", name, quoted(*found));
  if (reading.limits.refuse_placeholders) {
    return reading.fields.add_error(
        recipient.field(name), "placeholder",
        finding + ". Fill it in; where such text is meant, an administrator sets limits.placeholders: warn.");
  }
  reading.fields.add_warning(recipient.field(name), "placeholder", finding + "; it is sent unchanged.");
}

std::string read_name(BodyReading& reading, const LocatedObject& recipient, std::string_view name) {
  std::string line = reading.fields.read_optional_line(recipient, name, reading.limits.max_name_code_points);
  check_placeholder(reading, line, recipient, name);
  return line;
}

std::string read_message(BodyReading& reading, const LocatedObject& recipient) {
  const auto text = reading.fields.required_string(recipient, "message");
  if (!text) return {};
  if (trimmed(*text).empty()) {
    reading.fields.add_error(recipient.field("message"), "empty", "message must not be blank.");
    return {};
  }
  if (!reading.fields.check_length(*text, reading.limits.max_message_code_points, recipient, "message"))
    return {};
  check_placeholder(reading, *text, recipient, "message");
  return std::string(*text);
}

void check_redeem_type(JsonObjectReader& fields, const LocatedObject& recipient) {
  const JsonValue* value = fields.required_member(recipient, "gift_redeem_type");
  if (value == nullptr || value->text() == kRedeemByEmail) return;
  const std::string found = value->text() ? quoted(*value->text()) : std::string(value->kind_name());
  fields.add_error(recipient.field("gift_redeem_type"), "unsupported_value",
                   fmt::format("gift_redeem_type must be \"{}\"; found {}.", kRedeemByEmail, found));
}

NewRecipient read_recipient(BodyReading& reading, const LocatedObject& recipient, std::size_t index) {
  NewRecipient body;
  body.email = read_email(reading, recipient, index);
  body.first_name = read_name(reading, recipient, "first_name");
  body.last_name = read_name(reading, recipient, "last_name");
  body.message = read_message(reading, recipient);
  std::array<std::string_view, 6> known{"email", "first_name", "last_name", "message"};
  std::size_t count = 4;
  if (reading.takes_references) {
    body.reference = reading.fields.read_optional_line(recipient, "reference", kMaxReference);
    known[count++] = "reference";
  }
  if (reading.mode == SendMode::email) {
    check_redeem_type(reading.fields, recipient);
    known[count++] = "gift_redeem_type";
  }
  reading.fields.warn_unknown_members(recipient, std::span(known).first(count));
  return body;
}

std::vector<NewRecipient> read_recipients(BodyReading& reading, const LocatedObject& root) {
  JsonObjectReader& fields = reading.fields;
  const JsonValue* list = fields.required_member(root, "recipients");
  if (list == nullptr) return {};
  std::vector<NewRecipient> recipients;
  std::span<const JsonValue> elements = list->elements();
  if (!list->is_array()) {
    fields.add_wrong_type("recipients", "recipients", "a list of objects", *list);
  } else if (elements.empty()) {
    fields.add_error("recipients", "empty", "recipients must name at least one recipient.");
  } else if (elements.size() > reading.limits.max_recipients) {
    fields.add_error("recipients", "too_many",
                     fmt::format("recipients has {} elements; at most {} are allowed. Send several requests.",
                                 elements.size(), reading.limits.max_recipients));
    // The list is cut anyway: its first elements show the other errors.
    elements = elements.first(std::min(reading.limits.max_recipients, kMaxCheckedWhenTooMany));
  }
  recipients.reserve(elements.size());
  for (std::size_t index = 0; index < elements.size(); ++index) {
    const LocatedObject recipient{elements[index], fmt::format("recipients[{}]", index)};
    if (recipient.object.is_object())
      recipients.push_back(read_recipient(reading, recipient, index));
    else
      fields.add_wrong_type(recipient.path, "A recipient", "an object", recipient.object);
  }
  return recipients;
}

std::optional<std::string> read_campaign(BodyReading& reading, const LocatedObject& root) {
  std::string campaign =
      reading.fields.read_optional_line(root, "utm_campaign_id", reading.limits.max_name_code_points);
  return campaign.empty() ? std::nullopt : std::optional(std::move(campaign));
}

/// The text whose hash an idempotency key keeps, also across upgrades: a new member is appended only if the
/// body has it. `sender`: the texts that name the sender of a body from the CRM.
std::string canonical_text(const GiftRequestBody& body, std::initializer_list<std::string_view> sender = {}) {
  std::string canonical = fmt::format("gift request 1;{};{};", body.gift.value, body.recipients.size());
  // Lengths come before the texts, so that no content can imitate a separator.
  const auto append = [&canonical](std::string_view text) {
    fmt::format_to(std::back_inserter(canonical), "{}:{},", text.size(), text);
  };
  append(body.utm_campaign_id.value_or(""));
  for (const std::string_view text : sender) append(text);
  for (const NewRecipient& recipient : body.recipients) {
    for (const auto* text :
         {&recipient.email, &recipient.first_name, &recipient.last_name, &recipient.message})
      append(*text);
  }
  const auto append_reference = [&](std::string_view of, std::string_view reference) {
    if (reference.empty()) return;
    canonical += of;
    append(reference);
  };
  append_reference("reference;", body.reference);
  for (std::size_t i = 0; i < body.recipients.size(); ++i)
    append_reference(fmt::format("reference {};", i), body.recipients[i].reference);
  return canonical;
}

/// What the versions before `reference` made of it: they ignored references, and on endpoint A the campaign.
std::string former_canonical_text(const GiftRequestBody& body, SendMode mode) {
  GiftRequestBody former;
  former.gift = body.gift;
  former.recipients = body.recipients;
  for (NewRecipient& recipient : former.recipients) recipient.reference.clear();
  if (mode == SendMode::urls) former.utm_campaign_id = body.utm_campaign_id;
  return canonical_text(former);
}

bool has_new_member(const GiftRequestBody& body, SendMode mode) {
  return !body.reference.empty() || (mode == SendMode::email && body.utm_campaign_id) ||
         std::any_of(body.recipients.begin(), body.recipients.end(),
                     [](const NewRecipient& to) { return !to.reference.empty(); });
}

void read_sender(JsonObjectReader& fields, const LocatedObject& root, CrmGiftRequestBody& body) {
  const JsonValue* value = fields.required_member(root, "sender");
  if (value == nullptr) return;
  if (!value->is_object()) return fields.add_wrong_type("sender", "sender", "an object", *value);
  const LocatedObject sender{*value, "sender"};
  const bool has_id = JsonObjectReader::optional_member(sender, "user_id") != nullptr;
  const bool has_email = JsonObjectReader::optional_member(sender, "email") != nullptr;
  body.user_id = fields.read_optional_line(sender, "user_id", kMaxUserId);
  body.email = fields.read_optional_line(sender, "email", kMaxEmail);
  if (has_id == has_email || (has_id ? body.user_id : body.email).empty())
    fields.add_error("sender", "invalid_sender", "sender must name one CRM user, by user_id or by email.");
  fields.warn_unknown_members(sender, {"user_id", "email"});
}

}  // namespace

tl::expected<GiftRequestBody, BodyError> parse_gift_request_body(std::string_view body, SendMode mode,
                                                                 const GiftRequestLimits& limits) {
  return read_json_body(body, [&](JsonObjectReader& fields, const LocatedObject& root) {
    BodyReading reading{fields, limits, mode};
    GiftRequestBody request;
    request.gift = read_gift_id(fields, root);
    request.recipients = read_recipients(reading, root);
    request.utm_campaign_id = read_campaign(reading, root);
    request.reference = fields.read_optional_line(root, "reference", kMaxReference);
    fields.warn_unknown_members(root, {"gift_id", "recipients", "utm_campaign_id", "reference"});
    request.canonical = canonical_text(request);
    if (has_new_member(request, mode)) request.former_canonical = former_canonical_text(request, mode);
    request.warnings = fields.take_warnings();
    return request;
  });
}

tl::expected<CrmGiftRequestBody, BodyError> parse_crm_gift_request_body(std::string_view body,
                                                                        const GiftRequestLimits& limits) {
  return read_json_body(body, [&](JsonObjectReader& fields, const LocatedObject& root) {
    BodyReading reading{fields, limits, SendMode::email, false};
    CrmGiftRequestBody request;
    request.gift.gift = read_gift_id(fields, root);
    request.gift.recipients = read_recipients(reading, root);
    read_sender(fields, root, request);
    request.gift.utm_campaign_id = read_campaign(reading, root);
    fields.warn_unknown_members(root, {"sender", "gift_id", "recipients", "utm_campaign_id"});
    request.gift.canonical = canonical_text(request.gift, {request.user_id, request.email});
    if (request.gift.utm_campaign_id) {
      // The versions before ignored it.
      GiftRequestBody former;
      former.gift = request.gift.gift;
      former.recipients = request.gift.recipients;
      request.gift.former_canonical = canonical_text(former, {request.user_id, request.email});
    }
    request.gift.warnings = fields.take_warnings();
    return request;
  });
}

FieldIssue unknown_gift_issue(GiftId gift) {
  return {
      "gift_id", "unknown_gift",
      fmt::format("gift_id {} is not a gift that can be sent. Ask your administrator for the ids of those "
                  "that can.",
                  gift.value)};
}

}  // namespace giftsync::validation
