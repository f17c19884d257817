// What a request of the console must have: host, origin, cookies and form token.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/console/page_frame.h"
#include "daemon/http/json_request.h"
#include "platform/url_parameters.h"

namespace giftsync::console {
namespace {

using Headers = std::multimap<std::string, std::string, http::HeaderLess>;

http::HttpRequest request(const Headers& headers) {
  http::HttpRequest made;
  made.method = "POST";
  made.headers = headers;
  return made;
}

const ConsoleUrl kUrl{"https://Admin.example.com:8443"};
const ConsoleUrl kBelowPath{"https://example.com/gifts"};
const ConsoleUrl kLoopback{"http://127.0.0.1:8480"};
const std::string kForm = "application/x-www-form-urlencoded";

// CON-14
TEST(ConsoleRequest, TheCookieHasThePrefixThatItsAddressAllows) {
  EXPECT_EQ(set_cookie(kUrl, "abc"), "__Host-giftsync_session=abc; Path=/; HttpOnly; SameSite=Lax; Secure");
  EXPECT_EQ(set_cookie(kBelowPath, "abc"),
            "__Secure-giftsync_session=abc; Path=/gifts/console/; HttpOnly; SameSite=Lax; Secure");
  EXPECT_EQ(set_cookie(kLoopback, ""), "giftsync_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0");
  EXPECT_EQ(set_short_cookie(kUrl, "return", "abc", 600),
            "__Host-giftsync_session_return=abc; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=600");
  EXPECT_EQ(kBelowPath.base, "/gifts/console");
  EXPECT_EQ(kUrl.origin, "https://admin.example.com:8443");
}

// CON-14
TEST(ConsoleRequest, ACookieIsReadOnlyWhenThereIsOne) {
  const auto cookie = [](const Headers& headers) {
    return http::cookie_of(request(headers), "__Host-giftsync_session");
  };
  EXPECT_EQ(cookie({{"Cookie", "a=1; __Host-giftsync_session=abc; b=2"}}), "abc");
  EXPECT_EQ(cookie({{"Cookie", "a=1"}, {"Cookie", "__Host-giftsync_session=abc"}}), "abc");
  EXPECT_EQ(cookie({{"Cookie", "__Host-giftsync_session=a; __Host-giftsync_session=b"}}), std::nullopt);
  EXPECT_EQ(cookie({{"Cookie", "x__Host-giftsync_session=a"}}), std::nullopt);
  EXPECT_EQ(cookie({{"Cookie", "__Host-giftsync_session"}}), std::nullopt);
  EXPECT_EQ(cookie({{"Cookie", ";;="}}), std::nullopt);
  EXPECT_EQ(cookie({}), std::nullopt);
}

// CON-11: as browsers write it.
TEST(ConsoleRequest, TheOriginHasNoDefaultPort) {
  for (const auto& [url, origin] : std::map<std::string, std::string>{
           {"https://admin.example.com:443", "https://admin.example.com"},
           {"HTTPS://Admin.Example.com:0443/gifts", "https://admin.example.com"},
           {"http://127.0.0.1:80", "http://127.0.0.1"},
           {"http://localhost:443", "http://localhost:443"},
           {"https://admin.example.com:80", "https://admin.example.com:80"},
           {"http://[0:0::1]:8480", "http://[::1]:8480"},
           {"https://g\u00fcter.example", "https://xn--gter-0ra.example"}})
    EXPECT_EQ(ConsoleUrl(url).origin, origin) << url;
  EXPECT_TRUE(has_right_host(request({{"Host", "[::1]:8480"}}), ConsoleUrl{"http://[0:0::1]:8480"}));
  EXPECT_TRUE(
      has_right_host(request({{"Host", "xn--gter-0ra.example"}}), ConsoleUrl{"https://g\u00fcter.example"}));
}

// CON-12
TEST(ConsoleRequest, AnotherHostIsRefused) {
  EXPECT_TRUE(has_right_host(request({{"Host", "ADMIN.example.com"}}), kUrl));
  EXPECT_TRUE(has_right_host(request({{"Host", "admin.example.com:443"}}), kUrl));
  for (const std::string host :
       {"example.com", "evil.com", "admin.example.com.evil.com", "admin.example.com@evil.com", ""})
    EXPECT_FALSE(has_right_host(request({{"Host", host}}), kUrl)) << host;
  EXPECT_FALSE(has_right_host(request({}), kUrl));
}

// CON-11
TEST(ConsoleRequest, APostComesFromThisOrigin) {
  const auto is_refused = [](Headers headers) {
    if (!headers.contains("Content-Type")) headers.emplace("Content-Type", kForm);
    return !origin_fault(request(headers), kUrl).empty();
  };
  const std::string origin = "https://admin.example.com:8443";
  EXPECT_FALSE(is_refused({{"Sec-Fetch-Site", "same-origin"}}));
  EXPECT_FALSE(is_refused({{"Sec-Fetch-Site", "same-origin"}, {"Origin", "https://ADMIN.example.com:8443"}}));
  EXPECT_FALSE(is_refused({{"Origin", origin}}));
  EXPECT_FALSE(is_refused({{"Origin", origin}, {"Content-Type", kForm + "; charset=UTF-8"}}));
  EXPECT_TRUE(is_refused({}));
  EXPECT_TRUE(is_refused({{"Origin", "null"}}));
  EXPECT_TRUE(is_refused({{"Origin", "https://evil.com"}}));
  EXPECT_TRUE(is_refused({{"Origin", "https://admin.example.com"}})) << "another port";
  EXPECT_TRUE(is_refused({{"Origin", "http://admin.example.com:8443"}}));
  EXPECT_TRUE(is_refused({{"Sec-Fetch-Site", "same-origin"}, {"Origin", "https://evil.com"}}));
  for (const std::string site : {"cross-site", "same-site", "none", ""})
    EXPECT_TRUE(is_refused({{"Sec-Fetch-Site", site}, {"Origin", origin}})) << site;
  for (const std::string type : {"text/plain", "application/json", "multipart/form-data", ""})
    EXPECT_TRUE(is_refused({{"Origin", origin}, {"Content-Type", type}})) << type;
}

// CON-11
TEST(ConsoleRequest, AFormTokenIsOfOneSessionAndOnePath) {
  EXPECT_EQ(form_token("secret", "/sign-out"), form_token("secret", "/sign-out"));
  EXPECT_NE(form_token("secret", "/sign-out"), form_token("other", "/sign-out"));
  EXPECT_NE(form_token("secret", "/sign-out"), form_token("secret", "/users/1/end-sessions"));
}

// CON-17
TEST(ConsoleRequest, AQueryIsReadAndWritten) {
  const auto parameters =
      first_url_parameters("sender=a%40x.com&item=Coffee+%26+cake&status=&status=sent&bad=%ff");
  EXPECT_EQ(parameters.at("item"), "Coffee & cake");
  EXPECT_EQ(parameters.at("status"), "");
  EXPECT_FALSE(parameters.contains("bad"));
  EXPECT_EQ(query_of(parameters), "item=Coffee%20%26%20cake&sender=a%40x.com");
  EXPECT_EQ(first_url_parameters(query_of({{"a", "=&?#%\"<"}})).at("a"), "=&?#%\"<");
}

}  // namespace
}  // namespace giftsync::console
