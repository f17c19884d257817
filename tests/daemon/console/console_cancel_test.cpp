// The console's page that cancels the gifts of a filter.
#include <algorithm>

#include "sync/access/credential.h"
#include "tests/daemon/console/console_work_fixture.h"

namespace giftsync::console {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ConsoleCancel : public ConsoleWork {
 protected:
  static inline const std::string kPage = "/console/cancel-gifts";
  static inline const std::string kRun = kPage + "/run";

  /// Gifts of one request.
  std::vector<TransactionId> send(const std::string& campaign, std::size_t gifts = 1,
                                  const std::string& credential = "") {
    store::NewGiftRequest request;
    request.request.account = {1};
    request.request.created_at = now_;
    request.request.item_name = kMarkup;
    request.request.utm_campaign_id = campaign;
    request.request.credential_prefix = credential;
    request.request.costs.item = Money{500};
    for (std::size_t i = 0; i < gifts; ++i)
      request.recipients.push_back({"ada" + std::to_string(i) + "@example.com", "", "", ""});
    const auto created = store_.gifts.create(std::span(&request, 1));
    std::vector<TransactionId> made;
    for (const auto& gift : created.front().recipients) made.push_back(gift.id);
    return made;
  }
  bool is_cancelled(TransactionId gift) {
    return store_.deliveries.find(gift)->state == DeliveryState::withdrawn;
  }
  std::ptrdiff_t count_cancelled(const std::vector<TransactionId>& gifts) {
    return std::count_if(gifts.begin(), gifts.end(), [&](TransactionId gift) { return is_cancelled(gift); });
  }
  /// Sends the form of the page; the place that it leads to.
  std::string run(const std::string& page, const std::string& confirm = "&confirm=1") {
    std::string fields = "form_token=" + form_token_in(page, kRun) + confirm;
    for (const char* name : {"key", "request", "campaign", "since", "until"})
      fields += std::string("&") + name + "=" + hidden_in(page, name);
    return header(post(kRun, fields), "Location");
  }
};

// CON-68, MAIL-21
TEST_F(ConsoleCancel, ThePreviewCountsAndTheRunCancelsWhatItShowed) {
  const auto spring = send("spring", 3);
  const auto other = send("summer");
  sign_in(user("ana@example.com", {Role::admin}));
  EXPECT_THAT(get(kPage).body, AllOf(Not(HasSubstr("Gifts found")), Not(HasSubstr(kRun))));
  const std::string page = get(kPage + "?campaign=spring").body;
  EXPECT_THAT(page,
              AllOf(HasSubstr("<dt>Can be cancelled</dt><dd>3</dd>"),
                    HasSubstr("<dt>Total cost</dt><dd>15.00</dd>"), HasSubstr("Yes, cancel these gifts: 3"),
                    HasSubstr("&lt;script&gt;"), Not(HasSubstr("<script>alert"))));
  EXPECT_EQ(run(page, ""), kPage + "?notice=not_confirmed&campaign=spring");
  EXPECT_EQ(count_cancelled(spring), 0);
  now_ = now_ + 1'000;
  const auto later = send("spring");
  const std::string done = run(page);
  EXPECT_EQ(done, kPage + "?notice=cancelled_many&campaign=spring");
  EXPECT_EQ(count_cancelled(spring), 3);
  EXPECT_FALSE(is_cancelled(other.front()));
  EXPECT_FALSE(is_cancelled(later.front())) << "it was sent after the page was made";
  EXPECT_THAT(get(done).body, AllOf(HasSubstr("Gifts that were cancelled: 3."),
                                    HasSubstr("<dt>Can be cancelled</dt><dd>1</dd>")));
  EXPECT_EQ(last_event().action, "gift.cancel");
  EXPECT_EQ(last_event().object_id, "");
  EXPECT_EQ(last_event().detail, "--campaign spring: 3 gifts cancelled, 0 left out");
  const auto of_gift =
      store_.audit.list(store::Viewer::of_command_line(),
                        {.object_kind = "gift", .object_id = std::to_string(spring.front().value)}, 5);
  ASSERT_EQ(of_gift.size(), 1u);
  EXPECT_EQ(of_gift.front().detail, "--campaign spring");
  EXPECT_EQ(of_gift.front().actor, "ana@example.com");
  EXPECT_EQ(run(page), kPage + "?notice=not_done&campaign=spring") << "again";
}

// CON-68: a press takes a part; the next one goes on.
TEST_F(ConsoleCancel, ManyGiftsAreCancelledInParts) {
  options_.cancel_millis = 0;
  console_ = std::make_unique<Console>(store_, options_);
  const auto gifts = send("spring", 3);
  sign_in(user("op@example.com", {Role::operations}));
  const std::string page = get(kPage + "?campaign=spring").body;
  EXPECT_THAT(page, AllOf(HasSubstr("required> Yes, cancel these gifts: 3"), Not(HasSubstr("press again"))));
  const std::string part = run(page);
  EXPECT_EQ(part, kPage + "?notice=cancelled_part&campaign=spring");
  EXPECT_EQ(count_cancelled(gifts), 1);
  const std::string rest = get(part).body;
  EXPECT_THAT(rest, HasSubstr("required checked> Yes, cancel these gifts: 2")) << "it was confirmed";
  EXPECT_EQ(run(get(run(rest)).body), kPage + "?notice=cancelled_many&campaign=spring");
  EXPECT_EQ(count_cancelled(gifts), 3);
}

// CON-68
TEST_F(ConsoleCancel, OnePressTakesManyGifts) {
  options_.cancel_millis = 60'000;
  console_ = std::make_unique<Console>(store_, options_);
  const auto gifts = send("spring", 1'001);
  sign_in(user("op@example.com", {Role::operations}));
  const std::string page = get(kPage + "?campaign=spring").body;
  EXPECT_THAT(page, HasSubstr("One press works for up to 60 seconds"));
  EXPECT_EQ(run(page), kPage + "?notice=cancelled_many&campaign=spring");
  EXPECT_EQ(count_cancelled(gifts), 1'001);
}

// CON-68, CON-17
TEST_F(ConsoleCancel, ASearchThatWasCutSaysNotAllAndNamesTheCommand) {
  options_.cancel_search_parts = 1;
  console_ = std::make_unique<Console>(store_, options_);
  const auto old = send("spring");
  now_ = now_ + 1'000;
  send("summer", 5'001);
  sign_in(user("ana@example.com", {Role::admin}));
  EXPECT_THAT(get(kPage + "?campaign=spring").body,
              AllOf(HasSubstr("<dt>Gifts found</dt><dd>0</dd>"), HasSubstr("Searched back to"),
                    HasSubstr("giftsyncctl gift cancel --campaign spring")));
  const std::string page = get(kPage + "?since=2026-11-21").body;
  EXPECT_THAT(page, AllOf(HasSubstr("Yes, cancel these gifts: 5000"), Not(HasSubstr("ALL gifts")),
                          HasSubstr("giftsyncctl gift cancel --since 2026-11-21T00:00:00")));
  EXPECT_EQ(run(page), kPage + "?notice=cancelled_part&since=2026-11-21");
  EXPECT_FALSE(is_cancelled(old.front()));
}

// CON-68, MAIL-21
TEST_F(ConsoleCancel, GiftsAreFoundByKeyRequestAndTime) {
  sync::NewCredential key = sync::make_credential(CredentialKind::api_key, now_);
  key.account = store_.accounts.create({{}, "rose@example.com", "", Plan::team, true, now_, {}}).value();
  store_.credentials.insert(key);
  const auto of_key = send("", 2, key.prefix);
  const auto other = send("");
  sign_in(user("ana@example.com", {Role::admin}));
  EXPECT_THAT(get(kPage + "?key=" + key.prefix).body,
              AllOf(HasSubstr("<dt>Gifts found</dt><dd>2</dd>"), HasSubstr("it still sends"),
                    HasSubstr("/console/keys?find=" + key.prefix)));
  EXPECT_THAT(get(kPage + "?key=" + key.text).body,
              AllOf(HasSubstr("<dt>Gifts found</dt><dd>2</dd>"), Not(HasSubstr(key.text))));
  EXPECT_THAT(get(kPage + "?key=gsk_live_nosuchkeyatall").body,
              AllOf(HasSubstr("gsk_live_nosuchk"), Not(HasSubstr("gsk_live_nosuchke"))));
  const auto request = store_.gifts.find(other).front().request.id;
  EXPECT_THAT(get(kPage + "?request=" + std::to_string(request.value)).body,
              HasSubstr("<dt>Gifts found</dt><dd>1</dd>"));
  EXPECT_THAT(get(kPage + "?since=2026-11-21").body,
              AllOf(HasSubstr("<dt>Gifts found</dt><dd>3</dd>"),
                    HasSubstr("Yes, cancel ALL gifts that any sender has sent since then: 3")));
  EXPECT_THAT(get(kPage + "?since=2026-11-22T00:00:00Z").body,
              AllOf(HasSubstr("<dt>Gifts found</dt><dd>0</dd>"), Not(HasSubstr(kRun))));
  for (const char* query : {"key=gsk_live_nothing", "request=999", "request=x", "since=tomorrow", "sender=a"})
    EXPECT_THAT(get(kPage + "?campaign=a&" + query).body,
                AllOf(HasSubstr("does not apply"), Not(HasSubstr("Gifts found"))))
        << query;
  const std::string token = "confirm=1&form_token=" + form_token(form_secret(), "/cancel-gifts/run");
  for (const char* fields : {"", "&until=2027-01-01T00:00:00Z", "&campaign=&until=2027-01-01T00:00:00Z",
                             "&key=unknown&until=2027-01-01T00:00:00Z", "&since=2026-11-21"})
    EXPECT_EQ(header(post(kRun, token + fields), "Location"), kPage + "?notice=cancel_no_filter") << fields;
  EXPECT_EQ(count_cancelled(of_key) + count_cancelled(other), 0);
}

// CON-68, CON-45
TEST_F(ConsoleCancel, ARunNeedsANewProof) {
  const auto gifts = send("spring");
  const UserId ana = user("ana@example.com", {Role::admin});
  sign_in(ana);
  const std::string page = get(kPage + "?campaign=spring").body;
  now_ = now_ + kProofMillis + 1;
  EXPECT_THAT(get(kPage + "?campaign=spring").body,
              AllOf(HasSubstr("<dt>Gifts found</dt><dd>1</dd>"), Not(HasSubstr(kRun)),
                    HasSubstr("sign-in-link --user ana@example.com")));
  EXPECT_EQ(run(page), "");
  EXPECT_EQ(last_event().rule, "CON-45");
  EXPECT_EQ(count_cancelled(gifts), 0);
}

// CON-68
TEST_F(ConsoleCancel, OthersHaveNoSuchPage) {
  send("spring");
  const auto is_absent = [&] {
    EXPECT_EQ(get(kPage + "?campaign=spring").status, 404);
    EXPECT_THAT(get("/console/gifts").body, Not(HasSubstr(kPage)));
    const std::string token = form_token(form_secret(), "/cancel-gifts/run");
    EXPECT_EQ(post(kRun, "confirm=1&campaign=spring&until=2027-01-01T00:00:00Z&form_token=" + token).status,
              404);
  };
  for (const Role role : {Role::sender, Role::approver, Role::auditor}) {
    sign_in(user("user" + std::to_string(static_cast<int>(role)) + "@example.com", {role}));
    is_absent();
  }
  sign_in(user("of.acme@example.com", {Role::admin}, organization("Acme")));
  is_absent();
  sign_in(user("ana@example.com", {Role::admin}));
  EXPECT_THAT(get("/console/gifts").body, HasSubstr(kPage));
}

}  // namespace
}  // namespace giftsync::console
