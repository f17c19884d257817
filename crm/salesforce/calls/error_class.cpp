#include "crm/salesforce/calls/error_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "crm/salesforce/calls/api_names.h"
#include "crm/salesforce/calls/soql.h"
#include "platform/text.h"
#include "platform/time.h"
#include "platform/visible_text.h"

namespace giftsync::salesforce {
namespace {

constexpr std::size_t kShownCharacters = 500;

using C = ErrorClass;
using Next = Treatment::Next;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// A namespace before it or not: "ns__Key__c" ends with "Key__c".
bool is_same_field(std::string_view one, std::string_view other) {
  const std::string a = ascii_lower(one);
  const std::string b = ascii_lower(other);
  return a == b || a.ends_with("__" + b) || b.ends_with("__" + a);
}

C class_of_duplicate(const ApiError& error, const ErrorContext& context) {
  // The same key twice in one call: the first one is written, so the second one is an update later.
  if (contains(error.message, "Duplicate external id specified")) return C::busy;
  const std::optional<DuplicateRecord> record = duplicate_record(error.message);
  if (record && !context.key_field.empty() && !is_same_field(record->field, context.key_field))
    return C::org_rule;  // a unique field of the org's own
  return C::already_created;
}

/// An exception in a trigger or a flow hides the code of its cause in its words.
std::optional<C> class_inside(std::string_view message) {
  if (contains(message, "UNABLE_TO_LOCK_ROW")) return C::row_lock;
  constexpr std::array<std::string_view, 4> kLimits{"Apex CPU time limit exceeded", "System.LimitException",
                                                    "TOO_MANY_APEX_REQUESTS", "REQUEST_RUNNING_TOO_LONG"};
  const bool is_limit = std::any_of(kLimits.begin(), kLimits.end(),
                                    [&](std::string_view limit) { return contains(message, limit); });
  return is_limit ? std::optional(C::busy) : std::nullopt;
}

C class_of_rule(const ApiError& error) {
  if (contains(error.message, "GIFTSYNC:OLDER")) return C::older_version;
  if (contains(error.message, "GIFTSYNC:OTHER")) return C::gone;
  if (contains(error.message, "GIFTSYNC:CHANGED")) return C::changed_since_read;
  return class_inside(error.message).value_or(C::org_rule);
}

C class_of_session(const ApiError& error) {
  const bool is_final = contains(error.message, "This session is not valid for use with the REST API") ||
                        contains(error.message, "Connected app is not attached to Agent");
  return is_final ? C::session_refused : C::session_ended;
}

C class_of_quota(const ApiError& error) {
  return contains(error.message, "Concurrent") ? C::concurrency : C::daily_quota;
}

/// Without a code, or with an unknown one, the status says what can be said.
C class_of_status(int status) {
  if (status == 300) return C::several_records;
  if (status == 401) return C::session_ended;
  if (status == 403) return C::no_access;
  if (status == 404) return C::fields_differ;
  if (status == 410) return C::api_disabled;
  if (status == 412) return C::changed_since_read;
  if (status == 420 || status == 429 || status >= 500) return C::unavailable;
  return C::invalid_request;
}

C class_of_unknown(const ApiError& error, const ErrorContext& context) {
  if (const std::optional<C> inside = class_inside(error.message)) return *inside;
  if (error.code.starts_with("TXN_SECURITY_")) return C::busy;
  return context.is_row ? C::refused : class_of_status(context.status);
}

/// "id value of incorrect type", of the row itself: it is the Id of another object or of another org.
bool is_of_wrong_id(const ApiError& error, const ErrorContext& context) {
  const bool is_of_row = error.fields.empty() || (error.fields.size() == 1 && error.fields[0] == "Id");
  return error.code == "MALFORMED_ID" && context.is_row && context.operation == Operation::update &&
         is_of_row;
}

bool is_too_large(std::string_view code) {
  return code == "OPERATION_TOO_LARGE" || code == "REQUEST_RUNNING_TOO_LONG";
}

C class_in_context(C usual, const ApiError& error, const ErrorContext& context) {
  switch (usual) {
    case C::already_created:
      return class_of_duplicate(error, context);
    case C::org_rule:
      return class_of_rule(error);
    case C::gone:
      return context.operation == Operation::create || context.operation == Operation::upsert ? C::lost_lookup
                                                                                              : C::gone;
    case C::session_ended:
      return class_of_session(error);
    case C::daily_quota:
      return class_of_quota(error);
    case C::busy:
      return context.operation == Operation::query && is_too_large(error.code) ? C::query_too_heavy : usual;
    case C::query_too_heavy:
      return context.is_row ? C::busy : usual;  // a query of a trigger
    case C::invalid_request:
      if (is_of_wrong_id(error, context)) return C::gone;
      // A row that cannot be written must not stop the others.
      if (context.is_row) return C::refused;
      return context.status >= 500 ? C::unavailable : usual;
    case C::fields_differ:
      return !context.is_row && context.status >= 500 ? C::unavailable : usual;
    default:
      return usual;
  }
}

}  // namespace

ErrorClass classify(const ApiError& error, const ErrorContext& context) {
  const std::optional<C> usual = class_of_code(error.code);
  return usual ? class_in_context(*usual, error, context) : class_of_unknown(error, context);
}

Treatment policy_for(ErrorClass error_class) {
  switch (error_class) {
    case C::already_created:
    case C::gone:
    case C::lost_lookup:
    case C::value_too_long:
      return {.next = Next::look_up};
    case C::inactive_owner:
    case C::bad_value:
    case C::locator_expired:
      return {.next = Next::write_again};
    case C::older_version:
    case C::changed_since_read:
      return {.next = Next::unchanged};
    case C::row_lock:
      return {.next = Next::retry, .retry_after_millis = 2 * kSecondMillis, .halves_rows = true};
    case C::busy:
    case C::concurrency:
      return {.next = Next::retry, .retry_after_millis = 30 * kSecondMillis, .halves_rows = true};
    case C::under_approval:
      return {.next = Next::retry, .retry_after_millis = kMinuteMillis};
    case C::org_rule:
    case C::restricted_value:
      return {.next = Next::reject, .retry_after_millis = 6 * kHourMillis};
    case C::fields_differ:
    case C::no_access:
      return {.next = Next::reject, .retry_after_millis = kHourMillis, .is_transient = false};
    case C::several_records:
    case C::refused:
      return {.next = Next::reject, .retry_after_millis = kHourMillis};
    case C::session_ended:
      return {.next = Next::sign_in};
    case C::session_refused:
    case C::api_disabled:
    case C::invalid_request:
      return {.next = Next::stop, .retry_after_millis = kHourMillis, .is_transient = false};
    case C::daily_quota:
      return {.next = Next::stop, .retry_after_millis = 15 * kMinuteMillis};
    case C::storage_full:
      return {.next = Next::stop, .retry_after_millis = kHourMillis};
    case C::query_too_heavy:
      return {.next = Next::ask_less};
    case C::unavailable:
      return {.next = Next::stop};
  }
  std::abort();  // a value outside its enumeration: a bug
}

std::string words_of_row(const ApiError& error) {
  const std::string shown(truncated(visible_text(error.message), kShownCharacters));
  return fmt::format("Salesforce: {}{}{}", error.code, shown.empty() ? "" : ": ", shown);
}

std::string assign_permission_set() {
  return fmt::format("; assign the permission set {} to the integration user", kIntegrationPermissionSet);
}

std::string remedy_of_row(ErrorClass error_class) {
  if (error_class == ErrorClass::no_access) return assign_permission_set();
  if (error_class == ErrorClass::org_rule)
    return "; change that rule of the org, or what it refuses, then run giftsyncctl crm retry";
  if (error_class == ErrorClass::restricted_value)
    return "; add the value to the picklist, then run giftsyncctl crm retry";
  if (error_class == ErrorClass::several_records)
    return "; delete all but one of the records with this Transaction Id in Salesforce, and make the field "
           "unique (Setup, Object Manager)";
  return "";
}

bool is_known_code(std::string_view code) {
  return class_of_code(code).has_value();
}

std::optional<DuplicateRecord> duplicate_record(std::string_view message) {
  constexpr std::string_view kStart = "duplicate value found: ";
  constexpr std::string_view kMiddle = " duplicates value on record with id: ";
  const std::size_t start = message.find(kStart);
  const std::size_t middle = message.find(kMiddle);
  if (start == std::string_view::npos || middle == std::string_view::npos || middle < start + kStart.size())
    return std::nullopt;
  const std::size_t field = start + kStart.size();
  DuplicateRecord record{std::string(message.substr(field, middle - field)), {}};
  const std::string_view rest = message.substr(middle + kMiddle.size());
  const std::string_view id = rest.substr(0, rest.find_first_of(" \t\r\n.,;:"));
  if (is_record_id(id)) record.record_id = id;
  return record;
}

ErrorClass classify_sign_in(int status, const std::optional<OAuthError>& error) {
  if (status == 420 || status == 429 || status >= 500) return C::unavailable;
  if (error && (error->code == "server_error" || error->code == "temporarily_unavailable"))
    return C::unavailable;
  return C::session_refused;
}

namespace {

using Line = std::pair<std::string_view, ErrorClass>;

constexpr auto kCodes = std::to_array<Line>({
    // The record, its key and its lookups.
    {"DUPLICATE_VALUE", C::already_created},
    {"DUPLICATE_EXTERNAL_ID", C::several_records},
    {"ENTITY_IS_DELETED", C::gone},
    {"INVALID_CROSS_REFERENCE_KEY", C::gone},
    {"FIELD_INTEGRITY_EXCEPTION", C::lost_lookup},
    {"INSUFFICIENT_ACCESS_ON_CROSS_REFERENCE_ENTITY", C::lost_lookup},
    {"INVALID_CROSS_REFERENCE_TYPE_FOR_FIELD", C::lost_lookup},
    {"CANNOT_UPDATE_CONVERTED_LEAD", C::lost_lookup},
    {"INACTIVE_OWNER_OR_USER", C::inactive_owner},
    {"OP_WITH_INVALID_USER_TYPE_EXCEPTION", C::inactive_owner},
    {"TRANSFER_REQUIRES_READ", C::inactive_owner},
    {"ENTITY_FAILED_IFLASTMODIFIED_ON_UPDATE", C::changed_since_read},
    // Values.
    {"STRING_TOO_LONG", C::value_too_long},
    {"INVALID_EMAIL_ADDRESS", C::bad_value},
    {"NUMBER_OUTSIDE_VALID_RANGE", C::bad_value},
    {"INVALID_TYPE_ON_FIELD_IN_RECORD", C::bad_value},
    {"TEXT_DATA_OUTSIDE_SUPPORTED_CHARSET", C::bad_value},
    {"INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST", C::restricted_value},
    {"TOO_MANY_ENUM_VALUE", C::restricted_value},
    // Later.
    {"UNABLE_TO_LOCK_ROW", C::row_lock},
    {"UNKNOWN_EXCEPTION", C::busy},
    {"TOO_MANY_APEX_REQUESTS", C::busy},
    {"RECORD_IN_USE_BY_WORKFLOW", C::busy},
    {"REQUEST_RUNNING_TOO_LONG", C::busy},
    {"ALL_OR_NONE_OPERATION_ROLLED_BACK", C::busy},
    {"PROCESSING_HALTED", C::busy},
    {"TERRITORY_REALIGN_IN_PROGRESS", C::busy},
    {"ALREADY_IN_PROCESS", C::busy},
    {"OPERATION_TOO_LARGE", C::busy},
    {"ENTITY_IS_LOCKED", C::under_approval},
    // The org's own rules.
    {"FIELD_CUSTOM_VALIDATION_EXCEPTION", C::org_rule},
    {"REQUIRED_FIELD_MISSING", C::org_rule},
    {"FIELD_FILTER_VALIDATION_EXCEPTION", C::org_rule},
    {"CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", C::org_rule},
    {"CANNOT_EXECUTE_FLOW_TRIGGER", C::org_rule},
    {"DUPLICATES_DETECTED", C::org_rule},
    {"SELF_REFERENCE_FROM_TRIGGER", C::org_rule},
    {"APEX_ERROR", C::org_rule},
    {"CANNOT_CASCADE_PRODUCT_ACTIVE", C::org_rule},
    {"INVALID_STATUS", C::org_rule},
    {"UNAVAILABLE_RECORDTYPE_EXCEPTION", C::org_rule},
    {"INVALID_ASSIGNMENT_RULE", C::org_rule},
    {"CANNOT_REPARENT_RECORD", C::org_rule},
    // Rights.
    {"INSUFFICIENT_ACCESS_OR_READONLY", C::no_access},
    {"INSUFFICIENT_ACCESS", C::no_access},
    {"INVALID_READ_ONLY_USER_DML", C::no_access},
    {"FORBIDDEN", C::no_access},
    {"ENTITY_IS_ARCHIVED", C::no_access},
    {"COMMUNITY_NOT_ACCESSIBLE", C::no_access},
    {"LIGHT_PORTAL_USER_EXCEPTION", C::no_access},
    {"PACKAGE_LICENSE_REQUIRED", C::no_access},
    {"NO_ATTACHMENT_PERMISSION", C::no_access},
    {"NO_MASS_MAIL_PERMISSION", C::no_access},
    // Fields and objects.
    {"INVALID_FIELD", C::fields_differ},
    {"INVALID_FIELD_FOR_INSERT_UPDATE", C::fields_differ},
    {"INVALID_TYPE", C::fields_differ},
    {"INVALID_TYPE_FOR_OPERATION", C::fields_differ},
    {"NOT_FOUND", C::fields_differ},
    {"CANNOT_RESOLVE_NAME", C::fields_differ},
    // The session.
    {"INVALID_SESSION_ID", C::session_ended},
    {"INVALID_AUTH_HEADER", C::session_ended},
    {"INVALID_OPERATION_WITH_EXPIRED_PASSWORD", C::session_refused},
    {"LOGIN_CHALLENGE_ISSUED", C::session_refused},
    {"LOGIN_CHALLENGE_PENDING", C::session_refused},
    {"LOGIN_MUST_USE_SECURITY_TOKEN", C::session_refused},
    {"IP_RANGE_LIMIT_EXCEEDED", C::session_refused},
    // Limits and states of the org.
    {"REQUEST_LIMIT_EXCEEDED", C::daily_quota},
    {"EXCEEDED_ID_LIMIT", C::invalid_request},
    {"LIMIT_EXCEEDED", C::busy},
    {"STORAGE_LIMIT_EXCEEDED", C::storage_full},
    {"LICENSE_LIMIT_EXCEEDED", C::api_disabled},
    {"API_DISABLED_FOR_ORG", C::api_disabled},
    {"API_CURRENTLY_DISABLED", C::api_disabled},
    {"APEX_REST_SERVICES_DISABLED", C::api_disabled},
    {"UNSUPPORTED_API_VERSION", C::api_disabled},
    {"SERVER_UNAVAILABLE", C::unavailable},
    {"INSERT_UPDATE_DELETE_NOT_ALLOWED_DURING_MAINTENANCE", C::unavailable},
    // Queries.
    {"QUERY_TIMEOUT", C::query_too_heavy},
    {"QUERY_TOO_COMPLICATED", C::query_too_heavy},
    {"INVALID_QUERY_LOCATOR", C::locator_expired},
    {"EXCEEDED_MAX_SEMIJOIN_SUBSELECTS", C::invalid_request},
    {"INVALID_QUERY_FILTER_OPERATOR", C::invalid_request},
    {"MALFORMED_QUERY", C::invalid_request},
    {"MALFORMED_SEARCH", C::invalid_request},
    {"INVALID_SEARCH", C::invalid_request},
    // Requests that are not as they must be.
    {"MALFORMED_ID", C::invalid_request},
    {"MISSING_ARGUMENT", C::invalid_request},
    {"JSON_PARSER_ERROR", C::invalid_request},
    {"INVALID_ID_FIELD", C::invalid_request},
    {"INVALID_ARGUMENT_TYPE", C::invalid_request},
    {"INVALID_BATCH_OPERATION", C::invalid_request},
    {"INVALID_CONTENT_TYPE", C::invalid_request},
    {"INVALID_INPUT", C::invalid_request},
    {"INVALID_OPERATION", C::invalid_request},
    {"INVALID_OPERATOR", C::invalid_request},
    {"INVALID_REPLICATION_DATE", C::invalid_request},
    {"ILLEGAL_QUERY_PARAMETER_VALUE", C::invalid_request},
    {"METHOD_NOT_ALLOWED", C::invalid_request},
});

}  // namespace

std::optional<ErrorClass> class_of_code(std::string_view code) {
  const auto* found =
      std::find_if(kCodes.begin(), kCodes.end(), [&](const Line& line) { return line.first == code; });
  return found == kCodes.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace giftsync::salesforce
