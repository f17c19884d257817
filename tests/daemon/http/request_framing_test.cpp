// Message framing over real sockets: what is refused, what is accepted, and that refused bytes never become a
// request.
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "daemon/http/http_server.h"
#include "daemon/http/request_parser.h"
#include "tests/support/json.h"
#include "tests/support/raw_http_client.h"

namespace giftsync::http {
namespace {

using tests::RawHttpClient;

struct RawRequest {
  std::string name;
  std::string bytes;
  std::string expected;  ///< a part of the refusal's detail, or the echoed request
};

std::string name_of(const testing::TestParamInfo<RawRequest>& info) {
  return info.param.name;
}

/// "POST / ..." with the given lines between the request line and the empty line.
std::string post(const std::string& lines, const std::string& body) {
  return "POST /gifts HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n" + body;
}
std::string fields(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) lines += "X: y\r\n";
  return lines;
}
std::string chunked(const std::string& body) {
  return post("Transfer-Encoding: chunked\r\n", body);
}

class RequestFramingTest : public testing::TestWithParam<RawRequest> {
 protected:
  RequestFramingTest() {
    HttpServerOptions options;
    options.listen = "127.0.0.1:0";
    options.tls = tests::tls_of_tests();
    options.max_body_bytes = 100;
    server_ = std::make_unique<HttpServer>(options, [this](const HttpRequest& request) {
      const std::lock_guard lock(mutex_);
      handled_.push_back(request);
      return HttpResponse{
          200, {}, request.method + " " + request.path + "?" + request.query + " " + request.body};
    });
    server_->start();
  }
  ~RequestFramingTest() override { server_->stop(0); }

  std::vector<HttpRequest> handled() {
    const std::lock_guard lock(mutex_);
    return handled_;
  }

  std::unique_ptr<HttpServer> server_;

