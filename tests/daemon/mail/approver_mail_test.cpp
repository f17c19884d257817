// The mail to an approver as bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "daemon/mail/notice_mail.h"

namespace giftsync::mail {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

store::ApproverNotice notice(const std::string& number, const std::string& item, const std::string& cost,
                             bool is_repeated = false) {
  return {{1}, 1, "id of " + number, number, item, cost, is_repeated};
}

std::string bytes_of(const std::vector<store::ApproverNotice>& notices, const std::string& language = "en") {
  sync::MailIdentity identity;
  identity.message_id = "approval-1.1.abc@example.com";
  identity.date = UtcMillis{1'800'000'000'000};
  return compose_approver_mail({"ben@example.com", notices, identity, "gifts@example.com",
                                "https://admin.example.com/console", language})
      .bytes;
}

// CON-31
TEST(ApproverMail, NamesNumberItemCostAndPage) {
  EXPECT_THAT(
      bytes_of({notice("R-1", "Coffee", "5.35")}),
      AllOf(HasSubstr("Subject: Waiting for your approval: R-1"), HasSubstr("R-1: Coffee, cost 5.35"),
            HasSubstr("A gift request waits"), HasSubstr("https://admin.example.com/console/requests/R-1"),
            HasSubstr("To: ben@example.com"), HasSubstr("From: gifts@example.com")));
  EXPECT_THAT(bytes_of({notice("R-1", "Coffee", "")}), Not(HasSubstr("Coffee,")));
  EXPECT_THAT(
      bytes_of({notice("R-1", "199", ""), notice("R-2", "7", "1.00")}),
      AllOf(HasSubstr("2 gift requests wait for your approval."), Not(HasSubstr("A gift request waits")),
            HasSubstr("R-1: item 199, which is not in the catalogue"), HasSubstr("R-2: 7, cost 1.00")));
  EXPECT_THAT(bytes_of({notice("R-1", "Kaffee", "")}, "de"), HasSubstr("Ihre Genehmigung"));
}

// CON-31
TEST(ApproverMail, SaysOfARequestThatItWasApprovedAndChangedSince) {
  auto changed = notice("R-1", "Coffee", "5.35");
  changed.was_approved = true;
  auto unknown = notice("R-3", "199", "");
  unknown.was_approved = true;
  std::string bytes = bytes_of({changed, notice("R-2", "Tea", "4.00"), unknown});
  for (std::size_t at = 0; (at = bytes.find("=\r\n")) != std::string::npos;) bytes.erase(at, 3);
  EXPECT_THAT(bytes, AllOf(HasSubstr("R-1: Coffee, cost 5.35 (was approved and changed since)"),
                           HasSubstr("R-2: Tea, cost 4.00\r\n"),
                           HasSubstr("not in the catalogue (was approved and changed since)")));
  EXPECT_THAT(bytes_of({changed}, "de"), HasSubstr("(war genehmigt und wurde danach"));
  EXPECT_THAT(bytes_of({changed}, "es"), HasSubstr("(estaba aprobada"));
}

// CON-53
TEST(ApproverMail, NewRequestsComeFirstAndThoseOfEarlierMailsFollow) {
  const std::string bytes = bytes_of(
      {notice("R-3", "Coffee", "5.35"), notice("R-1", "Tea", "4.00", true), notice("R-2", "199", "", true)});
  EXPECT_THAT(bytes, AllOf(HasSubstr("Subject: Waiting for your approval: R-3"),
                           HasSubstr("A gift request waits"), Not(HasSubstr("more wait"))));
  std::size_t at = 0;
  for (const std::string next :
       {"R-3: Coffee, cost 5.35", "/console/requests/R-3", "Still waiting", "R-1: Tea",
        "/console/requests/R-1", "R-2: item 199", "/console/requests/R-2"}) {
    at = bytes.find(next, at);
    ASSERT_NE(at, std::string::npos) << next;
  }
  EXPECT_THAT(bytes_of({notice("R-3", "Coffee", "5.35")}), Not(HasSubstr("Still waiting")));
  EXPECT_THAT(bytes_of({notice("R-3", "Kaffee", ""), notice("R-1", "Tee", "", true)}, "de"),
              HasSubstr("Warten noch"));
}

// CON-53
TEST(ApproverMail, TwentyAreListedInAllAndTheRestIsCounted) {
  std::vector<store::ApproverNotice> notices;
  const auto add = [&](int from, int to, bool is_repeated) {
    for (int i = from; i < to; ++i)
      notices.push_back(notice("R-" + std::to_string(i), "Coffee", "5.35", is_repeated));
  };
  add(100, 118, false);
  add(200, 205, true);
  EXPECT_THAT(bytes_of(notices),
              AllOf(HasSubstr("18 gift requests"), HasSubstr("R-117"), HasSubstr("Still waiting"),
                    HasSubstr("R-201"), Not(HasSubstr("R-202")), HasSubstr("And 3 more wait.")));
  notices.clear();
  add(100, 122, false);
  add(200, 203, true);
  EXPECT_THAT(bytes_of(notices),
              AllOf(HasSubstr("22 gift requests"), HasSubstr("R-119"), Not(HasSubstr("R-120")),
                    Not(HasSubstr("Still waiting")), HasSubstr("And 5 more wait.")));
}

store::AdminNotice budget_notice() {
  store::AdminNotice made;
  made.scope = "account:17";
  made.period = "2026-11";
  made.threshold = 80;
  made.owner = "rose@example.com";
  made.gifts = 85;
  made.amount = Money{40'250};
  made.amount_limit = Money{50'000};
  made.ends_at = UtcMillis{1'796'079'600'000};
  return made;
}

store::AdminNotice pause_notice(AdminNoticeKind kind) {
  store::AdminNotice made;
  made.kind = kind;
  made.scope = "gsk_live_x3Kd9aQ";
  made.owner = "Edge & Co";
  made.gifts_limit = 100;
  made.begins_at = UtcMillis{1'795'264'200'000};
  made.ends_at = made.begins_at + 600'000;
  made.created_at = made.begins_at + 42'000;
  return made;
}

/// Without soft line breaks and folded headers.
std::string bytes_of(const std::vector<store::AdminNotice>& admin_notices,
                     const std::vector<store::ApproverNotice>& notices, const std::string& console_url,
                     const std::string& language = "en") {
  sync::MailIdentity identity;
  identity.message_id = "approval-1.1.abc@example.com";
  identity.date = UtcMillis{1'800'000'000'000};
  std::string bytes = compose_approver_mail({"ben@example.com", notices, identity, "gifts@example.com",
                                             console_url, language, admin_notices})
                          .bytes;
  for (std::size_t at = 0; (at = bytes.find("=\r\n")) != std::string::npos;) bytes.erase(at, 3);
  return std::regex_replace(bytes, std::regex("\r\n[ \t]"), " ");
}

// covers: GUARD-29
TEST(ApproverMail, OfAHeldGiftRequestItSaysWhoAskedForWhomAndWhy) {
  store::ApproverNotice held = notice("42", "1 x Coffee", "5.35");
  held.transition = -42;
  held.asked_by = "rose@example.com (gsk_live_abcdefg, shop)";
  held.recipient = "kim+<b>@example.org";
  held.reasons = "The rule \"all\" holds it.\r\nBcc: x@y";
  held.paused_at = UtcMillis{1'795'264'267'000};
  const std::string url = "https://admin.example.com/console";
  const std::string bytes = bytes_of(std::vector<store::AdminNotice>(), {held}, url);
  EXPECT_THAT(bytes,
              AllOf(HasSubstr("42: 1 x Coffee, cost 5.35\r\nAsked by rose@example.com "
                              "(gsk_live_abcdefg, shop)\r\nTo kim+<b>@example.org\r\nWhy it was held: The "
                              "rule \"all\" holds it.  Bcc: x@y\r\nThe key or token is paused since 21 "
                              "November 2026, 12:31 UTC.\r\n" +
                              url + "/held/42"),
                    HasSubstr("kim+&lt;b&gt;@example.org"), Not(HasSubstr("<br>To kim+<b>"))));
  EXPECT_THAT(bytes_of(std::vector<store::AdminNotice>(), {held}, url, "de"),
              HasSubstr("Angefragt von rose@"));
  EXPECT_THAT(bytes_of(std::vector<store::AdminNotice>(), {held}, url, "es"), HasSubstr("Pedida por rose@"));
  EXPECT_THAT(bytes_of({notice("R-1", "Coffee", "5.35")}), Not(HasSubstr("Asked by")));
}

// covers: GUARD-31
TEST(ApproverMail, NamesABudgetItsUseItsEndAndWhatToDo) {
  const std::string url = "https://admin.example.com/console";
  store::AdminNotice budget = budget_notice();
  EXPECT_THAT(bytes_of({budget}, {}, url),
              AllOf(HasSubstr("Subject: 80 % of a budget is used: account rose@example.com"),
                    HasSubstr("account rose@example.com, 2026-11: 402.50 of 500.00. The period ends on 30 "
                              "November 2026, 23:00 UTC."),
                    HasSubstr("giftsyncctl budget list\r\n"), HasSubstr("giftsyncctl budget set account "),
                    HasSubstr(" --month-amount 1000.00"), Not(HasSubstr("--month-gifts")),
                    HasSubstr(url + "/sending"), Not(HasSubstr("approval:")), Not(HasSubstr("wait for"))));
  budget.scope = "all";
  budget.period = "2026-11-30";
  budget.gifts_limit = 100;
  const std::string without_console = bytes_of({budget}, {}, "");
  EXPECT_THAT(without_console,
              AllOf(HasSubstr("the installation, 2026-11-30: 85 of 100 gifts, 402.50 of"),
                    HasSubstr("budget set installation --day-gifts 200 --day-amount 1000.00"),
                    Not(HasSubstr("<a ")), Not(HasSubstr("/sending"))));
  EXPECT_THAT(bytes_of({budget}, {}, "", "de"), HasSubstr("die Installation, 2026-11-30"));
}

// covers: GUARD-31
TEST(ApproverMail, NamesAPausedKeyAndTokenAndHowTheyAreReleased) {
  const std::string url = "https://admin.example.com/console";
  store::AdminNotice key = pause_notice(AdminNoticeKind::key);
  key.owner = "rose@example.com";
  key.key_name = "shop";
  EXPECT_THAT(
      bytes_of({key}, {}, url),
      AllOf(HasSubstr("Subject: Paused: gsk_live_x3Kd9aQ (shop)"), HasSubstr("account rose@example.com"),
            HasSubstr("more than 100 gifts from 21 November 2026, 12:30 UTC to 21 November 2026, 12:40 UTC."),
            HasSubstr("Its calls have got 403 since then"),
            HasSubstr("giftsyncctl key release gsk_live_x3Kd9aQ"), HasSubstr(url + "/keys")));
  EXPECT_THAT(bytes_of({pause_notice(AdminNoticeKind::token)}, {}, url),
              AllOf(HasSubstr("organization Edge & Co"), HasSubstr("Edge &amp; Co"),
                    HasSubstr("giftsyncctl organization release-token gsk_live_x3Kd9aQ"),
                    HasSubstr(url + "/sending")));
}

// covers: GUARD-31
TEST(ApproverMail, OneMailHasSeveralNoticesAndWhatWaits) {
  const std::string bytes = bytes_of({pause_notice(AdminNoticeKind::token), budget_notice()},
                                     {notice("R-1", "Coffee", "5.35")}, "https://admin.example.com/console");
  std::size_t at = 0;
  for (const std::string next : {"2 notices about what limits sending; Waiting for", "was paused on",
                                 "budget is used", "A gift request waits", "R-1: Coffee"}) {
    at = bytes.find(next, at);
    ASSERT_NE(at, std::string::npos) << next;
  }
  EXPECT_THAT(bytes_of(std::vector(25, budget_notice()), {}, ""), HasSubstr("And 5 more notices"));
}

// CON-31, MAIL-11
TEST(ApproverMail, TextOfTheCrmAddsNoHeaderMarkupOrPath) {
  std::string bytes = bytes_of({notice("R 1/../x\r\nBcc: eve@example.com", "<b>\r\n.\r\nCoffee", "")});
  for (std::size_t at = 0; (at = bytes.find("=\r\n")) != std::string::npos;) bytes.erase(at, 3);
  EXPECT_THAT(bytes, AllOf(Not(HasSubstr("\nBcc:")), HasSubstr("&lt;b&gt;"), Not(HasSubstr("\r\n.\r\n")),
                           Not(HasSubstr("requests/R 1/"))));
  EXPECT_EQ(bytes.find("<b>"), bytes.rfind("<b>")) << "in the text form alone";
}

}  // namespace
}  // namespace giftsync::mail
