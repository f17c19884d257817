// What the adapter does when the org or the way to it fails.
#include "platform/dependency_error.h"
#include "tests/salesforce/salesforce_crm_fixture.h"

namespace giftsync::salesforce {
namespace {
using crm::GiftUpsert;
using crm::TaskUpsert;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class SalesforceFaultsTest : public SalesforceCrmTest {
 protected:
  std::string refusal(const std::vector<GiftUpsert>& rows) {
    try {
      write(rows);
    } catch (const giftsync::DependencyError& error) {
      return error.what();
    }
    ADD_FAILURE() << "the write succeeded";
    return "";
  }
};

TEST_F(SalesforceFaultsTest, ALostAnswerMakesNoSecondRecord) {
  for (const char* when : {"before_commit", "after_commit"}) {
    sql("DELETE FROM crm_gift_record");
    fault({{"kind", "cut"}, {"when", when}, {"path", "/composite"}});
    EXPECT_THAT(kinds({upsert(1, 1), upsert(2, 1)}), ElementsAre(Kind::created, Kind::created)) << when;
    EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "2") << when;
  }
}

TEST_F(SalesforceFaultsTest, ALostAnswerOfTheOldWriteIsRecognizedByALaterOne) {
  fault({{"kind", "cut"}, {"when", "after_commit"}, {"path", "/composite"}, {"times", 2}});
  EXPECT_THAT(refusal({upsert(1, 1)}), HasSubstr("did not answer"));
  EXPECT_THAT(kinds({upsert(1, 2)}), ElementsAre(Kind::updated));
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "1");
}

TEST_F(SalesforceFaultsTest, ALostAnswerMakesNoSecondTask) {
  kinds({upsert(1, 1)});
  TaskUpsert task;
  task.transaction = {1};
  task.status = "Not Started";
  task.subject = "Gift";
  fault({{"kind", "cut"}, {"when", "after_commit"}, {"path", "/composite"}, {"skip", 1}});
  EXPECT_THAT(kinds_of(crm_->tasks().upsert(std::span(&task, 1))), ElementsAre(Kind::created));
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_task"), "1");
}

TEST_F(SalesforceFaultsTest, ALockedRowIsRetriedLaterAndHoldsUpNoOther) {
  const std::string rose = contact("rose@example.com");
  GiftUpsert locked = upsert(1, 1);
  locked.record.set(GiftField::recipient_contact, rose);
  fault({{"kind", "lock"}, {"ids", {rose}}});
  const std::size_t rows_before = crm_->pace().rows_per_write;
  const auto results = write({locked, upsert(2, 1)});
  EXPECT_THAT(kinds_of(results), ElementsAre(Kind::retry, Kind::created));
  EXPECT_THAT(results[0].reason, HasSubstr("UNABLE_TO_LOCK_ROW"));
  EXPECT_EQ(results[0].retry_after_millis, 2 * kSecondMillis);
  EXPECT_LT(crm_->pace().rows_per_write, rows_before) << "smaller calls hold fewer locks";
  EXPECT_THAT(kinds({locked}), ElementsAre(Kind::created));
}

TEST_F(SalesforceFaultsTest, ARuleOfTheOrgRejectsItsRowsOnlyInItsOwnWords) {
  fault({{"kind", "rule"},
         {"object", "Gift_Record__c"},
         {"formula", "RecipientTransactionId__c = 2"},
         {"message", "No gifts on Tuesdays."},
         {"times", 0}});
  const auto results = write({upsert(1, 1), upsert(2, 1)});
  EXPECT_THAT(kinds_of(results), ElementsAre(Kind::created, Kind::rejected));
  EXPECT_THAT(results[1].reason, HasSubstr("No gifts on Tuesdays."));
  EXPECT_EQ(results[1].retry_after_millis, 6 * kHourMillis);
}

