// The API's lists, one gift, its history and match, and the items, with a real store.
#include "daemon/handlers/gift_read_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>

#include "sync/access/credential.h"
#include "sync/feed_step.h"
#include "tests/support/api_key.h"
#include "tests/support/json.h"
#include "tests/support/round_trips.h"
#include "tests/support/temporary_store.h"

namespace giftsync::handlers {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class GiftReadHandlerTest : public ::testing::Test {
 protected:
  GiftReadHandlerTest() {
    const sync::NewCredential token = sync::make_credential(CredentialKind::organization_token);
    edge_ = *store_->organizations.create("Edge", token);
    ana_ = account("ana@example.com", edge_);
    ben_ = account("ben@example.com", edge_);
    eve_ = account("eve@example.com", {});
    key_ = new_key(ana_, {Scope::read});
  }
  AccountId account(const std::string& email, std::optional<OrganizationId> organization) {
    store::Account made;
    made.email = email;
    made.name = email;
    made.organization = organization;
    return *store_->accounts.create(made);
  }
  std::string new_key(AccountId owner, std::set<Scope> scopes) {
    return tests::make_api_key(*store_, owner, std::move(scopes));
  }
  /// The ids of gifts of one request; `change` may set more of it.
  std::vector<std::int64_t> send(AccountId from, std::size_t count,
                                 const std::function<void(store::NewGiftRequest&)>& change = {}) {
    store::NewGiftRequest request;
    request.request.account = from;
    request.request.gift = {7};
    request.request.item_name = "Coffee";
    request.request.sender_email = "ana@example.com";
    request.request.created_at = now_;
    for (std::size_t i = 0; i < count; ++i)
      request.recipients.push_back({"p" + std::to_string(i) + "@example.com", "", "", "Hi"});
    if (change) change(request);
    std::vector<std::int64_t> ids;
    const auto made = store_->gifts.create(std::span(&request, 1));
    for (const auto& one : made.front().recipients) ids.push_back(one.id.value);
    return ids;
  }
  http::HttpRequest request(const std::string& query = {}, const std::string& key = {}) {
    http::HttpRequest made;
    made.method = "GET";
    made.path = "/api/v1/gifts";
    made.query = query;
    made.headers.emplace("Authorization", key.empty() ? key_ : key);
    return made;
  }
  http::HttpResponse get(const std::string& query = {}, const std::string& key = {}) {
    return handler_.list_gifts(request(query, key), {}).wait();
  }
  json page(const std::string& query = {}, const std::string& key = {}) {
    const http::HttpResponse response = get(query, key);
    EXPECT_EQ(response.status, 200) << response.body;
    return tests::parse_json(response.body);
  }
  std::vector<std::int64_t> ids(const std::string& query = {}, const std::string& key = {}) {
    std::vector<std::int64_t> found;
    const json shown = page(query, key);
    for (const json& row : shown["data"]) found.push_back(row["recipient_transaction_id"]);
    return found;
  }
  std::vector<std::string> faults(const std::string& query) {
    const http::HttpResponse response = get(query);
    EXPECT_EQ(response.status, 400) << query << response.body;
    std::vector<std::string> found;
    const json body = tests::parse_json(response.body);
    for (const json& one : body["errors"])
      found.push_back(one["field"].get<std::string>() + " " + one["code"].get<std::string>());
    return found;
  }
  static std::string header(const http::HttpResponse& response, std::string_view name) {
    for (const auto& [one, value] : response.headers)
      if (one == name) return value;
    return {};
  }

