// One page: what it says, escapes and allows.
#include "daemon/pages/gift_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <functional>
#include <map>

#include "daemon/pages/page_answer.h"

namespace giftsync::daemon {
namespace {

using schema::Status;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

const Words& kEnglish = words_in("en");
const PageFace kFace = page_face("Edge & Sons", "#0a6650");

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
  facts.history = {{Status::sent, {1'700'000'000'123}}, {status, {1'700'000'060'000}}};
  return facts;
}

HttpResponse page_of(const GiftPageFacts& facts) {
  return gift_page(facts, kEnglish, kFace);
}
std::string body_of(const GiftPageFacts& facts) {
  return page_of(facts).body;
}

std::string header_of(const HttpResponse& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "(none)";
}
std::string policy_of(const HttpResponse& response) {
  return header_of(response, "Content-Security-Policy");
}

std::string base64_sha256(std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  EVP_Digest(text.data(), text.size(), digest, &length, EVP_sha256(), nullptr);
  unsigned char base64[64];
  return {reinterpret_cast<char*>(base64),
          static_cast<std::size_t>(EVP_EncodeBlock(base64, digest, static_cast<int>(length)))};
}

std::string element(const std::string& body, const std::string& name) {
  const std::size_t begin = body.find("<" + name + ">") + name.size() + 2;
  return body.substr(begin, body.find("</" + name + ">") - begin);
}

std::size_t count_of(const std::string& part, const std::string& text) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

const std::vector<std::pair<std::string, std::function<HttpResponse()>>> kAllPages{
    {"redeem", [] { return page_of(facts_of(GiftPageKind::redeem)); }},
    {"donate", [] { return page_of(facts_of(GiftPageKind::donate)); }},
    {"view", [] { return page_of(facts_of(GiftPageKind::view)); }},
    {"accepted", [] { return page_of(facts_of(GiftPageKind::redeem, Status::redeemed)); }},
    {"donated", [] { return page_of(facts_of(GiftPageKind::donate, Status::donated)); }},
    {"expired", [] { return page_of(facts_of(GiftPageKind::redeem, Status::expired)); }},
    {"taken back", [] { return page_of(facts_of(GiftPageKind::donate, Status::refunded)); }},
    {"unknown", [] { return unknown_link_page(kEnglish, kFace); }},
    {"old", [] { return old_link_page(kEnglish, kFace); }},
    {"slow", [] { return slow_down_page(kEnglish, kFace, 7); }},
    {"elsewhere", [] { return from_elsewhere_page(kEnglish, kFace, "https://gifts.example/g/x"); }}};

TEST(GiftPage, StatusTellsTheLinksApart) {
  EXPECT_EQ(page_of(facts_of()).status, 200);
  EXPECT_EQ(unknown_link_page(kEnglish, kFace).status, 404);
  EXPECT_EQ(old_link_page(kEnglish, kFace).status, 410);
  EXPECT_EQ(slow_down_page(kEnglish, kFace, 7).status, 429);
  EXPECT_EQ(header_of(slow_down_page(kEnglish, kFace, 7), "Retry-After"), "7");
  EXPECT_EQ(from_elsewhere_page(kEnglish, kFace, "x").status, 403);
  EXPECT_THAT(unknown_link_page(kEnglish, kFace).body, HasSubstr("not known"));
  EXPECT_THAT(old_link_page(kEnglish, kFace).body, HasSubstr("no longer valid"));
}

TEST(GiftPage, ShowsTheGift) {
  for (const GiftPageKind kind : {GiftPageKind::redeem, GiftPageKind::donate, GiftPageKind::view}) {
    const std::string body = body_of(facts_of(kind));
    for (const std::string part :
         {"Ada Lovelace", "Rose Gonzalez", "Coffee for two", "Two hot drinks.", "Edge &amp; Sons"}) {
      EXPECT_THAT(body, HasSubstr(part));
    }
    EXPECT_THAT(body, HasSubstr(">Dear Rose,\r\n\r\nthank you!\nAda<"))
        << "line ends are kept, nothing is put around them";
  }
}

TEST(GiftPage, EscapesWhatPeopleWrote) {
  const std::string evil = "</title><script>alert('1')</script>\" onx=\"{{style}} {{{style}}} {sender} &amp;";
  const std::string escaped =
      "&lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot; onx=&quot;{{style}} {{{style}}} "
      "{sender} &amp;amp;";
  GiftPageFacts facts = facts_of(GiftPageKind::view, Status::donated);
  facts.sender_name = facts.recipient_name = facts.recipient_email = evil;
  facts.message = facts.item_name = facts.item_description = evil;
  facts.donation = schema::Donation{evil, "https://c.example/\"><script>"};
  const std::string body = body_of(facts);
  EXPECT_THAT(body, Not(HasSubstr("<script")));
  EXPECT_THAT(body, Not(HasSubstr("onx=\"")));
  EXPECT_EQ(count_of(escaped, body), 7u)
      << "heading, recipient, message, item, description, charity, address";
  facts.kind = GiftPageKind::redeem;
  facts.status = Status::redeemed;
  facts.code = facts.redemption_text = evil;
  facts.redemption_link = "https://g.example/\"><script>";
  EXPECT_THAT(body_of(facts), AllOf(Not(HasSubstr("<script")), Not(HasSubstr("onx=\""))));
  EXPECT_THAT(body_of(facts), HasSubstr("href=\"https://g.example/&quot;&gt;&lt;script&gt;\""));
  GiftPageFacts form = facts_of(GiftPageKind::donate);
  form.charities = {{evil, ""}, {"Other", ""}};
  form.other_url = "https://g.example/\"><script>";
  EXPECT_EQ(count_of("<script", body_of(form)), 1u) << "the page's own";
  EXPECT_THAT(body_of(form), Not(HasSubstr("onx=\"")));
}

TEST(GiftPage, EachLinkHasOneFormAndALinkToTheOtherChoice) {
  const std::string redeem = body_of(facts_of(GiftPageKind::redeem));
  EXPECT_EQ(count_of("<form method=\"post\">", redeem), 1u);
  EXPECT_THAT(redeem, HasSubstr(R"(<input type="hidden" name="choice" value="accept">)"));
  EXPECT_THAT(redeem, HasSubstr("<a href=\"https://gifts.example/other/abc\">Donate its value instead</a>"));
  const std::string donate = body_of(facts_of(GiftPageKind::donate));
  EXPECT_EQ(count_of("<form method=\"post\">", donate), 1u);
  EXPECT_THAT(donate, HasSubstr(R"(<input type="hidden" name="choice" value="donate">)"));
  EXPECT_THAT(donate,
              HasSubstr("<a href=\"https://gifts.example/other/abc\">Accept the gift itself instead</a>"));
  EXPECT_THAT(donate, HasSubstr("The sender&#39;s company chooses the charity."));
}

TEST(GiftPage, OneCharityIsNamedAndOfSeveralOneIsChosen) {
  GiftPageFacts facts = facts_of(GiftPageKind::donate);
  facts.charities = {{"Red Cross", "https://www.redcross.example/help"}};
  const std::string one = body_of(facts);
  EXPECT_THAT(one, HasSubstr("It goes to <bdi>Red Cross</bdi>."));
  EXPECT_THAT(one, HasSubstr(R"(<input type="hidden" name="charity" value="Red Cross">)"));
  EXPECT_THAT(one, HasSubstr(">redcross.example</a>"));
  facts.charities.push_back({"Sea Rescue", ""});
  const std::string two = body_of(facts);
  EXPECT_EQ(count_of("type=\"radio\"", two), 2u);
  EXPECT_THAT(two, HasSubstr("<legend>Which charity should it go to?</legend>"));
  EXPECT_THAT(two, Not(HasSubstr("<p role=\"alert\">")));
  facts.news = GiftPageNews::choose_first;
  EXPECT_THAT(body_of(facts), HasSubstr("<p role=\"alert\">Please choose a charity first.</p>"));
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
      EXPECT_THAT(body, Not(HasSubstr("<form")));
      EXPECT_THAT(body, Not(HasSubstr("<script")));
    }
  }
}

