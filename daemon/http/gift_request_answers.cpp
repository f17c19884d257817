#include "daemon/http/gift_request_answers.h"

#include <nlohmann/json.hpp>

namespace giftsync::daemon {
namespace {

using Json = nlohmann::ordered_json;

/// Texts come from the store, which holds well-formed UTF-8 only; a stray byte must not cost the whole
/// answer.
std::string written(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json recipient_json(const RecipientAnswer& recipient) {
  return {{"recipient_transaction_id", recipient.id.value},
          {"email", recipient.email},
          {"phone_number", recipient.phone_number}};
}

/// The finished array goes in as it is: reading it again would only make another text of it.
std::string created_body(schema::GiftRequestId id, Json recipients, std::string_view warnings) {
  const Json body{{"message", kCreatedMessage},
                  {"data", {{"id", id.value}, {"recipients", std::move(recipients)}}}};
  std::string text = written(body);
  text.pop_back();
  return text.append(",\"warnings\":").append(warnings).append("}");
}

Json state_json(const RecipientState& recipient) {
  Json json{{"recipient_transaction_id", recipient.id.value},
            {"email", recipient.email},
            {"phone_number", recipient.phone_number},
            {"status", schema::to_word(recipient.status)}};
  for (const schema::Status status : schema::kAllStatuses) {
    const auto& time = recipient.times[static_cast<std::size_t>(status)];
    json[std::string(schema::to_word(status)) + "_at"] =
        time ? Json(schema::to_rfc3339(*time)) : Json(nullptr);
  }
  return json;
}

}  // namespace

std::string gift_request_mailed_body(schema::GiftRequestId id, const std::vector<RecipientAnswer>& recipients,
                                     std::string_view warnings) {
  Json list = Json::array();
  for (const RecipientAnswer& recipient : recipients) list.push_back(recipient_json(recipient));
  return created_body(id, std::move(list), warnings);
}

std::string gift_request_urls_body(schema::GiftRequestId id, const std::vector<RecipientAnswer>& recipients,
                                   std::string_view warnings) {
  Json list = Json::array();
  for (const RecipientAnswer& recipient : recipients) {
    Json& json = list.emplace_back(recipient_json(recipient));
    json["gift_redemption_url"] = recipient.redemption_url;
    json["gift_donation_url"] = recipient.donation_url;
  }
  return created_body(id, std::move(list), warnings);
}

std::string gift_request_state_body(const GiftRequestState& request) {
  Json recipients = Json::array();
  for (const RecipientState& recipient : request.recipients) recipients.push_back(state_json(recipient));
  const Json campaign = request.utm_campaign_id ? Json(*request.utm_campaign_id) : Json(nullptr);
  return written({{"data",
                   {{"id", request.id.value},
                    {"gift_id", request.gift.value},
                    {"created_at", schema::to_rfc3339(request.created_at)},
                    {"utm_campaign_id", campaign},
                    {"delivery", schema::to_word(request.mode)},
                    {"recipients", std::move(recipients)}}}});
}

std::string warnings_json(const FieldNotes& warnings) {
  Json list = Json::array();
  for (const FieldNote& warning : warnings) {
    list.push_back({{"field", warning.field}, {"code", warning.code}, {"message", warning.message}});
  }
  return written(list);
}

}  // namespace giftsync::daemon
