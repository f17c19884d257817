#include "daemon/mail/smtp_dialogue.h"

#include <gtest/gtest.h>

namespace giftsync::daemon {
namespace {

/// Plays a dialogue written as a script: "C: ..." a command, "S: ..." a reply line, "." the final dot.
SmtpDialogue played(const std::vector<std::string>& script) {
  SmtpDialogue dialogue;
  dialogue.begin_exchange();
  for (const std::string& line : script) {
    if (line == ".") {
      dialogue.final_dot();
    } else if (line.starts_with("C: ")) {
      dialogue.command(line.substr(3) + "\r\n");
    } else {
      dialogue.reply_line(line.substr(3) + "\r\n");
    }
  }
  return dialogue;
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
  SendVerdict verdict;
};

class VerdictOf : public testing::TestWithParam<Case> {};

TEST_P(VerdictOf, WhatWasSaid) {
  EXPECT_EQ(played(GetParam().script).verdict(false), GetParam().verdict);
}

INSTANTIATE_TEST_SUITE_P(
    Dialogue, VerdictOf,
    testing::Values(
        Case{"NoConnection", {}, SendVerdict::transport_fault},
        Case{"GreetedWith421", {"S: 421 busy"}, SendVerdict::transport_fault},
        Case{"GreetedWith554", {"S: 554 go away"}, SendVerdict::transport_fault},
        Case{"EhloRefused", {"S: 220 hi", "C: EHLO us", "S: 550 not you"}, SendVerdict::transport_fault},
        Case{"StartTlsRefused", after(kReady, {"C: STARTTLS", "S: 454 no TLS"}),
             SendVerdict::transport_fault},
        Case{"LoginRefused", after(kReady, {"C: AUTH PLAIN AGEAYg==", "S: 535 no"}),
             SendVerdict::transport_fault},
        Case{"SenderRefused", after(kReady, {"C: MAIL FROM:<a@b.c>", "S: 550 no"}),
             SendVerdict::transport_fault},
        Case{"SenderDeferred", after(kReady, {"C: MAIL FROM:<a@b.c>", "S: 451 no"}),
             SendVerdict::transport_fault},
        Case{"LostAtRcpt", after(kSender, {"C: RCPT TO:<b@c.d>"}), SendVerdict::transport_fault},
        Case{"RcptRefused", after(kSender, {"C: RCPT TO:<b@c.d>", "S: 550 5.1.1 who"}), SendVerdict::refused},
        Case{"RcptDeferred", after(kSender, {"C: RCPT TO:<b@c.d>", "S: 450 grey"}), SendVerdict::try_later},
        Case{"RcptHalfRefused", after(kSender, {"C: RCPT TO:<b@c.d>", "S: 550-well"}),
             SendVerdict::transport_fault},
        Case{"RcptWholeRefused", after(kSender, {"C: RCPT TO:<b@c.d>", "S: 550-we", "S: 550 no"}),
             SendVerdict::refused},
        Case{"RcptClosing", after(kSender, {"C: RCPT TO:<b@c.d>", "S: 421 bye"}),
             SendVerdict::transport_fault},
        Case{"RcptWantsLogin", after(kSender, {"C: RCPT TO:<b@c.d>", "S: 530 login"}),
             SendVerdict::transport_fault},
        Case{"RcptOutOfOrder", after(kSender, {"C: RCPT TO:<b@c.d>", "S: 503 AUTH first"}),
             SendVerdict::transport_fault},
        Case{"LostAfterRcpt", kRecipient, SendVerdict::transport_fault},
        Case{"DataDeferred", after(kRecipient, {"C: DATA", "S: 452 full"}), SendVerdict::try_later},
        Case{"DataRefused", after(kRecipient, {"C: DATA", "S: 554 no"}), SendVerdict::refused},
        Case{"LostInTheBody", kBody, SendVerdict::transport_fault},
        Case{"LostAfterTheDot", kDot, SendVerdict::uncertain},
        Case{"HalfAReplyToTheDot", after(kDot, {"S: 250-kept"}), SendVerdict::uncertain},
        Case{"NonsenseToTheDot", after(kDot, {"S: what?"}), SendVerdict::uncertain},
        Case{"PreliminaryReplyToTheDot", after(kDot, {"S: 354 go on"}), SendVerdict::uncertain},
        Case{"Accepted", after(kDot, {"S: 250 2.0.0 kept"}), SendVerdict::accepted},
        Case{"AcceptedWith251", after(kDot, {"S: 251 forwarded"}), SendVerdict::accepted},
        Case{"DotRefused", after(kDot, {"S: 554 5.7.1 spam"}), SendVerdict::refused},
        Case{"DotDeferred", after(kDot, {"S: 452 4.3.1 full"}), SendVerdict::try_later},
        Case{"DotClosing", after(kDot, {"S: 421 4.4.2 too slow"}), SendVerdict::transport_fault},
        Case{"QuitChangesNothing",
             after(kSender, {"C: RCPT TO:<b@c.d>", "S: 550 who", "C: QUIT", "S: 221 bye"}),
             SendVerdict::refused},
        Case{"LostAtQuit", after(kDot, {"S: 250 kept", "C: QUIT"}), SendVerdict::accepted}),
    [](const auto& test) { return test.param.name; });

TEST(SmtpDialogue, AMissingLoginIsNeverTheRecipientsFault) {
  EXPECT_EQ(played(after(kSender, {"C: RCPT TO:<b@c.d>", "S: 550 relay access denied"})).verdict(true),
            SendVerdict::transport_fault);
  EXPECT_EQ(played(after(kDot, {"S: 250 kept all the same"})).verdict(true), SendVerdict::accepted);
  EXPECT_EQ(played(kDot).verdict(true), SendVerdict::uncertain);
}

TEST(SmtpDialogue, KnowsALogin) {
  EXPECT_FALSE(played(after(kReady, {"C: AUTH PLAIN AGEAYg==", "S: 535 no"})).authenticated());
  EXPECT_TRUE(played(after(kReady, {"C: AUTH PLAIN AGEAYg==", "S: 235 ok"})).authenticated());
}

TEST(SmtpDialogue, AnswersToChallengesAreNoCommands) {
  const auto dialogue = played(after(kReady, {"C: AUTH LOGIN", "S: 334 VXNlcg==", "C: DATA",
                                              "S: 334 UGFzcw==", "C: QUIT", "S: 535 5.7.8 bad"}));
  EXPECT_EQ(dialogue.moment(), SmtpMoment::authentication);
  EXPECT_EQ(dialogue.reply()->words, "535 5.7.8 bad");
}

TEST(SmtpDialogue, ANewConnectionForgetsTheLoginOfTheOld) {
  auto dialogue = played(after(kReady, {"C: AUTH PLAIN AGEAYg==", "S: 235 ok"}));
  dialogue.begin_exchange();
  dialogue.command("MAIL FROM:<a@b.c>\r\n");
  EXPECT_TRUE(dialogue.authenticated()) << "the connection is still the same";
  dialogue.begin_exchange();
  dialogue.reply_line("220 relay.test\r\n");
  EXPECT_FALSE(dialogue.authenticated());
}

TEST(SmtpDialogue, JoinsTheLinesOfAReply) {
  EXPECT_EQ(played(after(kSender, {"C: RCPT TO:<b@c.d>", "S: 550-5.1.1 no", "S: 550 5.1.1 such user"}))
                .reply()
                ->words,
            "550-5.1.1 no 550 5.1.1 such user");
}

TEST(SmtpDialogue, AnEndlessReplyIsCut) {
  SmtpDialogue dialogue;
  dialogue.begin_exchange();
  for (int i = 0; i < 10000; ++i) dialogue.reply_line("220-" + std::string(100, 'x'));
  dialogue.reply_line("220 end");
  EXPECT_EQ(dialogue.reply()->code, 220);
  EXPECT_LE(dialogue.reply()->words.size(), 4100u);
}

TEST(SmtpDialogue, TheQuitOfAnOlderConnectionIsNotTheEnd) {
  EXPECT_EQ(played(after({"C: QUIT", "S: 221 bye"}, after(kDot, {"S: 250 kept"}))).verdict(false),
            SendVerdict::accepted);
}

TEST(SmtpDialogue, AKeptConnectionThatClosedLetsTheExchangeBeHeldAgain) {
  EXPECT_TRUE(played({}).nothing_began());
  EXPECT_TRUE(played({"C: MAIL FROM:<a@b.c>"}).nothing_began());
  EXPECT_TRUE(played({"C: MAIL FROM:<a@b.c>", "S: 421 too many mails"}).nothing_began());
  EXPECT_TRUE(played({"C: NOOP"}).nothing_began());
  EXPECT_FALSE(played({"C: MAIL FROM:<a@b.c>", "S: 550 not you"}).nothing_began());
  EXPECT_FALSE(played({"C: MAIL FROM:<a@b.c>", "S: 250 OK", "C: RCPT TO:<b@c.d>"}).nothing_began());
  EXPECT_FALSE(played({"S: 421 busy"}).nothing_began())
      << "a new connection was refused: no use to try again";
}

}  // namespace
}  // namespace giftsync::daemon