TEST(GiftPage, AGiftThatWasRefundedSinceItExpiredWasNotTakenBack) {
  GiftPageFacts facts = facts_of(GiftPageKind::redeem, Status::refunded);
  EXPECT_THAT(body_of(facts), HasSubstr("was taken back")) << "it was cancelled";
  facts.history = {{Status::sent, {1'700'000'000'123}},
                   {Status::expired, {1'700'000'060'000}},
                   {Status::refunded, {1'700'000'060'000}}};
  for (const GiftPageKind kind : {GiftPageKind::redeem, GiftPageKind::donate}) {
    facts.kind = kind;
    EXPECT_THAT(body_of(facts), HasSubstr("has expired"));
    EXPECT_THAT(body_of(facts), Not(HasSubstr("was taken back")));
  }
}

TEST(GiftPage, TellsHowToEnjoyWhatWasAccepted) {
  GiftPageFacts facts = facts_of(GiftPageKind::redeem, Status::redeemed);
  EXPECT_THAT(body_of(facts), HasSubstr("There is nothing more to do."));
  facts.redemption_text = "Show this page\nat the counter.";
  facts.redemption_link = "https://shop.example/redeem";
  facts.code = "ABCD-1234";
  facts.news = GiftPageNews::thanks;
  const std::string body = body_of(facts);
  EXPECT_THAT(body, HasSubstr("<h1>Thank you! The gift is yours.</h1>"));
  EXPECT_THAT(body, HasSubstr("Show this page\nat the counter."));
  EXPECT_THAT(body, HasSubstr("href=\"https://shop.example/redeem\""));
  EXPECT_THAT(body, HasSubstr("<bdi>ABCD-1234</bdi>"));
  EXPECT_THAT(body, Not(HasSubstr("There is nothing more to do.")));
}

