// The authorization matrix: every route of the console for every role, for a user's own organization and
// another one. A route without a line here fails.
#include <gmock/gmock.h>

#include <map>

#include "daemon/console/console.h"
#include "tests/daemon/console/console_fixture.h"

namespace giftsync::console {
namespace {

/// The status for: no session, no role, sender, approver, admin, operator, auditor.
struct Line {
  int without_session;
  int no_role;
  int sender;
  int approver;
  int admin;
  int operations;
  int auditor;
};

constexpr int kSignIn = 303;
/// By method and pattern. 303 is a redirect: of a session that is not there to signing in, of a post that
/// was done back to its page.
const std::map<std::string, Line> kMatrix{
    {"GET ", {kSignIn, 403, 200, 200, 200, 200, 200}},
    {"GET gifts", {kSignIn, 403, 200, 200, 200, 200, 200}},
    {"GET reports", {kSignIn, 403, 200, 200, 200, 200, 200}},
    {"GET gifts/{id}", {kSignIn, 403, 404, 404, 200, 200, 200}},
    {"POST test-gifts", {kSignIn, 403, 303, 303, 303, 303, 303}},
    {"POST time-zone", {kSignIn, 303, 303, 303, 303, 303, 303}},
    {"GET audit", {kSignIn, 403, 200, 200, 200, 200, 200}},
    {"GET users", {kSignIn, 403, 404, 404, 200, 200, 200}},
    {"POST users/{id}/end-sessions", {kSignIn, 403, 404, 404, 404, 303, 404}},
    {"GET keys", {kSignIn, 403, 404, 404, 200, 200, 200}},
    {"POST keys/{id}/pause", {kSignIn, 403, 404, 404, 303, 404, 404}},
    {"POST keys/{id}/release", {kSignIn, 403, 404, 404, 303, 404, 404}},
    {"POST keys/{id}/revoke", {kSignIn, 403, 404, 404, 303, 404, 404}},
    {"GET webhooks", {kSignIn, 403, 404, 404, 200, 200, 200}},
    // The form has neither a name nor a URL.
    {"POST webhooks", {kSignIn, 403, 404, 404, 400, 404, 404}},
    {"GET webhooks/{id}", {kSignIn, 403, 404, 404, 200, 200, 200}},
    // There is no attempt.
    {"GET webhooks/{id}/attempt", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"POST webhooks/{id}/update", {kSignIn, 403, 404, 404, 400, 404, 404}},
    {"POST webhooks/{id}/rotate", {kSignIn, 403, 404, 404, 303, 404, 404}},
    {"POST webhooks/{id}/test", {kSignIn, 403, 404, 404, 303, 404, 404}},
    {"POST webhooks/{id}/retry", {kSignIn, 403, 404, 404, 303, 404, 404}},
    {"POST webhooks/{id}/replay", {kSignIn, 403, 404, 404, 303, 404, 404}},
    {"POST webhooks/{id}/enable", {kSignIn, 403, 404, 404, 303, 404, 404}},
    {"POST webhooks/{id}/disable", {kSignIn, 403, 404, 404, 303, 404, 404}},
    {"POST webhooks/{id}/delete", {kSignIn, 403, 404, 404, 303, 404, 404}},
    {"GET sending", {kSignIn, 403, 404, 404, 200, 200, 200}},
    {"POST sending/tokens/{id}/release", {kSignIn, 403, 404, 404, 303, 404, 404}},
    {"POST sending/pause", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"POST sending/resume", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"GET cancel-gifts", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"POST cancel-gifts/run", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"GET person", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"POST person", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"POST person/download", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"POST person/erase", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"GET sign-in", {200, 303, 303, 303, 303, 303, 303}},
    {"POST sign-in", {404, 404, 404, 404, 404, 404, 404}},
    {"GET sign-in/start", {404, 404, 404, 404, 404, 404, 404}},
    {"GET sign-in/finish", {404, 404, 404, 404, 404, 404, 404}},
    {"POST sign-out", {kSignIn, 303, 303, 303, 303, 303, 303}},
    {"GET link/{token}", {404, 404, 404, 404, 404, 404, 404}},
    {"POST link/{token}", {404, 404, 404, 404, 404, 404, 404}},
    {"GET assets/{file...}", {404, 404, 404, 404, 404, 404, 404}},
    {"POST gifts/{id}/resend", {kSignIn, 403, 404, 404, 303, 303, 404}},
    {"POST gifts/{id}/cancel", {kSignIn, 403, 404, 404, 303, 303, 404}},
    {"POST gifts/{id}/retry", {kSignIn, 403, 404, 404, 303, 303, 404}},
    {"POST gifts/{id}/rematch", {kSignIn, 403, 404, 404, 303, 303, 404}},
    {"GET gifts/{id}/match", {kSignIn, 403, 404, 404, 200, 200, 200}},
    {"POST gifts/{id}/match", {kSignIn, 403, 404, 404, 200, 200, 200}},
    {"GET gifts/{id}/record", {kSignIn, 403, 404, 404, 200, 200, 200}},
    {"POST gifts/{id}/record", {kSignIn, 403, 404, 404, 200, 200, 200}},
    // The users of this test belong to an organization.
    {"GET match", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"POST match", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"GET crm", {kSignIn, 403, 404, 404, 200, 200, 200}},
    {"POST crm/retry", {kSignIn, 403, 404, 404, 303, 303, 404}},
    // There are no request records here, and users of one organization see no sources, do-not-send list and
    // settings (the tests of ConsoleWork have the others).
    {"GET requests", {kSignIn, 403, 200, 200, 200, 200, 200}},
    {"GET requests/{number}", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"POST requests/{number}/approve", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"POST requests/{number}/reject", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"GET mail", {kSignIn, 403, 404, 404, 200, 200, 200}},
    {"POST mail/retry", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"POST mail/{id}/release", {kSignIn, 403, 404, 404, 404, 303, 404}},
    {"POST mail/{id}/withdraw", {kSignIn, 403, 404, 404, 404, 303, 404}},
    {"POST mail/{id}/retry", {kSignIn, 403, 404, 404, 404, 303, 404}},
    {"GET sources", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"GET sources/{name}", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"POST sources/{name}/release", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"POST sources/{name}/purge", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"GET do-not-send", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"POST do-not-send/add", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"POST do-not-send/remove", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"GET held", {kSignIn, 403, 404, 200, 200, 200, 404}},
    {"GET held/{id}", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"POST held/{id}/approve", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"POST held/{id}/reject", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"GET connections", {kSignIn, 403, 404, 404, 404, 404, 404}},
    {"GET settings", {kSignIn, 403, 404, 404, 404, 404, 404}},
};

class ConsoleAccess : public ConsoleFixture {
 protected:
  OrganizationId organization(const std::string& name) {
    store::Credential token;
    token.hash = name;
    return store_.organizations.create(name, token).value();
  }
  /// A gift, a key and a webhook of a sender in the organization, and a user.
  void add_objects(OrganizationId organization) {
    const std::string number = std::to_string(organization.value);
    store::Account sender;
    sender.email = "sender" + number + "@example.com";
    sender.organization = organization;
    store::NewGiftRequest request;
    request.request.account = store_.accounts.create(sender).value();
    request.request.created_at = now_;
    request.recipients = {{"ada@example.com", "", "", ""}};
    Objects& made = objects_[organization];
    made.gift = store_.gifts.create(std::span(&request, 1)).front().recipients.front().id.value;
    store::Credential key;
    key.account = request.request.account;
    key.prefix = key.hash = "gsk_live_" + number;
    made.key = store_.credentials.insert(key).value;
    store::WebhookEndpoint webhook;
    webhook.name = "of " + number;
    webhook.url = "http://127.0.0.1:9/hook";  // refuses connections
    webhook.secret = "sealed whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    webhook.account = request.request.account;
    store_.webhooks.insert(webhook, {});
    made.webhook = webhook.id;
    made.user = user("target" + number + "@example.com", {Role::sender}, organization).value;
    for (const store::Credential& token : store_.credentials.list(CredentialKind::organization_token))
      if (token.organization == organization) made.token = token.id.value;
  }
  /// The one that the route is about.
  std::int64_t object_in(OrganizationId organization, std::string_view pattern) {
    const Objects& of = objects_[organization];
    if (pattern.starts_with("users/")) return of.user;
    if (pattern.starts_with("keys/")) return of.key;
    if (pattern.starts_with("webhooks/")) return of.webhook;
    return pattern.starts_with("sending/tokens/") ? of.token : of.gift;
  }
  int call(const ConsoleRoute& route, const std::string& id) {
    std::string path = "/console/" + std::string(route.pattern);
    if (const std::size_t at = path.find('{'); at != std::string::npos)
      path.replace(at, path.find('}') - at + 1, id);
    if (!route.is_post) return get(path).status;
    const std::string cookie = cookie_;
    const auto session = store_.console_sessions.find(sha256_hex(cookie), now_, {0});
    const std::string token = session ? form_token(session->form_secret, path.substr(8)) : "";
    return post(path, "form_token=" + token).status;
  }

