#include "sync/webhook_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "platform/digest.h"
#include "platform/http_client.h"
#include "platform/text.h"

namespace giftsync::sync {
namespace {

constexpr std::array<std::int64_t, 9> kRetryWaits = {
    5 * kSecondMillis, 5 * kMinuteMillis, 30 * kMinuteMillis, 2 * kHourMillis,  5 * kHourMillis,
    10 * kHourMillis,  14 * kHourMillis,  20 * kHourMillis,   24 * kHourMillis,
};
constexpr std::int64_t kFirstTestMillis = 5 * kSecondMillis;
constexpr std::int64_t kLongestTestMillis = 10 * kMinuteMillis;
constexpr std::size_t kSecretBytes = 32;

std::int64_t at_least(std::int64_t wait, const WebhookResponse& response) {
  return std::max(wait, std::min(response.retry_after_millis.value_or(0), kMaxRetryAfterMillis));
}

/// Of a host in lower case: a name, or an address.
bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == ':';
}

}  // namespace

WebhookOutcome outcome_of(const WebhookResponse& response) {
  if (response.status == 410) return WebhookOutcome::gone;
  return response.status >= 200 && response.status < 300 ? WebhookOutcome::accepted : WebhookOutcome::failed;
}

std::optional<std::int64_t> retry_after(const std::string& header, UtcMillis now) {
  if (const auto seconds = parse_number<std::uint32_t>(header)) return std::int64_t{*seconds} * kSecondMillis;
  const auto time = header.find(':') == std::string::npos ? std::nullopt : from_http_date(header);
  return time ? std::optional(std::max<std::int64_t>(time->value - now.value, 0)) : std::nullopt;
}

