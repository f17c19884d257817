// covers: GUARD-5
#include "daemon/pages/stop_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/group_commit_writer.h"
#include "daemon/pages/gift_page_handler.h"
#include "sync/access/sending_policy.h"
#include "sync/gift/gift_actions.h"
#include "tests/support/captured_log.h"
#include "tests/support/temporary_store.h"

namespace giftsync::pages {
namespace {
using sync::LinkKind;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Optional;

constexpr UtcMillis kNow{1'800'000'000'000};
constexpr const char* kUrlencoded = "application/x-www-form-urlencoded";
constexpr const char* kOneClick = "List-Unsubscribe=One-Click";
using Headers = std::map<std::string, std::string>;

class StopPage : public testing::Test {
 protected:
  StopPage() { gift_ = store_.create_gifts(1).front(); }

  store::RecipientTransaction gift() { return store_->gifts.find(std::span(&gift_, 1)).front().transaction; }
  std::string token(LinkKind kind = LinkKind::stop) {
    return links_.url_for(kind, gift()).substr(std::string("https://gifts.example/g/").size());
  }
  http::HttpResponse send_request(const std::string& method, const std::string& rest,
                                  const std::string& body = {}, const Headers& headers = {}) {
    http::HttpRequest request;
    request.method = method;
    request.path = "/g/" + rest;
    request.body = body;
    request.client = "192.0.2.1";
    request.headers.emplace("Host", "gifts.example");
    for (const auto& [name, value] : headers) request.headers.emplace(name, value);
    return handler_.handle(request, rest).wait();
  }
  std::string page(const Headers& headers = {}) {
    const http::HttpResponse response = send_request("GET", token(), {}, headers);
    EXPECT_EQ(response.status, 200);
    return response.body;
  }
  /// As the page's button does it: answered with a redirect to the page.
  void press(const std::string& choice) {
    const http::HttpResponse response =
        send_request("POST", token(), "choice=" + choice,
                     {{"Content-Type", kUrlencoded}, {"Sec-Fetch-Site", "same-origin"}, {"Origin", "null"}});
    EXPECT_EQ(response.status, 303);
    EXPECT_THAT(response.headers, testing::Contains(testing::Pair("Location", token())));
  }
  void list(const std::string& pattern, DoNotSendReason reason, std::optional<UtcMillis> expires_at = {}) {
    store::DoNotSendEntry entry;
    entry.pattern = pattern;
    entry.expires_at = expires_at;
    entry.reason = reason;
    entry.added_by = "root";
    ASSERT_EQ(store_->do_not_send.add(std::span(&entry, 1), {}), 1);
  }
  std::optional<DoNotSendReason> reason_of(const std::string& pattern) {
    const auto entries = store_->do_not_send.find(std::span(&pattern, 1), kNow);
    return entries.empty() ? std::nullopt : std::optional(entries.begin()->second.reason);
  }
  std::vector<std::string> listed() { return store_->do_not_send.patterns({}); }
  void readdress(const std::string& email) {
    ASSERT_EQ(sync::resend(*store_, {gift_, email, "root"}, kNow).kind, sync::ActionResult::Kind::done);
  }

