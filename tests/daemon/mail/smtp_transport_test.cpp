#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <optional>
#include <string>

#include "daemon/mail/transports.h"
#include "tests/support/smtp_server.h"

namespace giftsync::mail {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr std::int64_t kLease = 60000;
/// Long enough for a loaded machine to reach the final dot, short enough for a test.
constexpr std::int64_t kShortTimeout = 2000;

sync::OutgoingMail mail_to(const std::string& address, const std::string& id = "t1.g1@example.com") {
  return {id, "gifts@example.com", address,
          "From: <gifts@example.com>\r\nTo: <" + address + ">\r\nMessage-ID: <" + id + ">\r\n\r\nHello.\r\n"};
}

SmtpOptions plain(const tests::SmtpServer& relay) {
  SmtpOptions options;
  options.url = relay.url();
  options.require_tls = false;
  options.timeout_millis = 60000;
  return options;
}

SmtpOptions secure(const tests::SmtpServer& relay) {
  SmtpOptions options = plain(relay);
  options.require_tls = true;
  options.ca_file = relay.certificate();
  return options;
}

sync::SendResult prepare_and_send(sync::MailTransport& transport, const sync::OutgoingMail& mail) {
  if (const auto fault = transport.prepare(mail)) return *fault;
  return transport.send(mail, kLease);
}

TEST(SmtpTransport, DeliversAMailUnchanged) {
  tests::SmtpServer relay;
  const auto transport = make_smtp_transport(plain(relay));
  const auto mail = mail_to("rose@edge.com");
  const auto result = prepare_and_send(*transport, mail);
  EXPECT_EQ(result.outcome, sync::SendOutcome::accepted);
  EXPECT_THAT(result.reply, HasSubstr("250 2.0.0 kept as 1"));
  ASSERT_THAT(relay.accepted_mails(), SizeIs(1));
  EXPECT_EQ(relay.accepted_mails()[0].bytes, mail.bytes);
  EXPECT_EQ(relay.accepted_mails()[0].message_id, mail.message_id);
  EXPECT_EQ(relay.accepted_mails()[0].from, "gifts@example.com");
  EXPECT_THAT(relay.accepted_mails()[0].to, ElementsAre("rose@edge.com"));
  EXPECT_EQ(transport->recover_outcome(mail.message_id), std::nullopt);
}

TEST(SmtpTransport, DotLinesArriveIntactAtAnyBufferBoundary) {
  tests::SmtpServer relay;
  const auto transport = make_smtp_transport(plain(relay));
  const std::string dots = ".\r\n..\r\n.hidden\r\n...\r\n";
  // libcurl sends in blocks of 64 KiB: the end of the first one falls on each byte of `dots` in turn.
  std::vector<std::string> sent;
  for (std::size_t shift = 0; shift < dots.size(); ++shift) {
    auto mail = mail_to("rose@edge.com");
    mail.bytes += dots + std::string(shift, 'x') + "\r\n";
    while (mail.bytes.size() < 64000) mail.bytes += std::string(900, 'x') + "\r\n";
    while (mail.bytes.size() < 66500) mail.bytes += dots;
    ASSERT_EQ(prepare_and_send(*transport, mail).outcome, sync::SendOutcome::accepted);
    sent.push_back(mail.bytes);
  }
  const auto accepted = relay.accepted_mails();
  ASSERT_THAT(accepted, SizeIs(sent.size()));
  for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_TRUE(accepted[i].bytes == sent[i]) << "shift " << i;
}

// MAIL-32
TEST(SmtpTransport, SaysItsNameInEhlo) {
  tests::SmtpServer relay;
  relay.set_behaviour(R"({"ehlo:gifts.example.com": "ok", "ehlo": "421 4.7.0 who are you"})");
  SmtpOptions options = plain(relay);
  EXPECT_THAT(prepare_and_send(*make_smtp_transport(options), mail_to("rose@edge.com")).reply,
              HasSubstr("refused EHLO: 421"));
  options.client_name = "gifts.example.com";
  EXPECT_EQ(prepare_and_send(*make_smtp_transport(options), mail_to("rose@edge.com")).outcome,
            sync::SendOutcome::accepted);
}

TEST(SmtpTransport, ItsNameIsTheHostsWithADomainElseTheSendersDomain) {
  EXPECT_EQ(default_client_name("vm.example.org", "gifts@example.com"), "vm.example.org");
  EXPECT_EQ(default_client_name("vm", "gifts@b\u00fccher.example"), "xn--bcher-kva.example");
  EXPECT_EQ(default_client_name("", "gifts@example.com"), "example.com");
}

TEST(SmtpTransport, OneConnectionServesManyMails) {
  tests::SmtpServer relay;
  const auto transport = make_smtp_transport(plain(relay));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(prepare_and_send(*transport, mail_to("rose@edge.com", std::to_string(i) + "@x")).outcome,
              sync::SendOutcome::accepted);
  }
  EXPECT_THAT(relay.accepted_mails(), SizeIs(5));
  const auto events = relay.events();
  EXPECT_EQ(std::count(events.begin(), events.end(), "connect"), 1);
}

