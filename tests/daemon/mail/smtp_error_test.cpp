#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/mail/smtp_transport.h"

namespace giftsync::mail {
namespace {

using testing::HasSubstr;
using testing::Not;

SmtpSession refused_at(const std::string& command, const std::string& reply) {
  SmtpSession session;
  session.begin_exchange();
  session.reply_line("220 relay.test");
  session.command(command);
  session.reply_line(reply);
  return session;
}

TEST(SmtpError, NamesTheSettingToCheck) {
  EXPECT_THAT(describe_error(refused_at("AUTH PLAIN AGEAYg==", "535 5.7.8 no"), CURLE_LOGIN_DENIED, "denied"),
              testing::AllOf(HasSubstr("email.smtp.password"), HasSubstr("535 5.7.8 no")));
  EXPECT_THAT(describe_error(refused_at("MAIL FROM:<a@b.c>", "550 no"), CURLE_SEND_ERROR, "MAIL failed"),
              HasSubstr("email.from"));
  EXPECT_THAT(describe_error({}, CURLE_PEER_FAILED_VERIFICATION, "self-signed"),
              HasSubstr("email.smtp.ca_file"));
  EXPECT_THAT(describe_error({}, CURLE_USE_SSL_FAILED, "no STARTTLS"), HasSubstr("email.smtp.require_tls"));
  EXPECT_THAT(describe_error({}, CURLE_COULDNT_CONNECT, "Connection refused"),
              HasSubstr("Connection refused"));
}

TEST(SmtpError, KeepsTheReplyOfARelayThatRefusedAndThenClosed) {
  auto session = refused_at("EHLO us", "421 4.7.0 not now");
  session.command("HELO us");
  EXPECT_THAT(describe_error(session, CURLE_RECV_ERROR, "Connection reset by peer"),
              HasSubstr("421 4.7.0 not now"));
}

TEST(SmtpError, ALogLineIsOnePrintableLine) {
  EXPECT_EQ(as_log_line(" 550 a\r\nb\x1b[31m\tc ", {}), "550 a  b [31m c");
  EXPECT_EQ(as_log_line("550 \xff\xfe", {}), "550 ??");
  EXPECT_EQ(as_log_line("550 \u00e9", {}), "550 \u00e9");
  EXPECT_EQ(as_log_line(std::string(9000, 'x'), {}).size(), 500u);
}

TEST(SmtpError, ALogLineContainsNoSecretInAnyEncoding) {
  const std::vector<std::string> secrets{"s3cret", std::string("\0ada\0s3cret", 11)};
  const std::string line = as_log_line("500 s3cret czNjcmV0 AGFkYQBzM2NyZXQ= unknown", secrets);
  EXPECT_EQ(line, "500 ******** ******** ******** unknown");
  EXPECT_EQ(as_log_line("500 no", {""}), "500 no");
}

}  // namespace
}  // namespace giftsync::mail
