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
    {"GET gifts/{id}", {kSignIn, 403, 404, 404, 200, 200, 200}},
    {"GET audit", {kSignIn, 403, 200, 200, 200, 200, 200}},
    {"GET users", {kSignIn, 403, 404, 404, 200, 200, 200}},
    {"POST users/{id}/end-sessions", {kSignIn, 403, 404, 404, 404, 303, 404}},
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
    // There are no request records here, and users of one organization see no sources and settings
    // (the tests of ConsoleWork have the others).
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
  /// A gift of a sender in the organization.
  TransactionId gift_in(OrganizationId organization) {
    store::Account sender;
    sender.email = "sender" + std::to_string(organization.value) + "@example.com";
    sender.organization = organization;
    store::NewGiftRequest request;
    request.request.account = store_.accounts.create(sender).value();
    request.request.created_at = now_;
    request.recipients = {{"ada@example.com", "", "", ""}};
    return store_.gifts.create(std::span(&request, 1)).front().recipients.front().id;
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
};

// CON-56
TEST(ConsoleRoutes, TheRouteTableSaysWhichPageAFormIsOn) {
  for (const auto& [form, page] : std::map<std::string, std::string>{{"sources/shop/purge", "sources/shop"},
                                                                     {"requests/R-1/approve", "requests/R-1"},
                                                                     {"gifts/17/match", "gifts/17/match"},
                                                                     {"mail/17/withdraw", "mail"},
                                                                     {"users/17/end-sessions", "users"},
                                                                     {"crm/retry", "crm"},
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
  const TransactionId gift_of_own = gift_in(own);
  const TransactionId gift_of_other = gift_in(other);
  const UserId user_of_own = user("target@own.com", {Role::sender}, own);
  const UserId user_of_other = user("target@other.com", {Role::sender}, other);
  std::size_t lines = 0;
  for (const ConsoleRoute& route : console_routes()) {
    const std::string name = std::string(route.is_post ? "POST " : "GET ") + std::string(route.pattern);
    const auto line = kMatrix.find(name);
    ASSERT_NE(line, kMatrix.end()) << "the matrix has no line for " << name;
    ++lines;
    const bool is_user = route.pattern.starts_with("users/");
    const std::string id = std::to_string(is_user ? user_of_own.value : gift_of_own.value);
    const std::string foreign = std::to_string(is_user ? user_of_other.value : gift_of_other.value);
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
