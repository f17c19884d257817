#include "daemon/pages/gift_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <kainjow/mustache.hpp>

#include "daemon/content/html_text.h"
#include "daemon/pages/page_response.h"
#include "platform/text.h"

namespace giftsync::daemon::pages {
namespace {

using kainjow::mustache::data;

/// Maximum length of a page title; a tab shows only its beginning.
constexpr std::size_t kTitleCodePoints = 70;

/// Mustache treats an empty text as present; an absent value must be left out.
void set_unless_empty(data& page, const std::string& name, const std::string& text) {
  if (!text.empty()) page.set(name, text);
}

bool is_decidable(schema::Status status) {
  return status == schema::Status::sent || status == schema::Status::delivered ||
         status == schema::Status::undelivered || status == schema::Status::opened;
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

/// Builds one page.
class PageRenderer {
 public:
  PageRenderer(const GiftPageModel& model, const content::Messages& messages,
               const content::Branding& branding)
      : model_(model),
        messages_(messages),
        branding_(branding),
        sender_(model.sender_name.empty() ? messages.text("unnamed_sender") : model.sender_name) {}

  http::HttpResponse render() {
    if (model_.kind == GiftPageKind::view) {
      add_view();
    } else if (is_decidable(model_.status)) {
      add_decision();
    } else {
      add_outcome();
    }
    add_gift();
    return page_response(200, page_, messages_, branding_, resources_);
  }

 private:
  void set_title(const std::string& text) {
    page_.set("title", std::string(platform::truncated(text, kTitleCodePoints)));
  }
  void set_html(const std::string& part, const std::string& html) { page_.set(part, html); }

  void add_gift() {
    page_.set("gift", true);
    page_.set("message", model_.message);
    page_.set("item_label", messages_.text("item_label"));
    page_.set("item_name", model_.item_name);
    set_unless_empty(page_, "item_description", model_.item_description);
    if (!model_.recipient_name.empty())
      set_html("recipient_line", messages_.html("for_recipient", {{"recipient", model_.recipient_name}}));
    if (csp_image_source(model_.picture).empty()) return;
    resources_.picture = model_.picture;
    page_.set("picture", model_.picture);
    page_.set("picture_text", messages_.text("picture_label", {{"item", model_.item_name}}));
  }

  void add_decision() {
    set_title(messages_.text("title", {{"sender", sender_}}));
    set_html("headline", messages_.html("sent_to_you", {{"sender", sender_}}));
    resources_.form = resources_.script = true;
    data form;
    const bool accepts = model_.kind == GiftPageKind::redeem;
    form.set("prompt", messages_.text(accepts ? "accept_prompt" : "donate_prompt"));
    form.set("choice", std::string(accepts ? "accept" : "donate"));
    form.set("button", messages_.text(accepts ? "accept" : "donate"));
    if (model_.notice == PageNotice::out_of_codes) {
      form.set("prompt", messages_.text("out_of_codes"));
      form.set("alert", messages_.text("out_of_codes_text"));
    }
    if (model_.until)
      form.set("until", messages_.html("decide_until", {{"date", messages_.date(*model_.until)}}));
    if (!accepts) add_charities(form);
    if (!model_.other_url.empty())
      form.set("alternative",
               link_to(model_.other_url, messages_.text(accepts ? "donate_instead" : "accept_instead")));
    page_.set("form", form);
    page_.set("footer", messages_.text("private_link_notice"));
  }

  void add_charities(data& form) {
    if (model_.notice == PageNotice::charity_missing) form.set("alert", messages_.text("charity_missing"));
    if (model_.charities.empty()) {
      form.set("hint", messages_.html("company_chooses"));
    } else if (model_.charities.size() == 1) {
      const config::CharitySettings& only = model_.charities.front();
      form.set("hint", messages_.html("single_charity", {{"charity", only.name}}));
      form.set("only_charity", only.name);
      if (!only.link.empty()) form.set("hint_link", link_to(only.link, host_of(only.link)));
    } else {
      data options(data::type::list);
      for (const config::CharitySettings& charity : model_.charities) {
        data option;
        option.set("charity", charity.name);
        if (!charity.link.empty()) option.set("charity_link", link_to(charity.link, host_of(charity.link)));
        options << option;
      }
      form.set("legend", messages_.text("choose_charity"));
      form.set("charities", data("option", options));
    }
  }

  void add_outcome() {
    switch (model_.status) {
      case schema::Status::redeemed:
        return add_accepted();
      case schema::Status::donated:
        return add_donated();
      case schema::Status::expired:
        return add_closed("expired", "expired_text");
      default:
        // An expired gift is refunded by a timer; that is no withdrawal.
        return has_expired() ? add_closed("expired", "expired_text")
                             : add_closed("cancelled", "cancelled_text");
    }
  }
  bool has_expired() const {
    return std::any_of(model_.history.begin(), model_.history.end(),
                       [](const StatusEvent& event) { return event.status == schema::Status::expired; });
  }

  void headline(std::string_view key) {
    set_title(messages_.text(key));
    set_html("headline", messages_.html(key));
    set_html("subheadline", messages_.html("sent_to_you", {{"sender", sender_}}));
  }
  void add_date(std::string_view key) {
    for (const StatusEvent& event : model_.history) {
      if (event.status == model_.status)
        set_html("date_line", messages_.html(key, {{"date", messages_.date(event.at)}}));
    }
  }

  void add_accepted() {
    const bool thanks = model_.notice == PageNotice::thanks;
    headline(thanks ? "thanks_accepted" : "accepted");
    if (!thanks) add_date("accepted_on");
    data redemption;
    redemption.set("redemption_title", messages_.text("redemption_title"));
    if (!model_.code.empty()) {
      redemption.set("code_label", messages_.text("code_label"));
      redemption.set("code", model_.code);
      redemption.set("code_hint", messages_.text("code_hint"));
    }
    set_unless_empty(redemption, "redemption_text", model_.redemption_text);
    if (!model_.redemption_link.empty())
      redemption.set("redemption_link", link_to(model_.redemption_link, messages_.text("redemption_link")));
    const bool has_instructions =
        !model_.code.empty() || !model_.redemption_text.empty() || !model_.redemption_link.empty();
    if (model_.kind == GiftPageKind::donate && !model_.other_url.empty()) {
      redemption.set("redemption_link", link_to(model_.other_url, messages_.text("redemption_page")));
    } else if (!has_instructions) {
      redemption.set("redemption_text", messages_.text("no_further_steps"));
    }
    page_.set("redemption", redemption);
  }

  void add_donated() {
    const bool thanks = model_.notice == PageNotice::thanks;
    headline(thanks ? "thanks_donated" : "donated");
    if (!thanks) add_date("donated_on");
    data where;
    if (model_.donation && !model_.donation->charity.empty()) {
      where.set("notice_text", messages_.html("donated_to", {{"charity", model_.donation->charity}}));
      if (!model_.donation->link.empty())
        where.set("link", link_to(model_.donation->link, host_of(model_.donation->link)));
    } else {
      where.set("notice_text", messages_.html("donated_by_company_choice"));
    }
    page_.set("outcome", where);
  }

  void add_closed(std::string_view key, std::string_view text) {
    headline(key);
    data what;
    what.set("notice_title", messages_.text("options_title"));
    what.set("notice_text", messages_.html(text));
    page_.set("outcome", what);
  }

  std::string status_text(schema::Status status) const {
    return messages_.text("status_" + std::string(to_word(status)));
  }
  static data row(const std::string& label, const std::string& value) {
    data row;
    row.set("label", label);
    row.set("value", value);
    return row;
  }

  /// The view page's details, as a list of labels and values.
  void add_view() {
    set_title(messages_.text("title", {{"sender", sender_}}));
    set_html("headline", messages_.html("sent", {{"sender", sender_}}));
    data rows(data::type::list);
    rows << row(messages_.text("status"), status_text(model_.status));
    for (const StatusEvent& event : model_.history) {
      data line = row(status_text(event.status), messages_.date(event.at));
      line.set("time", platform::to_rfc3339(event.at));
      rows << line;
    }
    if (model_.donation) {
      rows << row(messages_.text("charity"), model_.donation->charity.empty()
                                                 ? messages_.text("company_chooses")
                                                 : model_.donation->charity);
    }
    if (!model_.recipient_email.empty()) rows << row(messages_.text("recipient"), model_.recipient_email);
    rows << row(messages_.text("transaction"), fmt::format("{}", model_.transaction.value));
    page_.set("rows", data("row", rows));
    data notice;
    notice.set("notice_title", messages_.text("view_notice"));
    notice.set("notice_text", messages_.html("view_text"));
    page_.set("notice", notice);
  }

  const GiftPageModel& model_;
  const content::Messages& messages_;
  const content::Branding& branding_;
  const std::string sender_;
  data page_;
  PageResources resources_;
};

/// A page that shows no gift.
http::HttpResponse message_page(int status, const content::Messages& messages,
                                const content::Branding& branding, const std::string& headline,
                                const std::string& title, const std::string& text,
                                const std::string& url = {}, const std::string& link_text = {}) {
  data notice;
  notice.set("notice_title", title);
  notice.set("notice_text", content::html_escaped(text));
  if (!url.empty()) notice.set("link", link_to(url, link_text));
  data page;
  page.set("title", headline);
  page.set("headline", content::html_escaped(headline));
  page.set("notice", notice);
  return page_response(status, page, messages, branding);
}

}  // namespace

http::HttpResponse gift_page(const GiftPageModel& model, const content::Messages& messages,
                             const content::Branding& branding) {
  return PageRenderer(model, messages, branding).render();
}

http::HttpResponse unknown_link_page(const content::Messages& messages, const content::Branding& branding) {
  return message_page(404, messages, branding, messages.text("unknown_link"),
                      messages.text("unknown_link_notice"), messages.text("unknown_link_text"));
}

http::HttpResponse superseded_link_page(const content::Messages& messages,
                                        const content::Branding& branding) {
  return message_page(410, messages, branding, messages.text("superseded_link"),
                      messages.text("options_title"), messages.text("superseded_link_text"));
}

http::HttpResponse rate_limited_page(const content::Messages& messages, const content::Branding& branding,
                                     std::int64_t retry_after_seconds) {
  http::HttpResponse response =
      message_page(429, messages, branding, messages.text("rate_limited"),
                   messages.text("rate_limited_notice"), messages.text("rate_limited_text"));
  response.headers.emplace_back("Retry-After", fmt::format("{}", retry_after_seconds));
  return response;
}

http::HttpResponse cross_site_page(const content::Messages& messages, const content::Branding& branding,
                                   const std::string& gift_url) {
  return message_page(403, messages, branding, messages.text("cross_site"), messages.text("options_title"),
                      messages.text("cross_site_text"), gift_url, messages.text("cross_site_link"));
}

}  // namespace giftsync::daemon::pages
