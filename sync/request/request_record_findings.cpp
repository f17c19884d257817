#include "sync/request/request_record_findings.h"

#include <algorithm>

#include "platform/text.h"
#include "platform/visible_text.h"
#include "schema/contact_normalization.h"
#include "sync/gift/test_gifts.h"
#include "sync/request/request_record_to_gift_request.h"

namespace giftsync::sync {
namespace {

using F = RequestRecordField;
using State = store::RequestRecordState;

constexpr std::size_t kQuotedCodePoints = 60;

std::string quoted(const std::string& text) {
  return "\"" + std::string(truncated(text, kQuotedCodePoints)) + "\"";
}

std::string trimmed(const std::string& text) {
  return std::string(giftsync::trimmed(text));
}

using Error = std::optional<std::string>;

Error gift_error(const RequestRecord& record, const store::GiftItem* item) {
  const std::string gift = trimmed(record.text(F::gift_id));
  if (gift.empty()) return "Gift Id is empty: enter the number of the gift to send.";
  if (!gift_id_of(record))
    return "Gift Id " + quoted(gift) +
           " is not a number: enter the number at the end of the item's page URL.";
  if (item == nullptr || !item->active)
    return "There is no item " + quoted(gift) +
           " in the catalogue: enter the Gift Id of another one; a giftsync administrator has the list.";
  return std::nullopt;
}

Error recipient_error(const RequestRecord& record, bool person_found) {
  const bool contact = !record.text(F::recipient_contact).empty();
  const bool lead = !record.text(F::recipient_lead).empty();
  if (contact && lead) return "Recipient Contact and Recipient Lead are both set: clear one of them.";
  if ((contact || lead) && !person_found) {
    return std::string(contact ? "Recipient Contact " : "Recipient Lead ") +
           quoted(record.text(contact ? F::recipient_contact : F::recipient_lead)) +
           " is not in the CRM: choose another one or clear the field.";
  }
  const std::string email = trimmed(record.text(F::recipient_email));
  if (email.empty()) return "There is no address to send to: fill in Recipient Email.";
  if (is_test_address(email))
    return "Recipient Email " + quoted(email) +
           " is for tests with a test key: enter the recipient's address.";
  const auto why = email_error(email);
  return why ? Error("Recipient Email " + quoted(email) + " " + *why + ".") : std::nullopt;
}

Error length_error(const std::string& label, const std::string& text, std::size_t limit) {
  const std::size_t length = count_code_points(text);
  if (length <= limit) return std::nullopt;
  return label + " has " + std::to_string(length) + " characters, at most " + std::to_string(limit) +
         " are allowed: shorten it.";
}

Error name_error(const RequestRecord& record, F field, std::size_t limit) {
  const std::string name = trimmed(record.text(field));
  const std::string label(descriptor_of(field).label);
  if (!is_plain_line(name))
    return label + " must be one line without control characters and bidirectional overrides.";
  return length_error(label, name, limit);
}

Error message_error(const std::string& message, std::size_t limit) {
  if (giftsync::trimmed(message).empty()) return "Message is empty: write one.";
  return length_error("Message", message, limit);
}

Error type_error(const std::string& type) {
  if (send_mode_of(type)) return std::nullopt;
  return "Send Type " + quoted(trimmed(type)) + " is not available: use email, or link to create its URLs.";
}

std::string command_with(std::string_view verb, const std::string& number) {
  return "giftsyncctl request " + std::string(verb) + " " + shell_word(number);
}

std::optional<RequestRecordFinding> status_finding(const RequestRecordProgress& progress) {
  const store::RequestRecordEntry& current = progress.current;
  if (current.deleted)
    return RequestRecordFinding{"deleted", "The record was deleted in the CRM: make a new request.",
                                "giftsyncctl request create"};
  switch (current.state) {
    case State::pending:
      return RequestRecordFinding{
          "approval", current.error.empty() ? "The record is Pending: it waits for approval." : current.error,
          command_with("approve", current.number)};
    case State::rejected:
      return RequestRecordFinding{"status", "The record is Rejected and stays so: make a new request.",
                                  "giftsyncctl request create"};
    case State::sent:
      return RequestRecordFinding{"status", current.error, "giftsyncctl request create"};
    case State::approved:
    case State::claimed:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::vector<RequestRecordFinding> sending_findings(const RequestRecord& completed,
                                                   const SendingFacts& facts) {
  std::vector<RequestRecordFinding> findings;
  const auto add = [&](const char* check, const Error& error, const char* command = "") {
    if (error) findings.push_back({check, *error, command});
  };
  const GiftRequestLimits& limits = facts.limits;
  add("gift", gift_error(completed, facts.item), "giftsyncctl item list");
  add("recipient", recipient_error(completed, facts.person_found));
  if (facts.refusal)
    findings.push_back(
        {"sending_policy", *facts.refusal,
         "giftsyncctl do-not-send check " + shell_word(trimmed(completed.text(F::recipient_email))), true});
  add("recipient_first_name", name_error(completed, F::recipient_first_name, limits.name_code_points));
  add("recipient_last_name", name_error(completed, F::recipient_last_name, limits.name_code_points));
  add("utm_campaign_id", name_error(completed, F::utm_campaign_id, limits.name_code_points));
  add("message", message_error(completed.text(F::message), limits.message_code_points));
  add("send_type", type_error(completed.text(F::send_type)));
  if (completed.text(F::sender).empty()) {
    add("sender", "Sender is empty: enter the CRM user on whose behalf the gift is sent.");
    return findings;
  }
  for (const MissingPrecondition& missing_precondition : facts.sender.missing)
    findings.push_back({std::string(to_word(missing_precondition.precondition)), missing_precondition.message,
                        missing_precondition.command, true});
  return findings;
}

std::vector<RequestRecordFinding> progress_findings(const RequestRecordProgress& progress) {
  std::vector<RequestRecordFinding> findings;
  if (progress.has_gift) return findings;
  if (!progress.requests_enabled)
    findings.push_back({"requests_enabled",
                        "requests.enabled in the settings is false: set it to true and reload giftsyncd.",
                        "systemctl reload giftsyncd", false});
  if (!progress.unreadable.empty())
    findings.push_back(
        {"text", "Its " + progress.unreadable + " contains invalid text (not UTF-8): correct it in the CRM.",
         "", false});
  if (auto finding = status_finding(progress)) findings.push_back(std::move(*finding));
  return findings;
}

std::optional<RequestRecordFinding> waiting_finding(const RequestRecordProgress& progress, UtcMillis now) {
  const store::RequestRecordEntry& current = progress.current;
  if (progress.has_gift || current.state != State::approved || current.failures == 0) return std::nullopt;
  const std::string command = command_with("retry", current.number);
  if (!progress.next_attempt_at)
    return RequestRecordFinding{
        "retry", "Its last attempt failed, and it waits for an edit. Nothing else keeps it: retry it.",
        command};
  if (*progress.next_attempt_at <= now) return std::nullopt;
  return RequestRecordFinding{"retry",
                              "Its last attempt failed; the next one is at " +
                                  to_rfc3339(*progress.next_attempt_at) + ", or at once by command.",
                              command, true};
}

std::string error_log_of(const std::vector<RequestRecordFinding>& findings, const std::string& number) {
  const std::string& first = findings.front().message;
  if (findings.size() == 1) return first;
  const std::string rest = " " + std::to_string(findings.size() - 1) +
                           " more: ask your giftsync administrator to check " + number + ".";
  const bool fits = count_code_points(first) + count_code_points(rest) <= kMaxMessageCodePoints;
  return fits ? first + rest : first;
}

}  // namespace giftsync::sync
