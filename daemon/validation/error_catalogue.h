// daemon/validation: the catalogue of the API's errors: one table of the problems (HTTP-36) and one of the
// codes of faults, warnings, findings and reasons (HTTP-37). docs/operations/errors.md is made from both;
// docs/openapi.yaml lists the same codes. A code that a source names and no table has does not compile. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace giftsync::validation {

/// Whether the same request may be sent again. Nothing was done, so an Idempotency-Key may be used again too.
enum class Repeat : std::uint8_t {
  never,             ///< the answer stays the same
  after_correction,  ///< once the caller, or an administrator, has changed what the problem names
  later,             ///< unchanged, after Retry-After
};

struct ProblemKind {
  std::string_view code;  ///< stable, for programs
  int status = 0;
  std::string_view title;  ///< the same for each occurrence; two rows of a code differ in it
  Repeat repeat = Repeat::never;
  std::string_view meaning;  ///< what it means, and what to do: sentences of Markdown
};

// One kind a line, by status.
// clang-format off
inline constexpr ProblemKind kProblemKinds[] = {
    {"malformed_json", 400, "The body is not valid JSON", Repeat::after_correction, "`errors` has the fault and its position. Send one JSON object, encoded as UTF-8."},
    {"invalid", 400, "The request is not valid", Repeat::after_correction, "`errors` has every fault of a member, a parameter or a header. Correct them all."},
    {"invalid", 400, "The message is not valid", Repeat::after_correction, "A message of a source cannot be read by the source's settings. Compare both: [sources.md](sources.md)."},
    {"invalid_idempotency_key", 400, "The Idempotency-Key header is not valid", Repeat::after_correction, "Send one key of 1 to 255 printable ASCII characters."},
    {"test_only", 400, "The header is for test keys", Repeat::after_correction, "The key is live. Leave Giftsync-Test-Response out, or use a test key: [try-without-sending.md](try-without-sending.md)."},
    {"missing_api_key", 401, "An API key is needed", Repeat::after_correction, "Send the key in one Authorization header, alone or after `Bearer`."},
    {"refused_api_key", 401, "The API key is wrong or not active", Repeat::after_correction, "It is not known, revoked or expired, or its account is deactivated. `giftsyncctl key list` shows which; make a new one."},
    {"refused_organization_token", 401, "The organization token is missing or not active", Repeat::after_correction, "Make one with `giftsyncctl organization create` and enter it in the CRM's package settings."},
    {"refused_signature", 401, "The message's signature is missing or wrong", Repeat::after_correction, "Compare the secret on both sides, and the sender's clock: [sources.md](sources.md)."},
    {"plan_without_api_access", 403, "The account's plan has no API access", Repeat::after_correction, "The plans team, enterprise and enterprise_plus have it."},
    {"missing_scope", 403, "The API key may not do this", Repeat::after_correction, "Use a key with the scope that the message names."},
    {"sending_refused", 403, "The sending policy refuses this request", Repeat::after_correction, "`errors` has each recipient or budget for which nothing was sent: [do-not-send.md](do-not-send.md), [budgets.md](budgets.md). With `available_at` it may fit from then on."},
    {"sending_refused", 403, "The held request cannot be sent", Repeat::after_correction, "`errors` has what no approval overrides. The request still waits: remove the cause, or reject it."},
    {"held_request_rejected", 403, "The request was held and is not sent", Repeat::never, "A person rejected it. Ask again under a new Idempotency-Key."},
    {"held_request_expired", 403, "The request was held and is not sent", Repeat::never, "No person decided in time. Ask again under a new Idempotency-Key."},
    {"key_paused", 403, "The key or token is paused", Repeat::after_correction, "An administrator looks at what it sent, then `giftsyncctl key release KEY`: [stop-sending.md](stop-sending.md)."},
    {"tests_disabled", 403, "Test keys are not in use here", Repeat::after_correction, "Set test.enabled to true, or use a live key."},
    {"live_only", 403, "A test key cannot do this", Repeat::after_correction, "Use a live key."},
    {"sender_may_not_send", 403, "The sender may not send from the CRM", Repeat::after_correction, "`errors` has each precondition that the CRM user lacks, with the remedy."},
    {"sender_is_another", 403, "The API key may not approve for another Sender", Repeat::after_correction, "Leave Auto_Approved out; the request record then waits for approval."},
    {"may_not_auto_approve", 403, "The API key may not approve its own request", Repeat::after_correction, "Leave Auto_Approved out; the request record then waits for approval."},
    {"own_request", 403, "Requesters cannot approve their own request", Repeat::never, "Ask another approver."},
    {"requests_disabled", 403, "Request records are not in use here", Repeat::after_correction, "Set requests.enabled to true: [request-records.md](request-records.md)."},
    {"not_found", 404, "There is nothing at this address", Repeat::never, "The path is wrong, or what it names does not belong to the key's account. Compare the address with server.base_url and server.admin_url."},
    {"unknown_request_record", 404, "The request record is unknown", Repeat::never, "No request record that this key may read has this number or Id."},
    {"unknown_held_request", 404, "The held request is unknown", Repeat::never, "No held request of the key's organization has this id."},
    {"unknown_gift", 404, "The gift is unknown", Repeat::never, "No gift that this key reads has this id."},
    {"unknown_webhook_endpoint", 404, "The webhook endpoint is unknown", Repeat::never, "The key's account has no webhook endpoint with this id."},
    {"unknown_item", 404, "The item is unknown", Repeat::never, "No active item has this id: `giftsyncctl item list`."},
    {"method_not_allowed", 405, "The method is not allowed here", Repeat::after_correction, "Use a method of the header Allow."},
    {"idempotency_key_in_use", 409, "A request with this Idempotency-Key is still running", Repeat::later, "The first request under this key is still running; a repeat gets its answer."},
    {"illegal_move", 409, "The request's state does not allow this", Repeat::never, "It was decided before, or does not wait any more. Read it again."},
    {"changed_meanwhile", 409, "The request was changed at the same time", Repeat::after_correction, "Read the request record again, then decide."},
    {"not_applicable", 409, "The gift's state does not allow this", Repeat::never, "The message says why. Read the gift again."},
    {"stream_in_progress", 409, "This key reads a stream already", Repeat::later, "Wait until the other stream has ended, or use another key."},
    {"endpoint_exists", 409, "The webhook endpoint's state does not allow this", Repeat::after_correction, "Another webhook endpoint has this name. Choose another one."},
    {"too_many_endpoints", 409, "The webhook endpoint's state does not allow this", Repeat::after_correction, "Delete a webhook endpoint that is not used any more."},
    {"rotation_in_progress", 409, "The webhook endpoint's state does not allow this", Repeat::after_correction, "The former secret still signs. Wait for its end, or rotate with `force`."},
    {"secret_unreadable", 409, "The secret cannot be read", Repeat::after_correction, "It was sealed with another server secret. Rotate it with `force`."},
    {"feed_off", 409, "The feed is off", Repeat::after_correction, "Set feed.enabled to true: [feed.md](feed.md)."},
    {"cursor_expired", 410, "The cursor is not valid any more", Repeat::never, "List all gifts, and go on from the feed_cursor of the first page: [feed.md](feed.md)."},
    {"gift_changed", 412, "The gift has changed since it was read", Repeat::after_correction, "Read it again, and decide with the new ETag."},
    {"content_changed", 412, "The content was edited since it was read", Repeat::after_correction, "Read it again, and decide with the new ETag."},
    {"body_too_large", 413, "The body is too large", Repeat::after_correction, "Divide the recipients among several requests; limits.max_body_bytes is the limit."},
    {"too_many_reports", 413, "The message contains too many events", Repeat::after_correction, "Send at most 10,000 events in one message."},
    {"unsupported_media_type", 415, "The body must be JSON", Repeat::after_correction, "Send `Content-Type: application/json`."},
    {"unsupported_content_encoding", 415, "The body must not be compressed", Repeat::after_correction, "Send the body without a Content-Encoding."},
    {"idempotency_mismatch", 422, "The Idempotency-Key belongs to another request", Repeat::after_correction, "Use a new key for a new request, and the same body to repeat one."},
    {"precondition_required", 428, "If-Match is missing", Repeat::after_correction, "Send the ETag of the gift in If-Match, so that a repeat mails nothing twice."},
    {"rate_limited", 429, "Too many requests", Repeat::later, "More requests than limits.requests_per_minute came. The header RateLimit-Reset has the seconds to wait."},
    {"internal_error", 500, "The server failed", Repeat::never, "A bug, or a fault that does not pass by itself. The log has it under the Request-Id: [troubleshooting.md](troubleshooting.md). With an Idempotency-Key a repeat sends nothing twice."},
    {"unavailable", 503, "The service is not available for the moment", Repeat::later, "Store or CRM do not respond, or too many requests wait: [troubleshooting.md](troubleshooting.md#store-outage). Use an Idempotency-Key, so that nothing is sent twice."},
    {"source_is_full", 503, "Too many events of this source are waiting", Repeat::later, "`giftsyncctl source list` and `giftsyncctl source quarantine NAME` show them: [sources.md](sources.md)."},
    {"cannot_check_now", 503, "The message cannot be checked now", Repeat::later, "The certificate of a mail provider's signature cannot be fetched or read."},
};
// clang-format on

