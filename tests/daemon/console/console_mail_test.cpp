// The console's pages of the mail outbox.
#include "platform/digest.h"
#include "tests/daemon/console/console_work_fixture.h"
#include "tests/support/round_trips.h"
#include "tests/support/temporary_database.h"

namespace giftsync::console {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

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
              AllOf(HasSubstr("<dt>Message-ID</dt><dd><bdi>m1@example.com</bdi>"),
                    HasSubstr("then the recipient gets two")));
  EXPECT_EQ(header(press_plain(page, "/console/mail/" + id + "/release"), "Location"),
            "/console/mail?notice=not_confirmed");
  EXPECT_EQ(store_.deliveries.find({std::stoll(id)})->state, DeliveryState::held);
  const auto released = press_plain(page, "/console/mail/" + id + "/release", "&confirm=1");
  EXPECT_EQ(header(released, "Location"), "/console/mail?notice=mail_done_release");
  EXPECT_EQ(store_.deliveries.find({std::stoll(id)})->state, DeliveryState::queued);
  EXPECT_EQ(last_event().action, "mail.release");
  EXPECT_EQ(header(press_plain(page, "/console/mail/" + id + "/release", "&confirm=1"), "Location"),
            "/console/mail?notice=mail_not_done");
  EXPECT_EQ(last_event().action, "mail.release");
  EXPECT_EQ(header(press_plain(page, "/console/mail/" + id + "/withdraw"), "Location"),
            "/console/mail?notice=not_confirmed");
  EXPECT_EQ(store_.deliveries.find({std::stoll(id)})->state, DeliveryState::queued);
  EXPECT_EQ(header(press_plain(page, "/console/mail/" + id + "/withdraw", "&confirm=1"), "Location"),
            "/console/mail?notice=mail_done_withdraw");
  press_plain(page, "/console/mail/retry");
  EXPECT_LE(store_.deliveries.breakers().front().until, now_);
  EXPECT_EQ(last_event().action, "mail.end-pauses");
  EXPECT_EQ(last_event().detail, "pauses: 1");
  store_.deliveries.close_breaker("host 127.0.0.1:8480", now_);
  EXPECT_THAT(get("/console/mail").body, Not(HasSubstr("/console/mail/retry\""))) << "nothing waits";
  sign_in(user("aud@example.com", {Role::auditor}));
  const std::string seen = get("/console/mail?state=withdrawn").body;
  EXPECT_THAT(seen, AllOf(HasSubstr("***@<wbr>example.<wbr>com"), Not(HasSubstr("/withdraw\"")),
                          Not(HasSubstr("ada@"))));
  EXPECT_THAT(get("/console/gifts/" + id).body, Not(HasSubstr("Message-ID")));
  sign_in(user("of.acme@example.com", {Role::operations}, organization("Acme")));
  EXPECT_THAT(get("/console/mail?state=withdrawn").body,
              AllOf(HasSubstr("There is no mail of your gifts"), Not(HasSubstr("host 127.0.0.1")),
                    Not(HasSubstr("href=\"/console/sources\""))));
}

// MAIL-36
TEST_F(ConsoleWork, TheOverviewAndTheMailPageNameAnAdminsPause) {
  sign_in(user("op@example.com", {Role::operations}));
  EXPECT_THAT(get("/console/mail").body, HasSubstr("Delivery is not paused."));
  ASSERT_TRUE(store_.mail_pauses.begin({now_, "root", kMarkup}));
  gift();
  const std::string page = get("/console/mail").body;
  EXPECT_THAT(page, AllOf(HasSubstr("Paused by an admin:"), HasSubstr("by root: &lt;script&gt;"),
                          HasSubstr("<code>giftsyncctl mail resume</code>"), Not(HasSubstr("<script>alert")),
                          Not(HasSubstr("Delivery is not paused."))));
  EXPECT_THAT(get("/console/").body,
              AllOf(HasSubstr("Mail is paused since "), HasSubstr("by root: &lt;script&gt;"),
                    HasSubstr("giftsyncctl mail resume  # sends 1 waiting mail")));
  const auto retried = press_plain(page, "/console/mail/retry");
  EXPECT_EQ(header(retried, "Location"), "/console/mail?notice=mail_done_all_paused");
  EXPECT_TRUE(store_.mail_pauses.state().pause) << "a retry does not end it";
}

