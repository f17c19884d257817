// One page: its content, escaping and security policy.
#include "daemon/pages/gift_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <functional>
#include <map>

namespace giftsync::pages {
namespace {
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

const content::Messages& kEnglish = content::messages_in("en");
const content::Branding kFace = content::make_branding("Edge & Sons", "#0a6650");

GiftPageModel model_of(sync::LinkKind kind = sync::LinkKind::redeem, Status status = Status::delivered) {
  GiftPageModel model;
  model.kind = kind;
  model.status = status;
  model.sender_name = "Ada Lovelace";
  model.recipient_name = "Rose Gonzalez";
  model.recipient_email = "rose@edge.example";
  model.message = "Dear Rose,\r\n\r\nthank you!\nAda";
  model.item_name = "Coffee for two";
  model.item_description = "Two hot drinks.";
  model.other_url = "https://gifts.example/other/abc";
  model.transaction = {4711};
  model.history = {{Status::sent, {1'700'000'000'123}}, {status, {1'700'000'060'000}}};
  return model;
}

http::HttpResponse page_of(const GiftPageModel& model) {
  return gift_page(model, kEnglish, kFace);
}
std::string body_of(const GiftPageModel& model) {
  return page_of(model).body;
}

std::string header_of(const http::HttpResponse& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "(none)";
}
std::string policy_of(const http::HttpResponse& response) {
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

const std::vector<std::pair<std::string, std::function<http::HttpResponse()>>> kAllPages{
    {"redeem", [] { return page_of(model_of(sync::LinkKind::redeem)); }},
    {"donate", [] { return page_of(model_of(sync::LinkKind::donate)); }},
    {"view", [] { return page_of(model_of(sync::LinkKind::view)); }},
    {"accepted", [] { return page_of(model_of(sync::LinkKind::redeem, Status::redeemed)); }},
    {"donated", [] { return page_of(model_of(sync::LinkKind::donate, Status::donated)); }},
    {"expired", [] { return page_of(model_of(sync::LinkKind::redeem, Status::expired)); }},
    {"taken back", [] { return page_of(model_of(sync::LinkKind::donate, Status::refunded)); }},
    {"unknown", [] { return unknown_link_page(kEnglish, kFace); }},
    {"old", [] { return superseded_link_page(kEnglish, kFace); }},
    {"of a former address", [] { return former_address_page(kEnglish, kFace); }},
    {"of an erased person", [] { return erased_person_page(false, kEnglish, kFace); }},
    {"of an erased person who opted out", [] { return erased_person_page(true, kEnglish, kFace); }},
    {"slow", [] { return rate_limited_page(kEnglish, kFace, 7); }},
    {"changed often", [] { return changed_often_page(kEnglish, kFace, 7); }},
    {"elsewhere", [] { return cross_site_page(kEnglish, kFace, "https://gifts.example/g/x"); }}};

TEST(GiftPage, EachKindOfLinkHasItsStatusCode) {
  EXPECT_EQ(page_of(model_of()).status, 200);
  EXPECT_EQ(unknown_link_page(kEnglish, kFace).status, 404);
  EXPECT_EQ(superseded_link_page(kEnglish, kFace).status, 410);
  EXPECT_EQ(rate_limited_page(kEnglish, kFace, 7).status, 429);
  EXPECT_EQ(header_of(rate_limited_page(kEnglish, kFace, 7), "Retry-After"), "7");
  EXPECT_EQ(cross_site_page(kEnglish, kFace, "x").status, 403);
  EXPECT_THAT(unknown_link_page(kEnglish, kFace).body, HasSubstr("not known"));
  EXPECT_THAT(superseded_link_page(kEnglish, kFace).body, HasSubstr("no longer valid"));
}

TEST(GiftPage, ShowsTheGift) {
  for (const sync::LinkKind kind : {sync::LinkKind::redeem, sync::LinkKind::donate, sync::LinkKind::view}) {
    const std::string body = body_of(model_of(kind));
    for (const std::string part :
         {"Ada Lovelace", "Rose Gonzalez", "Coffee for two", "Two hot drinks.", "Edge &amp; Sons"}) {
      EXPECT_THAT(body, HasSubstr(part));
    }
    EXPECT_THAT(body, HasSubstr(">Dear Rose,\r\n\r\nthank you!\nAda<"))
        << "line ends are kept without added white space";
  }
}

TEST(GiftPage, EscapesUserText) {
  const std::string evil = "</title><script>alert('1')</script>\" onx=\"{{style}} {{{style}}} {sender} &amp;";
  const std::string escaped =
      "&lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot; onx=&quot;{{style}} {{{style}}} "
      "{sender} &amp;amp;";
  GiftPageModel model = model_of(sync::LinkKind::view, Status::donated);
  model.sender_name = model.recipient_name = model.recipient_email = evil;
  model.message = model.item_name = model.item_description = evil;
  model.donation = store::Donation{evil, "https://c.example/\"><script>"};
  const std::string body = body_of(model);
  EXPECT_THAT(body, Not(HasSubstr("<script")));
  EXPECT_THAT(body, Not(HasSubstr("onx=\"")));
  EXPECT_EQ(count_of(escaped, body), 7u)
      << "heading, recipient, message, item, description, charity, address";
  model.kind = sync::LinkKind::redeem;
  model.status = Status::redeemed;
  model.code = model.redemption_text = evil;
  model.redemption_link = "https://g.example/\"><script>";
  EXPECT_THAT(body_of(model), AllOf(Not(HasSubstr("<script")), Not(HasSubstr("onx=\""))));
  EXPECT_THAT(body_of(model), HasSubstr("href=\"https://g.example/&quot;&gt;&lt;script&gt;\""));
  GiftPageModel form = model_of(sync::LinkKind::donate);
  form.charities = {{evil, ""}, {"Other", ""}};
  form.other_url = "https://g.example/\"><script>";
  EXPECT_EQ(count_of("<script", body_of(form)), 1u) << "only the page's own script";
  EXPECT_THAT(body_of(form), Not(HasSubstr("onx=\"")));
}

// PAGE-9
TEST(GiftPage, EachLinkHasOneFormAndALinkToTheOtherChoice) {
  const std::string redeem = body_of(model_of(sync::LinkKind::redeem));
  EXPECT_EQ(count_of("<form method=\"post\">", redeem), 1u);
  EXPECT_THAT(redeem, HasSubstr(R"(<input type="hidden" name="choice" value="accept">)"));
  EXPECT_THAT(redeem, HasSubstr("<a href=\"https://gifts.example/other/abc\">Donate its value instead</a>"));
  const std::string donate = body_of(model_of(sync::LinkKind::donate));
  EXPECT_EQ(count_of("<form method=\"post\">", donate), 1u);
  EXPECT_THAT(donate, HasSubstr(R"(<input type="hidden" name="choice" value="donate">)"));
  EXPECT_THAT(donate,
              HasSubstr("<a href=\"https://gifts.example/other/abc\">Accept the gift itself instead</a>"));
  EXPECT_THAT(donate, HasSubstr("The sender&#39;s company chooses the charity."));
}

TEST(GiftPage, ShowsOneCharityOrAChoiceOfSeveral) {
  GiftPageModel model = model_of(sync::LinkKind::donate);
  model.charities = {{"Red Cross", "https://www.redcross.example/help"}};
  const std::string one = body_of(model);
  EXPECT_THAT(one, HasSubstr("It goes to <bdi>Red Cross</bdi>."));
  EXPECT_THAT(one, HasSubstr(R"(<input type="hidden" name="charity" value="Red Cross">)"));
  EXPECT_THAT(one, HasSubstr(">redcross.example</a>"));
  model.charities.push_back({"Sea Rescue", ""});
  const std::string two = body_of(model);
  EXPECT_EQ(count_of("type=\"radio\"", two), 2u);
  EXPECT_THAT(two, HasSubstr("<legend>Which charity should it go to?</legend>"));
  EXPECT_THAT(two, Not(HasSubstr("<p role=\"alert\">")));
  model.notice = PageNotice::charity_missing;
  EXPECT_THAT(body_of(model), HasSubstr("<p role=\"alert\">Please choose a charity first.</p>"));
}

TEST(GiftPage, ADecidedGiftHasNoForm) {
  const std::map<Status, std::string> messages{{Status::redeemed, "has been accepted"},
                                               {Status::donated, "has been donated"},
                                               {Status::expired, "has expired"},
                                               {Status::refunded, "was taken back"}};
  for (const auto& [status, text] : messages) {
    for (const sync::LinkKind kind : {sync::LinkKind::redeem, sync::LinkKind::donate}) {
      const std::string body = body_of(model_of(kind, status));
      EXPECT_THAT(body, HasSubstr(text));
      EXPECT_THAT(body, Not(HasSubstr("<form")));
      EXPECT_THAT(body, Not(HasSubstr("<script")));
    }
  }
}

TEST(GiftPage, ARefundAfterExpiryIsShownAsExpired) {
  GiftPageModel model = model_of(sync::LinkKind::redeem, Status::refunded);
  EXPECT_THAT(body_of(model), HasSubstr("was taken back")) << "it was cancelled";
  model.history = {{Status::sent, {1'700'000'000'123}},
                   {Status::expired, {1'700'000'060'000}},
                   {Status::refunded, {1'700'000'060'000}}};
  for (const sync::LinkKind kind : {sync::LinkKind::redeem, sync::LinkKind::donate}) {
    model.kind = kind;
    EXPECT_THAT(body_of(model), HasSubstr("has expired"));
    EXPECT_THAT(body_of(model), Not(HasSubstr("was taken back")));
  }
}

// PAGE-16
TEST(GiftPage, ShowsRedemptionInstructionsOnceAccepted) {
  GiftPageModel model = model_of(sync::LinkKind::redeem, Status::redeemed);
  EXPECT_THAT(body_of(model), HasSubstr("The person who sent it will tell you how you get it."));
  model.redemption_text = "Show this page\nat the counter.";
  model.redemption_link = "https://shop.example/redeem";
  model.code = "ABCD-1234";
  model.notice = PageNotice::thanks;
  const std::string body = body_of(model);
  EXPECT_THAT(body, HasSubstr("<h1>Thank you! The gift is yours.</h1>"));
  EXPECT_THAT(body, HasSubstr("Show this page\nat the counter."));
  EXPECT_THAT(body, HasSubstr("href=\"https://shop.example/redeem\""));
  EXPECT_THAT(body, HasSubstr("<bdi>ABCD-1234</bdi>"));
  EXPECT_THAT(body, Not(HasSubstr("The person who sent it will tell you how you get it.")));
}

TEST(GiftPage, ShowsTheCharityOfADonation) {
  GiftPageModel model = model_of(sync::LinkKind::donate, Status::donated);
  EXPECT_THAT(body_of(model), HasSubstr("a charity that the sender&#39;s company chooses"));
  model.donation = store::Donation{"Red Cross", "https://www.redcross.example"};
  EXPECT_THAT(body_of(model), HasSubstr("Its value goes to <bdi>Red Cross</bdi>."));
  EXPECT_THAT(body_of(model), HasSubstr("It was donated on <bdi>14 November 2023, 22:14 UTC</bdi>."));
  model.kind = sync::LinkKind::view;
  EXPECT_THAT(body_of(model), HasSubstr("<dt>Charity</dt><dd><bdi>Red Cross</bdi></dd>"));
}

TEST(GiftPage, ShowsTheDeadlineAndMissingCodes) {
  GiftPageModel model = model_of();
  model.until = UtcMillis{1'795'264'267'042};
  EXPECT_THAT(body_of(model), HasSubstr("You can decide until <bdi>21 November 2026, 12:31 UTC</bdi>."));
  EXPECT_THAT(gift_page(model, content::messages_in("de"), kFace).body,
              HasSubstr("Sie können sich bis <bdi>21. November 2026, 12:31 Uhr UTC</bdi> entscheiden."));
  model.notice = PageNotice::out_of_codes;
  EXPECT_THAT(body_of(model), AllOf(HasSubstr("Your gift is kept for you"), HasSubstr("<form")));
}

// PAGE-2
TEST(GiftPage, OnlyTheViewPageShowsStatusAndAddress) {
  const std::string view = body_of(model_of(sync::LinkKind::view));
  EXPECT_THAT(view, HasSubstr("rose@edge.example"));
  EXPECT_THAT(view, HasSubstr("4711"));
  EXPECT_THAT(view,
              HasSubstr(R"(<dt>Sent</dt><dd><time datetime="2023-11-14T22:13:20.123Z"><bdi>14 November )"
                        R"(2023, 22:13 UTC</bdi></time>)"));
  EXPECT_THAT(view, Not(HasSubstr("href="))) << "no choice is offered to the sender's colleagues";
  for (const sync::LinkKind kind : {sync::LinkKind::redeem, sync::LinkKind::donate}) {
    const std::string body = body_of(model_of(kind));
    EXPECT_THAT(body, Not(HasSubstr("rose@edge.example")));
    EXPECT_THAT(body, Not(HasSubstr("4711")));
    EXPECT_THAT(body, Not(HasSubstr("<dl")));
  }
}

// GUARD-5
TEST(GiftPage, TheStopLinkIsBelow) {
  GiftPageModel model = model_of();
  model.stop_url = "https://gifts.example/g/stop";
  const char* link = "<a href=\"https://gifts.example/g/stop\">Do not send me gifts</a></p>[ \n]*</footer>";
  EXPECT_THAT(body_of(model), AllOf(HasSubstr("anyone who has its link can decide"), ContainsRegex(link)));
  EXPECT_EQ(count_of("<footer>", body_of(model)), 1u);
  model.status = Status::redeemed;
  EXPECT_THAT(body_of(model), AllOf(Not(HasSubstr("anyone who has its link")), ContainsRegex(link)));
  model.stop_url.clear();
  EXPECT_THAT(body_of(model), Not(HasSubstr("<footer")));
}

TEST(GiftPage, MissingValuesLeaveNoEmptyElements) {
  GiftPageModel model = model_of();
  model.sender_name = model.recipient_name = model.item_description = model.other_url = "";
  const std::string body = gift_page(model, kEnglish, content::make_branding("", "#0a6650")).body;
  EXPECT_THAT(body, HasSubstr("<bdi>Someone</bdi> sent you a gift"));
  EXPECT_THAT(body, Not(HasSubstr("For ")));
  EXPECT_THAT(body, Not(HasSubstr("href=")));
  EXPECT_THAT(body, Not(HasSubstr("<header")));
  EXPECT_THAT(body, Not(ContainsRegex("<(p|h2|dd|bdi)( [^>]*)?>[ \n]*</")));
}

TEST(GiftPage, LoadsNothingAndRunsOnlyOwnScripts) {
  for (const auto& [name, page] : kAllPages) {
    SCOPED_TRACE(name);
    const std::string body = page().body;
    EXPECT_THAT(body, Not(ContainsRegex("<(link|img|iframe|object|base)[ >]")));
    EXPECT_THAT(body, Not(ContainsRegex("[ \n](src|style|on[a-z]+)=|url[(]|@import")));
    EXPECT_THAT(body, Not(HasSubstr("{{"))) << "an unexpanded template tag";
    EXPECT_LT(body.size(), 50'000u);
    const bool runs = body.find("<script") != std::string::npos;
    EXPECT_EQ(runs, body.find("<form") != std::string::npos) << "opening is reported only before a decision";
  }
}

TEST(GiftPage, SendsPrivacyHeaders) {
  for (const auto& [name, page] : kAllPages) {
    SCOPED_TRACE(name);
    const http::HttpResponse response = page();
    EXPECT_EQ(header_of(response, "Content-Type"), "text/html; charset=utf-8");
    EXPECT_EQ(header_of(response, "Cache-Control"), "no-store");
    EXPECT_EQ(header_of(response, "Referrer-Policy"), "no-referrer");
    EXPECT_EQ(header_of(response, "X-Content-Type-Options"), "nosniff");
    EXPECT_THAT(header_of(response, "X-Robots-Tag"), HasSubstr("noindex"));
    EXPECT_THAT(policy_of(response), HasSubstr("default-src 'none'"));
    EXPECT_THAT(policy_of(response), HasSubstr("frame-ancestors 'none'"));
    EXPECT_THAT(policy_of(response), Not(HasSubstr("unsafe")));
    const bool has_form = response.body.find("<form") != std::string::npos;
    EXPECT_THAT(policy_of(response), HasSubstr(has_form ? "form-action 'self'" : "form-action 'none'"));
  }
}

TEST(GiftPage, ThePolicyAllowsExactlyOwnStyleSheetAndScript) {
  const http::HttpResponse response = page_of(model_of());
  const std::string style = element(response.body, "style");
  EXPECT_THAT(style, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(policy_of(response), HasSubstr("style-src 'sha256-" + base64_sha256(style) + "';"));
  EXPECT_THAT(policy_of(response),
              HasSubstr("script-src 'sha256-" + base64_sha256(element(response.body, "script")) + "';"));
  GiftPageModel decided = model_of(sync::LinkKind::redeem, Status::redeemed);
  decided.picture = "https://cdn.example/a.jpg";
  const http::HttpResponse other = page_of(decided);
  EXPECT_THAT(policy_of(other),
              HasSubstr("script-src 'sha256-" + base64_sha256(element(other.body, "script")) + "';"))
      << "only the picture's script";
  EXPECT_THAT(policy_of(page_of(model_of(sync::LinkKind::view))), Not(HasSubstr("script-src")));
}

// PAGE-18
TEST(GiftPage, OnlyTheItemPictureIsAllowed) {
  GiftPageModel model = model_of();
  model.picture = "https://cdn.example:8443/a%20b/cup.jpg?w=640&h=427";
  const http::HttpResponse response = page_of(model);
  EXPECT_THAT(policy_of(response), HasSubstr("img-src https://cdn.example:8443/a%20b/cup.jpg;"));
  EXPECT_THAT(response.body, HasSubstr("src=\"https://cdn.example:8443/a%20b/cup.jpg?w=640&amp;h=427\" "
                                       "alt=\"Picture of Coffee for two\""));
  EXPECT_THAT(response.body, HasSubstr("referrerpolicy=\"no-referrer\""));
  for (const std::string bad : {"", "http://cdn.example/a.jpg", "cup.jpg", "javascript:alert(1)", "https://",
                                "https:///a", "https://h/a; script-src *", "https://h/a b", "https://h/'a",
                                "https://*/a", "https://u@h/a", "https://h/\xC3\xA9", "https://?a"}) {
    model.picture = bad;
    EXPECT_THAT(page_of(model).body, Not(HasSubstr("<img"))) << bad;
    EXPECT_THAT(policy_of(page_of(model)), Not(HasSubstr("img-src"))) << bad;
  }
}

TEST(GiftPage, TheLogoIsServedByTheDaemon) {
  const content::Branding branding =
      content::make_branding("Edge", "#0a6650", content::Logo{"bytes", "image/png", "logo-0123.png"});
  const http::HttpResponse response = gift_page(model_of(), kEnglish, branding);
  EXPECT_THAT(response.body, HasSubstr(R"(<img src="-/logo-0123.png" alt="Edge">)"));
  EXPECT_THAT(policy_of(response), HasSubstr("img-src 'self';"));
}

}  // namespace
}  // namespace giftsync::pages