  tests::TemporaryStore store_;
  UtcMillis now_{1'795'264'267'000};  // 2026-11-21T12:31:07Z
  const Clock clock_ = [this] { return now_; };
  http::Authenticator authenticator_{store_->credentials, clock_, 0};
  GiftReadHandler handler_{
      *store_, authenticator_, {"https://gifts.example.com", std::string(32, 's'), clock_}};
  OrganizationId edge_;
  AccountId ana_, ben_, eve_;
  std::string key_;
};

// API-1
TEST_F(GiftReadHandlerTest, AGiftIsListedWithItsRequestTheNewestFirst) {
  const auto first = send(ana_, 1, [](store::NewGiftRequest& asked) {
    asked.request.utm_campaign_id = "autumn";
    asked.request.reference = "order 17";
    asked.recipients[0].reference = "line 3";
  });
  const auto second = send(ana_, 1);
  const json found = page();
  EXPECT_EQ(found["next"], nullptr);
  ASSERT_THAT(found["data"], SizeIs(2));
  EXPECT_EQ(found["data"][0]["recipient_transaction_id"], second[0]);
  const json gift = found["data"][1];
  EXPECT_EQ(gift["recipient_transaction_id"], first[0]);
  EXPECT_EQ(gift["status"], "sent");
  EXPECT_EQ(gift["sent_at"], "2026-11-21T12:31:07.000Z");
  EXPECT_EQ(gift["redeemed_at"], nullptr);
  EXPECT_EQ(gift["email"], "p0@example.com");
  EXPECT_EQ(gift["utm_campaign_id"], "autumn");
  EXPECT_EQ(gift["request_reference"], "order 17");
  EXPECT_EQ(gift["reference"], "line 3");
  EXPECT_EQ(gift["item_name"], "Coffee");
  EXPECT_THAT(ids("reference=line+3"), ElementsAre(first[0]));
  EXPECT_THAT(ids("reference=order%2017"), ElementsAre(first[0])) << "that of the request too";
  EXPECT_THAT(ids("campaign=autumn&sent_since=2026-11-21"), ElementsAre(first[0]));
  EXPECT_THAT(ids("sent_since=2026-11-22"), IsEmpty());
  EXPECT_THAT(ids("status=redeemed&reached_since=2026-11-16"), IsEmpty());
  EXPECT_THAT(ids("external_id=unknown"), IsEmpty());
}

// API-1
TEST_F(GiftReadHandlerTest, EachParameterThatCannotBeAppliedIsNamed) {
  EXPECT_THAT(faults("since=2026-11-21&staus=sent"),
              ElementsAre("since unknown_parameter", "staus unknown_parameter"));
  EXPECT_THAT(faults("status=sent&status=opened"), ElementsAre("status repeated_parameter"));
  EXPECT_THAT(faults("status=done&sent_since=yesterday&limit=0&email=ada&request_id=07&campaign="),
              ElementsAre("status invalid", "sent_since invalid", "limit invalid", "email invalid",
                          "request_id invalid", "campaign invalid"));
  EXPECT_THAT(faults("limit=501"), ElementsAre("limit invalid"));
  EXPECT_THAT(faults("reached_since=2026-11-21"), ElementsAre("reached_since invalid"));
  EXPECT_THAT(faults("sent_since=2026-11-21T10:00:00+01:00"), ElementsAre("sent_since invalid"))
      << "a plus sign is a blank";
  EXPECT_THAT(faults("campaign=%00"), ElementsAre("campaign invalid"));
}

// API-2
TEST_F(GiftReadHandlerTest, ACursorContinuesTheSameListForTheSameAccountAlone) {
  const auto sent = send(ana_, 5);
  const http::HttpResponse first = get("limit=2&campaign=");
  EXPECT_EQ(first.status, 400);
  std::string query = "limit=2";
  std::vector<std::int64_t> all;
  for (int i = 0; i < 3; ++i) {
    const http::HttpResponse response = get(query);
    const json found = tests::parse_json(response.body);
    for (const json& row : found["data"]) all.push_back(row["recipient_transaction_id"]);
    if (found["next"].is_null()) break;
    const std::string next = found["next"];
    EXPECT_EQ(header(response, "Link"),
              "<https://gifts.example.com/api/v1/gifts?limit=2&cursor=" + next + ">; rel=\"next\"");
    query = "limit=2&cursor=" + next;
  }
  EXPECT_THAT(all, ElementsAre(sent[4], sent[3], sent[2], sent[1], sent[0]));
  const std::string cursor = page("limit=2")["next"];
  EXPECT_THAT(faults("campaign=autumn&cursor=" + cursor), ElementsAre("cursor invalid")) << "another filter";
  std::string changed = cursor;
  changed[2] = changed[2] == 'A' ? 'B' : 'A';
  EXPECT_THAT(faults("cursor=" + changed), ElementsAre("cursor invalid"));
  EXPECT_THAT(faults("cursor=x"), ElementsAre("cursor invalid"));
  EXPECT_EQ(get("limit=2&cursor=" + cursor, new_key(eve_, {Scope::read})).status, 400) << "another account";
  EXPECT_EQ(get("limit=2&cursor=" + cursor, new_key(ana_, {Scope::read})).status, 200) << "its next key";
  EXPECT_EQ(handler_.list_requests(request("cursor=" + cursor), {}).wait().status, 400) << "another list";
  EXPECT_THAT(header(get("limit=2&%63ursor=" + cursor), "Link"),
              AllOf(HasSubstr("gifts?limit=2&cursor="), Not(HasSubstr("%63"))));
}

// API-2, API-9
TEST_F(GiftReadHandlerTest, AListOfATimeOfSendingGoesOnInTheOrderOfSending) {
  std::vector<std::int64_t> sent;
  for (int i = 0; i < 5; ++i)
    sent.push_back(send(ana_, 1, [&](store::NewGiftRequest& asked) {
                     asked.request.created_at = now_ + i * kMinuteMillis;
                   }).front());
  const std::string time = "sent_since=2026-11-21T12:32:00Z&sent_until=2026-11-21T12:35:00Z";
  const auto walk = [&](const std::string& path, const std::string& id) {
    std::vector<std::int64_t> all;
    std::string cursor;
    for (int pages = 0; pages < 5; ++pages) {
      http::HttpRequest asked = request(time + "&limit=1" + cursor);
      asked.path = path;
      const http::HttpResponse response =
          (path == "/api/v1/gifts" ? handler_.list_gifts(asked, {}) : handler_.list_requests(asked, {}))
              .wait();
      EXPECT_EQ(response.status, 200) << response.body;
      const json found = tests::parse_json(response.body);
      for (const json& row : found["data"]) all.push_back(row[id]);
      if (found["next"].is_null()) return all;
      cursor = "&cursor=" + found["next"].get<std::string>();
    }
    ADD_FAILURE() << "it has no end";
    return all;
  };
  EXPECT_THAT(walk("/api/v1/gifts", "recipient_transaction_id"), ElementsAre(sent[3], sent[2], sent[1]));
  EXPECT_THAT(walk("/api/v1/gift_requests", "id"), SizeIs(3));
  http::HttpRequest streamed = request(time);
  streamed.headers.emplace("Accept", "application/x-ndjson");
  const http::HttpResponse lines = handler_.list_gifts(streamed, {}).wait();
  ASSERT_TRUE(lines.next_chunk);
  std::string text;
  for (std::string chunk = lines.next_chunk(); !chunk.empty(); chunk = lines.next_chunk()) text += chunk;
  EXPECT_THAT(text, testing::EndsWith("{\"end\":true,\"rows\":3,\"next\":null}\n"));
}

// API-3
TEST_F(GiftReadHandlerTest, AKeySeesItsAccountsGiftsAndWithReportThoseOfItsOrganization) {
  const auto of_ana = send(ana_, 1);
  const auto of_ben = send(ben_, 1);
  const auto of_eve = send(eve_, 1);
  EXPECT_THAT(ids(), ElementsAre(of_ana[0]));
  EXPECT_THAT(ids({}, new_key(ana_, {Scope::read, Scope::report})), ElementsAre(of_ben[0], of_ana[0]));
  EXPECT_THAT(ids({}, new_key(eve_, {Scope::read, Scope::report})),
              ElementsAre(of_eve[0], of_ben[0], of_ana[0]))
      << "without an organization all";
  EXPECT_EQ(get({}, new_key(ana_, {Scope::send})).status, 403);
  const std::string id = std::to_string(of_ben[0]);
  EXPECT_EQ(handler_.read_gift(request(), id).wait().status, 404);
  EXPECT_EQ(handler_.read_history(request(), id).wait().status, 404);
  EXPECT_EQ(handler_.read_gift(request(), "x").wait().status, 404);
}

// API-5, API-8
TEST_F(GiftReadHandlerTest, OneGiftHasAnETagAndIsNotSentTwice) {
  const std::string id = std::to_string(send(ana_, 1)[0]);
  const http::HttpResponse response = handler_.read_gift(request(), id).wait();
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(header(response, "ETag"), "\"" + id + "-1-1\"");
  EXPECT_EQ(tests::parse_json(response.body)["data"]["email"], "p0@example.com");
  for (const std::string& tag : {"\"" + id + "-1-1\"", "\"x\", W/\"" + id + "-1-1\"", std::string("*")}) {
    http::HttpRequest again = request();
    again.headers.emplace("If-None-Match", tag);
    const http::HttpResponse unchanged = handler_.read_gift(again, id).wait();
    EXPECT_EQ(unchanged.status, 304) << tag;
    EXPECT_EQ(unchanged.body, "");
    EXPECT_EQ(header(unchanged, "ETag"), "\"" + id + "-1-1\"");
  }
  http::HttpRequest other = request();
  other.headers.emplace("If-None-Match", "\"" + id + "-2-1\"");
  EXPECT_EQ(handler_.read_gift(other, id).wait().status, 200);
  EXPECT_EQ(handler_.read_gift(request("fields=email"), id).wait().status, 400) << "it has no parameters";
}

// API-5
TEST_F(GiftReadHandlerTest, TheHistoryHasRepliesOfRelaysForReportAlone) {
  const auto sent = send(ana_, 1);
  const std::string id = std::to_string(sent[0]);
  const store::DeliveryRow before = *store_->deliveries.find({sent[0]});
  EXPECT_EQ(before.state, DeliveryState::queued);
  const auto history = [&](const std::string& key) {
    const http::HttpResponse response = handler_.read_history(request({}, key), id).wait();
    EXPECT_EQ(response.status, 200) << response.body;
    return tests::parse_json(response.body)["data"];
  };
  const json own = history(key_);
  ASSERT_THAT(own, SizeIs(2));
  EXPECT_EQ(own[0]["type"], "status");
  EXPECT_EQ(own[0]["status"], "sent");
  EXPECT_EQ(own[1]["type"], "mail");
  EXPECT_EQ(own[1]["state"], "queued");
  EXPECT_EQ(own[1]["reply"], nullptr);
  const auto claims = store_->deliveries.claim("w", 60'000, 10, now_);
  ASSERT_THAT(claims, SizeIs(1));
  const store::DeliveryQueue::Sending sending{claims[0], "message id"};
  store_->deliveries.begin_sending("w", std::span(&sending, 1), 60'000, now_);
  now_ = now_ + 1;
  const store::DeliveryOutcome outcome{
      claims[0].transaction,
      claims[0].attempt + 1,
      DeliveryState::accepted,
      now_,
      "250 queued at mx.example.net",
      false,
      store::StatusChange{{}, "mailer", claims[0].transaction, Status::delivered, now_, now_, {}}};
  store_->deliveries.finish(std::span(&outcome, 1), now_);
  const json later = history(key_);
  ASSERT_THAT(later, SizeIs(3));
  EXPECT_EQ(later[1]["state"], "accepted");
  EXPECT_EQ(later[1]["reply"], nullptr);
  EXPECT_EQ(later[2]["status"], "delivered");
  EXPECT_EQ(later[2]["source"], "mailer");
  EXPECT_EQ(history(new_key(ana_, {Scope::read, Scope::report}))[1]["reply"], "250 queued at mx.example.net");
}

// API-5
TEST_F(GiftReadHandlerTest, TheMatchNeedsTheScopeReport) {
  const std::string id = std::to_string(send(ana_, 1)[0]);
  EXPECT_EQ(handler_.read_match(request(), id).wait().status, 403);
  const http::HttpResponse response =
      handler_.read_match(request({}, new_key(ana_, {Scope::read, Scope::report})), id).wait();
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(tests::parse_json(response.body)["data"], nullptr) << "before the first sync";
}

// API-7
TEST_F(GiftReadHandlerTest, AnItemWhoseCodesHaveRunOutIsNotAvailable) {
  std::array<store::GiftItem, 3> items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].id = {static_cast<std::int64_t>(i) + 7};
    items[i].name = "Item " + std::to_string(i);
    items[i].costs.item = Money{550};
  }
  items[2].active = false;
  store_->catalogue.import(items);
  store_->codes.import({8}, std::array{std::string("C-1")}, now_);
  const auto list = [&] { return tests::parse_json(handler_.list_items(request(), {}).wait().body)["data"]; };
  ASSERT_THAT(list(), SizeIs(2)) << "without the one that cannot be sent";
  EXPECT_EQ(list()[0]["item_cost"], "5.50");
  EXPECT_EQ(list()[1]["available"], true);
  const auto sent = send(ana_, 1);
  store_->changes.accept_if(
      {{}, "page", {sent[0]}, Status::redeemed, now_, now_, {}},
      [](UtcMillis, std::span<const store::ChangeSpan>) { return true; },
      store_->codes.assign_code({8}, {sent[0]}, now_));
  EXPECT_EQ(list()[1]["available"], false);
  EXPECT_EQ(handler_.read_item(request(), "9").wait().status, 404);
  const http::HttpResponse one = handler_.read_item(request(), "8").wait();
  http::HttpRequest again = request();
  again.headers.emplace("If-None-Match", header(one, "ETag"));
  EXPECT_EQ(handler_.read_item(again, "8").wait().status, 304) << "API-8";
}

// HTTP-60
TEST_F(GiftReadHandlerTest, GiftsAndItemsNameTheCurrencyWhereOneIsSet) {
  store::GiftItem item;
  item.id = {7};
  item.name = "Coffee";
  item.costs.item = Money{550};
  store_->catalogue.import(std::array{item});
  send(ana_, 1);
  GiftReadOptions options{"https://gifts.example.com", std::string(32, 's'), clock_};
  options.currency = "EUR";
  GiftReadHandler with_currency(*store_, authenticator_, options);
  const auto row = [&](GiftReadHandler& handler, auto list) {
    return tests::parse_json((handler.*list)(request(), {}).wait().body)["data"][0];
  };
  for (const auto list : {&GiftReadHandler::list_gifts, &GiftReadHandler::list_items}) {
    json named = row(with_currency, list);
    EXPECT_EQ(named["currency"], "EUR");
    named.erase("currency");
    EXPECT_EQ(named, row(handler_, list)) << "nothing else differs";
  }
}

// API-2
TEST_F(GiftReadHandlerTest, APageTakesAsManyStatementsOfManyRowsAsOfOne) {
  for (int i = 0; i < 20; ++i) send(ana_, 2);
  const auto statements = [&](const std::function<void()>& read) {
    read();  // what is prepared once is prepared
    return tests::RoundTrips::of(store_.address(), read);
  };
  const std::size_t of_one = statements([&] { EXPECT_THAT(ids("limit=1"), SizeIs(1)); });
  EXPECT_GT(of_one, 0u);
  EXPECT_EQ(statements([&] { EXPECT_THAT(ids("limit=40"), SizeIs(40)); }), of_one);
  const auto requests = [&](const std::string& query, std::size_t rows) {
    const std::string body = handler_.list_requests(request(query), {}).wait().body;
    EXPECT_THAT(tests::parse_json(body)["data"], SizeIs(rows));
  };
  EXPECT_EQ(statements([&] { requests("limit=20", 20); }), statements([&] { requests("limit=1", 1); }));
}

// API-9
TEST_F(GiftReadHandlerTest, AStreamHasAllRowsAndALastLine) {
  send(ana_, 1000);
  send(ana_, 3);
  http::HttpRequest asked = request();
  asked.headers.emplace("Accept", "application/json;q=0.5, application/x-ndjson");
  http::HttpResponse response = handler_.list_gifts(asked, {}).wait();
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(header(response, "Content-Type"), "application/x-ndjson");
  http::HttpResponse second = handler_.list_gifts(asked, {}).wait();
  EXPECT_EQ(second.status, 409) << "one stream a key";
  EXPECT_EQ(tests::parse_json(second.body)["code"], "stream_in_progress");
  std::string text;
  for (std::string part = response.next_chunk(); !part.empty(); part = response.next_chunk()) text += part;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1004);
  EXPECT_THAT(text, testing::EndsWith("{\"end\":true,\"rows\":1003,\"next\":null}\n"));
  response.next_chunk = nullptr;
  second = handler_.list_gifts(asked, {}).wait();
  EXPECT_EQ(second.status, 200) << "the first has ended";
  asked.query = "limit=5";
  second.next_chunk = nullptr;
  EXPECT_EQ(handler_.list_gifts(asked, {}).wait().status, 400) << "a stream has no pages";
}

