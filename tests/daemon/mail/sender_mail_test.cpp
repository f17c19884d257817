// The mail to a sender of undelivered gifts as bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/mail/notice_mail.h"
#include "sync/gift/lifecycle.h"

namespace giftsync::mail {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr UtcMillis kSent{1'800'000'000'000};  // 15 January 2027, 08:00 UTC

store::SenderNotice notice(std::int64_t gift, const std::string& reply = "550 5.1.1 no such user") {
  return {{gift}, "Coffee", "Ada Lovelace",     "ada@example.com",
          reply,  kSent,    kSent + kDayMillis, sync::format_terms({})};
}

sync::OutgoingMail composed(const std::vector<store::SenderNotice>& notices, std::int64_t count = 0,
                            const std::string& console_url = "", const std::string& language = "en") {
  sync::MailIdentity identity;
  identity.message_id = "sender-1.0.abc@example.com";
  identity.date = kSent;
  const store::SenderMail mail{"sam@example.com", false,
                               count > 0 ? count : static_cast<std::int64_t>(notices.size()), notices};
  return compose_sender_mail({mail, identity, "gifts@example.com", console_url, language});
}

/// Without the line ends that the encoding adds.
std::string bytes_of(const std::vector<store::SenderNotice>& notices, std::int64_t count = 0,
                     const std::string& console_url = "", const std::string& language = "en") {
  std::string bytes = composed(notices, count, console_url, language).bytes;
  for (std::size_t at = 0; (at = bytes.find("=\r\n")) != std::string::npos;) bytes.erase(at, 3);
  return bytes;
}

// MAIL-35
TEST(SenderMail, SaysWhichGiftWhyWhatFollowsAndWhatToDo) {
  EXPECT_EQ(composed({notice(41)}).envelope_to, "sam@example.com");
  const std::string bytes = bytes_of({notice(41)});
  EXPECT_THAT(bytes,
              AllOf(HasSubstr("To: sam@example.com"), HasSubstr("From: gifts@example.com"),
                    HasSubstr("Message-ID: <sender-1.0.abc@example.com>"),
                    HasSubstr("Auto-Submitted: auto-generated"), HasSubstr("Subject: Not delivered: ")));
  EXPECT_THAT(bytes, AllOf(HasSubstr("A gift that you sent could not be delivered."),
                           HasSubstr("Gift 41: Coffee for Ada Lovelace <ada@example.com>"),
                           HasSubstr("The mail server replied: 550 5.1.1 no such user"),
                           HasSubstr("It is refunded on 23 January 2027, 08:00 UTC, unless"),
                           HasSubstr("giftsyncctl gift resend 41 --email ADDRESS"), Not(HasSubstr("http"))));
}

// MAIL-35
TEST(SenderMail, LinksToTheConsoleWhereItIsOn) {
  const std::string bytes = bytes_of({notice(41)}, 1, "https://admin.example.com/console");
  EXPECT_THAT(bytes, AllOf(HasSubstr("https://admin.example.com/console/gifts/41"),
                           HasSubstr("open its page"), Not(HasSubstr("giftsyncctl"))));
}

// MAIL-35
TEST(SenderMail, ListsSeveralAndCountsTheRest) {
  auto expiring = notice(42, "");
  expiring.undelivered_at = kSent + 29 * kDayMillis;
  expiring.recipient = "";
  auto unknown = notice(43);
  unknown.terms = "";
  const std::string bytes = bytes_of({notice(41), expiring, unknown}, 53);
  EXPECT_THAT(
      bytes,
      AllOf(HasSubstr("Subject: Not delivered: 53 of your gifts"),
            HasSubstr("53 gifts that you sent could not be delivered."),
            HasSubstr("Gift 42: Coffee for ada@example.com\r\nThe mail provider reported the failure."),
            HasSubstr("It expires on 14 February 2027, 08:00 UTC."), HasSubstr("And 50 more gifts.")));
  EXPECT_THAT(bytes,
              HasSubstr("Gift 43: Coffee for Ada Lovelace <ada@example.com>\r\nThe mail server replied: "
                        "550 5.1.1 no such user\r\ngiftsyncctl gift resend 43"))
      << "when it ends is not known";
}

// MAIL-35, LIFE-23
TEST(SenderMail, NamesTheExpiryOfAnExtendedGift) {
  auto extended = notice(41);
  extended.undelivered_at = kSent + 29 * kDayMillis;
  extended.extended_until = kSent + 35 * kDayMillis;
  EXPECT_THAT(bytes_of({extended}), HasSubstr("It expires on 19 February 2027, 08:00 UTC."));
  extended.extended_until = kSent + 90 * kDayMillis;
  EXPECT_THAT(bytes_of({extended}), HasSubstr("It is refunded on 20 February 2027, 08:00 UTC, unless"));
}

// MAIL-35
TEST(SenderMail, CutsAndCleansWhatTheRelaySaid) {
  auto odd = notice(41, "550 <b>\r\nBcc: eve@example.com " + std::string(1'000, 'x') + "end");
  odd.item = "Tea\r\nX-Evil: 1";
  const std::string bytes = bytes_of({odd});
  EXPECT_THAT(bytes, AllOf(HasSubstr("550 <b>  Bcc: eve@example.com xxx"), HasSubstr("550 &lt;b&gt;"),
                           Not(HasSubstr("xend")), Not(HasSubstr("\nX-Evil")), Not(HasSubstr("\nBcc"))));
}

// MAIL-12, MAIL-35
TEST(SenderMail, UsesTheLanguageOfThePages) {
  EXPECT_THAT(bytes_of({notice(41)}, 1, "", "de"), AllOf(HasSubstr("Der Mailserver antwortete: 550"),
                                                         HasSubstr("Coffee"), HasSubstr("resend 41")));
  EXPECT_THAT(bytes_of({notice(41)}, 1, "", "es"), HasSubstr("Regalo 41: Coffee para Ada"));
}

// SIGN-15
TEST(SignInMailText, HasTheLinkItsEndAndWhoAsked) {
  const store::SignInMail mail{"ana@example.com", "salt", "192.0.2.7", kSent};
  const auto composed_in = [&](const std::string& language) {
    const sync::MailIdentity identity{.message_id = "sign_in-1.0.abc@example.com", .date = kSent};
    return compose_sign_in_mail({mail, identity, "gifts@example.com",
                                 "https://admin.example.com/console/link/a-token", "admin.example.com",
                                 language});
  };
  const sync::OutgoingMail made = composed_in("en");
  EXPECT_EQ(made.bytes, composed_in("en").bytes);
  EXPECT_EQ(made.envelope_to, "ana@example.com");
  EXPECT_EQ(made.envelope_from, "gifts@example.com");
  std::string bytes = made.bytes;
  for (std::size_t at = 0; (at = bytes.find("=\r\n")) != std::string::npos;) bytes.erase(at, 3);
  EXPECT_THAT(bytes, AllOf(HasSubstr("Subject: Your link to sign in at admin.example.com"),
                           HasSubstr("Auto-Submitted: auto-generated"),
                           HasSubstr("\nhttps://admin.example.com/console/link/a-token\r\n"),
                           HasSubstr(">https://admin.example.com/console/link/a-token</a>"),
                           HasSubstr("It works once, until 15 January 2027, 08:00 UTC."),
                           HasSubstr("from the address 192.0.2.7."), HasSubstr("ignore this mail")));
  EXPECT_THAT(composed_in("de").bytes, HasSubstr("Ihr Link zur Anmeldung"));
  EXPECT_THAT(composed_in("es").bytes, HasSubstr("Su enlace para iniciar"));
}

}  // namespace
}  // namespace giftsync::mail
