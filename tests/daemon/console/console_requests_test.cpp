// The console's pages of request records: who sees and finds which, and how they link to gifts and the audit
// log.
#include "platform/digest.h"
#include "sync/access/credential.h"
#include "sync/gift/gift_actions.h"
#include "tests/daemon/console/console_work_fixture.h"
#include "tests/support/masked_addresses.h"

namespace giftsync::console {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// CON-28
TEST_F(ConsoleWork, RequestsAreListedWithItemAndCostInPages) {
  for (int i = 100; i < 160; ++i) insert(std::to_string(i));
  sign_in(user("ben@example.com", {Role::approver}));
  const std::string first = get("/console/requests").body;
  EXPECT_THAT(first,
              AllOf(HasSubstr("R-159"), Not(HasSubstr("R-109<")), HasSubstr("Coffee"), HasSubstr("5.35"),
                    HasSubstr("159@<wbr>example.<wbr>com"), HasSubstr("before=R-110")));
  const std::string second = get("/console/requests?before=R-110").body;
  EXPECT_THAT(second, AllOf(HasSubstr("R-109"), HasSubstr("Newest"), Not(HasSubstr("R-110<"))));
  EXPECT_THAT(get("/console/requests?state=sent").body, HasSubstr("No request fits here."));
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(get("/console/requests").body, AllOf(Not(HasSubstr("159@example.com")), HasSubstr("***@")))
      << "CON-59: as in the list of gifts";
}

// CON-28
TEST_F(ConsoleWork, OthersSeeRequestsWithoutButtonsAndSendersTheOwn) {
  store::Account sam;
  sam.email = "sam@example.com";
  store_.accounts.create(sam);
  insert("1", "Secret words", "sam@example.com");
  insert("2", "Secret words");
  for (const Role role : {Role::admin, Role::operations, Role::auditor}) {
    sign_in(user(std::string(to_word(role)) + "@example.com", {role}));
    const auto page = get("/console/requests/R-2");
    EXPECT_EQ(page.status, 200);
    EXPECT_THAT(page.body, AllOf(Not(HasSubstr("/approve\"")),
                                 HasSubstr("users with the role approver approve or reject this one.")));
    if (role == Role::auditor) {
      EXPECT_THAT(page.body, AllOf(Not(HasSubstr("Secret words")), Not(HasSubstr("2@example.com")),
                                   HasSubstr("***@example.com")));  // CON-59
    }
  }
  sign_in(user("sam@example.com", {Role::sender}));
  EXPECT_EQ(get("/console/requests/R-1").status, 200);
  EXPECT_EQ(get("/console/requests/R-2").status, 404);
  EXPECT_THAT(get("/console/requests").body, AllOf(HasSubstr("R-1"), Not(HasSubstr("R-2"))));
  sign_in(user("of.acme@example.com", {Role::approver}, organization("Acme")));
  EXPECT_EQ(get("/console/requests/R-1").status, 404) << "request records are sent for no organization";
}

// CON-59
TEST_F(ConsoleWork, AnAuditorReadsTheSameOfAnAddressOnAllPagesAndInTheCsv) {
  for (const auto& [text, masked] : tests::kMaskedAddresses) {
    EXPECT_EQ(masked_address(true, text), masked) << text;
    EXPECT_EQ(masked_address(false, text), text);
  }
  const std::string two = "bea@example.org, ada@example.com";
  const std::string with_name = "ada@example.com (Ada Lovelace)";
  store::NewGiftRequest request;
  request.request.account = {1};
  request.request.created_at = now_;
  request.recipients = {{two, "", "", ""}, {with_name, "", "", ""}};
  const auto gifts = store_.gifts.create(std::span(&request, 1)).front().recipients;
  for (const std::string id : {"1", "2"}) {
    insert(id);
    crm_.edit(id, F::recipient_email, id == "1" ? two : with_name);
  }
  const std::vector<std::string> pages{"/console/gifts",
                                       "/console/gifts/" + std::to_string(gifts[0].id.value),
                                       "/console/gifts/" + std::to_string(gifts[1].id.value),
                                       "/console/mail?state=all",
                                       "/console/requests",
                                       "/console/requests/R-1",
                                       "/console/requests/R-2"};
  const auto csv = [this] {
    const auto response = get("/console/gifts?format=csv");
    std::string text;
    for (std::string part = response.next_chunk(); !part.empty(); part = response.next_chunk()) text += part;
    return text;
  };
  sign_in(user("op@example.com", {Role::operations}));
  for (const std::string& path : pages)
    EXPECT_THAT(get(path).body, testing::AnyOf(HasSubstr("bea@"), HasSubstr("Lovelace"))) << path;
  EXPECT_THAT(csv(), AllOf(HasSubstr("bea@"), HasSubstr("Lovelace")));
  sign_in(user("aud@example.com", {Role::auditor}));
  const auto hides = AllOf(Not(HasSubstr("bea@")), Not(HasSubstr("ada@")), Not(HasSubstr("Lovelace")),
                           Not(HasSubstr("example.org")), HasSubstr("***"));
  for (const std::string& path : pages) EXPECT_THAT(get(path).body, hides) << path;
  EXPECT_THAT(csv(), hides);
}

// CON-36
TEST_F(ConsoleWork, AGiftAndItsRequestLinkToEachOther) {
  const auto acme = organization("Acme");
  store::Account sam;
  sam.email = "sam@example.com";
  sam.organization = acme;
  const auto account = store_.accounts.create(sam).value();
  const auto own = gift_of_request("1", account, "sam@example.com");
  const auto other = gift_of_request("2", account);
  const auto page_of = [](TransactionId id) { return "/console/gifts/" + std::to_string(id.value); };
  const auto shows_approval = AllOf(HasSubstr("<dt>Approved by</dt><dd><bdi>ben@example.com"),
                                    HasSubstr("<dt>Approved at</dt><dd><bdi>" + std::string("12:30<")));
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
  store::RequestRecordEntryUpdate change;
  change.next = known("1");
  change.next.state = State::approved;
  change.next.error = "There is no item.";
  store_.request_records.save(std::span(&change, 1));
  EXPECT_THAT(get(page_of(own)).body, HasSubstr("<dd><bdi>Approved, not sent</bdi>")) << "CON-57";
}

// CON-36
TEST_F(ConsoleWork, TheTimelineOfARequestNamesItsGiftAndNoGiftRequest) {
  store::Account sam;
  sam.email = "sam@example.com";
  const auto id = gift_of_request("1", store_.accounts.create(sam).value());
  insert("2");
  for (const std::string record : {"1", "2"}) {
    store::RequestRecordEntryUpdate change;
    change.next = known(record);
    change.next.state = State::sent;
    change.transitions = {{now_, "giftsync", "approved", "sent", "gift request 4711"}};
    store_.request_records.save(std::span(&change, 1));
  }
  const std::string gift = "Gift " + std::to_string(id.value);
  const std::string sent = "<strong>Sent</strong> <span class=\"quiet\"><bdi>giftsync</bdi></span> ";
  sign_in(user("op@example.com", {Role::operations}));
  EXPECT_THAT(get("/console/requests/R-1").body,
              AllOf(HasSubstr(sent + "<a href=\"/console/gifts/" + std::to_string(id.value) + "\">" + gift +
                              "</a></li>"),
                    Not(HasSubstr("4711"))));
  sign_in(user("ben@example.com", {Role::approver}));
  EXPECT_THAT(
      get("/console/requests/R-1").body,
      AllOf(HasSubstr(sent + gift + "</li>"), Not(HasSubstr("4711")), Not(HasSubstr("/console/gifts/"))))
      << "a gift of another sender";
  EXPECT_THAT(get("/console/requests/R-2").body, HasSubstr("giftsync: gift request 4711"))
      << "nothing else names it";
}

// CON-36
TEST_F(ConsoleWork, ARequestSaysThatItsGiftWentToAnotherAddress) {
  store::Account sam;
  sam.email = "sam@example.com";
  const auto id = gift_of_request("1", store_.accounts.create(sam).value());
  sign_in(user("ben@example.com", {Role::approver}));
  EXPECT_THAT(get("/console/requests/R-1").body, Not(HasSubstr("another address")));
  now_ = now_ + kMinuteMillis;
  const sync::ResendAction resend{id, "bea@example.org", "sam@example.com", {}};
  ASSERT_EQ(sync::resend(store_, resend, now_).kind, sync::ActionResult::Kind::done);
  EXPECT_THAT(get("/console/requests/R-1").body,
              AllOf(HasSubstr("After the approval the gift was sent to another address: bea@example.org, by "
                              "sam@example.com, 12:32."),
                    HasSubstr("<strong>Resent</strong> <span class=\"quiet\"><bdi>sam@example.com: to "
                              "bea@example.org, before it was ada@example.com")));
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(get("/console/requests/R-1").body,
              AllOf(HasSubstr("another address: ***@example.org, by sam@example.com"),
                    HasSubstr("sam@example.com: ***"), Not(HasSubstr("bea@")), Not(HasSubstr("ada@"))));
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
                    Not(HasSubstr("<td class=\"short\">sign-in"))));
  EXPECT_THAT(get("/console/audit?object=request").body, HasSubstr("request.reject"));
  for (const std::string none : {"request%3AR-2", "gift%3AR-1", "gift"})
    EXPECT_THAT(get("/console/audit?object=" + none).body, HasSubstr("No event fits")) << none;
}