// API-9
TEST_F(GiftReadHandlerTest, AStreamBreaksWhenItsKeyIsRevoked) {
  send(ana_, 1000);
  http::HttpRequest asked = request();
  asked.headers.emplace("Accept", "application/x-ndjson");
  const http::HttpResponse response = handler_.list_gifts(asked, {}).wait();
  EXPECT_FALSE(response.next_chunk().empty());
  store_->credentials.revoke(store_->credentials.list(CredentialKind::api_key).front(), now_);
  EXPECT_ANY_THROW(response.next_chunk());
}

// API-1
TEST_F(GiftReadHandlerTest, RequestsAreListedTheSameWay) {
  send(ana_, 2, [](store::NewGiftRequest& asked) { asked.request.reference = "order 17"; });
  send(ana_, 1);
  send(ben_, 1);
  const http::HttpResponse response = handler_.list_requests(request("limit=1"), {}).wait();
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(tests::parse_json(response.body)["data"][0]["gifts"], 1);
  EXPECT_NE(tests::parse_json(response.body)["next"], nullptr);
  const json found =
      tests::parse_json(handler_.list_requests(request("reference=order+17"), {}).wait().body)["data"];
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0]["gifts"], 2);
  EXPECT_EQ(found[0]["reference"], "order 17");
  EXPECT_EQ(handler_.list_requests(request("status=sent"), {}).wait().status, 400);
}