TEST(SmtpTransport, AClosedReusedConnectionIsReplaced) {
  tests::SmtpServer relay;
  const auto transport = make_smtp_transport(plain(relay));
  ASSERT_EQ(prepare_and_send(*transport, mail_to("rose@edge.com")).outcome, sync::SendOutcome::accepted);
  for (const std::string action : {"close", "reset", "421 4.7.0 too many mails on this connection"}) {
    relay.set_behaviour(R"({"mail": {"do": ")" + action + R"(", "times": 1}})");
    EXPECT_EQ(transport->send(mail_to("rose@edge.com"), kLease).outcome, sync::SendOutcome::accepted)
        << action;
  }
  EXPECT_THAT(relay.accepted_mails(), SizeIs(4));
}

struct RelayFailure {
  std::string name;
  std::string mode;
  sync::SendOutcome outcome;
  std::string reply_contains;
  std::size_t accepted = 0;
  bool is_ambiguous = false;
};
class RelayFailureTest : public testing::TestWithParam<RelayFailure> {};

TEST_P(RelayFailureTest, OutcomeFollowsFromThePhaseOfTheFailure) {
  tests::SmtpServer relay;
  relay.set_behaviour(GetParam().mode);
  const auto transport = make_smtp_transport(plain(relay));
  const auto result = prepare_and_send(*transport, mail_to("bob@example.com"));
  EXPECT_EQ(result.outcome, GetParam().outcome) << result.reply;
  EXPECT_THAT(result.reply, HasSubstr(GetParam().reply_contains));
  EXPECT_EQ(result.is_ambiguous, GetParam().is_ambiguous);
  EXPECT_THAT(relay.accepted_mails(), SizeIs(GetParam().accepted));

  relay.set_behaviour("{}");
  const auto next = prepare_and_send(*transport, mail_to("bob@example.com"));
  EXPECT_EQ(next.outcome, sync::SendOutcome::accepted)
      << "the transport must recover with the relay: " << next.reply;
}