// CON-48
TEST_F(ConsoleWork, ARequestIsFoundInTheStateThatTheAddressNamesOrInAll) {
  for (int i = 100; i < 160; ++i) insert(std::to_string(i));
  sign_in(user("ben@example.com", {Role::approver}));
  press(get("/console/requests/R-150").body, "/console/requests/R-150/reject");
  EXPECT_THAT(get("/console/requests").body, Not(HasSubstr("R-150<")));
  const std::string found = get("/console/requests?find=+R-150+").body;
  EXPECT_THAT(found, AllOf(HasSubstr("R-150<"), HasSubstr("value=\"R-150\""), Not(HasSubstr("R-151<")),
                           HasSubstr("aria-current=\"page\">All</a>")));
  EXPECT_THAT(get("/console/requests?state=rejected&find=150").body, Not(HasSubstr("R-150<")))
      << "the CRM of giftsync numbers it R-000150";
  EXPECT_THAT(get("/console/requests?state=rejected&find=R-150").body,
              AllOf(HasSubstr("R-150<"), HasSubstr("aria-current=\"page\">Rejected</a>")));
  const std::string in_all_states =
      "<a class=\"button\" href=\"/console/requests?find=R-150&amp;state=all\">Search in all states</a>";
  for (const std::string state : {"pending", "failed", "sent"})
    EXPECT_THAT(get("/console/requests?find=R-150&state=" + state).body,
                AllOf(Not(HasSubstr("R-150<")), HasSubstr("No request fits here."), HasSubstr(in_all_states),
                      HasSubstr("Names are not searched.")))
        << state;
  EXPECT_THAT(get("/console/requests?find=R-150&state=all").body,
              AllOf(HasSubstr("R-150<"), Not(HasSubstr("What can be found"))));
  EXPECT_THAT(get("/console/requests?find=R-15").body,
              AllOf(HasSubstr("No request fits here."), HasSubstr("Names are not searched."),
                    Not(HasSubstr("Search in all states"))));
  const std::string all = get("/console/requests?state=all").body;
  EXPECT_THAT(all, AllOf(HasSubstr("R-150<"), HasSubstr("R-151<"), HasSubstr("before=R-110&amp;state=all")));
  EXPECT_THAT(get("/console/requests?state=all&before=R-110").body,
              AllOf(HasSubstr("R-109<"), Not(HasSubstr("R-110<"))));
}

