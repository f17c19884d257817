// Signing in through an identity provider in the console: the page, the way to the provider and back, and the
// session that begins.
#include <gmock/gmock.h>

#include "tests/daemon/console/console_fixture.h"
#include "tests/daemon/identity/oidc/fake_provider.h"

namespace giftsync::daemon::console {
namespace {

using schema::Role;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ConsoleProviderSignIn : public ConsoleFixture {
 protected:
  ConsoleProviderSignIn() {
    sso_.auth_url = "https://login.example.com";
    sso_.connections = {provider_.connection()};
    options_.provider_sign_in = &sign_in_;
    options_.sso = &sso_;
    console_ = std::make_unique<Console>(store_, options_);
  }
  /// A request with the attempt's cookie beside the session's.
  http::HttpResponse get_with_attempt(const std::string& path) {
    http::HttpRequest made = request("GET", path);
    made.headers.erase("Cookie");
    made.headers.emplace("Cookie", attempt_ + "; __Host-giftsync_session=" + cookie_);
    return send(made);
  }
  /// Goes to the provider and back; the path with which the browser comes to the console.
  std::string come_back(const std::string& path) {
    const http::HttpResponse started = console_->handle(request("GET", path)).wait();
    const std::string set = header(started, "Set-Cookie");
    attempt_ = set.substr(0, set.find(';'));
    http::HttpRequest reply =
        request("GET", "/login/callback?connection=acme&" + provider_.authorize(header(started, "Location")));
    reply.headers.erase("Host");
    reply.headers.emplace("Host", "login.example.com");
    const std::string url = header(console_->provider_reply(reply), "Location");
    EXPECT_THAT(url, StartsWith("https://admin.example.com/console/"));
    return url.substr(std::string("https://admin.example.com").size());
  }

  tests::FakeProvider provider_;
  config::SsoSettings sso_;
  identity::ProviderSignIn sign_in_{sso_, store_, provider_.send(), {}};
  std::string attempt_;
};

// SIGN-1, SIGN-8, CON-1
TEST_F(ConsoleProviderSignIn, EndsInASessionAtTheWantedPage) {
  const schema::UserId rose = user("rose@acme.com", {Role::operations});
  EXPECT_THAT(get("/console/sign-in?return=/console/gifts").body,
              AllOf(HasSubstr("name=\"email\""), HasSubstr("value=\"/console/gifts\"")));
  const auto chosen = post("/console/sign-in", "email=rose%40acme.com&return=%2Fconsole%2Fgifts");
  const std::string refresh = header(chosen, "Refresh");
  ASSERT_THAT(refresh, StartsWith("0; url=/console/sign-in/start?connection=acme"));
  EXPECT_THAT(chosen.body, HasSubstr("href=\"/console/sign-in/start?connection=acme"));
  const std::string back = come_back(refresh.substr(7));
  cookie_ = "a-cookie-that-was-there-before";
  const auto finished = get_with_attempt(back);
  EXPECT_EQ(finished.status, 303);
  EXPECT_EQ(header(finished, "Location"), "/console/gifts");
  EXPECT_NE(cookie_, "a-cookie-that-was-there-before");
  EXPECT_EQ(get("/console/gifts").status, 200);
  EXPECT_THAT(get("/console/").body, Not(HasSubstr("signed in by a link")));
  const auto sessions = store_.console_sessions.list(schema::store::Viewer::of_command_line(), now_);
  ASSERT_EQ(sessions.size(), 1u);
  EXPECT_EQ(sessions[0].user, rose);
  EXPECT_TRUE(sessions[0].identity.has_value());
  EXPECT_EQ(sessions[0].expires_at, now_ + 12 * platform::kHourMillis);
  get_with_attempt(come_back("/console/sign-in/start?connection=acme"));
  EXPECT_EQ(get("/console/gifts").status, 200);
  EXPECT_EQ(store_.console_sessions.list(schema::store::Viewer::of_command_line(), now_).size(), 1u)
      << "the browser's former session has ended";
  sign_in(rose);
  get_with_attempt(come_back("/console/sign-in/start?connection=acme"));
  EXPECT_EQ(store_.console_sessions.list(schema::store::Viewer::of_command_line(), now_).size(), 2u)
      << "and so has the one of a link";
  store_.user_identities.unlink(rose, "acme", {});
  EXPECT_EQ(get("/console/gifts").status, 303) << "its sessions end with the identity";
}

// SIGN-12
TEST_F(ConsoleProviderSignIn, ALinkAfterItsPageLeadsToTheWantedPageToo) {
  get(header(get("/console/requests/R-1"), "Location"));
  const std::string link = "/console/link/" + link_for(user("ana@example.com", {Role::operations}));
  EXPECT_EQ(header(post(link), "Location"), "/console/requests/R-1");
}

// SIGN-12
TEST_F(ConsoleProviderSignIn, ASignOutForgetsThePageThatWasWantedBefore) {
  user("rose@acme.com", {Role::sender});
  get(header(get("/console/gifts?recipient=ada%40example.com"), "Location"));
  get_with_attempt(come_back("/console/sign-in/start?connection=acme"));
  ASSERT_EQ(other_cookies_.count("__Host-giftsync_session_return"), 1u) << "the provider has its own";
  post("/console/sign-out", "form_token=" + form_token_in(get("/console/").body, "/console/sign-out"));
  EXPECT_EQ(other_cookies_.count("__Host-giftsync_session_return"), 0u);
  const std::string link = "/console/link/" + link_for(user("ana@example.com", {Role::operations}));
  EXPECT_EQ(header(post(link), "Location"), "/console/");
}

// SIGN-6
TEST_F(ConsoleProviderSignIn, ARefusalIsOneSentence) {
  user("rose@acme.com", {Role::sender});
  provider_.claims["iss"] = "https://evil.example";
  const std::string back = come_back("/console/sign-in/start?connection=acme");
  EXPECT_EQ(back, "/console/sign-in?refused=1");
  EXPECT_THAT(get(back).body,
              AllOf(HasSubstr("You could not be signed in."), Not(HasSubstr("evil.example"))));
}

// CON-19: the router would end the process.
TEST_F(ConsoleProviderSignIn, AFaultOfAReplyEndsItsRequestAlone) {
  identity::ProviderSignIn failing(
      sso_, store_,
      [](const platform::HttpRequest&, const std::string&) -> platform::HttpResponse {
        throw std::logic_error("a fault");
      },
      {});
  schema::store::SignInAttempt attempt;
  attempt.id_hash = platform::sha256_hex("acme.state");
  attempt.connection = "acme";
  attempt.created_at = now_;
  store_.sign_in_attempts.create(attempt);
  options_.provider_sign_in = &failing;
  console_ = std::make_unique<Console>(store_, options_);
  const auto reply = request("GET", "/login/callback?connection=acme&code=x&state=acme.state");
  EXPECT_EQ(console_->provider_reply(reply).status, 500);
}

// SIGN-13
TEST_F(ConsoleProviderSignIn, WhatCannotBeFinishedAnyMoreIsDeleted) {
  schema::store::SignInAttempt attempt;
  attempt.connection = "acme";
  attempt.created_at = now_;
  attempt.id_hash = "one";
  store_.sign_in_attempts.create(attempt);
  attempt.id_hash = "two";
  store_.sign_in_attempts.create(attempt);
  const platform::UtcMillis end = now_ + identity::kAttemptMillis + identity::kFinishMillis;
  const auto claim = [&](const std::string& hash) {
    return store_.sign_in_attempts.claim(hash, "acme", now_ - 1, now_).has_value();
  };
  console_->prune(end);
  EXPECT_TRUE(claim("one"));
  console_->prune(end + 1);
  EXPECT_FALSE(claim("two"));
}

// SIGN-8
TEST_F(ConsoleProviderSignIn, IsNotThereWhenItIsOff) {
  options_.provider_sign_in = nullptr;
  console_ = std::make_unique<Console>(store_, options_);
  EXPECT_EQ(get("/console/sign-in/start?connection=acme").status, 404);
  EXPECT_EQ(console_->provider_reply(request("GET", "/login/callback?state=a")).status, 404);
  EXPECT_THAT(get("/console/sign-in").body, Not(HasSubstr("name=\"email\"")));
}

}  // namespace
}  // namespace giftsync::daemon::console
