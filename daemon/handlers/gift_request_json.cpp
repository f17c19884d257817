#include "daemon/handlers/gift_request_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/exports/export_values.h"
#include "platform/text.h"
#include "schema/store/gift/gift_fields.h"
#include "sync/gift/lifecycle.h"

namespace giftsync::handlers {
namespace {

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

std::optional<GiftRequestId> parse_gift_request_id(std::string_view text) {
  const auto id = parse_number<std::int64_t>(text);
  if (!id || *id < 1 || *id > kMaxId || text.front() == '0') return std::nullopt;
  return GiftRequestId{*id};
}

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
                                    const std::vector<store::RecipientTransaction>& recipients,
                                    const std::vector<RecipientResponse>& urls,
                                    const std::map<TransactionId, std::string>& dry_records) {
  Json states = Json::array();
  for (const store::RecipientTransaction& recipient : recipients) states.push_back(state_json(recipient));
  for (std::size_t i = 0; i < urls.size() && i < states.size(); ++i) {
    states[i]["gift_redemption_url"] = urls[i].redemption_url;
    states[i]["gift_donation_url"] = urls[i].donation_url;
  }
  for (std::size_t i = 0; request.is_test && i < states.size(); ++i) {
    const auto record = dry_records.find(recipients[i].id);
    states[i]["crm_record_dry"] = record == dry_records.end() ? Json(nullptr) : Json::parse(record->second);
  }
  const Json campaign = request.utm_campaign_id ? Json(*request.utm_campaign_id) : Json(nullptr);
  Json data{{"id", request.id.value},
            {"gift_id", request.gift.value},
            {"created_at", to_rfc3339(request.created_at)},
            {"utm_campaign_id", campaign},
            {"delivery", to_word(request.mode)},
            {"state", to_word(HeldState::sent)}};
  add_listed(data, store::kGiftRequestFields, request);
  data["recipients"] = std::move(states);
  return http::json_text({{"data", std::move(data)}});
}

std::string held_gift_request_state_json(const store::HeldGiftRequest& held) {
  // Empty some time after the decision.
  const store::NewGiftRequest content = store::request_in(held).value_or(store::NewGiftRequest{});
  const auto& campaign = content.request.utm_campaign_id;
  Json requested = Json::array();
  for (const store::NewRecipient& to : content.recipients)
    requested.push_back({{"email", to.email}, {"reference", text_json(to.reference)}});
  Json data{{"id", held.id.value},
            {"gift_id", held.gift.value},
            {"created_at", to_rfc3339(held.held_at)},
            {"utm_campaign_id", campaign ? Json(*campaign) : Json(nullptr)},
            {"delivery", to_word(held.mode)},
            {"state", to_word(held.state)},
            {"expires_at", to_rfc3339(held.expires_at)},
            {"reasons", reasons_json(store::reasons_of(held))}};
  add_listed(data, store::kGiftRequestFields, content.request);
  data["recipients"] = Json::array();
  data["requested_recipients"] = std::move(requested);
  return http::json_text({{"data", std::move(data)}});
}

std::string held_gift_request_json(const store::HeldGiftRequest& held, std::string_view warnings) {
  const Json data{{"id", held.id.value},
                  {"state", to_word(held.state)},
                  {"expires_at", to_rfc3339(held.expires_at)},
                  {"reasons", reasons_json(store::reasons_of(held))}};
  // The warnings are a JSON array already.
  return fmt::format(R"({{"message":"GiftRequest held for approval.","data":{},"warnings":{}}})",
                     http::json_text(data), warnings);
}

Json text_json(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json time_json(const std::optional<UtcMillis>& time) {
  return time ? Json(to_rfc3339(*time)) : Json(nullptr);
}

std::string gift_tag(TransactionId id, std::int64_t version, std::int64_t mails) {
  return fmt::format("{}-{}-{}", id.value, version, mails);
}

namespace {

Json amount_json(const std::optional<Money>& amount) {
  return amount ? Json(to_decimal(*amount)) : Json(nullptr);
}

/// When the gift expires; null for one that has ended, and for one that a source sent.
Json expiry_json(const store::Gift& gift) {
  const auto end = sync::next_end(gift, sync::state_of(gift.transaction));
  return end && end->status == Status::expired ? Json(to_rfc3339(end->at)) : Json(nullptr);
}

}  // namespace

Json gift_json(const store::Gift& gift, const std::string& currency) {
  const store::RecipientTransaction& transaction = gift.transaction;
  const store::GiftRequest& request = gift.request;
  Json json{{"recipient_transaction_id", transaction.id.value},
            {"gift_request_id", request.id.value},
            {"version", transaction.version},
            {"status", to_word(transaction.status)}};
  for (const Status status : kAllStatuses)
    json[std::string(to_word(status)) + "_at"] = time_json(transaction.times[status]);
  json["expires_at"] = expiry_json(gift);
  json["has_conflict"] = transaction.has_conflict;
  json["email"] = text_json(transaction.email);
  json["phone_number"] = transaction.phone;
  json["first_name"] = text_json(transaction.first_name);
  json["last_name"] = text_json(transaction.last_name);
  json["message"] = text_json(transaction.message);
  json["gift_id"] = request.gift.value > 0 ? Json(request.gift.value) : Json(nullptr);
  json["item_name"] = text_json(request.item_name);
  json["total_price"] = amount_json(request.costs.total());
  exports::add_currency(json, currency);
  json["sender_email"] = text_json(request.sender_email);
  json["utm_campaign_id"] = request.utm_campaign_id ? Json(*request.utm_campaign_id) : Json(nullptr);
  json["delivery"] = to_word(request.mode);
  json["source"] = text_json(transaction.gift_source);
  json["external_id"] = text_json(transaction.external_id);
  add_listed(json, store::kGiftRequestFields, request, ListedNames::distinct);
  add_listed(json, store::kRecipientTransactionFields, transaction, ListedNames::distinct);
  return json;
}

Json listed_request_json(const store::GiftRequest& request, std::int64_t gifts) {
  Json json{{"id", request.id.value},
            {"gift_id", request.gift.value},
            {"item_name", request.item_name},
            {"created_at", to_rfc3339(request.created_at)},
            {"utm_campaign_id", request.utm_campaign_id ? Json(*request.utm_campaign_id) : Json(nullptr)},
            {"delivery", to_word(request.mode)},
            {"state", to_word(HeldState::sent)},
            {"sender_email", request.sender_email},
            {"gifts", gifts}};
  add_listed(json, store::kGiftRequestFields, request);
  return json;
}

std::string warnings_json(const http::FieldIssues& warnings) {
  if (warnings.empty()) return "[]";  // of nearly every request
  Json list = Json::array();
  for (const http::FieldIssue& warning : warnings)
    list.push_back({{"field", warning.field}, {"code", warning.code}, {"message", warning.message}});
  return http::json_text(list);
}

}  // namespace giftsync::handlers
