#include "daemon/handlers/gift_request_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <unordered_map>

#include "daemon/http/json_request.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"
#include "schema/store/gift/gift_fields.h"

namespace giftsync::handlers {

namespace {

using LocatedObject = http::JsonObjectReader::LocatedObject;
using store::NewRecipient;

constexpr std::string_view kRedeemByEmail = "email";
constexpr std::size_t kMaxUserId = 255;
constexpr std::size_t kMaxEmail = 254;
constexpr std::size_t kMaxCheckedWhenTooMany = 100;

/// The number that a text of digits only represents.
std::optional<std::int64_t> parse_digits(std::string_view text) {
  return text.starts_with('-') ? std::nullopt : parse_number<std::int64_t>(text);
}

/// One body while it is read.
struct BodyReading {
  http::JsonObjectReader& fields;
  const GiftRequestLimits& limits;
  SendMode mode;
  std::unordered_map<std::string, std::size_t> first_index_by_email = {};
};

GiftId read_gift_id(http::JsonObjectReader& fields, const LocatedObject& root) {
  const JsonValue* value = fields.required_member(root, "gift_id");
  if (value == nullptr) return {};
  const auto text = value->text();
  const auto number = text ? parse_digits(*text) : value->integer();
  if (number && *number >= 1 && *number <= kMaxId) return {*number};
  const std::string found = text     ? http::quoted(*text)
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
    const std::string subject = email.empty() ? "email" : "email " + http::quoted(email);
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
      "{} contains {}, which looks like a placeholder that was not filled in", name, http::quoted(*found));
  if (reading.limits.refuse_placeholders)
    return reading.fields.add_error(recipient.field(name), "placeholder", finding + ".");
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

void check_redeem_type(http::JsonObjectReader& fields, const LocatedObject& recipient) {
  const JsonValue* value = fields.required_member(recipient, "gift_redeem_type");
  if (value == nullptr || value->text() == kRedeemByEmail) return;
  const std::string found = value->text() ? http::quoted(*value->text()) : std::string(value->kind_name());
  fields.add_error(recipient.field("gift_redeem_type"), "unsupported_value",
                   fmt::format("gift_redeem_type must be \"{}\"; found {}.", kRedeemByEmail, found));
}

NewRecipient read_recipient(BodyReading& reading, const LocatedObject& recipient, std::size_t index) {
  NewRecipient body;
  body.email = read_email(reading, recipient, index);
  body.first_name = read_name(reading, recipient, "first_name");
  body.last_name = read_name(reading, recipient, "last_name");
  body.message = read_message(reading, recipient);
  if (reading.mode == SendMode::email) {
    check_redeem_type(reading.fields, recipient);
    reading.fields.warn_unknown_members(recipient,
                                        {"email", "first_name", "last_name", "message", "gift_redeem_type"});
  } else {
    reading.fields.warn_unknown_members(recipient, {"email", "first_name", "last_name", "message"});
  }
  return body;
}

std::vector<NewRecipient> read_recipients(BodyReading& reading, const LocatedObject& root) {
  http::JsonObjectReader& fields = reading.fields;
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
  return canonical;
}

void read_sender(http::JsonObjectReader& fields, const LocatedObject& root, CrmGiftRequestBody& body) {
  const JsonValue* value = fields.required_member(root, "sender");
  if (value == nullptr) return;
  if (!value->is_object()) return fields.add_wrong_type("sender", "sender", "an object", *value);
  const LocatedObject sender{*value, "sender"};
  const bool has_id = http::JsonObjectReader::optional_member(sender, "user_id") != nullptr;
  const bool has_email = http::JsonObjectReader::optional_member(sender, "email") != nullptr;
  body.user_id = fields.read_optional_line(sender, "user_id", kMaxUserId);
  body.email = fields.read_optional_line(sender, "email", kMaxEmail);
  if (has_id == has_email || (has_id ? body.user_id : body.email).empty())
    fields.add_error("sender", "invalid_sender", "sender must name one CRM user, by user_id or by email.");
  fields.warn_unknown_members(sender, {"user_id", "email"});
}

}  // namespace

tl::expected<GiftRequestBody, http::BodyError> parse_gift_request_body(std::string_view body, SendMode mode,
                                                                       const GiftRequestLimits& limits) {
  return http::read_json_body(body, [&](http::JsonObjectReader& fields, const LocatedObject& root) {
    BodyReading reading{fields, limits, mode};
    GiftRequestBody request;
    request.gift = read_gift_id(fields, root);
    request.recipients = read_recipients(reading, root);
    if (mode == SendMode::email) {
      fields.warn_unknown_members(root, {"gift_id", "recipients"});
    } else {
      std::string campaign = fields.read_optional_line(root, "utm_campaign_id", limits.max_name_code_points);
      if (!campaign.empty()) request.utm_campaign_id = std::move(campaign);
      fields.warn_unknown_members(root, {"gift_id", "recipients", "utm_campaign_id"});
    }
    request.canonical = canonical_text(request);
    request.warnings = fields.take_warnings();
    return request;
  });
}

tl::expected<CrmGiftRequestBody, http::BodyError> parse_crm_gift_request_body(
    std::string_view body, const GiftRequestLimits& limits) {
  return http::read_json_body(body, [&](http::JsonObjectReader& fields, const LocatedObject& root) {
    BodyReading reading{fields, limits, SendMode::email};
    CrmGiftRequestBody request;
    request.gift.gift = read_gift_id(fields, root);
    request.gift.recipients = read_recipients(reading, root);
    read_sender(fields, root, request);
    fields.warn_unknown_members(root, {"sender", "gift_id", "recipients"});
    request.gift.canonical = canonical_text(request.gift, {request.user_id, request.email});
    request.gift.warnings = fields.take_warnings();
    return request;
  });
}

namespace {

/// A merge field's name with its default and format is rarely longer. Limits the search for the closing
/// delimiter.
constexpr std::size_t kMaxInside = 100;

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool has_letter_or_digit(std::string_view inside) {
  return std::any_of(inside.begin(), inside.end(), is_ascii_letter_or_digit);
}

/// first_name, Contact.FirstName, lead.First Name, first_name|there
bool starts_like_name(std::string_view inside) {
  return !inside.empty() && (is_ascii_letter(inside.front()) || inside.front() == '_');
}

/// first_name, Contact.FirstName, but not the words of a sentence
bool is_identifier(std::string_view inside) {
  const auto allowed = [](char c) { return is_ascii_letter_or_digit(c) || c == '_' || c == '.' || c == '-'; };
  return starts_like_name(inside) && std::all_of(inside.begin(), inside.end(), allowed);
}

/// FIRST_NAME, GIFT_ID2: capitals with at least one underscore between them.
bool is_upper_case_words(std::string_view inside) {
  const auto allowed = [](char c) { return is_upper(c) || is_digit(c) || c == '_'; };
  return !inside.empty() && is_upper(inside.front()) && inside.back() != '_' &&
         inside.find('_') != std::string_view::npos && std::all_of(inside.begin(), inside.end(), allowed);
}

/// "First Name", "first-name" and "FIRSTNAME" are all "firstname".
std::string without_separators(std::string_view inside) {
  std::string word = ascii_lower(inside);
  word.erase(std::remove_if(word.begin(), word.end(),
                            [](char c) { return c == ' ' || c == '_' || c == '-' || c == '.'; }),
             word.end());
  return word;
}

bool is_common_field_name(std::string_view inside) {
  constexpr std::string_view kCommonFieldNames =
      " accountname company companyname contact contactfirstname contactname customer customername email "
      "emailaddress firstname fname fullname giftname jobtitle lastname leadname lname name nickname "
      "recipient "
      "recipientemail recipientfirstname recipientname repname salutation sender senderfirstname sendername "
      "surname username yourcompany yourcompanyname yourfirstname yourname yourtitle ";
  return kCommonFieldNames.find(" " + without_separators(inside) + " ") != std::string_view::npos;
}

bool is_bracketed_field(std::string_view inside) {
  return is_upper_case_words(inside) || is_common_field_name(inside);
}

struct Delimiters {
  std::string_view open;
  std::string_view close;
  bool (*is_placeholder)(std::string_view inside);
};

/// The longer one of two delimiters with the same beginning comes first.
constexpr std::array<Delimiters, 15> kDelimiters{{
    {"{{{", "}}}", has_letter_or_digit},  // Handlebars and Salesforce, unescaped
    {"{{", "}}", has_letter_or_digit},    // Handlebars, Liquid, Marketo, HubSpot, Braze
    {"{%", "%}", starts_like_name},       // Liquid, Jinja
    {"{!", "}", starts_like_name},        // Salesforce
    {"${", "}", starts_like_name},        // shells, FreeMarker, Marketo
    {"@{", "}", starts_like_name},        // Power Automate
    {"<%", "%>", has_letter_or_digit},    // ERB, ASP
    {"%%", "%%", is_identifier},          // Salesforce Marketing Cloud, Pardot
    {"*|", "|*", starts_like_name},       // Mailchimp
    {"[[", "]]", starts_like_name},       // GetResponse, Sendy
    {"{", "}", is_bracketed_field},
    {"<", ">", is_bracketed_field},
    {"[", "]", is_bracketed_field},
    {"%", "%", is_bracketed_field},                // ActiveCampaign
    {"\xC2\xAB", "\xC2\xBB", is_bracketed_field},  // word processors
}};

constexpr bool may_begin_placeholder(char c) {
  return c == '{' || c == '$' || c == '@' || c == '<' || c == '%' || c == '*' || c == '[' || c == '\xC2';
}
static_assert(std::all_of(kDelimiters.begin(), kDelimiters.end(), [](const Delimiters& delimiters) {
  return may_begin_placeholder(delimiters.open.front());
}));

/// The placeholder with these delimiters at the beginning of `text`.
std::optional<std::string_view> match_at_start(std::string_view text, const Delimiters& delimiters) {
  if (text.substr(0, delimiters.open.size()) != delimiters.open) return std::nullopt;
  const std::string_view rest = text.substr(delimiters.open.size(), kMaxInside + delimiters.close.size());
  const std::size_t end = rest.find(delimiters.close);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view inside = trimmed(rest.substr(0, end));
  if (inside.find('\n') != std::string_view::npos || !delimiters.is_placeholder(inside)) return std::nullopt;
  return text.substr(0, delimiters.open.size() + end + delimiters.close.size());
}

}  // namespace

std::optional<std::string_view> find_placeholder(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!may_begin_placeholder(text[at])) continue;
    for (const Delimiters& delimiters : kDelimiters) {
      if (const auto found = match_at_start(text.substr(at), delimiters)) return found;
    }
  }
  return std::nullopt;
}

