#include "daemon/sources/postmark.h"

#include <algorithm>
#include <array>

#include "daemon/sources/preset_report.h"
#include "daemon/sources/signature_check.h"

namespace giftsync::daemon {
namespace {

/// Of bounces only these are for good. A soft one may still be delivered, and a complaint came from somebody
/// who has the mail. The last two never left: SMTPApiError is of an address that Postmark mails no more.
constexpr std::array<std::string_view, 8> kForGood{
    "HardBounce",       "BadEmailAddress", "ManuallyDeactivated", "Blocked",
    "SpamNotification", "DMARCPolicy",     "SMTPApiError",        "TemplateRenderingFailed"};

bool is_for_good(const std::string& type) {
  return std::find(kForGood.begin(), kForGood.end(), type) != kForGood.end();
}

}  // namespace

WebhookMessage read_postmark_message(const SourcePlan& plan, const HttpRequest& request) {
  const SignatureOutcome login = check_basic(request, plan.settings.secrets);
  if (!login.good) return WebhookRefusal{login.why};
  auto read = json_of(request.body);
  if (auto* garbage = std::get_if<WebhookGarbage>(&read)) return std::move(*garbage);
  const JsonValue& root = std::get<JsonDocument>(read).root();
  const std::string type = text_at(root, "/RecordType");
  if (type.empty()) return WebhookGarbage{std::nullopt, "there is no RecordType"};
  const std::string argument = text_at(root, std::string("/Metadata/") + kMailArgument);
  const std::string postmark_id = text_at(root, "/MessageID");
  WebhookReports message;
  if (type == "Delivery") {
    message.reports.push_back(
        mail_report(plan, argument, "delivered", text_at(root, "/DeliveredAt"), "delivery " + postmark_id));
  } else if (type == "Bounce") {
    const bool is_final = is_for_good(text_at(root, "/Type"));
    message.reports.push_back(mail_report(plan, argument, is_final ? "bounced" : "other",
                                          text_at(root, "/BouncedAt"), "bounce " + text_at(root, "/ID")));
  } else if (type == "Open") {
    message.reports.push_back(
        mail_report(plan, argument, "opened", text_at(root, "/ReceivedAt"), "open " + postmark_id));
  } else {
    message.reports.push_back(mail_report(plan, argument, "other", "", ""));
  }
  return message;
}

}  // namespace giftsync::daemon
