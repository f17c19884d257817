#include "daemon/sources/webhook_message.h"

#include "daemon/http/json_request.h"
#include "daemon/sources/provider_webhook.h"
#include "platform/digest.h"
#include "platform/text.h"

namespace giftsync::sources {
namespace {

SignatureResult check_signature(const CompiledSource& source, const http::HttpRequest& request,
                                UtcMillis now) {
  const config::SourceSettings& settings = source.settings;
  switch (settings.signature) {
    case config::SourceSignature::standard:
      return check_standard_webhook(request, settings.secrets, now);
    case config::SourceSignature::hmac:
      return check_body_hmac(request, settings.signature_header, settings.secrets);
    case config::SourceSignature::basic:
      break;
  }
  return check_basic(request, settings.secrets);
}

constexpr std::string_view kStandardSignature = "webhook-signature";

/// Where the signature is, or a part of it; empty: in the body.
std::string_view signature_header(const config::SourceSettings& settings) {
  switch (settings.preset) {
    case config::SourcePreset::ses:
    case config::SourcePreset::mailgun:
      return {};
    case config::SourcePreset::postmark:
      return "Authorization";
    case config::SourcePreset::sendgrid:
      return "X-Twilio-Email-Event-Webhook-Signature";
    case config::SourcePreset::none:
      break;
  }
  switch (settings.signature) {
    case config::SourceSignature::standard:
      return kStandardSignature;
    case config::SourceSignature::hmac:
      return settings.signature_header;
    case config::SourceSignature::basic:
      break;
  }
  return "Authorization";
}

}  // namespace

WebhookMessage parse_webhook_message(const CompiledSource& source, const http::HttpRequest& request,
                                     UtcMillis now, const FetchUrl& fetch) {
  if (source.settings.preset != config::SourcePreset::none)
    return parse_provider_message(source, request, now, fetch);
  const SignatureResult signature = check_signature(source, request, now);
  if (!signature.is_valid) return WebhookRefusal{signature.why};
  if (const auto fault = http::source_json_content_type_error(request)) return WebhookUnsupportedType{*fault};
  const auto document = parse_lenient_json(request.body);
  if (!document) return WebhookInvalidBody{document.error(), document.error().message};
  auto extracted = extract_events(document->root(), source);
  if (extracted) return WebhookEvents{std::move(*extracted), signature.message_id};
  if (const auto* many = std::get_if<TooManyEvents>(&extracted.error())) return *many;
  return WebhookInvalidBody{std::nullopt, std::get<std::string>(extracted.error())};
}

bool may_be_signed(const CompiledSource& source, const http::HttpRequest& head) {
  const std::string_view name = signature_header(source.settings);
  return name.empty() || head.headers.contains(name) ||
         (name == kStandardSignature && head.headers.contains("svix-signature"));
}

namespace {

constexpr std::size_t kMaxSignatures = 20;
constexpr std::size_t kMaxIdBytes = 255;
constexpr std::size_t kMaxSchemeBytes = 16;

SignatureResult rejected(std::string why) {
  return {false, std::move(why), std::nullopt};
}

std::vector<std::string_view> split_signatures(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> entries;
  while (!text.empty() && entries.size() < kMaxSignatures) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (end > 0) entries.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return entries;
}

/// Without "sha256=", "v1=" or the like. A code of 32 bytes has no "=" so early.
std::string_view without_scheme(std::string_view signature) {
  const std::size_t equals = signature.find('=');
  return equals <= kMaxSchemeBytes ? signature.substr(equals + 1) : signature;
}

std::optional<std::int64_t> parse_seconds(std::string_view text) {
  const auto seconds = parse_number<std::int64_t>(text);
  return seconds && *seconds > 0 && *seconds < 100'000'000'000 ? seconds : std::nullopt;
}

/// Compares every pair, even after a match, so the time does not depend on the result.
bool any_matches(const std::vector<std::string>& expected, const std::vector<std::string>& received) {
  bool found = false;
  for (const std::string& one : expected) {
    for (const std::string& other : received) {
      if (equal_in_constant_time(one, other)) found = true;
    }
  }
  return found;
}

}  // namespace

std::optional<std::string> standard_webhook_header(const http::HttpRequest& request,
                                                   const std::string& name) {
  const bool has_own_names = request.headers.contains("webhook-id");
  return request.header((has_own_names ? "webhook-" : "svix-") + name);
}

SignatureResult check_standard_webhook(const http::HttpRequest& request,
                                       const std::vector<config::Secret>& secrets, UtcMillis now) {
  const auto id = standard_webhook_header(request, "id");
  const auto timestamp = standard_webhook_header(request, "timestamp");
  const auto signature = standard_webhook_header(request, "signature");
  if (!id || id->empty() || id->size() > kMaxIdBytes || !timestamp || !signature)
    return rejected(
        "without webhook-id, webhook-timestamp and webhook-signature (or the same with svix-), each once");
  if (!is_storable_text(*id)) return rejected("with a webhook-id that is not text");
  const auto seconds = parse_seconds(*timestamp);
  if (!seconds) return rejected("with a webhook-timestamp that is not a number of seconds");
  const std::int64_t age = now.value - *seconds * kSecondMillis;
  if (age > kSignatureToleranceMillis || age < -kSignatureToleranceMillis)
    return rejected("signed more than five minutes from now");
  std::vector<std::string> received;
  for (const std::string_view entry : split_signatures(*signature, " ")) {
    if (!entry.starts_with("v1,")) continue;
    if (auto bytes = from_base64_text(entry.substr(3))) received.push_back(std::move(*bytes));
  }
  std::vector<std::string> expected;
  for (const config::Secret& secret : secrets) {
    if (const auto key = standard_webhook_key(secret.reveal()))
      expected.push_back(hmac_sha256(*key, *id + "." + *timestamp + "." + request.body));
  }
  if (!any_matches(expected, received)) return rejected("with a wrong signature");
  return {true, "", *id};
}

SignatureResult check_body_hmac(const http::HttpRequest& request, const std::string& header,
                                const std::vector<config::Secret>& secrets) {
  const auto value = request.header(header);
  if (!value) return rejected("without " + header);
  std::vector<std::string> received;
  for (const std::string_view entry : split_signatures(*value, ", \t")) {
    const std::string_view text = without_scheme(entry);
    if (auto bytes = from_hex(text); bytes && bytes->size() == kSha256Bytes)
      received.push_back(std::move(*bytes));
    if (auto bytes = from_base64_text(text)) received.push_back(std::move(*bytes));
  }
  std::vector<std::string> expected;
  for (const config::Secret& secret : secrets) expected.push_back(hmac_sha256(secret.reveal(), request.body));
  if (!any_matches(expected, received)) return rejected("with a wrong signature");
  return {true, "", std::nullopt};
}

SignatureResult check_basic(const http::HttpRequest& request, const std::vector<config::Secret>& secrets) {
  const auto value = request.header("Authorization");
  if (!value || ascii_lower(std::string_view(*value).substr(0, 6)) != "basic ")
    return rejected("without a user name and password");
  const auto received = from_base64_text(trimmed(std::string_view(*value).substr(6)));
  // Compares digests, so the time does not reveal the secret's length either.
  std::vector<std::string> expected;
  for (const config::Secret& secret : secrets) expected.push_back(sha256(secret.reveal()));
  if (!received || !any_matches(expected, {sha256(*received)}))
    return rejected("with a wrong user name or password");
  return {true, "", std::nullopt};
}

}  // namespace giftsync::sources
