#include "daemon/mail/smtp_fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace giftsync::daemon {
namespace {

using testing::HasSubstr;
using testing::Not;

SmtpDialogue refused_at(const std::string& command, const std::string& reply) {
  SmtpDialogue dialogue;
  dialogue.begin_exchange();
  dialogue.reply_line("220 relay.test");
  dialogue.command(command);
  dialogue.reply_line(reply);
  return dialogue;
}

TEST(SmtpFault, NamesTheSettingToLookAt) {
  EXPECT_THAT(explain_fault(refused_at("AUTH PLAIN AGEAYg==", "535 5.7.8 no"), CURLE_LOGIN_DENIED, "denied"),
              testing::AllOf(HasSubstr("email.smtp.password"), HasSubstr("535 5.7.8 no")));
  EXPECT_THAT(explain_fault(refused_at("MAIL FROM:<a@b.c>", "550 no"), CURLE_SEND_ERROR, "MAIL failed"),
              HasSubstr("email.from"));
  EXPECT_THAT(explain_fault({}, CURLE_PEER_FAILED_VERIFICATION, "self-signed"),
              HasSubstr("email.smtp.ca_file"));
  EXPECT_THAT(explain_fault({}, CURLE_USE_SSL_FAILED, "no STARTTLS"), HasSubstr("email.smtp.require_tls"));
  EXPECT_THAT(explain_fault({}, CURLE_COULDNT_CONNECT, "Connection refused"),
              HasSubstr("Connection refused"));
}

TEST(SmtpFault, KeepsTheWordsOfARelayThatRefusedAndThenHungUp) {
  auto dialogue = refused_at("EHLO us", "421 4.7.0 not now");
  dialogue.command("HELO us");
  EXPECT_THAT(explain_fault(dialogue, CURLE_RECV_ERROR, "Connection reset by peer"),
              HasSubstr("421 4.7.0 not now"));
}

TEST(SmtpFault, ALogLineIsOnePrintableLine) {
  EXPECT_EQ(as_log_line(" 550 a\r\nb\x1b[31m\tc ", {}), "550 a  b [31m c");
  EXPECT_EQ(as_log_line("550 \xff\xfe", {}), "550 ??");
  EXPECT_EQ(as_log_line("550 \u00e9", {}), "550 \u00e9");
  EXPECT_EQ(as_log_line(std::string(9000, 'x'), {}).size(), 500u);
}

TEST(SmtpFault, ALogLineHoldsNoSecretHoweverItIsWritten) {
  const std::vector<std::string> secrets{"s3cret", std::string("\0ada\0s3cret", 11)};
  const std::string line = as_log_line("500 s3cret czNjcmV0 AGFkYQBzM2NyZXQ= unknown", secrets);
  EXPECT_EQ(line, "500 ******** ******** ******** unknown");
  EXPECT_EQ(as_log_line("500 no", {""}), "500 no");
}

}  // namespace
}  // namespace giftsync::daemon
