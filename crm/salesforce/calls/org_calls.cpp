#include "crm/salesforce/calls/org_calls.h"

#include <Poco/DateTimeFormat.h>
#include <Poco/DateTimeFormatter.h>
#include <Poco/Timestamp.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "crm/salesforce/calls/record_json.h"
#include "platform/http_client.h"
#include "platform/strict_json.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::salesforce {
namespace {

constexpr std::size_t kShownCharacters = 300;

[[noreturn]] void fail(bool is_transient, const std::string& words) {
  throw giftsync::DependencyError(is_transient, words, true);
}

std::string pause_words(UtcMillis until, const std::string& words) {
  const std::string step = step_after_rest(words);
  return fmt::format("{}{}{}; the next call is made at {}", words, step.empty() ? "" : "; ", step,
                     to_rfc3339(until));
}

[[noreturn]] void pause(UtcMillis until, const std::string& words) {
  throw giftsync::DependencyPause(until, pause_words(until, words), true);
}

std::string words_of(const ApiError& error) {
  const std::string shown(truncated(error.message, kShownCharacters));
  return error.code + (shown.empty() ? "" : ": " + visible_text(shown));
}

/// What an admin does about it; empty where time alone helps.
std::string remedy(ErrorClass error_class) {
  switch (error_class) {
    case ErrorClass::fields_differ:
      return assign_permission_set() + ", and run giftsyncctl crm check";
    case ErrorClass::no_access:
      return assign_permission_set();
    case ErrorClass::api_disabled:
      return "; the org's edition or the user's profile must allow the API";
    default:
      return "";
  }
}

/// Empty unless the org itself fails, as in its maintenance.
std::string outage_of(const tl::expected<ApiResponse, ApiFault>& answer) {
  if (answer)
    return answer->http.status >= 500 ? fmt::format("Salesforce answers with HTTP {}", answer->http.status)
                                      : "";
  const ApiFault& fault = answer.error();
  const bool is_page = fault.kind == ApiFault::Kind::not_json && fault.is_transient;
  return is_page || fault.status >= 500 ? fault.message : "";
}

bool is_lost(const ApiFault& fault) {
  return fault.may_have_arrived && fault.is_transient;
}

ApiRequest request_alone(const PartRequest& part, std::size_t rows) {
  ApiRequest request{.method = part.method, .path = part.url, .body = part.body, .rows = rows};
  for (const auto& [name, value] : part.headers) request.headers.push_back(name + ": " + value);
  return request;
}

bool is_refusal_of_part(int status) {
  return status == 400 || status == kNotFound || status == kPreconditionFailed;
}

void require_allowed(const CallPermit& permit) {
  if (permit.is_allowed) return;
  throw giftsync::DependencyPause(
      permit.not_before,
      fmt::format("Salesforce is not called before {}: {}{}{}", to_rfc3339(permit.not_before), permit.reason,
                  permit.next_step.empty() ? "" : "; ", permit.next_step),
      true, permit.is_transient);
}

}  // namespace

OrgCalls::OrgCalls(ApiClient& client, std::string api_version, GovernorOptions options, Clock clock,
                   GovernorStorage storage)
    : client_(client),
      api_version_(std::move(api_version)),
      clock_(std::move(clock)),
      storage_(std::move(storage)),
      governor_(options) {}

/// `action` may run again, from the same state.
void OrgCalls::change_governor(const std::function<void(CallGovernor&)>& action) {
  const std::lock_guard lock(mutex_);
  if (!storage_) return action(governor_);
  const CallGovernor before = governor_;
  storage_([&](const std::optional<std::string>& state) {
    governor_ = before;
    if (state) governor_.read_text(*state);
    action(governor_);
    return governor_.to_text();
  });
}

std::size_t OrgCalls::rows_per_call() const {
  const std::lock_guard lock(mutex_);
  return governor_.rows_per_call();
}

bool OrgCalls::allows(CallPurpose purpose) const {
  const std::lock_guard lock(mutex_);
  return governor_.permit(purpose, clock_()).is_allowed;
}

void OrgCalls::count_split() {
  change_governor([](CallGovernor& governor) { governor.note_outcome({.halves_rows = true}); });
}

CompositeAnswer OrgCalls::read(std::span<const PartRequest> parts, std::size_t rows, CallPurpose purpose) {
  CallResult result = call(composite_request(composite_body(parts), rows), purpose);
  if (!result) stop(result.error());
  return composite_answer(std::move(*result), Operation::query, purpose);
}

