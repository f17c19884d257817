// The pages over a store: what a visit changes, and what it does not.
#include "daemon/pages/gift_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/pages/posted_form.h"
#include "tests/daemon/temporary_store.h"

namespace giftsync::daemon {
namespace {

using schema::Status;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr schema::UtcMillis kNow{1'800'000'000'000};
constexpr const char* kForm = "application/x-www-form-urlencoded";

class Pages : public testing::Test {
 protected:
  Pages() { gift_ = store_.gifts(1).front(); }

  GiftPages& pages() {
    if (!pages_) {
      options_.base_url = "https://gifts.example";
      options_.clock = [this] { return now_; };
      options_.wake_sync = [this] { ++wakes_; };
      pages_ = std::make_unique<GiftPages>(*store_, links_, page_face("", "#0a6650"), options_);
    }
    return *pages_;
  }
  std::string token(LinkKind kind, std::int64_t generation = 0) const {
    return signer_.token(kind, gift_, generation);
  }
  HttpResponse ask(const std::string& method, const std::string& rest, const std::string& body = {},
                   const std::string& query = {}, const std::map<std::string, std::string>& headers = {}) {
    HttpRequest request;
    request.method = method;
    request.path = "/g/" + rest;
    request.query = query;
    request.body = body;
    request.client = client_;
    request.headers.emplace("Host", "gifts.example");
    if (method == "POST") request.headers.emplace("Content-Type", kForm);
    for (const auto& [name, value] : headers) request.headers.emplace(name, value);
    return pages().answer(request, rest);
  }
  HttpResponse get(LinkKind kind, const std::string& query = {}) {
    return ask("GET", token(kind), {}, query);
  }
  std::string post(LinkKind kind, const std::string& body) {
    const HttpResponse answer = ask("POST", token(kind), body);
    EXPECT_TRUE(answer.status == 303 || answer.status == 204) << answer.status;
    for (const auto& [name, value] : answer.headers) {
      if (name == "Location") return value.substr(token(kind).size());
    }
    return "(none)";
  }
  std::vector<Status> history() {
    std::vector<Status> statuses;
    for (const auto& change : store_->changes.history(gift_)) statuses.push_back(change.status);
    return statuses;
  }
  void import_item(const std::string& text, const std::string& link) {
    schema::GiftItem item;
    item.id = {7};
    item.name = "Coffee";
    item.redemption_text = text;
    item.redemption_link = link;
    store_->catalogue.import(std::span(&item, 1));
  }