INSTANTIATE_TEST_SUITE_P(
    SmtpServer, RelayFailureTest,
    testing::Values(
        RelayFailure{"Connect421", R"({"connect": "421 4.3.2 busy"})", sync::SendOutcome::transport_error,
                     "421 4.3.2 busy"},
        RelayFailure{"ConnectReset", R"({"connect": "reset"})", sync::SendOutcome::transport_error,
                     "connection"},
        RelayFailure{"Ehlo421", R"({"ehlo": "421 4.7.0 no"})", sync::SendOutcome::transport_error,
                     "421 4.7.0 no"},
        RelayFailure{"Mail550", R"({"mail": "550 5.7.1 who are you"})", sync::SendOutcome::transport_error,
                     "email.from"},
        RelayFailure{"Mail451", R"({"mail": "451 4.3.0 later"})", sync::SendOutcome::transport_error,
                     "451 4.3.0 later"},
        RelayFailure{"Rcpt550", R"({"rcpt:bob@example.com": "550 5.1.1 no such user"})",
                     sync::SendOutcome::refused, "550 5.1.1 no such user"},
        RelayFailure{"Rcpt450", R"({"rcpt:bob@example.com": "450 4.2.0 greylisted"})",
                     sync::SendOutcome::try_later, "450 4.2.0 greylisted"},
        RelayFailure{"Rcpt421", R"({"rcpt": "421 4.3.2 bye"})", sync::SendOutcome::transport_error,
                     "421 4.3.2 bye", 0, true},
        RelayFailure{"RcptReset", R"({"rcpt": "reset"})", sync::SendOutcome::transport_error, "connection"},
        RelayFailure{"Data452", R"({"data": "452 4.3.1 full"})", sync::SendOutcome::try_later,
                     "452 4.3.1 full"},
        RelayFailure{"Data554", R"({"data": "554 5.6.0 no"})", sync::SendOutcome::refused, "554 5.6.0 no", 0,
                     true},
        RelayFailure{"DataClose", R"({"data": "close"})", sync::SendOutcome::transport_error, "connection"},
        RelayFailure{"Message554", R"({"message": "554 5.7.1 spam"})", sync::SendOutcome::refused,
                     "554 5.7.1 spam", 0, true},
        RelayFailure{"Message452", R"({"message": "452 4.3.1 full"})", sync::SendOutcome::try_later,
                     "452 4.3.1 full"},
        RelayFailure{"Message421", R"({"message": "421 4.3.2 bye"})", sync::SendOutcome::transport_error,
                     "421 4.3.2 bye", 0, true},
        RelayFailure{"MessageReset", R"({"message": "reset"})", sync::SendOutcome::uncertain, "final dot"},
        RelayFailure{"MessageClose", R"({"message": "close"})", sync::SendOutcome::uncertain, "final dot"},
        RelayFailure{"MessageKeptThenReset", R"({"message": "keep-reset"})", sync::SendOutcome::uncertain,
                     "final dot", 1}),
    [](const auto& test) { return test.param.name; });

TEST(SmtpTransport, ConnectionRefusedIsATransportFaultInPrepare) {
  tests::SmtpServer relay;
  const auto options = plain(relay);
  relay.stop();
  const auto fault = make_smtp_transport(options)->prepare(mail_to("bob@example.com"));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->outcome, sync::SendOutcome::transport_error);
  EXPECT_THAT(fault->reply, HasSubstr("127.0.0.1"));
}

TEST(SmtpTransport, ASilentRelayTimesOut) {
  tests::SmtpServer relay;
  auto options = plain(relay);
  options.timeout_millis = kShortTimeout;
  const auto transport = make_smtp_transport(options);
  relay.set_behaviour(R"({"noop": "silent"})");
  EXPECT_EQ(transport->prepare(mail_to("bob@example.com"))->outcome, sync::SendOutcome::transport_error);
  relay.set_behaviour(R"({"rcpt": "silent"})");
  EXPECT_EQ(transport->send(mail_to("bob@example.com"), kLease).outcome, sync::SendOutcome::transport_error);
  relay.set_behaviour(R"({"message": "silent"})");
  EXPECT_EQ(transport->send(mail_to("bob@example.com"), kLease).outcome, sync::SendOutcome::uncertain);
}

/// What became of a mail to a relay that never answers in `phase`, when stop() was called meanwhile.
std::optional<sync::SendResult> stopped_in(const std::string& phase) {
  tests::SmtpServer relay;
  const auto transport = make_smtp_transport(plain(relay));
  relay.set_behaviour(R"({")" + phase + R"(": "silent"})");
  auto sending = std::async(std::launch::async,
                            [&] { return prepare_and_send(*transport, mail_to("bob@example.com")); });
  EXPECT_TRUE(relay.wait_for_event(phase));
  transport->stop();
  if (sending.wait_for(std::chrono::seconds(20)) != std::future_status::ready) {
    relay.stop();
    return std::nullopt;
  }
  EXPECT_THAT(relay.accepted_mails(), IsEmpty());
  return sending.get();
}