  tests::TemporaryStore store_;
  const sync::LinkSigner signer_{std::string(32, 'k')};
  const sync::GiftLinks links_{"https://gifts.example", signer_};
  TransactionId gift_;
  daemon::GroupCommitWriter writer_{store_->urgent_writes};
  GiftPageHandler handler_{
      *store_, writer_, links_, content::make_branding("", "#0a6650"),
      GiftPageOptions{.base_url = "https://gifts.example", .clock = [] { return kNow; }}};
};

// PAGE-5
TEST_F(StopPage, ReadingListsNoAddress) {
  for (const std::string method : {"GET", "HEAD"})
    EXPECT_EQ(send_request(method, token(), kOneClick).status, 200);
  EXPECT_THAT(listed(), IsEmpty());
  EXPECT_THAT(page(), AllOf(HasSubstr("<h1>Do not send me gifts</h1>"),
                            HasSubstr("your address at <bdi>example.com</bdi>"),
                            HasSubstr(R"(<input type="hidden" name="choice" value="stop">)")));
}

TEST_F(StopPage, ShowsNeitherTheGiftNorAnotherLinkNorTheWholeAddress) {
  for (const char* choice : {"stop", "allow"}) {
    const std::string body = page();
    for (const std::string& hidden :
         {std::string("p0@"), std::string("Coffee"), std::string("sam@"), std::string("href="),
          std::string("<script"), token(LinkKind::redeem), token(LinkKind::donate), token(LinkKind::view)})
      EXPECT_THAT(body, Not(HasSubstr(hidden)));
    press(choice);
  }
}

TEST_F(StopPage, HasTheHeadersOfTheOtherPages) {
  const http::HttpResponse response = send_request("GET", token());
  for (const auto& header : private_headers()) EXPECT_THAT(response.headers, testing::Contains(header));
  EXPECT_THAT(response.headers, testing::Contains(testing::Pair(
                                    "Content-Security-Policy",
                                    AllOf(HasSubstr("form-action 'self'"), Not(HasSubstr("script-src"))))));
}

TEST_F(StopPage, TheButtonListsTheAddressAndTheGiftStays) {
  press("stop");
  const std::string pattern = "p0@example.com";
  const auto entries = store_->do_not_send.find(std::span(&pattern, 1), kNow);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries.begin()->second.reason, DoNotSendReason::opted_out);
  EXPECT_EQ(entries.begin()->second.transaction, gift_);
  EXPECT_EQ(entries.begin()->second.added_by, sync::kRecipientActor);
  EXPECT_EQ(entries.begin()->second.expires_at, std::nullopt);
  EXPECT_THAT(page(), AllOf(HasSubstr("<h1>You get no more gifts</h1>"),
                            HasSubstr(R"(<input type="hidden" name="choice" value="allow">)"),
                            HasSubstr("Allow gifts again</button>")));
  press("stop");
  EXPECT_THAT(listed(), ElementsAre(pattern)) << "a second time changes nothing";
  EXPECT_EQ(send_request("POST", token(LinkKind::redeem), "choice=accept").status, 303);
  EXPECT_THAT(send_request("GET", token(LinkKind::redeem)).body, HasSubstr("has been accepted"));
}

TEST_F(StopPage, AllowingAgainRemovesThisWishAlone) {
  list("example.com", DoNotSendReason::opted_out);
  list("other@example.com", DoNotSendReason::opted_out);
  press("stop");
  EXPECT_THAT(reason_of("p0@example.com"), Optional(DoNotSendReason::opted_out));
  press("allow");
  EXPECT_THAT(listed(), testing::UnorderedElementsAre("example.com", "other@example.com"));
  EXPECT_THAT(page(), HasSubstr(R"(name="choice" value="stop")"));
  list("p0@example.com", DoNotSendReason::blocked);
  press("allow");
  EXPECT_THAT(reason_of("p0@example.com"), Optional(DoNotSendReason::blocked)) << "an admin's entry";
  EXPECT_THAT(page(), AllOf(HasSubstr("You get no more gifts"), Not(HasSubstr("<form"))));
}

TEST_F(StopPage, AnEntryThatEndsLeavesTheButtonAndTheWishOutlivesIt) {
  for (const DoNotSendReason reason : {DoNotSendReason::opted_out, DoNotSendReason::blocked}) {
    list("p0@example.com", reason, kNow + kDayMillis);
    EXPECT_THAT(page(), HasSubstr(R"(name="choice" value="stop")")) << to_word(reason);
    press("stop");
    EXPECT_THAT(page(), HasSubstr("You get no more gifts")) << to_word(reason);
    const auto entries = store_->do_not_send.entries_of("p0@example.com");
    EXPECT_THAT(entries, testing::Contains(AllOf(
                             testing::Field(&store::DoNotSendEntry::reason, DoNotSendReason::opted_out),
                             testing::Field(&store::DoNotSendEntry::expires_at, testing::Eq(std::nullopt)))));
    press("allow");
  }
}

TEST_F(StopPage, TheWishIsApartFromABounce) {
  list("p0@example.com", DoNotSendReason::bounced);
  EXPECT_THAT(page(), HasSubstr(R"(name="choice" value="stop")"));
  press("allow");
  EXPECT_THAT(reason_of("p0@example.com"), Optional(DoNotSendReason::bounced)) << "no wish of the recipient";
  press("stop");
  EXPECT_THAT(reason_of("p0@example.com"), Optional(DoNotSendReason::opted_out));
  press("allow");
  EXPECT_THAT(reason_of("p0@example.com"), Optional(DoNotSendReason::bounced)) << "its own entry stays";
}

TEST_F(StopPage, AComplaintStopsGiftsAndThePageDoesNotOfferToAllowThem) {
  const auto says_whom_to_ask =
      AllOf(HasSubstr("<h1>You get no more gifts</h1>"), HasSubstr("please ask the person who sent you one"),
            Not(HasSubstr("<form")));
  list("p0@example.com", DoNotSendReason::complained);
  EXPECT_THAT(page(), says_whom_to_ask);
  EXPECT_EQ(send_request("POST", token(), kOneClick).status, 200);
  EXPECT_THAT(reason_of("p0@example.com"), Optional(DoNotSendReason::opted_out)) << "the wish is kept, too";
  EXPECT_THAT(page(), says_whom_to_ask) << "without the wish the complaint would still count";
  press("allow");
  EXPECT_THAT(reason_of("p0@example.com"), Optional(DoNotSendReason::complained));
  EXPECT_THAT(page(), says_whom_to_ask);
}

// PAGE-12
TEST_F(StopPage, AMailboxProviderListsTheAddressWithOneClick) {
  const std::string multipart =
      "--xyz\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--xyz--\r\n";
  for (const auto& [type, body] : {std::pair(std::string(kUrlencoded), std::string(kOneClick)),
                                   std::pair(std::string("multipart/form-data; boundary=xyz"), multipart)}) {
    for (int call = 0; call < 2; ++call) {
      const http::HttpResponse response = send_request("POST", token(), body, {{"Content-Type", type}});
      EXPECT_EQ(response.status, 200) << type;
      for (const auto& [name, value] : response.headers) EXPECT_NE(name, "Location");
      EXPECT_THAT(reason_of("p0@example.com"), Optional(DoNotSendReason::opted_out)) << type;
    }
    press("allow");
  }
}

TEST_F(StopPage, APostWithoutAWishListsNoAddress) {
  for (const std::string body : {"", "choice=opened", "choice=accept", "choice=STOP", "List-Unsubscribe=",
                                 "One-Click", "One-Click=List-Unsubscribe", "choice=%zz", "stop"}) {
    EXPECT_EQ(send_request("POST", token(), body).status, 303) << body;
    EXPECT_THAT(listed(), IsEmpty()) << body;
  }
  EXPECT_THAT(store_->changes.history(gift_), IsEmpty()) << "the stop link neither opens nor claims the gift";
  EXPECT_EQ(send_request("PUT", token()).status, 405);
  for (const LinkKind kind : {LinkKind::redeem, LinkKind::donate, LinkKind::view}) {
    send_request("POST", token(kind), "choice=stop");
    send_request("POST", token(kind), kOneClick);
  }
  EXPECT_THAT(listed(), IsEmpty()) << "by another link";
}

// PAGE-12
TEST_F(StopPage, APostFromAnotherSiteIsRefused) {
  for (const Headers& headers :
       {Headers{{"Sec-Fetch-Site", "cross-site"}}, Headers{{"Origin", "https://evil.example"}}}) {
    EXPECT_EQ(send_request("POST", token(), "choice=stop", headers).status, 403);
    EXPECT_EQ(send_request("POST", token(), kOneClick, headers).status, 403);
  }
  EXPECT_THAT(listed(), IsEmpty());
}

// PAGE-3
TEST_F(StopPage, ALinkOfAFormerAddressSaysWhomToAsk) {
  const std::string former = token();
  readdress("bea@example.org");
  EXPECT_NE(token(), former);
  for (const http::HttpResponse& response :
       {send_request("GET", former), send_request("POST", former, "choice=stop"),
        send_request("POST", former, kOneClick), send_request("POST", former, "choice=allow")}) {
    EXPECT_EQ(response.status, 410);
    EXPECT_THAT(response.body, AllOf(HasSubstr("please ask the person who sent it"), Not(HasSubstr("bea@")),
                                     Not(HasSubstr("example.org"))));
  }
  EXPECT_THAT(listed(), IsEmpty());
  press("stop");
  EXPECT_THAT(listed(), ElementsAre("bea@example.org"));
  readdress("P0@Example.com");
  EXPECT_EQ(token(), former) << "the link is the address's";
}

// PAGE-3
TEST_F(StopPage, ALinkOfAnErasedPersonSaysSoWithoutTheAddress) {
  const std::string address = "p0@example.com";
  const std::string link = token();
  store_->do_not_send.set_erased_address_key(std::string(32, 'k'));
  const auto erased =
      store_->person_traces.erase_gifts(std::span(&gift_, 1), store_->do_not_send.mark_of(address));
  ASSERT_THAT(erased, ElementsAre(gift_));
  const auto expect_pages = [&](int status, const std::string& text) {
    for (const http::HttpResponse& response :
         {send_request("GET", link), send_request("POST", link, "choice=stop"),
          send_request("POST", link, "choice=allow"), send_request("POST", link, kOneClick)}) {
      EXPECT_EQ(response.status, status);
      EXPECT_THAT(response.body, AllOf(HasSubstr("This person&#39;s data was erased"), HasSubstr(text),
                                       Not(HasSubstr("example.com")), Not(HasSubstr("erased:"))));
    }
  };
  expect_pages(410, "please ask the person who sent it");
  EXPECT_THAT(listed(), IsEmpty());
  list(address, DoNotSendReason::opted_out);
  store_->person_traces.erase_entries(address, store_->do_not_send.hash_of(address));
  expect_pages(200, "no gifts are sent to that address");
  EXPECT_THAT(listed(), ElementsAre(store_->do_not_send.mark_of(address))) << "allowing again is not offered";
}

// PAGE-3
TEST_F(StopPage, TheLinkOfACancelledGiftStaysValid) {
  const std::string redeem = token(LinkKind::redeem);
  const std::string stop = token();
  ASSERT_EQ(sync::cancel(store_->changes, store_->lifecycle, gift_, "root", kNow).kind,
            sync::ActionResult::Kind::done);
  EXPECT_EQ(send_request("GET", redeem).status, 410);
  EXPECT_EQ(send_request("POST", stop, kOneClick).status, 200);
  EXPECT_THAT(listed(), ElementsAre("p0@example.com"));
}

// CON-16
TEST_F(StopPage, LogAndAuditHaveNoAddress) {
  tests::CapturedLog captured;
  press("stop");
  press("stop");
  press("allow");
  press("allow");
  const std::string number = std::to_string(gift_.value);
  EXPECT_THAT(captured.take_lines(),
              ElementsAre("info recipient wants no gifts gift=" + number + " client=192.0.2.1",
                          "info recipient allows gifts again gift=" + number + " client=192.0.2.1"));
  const auto events = store_->audit.list(store::Viewer::of_command_line(), {}, 10);
  ASSERT_EQ(events.size(), 2u) << "one for each change";
  EXPECT_EQ(events[0].action, "do-not-send.allow-again");
  EXPECT_EQ(events[1].action, "do-not-send.opt-out");
  for (const store::AuditEvent& event : events) {
    EXPECT_EQ(event.actor_kind, store::ActorKind::system);
    EXPECT_EQ(event.actor, sync::kRecipientActor);
    EXPECT_EQ(event.object_kind + " " + event.object_id, "do-not-send ***@example.com");
    EXPECT_THAT(event.detail, HasSubstr("by gift " + number));
  }
}

TEST_F(StopPage, AllowingAgainIsLimitedAndStoppingIsNot) {
  for (int i = 0; i < GiftPageHandler::kMaxAllowed; ++i)
    for (const char* choice : {"stop", "stop", "allow"}) press(choice);
  press("stop");
  const http::HttpResponse refused = send_request("POST", token(), "choice=allow");
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.headers, testing::Contains(testing::Pair("Retry-After", "3600")));
  EXPECT_THAT(refused.body, HasSubstr("You get no more gifts"));
  EXPECT_THAT(reason_of("p0@example.com"), Optional(DoNotSendReason::opted_out));
  press("stop");
  EXPECT_EQ(send_request("POST", token(), kOneClick).status, 200);
  const auto events = store_->audit.list(store::Viewer::of_command_line(), {}, 100);
  EXPECT_EQ(static_cast<std::int64_t>(events.size()), 2 * GiftPageHandler::kMaxAllowed + 1)
      << "none of a repeat";
}

