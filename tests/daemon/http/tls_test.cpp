// TLS of the server over real sockets: handshakes and who is refused, renewal of the certificate, and how
// connections end. The server's other tests run over TLS as well, see raw_http_client.h.
#include "daemon/http/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/http/http_connection.h"
#include "daemon/http/http_server.h"
#include "platform/clock.h"
#include "tests/support/raw_http_client.h"
#include "tests/support/test_certificate.h"

namespace giftsync::http {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using tests::eventually;
using tests::RawHttpClient;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr long kDay = 86'400;

/// A server with a pair of its own, which counts the requests that reach its handler.
class TlsServer : public testing::Test {
 protected:
  void serve(HttpServerOptions options = {}, tests::CertificateSpec spec = {.rsa_bits = 0},
             bool requires_1_3 = false) {
    folder_.write("server", tests::make_pair_of(spec));
    auto made =
        TlsContext::make({folder_.path("server.pem"), folder_.path("server.key"), requires_1_3}, now_);
    ASSERT_TRUE(made) << made.error().text;
    tls_ = *made;
    options.listen = "127.0.0.1:0";
    options.tls = tls_;
    server_ = std::make_unique<HttpServer>(options, [this](const HttpRequest& request) {
      const std::lock_guard lock(mutex_);
      bodies_.push_back(request.body);
      if (request.path == "/broken")
        return HttpResponse{200, {}, "", false, false, [] { return throw std::runtime_error("broken"), ""; }};
      return HttpResponse{200, {}, request.path == "/large" ? std::string(4'000'000, 'x') : request.body};
    });
    server_->start();
  }
  std::string address() const { return server_->listen_address(); }
  std::vector<std::string> bodies() {
    const std::lock_guard lock(mutex_);
    return bodies_;
  }

  const UtcMillis now_ = system_now();
  tests::CertificateFolder folder_;
  std::shared_ptr<TlsContext> tls_;
  std::unique_ptr<HttpServer> server_;
  std::mutex mutex_;
  std::vector<std::string> bodies_;
};

/// What a client offers, and what became of its handshake.
class Handshake {
 public:
  explicit Handshake(
      const std::string& address, const std::function<void(SSL_CTX*)>& configure = [](SSL_CTX*) {})
      : client_(address, false), context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
    SSL_CTX_set_security_level(context_.get(), 0);
    configure(context_.get());
    ssl_.reset(SSL_new(context_.get()), SSL_free);
    SSL_set_fd(ssl_.get(), client_.descriptor());
    succeeded_ = SSL_connect(ssl_.get()) == 1;
  }

  bool succeeded() const { return succeeded_; }
  SSL* ssl() { return ssl_.get(); }
  std::string version() const { return SSL_get_version(ssl_.get()); }
  /// The bytes that come next; empty at the end.
  std::string read() {
    char buffer[16384];
    const int count = SSL_read(ssl_.get(), buffer, sizeof buffer);
    read_error_ = SSL_get_error(ssl_.get(), count);
    return {buffer, static_cast<std::size_t>(std::max(count, 0))};
  }
  bool write(std::string_view bytes) {
    return SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  /// Whether read() came to an end that the server announced.
  bool saw_close_notify() const { return read_error_ == SSL_ERROR_ZERO_RETURN; }
  RawHttpClient& socket() { return client_; }

 private:
  RawHttpClient client_;
  std::shared_ptr<SSL_CTX> context_;
  std::shared_ptr<SSL> ssl_;
  bool succeeded_ = false;
  int read_error_ = SSL_ERROR_NONE;
};

void offer_only_h2(SSL_CTX* context) {
  SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>("\x02h2"), 3);
}
void offer_both_protocols(SSL_CTX* context) {
  SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>("\x02h2\x08http/1.1"), 12);
}
void offer_1_1(SSL_CTX* context) {
  SSL_CTX_set_max_proto_version(context, TLS1_1_VERSION);
  SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0");
}
void offer_1_2(SSL_CTX* context) {
  SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
}
std::function<void(SSL_CTX*)> offer_cipher(const char* name) {
  return [name](SSL_CTX* context) {
    offer_1_2(context);
    SSL_CTX_set_cipher_list(context, name);
  };
}

