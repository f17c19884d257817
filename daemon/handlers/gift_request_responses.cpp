#include "daemon/handlers/gift_request_responses.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace giftsync::daemon::handlers {
namespace {

using Json = nlohmann::ordered_json;

/// Texts come from the store, which holds well-formed UTF-8 only; an invalid byte must not cost the whole
/// response.
std::string dump_json(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_unescaped(char c) {
  return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

/// Responses are built as text, which costs a tenth of a JSON tree.
void add_text(std::string& json, std::string_view text) {
  if (std::all_of(text.begin(), text.end(), is_unescaped)) {
    json.append("\"").append(text).append("\"");
  } else {
    json += dump_json(Json(text));
  }
}

void add_member(std::string& json, std::string_view name, std::string_view text) {
  json.append(",\"").append(name).append("\":");
  add_text(json, text);
}

/// An unfinished object of the array.
void begin_recipient(std::string& json, const RecipientResponse& recipient) {
  if (json.back() != '[') json += ',';
  json.append("{\"recipient_transaction_id\":").append(std::to_string(recipient.id.value));
  add_member(json, "email", recipient.email);
  add_member(json, "phone_number", recipient.phone_number);
}

std::string begin_created_json(schema::GiftRequestId id) {
  std::string json = "{\"message\":";
  add_text(json, kCreatedMessage);
  return json.append(",\"data\":{\"id\":").append(std::to_string(id.value)).append(",\"recipients\":[");
}

/// The warnings are a JSON array already and are inserted unchanged.
std::string end_created_json(std::string json, std::string_view warnings) {
  return json.append("]},\"warnings\":").append(warnings).append("}");
}

Json state_json(const RecipientState& recipient) {
  Json json{{"recipient_transaction_id", recipient.id.value},
            {"email", recipient.email},
            {"phone_number", recipient.phone_number},
            {"status", to_word(recipient.status)}};
  for (const schema::Status status : schema::kAllStatuses) {
    const auto& time = recipient.times[static_cast<std::size_t>(status)];
    json[std::string(to_word(status)) + "_at"] = time ? Json(platform::to_rfc3339(*time)) : Json(nullptr);
  }
  return json;
}

}  // namespace

std::string mailed_gift_request_json(schema::GiftRequestId id,
                                     const std::vector<RecipientResponse>& recipients,
                                     std::string_view warnings) {
  std::string json = begin_created_json(id);
  for (const RecipientResponse& recipient : recipients) {
    begin_recipient(json, recipient);
    json += '}';
  }
  return end_created_json(std::move(json), warnings);
}

std::string url_gift_request_json(schema::GiftRequestId id, const std::vector<RecipientResponse>& recipients,
                                  std::string_view warnings) {
  std::string json = begin_created_json(id);
  for (const RecipientResponse& recipient : recipients) {
    begin_recipient(json, recipient);
    add_member(json, "gift_redemption_url", recipient.redemption_url);
    add_member(json, "gift_donation_url", recipient.donation_url);
    json += '}';
  }
  return end_created_json(std::move(json), warnings);
}

std::string gift_request_state_json(const GiftRequestState& request) {
  Json recipients = Json::array();
  for (const RecipientState& recipient : request.recipients) recipients.push_back(state_json(recipient));
  const Json campaign = request.utm_campaign_id ? Json(*request.utm_campaign_id) : Json(nullptr);
  return dump_json({{"data",
                     {{"id", request.id.value},
                      {"gift_id", request.gift.value},
                      {"created_at", platform::to_rfc3339(request.created_at)},
                      {"utm_campaign_id", campaign},
                      {"delivery", to_word(request.mode)},
                      {"recipients", std::move(recipients)}}}});
}

std::string warnings_json(const http::FieldIssues& warnings) {
  if (warnings.empty()) return "[]";
  Json list = Json::array();
  for (const http::FieldIssue& warning : warnings) {
    list.push_back({{"field", warning.field}, {"code", warning.code}, {"message", warning.message}});
  }
  return dump_json(list);
}

}  // namespace giftsync::daemon::handlers
