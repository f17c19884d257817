#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "daemon/mail/transport.h"
#include "tests/daemon/relay.h"

namespace giftsync::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr std::int64_t kLease = 60000;
/// Enough for a loaded machine to reach the final dot, short enough to wait for.
constexpr std::int64_t kShortTimeout = 2000;

OutgoingMail mail_to(const std::string& address, const std::string& id = "t1.g1@example.com") {
  return {id, "gifts@example.com", address,
          "From: <gifts@example.com>\r\nTo: <" + address + ">\r\nMessage-ID: <" + id + ">\r\n\r\nHello.\r\n"};
}

SmtpOptions plain(const Relay& relay) {
  SmtpOptions options;
  options.url = relay.url();
  options.require_tls = false;
  options.timeout_millis = 60000;
  return options;
}

SmtpOptions secure(const Relay& relay) {
  SmtpOptions options = plain(relay);
  options.require_tls = true;
  options.ca_file = relay.certificate();
  return options;
}

SendResult prepare_and_send(MailTransport& transport, const OutgoingMail& mail) {
  if (const auto fault = transport.prepare(mail)) return *fault;
  return transport.send(mail, kLease);
}

TEST(SmtpTransport, DeliversAMailAsItStands) {
  Relay relay;
  const auto transport = make_smtp_transport(plain(relay));
  const auto mail = mail_to("rose@edge.com");
  const auto result = prepare_and_send(*transport, mail);
  EXPECT_EQ(result.verdict, SendVerdict::accepted);
  EXPECT_THAT(result.reply, HasSubstr("250 2.0.0 kept as 1"));
  ASSERT_THAT(relay.kept(), SizeIs(1));
  EXPECT_EQ(relay.kept()[0].bytes, mail.bytes);
  EXPECT_EQ(relay.kept()[0].message_id, mail.message_id);
  EXPECT_EQ(relay.kept()[0].from, "gifts@example.com");
  EXPECT_THAT(relay.kept()[0].to, ElementsAre("rose@edge.com"));
  EXPECT_EQ(transport->recall(mail.message_id), std::nullopt);
}

TEST(SmtpTransport, LinesThatBeginWithDotsArriveIntactWhereverTheBuffersEnd) {
  Relay relay;
  const auto transport = make_smtp_transport(plain(relay));
  const std::string dots = ".\r\n..\r\n.hidden\r\n...\r\n";
  // libcurl sends in blocks of 64 KiB: the end of the first one falls on each byte of `dots` in turn.
  std::vector<std::string> sent;
  for (std::size_t shift = 0; shift < dots.size(); ++shift) {
    auto mail = mail_to("rose@edge.com");
    mail.bytes += dots + std::string(shift, 'x') + "\r\n";
    while (mail.bytes.size() < 64000) mail.bytes += std::string(900, 'x') + "\r\n";
    while (mail.bytes.size() < 66500) mail.bytes += dots;
    ASSERT_EQ(prepare_and_send(*transport, mail).verdict, SendVerdict::accepted);
    sent.push_back(mail.bytes);
  }
  const auto kept = relay.kept();
  ASSERT_THAT(kept, SizeIs(sent.size()));
  for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_TRUE(kept[i].bytes == sent[i]) << "shift " << i;
}

TEST(SmtpTransport, OneConnectionServesManyMails) {
  Relay relay;
  const auto transport = make_smtp_transport(plain(relay));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(prepare_and_send(*transport, mail_to("rose@edge.com", std::to_string(i) + "@x")).verdict,
              SendVerdict::accepted);
  }
  EXPECT_THAT(relay.kept(), SizeIs(5));
  const auto moments = relay.moments();
  EXPECT_EQ(std::count(moments.begin(), moments.end(), "connect"), 1);
}

