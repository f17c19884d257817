// Who may send from inside the CRM, as a table of everything that can be missing.
#include "sync/access/send_authorization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "platform/text.h"

namespace giftsync::sync {
namespace {
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using State = TokenStatus::State;

constexpr UtcMillis kNow{1'795'264'267'000};

SenderInfo good() {
  SenderInfo sender;
  sender.token = {State::active, {7}, "Edge"};
  sender.name.user_id = "u1";
  sender.user = crm::CrmUser{"u1", "Ana Lima", "ana@example.com", true};
  sender.account = store::Account{{1}, "ana@example.com", "Ana", Plan::team, true, {}, {{7}}};
  sender.permission_sets = {{"Standard_User", true, std::nullopt}};
  return sender;
}

std::vector<Precondition> kinds(const std::vector<MissingPrecondition>& missing) {
  std::vector<Precondition> all;
  for (const MissingPrecondition& one : missing) all.push_back(one.precondition);
  return all;
}

struct Case {
  const char* name;
  std::function<void(SenderInfo&)> invalidate;
  Precondition missing;
  const char* expected_text;
  const char* next_step;
};

const std::vector<Case>& cases() {
  using P = Precondition;
  static const std::vector<Case> all{
      {"no token", [](auto& f) { f.token = {}; }, P::organization_token, "No organization token",
       "requests.organization_token"},
      {"unknown token", [](auto& f) { f.token.state = State::unknown; }, P::organization_token, "not known",
       "Ask your giftsync administrator for one"},
      {"revoked token", [](auto& f) { f.token.state = State::revoked; }, P::organization_token, "revoked",
       "requests.organization_token"},
      {"expired token", [](auto& f) { f.token.state = State::expired; }, P::organization_token, "expired",
       "requests.organization_token"},
      {"unknown user id", [](auto& f) { f.user.reset(); }, P::sender_in_crm, "\"u1\"", "existing CRM user"},
      {"unknown user address",
       [](auto& f) {
         f.user.reset();
         f.name = {"", "bob@example.com"};
       },
       P::sender_in_crm, "\"bob@example.com\"", "CRM administrator"},
      {"no sender named",
       [](auto& f) {
         f.user.reset();
         f.name = {};
       },
       P::sender_in_crm, "No sender", "Name the sender"},
      {"users not mapped",
       [](auto& f) {
         f.user.reset();
         f.crm_has_users = false;
       },
       P::sender_in_crm, "cannot read the CRM's users", "crm.tables.user"},
      {"inactive user", [](auto& f) { f.user->active = false; }, P::active_user, "not active",
       "CRM administrator"},
      {"user without address", [](auto& f) { f.user->email = " "; }, P::account, "no e-mail address",
       "CRM administrator"},
      {"no account", [](auto& f) { f.account.reset(); }, P::account, "\"ana@example.com\"",
       "Ask your giftsync administrator to create one"},
      {"inactive account", [](auto& f) { f.account->active = false; }, P::active_account, "deactivated",
       "Ask your giftsync administrator to activate it"},
      {"account of another organization", [](auto& f) { f.account->organization = {{8}}; },
       P::account_organization, "\"Edge\"", "Ask your giftsync administrator to assign it"},
      {"account of none", [](auto& f) { f.account->organization.reset(); }, P::account_organization,
       "\"Edge\"", "Ask your giftsync administrator to assign it"},
      {"plan", [](auto& f) { f.account->plan = Plan::individual; }, P::plan, "individual",
       "Ask your giftsync administrator for a team"},
      {"no permission set", [](auto& f) { f.permission_sets->clear(); }, P::permission_set,
       "holds no permission set", "Standard_User or Admin"},
      {"another permission set", [](auto& f) { f.permission_sets->front().permission_set = "Sales"; },
       P::permission_set, "holds no permission set for sending, only \"Sales\".", "Standard_User or Admin"},
      {"other permission sets, some of them not in force",
       [](auto& f) {
         f.permission_sets = {{" Sales ", true, std::nullopt},
                              {"Gone", true, kNow},
                              {"Off", false, std::nullopt},
                              {"", true, std::nullopt},
                              {"Service Agents", true, kNow + 1}};
       },
       P::permission_set, "sending, only \"Sales, Service Agents\".", "Standard_User or Admin"},
      {"inactive assignment", [](auto& f) { f.permission_sets->front().active = false; }, P::permission_set,
       "is not active", "CRM administrator"},
      {"expired at this moment", [](auto& f) { f.permission_sets->front().expires_at = kNow; },
       P::permission_set, "has expired", "CRM administrator"},
      {"permission sets not mapped", [](auto& f) { f.permission_sets.reset(); }, P::permission_set,
       "cannot read", "crm.tables.permission_set_assignment"},
  };
  return all;
}

TEST(SendAuthorization, AllPreconditionsMet) {
  EXPECT_THAT(missing_preconditions(good(), kNow), IsEmpty());
  SenderInfo admin = good();
  admin.permission_sets = {{"Standard_User", false, std::nullopt}, {"Admin", true, kNow + 1}};
  EXPECT_THAT(missing_preconditions(admin, kNow), IsEmpty());
}

// REQ-38
TEST(SendAuthorization, PermissionSetNamesIgnoreCaseAndBlanks) {
  const std::vector<std::pair<std::string, bool>> spellings{
      {"Standard_User", true},  {"Standard User", true},
      {"standard user", true},  {"STANDARD_USER", true},
      {"Admin", true},          {"admin", true},
      {" ADMIN ", true},        {"StandardUser", false},
      {"Standard-User", false}, {"Standard_User2", false},
      {"xyz__Admin", false},    {"c__Standard_User", false},
      {"Administrator", false}, {"", false}};
  for (const auto& [name, may_send] : spellings) {
    SCOPED_TRACE(name);
    SenderInfo sender = good();
    sender.permission_sets->front().permission_set = name;
    EXPECT_EQ(missing_preconditions(sender, kNow).empty(), may_send);
    sender.permission_sets->front().active = false;
    const auto inactive = missing_preconditions(sender, kNow);
    ASSERT_THAT(kinds(inactive), ElementsAre(Precondition::permission_set));
    EXPECT_THAT(inactive.front().message, HasSubstr(may_send ? "is not active" : "holds no permission set"));
  }
}

// REQ-36, REQ-39
TEST(SendAuthorization, EachMissingPreconditionHasAMessageOfItsOwn) {
  std::set<std::string> messages;
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    SenderInfo sender = good();
    one.invalidate(sender);
    const auto missing = missing_preconditions(sender, kNow);
    ASSERT_THAT(kinds(missing), ElementsAre(one.missing));
    EXPECT_THAT(missing.front().message, AllOf(HasSubstr(one.expected_text), HasSubstr(one.next_step)));
    messages.insert(missing.front().message);
  }
  EXPECT_GE(messages.size(), cases().size() - 2);  // two have the same message for different causes
}

TEST(SendAuthorization, AllMissingPreconditionsAreReportedInOrder) {
  SenderInfo sender = good();
  sender.user->active = false;
  sender.account->active = false;
  sender.account->organization.reset();
  sender.account->plan = Plan::individual;
  sender.permission_sets->clear();
  using P = Precondition;
  EXPECT_THAT(
      kinds(missing_preconditions(sender, kNow)),
      ElementsAre(P::active_user, P::active_account, P::account_organization, P::plan, P::permission_set));
}

TEST(SendAuthorization, ABadTokenHidesTheRest) {
  SenderInfo sender = good();
  sender.token.state = State::unknown;
  sender.user.reset();
  EXPECT_THAT(kinds(missing_preconditions(sender, kNow)), ElementsAre(Precondition::organization_token));
}

// REQ-52
TEST(SendAuthorization, ForItsOwnUseGiftsyncListsWhatABadTokenHides) {
  SenderInfo sender = good();
  sender.token = {State::expired, {}, ""};
  sender.account->active = false;
  sender.permission_sets->clear();
  using P = Precondition;
  EXPECT_THAT(kinds(all_missing_preconditions(sender, kNow)),
              ElementsAre(P::organization_token, P::active_account, P::permission_set))
      << "the membership is not known without the token's organization";
  EXPECT_THAT(all_missing_preconditions(good(), kNow), IsEmpty());
}

// REQ-37
TEST(SendAuthorization, NoMessageNamesACommandThatASenderCannotRun) {
  for (const Case& one : cases()) {
    SenderInfo sender = good();
    one.invalidate(sender);
    for (const auto& missing : {missing_preconditions(sender, kNow), missing_for_organization(sender, kNow),
                                all_missing_preconditions(sender, kNow)})
      for (const MissingPrecondition& each : missing)
        EXPECT_THAT(each.message, testing::Not(HasSubstr("giftsyncctl"))) << one.name;
  }
}

// REQ-52
TEST(SendAuthorization, EachMissingPreconditionHasACommand) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    SenderInfo sender = good();
    sender.account->email = "o'hara@example.com";
    one.invalidate(sender);
    const auto missing = all_missing_preconditions(sender, kNow);
    ASSERT_FALSE(missing.empty());
    EXPECT_THAT(missing.front().command, testing::StartsWith("giftsyncctl "));
    if (one.missing == Precondition::active_account) {
      EXPECT_EQ(missing.front().command, "giftsyncctl account activate 'o'\\''hara@example.com'");
    }
  }
}

// REQ-37
TEST(SendAuthorization, MessagesFitTheErrorLogWithLongNames) {
  const std::string long_text = [] {
    std::string text;
    for (int i = 0; i < 300; ++i) text += "ü";
    return text;
  }();
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    SenderInfo sender = good();
    sender.token.organization_name = sender.user->email = sender.account->email = sender.user->id = long_text;
    sender.permission_sets->push_back({long_text, true, std::nullopt});
    sender.name = sender.name.user_id.empty() ? SenderRef{"", long_text} : SenderRef{long_text, ""};
    one.invalidate(sender);
    for (const MissingPrecondition& missing : missing_preconditions(sender, kNow)) {
      EXPECT_TRUE(is_storable_text(missing.message));
      EXPECT_LE(count_code_points(missing.message), kMaxMessageCodePoints);
      EXPECT_TRUE(missing.message.ends_with('.') || missing.message.ends_with("assignment."))
          << missing.message;
    }
  }
}

}  // namespace
}  // namespace giftsync::sync
