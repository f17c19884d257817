// `mail list`, and what `status` lists of the same mails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/cli_fixture.h"
#include "tests/support/temporary_database.h"

namespace giftsync::cli {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class CliMail : public ::testing::Test {
 protected:
  /// Two mails of gifts, and one to the approver, who is user 1.
  void SetUp() override {
    cli_.send_gifts({"ada@example.com", "ben@example.com"});
    cli_.run({"user", "create", "--email", "eva@example.com", "--grant", "approver"});
    tests::run_sql(cli_.address(),
                   "INSERT INTO mail_outbox (transaction_id, state, attempt, next_attempt_at, message_id, "
                   "uncertain_retries, last_reply, updated_at, lease_owner, lease_until, kind) VALUES (-1, "
                   "'queued', 1, 5, 'approval-1@example.com', 0, 'no reply', 0, '', 0, 'approval')");
  }
  void hold(const std::string& condition) {
    tests::run_sql(cli_.address(), "UPDATE mail_outbox SET state = 'held' WHERE " + condition);
  }
  Json list(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"mail", "list", "--json"});
    return Json::parse(cli_.run(more).out);
  }
  CliFixture cli_;
};

// CON-32
TEST_F(CliMail, ListsTheMailsOfOneStateThoseToApproversToo) {
  EXPECT_THAT(list(), SizeIs(0));
  EXPECT_THAT(cli_.run({"mail", "list"}).err, HasSubstr("No mail is held."));
  EXPECT_THAT(list({"--state", "queued"}), SizeIs(3));
  hold("transaction_id IN (-1, 1)");
  const Json held = list();
  ASSERT_THAT(held, SizeIs(2));
  EXPECT_EQ(held[0]["recipient_transaction_id"], 1);
  EXPECT_EQ(held[0]["kind"], "gift");
  EXPECT_EQ(held[0]["email"], "ada@example.com");
  EXPECT_TRUE(held[1]["recipient_transaction_id"].is_null());
  EXPECT_EQ(held[1]["kind"], "approval");
  EXPECT_EQ(held[1]["email"], "eva@example.com");
  EXPECT_EQ(held[1]["last_reply"], "no reply");
  EXPECT_THAT(list({"--limit", "1"}), SizeIs(1));
  EXPECT_THAT(cli_.run({"mail", "list"}).out, AllOf(HasSubstr("KIND"), HasSubstr("approval"),
                                                    HasSubstr("eva@example.com"), Not(HasSubstr("-1 "))));
  EXPECT_EQ(cli_.run({"mail", "list", "--state", "accepted"}).code, 64);
}

// OPS-8
TEST_F(CliMail, StatusListsEachMailThatItCountsAsHeld) {
  hold("transaction_id < 2");
  const Json mail = Json::parse(cli_.run({"status", "--json"}).out)["mail"];
  EXPECT_EQ(mail["held"], 2);
  ASSERT_THAT(mail["uncertain_or_held"], SizeIs(2));
  EXPECT_TRUE(mail["uncertain_or_held"][0]["recipient_transaction_id"].is_null());
  EXPECT_EQ(mail["uncertain_or_held"][0]["message_id"], "approval-1@example.com");
  EXPECT_EQ(mail["uncertain_or_held"][1]["recipient_transaction_id"], 1);
  EXPECT_THAT(cli_.run({"status"}).out, AllOf(HasSubstr("the mail to the approver eva@example.com is held"),
                                              HasSubstr("gift 1 to ada@example.com is held")));
}

}  // namespace
}  // namespace giftsync::cli