// CON-60
TEST_F(ConsoleWork, AGiftKeepsTheHistoryOfItsFormerMails) {
  const TransactionId gift = held_mail();
  const std::string id = std::to_string(gift.value);
  const std::string path = "/console/gifts/" + id;
  const auto deliver = [&] {
    now_ = now_ + 1'000;
    const auto claim = store_.deliveries.claim("a", 60'000, 10, now_).at(0);
    const store::DeliveryQueue::Sending sending{claim, "m2@example.com"};
    store_.deliveries.begin_sending("a", std::span(&sending, 1), 60'000, now_);
    const store::DeliveryOutcome outcome{
        gift, claim.attempt + 1, DeliveryState::accepted, now_, "250 queued", false, {}};
    EXPECT_EQ(store_.deliveries.finish(std::span(&outcome, 1), now_), 1u);
  };
  const auto resend = [&] {
    now_ = now_ + 1'000;
    EXPECT_EQ(header(press_plain(get(path).body, path + "/resend", "&confirm=1&generation=0"), "Location"),
              path + "?notice=resent");
  };
  sign_in(user("op@example.com", {Role::operations}));
  now_ = now_ + 1'000;
  press_plain(get("/console/mail").body, "/console/mail/" + id + "/withdraw", "&confirm=1");
  const std::string withdrawn =
      "Mail withdrawn, in the console</strong> <span class=\"quiet\"><bdi>op@example.com";
  EXPECT_THAT(get(path).body,
              AllOf(HasSubstr("Mail held</strong> <span class=\"quiet\"><bdi>mailer: &lt;script&gt;"),
                    HasSubstr(withdrawn), Not(HasSubstr("Mail withdrawn</strong>"))));
  EXPECT_THAT(get("/console/mail?state=withdrawn").body,
              HasSubstr("</svg>Withdrawn</span> <bdi class=\"quiet\">by op@example.com</bdi></td>"));
  resend();
  deliver();
  EXPECT_THAT(get("/console/mail?state=all").body, HasSubstr("<bdi>250 queued</bdi>"));
  resend();
  const std::string page = get(path).body;
  std::size_t at = page.find("class=\"timeline\"");
  for (const std::string& entry :
       {std::string("12:31:11</time> <strong>Mail in the queue"),
        std::string("12:31:11</time> <strong>Resent"),
        std::string("12:31:10</time> <strong>Mail accepted by the relay</strong> <span "
                    "class=\"quiet\"><bdi>mailer: 250 queued"),
        std::string("12:31:09</time> <strong>Resent</strong> <span class=\"quiet\"><bdi>op@example.com: to"),
        "12:31:08</time> <strong>" + withdrawn, std::string("12:31:07</time> <strong>Mail held")}) {
    const std::size_t next = page.find(entry, at);
    ASSERT_NE(next, std::string::npos) << entry;
    at = next;
  }
  sign_in(user("aud@example.com", {Role::auditor}));
  EXPECT_THAT(get(path).body, AllOf(HasSubstr("Mail held</strong> <span class=\"quiet\"><bdi>mailer: ***"),
                                    HasSubstr(withdrawn)));
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
  EXPECT_THAT(get("/console/mail").body,
              AllOf(HasSubstr(row(held)), Not(HasSubstr(row(later))),
                    HasSubstr("<a href=\"/console/mail?state=held\" aria-current=\"page\">Held <span "
                              "class=\"count\">1</span></a>"),
                    HasSubstr("<a href=\"/console/mail?state=accepted\">Accepted</a>")));
  const std::string all = get("/console/mail?state=all").body;
  EXPECT_LT(all.find(row(later)), all.find(row(held))) << "the newest first";
  EXPECT_NE(all.find(row(held)), std::string::npos);
  press_plain(all, "/console/mail/" + held + "/release", "&confirm=1");
  EXPECT_THAT(get("/console/mail").body,
              AllOf(HasSubstr(row(held)), HasSubstr(row(later)), HasSubstr("aria-current=\"page\">All</a>")));
  EXPECT_THAT(get("/console/mail?state=held").body,
              AllOf(HasSubstr("There is no mail"), HasSubstr("<a href=\"/console/mail?state=all\">")));
}

// CON-32
TEST_F(ConsoleWork, AcceptedMailsAreListedInPagesWithoutButtons) {
  for (int i = 0; i < 60; ++i) gift();
  std::vector<store::DeliveryOutcome> outcomes;
  std::vector<store::DeliveryQueue::Sending> sending;
  for (const auto& claim : store_.deliveries.claim("a", 60'000, 100, now_)) {
    sending.push_back({claim, "m" + std::to_string(claim.transaction.value) + "@example.com"});
    outcomes.push_back({claim.transaction, 1, DeliveryState::accepted, now_, "", false, {}});
  }
  store_.deliveries.begin_sending("a", sending, 60'000, now_);
  ASSERT_EQ(store_.deliveries.finish(outcomes, now_), 60u);
  sign_in(user("op@example.com", {Role::operations}));
  for (const std::string state : {"accepted", "all"}) {
    const std::string page = get("/console/mail?state=" + state).body;
    EXPECT_THAT(page, AllOf(HasSubstr(">60</a></td>"), Not(HasSubstr(">30</a></td>")),
                            HasSubstr("before=31&amp;state=" + state), Not(HasSubstr("/withdraw\""))));
    EXPECT_THAT(get("/console/mail?before=31&state=" + state).body,
                AllOf(HasSubstr(">30</a></td>"), Not(HasSubstr(">31</a></td>")), HasSubstr("Newest")));
  }
}

// CON-17
TEST_F(ConsoleWork, APageOfHeldMailsWithLongRepliesStaysBelow60Kilobytes) {
  for (int i = 0; i < 31; ++i) held_mail();
  tests::run_sql(temporary_.address(), "UPDATE mail_outbox SET last_reply = '" + std::string(300, 'r') + "'");
  sign_in(user("op@example.com", {Role::operations}));
  const std::string page = get("/console/mail").body;
  EXPECT_THAT(page, AllOf(HasSubstr("/console/mail/2/release"), HasSubstr("before=2&amp;state=held"),
                          Not(HasSubstr("/console/mail/1/release"))));
  EXPECT_LT(page.size(), 60'000u);
}

// CON-32, CON-17
TEST_F(ConsoleWork, AnOrganizationsMailsAreFoundThroughItsGifts) {
  const auto acme = organization("Acme");
  store::Account sender;
  sender.email = "of.none@example.com";
  store::NewGiftRequest request;
  request.request.account = store_.accounts.create(sender).value();
  request.request.created_at = now_;
  request.recipients = {{"ada@example.com", "", "", ""}};
  store_.gifts.create(std::span(&request, 1));
  sender.email = "sam@example.com";
  sender.organization = acme;
  request.request.account = store_.accounts.create(sender).value();
  request.recipients = {{"own@example.com", "", "", ""}};
  for (int i = 0; i < 60; ++i) store_.gifts.create(std::span(&request, 1));
  std::vector<store::DeliveryOutcome> outcomes;
  std::vector<store::DeliveryQueue::Sending> sending;
  for (const auto& claim : store_.deliveries.claim("a", 60'000, 100, now_)) {
    if (claim.transaction.value > 40) continue;
    sending.push_back({claim, "m" + std::to_string(claim.transaction.value) + "@example.com"});
    outcomes.push_back({claim.transaction, 1, DeliveryState::accepted, now_, "by own", false, {}});
  }
  store_.deliveries.begin_sending("a", sending, 60'000, now_);
  store_.deliveries.finish(outcomes, now_);
  const auto row = [](int id) { return ">" + std::to_string(id) + "</a></td>"; };
  sign_in(user("op.acme@example.com", {Role::operations}, acme));
  EXPECT_THAT(get("/console/mail").body,
              AllOf(HasSubstr(row(61)), HasSubstr(row(32)), Not(HasSubstr(row(31))),
                    HasSubstr("before=32&amp;state=all")));
  EXPECT_THAT(get("/console/mail?state=all&before=32").body,
              AllOf(HasSubstr(row(31)), HasSubstr(row(2)), Not(HasSubstr("ada@example.com")),
                    Not(HasSubstr("Older"))));
  const auto statements = [&](const std::string& path) {
    return tests::RoundTrips::of(temporary_.address(), [&] { get(path); });
  };
  const std::size_t of_one = statements("/console/mail?state=all&before=3");
  EXPECT_EQ(statements("/console/mail?state=all"), of_one) << "30 mails cost as many statements as one";
  EXPECT_THAT(get("/console/mail?state=accepted").body,
              AllOf(HasSubstr(row(40)), Not(HasSubstr(row(41))), HasSubstr("own@<wbr>example.<wbr>com"),
                    HasSubstr("by own"), Not(HasSubstr("/withdraw\""))));
  sign_in(user("aud.acme@example.com", {Role::auditor}, acme));
  EXPECT_THAT(get("/console/mail?state=accepted").body,
              AllOf(HasSubstr(row(40)), HasSubstr("***@<wbr>example.<wbr>com"), Not(HasSubstr("own@")),
                    Not(HasSubstr("by own"))));
}

// CON-32
TEST_F(ConsoleWork, AHeldMailOfAnApproverIsSentAgainAndNothingElse) {
  const UserId ana = user("ana@example.com", {Role::approver});
  insert("1");
  const auto waiting = store_.approver_notices.find_unnoticed(std::vector<std::string>{"1"});
  const store::ApproverNotice notice{ana, waiting.at(0).transition, "1", "R-1", "Coffee", "5.35"};
  store_.approver_notices.add(std::span(&notice, 1), now_);
  store_.approver_notices.queue_mails(now_);
  const auto claims = store_.deliveries.claim("a", 60'000, 10, now_);
  const store::DeliveryQueue::Sending sending{claims.at(0), "m1@example.com"};
  store_.deliveries.begin_sending("a", std::span(&sending, 1), 60'000, now_);
  const store::DeliveryOutcome outcome{
      claims[0].transaction, 1, DeliveryState::held, now_, "lost", false, {}};
  ASSERT_EQ(store_.deliveries.finish(std::span(&outcome, 1), now_), 1u);
  const std::string path = "/console/mail/-" + std::to_string(ana.value);
  const auto token = [&](const std::string& action) {
    const auto session = store_.console_sessions.find(sha256_hex(cookie_), now_, {0});
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

// CON-32, MAIL-34
TEST_F(ConsoleWork, AHeldMailOfASenderIsSentAgainAndNothingElse) {
  tests::run_sql(temporary_.address(),
                 "INSERT INTO notified_sender (email_key, email) VALUES ('sam@acme.com', 'sam@acme.com')");
  tests::run_sql(temporary_.address(),
                 "INSERT INTO mail_outbox (transaction_id, state, attempt, next_attempt_at, message_id, "
                 "uncertain_retries, last_reply, updated_at, lease_owner, lease_until, kind) VALUES "
                 "(-1000000000000001, 'held', 1, 5, 'sender-1@x', 0, 'lost', 5, '', 0, 'sender')");
  const std::string path = "/console/mail/-1000000000000001";
  sign_in(user("of.acme@example.com", {Role::operations}, organization("Acme")));
  EXPECT_THAT(get("/console/mail").body, Not(HasSubstr(path)));
  sign_in(user("op@example.com", {Role::operations}));
  const std::string page = get("/console/mail").body;
  EXPECT_THAT(page, AllOf(HasSubstr("aria-label=\"Send again: sam@acme.com\""), HasSubstr("to a sender"),
                          Not(HasSubstr(path + "/withdraw")), Not(HasSubstr("/console/gifts/-"))));
  EXPECT_EQ(header(press_plain(page, path + "/release", "&confirm=1"), "Location"),
            "/console/mail?notice=mail_done_release");
  EXPECT_EQ(last_event().object_kind + " " + last_event().object_id, "sender 1");
}

// CON-32
TEST_F(ConsoleWork, AnActionOnAMailIsAnEventOfTheSendersOrganization) {
  const auto acme = organization("Acme");
  store::Account sam;
  sam.email = "sam@acme.com";
  sam.organization = acme;
  store::NewGiftRequest request;
  request.request.account = store_.accounts.create(sam).value();
  request.request.sender_email = "sam@acme.com";
  request.request.created_at = now_;
  request.recipients = {{"ada@example.com", "", "", ""}};
  const auto id = store_.gifts.create(std::span(&request, 1)).front().recipients.front().id;
  sign_in(user("op@example.com", {Role::operations}));
  const std::string path = "/console/mail/" + std::to_string(id.value) + "/withdraw";
  EXPECT_EQ(press_plain(get("/console/mail?state=queued").body, path, "&confirm=1").status, 303);
  EXPECT_EQ(last_event().organization, acme);
  EXPECT_EQ(last_event().object_kind, "gift");
}

}  // namespace
}  // namespace giftsync::console
