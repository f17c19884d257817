// The console's pages of request records, the outbox, sources, connections and settings.
#include <gmock/gmock.h>

#include <fstream>
#include <utility>

#include "platform/digest.h"
#include "sync/api_key.h"
#include "sync/gift_actions.h"
#include "sync/request_record_approval.h"
#include "tests/daemon/console/console_fixture.h"
#include "tests/support/in_memory_request_crm.h"
#include "tests/support/round_trips.h"
#include "tests/support/temporary_database.h"
#include "tests/support/test_certificate.h"

namespace giftsync::daemon::console {
namespace {

using schema::Role;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using F = schema::RequestRecordField;
using State = schema::store::RequestRecordState;

const std::string kMarkup = "<script>alert(1)</script>";

/// Whose user 005B has the address of ben.
class PeopleCrm : public tests::InMemoryRequestCrm {
 public:
  class Users : public tests::EmptyDirectory {
    std::vector<std::vector<schema::crm::CrmUser>> find_users_by_email(
        std::span<const std::string> keys) override {
      if (is_away) throw platform::DependencyError(true, "no response", true);
      std::vector<std::vector<schema::crm::CrmUser>> all(keys.size());
      for (std::size_t i = 0; i < keys.size(); ++i)
        if (keys[i] == "ben@example.com") all[i].push_back({"005B", "Ben", keys[i], true});
      return all;
    }

    std::vector<std::optional<schema::crm::CrmUser>> find_users_by_id(
        std::span<const std::string> ids) override {
      std::vector<std::optional<schema::crm::CrmUser>> all(ids.size());
      for (std::size_t i = 0; i < ids.size(); ++i)
        if (ids[i] == "005B") all[i] = schema::crm::CrmUser{"005B", "Ben", "ben@example.com", true};
      return all;
    }

   public:
    bool is_away = false;
  };
  Users& directory() override { return users_; }