tl::expected<CompositeAnswer, LostAnswer> OrgCalls::write(std::span<const PartRequest> parts,
                                                          std::size_t rows, CallPurpose purpose) {
  const bool is_alone = parts.front().is_alone;
  if (gate_ != nullptr) gate_->before_write();
  const std::int64_t start = boottime_millis();
  CallResult result =
      call(is_alone ? request_alone(parts.front(), rows) : composite_request(composite_body(parts), rows),
           purpose);
  if (!result) {
    if (gate_ != nullptr && result.error().may_have_arrived) gate_->note_lost_answer();
    if (is_lost(result.error())) return tl::unexpected(LostAnswer{result.error().message});
    stop(result.error());
  }
  CompositeAnswer answer = is_alone ? answer_alone(std::move(*result), parts.front(), purpose)
                                    : composite_answer(std::move(*result), Operation::other, purpose);
  const CallOutcome outcome{.millis = boottime_millis() - start};
  change_governor([&](CallGovernor& governor) { governor.note_outcome(outcome); });
  return answer;
}

AnswerBody OrgCalls::get(const std::string& resource, const std::string& query, CallPurpose purpose) {
  CallResult result = call({.path = data_path(api_version_) + resource, .query = query}, purpose);
  if (!result) stop(result.error());
  check_status(result->body, Operation::query, purpose);
  return std::move(result->body);
}

OrgCalls::CallResult OrgCalls::call(const ApiRequest& request, CallPurpose purpose) {
  check_permit(purpose);
  const std::int64_t start = boottime_millis();
  tl::expected<ApiResponse, ApiFault> response = client_.call(request);
  note_answer(response);
  if (!response) return tl::unexpected(std::move(response.error()));
  AnswerBody body = read_body(response->http.status, response->http.body);
  // The first: a proxy may add its own.
  for (const auto& [name, value] : response->http.headers)
    if (name == "date" && body.date.empty()) body.date = value;
  const UtcMillis answered_at = from_http_date(body.date).value_or(clock_());
  return Answered{std::move(body), {answered_at.value - (boottime_millis() - start)}};
}

void OrgCalls::check_permit(CallPurpose purpose) {
  const UtcMillis now = clock_();
  CallPermit permit;
  change_governor([&](CallGovernor& governor) {
    permit = governor.permit(purpose, now);
    if (permit.is_allowed) governor.note_call(now);
  });
  require_allowed(permit);
}

void OrgCalls::require_spare_calls() {
  CallPermit permit;
  change_governor([&](CallGovernor& governor) { permit = governor.permit(CallPurpose::backfill, clock_()); });
  require_allowed(permit);
}

/// What cannot be reached is tried again soon, which costs the org nothing.
void OrgCalls::note_answer(const tl::expected<ApiResponse, ApiFault>& answer) {
  const int status = answer ? answer->http.status : answer.error().status;
  if (status == 0) return;
  const std::string outage = outage_of(answer);
  const std::optional<LimitInfo>& usage = answer ? answer->usage : answer.error().usage;
  change_governor([&](CallGovernor& governor) {
    if (usage) governor.note_limits(*usage, clock_());
    if (outage.empty())
      governor.note_recovery();
    else
      governor.note_outage(clock_(), outage);
  });
}

void OrgCalls::check_status(const AnswerBody& body, Operation operation, CallPurpose purpose) {
  if (is_success(body.status) && body.json()) return;
  const ErrorContext context{operation, false, body.status, {}};
  const std::vector<ApiError> errors = body.json() ? request_errors(*body.json()) : std::vector<ApiError>();
  const ApiError error = errors.empty() ? ApiError{"", describe(body), {}} : errors.front();
  stop(error, is_success(body.status) ? ErrorClass::unavailable : classify(error, context), purpose);
}

CompositeAnswer OrgCalls::composite_answer(Answered answered, Operation operation, CallPurpose purpose) {
  check_status(answered.body, operation, purpose);
  tl::expected<std::vector<CompositePart>, Fault> parts = composite_parts(*answered.body.json());
  if (!parts) fail(true, "Salesforce: " + parts.error());
  return {std::move(answered.body), std::move(*parts), answered.as_of};
}

/// Other refusals than those of a part are of the whole call.
CompositeAnswer OrgCalls::answer_alone(Answered answered, const PartRequest& part, CallPurpose purpose) {
  static const auto kNull = parse_json("null");  // of a saved record, whose answer is empty
  const int status = answered.body.status;
  const bool is_empty = answered.body.format == BodyFormat::empty && is_success(status);
  const bool is_refused_part = answered.body.json() != nullptr && is_refusal_of_part(status);
  if (!is_empty && !is_refused_part) check_status(answered.body, Operation::other, purpose);
  CompositePart only{status, part.reference, is_empty ? &kNull->root() : answered.body.json()};
  return {std::move(answered.body), {std::move(only)}, answered.as_of};
}