TEST(SmtpTransport, AKeptConnectionThatTheRelayClosedIsReplacedUnnoticed) {
  Relay relay;
  const auto transport = make_smtp_transport(plain(relay));
  ASSERT_EQ(prepare_and_send(*transport, mail_to("rose@edge.com")).verdict, SendVerdict::accepted);
  for (const std::string action : {"close", "reset", "421 4.7.0 too many mails on this connection"}) {
    relay.behave(R"({"mail": {"do": ")" + action + R"(", "times": 1}})");
    EXPECT_EQ(transport->send(mail_to("rose@edge.com"), kLease).verdict, SendVerdict::accepted) << action;
  }
  EXPECT_THAT(relay.kept(), SizeIs(4));
}

struct Misbehaviour {
  std::string name;
  std::string mode;
  SendVerdict verdict;
  std::string reply_holds;
  std::size_t kept = 0;
};
class Misbehaving : public testing::TestWithParam<Misbehaviour> {};

TEST_P(Misbehaving, RelayIsJudgedByThePhaseOfItsFault) {
  Relay relay;
  relay.behave(GetParam().mode);
  const auto transport = make_smtp_transport(plain(relay));
  const auto result = prepare_and_send(*transport, mail_to("bob@example.com"));
  EXPECT_EQ(result.verdict, GetParam().verdict) << result.reply;
  EXPECT_THAT(result.reply, HasSubstr(GetParam().reply_holds));
  EXPECT_THAT(relay.kept(), SizeIs(GetParam().kept));

  relay.behave("{}");
  const auto next = prepare_and_send(*transport, mail_to("bob@example.com"));
  EXPECT_EQ(next.verdict, SendVerdict::accepted)
      << "the transport must recover with the relay: " << next.reply;
}

INSTANTIATE_TEST_SUITE_P(
    Relay, Misbehaving,
    testing::Values(
        Misbehaviour{"Connect421", R"({"connect": "421 4.3.2 busy"})", SendVerdict::transport_fault,
                     "421 4.3.2 busy"},
        Misbehaviour{"ConnectReset", R"({"connect": "reset"})", SendVerdict::transport_fault, "connection"},
        Misbehaviour{"Ehlo421", R"({"ehlo": "421 4.7.0 no"})", SendVerdict::transport_fault, "421 4.7.0 no"},
        Misbehaviour{"Mail550", R"({"mail": "550 5.7.1 who are you"})", SendVerdict::transport_fault,
                     "email.from"},
        Misbehaviour{"Mail451", R"({"mail": "451 4.3.0 later"})", SendVerdict::transport_fault,
                     "451 4.3.0 later"},
        Misbehaviour{"Rcpt550", R"({"rcpt:bob@example.com": "550 5.1.1 no such user"})", SendVerdict::refused,
                     "550 5.1.1 no such user"},
        Misbehaviour{"Rcpt450", R"({"rcpt:bob@example.com": "450 4.2.0 greylisted"})", SendVerdict::try_later,
                     "450 4.2.0 greylisted"},
        Misbehaviour{"Rcpt421", R"({"rcpt": "421 4.3.2 bye"})", SendVerdict::transport_fault,
                     "421 4.3.2 bye"},
        Misbehaviour{"RcptReset", R"({"rcpt": "reset"})", SendVerdict::transport_fault, "connection"},
        Misbehaviour{"Data452", R"({"data": "452 4.3.1 full"})", SendVerdict::try_later, "452 4.3.1 full"},
        Misbehaviour{"Data554", R"({"data": "554 5.6.0 no"})", SendVerdict::refused, "554 5.6.0 no"},
        Misbehaviour{"DataClose", R"({"data": "close"})", SendVerdict::transport_fault, "connection"},
        Misbehaviour{"Message554", R"({"message": "554 5.7.1 spam"})", SendVerdict::refused,
                     "554 5.7.1 spam"},
        Misbehaviour{"Message452", R"({"message": "452 4.3.1 full"})", SendVerdict::try_later,
                     "452 4.3.1 full"},
        Misbehaviour{"Message421", R"({"message": "421 4.3.2 bye"})", SendVerdict::transport_fault,
                     "421 4.3.2 bye"},
        Misbehaviour{"MessageReset", R"({"message": "reset"})", SendVerdict::uncertain, "final dot"},
        Misbehaviour{"MessageClose", R"({"message": "close"})", SendVerdict::uncertain, "final dot"},
        Misbehaviour{"MessageKeptThenReset", R"({"message": "keep-reset"})", SendVerdict::uncertain,
                     "final dot", 1}),
    [](const auto& test) { return test.param.name; });

