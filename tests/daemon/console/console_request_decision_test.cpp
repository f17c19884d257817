// The console's page of a request record: what an approver sees, and what a decision does.
#include <utility>

#include "platform/digest.h"
#include "sync/access/credential.h"
#include "tests/daemon/console/console_work_fixture.h"

namespace giftsync::console {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// CON-29, CON-30
TEST_F(ConsoleWork, AnApproverApprovesWhatThePageShows) {
  insert("1", kMarkup);
  sign_in(user("ana@example.com", {Role::approver}));
  const std::string page = get("/console/requests/R-1").body;
  EXPECT_THAT(page, AllOf(HasSubstr("Coffee"), HasSubstr("1@example.com"), HasSubstr("&lt;script&gt;"),
                          HasSubstr("<dt>Item (Gift Id)</dt><dd class=\"lines\" dir=\"auto\">7</dd>"),
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
  EXPECT_EQ(last_event().detail, "as agreed");
  const std::string after = get("/console/requests/R-1?notice=request_approved").body;
  EXPECT_THAT(after, AllOf(HasSubstr("class=\"done\" role=\"status\""), HasSubstr("as agreed"),
                           Not(HasSubstr("requests/R-1/approve")), HasSubstr("requests/R-1/reject")));
  EXPECT_EQ(press(after, "/console/requests/R-1/reject").status, 303);
  EXPECT_EQ(known("1").state, State::rejected);
  EXPECT_THAT(get("/console/requests/R-1").body,
              AllOf(HasSubstr("<dt>Rejected by</dt><dd class=\"lines\" dir=\"auto\">ana@example.com</dd>"),
                    Not(HasSubstr("<dt>Approved by</dt>"))));
  EXPECT_THAT(get("/console/requests/R-1?notice=nothing").body,
              Not(HasSubstr("role=\"status\">The request")));
}

// CON-46
TEST_F(ConsoleWork, ARequestsStateAndHistoryAreOfOneMoment) {
  insert("1");
  bool is_sent = false;
  crm_.around_each_call = [&] {
    if (std::exchange(is_sent, true)) return;
    store::RequestRecordEntryUpdate change;
    change.next = known("1");
    change.next.state = State::rejected;
    change.transitions = {{now_, "ben@example.com", "pending", "rejected", ""}};
    store_.request_records.save(std::span(&change, 1));
  };
  sign_in(user("ana@example.com", {Role::approver}));
  const std::string page = get("/console/requests/R-1").body;
  EXPECT_TRUE(is_sent);
  EXPECT_THAT(page, AllOf(HasSubstr("</svg>Waiting for approval</span></div>"),
                          Not(HasSubstr("<strong>Rejected</strong>"))));
  EXPECT_THAT(get("/console/requests/R-1").body, AllOf(HasSubstr("</svg>Rejected</span></div>"),
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
  const auto was_and_is = [](const std::string& label, const std::string& was, const std::string& is) {
    return "<td data-label=\"Field\">" + label +
           "</td><td data-label=\"Was approved\" class=\"lines\"><bdi>" + was +
           "</bdi></td><td data-label=\"Is now\" class=\"lines\"><bdi>" + is + "</bdi></td>";
  };
  EXPECT_THAT(get("/console/requests/R-1").body,
              AllOf(HasSubstr("Changed after the approval"),
                    HasSubstr(was_and_is("Item (Gift Id)", "Coffee (7)", "not in the catalogue (8)")),
                    HasSubstr(was_and_is("Total cost", "5.35", "not known")),
                    Not(HasSubstr("<bdi>Thank you!</bdi>"))));
  store::GiftItem tea;
  tea.id = {8};
  tea.name = "Tea";
  tea.costs = {Money{700}, std::nullopt, std::nullopt, std::nullopt};
  store_.catalogue.import(std::span(&tea, 1));
  EXPECT_THAT(get("/console/requests/R-1").body,
              AllOf(HasSubstr(was_and_is("Item (Gift Id)", "Coffee (7)", "Tea (8)")),
                    HasSubstr(was_and_is("Total cost", "5.35", "7.00"))));
}

// CON-57
TEST_F(ConsoleWork, AWithdrawnApprovalIsNoErrorAndAFailedSendingIs) {
  insert("1");
  fail("1", "Changed after approval: approve it again.");
  sign_in(user("ana@example.com", {Role::approver}));
  EXPECT_THAT(get("/console/requests/R-1").body,
              AllOf(HasSubstr("</svg>Waiting for approval</span></div>"),
                    HasSubstr("<dt>Approval withdrawn</dt>"), Not(HasSubstr("<dt>Error</dt>"))));
  press(get("/console/requests/R-1").body, "/console/requests/R-1/approve");
  EXPECT_THAT(get("/console/requests/R-1").body,
              AllOf(HasSubstr("</svg>Approved</span></div>"), Not(HasSubstr("not sent"))));
  fail("1", "There is no item.");
  EXPECT_THAT(get("/console/requests/R-1").body,
              AllOf(HasSubstr("</svg>Approved, not sent</span></div>"), HasSubstr("<dt>Error</dt>"),
                    HasSubstr("<strong>Approved, not sent</strong> <span "
                              "class=\"quiet\"><bdi>There is no item.</bdi></span></li>")));
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(get("/console/requests/R-1").body,
              AllOf(HasSubstr("</svg>Approved, not sent</span></div>"), Not(HasSubstr("no item"))));
}

// CON-29
TEST_F(ConsoleWork, ANoteStaysInTheFormOfADecisionThatWasRefused) {
  insert("1");
  sign_in(user("ana@example.com", {Role::approver}));
  const std::string page = get("/console/requests/R-1").body;
  crm_.edit("1", F::message, std::string("Hello"));
  const auto note = [](const std::string& text) {
    return HasSubstr("name=\"note\" value=\"" + text + "\" maxlength");
  };
  EXPECT_THAT(page, AllOf(note(""), Not(note("as agreed"))));
  const std::string approved = press(page, "/console/requests/R-1/approve", "as+agreed").body;
  EXPECT_THAT(approved, AllOf(note("as agreed"), note("")));
  EXPECT_LT(approved.find("as agreed"), approved.find("/console/requests/R-1/reject"));
  const std::string rejected = press(page, "/console/requests/R-1/reject", "%22%3E%3Cb%3E").body;
  EXPECT_THAT(rejected, AllOf(note("&quot;&gt;&lt;b&gt;"), note(""), Not(HasSubstr("<b>"))));
  EXPECT_GT(rejected.find("&quot;&gt;"), rejected.find("/console/requests/R-1/reject"));
}

// CON-30
TEST_F(ConsoleWork, OwnRequestsAreApprovedByOthersAndMayBeRejected) {
  insert("1", "Hi", "ben@example.com");
  insert("2");
  crm_.edit("2", F::sender, std::string("005B"));
  sign_in(user("ben@example.com", {Role::approver}));
  insert("3", "Hi", "ben@example.com");
  store::RequestRecordEntryUpdate approved;
  approved.next = known("3");
  approved.next.state = State::approved;
  store_.request_records.save(std::span(&approved, 1));
  EXPECT_THAT(get("/console/requests/R-3").body, Not(HasSubstr("another approver"))) << "it has its approval";
  for (const std::string number : {"R-1", "R-2"}) {
    const std::string path = "/console/requests/" + number;
    const std::string page = get(path).body;
    EXPECT_THAT(page, AllOf(HasSubstr("another approver"), Not(HasSubstr(path + "/approve"))));
    const auto session = store_.console_sessions.find(sha256_hex(cookie_), now_, {0});
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

// CON-54
TEST_F(ConsoleWork, TheTimelineOfARequestListsEditsBeforeTheApproval) {
  insert("1");
  const auto content = [](const std::string& message, const std::string& gift) {
    RequestRecord record;
    record.set(F::message, message);
    if (!gift.empty()) record.set(F::gift_id, gift);
    return format_values(record, approval_bound_fields());
  };
  const auto add_edit = [&](const std::string& before, const std::string& after, const std::string& who) {
    store::RequestRecordEntryUpdate change;
    change.next = known("1");
    change.edit = store::RequestRecordEdit{now_, who, before, after};
    ASSERT_EQ(store_.request_records.save(std::span(&change, 1)).size(), 1u);
  };
  now_ = now_ + kMinuteMillis;
  add_edit(content("Hello", "6"), content(kMarkup, "7"), "CRM user 005B");
  add_edit(content(std::string(300, 'x'), ""), content("", ""), "");
  sign_in(user("ben@example.com", {Role::approver}));
  const std::string page = get("/console/requests/R-1").body;
  EXPECT_THAT(
      page, AllOf(HasSubstr("<strong>Edited in the CRM</strong> <span class=\"quiet\"><bdi>CRM user "
                            "005B: Item (Gift Id): “6” became “7”; Message: “Hello” became “&lt;script&gt;"),
                  HasSubstr("<bdi>Message: “" + std::string(200, 'x') + "…” became “”"),
                  Not(HasSubstr("<script>alert")), Not(HasSubstr("Only the last 20 edits"))));
  EXPECT_GT(page.find("<strong>Waiting for approval</strong> <span"), page.find("Edited in the CRM"));
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(get("/console/requests/R-1").body,
              AllOf(HasSubstr("Item (Gift Id): “6” became “7”; Message: “***” became “***”"),
                    Not(HasSubstr("Hello"))));
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
       {"Coffee (7)", "Rose Gonzalez", "1@<wbr>example", ">5.35</strong>", "<dt>Sender</dt>", ">Ben</dd>",
        "Thank you!", "/approve\"", "/reject\"", "<details>", "Ben (005B)", "<dt>Price of the item</dt>",
        "root (command line)"}) {
    const std::size_t found = page.find(next, at);
    ASSERT_NE(found, std::string::npos) << next;
    at = found;
  }
  EXPECT_THAT(page, AllOf(HasSubstr("Rose Gonzalez (003A)"), Not(HasSubstr("<dt>Carbon neutral</dt>")),
                          HasSubstr("not included; it would be 2.00"), Not(HasSubstr("<details open>")),
                          Not(HasSubstr("Next request"))));
  insert("2");
  insert("3", "Hi", "ana@example.com");
  press(page, "/console/requests/R-1/approve");
  EXPECT_THAT(get("/console/requests/R-1?notice=request_approved").body,
              AllOf(HasSubstr("<a href=\"/console/requests/R-2\">Next request that waits for you: R-2</a>"),
                    HasSubstr("<details open>")));
  EXPECT_THAT(get("/console/requests/R-1").body, Not(HasSubstr("Next request")));
}

// CON-16, CON-29
TEST_F(ConsoleWork, AnApproverSeesWhatIsApprovedAsAnAuditorToo) {
  insert("1", "Many thanks");
  store::RequestRecordEntryUpdate change;
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

// CON-63
TEST_F(ConsoleWork, TheAuditLogSaysInWordsWhatWasDecidedAndRefused) {
  insert("1");
  insert("2");
  sign_in(user("ana@example.com", {Role::approver}));
  press(get("/console/requests/R-1").body, "/console/requests/R-1/approve", "fine+for+Rose");
  const std::string page = get("/console/requests/R-2").body;
  crm_.edit("2", F::message, std::string("Edited"));
  EXPECT_EQ(press(page, "/console/requests/R-2/reject", "too+dear").status, 412);
  const std::string refused =
      "</svg>refused</span></td>\n<td class=\"text\"><bdi>The "
      "rejection was refused: the request was edited after the page was shown</bdi> <span class=\"quiet "
      "short\">(CON-29)</span></td>";
  EXPECT_THAT(get("/console/audit").body, AllOf(HasSubstr("<bdi>Note: fine for Rose</bdi></td>"),
                                                HasSubstr(refused), Not(HasSubstr("too dear"))))
      << "nothing was decided";
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(get("/console/audit").body,
              AllOf(HasSubstr("<bdi>Note: ***</bdi></td>"), HasSubstr(refused), Not(HasSubstr("Rose"))));
}

// CON-30, CON-7
TEST_F(ConsoleWork, ADecisionIsAnEventOfTheRequestsOrganization) {
  const sync::NewCredential token = sync::make_credential(CredentialKind::organization_token);
  settings_.requests.organization_token = config::Secret(token.text);
  const auto acme = store_.organizations.create("Acme", token).value();
  insert("1");
  sign_in(user("ana@example.com", {Role::approver}));
  press(get("/console/requests/R-1").body, "/console/requests/R-1/reject");
  EXPECT_EQ(last_event().action, "request.reject");
  EXPECT_EQ(last_event().organization, acme) << "its auditors see it";
}

}  // namespace
}  // namespace giftsync::console
