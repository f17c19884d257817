#include "daemon/pages/gift_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <functional>
#include <map>

#include "daemon/pages/gift_pages.h"
#include "tests/daemon/temporary_store.h"

namespace giftsync::daemon {
namespace {

using schema::Status;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

GiftPageFacts facts_of(GiftPageKind kind = GiftPageKind::redeem, Status status = Status::delivered) {
  GiftPageFacts facts;
  facts.kind = kind;
  facts.status = status;
  facts.sender_name = "Ada Lovelace";
  facts.recipient_name = "Rose Gonzalez";
  facts.recipient_email = "rose@edge.example";
  facts.message = "Dear Rose,\r\n\r\nthank you!\nAda";
  facts.item_name = "Coffee for two";
  facts.item_description = "Two hot drinks.";
  facts.other_url = "https://gifts.example/other/abc";
  facts.transaction = {4711};
  facts.history = {{Status::sent, {1'700'000'000'123}}, {Status::delivered, {1'700'000'060'000}}};
  return facts;
}

std::string body_of(const GiftPageFacts& facts) {
  return gift_page(facts).body;
}

std::string header_of(const HttpResponse& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "(none)";
}

std::string base64_sha256(std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  EVP_Digest(text.data(), text.size(), digest, &length, EVP_sha256(), nullptr);
  unsigned char base64[64];
  return {reinterpret_cast<char*>(base64),
          static_cast<std::size_t>(EVP_EncodeBlock(base64, digest, static_cast<int>(length)))};
}

const std::vector<std::pair<std::string, std::function<HttpResponse()>>> kAllPages{
    {"redeem", [] { return gift_page(facts_of(GiftPageKind::redeem)); }},
    {"donate", [] { return gift_page(facts_of(GiftPageKind::donate)); }},
    {"view", [] { return gift_page(facts_of(GiftPageKind::view)); }},
    {"unknown", unknown_link_page},
    {"old", old_link_page}};

TEST(GiftPage, StatusTellsTheLinksApart) {
  EXPECT_EQ(gift_page(facts_of()).status, 200);
  EXPECT_EQ(unknown_link_page().status, 404);
  EXPECT_EQ(old_link_page().status, 410);
  EXPECT_THAT(unknown_link_page().body, HasSubstr("not known"));
  EXPECT_THAT(old_link_page().body, HasSubstr("no longer valid"));
}

TEST(GiftPage, ShowsTheGift) {
  for (const GiftPageKind kind : {GiftPageKind::redeem, GiftPageKind::donate, GiftPageKind::view}) {
    const std::string body = body_of(facts_of(kind));
    for (const std::string part : {"Ada Lovelace", "Rose Gonzalez", "Coffee for two", "Two hot drinks."}) {
      EXPECT_THAT(body, HasSubstr(part));
    }
    EXPECT_THAT(body, HasSubstr(">Dear Rose,\r\n\r\nthank you!\nAda<"))
        << "line ends are kept, nothing is put around them";
  }
}

TEST(GiftPage, EscapesWhatPeopleWrote) {
  const std::string evil = "</title><script>alert('1')</script>\" onx=\"{{style}} {{{style}}} &amp;";
  const std::string escaped =
      "&lt;/title&gt;&lt;script&gt;alert(&apos;1&apos;)&lt;/script&gt;&quot; onx=&quot;{{style}} {{{style}}} "
      "&amp;amp;";
  GiftPageFacts facts = facts_of(GiftPageKind::view);
  facts.sender_name = facts.recipient_name = facts.recipient_email = evil;
  facts.message = facts.item_name = facts.item_description = evil;
  const std::string body = body_of(facts);
  EXPECT_THAT(body, Not(HasSubstr("<script")));
  EXPECT_THAT(body, Not(HasSubstr("onx=\"")));
  std::size_t times = 0;
  for (std::size_t at = body.find(escaped); at != std::string::npos; at = body.find(escaped, at + 1)) ++times;
  EXPECT_EQ(times, 7u) << "title, heading, recipient, message, item, description, address";
  GiftPageFacts link = facts_of();
  link.other_url = "https://g.example/\"><script>";
  EXPECT_THAT(body_of(link), HasSubstr("href=\"https://g.example/&quot;&gt;&lt;script&gt;\""));
}

TEST(GiftPage, SaysHonestlyWhatIsPossible) {
  const std::string redeem = body_of(facts_of(GiftPageKind::redeem));
  EXPECT_THAT(redeem, HasSubstr("Accepting it is not possible on this page yet"));
  EXPECT_THAT(redeem, HasSubstr("nothing is lost"));
  EXPECT_THAT(redeem, HasSubstr("href=\"https://gifts.example/other/abc\""));
  const std::string donate = body_of(facts_of(GiftPageKind::donate));
  EXPECT_THAT(donate, HasSubstr("Donating is not possible on this page yet"));
  EXPECT_THAT(donate, HasSubstr("href=\"https://gifts.example/other/abc\""));
}

TEST(GiftPage, ADecidedGiftOffersNothing) {
  const std::map<Status, std::string> words{{Status::redeemed, "has been accepted"},
                                            {Status::donated, "has been donated"},
                                            {Status::expired, "has expired"},
                                            {Status::refunded, "was taken back"}};
  for (const auto& [status, word] : words) {
    for (const GiftPageKind kind : {GiftPageKind::redeem, GiftPageKind::donate}) {
      const std::string body = body_of(facts_of(kind, status));
      EXPECT_THAT(body, HasSubstr(word));
      EXPECT_THAT(body, Not(HasSubstr("href=")));
      EXPECT_THAT(body, Not(HasSubstr("not possible on this page yet")));
    }
  }
}

TEST(GiftPage, OnlyTheViewPageShowsStatusAndAddress) {
  const std::string view = body_of(facts_of(GiftPageKind::view));
  EXPECT_THAT(view, HasSubstr("rose@edge.example"));
  EXPECT_THAT(view, HasSubstr("4711"));
  EXPECT_THAT(
      view, HasSubstr(R"(<time datetime="2023-11-14T22:13:20.123Z"><bdi>2023-11-14 22:13 UTC</bdi></time>)"));
  EXPECT_THAT(view, Not(HasSubstr("href="))) << "no choice is offered to the sender's colleagues";
  for (const GiftPageKind kind : {GiftPageKind::redeem, GiftPageKind::donate}) {
    const std::string body = body_of(facts_of(kind));
    EXPECT_THAT(body, Not(HasSubstr("rose@edge.example")));
    EXPECT_THAT(body, Not(HasSubstr("4711")));
    EXPECT_THAT(body, Not(HasSubstr("<dl")));
  }
}

TEST(GiftPage, MissingFactsLeaveNoHoles) {
  GiftPageFacts facts = facts_of();
  facts.sender_name = facts.recipient_name = facts.item_description = facts.other_url = "";
  const std::string body = body_of(facts);
  EXPECT_THAT(body, HasSubstr("<bdi>Someone</bdi> sent you a gift"));
  EXPECT_THAT(body, Not(HasSubstr("For ")));
  EXPECT_THAT(body, Not(HasSubstr("href=")));
  EXPECT_THAT(body, Not(ContainsRegex("<(p|h2|dd|bdi)( [^>]*)?>[ \n]*</")));
}

TEST(GiftPage, LoadsAndRunsNothing) {
  for (const auto& [name, page] : kAllPages) {
    SCOPED_TRACE(name);
    const std::string body = page().body;
    EXPECT_THAT(body, Not(ContainsRegex("<(script|link|img|iframe|object|form|base)[ >]")));
    EXPECT_THAT(body, Not(ContainsRegex("[ \n](src|style|on[a-z]+)=|url[(]|@import")));
    EXPECT_THAT(body, Not(HasSubstr("{{"))) << "a tag of the template was left";
  }
}

TEST(GiftPage, KeepsItselfToItself) {
  for (const auto& [name, page] : kAllPages) {
    SCOPED_TRACE(name);
    const HttpResponse answer = page();
    EXPECT_EQ(header_of(answer, "Content-Type"), "text/html; charset=utf-8");
    EXPECT_EQ(header_of(answer, "Cache-Control"), "no-store");
    EXPECT_EQ(header_of(answer, "Referrer-Policy"), "no-referrer");
    EXPECT_EQ(header_of(answer, "X-Content-Type-Options"), "nosniff");
    EXPECT_THAT(header_of(answer, "X-Robots-Tag"), HasSubstr("noindex"));
    const std::string policy = header_of(answer, "Content-Security-Policy");
    EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
    EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
    EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  }
}

TEST(GiftPage, ThePolicyAllowsExactlyItsOwnStyleSheet) {
  const HttpResponse answer = gift_page(facts_of());
  const std::size_t begin = answer.body.find("<style>") + 7;
  const std::string style = answer.body.substr(begin, answer.body.find("</style>") - begin);
  EXPECT_THAT(style, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(header_of(answer, "Content-Security-Policy"),
              HasSubstr("style-src 'sha256-" + base64_sha256(style) + "'"));
}

TEST(GiftPages, ThereIsNoneForAGiftThatWasSentElsewhere) {
  TemporaryStore store;
  const schema::TransactionId own = store.gifts(1).front();
  const schema::TransactionId external{9'000'000'001};
  store->sources.open("vendor", "vendor", {0});
  schema::SourceReport report;
  report.source = report.origin = "vendor";
  report.items.resize(1);
  report.items[0].gift.emplace();
  report.items[0].gift->id = external;
  ASSERT_EQ(store->sources.accept(report).gifts, 1u);
  const LinkSigner signer(std::string(32, 'k'));
  const GiftLinks links("https://gifts.example", signer);
  GiftPages pages(store->gifts, links);
  const auto link_of = [&](schema::TransactionId id) {
    return links.of_record(store->gifts.gifts(std::span(&id, 1)).front().transaction);
  };
  EXPECT_EQ(link_of(own), "https://gifts.example/g/" + signer.token(LinkKind::view, own, 0));
  EXPECT_EQ(link_of(external), "");
  for (const LinkKind kind : {LinkKind::redeem, LinkKind::donate, LinkKind::view}) {
    EXPECT_EQ(pages.answer({}, signer.token(kind, own, 0)).status, 200);
    EXPECT_EQ(pages.answer({}, signer.token(kind, external, 0)).status, 404);
  }
}

}  // namespace
}  // namespace giftsync::daemon
