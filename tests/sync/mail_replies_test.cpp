// When replies are the same, and when so many mails have one that `status` says so (OPS-27).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/mail/delivery_rules.h"

namespace giftsync::sync {
namespace {
using store::FailedMail;
using testing::IsEmpty;
using testing::SizeIs;

constexpr UtcMillis kNow{1'800'000'000'000};

TEST(ReplyClass, LeavesOutWhatDiffersFromMailToMail) {
  const std::vector<std::pair<std::string, std::string>> same{
      {"554 5.7.1 <a@x.example>: Relay access denied", "554 5.7.1 <b@y.example>: Relay access denied"},
      {"550 <ada>: unknown", "550 <bob>: unknown"},
      {"550 5.1.1 a@x.example unknown", "550 5.1.1 b@x.example unknown"},
      {"451 4.7.1 try again in 295 seconds", "451 4.7.1 try again in 3 seconds"},
      {"550 5.4.1 denied [AM4.eur.example 2026-11-28T10:00:00Z 08DD]",
       "550 5.4.1 denied [DB5.eur.example x7]"},
      {"550 mx.one.example said no.", "550 mx.two.example said no."},
  };
  for (const auto& [one, other] : same) EXPECT_EQ(reply_class(one), reply_class(other)) << one;
  const std::vector<std::string> different{"550 5.1.1 no", "550 5.7.1 no", "554 5.1.1 no",
                                           "550 no",       "550 no!",      ""};
  for (const std::string& one : different)
    for (const std::string& other : different)
      EXPECT_EQ(reply_class(one) == reply_class(other), &one == &other) << one << " / " << other;
}

// MAIL-33
TEST(ReplyLike, APartOrAReplyOfTheSameClass) {
  const std::string reply = "554 5.7.1 <a@x.example>: Relay access denied";
  EXPECT_TRUE(is_reply_like(reply, "relay ACCESS"));
  EXPECT_TRUE(is_reply_like(reply, "554 5.7.1 <b@y.example>: Relay access denied"));
  EXPECT_FALSE(is_reply_like(reply, "554 5.7.1 <b@y.example>: Sender rejected"));
  EXPECT_FALSE(is_reply_like(reply, "Relay access denied, really"));
}

std::vector<FailedMail> mails(std::size_t count, DeliveryState state, const std::string& reply,
                              UtcMillis since = kNow) {
  std::vector<FailedMail> all;
  for (std::size_t i = 0; i < count; ++i) {
    FailedMail mail{state, reply, since + static_cast<std::int64_t>(i)};
    if (const std::size_t at = mail.reply.find('*'); at != std::string::npos)
      mail.reply.replace(at, 1, "<p" + std::to_string(i) + "@x.example>");
    all.push_back(mail);
  }
  return all;
}

TEST(SharedReplies, NeedManyMailsWithOneReply) {
  EXPECT_THAT(shared_replies(mails(9, DeliveryState::undelivered, "550 5.1.1 * unknown"), kNow), IsEmpty());
  const auto many = shared_replies(mails(10, DeliveryState::undelivered, "550 5.1.1 * unknown"), kNow);
  ASSERT_THAT(many, SizeIs(1));
  EXPECT_EQ(many[0].mails, 10);
  EXPECT_EQ(many[0].reply, "550 5.1.1 <p0@x.example> unknown");
  EXPECT_EQ(many[0].since, kNow);
  auto mixed = mails(9, DeliveryState::undelivered, "550 5.1.1 unknown");
  const auto other = mails(9, DeliveryState::undelivered, "550 5.2.2 full");
  mixed.insert(mixed.end(), other.begin(), other.end());
  EXPECT_THAT(shared_replies(mixed, kNow), IsEmpty());
}

// MAIL-2
// covers: GUARD-3
TEST(SharedReplies, MailsThatTheDoNotSendListStoppedAreNoFault) {
  const std::string reply = std::string(kNotSent) + "The recipient asked on 2026-11-03 to get no more gifts.";
  EXPECT_THAT(shared_replies(mails(50, DeliveryState::undelivered, reply), kNow), IsEmpty());
}

TEST(SharedReplies, ARelayThatDefersAllIsToldAfterTenMinutes) {
  const UtcMillis later = kNow + kLongDeferredMillis;
  EXPECT_THAT(shared_replies(mails(3, DeliveryState::queued, "450 4.7.1 * later"), later + -1), IsEmpty());
  EXPECT_THAT(shared_replies(mails(2, DeliveryState::queued, "450 4.7.1 * later"), later), IsEmpty());
  const auto many = shared_replies(mails(3, DeliveryState::queued, "450 4.7.1 * later"), later);
  ASSERT_THAT(many, SizeIs(1));
  EXPECT_EQ(many[0].state, DeliveryState::queued);
  EXPECT_THAT(shared_replies(mails(20, DeliveryState::queued, "554 5.7.1 denied"), later), IsEmpty())
      << "the pause tells it";
}

}  // namespace
}  // namespace giftsync::sync
