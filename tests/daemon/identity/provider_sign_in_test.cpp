// The sign-in from the e-mail form to the session, over a store and a provider in this process: which browser
// finishes it, whose user it becomes, and what an attacker gets.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/identity/sign_in_pages.h"
#include "tests/daemon/identity/oidc/fake_provider.h"
#include "tests/support/temporary_store.h"

namespace giftsync::identity {
namespace {
using store::AuditEvent;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using tests::FakeProvider;

constexpr const char* kAdmin = "https://gifts.example.com";
constexpr const char* kRefused = "https://gifts.example.com/console/sign-in?refused=1";
constexpr const char* kNoRole = "https://gifts.example.com/console/sign-in?no_role=1";

std::string header_of(const http::HttpResponse& response, const std::string& name, std::size_t skip = 0) {
  for (const auto& [one, value] : response.headers)
    if (one == name && skip-- == 0) return value;
  return {};
}

/// A browser with the cookie of an attempt.
struct Browser {
  std::string cookie = {};
  std::string client = "192.0.2.7";

  http::HttpRequest get(const std::string& url) const {
    http::HttpRequest request;
    request.method = "GET";
    request.path = "/";
    request.query = url.substr(std::min(url.find('?') + 1, url.size()));
    request.client = client;
    request.request_id = "request-1";
    if (!cookie.empty()) request.headers.emplace("Cookie", "other=1; " + cookie + "; last=2");
    return request;
  }
};

class ProviderSignInTest : public ::testing::Test {
 protected:
  ProviderSignInTest() {
    sso_.auth_url = "https://login.example.com";
    sso_.connections = {provider_.connection(), other_.connection("other")};
    sso_.connections[1].domains = {"other.com"};
    policy_.first_roles = [this](const std::string&) { return first_roles_; };
    policy_.crm_roles = [this](const std::string&) { return crm_roles_; };
    store_->console_users.create({.email = "rose@acme.com", .roles = {{.role = Role::admin}}}, {});
  }

  SignInPages& pages() {
    if (pages_) return *pages_;
    sign_in_ = std::make_unique<ProviderSignIn>(
        sso_, *store_,
        [this](const HttpRequest& request, const std::string& ca_file) {
          return (request.url.starts_with(other_.issuer) ? other_ : provider_).send()(request, ca_file);
        },
        policy_);
    SignInPageOptions options{kAdmin, [this] { return now_; },
                              [this](const http::HttpRequest&, const SignInView& view) {
                                view_ = view;
                                return http::text_response(200, "text/html", "");
                              },
                              [this](const http::HttpRequest&, const SignedIn& signed_in) {
                                sessions_.push_back(signed_in);
                                return std::string("session=1");
                              }};
    pages_ = std::make_unique<SignInPages>(sso_, *sign_in_, std::move(options));
    return *pages_;
  }

  /// Begins a sign-in; the URL of the provider.
  std::string start(Browser& browser, const std::string& connection = "acme",
                    const std::string& return_path = "/console/gifts?status=opened") {
    const auto response =
        pages().start(browser.get("?connection=" + connection + "&return=" + percent_encoded(return_path)));
    EXPECT_EQ(response.status, 303);
    const std::string cookie = header_of(response, "Set-Cookie");
    browser.cookie = cookie.substr(0, cookie.find(';'));
    return header_of(response, "Location");
  }
  /// The provider's reply comes back; the URL to which the browser is sent.
  std::string reply(const Browser& browser, const std::string& query,
                    const std::string& connection = "acme") {
    return header_of(pages().callback(browser.get("?connection=" + connection + "&" + query)), "Location");
  }
  std::string finish(const Browser& browser, const std::string& url) {
    return header_of(pages().finish(browser.get(url)), "Location");
  }
  /// A whole sign-in; the page at which it ends.
  std::string sign_in() {
    Browser browser;
    return finish(browser, reply(browser, provider_.authorize(start(browser))));
  }
  std::string last_rule() {
    const auto events = store_->audit.list(store::Viewer::of_command_line(), {.action = "sign-in"}, 1);
    return events.empty() ? "" : events.front().rule;
  }

