// Signing in through an identity provider in the console: the page, the way to the provider and back, and the
// session that begins.
#include <gmock/gmock.h>

#include "tests/daemon/console/console_fixture.h"
#include "tests/daemon/identity/oidc/fake_provider.h"

namespace giftsync::console {
namespace {
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

  /// What the provider says from now on: when the user proved who they are.
  void authenticated_at(UtcMillis time) {
    provider_.claims["iat"] = now_.value / 1000;
    provider_.claims["exp"] = now_.value / 1000 + 300;
    provider_.claims["auth_time"] = time.value / 1000;
  }
  std::string provider_url(const std::string& path) {
    return header(console_->handle(request("GET", path)).wait(), "Location");
  }
  int purge(const std::string& token) {
    return post(std::string(kSource) + "/purge", "form_token=" + token + "&reason=unknown_status").status;
  }
  store::AuditEvent last_event() {
    return store_.audit.list(store::Viewer::of_command_line(), {}, 1).front();
  }

  static constexpr const char* kSource = "/console/sources/vendor";
  static constexpr const char* kStart = "/console/sign-in/start?connection=acme";
  static constexpr const char* kAgain =
      "/console/sign-in/start?again=1&connection=acme&return=%2Fconsole%2Fsources%2Fvendor";
  tests::FakeProvider provider_;
  config::SsoSettings sso_;
  identity::ProviderSignIn sign_in_{sso_, store_, provider_.send(), {}};
  std::string attempt_;
};

// SIGN-1, SIGN-8, CON-1
TEST_F(ConsoleProviderSignIn, EndsInASessionAtTheWantedPage) {
  const UserId rose = user("rose@acme.com", {Role::operations});
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
  EXPECT_THAT(get("/console/").body, Not(HasSubstr("Link session")));
  const auto sessions = store_.console_sessions.list(store::Viewer::of_command_line(), now_);
  ASSERT_EQ(sessions.size(), 1u);
  EXPECT_EQ(sessions[0].user, rose);
  EXPECT_TRUE(sessions[0].identity.has_value());
  EXPECT_EQ(sessions[0].expires_at, now_ + 12 * kHourMillis);
  get_with_attempt(come_back("/console/sign-in/start?connection=acme"));
  EXPECT_EQ(get("/console/gifts").status, 200);
  EXPECT_EQ(store_.console_sessions.list(store::Viewer::of_command_line(), now_).size(), 1u)
      << "the browser's former session has ended";
  sign_in(rose);
  get_with_attempt(come_back("/console/sign-in/start?connection=acme"));
  EXPECT_EQ(store_.console_sessions.list(store::Viewer::of_command_line(), now_).size(), 2u)
      << "and so has the one of a link";
  store_.user_identities.unlink(rose, "acme", {});
  EXPECT_EQ(get("/console/gifts").status, 303) << "its sessions end with the identity";
}

TEST_F(ConsoleProviderSignIn, AnAddressWithoutAConnectionIsNamedBesideItsField) {
  const auto unknown =
      post("/console/sign-in", "email=bruno%40home.example&return=%2Fconsole%2Frequests%2FR-1");
  EXPECT_THAT(unknown.body,
              AllOf(HasSubstr("No sign-in is set up for home.example"), HasSubstr("aria-invalid=\"true\""),
                    HasSubstr("value=\"bruno@home.example\""), HasSubstr("<details open>"),
                    HasSubstr("You return to request R-1.")));
  EXPECT_THAT(post("/console/sign-in", "email=%3Cb%3E").body,
              AllOf(HasSubstr("This is no e-mail address."), Not(HasSubstr("<b>"))));
  EXPECT_THAT(get("/console/sign-in").body, AllOf(HasSubstr("No company sign-in?"), HasSubstr("<details>"),
                                                  Not(HasSubstr("aria-invalid"))));
}

// CON-45, OIDC-6
TEST_F(ConsoleProviderSignIn, APurgeAsksTheProviderForANewProof) {
  quarantine("vendor", "x");
  user("rose@acme.com", {Role::operations});
  get_with_attempt(come_back(kStart));
  const std::string token = form_token_in(get(kSource).body, std::string(kSource) + "/purge");
  now_ = now_ + kProofMillis;  // the provider's proof is older than the session
  EXPECT_THAT(
      get(kSource).body,
      AllOf(Not(HasSubstr("/purge\"")), Not(HasSubstr("sign-in-link")),
            HasSubstr("href=\"/console/sign-in/start?again=1&amp;connection=acme&amp;return=%2Fconsole%2F"
                      "sources%2Fvendor\">Sign in again to purge</a>")));
  EXPECT_EQ(purge(token), 403);
  EXPECT_EQ(last_event().rule, "CON-45");
  EXPECT_FALSE(store_.sources.count_quarantined("vendor").empty());
  EXPECT_THAT(provider_url(kAgain), HasSubstr("&max_age=0"));
  EXPECT_THAT(provider_url(kStart), Not(HasSubstr("max_age")));

  authenticated_at(now_ - kProofMillis);
  EXPECT_EQ(come_back(kAgain), "/console/sign-in?refused=1") << "the provider ignores max_age";
  EXPECT_EQ(last_event().rule, "OIDC-6");
  provider_.claims.erase("auth_time");
  EXPECT_EQ(come_back(kAgain), "/console/sign-in?refused=1") << "and does not say when it was";
  EXPECT_THAT(last_event().detail, HasSubstr("auth_time"));
  EXPECT_THAT(get("/console/sign-in?refused=1").body,
              AllOf(HasSubstr("You could not be signed in."), HasSubstr("Your former session goes on.")));
  EXPECT_EQ(purge(token), 403);

  authenticated_at(now_);
  EXPECT_EQ(header(get_with_attempt(come_back(kAgain)), "Location"), kSource);
  EXPECT_EQ(purge(token), 403) << "a form of the session that ended";
  EXPECT_EQ(purge(form_token_in(get(kSource).body, std::string(kSource) + "/purge")), 303);
  EXPECT_TRUE(store_.sources.count_quarantined("vendor").empty());
}

// CON-45
TEST_F(ConsoleProviderSignIn, AProofIsOfTheUserWhoGaveItAlone) {
  quarantine("vendor", "x");
  user("rose@acme.com", {Role::operations});
  const UserId ben = user("ben@acme.com", {Role::operations});
  get_with_attempt(come_back(kStart));
  EXPECT_THAT(get(kSource).body, HasSubstr("/purge\""));
  provider_.claims.update({{"sub", "user-2"}, {"email", "ben@acme.com"}});
  authenticated_at(now_ - kProofMillis - 1'000);
  get_with_attempt(come_back(kStart));
  const auto sessions = store_.console_sessions.list(store::Viewer::of_command_line(), now_);
  ASSERT_EQ(sessions.size(), 1u);
  EXPECT_EQ(sessions[0].user, ben);
  EXPECT_THAT(get(kSource).body, AllOf(HasSubstr(">Sign in again to purge<"), Not(HasSubstr("/purge\""))));
  provider_.claims.erase("auth_time");
  get_with_attempt(come_back(kStart));
  EXPECT_THAT(get(kSource).body, HasSubstr(">Sign in again to purge<"))
      << "the provider asked for nothing, as far as is known";
  authenticated_at(now_);
  get_with_attempt(come_back(kAgain));
  EXPECT_THAT(get(kSource).body, HasSubstr("/purge\""));
  sso_.connections.clear();
  now_ = now_ + kProofMillis + 1'000;
  EXPECT_THAT(get(kSource).body, HasSubstr("sign-in-link --user ben@acme.com"))
      << "the connection was taken out of the settings";
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
  get(header(get("/console/gifts?find=ada%40example.com"), "Location"));
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
      [](const HttpRequest&, const std::string&) -> HttpResponse { throw std::logic_error("a fault"); }, {});
  store::SignInAttempt attempt;
  attempt.id_hash = sha256_hex("acme.state");
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
  store::SignInAttempt attempt;
  attempt.connection = "acme";
  attempt.created_at = now_;
  attempt.id_hash = "one";
  store_.sign_in_attempts.create(attempt);
  attempt.id_hash = "two";
  store_.sign_in_attempts.create(attempt);
  const UtcMillis end = now_ + identity::kAttemptMillis + identity::kFinishMillis;
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
}  // namespace giftsync::console
