// Requests over a real socket: the Content-Encoding of a response, the connection that stays open, bodies
// sent once, and what is never sent.
#include "platform/http_client.h"

#include <Poco/DeflatingStream.h>
#include <Poco/InflatingStream.h>
#include <gtest/gtest.h>

#include <atomic>
#include <sstream>
#include <string>
#include <thread>

#include "daemon/http/http_server.h"
#include "tests/support/scripted_server.h"

namespace giftsync {
namespace {

/// A server that gives every response the same encoding, and counts requests.
class Server {
 public:
  Server(std::string encoding, std::string body)
      : server_(on_loopback(), [this, encoding = std::move(encoding), body = std::move(body)](const auto&) {
          ++request_count_;
          http::HttpResponse response;
          if (!encoding.empty()) response.headers = {{"Content-Encoding", encoding}, {"ETag", "\"1\""}};
          response.body = body;
          return response;
        }) {
    server_.start();
  }
  HttpGetResponse fetch() {
    HttpGetRequest request;
    request.url = "http://" + server_.listen_address() + "/events";
    request.bypass_proxy = true;
    return http_get(request, [] { return true; });
  }
  int request_count() const { return request_count_; }

 private:
  static http::HttpServerOptions on_loopback() {
    http::HttpServerOptions options;
    options.listen = "127.0.0.1:0";
    return options;
  }
  std::atomic<int> request_count_ = 0;
  http::HttpServer server_;
};

TEST(HttpClient, AResponseWithoutContentEncodingIsRequestedOnce) {
  Server server("", "[1]");
  const HttpGetResponse response = server.fetch();
  EXPECT_EQ(response.status, 200) << response.error;
  EXPECT_EQ(response.body, "[1]");
  EXPECT_EQ(server.request_count(), 1);
}

TEST(HttpClient, AnUnknownContentEncodingLeavesTheBodyUndecoded) {
  Server server("utf-8", "[1]");
  const HttpGetResponse response = server.fetch();
  EXPECT_EQ(response.status, 200) << response.error;
  EXPECT_EQ(response.error, "");
  EXPECT_EQ(response.body, "[1]");
  EXPECT_EQ(response.etag, "\"1\"");
  EXPECT_EQ(server.request_count(), 2);
}

std::string gzip(const std::string& text) {
  std::ostringstream compressed;
  Poco::DeflatingOutputStream stream(compressed, Poco::DeflatingStreamBuf::STREAM_GZIP);
  stream << text;
  stream.close();
  return compressed.str();
}

std::string gunzip(const std::string& bytes) {
  std::istringstream compressed(bytes);
  Poco::InflatingInputStream stream(compressed, Poco::InflatingStreamBuf::STREAM_GZIP);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string ok_response(const std::string& body, const std::string& headers = "") {
  return "HTTP/1.1 200 OK\r\n" + headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

std::string body_of(const std::string& request) {
  return request.substr(request.find("\r\n\r\n") + 4);
}

TEST(HttpClient, RequestsShareOneConnection) {
  tests::ScriptedServer server([](std::size_t number, const auto&) {
    return ok_response(std::to_string(number), "Sforce-Limit-Info: api-usage=1/2\r\nX: a\r\nX: b\r\n");
  });
  HttpClient client({});
  for (int number = 0; number < 3; ++number) {
    const HttpResponse response =
        client.send({.method = "PATCH", .url = server.url() + "/a", .headers = {"X-A: b"}, .body = "{}"});
    EXPECT_EQ(response.status, 200) << response.error;
    EXPECT_EQ(response.body, std::to_string(number));
    EXPECT_EQ(response.header("sforce-limit-info"), "api-usage=1/2");
    EXPECT_EQ(response.header("x"), "a, b");
    EXPECT_EQ(response.header("y"), "");
  }
  EXPECT_EQ(server.connection_count(), 1U);
  const std::string request = server.requests().at(2);
  EXPECT_TRUE(request.starts_with("PATCH /a HTTP/1.1\r\n")) << request;
  EXPECT_NE(request.find("X-A: b\r\n"), std::string::npos) << request;
  EXPECT_EQ(request.find("Expect"), std::string::npos) << request;
  EXPECT_EQ(body_of(request), "{}");
}

TEST(HttpClient, HeadersOfOneRequestAreNotSentWithTheNext) {
  tests::ScriptedServer server([](std::size_t, const auto&) { return ok_response(""); });
  HttpClient client({});
  client.send({.method = "POST", .url = server.url(), .headers = {"Authorization: Bearer a"}, .body = "1"});
  client.send({.url = server.url()});
  const std::string second = server.requests().at(1);
  EXPECT_TRUE(second.starts_with("GET ")) << second;
  EXPECT_EQ(second.find("Authorization"), std::string::npos) << second;
  EXPECT_EQ(body_of(second), "");
}

TEST(HttpClient, LongBodiesAreCompressedBothWays) {
  const std::string answer(20'000, 'a');
  tests::ScriptedServer server(
      [&](std::size_t, const auto&) { return ok_response(gzip(answer), "Content-Encoding: gzip\r\n"); });
  HttpClient client({});
  for (const std::size_t size : {1024U, 1025U, 500'000U}) {
    const std::string body(size, 'b');
    const HttpResponse response =
        client.send({.method = "POST", .url = server.url(), .body = body, .compress_body = true});
    EXPECT_EQ(response.body, answer) << response.error;
    const std::string request = server.requests().back();
    const bool is_compressed = request.find("Content-Encoding: gzip\r\n") != std::string::npos;
    EXPECT_EQ(is_compressed, size > 1024U);
    EXPECT_EQ(is_compressed ? gunzip(body_of(request)) : body_of(request), body);
    EXPECT_EQ(response.sent_bytes, body_of(request).size());
  }
}

TEST(HttpClient, ABodyIsNotSentAgainWhenTheOpenConnectionEndsWithoutAResponse) {
  tests::ScriptedServer server(
      [](std::size_t number, const auto&) { return number == 1 ? "" : ok_response("{}"); });
  HttpClient client({});
  const HttpRequest write{.method = "POST", .url = server.url(), .body = "{}"};
  EXPECT_EQ(client.send(write).status, 200);
  const HttpResponse lost = client.send(write);
  EXPECT_EQ(lost.status, 0);
  EXPECT_TRUE(lost.may_have_arrived);
  EXPECT_NE(lost.error, "");
  EXPECT_EQ(server.requests().size(), 2U);
  EXPECT_EQ(client.send(write).status, 200);
}

TEST(HttpClient, WhatWasNotSentIsKnown) {
  std::string url;
  {
    tests::ScriptedServer server([](std::size_t, const auto&) { return ok_response(""); });
    url = server.url();
  }
  HttpClient client({});
  const HttpResponse response = client.send({.method = "POST", .url = url, .body = "{}"});
  EXPECT_EQ(response.status, 0);
  EXPECT_FALSE(response.may_have_arrived);
  EXPECT_NE(response.error, "");
}

TEST(HttpClient, ARedirectIsAResponse) {
  tests::ScriptedServer server([](std::size_t, const auto&) {
    return "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n";
  });
  HttpClient client({});
  const HttpResponse response = client.send({.url = server.url()});
  EXPECT_EQ(response.status, 302);
  EXPECT_EQ(response.header("location"), "/elsewhere");
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST(HttpClient, EndsARequestThatTakesTooLongOrIsTooLarge) {
  std::atomic<bool> is_ended = false;
  tests::ScriptedServer server([&](std::size_t number, const auto&) {
    if (number == 0) return ok_response(std::string(2000, 'a'));
    while (!is_ended) std::this_thread::yield();
    return std::string();
  });
  HttpClient client({.max_bytes = 1999, .timeout_millis = 200});
  const HttpResponse large = client.send({.url = server.url()});
  EXPECT_EQ(large.status, 0);
  EXPECT_EQ(large.error, "more than 1999 bytes");
  EXPECT_TRUE(large.is_too_large);
  const HttpResponse late = client.send({.method = "POST", .url = server.url(), .body = "{}"});
  EXPECT_EQ(late.status, 0);
  EXPECT_TRUE(late.may_have_arrived);
  is_ended = true;
}

TEST(HttpClient, TheCallerEndsARequest) {
  std::atomic<bool> is_ended = false;
  tests::ScriptedServer server([&](std::size_t, const auto&) {
    while (!is_ended) std::this_thread::yield();
    return std::string();
  });
  HttpClient client({});
  const HttpResponse response = client.send({.url = server.url()}, [] { return false; });
  EXPECT_EQ(response.status, 0);
  EXPECT_NE(response.error, "");
  is_ended = true;
}

TEST(HttpClient, SendsNothingWithoutTlsToAnotherHost) {
  HttpClient client({});
  for (const char* url : {"http://192.0.2.1/", "http://localhost.example/", "http://127.0.0.1@192.0.2.1/",
                          "ftp://127.0.0.1/", "no url", ""}) {
    const HttpResponse response = client.send({.method = "POST", .url = url, .body = "{}"});
    EXPECT_EQ(response.status, 0) << url;
    EXPECT_EQ(response.error, "the URL is neither https nor http to this host itself") << url;
    EXPECT_FALSE(response.may_have_arrived) << url;
  }
}

TEST(HttpUrls, OnlyThisHostNeedsNoTls) {
  for (const char* url : {"https://acme.my.salesforce.com", "HTTPS://a.example/x", "http://127.0.0.1:80/x",
                          "http://127.3.2.1", "http://[::1]:80/", "http://localhost/", "http://LOCALHOST:1/"})
    EXPECT_TRUE(is_https_or_loopback(url)) << url;
  for (const char* url :
       {"http://a.example", "http://10.0.0.1", "http://[fe80::1]/", "http://127.0.0.1.example",
        "http://localhost.example/", "ftp://localhost/", "localhost", ""})
    EXPECT_FALSE(is_https_or_loopback(url)) << url;
}

TEST(HttpUrls, TextForHeadersAndQueries) {
  EXPECT_EQ(from_http_date("Tue, 24 Nov 2026 20:35:52 GMT"), from_rfc3339("2026-11-24T20:35:52Z"));
  EXPECT_EQ(from_http_date("soon"), std::nullopt);
  EXPECT_EQ(from_http_date(""), std::nullopt);
  EXPECT_EQ(percent_encoded("a b&c='\xc3\xa4'~-._+1%"), "a%20b%26c%3D%27%C3%A4%27~-._%2B1%25");
  EXPECT_EQ(percent_encoded(""), "");
}

// HOOK-11
TEST(HttpClient, AnAddressIsCheckedBeforeTheSocketIsOpened) {
  tests::ScriptedServer server([](std::size_t, const auto&) { return ok_response("a"); });
  std::vector<std::string> asked;
  bool is_allowed = false;
  HttpClient client({.bypass_proxy = true, .address_check = [&](const IpAddress& address) {
                       asked.push_back(address.text());
                       return is_allowed ? std::nullopt : std::optional(address.text() + " is refused");
                     }});
  const HttpResponse refused = client.send({.url = server.url()});
  EXPECT_EQ(refused.status, 0);
  EXPECT_EQ(refused.error, "127.0.0.1 is refused");
  EXPECT_FALSE(refused.may_have_arrived);
  EXPECT_EQ(server.connection_count(), 0U);
  is_allowed = true;
  EXPECT_EQ(client.send({.url = server.url()}).status, 200);
  EXPECT_EQ(asked, (std::vector<std::string>{"127.0.0.1", "127.0.0.1"}));
}

// HOOK-11: whatever spelling the resolver or libcurl takes.
TEST(HttpClient, TheAddressThatIsCheckedIsThatOfTheHostThatWasRead) {
  constexpr const char* kLoopback[] = {"127.0.0.1", "127.1",       "2130706433",         "0x7f000001",
                                       "0x7f.1",    "0177.0.0.1",  "017700000001",       "%31%32%37.0.0.1",
                                       "%30x7f.1",  "127.0.0.%31", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"};
  for (const std::string host : kLoopback) {
    const std::string url = "http://" + host + ":9/";
    std::vector<IpAddress> asked;
    HttpClient client({.plain_http = PlainHttp::anywhere,
                       .bypass_proxy = true,
                       .address_check = [&](const IpAddress& address) {
                         asked.push_back(address);
                         return std::optional<std::string>("refused");
                       }});
    EXPECT_EQ(client.send({.url = url}).status, 0) << url;
    ASSERT_FALSE(asked.empty()) << url;
    const UrlParts parts = url_parts(url).value();
    EXPECT_EQ(asked, resolve_host(parts.host)) << url;
    for (const IpAddress& address : asked) EXPECT_EQ(special_range_of(address), "loopback") << url;
  }
}

// HOOK-4
TEST(HttpClient, ALongBodyIsCutAndItsStatusCounts) {
  tests::ScriptedServer server(
      [](std::size_t, const auto&) { return ok_response(std::string(1'000'000, 'a')); });
  HttpClient client({.max_bytes = 1000, .cuts_body = true, .asks_for_compression = false});
  const HttpResponse response = client.send({.method = "POST", .url = server.url(), .body = "{}"});
  EXPECT_EQ(response.status, 200) << response.error;
  EXPECT_EQ(response.body, std::string(1000, 'a'));
  EXPECT_TRUE(response.is_too_large);
  EXPECT_EQ(server.requests().at(0).find("Accept-Encoding"), std::string::npos);
}

// HOOK-4
TEST(HttpClient, HeadersWithoutEndAreAFault) {
  std::string headers;
  for (int i = 0; i < 300; ++i) headers += "X-" + std::to_string(i) + ": " + std::string(1'000, 'a') + "\r\n";
  tests::ScriptedServer server([&](std::size_t, const auto&) {
    return "HTTP/1.1 200 OK\r\n" + headers + "Content-Length: 0\r\n\r\n";
  });
  HttpClient client({});
  const HttpResponse response = client.send({.url = server.url()});
  EXPECT_EQ(response.status, 0);
  EXPECT_FALSE(response.error.empty());
}

TEST(HttpClient, UrlsAreTakenApart) {
  const auto parts = url_parts("HTTPS://Ana:pw@[2001:DB8::1]:8443/a?b#c").value();
  EXPECT_EQ(parts.scheme, "https");
  EXPECT_EQ(parts.host, "2001:db8::1");
  EXPECT_EQ(parts.port, "8443");
  EXPECT_EQ(parts.user, "Ana");
  EXPECT_EQ(parts.password, "pw");
  EXPECT_EQ(parts.fragment, "c");
  EXPECT_EQ(url_parts("https://example.com/").value().port, "443");
  for (const char* bad : {"", "example.com", "/a", "https://"}) EXPECT_FALSE(url_parts(bad)) << bad;
}

}  // namespace
}  // namespace giftsync