TEST(SmtpTransport, AStopEndsWhatARelayThatHangsDelays) {
  for (const char* const phase : {"connect", "ehlo", "noop", "mail", "rcpt", "data"}) {
    const auto result = stopped_in(phase);
    ASSERT_TRUE(result) << phase;
    EXPECT_EQ(result->outcome, sync::SendOutcome::transport_error) << phase;
    EXPECT_TRUE(result->is_stopped) << phase;
  }
}

TEST(SmtpTransport, AStopWaitsForTheReplyToTheFinalDot) {
  tests::SmtpServer relay;
  const auto transport = make_smtp_transport(plain(relay));
  relay.set_behaviour(R"({"message": {"delay_seconds": 3}})");
  auto sending = std::async(std::launch::async,
                            [&] { return prepare_and_send(*transport, mail_to("bob@example.com")); });
  ASSERT_TRUE(relay.wait_for_event("message"));
  transport->stop();
  EXPECT_EQ(sending.get().outcome, sync::SendOutcome::accepted);
  EXPECT_THAT(relay.accepted_mails(), SizeIs(1));
}

TEST(SmtpTransport, ManyFailuresLeakNothing) {
  tests::SmtpServer relay;
  const auto transport = make_smtp_transport(plain(relay));
  for (int i = 0; i < 12; ++i) {
    relay.set_behaviour(R"({"message": "452 4.3.1 full"})");
    ASSERT_EQ(transport->send(mail_to("bob@example.com"), kLease).outcome, sync::SendOutcome::try_later);
    relay.set_behaviour(R"({"message": "reset"})");
    ASSERT_EQ(transport->send(mail_to("bob@example.com"), kLease).outcome, sync::SendOutcome::uncertain);
  }
  relay.set_behaviour("{}");
  EXPECT_EQ(transport->send(mail_to("bob@example.com"), kLease).outcome, sync::SendOutcome::accepted);
}

TEST(SmtpTransport, ALateReplyDoesNotAnswerTheNextMail) {
  tests::SmtpServer relay;
  auto options = plain(relay);
  options.timeout_millis = kShortTimeout;
  const auto transport = make_smtp_transport(options);
  relay.set_behaviour(R"({"message": {"delay_seconds": 2.3, "times": 1}})");
  EXPECT_EQ(transport->send(mail_to("bob@example.com", "1@x"), kLease).outcome, sync::SendOutcome::uncertain);
  relay.set_behaviour(R"({"rcpt:eve@example.com": "550 5.1.1 no such user"})");
  EXPECT_EQ(transport->send(mail_to("eve@example.com", "2@x"), kLease).outcome, sync::SendOutcome::refused);
  EXPECT_EQ(transport->send(mail_to("bob@example.com", "3@x"), kLease).outcome, sync::SendOutcome::accepted);
  EXPECT_EQ(relay.accepted_mails().back().message_id, "3@x");
}

TEST(SmtpTransport, ASlowRelayIsWaitedFor) {
  tests::SmtpServer relay;
  relay.set_behaviour(R"({"delay_seconds": 0.1})");
  EXPECT_EQ(prepare_and_send(*make_smtp_transport(plain(relay)), mail_to("bob@example.com")).outcome,
            sync::SendOutcome::accepted);
}