class ChangedGiftsTest : public GiftReadHandlerTest {
 protected:
  ChangedGiftsTest() {
    store_->keep_feed(true);
    store_->feed.switch_to(true);
  }
  ~ChangedGiftsTest() override { store_->keep_feed(false); }

  void publish() {
    sync::FeedPlace place;
    while (sync::feed_step(*store_, place).more) {
    }
  }
  void open(std::int64_t gift) {
    const store::StatusChange change{{}, "test", {gift}, Status::opened, now_, now_, {}};
    store_->changes.accept(std::span(&change, 1));
  }
  json changed(const std::string& query) {
    const http::HttpResponse response = with_feed_.list_gifts(request(query), {}).wait();
    EXPECT_EQ(response.status, 200) << response.body;
    return tests::parse_json(response.body);
  }
  static std::vector<std::int64_t> ids_in(const json& page) {
    std::vector<std::int64_t> found;
    for (const json& row : page["data"]) found.push_back(row["recipient_transaction_id"]);
    return found;
  }
  static std::string text(const json& page, const char* member) { return page[member].get<std::string>(); }

  GiftReadHandler with_feed_{
      *store_, authenticator_, {"https://gifts.example.com", std::string(32, 's'), clock_, true, 30}};
};

// API-4
TEST_F(ChangedGiftsTest, WhoListsAllAndGoesOnMissesNoChange) {
  const auto gifts = send(ana_, 3);
  send(ben_, 1);
  publish();
  const json all = changed("");
  EXPECT_THAT(ids_in(all), SizeIs(3));
  EXPECT_THAT(changed("updated_since=" + text(all, "feed_cursor"))["data"], IsEmpty());
  open(gifts[1]);
  open(gifts[0]);
  publish();
  const json first = changed("limit=1&updated_since=" + text(all, "feed_cursor"));
  EXPECT_THAT(ids_in(first), ElementsAre(gifts[0])) << "both in one step, in the order of their ids";
  EXPECT_EQ(first["data"][0]["status"], "opened");
  const json second =
      changed("limit=1&updated_since=" + text(all, "feed_cursor") + "&cursor=" + text(first, "next"));
  EXPECT_THAT(ids_in(second), ElementsAre(gifts[1]));
  EXPECT_EQ(second["next"], nullptr);
  EXPECT_THAT(changed("updated_since=" + text(second, "feed_cursor"))["data"], IsEmpty());
  EXPECT_THAT(ids_in(changed("status=sent&updated_since=" + text(all, "feed_cursor"))), IsEmpty());
}