  struct Objects {
    std::int64_t gift = 0;
    std::int64_t key = 0;
    std::int64_t webhook = 0;
    std::int64_t token = 0;
    std::int64_t user = 0;
  };
  std::map<OrganizationId, Objects> objects_;
};

// CON-56
TEST(ConsoleRoutes, TheRouteTableSaysWhichPageAFormIsOn) {
  for (const auto& [form, page] : std::map<std::string, std::string>{{"sources/shop/purge", "sources/shop"},
                                                                     {"requests/R-1/approve", "requests/R-1"},
                                                                     {"gifts/17/match", "gifts/17/match"},
                                                                     {"mail/17/withdraw", "mail"},
                                                                     {"users/17/end-sessions", "users"},
                                                                     {"crm/retry", "crm"},
                                                                     {"keys/17/revoke", "keys"},
                                                                     {"sending/tokens/17/release", "sending"},
                                                                     {"do-not-send/add", "do-not-send"},
                                                                     {"held/7/approve", "held/7"},
                                                                     {"webhooks/7/rotate", "webhooks/7"},
                                                                     {"webhooks", "webhooks"},
                                                                     {"sign-out", ""},
                                                                     {"", ""}})
    EXPECT_EQ(page_of_form(form), page) << form;
  for (const ConsoleRoute& route : console_routes())
    if (route.needs_new_proof) {
      EXPECT_NE(page_of_form(std::string(route.pattern)), "")
          << "it leads back to its own page: " << route.pattern;
    }
}

// CON-13
TEST_F(ConsoleAccess, EveryRouteAnswersEveryRoleAsTheMatrixSays) {
  const OrganizationId own = organization("Own");
  const OrganizationId other = organization("Other");
  for (const OrganizationId organization : {own, other}) add_objects(organization);
  std::size_t lines = 0;
  for (const ConsoleRoute& route : console_routes()) {
    const std::string name = std::string(route.is_post ? "POST " : "GET ") + std::string(route.pattern);
    const auto line = kMatrix.find(name);
    ASSERT_NE(line, kMatrix.end()) << "the matrix has no line for " << name;
    ++lines;
    const std::string id = std::to_string(object_in(own, route.pattern));
    const std::string foreign = std::to_string(object_in(other, route.pattern));
    const bool has_object = route.pattern.find("{id}") != std::string_view::npos;
    cookie_.clear();
    EXPECT_EQ(call(route, id), line->second.without_session) << name;
    const Line& expected = line->second;
    for (const auto& [role, status] : {std::pair{std::optional<Role>(), expected.no_role},
                                       std::pair{std::optional(Role::sender), expected.sender},
                                       std::pair{std::optional(Role::approver), expected.approver},
                                       std::pair{std::optional(Role::admin), expected.admin},
                                       std::pair{std::optional(Role::operations), expected.operations},
                                       std::pair{std::optional(Role::auditor), expected.auditor}}) {
      static int number = 0;
      const std::string email = "user" + std::to_string(number++) + "@own.com";
      const RoleSet roles = role ? RoleSet{*role} : RoleSet{};
      const std::string who = name + " as " + (role ? std::string(to_word(*role)) : "no role");
      const UserId viewer = user(email, roles, own);
      sign_in(viewer);
      EXPECT_EQ(call(route, id), status) << who;
      if (!has_object || status == 403) continue;
      sign_in(viewer);
      EXPECT_EQ(call(route, foreign), 404) << who << ", of another organization";
    }
  }
  EXPECT_EQ(lines, kMatrix.size()) << "the matrix has a line without a route";
}

// CON-13
TEST_F(ConsoleAccess, AUserWithoutARoleGetsAPageThatSaysSo) {
  sign_in(user("new@example.com", {}));
  EXPECT_THAT(get("/console/").body, testing::HasSubstr("You have no role yet"));
}

}  // namespace
}  // namespace giftsync::console
