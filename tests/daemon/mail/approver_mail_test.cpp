// The mail to an approver as bytes.
#include "daemon/mail/approver_mail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace giftsync::daemon::mail {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

schema::store::ApproverNotice notice(const std::string& number, const std::string& item,
                                     const std::string& cost) {
  return {{1}, 1, "id of " + number, number, item, cost};
}

std::string bytes_of(const std::vector<schema::store::ApproverNotice>& notices,
                     const std::string& language = "en") {
  sync::MailIdentity identity;
  identity.message_id = "approval-1.1.abc@example.com";
  identity.date = platform::UtcMillis{1'800'000'000'000};
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

// CON-31, MAIL-11
TEST(ApproverMail, TextOfTheCrmAddsNoHeaderMarkupOrPath) {
  std::string bytes = bytes_of({notice("R 1/../x\r\nBcc: eve@example.com", "<b>\r\n.\r\nCoffee", "")});
  for (std::size_t at = 0; (at = bytes.find("=\r\n")) != std::string::npos;) bytes.erase(at, 3);
  EXPECT_THAT(bytes, AllOf(Not(HasSubstr("\nBcc:")), HasSubstr("&lt;b&gt;"), Not(HasSubstr("\r\n.\r\n")),
                           Not(HasSubstr("requests/R 1/"))));
  EXPECT_EQ(bytes.find("<b>"), bytes.rfind("<b>")) << "in the text form alone";
}

}  // namespace
}  // namespace giftsync::daemon::mail
