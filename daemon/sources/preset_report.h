// daemon/sources: what the presets have in common.
#pragma once

#include <string>
#include <string_view>

#include "daemon/http/json_ambiguity.h"
#include "daemon/sources/json_pointer.h"
#include "daemon/sources/mail_presets.h"
#include "daemon/sources/report_extraction.h"
#include "daemon/sources/report_judgement.h"
#include "daemon/sources/source_json.h"

namespace giftsync::daemon {

/// The name under which our Message-ID travels with a mail where a provider does not give it back itself.
inline constexpr const char* kMailArgument = "giftsync";

/// The text at a pointer that is a constant of the program; empty when there is none.
inline std::string text_at(const JsonValue& root, std::string_view pointer) {
  const JsonValue* value = JsonPointer::parse(pointer)->in(root);
  return value ? text_of(*value) : std::string();
}

/// A report about one of our mails; one about any other mail has the word that is ignored.
inline RawReport mail_report(const SourcePlan& plan, std::string_view message_id, std::string_view word,
                             std::string_view time, std::string_view event_id) {
  RawReport report;
  const auto mail = own_mail_of(message_id, plan.installation);
  report.set(ReportField::transaction_id, mail ? mail->transaction : "");
  report.set(ReportField::status, mail ? word : "other");
  if (mail) report.generation = mail->generation;
  report.set(ReportField::occurred_at, time);
  report.set(ReportField::event_id, event_id);
  return report;
}

/// A document from a body, or what is wrong with it.
inline std::variant<JsonDocument, WebhookGarbage> json_of(const std::string& body) {
  auto read = read_source_json(body);
  if (auto* fault = std::get_if<JsonFault>(&read)) return WebhookGarbage{*fault, fault->message};
  auto& document = std::get<JsonDocument>(read);
  if (auto fault = ambiguity_in(document.root())) return WebhookGarbage{*fault, fault->message};
  return std::move(document);
}

}  // namespace giftsync::daemon