namespace {

using Json = nlohmann::ordered_json;

bool is_unescaped(char c) {
  return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

/// Responses are built as text, which costs a tenth of a JSON tree.
void add_text(std::string& json, std::string_view text) {
  if (std::all_of(text.begin(), text.end(), is_unescaped)) {
    json.append("\"").append(text).append("\"");
  } else {
    json += http::json_text(text);
  }
}

void add_member(std::string& json, std::string_view name, std::string_view text) {
  json.append(",\"").append(name).append("\":");
  add_text(json, text);
}

Json state_json(const store::RecipientTransaction& recipient) {
  Json json{{"recipient_transaction_id", recipient.id.value},
            {"email", recipient.email},
            {"phone_number", ""},
            {"status", to_word(recipient.status)}};
  for (const Status status : kAllStatuses) {
    const auto& time = recipient.times[status];
    json[std::string(to_word(status)) + "_at"] = time ? Json(to_rfc3339(*time)) : Json(nullptr);
  }
  add_listed(json, store::kRecipientTransactionFields, recipient);
  return json;
}

}  // namespace

std::string created_gift_request_json(SendMode mode, GiftRequestId id,
                                      const std::vector<RecipientResponse>& recipients,
                                      std::string_view warnings) {
  std::string json = "{\"message\":";
  add_text(json, kCreatedMessage);
  json.append(",\"data\":{\"id\":").append(std::to_string(id.value)).append(",\"recipients\":[");
  for (const RecipientResponse& recipient : recipients) {
    if (json.back() != '[') json += ',';
    json.append("{\"recipient_transaction_id\":").append(std::to_string(recipient.id.value));
    add_member(json, "email", recipient.email);
    add_member(json, "phone_number", "");
    if (mode == SendMode::urls) {
      add_member(json, "gift_redemption_url", recipient.redemption_url);
      add_member(json, "gift_donation_url", recipient.donation_url);
    }
    json += '}';
  }
  // The warnings are a JSON array already and are inserted unchanged.
  return json.append("]},\"warnings\":").append(warnings).append("}");
}

std::string gift_request_state_json(const store::GiftRequest& request,
                                    const std::vector<store::RecipientTransaction>& recipients) {
  Json states = Json::array();
  for (const store::RecipientTransaction& recipient : recipients) states.push_back(state_json(recipient));
  const Json campaign = request.utm_campaign_id ? Json(*request.utm_campaign_id) : Json(nullptr);
  Json data{{"id", request.id.value},
            {"gift_id", request.gift.value},
            {"created_at", to_rfc3339(request.created_at)},
            {"utm_campaign_id", campaign},
            {"delivery", to_word(request.mode)}};
  add_listed(data, store::kGiftRequestFields, request);
  data["recipients"] = std::move(states);
  return http::json_text({{"data", std::move(data)}});
}

std::string warnings_json(const http::FieldIssues& warnings) {
  Json list = Json::array();
  for (const http::FieldIssue& warning : warnings)
    list.push_back({{"field", warning.field}, {"code", warning.code}, {"message", warning.message}});
  return http::json_text(list);
}

}  // namespace giftsync::handlers
