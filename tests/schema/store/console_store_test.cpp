// The console's users, roles, sessions, sign-in links and attempts, and the audit log, on both back ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/store/statements/audit_log.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

constexpr UtcMillis kNow{1'800'000'000'000};

AuditEvent event(const std::string& action) {
  AuditEvent made;
  made.occurred_at = kNow;
  made.actor = "root (sudo: ana)";
  made.actor_kind = ActorKind::command;
  made.action = action;
  return made;
}

class ConsoleStore : public tests::StoreFixture {
 protected:
  UserId user(const std::string& email, const RoleSet& roles = {Role::operations},
              std::optional<OrganizationId> organization = {}) {
    ConsoleUser made;
    made.email = email;
    made.name = "A name";
    made.created_at = kNow;
    made.organization = organization;
    for (const Role role : roles) made.roles.push_back({role, RoleOrigin::granted, "root", kNow});
    return store_->console_users.create(made, event("user.create")).value();
  }
  OrganizationId organization(const std::string& name) {
    Credential token;
    token.hash = "hash of " + name;
    return store_->organizations.create(name, token).value();
  }
  ConsoleSession session_of(UserId user, const std::string& hash) {
    ConsoleSession made;
    made.id_hash = hash;
    made.user = user;
    made.form_secret = "secret";
    made.created_at = made.last_seen_at = made.authenticated_at = kNow;
    made.expires_at = kNow + 1000;
    return made;
  }
  std::optional<ConsoleSession> found(const std::string& hash, UtcMillis now = kNow + 1) {
    return store_->console_sessions.find(hash, now, kNow - 1);
  }
  std::vector<std::string> actions(const Viewer& viewer = Viewer::of_command_line(),
                                   const AuditFilter& filter = {}) {
    std::vector<std::string> found;
    for (const AuditEvent& one : store_->audit.list(viewer, filter, 100)) found.push_back(one.action);
    return found;
  }
  SignInLink link(UserId user, const std::string& hash) { return {hash, user, "root", kNow, kNow + 600'000}; }
  static SignInAttempt attempt(const std::string& hash) {
    SignInAttempt made;
    made.id_hash = hash;
    made.connection = "acme";
    made.browser_hash = "browser";
    made.nonce = "nonce";
    made.pkce_verifier = "verifier";
    made.return_path = "/console/gifts?status=sent";
    made.must_reauthenticate = true;
    made.created_at = kNow;
    return made;
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, ConsoleStore,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// CON-5
TEST_P(ConsoleStore, UsersAreFoundByTheirAddressWithTheirRoles) {
  const UserId ana = user("Ana@Example.com", {Role::operations, Role::admin});
  ConsoleUser again;
  again.email = "ana@example.com";
  EXPECT_FALSE(store_->console_users.create(again, event("user.create")));
  const auto found = store_->console_users.find_by_email(" ana@EXAMPLE.com");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, ana);
  EXPECT_EQ(found->role_set(), (RoleSet{Role::admin, Role::operations}));
  EXPECT_EQ(store_->console_users.find(ana)->email, "Ana@Example.com");
  EXPECT_FALSE(store_->console_users.find({99}));
  EXPECT_FALSE(store_->console_users.find_by_email(""));
  EXPECT_THAT(actions(), ElementsAre("user.create")) << "the second one changed nothing";
}

// CON-7, CON-17
TEST_P(ConsoleStore, UsersAreListedInPagesAndFoundByAPartOfTheirAddress) {
  const OrganizationId acme = organization("Acme");
  const UserId ana = user("Ana_1@example.com", {Role::admin, Role::sender}, acme);
  const UserId bo = user("bo@example.com", {Role::sender}, acme);
  const UserId eve = user("eve@other.example", {Role::sender});
  const Viewer all = Viewer::of_command_line();
  const auto ids = [&](const Viewer& viewer, const UserFilter& filter) {
    std::vector<UserId> found;
    for (const ConsoleUser& one : store_->console_users.list(viewer, filter)) found.push_back(one.id);
    return found;
  };
  EXPECT_THAT(ids(all, {.limit = 2}), ElementsAre(eve, bo));
  EXPECT_THAT(ids(all, {.before = bo, .limit = 2}), ElementsAre(ana));
  EXPECT_THAT(ids(all, {.find = "A_1@EXAMPLE", .limit = 2}), ElementsAre(ana));
  const UserId bob = user("bob@bücher.example", {Role::sender});
  EXPECT_THAT(ids(all, {.find = "Bob@bücher.example", .limit = 2}), ElementsAre(bob));
  EXPECT_THAT(ids(all, {.find = "o%e", .limit = 2}), IsEmpty());
  EXPECT_THAT(ids(all, {.find = "na!", .limit = 2}), IsEmpty());
  const Viewer of_acme{ana, {}, acme, {Role::admin}};
  EXPECT_THAT(ids(of_acme, {.limit = 3}), ElementsAre(bo, ana));
  EXPECT_THAT(store_->console_users.list(of_acme, {.find = "ana", .limit = 1}),
              ElementsAre(Field(&ConsoleUser::roles, SizeIs(2))));
  EXPECT_EQ(store_->console_users.find(of_acme, bo)->email, "bo@example.com");
  EXPECT_FALSE(store_->console_users.find(of_acme, eve));
  store_->console_sessions.create_instead_of("", session_of(ana, "1"), event("sign-in"));
  store_->console_sessions.create_instead_of("", session_of(eve, "2"), event("sign-in"));
  EXPECT_THAT(store_->console_sessions.list(std::vector{ana, bo}, kNow),
              ElementsAre(Field(&ConsoleSession::id_hash, "1")));
  EXPECT_THAT(store_->console_sessions.list(std::vector<UserId>(), kNow), IsEmpty());
}

// CON-6
TEST_P(ConsoleStore, GrantsAndRolesOfTheCrmAreKeptApart) {
  const UserId ben = user("ben@example.com", {Role::sender});
  const UserRole admin{Role::admin, RoleOrigin::granted, "root", kNow};
  EXPECT_TRUE(store_->console_users.grant(ben, admin, event("user.grant")));
  EXPECT_FALSE(store_->console_users.grant(ben, admin, event("user.grant")));
  const std::vector<UserRole> of_crm{{Role::admin, RoleOrigin::crm, "Admin", kNow},
                                     {Role::approver, RoleOrigin::crm, "Admin", kNow}};
  EXPECT_TRUE(store_->console_users.replace_roles(ben, RoleOrigin::crm, of_crm, event("user.crm-roles")));
  EXPECT_FALSE(store_->console_users.replace_roles(ben, RoleOrigin::crm, of_crm, event("user.crm-roles")));
  EXPECT_TRUE(store_->console_users.revoke(ben, Role::admin, event("user.revoke")));
  EXPECT_FALSE(store_->console_users.revoke(ben, Role::admin, event("user.revoke")));
  EXPECT_EQ(store_->console_users.find(ben)->role_set(), (RoleSet{Role::sender, Role::approver, Role::admin}))
      << "the CRM's admin stays";
  EXPECT_TRUE(store_->console_users.replace_roles(ben, RoleOrigin::crm, {}, event("user.crm-roles")));
  EXPECT_EQ(store_->console_users.find(ben)->role_set(), (RoleSet{Role::sender}));
  EXPECT_EQ(store_->audit.list(Viewer::of_command_line(), {}, 1).at(0).detail,
            "now none, before admin, approver");
  EXPECT_THAT(actions(),
              ElementsAre("user.crm-roles", "user.revoke", "user.crm-roles", "user.grant", "user.create"));
}

// CON-1
TEST_P(ConsoleStore, ASessionEndsByTimeByIdlenessAndByCommand) {
  const UserId ana = user("ana@example.com");
  EXPECT_TRUE(store_->console_sessions.create(session_of(ana, "one"), event("sign-in")));
  EXPECT_FALSE(store_->console_sessions.create(session_of({99}, "other"), event("sign-in")));
  ASSERT_TRUE(found("one"));
  EXPECT_TRUE(found("one")->is_break_glass());
  EXPECT_EQ(found("one")->form_secret, "secret");
  EXPECT_EQ(found("one")->email, "ana@example.com");
  EXPECT_FALSE(found("on"));
  EXPECT_FALSE(found("one", kNow + 1000)) << "its end";
  EXPECT_FALSE(store_->console_sessions.find("one", kNow + 1, kNow)) << "idle since then";
  store_->console_sessions.set_last_seen("one", kNow + 5);
  EXPECT_EQ(store_->console_sessions.find("one", kNow + 6, kNow)->last_seen_at, kNow + 5);
  EXPECT_TRUE(store_->console_sessions.create_instead_of("one", session_of(ana, "two"), event("sign-in")));
  EXPECT_FALSE(found("one"));
  EXPECT_THAT(store_->console_sessions.list(Viewer::of_command_line(), kNow), SizeIs(1));
  EXPECT_TRUE(store_->console_sessions.end("two", event("session.end")));
  EXPECT_FALSE(store_->console_sessions.end("two", event("session.end")));
  EXPECT_TRUE(store_->console_sessions.create(session_of(ana, "three"), event("sign-in")));
  EXPECT_EQ(store_->console_sessions.end_all(ana, event("session.end")), 1);
  EXPECT_EQ(store_->console_sessions.end_all(ana, event("session.end")), 0);
}

// CON-1
TEST_P(ConsoleStore, DeactivatingAUserEndsSessionsAndLinksAtOnce) {
  const UserId ana = user("ana@example.com");
  store_->console_sessions.create(session_of(ana, "one"), event("sign-in"));
  store_->console_sessions.create_link(link(ana, "token"), event("console.sign-in-link"));
  store_->console_users.set_active(ana, false, event("user.deactivate"));
  EXPECT_FALSE(found("one"));
  EXPECT_FALSE(
      store_->console_sessions.create_by_link("token", "", session_of({}, "two"), event("sign-in"), kNow));
  EXPECT_FALSE(store_->console_sessions.create(session_of(ana, "two"), event("sign-in")));
  EXPECT_FALSE(store_->console_users.find(ana)->active);
  store_->console_users.set_active(ana, true, event("user.activate"));
  EXPECT_FALSE(found("one"));
}

// CON-2
TEST_P(ConsoleStore, ALinkSignsInOnce) {
  const UserId ana = user("ana@example.com");
  store_->console_sessions.create_link(link(ana, "token"), event("console.sign-in-link"));
  EXPECT_EQ(store_->console_sessions.find_link("token", kNow)->user, ana);
  EXPECT_FALSE(store_->console_sessions.find_link("token", kNow + 600'000)) << "its end";
  const auto use_link = [&](const std::string& hash, const std::string& action, UtcMillis now) {
    return store_->console_sessions.create_by_link("token", "former", session_of({}, hash), event(action),
                                                   now);
  };
  store_->console_sessions.create(session_of(ana, "former"), event("sign-in"));
  EXPECT_FALSE(use_link("late", "late", kNow + 600'000));
  EXPECT_TRUE(found("former")) << "nothing was changed";
  EXPECT_EQ(use_link("one", "sign-in", kNow), ana);
  EXPECT_FALSE(found("former")) << "CON-1: the browser's session before";
  store_->console_sessions.create(session_of(ana, "former"), event("sign-in"));
  EXPECT_FALSE(use_link("two", "again", kNow));
  EXPECT_TRUE(found("former")) << "the link was used up";
  EXPECT_EQ(found("one")->user, ana);
  EXPECT_FALSE(found("two"));
  EXPECT_THAT(actions(), ElementsAre("sign-in", "sign-in", "sign-in", "console.sign-in-link", "user.create"));
  EXPECT_EQ(store_->audit.list(Viewer::of_command_line(), {}, 2).back().user, ana) << "of the link";
}

// CON-1
TEST_P(ConsoleStore, WhatHasEndedIsPruned) {
  const UserId ana = user("ana@example.com");
  store_->console_sessions.create(session_of(ana, "one"), event("sign-in"));
  store_->console_sessions.create_link(link(ana, "token"), event("console.sign-in-link"));
  store_->sign_in_attempts.create(attempt("state"));
  EXPECT_TRUE(store_->sign_in_connections.accept_assertion("acme", "a1", kNow));
  store_->console_sessions.prune(kNow + 1);
  EXPECT_TRUE(found("one"));
  store_->console_sessions.prune(kNow + 600'001);
  store_->sign_in_attempts.prune(kNow + 1);
  store_->sign_in_connections.prune(kNow + 1);
  store_->audit.prune(kNow + 1);
  for (const std::string table :
       {"session", "sign_in_link", "sign_in_attempt", "saml_assertion_seen", "audit_event"})
    EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM " + table), "0") << table;
}

// CON-3
TEST_P(ConsoleStore, AnAttemptIsClaimedOnceAndTakenOnceByItsBrowser) {
  store_->sign_in_attempts.create(attempt("state"));
  EXPECT_FALSE(store_->sign_in_attempts.claim("state", "other", kNow - 1, kNow)) << "of another connection";
  EXPECT_FALSE(store_->sign_in_attempts.claim("state", "acme", kNow, kNow)) << "too old";
  EXPECT_FALSE(store_->sign_in_attempts.finish("state", "early", kNow)) << "not claimed";
  const auto claimed = store_->sign_in_attempts.claim("state", "acme", kNow - 1, kNow);
  ASSERT_TRUE(claimed);
  EXPECT_EQ(claimed->nonce, "nonce");
  EXPECT_EQ(claimed->pkce_verifier, "verifier");
  EXPECT_TRUE(claimed->must_reauthenticate);
  SignInAttempt other = attempt("other");
  other.must_reauthenticate = false;
  store_->sign_in_attempts.create(other);
  EXPECT_FALSE(store_->sign_in_attempts.claim("other", "acme", kNow - 1, kNow)->must_reauthenticate);
  EXPECT_FALSE(store_->sign_in_attempts.claim("state", "acme", kNow - 1, kNow)) << "a second reply";
  EXPECT_FALSE(store_->sign_in_attempts.take("state", "browser", kNow - 1)) << "without an outcome";
  EXPECT_TRUE(store_->sign_in_attempts.finish("state", "ana", kNow));
  EXPECT_FALSE(store_->sign_in_attempts.finish("state", "eve", kNow));
  EXPECT_FALSE(store_->sign_in_attempts.take("state", "another browser", kNow - 1));
  EXPECT_FALSE(store_->sign_in_attempts.take("state", "browser", kNow)) << "finished too long ago";
  const auto taken = store_->sign_in_attempts.take("state", "browser", kNow - 1);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->outcome, "ana");
  EXPECT_EQ(taken->return_path, "/console/gifts?status=sent");
  EXPECT_FALSE(store_->sign_in_attempts.take("state", "browser", kNow - 1));
}

// CON-4
TEST_P(ConsoleStore, AnIdentityBelongsToOneUser) {
  const UserId ana = user("ana@example.com");
  const UserId ben = user("ben@example.com");
  UserIdentity identity;
  identity.user = ana;
  identity.connection = "acme";
  identity.subject = "s1";
  identity.linked_at = identity.last_sign_in_at = kNow;
  const auto id = store_->user_identities.link(identity, event("user.link"));
  ASSERT_TRUE(id);
  identity.user = ben;
  EXPECT_FALSE(store_->user_identities.link(identity, event("user.link"))) << "a subject of two users";
  identity.user = ana;
  identity.subject = "s2";
  EXPECT_FALSE(store_->user_identities.link(identity, event("user.link"))) << "a recycled mailbox";
  EXPECT_EQ(store_->user_identities.find("acme", "", "s1")->user, ana);
  EXPECT_FALSE(store_->user_identities.find("other", "", "s1"));
  store_->user_identities.set_last_sign_in(*id, "new@example.com", kNow + 9);
  EXPECT_EQ(store_->user_identities.find("acme", "", "s1")->last_email, "new@example.com");
  ConsoleSession session = session_of(ana, "one");
  session.identity = id;
  store_->console_sessions.create(session, event("sign-in"));
  EXPECT_FALSE(found("one")->is_break_glass());
  EXPECT_EQ(found("one")->connection, "acme");
  store_->console_sessions.create(session_of(ana, "two"), event("sign-in"));
  EXPECT_EQ(found("two")->connection, "") << "begun by a link";
  EXPECT_THAT(store_->console_sessions.list(Viewer::of_command_line(), kNow), SizeIs(2));
  EXPECT_TRUE(store_->user_identities.unlink(ana, "acme", event("user.unlink")));
  EXPECT_FALSE(store_->user_identities.unlink(ana, "acme", event("user.unlink")));
  EXPECT_FALSE(found("one")) << "its sessions end";
}

// SIGN-16
TEST_P(ConsoleStore, UnlinkingTakesTheRolesFromGroups) {
  const UserId ana = user("ana@example.com", {Role::approver});
  store_->console_users.replace_roles(ana, RoleOrigin::group, {{Role::admin, RoleOrigin::group, "g", kNow}},
                                      event("user.group-roles"));
  EXPECT_FALSE(store_->user_identities.is_linked(ana, "acme"));
  EXPECT_FALSE(store_->user_identities.unlink(ana, "acme", event("user.unlink")));
  EXPECT_THAT(store_->console_users.find(ana)->role_set(), SizeIs(2)) << "nothing was unlinked";
  ASSERT_TRUE(
      store_->user_identities.link({.user = ana, .connection = "acme", .subject = "s1"}, event("user.link")));
  EXPECT_TRUE(store_->user_identities.is_linked(ana, "acme"));
  EXPECT_FALSE(store_->user_identities.is_linked(ana, "other"));
  EXPECT_TRUE(store_->user_identities.unlink(ana, "acme", event("user.unlink")));
  EXPECT_EQ(store_->console_users.find(ana)->role_set(), RoleSet{Role::approver});
}

// CON-3
TEST_P(ConsoleStore, AConnectionKeepsItsFirstTenantAndAcceptsAnAssertionOnce) {
  EXPECT_EQ(store_->sign_in_connections.pin_tenant("acme", "t1"), "t1");
  EXPECT_EQ(store_->sign_in_connections.pin_tenant("acme", "t2"), "t1");
  store_->sign_in_connections.record_error("other", "A4: no audience", kNow);
  EXPECT_EQ(store_->sign_in_connections.pin_tenant("other", "t3"), "t3");
  store_->sign_in_connections.record_success("other", kNow + 1);
  const auto states = store_->sign_in_connections.list();
  ASSERT_THAT(states, SizeIs(2));
  EXPECT_EQ(states[1].last_error, "A4: no audience");
  EXPECT_EQ(states[1].last_success_at, kNow + 1);
  EXPECT_TRUE(store_->sign_in_connections.accept_assertion("acme", "a1", kNow));
  EXPECT_FALSE(store_->sign_in_connections.accept_assertion("acme", "a1", kNow));
  EXPECT_TRUE(store_->sign_in_connections.accept_assertion("other", "a1", kNow));
}

// CON-7, CON-8
TEST_P(ConsoleStore, AViewerSeesTheEventsOfItsOrganizationAndItsOwn) {
  const OrganizationId acme = organization("Acme");
  const OrganizationId edge = organization("Edge");
  const UserId ana = user("ana@example.com", {Role::admin}, acme);
  const UserId eve = user("eve@example.com", {Role::sender}, edge);
  AuditEvent one = event("gift.resend");
  one.organization = edge;
  one.user = eve;
  one.object_kind = "gift";
  one.object_id = "17";
  store_->audit.add(one);
  one.organization = acme;
  one.action = "gift.cancel";
  one.user = ana;
  one.actor = "100%_!";
  one.refused = true;
  one.rule = "CON-6";
  store_->audit.add(one);
  EXPECT_THAT(actions({ana, {}, acme, {Role::admin}}), ElementsAre("gift.cancel"));
  EXPECT_THAT(actions({eve, {}, edge, {Role::sender}}), ElementsAre("gift.resend"));
  EXPECT_THAT(actions({eve, {}, edge, {}}), IsEmpty()) << "without a role";
  EXPECT_THAT(actions({ana, {}, acme, {Role::auditor}}), ElementsAre("gift.cancel"));
  EXPECT_THAT(actions({ana, {}, {}, {Role::auditor}}), SizeIs(4));
  EXPECT_THAT(store_->console_users.list({ana, {}, acme, {Role::admin}}), SizeIs(1));
  EXPECT_THAT(store_->console_users.list({eve, {}, edge, {Role::sender}}), SizeIs(1));

  AuditFilter filter;
  filter.action = "gift.";
  EXPECT_THAT(actions(Viewer::of_command_line(), filter), ElementsAre("gift.cancel", "gift.resend"));
  filter.actor = "100%_!";
  EXPECT_THAT(actions(Viewer::of_command_line(), filter), ElementsAre("gift.cancel"));
  filter = {};
  filter.object_kind = "gift";
  filter.object_id = "17";
  const auto page = store_->audit.list(Viewer::of_command_line(), filter, 1);
  ASSERT_THAT(page, SizeIs(1));
  EXPECT_TRUE(page.front().refused);
  EXPECT_EQ(page.front().rule, "CON-6");
  filter.before = page.front().id;
  EXPECT_THAT(actions(Viewer::of_command_line(), filter), ElementsAre("gift.resend"));
  filter.since = kNow + 1;
  EXPECT_THAT(actions(Viewer::of_command_line(), filter), IsEmpty());
}

// CON-50
TEST_P(ConsoleStore, OfEachObjectTheNewestEventIsFound) {
  const auto add = [&](const std::string& action, const std::string& id, const std::string& actor,
                       std::optional<UserId> user = {}, std::int64_t time = 5) {
    AuditEvent event;
    event.occurred_at = {time};
    event.action = action;
    event.actor = actor;
    event.user = user;
    event.object_kind = "failures";
    event.object_id = id;
    store_->audit.add(event);
  };
  add("crm.retry", "a", "first");
  add("crm.retry", "a", "second", UserId{7});
  add("crm.look", "a", "third");
  add("crm.retry", "", "root");
  const auto found = [&](const Viewer& viewer) {
    std::vector<std::string> texts;
    for (const AuditEvent& one : store_->audit.last_of_each(viewer, "failures", "crm.retry"))
      texts.push_back(one.object_id + " " + one.actor);
    return texts;
  };
  EXPECT_THAT(found(Viewer::of_command_line()), testing::UnorderedElementsAre("a second", " root"));
  EXPECT_THAT(found({{7}, {}, OrganizationId{1}, {Role::admin}}), ElementsAre("a second"));
  EXPECT_THAT(found({{8}, {}, OrganizationId{1}, {Role::admin}}), IsEmpty());
  EXPECT_THAT(store_->audit.last_of_each(Viewer::of_command_line(), "gift", "crm.retry"), IsEmpty());
  add("crm.retry", "", "root", {}, 8);
  add("crm.retry", "b", "root", {}, 8);
  add("crm.look", "", "root", {}, 8);
  add("crm.retry", "", "other", {}, 8);
  add("crm.retry", "", "root", {}, 8);
  EXPECT_THAT(found(Viewer::of_command_line()),
              testing::UnorderedElementsAre("a second", "b root", " root", " root"))
      << "two batches of one command";
}

// CON-51
TEST_P(ConsoleStore, AnAuditorReadsNoAddressesInEventsExceptOfPeopleWhoSignIn) {
  for (const std::string kind : {"gift", "user", "connection", "page"}) {
    AuditEvent event;
    event.object_kind = kind;
    event.object_id = "ada@example.com";
    event.detail = "from bea@example.com";
    store_->audit.add(event);
  }
  std::vector<std::string> texts;
  for (const AuditEvent& one : store_->audit.list({{}, {}, {}, {Role::auditor}}, {}, 50))
    texts.push_back(one.object_id + " " + one.detail);
  EXPECT_THAT(texts,
              ElementsAre("***@example.com from ***@example.com", "ada@example.com from bea@example.com",
                          "ada@example.com from bea@example.com", "***@example.com from ***@example.com"));
  EXPECT_EQ(store_->audit.list(Viewer::of_command_line(), {}, 1)[0].detail, "from bea@example.com");
}

// CON-63
TEST_P(ConsoleStore, AnAuditorReadsNoNoteOfADecision) {
  AuditEvent event;
  event.object_kind = "request";
  event.detail = "for Rose";
  store_->audit.add(event);
  event.refused = true;
  event.detail = "the request was edited";
  store_->audit.add(event);
  event = {};
  event.object_kind = "request";
  store_->audit.add(event);
  event.object_kind = "held";
  event.detail = "for Bea";
  store_->audit.add(event);
  const auto details = [&](const RoleSet& roles) {
    std::vector<std::string> found;
    for (const AuditEvent& one : store_->audit.list({{}, {}, {}, roles}, {}, 50)) found.push_back(one.detail);
    return found;
  };
  EXPECT_THAT(details({Role::auditor}), ElementsAre("***", "", "the request was edited", "***"));
  EXPECT_THAT(details({Role::auditor, Role::admin}),
              ElementsAre("for Bea", "", "the request was edited", "for Rose"));
}

// CON-37
TEST_P(ConsoleStore, EventsAreSearchedByTheirObject) {
  for (const std::string id : {"R-000004", "R-000040", "R-000004"}) {
    AuditEvent event;
    event.object_kind = "request";
    event.object_id = id;
    store_->audit.add(event);
  }
  const auto count = [&](const std::string& object) {
    AuditFilter filter;
    set_object(filter, object);
    return store_->audit.list(Viewer::of_command_line(), filter, 50).size();
  };
  EXPECT_EQ(count("request"), 3u);
  EXPECT_EQ(count("request:R-4"), 2u);
  EXPECT_EQ(count("request R-000040"), 1u);
  for (const std::string object : {"R-4", "r-4", "R-000004", " R-0004 "})
    EXPECT_EQ(count(object), 2u) << object;
  for (const std::string object : {"gift:R-000004", "R-5", "R-", "4"}) EXPECT_EQ(count(object), 0u) << object;
  EXPECT_EQ(count(" "), 3u);
}

class SignInMailStore : public ConsoleStore {
 protected:
  void ask(const std::string& email_key, const std::string& salt, UtcMillis at = kNow) {
    store_->sign_in_mails.add({.token_hash = "hash of " + salt,
                               .salt = salt,
                               .email_key = email_key,
                               .client = "192.0.2.7",
                               .created_at = at,
                               .expires_at = at + kMailedLinkMillis});
  }
  /// The claims of the mails that are queued now.
  std::vector<DeliveryClaim> queued(UtcMillis at = kNow) {
    store_->sign_in_mails.queue_mails(at);
    return store_->deliveries.claim("a", 60'000, 10, at);
  }
  SignInMail take(const DeliveryClaim& claim, UtcMillis at = kNow, const std::string& by = "a") {
    return store_->sign_in_mails.take(claim.transaction, claim.number, by, at);
  }
  void end(const DeliveryClaim& claim, DeliveryState state) {
    const DeliveryQueue::Sending sending{claim, "m" + std::to_string(claim.number)};
    ASSERT_TRUE(store_->deliveries.begin_sending("a", std::span(&sending, 1), 60'000, kNow).front());
    const DeliveryOutcome outcome{claim.transaction, claim.attempt + 1, state, kNow, "250 ok", false, {}};
    ASSERT_EQ(store_->deliveries.finish(std::span(&outcome, 1), kNow), 1u);
  }
  std::optional<SignInLink> link_of(const std::string& salt) {
    return store_->console_sessions.find_link("hash of " + salt, kNow);
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, SignInMailStore,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// SIGN-15
TEST_P(SignInMailStore, AKnownAddressGetsOneMailAndItsLinkAppearsWithIt) {
  const UserId ana = user("Ana@example.com");
  ask("ana@example.com", "one");
  ask("ana@example.com", "two", kNow + 1);
  store_ = std::make_unique<Store>(address());  // the daemon was killed after its answer
  const auto claims = queued();
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_EQ(claims[0].kind, MailKind::sign_in);
  EXPECT_EQ(scalar("SELECT kind FROM mail_outbox"), "test") << "an older daemon leaves it alone";
  EXPECT_TRUE(is_sign_in_mail(claims[0].transaction));
  EXPECT_FALSE(is_test_mail(claims[0].transaction));
  EXPECT_FALSE(is_mail_to_sender(claims[0].transaction));
  EXPECT_EQ(sign_in_user_of(claims[0].transaction), ana);
  EXPECT_FALSE(link_of("two")) << "the mail has not been composed";
  const SignInMail mail = take(claims[0]);
  EXPECT_FALSE(mail.is_obsolete);
  EXPECT_EQ(mail.email + " " + mail.salt + " " + mail.client, "Ana@example.com two 192.0.2.7");
  EXPECT_EQ(mail.expires_at, kNow + 1 + kMailedLinkMillis);
  ASSERT_TRUE(link_of("two"));
  EXPECT_TRUE(link_of("two")->is_by_mail);
  EXPECT_EQ(link_of("two")->user, ana);
  EXPECT_FALSE(link_of("one"));
  EXPECT_EQ(take(claims[0]).salt, "two") << "again, as after the sender's fault";
  EXPECT_THAT(actions(), ElementsAre("sign-in-link.mail", "user.create")) << "one event";
  EXPECT_EQ(store_->audit.list(Viewer::of_command_line(), {}, 1).front().detail, "asked for by 192.0.2.7");
  EXPECT_THAT(store_->deliveries.list({DeliveryState::queued}, 10), IsEmpty()) << "no list has it";
  end(claims[0], DeliveryState::accepted);
  EXPECT_THAT(queued(), IsEmpty());
  ask("ana@example.com", "three", kNow + 2);
  const auto next = queued();
  ASSERT_THAT(next, SizeIs(1));
  EXPECT_EQ(next[0].number, 2);
  EXPECT_EQ(take(next[0]).salt, "three");
}

// SIGN-15
TEST_P(SignInMailStore, AUsedLinkIsNotStoredAgainByARepeatOfItsMail) {
  user("ana@example.com");
  ask("ana@example.com", "one");
  auto claim = queued().at(0);
  take(claim);
  end(claim, DeliveryState::uncertain);
  EXPECT_FALSE(take(claim, kNow, "").is_obsolete) << "it is repeated while the link works";
  const ConsoleSession session = session_of({}, "session");
  ASSERT_TRUE(store_->console_sessions.create_by_link("hash of one", "", session, event("sign-in"), kNow));
  claim.message_id = "m1";
  EXPECT_EQ(take(claim, kNow, "").salt, "one") << "the same bytes";
  EXPECT_TRUE(take(claim, kNow, "").is_obsolete) << "the link was used: the mail has arrived";
  EXPECT_EQ(take(claim).salt, "one") << "by a sender whose claim has ended";
  EXPECT_FALSE(link_of("one"));
}

// SIGN-15
TEST_P(SignInMailStore, OthersGetNoMailAndTheirRequestsEnd) {
  const UserId gone = user("gone@example.com");
  store_->console_users.set_active(gone, false, event("user.deactivate"));
  user("none@example.com", {});
  const UserId group = user("group@example.com");
  store_->console_users.replace_roles(group, RoleOrigin::group, {{Role::admin, RoleOrigin::group, "g", kNow}},
                                      event("user.group-roles"));
  for (const std::string name : {"gone", "none", "group", "unknown"}) ask(name + "@example.com", name);
  EXPECT_THAT(queued(), IsEmpty());
  const UserId late = user("late@example.com");
  ask("late@example.com", "late");
  EXPECT_THAT(queued(kNow + kMailedLinkMillis), IsEmpty()) << "the link would have ended";
  const auto claim = queued().at(0);
  EXPECT_TRUE(take(claim, kNow + kMailedLinkMillis).is_obsolete) << "it waited too long for the relay";
  EXPECT_FALSE(link_of("late"));
  store_->console_users.set_active(late, false, event("user.deactivate"));
  EXPECT_TRUE(take(claim).is_obsolete);
  EXPECT_FALSE(link_of("late"));
  store_->sign_in_mails.prune(kNow + kMailedLinkMillis + 1);
  EXPECT_EQ(scalar("SELECT cast(count(*) AS text) FROM sign_in_request"), "0");
}

}  // namespace
}  // namespace giftsync::store