TEST_F(SalesforceFaultsTest, ANewerVersionOfAnotherWriterWins) {
  kinds({upsert(1, 1)});
  const std::string id = scalar("SELECT id FROM crm_gift_record");
  fault({{"kind", "interleave"},
         {"part", 0},
         {"skip", 1},
         {"method", "PATCH"},
         {"url", "/services/data/v62.0/sobjects/Gift_Record__c/" + id},
         {"body", {{"Record_Version__c", 5}, {"RecipientTransactionStatus__c", "opened"}}}});
  GiftUpsert older = upsert(1, 3, true);
  older.record.set(GiftField::status, std::string("delivered"));
  EXPECT_THAT(kinds({older}), ElementsAre(Kind::unchanged));
  EXPECT_EQ(record(1).get(GiftField::status), FieldValue(std::string("opened")));
}

TEST_F(SalesforceFaultsTest, ARecordThatIsDeletedBetweenQuestionAndWriteIsNotFound) {
  server_.with_org([](Org& org) { org.add_user("admin@example.com", "Admin"); });
  kinds({upsert(1, 1)});
  const std::string id = scalar("SELECT id FROM crm_gift_record");
  fault({{"kind", "interleave"},
         {"part", 0},
         {"skip", 1},
         {"user", "admin@example.com"},
         {"method", "DELETE"},
         {"url", "/services/data/v62.0/sobjects/Gift_Record__c/" + id}});
  const auto results = write({upsert(1, 2, true)});
  EXPECT_THAT(kinds_of(results), ElementsAre(Kind::not_found));
}

TEST_F(SalesforceFaultsTest, AUsedUpQuotaStopsAllCallsAndSaysUntilWhen) {
  fault({{"kind", "answer"},
         {"status", 403},
         {"content_type", "application/json"},
         {"body", R"([{"errorCode":"REQUEST_LIMIT_EXCEEDED","message":"TotalRequests Limit exceeded."}])"},
         {"path", "/composite"}});
  EXPECT_THAT(refusal({upsert(1, 1)}),
              AllOf(HasSubstr("TotalRequests Limit exceeded."), HasSubstr("next call is made at")));
  const int before = calls();
  EXPECT_THAT(refusal({upsert(1, 1)}), HasSubstr("not called before"));
  try {
    write({upsert(1, 1)});
    ADD_FAILURE() << "the write succeeded";
  } catch (const giftsync::DependencyPause& pause) {
    EXPECT_GT(pause.until(), system_now() + 10 * kMinuteMillis);
    EXPECT_EQ(crm_->usage()->paused_until, pause.until());
  }
  EXPECT_THAT(crm_->usage()->rest_reason, HasSubstr("TotalRequests Limit exceeded."));
  EXPECT_EQ(calls(), before);
}

TEST_F(SalesforceFaultsTest, AQuotaThatEndsBetweenTwoCallsLeavesTheOtherRowsWithATime) {
  crm_ = make_crm({.most_rows = 25});
  fault({{"kind", "answer"},
         {"status", 403},
         {"content_type", "application/json"},
         {"body", R"([{"errorCode":"REQUEST_LIMIT_EXCEEDED","message":"TotalRequests Limit exceeded."}])"},
         {"path", "/composite"},
         {"skip", 1}});
  std::vector<GiftUpsert> rows;
  for (std::int64_t id = 1; id <= 30; ++id) rows.push_back(upsert(id, 1));
  const auto results = write(rows);
  EXPECT_EQ(results[0].kind, Kind::created);
  EXPECT_EQ(results[29].kind, Kind::retry);
  EXPECT_GT(results[29].retry_after_millis, 10 * kMinuteMillis);
}

TEST_F(SalesforceFaultsTest, AnEndedSessionIsRenewedOnce) {
  kinds({upsert(1, 1)});
  sql("DELETE FROM org_session");
  clock_offset_ = kHourMillis;
  EXPECT_THAT(kinds({upsert(2, 1)}), ElementsAre(Kind::created));
  EXPECT_EQ(sign_ins_, 2);
}

TEST_F(SalesforceFaultsTest, APageOfMaintenanceStopsTheCall) {
  fault({{"kind", "answer"},
         {"status", 503},
         {"content_type", "text/html"},
         {"body", "<html>maintenance</html>"},
         {"path", "/composite"},
         {"times", 2}});
  EXPECT_THAT(refusal({upsert(1, 1)}), HasSubstr("maintenance"));
  EXPECT_THAT(kinds({upsert(1, 1)}), ElementsAre(Kind::created));
}

