// Who may read, approve and auto-approve a request record over HTTP.
#include <gtest/gtest.h>

#include "sync/request/approver_notices.h"

namespace giftsync::sync {
namespace {

store::ApiKeyOwner key_with(std::set<Scope> scopes) {
  store::ApiKeyOwner owner;
  owner.key.scopes = std::move(scopes);
  owner.account.email = "Ana@example.com";
  return owner;
}

std::vector<crm::CrmUser> ana() {
  return {{"005A", "Ana", "ana@example.com", true}};
}

// REQ-45, REQ-46
TEST(RequestRecordAuthorization, OwnRecordsAreRequestedCreatedOrSentByTheCaller) {
  const store::ApiKeyOwner owner = key_with({Scope::request});
  const RequestRecordCaller caller{owner, ana};
  EXPECT_TRUE(is_own({"ana@EXAMPLE.com", "", ""}, caller));
  EXPECT_TRUE(is_own({"", "005A", ""}, caller));
  EXPECT_TRUE(is_own({"", "", "005A"}, caller));
  EXPECT_FALSE(is_own({"bob@example.com", "005B", "005B"}, caller));
  EXPECT_FALSE(is_own({}, caller));
}

TEST(RequestRecordAuthorization, TheCrmIsAskedOnlyWhenTheDecisionDependsOnItsUsers) {
  const auto unexpected = []() -> std::vector<crm::CrmUser> {
    ADD_FAILURE() << "a needless query of the CRM";
    return {};
  };
  const store::ApiKeyOwner approver = key_with({Scope::request, Scope::approve});
  const store::ApiKeyOwner owner = key_with({Scope::request});
  EXPECT_TRUE(is_own({"ana@example.com", "005B", "005B"}, {owner, unexpected}));
  EXPECT_EQ(auto_approval_access({approver, unexpected}, "005B", {false, true}), AutoApprovalAccess::allowed);
  EXPECT_EQ(auto_approval_access({owner, unexpected}, "005B", {}), AutoApprovalAccess::not_enabled);
  EXPECT_EQ(auto_approval_access({owner, unexpected}, "", {true, false}), AutoApprovalAccess::allowed);
}

TEST(RequestRecordAuthorization, PartiesComeFromTheRecordAndItsEntry) {
  RequestRecord record;
  record.set(RequestRecordField::created_by, std::string("005A"));
  record.set(RequestRecordField::sender, std::string("005B"));
  store::RequestRecordEntry entry;
  entry.requested_by = "ana@example.com";
  EXPECT_EQ(parties_of(record, {}).requested_by, "");
  const RequestRecordParties parties = parties_of(record, std::span(&entry, 1));
  EXPECT_EQ(parties.requested_by, "ana@example.com");
  EXPECT_EQ(parties.created_by, "005A");
  EXPECT_EQ(parties.sender, "005B");
}

// REQ-44
TEST(RequestRecordAuthorization, AutoApprovalIsAnApprovalOfTheCallersOwnRequest) {
  using Access = AutoApprovalAccess;
  const store::ApiKeyOwner approver = key_with({Scope::request, Scope::approve});
  const store::ApiKeyOwner owner = key_with({Scope::request});
  const std::string own = "005A", other = "005B", none = "";
  struct Case {
    const store::ApiKeyOwner& key;
    const std::string& sender;
    ApprovalSettings settings;
    Access expected;
  };
  const ApprovalSettings off{}, api{true, false}, self{false, true}, both{true, true};
  for (const Case& one : {
           Case{approver, none, off, Access::not_enabled},  // the scope alone approves others' requests
           Case{approver, other, off, Access::not_enabled},
           Case{approver, own, api, Access::allowed},
           Case{approver, other, api, Access::other_sender},
           Case{approver, none, self, Access::allowed},
           Case{approver, other, self, Access::allowed},
           Case{owner, none, off, Access::not_enabled},
           Case{owner, none, self, Access::not_enabled},
           Case{owner, none, api, Access::allowed},
           Case{owner, own, api, Access::allowed},
           Case{owner, other, api, Access::other_sender},
           Case{owner, other, both, Access::other_sender},
       })
    EXPECT_EQ(auto_approval_access({one.key, ana}, one.sender, one.settings), one.expected)
        << one.key.key.scopes.size() << " scopes, sender " << one.sender << ", "
        << one.settings.api_auto_approval << one.settings.self_approval;
}

}  // namespace
}  // namespace giftsync::sync