TEST_F(StopPage, AWishReplacesAnAdminsEntryThatEnds) {
  store::DoNotSendEntry entry;
  entry.pattern = "p0@example.com";
  entry.reason = DoNotSendReason::opted_out;
  entry.added_by = "root";
  entry.expires_at = kNow + kDayMillis;
  ASSERT_EQ(store_->do_not_send.add(std::span(&entry, 1), {}), 1);
  press("stop");
  EXPECT_EQ(store_->do_not_send.entries_of(entry.pattern).at(0).expires_at, std::nullopt);
}

TEST_F(StopPage, UsesTheLanguageOfTheBrowser) {
  EXPECT_THAT(page({{"Accept-Language", "de"}}), HasSubstr("Möchten Sie keine Geschenke mehr?"));
  EXPECT_THAT(page({{"Accept-Language", "es"}}), HasSubstr("No me envíen regalos"));
}

TEST_F(StopPage, GiftPagesLeadToItUnlessSwitchedOff) {
  const std::string link = "<a href=\"https://gifts.example/g/" + token() + "\">Do not send me gifts</a>";
  for (const LinkKind kind : {LinkKind::redeem, LinkKind::donate})
    EXPECT_THAT(send_request("GET", token(kind)).body, HasSubstr(link));
  EXPECT_THAT(send_request("GET", token(LinkKind::view)).body, Not(HasSubstr(token())));
  send_request("POST", token(LinkKind::redeem), "choice=accept");
  for (const LinkKind kind : {LinkKind::redeem, LinkKind::donate})
    EXPECT_THAT(send_request("GET", token(kind)).body, HasSubstr(link)) << "once decided";
  GiftPageHandler off(
      *store_, writer_, links_, content::make_branding("", "#0a6650"),
      {.base_url = "https://gifts.example", .clock = [] { return kNow; }, .has_stop_link = false});
  http::HttpRequest request;
  request.method = "GET";
  EXPECT_THAT(off.handle(request, token(LinkKind::redeem)).wait().body, Not(HasSubstr(token())));
  request.method = "POST";
  request.body = kOneClick;
  EXPECT_EQ(off.handle(request, token()).wait().status, 200) << "links that were mailed keep their promise";
  EXPECT_THAT(listed(), ElementsAre("p0@example.com"));
}

}  // namespace
}  // namespace giftsync::pages
