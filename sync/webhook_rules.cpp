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
constexpr std::size_t kMaxPortDigits = 5;
constexpr unsigned kMaxPort = 65'535;

std::int64_t at_least(std::int64_t wait, const WebhookResponse& response) {
  return std::max(wait, std::min(response.retry_after_millis.value_or(0), kMaxRetryAfterMillis));
}

/// "example.com", "192.0.2.1", or an IPv6 address in brackets. What curl would read as another address than
/// it says is refused: "127.1", "%31", a zone.
std::optional<std::string> host_error(std::string_view host) {
  if (host.empty()) return "the URL has no host; write https://HOST/PATH";
  if (host.front() == '[') {
    const auto address =
        host.back() == ']' ? parse_ip_address(host.substr(1, host.size() - 2)) : std::nullopt;
    if (address && host.find(':') != std::string_view::npos) return std::nullopt;
    return fmt::format("{} is no IPv6 address; write it as [2001:db8::1], without a zone", host);
  }
  const bool has_others = std::any_of(host.begin(), host.end(), [](char c) {
    return !is_ascii_letter_or_digit(c) && c != '.' && c != '-' && c != '_';
  });
  if (has_others)
    return fmt::format(
        "the host {} has other characters than letters, digits, \".\", \"-\" and \"_\"; write a name of "
        "another script as xn--..., and IPv6 in brackets",
        host);
  if (host.front() == '.' || host.back() == '.' || host.find("..") != std::string_view::npos)
    return fmt::format("the host {} has a dot at an end, or two in a row; leave them out", host);
  const std::string_view last = host.substr(host.rfind('.') + 1);  // npos + 1: the whole
  const bool is_number = last.starts_with("0x") || last.starts_with("0X") ||
                         last.find_first_not_of("0123456789") == std::string_view::npos;
  if (is_number && !parse_ip_address(host))
    return fmt::format("the host {} is neither a name nor an address; write four numbers, as 192.0.2.1",
                       host);
  return std::nullopt;
}

/// What is between "//" and the path.
std::optional<std::string> authority_error(std::string_view authority) {
  if (authority.find('@') != std::string_view::npos)
    return "the URL has a user or a password; leave them out, since each call is signed";
  const std::size_t bracket = authority.rfind(']');
  if (bracket == std::string_view::npos && std::count(authority.begin(), authority.end(), ':') > 1)
    return "the URL has more than one colon before its path; write an IPv6 address in brackets, as "
           "https://[2001:db8::1]/";
  const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (auto error = host_error(authority.substr(0, colon))) return error;
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view port = authority.substr(colon + 1);
  const auto number = parse_number<unsigned>(port);
  if (number && *number >= 1 && *number <= kMaxPort && port.size() <= kMaxPortDigits) return std::nullopt;
  return fmt::format("the URL has the port \"{}\"; allowed: 1 to {}, or leave out the colon", port, kMaxPort);
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
  const std::string scheme = ascii_lower(url.substr(0, url.find("://")));
  if (!is_printable || scheme.size() == url.size() || (scheme != "https" && scheme != "http"))
    return "the URL is none of https; write https://HOST/PATH with printable ASCII characters";
  // curl takes "https:///x" and "https:/x" for the host x, and drops an empty user: the text is read as it
  // is.
  const std::string_view rest = std::string_view(url).substr(scheme.size() + 3);
  if (auto error = authority_error(rest.substr(0, rest.find_first_of("/?#")))) return error;
  if (rest.find('#') != std::string_view::npos)
    return "the URL has a fragment, which no server gets; leave out \"#\" and the rest";
  if (!url_parts(url)) return "the URL cannot be read; write https://HOST/PATH";
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