// HTTP-54
TEST_F(TlsServer, SpeaksTheVersionsAndProtocolsThatItShould) {
  serve();
  Handshake newest(address(), offer_both_protocols);
  ASSERT_TRUE(newest.succeeded());
  EXPECT_EQ(newest.version(), "TLSv1.3");
  const unsigned char* protocol = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(newest.ssl(), &protocol, &size);
  EXPECT_EQ(std::string(protocol, protocol + size), "http/1.1");
  Handshake older(address(), offer_1_2);
  ASSERT_TRUE(older.succeeded());
  EXPECT_EQ(older.version(), "TLSv1.2");
  EXPECT_EQ(SSL_get_current_compression(older.ssl()), nullptr);
  EXPECT_FALSE(Handshake(address(), offer_1_1).succeeded());
  EXPECT_FALSE(Handshake(address(), offer_only_h2).succeeded());
  for (const char* cipher : {"AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA256", "NULL", "3DES"})
    EXPECT_FALSE(Handshake(address(), offer_cipher(cipher)).succeeded()) << cipher;
}

// HTTP-54
TEST_F(TlsServer, MayRequireVersion13) {
  serve({}, {.rsa_bits = 0}, true);
  EXPECT_TRUE(Handshake(address()).succeeded());
  EXPECT_FALSE(Handshake(address(), offer_1_2).succeeded());
}

// HTTP-54
TEST_F(TlsServer, RefusesToNegotiateAgainAndGoesOn) {
  serve();
  Handshake client(address(), offer_1_2);
  ASSERT_TRUE(client.succeeded());
  EXPECT_EQ(SSL_renegotiate(client.ssl()), 1);
  SSL_do_handshake(client.ssl());
  client.write(kGet);
  EXPECT_THAT(client.read(), testing::Not(HasSubstr("HTTP/1.1 200")));
  EXPECT_TRUE(Handshake(address()).succeeded());
}

TEST_F(TlsServer, ResumesASessionByItsTicket) {
  serve();
  Handshake first(address(), offer_1_2);
  ASSERT_TRUE(first.succeeded());
  const std::shared_ptr<SSL_SESSION> session(SSL_get1_session(first.ssl()), SSL_SESSION_free);
  RawHttpClient socket(address(), false);
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  offer_1_2(context.get());
  const std::shared_ptr<SSL> second(SSL_new(context.get()), SSL_free);
  SSL_set_fd(second.get(), socket.descriptor());
  SSL_set_session(second.get(), session.get());
  ASSERT_EQ(SSL_connect(second.get()), 1);
  EXPECT_EQ(SSL_session_reused(second.get()), 1);
}

TEST_F(TlsServer, SendsTheWholeChain) {
  serve();
  const auto pair = tests::make_pair_of({.rsa_bits = 0});
  folder_.write_file("server.pem", pair.certificate + tests::make_certificate({.rsa_bits = 0}));
  folder_.write_file("server.key", pair.key);
  tls_->renew(now_);
  ASSERT_EQ(tls_->renew(now_).what, TlsContext::Renewal::renewed);
  Handshake client(address());
  ASSERT_TRUE(client.succeeded());
  EXPECT_EQ(sk_X509_num(SSL_get_peer_cert_chain(client.ssl())), 2);
}

TEST_F(TlsServer, ServesWithAnRsaKeyToo) {
  serve({}, {});
  for (const auto& offer : {offer_1_2, offer_both_protocols}) {
    Handshake client(address(), offer);
    ASSERT_TRUE(client.succeeded());
    client.write(kGet);
    EXPECT_THAT(client.read(), StartsWith("HTTP/1.1 200"));
  }
}

