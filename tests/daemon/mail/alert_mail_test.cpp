// The mail to admins about conditions of the status, as bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/mail/notice_mail.h"

namespace giftsync::mail {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr UtcMillis kBegan{1'795'264'200'000};  // 2026-11-21 12:30 UTC

sync::OutgoingMail composed(const sync::AlertMail& mail, const std::string& console_url = "") {
  return compose_alert_mail(
      {mail, kBegan, "gifts@example.com", "ops@example.com", "abc", "gifts.acme.com", console_url});
}
std::string bytes_of(const sync::AlertMail& mail, const std::string& console_url = "") {
  std::string bytes = composed(mail, console_url).bytes;
  for (std::size_t at = 0; (at = bytes.find("=\r\n")) != std::string::npos;) bytes.erase(at, 3);
  return bytes;
}

store::Alert alert(const std::string& name, std::optional<std::int64_t> lasted_millis = {}) {
  store::Alert one{name, "1 mail is held", "search the relay's log", kBegan, {}, {}};
  if (lasted_millis) one.ended_at = kBegan + *lasted_millis;
  return one;
}

// OPS-43
TEST(AlertMail, SaysWhatSinceWhenAndWhatToDo) {
  store::Alert two = alert("sending.budget_reached rose@example.com");
  two.what = "the day's budget\nthe month's <budget>";
  two.next_step = "raise it\nwait";
  const sync::AlertMail mail{{alert("mail.held"), two}, {}};
  EXPECT_EQ(composed(mail).envelope_to, "ops@example.com");
  EXPECT_THAT(composed(mail).message_id, testing::MatchesRegex("alert-[0-9a-f]+\\.abc@example\\.com"));
  EXPECT_EQ(composed(mail).envelope_from, "gifts@example.com");
  const std::string bytes = bytes_of(mail);
  EXPECT_THAT(
      bytes,
      AllOf(HasSubstr("To: ops@example.com"), HasSubstr("Message-ID: <" + composed(mail).message_id + ">"),
            HasSubstr("Auto-Submitted: auto-generated"),
            HasSubstr("Subject: giftsync on gifts.acme.com: 2 conditions need attention\r\n")));
  EXPECT_THAT(bytes, AllOf(HasSubstr("This needs an admin on gifts.acme.com:\r\n\r\n"
                                     "mail.held: since 2026-11-21 12:30 UTC\r\n"
                                     "  1 mail is held\r\n"
                                     "  Next: search the relay's log\r\n\r\n"),
                           HasSubstr("  the day's budget\r\n  Next: raise it\r\n"
                                     "  the month's <budget>\r\n  Next: wait\r\n"),
                           HasSubstr("the month&#39;s &lt;budget&gt;"),
                           HasSubstr("What needs an admin now: giftsyncctl status\r\n"),
                           Not(HasSubstr("has ended"))));
  EXPECT_THAT(bytes_of(mail, "https://a.example/console"),
              HasSubstr("giftsyncctl status, or https://a.example/console/\r\n"));
}

// OPS-43
TEST(AlertMail, SaysWhatEndedAndHowLongItLasted) {
  const std::string ended = bytes_of({{}, {alert("mail.held", 90 * kMinuteMillis)}});
  EXPECT_THAT(ended, AllOf(HasSubstr("Subject: giftsync on gifts.acme.com: 1 condition has ended\r\n"),
                           HasSubstr("This has ended on gifts.acme.com:\r\n\r\n"
                                     "mail.held: 2026-11-21 12:30 to 2026-11-21 14:00 UTC, 90 minutes\r\n"
                                     "  1 mail is held\r\n\r\n"),
                           Not(HasSubstr("Next:"))));
  const std::string both = bytes_of({{alert("a")}, {alert("b", 3 * kDayMillis), alert("c", 1)}});
  EXPECT_THAT(both, AllOf(HasSubstr(": 1 condition needs attention, 2 have ended\r\n"), HasSubstr(", 3 days"),
                          HasSubstr(", less than a minute")));
}

}  // namespace
}  // namespace giftsync::mail