TEST(SmtpTransport, ClosesAtOnceIfTheRelayHangs) {
  tests::SmtpServer relay;
  relay.set_behaviour(R"({"quit": "silent"})");
  auto transport = make_smtp_transport(plain(relay));
  ASSERT_EQ(prepare_and_send(*transport, mail_to("bob@example.com")).outcome, sync::SendOutcome::accepted);
  const auto start = std::chrono::steady_clock::now();
  transport.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(SmtpTransport, AnAddressCannotAddCommands) {
  tests::SmtpServer relay;
  const auto transport = make_smtp_transport(plain(relay));
  EXPECT_EQ(transport->send(mail_to("bob@example.com>\r\nRCPT TO:<eve@example.com"), kLease).outcome,
            sync::SendOutcome::refused);
  auto mail = mail_to("bob@example.com");
  mail.envelope_from = "gifts@example.com> BODY=8BITMIME";
  EXPECT_EQ(transport->send(mail, kLease).outcome, sync::SendOutcome::transport_error);
  EXPECT_THAT(relay.events(), IsEmpty());
}

TEST(SmtpTransport, StartTlsAndLogin) {
  tests::SmtpServer relay({tests::SmtpServer::Tls::start_tls, "ada", "s3cret passw0rd", false});
  auto options = secure(relay);
  options.username = "ada";
  options.password = "s3cret passw0rd";
  EXPECT_EQ(prepare_and_send(*make_smtp_transport(options), mail_to("bob@example.com")).outcome,
            sync::SendOutcome::accepted);
  EXPECT_THAT(relay.events(), ElementsAre("connect", "ehlo", "starttls", "ehlo", "auth", "noop", "mail",
                                          "rcpt", "data", "message"));
}

TEST(SmtpTransport, ImplicitTls) {
  tests::SmtpServer relay({tests::SmtpServer::Tls::implicit, "ada", "s3cret", false});
  auto options = secure(relay);
  options.username = "ada";
  options.password = "s3cret";
  EXPECT_EQ(prepare_and_send(*make_smtp_transport(options), mail_to("bob@example.com")).outcome,
            sync::SendOutcome::accepted);
}

TEST(SmtpTransport, ATlsResetAfterTheDotIsUncertain) {
  tests::SmtpServer relay({tests::SmtpServer::Tls::start_tls, "", "", false});
  relay.set_behaviour(R"({"message": "keep-reset"})");
  EXPECT_EQ(prepare_and_send(*make_smtp_transport(secure(relay)), mail_to("bob@example.com")).outcome,
            sync::SendOutcome::uncertain);
}

TEST(SmtpTransport, AWrongPasswordIsAFaultThatHidesThePassword) {
  tests::SmtpServer relay({tests::SmtpServer::Tls::start_tls, "ada", "right", false});
  auto options = secure(relay);
  options.username = "ada";
  options.password = "wr0ng-secret";
  const auto fault = make_smtp_transport(options)->prepare(mail_to("bob@example.com"));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->outcome, sync::SendOutcome::transport_error);
  EXPECT_THAT(fault->reply, HasSubstr("535 5.7.8"));
  EXPECT_THAT(fault->reply, HasSubstr("email.smtp.password"));

  relay.set_behaviour(R"({"auth": "535 5.7.8 wr0ng-secret AGFkYQB3cjBuZy1zZWNyZXQ= is wrong"})");
  const auto echoed = make_smtp_transport(options)->prepare(mail_to("bob@example.com"));
  ASSERT_TRUE(echoed);
  EXPECT_THAT(echoed->reply, Not(HasSubstr("wr0ng-secret")));
  EXPECT_THAT(echoed->reply, Not(HasSubstr("AGFkYQB3cjBuZy1zZWNyZXQ=")));
  EXPECT_THAT(echoed->reply, HasSubstr("is wrong"));
}

TEST(SmtpTransport, ARelayWithoutLoginIsATransportFault) {
  tests::SmtpServer relay;
  relay.set_behaviour(R"({"rcpt": "550 5.7.1 relay access denied"})");
  auto options = plain(relay);
  options.username = "ada";
  options.password = "s3cret";
  const auto transport = make_smtp_transport(options);
  EXPECT_EQ(transport->prepare(mail_to("bob@example.com"))->outcome, sync::SendOutcome::transport_error);
  EXPECT_EQ(transport->send(mail_to("bob@example.com"), kLease).outcome, sync::SendOutcome::transport_error);
}

