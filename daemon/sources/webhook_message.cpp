#include "daemon/sources/webhook_message.h"

#include "daemon/http/content_type.h"
#include "daemon/sources/mail_presets.h"
#include "daemon/sources/report_extraction.h"
#include "daemon/sources/signature_check.h"
#include "daemon/sources/source_json.h"

namespace giftsync::daemon {
namespace {

SignatureOutcome check_signature(const SourcePlan& plan, const HttpRequest& request, schema::UtcMillis now) {
  const SourceSettings& settings = plan.settings;
  switch (settings.signature) {
    case SourceSignature::standard:
      return check_standard_webhook(request, settings.secrets, now);
    case SourceSignature::hmac:
      return check_body_hmac(request, settings.signature_header, settings.secrets);
    case SourceSignature::basic:
      break;
  }
  return check_basic(request, settings.secrets);
}

}  // namespace

WebhookMessage read_webhook_message(const SourcePlan& plan, const HttpRequest& request, schema::UtcMillis now,
                                    const FetchText& fetch) {
  if (plan.settings.preset != SourcePreset::none) return read_preset_message(plan, request, now, fetch);
  const SignatureOutcome signature = check_signature(plan, request, now);
  if (!signature.good) return WebhookRefusal{signature.why};
  if (const auto fault = json_content_fault(request)) return WebhookWrongType{*fault};
  const auto read = read_source_json(request.body);
  if (const auto* fault = std::get_if<JsonFault>(&read)) return WebhookGarbage{*fault, fault->message};
  auto extracted = extract_reports(std::get<JsonDocument>(read).root(), plan);
  if (const auto* many = std::get_if<TooManyReports>(&extracted)) return *many;
  if (auto* why = std::get_if<std::string>(&extracted)) return WebhookGarbage{std::nullopt, std::move(*why)};
  return WebhookReports{std::move(std::get<std::vector<RawReport>>(extracted)), signature.message_id};
}

}  // namespace giftsync::daemon