ApiRequest OrgCalls::composite_request(std::string body, std::size_t rows) const {
  return {.method = "POST",
          .path = data_path(api_version_) + "/composite",
          .body = std::move(body),
          .rows = rows};
}

crm::CrmUsage OrgCalls::usage() const {
  const std::lock_guard lock(mutex_);
  const UtcMillis now = clock_();
  crm::CrmUsage usage{.own_calls = governor_.own_calls(now), .share = governor_.share()};
  if (const std::optional<LimitInfo>& limits = governor_.limits()) {
    usage.used = limits->org.used;
    usage.limit = limits->org.limit;
  }
  CallPermit permit = governor_.permit(CallPurpose::gifts, now);
  if (permit.is_allowed) return usage;
  usage.paused_until = permit.not_before;
  usage.rest_reason = std::move(permit.reason);
  return usage;
}

std::int64_t OrgCalls::rest_after(const giftsync::DependencyError& fault) const {
  const auto* pause = dynamic_cast<const giftsync::DependencyPause*>(&fault);
  return pause ? std::max<std::int64_t>(pause->until().value - clock_().value, 0) : 0;
}

void OrgCalls::stop(const ApiError& error, ErrorClass error_class, CallPurpose purpose) {
  const Treatment treatment = policy_for(error_class);
  const std::string words =
      fmt::format("Salesforce refuses the call ({}){}", words_of(error), remedy(error_class));
  if (treatment.halves_rows) count_split();
  if (treatment.retry_after_millis == 0) throw CallRefusal(true, words, true);
  const UtcMillis until = clock_() + treatment.retry_after_millis;
  const bool is_of_kind = error_class == ErrorClass::fields_differ || error_class == ErrorClass::no_access;
  // A query of a person, of the watch, or with a defect says nothing of other calls.
  const bool is_alone = error_class == ErrorClass::invalid_request ||
                        (is_of_kind && (purpose == CallPurpose::backfill || purpose == CallPurpose::watch));
  if (!is_alone) {
    change_governor([&](CallGovernor& governor) {
      if (is_of_kind)
        governor.refuse_until(until, words, purpose);
      else
        governor.rest_until(until, words, !treatment.is_transient);
    });
  }
  const std::string shown = is_alone ? words : pause_words(until, words);
  if (error_class == ErrorClass::fields_differ) throw FieldsDiffer(until, shown, true, false);
  throw giftsync::DependencyPause(until, shown, true, treatment.is_transient);
}

void OrgCalls::end_refusals() {
  change_governor([](CallGovernor& governor) { governor.end_refusals(); });
}

void OrgCalls::stop(const ApiFault& fault) {
  if (fault.retry_after_seconds) {
    const UtcMillis until = clock_() + *fault.retry_after_seconds * kSecondMillis;
    change_governor([&](CallGovernor& governor) { governor.rest_until(until, fault.message); });
    if (fault.is_transient) pause(until, fault.message);
  }
  throw_fault(fault);
}

void OrgCalls::stop(const CompositePart& part, CallPurpose purpose) {
  const ApiError error = first_error(request_errors(*part.body));
  stop(error, classify(error, {Operation::query, false, part.status, {}}), purpose);
}

const CompositePart& require_part(std::span<const CompositePart> parts, std::string_view reference) {
  const CompositePart* part = find_part(parts, reference);
  if (part == nullptr) fail(true, "Salesforce did not answer a part of a call");
  return *part;
}

namespace {

/// "Sat, 21 Nov 2026 12:31:07 GMT".
std::string http_date(const std::string& last_modified) {
  const UtcMillis time = read_time(last_modified).value_or(UtcMillis{0});
  return Poco::DateTimeFormatter::format(Poco::Timestamp(time.value * 1000),
                                         Poco::DateTimeFormat::HTTP_FORMAT);
}

}  // namespace

PartRequest unmodified_part(const UnmodifiedPatch& patch) {
  return {.method = "PATCH",
          .url = fmt::format("{}/sobjects/{}/{}", data_path(patch.api_version), patch.object, patch.id),
          .reference = patch.reference,
          .headers = {{"If-Unmodified-Since", http_date(patch.last_modified)}},
          .body = patch.body,
          .is_heavy = false,
          .is_alone = reads_as_reference(patch.body)};
}

}  // namespace giftsync::salesforce