TEST(SmtpTransport, NobodyListeningIsATransportFaultInPrepare) {
  Relay relay;
  const auto options = plain(relay);
  relay.stop();
  const auto fault = make_smtp_transport(options)->prepare(mail_to("bob@example.com"));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->verdict, SendVerdict::transport_fault);
  EXPECT_THAT(fault->reply, HasSubstr("127.0.0.1"));
}

TEST(SmtpTransport, ASilentRelayTimesOut) {
  Relay relay;
  auto options = plain(relay);
  options.timeout_millis = kShortTimeout;
  const auto transport = make_smtp_transport(options);
  relay.behave(R"({"noop": "silent"})");
  EXPECT_EQ(transport->prepare(mail_to("bob@example.com"))->verdict, SendVerdict::transport_fault);
  relay.behave(R"({"rcpt": "silent"})");
  EXPECT_EQ(transport->send(mail_to("bob@example.com"), kLease).verdict, SendVerdict::transport_fault);
  relay.behave(R"({"message": "silent"})");
  EXPECT_EQ(transport->send(mail_to("bob@example.com"), kLease).verdict, SendVerdict::uncertain);
}

TEST(SmtpTransport, ManyFailuresLeaveNothingBehind) {
  Relay relay;
  const auto transport = make_smtp_transport(plain(relay));
  for (int i = 0; i < 12; ++i) {
    relay.behave(R"({"message": "452 4.3.1 full"})");
    ASSERT_EQ(transport->send(mail_to("bob@example.com"), kLease).verdict, SendVerdict::try_later);
    relay.behave(R"({"message": "reset"})");
    ASSERT_EQ(transport->send(mail_to("bob@example.com"), kLease).verdict, SendVerdict::uncertain);
  }
  relay.behave("{}");
  EXPECT_EQ(transport->send(mail_to("bob@example.com"), kLease).verdict, SendVerdict::accepted);
}

TEST(SmtpTransport, ALateReplyDoesNotAnswerTheNextMail) {
  Relay relay;
  auto options = plain(relay);
  options.timeout_millis = kShortTimeout;
  const auto transport = make_smtp_transport(options);
  relay.behave(R"({"message": {"delay_seconds": 2.3, "times": 1}})");
  EXPECT_EQ(transport->send(mail_to("bob@example.com", "1@x"), kLease).verdict, SendVerdict::uncertain);
  relay.behave(R"({"rcpt:eve@example.com": "550 5.1.1 no such user"})");
  EXPECT_EQ(transport->send(mail_to("eve@example.com", "2@x"), kLease).verdict, SendVerdict::refused);
  EXPECT_EQ(transport->send(mail_to("bob@example.com", "3@x"), kLease).verdict, SendVerdict::accepted);
  EXPECT_EQ(relay.kept().back().message_id, "3@x");
}

TEST(SmtpTransport, ATarPitIsServedPatiently) {
  Relay relay;
  relay.behave(R"({"delay_seconds": 0.1})");
  EXPECT_EQ(prepare_and_send(*make_smtp_transport(plain(relay)), mail_to("bob@example.com")).verdict,
            SendVerdict::accepted);
}