TEST(GiftPage, TellsWhereADonationGoes) {
  GiftPageFacts facts = facts_of(GiftPageKind::donate, Status::donated);
  EXPECT_THAT(body_of(facts), HasSubstr("a charity that the sender&#39;s company chooses"));
  facts.donation = schema::Donation{"Red Cross", "https://www.redcross.example"};
  EXPECT_THAT(body_of(facts), HasSubstr("Its value goes to <bdi>Red Cross</bdi>."));
  EXPECT_THAT(body_of(facts), HasSubstr("It was donated on <bdi>14 November 2023, 22:14 UTC</bdi>."));
  facts.kind = GiftPageKind::view;
  EXPECT_THAT(body_of(facts), HasSubstr("<dt>Charity</dt><dd><bdi>Red Cross</bdi></dd>"));
}

TEST(GiftPage, SaysUntilWhenAndThatNoneIsLeft) {
  GiftPageFacts facts = facts_of();
  facts.until = schema::UtcMillis{1'795'264'267'042};
  EXPECT_THAT(body_of(facts), HasSubstr("You can decide until <bdi>21 November 2026, 12:31 UTC</bdi>."));
  EXPECT_THAT(gift_page(facts, words_in("de"), kFace).body,
              HasSubstr("Sie können sich bis <bdi>21. November 2026, 12:31 Uhr UTC</bdi> entscheiden."));
  facts.news = GiftPageNews::later;
  EXPECT_THAT(body_of(facts), AllOf(HasSubstr("Your gift is kept for you"), HasSubstr("<form")));
}

TEST(GiftPage, OnlyTheViewPageShowsStatusAndAddress) {
  const std::string view = body_of(facts_of(GiftPageKind::view));
  EXPECT_THAT(view, HasSubstr("rose@edge.example"));
  EXPECT_THAT(view, HasSubstr("4711"));
  EXPECT_THAT(view,
              HasSubstr(R"(<dt>Sent</dt><dd><time datetime="2023-11-14T22:13:20.123Z"><bdi>14 November )"
                        R"(2023, 22:13 UTC</bdi></time>)"));
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
  const std::string body = gift_page(facts, kEnglish, page_face("", "#0a6650")).body;
  EXPECT_THAT(body, HasSubstr("<bdi>Someone</bdi> sent you a gift"));
  EXPECT_THAT(body, Not(HasSubstr("For ")));
  EXPECT_THAT(body, Not(HasSubstr("href=")));
  EXPECT_THAT(body, Not(HasSubstr("<header")));
  EXPECT_THAT(body, Not(ContainsRegex("<(p|h2|dd|bdi)( [^>]*)?>[ \n]*</")));
}