// CON-44
TEST_F(ConsoleWork, AListOfRequestsSaysThatNothingWaits) {
  const auto says_so =
      AllOf(HasSubstr("<h2>No request waits for a decision.</h2>"),
            HasSubstr("<a class=\"button\" href=\"/console/requests?state=all\">All requests</a>"));
  sign_in(user("ben@example.com", {Role::approver}));
  for (const std::string path : {"/console/requests", "/console/requests?state=pending"})
    EXPECT_THAT(get(path).body, says_so) << path;
  for (const std::string query : {"state=sent", "state=all", "state=pending&find=R-1", "before=R-1"})
    EXPECT_THAT(get("/console/requests?" + query).body,
                AllOf(HasSubstr("No request fits here."), Not(HasSubstr("waits for a decision"))))
        << query;
  insert("1");
  EXPECT_THAT(get("/console/requests").body, Not(HasSubstr("waits for a decision")));
}

// CON-44
TEST_F(ConsoleWork, WhoDoesNotSeeAllRequestsIsNotToldThatNothingWaits) {
  insert("1");
  const auto is_neutral =
      AllOf(HasSubstr("<h2>No request fits here.</h2>"), Not(HasSubstr("waits for a decision")),
            HasSubstr("<a class=\"button\" href=\"/console/requests?state=all\">All requests</a>"));
  store::Account sam;
  sam.email = "sam@example.com";
  store_.accounts.create(sam);
  sign_in(user("sam@example.com", {Role::sender}));
  EXPECT_THAT(get("/console/requests").body, is_neutral) << "those of others may wait";
  const auto acme = organization("Acme");
  sign_in(user("of.acme@example.com", {Role::approver}, acme));
  EXPECT_THAT(get("/console/requests").body, is_neutral) << "requests are sent for no organization";
  const sync::NewCredential token = sync::make_credential(CredentialKind::organization_token);
  const auto edge = store_.organizations.create("Edge", token).value();
  settings_.requests.organization_token = config::Secret(token.text);
  EXPECT_THAT(get("/console/requests").body, is_neutral) << "they are sent for another organization";
  sign_in(user("of.edge@example.com", {Role::approver}, edge));
  press(get("/console/requests/R-1").body, "/console/requests/R-1/reject");
  EXPECT_THAT(get("/console/requests").body, HasSubstr("<h2>No request waits for a decision.</h2>"));
  settings_.requests.enabled = false;
  sign_in(user("ben@example.com", {Role::approver}));
  EXPECT_THAT(get("/console/requests").body, is_neutral) << "request records are not in use";
}

