#include "daemon/webhooks/webhook_post.h"

#include <fmt/format.h>

#include <chrono>

#include "platform/json.h"
#include "platform/visible_text.h"
#include "schema/enums.h"
#include "sync/feed_step.h"

namespace giftsync::webhooks {
namespace {

constexpr std::size_t kReadBytes = 16 * 1024;
constexpr std::size_t kKeptBytes = 1'024;
constexpr std::int64_t kConnectMillis = 5'000;

Json time_json(const std::optional<UtcMillis>& time) {
  return time ? Json(to_rfc3339(*time)) : Json(nullptr);
}

Json text_json(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

/// Invalid UTF-8 becomes U+FFFD.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Without names, message and URLs (HOOK-3).
Json gift_json(const store::Gift& gift) {
  const store::RecipientTransaction& transaction = gift.transaction;
  Json json = {{"recipient_transaction_id", transaction.id.value},
               {"gift_request_id", gift.request.id.value},
               {"version", transaction.version},
               {"status", to_word(transaction.status)},
               {"email", transaction.email},
               {"gift_id", gift.request.gift.value},
               {"utm_campaign_id", text_json(gift.request.utm_campaign_id.value_or(""))},
               {"sender_email", text_json(gift.request.sender_email)}};
  for (const Status status : kAllStatuses)
    json[std::string(to_word(status)) + "_at"] = time_json(transaction.times[status]);
  return json;
}

/// "Sat"; printable, and cut as the log keeps it.
std::string kept_text(const std::string& body) {
  return visible_text(std::string_view(body).substr(0, kKeptBytes), "\n\t");
}

AddressCheck check_of(const std::string& url, const PostOptions& options) {
  const auto parts = url_parts(url);
  const bool is_plain = !parts || parts->scheme != "https";
  return [is_plain, allowed = options.allowed_networks](const IpAddress& address) {
    return sync::address_refusal(address, allowed, is_plain);
  };
}

}  // namespace

std::string event_body(std::int64_t epoch, const store::FeedEvent& event, const store::Gift* gift) {
  Json data = {{"event_id", sync::feed_event_id(epoch, event.seq)},
               {"change", {{"from", text_json(event.status_before)}, {"to", text_json(event.status_after)}}}};
  const std::string type(to_word(event.type));
  if (type.starts_with("gift.")) {
    data["change"]["version"] = event.version;
    if (event.occurred_at) data["change"]["occurred_at"] = to_rfc3339(*event.occurred_at);
    data["recipient_transaction_id"] = event.object;
    data["gift"] = gift == nullptr ? Json(nullptr) : gift_json(*gift);
  } else {
    // Named as in the feed.
    if (type.starts_with("gift_request.")) data["gift_request_id"] = event.object;
    if (!event.record.empty())
      data[type.starts_with("request_record.") ? "request_record_id" : "record"] = event.record;
  }
  return text_of({{"type", type},
                  {"timestamp", to_rfc3339(event.recorded_at)},
                  {"test", event.is_test},
                  {"data", std::move(data)}});
}

std::string test_body(const std::string& id, UtcMillis now) {
  return text_of({{"type", "endpoint.test"},
                  {"timestamp", to_rfc3339(now)},
                  {"test", true},
                  {"data", {{"event_id", id}}}});
}

std::string Posted::describe() const {
  if (response.status == 0) return error;
  return fmt::format("status {}{}{}", response.status, body.empty() ? "" : ": ", body);
}

WebhookClient::WebhookClient(std::string url, const PostOptions& options)
    : url_(std::move(url)),
      http_({.ca_file = options.ca_file,
             .max_bytes = kReadBytes,
             .connect_timeout_millis = kConnectMillis,
             .timeout_millis = options.timeout_millis,
             .plain_http = PlainHttp::anywhere,
             .bypass_proxy = true,
             .address_check = check_of(url_, options),
             .cuts_body = true,
             .asks_for_compression = false}) {}

Posted WebhookClient::post(const std::string& id, const std::string& body,
                           const std::vector<std::string>& secrets, UtcMillis now,
                           const KeepGoing& keep_going) {
  const std::int64_t seconds = now.value / kSecondMillis;
  HttpRequest request{.method = "POST", .url = url_, .body = body, .may_repeat = true};
  request.headers = {"Content-Type: application/json", "webhook-id: " + id,
                     fmt::format("webhook-timestamp: {}", seconds),
                     "webhook-signature: " + sync::webhook_signatures(secrets, id, seconds, body)};
  const auto begun = std::chrono::steady_clock::now();
  const HttpResponse response = http_.send(request, keep_going);
  const auto taken = std::chrono::steady_clock::now() - begun;
  Posted posted;
  posted.started_at = now;
  posted.millis = std::chrono::duration_cast<std::chrono::milliseconds>(taken).count();
  posted.response = {response.status, sync::retry_after(response.header("retry-after"), now)};
  posted.error = visible_text(response.error);
  posted.body = kept_text(response.body);
  return posted;
}

std::optional<std::string> url_refusal(const std::string& url, const std::vector<IpNetwork>& allowed) {
  if (auto error = sync::webhook_url_error(url)) return error;
  const UrlParts parts = url_parts(url).value();
  for (const IpAddress& address : resolve_host(parts.host))
    if (auto refusal = sync::address_refusal(address, allowed, parts.scheme != "https")) return refusal;
  return std::nullopt;
}

std::vector<std::string> signing_secrets(const store::WebhookEndpoint& endpoint, const Unseal& unseal,
                                         UtcMillis now) {
  std::vector<std::string> secrets;
  const auto add = [&](const std::string& sealed) {
    if (auto text = unseal(sealed)) secrets.push_back(std::move(*text));
  };
  add(endpoint.secret);
  if (!endpoint.previous_secret.empty() && endpoint.previous_until && now < *endpoint.previous_until)
    add(endpoint.previous_secret);
  return secrets;
}

}  // namespace giftsync::webhooks
