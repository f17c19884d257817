// `mail list`, and what `status` lists of the same mails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"
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
    return tests::parse_json(cli_.run(more).out);
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
  const Json mail = tests::parse_json(cli_.run({"status", "--json"}).out)["mail"];
  EXPECT_EQ(mail["held"], 2);
  ASSERT_THAT(mail["uncertain_or_held"], SizeIs(2));
  EXPECT_EQ(mail["uncertain_or_held"][0]["recipient_transaction_id"], 1) << "mails of gifts first";
  EXPECT_TRUE(mail["uncertain_or_held"][1]["recipient_transaction_id"].is_null());
  EXPECT_EQ(mail["uncertain_or_held"][1]["message_id"], "approval-1@example.com");
  EXPECT_THAT(cli_.run({"status"}).out, AllOf(HasSubstr("the mail of notices to eva@example.com is held"),
                                              HasSubstr("gift 1 to ada@example.com is held")));
}

// covers: OPS-16
TEST_F(CliMail, StatusSaysWhichCommandListsTheHeldMailsThatItLeavesOut) {
  EXPECT_THAT(cli_.run({"status"}).out, Not(HasSubstr("All that are held")));
  cli_.send_gifts(std::vector<std::string>(20, "kim@example.com"));
  hold("transaction_id > 0");
  EXPECT_THAT(cli_.run({"status"}).out,
              AllOf(HasSubstr("All that are held: giftsyncctl mail list --state held"),
                    Not(HasSubstr("All that are uncertain"))));
}

// CON-32, OPS-8
TEST_F(CliMail, TheMailToASenderIsListedAndBelongsToNoGift) {
  tests::run_sql(cli_.address(),
                 "INSERT INTO notified_sender (email_key, email) VALUES ('sam@x.example', 'sam@x.example')");
  tests::run_sql(cli_.address(),
                 "INSERT INTO mail_outbox (transaction_id, state, attempt, next_attempt_at, message_id, "
                 "uncertain_retries, last_reply, updated_at, lease_owner, lease_until, kind) VALUES "
                 "(-1000000000000001, 'held', 1, 5, 'sender-1@x', 0, '550 no', 5, '', 0, 'sender')");
  const Json held = list();
  ASSERT_THAT(held, SizeIs(1));
  EXPECT_TRUE(held[0]["recipient_transaction_id"].is_null());
  EXPECT_EQ(held[0]["kind"], "sender");
  EXPECT_EQ(held[0]["email"], "sam@x.example");
  const Json mail = tests::parse_json(cli_.run({"status", "--json"}).out)["mail"];
  EXPECT_EQ(mail["held"], 1);
  EXPECT_TRUE(mail["uncertain_or_held"][0]["recipient_transaction_id"].is_null());
  EXPECT_EQ(mail["gifts_undelivered_within_7_days"], 0);
  EXPECT_THAT(cli_.run({"status"}).out, HasSubstr("the mail to the sender sam@x.example is held"));
  EXPECT_THAT(cli_.run({"mail", "list"}).out, AllOf(HasSubstr("sender"), Not(HasSubstr("-1000"))));
}

/// Twelve gifts whose mails ended as the relay's replies say, now.
class CliUndelivered : public CliMail {
 protected:
  void SetUp() override {
    std::vector<std::string> recipients;
    for (int i = 1; i <= 12; ++i) recipients.push_back("p" + std::to_string(i) + "@x.example");
    cli_.send_gifts(recipients);
    refuse("1 = 1", "'554 5.7.1 <p' || transaction_id || '@x.example>: Relay access denied'");
    refuse("transaction_id = 12", "'550 5.1.1 unknown'");
  }
  void refuse(const std::string& condition, const std::string& reply) {
    tests::run_sql(cli_.address(),
                   "UPDATE mail_outbox SET state = 'undelivered', attempt = 1, updated_at = " +
                       std::to_string(cli_.now.value) + ", last_reply = " + reply + " WHERE " + condition);
    tests::run_sql(cli_.address(),
                   "UPDATE recipient_transaction SET status = 'undelivered', undelivered_at = " +
                       std::to_string(cli_.now.value));
  }
  std::size_t queued() { return list({"--state", "queued"}).size(); }
};

// MAIL-33
TEST_F(CliUndelivered, GiftsThatOneReplyMadeUndeliveredAreMailedAgain) {
  ASSERT_EQ(cli_.run({"gift", "cancel", "3", "--yes"}).code, 0);
  tests::run_sql(cli_.address(),
                 "UPDATE recipient_transaction SET status = 'refunded', refunded_at = 1 WHERE id = 10");
  const auto shown = cli_.run({"gift", "resend", "--reply", "relay access DENIED"});
  EXPECT_EQ(shown.code, 64) << "there is no terminal to ask on";
  EXPECT_THAT(shown.err, AllOf(HasSubstr("gift 11 to p11@x.example, "), HasSubstr("and 5 more"),
                               HasSubstr("Mail 10 gifts again?")));
  EXPECT_EQ(queued(), 0U);
  const auto sent = cli_.run({"gift", "resend", "--yes", "--reply",
                              "554 5.7.1 <p4@x.example>: Relay access denied", "--since", "1h"});
  EXPECT_EQ(sent.code, 0) << sent.err;
  EXPECT_THAT(sent.err, AllOf(HasSubstr("Gift 3 was left out: "), Not(HasSubstr("Gift 10 ")),
                              HasSubstr("9 gifts will be mailed again")));
  EXPECT_EQ(queued(), 9U);
  EXPECT_THAT(cli_.run({"gift", "resend", "--reply", "5.1.1", "--since", "2027-01-01", "--yes"}).err,
              HasSubstr("No mail of a gift that can be sent again ended undelivered"));
  EXPECT_EQ(queued(), 9U);
}

TEST_F(CliUndelivered, AGiftOrAReplyIsGiven) {
  EXPECT_EQ(cli_.run({"gift", "resend"}).code, 64);
  EXPECT_EQ(cli_.run({"gift", "resend", "1", "--reply", "x"}).code, 64);
  EXPECT_EQ(cli_.run({"gift", "resend", "--reply", "x", "--email", "a@x.example"}).code, 64);
  EXPECT_EQ(cli_.run({"gift", "resend", "1", "--since", "1h"}).code, 64);
}

// OPS-8, OPS-27
TEST_F(CliUndelivered, StatusTellsThemAndTheReplyThatManyShare) {
  const Json status = tests::parse_json(cli_.run({"status", "--json"}).out);
  EXPECT_EQ(status["mail"]["gifts_undelivered_within_7_days"], 12);
  std::vector<std::string> steps;
  for (const Json& one : status["needs_attention"])
    if (one["what"].get<std::string>().starts_with("11 mails within an hour"))
      steps.push_back(one["next_step"].get<std::string>());
  EXPECT_THAT(steps, ::testing::ElementsAre(HasSubstr("gift resend --reply '554 5.7.1 <p")));
  EXPECT_THAT(cli_.run({"status"}).out, HasSubstr("12 gifts of the last 7 days are undelivered; giftsyncctl "
                                                  "gift list --status undelivered --since 7d"));
  cli_.now = cli_.now + kHourMillis + 1;
  EXPECT_THAT(cli_.run({"status"}).out, Not(HasSubstr("within an hour")));
  cli_.now = cli_.now + 7 * kDayMillis;
  EXPECT_THAT(cli_.run({"status"}).out, Not(HasSubstr("of the last 7 days")));
}

}  // namespace
}  // namespace giftsync::cli
