// What the page of a request that waits says about its sending, before anyone approves it.
#include <gmock/gmock.h>

#include "platform/dependency_error.h"
#include "sync/request/request_record_step.h"
#include "tests/daemon/console/console_fixture.h"
#include "tests/support/in_memory_request_crm.h"

namespace giftsync::console {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using F = RequestRecordField;
using State = store::RequestRecordState;

class ConsoleRequestCheck : public ConsoleFixture {
 protected:
  ConsoleRequestCheck() {
    settings_.requests.enabled = true;
    options_.in_force = &settings_;
    options_.crm.crm = &crm_;
    rules_.authorize_senders = [this](std::span<const std::string> users) {
      if (is_away_) throw DependencyError(true, "no response", true);
      return std::vector<sync::SenderAuthorization>(users.size(), sender_);
    };
    options_.check_request = [this](const sync::LoadedRequestRecord& record) {
      return sync::findings_when_approved(store_.catalogue, record, rules_);
    };
    restart();
    std::vector<store::GiftItem> items(2);
    items[0].id = {7};
    items[0].name = "Coffee";
    items[1].id = {8};
    items[1].name = "Tea";
    items[1].active = false;
    store_.catalogue.import(items);
    insert("1");
  }
  void restart() { console_ = std::make_unique<Console>(store_, options_); }
  /// A record that waits, as the daemon has read it.
  void insert(const std::string& id) {
    crm_.insert(id, "Thank you!", false);
    store::RequestRecordEntryUpdate change;
    change.next.record_id = id;
    change.next.number = "R-" + id;
    change.transitions = {{now_, "", "", "pending", "first seen"}};
    store_.request_records.save(std::span(&change, 1));
  }
  std::string page() { return get("/console/requests/R-1").body; }
  static std::string value_in(const std::string& page, const std::string& action, const std::string& name) {
    const std::string key = "name=\"" + name + "\" value=\"";
    const std::size_t at = page.find(key, page.find("action=\"" + action + "\"")) + key.size();
    return page.substr(at, page.find('"', at) - at);
  }
  std::string approve(const std::string& shown) {
    const std::string path = "/console/requests/R-1/approve";
    const auto answer = post(
        path, "form_token=" + value_in(shown, path, "form_token") + "&seen=" + value_in(shown, path, "seen"));
    return header(answer, "Location");
  }

  config::Settings settings_;
  tests::InMemoryRequestCrm crm_;
  sync::RequestRecordRules rules_;
  sync::SenderAuthorization sender_{store::Account(), {}};
  bool is_away_ = false;
};

// CON-40
TEST_F(ConsoleRequestCheck, WhatWouldFailAtTheSendingIsSaidAboveTheButtons) {
  sign_in(user("ana@example.com", {Role::approver}));
  EXPECT_THAT(page(), AllOf(HasSubstr("Nothing keeps the gift from being sent"),
                            Not(HasSubstr("Would not be sent"))));
  crm_.contacts["003NONE"] = {
      .id = "003NONE", .email = "", .first_name = "", .last_name = "", .account_id = ""};
  struct Case {
    std::vector<std::pair<F, std::string>> edits;
    std::string warning;
  };
  const std::vector<Case> cases{
      {{{F::gift_id, "99"}}, "There is no item &quot;99&quot; in the catalogue"},
      {{{F::gift_id, "8"}}, "There is no item &quot;8&quot; in the catalogue"},
      {{{F::gift_id, ""}}, "Gift Id is empty"},
      {{{F::recipient_email, ""}}, "There is no address to send to"},
      {{{F::recipient_email, ""}, {F::recipient_contact, "003NONE"}}, "There is no address to send to"},
      {{{F::recipient_contact, "003GONE"}}, "Recipient Contact &quot;003GONE&quot; is not in the CRM"},
      {{{F::recipient_email, "no-address"}}, "Recipient Email &quot;no-address&quot;"},
      {{{F::message, ""}}, "Message is empty"},
      {{{F::message, std::string(10'001, 'x')}}, "at most 10000 are allowed"},
      {{{F::send_type, "sms"}}, "Send Type &quot;sms&quot; is not available"},
      {{{F::sender, ""}}, "Sender is empty"}};
  for (const Case& one : cases) {
    crm_.insert("1", "Thank you!", false);
    for (const auto& [field, value] : one.edits) crm_.edit("1", field, value);
    const std::string shown = page();
    EXPECT_THAT(shown, AllOf(HasSubstr(one.warning), HasSubstr("Would not be sent"),
                             HasSubstr("aria-describedby=\"obstacles\""), Not(HasSubstr("Nothing keeps"))));
    EXPECT_LT(shown.find(one.warning), shown.find("/console/requests/R-1/approve")) << one.warning;
  }
}

// CON-40
TEST_F(ConsoleRequestCheck, TheSendersFaultsAreAllSaidAndForbidNothing) {
  sender_ = {std::nullopt,
             {{sync::Precondition::account, "No account has sam@example.com."},
              {sync::Precondition::permission_set, "The permission set has expired."}}};
  sign_in(user("ana@example.com", {Role::approver}));
  const std::string shown = page();
  EXPECT_THAT(shown, AllOf(HasSubstr("No account has sam@example.com."), HasSubstr("has expired")));
  EXPECT_EQ(approve(shown), "/console/requests/R-1?notice=request_approved");
  const std::string id = "1";
  EXPECT_EQ(store_.request_records.find(std::span(&id, 1)).front().state, State::approved);
  EXPECT_THAT(page(), AllOf(Not(HasSubstr("Would not be sent")), Not(HasSubstr("Nothing keeps"))))
      << "it does not wait any more";
}

// CON-40
TEST_F(ConsoleRequestCheck, WhatWasNotAskedIsNotCalledGood) {
  sign_in(user("ana@example.com", {Role::approver}));
  is_away_ = true;
  EXPECT_THAT(page(), AllOf(HasSubstr("Not checked"), HasSubstr("/console/requests/R-1/approve")));
  is_away_ = false;
  options_.check_request = {};
  restart();
  EXPECT_THAT(page(), HasSubstr("Not checked"));
  settings_.crm.type = config::CrmType::salesforce;
  crm_.around_each_call = [] { FAIL() << "the CRM was asked"; };
  EXPECT_THAT(page(), AllOf(HasSubstr("Not checked"), HasSubstr("approved in Salesforce")));
}

// CON-40, CON-16
TEST_F(ConsoleRequestCheck, AnAuditorReadsNoAddressInWhatIsWrongWithIt) {
  crm_.edit("1", F::recipient_email, std::string("secret words"));
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(page(), AllOf(HasSubstr("recipient: ***"), Not(HasSubstr("secret words"))));
}

}  // namespace
}  // namespace giftsync::console