// CON-28, CON-37
TEST_F(ConsoleWork, ANumberIsFoundHoweverItIsWritten) {
  insert("000004");
  insert("000040");
  sign_in(user("ben@example.com", {Role::approver, Role::admin}));
  press(get("/console/requests/R-000004").body, "/console/requests/R-000004/reject");
  for (const std::string typed : {"4", "R-4", "r-4", "000004", "r-000004", "R-000004", "+4+"}) {
    EXPECT_THAT(get("/console/requests?find=" + typed).body,
                AllOf(HasSubstr("R-000004<"), Not(HasSubstr("R-000040<")),
                      HasSubstr("aria-current=\"page\">All</a>")))
        << typed;
    EXPECT_THAT(
        get("/console/audit?object=request+" + typed).body,
        HasSubstr("<a href=\"/console/requests/R-000004\" class=\"short\"><bdi>request R-000004</bdi></a>"))
        << typed;
  }
  for (const std::string typed : {"request:R-4", "R-4", "r-4", "R-000004", "+r-000004+"})
    EXPECT_THAT(get("/console/audit?object=" + typed).body, HasSubstr("request.reject")) << typed;
  for (const std::string none : {"R-5", "R-", "R-40", "R-x"})
    EXPECT_THAT(get("/console/audit?object=" + none).body, HasSubstr("No event fits")) << none;
  for (const std::string typed : {"%234", "%23+004", "%23R-4", "%23r-000004", "%23+R-4"})
    EXPECT_THAT(get("/console/requests?find=" + typed).body,
                AllOf(HasSubstr("R-000004<"), Not(HasSubstr("R-000040<"))))
        << "a request in a list of requests: " << typed;
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
  store::Account sam;
  sam.email = "sam@example.com";
  const auto account = store_.accounts.create(sam).value();
  const std::string id = std::to_string(gift_of_request("1", account, "sam@example.com").value);
  insert("2");
  insert("3", "Thank you!", "sam@example.com");
  sign_in(user("ben@example.com", {Role::approver}));
  for (const std::string& typed :
       {"gift+" + id, "gift+%23" + id, "Gift:+0" + id, std::string("ADA@example.com")})
    EXPECT_THAT(get("/console/requests?find=" + typed).body,
                AllOf(HasSubstr("R-1<"), Not(HasSubstr("R-2<")), Not(HasSubstr("R-3<")),
                      HasSubstr("aria-current=\"page\">All</a>")))
        << typed;
  EXPECT_THAT(get("/console/requests?find=Sam@example.com").body,
              AllOf(HasSubstr("R-1<"), Not(HasSubstr("R-2<")), HasSubstr("R-3<"),
                    HasSubstr("value=\"Sam@example.com\"")));
  for (const std::string& typed : {"gift+" + id, std::string("ada@example.com")})
    EXPECT_THAT(get("/console/requests?state=pending&find=" + typed).body,
                AllOf(Not(HasSubstr("R-1<")), HasSubstr("Search in all states")))
        << typed;
  EXPECT_THAT(get("/console/requests?state=pending&find=sam@example.com").body,
              AllOf(Not(HasSubstr("R-1<")), HasSubstr("R-3<")));
  for (const std::string none : {"gift+99", "%2399", "gift+x", "Rose", "eve@example.com"})
    EXPECT_THAT(get("/console/requests?find=" + none).body, HasSubstr("No request fits here.")) << none;
  for (const std::string fault : {"%23", "%23x", "%23R-", "%23R-x", "@", "ada@", "@example.com"})
    EXPECT_THAT(get("/console/requests?find=" + fault).body,
                AllOf(HasSubstr("this is no number of a request or a gift, and no whole address."),
                      Not(HasSubstr("R-2<"))))
        << fault;
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(get("/console/requests?find=ada@example.com").body,
              AllOf(HasSubstr("your role cannot search by this."), Not(HasSubstr("R-1<"))));
  EXPECT_THAT(get("/console/requests?find=gift+" + id).body,
              AllOf(HasSubstr("R-1<"), HasSubstr("placeholder=\"Number, or gift 17\"")));
  EXPECT_THAT(
      get("/console/requests?find=R-9").body,
      AllOf(HasSubstr("What can be found"), Not(HasSubstr("recipient.")), Not(HasSubstr("whole address"))));
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
  EXPECT_THAT(get("/console/").body, HasSubstr("Nothing waits for you"));
  const auto session = store_.console_sessions.find(sha256_hex(cookie_), now_, {0});
  const std::string token = form_token(session->form_secret, "/requests/R-1/approve");
  EXPECT_EQ(post("/console/requests/R-1/approve", "form_token=" + token + "&seen=YQ").status, 404);
}

