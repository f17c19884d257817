#include "daemon/pages/gift_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <kainjow/mustache.hpp>

#include "daemon/pages/html_text.h"
#include "daemon/pages/page_answer.h"
#include "schema/text.h"

namespace giftsync::daemon {
namespace {

using kainjow::mustache::data;
using schema::Status;

/// Of a page's title, which a tab shows the beginning of anyway.
constexpr std::size_t kTitleCodePoints = 70;

/// Mustache takes an empty text for present; a member that is left out is absent.
void set_unless_empty(data& page, const std::string& name, const std::string& text) {
  if (!text.empty()) page.set(name, text);
}

bool can_be_decided(Status status) {
  return status == Status::sent || status == Status::delivered || status == Status::undelivered ||
         status == Status::opened;
}

/// "charity.example" of a URL.
std::string host_of(const std::string& url) {
  std::size_t begin = url.find("://") == std::string::npos ? 0 : url.find("://") + 3;
  if (url.compare(begin, 4, "www.") == 0) begin += 4;
  return url.substr(begin, url.find_first_of("/?#", begin) - begin);
}

data link_to(const std::string& url, const std::string& text) {
  data link;
  link.set("url", url);
  link.set("link_text", text);
  return link;
}

/// One page in the making.
class Page {
 public:
  Page(const GiftPageFacts& facts, const Words& words, const PageFace& face)
      : facts_(facts),
        words_(words),
        face_(face),
        sender_(facts.sender_name.empty() ? words.text("someone") : facts.sender_name) {}

  HttpResponse answer() {
    if (facts_.kind == GiftPageKind::view) {
      add_view();
    } else if (can_be_decided(facts_.status)) {
      add_decision();
    } else {
      add_outcome();
    }
    add_gift();
    return page_answer(200, page_, words_, face_, needs_);
  }

 private:
  void title(const std::string& text) {
    page_.set("title", std::string(schema::truncated(text, kTitleCodePoints)));
  }
  void say(const std::string& part, const std::string& html) { page_.set(part, html); }

  void add_gift() {
    page_.set("gift", true);
    page_.set("message", facts_.message);
    page_.set("item_label", words_.text("item"));
    page_.set("item_name", facts_.item_name);
    set_unless_empty(page_, "item_description", facts_.item_description);
    if (!facts_.recipient_name.empty()) say("to", words_.html("for", {{"recipient", facts_.recipient_name}}));
    if (picture_source(facts_.picture).empty()) return;
    needs_.picture = facts_.picture;
    page_.set("picture", facts_.picture);
    page_.set("picture_text", words_.text("picture", {{"item", facts_.item_name}}));
  }

  void add_decision() {
    title(words_.text("title", {{"sender", sender_}}));
    say("headline", words_.html("sent_you", {{"sender", sender_}}));
    needs_.form = needs_.script = true;
    data form;
    const bool accepts = facts_.kind == GiftPageKind::redeem;
    form.set("ask", words_.text(accepts ? "waiting" : "give"));
    form.set("choice", std::string(accepts ? "accept" : "donate"));
    form.set("button", words_.text(accepts ? "accept" : "donate"));
    if (facts_.news == GiftPageNews::later) {
      form.set("ask", words_.text("later"));
      form.set("alert", words_.text("later_text"));
    }
    if (facts_.until) form.set("until", words_.html("until", {{"date", words_.date(*facts_.until)}}));
    if (!accepts) add_charities(form);
    if (!facts_.other_url.empty())
      form.set("other", link_to(facts_.other_url, words_.text(accepts ? "rather_donate" : "rather_accept")));
    page_.set("form", form);
    page_.set("foot", words_.text("yours_alone"));
  }

  void add_charities(data& form) {
    if (facts_.news == GiftPageNews::choose_first) form.set("alert", words_.text("choose_first"));
    if (facts_.charities.empty()) {
      form.set("hint", words_.html("company_chooses"));
    } else if (facts_.charities.size() == 1) {
      const CharitySettings& only = facts_.charities.front();
      form.set("hint", words_.html("goes_to", {{"charity", only.name}}));
      form.set("only_charity", only.name);
      if (!only.link.empty()) form.set("hint_link", link_to(only.link, host_of(only.link)));
    } else {
      data options(data::type::list);
      for (const CharitySettings& charity : facts_.charities) {
        data option;
        option.set("charity", charity.name);
        if (!charity.link.empty()) option.set("about", link_to(charity.link, host_of(charity.link)));
        options << option;
      }
      form.set("legend", words_.text("choose"));
      form.set("charities", data("option", options));
    }
  }

  void add_outcome() {
    switch (facts_.status) {
      case Status::redeemed:
        return add_accepted();
      case Status::donated:
        return add_donated();
      case Status::expired:
        return add_over("expired", "expired_text");
      default:
        // What has expired is refunded by a timer: nobody took it back.
        return has_expired() ? add_over("expired", "expired_text")
                             : add_over("taken_back", "taken_back_text");
    }
  }
  bool has_expired() const {
    return std::any_of(facts_.history.begin(), facts_.history.end(),
                       [](const StatusMoment& moment) { return moment.status == Status::expired; });
  }

  void headline(std::string_view key) {
    title(words_.text(key));
    say("headline", words_.html(key));
    say("under", words_.html("sent_you", {{"sender", sender_}}));
  }
  void add_date(std::string_view key) {
    for (const StatusMoment& moment : facts_.history) {
      if (moment.status == facts_.status) say("lead", words_.html(key, {{"date", words_.date(moment.at)}}));
    }
  }

