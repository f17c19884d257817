#include "daemon/salesforce/error_codes.h"

#include <algorithm>
#include <array>
#include <utility>

namespace giftsync::daemon::salesforce {
namespace {

using C = ErrorClass;
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

}  // namespace giftsync::daemon::salesforce