  tests::TemporaryStore store_;
  FakeProvider provider_;
  FakeProvider other_{"https://idp.other.com"};
  config::SsoSettings sso_;
  SignInPolicy policy_;
  UtcMillis now_ = tests::kSignInTime;
  std::vector<store::UserRole> first_roles_;
  std::optional<std::vector<store::UserRole>> crm_roles_;
  std::unique_ptr<ProviderSignIn> sign_in_;
  std::unique_ptr<SignInPages> pages_;
  SignInView view_;
  std::vector<SignedIn> sessions_;
};

// SIGN-1
TEST_F(ProviderSignInTest, LeadsBackToThePageThatWasWanted) {
  Browser browser;
  const auto started = pages().start(browser.get("?connection=acme&return=%2Fconsole%2Fgifts"));
  EXPECT_THAT(header_of(started, "Set-Cookie"),
              AllOf(StartsWith("__Host-giftsync_signin="),
                    HasSubstr("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure")));
  EXPECT_EQ(sign_in(), "/console/gifts?status=opened");
  ASSERT_EQ(sessions_.size(), 1u);
  EXPECT_EQ(sessions_[0].user.address, "rose@acme.com");
  EXPECT_EQ(sessions_[0].authenticated_at, now_ - 5'000) << "auth_time";
  EXPECT_TRUE(store_->user_identities.find("acme", "", "user-1"));
  EXPECT_EQ(sign_in(), "/console/gifts?status=opened") << "linked already";
  EXPECT_TRUE(store_->sign_in_connections.list().at(0).last_success_at.has_value());
}

// SIGN-14: while the provider of one connection holds its threads, further ones are refused at once, and
// other connections sign in.
TEST_F(ProviderSignInTest, AProviderThatHangsStopsNoOtherConnection) {
  constexpr const char* kUnavailable = "https://gifts.example.com/console/sign-in?unavailable=1";
  std::vector<Browser> browsers(ProviderPlaces::kOfOne + 1);
  std::vector<std::string> replies;
  for (Browser& browser : browsers) replies.push_back(provider_.authorize(start(browser)));
  std::size_t asked = 0;
  std::string refused;
  std::string refused_start;
  std::string others;
  // The token endpoint does not answer before the next reply has come.
  provider_.tamper = [&](const std::string& url, HttpResponse&) {
    if (!url.ends_with("/token")) return;
    const std::size_t depth = ++asked;
    const std::string location = reply(browsers[depth], replies[depth]);
    if (depth < ProviderPlaces::kOfOne) return;
    refused = location;
    Browser late;
    refused_start = start(late);
    others = start(late, "other");
  };
  reply(browsers[0], replies[0]);
  EXPECT_EQ(asked, static_cast<std::size_t>(ProviderPlaces::kOfOne));
  EXPECT_EQ(refused, kUnavailable);
  EXPECT_EQ(refused_start, kUnavailable);
  EXPECT_THAT(others, StartsWith("https://idp.other.com/auth?"));
  provider_.tamper = {};
  EXPECT_EQ(finish(browsers.back(), reply(browsers.back(), replies.back())), "/console/gifts?status=opened")
      << "nothing of the refused reply was used up";
}

// SIGN-14
TEST(ProviderPlaces, AllProvidersTogetherLeaveThreadsForOthers) {
  ProviderPlaces places;
  std::vector<ProviderPlaces::Place> held;
  for (int i = 0; i < ProviderPlaces::kOfAll; ++i) {
    held.push_back(places.try_take("connection-" + std::to_string(i)));
    EXPECT_TRUE(held.back());
  }
  EXPECT_FALSE(places.try_take("another"));
  held.pop_back();
  EXPECT_TRUE(places.try_take("another"));
}

// CON-45
TEST_F(ProviderSignInTest, TheTimeOfAProofIsTheProvidersWordAndNotLaterThanNow) {
  provider_.claims["auth_time"] = now_.value / 1000 + 3'600;
  sign_in();
  EXPECT_EQ(sessions_.back().authenticated_at, now_);
  provider_.claims.erase("auth_time");
  sign_in();
  EXPECT_EQ(sessions_.back().authenticated_at, UtcMillis{0});
  EXPECT_EQ(sessions_.size(), 2u);
}

// SIGN-1: login CSRF, session fixation, replay.
TEST_F(ProviderSignInTest, IsFinishedOnceByTheBrowserThatBegan) {
  Browser victim;
  Browser attacker;
  const std::string attackers = reply(attacker, provider_.authorize(start(attacker)));
  start(victim);
  EXPECT_EQ(finish(victim, attackers), kRefused) << "with the cookie of another sign-in";
  EXPECT_EQ(finish(Browser(), attackers), kRefused) << "without a cookie";
  EXPECT_EQ(finish(attacker, attackers), "/console/gifts?status=opened");
  EXPECT_EQ(finish(attacker, attackers), kRefused) << "twice";
  EXPECT_EQ(sessions_.size(), 1u);

  Browser twice = attacker;
  twice.cookie += "; " + attacker.cookie;
  const std::string doubled = reply(twice, provider_.authorize(start(attacker)));
  twice.cookie = attacker.cookie + "; " + attacker.cookie;
  EXPECT_EQ(finish(twice, doubled), kRefused) << "two cookies of the name";
}

// OIDC-2, SIGN-1
TEST_F(ProviderSignInTest, AStateIsUsedOnceAndInTime) {
  Browser browser;
  const std::string query = provider_.authorize(start(browser));
  const std::string url = reply(browser, query);
  EXPECT_THAT(url, StartsWith("https://gifts.example.com/console/sign-in/finish?attempt=acme."));
  EXPECT_EQ(reply(browser, query), kRefused) << "the same reply again";
  EXPECT_EQ(reply(browser, "code=x&state=acme.unknown"), kRefused);
  EXPECT_EQ(reply(browser, "code=x"), kRefused);
  now_ = now_ + kFinishMillis + 1;
  EXPECT_EQ(finish(browser, url), kRefused) << "the browser comes back too late";
  const std::string late = provider_.authorize(start(browser));
  now_ = now_ + kAttemptMillis + 1;
  EXPECT_EQ(reply(browser, late), kRefused);
  EXPECT_TRUE(sessions_.empty());
}

// SIGN-3: mix-up of two providers.
TEST_F(ProviderSignInTest, AReplyBelongsToItsConnectionAndItsUrl) {
  Browser browser;
  EXPECT_EQ(reply(browser, provider_.authorize(start(browser)), "other"), kRefused);
  const std::string query = provider_.authorize(start(browser));
  EXPECT_EQ(header_of(pages().callback(browser.get("?" + query)), "Location"), kRefused)
      << "at the URL of all connections";
  const std::string others = other_.authorize(start(browser, "other"));
  EXPECT_EQ(reply(browser, others, "acme"), kRefused);
  EXPECT_EQ(provider_.requests["https://idp.acme.com/token"] + other_.requests["https://idp.other.com/token"],
            0)
      << "no code was sent anywhere";
  sso_.connections[0].redirect_to_login = true;
  pages_.reset();
  const std::string url = start(browser);
  EXPECT_THAT(url, HasSubstr("redirect_uri=https%3A%2F%2Flogin.example.com%2Flogin%2Fcallback&"));
  EXPECT_THAT(header_of(pages().callback(browser.get("?" + provider_.authorize(url))), "Location"),
              HasSubstr("/console/sign-in/finish?attempt="));
}

// OIDC-2: mix-up of two providers at the URL of all connections.
TEST_F(ProviderSignInTest, AnIssuerTellsProvidersApartAtOneUrl) {
  for (config::SsoConnectionSettings& one : sso_.connections) one.redirect_to_login = true;
  Browser browser;
  const std::string url = start(browser, "other");
  const std::size_t state = url.find("&state=") + 1;
  const std::string query = "?code=x&" + url.substr(state, url.find('&', state) - state);
  const auto refused = pages().callback(browser.get(query + "&iss=https%3A%2F%2Fidp.acme.com"));
  EXPECT_EQ(header_of(refused, "Location"), kRefused);
  EXPECT_EQ(last_rule(), "OIDC-2");
  EXPECT_EQ(other_.requests["https://idp.other.com/token"], 0) << "no code was sent anywhere";
}

// SIGN-4: an address that has passed to another person.
TEST_F(ProviderSignInTest, ARecycledAddressIsRefused) {
  sign_in();
  provider_.claims["sub"] = "user-2";
  EXPECT_EQ(sign_in(), kRefused);
  EXPECT_EQ(last_rule(), "SIGN-4");
  const auto user = store_->console_users.find_by_email("rose@acme.com");
  store_->user_identities.unlink(user->id, "acme", {});
  EXPECT_EQ(sign_in(), "/console/gifts?status=opened");
  provider_.claims["sub"] = "user-1";
  EXPECT_EQ(sign_in(), kRefused) << "the former subject";
}

// SIGN-4: the subject is the identity, its address may change; an address of another domain links no user.
TEST_F(ProviderSignInTest, TheAddressLinksOnlyOnce) {
  provider_.claims["email"] = "rose@other.com";
  store_->console_users.create({.email = "rose@other.com", .roles = {{.role = Role::admin}}}, {});
  EXPECT_EQ(sign_in(), kRefused);
  EXPECT_EQ(last_rule(), "SIGN-4");
  provider_.claims["email"] = "rose@acme.com";
  sign_in();
  provider_.claims["email"] = "married@acme.com";
  EXPECT_EQ(sign_in(), "/console/gifts?status=opened");
  EXPECT_EQ(sessions_.back().user.address, "rose@acme.com");
}

// SIGN-5
TEST_F(ProviderSignInTest, OnlyAnActiveUserWithARoleSignsIn) {
  const auto rose = store_->console_users.find_by_email("rose@acme.com");
  store_->console_users.set_active(rose->id, false, {});
  EXPECT_EQ(sign_in(), kRefused);
  EXPECT_EQ(last_rule(), "SIGN-5");
  store_->console_users.set_active(rose->id, true, {});
  store_->console_users.revoke(rose->id, Role::admin, {});
  EXPECT_EQ(sign_in(), kNoRole);
  provider_.claims.update({{"email", "new@acme.com"}, {"sub", "user-9"}});
  EXPECT_EQ(sign_in(), kNoRole) << "no user";
  EXPECT_FALSE(store_->console_users.find_by_email("new@acme.com").has_value());
  first_roles_ = {{.role = Role::sender, .origin = RoleOrigin::crm, .granted_by = "Standard_User"}};
  EXPECT_EQ(sign_in(), "/console/gifts?status=opened");
  EXPECT_TRUE(store_->console_users.find_by_email("new@acme.com").has_value());
  EXPECT_TRUE(sessions_.size() == 1);
}

// SIGN-10
TEST_F(ProviderSignInTest, ASignInGivesTheRolesOfTheCrm) {
  const auto roles = [this](const std::string& email) {
    return store_->console_users.find_by_email(email)->role_set();
  };
  const std::vector<store::UserRole> sender{{Role::sender, RoleOrigin::crm, "Standard_User"}};
  crm_roles_ = sender;
  sign_in();
  EXPECT_EQ(roles("rose@acme.com"), (RoleSet{Role::sender, Role::admin})) << "beside the grant";
  crm_roles_.reset();
  sign_in();
  EXPECT_EQ(roles("rose@acme.com"), (RoleSet{Role::sender, Role::admin})) << "the CRM is away";
  crm_roles_ = std::vector<store::UserRole>();
  sign_in();
  EXPECT_EQ(roles("rose@acme.com"), RoleSet{Role::admin});
  EXPECT_EQ(sessions_.size(), 3U);
  provider_.claims.update({{"email", "new@acme.com"}, {"sub", "user-9"}});
  EXPECT_EQ(sign_in(), kNoRole);
  crm_roles_ = sender;
  EXPECT_EQ(sign_in(), "/console/gifts?status=opened");
  EXPECT_EQ(roles("new@acme.com"), RoleSet{Role::sender});
  crm_roles_->clear();
  EXPECT_EQ(sign_in(), kNoRole) << "the CRM has taken the only role away";
  EXPECT_EQ(last_rule(), "SIGN-5");
}

// SIGN-16
TEST_F(ProviderSignInTest, ASignInGivesTheRolesOfTheGroups) {
  const auto roles = [this](const std::string& email) {
    std::string text;
    const auto user = store_->console_users.find_by_email(email).value();
    for (const store::UserRole& one : user.roles)
      text.append(to_word(one.role))
          .append(" ")
          .append(to_word(one.origin))
          .append(" ")
          .append(one.granted_by) += ";";
    return text;
  };
  sso_.connections[0].groups = {
      {"Approvers", "approver"}, {"Leads", "approver"}, {"Auditors", "auditor"}, {"Admins", "admin"}};
  const std::string own = "admin granted ;";
  provider_.claims["groups"] = {"Leads", "Approvers", "Sales"};
  EXPECT_EQ(sign_in(), "/console/gifts?status=opened");
  EXPECT_EQ(roles("rose@acme.com"), own + "approver group Approvers;") << "beside the grant";
  provider_.claims["groups"] = {"Auditors", "Admins"};
  sign_in();
  EXPECT_EQ(roles("rose@acme.com"), own + "admin group Admins;auditor group Auditors;");
  const auto events =
      store_->audit.list(store::Viewer::of_command_line(), {.action = "user.group-roles"}, 10);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].detail, "now admin, auditor, before approver");
  EXPECT_EQ(events[0].actor + " " + std::string(to_word(events[0].actor_kind)), "connection acme system");
  sign_in();
  EXPECT_EQ(store_->audit.list(store::Viewer::of_command_line(), {.action = "user.group-roles"}, 10).size(),
            2U)
      << "nothing has changed";
  provider_.claims.erase("groups");
  EXPECT_EQ(sign_in(), "/console/gifts?status=opened") << "with the role that was granted";
  EXPECT_EQ(roles("rose@acme.com"), own);
  store_->console_users.revoke(store_->console_users.find_by_email("rose@acme.com")->id, Role::admin, {});
  provider_.claims["groups"] = {"Approvers"};
  EXPECT_EQ(sign_in(), "/console/gifts?status=opened");
  provider_.claims["groups"] = {"Sales"};
  EXPECT_EQ(sign_in(), kNoRole) << "the user has left the last group";
  EXPECT_EQ(last_rule(), "SIGN-5");
  EXPECT_EQ(roles("rose@acme.com"), "");
}

// SIGN-16, SIGN-4, SIGN-11
TEST_F(ProviderSignInTest, APersonWhoIsRefusedChangesNoRoles) {
  sso_.connections[0].groups = {{"Approvers", "approver"}, {"Auditors", "auditor"}};
  provider_.claims["groups"] = {"Approvers"};
  EXPECT_EQ(sign_in(), "/console/gifts?status=opened");
  const RoleSet before{Role::admin, Role::approver};
  provider_.claims.update({{"sub", "user-2"}, {"groups", {"Auditors"}}});
  EXPECT_EQ(sign_in(), kRefused) << "the address has passed to another person";
  EXPECT_EQ(last_rule(), "SIGN-4");
  EXPECT_EQ(store_->console_users.find_by_email("rose@acme.com")->role_set(), before);
  store::Credential token;
  token.hash = "a";
  store_->organizations.create("Acme", token);
  sso_.connections[0].organization = "acme";
  provider_.claims["sub"] = "user-1";
  EXPECT_EQ(sign_in(), kRefused) << "rose sees all organizations";
  EXPECT_EQ(last_rule(), "SIGN-11");
  EXPECT_EQ(store_->console_users.find_by_email("rose@acme.com")->role_set(), before);
  EXPECT_EQ(store_->audit.list(store::Viewer::of_command_line(), {.action = "user.group-roles"}, 10).size(),
            1U);
}

// SIGN-16, SIGN-5
TEST_F(ProviderSignInTest, AGroupMakesAUserAndAConnectionWithoutGroupsNone) {
  provider_.claims.update({{"email", "new@acme.com"}, {"sub", "user-9"}, {"groups", {"Approvers"}}});
  EXPECT_EQ(sign_in(), kNoRole);
  EXPECT_FALSE(store_->console_users.find_by_email("new@acme.com"));
  sso_.connections[0].groups = {{"Approvers", "approver"}};
  EXPECT_EQ(sign_in(), "/console/gifts?status=opened");
  EXPECT_EQ(store_->console_users.find_by_email("new@acme.com")->role_set(), RoleSet{Role::approver});
  sso_.connections[0].groups.clear();
  EXPECT_EQ(sign_in(), kNoRole) << "the setting gives no role any more";
}

// SIGN-11
TEST_F(ProviderSignInTest, AConnectionsOrganizationIsThatOfItsUsers) {
  first_roles_ = {{.role = Role::admin}};
  sso_.connections[0].organization = "acme";
  EXPECT_EQ(sign_in(), kRefused) << "there is none of that name";
  EXPECT_EQ(last_rule(), "SIGN-11");
  store::Credential token;
  token.hash = "a";
  const auto acme = store_->organizations.create("Acme", token);
  token.hash = "b";
  const auto other = store_->organizations.create("Other", token);
  EXPECT_EQ(sign_in(), kRefused) << "rose sees all organizations";
  EXPECT_EQ(last_rule(), "SIGN-11");
  EXPECT_FALSE(store_->user_identities.find("acme", "", "user-1"));
  provider_.claims.update({{"email", "new@acme.com"}, {"sub", "user-9"}});
  EXPECT_EQ(sign_in(), "/console/gifts?status=opened");
  EXPECT_EQ(store_->console_users.find_by_email("new@acme.com")->organization, acme);
  EXPECT_EQ(sessions_.back().audit.organization, acme) << "its auditors see the sign-in";
  sso_.connections[0].organization = "Other";
  EXPECT_EQ(sign_in(), kRefused) << "linked, and of another organization";
  sso_.connections[0].organization.clear();
  store::Account account;
  account.email = "third@acme.com";
  account.plan = Plan::enterprise;
  account.organization = other;
  store_->accounts.create(account);
  provider_.claims.update({{"email", "third@acme.com"}, {"sub", "user-10"}});
  EXPECT_EQ(sign_in(), "/console/gifts?status=opened");
  EXPECT_EQ(store_->console_users.find_by_email("third@acme.com")->organization, other) << "the account's";
}

// SIGN-5
TEST_F(ProviderSignInTest, AnAccountOfAnotherPlanSignsInByLinkOnly) {
  store::Account account;
  account.email = "rose@acme.com";
  account.plan = Plan::team;
  store_->accounts.create(account);
  EXPECT_EQ(sign_in(), kRefused);
  EXPECT_EQ(last_rule(), "SIGN-5");
  store_->accounts.set_plan("rose@acme.com", Plan::enterprise);
  EXPECT_EQ(sign_in(), "/console/gifts?status=opened");
  first_roles_ = {{.role = Role::sender}};
  account.email = "new@acme.com";
  store_->accounts.create(account);
  provider_.claims.update({{"email", "new@acme.com"}, {"sub", "user-9"}});
  EXPECT_EQ(sign_in(), kRefused);
  EXPECT_EQ(last_rule(), "SIGN-5");
  EXPECT_FALSE(store_->console_users.find_by_email("new@acme.com")) << "no user is left behind";
  const store::AuditFilter created{.action = "user.create"};
  for (const AuditEvent& one : store_->audit.list(store::Viewer::of_command_line(), created, 10))
    EXPECT_NE(one.object_id, "new@acme.com");
  store_->accounts.set_plan("new@acme.com", Plan::enterprise);
  EXPECT_EQ(sign_in(), "/console/gifts?status=opened");
}

// OIDC-9: the directory of the first sign-in is kept.
TEST_F(ProviderSignInTest, AnotherDirectoryIsRefused) {
  const std::string tenant = "11111111-2222-3333-4444-555555555555";
  FakeProvider directory("https://login.example.net/" + tenant + "/v2.0");
  sso_.authority = "https://login.example.net";
  sso_.connections = {directory.connection("acme")};
  sso_.connections[0].kind = config::SsoKind::directory;
  sso_.connections[0].domain = "acme.com";
  directory.claims.update({{"tid", tenant}, {"oid", "o"}, {"preferred_username", "rose@acme.com"}});
  provider_ = directory;
  store_->sign_in_connections.pin_tenant("acme", "99999999-2222-3333-4444-555555555555");
  EXPECT_EQ(sign_in(), kRefused);
  EXPECT_EQ(last_rule(), "OIDC-9");
}

// SIGN-6
TEST_F(ProviderSignInTest, EveryRefusalLooksTheSame) {
  provider_.claims["aud"] = "other";
  Browser browser;
  const auto refused =
      pages().callback(browser.get("?connection=acme&" + provider_.authorize(start(browser))));
  const auto unknown = pages().callback(browser.get("?connection=acme&code=x&state=acme.x"));
  EXPECT_EQ(refused.headers, unknown.headers);
  EXPECT_EQ(refused.body + std::to_string(refused.status), unknown.body + std::to_string(unknown.status));
  EXPECT_EQ(last_rule(), "OIDC-5");
  const auto events = store_->audit.list(store::Viewer::of_command_line(), {.action = "sign-in"}, 10);
  EXPECT_EQ(events.size(), 1u) << "replies without a sign-in do not fill the audit log";
  EXPECT_THAT(events[0].detail, Not(HasSubstr("code-1")));
  EXPECT_EQ(events[0].network, "192.0.2.7");
  EXPECT_THAT(store_->sign_in_connections.list().at(0).last_error, StartsWith("OIDC-5: "));

  other_.tamper = [](const std::string&, HttpResponse& response) { response = {}; };
  EXPECT_EQ(header_of(pages().start(browser.get("?connection=other")), "Location"),
            "https://gifts.example.com/console/sign-in?unavailable=1");
  EXPECT_EQ(header_of(pages().start(browser.get("?connection=unknown")), "Location"), kRefused);
}

// SIGN-6
TEST_F(ProviderSignInTest, SpoiledSignInsDoNotFillTheAuditLog) {
  const auto spoil = [this](Browser browser) {
    const std::string url = start(browser);
    const std::size_t state = url.find("&state=") + 1;
    reply(browser, "error=access_denied&" + url.substr(state, url.find('&', state) - state));
  };
  const auto refusals = [this] {
    return static_cast<std::int64_t>(
        store_->audit.list(store::Viewer::of_command_line(), {.action = "sign-in"}, 100).size());
  };
  for (int i = 0; i < ProviderSignIn::kMaxAuditedRefusals + 5; ++i) spoil(Browser());
  EXPECT_EQ(refusals(), ProviderSignIn::kMaxAuditedRefusals);
  spoil(Browser{.client = "198.51.100.1"});
  EXPECT_EQ(refusals(), ProviderSignIn::kMaxAuditedRefusals + 1) << "of another network";
  now_ = now_ + kMinuteMillis;
  spoil(Browser());
  EXPECT_EQ(refusals(), ProviderSignIn::kMaxAuditedRefusals + 2);
}

// SIGN-7
TEST_F(ProviderSignInTest, ANetworkIsLimited) {
  Browser browser;
  for (int i = 0; i < SignInPages::kMaxRequestsPerMinute; ++i) reply(browser, "code=x&state=x");
  EXPECT_EQ(pages().start(browser.get("?connection=acme")).status, 429);
  EXPECT_EQ(pages().callback(browser.get("?code=x")).status, 429);
  Browser other{.client = "198.51.100.1"};
  EXPECT_EQ(pages().start(other.get("?connection=acme")).status, 303);
  now_ = now_ + kMinuteMillis;
  EXPECT_EQ(pages().start(browser.get("?connection=acme")).status, 303);
}

// SIGN-13
TEST_F(ProviderSignInTest, BegunSignInsAreBounded) {
  const auto start_from = [this](const std::string& client, const std::string& connection = "acme") {
    return pages().start(Browser{.client = client}.get("?connection=" + connection)).status;
  };
  const auto network = [](const std::string& site, int number) {
    return fmt::format("2001:db8:{}:{:x}::1", site, number);
  };
  for (int i = 0; i < SignInPages::kMaxStartsPerMinute; ++i) EXPECT_EQ(start_from(network("1", i)), 303);
  EXPECT_EQ(start_from(network("1", 0xffff)), 429) << "a /64 of its own, of the same /48";
  EXPECT_EQ(pages().callback(Browser{.client = network("1", 1)}.get("?code=x")).status, 303)
      << "what has begun goes on";
  EXPECT_EQ(start_from(network("2", 1)), 303);
  EXPECT_EQ(start_from("198.51.100.1"), 303);
  for (std::int64_t i = SignInPages::kMaxStartsPerMinute + 2; i < SignInPages::kMaxAllStartsPerMinute; ++i)
    EXPECT_EQ(start_from(fmt::format("10.0.{}.{}", i / 200, i % 200), "none"), 303) << i;
  EXPECT_EQ(start_from("198.51.100.2"), 429) << "of all networks together";
  now_ = now_ + kMinuteMillis;
  EXPECT_EQ(start_from("198.51.100.2"), 303);
}

// HTTP-44, HTTP-47, SIGN-6
TEST_F(ProviderSignInTest, TheFormFindsTheConnectionByDomain) {
  Browser browser;
  const auto post = [&](const std::string& body) {
    http::HttpRequest request = browser.get("");
    request.method = "POST";
    request.body = body;
    return pages().form(request);
  };
  const auto known = post("email=Rose%40ACME.com&return=%2Fconsole%2Fgifts");
  EXPECT_EQ(header_of(known, "Refresh"),
            "0; url=/console/sign-in/start?connection=acme&return=%2Fconsole%2Fgifts");
  EXPECT_EQ(view_.start_path, "/sign-in/start?connection=acme&return=%2Fconsole%2Fgifts");
  const auto unknown = post("email=rose%40nowhere.com");
  EXPECT_EQ(header_of(unknown, "Refresh"), "");
  EXPECT_TRUE(view_.is_unknown);
  pages().form(browser.get("?refused=1&return=https://evil.example"));
  EXPECT_TRUE(view_.is_refused);
  EXPECT_EQ(view_.return_path, "/console/");
}

TEST(VerifiedIdentityText, ReadsWhatItWrites) {
  const VerifiedIdentity identity{"acme", "s\"\n", "t", "a@b", "N", UtcMillis{7}};
  const auto read = identity_from_text(to_text(identity));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(to_text(*read), to_text(identity));
  for (const char* bad : {"", "{}", "[]", R"({"connection":"a"})"}) EXPECT_FALSE(identity_from_text(bad));
}

}  // namespace
}  // namespace giftsync::identity