// API-4
TEST_F(ChangedGiftsTest, AChangeThatIsDeletedMeanwhileIsNotPassed) {
  const std::string place = text(changed(""), "feed_cursor");
  send(ana_, 1);
  publish();
  const auto delete_events = [this] {
    store_->feed.prune(system_now() + kDayMillis);
    return now_;
  };
  GiftReadHandler handler(*store_, authenticator_,
                          {"https://gifts.example.com", std::string(32, 's'), delete_events, true, 30});
  EXPECT_EQ(handler.list_gifts(request("updated_since=" + place), {}).wait().status, 410);
}

// API-4
TEST_F(ChangedGiftsTest, WhatIsNotKeptIs410AndAForeignCursor400) {
  const auto gifts = send(ana_, 2);
  publish();
  const auto status = [&](const std::string& query) {
    return with_feed_.list_gifts(request(query), {}).wait().status;
  };
  EXPECT_EQ(status("updated_since=1.1"), 410);
  EXPECT_EQ(status("updated_since=2020-01-01"), 410) << "before the feed began";
  EXPECT_EQ(status("updated_since=yesterday"), 400);
  http::HttpRequest streamed = request("updated_since=2026-11-21");
  streamed.headers.emplace("Accept", "application/x-ndjson");
  EXPECT_EQ(with_feed_.list_gifts(streamed, {}).wait().status, 400) << "in pages alone";
  const json all = changed("limit=1");
  EXPECT_EQ(status("updated_since=" + text(all, "feed_cursor") + "&cursor=" + text(all, "next")), 400);
  EXPECT_EQ(get("updated_since=" + text(all, "feed_cursor")).status, 409) << "the feed is off there";
  EXPECT_EQ(page()["feed_cursor"], nullptr);
  EXPECT_FALSE(changed("limit=1&cursor=" + text(all, "next")).contains("feed_cursor"));
}

}  // namespace
}  // namespace giftsync::handlers
