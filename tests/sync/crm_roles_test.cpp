// The console's roles from permission sets of the CRM: the decision as a table, and the step over a CRM in
// SQL tables on both back ends.
#include "sync/crm/crm_roles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/store/store.h"
#include "tests/crm/crm_conformance.h"
#include "tests/support/in_memory_crm.h"

namespace giftsync::sync {
namespace {
using crm::PermissionSetAssignment;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr UtcMillis kNow{1'795'264'267'000};
const CrmRoleRules kDefaults{{"Standard_User"}, {"Admin"}, {"Admin"}};

RoleSet roles_of(const CrmRoleRules& rules, const std::vector<PermissionSetAssignment>& assignments) {
  RoleSet roles;
  for (const store::UserRole& one : crm_roles(rules, assignments, kNow)) {
    EXPECT_EQ(one.origin, RoleOrigin::crm);
    EXPECT_TRUE(roles.insert(one.role).second) << "once each";
  }
  return roles;
}

// SIGN-10
TEST(CrmRoles, FollowFromAssignmentsInForce) {
  const struct {
    const char* what;
    std::vector<PermissionSetAssignment> assignments;
    RoleSet roles;
  } kCases[] = {
      {"none", {}, {}},
      {"a sender", {{"Standard_User", true, {}}}, {Role::sender}},
      {"by its label", {{" standard user ", true, {}}}, {Role::sender}},
      {"an admin", {{"Admin", true, {}}}, {Role::approver, Role::admin}},
      {"both",
       {{"Admin", true, {}}, {"Standard_User", true, {}}},
       {Role::sender, Role::approver, Role::admin}},
      {"twice", {{"Admin", true, {}}, {"Admin", true, {}}}, {Role::approver, Role::admin}},
      {"another set", {{"Sales", true, {}}, {"Administrator", true, {}}}, {}},
      {"inactive", {{"Admin", false, {}}}, {}},
      {"expired", {{"Admin", true, kNow}}, {}},
      {"not yet expired", {{"Admin", true, kNow + 1}}, {Role::approver, Role::admin}},
      {"one of two expired", {{"Admin", true, kNow - 1}, {"Admin", true, {}}}, {Role::approver, Role::admin}},
      {"named as a role", {{"operator", true, {}}, {"auditor", true, {}}}, {}},
  };
  for (const auto& one : kCases) EXPECT_EQ(roles_of(kDefaults, one.assignments), one.roles) << one.what;
  EXPECT_EQ(
      crm_roles(kDefaults, std::vector<PermissionSetAssignment>{{"Admin", true, {}}}, kNow)[0].granted_by,
      "Admin");
  EXPECT_THAT(roles_of({}, {{"Admin", true, {}}, {"", true, {}}}), IsEmpty()) << "no set gives a role";
  EXPECT_EQ(roles_of({.sender = {"A", "B"}}, {{"B", true, {}}}), RoleSet{Role::sender});
}

class CrmRoleStep : public crm::CrmConformance {
 protected:
  void SetUp() override {
    crm::CrmConformance::SetUp();
    if (IsSkipped()) return;
    store::migrate_store(address());
    store_ = std::make_unique<store::Store>(address());
    sql("INSERT INTO crm_user (id, name, email, isactive) VALUES ('u1', 'Ana', 'Ana@Example.com', true), "
        "('u2', 'Old Ana', 'ana@example.com', false), ('u3', 'Bob', 'bob@example.com', true)");
    sql("INSERT INTO crm_permission_set_assignment (id, assigneeid, permissionsetname, isactive) VALUES "
        "('p1', "
        "'u1', 'Standard_User', true), ('p2', 'u2', 'Admin', true), ('p3', 'u3', 'Admin', true)");
    ana_ = user("ana@example.com");
    bob_ = user("bob@example.com");
    begin_session(ana_);
  }
  void TearDown() override {
    store_.reset();
    crm::CrmConformance::TearDown();
  }
  UserId user(const std::string& email) {
    return *store_->console_users.create(
        {.email = email, .roles = {{Role::auditor, RoleOrigin::granted, "root", kNow}}}, {});
  }
  void begin_session(UserId user) {
    store::ConsoleSession session;
    session.id_hash = "hash" + std::to_string(user.value);
    session.user = user;
    session.created_at = session.last_seen_at = kNow;
    session.expires_at = kNow + kHourMillis;
    ASSERT_TRUE(store_->console_sessions.create(session, {}));
  }
  std::size_t step(UtcMillis now = kNow) {
    return crm_role_step(store_->console_users, store_->console_sessions, crm()->directory(), kDefaults, now);
  }
  RoleSet roles(UserId user) { return store_->console_users.find(user)->role_set(); }

  std::unique_ptr<store::Store> store_;
  UserId ana_;
  UserId bob_;
};

// SIGN-10
TEST_P(CrmRoleStep, GivesUsersWithASessionWhatTheCrmGivesNow) {
  EXPECT_EQ(step(), 1U);
  EXPECT_EQ(roles(ana_), (RoleSet{Role::sender, Role::auditor})) << "of the active user with her address";
  EXPECT_EQ(roles(bob_), RoleSet{Role::auditor}) << "without a session";
  const auto events = store_->audit.list(store::Viewer::of_command_line(),
                                         {.action = "user.crm-roles", .object_id = "ana@example.com"}, 10);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].actor_kind, store::ActorKind::system);
  EXPECT_EQ(events[0].detail, "now sender, before none");
  EXPECT_EQ(step(), 0U) << "nothing has changed";
  sql("UPDATE crm_permission_set_assignment SET permissionsetname = 'Admin' WHERE id = 'p1'");
  EXPECT_EQ(step(), 1U);
  EXPECT_EQ(roles(ana_), (RoleSet{Role::approver, Role::admin, Role::auditor}));
  sql("UPDATE crm_user SET isactive = false WHERE id = 'u1'");
  EXPECT_EQ(step(), 1U);
  EXPECT_EQ(roles(ana_), RoleSet{Role::auditor}) << "the grant stays";
  begin_session(bob_);
  EXPECT_EQ(step(), 1U);
  EXPECT_EQ(roles(bob_), (RoleSet{Role::approver, Role::admin, Role::auditor}));
  sql("DELETE FROM crm_permission_set_assignment");
  EXPECT_EQ(step(kNow + kHourMillis), 0U) << "the sessions have ended";
}

// SIGN-10
TEST_P(CrmRoleStep, RolesStayWhileTheCrmCannotTell) {
  step();
  tests::InMemoryCrm away;
  away.users_by_email["ana@example.com"] = {"u1", "Ana", "ana@example.com", true};
  EXPECT_EQ(crm_role_step(store_->console_users, store_->console_sessions, away, kDefaults, kNow), 0U)
      << "it shows no permission sets";
  away.down = true;
  EXPECT_THROW(crm_role_step(store_->console_users, store_->console_sessions, away, kDefaults, kNow),
               DependencyError);
  EXPECT_EQ(roles(ana_), (RoleSet{Role::sender, Role::auditor}));
}

INSTANTIATE_TEST_SUITE_P(backends, CrmRoleStep, crm::managed_crms(), crm::name_of_crm);

}  // namespace
}  // namespace giftsync::sync