// HTTP-54
TEST_F(TlsServer, AnswersARequestWithoutTlsInPlainText) {
  serve();
  for (const char* request : {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "DELETE / HTTP/1.1\r\n", "x"}) {
    RawHttpClient client(address(), false);
    client.send(request);
    const auto response = client.read_response();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 400);
    EXPECT_THAT(response->body, HasSubstr("This port speaks TLS only"));
    EXPECT_EQ(response->header("Connection"), "close");
    EXPECT_TRUE(client.is_closed());
  }
  EXPECT_TRUE(bodies().empty());
}

// HTTP-54
TEST_F(TlsServer, EndsAHandshakeThatDoesNotComeToItsEnd) {
  HttpServerOptions options;
  options.head_deadline_millis = 200;
  serve(options);
  RawHttpClient silent(address(), false);
  RawHttpClient half(address(), false);
  half.send(std::string_view("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11));
  RawHttpClient garbage(address(), false);
  garbage.send(std::string(500, '\0'));
  // They count as connections, so that a limit holds for them too.
  EXPECT_TRUE(eventually([&] { return server_->open_connections() > 0; }));
  EXPECT_TRUE(silent.is_closed());
  EXPECT_TRUE(half.is_closed());
  EXPECT_FALSE(garbage.read_some().starts_with("HTTP"));
  EXPECT_TRUE(eventually([&] { return server_->open_connections() == 0; }));
}

TEST_F(TlsServer, TheNewestConnectionEvictsOneThatDoesNotShakeHands) {
  HttpServerOptions options;
  options.max_connections = 2;
  serve(options);
  RawHttpClient silent(address(), false);
  RawHttpClient second(address(), false);
  Handshake third(address());
  ASSERT_TRUE(third.succeeded());
  third.write(kGet);
  EXPECT_THAT(third.read(), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(silent.is_closed());
}

// HTTP-55
TEST_F(TlsServer, TellsTheEndOfAConnectionUnlessAResponseIsCut) {
  HttpServerOptions options;
  options.idle_deadline_millis = 200;
  serve(options);
  const auto end_after = [&](const std::string& request) {
    Handshake client(address());
    EXPECT_TRUE(client.succeeded());
    client.write(request);
    while (!client.read().empty()) {
    }
    return client.saw_close_notify();
  };
  EXPECT_TRUE(end_after("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  EXPECT_TRUE(end_after(std::string(kGet))) << "after the idle deadline";
  EXPECT_TRUE(end_after("GET / HTTP/9\r\n\r\n")) << "after a refusal";
  EXPECT_FALSE(end_after("GET /broken HTTP/1.0\r\n\r\n")) << "its body has no other end";
}

// HTTP-55
TEST_F(TlsServer, AStopTellsTheEndToConnectionsThatAreKept) {
  serve();
  Handshake client(address());
  ASSERT_TRUE(client.succeeded());
  client.write(kGet);
  EXPECT_THAT(client.read(), StartsWith("HTTP/1.1 200"));
  server_->stop(5000);  // it may still be about to wait for the next request
  EXPECT_EQ(client.read(), "");
  EXPECT_TRUE(client.saw_close_notify());
}

// HTTP-55
TEST_F(TlsServer, ABodyThatEndsTooSoonIsNoRequest) {
  serve();
  for (const bool tells : {true, false}) {
    Handshake client(address());
    ASSERT_TRUE(client.succeeded());
    client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf");
    if (tells) SSL_shutdown(client.ssl());
    ::shutdown(client.socket().descriptor(), SHUT_WR);
    const std::string answer = client.read();
    EXPECT_EQ(answer.starts_with("HTTP/1.1 400"), tells) << answer;
  }
  EXPECT_TRUE(bodies().empty());
}

/// A client that keeps its connection, with TLS or without it.
class KeptClient {
 public:
  /// `offer`: null without TLS.
  KeptClient(const std::string& address, const std::function<void(SSL_CTX*)>& offer) {
    if (offer)
      tls_.emplace(address, offer);
    else
      plain_.emplace(address, false);
  }
  /// The response; empty when the connection has ended.
  std::string get() {
    if (plain_) return plain_->send(kGet) ? plain_->read_some() : "";
    return tls_->write(kGet) ? tls_->read() : "";
  }

 private:
  std::optional<Handshake> tls_;
  std::optional<RawHttpClient> plain_;
};

// HTTP-57
TEST_F(TlsServer, AKeptConnectionEndsOnceNoneCouldBeginAsItDid) {
  serve();
  const std::shared_ptr<TlsContext> none;
  const std::shared_ptr<TlsContext> both = tls_;
  const auto made = [&](bool requires_1_3) {
    return TlsContext::make({folder_.path("server.pem"), folder_.path("server.key"), requires_1_3}, now_)
        .value();
  };
  const std::shared_ptr<TlsContext> again = made(false);
  const std::shared_ptr<TlsContext> newest_only = made(true);
  const auto exchange = [&](const std::shared_ptr<TlsContext>& tls) {
    HttpServerOptions options;
    options.tls = tls;
    server_->exchange(options, [](const HttpRequest&) { return HttpResponse{200, {}, "here"}; });
  };
  const std::function<void(SSL_CTX*)> newest = [](SSL_CTX*) {};
  struct Case {
    std::string name;
    std::shared_ptr<TlsContext> before;
    std::shared_ptr<TlsContext> after;
    std::function<void(SSL_CTX*)> offer;
    bool ends;
  };
  const std::vector<Case> cases{
      {"TLS is turned on", none, both, nullptr, true},
      {"TLS is turned off", both, none, newest, true},
      {"its version is refused now", both, newest_only, offer_1_2, true},
      {"its version is still taken", both, newest_only, newest, false},
      {"another certificate", both, again, offer_1_2, false},
      {"plain as before", none, none, nullptr, false},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    exchange(one.before);
    KeptClient client(address(), one.offer);
    EXPECT_THAT(client.get(), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Connection: keep-alive")));
    exchange(one.after);
    EXPECT_THAT(client.get(), AllOf(StartsWith("HTTP/1.1 200"),
                                    HasSubstr(one.ends ? "Connection: close" : "Connection: keep-alive")));
    EXPECT_EQ(client.get().empty(), one.ends);
  }
  exchange(none);
  EXPECT_THAT(server_->url(), StartsWith("http://127.0.0.1:"));
  exchange(both);
  EXPECT_THAT(server_->url(), StartsWith("https://127.0.0.1:"));
}

TEST_F(TlsServer, AnswersARequestWhoseClientHasEndedItsSide) {
  serve();
  Handshake client(address());
  ASSERT_TRUE(client.succeeded());
  client.write(kGet);
  SSL_shutdown(client.ssl());
  EXPECT_THAT(client.read(), StartsWith("HTTP/1.1 200"));
}

/// Small kernel buffers, so that both sides have to wait, and new keys in between, so that reading writes.
TEST_F(TlsServer, LargeBodiesGoBothWaysWhileKeysAreReplaced) {
  HttpServerOptions options;
  options.max_body_bytes = 8 << 20;
  serve(options);
  Handshake client(address());
  ASSERT_TRUE(client.succeeded());
  const int small = 65536;
  ::setsockopt(client.socket().descriptor(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  std::string body;
  for (int i = 0; body.size() < 2'000'000; ++i) body += std::to_string(i) + ",";
  client.write("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: " +
               std::to_string(body.size()) + "\r\n\r\n");
  for (std::size_t at = 0; at < body.size(); at += 100'000) {
    ASSERT_TRUE(client.write(std::string_view(body).substr(at, 100'000)));
    SSL_key_update(client.ssl(), SSL_KEY_UPDATE_REQUESTED);
  }
  std::string received;
  for (std::string part; !(part = client.read()).empty();) received += part;
  ASSERT_GT(received.size(), body.size());
  EXPECT_EQ(received.substr(received.size() - body.size()), body);
  EXPECT_TRUE(client.saw_close_notify());
}

// HTTP-54
TEST_F(TlsServer, ServesMoreConnectionsThanKeepTheirMemoryForRecords) {
  constexpr std::size_t kClients = ConnectionContext::kMaxTlsBuffers + 10;
  HttpServerOptions options;
  options.max_connections = 2 * kClients;
  options.max_connections_per_address = 2 * kClients;
  serve(options);
  for (int crowd = 0; crowd < 2; ++crowd) {
    std::vector<std::unique_ptr<RawHttpClient>> clients;
    for (std::size_t i = 0; i < kClients; ++i)
      clients.push_back(std::make_unique<RawHttpClient>(address(), true));
    for (int request = 0; request < 2; ++request) {
      for (const auto& client : clients) ASSERT_TRUE(client->send(kGet));
      for (const auto& client : clients) {
        const auto response = client->read_response();
        ASSERT_TRUE(response);
        EXPECT_EQ(response->status, 200);
      }
    }
  }
  EXPECT_EQ(bodies().size(), 4 * kClients);
}

TEST_F(TlsServer, RequestsInOneRecordAndInManyAreServedInOrder) {
  serve();
  RawHttpClient client(address(), true);
  std::string requests;
  for (int i = 0; i < 50; ++i) {
    const std::string body = "body " + std::to_string(i);
    requests +=
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  client.send(requests);
  for (const char byte : requests) client.send({&byte, 1});
  for (int i = 0; i < 100; ++i) {
    const auto response = client.read_response();
    ASSERT_TRUE(response) << i;
    EXPECT_EQ(response->body, "body " + std::to_string(i % 50));
  }
}

std::string serial_of(Handshake& client) {
  const std::shared_ptr<X509> certificate(SSL_get1_peer_certificate(client.ssl()), X509_free);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  X509_digest(certificate.get(), EVP_sha256(), digest.data(), &size);
  return {digest.begin(), digest.begin() + size};
}

// OPS-48
TEST_F(TlsServer, TakesAChangedPairWithoutEndingConnections) {
  serve();
  Handshake kept(address());
  ASSERT_TRUE(kept.succeeded());
  EXPECT_EQ(tls_->renew(now_).what, TlsContext::Renewal::none);
  tests::CertificateSpec spec{.rsa_bits = 0};
  spec.not_after_seconds = 500 * kDay;
  const tests::CertificatePair next = tests::make_pair_of(spec);
  folder_.write_file("server.pem", next.certificate);
  EXPECT_EQ(tls_->renew(now_).what, TlsContext::Renewal::none) << "the key is still on its way";
  folder_.write_file("server.key", next.key);
  EXPECT_EQ(tls_->renew(now_).what, TlsContext::Renewal::none);
  EXPECT_EQ(tls_->renew(now_).what, TlsContext::Renewal::renewed);
  EXPECT_GT(tls_->dates().not_after, now_ + 499 * kDayMillis);
  Handshake fresh(address());
  ASSERT_TRUE(fresh.succeeded());
  EXPECT_NE(serial_of(fresh), serial_of(kept));
  kept.write(kGet);
  EXPECT_THAT(kept.read(), StartsWith("HTTP/1.1 200"));
}

// OPS-48
TEST_F(TlsServer, KeepsItsPairWhenTheNextOneIsFaultyAndSaysSoOnce) {
  serve();
  Handshake before(address());
  folder_.write_file("server.key", tests::make_pair_of({.rsa_bits = 0}).key);
  EXPECT_EQ(tls_->renew(now_).what, TlsContext::Renewal::none);
  const auto refused = tls_->renew(now_);
  EXPECT_EQ(refused.what, TlsContext::Renewal::refused);
  EXPECT_THAT(refused.fault, HasSubstr("server.key, which is not the key of the certificate"));
  EXPECT_EQ(tls_->renew(now_).what, TlsContext::Renewal::none);
  std::filesystem::remove(folder_.path("server.pem"));
  EXPECT_EQ(tls_->renew(now_).what, TlsContext::Renewal::none);
  EXPECT_THAT(tls_->renew(now_).fault, HasSubstr("server.pem, which cannot be read"));
  Handshake after(address());
  ASSERT_TRUE(after.succeeded());
  EXPECT_EQ(serial_of(after), serial_of(before));
}

// OPS-48: a rebooted daemon goes on with what it has, and takes the renewed pair.
TEST_F(TlsServer, ServesACertificateThatIsNotValidUntilAValidOneComes) {
  for (const tests::CertificateSpec& spec :
       {tests::CertificateSpec{-400 * kDay, -kDay, 0}, tests::CertificateSpec{kDay, 400 * kDay, 0}}) {
    serve({}, spec);
    EXPECT_FALSE(tls_->dates().are_valid_at(now_));
    EXPECT_TRUE(Handshake(address()).succeeded()) << "a client that does not look at dates";
    folder_.write("server", tests::make_pair_of({.rsa_bits = 0}));
    EXPECT_EQ(tls_->renew(now_).what, TlsContext::Renewal::none);
    EXPECT_EQ(tls_->renew(now_).what, TlsContext::Renewal::renewed);
    EXPECT_TRUE(tls_->dates().are_valid_at(now_));
  }
}

// OPS-48
TEST_F(TlsServer, TakesAPairThatIsNotValidYetOnceItIs) {
  serve();
  const UtcMillis end = tls_->dates().not_after;
  folder_.write("server", tests::make_pair_of({kDay, 700 * kDay, 0}));
  EXPECT_EQ(tls_->renew(now_).what, TlsContext::Renewal::none);
  const auto refused = tls_->renew(now_);
  EXPECT_EQ(refused.what, TlsContext::Renewal::refused);
  EXPECT_THAT(refused.fault, HasSubstr("server.pem, which is not valid before "));
  EXPECT_EQ(tls_->renew(now_).what, TlsContext::Renewal::none) << "said once";
  EXPECT_EQ(tls_->dates().not_after, end);
  EXPECT_EQ(tls_->renew(now_ + 2 * kDayMillis).what, TlsContext::Renewal::renewed);
  EXPECT_GT(tls_->dates().not_after, end);
}

TEST_F(TlsServer, ReplacesTheKeysOfTicketsEachDay) {
  serve();
  Handshake first(address(), offer_1_2);
  const std::shared_ptr<SSL_SESSION> session(SSL_get1_session(first.ssl()), SSL_SESSION_free);
  EXPECT_EQ(tls_->renew(now_ + kDayMillis).what, TlsContext::Renewal::none);
  RawHttpClient socket(address(), false);
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  offer_1_2(context.get());
  const std::shared_ptr<SSL> second(SSL_new(context.get()), SSL_free);
  SSL_set_fd(second.get(), socket.descriptor());
  SSL_set_session(second.get(), session.get());
  ASSERT_EQ(SSL_connect(second.get()), 1);
  EXPECT_EQ(SSL_session_reused(second.get()), 0);
}

struct HstsCase {
  bool over_tls;
  bool is_trusted;
  std::string more_headers;
  bool expected;
};

// HTTP-56
TEST_F(TlsServer, TellsBrowsersToUseTlsOnlyWhenTheyDo) {
  const std::vector<HstsCase> cases{{true, false, "", true},
                                    {false, true, "X-Forwarded-Proto: https\r\n", true},
                                    {false, true, "X-Forwarded-Proto: http\r\n", false},
                                    {false, true, "", false},
                                    {false, false, "X-Forwarded-Proto: https\r\n", false}};
  for (const HstsCase& one : cases) {
    HttpServerOptions options;
    options.sends_hsts = true;
    if (one.is_trusted) options.trusted_proxies = {"127.0.0.1"};
    serve(options);
    if (!one.over_tls) {
      options.listen = "127.0.0.1:0";
      server_ = std::make_unique<HttpServer>(options, [](const HttpRequest&) { return HttpResponse{}; });
      server_->start();
    }
    RawHttpClient client(address(), one.over_tls);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n" + one.more_headers + "\r\n");
    const auto response = client.read_response();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->header("Strict-Transport-Security"), one.expected ? "max-age=31536000" : "")
        << one.over_tls << one.is_trusted << one.more_headers;
  }
}

}  // namespace
}  // namespace giftsync::http
