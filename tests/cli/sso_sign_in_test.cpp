// `sso sign-in-test` against a provider in this process; the test is the person at the browser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <streambuf>

#include "cli/account/sso_commands.h"
#include "tests/daemon/identity/oidc/fake_provider.h"
#include "tests/support/json.h"

namespace giftsync::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using tests::FakeProvider;

/// Standard input that is made when it is read: by then the URL is printed.
class LateInput : public std::streambuf {
 public:
  explicit LateInput(std::function<std::string()> make) : make_(std::move(make)) {}

 private:
  int_type underflow() override {
    if (!text_.empty()) return traits_type::eof();
    text_ = make_() + "\n";
    setg(text_.data(), text_.data(), text_.data() + text_.size());
    return traits_type::to_int_type(text_[0]);
  }
  std::function<std::string()> make_;
  std::string text_;
};

struct Ended {
  int code = 0;
  std::string out;
};

Ended run(
    FakeProvider& provider, bool json,
    const std::function<std::string(std::string)>& paste = [](std::string url) { return url; }) {
  config::SsoSettings sso;
  sso.auth_url = "https://login.example.com";
  std::ostringstream out;
  std::ostringstream err;
  LateInput buffer([&] {
    const std::size_t begin = err.str().find("https://idp.acme.com/auth?");
    const std::string url = err.str().substr(begin, err.str().find('\n', begin) - begin);
    return paste("https://login.example.com/login/callback?connection=acme&" + provider.authorize(url));
  });
  std::istream in(&buffer);
  Console console{out, err, in, false, [] { return tests::kSignInTime; }};
  const int code = sign_in_test(console, sso, provider.connection(), provider.send(), json);
  EXPECT_THAT(out.str() + err.str(), AllOf(Not(HasSubstr("hush")), Not(HasSubstr("access-1"))));
  return {code, out.str()};
}

// OIDC-5
TEST(SignInTestCommand, PrintsEachRuleAndItsVerdict) {
  FakeProvider provider;
  const Ended good = run(provider, false);
  EXPECT_EQ(good.code, 0) << good.out;
  EXPECT_THAT(good.out, AllOf(HasSubstr("OIDC-1   good         "), HasSubstr("OIDC-8   good         "),
                              HasSubstr("subject: user-1\naddress: rose@acme.com\n")));
  provider.claims["iss"] = "https://evil.example";
  const Ended bad = run(provider, true);
  EXPECT_EQ(bad.code, 65);
  const auto json = tests::parse_json(bad.out);
  EXPECT_EQ(json["good"], false);
  EXPECT_EQ(json["rules"].back()["rule"], "OIDC-5");
  EXPECT_EQ(json["rules"].back()["verdict"], "fault");
  EXPECT_TRUE(json["identity"].is_null());
}

// OIDC-2
TEST(SignInTestCommand, TakesTheReplyOfItsOwnSignInOnly) {
  FakeProvider provider;
  for (const char* line : {"", "https://login.example.com/login/callback", "https://x/?code=a&state=b"}) {
    const Ended ended = run(provider, false, [&](std::string) { return line; });
    EXPECT_EQ(ended.code, 65);
    EXPECT_THAT(ended.out, HasSubstr("that of another sign-in"));
  }
  EXPECT_EQ(provider.requests["https://idp.acme.com/token"], 0);
  provider.tamper = [](const std::string&, HttpResponse& response) { response = {}; };
  FakeProvider down = provider;
  EXPECT_EQ(run(down, false).code, 69);
}

// SAML-22: a genuine response is in tests/system/sign_in_test.py.
TEST(SignInTestCommand, ReadsASamlResponseAsItIsOrFromAFormOrAFile) {
  config::SsoSettings sso;
  sso.auth_url = "https://login.example.com";
  config::SsoConnectionSettings connection;
  connection.name = "acme";
  connection.kind = config::SsoKind::saml;
  connection.sign_in_url = "https://idp.example.com/sso";
  const std::string field = "PGE+PC9hPg==";  // <a></a>
  const std::string file = testing::TempDir() + "/saml-response";
  std::ofstream(file) << "SAMLResponse=PGE%2BPC9hPg%3D%3D&RelayState=x\n";
  for (const std::string& line : {field, std::string("RelayState=x&SAMLResponse=PGE%2BPC9hPg%3D%3D"), file}) {
    std::istringstream in(line + "\n");
    std::ostringstream out;
    std::ostringstream err;
    Console console{out, err, in, false, [] { return tests::kSignInTime; }};
    EXPECT_EQ(sign_in_test(console, sso, connection, {}, true), 65);
    const auto rules = tests::parse_json(out.str())["rules"];
    EXPECT_EQ(rules.back()["rule"], "SAML-3") << line << ": it was decoded and read";
    EXPECT_EQ(rules.front()["verdict"], "good");
    EXPECT_THAT(err.str(), HasSubstr("https://idp.example.com/sso?SAMLRequest="));
  }
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace giftsync::cli
