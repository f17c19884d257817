// Where the CRM conformance tests do not hold for an org of Salesforce, each with the reason. Everything else
// that the tests say of a CRM holds for it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace giftsync::schema::crm {

struct SalesforceException {
  std::string_view suite;
  std::string_view test;
  const char* reason;
};

inline constexpr const char* kOwnTables =
    "an org's log is an object: tests/salesforce/salesforce_backfill_test.cpp names and checks one";

inline constexpr SalesforceException kSalesforceExceptions[] = {
    {"CrmGiftRecords", "a_record_reads_back_as_it_was_written",
     "an org checks addresses, Ids and lengths, trims text and keeps whole seconds"},
    {"CrmGiftRecords", "absent_and_empty_values_are_kept_apart", "an empty text is none in Salesforce"},
    {"CrmGiftRecords", "plain_sql_sees_exact_money_and_times",
     "an org has no plain SQL: its tables are the test's"},
    {"CrmMatching", "phones_match_in_every_written_form",
     "phones are asked for in the spellings of schema/phone_spellings.h"},
    {"CrmMatching", "times_order_by_time_nulls_last_then_id",
     "an org's stamps have whole seconds and are never null"},
    {"CrmMatching", "letters_of_every_script_order_without_case", "an empty text is none in Salesforce"},
    {"CrmMatching", "ids_order_by_their_bytes", "Ids are made by the org: letters and digits only"},
    {"CrmMatching", "leads_report_whether_they_were_converted", "an org lists converted leads last"},
    {"CrmMatching", "malformed_rows_do_not_affect_the_others",
     "Ids are made by the org: letters and digits only"},
    {"CrmOpportunities", "a_deleted_account_is_not_returned",
     "Salesforce clears lookups when it deletes their target"},
    {"CrmOpportunities", "contacts_have_the_accounts_that_exist",
     "Salesforce clears lookups when it deletes their target"},
    {"CrmRows", "pages_follow_the_bytes_of_the_ids", "Ids are made by the org: letters and digits only"},
    {"CrmLookups", "accounts_and_users_are_not_checked_in_a_crm_without_any",
     "an org has its users and accounts"},
    {"CrmLookups", "lookups_to_an_object_without_rows_are_not_missing",
     "an org is not refilled by a replication"},
    {"CrmReconciliation", "SentAtIsRepairedAndWholeSecondsAreAccepted", "an org keeps whole seconds"},
    {"StatusLogBackfill", "EveryStatusWordOfAGiftIsCounted",
     "Ids are made by the org: letters and digits only"},
    {"StatusLogBackfill", "CustomLogTableNames", kOwnTables},
    {"StatusLogBackfill", "TextTransactionIdColumnIsRejected", kOwnTables},
    {"StatusLogBackfill", "NonIntegerIdsAreIgnored", kOwnTables},
    {"StatusLogBackfill", "TimeZoneOffsetWithoutColon", "an org's times have one form, in whole seconds"},
};

inline constexpr const char* kNoTasks =
    "tasks are off where Activity has no unique field for the Transaction Id (ORG-10)";

/// Those of an org with the package of another owner besides.
inline constexpr SalesforceException kBareExceptions[] = {
    {"CrmGiftRecords", "a_rejected_row_does_not_affect_the_others",
     "no rule of another owner's package refuses a gift for a contact and a lead"},
    {"CrmGiftRecords", "two_concurrent_writers_leave_one_record_each_at_the_newest_version",
     "an older row waits for its record there, which this test then believes to exist"},
    {"CrmLookups", "a_gift_has_exactly_one_task_related_to_its_record", kNoTasks},
    {"CrmLookups", "completing_writes_the_status_and_nothing_else", kNoTasks},
    {"CrmLookups", "a_task_is_completed_without_its_gift_record", kNoTasks},
    {"CrmLookups", "a_manually_deleted_task_is_not_recreated", kNoTasks},
    {"CrmLookups", "a_task_of_a_completed_gift_is_created_completed", kNoTasks},
    {"CrmLookups", "a_tasks_contact_follows_its_gift_unless_edited", kNoTasks},
};

/// Of the running test; null when it has none.
inline const char* reason_of_exception(bool is_bare) {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  const std::string_view suite = test.test_suite_name();
  const std::string_view name = test.name();
  const auto is_running = [&](const SalesforceException& one) {
    return suite.ends_with("/" + std::string(one.suite)) && name.starts_with(std::string(one.test) + "/");
  };
  for (const SalesforceException& one : kSalesforceExceptions) {
    if (is_running(one)) return one.reason;
  }
  for (const SalesforceException& one : kBareExceptions) {
    if (is_bare && is_running(one)) return one.reason;
  }
  return nullptr;
}

}  // namespace giftsync::schema::crm
