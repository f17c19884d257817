// The sign-in through a SAML provider from the console's page to the session, over a store and a provider
// that signs in this process: who is signed in, and what an attacker gets.
#include <Poco/InflatingStream.h>
#include <Poco/URI.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "daemon/identity/sign_in_pages.h"
#include "platform/digest.h"
#include "platform/http_client.h"
#include "tests/daemon/identity/saml/test_response.h"
#include "tests/support/temporary_store.h"

namespace giftsync::identity {
namespace {

using saml::Signer;
using saml::TestResponse;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kAdmin = "https://gifts.example.com";
constexpr const char* kRefused = "https://gifts.example.com/console/sign-in?refused=1";
constexpr const char* kOffered = "https://gifts.example.com/console/sign-in?begin=acme";

std::string header_of(const http::HttpResponse& response, const std::string& name) {
  for (const auto& [one, value] : response.headers)
    if (one == name) return value;
  return {};
}

std::string parameter_of(const std::string& url, const std::string& name) {
  for (const auto& [one, value] : Poco::URI(url).getQueryParameters())
    if (one == name) return value;
  return {};
}

std::string request_xml_of(const std::string& url) {
  std::istringstream in(from_base64_text(parameter_of(url, "SAMLRequest")).value_or(""));
  Poco::InflatingInputStream inflating(in, -15);
  return {std::istreambuf_iterator<char>(inflating), {}};
}

std::string request_id_of(const std::string& url) {
  const std::string xml = request_xml_of(url);
  const std::size_t begin = xml.find(" ID=\"") + 5;
  return xml.substr(begin, xml.find('"', begin) - begin);
}

/// A sign-in that has begun, as the provider and the browser know it.
struct Started {
  std::string request_id;
  std::string request_xml;
  std::string relay_state;
  std::string cookie;
};

class SamlFlowTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { signer_ = std::make_shared<Signer>(); }
  static void TearDownTestSuite() { signer_.reset(); }

  SamlFlowTest() {
    const std::string file = testing::TempDir() + "/saml-flow-" + std::to_string(getpid()) + ".pem";
    std::ofstream(file) << signer_->certificate;
    config::SsoConnectionSettings one;
    one.name = "acme";
    one.kind = config::SsoKind::saml;
    one.domains = {"acme.example"};
    one.sign_in_url = "https://idp.example.com/sso";
    one.certificate = file;
    one.provider_entity_id = saml::kProvider;
    sso_.auth_url = "https://login.example.com";
    sso_.connections = {one, one};
    sso_.connections[1].name = "other";
    sign_in_ = std::make_unique<ProviderSignIn>(
        sso_, *store_, [](const HttpRequest&, const std::string&) { return HttpResponse(); }, SignInPolicy());
    std::filesystem::remove(file);  // it was read when the settings were
    pages_ = std::make_unique<SignInPages>(
        sso_, *sign_in_,
        SignInPageOptions{kAdmin, [this] { return response_.now; },
                          [this](const http::HttpRequest&, const SignInView& view) {
                            view_ = view;
                            return http::text_response(200, "text/html", "");
                          },
                          [this](const http::HttpRequest&, const SignedIn& signed_in) {
                            sessions_.push_back(signed_in);
                            return std::string("session=1");
                          }});
    store_->console_users.create({.email = "ana@acme.example", .roles = {{.role = Role::sender}}}, {});
  }

  static http::HttpRequest request(const std::string& method, const std::string& query,
                                   const std::string& cookie = "") {
    http::HttpRequest made;
    made.method = method;
    made.path = "/";
    made.query = query;
    made.client = "192.0.2.7";
    if (!cookie.empty()) made.headers.emplace("Cookie", cookie);
    return made;
  }
  Started start(const std::string& more = "") {
    const auto response = pages_->start(request("GET", "connection=acme&return=%2Fconsole%2Fgifts" + more));
    EXPECT_EQ(response.status, 303);
    const std::string url = header_of(response, "Location");
    EXPECT_THAT(url, StartsWith("https://idp.example.com/sso?SAMLRequest="));
    const std::string cookie = header_of(response, "Set-Cookie");
    return {request_id_of(url), request_xml_of(url), parameter_of(url, "RelayState"),
            cookie.substr(0, cookie.find(';'))};
  }
  /// The provider's document for the request, without signatures.
  std::string document_of(const Started& started) const {
    std::string xml = response_.unsigned_xml();
    for (std::size_t at = xml.find("\"_request\""); at != std::string::npos; at = xml.find("\"_request\""))
      xml.replace(at, 10, "\"" + started.request_id + "\"");
    return xml;
  }
  std::string document_for(const Started& started, const Signer& signer) const {
    return response_.sign_places(document_of(started), signer);
  }
  static std::string form_of(const std::string& xml, const std::string& relay_state) {
    return "SAMLResponse=" + percent_encoded(to_base64_text(xml)) +
           (relay_state.empty() ? "" : "&RelayState=" + percent_encoded(relay_state));
  }
  /// The provider's page posts the form, without any cookie; where the browser is sent.
  std::string post(const std::string& form, const std::string& query = "connection=acme",
                   const std::string& type = "application/x-www-form-urlencoded; charset=utf-8") {
    http::HttpRequest made = request("POST", query);
    made.headers.emplace("Content-Type", type);
    made.headers.emplace("Origin", "https://idp.example.com");
    made.headers.emplace("Sec-Fetch-Site", "cross-site");
    made.body = form;
    const auto response = pages_->callback(made);
    EXPECT_EQ(response.status, 303);
    return header_of(response, "Location");
  }
  std::string finish(const std::string& url, const std::string& cookie) {
    return header_of(pages_->finish(request("GET", url.substr(url.find('?') + 1), cookie)), "Location");
  }
  std::vector<store::AuditEvent> events() {
    return store_->audit.list(store::Viewer::of_command_line(), {.action = "sign-in"}, 10);
  }