  TemporaryStore store_;
  const LinkSigner signer_{std::string(32, 'k')};
  const GiftLinks links_{"https://gifts.example", signer_};
  schema::TransactionId gift_;
  schema::UtcMillis now_ = kNow;
  int wakes_ = 0;
  std::string client_ = "192.0.2.1";
  GiftPagesOptions options_;
  std::unique_ptr<GiftPages> pages_;
};

TEST_F(Pages, LookingChangesNothing) {
  for (const LinkKind kind : {LinkKind::redeem, LinkKind::donate, LinkKind::view}) {
    for (const std::string method : {"GET", "HEAD"}) {
      for (const std::string query : {"", "thanks", "choice=accept"})
        EXPECT_LT(ask(method, token(kind), "choice=accept", query).status, 500);
    }
  }
  EXPECT_THAT(history(), IsEmpty());
  EXPECT_EQ(wakes_, 0);
  EXPECT_THAT(get(LinkKind::redeem, "thanks").body, HasSubstr("<form")) << "a query decides nothing";
}

TEST_F(Pages, AcceptingIsOpenedAndRedeemedTogether) {
  EXPECT_EQ(post(LinkKind::redeem, "choice=accept"), "?thanks");
  EXPECT_THAT(history(), testing::UnorderedElementsAre(Status::opened, Status::redeemed));
  for (const auto& change : store_->changes.history(gift_)) EXPECT_EQ(change.occurred_at, kNow);
  EXPECT_EQ(wakes_, 1);
  EXPECT_THAT(get(LinkKind::redeem, "thanks").body, HasSubstr("<h1>Thank you!"))
      << "before the sync loop has folded anything";
  EXPECT_THAT(get(LinkKind::redeem).body, HasSubstr("has been accepted"));
  now_ = kNow + 5000;
  EXPECT_EQ(post(LinkKind::redeem, "choice=accept"), "?thanks") << "again: the same thanks";
  EXPECT_EQ(post(LinkKind::donate, "choice=donate"), "") << "the loser is told what stands";
  EXPECT_THAT(get(LinkKind::donate).body, HasSubstr("has been accepted"));
  EXPECT_THAT(history(), SizeIs(2));
}

TEST_F(Pages, OpenedIsNotedOnceAndOnlyWhileItMeansSomething) {
  EXPECT_EQ(ask("POST", token(LinkKind::redeem), "choice=opened").status, 204);
  now_ = kNow + 1000;
  EXPECT_EQ(ask("POST", token(LinkKind::donate), "choice=opened").status, 204);
  EXPECT_THAT(history(), testing::ElementsAre(Status::opened));
  EXPECT_EQ(post(LinkKind::donate, "choice=donate"), "?thanks");
  EXPECT_THAT(history(), testing::ElementsAre(Status::opened, Status::donated));
}

TEST_F(Pages, OpenedAfterTheEndIsNotNoted) {
  store_->changes.accept(
      std::vector<schema::StatusChange>{{{}, "cancel", gift_, Status::refunded, kNow, kNow, {}}});
  ask("POST", token(LinkKind::redeem), "choice=opened");
  EXPECT_EQ(post(LinkKind::redeem, "choice=accept"), "");
  EXPECT_THAT(history(), testing::ElementsAre(Status::refunded));
  EXPECT_THAT(get(LinkKind::redeem).body, HasSubstr("was taken back"));
}

TEST_F(Pages, EachLinkDecidesItsOwnOnly) {
  EXPECT_EQ(post(LinkKind::redeem, "choice=donate"), "");
  EXPECT_EQ(post(LinkKind::donate, "choice=accept"), "");
  EXPECT_EQ(post(LinkKind::redeem, ""), "");
  EXPECT_EQ(post(LinkKind::redeem, "%zz&choice=accept%00"), "");
  EXPECT_EQ(ask("POST", token(LinkKind::view), "choice=accept").status, 405);
  EXPECT_EQ(ask("PUT", token(LinkKind::redeem)).status, 405);
  EXPECT_THAT(history(), IsEmpty());
}

TEST_F(Pages, ADonationGoesToTheChosenCharity) {
  options_.charities = {{"Red Cross", "https://redcross.example"}, {"Sea & Rescue", ""}};
  EXPECT_EQ(post(LinkKind::donate, "choice=donate"), "?choose");
  EXPECT_EQ(post(LinkKind::donate, "choice=donate&charity=My+own"), "?choose");
  EXPECT_THAT(get(LinkKind::donate, "choose").body, HasSubstr("Please choose a charity first."));
  EXPECT_THAT(history(), IsEmpty());
  EXPECT_EQ(post(LinkKind::donate, "choice=donate&charity=Sea+%26+Rescue"), "?thanks");
  EXPECT_EQ(store_->donations.donation(gift_)->charity, "Sea & Rescue");
  EXPECT_EQ(post(LinkKind::donate, "choice=donate&charity=Red+Cross"), "?thanks");
  EXPECT_EQ(store_->donations.donation(gift_)->charity, "Sea & Rescue") << "the first choice stands";
  EXPECT_THAT(get(LinkKind::donate).body, HasSubstr("Sea &amp; Rescue"));
}

TEST_F(Pages, WithoutCharitiesTheCompanyChooses) {
  EXPECT_EQ(post(LinkKind::donate, "choice=donate"), "?thanks");
  EXPECT_EQ(store_->donations.donation(gift_), schema::Donation{});
  EXPECT_THAT(get(LinkKind::donate, "thanks").body, HasSubstr("company chooses"));
}

TEST_F(Pages, ACodeIsShownToWhoAcceptedOnly) {
  import_item("Show it at the counter.", "https://shop.example");
  store_->codes.import({7}, std::vector<std::string>{"FIRST", "SECOND"}, kNow);
  EXPECT_THAT(get(LinkKind::redeem).body, Not(HasSubstr("counter")));
  EXPECT_EQ(post(LinkKind::redeem, "choice=accept"), "?thanks");
  EXPECT_EQ(post(LinkKind::redeem, "choice=accept"), "?thanks");
  const std::string body = get(LinkKind::redeem, "thanks").body;
  EXPECT_THAT(body, HasSubstr("<bdi>FIRST</bdi>"));
  EXPECT_THAT(body, HasSubstr("Show it at the counter."));
  EXPECT_THAT(get(LinkKind::redeem).body, HasSubstr("<bdi>FIRST</bdi>")) << "also on a later visit";
  for (const LinkKind kind : {LinkKind::donate, LinkKind::view}) {
    EXPECT_THAT(get(kind).body, Not(HasSubstr("FIRST")));
    EXPECT_THAT(get(kind).body, Not(HasSubstr("counter")));
  }
  EXPECT_EQ(store_->codes.count_left({7}, 10), 1);
}

TEST_F(Pages, WithoutACodeNothingIsDecided) {
  store_->codes.import({7}, std::vector<std::string>{"ONLY"}, kNow);
  const schema::TransactionId first = gift_;
  EXPECT_EQ(post(LinkKind::redeem, "choice=accept"), "?thanks");
  gift_ = store_.gifts(1).front();
  EXPECT_EQ(post(LinkKind::redeem, "choice=accept"), "?later");
  EXPECT_THAT(history(), IsEmpty());
  EXPECT_THAT(get(LinkKind::redeem, "later").body, HasSubstr("Your gift is kept for you"));
  store_->codes.import({7}, std::vector<std::string>{"MORE"}, kNow);
  EXPECT_EQ(post(LinkKind::redeem, "choice=accept"), "?thanks");
  EXPECT_EQ(store_->codes.code_of(gift_), "MORE");
  EXPECT_EQ(store_->codes.code_of(first), "ONLY");
}

TEST_F(Pages, APostFromAnotherSiteIsRefused) {
  using Headers = std::map<std::string, std::string>;
  const auto status = [&](const Headers& headers) {
    return ask("POST", token(LinkKind::redeem), "choice=none", {}, headers).status;
  };
  for (const Headers& headers :
       {Headers{{"Sec-Fetch-Site", "cross-site"}}, Headers{{"Sec-Fetch-Site", "same-site"}},
        Headers{{"Origin", "https://evil.example"}}, Headers{{"Origin", "http://gifts.example.evil"}}}) {
    EXPECT_EQ(status(headers), 403);
    EXPECT_EQ(ask("POST", token(LinkKind::redeem), "choice=accept", {}, headers).status, 403);
    EXPECT_EQ(ask("POST", token(LinkKind::redeem), "choice=opened", {}, headers).status, 403);
  }
  EXPECT_THAT(history(), IsEmpty());
  for (const Headers& headers : {Headers{}, Headers{{"Sec-Fetch-Site", "same-origin"}, {"Origin", "null"}},
                                 Headers{{"Origin", "https://gifts.example"}},
                                 Headers{{"Origin", "HTTPS://Gifts.example"}}, Headers{{"Origin", "null"}}}) {
    EXPECT_EQ(status(headers), 303);
  }
}

TEST_F(Pages, OnlyUnknownLinksAreCounted) {
  int slowed = 0;
  for (int guess = 0; guess < 10'000; ++guess) {
    const std::string tried = "A" + std::to_string(guess);
    const int status = ask(guess % 2 ? "GET" : "POST", tried, "choice=accept").status;
    EXPECT_TRUE(status == 404 || status == 429);
    slowed += status == 429;
    now_ = kNow + guess * 6;
  }
  EXPECT_EQ(slowed, 10'000 - GuessLimit::kMostGuesses);
  EXPECT_EQ(get(LinkKind::redeem).status, 200) << "a good link is served, whatever others do";
  EXPECT_EQ(post(LinkKind::redeem, "choice=accept"), "?thanks");
  const HttpResponse slow = ask("GET", "A");
  EXPECT_THAT(slow.headers, testing::Contains(testing::Pair("Retry-After", "1")));
  client_ = "192.0.2.2";
  EXPECT_EQ(ask("GET", "A").status, 404) << "another address";
  client_ = "192.0.2.1";
  now_ = kNow + schema::kMinuteMillis;
  EXPECT_EQ(ask("GET", "A").status, 404) << "a minute later";
}

TEST_F(Pages, AnIpv6NetworkIsOneGuesser) {
  for (int i = 0; i < GuessLimit::kMostGuesses; ++i) {
    client_ = "2001:db8::" + std::to_string(i);
    EXPECT_EQ(ask("GET", "A").status, 404);
  }
  client_ = "2001:db8::ffff";
  EXPECT_EQ(ask("GET", "A").status, 429);
  client_ = "2001:db8:0:1::1";
  EXPECT_EQ(ask("GET", "A").status, 404);
}

TEST_F(Pages, AnOldLinkIsNoLongerValid) {
  for (const LinkKind kind : {LinkKind::redeem, LinkKind::donate}) {
    EXPECT_EQ(ask("GET", token(kind, 1)).status, 410);
    EXPECT_EQ(ask("POST", token(kind, 1), "choice=accept").status, 410);
  }
  EXPECT_EQ(ask("GET", token(LinkKind::view, 1)).status, 200) << "nothing can be taken with a record's link";
  EXPECT_THAT(history(), IsEmpty());
}

TEST_F(Pages, SpeakTheLanguageThatTheBrowserAsksFor) {
  const auto body = [&](const std::string& languages) {
    return ask("GET", token(LinkKind::redeem), {}, {}, {{"Accept-Language", languages}}).body;
  };
  EXPECT_THAT(body("de-AT,de;q=0.9,en;q=0.5"), HasSubstr("<html lang=\"de\">"));
  EXPECT_THAT(body("es"), HasSubstr("Aceptar el regalo"));
  EXPECT_THAT(body("ja"), HasSubstr("<html lang=\"en\">"));
}

TEST_F(Pages, ThereIsNoneForAGiftThatWasSentElsewhere) {
  const schema::TransactionId external{9'000'000'001};
  store_->sources.open("vendor", "vendor", {0});
  schema::SourceReport report;
  report.source = report.origin = "vendor";
  report.items.resize(1);
  report.items[0].gift.emplace();
  report.items[0].gift->id = external;
  ASSERT_EQ(store_->sources.accept(report).gifts, 1u);
  const auto link_of = [&](schema::TransactionId id) {
    return links_.of_record(store_->gifts.gifts(std::span(&id, 1)).front().transaction);
  };
  EXPECT_EQ(link_of(gift_), "https://gifts.example/g/" + token(LinkKind::view));
  EXPECT_EQ(link_of(external), "");
  for (const LinkKind kind : {LinkKind::redeem, LinkKind::donate, LinkKind::view}) {
    EXPECT_EQ(get(kind).status, 200);
    EXPECT_EQ(ask("GET", signer_.token(kind, external, 0)).status, 404);
  }
}

TEST(PostedFields, AreDecodedOnceAndTheFirstCounts) {
  const auto fields = posted_fields("a=1+2&b=%C3%A9%26&a=3&c");
  EXPECT_EQ(fields.at("a"), "1 2");
  EXPECT_EQ(fields.at("b"), "\xC3\xA9&");
  EXPECT_THAT(posted_fields("a=%zz"), IsEmpty());
  EXPECT_THAT(posted_fields("a=" + std::string(20'000, 'x')), IsEmpty());
  EXPECT_FALSE(posted_fields("a=%00&b=%FF").contains("b"));
}

}  // namespace
}  // namespace giftsync::daemon
