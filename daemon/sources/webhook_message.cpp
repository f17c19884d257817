#include "daemon/sources/webhook_message.h"

#include "daemon/http/content_type.h"
#include "daemon/sources/event_extraction.h"
#include "daemon/sources/providers/provider_webhook.h"
#include "daemon/sources/signature_check.h"

namespace giftsync::daemon::sources {
namespace {

SignatureResult check_signature(const CompiledSource& source, const http::HttpRequest& request,
                                platform::UtcMillis now) {
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
                                     platform::UtcMillis now, const FetchUrl& fetch) {
  if (source.settings.preset != config::SourcePreset::none)
    return parse_provider_message(source, request, now, fetch);
  const SignatureResult signature = check_signature(source, request, now);
  if (!signature.is_valid) return WebhookRefusal{signature.why};
  if (const auto fault = http::source_json_content_type_error(request)) return WebhookUnsupportedType{*fault};
  const auto document = platform::parse_lenient_json(request.body);
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

}  // namespace giftsync::daemon::sources
