// The console's pages of gift requests that wait for approval.
#include <array>

#include "schema/store/gift/held_gift_requests.h"
#include "tests/daemon/console/console_work_fixture.h"

namespace giftsync::console {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ConsoleHeld : public ConsoleWork {
 protected:
  ConsoleHeld() {
    store::Account rose;
    rose.email = "rose@example.com";
    account_ = *store_.accounts.create(rose);
  }
  std::string held(std::optional<OrganizationId> organization = {}) {
    store_.accounts.set_organization("rose@example.com", organization);
    store::NewGiftRequest request;
    request.request.account = account_;
    request.request.organization = organization;
    request.request.gift = {7};
    request.request.costs = {Money{500}, Money{200}, std::nullopt, Money{35}};
    request.request.credential_prefix = "gsk_live_abcdefg";
    request.request.created_at = now_;
    request.recipients = {{"ada@example.org", "Ada", "", kMarkup}, {"bea@example.org", "", "", "Hi"}};
    request.hold_reasons = {{"recipients_above", "", "It has 2 recipients."}};
    return std::to_string(store_.gifts.create(std::span(&request, 1)).front().request.value);
  }
  HeldState state(const std::string& id) { return store_.held.find({std::stoll(id)})->state; }
  static std::string path(const std::string& id) { return "/console/held/" + id; }
  static std::string version_in(const std::string& page) {
    const std::string key = "name=\"version\" value=\"";
    const std::size_t at = page.find(key) + key.size();
    return page.substr(at, page.find('"', at) - at);
  }
  http::HttpResponse press_on(const std::string& page, const std::string& to) {
    return post(to, "form_token=" + form_token_in(page, to) + "&version=" + version_in(page) + "&note=fine");
  }
  /// The form of a page that the user was not shown, with a token of the user's own session.
  http::HttpResponse post_unseen(const std::string& id, const std::string& verb, const std::string& version) {
    const std::string form = "/held/" + id + "/" + verb;
    return post("/console" + form, "form_token=" + form_token(form_secret(), form) + "&version=" + version);
  }
  void block(const std::string& email) {
    const store::DoNotSendEntry entry{email, DoNotSendReason::blocked, "", {}, now_, "root", {}};
    store_.do_not_send.add(std::span(&entry, 1), {});
  }

