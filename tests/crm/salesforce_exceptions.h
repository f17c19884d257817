// Where the CRM conformance tests do not hold for an org of Salesforce, each with the reason. Everything else
// that the tests say of a CRM holds for it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace giftsync::crm {

struct SalesforceException {
  std::string_view suite;
  std::string_view test;
  const char* reason;
};

inline constexpr const char* kOwnTables =
    "an org's log is an object: tests/salesforce/salesforce_backfill_test.cpp names and checks one";

inline constexpr SalesforceException kSalesforceExceptions[] = {
    {"CrmGiftRecords", "ARecordReadsBackAsItWasWritten",
     "an org checks addresses, Ids and lengths, trims text and keeps whole seconds"},
    {"CrmGiftRecords", "AbsentAndEmptyValuesAreKeptApart", "an empty text is none in Salesforce"},
    {"CrmGiftRecords", "PlainSqlSeesExactMoneyAndTimes",
     "an org has no plain SQL: its tables are the test's"},
    {"CrmMatching", "PhonesMatchInEveryWrittenForm",
     "phones are asked for in the spellings of schema/contact_normalization.h"},
    {"CrmMatching", "TimesOrderByTimeNullsLastThenId",
     "an org's stamps have whole seconds and are never null"},
    {"CrmMatching", "LettersOfEveryScriptOrderWithoutCase", "an empty text is none in Salesforce"},
    {"CrmMatching", "IdsOrderByTheirBytes", "Ids are made by the org: letters and digits only"},
    {"CrmMatching", "LeadsReportWhetherTheyWereConverted", "an org lists converted leads last"},
    {"CrmMatching", "MalformedRowsDoNotAffectTheOthers", "Ids are made by the org: letters and digits only"},
    {"CrmOpportunities", "ADeletedAccountIsNotReturned",
     "Salesforce clears lookups when it deletes their target"},
    {"CrmOpportunities", "ContactsHaveTheAccountsThatExist",
     "Salesforce clears lookups when it deletes their target"},
    {"CrmRows", "PagesFollowTheBytesOfTheIds", "Ids are made by the org: letters and digits only"},
    {"CrmLookups", "AccountsAndUsersAreNotCheckedInACrmWithoutAny", "an org has its users and accounts"},
    {"CrmLookups", "LookupsToAnObjectWithoutRowsAreNotMissing", "an org is not refilled by a replication"},
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
    {"CrmGiftRecords", "ARejectedRowDoesNotAffectTheOthers",
     "no rule of another owner's package refuses a gift for a contact and a lead"},
    {"CrmGiftRecords", "TwoConcurrentWritersLeaveOneRecordEachAtTheNewestVersion",
     "an older row waits for its record there, which this test then believes to exist"},
    {"CrmLookups", "AGiftHasExactlyOneTaskRelatedToItsRecord", kNoTasks},
    {"CrmLookups", "ATaskGetsItsTextsAndItsDueDateWhenItIsMade", kNoTasks},
    {"CrmLookups", "CompletingWritesTheStatusAndNothingElse", kNoTasks},
    {"CrmLookups", "ATaskIsCompletedWithoutItsGiftRecord", kNoTasks},
    {"CrmLookups", "AManuallyDeletedTaskIsNotRecreated", kNoTasks},
    {"CrmLookups", "ATaskOfACompletedGiftIsCreatedCompleted", kNoTasks},
    {"CrmLookups", "ATasksContactFollowsItsGiftUnlessEdited", kNoTasks},
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

}  // namespace giftsync::crm