TEST(GiftPage, LoadsNothingAndRunsOnlyItsOwnScript) {
  for (const auto& [name, page] : kAllPages) {
    SCOPED_TRACE(name);
    const std::string body = page().body;
    EXPECT_THAT(body, Not(ContainsRegex("<(link|img|iframe|object|base)[ >]")));
    EXPECT_THAT(body, Not(ContainsRegex("[ \n](src|style|on[a-z]+)=|url[(]|@import")));
    EXPECT_THAT(body, Not(HasSubstr("{{"))) << "a tag of the template was left";
    EXPECT_LT(body.size(), 50'000u);
    const bool runs = body.find("<script") != std::string::npos;
    EXPECT_EQ(runs, body.find("<form") != std::string::npos)
        << "a person's presence matters before a decision";
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
    EXPECT_THAT(policy_of(answer), HasSubstr("default-src 'none'"));
    EXPECT_THAT(policy_of(answer), HasSubstr("frame-ancestors 'none'"));
    EXPECT_THAT(policy_of(answer), Not(HasSubstr("unsafe")));
    const bool has_form = answer.body.find("<form") != std::string::npos;
    EXPECT_THAT(policy_of(answer), HasSubstr(has_form ? "form-action 'self'" : "form-action 'none'"));
  }
}

TEST(GiftPage, ThePolicyAllowsExactlyItsOwnStyleSheetAndScript) {
  const HttpResponse answer = page_of(facts_of());
  const std::string style = element(answer.body, "style");
  EXPECT_THAT(style, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(policy_of(answer), HasSubstr("style-src 'sha256-" + base64_sha256(style) + "';"));
  EXPECT_THAT(policy_of(answer),
              HasSubstr("script-src 'sha256-" + base64_sha256(element(answer.body, "script")) + "';"));
  GiftPageFacts decided = facts_of(GiftPageKind::redeem, Status::redeemed);
  decided.picture = "https://cdn.example/a.jpg";
  const HttpResponse other = page_of(decided);
  EXPECT_THAT(policy_of(other),
              HasSubstr("script-src 'sha256-" + base64_sha256(element(other.body, "script")) + "';"))
      << "the picture's own alone";
  EXPECT_THAT(policy_of(page_of(facts_of(GiftPageKind::view))), Not(HasSubstr("script-src")));
}

TEST(GiftPage, AForeignPictureIsAllowedAlone) {
  GiftPageFacts facts = facts_of();
  facts.picture = "https://cdn.example:8443/a%20b/cup.jpg?w=640&h=427";
  const HttpResponse answer = page_of(facts);
  EXPECT_THAT(policy_of(answer), HasSubstr("img-src https://cdn.example:8443/a%20b/cup.jpg;"));
  EXPECT_THAT(answer.body, HasSubstr("src=\"https://cdn.example:8443/a%20b/cup.jpg?w=640&amp;h=427\" "
                                     "alt=\"Picture of Coffee for two\""));
  EXPECT_THAT(answer.body, HasSubstr("referrerpolicy=\"no-referrer\""));
  for (const std::string bad : {"", "http://cdn.example/a.jpg", "cup.jpg", "javascript:alert(1)", "https://",
                                "https:///a", "https://h/a; script-src *", "https://h/a b", "https://h/'a",
                                "https://*/a", "https://u@h/a", "https://h/\xC3\xA9", "https://?a"}) {
    facts.picture = bad;
    EXPECT_THAT(page_of(facts).body, Not(HasSubstr("<img"))) << bad;
    EXPECT_THAT(policy_of(page_of(facts)), Not(HasSubstr("img-src"))) << bad;
  }
}

TEST(GiftPage, ALogoIsServedByUs) {
  const PageFace face = page_face("Edge", "#0a6650", Logo{"bytes", "image/png", "logo-0123.png"});
  const HttpResponse answer = gift_page(facts_of(), kEnglish, face);
  EXPECT_THAT(answer.body, HasSubstr(R"(<img src="-/logo-0123.png" alt="Edge">)"));
  EXPECT_THAT(policy_of(answer), HasSubstr("img-src 'self';"));
}

}  // namespace
}  // namespace giftsync::daemon