 private:
  Users users_;
};

class ConsoleWork : public ConsoleFixture {
 protected:
  ConsoleWork() {
    settings_.file = "/etc/giftsync/giftsyncd.yaml";
    settings_.requests.enabled = true;
    options_.in_force = &settings_;
    options_.crm.crm = &crm_;
    options_.on_request_decided = [this] { ++decided_; };
    console_ = std::make_unique<Console>(store_, options_);
    schema::store::GiftItem coffee;
    coffee.id = {7};
    coffee.name = "Coffee";
    coffee.costs = {schema::Money{500}, schema::Money{200}, std::nullopt, schema::Money{35}};
    store_.catalogue.import(std::span(&coffee, 1));
  }
  /// A record of the CRM that waits, as the daemon has read it.
  void insert(const std::string& id, const std::string& message = "Thank you!",
              const std::string& requested_by = "") {
    crm_.insert(id, message, false);
    schema::store::RequestRecordEntryUpdate change;
    change.next.record_id = id;
    change.next.number = "R-" + id;
    change.next.requested_by = requested_by;
    change.transitions = {{now_, "ana", "", "pending", "first seen"}};
    store_.request_records.save(std::span(&change, 1));
  }
  void fail(const std::string& id, const std::string& error) {
    schema::store::RequestRecordEntryUpdate change;
    change.next = known(id);
    change.next.error = error;
    store_.request_records.save(std::span(&change, 1));
  }
  schema::store::RequestRecordEntry known(const std::string& id) {
    return store_.request_records.find(std::span(&id, 1)).front();
  }
  /// The hidden content behind the form that posts to a path.
  static std::string seen_in(const std::string& page, const std::string& action) {
    const std::string key = "name=\"seen\" value=\"";
    const std::size_t at = page.find(key, page.find("action=\"" + action + "\"")) + key.size();
    return page.substr(at, page.find('"', at) - at);
  }
  http::HttpResponse press(const std::string& page, const std::string& path, const std::string& note = "") {
    return post(path,
                "form_token=" + form_token_in(page, path) + "&seen=" + seen_in(page, path) + "&note=" + note);
  }
  http::HttpResponse press_plain(const std::string& page, const std::string& path,
                                 const std::string& more = "") {
    return post(path, "form_token=" + form_token_in(page, path) + more);
  }
  std::string form_secret() {
    return store_.console_sessions.find(platform::sha256_hex(cookie_), now_, {0})->form_secret;
  }
  schema::store::AuditEvent last_event() {
    return store_.audit.list(schema::store::Viewer::of_command_line(), {}, 1).front();
  }
  schema::OrganizationId organization(const std::string& name) {
    schema::store::OrganizationToken token;
    token.hash = name;
    return store_.organizations.create(name, token).value();
  }
  schema::TransactionId gift() {
    schema::store::NewGiftRequest request;
    request.request.account = {1};
    request.request.created_at = now_;
    request.recipients = {{"ada@example.com", "", "", ""}};
    return store_.gifts.create(std::span(&request, 1)).front().recipients.front().id;
  }
  /// The gift of a request record that ben approved a minute ago.
  schema::TransactionId gift_of_request(const std::string& id, schema::AccountId account,
                                        const std::string& requested_by = "") {
    insert(id, "Thank you!", requested_by);
    schema::store::RequestRecordEntryUpdate change;
    change.next = known(id);
    change.next.state = State::claimed;
    change.next.approved_by = "ben@example.com";
    change.transitions = {
        {now_ - platform::kMinuteMillis, "ben@example.com", "pending", "approved", "a note"}};
    store_.request_records.save(std::span(&change, 1));
    schema::store::NewGiftRequest request;
    request.request.account = account;
    request.request.created_at = now_;
    request.recipients = {{"ada@example.com", "", "", ""}};
    schema::store::RequestRecordLink link;
    link.record_id = id;
    link.entry_version = known(id).version;
    request.request_record = link;
    return store_.gifts.create(std::span(&request, 1)).front().recipients.front().id;
  }
  /// The gift's mail, held after an unknown outcome.
  schema::TransactionId held_mail() {
    const schema::TransactionId id = gift();
    const auto claims = store_.deliveries.claim("a", 60'000, 10, now_);
    const schema::store::DeliveryQueue::Sending sending{claims.front(), "m1@example.com"};
    store_.deliveries.begin_sending("a", std::span(&sending, 1), 60'000, now_);
    const schema::store::DeliveryOutcome outcome{id,    1, schema::DeliveryState::held, now_, kMarkup,
                                                 false, {}};
    store_.deliveries.finish(std::span(&outcome, 1), now_);
    return id;
  }

  config::Settings settings_;
  PeopleCrm crm_;
  int decided_ = 0;
};

// CON-28
TEST_F(ConsoleWork, RequestsAreListedWithItemAndCostInPages) {
  for (int i = 100; i < 160; ++i) insert(std::to_string(i));
  sign_in(user("ben@example.com", {Role::approver}));
  const std::string first = get("/console/requests").body;
  EXPECT_THAT(first, AllOf(HasSubstr("R-159"), Not(HasSubstr("R-109<")), HasSubstr("Coffee"),
                           HasSubstr("5.35"), HasSubstr("159@example.com"), HasSubstr("before=R-110")));
  const std::string second = get("/console/requests?before=R-110").body;
  EXPECT_THAT(second, AllOf(HasSubstr("R-109"), HasSubstr("Newest"), Not(HasSubstr("R-110<"))));
  EXPECT_THAT(get("/console/requests?state=sent").body, HasSubstr("No request fits here."));
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(get("/console/requests").body, Not(HasSubstr("159@example.com")));
}

// CON-29, CON-30
TEST_F(ConsoleWork, AnApproverApprovesWhatThePageShows) {
  insert("1", kMarkup);
  sign_in(user("ana@example.com", {Role::approver}));
  const std::string page = get("/console/requests/R-1").body;
  EXPECT_THAT(page, AllOf(HasSubstr("Coffee"), HasSubstr("1@example.com"), HasSubstr("&lt;script&gt;"),
                          HasSubstr("<dt>Item</dt><dd class=\"lines\" dir=\"auto\">7</dd>"),
                          Not(HasSubstr("<script>"))));
  EXPECT_EQ(known("1").state, State::pending) << "looking decides nothing";
  const auto answer = press(page, "/console/requests/R-1/approve", "as+agreed");
  EXPECT_EQ(answer.status, 303);
  EXPECT_EQ(header(answer, "Location"), "/console/requests/R-1?notice=request_approved");
  EXPECT_EQ(known("1").state, State::approved);
  EXPECT_EQ(known("1").approved_by, "ana@example.com");
  EXPECT_EQ(store_.request_records.find_transitions("1").back().comment, "as agreed");
  EXPECT_EQ(crm_.text("1", F::status), "Approved");
  EXPECT_EQ(decided_, 1);
  EXPECT_EQ(last_event().action, "request.approve");
  EXPECT_EQ(last_event().object_id, "R-1");
  const std::string after = get("/console/requests/R-1?notice=request_approved").body;
  EXPECT_THAT(after, AllOf(HasSubstr("class=\"done\" role=\"status\""), HasSubstr("as agreed"),
                           Not(HasSubstr("requests/R-1/approve")), HasSubstr("requests/R-1/reject")));
  EXPECT_EQ(press(after, "/console/requests/R-1/reject").status, 303);
  EXPECT_EQ(known("1").state, State::rejected);
  EXPECT_THAT(get("/console/requests/R-1?notice=nothing").body,
              Not(HasSubstr("role=\"status\">The request")));
}

// CON-46
TEST_F(ConsoleWork, ARequestsStateAndHistoryAreOfOneMoment) {
  insert("1");
  bool is_sent = false;
  crm_.around_each_call = [&] {
    if (std::exchange(is_sent, true)) return;
    schema::store::RequestRecordEntryUpdate change;
    change.next = known("1");
    change.next.state = State::rejected;
    change.transitions = {{now_, "ben@example.com", "pending", "rejected", ""}};
    store_.request_records.save(std::span(&change, 1));
  };
  sign_in(user("ana@example.com", {Role::approver}));
  const std::string page = get("/console/requests/R-1").body;
  EXPECT_TRUE(is_sent);
  EXPECT_THAT(page, AllOf(HasSubstr("<p><strong>Waiting for approval</strong></p>"),
                          Not(HasSubstr("<strong>Rejected</strong>"))));
  EXPECT_THAT(get("/console/requests/R-1").body, AllOf(HasSubstr("<p><strong>Rejected</strong></p>"),
                                                       HasSubstr("</time> <strong>Rejected</strong>")));
}

// CON-29
TEST_F(ConsoleWork, ARequestWithALongMessageIsApproved) {
  std::string message;
  for (int i = 0; i < 5'000; ++i) message += "\u00e4\u20ac";  // 10,000 code points, which limits allow
  insert("1", message);
  sign_in(user("ana@example.com", {Role::approver}));
  const auto answer = press(get("/console/requests/R-1").body, "/console/requests/R-1/approve");
  EXPECT_EQ(header(answer, "Location"), "/console/requests/R-1?notice=request_approved");
  EXPECT_EQ(known("1").state, State::approved);
}

// CON-29
TEST_F(ConsoleWork, AnotherContentIsRefusedWithTheDifference) {
  insert("1", "Thank you!");
  sign_in(user("ana@example.com", {Role::approver}));
  const std::string page = get("/console/requests/R-1").body;
  crm_.edit("1", F::message, "Buy " + kMarkup);
  for (const std::string action : {"approve", "reject"}) {
    const auto refused = press(page, "/console/requests/R-1/" + action);
    EXPECT_EQ(refused.status, 412);
    EXPECT_THAT(refused.body, AllOf(HasSubstr("Nothing was decided"), HasSubstr("Thank you!"),
                                    HasSubstr("Buy &lt;script&gt;"), Not(HasSubstr("<script>"))));
    EXPECT_EQ(known("1").state, State::pending);
  }
  EXPECT_EQ(last_event().action, "request.reject");
  EXPECT_EQ(last_event().object_id, "R-1");
  EXPECT_EQ(last_event().rule, "CON-29");
  EXPECT_TRUE(last_event().refused);
  const std::string changed = press(page, "/console/requests/R-1/approve").body;
  EXPECT_EQ(press(changed, "/console/requests/R-1/approve").status, 303) << "now it was seen";
  EXPECT_EQ(known("1").state, State::approved);
  for (const std::string seen : {"", "%21%21"}) {
    const std::string token =
        form_token_in(get("/console/requests/R-1").body, "/console/requests/R-1/reject");
    const auto answer = post("/console/requests/R-1/reject", "form_token=" + token + "&seen=" + seen);
    EXPECT_EQ(header(answer, "Location"), "/console/requests/R-1?notice=request_refused");
  }
  EXPECT_EQ(known("1").state, State::approved);
}

// CON-30
TEST_F(ConsoleWork, ADecisionThatTheCrmDoesNotTakeIsNotCalledRefused) {
  insert("1");
  crm_.refused = {"1"};
  sign_in(user("ana@example.com", {Role::approver}));
  const auto answer = press(get("/console/requests/R-1").body, "/console/requests/R-1/approve");
  EXPECT_EQ(header(answer, "Location"), "/console/requests/R-1?notice=request_stored");
  EXPECT_EQ(known("1").state, State::approved);
  EXPECT_EQ(last_event().action, "request.approve");
  EXPECT_EQ(decided_, 1) << "the worker writes it";
  EXPECT_THAT(get("/console/requests/R-1?notice=request_stored").body, HasSubstr("Your decision is stored."));
}

// CON-29
TEST_F(ConsoleWork, WhatChangedAfterTheApprovalIsShown) {
  insert("1", "Thank you!");
  sign_in(user("ana@example.com", {Role::approver}));
  press(get("/console/requests/R-1").body, "/console/requests/R-1/approve");
  EXPECT_THAT(get("/console/requests/R-1").body, Not(HasSubstr("Changed after the approval")));
  crm_.edit("1", F::gift_id, std::string("8"));
  EXPECT_THAT(get("/console/requests/R-1").body,
              AllOf(HasSubstr("Changed after the approval"), HasSubstr("<bdi>7</bdi>"),
                    HasSubstr("<bdi>8</bdi>"), Not(HasSubstr("<bdi>Thank you!</bdi>"))));
}

// CON-30
TEST_F(ConsoleWork, OwnRequestsAreApprovedByOthersAndMayBeRejected) {
  insert("1", "Hi", "ben@example.com");
  insert("2");
  crm_.edit("2", F::sender, std::string("005B"));
  sign_in(user("ben@example.com", {Role::approver}));
  insert("3", "Hi", "ben@example.com");
  schema::store::RequestRecordEntryUpdate approved;
  approved.next = known("3");
  approved.next.state = State::approved;
  store_.request_records.save(std::span(&approved, 1));
  EXPECT_THAT(get("/console/requests/R-3").body, Not(HasSubstr("another approver"))) << "it has its approval";
  for (const std::string number : {"R-1", "R-2"}) {
    const std::string path = "/console/requests/" + number;
    const std::string page = get(path).body;
    EXPECT_THAT(page, AllOf(HasSubstr("another approver"), Not(HasSubstr(path + "/approve"))));
    const auto session = store_.console_sessions.find(platform::sha256_hex(cookie_), now_, {0});
    const std::string token = form_token(session->form_secret, "/requests/" + number + "/approve");
    const auto answer =
        post(path + "/approve", "form_token=" + token + "&seen=" + seen_in(page, path + "/reject"));
    EXPECT_EQ(header(answer, "Location"), path + "?notice=request_own");
    EXPECT_TRUE(last_event().refused);
    EXPECT_EQ(last_event().rule, "REQ-46");
    EXPECT_THAT(page, HasSubstr(number == "R-1" ? "You asked for this request yourself"
                                                : "In the CRM you are the sender of this request"));
    EXPECT_EQ(known(number.substr(2)).state, State::pending);
  }
  press(get("/console/requests/R-1").body, "/console/requests/R-1/reject");
  EXPECT_EQ(known("1").state, State::rejected);
  settings_.requests.allow_self_approval = true;
  press(get("/console/requests/R-2").body, "/console/requests/R-2/approve");
  EXPECT_EQ(known("2").state, State::approved);
}

// CON-28
TEST_F(ConsoleWork, OthersSeeRequestsWithoutButtonsAndSendersTheOwn) {
  schema::store::Account sam;
  sam.email = "sam@example.com";
  store_.accounts.create(sam);
  insert("1", "Secret words", "sam@example.com");
  insert("2", "Secret words");
  for (const Role role : {Role::admin, Role::operations, Role::auditor}) {
    sign_in(user(std::string(to_word(role)) + "@example.com", {role}));
    const auto page = get("/console/requests/R-2");
    EXPECT_EQ(page.status, 200);
    EXPECT_THAT(page.body, Not(HasSubstr("/approve\"")));
    if (role == Role::auditor) {
      EXPECT_THAT(page.body, AllOf(Not(HasSubstr("Secret words")), Not(HasSubstr("2@example.com"))));
    }
  }
  sign_in(user("sam@example.com", {Role::sender}));
  EXPECT_EQ(get("/console/requests/R-1").status, 200);
  EXPECT_EQ(get("/console/requests/R-2").status, 404);
  EXPECT_THAT(get("/console/requests").body, AllOf(HasSubstr("R-1"), Not(HasSubstr("R-2"))));
  sign_in(user("of.acme@example.com", {Role::approver}, organization("Acme")));
  EXPECT_EQ(get("/console/requests/R-1").status, 404) << "request records are sent for no organization";
}

// CON-36
TEST_F(ConsoleWork, AGiftAndItsRequestLinkToEachOther) {
  const auto acme = organization("Acme");
  schema::store::Account sam;
  sam.email = "sam@example.com";
  sam.organization = acme;
  const auto account = store_.accounts.create(sam).value();
  const auto own = gift_of_request("1", account, "sam@example.com");
  const auto other = gift_of_request("2", account);
  const auto page_of = [](schema::TransactionId id) { return "/console/gifts/" + std::to_string(id.value); };
  const auto shows_approval =
      AllOf(HasSubstr("<dt>Approved by</dt><dd><bdi>ben@example.com"),
            HasSubstr("<dt>Approved at (UTC)</dt><dd><bdi>" + minute(now_ - platform::kMinuteMillis)));
  const std::string link = "<a href=\"/console/requests/R-1\">R-1</a>";
  for (const Role role : {Role::admin, Role::operations, Role::auditor}) {
    sign_in(user(std::string(to_word(role)) + "@example.com", {role}));
    EXPECT_THAT(get(page_of(own)).body,
                AllOf(HasSubstr(link), shows_approval, HasSubstr("Being sent"), Not(HasSubstr("a note")),
                      HasSubstr("href=\"/console/audit?object=request%3AR-1\"")));
    EXPECT_THAT(get("/console/requests/R-1").body,
                HasSubstr("<a href=\"" + page_of(own) + "\">Gift " + std::to_string(own.value) + "</a>"));
  }
  sign_in(user("sam@example.com", {Role::sender}));
  EXPECT_THAT(get(page_of(own)).body, HasSubstr(link));
  EXPECT_THAT(get(page_of(other)).body,
              AllOf(HasSubstr("<bdi>R-2</bdi>"), shows_approval, Not(HasSubstr("/console/requests/R-2"))))
      << "its request was made by others";
  sign_in(user("ben@example.com", {Role::approver}));
  EXPECT_THAT(get("/console/requests/R-1").body, Not(HasSubstr("/console/gifts/"))) << "of another sender";
  sign_in(user("of.acme@example.com", {Role::admin}, acme));
  EXPECT_THAT(get(page_of(own)).body, AllOf(HasSubstr("ada@example.com"), Not(HasSubstr("R-1"))))
      << "request records are sent for no organization";
  sign_in(user("op@example.com", {Role::operations}));
  EXPECT_THAT(get(page_of(gift())).body, Not(HasSubstr("Request of this gift"))) << "it comes from none";
}

// CON-36
TEST_F(ConsoleWork, ARequestSaysThatItsGiftWentToAnotherAddress) {
  schema::store::Account sam;
  sam.email = "sam@example.com";
  const auto id = gift_of_request("1", store_.accounts.create(sam).value());
  sign_in(user("ben@example.com", {Role::approver}));
  EXPECT_THAT(get("/console/requests/R-1").body, Not(HasSubstr("another address")));
  now_ = now_ + platform::kMinuteMillis;
  const sync::ResendAction resend{id, "bea@example.org", "sam@example.com", {}};
  ASSERT_EQ(sync::resend(store_, resend, now_).kind, sync::ActionResult::Kind::done);
  EXPECT_THAT(get("/console/requests/R-1").body,
              AllOf(HasSubstr("After the approval the gift was sent to another address: bea@example.org, by "
                              "sam@example.com on " +
                              minute(now_) + " UTC."),
                    HasSubstr("<strong>Resent</strong> <span class=\"quiet\"><bdi>sam@example.com: to "
                              "bea@example.org, before it was ada@example.com")));
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(get("/console/requests/R-1").body,
              AllOf(HasSubstr("another address: ***, by sam@example.com"), HasSubstr("sam@example.com: ***"),
                    Not(HasSubstr("bea@")), Not(HasSubstr("ada@"))));
}

// CON-54
TEST_F(ConsoleWork, TheTimelineOfARequestListsEditsBeforeTheApproval) {
  insert("1");
  const auto content = [](const std::string& message, const std::string& gift) {
    schema::RequestRecord record;
    record.set(F::message, message);
    if (!gift.empty()) record.set(F::gift_id, gift);
    return schema::format_values(record, schema::approval_bound_fields());
  };
  const auto add_edit = [&](const std::string& before, const std::string& after, const std::string& who) {
    schema::store::RequestRecordEntryUpdate change;
    change.next = known("1");
    change.edit = schema::store::RequestRecordEdit{now_, who, before, after};
    ASSERT_EQ(store_.request_records.save(std::span(&change, 1)).size(), 1u);
  };
  now_ = now_ + platform::kMinuteMillis;
  add_edit(content("Hello", "6"), content(kMarkup, "7"), "CRM user 005B");
  add_edit(content(std::string(300, 'x'), ""), content("", ""), "");
  sign_in(user("ben@example.com", {Role::approver}));
  const std::string page = get("/console/requests/R-1").body;
  EXPECT_THAT(page, AllOf(HasSubstr("<strong>Edited in the CRM</strong> <span class=\"quiet\"><bdi>CRM user "
                                    "005B: Item: “6” became “7”; Message: “Hello” became “&lt;script&gt;"),
                          HasSubstr("<bdi>Message: “" + std::string(200, 'x') + "…” became “”"),
                          Not(HasSubstr("<script>alert")), Not(HasSubstr("Only the last 20 edits"))));
  EXPECT_LT(page.find("<strong>Waiting for approval</strong> <span"), page.find("Edited in the CRM"));
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(get("/console/requests/R-1").body,
              AllOf(HasSubstr("Item: “6” became “7”; Message: “***” became “***”"), Not(HasSubstr("Hello"))));
  for (int i = 0; i < 20; ++i)
    add_edit(content("a" + std::to_string(i), ""), content("b" + std::to_string(i), ""), "");
  sign_in(user("eva@example.com", {Role::approver}));
  EXPECT_THAT(get("/console/requests/R-1").body,
              AllOf(HasSubstr("Only the last 20 edits are listed."), HasSubstr("“b0”"), HasSubstr("“b19”"),
                    Not(HasSubstr("Hello"))));
}

// CON-29
TEST_F(ConsoleWork, WhatIsDecidedAndTheButtonsComeBeforeEverythingElse) {
  insert("1", "Thank you!", "root");
  crm_.edit("1", F::recipient_contact, std::string("003A"));
  crm_.edit("1", F::sender, std::string("005B"));
  crm_.contacts["003A"] = {.id = "003A",
                           .email = "1@example.com",
                           .first_name = "Rose",
                           .last_name = "Gonzalez",
                           .account_id = ""};
  sign_in(user("ana@example.com", {Role::approver}));
  const std::string page = get("/console/requests/R-1").body;
  std::size_t at = 0;
  for (const std::string next :
       {"<dt>Item</dt>", "Coffee (7)", "<dt>Total cost</dt>", "Rose Gonzalez, 1@example.com",
        "<dt>Sender</dt>", ">Ben</dd>", "Thank you!", "/approve\"", "/reject\"", "<details>", "Ben (005B)",
        "<dt>Price of the item</dt>", "root (command line)"}) {
    const std::size_t found = page.find(next, at);
    ASSERT_NE(found, std::string::npos) << next;
    at = found;
  }
  EXPECT_THAT(page, AllOf(HasSubstr("Rose Gonzalez (003A)"), Not(HasSubstr("<dt>Carbon neutral</dt>")),
                          Not(HasSubstr("<details open>")), Not(HasSubstr("Next request"))));
  insert("2");
  insert("3", "Hi", "ana@example.com");
  press(page, "/console/requests/R-1/approve");
  EXPECT_THAT(get("/console/requests/R-1?notice=request_approved").body,
              AllOf(HasSubstr("<a href=\"/console/requests/R-2\">Next request that waits for you: R-2</a>"),
                    HasSubstr("<details open>")));
  EXPECT_THAT(get("/console/requests/R-1").body, Not(HasSubstr("Next request")));
}

// CON-37
TEST_F(ConsoleWork, TheHistoryOfAnObjectIsAFilterOfTheAuditLog) {
  insert("1");
  sign_in(user("ana@example.com", {Role::approver}));
  EXPECT_THAT(get("/console/requests/R-1").body, Not(HasSubstr("/console/audit?")));
  press(get("/console/requests/R-1").body, "/console/requests/R-1/reject");
  sign_in(user("aud@example.com", {Role::auditor}));
  const std::string id = std::to_string(gift().value);
  EXPECT_THAT(get("/console/gifts/" + id).body,
              HasSubstr("href=\"/console/audit?object=gift%3A" + id + "\""));
  EXPECT_THAT(get("/console/requests/R-1").body, HasSubstr("href=\"/console/audit?object=request%3AR-1\""));
  EXPECT_THAT(get("/console/audit?object=request%3AR-1").body,
              AllOf(HasSubstr("request.reject"), HasSubstr("value=\"request:R-1\""),
                    Not(HasSubstr("<td data-label=\"Action\">sign-in"))));
  EXPECT_THAT(get("/console/audit?object=request").body, HasSubstr("request.reject"));
  for (const std::string none : {"request%3AR-2", "gift%3AR-1", "gift"})
    EXPECT_THAT(get("/console/audit?object=" + none).body, HasSubstr("No event fits here.")) << none;
}

// CON-28
TEST_F(ConsoleWork, ARequestIsFoundByItsNumberInAnyState) {
  for (int i = 100; i < 160; ++i) insert(std::to_string(i));
  sign_in(user("ben@example.com", {Role::approver}));
  press(get("/console/requests/R-150").body, "/console/requests/R-150/reject");
  EXPECT_THAT(get("/console/requests").body, Not(HasSubstr("R-150<")));
  const std::string found = get("/console/requests?state=pending&find=+R-150+").body;
  EXPECT_THAT(found, AllOf(HasSubstr("R-150<"), HasSubstr("value=\"R-150\""), Not(HasSubstr("R-151<")),
                           HasSubstr("<option value=\"all\" selected>")));
  EXPECT_THAT(get("/console/requests?find=R-15").body, HasSubstr("No request fits here."));
  const std::string all = get("/console/requests?state=all").body;
  EXPECT_THAT(all, AllOf(HasSubstr("R-150<"), HasSubstr("R-151<"), HasSubstr("before=R-110&amp;state=all")));
  EXPECT_THAT(get("/console/requests?state=all&before=R-110").body,
              AllOf(HasSubstr("R-109<"), Not(HasSubstr("R-110<"))));
}

// CON-28, CON-37
TEST_F(ConsoleWork, ANumberIsFoundHoweverItIsWritten) {
  insert("000004");
  insert("000040");
  sign_in(user("ben@example.com", {Role::approver, Role::admin}));
  press(get("/console/requests/R-000004").body, "/console/requests/R-000004/reject");
  for (const std::string typed : {"4", "R-4", "r-4", "000004", "r-000004", "R-000004", "+4+"}) {
    EXPECT_THAT(get("/console/requests?state=pending&find=" + typed).body,
                AllOf(HasSubstr("R-000004<"), Not(HasSubstr("R-000040<")),
                      HasSubstr("<option value=\"all\" selected>")))
        << typed;
    EXPECT_THAT(
        get("/console/audit?object=request+" + typed).body,
        HasSubstr("<a href=\"/console/requests/R-000004\" class=\"short\"><bdi>request R-000004</bdi></a>"))
        << typed;
  }
  EXPECT_THAT(get("/console/audit?object=request:R-4").body, HasSubstr("request.reject"));
  store_.audit.add({.action = "gift.resend", .object_kind = "gift", .object_id = "17"});
  for (const std::string typed : {"gift:17", "gift+0017", "%2317", "Gift+%2317", "17"})
    EXPECT_THAT(get("/console/audit?object=" + typed).body,
                AllOf(HasSubstr("gift.resend"), Not(HasSubstr("request.reject"))))
        << typed;
  for (const std::string none : {"5", "R-", "4x", "-4", "99999999999999999999"})
    EXPECT_THAT(get("/console/requests?find=" + none).body, HasSubstr("No request fits here.")) << none;
}

// CON-48, CON-17
TEST_F(ConsoleWork, ARequestIsFoundByItsGiftOrAPerson) {
  schema::store::Account sam;
  sam.email = "sam@example.com";
  const auto account = store_.accounts.create(sam).value();
  const std::string id = std::to_string(gift_of_request("1", account, "sam@example.com").value);
  insert("2");
  insert("3", "Thank you!", "sam@example.com");
  sign_in(user("ben@example.com", {Role::approver}));
  for (const std::string& typed : {"gift+" + id, "%23" + id, "Gift:+0" + id, std::string("ADA@example.com")})
    EXPECT_THAT(get("/console/requests?state=pending&find=" + typed).body,
                AllOf(HasSubstr("R-1<"), Not(HasSubstr("R-2<")), Not(HasSubstr("R-3<")),
                      HasSubstr("<option value=\"all\" selected>")))
        << typed;
  EXPECT_THAT(get("/console/requests?find=Sam@example.com").body,
              AllOf(HasSubstr("R-1<"), Not(HasSubstr("R-2<")), HasSubstr("R-3<"),
                    HasSubstr("value=\"Sam@example.com\"")));
  for (const std::string none : {"gift+99", "%2399", "eve@example.com"})
    EXPECT_THAT(get("/console/requests?find=" + none).body, HasSubstr("No request fits here.")) << none;
  for (const std::string fault : {"%23", "%23x", "@", "ada@", "@example.com"})
    EXPECT_THAT(get("/console/requests?find=" + fault).body,
                AllOf(HasSubstr("this is no number of a request or a gift, and no whole address."),
                      Not(HasSubstr("R-2<"))))
        << fault;
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(get("/console/requests?find=ada@example.com").body,
              AllOf(HasSubstr("your role cannot search by this."), Not(HasSubstr("R-1<"))));
  EXPECT_THAT(get("/console/requests?find=gift+" + id).body, HasSubstr("R-1<"));
}

// CON-16, CON-29
TEST_F(ConsoleWork, AnApproverSeesWhatIsApprovedAsAnAuditorToo) {
  insert("1", "Many thanks");
  schema::store::RequestRecordEntryUpdate change;
  change.next = known("1");
  change.transitions = {{now_, "ana", "approved", "pending", "edited for Rose"}};
  store_.request_records.save(std::span(&change, 1));
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(get("/console/requests/R-1").body,
              AllOf(HasSubstr("ana: first seen"), HasSubstr("ana: ***"), Not(HasSubstr("Rose"))));
  EXPECT_THAT(get("/console/requests/R-1").body,
              AllOf(Not(HasSubstr("Many thanks")), Not(HasSubstr("name=\"seen\""))));
  sign_in(user("both@example.com", {Role::auditor, Role::approver}));
  const std::string page = get("/console/requests/R-1").body;
  EXPECT_THAT(page, AllOf(HasSubstr("ana: edited for Rose"), HasSubstr("Many thanks"),
                          HasSubstr("1@example.com"), Not(HasSubstr("***"))));
  press(page, "/console/requests/R-1/approve");
  EXPECT_EQ(known("1").state, State::approved);
}

// CON-30, CON-7
TEST_F(ConsoleWork, ADecisionIsAnEventOfTheRequestsOrganization) {
  const sync::NewCredential token = sync::make_organization_token();
  settings_.requests.organization_token = config::Secret(token.text);
  schema::store::OrganizationToken row;
  row.hash = token.hash;
  const auto acme = store_.organizations.create("Acme", row).value();
  insert("1");
  sign_in(user("ana@example.com", {Role::approver}));
  press(get("/console/requests/R-1").body, "/console/requests/R-1/reject");
  EXPECT_EQ(last_event().action, "request.reject");
  EXPECT_EQ(last_event().organization, acme) << "its auditors see it";
}

// CON-28
TEST_F(ConsoleWork, AnOrgOfSalesforceIsNotAskedAndHasNoButtons) {
  insert("1");
  crm_.around_each_call = [] { FAIL() << "the CRM was asked"; };
  settings_.crm.type = config::CrmType::salesforce;
  sign_in(user("ana@example.com", {Role::approver}));
  EXPECT_THAT(get("/console/requests").body, HasSubstr("R-1"));
  const std::string page = get("/console/requests/R-1").body;
  EXPECT_THAT(
      page, AllOf(HasSubstr("approved in Salesforce"), HasSubstr("first seen"), Not(HasSubstr("/approve"))));
  EXPECT_THAT(get("/console/").body, HasSubstr("Nothing waits for you."));
  const auto session = store_.console_sessions.find(platform::sha256_hex(cookie_), now_, {0});
  const std::string token = form_token(session->form_secret, "/requests/R-1/approve");
  EXPECT_EQ(post("/console/requests/R-1/approve", "form_token=" + token + "&seen=YQ").status, 404);
}

// CON-35
TEST_F(ConsoleWork, TheOverviewListsWhatWaitsForTheUser) {
  insert("1", "Hi", "ben@example.com");
  insert("2");
  held_mail();
  quarantine("vendor", "gone");
  sign_in(user("ben@example.com", {Role::approver}));
  EXPECT_THAT(get("/console/").body,
              AllOf(HasSubstr("href=\"/console/requests/R-2\""), HasSubstr("waiting for your approval: 1"),
                    Not(HasSubstr("held"))));
  insert("3");
  EXPECT_THAT(get("/console/").body, HasSubstr("waiting for your approval: 2"));
  for (int i = 100; i < 200; ++i) insert(std::to_string(i));
  EXPECT_THAT(get("/console/").body, HasSubstr("or more"));
  fail("3", "The sender has no permission set.");
  EXPECT_THAT(get("/console/").body,
              AllOf(HasSubstr("href=\"/console/requests?state=failed\">Requests with an error: 1"),
                    HasSubstr("No gift of yours fails.")));
  sign_in(user("op@example.com", {Role::operations}));
  EXPECT_THAT(
      get("/console/").body,
      AllOf(HasSubstr("href=\"/console/mail?state=held\">Mails held"), HasSubstr("/console/sources/vendor"),
            HasSubstr("href=\"/console/requests?state=failed\">Requests with an error: 1"),
            Not(HasSubstr("waiting for your approval"))));
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(get("/console/").body, HasSubstr("Nothing waits for you."));
}

// CON-24
TEST_F(ConsoleWork, ACrmThatDoesNotRespondTakesNothingElseOffAPage) {
  insert("1");
  crm_.directory().is_away = true;
  sign_in(user("ana@example.com", {Role::approver}));
  EXPECT_EQ(get("/console/").status, 200);
  EXPECT_EQ(get("/console/requests").status, 200);
}

// CON-32
TEST_F(ConsoleWork, AnOperatorActsOnMails) {
  const std::string id = std::to_string(held_mail().value);
  store_.deliveries.open_breaker({now_, now_ + 60'000, 3, kMarkup, "relay", "host 127.0.0.1:8480"});
  sign_in(user("op@example.com", {Role::operations}));
  const std::string page = get("/console/mail").body;
  EXPECT_THAT(page,
              AllOf(HasSubstr("host 127.0.0.1:8480"), HasSubstr("&lt;script&gt;"), Not(HasSubstr("<script>")),
                    HasSubstr("ada@<wbr>example.<wbr>com"), HasSubstr("/console/gifts/" + id)));
  EXPECT_THAT(page, HasSubstr("Message-ID: <bdi>m1@example.com</bdi>"));
  EXPECT_THAT(get("/console/gifts/" + id).body,
              HasSubstr("<dt>Message-ID of the mail</dt><dd><bdi>m1@example.com</bdi>"));
  EXPECT_EQ(header(press_plain(page, "/console/mail/" + id + "/release"), "Location"),
            "/console/mail?notice=not_confirmed");
  EXPECT_EQ(store_.deliveries.find({std::stoll(id)})->state, schema::DeliveryState::held);
  const auto released = press_plain(page, "/console/mail/" + id + "/release", "&confirm=1");
  EXPECT_EQ(header(released, "Location"), "/console/mail?notice=mail_done_release");
  EXPECT_EQ(store_.deliveries.find({std::stoll(id)})->state, schema::DeliveryState::queued);
  EXPECT_EQ(last_event().action, "mail.release");
  EXPECT_EQ(header(press_plain(page, "/console/mail/" + id + "/release", "&confirm=1"), "Location"),
            "/console/mail?notice=mail_not_done");
  EXPECT_EQ(last_event().action, "mail.release");
  EXPECT_EQ(header(press_plain(page, "/console/mail/" + id + "/withdraw"), "Location"),
            "/console/mail?notice=mail_done_withdraw");
  press_plain(page, "/console/mail/retry");
  EXPECT_LE(store_.deliveries.breakers().front().until, now_);
  EXPECT_EQ(last_event().action, "mail.retry-all");
  store_.deliveries.close_breaker("host 127.0.0.1:8480");
  EXPECT_THAT(get("/console/mail").body, Not(HasSubstr("/console/mail/retry\""))) << "nothing waits";
  sign_in(user("aud@example.com", {Role::auditor}));
  const std::string seen = get("/console/mail?state=withdrawn").body;
  EXPECT_THAT(seen, AllOf(HasSubstr("***@<wbr>example.<wbr>com"), Not(HasSubstr("/withdraw\"")),
                          Not(HasSubstr("ada@"))));
  EXPECT_THAT(get("/console/gifts/" + id).body, Not(HasSubstr("Message-ID")));
  sign_in(user("of.acme@example.com", {Role::operations}, organization("Acme")));
  EXPECT_THAT(get("/console/mail?state=withdrawn").body,
              AllOf(HasSubstr("There is no mail of your gifts"), Not(HasSubstr("host 127.0.0.1"))));
}

// CON-49
TEST_F(ConsoleWork, AttemptsAreThoseOfAllMailsOfAGiftEverywhere) {
  const std::string id = std::to_string(held_mail().value);
  tests::run_sql(temporary_.address(), "UPDATE mail_outbox SET attempt = 4, number = 2");
  sign_in(user("op@example.com", {Role::operations}));
  EXPECT_THAT(get("/console/mail").body, HasSubstr("data-label=\"Send attempts\">3</td>"));
  EXPECT_THAT(get("/console/gifts/" + id).body, HasSubstr("<dt>Send attempts</dt><dd><bdi>3</bdi>"));
}

// CON-32
TEST_F(ConsoleWork, MailOpensOnWhatIsHeldElseOnAllAndEachCountIsAList) {
  const std::string held = std::to_string(held_mail().value);
  const std::string later = std::to_string(gift().value);
  const auto row = [](const std::string& id) { return ">" + id + "</a></td>"; };
  sign_in(user("op@example.com", {Role::operations}));
  EXPECT_THAT(
      get("/console/mail").body,
      AllOf(HasSubstr(row(held)), Not(HasSubstr(row(later))), HasSubstr("<option value=\"held\" selected>"),
            HasSubstr("<a href=\"/console/mail?state=held\">1<span class=\"hidden\"> Mail held"),
            HasSubstr("<a href=\"/console/mail?state=accepted\">0<")));
  const std::string all = get("/console/mail?state=all").body;
  EXPECT_LT(all.find(row(later)), all.find(row(held))) << "the newest first";
  EXPECT_NE(all.find(row(held)), std::string::npos);
  press_plain(all, "/console/mail/" + held + "/release", "&confirm=1");
  EXPECT_THAT(get("/console/mail").body, AllOf(HasSubstr(row(held)), HasSubstr(row(later)),
                                               HasSubstr("<option value=\"all\" selected>")));
  EXPECT_THAT(get("/console/mail?state=held").body,
              AllOf(HasSubstr("There is no mail"), HasSubstr("<a href=\"/console/mail?state=all\">")));
}

// CON-32
TEST_F(ConsoleWork, AcceptedMailsAreListedInPagesWithoutButtons) {
  for (int i = 0; i < 60; ++i) gift();
  std::vector<schema::store::DeliveryOutcome> outcomes;
  std::vector<schema::store::DeliveryQueue::Sending> sending;
  for (const auto& claim : store_.deliveries.claim("a", 60'000, 100, now_)) {
    sending.push_back({claim, "m" + std::to_string(claim.transaction.value) + "@example.com"});
    outcomes.push_back({claim.transaction, 1, schema::DeliveryState::accepted, now_, "", false, {}});
  }
  store_.deliveries.begin_sending("a", sending, 60'000, now_);
  ASSERT_EQ(store_.deliveries.finish(outcomes, now_), 60u);
  sign_in(user("op@example.com", {Role::operations}));
  for (const std::string state : {"accepted", "all"}) {
    const std::string page = get("/console/mail?state=" + state).body;
    EXPECT_THAT(page, AllOf(HasSubstr(">60</a></td>"), Not(HasSubstr(">10</a></td>")),
                            HasSubstr("before=11&amp;state=" + state), Not(HasSubstr("/withdraw\""))));
    EXPECT_THAT(get("/console/mail?before=11&state=" + state).body,
                AllOf(HasSubstr(">10</a></td>"), Not(HasSubstr(">11</a></td>")), HasSubstr("Newest")));
  }
}

// CON-32, CON-17
TEST_F(ConsoleWork, AnOrganizationsMailsAreFoundThroughItsGifts) {
  const auto acme = organization("Acme");
  schema::store::Account sender;
  sender.email = "of.none@example.com";
  schema::store::NewGiftRequest request;
  request.request.account = store_.accounts.create(sender).value();
  request.request.created_at = now_;
  request.recipients = {{"ada@example.com", "", "", ""}};
  store_.gifts.create(std::span(&request, 1));
  sender.email = "sam@example.com";
  sender.organization = acme;
  request.request.account = store_.accounts.create(sender).value();
  request.recipients = {{"own@example.com", "", "", ""}};
  for (int i = 0; i < 60; ++i) store_.gifts.create(std::span(&request, 1));
  std::vector<schema::store::DeliveryOutcome> outcomes;
  std::vector<schema::store::DeliveryQueue::Sending> sending;
  for (const auto& claim : store_.deliveries.claim("a", 60'000, 100, now_)) {
    if (claim.transaction.value > 30) continue;
    sending.push_back({claim, "m" + std::to_string(claim.transaction.value) + "@example.com"});
    outcomes.push_back({claim.transaction, 1, schema::DeliveryState::accepted, now_, "by own", false, {}});
  }
  store_.deliveries.begin_sending("a", sending, 60'000, now_);
  store_.deliveries.finish(outcomes, now_);
  const auto row = [](int id) { return ">" + std::to_string(id) + "</a></td>"; };
  sign_in(user("op.acme@example.com", {Role::operations}, acme));
  EXPECT_THAT(get("/console/mail").body,
              AllOf(HasSubstr(row(61)), HasSubstr(row(12)), Not(HasSubstr(row(11))),
                    HasSubstr("before=12&amp;state=all")));
  EXPECT_THAT(get("/console/mail?state=all&before=12").body,
              AllOf(HasSubstr(row(11)), HasSubstr(row(2)), Not(HasSubstr("ada@example.com")),
                    Not(HasSubstr("Older"))));
  const auto statements = [&](const std::string& path) {
    return tests::RoundTrips::of(temporary_.address(), [&] { get(path); });
  };
  const std::size_t of_one = statements("/console/mail?state=all&before=3");
  EXPECT_EQ(statements("/console/mail?state=all"), of_one) << "50 mails cost as many statements as one";
  EXPECT_THAT(get("/console/mail?state=accepted").body,
              AllOf(HasSubstr(row(30)), Not(HasSubstr(row(31))), HasSubstr("own@<wbr>example.<wbr>com"),
                    HasSubstr("by own"), Not(HasSubstr("/withdraw\""))));
  sign_in(user("aud.acme@example.com", {Role::auditor}, acme));
  EXPECT_THAT(get("/console/mail?state=accepted").body,
              AllOf(HasSubstr(row(30)), HasSubstr("***@<wbr>example.<wbr>com"), Not(HasSubstr("own@")),
                    Not(HasSubstr("by own"))));
}

// CON-32
TEST_F(ConsoleWork, AHeldMailOfAnApproverIsSentAgainAndNothingElse) {
  const schema::UserId ana = user("ana@example.com", {Role::approver});
  insert("1");
  const auto waiting = store_.approver_notices.find_unnoticed(std::vector<std::string>{"1"});
  const schema::store::ApproverNotice notice{ana, waiting.at(0).transition, "1", "R-1", "Coffee", "5.35"};
  store_.approver_notices.add(std::span(&notice, 1), now_);
  store_.approver_notices.queue_mails(now_);
  const auto claims = store_.deliveries.claim("a", 60'000, 10, now_);
  const schema::store::DeliveryQueue::Sending sending{claims.at(0), "m1@example.com"};
  store_.deliveries.begin_sending("a", std::span(&sending, 1), 60'000, now_);
  const schema::store::DeliveryOutcome outcome{
      claims[0].transaction, 1, schema::DeliveryState::held, now_, "lost", false, {}};
  ASSERT_EQ(store_.deliveries.finish(std::span(&outcome, 1), now_), 1u);
  const std::string path = "/console/mail/-" + std::to_string(ana.value);
  const auto token = [&](const std::string& action) {
    const auto session = store_.console_sessions.find(platform::sha256_hex(cookie_), now_, {0});
    return "form_token=" + form_token(session->form_secret, path.substr(8) + action);
  };
  sign_in(user("of.acme@example.com", {Role::operations}, organization("Acme")));
  EXPECT_EQ(post(path + "/release", token("/release")).status, 404);
  sign_in(user("op@example.com", {Role::operations}));
  const std::string page = get("/console/mail").body;
  EXPECT_THAT(page, AllOf(HasSubstr("aria-label=\"Send again: ana@example.com\""),
                          Not(HasSubstr(path + "/withdraw"))));
  EXPECT_EQ(post(path + "/withdraw", token("/withdraw")).status, 404);
  EXPECT_EQ(header(press_plain(page, path + "/release", "&confirm=1"), "Location"),
            "/console/mail?notice=mail_done_release");
  EXPECT_EQ(last_event().object_kind, "approver");
  const auto again = store_.deliveries.claim("a", 60'000, 10, now_);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].message_id, "m1@example.com");
}

// CON-32
TEST_F(ConsoleWork, AnActionOnAMailIsAnEventOfTheSendersOrganization) {
  const auto acme = organization("Acme");
  schema::store::Account sam;
  sam.email = "sam@acme.com";
  sam.organization = acme;
  schema::store::NewGiftRequest request;
  request.request.account = store_.accounts.create(sam).value();
  request.request.sender_email = "sam@acme.com";
  request.request.created_at = now_;
  request.recipients = {{"ada@example.com", "", "", ""}};
  const auto id = store_.gifts.create(std::span(&request, 1)).front().recipients.front().id;
  sign_in(user("op@example.com", {Role::operations}));
  const std::string path = "/console/mail/" + std::to_string(id.value) + "/withdraw";
  EXPECT_EQ(press_plain(get("/console/mail?state=queued").body, path).status, 303);
  EXPECT_EQ(last_event().organization, acme);
  EXPECT_EQ(last_event().object_kind, "gift");
}

// CON-33
TEST_F(ConsoleWork, AnOperatorReleasesAndPurgesQuarantinedEvents) {
  quarantine("vendor", kMarkup);
  quarantine("gone", "x");
  config::SourceSettings source;
  source.name = "vendor";
  settings_.sources = {source};
  sign_in(user("op@example.com", {Role::operations}));
  EXPECT_THAT(get("/console/sources").body, HasSubstr("/console/sources/vendor"));
  const std::string page = get("/console/sources/vendor").body;
  EXPECT_THAT(page, AllOf(HasSubstr("unknown_status"), HasSubstr("status_map"), HasSubstr("&lt;script&gt;"),
                          Not(HasSubstr("<script>")), Not(HasSubstr("secret@example.com"))));
  EXPECT_EQ(press_plain(page, "/console/sources/vendor/release").status, 303);
  EXPECT_THAT(store_.sources.sources_to_reprocess(), testing::ElementsAre("vendor"));
  EXPECT_EQ(press_plain(page, "/console/sources/vendor/purge", "&reason=nothing").status, 404);
  EXPECT_EQ(press_plain(page, "/console/sources/vendor/purge", "&reason=unknown_status").status, 303);
  EXPECT_TRUE(store_.sources.count_quarantined("vendor").empty());
  EXPECT_THAT(get("/console/sources/vendor").body, Not(HasSubstr("/release\""))) << "there is nothing";
  EXPECT_FALSE(store_.sources.count_quarantined("gone").empty());
  EXPECT_EQ(last_event().action, "source.purge");
  EXPECT_EQ(last_event().detail, "unknown_status, 1 events");
  EXPECT_THAT(get("/console/sources/gone").body, Not(HasSubstr("/release\""))) << "nothing would end it";
  EXPECT_EQ(get("/console/sources/other").status, 404);
  sign_in(user("admin@example.com", {Role::admin}));
  EXPECT_THAT(get("/console/sources/gone").body,
              AllOf(HasSubstr("unknown_status"), Not(HasSubstr("/purge\""))));
}

// CON-45
TEST_F(ConsoleWork, APurgeNeedsALinkOfTheLastTenMinutes) {
  quarantine("vendor", "x");
  const schema::UserId op = user("op@example.com", {Role::operations});
  sign_in(op);
  const std::string page = "/console/sources/vendor";
  now_ = now_ + kProofMillis;
  EXPECT_THAT(get(page).body, HasSubstr("/purge\""));
  now_ = now_ + 1;
  const std::string command = "giftsyncctl console sign-in-link --user op@example.com";
  EXPECT_THAT(get(page).body,
              AllOf(HasSubstr(command), Not(HasSubstr("/purge\"")), HasSubstr("unknown_status")));
  EXPECT_EQ(header(post("/console/link/" + link_for(op, "of-the-page")), "Location"), page);
  now_ = now_ + kProofMillis + 1;
  const std::string old = "form_token=" + form_token(form_secret(), "/sources/vendor/purge");
  const auto refused = post(page + "/purge", old + "&reason=unknown_status");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, AllOf(HasSubstr("Nothing was changed."), HasSubstr(command),
                                  HasSubstr("href=\"" + page + "\">Back to its page")));
  EXPECT_FALSE(store_.sources.count_quarantined("vendor").empty());
  EXPECT_EQ(last_event().action, "form.refused");
  EXPECT_EQ(last_event().rule, "CON-45");
  EXPECT_EQ(last_event().object_id, "/sources/vendor/purge");
  EXPECT_EQ(last_event().actor, "op@example.com");
  EXPECT_EQ(post(page + "/purge", "reason=unknown_status").status, 403);
  EXPECT_EQ(last_event().rule, "CON-11") << "without the form's token";
  EXPECT_EQ(header(post("/console/link/" + link_for(op, "of-the-refusal")), "Location"), page);
  EXPECT_EQ(press_plain(get(page).body, page + "/purge", "&reason=unknown_status").status, 303);
  EXPECT_TRUE(store_.sources.count_quarantined("vendor").empty());
  quarantine("vendor", "y");
  sign_in(user("auditor@example.com", {Role::auditor}));
  now_ = now_ + kProofMillis + 1;
  EXPECT_THAT(get(page).body, Not(HasSubstr("sign-in-link"))) << "who may not purge is asked for nothing";
}

// CON-34, CON-27
TEST_F(ConsoleWork, ConnectionsAndSettingsAreShownWithoutSecrets) {
  settings_.sso.auth_url = "https://login.example.com";
  config::SsoConnectionSettings connection;
  connection.name = "acme";
  connection.domains = {"acme.com"};
  connection.client_id = "the-client";
  connection.client_secret = config::Secret("the-secret");
  connection.issuer = "https://idp.example.com";
  config::SsoConnectionSettings saml;
  saml.name = "idp";
  saml.kind = config::SsoKind::saml;
  saml.certificate = testing::TempDir() + "console_certificate.pem";
  std::ofstream(saml.certificate) << tests::make_certificate({.rsa_bits = 0});
  saml.next_certificate = "/nonexistent.pem";
  settings_.sso.connections = {connection, saml};
  settings_.provenance["sso.auth_url"] = {12, ""};
  store_.sign_in_connections.record_success("acme", now_);
  store_.sign_in_connections.record_error("acme", "O5: " + kMarkup, now_);
  const std::vector<std::string> paths{"/console/connections", "/console/settings"};
  for (const Role role : {Role::operations, Role::auditor}) {
    sign_in(user(std::string(to_word(role)) + "@example.com", {role}));
    EXPECT_THAT(
        get(paths[0]).body,
        AllOf(HasSubstr("https://login.example.com/login/callback?connection=acme"), HasSubstr("acme.com"),
              HasSubstr("O5: &lt;script&gt;"), HasSubstr("valid until 20"), HasSubstr("/nonexistent.pem, "),
              HasSubstr("urn:giftsync:login.example.com:idp"), Not(HasSubstr("the-secret"))));
    EXPECT_THAT(get(paths[1]).body,
                AllOf(HasSubstr("<summary><code>sso</code>"), HasSubstr("1 set in the file"),
                      HasSubstr("sso.auth_url"), HasSubstr("giftsyncd.yaml:12"), HasSubstr("default"),
                      Not(HasSubstr("the-secret"))));
  }
  for (const std::string& path : paths) {
    sign_in(user("admin" + std::to_string(path.size()) + "@example.com", {Role::admin}));
    EXPECT_EQ(get(path).status, 404);
  }
  sign_in(user("of.acme@example.com", {Role::operations}, organization("Acme")));
  for (const std::string path : {"/console/connections", "/console/settings", "/console/sources"})
    EXPECT_EQ(get(path).status, 404) << path << " is of all organizations";
}

}  // namespace
}  // namespace giftsync::daemon::console
