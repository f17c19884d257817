// What users do with gifts on their pages: who may, what is refused with which reason, and the audit log.
#include <utility>

#include "sync/gift/lifecycle.h"
#include "tests/daemon/console/console_crm_fixture.h"
#include "tests/support/temporary_database.h"

namespace giftsync::console {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using ConsoleActions = ConsoleCrmFixture;

// CON-20, CON-8
TEST_F(ConsoleActions, ASenderResendsToAnotherAddressAndCancels) {
  const auto id = gift_of("sam@example.com");
  sign_in(user("sam@example.com", {Role::sender}));
  const std::string page = get(page_of(id)).body;
  EXPECT_THAT(page, AllOf(HasSubstr("To the same address it is not possible: its mail has not left yet"),
                          HasSubstr("name=\"email\" autocomplete=\"off\" required"), Not(HasSubstr("/retry")),
                          Not(HasSubstr("/match"))));
  EXPECT_THAT(page, HasSubstr("required> Yes, send a mail to the other address"));
  EXPECT_EQ(act(id, "resend", "&email=bea%40example.org"), page_of(id) + "?notice=not_confirmed");
  EXPECT_EQ(gift(id).transaction.email, "ada@example.com") << "nothing was sent";
  EXPECT_EQ(act(id, "resend", "&confirm=1&generation=0"), page_of(id) + "?notice=not_done");
  EXPECT_THAT(last_event().detail, HasSubstr("its mail has not left yet"));
  EXPECT_TRUE(last_event().refused);
  EXPECT_EQ(act(id, "resend", "&confirm=1&email=no-address"), page_of(id) + "?notice=bad_address");
  EXPECT_EQ(wakes_, 0);
  EXPECT_EQ(act(id, "resend", "&confirm=1&email=bea%40example.org"), page_of(id) + "?notice=resent_to_other");
  EXPECT_EQ(gift(id).transaction.email, "bea@example.org");
  EXPECT_EQ(gift(id).transaction.generation, 1);
  EXPECT_EQ(wakes_, 1);
  EXPECT_EQ(last_event().action, "gift.resend");
  EXPECT_EQ(last_event().object_id, std::to_string(id.value));
  EXPECT_EQ(last_event().actor, "sam@example.com");
  EXPECT_EQ(last_event().detail, "to another address") << "auditors read it";
  EXPECT_FALSE(last_event().refused);
  EXPECT_EQ(store_.lifecycle.find_actions(id).front().actor, "sam@example.com");
  EXPECT_THAT(get(page_of(id) + "?notice=resent_to_other").body,
              HasSubstr("role=\"status\">The mail is sent"));
  EXPECT_THAT(get(page_of(id) + "?notice=nothing").body, Not(HasSubstr("role=\"status\">")));

  EXPECT_EQ(act(id, "cancel"), page_of(id) + "?notice=not_confirmed");
  EXPECT_THAT(get(page_of(id) + "?notice=not_confirmed").body,
              HasSubstr("<p class=\"note\" role=\"status\">Nothing"));
  EXPECT_EQ(act(id, "cancel", "&confirm=1"), page_of(id) + "?notice=cancelled");
  EXPECT_EQ(last_event().action, "gift.cancel");
  EXPECT_EQ(store_.deliveries.find(id)->state, DeliveryState::withdrawn);
}

// CON-37
TEST_F(ConsoleActions, AnEventIsFoundAsItsObjectIsPrintedAndLinksToIt) {
  const auto id = gift_of("sam@example.com");
  const std::string number = std::to_string(id.value);
  sign_in(user("ana@example.com", {Role::operations}));
  ASSERT_EQ(act(id, "cancel", "&confirm=1"), page_of(id) + "?notice=cancelled");
  for (const std::string& object :
       {"gift:" + number, "gift+" + number, "gift:+" + number, "%23" + number, number})
    EXPECT_THAT(
        get("/console/audit?object=" + object).body,
        HasSubstr("<a href=\"" + page_of(id) + "\" class=\"short\"><bdi>gift " + number + "</bdi></a>"));
  EXPECT_THAT(get("/console/audit?object=" + number + "0").body, HasSubstr("No event fits"));
}

// CON-39
TEST_F(ConsoleActions, ARefusedFormIsAnEventOfItsUser) {
  const auto id = gift_of("sam@example.com");
  const UserId sam = user("sam@example.com", {Role::sender});
  sign_in(sam);
  const std::string path = page_of(id) + "/cancel";
  const std::string token = "form_token=" + form_token_in(get(page_of(id)).body, path);
  const auto events = [this] {
    return store_.audit.list(store::Viewer::of_command_line(), {.action = "form.refused"}, 50);
  };
  EXPECT_EQ(post(path, "confirm=1").status, 403);
  ASSERT_EQ(events().size(), 1u);
  EXPECT_EQ(last_event().actor, "sam@example.com");
  EXPECT_EQ(last_event().object_kind + last_event().object_id,
            "page/gifts/" + std::to_string(id.value) + "/cancel");
  EXPECT_EQ(last_event().rule, "CON-11");
  EXPECT_TRUE(last_event().refused);
  EXPECT_THAT(last_event().detail, HasSubstr("token"));
  EXPECT_EQ(post(path, token + "&confirm=1", "https://other.example.com").status, 403);
  EXPECT_EQ(events().size(), 2u) << "another site's form, with the session";
  EXPECT_THAT(last_event().detail, HasSubstr("origin"));
  store_.console_users.grant(sam, {Role::auditor}, {});
  store_.console_users.revoke(sam, Role::sender, {});
  EXPECT_EQ(post(path, token + "&confirm=1").status, 404);
  EXPECT_EQ(events().size(), 3u);
  EXPECT_EQ(last_event().rule, "CON-13");
  EXPECT_THAT(last_event().detail, HasSubstr("roles"));
  store_.console_users.grant(sam, {Role::approver}, {});
  store_.console_users.revoke(sam, Role::auditor, {});
  store_.console_users.grant(sam, {Role::sender}, {});
  const auto session = store_.console_sessions.find(to_hex(sha256(cookie_)), now_, {0});
  const std::string of_none = "/gifts/999/cancel";
  EXPECT_EQ(post("/console" + of_none, "form_token=" + form_token(session->form_secret, of_none)).status,
            404);
  EXPECT_EQ(events().size(), 4u) << "a gift that the user does not see";
  const std::string cookie = std::exchange(cookie_, "");
  EXPECT_EQ(post(path, token, "https://other.example.com").status, 403);
  EXPECT_EQ(post("/console/link/secret", "", "https://other.example.com").status, 403);
  cookie_ = cookie;
  EXPECT_EQ(post("/console/link/secret", "", "https://other.example.com").status, 403);
  EXPECT_EQ(events().size(), 4u) << "without a session, or with a secret in its path";
  for (std::int64_t i = 0; i < Console::kMaxRefusals; ++i) EXPECT_EQ(post(path).status, 403);
  EXPECT_EQ(static_cast<std::int64_t>(events().size()), Console::kMaxRefusals);
  now_ = now_ + kMinuteMillis;
  EXPECT_EQ(post(path).status, 403);
  EXPECT_EQ(static_cast<std::int64_t>(events().size()), Console::kMaxRefusals + 1);
  EXPECT_EQ(gift(id).transaction.status, Status::sent);
}

// CON-38
TEST_F(ConsoleActions, ANoticeIsShownOnceByThePageOfItsAction) {
  const auto id = gift_of("sam@example.com");
  const auto other = gift_of("sam@example.com");
  sign_in(user("sam@example.com", {Role::sender}));
  const std::string url = page_of(id) + "?notice=cancelled";
  const auto shows = HasSubstr("role=\"status\">The gift is cancelled.");
  EXPECT_THAT(get(url).body, Not(shows)) << "typed by hand, or from a mail";
  ASSERT_EQ(act(id, "cancel", "&confirm=1"), url);
  ASSERT_EQ(other_cookies_.size(), 1u);
  const auto set = *other_cookies_.begin();
  EXPECT_THAT(get(page_of(other) + "?notice=cancelled").body, Not(shows)) << "of another page";
  EXPECT_THAT(get(page_of(id) + "?notice=resent").body, Not(HasSubstr("role=\"status\">The")))
      << "another text";
  EXPECT_THAT(get(url).body, HasSubstr("<p class=\"done\" role=\"status\">The gift is cancelled."));
  EXPECT_TRUE(other_cookies_.empty());
  EXPECT_THAT(get(url).body, Not(shows)) << "loaded again";
  other_cookies_[set.first] = "9" + set.second;
  EXPECT_THAT(get(url).body, Not(shows)) << "another count";
  sign_in(user("ana@example.com", {Role::operations}));
  other_cookies_.insert_or_assign(set.first, set.second);
  EXPECT_THAT(get(url).body, Not(shows)) << "of another session";
}

// CON-21
TEST_F(ConsoleActions, TheSameMailIsSentAgainToTheAddressThatWasConfirmed) {
  const auto id = gift_of("sam@example.com");
  const auto claim = store_.deliveries.claim("a", 60'000, 10, now_).front();
  const store::DeliveryQueue::Sending sending{claim, "m1@example.com"};
  store_.deliveries.begin_sending("a", std::span(&sending, 1), 60'000, now_);
  const store::DeliveryOutcome outcome{id, 1, DeliveryState::accepted, now_, "", false, {}};
  store_.deliveries.finish(std::span(&outcome, 1), now_);
  sign_in(user("ana@example.com", {Role::operations}));
  EXPECT_THAT(get(page_of(id)).body,
              HasSubstr("required> Yes, send a mail to ada@example.com, or to the other address"));
  EXPECT_EQ(act(id, "resend"), page_of(id) + "?notice=not_confirmed");
  EXPECT_EQ(store_.deliveries.find(id)->state, DeliveryState::accepted);
  EXPECT_EQ(act(id, "resend", "&confirm=1&generation=1"), page_of(id) + "?notice=not_done");
  EXPECT_THAT(last_event().detail, HasSubstr("the address was changed"));
  EXPECT_EQ(store_.deliveries.find(id)->state, DeliveryState::accepted);
  EXPECT_THAT(get(page_of(id)).body, HasSubstr("name=\"generation\" value=\"0\""));
  EXPECT_EQ(act(id, "resend", "&confirm=1&generation=0"), page_of(id) + "?notice=resent");
  EXPECT_EQ(store_.deliveries.find(id)->state, DeliveryState::queued);
}

// CON-21
TEST_F(ConsoleActions, WhatDoesNotApplyHasTheReasonOfTheCommandAndNoForm) {
  const auto id = gift_of("sam@example.com");
  sign_in(user("ana@example.com", {Role::operations}));
  EXPECT_THAT(get(page_of(id)).body, HasSubstr("Not possible: it is tried anyway within minutes."));
  ASSERT_EQ(act(id, "cancel", "&confirm=1"), page_of(id) + "?notice=cancelled");
  const std::string page = get(page_of(id)).body;
  const std::string reason = "Not possible: it was refunded on 2026-11-21 12:31:07 UTC.";
  EXPECT_THAT(
      page, AllOf(HasSubstr("<p id=\"resend-text\">" + reason), HasSubstr("<p id=\"cancel-text\">" + reason),
                  Not(HasSubstr("/cancel\"")), Not(HasSubstr("/resend\"")),
                  Not(HasSubstr("type=\"checkbox\"")), Not(HasSubstr("name=\"email\""))));
  EXPECT_EQ(act(id, "cancel", "&confirm=1"), page_of(id) + "?notice=not_done");
  EXPECT_TRUE(last_event().refused);
  EXPECT_THAT(last_event().detail, HasSubstr("it was refunded"));
}

// CON-46
TEST_F(ConsoleActions, AGiftShowsItsStoredChangesAtOnceAndWhenItExpires) {
  store_.gifts.set_lifecycle_stamp(sync::terms_stamper({}, 30));
  const auto id = gift_of("sam@example.com");
  sign_in(user("sam@example.com", {Role::sender}));
  EXPECT_THAT(get(page_of(id)).body,
              AllOf(HasSubstr("</svg>Sent</span>"),
                    HasSubstr("<dt>Expires</dt><dd><time datetime=\"2026-12-21T12:31:07.000Z\">")));
  const auto bounced = gift_of("sam@example.com");
  store_.changes.accept(
      std::vector<store::StatusChange>{{{}, "vendor", bounced, Status::undelivered, now_, now_, {}}}, 0);
  EXPECT_THAT(get(page_of(bounced)).body, AllOf(HasSubstr("<dt>Refunded unless sent again before</dt>"),
                                                Not(HasSubstr("<dt>Expires</dt>"))));
  ASSERT_EQ(act(id, "cancel", "&confirm=1"), page_of(id) + "?notice=cancelled");
  ASSERT_EQ(gift(id).transaction.status, Status::sent) << "no worker runs";
  EXPECT_THAT(get(page_of(id)).body,
              AllOf(HasSubstr("</svg>Refunded</span> <span class=\"quiet\">Changed just now"),
                    Not(HasSubstr("<dt>Expires</dt>"))));
}

// CON-42
TEST_F(ConsoleActions, TheTimelineHasSecondsAndOneOrder) {
  const auto id = gift_of("sam@example.com");
  sign_in(user("ana@example.com", {Role::operations}));
  now_ = now_ + 5'000;
  ASSERT_EQ(act(id, "cancel", "&confirm=1"), page_of(id) + "?notice=cancelled");
  const std::string page = get(page_of(id)).body;
  std::size_t at = page.find("class=\"timeline\"");
  for (const std::string entry :
       {"12:31:12</time> <strong>Refunded", "12:31:12</time> <strong>Mail withdrawn",
        "12:31:12</time> <strong>Cancelled", "12:31:07</time> <strong>Sent"}) {
    const std::size_t next = page.find(entry);
    EXPECT_NE(next, std::string::npos) << entry;
    EXPECT_LT(at, next) << entry;
    at = next;
  }
}

// CON-42
TEST_F(ConsoleActions, TheTimelineFollowsWhatHappenedWhereASourceTellsWholeSeconds) {
  now_ = now_ + 345;
  const auto id = gift_of("sam@example.com");
  const UtcMillis second{now_.value / 1000 * 1000};
  tests::run_sql(temporary_.address(), "UPDATE mail_outbox SET state = 'accepted', updated_at = " +
                                           std::to_string(now_.value + 90));
  std::vector<store::StatusChange> changes;
  for (const auto& [status, at] : {std::pair(Status::opened, second),
                                   {Status::delivered, now_ + 80},
                                   {Status::redeemed, second + 60'000}})
    changes.push_back({{}, "vendor", id, status, at, at, {}});
  store_.changes.accept(changes, 0);
  sign_in(user("ana@example.com", {Role::operations}));
  const std::string page = get(page_of(id)).body;
  std::size_t at = page.find("class=\"timeline\"");
  for (const std::string entry : {"Redeemed</strong>", "Opened</strong>", "Delivered</strong>",
                                  "Mail accepted by the relay</strong>", "Sent</strong>"}) {
    at = page.find("<strong>" + entry, at);
    ASSERT_NE(at, std::string::npos) << entry;
  }
}

// CON-7, CON-20
TEST_F(ConsoleActions, AnAccountThatIsDeactivatedOrOfAnotherOrganizationIsNotTheUsers) {
  store::Credential token;
  token.hash = "a";
  const auto acme = store_.organizations.create("Acme", token).value();
  token.hash = "b";
  const auto other = store_.organizations.create("Other", token).value();
  const auto id = gift_of("sam@example.com", acme);
  sign_in(user("sam@example.com", {Role::sender}, acme));
  EXPECT_EQ(get(page_of(id)).status, 200);
  store_.accounts.set_active("sam@example.com", false);
  EXPECT_EQ(get(page_of(id)).status, 404) << "at once";
  store_.accounts.set_active("sam@example.com", true);
  store_.accounts.set_organization("sam@example.com", other);
  EXPECT_EQ(get(page_of(id)).status, 404);
  store_.accounts.set_organization("sam@example.com", std::nullopt);
  EXPECT_EQ(get(page_of(id)).status, 200);
}

// CON-20
TEST_F(ConsoleActions, RolesThatOnlyReadPermitNoAction) {
  const auto own = gift_of("aud@example.com");
  const auto other = gift_of("sam@example.com");
  sign_in(user("aud@example.com", {Role::auditor, Role::sender}));
  const std::string page = get(page_of(other)).body;
  EXPECT_THAT(page, AllOf(HasSubstr("Timeline"), Not(HasSubstr("/cancel"))));
  const std::string session = sha256_hex(cookie_);
  const std::string secret = store_.console_sessions.find(session, now_, {0})->form_secret;
  const std::string path = "/gifts/" + std::to_string(other.value) + "/cancel";
  EXPECT_EQ(post("/console" + path, "confirm=1&form_token=" + form_token(secret, path)).status, 404);
  EXPECT_TRUE(store_.lifecycle.find_actions(other).empty());
  EXPECT_EQ(act(own, "cancel", "&confirm=1"), page_of(own) + "?notice=cancelled");
  const auto of_approver = gift_of("app@example.com");
  sign_in(user("app@example.com", {Role::approver}));
  EXPECT_THAT(get(page_of(of_approver)).body, AllOf(HasSubstr("Timeline"), Not(HasSubstr("/cancel"))));
}

// CON-20
TEST_F(ConsoleActions, ARefusedRecordIsTriedOnDemand) {
  const auto id = gift_of("sam@example.com");
  refuse_waiting_gifts("REQUIRED_FIELD_MISSING: a field");
  sign_in(user("ana@example.com", {Role::admin}));
  EXPECT_EQ(act(id, "retry"), page_of(id) + "?notice=retried");
  EXPECT_EQ(store_.sync.find_wait(id)->next_attempt_at, now_);
  EXPECT_EQ(wakes_, 1);
  EXPECT_EQ(last_event().action, "gift.retry");
  EXPECT_EQ(last_event().detail, "records: 1");
  EXPECT_EQ(act(id, "retry"), page_of(id) + "?notice=not_done");
  EXPECT_TRUE(last_event().refused);
  EXPECT_EQ(last_event().detail, "it is tried anyway within minutes");
}

// CON-21
TEST_F(ConsoleActions, ARetryThatChangesNothingIsToldAndLoggedAsRefused) {
  const auto id = gift_of("sam@example.com");
  refuse_waiting_gifts("REQUIRED_FIELD_MISSING: a field");
  sign_in(user("ana@example.com", {Role::admin}));
  // As when the record was tried and refused again just before.
  tests::run_sql(temporary_.address(),
                 "CREATE TRIGGER unchanged BEFORE UPDATE ON crm_outbox BEGIN SELECT RAISE(IGNORE); END");
  EXPECT_EQ(act(id, "retry"), page_of(id) + "?notice=not_done");
  EXPECT_EQ(wakes_, 0);
  EXPECT_EQ(last_event().action, "gift.retry");
  EXPECT_TRUE(last_event().refused);
  EXPECT_EQ(last_event().detail, "it was tried meanwhile");
}

// CON-22, CON-8
TEST_F(ConsoleActions, ARematchWritesTheAnswerThatWasShown) {
  const auto id = gift_of("sam@example.com");
  link(id, "003OLD");
  add_contact("003NEW");
  sign_in(user("ana@example.com", {Role::operations}));
  const std::string match = page_of(id) + "/match";
  const std::string page = get(match).body;
  EXPECT_THAT(page, AllOf(HasSubstr("would be linked to contact 003NEW; now it is linked to contact 003OLD"),
                          HasSubstr("003OLD"), HasSubstr("0a1b2c3d"), HasSubstr("<strong>chosen</strong>"),
                          HasSubstr("<th scope=\"row\">Reason of the decision</th>"),
                          HasSubstr("<dt>Why the rules choose it</dt>"), Not(HasSubstr(">Why<")),
                          HasSubstr("Contacts by e-mail (Email), ordered by LastModifiedDate descending")));
  const std::string key = "name=\"fingerprint\" value=\"";
  const std::string fingerprint = page.substr(page.find(key) + key.size(), 16);
  const std::string token = form_token_in(page, page_of(id) + "/rematch");
  const auto rematch = [&](const std::string& shown) {
    return header(post(page_of(id) + "/rematch", "form_token=" + token + "&fingerprint=" + shown),
                  "Location");
  };
  EXPECT_EQ(rematch(""), match + "?notice=not_done");
  add_contact("003LATER");
  EXPECT_EQ(rematch(fingerprint), match + "?notice=rematch_changed");
  EXPECT_TRUE(last_event().refused);
  EXPECT_EQ(store_.sync.find_states(std::span(&id, 1)).front().decision.contact_id, "003OLD");
  EXPECT_EQ(associations_of(crm_.records.at(id.value)).contact_id, "003OLD");
  add_contact("003NEW");
  EXPECT_EQ(rematch(fingerprint), page_of(id) + "?notice=rematched");
  EXPECT_EQ(store_.sync.find_states(std::span(&id, 1)).front().decision.contact_id, "003NEW");
  EXPECT_THAT(get(page_of(id)).body,
              HasSubstr("Matched again on 2026-11-21 12:31:07 UTC by ana@example.com in the console. "));
  EXPECT_EQ(associations_of(crm_.records.at(id.value)).contact_id, "003NEW");
  EXPECT_EQ(last_event().action, "gift.rematch");
  EXPECT_EQ(last_event().detail, "relinked: from contact 003OLD to contact 003NEW");
  EXPECT_FALSE(last_event().refused);
  EXPECT_THAT(get(match).body, AllOf(HasSubstr("nothing would change"),
                                     HasSubstr("aria-describedby=\"rematch-text\" disabled>")));
  crm_.down = true;
  EXPECT_EQ(rematch(fingerprint), match + "?notice=rematch_failed");
  EXPECT_EQ(last_event().detail, "the CRM could not be asked");
}

}  // namespace
}  // namespace giftsync::console