TEST(SmtpTransport, GoesAwayAtOnceFromARelayThatIsStuck) {
  Relay relay;
  relay.behave(R"({"quit": "silent"})");
  auto transport = make_smtp_transport(plain(relay));
  ASSERT_EQ(prepare_and_send(*transport, mail_to("bob@example.com")).verdict, SendVerdict::accepted);
  const auto start = std::chrono::steady_clock::now();
  transport.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(SmtpTransport, AnAddressCannotAddCommands) {
  Relay relay;
  const auto transport = make_smtp_transport(plain(relay));
  EXPECT_EQ(transport->send(mail_to("bob@example.com>\r\nRCPT TO:<eve@example.com"), kLease).verdict,
            SendVerdict::refused);
  auto mail = mail_to("bob@example.com");
  mail.envelope_from = "gifts@example.com> BODY=8BITMIME";
  EXPECT_EQ(transport->send(mail, kLease).verdict, SendVerdict::transport_fault);
  EXPECT_THAT(relay.moments(), IsEmpty());
}

TEST(SmtpTransport, StartTlsAndLogin) {
  Relay relay({Relay::Tls::start_tls, "ada", "s3cret passw0rd", false});
  auto options = secure(relay);
  options.username = "ada";
  options.password = "s3cret passw0rd";
  EXPECT_EQ(prepare_and_send(*make_smtp_transport(options), mail_to("bob@example.com")).verdict,
            SendVerdict::accepted);
  EXPECT_THAT(relay.moments(), ElementsAre("connect", "ehlo", "starttls", "ehlo", "auth", "noop", "mail",
                                           "rcpt", "data", "message"));
}

TEST(SmtpTransport, ImplicitTls) {
  Relay relay({Relay::Tls::implicit, "ada", "s3cret", false});
  auto options = secure(relay);
  options.username = "ada";
  options.password = "s3cret";
  EXPECT_EQ(prepare_and_send(*make_smtp_transport(options), mail_to("bob@example.com")).verdict,
            SendVerdict::accepted);
}

TEST(SmtpTransport, ATlsRelayThatBreaksAfterTheDotLeavesTheMailUncertain) {
  Relay relay({Relay::Tls::start_tls, "", "", false});
  relay.behave(R"({"message": "keep-reset"})");
  EXPECT_EQ(prepare_and_send(*make_smtp_transport(secure(relay)), mail_to("bob@example.com")).verdict,
            SendVerdict::uncertain);
}

TEST(SmtpTransport, AWrongPasswordIsAFaultThatDoesNotTellThePassword) {
  Relay relay({Relay::Tls::start_tls, "ada", "right", false});
  auto options = secure(relay);
  options.username = "ada";
  options.password = "wr0ng-secret";
  const auto fault = make_smtp_transport(options)->prepare(mail_to("bob@example.com"));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->verdict, SendVerdict::transport_fault);
  EXPECT_THAT(fault->reply, HasSubstr("535 5.7.8"));
  EXPECT_THAT(fault->reply, HasSubstr("email.smtp.password"));

  relay.behave(R"({"auth": "535 5.7.8 wr0ng-secret AGFkYQB3cjBuZy1zZWNyZXQ= is wrong"})");
  const auto echoed = make_smtp_transport(options)->prepare(mail_to("bob@example.com"));
  ASSERT_TRUE(echoed);
  EXPECT_THAT(echoed->reply, Not(HasSubstr("wr0ng-secret")));
  EXPECT_THAT(echoed->reply, Not(HasSubstr("AGFkYQB3cjBuZy1zZWNyZXQ=")));
  EXPECT_THAT(echoed->reply, HasSubstr("is wrong"));
}

TEST(SmtpTransport, ARelayWithoutLoginDoesNotMakeGiftsUndelivered) {
  Relay relay;
  relay.behave(R"({"rcpt": "550 5.7.1 relay access denied"})");
  auto options = plain(relay);
  options.username = "ada";
  options.password = "s3cret";
  const auto transport = make_smtp_transport(options);
  EXPECT_EQ(transport->prepare(mail_to("bob@example.com"))->verdict, SendVerdict::transport_fault);
  EXPECT_EQ(transport->send(mail_to("bob@example.com"), kLease).verdict, SendVerdict::transport_fault);
}