  void add_accepted() {
    const bool thanks = facts_.news == GiftPageNews::thanks;
    headline(thanks ? "thanks_accepted" : "accepted");
    if (!thanks) add_date("accepted_on");
    data enjoy;
    enjoy.set("enjoy_title", words_.text("enjoy"));
    if (!facts_.code.empty()) {
      enjoy.set("code_label", words_.text("code"));
      enjoy.set("code", facts_.code);
      enjoy.set("code_again", words_.text("code_again"));
    }
    set_unless_empty(enjoy, "enjoy_text", facts_.redemption_text);
    if (!facts_.redemption_link.empty())
      enjoy.set("enjoy_link", link_to(facts_.redemption_link, words_.text("open_link")));
    const bool knows_more =
        !facts_.code.empty() || !facts_.redemption_text.empty() || !facts_.redemption_link.empty();
    if (facts_.kind == GiftPageKind::donate && !facts_.other_url.empty()) {
      enjoy.set("enjoy_link", link_to(facts_.other_url, words_.text("enjoy_page")));
    } else if (!knows_more) {
      enjoy.set("enjoy_text", words_.text("nothing_to_do"));
    }
    page_.set("enjoy", enjoy);
  }

  void add_donated() {
    const bool thanks = facts_.news == GiftPageNews::thanks;
    headline(thanks ? "thanks_donated" : "donated");
    if (!thanks) add_date("donated_on");
    data where;
    if (facts_.donation && !facts_.donation->charity.empty()) {
      where.set("notice_text", words_.html("donated_to", {{"charity", facts_.donation->charity}}));
      if (!facts_.donation->link.empty())
        where.set("link", link_to(facts_.donation->link, host_of(facts_.donation->link)));
    } else {
      where.set("notice_text", words_.html("donated_somewhere"));
    }
    page_.set("outcome", where);
  }

  void add_over(std::string_view key, std::string_view text) {
    headline(key);
    data what;
    what.set("notice_title", words_.text("over"));
    what.set("notice_text", words_.html(text));
    page_.set("outcome", what);
  }

  std::string word_of(Status status) const {
    return words_.text("status_" + std::string(schema::to_word(status)));
  }
  static data row(const std::string& label, const std::string& value) {
    data row;
    row.set("label", label);
    row.set("value", value);
    return row;
  }

  /// What a colleague of the sender wants to know, as a list of labels and values.
  void add_view() {
    title(words_.text("title", {{"sender", sender_}}));
    say("headline", words_.html("sent", {{"sender", sender_}}));
    data rows(data::type::list);
    rows << row(words_.text("status"), word_of(facts_.status));
    for (const StatusMoment& moment : facts_.history) {
      data line = row(word_of(moment.status), words_.date(moment.at));
      line.set("time", schema::to_rfc3339(moment.at));
      rows << line;
    }
    if (facts_.donation) {
      rows << row(words_.text("charity"), facts_.donation->charity.empty() ? words_.text("company_chooses")
                                                                           : facts_.donation->charity);
    }
    if (!facts_.recipient_email.empty()) rows << row(words_.text("recipient"), facts_.recipient_email);
    rows << row(words_.text("transaction"), fmt::format("{}", facts_.transaction.value));
    page_.set("rows", data("row", rows));
    data notice;
    notice.set("notice_title", words_.text("view_notice"));
    notice.set("notice_text", words_.html("view_text"));
    page_.set("notice", notice);
  }

  const GiftPageFacts& facts_;
  const Words& words_;
  const PageFace& face_;
  const std::string sender_;
  data page_;
  PageNeeds needs_;
};

/// A page without a gift.
HttpResponse bare_page(int status, const Words& words, const PageFace& face, const std::string& headline,
                       const std::string& title, const std::string& text, const std::string& url = {},
                       const std::string& link_text = {}) {
  data notice;
  notice.set("notice_title", title);
  notice.set("notice_text", html_escaped(text));
  if (!url.empty()) notice.set("link", link_to(url, link_text));
  data page;
  page.set("title", headline);
  page.set("headline", html_escaped(headline));
  page.set("notice", notice);
  return page_answer(status, page, words, face);
}

}  // namespace

HttpResponse gift_page(const GiftPageFacts& facts, const Words& words, const PageFace& face) {
  return Page(facts, words, face).answer();
}

HttpResponse unknown_link_page(const Words& words, const PageFace& face) {
  return bare_page(404, words, face, words.text("unknown"), words.text("unknown_notice"),
                   words.text("unknown_text"));
}

HttpResponse old_link_page(const Words& words, const PageFace& face) {
  return bare_page(410, words, face, words.text("old"), words.text("over"), words.text("old_text"));
}

HttpResponse slow_down_page(const Words& words, const PageFace& face, std::int64_t retry_after_seconds) {
  HttpResponse response =
      bare_page(429, words, face, words.text("slow"), words.text("slow_notice"), words.text("slow_text"));
  response.headers.emplace_back("Retry-After", fmt::format("{}", retry_after_seconds));
  return response;
}

HttpResponse from_elsewhere_page(const Words& words, const PageFace& face, const std::string& gift_url) {
  return bare_page(403, words, face, words.text("elsewhere"), words.text("over"),
                   words.text("elsewhere_text"), gift_url, words.text("elsewhere_link"));
}

}  // namespace giftsync::daemon