  static inline std::shared_ptr<Signer> signer_;
  tests::TemporaryStore store_;
  config::SsoSettings sso_;
  TestResponse response_;
  std::unique_ptr<ProviderSignIn> sign_in_;
  std::unique_ptr<SignInPages> pages_;
  SignInView view_;
  std::vector<SignedIn> sessions_;
};

// SIGN-1, SIGN-9: the response comes from another site without a cookie, the session is the browser's.
TEST_F(SamlFlowTest, SignsInTheBrowserThatBegan) {
  const Started started = start();
  const std::string back = post(form_of(document_for(started, *signer_), started.relay_state));
  EXPECT_THAT(back, StartsWith("https://gifts.example.com/console/sign-in/finish?attempt="));
  EXPECT_TRUE(sessions_.empty());
  EXPECT_EQ(finish(back, started.cookie), "/console/gifts");
  ASSERT_EQ(sessions_.size(), 1U);
  EXPECT_EQ(sessions_[0].user.address, "ana@acme.example");
  EXPECT_EQ(sessions_[0].authenticated_at, response_.now);
  EXPECT_EQ(sessions_[0].session_until, response_.now + 480 * kMinuteMillis) << "SessionNotOnOrAfter";
  const auto linked = store_->user_identities.find("acme", "", "u-4711");
  ASSERT_TRUE(linked);
  EXPECT_EQ(linked->user, sessions_[0].user.user);
  EXPECT_EQ(finish(back, started.cookie), kRefused) << "twice";
}

// SIGN-1
TEST_F(SamlFlowTest, AnotherBrowserIsRefused) {
  const Started attacker = start();
  const Started victim = start();
  const std::string back = post(form_of(document_for(attacker, *signer_), attacker.relay_state));
  EXPECT_EQ(finish(back, victim.cookie), kRefused);
  EXPECT_EQ(finish(back, ""), kRefused);
  EXPECT_TRUE(sessions_.empty());
}

// SAML-8, SIGN-6
TEST_F(SamlFlowTest, AForgedResponseIsRefusedAndAudited) {
  const Started started = start();
  EXPECT_EQ(post(form_of(document_for(started, Signer()), started.relay_state)), kRefused);
  ASSERT_EQ(events().size(), 1U);
  EXPECT_TRUE(events()[0].refused);
  EXPECT_EQ(events()[0].rule, "SAML-8");
  EXPECT_EQ(events()[0].object_id, "acme");
  EXPECT_EQ(events()[0].network, "192.0.2.7");
  EXPECT_THAT(store_->sign_in_connections.list().at(0).last_error, StartsWith("SAML-8: "));
  EXPECT_EQ(post(form_of(document_for(started, *signer_), started.relay_state)), kOffered)
      << "the attempt is used up";
}

// SAML-15, SAML-16, SAML-19
TEST_F(SamlFlowTest, AReplayedAssertionIsRefusedAndAudited) {
  const Started first = start();
  const std::string document = document_for(first, *signer_);
  post(form_of(document, first.relay_state));
  EXPECT_EQ(post(form_of(document, first.relay_state)), kOffered) << "the same form again";
  EXPECT_TRUE(events().empty()) << "anyone can post it again, so it does not fill the audit log";
  const Started second = start();
  EXPECT_EQ(post(form_of(document, second.relay_state)), kRefused);
  EXPECT_EQ(events().at(0).rule, "SAML-15") << "it responds to another request";
  const Started third = start();
  EXPECT_EQ(post(form_of(document_for(third, *signer_), third.relay_state)), kRefused);
  EXPECT_EQ(events().at(0).rule, "SAML-19") << "another response with the ID of the first one's assertion";
  response_.assertion_id = "_a2";
  const Started fourth = start();
  EXPECT_THAT(post(form_of(document_for(fourth, *signer_), fourth.relay_state)), HasSubstr("/finish?"));
}

// SIGN-9
TEST_F(SamlFlowTest, AResponseThatNoSignInWaitsForLeadsToAPageThatOffersOne) {
  const Started started = start();
  const std::string document = document_for(started, *signer_);
  EXPECT_EQ(post(form_of(document, "")), kOffered) << "the provider began it";
  EXPECT_EQ(post(form_of(document, "https://gifts.example.com/console/")), kOffered);
  EXPECT_EQ(post(form_of("<a/>", "unknown")), kOffered) << "nothing of it is read";
  pages_->form(request("GET", "begin=acme"));
  EXPECT_EQ(view_.offered_path, "/sign-in/start?connection=acme");
  EXPECT_EQ(view_.start_path, "") << "not by itself: a provider that drops RelayState would go on for ever";
  pages_->form(request("GET", "begin=https%3A%2F%2Fevil.example"));
  EXPECT_EQ(view_.offered_path, "");
  EXPECT_TRUE(events().empty());
  response_.now = response_.now + kAttemptMillis + 1;
  EXPECT_EQ(post(form_of(document_for(started, *signer_), started.relay_state)), kOffered) << "too late";
}

// SIGN-3, SIGN-9
TEST_F(SamlFlowTest, OnlyAFormAtItsOwnUrlIsRead) {
  const Started started = start();
  const std::string form = form_of(document_for(started, *signer_), started.relay_state);
  EXPECT_EQ(post(form, "connection=unknown"), kRefused);
  EXPECT_EQ(post(form, ""), kRefused);
  EXPECT_EQ(post(form, "connection=acme&connection=acme"), kRefused);
  EXPECT_EQ(post(form, "connection=acme", "text/plain"), kRefused);
  EXPECT_EQ(post(form + "&SAMLResponse=a"), kRefused);
  EXPECT_EQ(post(form + "&RelayState=a"), kRefused);
  EXPECT_EQ(post("RelayState=" + started.relay_state), kRefused);
  EXPECT_EQ(post("SAMLResponse=%"), kRefused);
  EXPECT_EQ(post(form, "connection=other"), "https://gifts.example.com/console/sign-in?begin=other");
  EXPECT_EQ(
      header_of(pages_->callback(request("GET", "connection=acme&code=x&state=acme." + started.relay_state)),
                "Location"),
      kRefused)
      << "an OpenID reply";
  EXPECT_EQ(pages_->callback(request("PUT", "connection=acme")).status, 405);
  http::HttpRequest large = request("POST", "connection=acme");
  large.headers.emplace("Content-Type", "application/x-www-form-urlencoded");
  large.body_too_large = true;
  EXPECT_EQ(header_of(pages_->callback(large), "Location"), kRefused);
  EXPECT_THAT(post(form), HasSubstr("/finish?")) << "none of them used the attempt up";
}

// SAML-18, SAML-22, CON-45
TEST_F(SamlFlowTest, ANewProofOfTheUserIsAskedForAndHeldToItsTime) {
  EXPECT_THAT(start().request_xml, Not(HasSubstr("ForceAuthn")));
  const auto reply = [this](const Started& started, int minutes) {
    const std::string instant = "AuthnInstant=\"";
    const std::string xml =
        saml::replaced(document_of(started), instant + response_.time(0), instant + response_.time(minutes));
    return post(form_of(response_.sign_places(xml, *signer_), started.relay_state));
  };
  const Started stale = start("&again=1");
  EXPECT_THAT(stale.request_xml, HasSubstr(" ForceAuthn=\"true\""));
  EXPECT_EQ(reply(stale, -10), kRefused) << "the provider ignores ForceAuthn";
  EXPECT_EQ(events().at(0).rule, "SAML-18");
  const Started started = start("&again=1");
  EXPECT_EQ(finish(reply(started, 0), started.cookie), "/console/gifts");
  EXPECT_EQ(sessions_.size(), 1U);
}

// SAML-21, SIGN-4
TEST_F(SamlFlowTest, AProviderSpeaksForItsOwnDomainsOnly) {
  store_->console_users.create({.email = "eve@other.example", .roles = {{.role = Role::admin}}}, {});
  response_.email = "eve@other.example";
  const Started started = start();
  EXPECT_EQ(post(form_of(document_for(started, *signer_), started.relay_state)), kRefused);
  EXPECT_EQ(events().at(0).rule, "SAML-21");
  EXPECT_THAT(events().at(0).detail, Not(HasSubstr("<")));
}

}  // namespace
}  // namespace giftsync::identity