/// A row of kProblemKinds, found while the source is compiled.
class ProblemCode {
 public:
  /// `title`: of the row, where a code has several; else its first row.
  consteval ProblemCode(std::string_view code, std::string_view title = {}) : kind_(find(code, title)) {}
  consteval ProblemCode(const char* code) : ProblemCode(std::string_view(code)) {}

  const ProblemKind& kind() const { return *kind_; }

 private:
  static consteval const ProblemKind* find(std::string_view code, std::string_view title) {
    for (const ProblemKind& kind : kProblemKinds)
      if (kind.code == code && (title.empty() || kind.title == title)) return &kind;
    throw "kProblemKinds has no such code and title";
  }

  const ProblemKind* kind_;
};

// Where a code stands in a response's body; several may be joined by |.
inline constexpr unsigned kInErrors = 1;    ///< `errors` of a problem
inline constexpr unsigned kInWarnings = 2;  ///< `warnings` of what was accepted
inline constexpr unsigned kInFindings = 4;  ///< `findings` of a call that only validates
inline constexpr unsigned kInReasons = 8;   ///< `reasons`, `faults` and `notes` of a held request

struct FieldCodeKind {
  std::string_view code;
  unsigned places = 0;
  std::string_view meaning;  ///< a sentence of Markdown
};