TEST_F(SalesforceFaultsTest, AQuestionThatIsTooHeavyIsAskedInSmallerOnes) {
  kinds({upsert(1, 1), upsert(2, 1), upsert(3, 1)});
  const Json too_heavy{{"kind", "refusal"},
                       {"status", 400},
                       {"code", "QUERY_TIMEOUT"},
                       {"message", "Your query request was running for too long."},
                       {"path", "/query"}};
  const std::vector<TransactionId> ids{{1}, {2}, {3}};
  fault(too_heavy);
  EXPECT_THAT(gifts().find(ids), SizeIs(3));
  fault(too_heavy);
  EXPECT_THROW(gifts().page({0}, 10), giftsync::DependencyError) << "one statement cannot be made smaller";
}

/// An edit between the query and the write of a relink.
TEST_F(SalesforceFaultsTest, ARelinkDoesNotOverwriteAnEditOfTheSameSecond) {
  server_.with_org([](Org& org) { org.add_user("admin@example.com", "Admin"); });
  kinds({upsert(1, 1)});
  const std::string rose = contact("rose@example.com");
  const std::string ada = contact("ada@example.com");
  fault({{"kind", "interleave"},
         {"part", 0},
         {"skip", 2},
         {"user", "admin@example.com"},
         {"method", "PATCH"},
         {"url", "/services/data/v62.0/sobjects/Gift_Record__c/" + scalar("SELECT id FROM crm_gift_record")},
         {"body", {{"RecipientContactId__c", ada}}}});
  crm::GiftRelink relink{{1}, {}, {}, {}, {}};
  relink.to.contact_id = rose;
  EXPECT_THAT(kinds_of(gifts().relink(std::span(&relink, 1))), ElementsAre(Kind::unchanged));
  EXPECT_EQ(record(1).get(GiftField::recipient_contact), FieldValue(ada));
}

TEST_F(SalesforceFaultsTest, TwoWritersLeaveTheNewestVersion) {
  const auto other = make_crm();
  kinds({upsert(1, 1)});
  for (std::int64_t version = 2; version < 12; version += 2) {
    const GiftUpsert newer = upsert(1, version + 1, true);
    EXPECT_THAT(kinds_of(other->gift_records().upsert(std::span(&newer, 1))), ElementsAre(Kind::updated));
    EXPECT_THAT(kinds({upsert(1, version, true)}), ElementsAre(Kind::unchanged));
    EXPECT_EQ(record(1).version, version + 1);
  }
}

TEST_F(SalesforceFaultsTest, AnInactiveOwnerIsLeftOut) {
  const std::string former = insert("crm_user", "username, lastname, name, isactive", "'f', 'F', 'F', 0");
  GiftUpsert row = upsert(1, 1);
  row.record.set(GiftField::owner, former);
  const auto results = write({row});
  EXPECT_THAT(kinds_of(results), ElementsAre(Kind::created));
  EXPECT_THAT(results[0].cleared_lookups, ElementsAre(GiftField::owner)) << results[0].reason;
}

TEST_F(SalesforceFaultsTest, AFaultThatDoesNotEndIsTriedThreeTimes) {
  fault({{"kind", "row_error"},
         {"object", "Gift_Record__c"},
         {"status_code", "UNKNOWN_EXCEPTION"},
         {"message", "An unexpected error occurred."},
         {"times", 0}});
  EXPECT_THAT(kinds({upsert(1, 1)}), ElementsAre(Kind::retry));
  EXPECT_LE(calls(), 3);
}

TEST_F(SalesforceFaultsTest, AnIdOfAnotherKindOfRecordIsSearchedAgain) {
  GiftUpsert row = upsert(1, 1);
  row.crm_id = write({row}).front().crm_id;
  fault({{"kind", "row_error"},
         {"object", "Gift_Record__c"},
         {"status_code", "MALFORMED_ID"},
         {"message", "id value of incorrect type: " + row.crm_id}});
  row.exists = true;
  row.record.version = 2;
  EXPECT_THAT(kinds({row}), ElementsAre(Kind::updated));
  EXPECT_EQ(calls(), 4);
}

}  // namespace
}  // namespace giftsync::salesforce
