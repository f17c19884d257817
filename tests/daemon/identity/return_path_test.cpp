// The page to which a sign-in returns: which texts are kept and which become the console's first page.
#include <gtest/gtest.h>

#include "daemon/identity/sign_in_pages.h"

namespace giftsync::identity {
namespace {

struct Line {
  std::string text;
  bool is_kept = false;
};

const Line kTable[] = {
    {"/console/", true},
    {"/console/gifts", true},
    {"/console/requests/R-000017", true},
    {"/console/gifts?status=sent&sender=a%40x.com", true},
    {"/console/gifts?a=b%20c&d=%2F&e=..//", true},
    {"/console/?", true},
    // Names of sources and numbers of requests come escaped.
    {"/console/sources/a%20b", true},
    {"/console/requests/R%23%3F%3a%C3%A4", true},
    {"/console/a..b", true},
    // Other places.
    {"", false},
    {"/", false},
    {"/console", false},
    {"/consolex/", false},
    {"/api/v1/", false},
    {"//evil.com/console/", false},
    {"/\\evil.com", false},
    {"https://evil.com/console/", false},
    {"javascript:alert(1)", false},
    {" /console/", false},
    // Ways out of the console, as such and escaped once or twice.
    {"/console/../api", false},
    {"/console/..", false},
    {"/console/./x", false},
    {"/console/.hidden", false},
    {"/console//evil.com", false},
    {"/console/\\evil.com", false},
    {"/console/%2e%2e/api", false},
    {"/console/%2E./api", false},
    {"/console/%2f%2fevil.com", false},
    {"/console/%2Fevil.com", false},
    {"/console/%5cevil.com", false},
    {"/console/%252e%252e/x", false},
    {"/console/%25", false},
    // Not what a browser sends.
    {"/console/%zz", false},
    {"/console/%4", false},
    {"/console/%", false},
    {"/console/%-1", false},
    {"/console/a b", false},
    {"/console/\xc3\xa4", false},
    {"/console/<b>", false},
    {"/console/a;b", false},
    {"/console/#a", false},
    {"/console/gifts/17#timeline", false},
    {"/console/?a#b", false},
    {"/console/?a=\"b", false},
    {"/console/?a=<b>", false},
    {"/console/?a=\\b", false},
    {"/console/?a b", false},
    // What would end a header.
    {"/console/a\r\nSet-Cookie: a=b", false},
    {"/console/?a\r\nSet-Cookie: a=b", false},
    {"/console/%0d%0aSet-Cookie:a=b", false},
    {std::string("/console/a\0b", 12), false},
    {"/console/%00", false},
    {"/console/%7f", false},
    {"/console/\x01", false},
};

// SIGN-2
TEST(ReturnPath, IsAPathOfTheConsole) {
  for (const Line& line : kTable)
    EXPECT_EQ(safe_return_path("/console", line.text), line.is_kept ? line.text : "/console/") << line.text;
}

// SIGN-2
TEST(ReturnPath, HasAtMost500Bytes) {
  const std::string longest = "/console/" + std::string(491, 'a');
  EXPECT_EQ(safe_return_path("/console", longest), longest);
  EXPECT_EQ(safe_return_path("/console", longest + "a"), "/console/");
}

// SIGN-2
TEST(ReturnPath, IsBelowThePathOfAdminUrl) {
  EXPECT_EQ(safe_return_path("/gifts/console", "/gifts/console/audit"), "/gifts/console/audit");
  EXPECT_EQ(safe_return_path("/gifts/console", "/console/audit"), "/gifts/console/");
  EXPECT_EQ(safe_return_path("/gifts/console", "/gifts/console/../x"), "/gifts/console/");
}

}  // namespace
}  // namespace giftsync::identity