// One code a line.
// clang-format off
inline constexpr FieldCodeKind kFieldCodeKinds[] = {
    {"missing", kInErrors, "The member is required."},
    {"wrong_type", kInErrors, "The member is of another kind: text, number, list, object."},
    {"empty", kInErrors, "The text is blank, or the list has no element."},
    {"too_long", kInErrors, "The text, or a number or name in the JSON, has too many characters."},
    {"too_many", kInErrors, "The list has too many elements; the faults of the first 100 are listed."},
    {"control_character", kInErrors, "The text must be one line without control characters."},
    {"unsupported_value", kInErrors, "The message has the values that are allowed."},
    {"invalid", kInErrors, "The value, or an event of a source's message, cannot be read."},
    {"url_not_allowed", kInErrors, "Events are posted to no such address: [webhooks-out.md](webhooks-out.md)."},
    {"unknown_parameter", kInErrors, "The address has no such parameter, or the body no such member."},
    {"repeated_parameter", kInErrors, "The parameter may be given once."},
    {"invalid_gift_id", kInErrors, "It must be a whole number from 1 to 2^53."},
    {"unknown_gift", kInErrors | kInWarnings | kInReasons, "No active item of the catalogue has this id: `giftsyncctl item list`."},
    {"invalid_email", kInErrors | kInWarnings, "It is not an e-mail address to which mail can be sent."},
    {"invalid_sender", kInErrors, "The sender names one CRM user, by user_id or by email."},
    {"placeholder", kInErrors | kInWarnings, "The text has a placeholder that was not filled in."},
    {"test_recipient", kInErrors, "The address is for tests, and the key is live."},
    {"unknown_test_recipient", kInErrors, "No outcome of tests has this address."},
    {"empty_text", kInErrors, "The body is empty."},
    {"byte_order_mark", kInErrors, "The body begins with a byte order mark."},
    {"syntax", kInErrors, "The body is not JSON at this position."},
    {"invalid_utf8", kInErrors, "The body is not UTF-8 at this position."},
    {"lone_surrogate", kInErrors, "A text has half of a surrogate pair."},
    {"nul_character", kInErrors, "A text or name has the NUL character."},
    {"number_out_of_range", kInErrors, "A number does not fit 64 bits."},
    {"too_deep", kInErrors, "Lists and objects are nested deeper than 64 levels."},
    {"too_many_values", kInErrors, "The body has too many values."},
    {"duplicate_key", kInErrors, "An object has a name twice."},
    {"organization_token", kInErrors | kInFindings, "The organization token is missing or not active."},
    {"sender_in_crm", kInErrors | kInFindings, "The CRM has no such user."},
    {"active_user", kInErrors | kInFindings, "The CRM user is not active."},
    {"account", kInErrors | kInFindings | kInReasons, "The sender has no account, or it is deactivated."},
    {"active_account", kInErrors | kInFindings, "The sender's account is deactivated."},
    {"account_organization", kInErrors | kInFindings, "The sender has no account of the token's organization."},
    {"organization", kInErrors | kInReasons, "The account belongs to another organization now."},
    {"plan", kInErrors | kInFindings | kInReasons, "The account's plan has no API access."},
    {"permission_set", kInErrors | kInFindings, "The CRM user has no permission set for sending."},
    {"do_not_send", kInErrors | kInFindings | kInReasons, "Nothing is sent to this recipient: [do-not-send.md](do-not-send.md)."},
    {"recipient_not_allowed", kInErrors | kInFindings | kInReasons, "The recipient's domain is not among sending.allowed_domains."},
    {"recent_gift", kInErrors | kInWarnings | kInFindings | kInReasons, "The recipient got too many gifts lately: [budgets.md](budgets.md)."},
    {"budget_exceeded", kInErrors | kInFindings | kInReasons, "The request does not fit in a budget: [budgets.md](budgets.md)."},
    {"unknown_cost", kInErrors | kInFindings | kInReasons, "A budget has an amount, and the item has no price."},
    {"more", kInErrors | kInReasons, "The number of recipients that are not listed."},
    {"key_paused", kInFindings | kInReasons, "The key or token is paused, or the call would pause it."},
    {"key_revoked", kInReasons, "The key or token was revoked since."},
    {"key_expired", kInReasons, "The key or token has expired since."},
    {"burst_exceeded", kInReasons, "Too many gifts in a short time."},
    {"amount_above", kInReasons, "A rule holds what costs more."},
    {"recipients_above", kInReasons, "A rule holds what has more recipients."},
    {"first_gift_to_domain", kInReasons, "A rule holds the first gift to a domain."},
    {"rule", kInReasons, "A rule holds each such request: [limits-and-approvals.md](limits-and-approvals.md)."},
    {"test", kInWarnings | kInReasons, "The key is for tests: no recipient is mailed, and the CRM is not written."},
    {"unknown_member", kInWarnings, "The member is not known and was ignored."},
    {"duplicate_email", kInWarnings, "Several recipients have this address; each gets a gift."},
    {"possible_duplicate", kInWarnings, "The same gift was asked for within a minute, without an Idempotency-Key."},
    {"idempotency_key_ignored", kInWarnings, "A call that only validates stores nothing under its key."},
    {"more_warnings", kInWarnings, "The number of warnings that are not listed."},
    {"gift", kInFindings, "Of a request record: the gift is missing, unknown or inactive."},
    {"recipient", kInFindings, "Of a request record: no recipient with an address."},
    {"recipient_first_name", kInFindings, "Of a request record: the first name is too long or not one line."},
    {"recipient_last_name", kInFindings, "Of a request record: the last name is too long or not one line."},
    {"utm_campaign_id", kInFindings, "Of a request record: the campaign is too long or not one line."},
    {"message", kInFindings, "Of a request record: the message is blank or too long."},
    {"send_type", kInFindings, "Of a request record: the Send Type is not known."},
    {"sender", kInFindings, "Of a request record: there is no Sender."},
    {"sending_policy", kInFindings, "Of a request record: the sending policy refuses its recipient."},
};
// clang-format on

/// The code of a fault, a warning or a finding.
class FieldCode {
 public:
  /// A code of kFieldCodeKinds that stands in one of `places`, found while the source is compiled.
  consteval FieldCode(const char* code, unsigned places = ~0U) : text_(find(code, places)) {}
  /// Of what platform/ or sync/ found; tests/static/openapi_test compares their codes with the table.
  static FieldCode of_finding(std::string_view code) {
    FieldCode found;
    found.text_ = code;
    return found;
  }

  std::string_view text() const { return text_; }

 private:
  FieldCode() = default;
  static consteval std::string_view find(std::string_view code, unsigned places) {
    for (const FieldCodeKind& kind : kFieldCodeKinds)
      if (kind.code == code && (kind.places & places) != 0) return kind.code;
    throw "kFieldCodeKinds has no such code in this place";
  }

  std::string_view text_;
};

/// A code that stands in these places.
template <unsigned places>
class FieldCodeIn : public FieldCode {
 public:
  consteval FieldCodeIn(const char* code) : FieldCode(code, places) {}
};

/// docs/operations/errors.md: each problem and each code of a fault, warning, finding or reason.
std::string errors_page();

}  // namespace giftsync::validation