// MAIL-9
TEST(SmtpTransport, MissingOrUntrustedRequiredTlsIsAFault) {
  tests::SmtpServer without;
  auto options = plain(without);
  options.require_tls = true;
  const auto missing = make_smtp_transport(options)->prepare(mail_to("bob@example.com"));
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->outcome, sync::SendOutcome::transport_error);
  EXPECT_THAT(missing->reply, HasSubstr("STARTTLS"));
  EXPECT_THAT(without.events(), Not(testing::Contains("noop")));

  tests::SmtpServer self_signed({tests::SmtpServer::Tls::start_tls, "", "", false});
  options = secure(self_signed);
  options.ca_file.clear();
  const auto untrusted = make_smtp_transport(options)->prepare(mail_to("bob@example.com"));
  ASSERT_TRUE(untrusted);
  EXPECT_EQ(untrusted->outcome, sync::SendOutcome::transport_error);
  EXPECT_THAT(untrusted->reply, HasSubstr("email.smtp.ca_file"));
}

TEST(SmtpTransport, APasswordNeedsTlsOrLoopback) {
  SmtpOptions options{"smtp://relay.example.com:25", "ada", "s3cret", false, "", 1000};
  const auto fault = make_smtp_transport(options)->prepare(mail_to("bob@example.com"));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->outcome, sync::SendOutcome::transport_error);
  EXPECT_THAT(fault->reply, HasSubstr("email.smtp.require_tls"));

  tests::SmtpServer relay({tests::SmtpServer::Tls::none, "ada", "s3cret", true});
  options = plain(relay);
  options.username = "ada";
  options.password = "s3cret";
  EXPECT_EQ(prepare_and_send(*make_smtp_transport(options), mail_to("bob@example.com")).outcome,
            sync::SendOutcome::accepted);
}

TEST(SmtpTransport, AnInvalidUrlIsAFaultThatHidesItsLogin) {
  for (const std::string url :
       {"", "relay.example.com:25", "http://relay.example.com", "smtp://ada:s3cret@relay:25"}) {
    SmtpOptions options;
    options.url = url;
    const auto fault = make_smtp_transport(options)->prepare(mail_to("bob@example.com"));
    ASSERT_TRUE(fault) << url;
    EXPECT_EQ(fault->outcome, sync::SendOutcome::transport_error);
    EXPECT_THAT(fault->reply, HasSubstr("email.smtp.url"));
    EXPECT_THAT(fault->reply, Not(HasSubstr("s3cret")));
  }
}

TEST(SmtpTransport, AnExpiredLeaseSendsNothing) {
  tests::SmtpServer relay;
  const auto transport = make_smtp_transport(plain(relay));
  const auto result = transport->send(mail_to("bob@example.com"), 0);
  EXPECT_EQ(result.outcome, sync::SendOutcome::transport_error);
  EXPECT_THAT(result.reply, HasSubstr("lease"));
  EXPECT_THAT(relay.events(), IsEmpty());
  EXPECT_EQ(prepare_and_send(*transport, mail_to("bob@example.com")).outcome, sync::SendOutcome::accepted);
}

/// The process is stopped while the relay delays its request for the body, and resumed afterwards. The
/// relay's delay begins after the lease and is longer, so that the lease is over by then. (MAIL-7)
TEST(SmtpTransport, AResumedProcessDoesNotFinishAMailAfterItsLease) {
  tests::SmtpServer relay;
  relay.set_behaviour(R"({"data": {"delay_seconds": 4.5}})");
  constexpr std::int64_t kShortLease = 4000;
  const pid_t child = fork();
  if (child == 0) {
    const auto result = make_smtp_transport(plain(relay))->send(mail_to("bob@example.com"), kShortLease);
    _exit(static_cast<int>(result.outcome));
  }
  ASSERT_TRUE(relay.wait_for_event("data"));
  kill(child, SIGSTOP);
  ASSERT_TRUE(relay.wait_for_event("data delayed"));
  kill(child, SIGCONT);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(sync::SendOutcome::transport_error));
  EXPECT_THAT(relay.accepted_mails(), IsEmpty());
  const auto events = relay.events();
  EXPECT_EQ(std::count(events.begin(), events.end(), "message"), 0);
}

}  // namespace
}  // namespace giftsync::mail
