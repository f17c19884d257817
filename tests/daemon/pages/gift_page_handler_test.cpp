// The page handler with a real store: which requests change the gift.
#include "daemon/pages/gift_page_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/group_commit_writer.h"
#include "tests/support/full_writer.h"
#include "tests/support/temporary_store.h"

namespace giftsync::pages {
namespace {
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr UtcMillis kNow{1'800'000'000'000};
constexpr const char* kForm = "application/x-www-form-urlencoded";

class GiftPageHandlerTest : public testing::Test {
 protected:
  GiftPageHandlerTest() { gift_ = store_.create_gifts(1).front(); }

  GiftPageHandler& handler() {
    if (!handler_) {
      options_.base_url = "https://gifts.example";
      options_.clock = [this] { return now_; };
      options_.wake_sync = [this] { ++wakes_; };
      handler_ = std::make_unique<GiftPageHandler>(*store_, writer_, links_,
                                                   content::make_branding("", "#0a6650"), options_);
    }
    return *handler_;
  }
  std::string token(sync::LinkKind kind, std::int64_t generation = 0) const {
    return signer_.token(kind, gift_, generation);
  }
  http::HttpResponse send_request(const std::string& method, const std::string& rest,
                                  const std::string& body = {}, const std::string& query = {},
                                  const std::map<std::string, std::string>& headers = {}) {
    http::HttpRequest request;
    request.method = method;
    request.path = "/g/" + rest;
    request.query = query;
    request.body = body;
    request.client = client_;
    request.headers.emplace("Host", "gifts.example");
    if (method == "POST") request.headers.emplace("Content-Type", kForm);
    for (const auto& [name, value] : headers) request.headers.emplace(name, value);
    return handler().handle(request, rest).wait();
  }
  http::HttpResponse get(sync::LinkKind kind, const std::string& query = {}) {
    return send_request("GET", token(kind), {}, query);
  }
  std::string post(sync::LinkKind kind, const std::string& body) {
    const http::HttpResponse response = send_request("POST", token(kind), body);
    EXPECT_TRUE(response.status == 303 || response.status == 204) << response.status;
    for (const auto& [name, value] : response.headers) {
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
    store::GiftItem item;
    item.id = {7};
    item.name = "Coffee";
    item.redemption_text = text;
    item.redemption_link = link;
    store_->catalogue.import(std::span(&item, 1));
  }

  tests::TemporaryStore store_;
  const sync::LinkSigner signer_{std::string(32, 'k')};
  const sync::GiftLinks links_{"https://gifts.example", signer_};
  TransactionId gift_;
  UtcMillis now_ = kNow;
  int wakes_ = 0;
  std::string client_ = "192.0.2.1";
  GiftPageOptions options_;
  daemon::GroupCommitWriter writer_{store_->urgent_writes};
  std::unique_ptr<GiftPageHandler> handler_;
};

// ARCH-22
TEST_F(GiftPageHandlerTest, AFullQueueIsAnsweredWith503) {
  tests::FullWriter full;
  GiftPageHandler busy(*store_, full, links_, content::make_branding("", "#0a6650"), options_);
  http::HttpRequest request;
  request.method = "POST";
  request.body = "choice=accept";
  request.headers.emplace("Host", "gifts.example");
  request.headers.emplace("Content-Type", kForm);
  const std::string rest = token(sync::LinkKind::redeem);
  const http::HttpResponse response = busy.handle(request, rest).wait();
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(response.headers, testing::Contains(std::pair<std::string, std::string>("Retry-After", "1")));
  EXPECT_THAT(history(), IsEmpty());
}

// OPS-37
TEST_F(GiftPageHandlerTest, ALinkOfAFormerSecretWorksUntilItsEndAndLeadsToNewLinks) {
  const sync::LinkSigner former(std::string(32, 'f'));
  const sync::GiftLinks links("https://gifts.example", signer_,
                              sync::FormerSigner{former, {kNow.value + kDayMillis}});
  options_.clock = [this] { return now_; };
  GiftPageHandler pages(*store_, writer_, links, content::make_branding("", "#0a6650"), options_);
  http::HttpRequest request;
  request.method = "GET";
  request.headers.emplace("Host", "gifts.example");
  const auto visit = [&] {
    return pages.handle(request, former.token(sync::LinkKind::redeem, gift_, 0)).wait();
  };
  const http::HttpResponse page = visit();
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.body, testing::AllOf(HasSubstr(signer_.token(sync::LinkKind::donate, gift_, 0)),
                                        Not(HasSubstr(former.token(sync::LinkKind::donate, gift_, 0)))));
  now_ = {kNow.value + kDayMillis};
  EXPECT_EQ(visit().status, 404);
}

// PAGE-5
TEST_F(GiftPageHandlerTest, ReadingChangesNothing) {
  for (const sync::LinkKind kind : {sync::LinkKind::redeem, sync::LinkKind::donate, sync::LinkKind::view}) {
    for (const std::string method : {"GET", "HEAD"}) {
      for (const std::string query : {"", "thanks", "choice=accept"})
        EXPECT_LT(send_request(method, token(kind), "choice=accept", query).status, 500);
    }
  }
  EXPECT_THAT(history(), IsEmpty());
  EXPECT_EQ(wakes_, 0);
  EXPECT_THAT(get(sync::LinkKind::redeem, "thanks").body, HasSubstr("<form")) << "a query decides nothing";
}

// PAGE-10, PAGE-11
TEST_F(GiftPageHandlerTest, AcceptingRecordsOpenedAndRedeemed) {
  EXPECT_EQ(post(sync::LinkKind::redeem, "choice=accept"), "?thanks");
  EXPECT_THAT(history(), testing::UnorderedElementsAre(Status::opened, Status::redeemed));
  for (const auto& change : store_->changes.history(gift_)) EXPECT_EQ(change.occurred_at, kNow);
  EXPECT_EQ(wakes_, 1);
  EXPECT_THAT(get(sync::LinkKind::redeem, "thanks").body, HasSubstr("<h1>Thank you!"))
      << "before the sync worker has folded the changes";
  EXPECT_THAT(get(sync::LinkKind::redeem).body, HasSubstr("has been accepted"));
  now_ = kNow + 5000;
  EXPECT_EQ(post(sync::LinkKind::redeem, "choice=accept"), "?thanks")
      << "a repeated post gets the same response";
  EXPECT_EQ(post(sync::LinkKind::donate, "choice=donate"), "")
      << "the later decision redirects to the current state";
  EXPECT_THAT(get(sync::LinkKind::donate).body, HasSubstr("has been accepted"));
  EXPECT_THAT(history(), SizeIs(2));
}

// PAGE-6
TEST_F(GiftPageHandlerTest, OpenedIsRecordedOnceBeforeTheDecision) {
  EXPECT_EQ(send_request("POST", token(sync::LinkKind::redeem), "choice=opened").status, 204);
  now_ = kNow + 1000;
  EXPECT_EQ(send_request("POST", token(sync::LinkKind::donate), "choice=opened").status, 204);
  EXPECT_THAT(history(), testing::ElementsAre(Status::opened));
  EXPECT_EQ(post(sync::LinkKind::donate, "choice=donate"), "?thanks");
  EXPECT_THAT(history(), testing::ElementsAre(Status::opened, Status::donated));
}

// PAGE-7
TEST_F(GiftPageHandlerTest, OpenedAfterTheEndIsIgnored) {
  store_->changes.accept(
      std::vector<store::StatusChange>{{{}, "cancel", gift_, Status::refunded, kNow, kNow, {}}});
  send_request("POST", token(sync::LinkKind::redeem), "choice=opened");
  EXPECT_EQ(post(sync::LinkKind::redeem, "choice=accept"), "");
  EXPECT_THAT(history(), testing::ElementsAre(Status::refunded));
  EXPECT_THAT(get(sync::LinkKind::redeem).body, HasSubstr("was taken back"));
}

TEST_F(GiftPageHandlerTest, EachLinkAllowsOnlyItsOwnDecision) {
  EXPECT_EQ(post(sync::LinkKind::redeem, "choice=donate"), "");
  EXPECT_EQ(post(sync::LinkKind::donate, "choice=accept"), "");
  EXPECT_EQ(post(sync::LinkKind::redeem, ""), "");
  EXPECT_EQ(post(sync::LinkKind::redeem, "%zz&choice=accept%00"), "");
  EXPECT_EQ(send_request("POST", token(sync::LinkKind::view), "choice=accept").status, 405);
  EXPECT_EQ(send_request("PUT", token(sync::LinkKind::redeem)).status, 405);
  EXPECT_THAT(history(), IsEmpty());
}

// PAGE-15
TEST_F(GiftPageHandlerTest, ADonationGoesToTheChosenCharity) {
  options_.charities = {{"Red Cross", "https://redcross.example"}, {"Sea & Rescue", ""}};
  EXPECT_EQ(post(sync::LinkKind::donate, "choice=donate"), "?choose");
  EXPECT_EQ(post(sync::LinkKind::donate, "choice=donate&charity=My+own"), "?choose");
  EXPECT_THAT(get(sync::LinkKind::donate, "choose").body, HasSubstr("Please choose a charity first."));
  EXPECT_THAT(history(), IsEmpty());
  EXPECT_EQ(post(sync::LinkKind::donate, "choice=donate&charity=Sea+%26+Rescue"), "?thanks");
  EXPECT_EQ(store_->donations.find(gift_)->charity, "Sea & Rescue");
  EXPECT_EQ(post(sync::LinkKind::donate, "choice=donate&charity=Red+Cross"), "?thanks");
  EXPECT_EQ(store_->donations.find(gift_)->charity, "Sea & Rescue") << "the first choice counts";
  EXPECT_THAT(get(sync::LinkKind::donate).body, HasSubstr("Sea &amp; Rescue"));
}

TEST_F(GiftPageHandlerTest, WithoutCharitiesTheCompanyChooses) {
  EXPECT_EQ(post(sync::LinkKind::donate, "choice=donate"), "?thanks");
  EXPECT_EQ(store_->donations.find(gift_), store::Donation{});
  EXPECT_THAT(get(sync::LinkKind::donate, "thanks").body, HasSubstr("company chooses"));
}

// PAGE-14
TEST_F(GiftPageHandlerTest, ACodeIsShownOnlyAfterAcceptance) {
  import_item("Show it at the counter.", "https://shop.example");
  store_->codes.import({7}, std::vector<std::string>{"FIRST", "SECOND"}, kNow);
  EXPECT_THAT(get(sync::LinkKind::redeem).body, Not(HasSubstr("counter")));
  EXPECT_EQ(post(sync::LinkKind::redeem, "choice=accept"), "?thanks");
  EXPECT_EQ(post(sync::LinkKind::redeem, "choice=accept"), "?thanks");
  const std::string body = get(sync::LinkKind::redeem, "thanks").body;
  EXPECT_THAT(body, HasSubstr("<bdi>FIRST</bdi>"));
  EXPECT_THAT(body, HasSubstr("Show it at the counter."));
  EXPECT_THAT(get(sync::LinkKind::redeem).body, HasSubstr("<bdi>FIRST</bdi>")) << "also on a later visit";
  for (const sync::LinkKind kind : {sync::LinkKind::donate, sync::LinkKind::view}) {
    EXPECT_THAT(get(kind).body, Not(HasSubstr("FIRST")));
    EXPECT_THAT(get(kind).body, Not(HasSubstr("counter")));
  }
  EXPECT_EQ(store_->codes.count_unassigned({7}, 10), 1);
}

// PAGE-13
TEST_F(GiftPageHandlerTest, WithoutACodeNothingIsDecided) {
  store_->codes.import({7}, std::vector<std::string>{"ONLY"}, kNow);
  const TransactionId first = gift_;
  EXPECT_EQ(post(sync::LinkKind::redeem, "choice=accept"), "?thanks");
  gift_ = store_.create_gifts(1).front();
  EXPECT_EQ(post(sync::LinkKind::redeem, "choice=accept"), "?later");
  EXPECT_THAT(history(), IsEmpty());
  EXPECT_THAT(get(sync::LinkKind::redeem, "later").body, HasSubstr("Your gift is kept for you"));
  store_->codes.import({7}, std::vector<std::string>{"MORE"}, kNow);
  EXPECT_EQ(post(sync::LinkKind::redeem, "choice=accept"), "?thanks");
  EXPECT_EQ(store_->codes.find_code(gift_), "MORE");
  EXPECT_EQ(store_->codes.find_code(first), "ONLY");
}

// PAGE-12
TEST_F(GiftPageHandlerTest, APostFromAnotherSiteIsRefused) {
  using Headers = std::map<std::string, std::string>;
  const auto status = [&](const Headers& headers) {
    return send_request("POST", token(sync::LinkKind::redeem), "choice=none", {}, headers).status;
  };
  for (const Headers& headers :
       {Headers{{"Sec-Fetch-Site", "cross-site"}}, Headers{{"Sec-Fetch-Site", "same-site"}},
        Headers{{"Origin", "https://evil.example"}}, Headers{{"Origin", "http://gifts.example.evil"}}}) {
    EXPECT_EQ(status(headers), 403);
    EXPECT_EQ(send_request("POST", token(sync::LinkKind::redeem), "choice=accept", {}, headers).status, 403);
    EXPECT_EQ(send_request("POST", token(sync::LinkKind::redeem), "choice=opened", {}, headers).status, 403);
  }
  EXPECT_THAT(history(), IsEmpty());
  for (const Headers& headers : {Headers{}, Headers{{"Sec-Fetch-Site", "same-origin"}, {"Origin", "null"}},
                                 Headers{{"Origin", "https://gifts.example"}},
                                 Headers{{"Origin", "HTTPS://Gifts.example"}}, Headers{{"Origin", "null"}}}) {
    EXPECT_EQ(status(headers), 303);
  }
}

// PAGE-4
TEST_F(GiftPageHandlerTest, OnlyUnknownLinksAreCounted) {
  int slowed = 0;
  for (int guess = 0; guess < 10'000; ++guess) {
    const std::string unknown_token = "A" + std::to_string(guess);
    const int status = send_request(guess % 2 ? "GET" : "POST", unknown_token, "choice=accept").status;
    EXPECT_TRUE(status == 404 || status == 429);
    slowed += status == 429;
    now_ = kNow + guess * 6;
  }
  EXPECT_EQ(slowed, 10'000 - GiftPageHandler::kMaxGuesses);
  EXPECT_EQ(get(sync::LinkKind::redeem).status, 200) << "a valid link is served in any case";
  EXPECT_EQ(post(sync::LinkKind::redeem, "choice=accept"), "?thanks");
  const http::HttpResponse slow = send_request("GET", "A");
  EXPECT_THAT(slow.headers, testing::Contains(testing::Pair("Retry-After", "1")));
  client_ = "192.0.2.2";
  EXPECT_EQ(send_request("GET", "A").status, 404) << "another address";
  client_ = "192.0.2.1";
  now_ = kNow + kMinuteMillis;
  EXPECT_EQ(send_request("GET", "A").status, 404) << "a minute later";
}

// PAGE-4
TEST_F(GiftPageHandlerTest, AnIpv6PrefixIsLimitedAsOneClient) {
  for (int i = 0; i < GiftPageHandler::kMaxGuesses; ++i) {
    client_ = "2001:db8::" + std::to_string(i);
    EXPECT_EQ(send_request("GET", "A").status, 404);
  }
  client_ = "2001:db8::ffff";
  EXPECT_EQ(send_request("GET", "A").status, 429);
  client_ = "2001:db8:0:1::1";
  EXPECT_EQ(send_request("GET", "A").status, 404);
}

// PAGE-3
TEST_F(GiftPageHandlerTest, ASupersededLinkIsGone) {
  for (const sync::LinkKind kind : {sync::LinkKind::redeem, sync::LinkKind::donate}) {
    EXPECT_EQ(send_request("GET", token(kind, 1)).status, 410);
    EXPECT_EQ(send_request("POST", token(kind, 1), "choice=accept").status, 410);
  }
  EXPECT_THAT(history(), IsEmpty());
}

// PAGE-2
TEST_F(GiftPageHandlerTest, ARevokedViewLinkShowsNothingOfTheRecipient) {
  const store::RecipientTransaction gift = store_->gifts.find(std::span(&gift_, 1)).front().transaction;
  ASSERT_FALSE(gift.message.empty());
  const auto shown = [&](std::int64_t generation) {
    const http::HttpResponse page = send_request("GET", token(sync::LinkKind::view, generation));
    EXPECT_EQ(page.status, 200) << "the CRM's record keeps its link";
    return page.body;
  };
  EXPECT_THAT(shown(gift.generation), AllOf(HasSubstr(gift.email), HasSubstr(gift.message)));
  EXPECT_THAT(shown(gift.generation + 1),
              AllOf(HasSubstr("Coffee"), Not(HasSubstr(gift.email)), Not(HasSubstr(gift.message))));
}

TEST_F(GiftPageHandlerTest, UsesTheLanguageOfTheBrowser) {
  const auto body = [&](const std::string& languages) {
    return send_request("GET", token(sync::LinkKind::redeem), {}, {}, {{"Accept-Language", languages}}).body;
  };
  EXPECT_THAT(body("de-AT,de;q=0.9,en;q=0.5"), HasSubstr("<html lang=\"de\">"));
  EXPECT_THAT(body("es"), HasSubstr("Aceptar el regalo"));
  EXPECT_THAT(body("ja"), HasSubstr("<html lang=\"en\">"));
}

TEST_F(GiftPageHandlerTest, ExternalGiftsHaveNoPage) {
  const TransactionId external{9'000'000'001};
  store_->sources.open("vendor", "vendor", {0});
  store::InboundBatch report;
  report.source = report.gift_source = "vendor";
  report.items.resize(1);
  report.items[0].gift.emplace();
  report.items[0].gift->id = external;
  ASSERT_EQ(store_->sources.accept(report).gifts, 1u);
  const auto link_of = [&](TransactionId id) {
    return links_.crm_record_url(store_->gifts.find(std::span(&id, 1)).front().transaction);
  };
  EXPECT_EQ(link_of(gift_), "https://gifts.example/g/" + token(sync::LinkKind::view));
  EXPECT_EQ(link_of(external), "");
  for (const sync::LinkKind kind : {sync::LinkKind::redeem, sync::LinkKind::donate, sync::LinkKind::view}) {
    EXPECT_EQ(get(kind).status, 200);
    EXPECT_EQ(send_request("GET", signer_.token(kind, external, 0)).status, 404);
  }
}

TEST(FormPost, IsDecodedOnceAndTheFirstValueWins) {
  const auto fields = form_fields("a=1+2&b=%C3%A9%26&a=3&c");
  EXPECT_EQ(fields.at("a"), "1 2");
  EXPECT_EQ(fields.at("b"), "\xC3\xA9&");
  EXPECT_THAT(form_fields("a=%zz"), IsEmpty());
  EXPECT_THAT(form_fields("a=" + std::string(20'000, 'x')), IsEmpty());
  EXPECT_FALSE(form_fields("a=%00&b=%FF").contains("b"));
}

// covers: TEST-2, TEST-5
TEST_F(GiftPageHandlerTest, ATestGiftTakesNoCodeAndItsStopLinkMakesNoEntry) {
  store::NewGiftRequest asked;
  asked.request.account = {1};
  asked.request.gift = {7};
  asked.request.item_name = "Coffee";
  asked.request.created_at = kNow;
  asked.request.credential_prefix = "gsk_test_abcdefg";
  asked.request.is_test = true;
  asked.recipients.push_back({"kim@example.com", "", "", "Hi"});
  gift_ = store_->gifts.create(std::span(&asked, 1)).front().recipients.front().id;
  const std::string code = "REAL-1";
  store_->codes.import({7}, std::span(&code, 1), kNow);
  EXPECT_EQ(get(sync::LinkKind::redeem).body.find("TEST-CODE"), std::string::npos)
      << "it is not accepted yet";
  const std::string stop =
      links_.url_for(sync::LinkKind::stop, store_->gifts.find(std::span(&gift_, 1)).front().transaction);
  EXPECT_EQ(send_request("POST", stop.substr(stop.find("/g/") + 3), "choice=stop").status, 303);
  const std::string pattern = "kim@example.com";
  EXPECT_TRUE(store_->do_not_send.find(std::span(&pattern, 1), now_).empty());
  post(sync::LinkKind::redeem, "choice=accept");
  EXPECT_EQ(history().back(), Status::redeemed);
  EXPECT_NE(get(sync::LinkKind::redeem).body.find("TEST-CODE"), std::string::npos);
  EXPECT_FALSE(store_->codes.find_code(gift_));
  EXPECT_EQ(store_->codes.count_unassigned({7}, 10), 1);
}

}  // namespace
}  // namespace giftsync::pages