// CON-47
TEST_F(ConsoleWork, TheSearchOfEveryPageFindsARequestByItsNumber) {
  sign_in(user("op@example.com", {Role::operations}));
  EXPECT_EQ(header(get("/console/gifts?find=+r-4+"), "Location"), "/console/requests?find=r-4");
  for (const std::string gifts : {"find=R-", "find=R-x", "find=4", "find=R-4&status=sent"})
    EXPECT_EQ(get("/console/gifts?" + gifts).status, 200) << gifts;
  settings_.requests.enabled = false;
  EXPECT_EQ(get("/console/gifts?find=R-4").status, 200) << "there are none";
}

// CON-57, CON-52
TEST_F(ConsoleWork, TheListTellsWhatIsNotSentFromWhatWaitsAgain) {
  for (const std::string id : {"1", "2", "3"}) insert(id, "Hi", "sam@example.com");
  sign_in(user("ben@example.com", {Role::approver}));
  const std::string error_column = "<th scope=\"col\">Error</th>";
  EXPECT_THAT(get("/console/requests?state=all").body,
              AllOf(Not(HasSubstr(error_column)), HasSubstr("<bdi>sam@<wbr>example.<wbr>com<wbr></bdi>")));
  fail("1", "Changed after approval: approve it again.");
  EXPECT_THAT(get("/console/requests?state=all").body,
              AllOf(HasSubstr("</svg>Changed since approval</span>"), Not(HasSubstr(error_column)),
                    Not(HasSubstr("Changed after approval:"))));
  store::RequestRecordEntryUpdate change;
  change.next = known("2");
  change.next.state = State::approved;
  change.next.error = "The sender has no permission set.";
  store_.request_records.save(std::span(&change, 1));
  EXPECT_THAT(get("/console/requests?state=all").body,
              AllOf(HasSubstr("</svg>Approved, not sent</span>"), HasSubstr(error_column),
                    HasSubstr("The sender has no permission set.")));
  EXPECT_THAT(get("/console/requests?state=failed").body, AllOf(HasSubstr("R-2<"), Not(HasSubstr("R-1<"))))
      << "what waits again has no error";
}