 private:
  std::mutex mutex_;
  std::vector<HttpRequest> handled_;
};

class RejectedRequestTest : public RequestFramingTest {};

// HTTP-15
TEST_P(RejectedRequestTest, Is400AndClosesTheConnection) {
  tests::RawHttpClient client(server_->listen_address());
  client.send(GetParam().bytes + "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 400);
  EXPECT_EQ(response->header("Content-Type"), "application/problem+json");
  EXPECT_EQ(response->header("Connection"), "close");
  EXPECT_EQ(response->header("Request-Id").size(), 32u);
  const auto problem = tests::parse_json(response->body);
  EXPECT_EQ(problem.at("type"), "about:blank");
  EXPECT_EQ(problem.at("title"), "Bad Request");
  EXPECT_EQ(problem.at("status"), 400);
  EXPECT_NE(problem.at("detail").get<std::string>().find(GetParam().expected), std::string::npos)
      << response->body;
  EXPECT_EQ(problem.at("message"), problem.at("detail"));
  EXPECT_TRUE(client.is_closed());
  EXPECT_TRUE(handled().empty());
}

const RawRequest kRejected[] = {
    {"OtherVersion", "GET / HTTP/9.9\r\nHost: a\r\n\r\n", "HTTP/1.0 or HTTP/1.1"},
    {"Version2Preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/1.0 or HTTP/1.1"},
    {"NoVersion", "GET /\r\nHost: a\r\n\r\n", "target"},
    {"LowerCaseVersion", "GET / http/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1"},
    {"NoMethod", " / HTTP/1.1\r\nHost: a\r\n\r\n", "white space"},
    {"TwoEmptyLines", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "method"},
    {"MissingHost", "GET / HTTP/1.1\r\nAccept: a\r\n\r\n", "lacks Host"},
    {"EmptyHost", "GET / HTTP/1.1\r\nHost:\r\n\r\n", "Host is empty"},
    {"DoubleHost", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "Host twice"},
    {"HostWithTwoNames", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", "not a host name"},
    {"HostWithUserinfo", "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", "not a host name"},
    {"NulInValue", std::string("GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", 36), "control character"},
    {"ControlInValue", "GET / HTTP/1.1\r\nHost: a\r\nX: a\x01z\r\n\r\n", "control character"},
    {"DeleteInValue", "GET / HTTP/1.1\r\nHost: a\r\nX: a\x7Fz\r\n\r\n", "control character"},
    {"BareCarriageReturn", "GET / HTTP/1.1\r\nHost: a\r\nX: a\rz\r\n\r\n", "CR LF"},
    {"ObsFold", "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", "white space"},
    {"ObsFoldByTab", "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n\tb\r\n\r\n", "white space"},
    {"SpaceBeforeColon", "GET / HTTP/1.1\r\nHost: a\r\nX : a\r\n\r\n", "name and a colon"},
    {"NoColon", "GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n", "name and a colon"},
    {"EmptyName", "GET / HTTP/1.1\r\nHost: a\r\n: a\r\n\r\n", "name and a colon"},
    {"BareLineFeed", "GET / HTTP/1.1\nHost: a\n\n", "LF alone"},
    {"BareLineFeedInHeader", "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", "LF alone"},
    {"BareLineFeedAtTheEnd", "GET / HTTP/1.1\r\nHost: a\r\n\n", "LF alone"},
    {"LengthAndCoding", post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
     "beside a length"},
    {"CodingAndLength", post("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "0\r\n\r\n"),
     "Content-Length"},
    {"TwoLengths", post("Content-Length: 3\r\nContent-Length: 4\r\n", "abcd"), ""},
    {"TwoEqualLengths", post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc"), "Content-Length twice"},
    {"ListOfLengths", post("Content-Length: 3, 3\r\n", "abc"), "one plain number"},
    {"LengthPlus", post("Content-Length: +3\r\n", "abc"), "one plain number"},
    {"LengthMinus", post("Content-Length: -1\r\n", "abc"), "one plain number"},
    {"LengthHexadecimal", post("Content-Length: 0x3\r\n", "abc"), "one plain number"},
    {"LengthOf20Digits", post("Content-Length: 99999999999999999999\r\n", "abc"), "one plain number"},
    {"LengthOf20DigitsThatFits", post("Content-Length: 00000000000000000003\r\n", "abc"), "one plain number"},
    {"LengthEmpty", post("Content-Length:\r\n", "abc"), "one plain number"},
    {"LengthWord", post("Content-Length: abc\r\n", "abc"), "one plain number"},
    {"CodingIdentity", post("Transfer-Encoding: identity\r\n", "0\r\n\r\n"), "exactly \"chunked\""},
    {"CodingChunkedIdentity", post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"),
     "exactly \"chunked\""},
    {"CodingGzipChunked", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), "exactly \"chunked\""},
    {"CodingTwice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), ""},
    {"CodingWithVerticalTab",
     post("Transfer-Encoding: \x0B"
          "chunked\r\n",
          "0\r\n\r\n"),
     "control character"},
    {"CodingInVersion10", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.0"},
    {"ChunkSizeLetters", chunked("ZZ\r\nabc\r\n0\r\n\r\n"), "hexadecimal"},
    {"ChunkSizeOx", chunked("0x3\r\nabc\r\n0\r\n\r\n"), "chunk size"},
    {"ChunkSizeMinus", chunked("-3\r\nabc\r\n0\r\n\r\n"), "hexadecimal"},
    {"ChunkSizePlus", chunked("+3\r\nabc\r\n0\r\n\r\n"), "hexadecimal"},
    {"ChunkSizeEmpty", chunked("\r\nabc\r\n0\r\n\r\n"), "hexadecimal"},
    {"ChunkSizeTooLong", chunked("00000000000000003\r\nabc\r\n0\r\n\r\n"), ""},
    {"ChunkSizeOverflow", chunked("FFFFFFFFFFFFFFFFF\r\nabc\r\n0\r\n\r\n"), "hexadecimal"},
    {"ChunkLongerThanItsSize", chunked("3\r\nabcd\r\n0\r\n\r\n"), ""},
    {"ChunkShorterThanItsSize", chunked("4\r\nabc\r\n0\r\n\r\n"), ""},
    {"ChunkLineFeedOnly", chunked("3\nabc\n0\n\n"), ""},
    {"ChunkBadExtension", chunked("3 abc\r\nabc\r\n0\r\n\r\n"), "extension"},
    {"TrailerWithLength", chunked("0\r\nContent-Length: 3\r\n\r\n"), "Content-Length"},
    {"TrailerWithoutColon", chunked("0\r\nnonsense\r\n\r\n"), "name and a colon"},
    {"TooManyFields", post(fields(64), ""), "64 fields"},
    {"HeaderTooLong", post("X: " + std::string(16384, 'x') + "\r\n", ""), "16,384 bytes"},
    {"TrailerTooLong", chunked("0\r\nX: " + std::string(16384, 'x') + "\r\n\r\n"), "16,384 bytes"},
    {"TargetTooLong", "GET /" + std::string(8192, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n", "8,192 bytes"},
    {"TargetWithoutSlash", "GET gifts HTTP/1.1\r\nHost: a\r\n\r\n", "begins with"},
    {"TargetAsterisk", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "begins with"},
    {"TargetAuthority", "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", "begins with"},
    {"TargetOtherScheme", "GET ftp://a/b HTTP/1.1\r\nHost: a\r\n\r\n", "begins with"},
    {"TargetWithUserinfo", "GET http://u@a/b HTTP/1.1\r\nHost: a\r\n\r\n", "begins with"},
    {"TargetWithSpace", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1"},
    {"TargetWithFragment", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", "percent-encoded"},
    {"TargetWithRawOctets", "GET /\xC3\xA9 HTTP/1.1\r\nHost: a\r\n\r\n", "percent-encoded"},
    {"PathWithBadEscape", "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", "hexadecimal"},
    {"PathWithCutEscape", "GET /a%4 HTTP/1.1\r\nHost: a\r\n\r\n", "hexadecimal"},
    {"PathWithNul", "GET /a%00 HTTP/1.1\r\nHost: a\r\n\r\n", "control character"},
    {"PathWithLineFeed", "GET /a%0Ab HTTP/1.1\r\nHost: a\r\n\r\n", "control character"},
    {"PathNotUtf8", "GET /%C3%28 HTTP/1.1\r\nHost: a\r\n\r\n", "UTF-8"},
};
INSTANTIATE_TEST_SUITE_P(Raw, RejectedRequestTest, testing::ValuesIn(kRejected), name_of);

class AcceptedRequestTest : public RequestFramingTest {};

TEST_P(AcceptedRequestTest, ReachesTheHandlerAndKeepsTheConnection) {
  tests::RawHttpClient client(server_->listen_address());
  client.send(GetParam().bytes + "GET /next HTTP/1.1\r\nHost: a\r\n\r\n");
  const bool to_head = GetParam().bytes.starts_with("HEAD");
  const auto response = client.read_response(to_head);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200) << response->body;
  EXPECT_EQ(response->body, to_head ? "" : GetParam().expected);
  const auto next = client.read_response();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->body, "GET /next? ");
  EXPECT_NE(response->header("Request-Id"), next->header("Request-Id"));
}

// The request reader, fed one byte at a time, must return the same as for the whole text.
TEST_P(AcceptedRequestTest, ParsesTheSameByteByByte) {
  RequestFraming framing(100);
  std::string unread;
  for (const char byte : GetParam().bytes) {
    unread += byte;
    unread.erase(0, framing.feed(unread));
  }
  ASSERT_EQ(framing.stage(), RequestFraming::Stage::complete) << framing.error_message();
  EXPECT_TRUE(unread.empty());
  const HttpRequest& request = framing.request();
  EXPECT_EQ(request.method + " " + request.path + "?" + request.query + " " + request.body,
            GetParam().expected);
}

const RawRequest kAccepted[] = {
    {"Get", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET /? "},
    {"Head", "HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n", "HEAD /a? "},
    {"EmptyLineBefore", "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET /? "},
    {"HostWithPort", "GET / HTTP/1.1\r\nhOST:\t[::1]:8480 \r\n\r\n", "GET /? "},
    {"Version10KeepAlive", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET /? "},
    {"Query", "GET /a/b?x=%20&y HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a/b?x=%20&y "},
    {"EncodedPath", "GET /caf%C3%A9%2fx+y HTTP/1.1\r\nHost: a\r\n\r\n", "GET /caf\xC3\xA9/x+y? "},
    {"AbsoluteForm", "GET http://b:80/x?y HTTP/1.1\r\nHost: a\r\n\r\n", "GET /x?y "},
    {"AbsoluteFormWithoutPath", "GET HTTPS://b HTTP/1.1\r\nHost: a\r\n\r\n", "GET /? "},
    {"AbsoluteFormWithQueryOnly", "GET http://b?q HTTP/1.1\r\nHost: a\r\n\r\n", "GET /?q "},
    {"BodyByLength", post("Content-Length: 5\r\n", "hello"), "POST /gifts? hello"},
    {"BodyOfHundred", post("Content-Length: 100\r\n", std::string(100, 'x')),
     "POST /gifts? " + std::string(100, 'x')},
    {"EmptyBodyByLength", post("Content-Length: 0\r\n", ""), "POST /gifts? "},
    {"NoLength", post("", ""), "POST /gifts? "},
    {"BodyLooksLikeARequest", post("Content-Length: 18\r\n", "GET / HTTP/1.1\r\n\r\n"),
     "POST /gifts? GET / HTTP/1.1\r\n\r\n"},
    {"GetWithBody", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi", "GET /? hi"},
    {"Chunked", chunked("3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n"), "POST /gifts? abc0123456789"},
    {"ChunkedUpperCase", post("Transfer-Encoding: Chunked\r\n", "1\r\nx\r\n0\r\n\r\n"), "POST /gifts? x"},
    {"ChunkedEmpty", chunked("0\r\n\r\n"), "POST /gifts? "},
    {"ChunkedWithLineEnds", chunked("4\r\n\r\n\n\r\r\n0\r\n\r\n"), "POST /gifts? \r\n\n\r"},
    {"ChunkedExtensions", chunked("3;a=b;c=\"d e\"\r\nabc\r\n0;x\r\n\r\n"), "POST /gifts? abc"},
    {"ChunkedTrailer", chunked("1\r\nx\r\n0\r\nAuthorization: late\r\n\r\n"), "POST /gifts? x"},
    {"TabInValue", "GET / HTTP/1.1\r\nHost: a\r\nX: a\tb\r\n\r\n", "GET /? "},
    {"SixtyFourFields", post(fields(63), ""), "POST /gifts? "},
    {"LongHeader", post("X: " + std::string(16000, 'x') + "\r\n", ""), "POST /gifts? "},
};
INSTANTIATE_TEST_SUITE_P(Raw, AcceptedRequestTest, testing::ValuesIn(kAccepted), name_of);

TEST_F(RequestFramingTest, TheAbsoluteFormReplacesHost) {
  tests::RawHttpClient client(server_->listen_address());
  client.send("GET http://real:80/x HTTP/1.1\r\nHost: other\r\n\r\n");
  ASSERT_TRUE(client.read_response());
  EXPECT_EQ(handled().at(0).header("host"), "real:80");
}

TEST_F(RequestFramingTest, TrailersDoNotBecomeHeaders) {
  tests::RawHttpClient client(server_->listen_address());
  client.send(chunked("0\r\nAuthorization: late\r\n\r\n"));
  ASSERT_TRUE(client.read_response());
  EXPECT_EQ(handled().at(0).header("Authorization"), std::nullopt);
}

TEST_F(RequestFramingTest, ARepeatedHeaderHasNoSingleValue) {
  tests::RawHttpClient client(server_->listen_address());
  client.send("GET / HTTP/1.1\r\nHost: a\r\nx-a: 1\r\nX-A: 2\r\nX-B: 3\r\n\r\n");
  ASSERT_TRUE(client.read_response());
  EXPECT_EQ(handled().at(0).header("X-A"), std::nullopt);
  EXPECT_EQ(handled().at(0).header("x-b"), "3");
  EXPECT_EQ(handled().at(0).headers.count("X-A"), 2u);
}

TEST_F(RequestFramingTest, AnIncompleteBodyIs400) {
  tests::RawHttpClient client(server_->listen_address());
  client.send(post("Content-Length: 10\r\n", "short"));
  client.end();
  const auto response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 400);
  EXPECT_TRUE(handled().empty());
}

}  // namespace
}  // namespace giftsync::http
