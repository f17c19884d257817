// What pages ask the CRM and show of it: matches, records and failures; masked, paid by the call, and away.
#include <algorithm>

#include "daemon/config/connection_urls.h"
#include "daemon/console/console.h"
#include "platform/dependency_error.h"
#include "platform/http_client.h"
#include "platform/text.h"
#include "tests/daemon/console/console_crm_fixture.h"
#include "tests/support/temporary_database.h"

namespace giftsync::console {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using ConsoleCrmPages = ConsoleCrmFixture;

// CON-23
TEST_F(ConsoleCrmPages, AnyAddressIsMatchedAndExplained) {
  add_contact("003ADA");
  sign_in(user("ana@example.com", {Role::admin}));
  EXPECT_EQ(crm_.candidate_calls, 0);
  const std::string found = get("/console/match?email=ADA@example.com&phone=650-867-3450").body;
  EXPECT_THAT(found,
              AllOf(HasSubstr("ada@example.com"), HasSubstr("+16508673450"), HasSubstr("003ADA"),
                    HasSubstr("Contact 003ADA (Ada Byron): Email equals ada@example.com. No other matched."),
                    HasSubstr("Leads by phone (Phone)")));
  EXPECT_THAT(get("/console/match?email=kim@example.com").body,
              HasSubstr("No match: no contact (Email) and no lead (Email) has kim@example.com."));
  EXPECT_THAT(get("/console/match?phone=12").body, HasSubstr("is not valid (region US)"));
  EXPECT_THAT(get("/console/match?email=%3Cscript%3E").body,
              AllOf(Not(HasSubstr("<script>")), HasSubstr("it matches nothing")));
  const int before = crm_.candidate_calls;
  EXPECT_THAT(get("/console/match?email=&phone=").body,
              HasSubstr("Enter an e-mail address or a phone number."));
  EXPECT_THAT(get("/console/match").body, Not(HasSubstr("Enter an e-mail address or")));
  EXPECT_EQ(crm_.candidate_calls, before) << "nothing was asked";
}

// CON-23
TEST_F(ConsoleCrmPages, UsersOfAnOrganizationDoNotSearchTheCrmOfAll) {
  store::Credential token;
  token.hash = "hash";
  const auto organization = store_.organizations.create("Acme", token).value();
  sign_in(user("ana@example.com", {Role::admin}, organization));
  EXPECT_EQ(get("/console/match?email=ada@example.com").status, 404);
  EXPECT_THAT(get("/console/crm").body, AllOf(Not(HasSubstr("Queue")), Not(HasSubstr("/console/match"))));
  const auto id = gift_of("sam@example.com", organization);
  EXPECT_EQ(get(page_of(id) + "/match").status, 200);
}

// CON-76
TEST_F(ConsoleCrmPages, AnIdOfTheCrmIsALinkWhereRecordsHavePages) {
  const auto id = gift_of("sam@example.com");
  link(id, "003<A>");
  add_contact("003<A>");
  sign_in(user("ana@example.com", {Role::admin}));
  const std::string match = page_of(id) + "/match";
  for (const std::string& path : {page_of(id), match})
    EXPECT_THAT(get(path).body, Not(HasSubstr("rel=\"noopener"))) << path;
  options_.in_force = &in_force_;
  in_force_.crm.record_url = "https://crm.example.com/{object}/{id}?a&b";
  restart();
  const std::string anchor =
      "<a href=\"https://crm.example.com/Contact/003%3CA%3E?a&amp;b\" rel=\"noopener noreferrer\">";
  for (const std::string& path : {page_of(id), match, std::string("/console/match?email=ada@example.com")})
    EXPECT_THAT(get(path).body, HasSubstr(anchor)) << path;
}

// CON-76
TEST(RecordUrl, IsThatOfTheSettingsOrOfTheOrg) {
  config::CrmSettings crm;
  EXPECT_EQ(config::record_url(crm, "contact", "003A"), "") << "giftsync's own tables have no pages";
  crm.record_url = "https://crm.example.com/{object}/{id}";
  EXPECT_EQ(config::record_url(crm, "gift_record", "a0A/1"),
            "https://crm.example.com/giftsync__Gift_Record__c/a0A%2F1");
  crm.objects = {{"gift_record", "thx__Gift__c"}};
  EXPECT_EQ(config::record_url(crm, "gift_record", "a0A"), "https://crm.example.com/thx__Gift__c/a0A");
  EXPECT_EQ(config::record_url(crm, "opportunity", "{object}"),
            "https://crm.example.com/Opportunity/%7Bobject%7D");
  EXPECT_EQ(config::record_url(crm, "lead", ""), "");
  crm.record_url.clear();
  crm.type = config::CrmType::salesforce;
  crm.salesforce.domain = "https://acme.my.salesforce.com";
  EXPECT_EQ(config::record_url(crm, "lead", "00QA"), "https://acme.my.salesforce.com/00QA");
}

// HTTP-60
TEST_F(ConsoleCrmPages, AmountsNameTheCurrencyOfTheSettings) {
  store::NewGiftRequest request;
  request.request.account = {1};
  request.request.item_name = "Coffee";
  request.request.costs.item = Money{550};
  request.request.created_at = now_;
  request.recipients = {{"ada@example.com", "Ada", "Byron", "Hi"}};
  const auto id = store_.gifts.create(std::span(&request, 1)).front().recipients.front().id;
  sign_in(user("ana@example.com", {Role::admin}));
  const auto csv = [&] {
    const auto response = get("/console/gifts?format=csv");
    std::string text;
    for (std::string part = response.next_chunk(); !part.empty(); part = response.next_chunk()) text += part;
    return text;
  };
  EXPECT_THAT(get(page_of(id)).body, AllOf(HasSubstr("<bdi>5.50</bdi>"), Not(HasSubstr("EUR"))));
  EXPECT_THAT(csv(), AllOf(HasSubstr(",5.50,"), Not(HasSubstr("currency"))));
  options_.in_force = &in_force_;
  in_force_.catalogue.currency = "EUR";
  restart();
  EXPECT_THAT(get(page_of(id)).body, HasSubstr("<bdi>5.50 EUR</bdi>"));
  EXPECT_THAT(get("/console/gifts").body, HasSubstr("5.50 EUR"));
  EXPECT_THAT(csv(), AllOf(HasSubstr(",currency\r\n"), HasSubstr(",5.50,"), HasSubstr(",EUR\r\n")));
}

// CON-47, CON-18
TEST_F(ConsoleCrmPages, AGiftIsFoundByAnIdInTheCrm) {
  const auto id = gift_of("sam@example.com");
  link(id, "0035e00000AbCdE");
  const auto other = gift_of("sam@example.com");
  for (const Role role : {Role::operations, Role::auditor}) {
    sign_in(user(std::to_string(static_cast<int>(role)) + "@example.com", {role}));
    EXPECT_THAT(get("/console/gifts?find=+0035e00000AbCdE").body,
                AllOf(HasSubstr(page_of(id) + "\""), Not(HasSubstr(page_of(other) + "\""))));
    const auto csv = get("/console/gifts?format=csv&find=0035e00000AbCdE");
    std::string text;
    for (std::string part = csv.next_chunk(); !part.empty(); part = csv.next_chunk()) text += part;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << "the header and one row";
    EXPECT_THAT(text, HasSubstr(",0035e00000AbCdE,"));
  }
  sign_in(user("ana@example.com", {Role::operations}));
  EXPECT_THAT(get("/console/gifts?find=0035e00000None1").body,
              HasSubstr("<bdi>Name as the sender typed it, or id in the CRM: 0035e00000None1</bdi>"));
}

// CON-24
TEST_F(ConsoleCrmPages, WhereCallsArePaidTheCrmIsAskedOnTheButtonOnly) {
  const auto id = gift_of("sam@example.com");
  link(id, "003OLD");
  add_contact("003NEW");
  make_paid();
  sign_in(user("ana@example.com", {Role::operations}));
  for (const auto& [path, cost] : {std::pair{std::string("/console/match"), "up to 3 calls"},
                                   std::pair{page_of(id) + "/match", "up to 12 calls"},
                                   std::pair{page_of(id) + "/record", "up to 1 calls"}}) {
    const std::string page = get(path + "?email=ada@example.com").body;
    EXPECT_THAT(page, AllOf(HasSubstr(cost), Not(HasSubstr("003NEW")), Not(HasSubstr("are left")))) << path;
    EXPECT_EQ(crm_.candidate_calls + crm_.reads, 0) << path;
    const std::string body = "email=ada%40example.com&form_token=" + form_token_in(page, path);
    const auto asked = post(path, body);
    EXPECT_EQ(asked.status, 200) << path;
    EXPECT_THAT(asked.body, AllOf(HasSubstr("Of the 200 calls"), HasSubstr("140 are left"))) << path;
    EXPECT_GT(crm_.candidate_calls + crm_.reads, 0) << path;
    crm_.candidate_calls = crm_.reads = 0;
    crm_.has_spare_calls = false;
    EXPECT_THAT(post(path, body).body, HasSubstr("the calls are kept for gifts")) << path;
    EXPECT_EQ(crm_.candidate_calls + crm_.reads, 0) << path;
    crm_.has_spare_calls = true;
  }
}

// ORG-16
TEST_F(ConsoleCrmPages, TwoPagesAskASlowCrmAndTheThirdIsToldSo) {
  const auto id = gift_of("sam@example.com");
  link(id, "003OLD");
  make_paid();
  sign_in(user("ana@example.com", {Role::operations}));
  const std::string path = page_of(id) + "/record";
  const std::string body = "form_token=" + form_token_in(get(path).body, path);
  std::string second;
  std::string third;
  crm_.on_read = [&] {
    EXPECT_TRUE(ThreadCallDeadline::may_continue());
    if (crm_.reads == 1)
      second = post(path, body).body;
    else if (crm_.reads == 2)
      third = post(path, body).body;
  };
  EXPECT_THAT(post(path, body).body, HasSubstr("003OLD"));
  EXPECT_THAT(second, HasSubstr("003OLD"));
  EXPECT_THAT(third, AllOf(HasSubstr("Other pages are asking the CRM now"), Not(HasSubstr("003OLD"))));
  EXPECT_EQ(crm_.reads, 2);
  crm_.down = true;
  for (int i = 0; i < 3; ++i) EXPECT_THAT(post(path, body).body, HasSubstr("the CRM is down")) << i;
  crm_.down = false;
  EXPECT_THAT(post(path, body).body, HasSubstr("003OLD")) << "a fault keeps no place";
}

// CON-16: what an auditor types about a person shows the same, whether there is a gift to that person or
// none; so pages that are joined by ids lead from no person to a gift.
TEST_F(ConsoleCrmPages, NoPageTellsAnAuditorWhoseGiftsThereAre) {
  const auto id = gift_of("sam@example.com");
  link(id, "0035e00000AbCdEAAV");
  add_contact("0035e00000AbCdEAAV");
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(get("/console/gifts?find=0035e00000AbCdEAAV").body, HasSubstr(page_of(id) + "\""))
      << "a gift is found by an id";
  const std::vector<std::string> parameters{"find",     "email",  "phone",  "error",     "item",
                                            "campaign", "source", "who",    "object",    "action",
                                            "kind",     "q",      "reason", "recipient", "name"};
  const auto without = [](std::string text, const std::string& typed) {
    for (std::size_t at = text.find(typed); at != std::string::npos; at = text.find(typed, at))
      text.replace(at, typed.size(), "TYPED");
    return text;
  };
  const auto shown = [&](const std::string& page, const std::string& typed) {
    // An entry of a list of addresses is shown as it is compared, in small letters.
    const std::string body = without(without(get(page).body, typed), percent_encoded(typed));
    return without(body, lower_case(typed));
  };
  int pages = 0;
  for (const ConsoleRoute& route : console_routes()) {
    std::string path = "/console/" + std::string(route.pattern);
    if (route.is_post || path.find("sign-in") != std::string::npos ||
        path.find("assets") != std::string::npos || path.find("link/") != std::string::npos)
      continue;
    if (const auto parameter = path.find('{'); parameter != std::string::npos)
      path.replace(parameter, path.find('}') + 1 - parameter, std::to_string(id.value));
    for (const std::string& parameter : parameters)
      for (const auto& [known, unknown] : std::map<std::string, std::string>{
               {"ada@example.com", "kim@example.com"}, {"Byron", "Wayne"}, {"6508673450", "6508673451"}}) {
        ++pages;
        const std::string page = path + "?" + parameter + "=";
        EXPECT_EQ(shown(page + known, known), shown(page + unknown, unknown))
            << path << "?" << parameter << "=" << known;
      }
  }
  EXPECT_GT(pages, 500);
  EXPECT_EQ(get("/console/match?email=ada%40example.com").status, 404);
  EXPECT_THAT(get("/console/").body, Not(HasSubstr("/console/match")));
}

// CON-24
TEST_F(ConsoleCrmPages, ADatabaseOfItsOwnHasPlacesAndADeadlineToo) {
  const auto id = gift_of("sam@example.com");
  link(id, "003OLD");
  options_.crm.has_own_database = true;
  restart();
  sign_in(user("ana@example.com", {Role::operations}));
  const std::string path = page_of(id) + "/record";
  std::string third;
  crm_.on_read = [&] {
    EXPECT_GT(ThreadCallDeadline::remaining_millis(), 0);
    EXPECT_LE(ThreadCallDeadline::remaining_millis(), 3000);
    const std::string body = get(path).body;
    if (third.empty()) third = body;  // the innermost page comes first
  };
  EXPECT_THAT(get(path).body, HasSubstr("003OLD"));
  EXPECT_THAT(third, AllOf(HasSubstr("Other pages are asking the CRM now"), Not(HasSubstr("003OLD"))));
  EXPECT_EQ(crm_.reads, 2);
}

// CON-26
TEST_F(ConsoleCrmPages, TheRecordIsShownBesideOurs) {
  const auto id = gift_of("sam@example.com");
  sign_in(user("ana@example.com", {Role::operations}));
  EXPECT_THAT(get(page_of(id) + "/record").body, HasSubstr("The CRM has no record of this gift."));
  link(id, "003ADA");
  const std::string page = get(page_of(id) + "/record").body;
  EXPECT_THAT(page, AllOf(HasSubstr("<bdi>redeemed</bdi>"), HasSubstr("<bdi>sent</bdi>"),
                          HasSubstr("differs; giftsync writes this field"), HasSubstr("003ADA"),
                          HasSubstr("ada@example.com"), HasSubstr("https://gifts.example.com/x")));
  crm_.down = true;
  EXPECT_THAT(
      get(page_of(id) + "/record").body,
      AllOf(HasSubstr("The CRM cannot be asked now: the CRM is down"), HasSubstr("Back to the gift")));
  EXPECT_THAT(get(page_of(id) + "/match").body,
              AllOf(HasSubstr("the CRM is down"), HasSubstr("Contact 003ADA (Old)")));
  options_.crm.crm = nullptr;
  restart();
  EXPECT_THAT(get(page_of(id) + "/record").body, HasSubstr("There is no CRM here to ask."));
}

// CON-62
TEST_F(ConsoleCrmPages, ARefusedRecordShowsTheRefusalAndWhatWouldBeWritten) {
  const auto id = gift_of("sam@example.com");
  const std::string path = page_of(id) + "/record";
  sign_in(user("ana@example.com", {Role::operations}));
  const std::string to_write = "<summary>Fields that giftsync wants to write: ";
  EXPECT_THAT(get(path).body, AllOf(HasSubstr("so differences are to be expected"), HasSubstr(to_write),
                                    Not(HasSubstr("The CRM refused"))));
  refuse_waiting_gifts("DUPLICATE_VALUE: ada@example.com has 17 rows");
  const std::string number = failure_class_number("DUPLICATE_VALUE: ada@example.com has # rows");
  const std::string page = get(path).body;
  EXPECT_THAT(page, AllOf(HasSubstr("<h2 id=\"failure\">The CRM refused the record</h2>"),
                          HasSubstr("<bdi>DUPLICATE_VALUE: ada@example.com has 17 rows</bdi>"),
                          HasSubstr("<a href=\"/console/crm\">" + number + "</a>"),
                          Not(HasSubstr("so differences are to be expected"))));
  EXPECT_THAT(page,
              AllOf(HasSubstr("The CRM has no record of this gift."), HasSubstr(to_write),
                    HasSubstr("<bdi>ada@example.com</bdi></td>"), HasSubstr("<bdi>A secret</bdi>"),
                    HasSubstr(">not in the CRM yet</td>"), Not(HasSubstr("No compared field differs"))));
  EXPECT_THAT(get("/console/crm").body, HasSubstr(">" + number + "</a>")) << "the same class";
  store_.sync.claim("worker", 60'000, 100, now_ + kDayMillis);
  store_.sync.release_with_error("worker", "the CRM is down");
  EXPECT_THAT(get(path).body, AllOf(HasSubstr("The record could not be written</h2>"),
                                    HasSubstr("<bdi>the CRM is down</bdi>")))
      << "the CRM refused nothing this time";
  tests::run_sql(temporary_.address(), "UPDATE crm_outbox SET next_attempt_at = 1");
  refuse_waiting_gifts("task: REQUIRED_FIELD_MISSING: Subject");
  EXPECT_THAT(get(path).body, HasSubstr("The record is written; the CRM refused its task</h2>"));
  tests::run_sql(temporary_.address(), "UPDATE crm_outbox SET is_rejected = 0");
  EXPECT_THAT(get(path).body, HasSubstr("The record is written; its task could not be</h2>"));
  tests::run_sql(temporary_.address(),
                 "UPDATE crm_outbox SET last_error = 'DUPLICATE_VALUE: ada@example.com'");
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(get(path).body, AllOf(HasSubstr("<bdi>DUPLICATE_VALUE</bdi>"), HasSubstr(to_write),
                                    Not(HasSubstr("ada@")), Not(HasSubstr("A secret"))));
  link(id, "003ADA");
  crm_.records.clear();
  tests::run_sql(temporary_.address(), "UPDATE crm_sync_state SET state = 'deleted'");
  EXPECT_THAT(get(path).body, AllOf(HasSubstr("The CRM has no record"), Not(HasSubstr(to_write))));
}

// CON-35
TEST_F(ConsoleCrmPages, TheOverviewLeadsToTheListsThatItCounts) {
  const auto id = gift_of("sam@example.com");
  sign_in(user("ana@example.com", {Role::operations}));
  EXPECT_THAT(get("/console/").body,
              AllOf(HasSubstr("<a href=\"/console/crm\">CRM</a><span class=\"hidden\">: good."),
                    HasSubstr("<a href=\"/console/gifts?crm=waiting\">1 waiting to be written"),
                    HasSubstr("<a href=\"/console/mail?state=queued\">1 waiting to be sent"),
                    HasSubstr("<a href=\"/console/sources\">Sources</a>")));
  refuse_waiting_gifts("REQUIRED_FIELD_MISSING: Name 17");
  EXPECT_THAT(
      get("/console/").body,
      AllOf(HasSubstr("<a href=\"/console/crm\">CRM</a><span class=\"hidden\">: needs attention."),
            HasSubstr(
                "<a href=\"/console/gifts?crm=failing\">1 gift cannot be written to the CRM; most often: "),
            HasSubstr("<strong>Errors of the CRM</strong> <span class=\"count bad-tint\">1<"),
            HasSubstr("<a href=\"/console/gifts?before=" + std::to_string(id.value + 1) + "&amp;error=")));
}

// CON-35
TEST_F(ConsoleCrmPages, TheOverviewTellsWhoMayResendThemTheUndeliveredGifts) {
  const auto undelivered_at = [&](TransactionId id, UtcMillis time) {
    tests::run_sql(temporary_.address(),
                   "UPDATE recipient_transaction SET status = 'undelivered', undelivered_at = " +
                       std::to_string(time.value) + " WHERE id = " + std::to_string(id.value));
  };
  const TransactionId late = gift_of("sam@example.com");
  undelivered_at(late, now_ - 7 * kDayMillis);
  const TransactionId other = gift_of("sue@example.com");
  undelivered_at(other, now_ - kDayMillis);
  const TransactionId early = gift_of("sam@example.com");
  undelivered_at(early, now_ - 7 * kDayMillis - 1);
  const auto line = [](int count) {
    return AllOf(HasSubstr("<a href=\"/console/gifts?undelivered_days=7\"><span"),
                 HasSubstr("<strong>Undelivered in 7 days</strong> <span class=\"count bad-tint\">" +
                           std::to_string(count) + "<"));
  };
  sign_in(user("ana@example.com", {Role::operations}));
  EXPECT_THAT(get("/console/").body, line(2));
  const std::string list = "/console/gifts?undelivered_days=";
  EXPECT_THAT(get(list + "7").body, AllOf(HasSubstr(page_of(late) + "\""), HasSubstr(page_of(other) + "\""),
                                          Not(HasSubstr(page_of(early) + "\"")),
                                          HasSubstr("Undelivered in the last days <strong><bdi>7</bdi>"),
                                          HasSubstr("name=\"undelivered_days\" value=\"7\"")));
  EXPECT_THAT(get(list + "8").body, HasSubstr(page_of(early) + "\""));
  for (const std::string none : {"0", "-7", "3651", "x"})
    EXPECT_THAT(get(list + none).body, Not(HasSubstr(page_of(other) + "\""))) << none;
  sign_in(user("sam@example.com", {Role::sender}));
  EXPECT_THAT(get("/console/").body, line(1)) << "the own one";
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(get("/console/").body, Not(HasSubstr("Undelivered in 7 days")));
}

// CON-35
TEST_F(ConsoleCrmPages, GiftsWithoutARecordAreCountedAndNotCalledCurrent) {
  const auto id = gift_of("sam@example.com");
  link(id, "003ADA");
  sign_in(user("ana@example.com", {Role::operations}));
  tests::run_sql(temporary_.address(), "DELETE FROM crm_outbox");
  EXPECT_THAT(get("/console/").body, HasSubstr("has the current state of every gift"));
  EXPECT_THAT(get(page_of(id)).body, HasSubstr("Not possible: the CRM has its current state"));
  crm_.records.clear();
  tests::run_sql(temporary_.address(), "UPDATE crm_sync_state SET state = 'skipped'");
  EXPECT_THAT(
      get("/console/").body,
      AllOf(HasSubstr("<a href=\"/console/gifts?crm=skipped\">1 without a record: nothing matched<"),
            HasSubstr("has the current state of every other gift"), Not(HasSubstr("state of every gift"))));
  EXPECT_THAT(get(page_of(id)).body,
              AllOf(HasSubstr("Not possible: the gift has no record, since nothing matched"),
                    Not(HasSubstr("current state"))));
  tests::run_sql(temporary_.address(), "UPDATE crm_sync_state SET state = 'deleted'");
  EXPECT_THAT(get("/console/").body, HasSubstr(">1 with a record deleted in the CRM<"));
  EXPECT_THAT(get(page_of(id)).body, HasSubstr("Not possible: its record was deleted in the CRM"));
  tests::run_sql(temporary_.address(), "UPDATE crm_sync_state SET state = 'rejected'");
  EXPECT_THAT(get("/console/").body,
              AllOf(HasSubstr("/console/gifts?crm=rejected\">The CRM rejected 1 gift record."),
                    Not(HasSubstr("state of every"))));
}

// CON-16
TEST_F(ConsoleCrmPages, WhatIsMaskedIsNotCalledNone) {
  const auto id = gift_of("sam@example.com");
  link(id, "003OLD");
  add_contact("003NEW", "Secret Name");
  refuse_waiting_gifts("DUPLICATE_VALUE: ada@example.com is there");
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(get(page_of(id)).body,
              AllOf(HasSubstr("<dt>Last error</dt><dd class=\"lines\"><bdi>DUPLICATE_VALUE</bdi>"),
                    Not(HasSubstr("ada@"))));
  EXPECT_THAT(get(page_of(id) + "/match").body,
              AllOf(HasSubstr("data-label=\"Name\"><bdi>***</bdi>"), Not(HasSubstr("Secret Name")),
                    HasSubstr("data-label=\"LastModifiedDate\">2026-03-01</td>")));
  for (const std::string order : {"Secret Name", "2026-03-01 Secret", "650-867-3450"}) {
    crm_.contacts_by_email.at("ada@example.com").order_value = order;
    EXPECT_THAT(get(page_of(id) + "/match").body,
                AllOf(HasSubstr("data-label=\"LastModifiedDate\">***</td>"), Not(HasSubstr(order))))
        << order;
  }
}

// CON-43
TEST_F(ConsoleCrmPages, TheFieldsOfTheRecordAreToldApartInWords) {
  const auto id = gift_of("sam@example.com");
  link(id, "003ADA");
  GiftRecord& record = crm_.records.at(id.value);
  record.set(GiftField::last_modified_by, std::string("005X"));
  sign_in(user("ana@example.com", {Role::operations}));
  const auto row_of = [](const std::string& page, const std::string& field) {
    const std::size_t at = page.find("<th scope=\"row\">" + field + "</th>");
    EXPECT_NE(at, std::string::npos) << field;
    return page.substr(at, page.find("</tr>", at) - at);
  };
  const auto label = [](GiftField field) { return std::string(descriptor_of(field).label); };
  const std::string page = get(page_of(id) + "/record").body;
  EXPECT_THAT(row_of(page, label(GiftField::status)), HasSubstr("<strong>differs; giftsync writes"));
  EXPECT_THAT(row_of(page, label(GiftField::recipient_email)), HasSubstr(">same</td>"));
  EXPECT_THAT(row_of(page, label(GiftField::last_modified_by)),
              HasSubstr(">not compared: the CRM computes it</td>"));
  EXPECT_LT(page.find("Fields that differ"), page.find("Fields that are the same"));
  EXPECT_LT(page.find("Fields that are the same"), page.find("Fields that are not compared"));
  EXPECT_THAT(page, AllOf(HasSubstr("<details open>\n<summary>Fields that differ"),
                          HasSubstr("<details>\n<summary>Fields that are the same")));
  options_.crm.rules.link_of = nullptr;
  record.set(GiftField::link, std::string("https://other.example.com"));
  restart();
  EXPECT_THAT(row_of(get(page_of(id) + "/record").body, label(GiftField::link)),
              HasSubstr("not compared: the link cannot be made here"));
}

// CON-16
TEST_F(ConsoleCrmPages, AnAuditorSeesNoRecipientInTheCrmEither) {
  const auto id = gift_of("sam@example.com");
  link(id, "003OLD");
  add_contact("003NEW", "Secret Name");
  sign_in(user("aud@example.com", {Role::auditor}));
  for (const std::string& path : {page_of(id) + "/record", page_of(id) + "/match"}) {
    EXPECT_THAT(get(path).body, AllOf(HasSubstr("003OLD"), HasSubstr("***"), Not(HasSubstr("ada@")),
                                      Not(HasSubstr("Secret Name")), Not(HasSubstr("(Old)")),
                                      Not(HasSubstr("gifts.example.com/x")), Not(HasSubstr("fingerprint\""))))
        << path;
  }
  refuse_waiting_gifts("DUPLICATE_VALUE: ada@example.com is there");
  EXPECT_THAT(get("/console/crm").body, AllOf(HasSubstr("DUPLICATE_VALUE"), Not(HasSubstr("ada@")),
                                              Not(HasSubstr("<form method=\"post\" action=\"/console/crm"))));
  EXPECT_THAT(get("/console/").body, AllOf(HasSubstr("most often: DUPLICATE_VALUE"), Not(HasSubstr("ada@"))));
  const auto csv = get("/console/gifts?format=csv");
  std::string text;
  for (std::string part = csv.next_chunk(); !part.empty(); part = csv.next_chunk()) text += part;
  EXPECT_THAT(text, AllOf(HasSubstr(",failing,DUPLICATE_VALUE,"), Not(HasSubstr("ada@"))));
  EXPECT_THAT(get("/console/gifts?error=nothing").body,
              AllOf(HasSubstr("error=nothing: your role cannot search by this."), Not(HasSubstr("***@"))));
}

// CON-20
TEST_F(ConsoleCrmPages, ASenderReadsWhatTheCrmSaidWithoutACommandForAnAdmin) {
  const auto id = gift_of("sam@example.com");
  refuse_waiting_gifts("Salesforce: RULE: no region; change that rule, then run giftsyncctl crm retry");
  sign_in(user("sam@example.com", {Role::sender}));
  EXPECT_THAT(get(page_of(id)).body, AllOf(HasSubstr("Salesforce: RULE: no region; ask your administrator"),
                                           Not(HasSubstr("giftsyncctl"))));
  sign_in(user("ana@example.com", {Role::admin}));
  EXPECT_THAT(get(page_of(id)).body, HasSubstr("then run giftsyncctl crm retry"));
}

// CON-25, CON-16
TEST_F(ConsoleCrmPages, ClassesThatLookTheSameToAnAuditorHaveNumbers) {
  gift_of("sam@example.com");
  refuse_waiting_gifts("DUPLICATE_VALUE: ada@example.com is there");
  gift_of("sam@example.com");
  refuse_waiting_gifts("DUPLICATE_VALUE: the account is there");
  const std::string first = failure_class_number("DUPLICATE_VALUE: ada@example.com is there");
  const std::string second = failure_class_number("DUPLICATE_VALUE: the account is there");
  EXPECT_NE(first, second);
  EXPECT_EQ(first, failure_class_number("DUPLICATE_VALUE: bea@example.com is there"))
      << "an address cannot be tried out";
  sign_in(user("aud@example.com", {Role::auditor}));
  for (const std::string path : {"/console/crm", "/console/"})
    EXPECT_THAT(get(path).body, AllOf(HasSubstr(first), HasSubstr(second), Not(HasSubstr("ada@")),
                                      Not(HasSubstr(first + "</a>"))))
        << path;
}

// CON-25
TEST_F(ConsoleCrmPages, AClassOfFailuresIsListedAndRetried) {
  sign_in(user("ana@example.com", {Role::operations}));
  EXPECT_THAT(get("/console/crm").body, HasSubstr("No gift fails."));
  const auto first = gift_of("sam@example.com");
  const auto second = gift_of("sam@example.com");
  refuse_waiting_gifts("FIELD_CUSTOM_VALIDATION_EXCEPTION: row 17, code 5");
  const auto other = gift_of("sam@example.com");
  refuse_waiting_gifts("REQUIRED_FIELD_MISSING: Name");
  const std::string page = get("/console/crm").body;
  EXPECT_THAT(page, AllOf(HasSubstr("FIELD_CUSTOM_VALIDATION_EXCEPTION: row #, code #"),
                          HasSubstr("</svg>Retry 2</button>"), HasSubstr("</svg>Retry 1</button>"),
                          HasSubstr(">Rejected</span> <strong>3</strong>")));
  const std::string list = get("/console/gifts?before=" + std::to_string(second.value + 1) +
                               "&error=FIELD_CUSTOM_VALIDATION_EXCEPTION:+row+%23,+code+%23")
                               .body;
  EXPECT_THAT(list, AllOf(HasSubstr("gifts/" + std::to_string(first.value) + "\""),
                          HasSubstr("gifts/" + std::to_string(second.value) + "\""),
                          Not(HasSubstr("gifts/" + std::to_string(other.value) + "\""))));
  const std::string token = form_token_in(page, "/console/crm/retry");
  const auto retry = [&](const std::string& error) {
    return header(post("/console/crm/retry", "form_token=" + token + "&class=" + error), "Location");
  };
  EXPECT_EQ(retry("nothing"), "/console/crm?notice=nothing_to_retry");
  EXPECT_EQ(retry("FIELD_CUSTOM_VALIDATION_EXCEPTION:+row+%23,+code+%23"),
            "/console/crm?notice=class_retried");
  EXPECT_EQ(wakes_, 2);
  EXPECT_EQ(store_.sync.find_wait(first)->next_attempt_at, now_);
  EXPECT_EQ(store_.sync.find_wait(second)->next_attempt_at, now_);
  EXPECT_EQ(store_.sync.find_wait(other)->next_attempt_at, now_ + kDayMillis);
  EXPECT_EQ(last_event().action, "crm.retry");
  EXPECT_EQ(last_event().object_kind, "failures");
  const std::string number = failure_class_number("FIELD_CUSTOM_VALIDATION_EXCEPTION: row #, code #");
  EXPECT_EQ(last_event().object_id, number);
  EXPECT_EQ(last_event().detail, "FIELD_CUSTOM_VALIDATION_EXCEPTION: 2");
  EXPECT_THAT(page, AllOf(HasSubstr("error=FIELD_CUSTOM_VALIDATION_EXCEPTION"),
                          HasSubstr("\">" + number + "</a>"), Not(HasSubstr("/console/audit?object="))))
      << "the number of a class leads to its gifts";
  EXPECT_THAT(get("/console/crm").body,
              HasSubstr("<a href=\"/console/audit?object=failures%3A" + number + "\"><time"));
  EXPECT_THAT(get("/console/audit?object=failures%3A" + number).body, HasSubstr("crm.retry"));
  EXPECT_THAT(get("/console/crm?notice=class_retried&count=7").body,
              HasSubstr("Records that are tried now: 2."))
      << "the count is not the URL's";
}

// CON-51, CON-16
TEST_F(ConsoleCrmPages, NoTextOfOthersTellsAnAuditorARecipientOnAnyPage) {
  const auto id = gift_of("sam@example.com");
  link(id, "003OLD");
  refuse_waiting_gifts("Secretname planteda@x.example is there");
  gift_of("sam@example.com");
  refuse_waiting_gifts("plantedb@x.example is locked: Secretname");
  quarantine("vendor", "plantedc@x.example");
  store_.deliveries.open_breaker({now_, now_ + 60'000, 3, "550 <plantedd@x.example>", "relay", "host"});
  for (const std::string statement :
       {"UPDATE mail_outbox SET state = 'held', last_reply = '550 plantede@x.example Secretname'",
        "UPDATE source SET state = 'failing', reason = 'no plantedf@x.example', last_refusal = "
        "'plantedg@x.example', cursor_state = 'to=plantedh%40x.example'",
        "UPDATE inbound_event SET detail = 'plantedi@x.example', transaction_id = 'plantedj@x.example'",
        "UPDATE crm_sync_state SET reason = 'Secretname plantedk@x.example', warnings = "
        "'plantedl@x.example', error = 'plantedm@x.example'",
        "UPDATE recipient_transaction SET email = 'plantedn@x.example', first_name = 'Secretname', message = "
        "'Secretname', phone = 'Secretname', external_id = 'plantedo@x.example'",
        "INSERT INTO gift_action (transaction_id, done_at, action, actor, comment) SELECT id, 1, 'resent', "
        "'ana', 'plantedp@x.example Secretname' FROM recipient_transaction",
        "INSERT INTO audit_event (occurred_at, actor_kind, actor, session, request_id, network, action, "
        "object_kind, object_id, outcome, rule, detail) VALUES (1, 'user', 'ana', '', '', '', 'gift.test', "
        "'gift', '1', 'refused', '', 'plantedq@x.example')"})
    tests::run_sql(temporary_.address(), statement);
  options_.crm.pause = [] { return std::string("plantedr@x.example"); };
  restart();
  const auto all_pages = [&] {
    std::string text;
    for (const ConsoleRoute& route : console_routes()) {
      if (route.is_post || route.permission == Permission::open) continue;
      std::string path(route.pattern);
      for (const auto& [name, value] : {std::pair{std::string("{id}"), std::to_string(id.value)},
                                        {"{name}", "vendor"},
                                        {"{number}", "R-1"}})
        if (const std::size_t at = path.find(name); at != std::string::npos)
          path.replace(at, name.size(), value);
      text += get("/console/" + path).body;
    }
    const auto csv = get("/console/gifts?format=csv");
    for (std::string part = csv.next_chunk(); !part.empty(); part = csv.next_chunk()) text += part;
    return text;
  };
  sign_in(user("ana@example.com", {Role::operations}));
  const std::string shown = all_pages();
  for (char letter = 'a'; letter <= 'r'; ++letter)
    EXPECT_THAT(shown, HasSubstr(std::string("planted") + letter)) << "else nothing is tested";
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(all_pages(), AllOf(Not(HasSubstr("planted")), Not(HasSubstr("Secretname")),
                                 HasSubstr("***@x.example"), HasSubstr("***%40x.example")));
}

// CON-50
TEST_F(ConsoleCrmPages, AClassShowsWhetherItsRetryHelped) {
  const std::string error = "FIELD_CUSTOM_VALIDATION_EXCEPTION: no region";
  for (int i = 0; i < 2; ++i) gift_of("sam@example.com");
  refuse_waiting_gifts(error);
  gift_of("sam@example.com");
  refuse_waiting_gifts("REQUIRED_FIELD_MISSING: Name");
  sign_in(user("ana@example.com", {Role::operations}));
  const auto row_of = [&](const std::string& text) {
    const std::string page = get("/console/crm").body;
    const std::size_t at = page.find("<bdi>" + text);
    EXPECT_NE(at, std::string::npos) << text;
    return page.substr(at, page.find("</tr>", at) - at);
  };
  const std::string none = "data-label=\"Last retry of the class\">none</td>";
  EXPECT_THAT(row_of(error), HasSubstr(none));
  EXPECT_THAT(get("/console/crm").body, HasSubstr("Remedy: open a gift of the class"));
  tests::run_sql(
      temporary_.address(),
      "UPDATE crm_outbox SET failing_since = failing_since + 1000 WHERE last_error LIKE 'REQUIRED%'");
  for (const std::string path : {"/console/", "/console/crm"}) {
    const std::string page = get(path).body;
    EXPECT_LT(page.find("<bdi>REQUIRED_FIELD_MISSING"), page.find("<bdi>FIELD_CUSTOM")) << "the newest first";
    EXPECT_THAT(
        page, HasSubstr("<bdi>REQUIRED_FIELD_MISSING: Name</bdi></strong> <span class=\"badge info-tint\">"))
        << path;
  }
  now_ = now_ + kMinuteMillis;
  const std::string token = form_token_in(get("/console/crm").body, "/console/crm/retry");
  post("/console/crm/retry", "form_token=" + token + "&class=FIELD_CUSTOM_VALIDATION_EXCEPTION%3A+no+region");
  EXPECT_THAT(row_of(error), HasSubstr("<bdi>by ana@example.com. Failed since then, again or for the first "
                                       "time: 0, not tried since then: 2.</bdi>"))
      << "not tried yet";
  now_ = now_ + 1'000;
  refuse_waiting_gifts(error);
  EXPECT_THAT(row_of(error), AllOf(HasSubstr("<bdi>by ana@example.com. Failed since then, again or for the "
                                             "first time: 2, not tried since then: 0.</bdi>"),
                                   HasSubstr("<time datetime=\"" + to_rfc3339(now_ - 1'000))));
  EXPECT_THAT(row_of("REQUIRED_FIELD_MISSING"), HasSubstr(none)) << "another class";
  now_ = now_ + kMinuteMillis;
  store::AuditEvent all;  // as crm retry --all adds it
  all.occurred_at = now_;
  all.actor_kind = store::ActorKind::command;
  all.actor = "root (sudo ana)";
  all.action = "crm.retry";
  all.object_kind = "failures";
  all.detail = "records: 3";
  store_.audit.add(all);
  for (const std::string& one : {error, std::string("REQUIRED_FIELD_MISSING")})
    EXPECT_THAT(row_of(one), HasSubstr("<bdi>by root (sudo ana). Failed since then, again or for the first "
                                       "time: 0, not tried since then: "))
        << one;
  EXPECT_THAT(row_of(error), Not(HasSubstr("No longer failing"))) << "all classes have one sentence";
}

// CON-64
TEST_F(ConsoleCrmPages, AClassThatARetryMendedIsToldForADay) {
  const std::string error = "FIELD_CUSTOM_VALIDATION_EXCEPTION: no region";
  for (int i = 0; i < 3; ++i) gift_of("sam@example.com");
  refuse_waiting_gifts(error);
  tests::run_sql(temporary_.address(), "UPDATE crm_outbox SET failing_since = 1");
  sign_in(user("ana@example.com", {Role::operations}));
  now_ = now_ + kMinuteMillis;
  const std::string token = form_token_in(get("/console/crm").body, "/console/crm/retry");
  const std::string form = "form_token=" + token + "&class=FIELD_CUSTOM_VALIDATION_EXCEPTION%3A+no+region";
  post("/console/crm/retry", form);
  EXPECT_THAT(get("/console/crm").body,
              AllOf(HasSubstr("No longer failing like this: 0 of 3."), Not(HasSubstr("Other retries"))));
  post("/console/crm/retry", form);
  EXPECT_THAT(get("/console/crm").body, HasSubstr("No longer failing like this: 0 of 3."))
      << "a second press that finds nothing to do hides nothing";
  now_ = now_ + 1'000;
  store_.sync.claim("worker", 60'000, 100, now_);
  store_.sync.release_with_error("worker", "the CRM is down");
  const std::string number = failure_class_number(error);
  const std::string who = "Class " + number + " (FIELD_CUSTOM_VALIDATION_EXCEPTION), by ana@example.com. ";
  EXPECT_THAT(get("/console/crm").body,
              HasSubstr(who + "No longer failing like this: 0 of 3, failed again: 0, not tried yet: 3."))
      << "nothing was tried while the CRM was down";
  const auto claims = store_.sync.claim("worker", 60'000, 100, now_);
  ASSERT_EQ(claims.size(), 3u);
  std::vector<store::SyncClose> closes;
  for (const auto& claim : claims) closes.push_back({claim, true, now_, "", std::nullopt});
  closes[2].done = false;
  closes[2].is_rejected = true;
  closes[2].error = error;
  closes[2].failed_at = now_;
  closes[2].retry_at = now_ + kDayMillis;
  store_.sync.close("worker", closes);
  EXPECT_THAT(get("/console/crm").body,
              HasSubstr("Failed since then, again or for the first time: 1, not tried since then: 0.</bdi> "
                        "No longer failing like this: 2 of 3."));
  tests::run_sql(temporary_.address(), "DELETE FROM crm_outbox");
  const std::string mended = who + "No longer failing like this: 3 of 3, failed again: 0, not tried yet: 0.";
  EXPECT_THAT(get("/console/crm").body,
              AllOf(HasSubstr("No gift fails."), HasSubstr(mended),
                    HasSubstr("<a href=\"/console/audit?object=failures%3A" + number + "\"><time")));
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(get("/console/crm").body, HasSubstr(mended));
  now_ = now_ + kDayMillis + 1;
  sign_in(user("ops@example.com", {Role::operations}));
  EXPECT_THAT(get("/console/crm").body, Not(HasSubstr("Other retries")));
}

// CON-64
TEST_F(ConsoleCrmPages, ARetryOfAllClassesIsToldInOneSentence) {
  for (int i = 0; i < 2; ++i) gift_of("sam@example.com");
  refuse_waiting_gifts("REQUIRED_FIELD_MISSING: Name");
  tests::run_sql(temporary_.address(), "UPDATE crm_outbox SET failing_since = 1");
  now_ = now_ + kMinuteMillis;
  store::AuditEvent all;
  all.occurred_at = now_;
  all.actor = "root";
  all.action = "crm.retry";
  all.object_kind = "failures";
  all.detail = "records";
  ASSERT_EQ(store_.sync.reset_rejected_after(now_, now_, all), 2);
  all.detail = "20000";  // its second batch
  store_.audit.add(all);
  now_ = now_ + 1'000;
  refuse_waiting_gifts("REQUIRED_FIELD_MISSING: Name");
  sign_in(user("ana@example.com", {Role::operations}));
  EXPECT_THAT(get("/console/crm").body,
              HasSubstr("All classes, by root. No longer failing like this: 20000 of 20002, "
                        "failed again: 2, not tried yet: 0."));
}

// CON-64
TEST_F(ConsoleCrmPages, NothingIsSaidOfARetryWhileMoreGiftsFailThanAreLookedAt) {
  store::Credential token;
  token.hash = "hash";
  const auto acme = store_.organizations.create("Acme", token).value();
  gift_of("sam@example.com", acme);
  refuse_waiting_gifts("REQUIRED_FIELD_MISSING: Name");
  sign_in(user("adm@example.com", {Role::admin}, acme));
  now_ = now_ + kMinuteMillis;
  EXPECT_THAT(get("/console/").body,
              HasSubstr("<strong>Errors of the CRM</strong> <span class=\"count bad-tint\">1<"));
  const std::string page = get("/console/crm").body;
  EXPECT_THAT(page, HasSubstr("none by users of your organization"));
  const std::string form_token = form_token_in(page, "/console/crm/retry");
  post("/console/crm/retry", "form_token=" + form_token + "&class=REQUIRED_FIELD_MISSING%3A+Name");
  const std::string said = "No longer failing like this: 0 of 1.";
  EXPECT_THAT(get("/console/crm").body, HasSubstr(said));
  tests::run_sql(temporary_.address(),
                 "INSERT INTO crm_outbox (transaction_id, mark_seq, next_attempt_at, attempts, lease_owner, "
                 "lease_until, last_error) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                 "WHERE i < 10000) SELECT i + 1000, 1, 1, 1, '', 0, 'of others' FROM n");
  EXPECT_THAT(get("/console/crm").body,
              AllOf(HasSubstr("No gift fails."), Not(HasSubstr("No longer failing"))))
      << "her gift is not among those that were looked at";
  tests::run_sql(temporary_.address(), "DELETE FROM crm_outbox WHERE transaction_id > 10990");
  EXPECT_THAT(get("/console/crm").body, HasSubstr(said));
}

// CON-50
TEST_F(ConsoleCrmPages, ThousandsOfClassesAreShownAndNoneOfTheirOldRetries) {
  const std::string numbers =
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) ";
  for (const std::string& statement :
       {std::string("INSERT INTO gift_request (id, account_id, mode, gift_id, item_name, item_description, "
                    "sender_email, sender_name, created_at) VALUES (1, 99, 'email', 1, '', '', '', '', 1)"),
        "INSERT INTO recipient_transaction (id, request_id, position, email, first_name, last_name, message, "
        "generation, status, sent_at, version) " +
            numbers + "SELECT i, 1, i, '', '', '', '', 1, 'sent', i, 1 FROM n",
        "INSERT INTO crm_outbox (transaction_id, mark_seq, next_attempt_at, attempts, lease_owner, "
        "lease_until, last_error) " +
            numbers +
            "SELECT i, 1, 1, 1, '', 0, 'E' || char(65 + i / 676, 65 + i / 26 % 26, 65 + i % 26) FROM n",
        "INSERT INTO audit_event (occurred_at, actor_kind, actor, session, request_id, network, action, "
        "object_kind, object_id, outcome, rule, detail) " +
            numbers +
            "SELECT i, 'user', 'ana', '', '', '', 'crm.retry', 'failures', printf('%06x', i), 'done', '', "
            "'E: 1' FROM n"})
    tests::run_sql(temporary_.address(), statement);
  sign_in(user("ana@example.com", {Role::operations}));
  EXPECT_THAT(get("/console/crm").body, AllOf(HasSubstr("<bdi>EAAB</bdi>"), HasSubstr("<bdi>EELK</bdi>"),
                                              Not(HasSubstr("Other retries"))));
}

}  // namespace
}  // namespace giftsync::console
