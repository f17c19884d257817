#include <gtest/gtest.h>

#include "daemon/mail/smtp_transport.h"

namespace giftsync::mail {
namespace {

/// Plays a session written as a script: "C: ..." a command, "S: ..." a reply line, "." the final dot.
SmtpSession replayed(const std::vector<std::string>& script) {
  SmtpSession session;
  session.begin_exchange();
  for (const std::string& line : script) {
    if (line == ".") {
      session.final_dot();
    } else if (line.starts_with("C: ")) {
      session.command(line.substr(3) + "\r\n");
    } else {
      session.reply_line(line.substr(3) + "\r\n");
    }
  }
  return session;
}

std::vector<std::string> after(std::vector<std::string> beginning, const std::vector<std::string>& rest) {
  beginning.insert(beginning.end(), rest.begin(), rest.end());
  return beginning;
}

const std::vector<std::string> kReady{"S: 220 relay.test", "C: EHLO us", "S: 250-relay.test", "S: 250 HELP"};
const std::vector<std::string> kSender = after(kReady, {"C: MAIL FROM:<a@b.c>", "S: 250 OK"});
const std::vector<std::string> kRecipient = after(kSender, {"C: RCPT TO:<b@c.d>", "S: 250 OK"});
const std::vector<std::string> kBody = after(kRecipient, {"C: DATA", "S: 354 go on"});
const std::vector<std::string> kDot = after(kBody, {"."});

struct Case {
  std::string name;
  std::vector<std::string> script;
  sync::SendOutcome outcome;
};

class SmtpOutcome : public testing::TestWithParam<Case> {};

TEST_P(SmtpOutcome, FollowsFromTheSession) {
  EXPECT_EQ(replayed(GetParam().script).outcome(false), GetParam().outcome);
}

INSTANTIATE_TEST_SUITE_P(
    Session, SmtpOutcome,
    testing::Values(
        Case{"NoConnection", {}, sync::SendOutcome::transport_error},
        Case{"GreetedWith421", {"S: 421 busy"}, sync::SendOutcome::transport_error},
        Case{"GreetedWith554", {"S: 554 go away"}, sync::SendOutcome::transport_error},
        Case{
            "EhloRefused", {"S: 220 hi", "C: EHLO us", "S: 550 not you"}, sync::SendOutcome::transport_error},
        Case{"StartTlsRefused", after(kReady, {"C: STARTTLS", "S: 454 no TLS"}),
             sync::SendOutcome::transport_error},
        Case{"LoginRefused", after(kReady, {"C: AUTH PLAIN AGEAYg==", "S: 535 no"}),
             sync::SendOutcome::transport_error},
        Case{"SenderRefused", after(kReady, {"C: MAIL FROM:<a@b.c>", "S: 550 no"}),
             sync::SendOutcome::transport_error},
        Case{"SenderDeferred", after(kReady, {"C: MAIL FROM:<a@b.c>", "S: 451 no"}),
             sync::SendOutcome::transport_error},
        Case{"LostAtRcpt", after(kSender, {"C: RCPT TO:<b@c.d>"}), sync::SendOutcome::transport_error},
        Case{"RcptRefused", after(kSender, {"C: RCPT TO:<b@c.d>", "S: 550 5.1.1 who"}),
             sync::SendOutcome::refused},
        Case{"RcptDeferred", after(kSender, {"C: RCPT TO:<b@c.d>", "S: 450 grey"}),
             sync::SendOutcome::try_later},
        Case{"RcptHalfRefused", after(kSender, {"C: RCPT TO:<b@c.d>", "S: 550-well"}),
             sync::SendOutcome::transport_error},
        Case{"RcptWholeRefused", after(kSender, {"C: RCPT TO:<b@c.d>", "S: 550-we", "S: 550 no"}),
             sync::SendOutcome::refused},
        Case{"RcptClosing", after(kSender, {"C: RCPT TO:<b@c.d>", "S: 421 bye"}),
             sync::SendOutcome::transport_error},
        Case{"RcptWantsLogin", after(kSender, {"C: RCPT TO:<b@c.d>", "S: 530 login"}),
             sync::SendOutcome::transport_error},
        Case{"RcptOutOfOrder", after(kSender, {"C: RCPT TO:<b@c.d>", "S: 503 AUTH first"}),
             sync::SendOutcome::transport_error},
        Case{"LostAfterRcpt", kRecipient, sync::SendOutcome::transport_error},
        Case{"DataDeferred", after(kRecipient, {"C: DATA", "S: 452 full"}), sync::SendOutcome::try_later},
        Case{"DataRefused", after(kRecipient, {"C: DATA", "S: 554 no"}), sync::SendOutcome::refused},
        Case{"LostInTheBody", kBody, sync::SendOutcome::transport_error},
        Case{"LostAfterTheDot", kDot, sync::SendOutcome::uncertain},
        Case{"HalfAReplyToTheDot", after(kDot, {"S: 250-kept"}), sync::SendOutcome::uncertain},
        Case{"NonsenseToTheDot", after(kDot, {"S: what?"}), sync::SendOutcome::uncertain},
        Case{"PreliminaryReplyToTheDot", after(kDot, {"S: 354 go on"}), sync::SendOutcome::uncertain},
        Case{"Accepted", after(kDot, {"S: 250 2.0.0 kept"}), sync::SendOutcome::accepted},
        Case{"AcceptedWith251", after(kDot, {"S: 251 forwarded"}), sync::SendOutcome::accepted},
        Case{"DotRefused", after(kDot, {"S: 554 5.7.1 spam"}), sync::SendOutcome::refused},
        Case{"DotDeferred", after(kDot, {"S: 452 4.3.1 full"}), sync::SendOutcome::try_later},
        Case{"DotClosing", after(kDot, {"S: 421 4.4.2 too slow"}), sync::SendOutcome::transport_error},
        Case{"QuitChangesNothing",
             after(kSender, {"C: RCPT TO:<b@c.d>", "S: 550 who", "C: QUIT", "S: 221 bye"}),
             sync::SendOutcome::refused},
        Case{"LostAtQuit", after(kDot, {"S: 250 kept", "C: QUIT"}), sync::SendOutcome::accepted}),
    [](const auto& test) { return test.param.name; });

TEST(SmtpSession, AMissingLoginIsNeverARecipientRejection) {
  EXPECT_EQ(replayed(after(kSender, {"C: RCPT TO:<b@c.d>", "S: 550 relay access denied"})).outcome(true),
            sync::SendOutcome::transport_error);
  EXPECT_EQ(replayed(after(kDot, {"S: 250 kept all the same"})).outcome(true), sync::SendOutcome::accepted);
  EXPECT_EQ(replayed(kDot).outcome(true), sync::SendOutcome::uncertain);
}

struct WhoseCase {
  std::string reply;
  bool is_ambiguous;
};

// MAIL-1
TEST(SmtpSession, ARefusalIsTheRecipientsAtOnceOnlyIfItsEnhancedCodeSaysSo) {
  const std::vector<WhoseCase> cases{
      {"550 5.1.1 <b@c.d>: unknown", false},
      {"550 5.1.2 no such domain", false},
      {"501 5.1.3 bad address", false},
      {"551 5.1.6 moved", false},
      {"556 5.1.10 null MX", false},
      {"552 5.2.2 mailbox full", false},
      {"550 5.2.1 disabled", false},
      {"550 #5.1.1 unknown", false},
      {"550 5.1.1", false},
      {"450 4.2.0 later", false},
      {"550 User unknown", true},
      {"550", true},
      {"554 5.7.1 <b@c.d>: Relay access denied", true},
      {"550 5.7.60 Client does not have permissions to send as this sender", true},
      {"553 5.7.1 <a@b.c>: Sender address rejected: not owned by user", true},
      {"554 Message rejected: Email address is not verified", true},
      {"550 5.4.5 Daily sending quota exceeded", true},
      {"550 5.1.0 rejected", true},
      {"550 5.1.8 sender's domain", true},
      {"550 5.1.11 not known", true},
      {"550 5.1 short", true},
      {"550 5.20.1 not a mailbox", true},
      {"530 5.7.0 login first", true},
      {"421 4.3.2 bye", true},
  };
  for (const WhoseCase& one : cases)
    for (const std::vector<std::string>& at : {after(kSender, {"C: RCPT TO:<b@c.d>"}), kDot})
      EXPECT_EQ(replayed(after(at, {"S: " + one.reply})).is_ambiguous(false), one.is_ambiguous) << one.reply;
}

// covers: GUARD-22
TEST(SmtpSession, OnlyFiveEnhancedCodesCallTheAddressBad) {
  const auto is_bad = [](const std::vector<std::string>& lines) {
    return replayed(after(after(kSender, {"C: RCPT TO:<b@c.d>"}), lines)).reply()->names_bad_address;
  };
  for (const char* reply : {"550 5.1.1 <b@c.d>: unknown", "550 5.1.2 no such domain", "501 5.1.3 bad address",
                            "551 5.1.6 moved", "556 5.1.10 null MX", "550 #5.1.1 unknown"})
    EXPECT_TRUE(is_bad({std::string("S: ") + reply})) << reply;
  for (const char* reply :
       {"550 User unknown", "552 5.2.2 mailbox full", "550 5.2.1 disabled", "550 5.1.0 rejected",
        "550 5.1.8 sender's domain", "550 5.1.11 not known", "550 5.4.5 quota", "554 5.7.1 policy",
        "550 5.7.26 not authenticated", "450 4.1.1 unknown for now", "250 2.1.5 ok"})
    EXPECT_FALSE(is_bad({std::string("S: ") + reply})) << reply;
  EXPECT_TRUE(is_bad({"S: 550-5.1.1 no", "S: 550 5.1.1 such user"}));
  EXPECT_FALSE(is_bad({"S: 550-5.1.1 no", "S: 550 5.7.1 policy"}));
  EXPECT_FALSE(is_bad({"S: 550-5.1.1 no", "S: 550 5.2.1 disabled"}));
}

TEST(SmtpSession, TheLinesOfARefusalMustAgreeThatItIsTheRecipients) {
  const auto is_ambiguous = [](const std::vector<std::string>& lines) {
    return replayed(after(after(kSender, {"C: RCPT TO:<b@c.d>"}), lines)).is_ambiguous(false);
  };
  EXPECT_FALSE(is_ambiguous({"S: 550-5.1.1 no", "S: 550 5.1.1 such user"}));
  EXPECT_FALSE(is_ambiguous({"S: 550-the address", "S: 550-5.1.1 is unknown", "S: 550 ask them"}));
  EXPECT_TRUE(is_ambiguous({"S: 550-5.1.1 no", "S: 550 5.7.1 policy"}));
  EXPECT_TRUE(is_ambiguous({"S: 550-5.7.1 policy", "S: 550 5.1.1 no"}));
  EXPECT_FALSE(replayed(after(kReady, {"C: MAIL FROM:<a@b.c>", "S: 550 5.7.1 no"})).is_ambiguous(false))
      << "the transport's";
  EXPECT_FALSE(replayed(after(kSender, {"C: RCPT TO:<b@c.d>", "S: 550 denied"})).is_ambiguous(true))
      << "the login's";
}

TEST(SmtpSession, RecognizesALogin) {
  EXPECT_FALSE(replayed(after(kReady, {"C: AUTH PLAIN AGEAYg==", "S: 535 no"})).authenticated());
  EXPECT_TRUE(replayed(after(kReady, {"C: AUTH PLAIN AGEAYg==", "S: 235 ok"})).authenticated());
}

TEST(SmtpSession, ChallengeResponsesAreNotCommands) {
  const auto session = replayed(after(kReady, {"C: AUTH LOGIN", "S: 334 VXNlcg==", "C: DATA",
                                               "S: 334 UGFzcw==", "C: QUIT", "S: 535 5.7.8 bad"}));
  EXPECT_EQ(session.phase(), SmtpPhase::authentication);
  EXPECT_EQ(session.reply()->text, "535 5.7.8 bad");
}

TEST(SmtpSession, ANewConnectionResetsTheLogin) {
  auto session = replayed(after(kReady, {"C: AUTH PLAIN AGEAYg==", "S: 235 ok"}));
  session.begin_exchange();
  session.command("MAIL FROM:<a@b.c>\r\n");
  EXPECT_TRUE(session.authenticated()) << "the connection is still the same";
  session.begin_exchange();
  session.reply_line("220 relay.test\r\n");
  EXPECT_FALSE(session.authenticated());
}

TEST(SmtpSession, JoinsTheLinesOfAReply) {
  EXPECT_EQ(replayed(after(kSender, {"C: RCPT TO:<b@c.d>", "S: 550-5.1.1 no", "S: 550 5.1.1 such user"}))
                .reply()
                ->text,
            "550-5.1.1 no 550 5.1.1 such user");
}

TEST(SmtpSession, AnEndlessReplyIsTruncated) {
  SmtpSession session;
  session.begin_exchange();
  for (int i = 0; i < 10000; ++i) session.reply_line("220-" + std::string(100, 'x'));
  session.reply_line("220 end");
  EXPECT_EQ(session.reply()->code, 220);
  EXPECT_LE(session.reply()->text.size(), 4100u);
}

TEST(SmtpSession, QuitOfAnOlderConnectionIsIgnored) {
  EXPECT_EQ(replayed(after({"C: QUIT", "S: 221 bye"}, after(kDot, {"S: 250 kept"}))).outcome(false),
            sync::SendOutcome::accepted);
}

TEST(SmtpSession, AClosedReusedConnectionAllowsARetry) {
  EXPECT_TRUE(replayed({}).may_retry_on_new_connection());
  EXPECT_TRUE(replayed({"C: MAIL FROM:<a@b.c>"}).may_retry_on_new_connection());
  EXPECT_TRUE(replayed({"C: MAIL FROM:<a@b.c>", "S: 421 too many mails"}).may_retry_on_new_connection());
  EXPECT_TRUE(replayed({"C: NOOP"}).may_retry_on_new_connection());
  EXPECT_FALSE(replayed({"C: MAIL FROM:<a@b.c>", "S: 550 not you"}).may_retry_on_new_connection());
  EXPECT_FALSE(
      replayed({"C: MAIL FROM:<a@b.c>", "S: 250 OK", "C: RCPT TO:<b@c.d>"}).may_retry_on_new_connection());
  EXPECT_FALSE(replayed({"S: 421 busy"}).may_retry_on_new_connection())
      << "a new connection was refused: a retry is useless";
}

}  // namespace
}  // namespace giftsync::mail