  AccountId account_;
};

// covers: GUARD-29
TEST_F(ConsoleHeld, AnApproverReadsAndApproves) {
  const std::string id = held();
  sign_in(user("ana@example.com", {Role::approver}));
  EXPECT_THAT(get("/console/held").body,
              AllOf(HasSubstr(path(id)), HasSubstr("It has 2 recipients."), HasSubstr("14.70")));
  EXPECT_THAT(get("/console/").body,
              AllOf(HasSubstr("href=\"" + path(id) + "\"><span"),
                    HasSubstr("<strong>Held requests to approve</strong> <span class=\"count warn-tint\">1<"),
                    Not(HasSubstr("Nothing waits for you"))));
  const std::string page = get(path(id)).body;
  EXPECT_THAT(page, AllOf(HasSubstr("ada@<wbr>example.<wbr>org"), HasSubstr("&lt;script&gt;"),
                          HasSubstr("rose@example.com"), Not(HasSubstr(kMarkup))));
  const http::HttpResponse pressed = press_on(page, path(id) + "/approve");
  EXPECT_EQ(header(pressed, "Location"), path(id) + "?notice=held_approved");
  EXPECT_EQ(state(id), HeldState::sent);
  EXPECT_EQ(store_.gifts.find_recipients({std::stoll(id)}).size(), 2u);
  EXPECT_EQ(last_event().action, "held.approve");
  EXPECT_EQ(last_event().object_id, id);
  EXPECT_EQ(last_event().detail, "fine");
  EXPECT_THAT(get(path(id)).body,
              AllOf(HasSubstr("approved by ana@example.com"), Not(HasSubstr("/approve"))));
  EXPECT_EQ(header(press_on(page, path(id) + "/reject"), "Location"), path(id) + "?notice=request_refused");
  EXPECT_EQ(store_.gifts.find_recipients({std::stoll(id)}).size(), 2u);
}

// covers: CON-58
TEST_F(ConsoleHeld, AfterADecisionThePageLinksToTheNextThatWaitsForTheUser) {
  const UserId ana = user("ana@example.com", {Role::approver});
  const std::string first = held();
  const AccountId rose = account_;
  store::Account own;
  own.email = "ana@example.com";
  account_ = *store_.accounts.create(own);
  held();
  account_ = rose;
  const std::string third = held();
  sign_in(ana);
  const std::string next =
      "<a href=\"" + path(third) + "\">Next request that waits for you: " + third + "</a>";
  const std::string none = "No other request waits for your decision.";
  const std::string page = get(path(first)).body;
  EXPECT_THAT(page, AllOf(Not(HasSubstr("Next request")), Not(HasSubstr(none))));
  const std::string decided = header(press_on(page, path(first) + "/approve"), "Location");
  EXPECT_THAT(get(decided).body, AllOf(HasSubstr(next), Not(HasSubstr(none))));
  EXPECT_THAT(get(path(first)).body, Not(HasSubstr("Next request"))) << "without a decision just before";
  const std::string last = header(press_on(get(path(third)).body, path(third) + "/reject"), "Location");
  EXPECT_THAT(get(last).body, AllOf(HasSubstr(none), Not(HasSubstr("Next request"))))
      << "the user's own one does not wait for the user";
  sign_in(user("op@example.com", {Role::operations}));
  EXPECT_THAT(get(last).body, Not(HasSubstr(none)));
}

// covers: TEST-7
TEST_F(ConsoleHeld, ListAndOverviewHaveTheSameRequests) {
  const std::string id = held();
  sign_in(user("ana@example.com", {Role::approver}));
  for (const char* page : {"/console/", "/console/held"}) EXPECT_THAT(get(page).body, HasSubstr(path(id)));
  cookie_ += "; " + std::string(kSession) + "_tests=on";
  for (const char* page : {"/console/", "/console/held"}) {
    const http::HttpResponse shown = get(page);
    EXPECT_EQ(shown.status, 200);
    EXPECT_THAT(shown.body, Not(HasSubstr(path(id)))) << page;
  }
}

// The same whether there are any: no page of the console shows them unasked. covers: TEST-7
TEST_F(ConsoleHeld, AnEmptyListSaysThatThoseOfTestKeysAreLeftOut) {
  const std::array<const char*, 3> pages{"/console/held", "/console/gifts", "/console/gifts?campaign=autumn"};
  sign_in(user("ana@example.com", {Role::approver, Role::operations}));
  for (const char* page : pages) EXPECT_THAT(get(page).body, HasSubstr("of test keys are left out"));
  cookie_ += "; " + std::string(kSession) + "_tests=on";
  for (const char* page : pages) EXPECT_THAT(get(page).body, Not(HasSubstr("of test keys are left out")));
}

// covers: GUARD-32
TEST_F(ConsoleHeld, ThePageSaysThatTheKeyIsPausedAndTheFormHoldsAllTheSame) {
  const std::string id = held();
  store::Credential key;
  key.account = account_;
  key.prefix = "gsk_live_abcdefg";
  key.hash = std::string(64, 'a');
  key.id = store_.credentials.insert(key);
  sign_in(user("ana@example.com", {Role::approver}));
  const std::string before = get(path(id)).body;
  EXPECT_THAT(before, Not(HasSubstr("id=\"notes\"")));
  store_.credentials.pause(key, "<odd>", now_);
  EXPECT_THAT(get(path(id)).body, AllOf(HasSubstr("The API key gsk_live_abcdefg is paused since"),
                                        HasSubstr("(&lt;odd&gt;)"), HasSubstr(path(id) + "/approve")));
  press_on(before, path(id) + "/approve");
  EXPECT_EQ(state(id), HeldState::sent);
}

// covers: GUARD-29
TEST_F(ConsoleHeld, ADecisionAppliesToWhatThePageShowed) {
  const std::string id = held();
  sign_in(user("ana@example.com", {Role::approver}));
  const std::string page = get(path(id)).body;
  block("bea@example.org");
  const http::HttpResponse refused = press_on(page, path(id) + "/approve");
  EXPECT_EQ(refused.status, 412);
  EXPECT_THAT(refused.body, AllOf(HasSubstr("Nothing was decided"), HasSubstr("bea@example.org: "),
                                  Not(HasSubstr(path(id) + "/approve"))));
  EXPECT_TRUE(last_event().refused);
  EXPECT_EQ(state(id), HeldState::held);
  EXPECT_EQ(press_on(refused.body, path(id) + "/reject").status, 303);
  EXPECT_EQ(state(id), HeldState::rejected);
}

// covers: GUARD-27, GUARD-29
TEST_F(ConsoleHeld, OnlyApproversOfTheOrganizationDecideAndNotOnTheirOwn) {
  const OrganizationId edge = organization("Edge");
  const std::string id = held(edge);
  sign_in(user("joe@example.com", {Role::approver}, edge));
  const std::string version = version_in(get(path(id)).body);
  sign_in(user("kim@example.com", {Role::approver}, organization("Other")));
  EXPECT_EQ(get(path(id)).status, 404);
  EXPECT_THAT(get("/console/held").body, Not(HasSubstr(path(id))));
  for (const char* verb : {"approve", "reject"})
    EXPECT_EQ(post_unseen(id, verb, version).status, 404) << verb;
  sign_in(user("eve@example.com", {Role::admin}, edge));
  EXPECT_THAT(get(path(id)).body, AllOf(HasSubstr("Your role does not decide"), Not(HasSubstr("/approve"))));
  for (const char* verb : {"approve", "reject"})
    EXPECT_EQ(post_unseen(id, verb, version).status, 404) << verb;
  sign_in(user("rose@example.com", {Role::approver}, edge));
  const std::string own = get(path(id)).body;
  EXPECT_THAT(own, AllOf(HasSubstr("You asked for this request yourself"), Not(HasSubstr("/approve\""))));
  EXPECT_EQ(header(post_unseen(id, "approve", version), "Location"), path(id) + "?notice=request_own");
  EXPECT_TRUE(last_event().refused);
  EXPECT_EQ(last_event().rule, "GUARD-27");
  EXPECT_EQ(state(id), HeldState::held);
  sign_in(user("jim@example.com", {Role::approver}, edge));
  press_on(get(path(id)).body, path(id) + "/approve");
  EXPECT_EQ(state(id), HeldState::sent);
}

}  // namespace
}  // namespace giftsync::console
