// How many calls an org gets when there is little or much to do, while it has few to give, and while it
// fails; by a clock that passes in hours.
#include "platform/dependency_error.h"
#include "sync/crm/transaction_id_floor.h"
#include "sync/request/request_record_step.h"
#include "tests/salesforce/salesforce_sync_fixture.h"

namespace giftsync::salesforce {
namespace {
using testing::HasSubstr;

/// Of steps while the org fails: a twentieth of the longest outage, so that many more could call than may.
constexpr std::int64_t kPaceMillis = 15 * kSecondMillis;

class SalesforceCallsTest : public SalesforceSyncTest {
 protected:
  void maintenance() {
    fault({{"kind", "answer"},
           {"status", 503},
           {"content_type", "text/html"},
           {"body", "<html>maintenance</html>"},
           {"path", "/services/data"},
           {"times", 0}});
  }
  void end_faults() {
    server_.with_org([](Org& org) { org.faults().clear(); });
  }
};

/// Polls with their pace, the look for Transaction Ids each hour, and sessions of two hours.
TEST_F(SalesforceCallsTest, AnIdleDayCostsAtMost350Calls) {
  session_millis_ = 2 * kHourMillis;
  sync::RequestRecordRules requests;
  requests.authorize_senders = [](std::span<const std::string> ids) {
    return std::vector<sync::SenderAuthorization>(ids.size());
  };
  const int before = calls();
  for (int minute = 0; minute < 24 * 60; ++minute) {
    if (minute % 60 == 0) sync::first_id_above_unknown_records(store_->gifts, crm_->gift_records());
    EXPECT_EQ(work(), "");
    crm_->directory().maintain();
    sync::request_record_step(*store_, *crm_, requests, clock());
    pass(kMinuteMillis);
  }
  EXPECT_NEAR(sign_ins_, 12, 1);
  EXPECT_LE(calls() - before + sign_ins_, 350);
  EXPECT_GE(calls() - before, 250) << "it was polled";
}

/// Rows that the org locks often are few in a call, so that the calls are many.
TEST_F(SalesforceCallsTest, GiftsArriveThroughAQuotaOfAHundredCallsAnHour) {
  const char* given = std::getenv("GIFTSYNC_QUOTA_GIFTS");
  const std::size_t count = given ? std::strtoul(given, nullptr, 10) : 1000;
  server_.with_org([](Org& org) {
    org.set("api_limit", "1000000");
    org.set("api_limit_per_hour", "100");
  });
  crm_ = make_crm({.most_rows = kLeastRows});
  for (std::size_t made = 0; made < count; made += 100)
    store_.create_gifts(std::min<std::size_t>(100, count - made));
  int hours = 0;
  const int most_hours = static_cast<int>(count / kLeastRows * 3 / 100) + 4;
  for (; store_->sync.counts().waiting > 0 && hours < most_hours; ++hours) {
    for (int quarter = 0; quarter < 4; ++quarter) {
      while (work().empty() && last_.claimed > 0) {
      }
      const int before = calls();
      work();
      EXPECT_LE(calls() - before, 3) << "a rest is a rest";
      pass(kHourMillis / 4);
    }
  }
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), std::to_string(count));
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_task"), std::to_string(count));
  EXPECT_GE(hours, 1);
  EXPECT_LT(hours, most_hours);
}

// ORG-7
TEST_F(SalesforceCallsTest, AnOrgInMaintenanceIsCalledAtMostEachFiveMinutes) {
  store_.create_gifts(1);
  maintenance();
  const int before = calls();
  work_for(kHourMillis, kPaceMillis);
  EXPECT_LE(calls() - before, 25);
  EXPECT_GE(calls() - before, 12);
  for (int i = 0; i < 2; ++i) work();
  const auto usage = crm_->usage();
  ASSERT_TRUE(usage && usage->paused_until);
  EXPECT_LE(*usage->paused_until, clock() + kMostOutageMillis);
  EXPECT_THAT(usage->rest_reason, HasSubstr("maintenance"));
  end_faults();
  work_for(kMostOutageMillis, kPaceMillis);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "1");
  EXPECT_FALSE(crm_->usage()->paused_until);
}

// ORG-7
TEST_F(SalesforceCallsTest, AfterAnAnswerAMaintenanceBeginsAnew) {
  store_.create_gifts(1);
  maintenance();
  work_for(20 * kMinuteMillis, kPaceMillis);
  end_faults();
  work_for(kMostOutageMillis, kPaceMillis);
  store_.create_gifts(1);
  maintenance();
  const int before = calls();
  work_for(30 * kSecondMillis, 5 * kSecondMillis);
  EXPECT_GE(calls() - before, 4) << "a failure that passes is not waited for";
}

/// Refused without a page, with the words of the API.
TEST_F(SalesforceCallsTest, AnOrgThatIsNotAvailableIsLeftAloneToo) {
  store_.create_gifts(1);
  fault({{"kind", "refusal"},
         {"status", 503},
         {"code", "SERVER_UNAVAILABLE"},
         {"message", "We are down for maintenance."},
         {"path", "/composite"},
         {"times", 0}});
  const int before = calls();
  work_for(kHourMillis, kPaceMillis);
  EXPECT_LE(calls() - before, 25);
}

/// What waited is written then.
TEST_F(SalesforceCallsTest, AQuotaThatIsUsedUpForADayIsAskedForEachQuarterOfAnHour) {
  const auto gifts = store_.create_gifts(20);
  work();
  report(gifts, Status::delivered, kMinuteMillis);
  fault({{"kind", "answer"},
         {"status", 403},
         {"content_type", "application/json"},
         {"body", R"([{"errorCode":"REQUEST_LIMIT_EXCEEDED","message":"TotalRequests Limit exceeded."}])"},
         {"path", "/services/data"},
         {"times", 0}});
  const int before = calls();
  work_for(24 * kHourMillis, 3 * kMinuteMillis);
  EXPECT_LE(calls() - before, 24 * 4 + 1);
  EXPECT_GE(calls() - before, 24 * 3);
  end_faults();
  work_for(20 * kMinuteMillis, kMinuteMillis);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record WHERE recipienttransactionstatus = 'delivered'"),
            "20");
}

// CON-24
TEST_F(SalesforceCallsTest, NearTheEndOfItsSharePagesAskNothingMoreAndGiftsGoOn) {
  server_.with_org([](Org& org) { org.set("api_limit", "50"); });
  EXPECT_NO_THROW(crm_->require_spare_calls()) << "the limit is not known yet";
  const auto may_ask = [&] {
    const int before = calls();
    try {
      crm_->require_spare_calls();
    } catch (const giftsync::DependencyPause&) {
      return false;
    }
    EXPECT_EQ(calls(), before) << "it makes no call";
    return true;
  };
  int asked = 0;
  while (asked < 20 && may_ask()) {
    crm_->gift_records().count();
    ++asked;
  }
  EXPECT_LE(asked, 8) << "80 % of 20 % of 50";
  EXPECT_GE(asked, 4);
  store_.create_gifts(1);
  EXPECT_EQ(work(), "");
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "1");
}

}  // namespace
}  // namespace giftsync::salesforce