TEST(SmtpTransport, TlsThatIsRequiredAndMissingOrUntrustedIsAFault) {
  Relay without;
  auto options = plain(without);
  options.require_tls = true;
  const auto missing = make_smtp_transport(options)->prepare(mail_to("bob@example.com"));
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->verdict, SendVerdict::transport_fault);
  EXPECT_THAT(missing->reply, HasSubstr("STARTTLS"));
  EXPECT_THAT(without.moments(), Not(testing::Contains("noop")));

  Relay self_signed({Relay::Tls::start_tls, "", "", false});
  options = secure(self_signed);
  options.ca_file.clear();
  const auto untrusted = make_smtp_transport(options)->prepare(mail_to("bob@example.com"));
  ASSERT_TRUE(untrusted);
  EXPECT_EQ(untrusted->verdict, SendVerdict::transport_fault);
  EXPECT_THAT(untrusted->reply, HasSubstr("email.smtp.ca_file"));
}

TEST(SmtpTransport, APasswordNeedsTlsOrThisMachine) {
  SmtpOptions options{"smtp://relay.example.com:25", "ada", "s3cret", false, "", 1000};
  const auto fault = make_smtp_transport(options)->prepare(mail_to("bob@example.com"));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->verdict, SendVerdict::transport_fault);
  EXPECT_THAT(fault->reply, HasSubstr("email.smtp.require_tls"));

  Relay relay({Relay::Tls::none, "ada", "s3cret", true});
  options = plain(relay);
  options.username = "ada";
  options.password = "s3cret";
  EXPECT_EQ(prepare_and_send(*make_smtp_transport(options), mail_to("bob@example.com")).verdict,
            SendVerdict::accepted);
}

TEST(SmtpTransport, AUrlThatIsNoRelayIsAFaultWithoutItsLogin) {
  for (const std::string url :
       {"", "relay.example.com:25", "http://relay.example.com", "smtp://ada:s3cret@relay:25"}) {
    SmtpOptions options;
    options.url = url;
    const auto fault = make_smtp_transport(options)->prepare(mail_to("bob@example.com"));
    ASSERT_TRUE(fault) << url;
    EXPECT_EQ(fault->verdict, SendVerdict::transport_fault);
    EXPECT_THAT(fault->reply, HasSubstr("email.smtp.url"));
    EXPECT_THAT(fault->reply, Not(HasSubstr("s3cret")));
  }
}

TEST(SmtpTransport, AnEndedLeaseSendsNothing) {
  Relay relay;
  const auto transport = make_smtp_transport(plain(relay));
  const auto result = transport->send(mail_to("bob@example.com"), 0);
  EXPECT_EQ(result.verdict, SendVerdict::transport_fault);
  EXPECT_THAT(result.reply, HasSubstr("lease"));
  EXPECT_THAT(relay.moments(), IsEmpty());
  EXPECT_EQ(prepare_and_send(*transport, mail_to("bob@example.com")).verdict, SendVerdict::accepted);
}

/// The process is stopped while the relay takes its time to ask for the body, and woken when it has asked.
/// The relay's delay begins after the lease and is longer, so that the lease is over by then.
TEST(SmtpTransport, AStoppedProcessThatWakesAfterItsLeaseDoesNotFinishTheMail) {
  Relay relay;
  relay.behave(R"({"data": {"delay_seconds": 4.5}})");
  constexpr std::int64_t kShortLease = 4000;
  const pid_t child = fork();
  if (child == 0) {
    const auto result = make_smtp_transport(plain(relay))->send(mail_to("bob@example.com"), kShortLease);
    _exit(static_cast<int>(result.verdict));
  }
  ASSERT_TRUE(relay.reaches("data"));
  kill(child, SIGSTOP);
  ASSERT_TRUE(relay.reaches("data delayed"));
  kill(child, SIGCONT);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(SendVerdict::transport_fault));
  EXPECT_THAT(relay.kept(), IsEmpty());
  const auto moments = relay.moments();
  EXPECT_EQ(std::count(moments.begin(), moments.end(), "message"), 0);
}

}  // namespace
}  // namespace giftsync::daemon
