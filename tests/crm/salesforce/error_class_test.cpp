// What an error means: the codes, the words inside of messages, and the rules for unknown codes.
#include "crm/salesforce/calls/error_class.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "platform/time.h"
#include "tests/crm/salesforce/recorded_answers.h"

namespace giftsync::salesforce {
namespace {

using C = ErrorClass;
using Next = Treatment::Next;
constexpr std::string_view kKey = "giftsync__RecipientTransactionId__c";

C of_row(Operation operation, const std::string& code, const std::string& message = "m") {
  return classify({code, message, {}}, {operation, true, 200, kKey});
}

C of_request(int status, const std::string& code, const std::string& message = "m",
             Operation operation = Operation::other) {
  return classify({code, message, {}}, {operation, false, status, kKey});
}

TEST(ErrorClass, ClassifiesRows) {
  const struct {
    Operation operation;
    std::string code;
    std::string message;
    C expected;
  } kCases[] = {
      {Operation::create, "DUPLICATE_VALUE",
       "duplicate value found: giftsync__RecipientTransactionId__c duplicates value on record with id: "
       "0018M000003uKqq",
       C::already_created},
      {Operation::create, "DUPLICATE_VALUE",
       "duplicate value found: RecipientTransactionId__c duplicates value on record with id: <unknown>",
       C::already_created},
      {Operation::create, "DUPLICATE_VALUE",
       "duplicate value found: Voucher__c duplicates value on record with id: 0018M000003uKqq", C::org_rule},
      {Operation::create, "DUPLICATE_VALUE", "Duplicate external id specified: 12", C::busy},
      {Operation::create, "INVALID_CROSS_REFERENCE_KEY", "invalid cross reference id", C::lost_lookup},
      {Operation::update, "INVALID_CROSS_REFERENCE_KEY", "invalid cross reference id", C::gone},
      {Operation::update, "ENTITY_IS_DELETED", "entity is deleted", C::gone},
      {Operation::create, "ENTITY_IS_DELETED", "entity is deleted", C::lost_lookup},
      {Operation::create, "CANNOT_UPDATE_CONVERTED_LEAD", "cannot reference converted lead", C::lost_lookup},
      {Operation::create, "INACTIVE_OWNER_OR_USER", "operation performed with inactive user",
       C::inactive_owner},
      {Operation::update, "FIELD_CUSTOM_VALIDATION_EXCEPTION", "GIFTSYNC:OLDER 3", C::older_version},
      {Operation::update, "FIELD_CUSTOM_VALIDATION_EXCEPTION", "GIFTSYNC:CHANGED", C::changed_since_read},
      {Operation::update, "FIELD_CUSTOM_VALIDATION_EXCEPTION", "GIFTSYNC:OTHER", C::gone},
      {Operation::update, "FIELD_CUSTOM_VALIDATION_EXCEPTION", "Enter a region.", C::org_rule},
      {Operation::create, "REQUIRED_FIELD_MISSING", "Required fields are missing: [X]", C::org_rule},
      {Operation::create, "CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY",
       "Rollup: execution of AfterInsert caused by: System.DmlException: Update failed. First error: "
       "UNABLE_TO_LOCK_ROW, unable to obtain exclusive access to this record: []",
       C::row_lock},
      {Operation::create, "CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY",
       "T: System.LimitException: Too many SOQL queries", C::busy},
      {Operation::create, "INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST", "bad value", C::restricted_value},
      {Operation::create, "STRING_TOO_LONG", "L: data value too large: x (max length=80)", C::value_too_long},
      {Operation::create, "INVALID_EMAIL_ADDRESS", "Recipient Email: invalid email address", C::bad_value},
      {Operation::update, "UNABLE_TO_LOCK_ROW", "unable to obtain exclusive access", C::row_lock},
      {Operation::update, "ENTITY_IS_LOCKED", "the entity is locked for editing", C::under_approval},
      {Operation::update, "INSUFFICIENT_ACCESS_OR_READONLY", "insufficient access", C::no_access},
      {Operation::create, "INVALID_FIELD", "No such column 'X' on sobject of type Y", C::fields_differ},
      {Operation::create, "MALFORMED_ID", "malformed id 001", C::refused},
      {Operation::update, "MALFORMED_ID", "id value of incorrect type: a0H", C::gone},
      {Operation::update, "A_CODE_OF_NEXT_YEAR", "?", C::refused},
      {Operation::update, "TXN_SECURITY_METERING_ERROR", "?", C::busy},
  };
  for (const auto& one : kCases)
    EXPECT_EQ(of_row(one.operation, one.code, one.message), one.expected) << one.code << ": " << one.message;
}

TEST(ErrorClass, ClassifiesRequests) {
  const struct {
    int status;
    std::string code;
    std::string message;
    C expected;
  } kCases[] = {
      {401, "INVALID_SESSION_ID", "Session expired or invalid", C::session_ended},
      {401, "INVALID_SESSION_ID", "This session is not valid for use with the REST API", C::session_refused},
      {401, "INVALID_SESSION_ID", "Connected app is not attached to Agent", C::session_refused},
      {403, "REQUEST_LIMIT_EXCEEDED", "TotalRequests Limit exceeded.", C::daily_quota},
      {403, "REQUEST_LIMIT_EXCEEDED", "ConcurrentPerOrgLongTxn Limit exceeded.", C::concurrency},
      {403, "REQUEST_LIMIT_EXCEEDED", "ConcurrentRequests (Concurrent API Requests) Limit exceeded.",
       C::concurrency},
      {403, "API_DISABLED_FOR_ORG", "API is not enabled", C::api_disabled},
      {403, "STORAGE_LIMIT_EXCEEDED", "storage limit exceeded", C::storage_full},
      {400, "QUERY_TIMEOUT", "Your query request was running for too long.", C::query_too_heavy},
      {400, "INVALID_QUERY_LOCATOR", "invalid query locator", C::locator_expired},
      {400, "MALFORMED_QUERY", "unexpected token", C::invalid_request},
      {400, "INVALID_TYPE", "sObject type 'X' is not supported.", C::fields_differ},
      {404, "NOT_FOUND", "The requested resource does not exist", C::fields_differ},
      {410, "UNSUPPORTED_API_VERSION", "retired", C::api_disabled},
      {503, "SERVER_UNAVAILABLE", "Server Unavailable", C::unavailable},
      {503, "NOT_FOUND", "?", C::unavailable},
      {500, "UNKNOWN_EXCEPTION", "An unexpected error occurred", C::busy},
      {300, "", "", C::several_records},
      {401, "", "", C::session_ended},
      {404, "", "", C::fields_differ},
      {410, "", "", C::api_disabled},
      {412, "", "", C::changed_since_read},
      {420, "", "", C::unavailable},
      {429, "", "", C::unavailable},
      {502, "", "", C::unavailable},
      {400, "", "", C::invalid_request},
  };
  for (const auto& one : kCases)
    EXPECT_EQ(of_request(one.status, one.code, one.message), one.expected) << one.status << " " << one.code;
  EXPECT_EQ(of_request(400, "OPERATION_TOO_LARGE", "m", Operation::query), C::query_too_heavy);
}

TEST(ErrorClass, EachClassHasATreatment) {
  const auto treated = [](C one) { return policy_for(one); };
  EXPECT_EQ(treated(C::row_lock).retry_after_millis, 2 * kSecondMillis);
  EXPECT_TRUE(treated(C::row_lock).halves_rows);
  EXPECT_EQ(treated(C::org_rule).next, Next::reject);
  EXPECT_EQ(treated(C::org_rule).retry_after_millis, 6 * kHourMillis);
  EXPECT_EQ(treated(C::older_version).next, Next::unchanged);
  EXPECT_FALSE(treated(C::session_refused).is_transient);
  EXPECT_TRUE(treated(C::daily_quota).is_transient);
  EXPECT_FALSE(treated(C::fields_differ).is_transient);
  EXPECT_FALSE(treated(C::no_access).is_transient);
  for (int value = 0; value <= static_cast<int>(C::invalid_request); ++value) {
    const Treatment treatment = treated(static_cast<C>(value));
    EXPECT_EQ(treatment.next == Next::retry || treatment.next == Next::reject,
              treatment.retry_after_millis > 0 && treatment.next != Next::stop)
        << value;
  }
}

/// Codes that need a line of their own, because the rules would treat them as an ordinary refusal.
TEST(ErrorClass, EveryRecordedCodeHasAClass) {
  SKIP_WITHOUT_RECORDED();
  std::istringstream codes(recorded("restforce/error-codes.txt"));
  int known = 0;
  int all = 0;
  for (std::string code; codes >> code; ++all) {
    known += is_known_code(code) ? 1 : 0;
    for (const Operation operation : {Operation::create, Operation::update}) {
      const Next next = policy_for(of_row(operation, code)).next;
      EXPECT_NE(next, Next::ask_less) << code;
      if (!is_known_code(code)) {
        EXPECT_EQ(next, Next::reject) << code << ": an unknown code refuses its own row only";
      }
    }
    if (!is_known_code(code)) {
      EXPECT_EQ(of_request(400, code), C::invalid_request) << code;
      EXPECT_EQ(of_request(503, code), C::unavailable) << code;
    }
  }
  EXPECT_EQ(all, 206);
  EXPECT_GT(known, 80);
}

TEST(ErrorClass, ReadsTheRecordsThatMessagesName) {
  const auto record =
      duplicate_record("duplicate value found: X__c duplicates value on record with id: 0018M000003uKqqQAE");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->field, "X__c");
  EXPECT_EQ(record->record_id, "0018M000003uKqqQAE");
  EXPECT_EQ(duplicate_record("duplicate value found: X__c duplicates value on record with id: <unknown>")
                ->record_id,
            "");
  EXPECT_FALSE(duplicate_record("something else"));
}

TEST(ErrorClass, SignInsThatFailAreFinalUnlessTheServerFails) {
  EXPECT_EQ(classify_sign_in(400, OAuthError{"invalid_grant", "user hasn't approved"}), C::session_refused);
  EXPECT_EQ(classify_sign_in(400, OAuthError{"app_not_found", ""}), C::session_refused);
  EXPECT_EQ(classify_sign_in(503, std::nullopt), C::unavailable);
  EXPECT_EQ(classify_sign_in(400, OAuthError{"server_error", ""}), C::unavailable);
}

}  // namespace
}  // namespace giftsync::salesforce