std::optional<std::int64_t> retry_wait(std::int64_t attempt, const WebhookResponse& response,
                                       std::int64_t random) {
  if (attempt < 1 || attempt > static_cast<std::int64_t>(kRetryWaits.size())) return std::nullopt;
  const std::int64_t wait = kRetryWaits[static_cast<std::size_t>(attempt - 1)];
  return at_least(wait / 1'000 * (800 + 2 * random / 5), response);
}

std::int64_t failing_wait(std::int64_t failures, const WebhookResponse& response) {
  std::int64_t wait = kFirstTestMillis;
  for (std::int64_t more = failures - kFailuresOfEndpoint; more > 0 && wait < kLongestTestMillis; --more)
    wait *= 2;
  return at_least(std::min(wait, kLongestTestMillis), response);
}

WebhookBatch::WebhookBatch(const WebhookStanding& before, std::int64_t position, std::int64_t scanned,
                           std::vector<std::int64_t> events)
    : before_(before),
      position_(position),
      scanned_(scanned),
      events_(std::move(events)),
      failures_(before.failures) {}

bool WebhookBatch::may_begin() const {
  if (is_gone_ || before_.state == WebhookState::disabled) return false;
  if (before_.state == WebhookState::failing && !has_success_) return tried_.empty() && !has_tested_;
  return failures_ < kFailuresOfEndpoint;
}

void WebhookBatch::add(std::int64_t seq, WebhookOutcome outcome) {
  tried_.insert(seq);
  if (outcome == WebhookOutcome::accepted) return add_retry(outcome);
  failed_.insert(seq);
  row_.insert(seq);
  // Attempts that were under way when the fifth one failed say nothing more.
  const bool is_test = before_.state == WebhookState::failing && !has_success_;
  if (is_test || failures_ < kFailuresOfEndpoint) ++failures_;
  is_gone_ = is_gone_ || outcome == WebhookOutcome::gone;
}

void WebhookBatch::add_retry(WebhookOutcome outcome) {
  is_gone_ = is_gone_ || outcome == WebhookOutcome::gone;
  if (outcome != WebhookOutcome::accepted) {
    if (before_.state != WebhookState::failing || has_success_) return;
    ++failures_;  // in place of an event it has tested the endpoint
    has_tested_ = true;
    return;
  }
  has_success_ = true;
  failures_ = 0;
  row_.clear();
}

std::int64_t WebhookBatch::position() const {
  std::int64_t position = position_;
  for (const std::int64_t seq : events_) {
    if (!tried_.contains(seq) || (is_at_fault() && row_.contains(seq))) return std::max(position, seq - 1);
    position = seq;
  }
  return std::max(position, scanned_);
}

std::vector<std::int64_t> WebhookBatch::failed() const {
  std::vector<std::int64_t> failed(failed_.begin(), failed_.upper_bound(position()));
  return failed;
}

WebhookStanding WebhookBatch::standing(UtcMillis now) const {
  WebhookStanding after{WebhookState::active, before_.state_since, failures_};
  if (is_gone_)
    after.state = WebhookState::disabled;
  else if (failures_ >= kFailuresOfEndpoint)
    after.state = WebhookState::failing;
  const bool lasts = before_.state == WebhookState::failing && after.state == WebhookState::failing;
  if (lasts && !has_success_ && (has_tested_ || !tried_.empty()) &&
      now >= before_.state_since + kDisabledAfterMillis)
    after.state = WebhookState::disabled;
  if (after.state != before_.state) after.state_since = now;
  return after;
}

std::size_t connection_of(std::int64_t object_id, std::size_t connections) {
  // Ids of one request follow one another; a product spreads them.
  const auto spread = static_cast<std::uint64_t>(object_id) * 0x9E3779B97F4A7C15ULL;
  return static_cast<std::size_t>((spread >> 32) % connections);
}

std::optional<std::string> address_refusal(const IpAddress& address, std::span<const IpNetwork> allowed,
                                           bool is_plain) {
  const auto reached = embedded_ipv4(address);
  const bool is_allowed = std::any_of(allowed.begin(), allowed.end(), [&](const IpNetwork& network) {
    return network.contains(address) || (reached && network.contains(*reached));
  });
  if (is_allowed) return std::nullopt;
  if (const auto range = special_range_of(address))
    return fmt::format("{} is a{} {} address, and webhooks.allowed_networks does not have it", address.text(),
                       *range == "unspecified" ? "n" : "", *range);
  if (is_plain)
    return fmt::format(
        "http without TLS may lead into webhooks.allowed_networks only, which does not have {}; use https",
        address.text());
  return std::nullopt;
}

std::optional<std::string> webhook_url_error(const std::string& url) {
  if (url.size() > kMaxWebhookUrlBytes)
    return fmt::format("the URL has {} bytes; allowed: {}", url.size(), kMaxWebhookUrlBytes);
  const bool is_printable = std::all_of(url.begin(), url.end(), [](char c) { return c > 0x20 && c < 0x7F; });
  const auto parts = is_printable ? url_parts(url) : std::nullopt;
  if (!parts || parts->host.empty() || (parts->scheme != "https" && parts->scheme != "http"))
    return "the URL is none of https; write https://HOST/PATH with printable ASCII characters";
  if (!std::all_of(parts->host.begin(), parts->host.end(), is_host_character))
    return "the URL's host has other characters than letters, digits, \"-\", \".\" and \"_\"; write it as "
           "it is, without escapes, and a name of another script as xn--...";
  if (!parts->user.empty() || !parts->password.empty())
    return "the URL has a user or a password; leave them out, since each call is signed";
  if (!parts->fragment.empty())
    return "the URL has a fragment, which no server gets; leave out \"#\" and the rest";
  const bool is_v6 = parts->host.find(':') != std::string::npos;
  const std::string beginning = parts->scheme + "://" + (is_v6 ? "[" + parts->host + "]" : parts->host);
  if (!ascii_lower(url).starts_with(beginning))
    return fmt::format("the URL leads to the host {}, which is written otherwise in it; begin it with {}",
                       parts->host, beginning);
  return std::nullopt;
}

std::string new_webhook_secret() {
  return "whsec_" + to_base64_text(random_bytes(kSecretBytes));
}

std::string webhook_signatures(std::span<const std::string> secrets, const std::string& id,
                               std::int64_t timestamp_seconds, std::string_view body) {
  const std::string signed_text = fmt::format("{}.{}.{}", id, timestamp_seconds, body);
  std::string signatures;
  for (const std::string& secret : secrets) {
    const auto key = standard_webhook_key(secret);
    if (!key) continue;
    signatures += (signatures.empty() ? "v1," : " v1,") + to_base64_text(hmac_sha256(*key, signed_text));
  }
  return signatures;
}

}  // namespace giftsync::sync