// CON-24
TEST_F(ConsoleWork, ACrmThatDoesNotRespondTakesNothingElseOffAPage) {
  insert("1");
  crm_.directory().is_away = true;
  sign_in(user("ana@example.com", {Role::approver}));
  EXPECT_EQ(get("/console/").status, 200);
  EXPECT_EQ(get("/console/requests").status, 200);
}

// CON-58
TEST_F(ConsoleWork, AfterTheLastDecisionNothingWaitsAnyMore) {
  insert("1");
  insert("2", "Hi", "ana@example.com");
  sign_in(user("ana@example.com", {Role::approver}));
  press(get("/console/requests/R-1").body, "/console/requests/R-1/reject");
  const std::string path = "/console/requests/R-1?notice=request_rejected";
  const std::string none_waits = "No other request waits for your decision.";
  EXPECT_THAT(get(path).body, AllOf(HasSubstr(none_waits), Not(HasSubstr("Next request"))))
      << "the other one is her own";
  EXPECT_THAT(get("/console/requests/R-1").body, Not(HasSubstr(none_waits)));
  int calls = 0;
  crm_.around_each_call = [&] { crm_.directory().is_away = ++calls > 2; };
  const auto away = get(path);
  EXPECT_EQ(away.status, 200) << "it was away after the page had read its request";
  EXPECT_THAT(away.body, Not(HasSubstr(none_waits))) << "whose the other one is, is not known";
  crm_.around_each_call = [] {};
  crm_.directory().is_away = false;
  insert("3");
  EXPECT_THAT(get(path).body,
              AllOf(HasSubstr("Next request that waits for you: R-3"), Not(HasSubstr(none_waits))));
  sign_in(user("op@example.com", {Role::operations}));
  EXPECT_THAT(get(path).body, Not(HasSubstr(none_waits))) << "operators decide on nothing";
}

}  // namespace
}  // namespace giftsync::console
