// Backfills and rematches over an org, with a real store: what they find and write, and what they cost.
#include "matching/rematch.h"
#include "platform/dependency_error.h"
#include "sync/crm/crm_reconciliation.h"
#include "sync/crm/status_log_backfill.h"
#include "sync/crm/sync_step.h"
#include "tests/salesforce/fake_org/projects.h"
#include "tests/salesforce/salesforce_crm_fixture.h"
#include "tests/support/temporary_store.h"

namespace giftsync::salesforce {
namespace {
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Finding = sync::ReconciliationFinding;

constexpr UtcMillis kSentAt{1'700'000'000'000};
constexpr UtcMillis kNow{kSentAt.value + kDayMillis};
constexpr UtcMillis kYear2000{946'684'800'000};

class SalesforceBackfillTest : public SalesforceCrmTest {
 protected:
  SalesforceBackfillTest() {
    rules_.match_fields = match_fields();
    rules_.link_of = [](const store::RecipientTransaction& gift) {
      return gift.gift_source.empty() ? "https://gifts.test/g/x" : "";
    };
    rules_.integration_user = user_;
  }

  void sync() {
    while (sync::sync_step(*store_, *crm_, rules_, {"one", 60'000}, kNow).claimed > 0) {
    }
  }
  std::map<std::int64_t, Finding> reconcile_all(bool recreate = false) {
    std::map<std::int64_t, Finding> found;
    const sync::ReconciliationRules rules{rules_, recreate, false};
    TransactionId after{0};
    for (bool done = false; !done;) {
      const auto batch = sync::reconcile_gift_records(*store_, *crm_, rules, after, kNow);
      for (const Finding& one : batch.findings) found[one.transaction.value] = one;
      after = batch.last;
      done = batch.done;
    }
    return found;
  }
  static std::int64_t count(const std::map<std::int64_t, Finding>& found, Finding::Kind kind) {
    return std::count_if(found.begin(), found.end(),
                         [&](const auto& one) { return one.second.kind == kind; });
  }

  void add_status_log() {
    server_.with_org([this](Org& org) { tests::fake_org::add_status_log(org, user_); });
  }
  crm::LegacyStatusLog& log() {
    crm::LegacyStatusLog* found = crm_->legacy_status_log();
    if (!found) throw std::runtime_error("the org has no status log");
    return *found;
  }
  std::vector<crm::StatusLogGroup> spans(std::int64_t after, std::size_t limit = 8000) {
    return log().spans({after}, limit, kYear2000, kNow);
  }
  /// `rows` rows of each of the gifts from 1 on, a minute apart.
  void fill_log(int gifts, int rows, const std::string& status) {
    sql("WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < " +
        std::to_string(gifts * rows) +
        ") INSERT INTO crm_status_log (recipienttransactionid, status, createddate) SELECT 1 + i / " +
        std::to_string(rows) + ", '" + status +
        "', strftime('%Y-%m-%dT%H:%M:%S.000Z', 1577836800 + 60 * (i % " + std::to_string(rows) +
        "), 'unixepoch') FROM n");
  }
  std::string fault_of(StatusLogNames names) {
    SalesforceCrmOptions options{.names = ApiNames(OrgNames{}), .match_fields = match_fields()};
    options.status_log = std::move(names);
    const auto crm = make_salesforce_crm(client_, std::move(options));
    try {
      crm->legacy_status_log()->size();
    } catch (const giftsync::DependencyError& fault) {
      EXPECT_FALSE(fault.transient());
      return fault.what();
    }
    return "";
  }

  tests::TemporaryStore store_;
  sync::SyncRules rules_;
};

// SYNC-51
TEST_F(SalesforceBackfillTest, FiftyRecordsDamagedByHandAreFoundAndRepaired) {
  store_.create_gifts(2100);
  sync();
  sql("UPDATE crm_gift_record SET recipienttransactionstatus = 'redeemed' WHERE recipienttransactionid % 84 "
      "= "
      "0");
  sql("UPDATE crm_gift_record SET opened_date_time = '2020-01-01T00:00:00.000Z', item_cost = '9.99' WHERE "
      "recipienttransactionid % 84 = 42");
  const int before = calls();
  const auto found = reconcile_all();
  EXPECT_EQ(calls() - before, 2) << "pages of 2,000";
  EXPECT_EQ(count(found, Finding::Kind::repaired), 50);
  EXPECT_EQ(count(found, Finding::Kind::unchanged), 2050);
  sync();
  EXPECT_EQ(calls() - before, 3) << "the repairs are one call";
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record WHERE recipienttransactionstatus = 'sent' AND "
                   "opened_date_time IS NULL"),
            "2100");
  EXPECT_EQ(count(reconcile_all(), Finding::Kind::unchanged), 2100);
}

TEST_F(SalesforceBackfillTest, ARecordInTheRecycleBinIsDeletedUntilItIsWantedAgain) {
  const std::vector<TransactionId> gifts = store_.create_gifts(2);
  sync();
  sql("UPDATE crm_gift_record SET isdeleted = 1 WHERE recipienttransactionid = " +
      std::to_string(gifts[0].value));
  EXPECT_EQ(reconcile_all().at(gifts[0].value).kind, Finding::Kind::deleted_in_crm);
  EXPECT_EQ(reconcile_all(true).at(gifts[0].value).kind, Finding::Kind::recreated);
  sync();
  EXPECT_EQ(count(reconcile_all(), Finding::Kind::unchanged), 2);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record WHERE isdeleted = 0"), "2");
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record WHERE isdeleted = 1"), "1") << "the bin keeps it";
}

// SYNC-59
TEST_F(SalesforceBackfillTest, TheStatusLogFillsRecordsThatNoOneWrote) {
  EXPECT_EQ(crm_->legacy_status_log(), nullptr) << "most orgs have none";
  add_status_log();
  crm_ = make_crm();
  sql("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) INSERT INTO "
      "crm_gift_record (recipienttransactionid, recipienttransactionstatus) SELECT i, 'opened' FROM n");
  fill_log(1500, 3, "Opened");
  sql("INSERT INTO crm_status_log (status) VALUES ('opened'), ('opened')");
  const int before = calls();
  EXPECT_EQ(log().size().rows, 4502);
  EXPECT_EQ(log().size().without_gift, 2);
  EXPECT_EQ(calls() - before, 3) << "its fields, and the numbers of rows twice";
  const auto batch = sync::backfill_status_log(store_->backfill, store_->changes, crm_->gift_records(), log(),
                                               {0}, false, kNow);
  EXPECT_TRUE(batch.done);
  EXPECT_EQ(batch.rows.used, 4500);
  EXPECT_EQ(batch.gifts, 1500);
  EXPECT_EQ(calls() - before, 3 + 3 + 1 + 3) << "pages of the log, records, records again and two writes";
  EXPECT_EQ(
      scalar("SELECT count(*) FROM crm_gift_record WHERE opened_date_time = '2020-01-01T00:00:00.000Z'"),
      "1500")
      << "the earliest";
  const auto again = sync::backfill_status_log(store_->backfill, store_->changes, crm_->gift_records(), log(),
                                               {0}, false, kNow);
  EXPECT_THAT(again.filled, IsEmpty());
}

TEST_F(SalesforceBackfillTest, OneGiftOfTheLogMayFillMoreThanAPage) {
  add_status_log();
  fill_log(1, 4500, "delivered");
  sql("INSERT INTO crm_status_log (recipienttransactionid, status, createddate) VALUES (2, 'opened', "
      "'1970-01-01T00:00:00.000Z'), (2, 'opened', '2020-01-01T00:00:00.000Z')");
  const auto found = spans(0);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].rows, 4500);
  EXPECT_EQ(found[0].earliest, from_rfc3339("2020-01-01T00:00:00Z"));
  EXPECT_EQ(found[0].latest, from_rfc3339("2020-01-04T02:59:00Z"));
  EXPECT_EQ(found[1].rows, 2);
  EXPECT_EQ(found[1].implausible, 1);
  EXPECT_THAT(spans(1), SizeIs(1));
  EXPECT_THAT(spans(2), IsEmpty());
  EXPECT_THAT(spans(0, 1), SizeIs(1)) << "at most as many as asked for";
}

// SYNC-62
TEST_F(SalesforceBackfillTest, AnInterruptedReadGoesOnWhereItWas) {
  add_status_log();
  fill_log(1500, 3, "opened");
  log();
  const int before = calls();
  fault({{"kind", "answer"},
         {"status", 503},
         {"body", "<html>Maintenance</html>"},
         {"headers", {{"Retry-After", "30"}}},
         {"skip", 1},
         {"path", "/composite"}});
  EXPECT_THROW(spans(0), giftsync::DependencyPause);
  EXPECT_EQ(calls() - before, 2);
  EXPECT_THROW(spans(0), giftsync::DependencyPause) << "no call before the time";
  EXPECT_EQ(calls() - before, 2);
  crm_offset_ += 31'000;
  const auto found = spans(0);
  EXPECT_THAT(found, SizeIs(1500));
  EXPECT_EQ(calls() - before, 4) << "three pages, and the refused call";
  for (const crm::StatusLogGroup& one : found) EXPECT_EQ(one.rows, 3);
}

// ORG-5
TEST_F(SalesforceBackfillTest, BackfillsStopBeforeGiftsDo) {
  add_status_log();
  fill_log(10, 1, "opened");
  server_.with_org([](Org& org) { org.set("api_limit", "100"); });
  crm_ = make_crm({.share_percent = 20});
  bool is_paused = false;
  for (int i = 0; i < 20 && !is_paused; ++i) {
    try {
      spans(0);
    } catch (const giftsync::DependencyPause& pause) {
      EXPECT_THAT(pause.what(), HasSubstr("Salesforce is not called before"));
      is_paused = true;
    }
  }
  EXPECT_TRUE(is_paused);
  EXPECT_THAT(kinds({upsert(1, 1)}), ElementsAre(Kind::created));
}

// SYNC-61
TEST_F(SalesforceBackfillTest, FieldsOfTheLogThatCannotServeAreNamed) {
  add_status_log();
  EXPECT_THAT(fault_of({.transaction_id = "Status__c"}),
              AllOf(HasSubstr("field Status_Log__c.Status__c is of type string, a number"),
                    HasSubstr("crm.status_log.transaction_id")));
  EXPECT_THAT(fault_of({.time = "Status__c"}), HasSubstr("a time is needed"));
  EXPECT_THAT(fault_of({.status = "Word__c"}),
              AllOf(HasSubstr("has no field Word__c; name the right one in crm.status_log.status"),
                    HasSubstr("permission set")));
  EXPECT_EQ(fault_of({}), "");
}

// MATCH-26
TEST_F(SalesforceBackfillTest, GiftsOfALeadFollowItsConversion) {
  const std::string lead = insert("crm_lead", "lastname, name, email", "'Lima', 'Rose', 'p0@example.com'");
  const std::vector<TransactionId> gifts = store_.create_gifts(1);
  sync();
  EXPECT_EQ(scalar("SELECT recipientleadid FROM crm_gift_record"), lead);
  const std::string account = insert("crm_account", "name", "'Acme'");
  const std::string person = contact("other@example.com");
  sql("UPDATE crm_contact SET accountid = '" + account + "' WHERE id = '" + person + "'");
  sql("UPDATE crm_lead SET isconverted = 1, convertedcontactid = '" + person + "', convertedaccountid = '" +
      account + "'");
  matching::RematchRules rules{.match_fields = match_fields()};
  rules.follow_leads = true;
  const auto states = store_->sync.list_states_to_rematch(store::RematchScope::linked_to_lead, {0}, 2000);
  ASSERT_THAT(states, SizeIs(1));
  const auto results = matching::rematch(*store_, *crm_, rules, states, kNow);
  ASSERT_THAT(results, SizeIs(1));
  EXPECT_EQ(results[0].kind, matching::RematchResult::Kind::relinked) << results[0].detail;
  EXPECT_EQ(scalar("SELECT recipientcontactid || account || coalesce(recipientleadid, '') FROM "
                   "crm_gift_record"),
            person + account);
  sync();
  EXPECT_EQ(reconcile_all().at(gifts[0].value).kind, Finding::Kind::unchanged);
}

}  // namespace
}  // namespace giftsync::salesforce
