#include "daemon/pages/gift_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "embedded/giftsync_daemon_content.h"
#include "platform/text.h"
#include "schema/picture_url.h"
#include "sync/gift/gift_actions.h"
#include "sync/gift/lifecycle.h"

namespace giftsync::pages {
namespace {

using kainjow::mustache::data;
using Texts = std::initializer_list<std::pair<const char*, std::string>>;

/// Maximum length of a page title; a tab shows only its beginning.
constexpr std::size_t kTitleCodePoints = 70;

/// What one page shows.
struct GiftView {
  const GiftPageModel& model;
  const content::Messages& messages;
  const std::string sender;
};

// Values are moved into a page (`page["form"] = std::move(form)`): set() copies them twice.

/// Mustache treats an empty text as present, so empty texts are left out.
void set_texts(data& page, Texts texts) {
  for (const auto& [name, text] : texts) {
    if (!text.empty()) page[name] = data(text);
  }
}

data object_of(Texts texts) {
  data object;
  set_texts(object, texts);
  return object;
}

bool is_decidable(Status status) {
  return status == Status::sent || status == Status::delivered || status == Status::undelivered ||
         status == Status::opened;
}

data link_to(const std::string& url, const std::string& text) {
  return object_of({{"url", url}, {"link_text", text}});
}

/// The link's text is "charity.example" of its URL.
data link_to_host(const std::string& url) {
  std::size_t begin = url.find("://") == std::string::npos ? 0 : url.find("://") + 3;
  if (url.compare(begin, 4, "www.") == 0) begin += 4;
  return link_to(url, url.substr(begin, url.find_first_of("/?#", begin) - begin));
}

void set_title(data& page, const std::string& text) {
  page.set("title", std::string(truncated(text, kTitleCodePoints)));
}

void set_charities(data& form, const GiftView& view) {
  const auto& [model, messages, sender] = view;
  if (model.notice == PageNotice::charity_missing) form.set("alert", messages.text("charity_missing"));
  if (model.charities.empty()) return form.set("hint", messages.html("company_chooses"));
  if (model.charities.size() == 1) {
    const config::CharitySettings& only = model.charities.front();
    form.set("hint", messages.html("single_charity", {{"charity", only.name}}));
    form.set("only_charity", only.name);
    if (!only.link.empty()) form["hint_link"] = link_to_host(only.link);
    return;
  }
  data options(data::type::list);
  for (const config::CharitySettings& charity : model.charities) {
    data option("charity", charity.name);
    if (!charity.link.empty()) option.set("charity_link", link_to_host(charity.link));
    options << option;
  }
  form.set("legend", messages.text("choose_charity"));
  form["charities"]["option"] = std::move(options);
}

void set_decision(data& page, const GiftView& view) {
  const auto& [model, messages, sender] = view;
  const bool accepts = model.kind == sync::LinkKind::redeem;
  const bool is_out_of_codes = model.notice == PageNotice::out_of_codes;
  set_title(page, messages.text("title", {{"sender", sender}}));
  data form = object_of({{"prompt", messages.text(is_out_of_codes ? "out_of_codes"
                                                  : accepts       ? "accept_prompt"
                                                                  : "donate_prompt")},
                         {"alert", is_out_of_codes ? messages.text("out_of_codes_text") : ""},
                         {"choice", accepts ? "accept" : "donate"},
                         {"button", messages.text(accepts ? "accept" : "donate")}});
  if (model.until) form.set("until", messages.html("decide_until", {{"date", messages.date(*model.until)}}));
  if (!accepts) set_charities(form, view);
  if (!model.other_url.empty()) {
    form["alternative"] =
        link_to(model.other_url, messages.text(accepts ? "donate_instead" : "accept_instead"));
  }
  page.set("headline", messages.html("sent_to_you", {{"sender", sender}}));
  page["form"] = std::move(form);
}

void set_headline(data& page, const GiftView& view, std::string_view key) {
  set_title(page, view.messages.text(key));
  page.set("headline", view.messages.html(key));
  page.set("subheadline", view.messages.html("sent_to_you", {{"sender", view.sender}}));
}

/// Thanks right after the decision, later `key` and the date of the decision.
void set_decided_headline(data& page, const GiftView& view, const std::string& key) {
  if (view.model.notice == PageNotice::thanks) return set_headline(page, view, "thanks_" + key);
  set_headline(page, view, key);
  for (const StatusEvent& event : view.model.history) {
    if (event.status == view.model.status) {
      page.set("date_line", view.messages.html(key + "_on", {{"date", view.messages.date(event.at)}}));
    }
  }
}

void set_accepted(data& page, const GiftView& view) {
  const auto& [model, messages, sender] = view;
  set_decided_headline(page, view, "accepted");
  data redemption = object_of(
      {{"redemption_title", messages.text("redemption_title")}, {"redemption_text", model.redemption_text}});
  if (!model.code.empty()) {
    set_texts(redemption, {{"code_label", messages.text("code_label")},
                           {"code", model.code},
                           {"code_hint", messages.text("code_hint")}});
  }
  if (!model.redemption_link.empty())
    redemption.set("redemption_link", link_to(model.redemption_link, messages.text("redemption_link")));
  if (model.kind == sync::LinkKind::donate && !model.other_url.empty())
    redemption.set("redemption_link", link_to(model.other_url, messages.text("redemption_page")));
  else if (model.code.empty() && model.redemption_text.empty() && model.redemption_link.empty())
    redemption.set("redemption_text", messages.text("no_redemption"));
  page["redemption"] = std::move(redemption);
}

void set_donated(data& page, const GiftView& view) {
  const auto& [model, messages, sender] = view;
  set_decided_headline(page, view, "donated");
  data where;
  if (model.donation && !model.donation->charity.empty()) {
    where.set("notice_text", messages.html("donated_to", {{"charity", model.donation->charity}}));
    if (!model.donation->link.empty()) where.set("link", link_to_host(model.donation->link));
  } else {
    where.set("notice_text", messages.html("donated_by_company_choice"));
  }
  page["outcome"] = std::move(where);
}

/// The gift is neither accepted nor donated, and no longer can be.
void set_closed(data& page, const GiftView& view) {
  // An expired gift is refunded by a timer; that is no withdrawal.
  const bool has_expired =
      view.model.status == Status::expired ||
      std::any_of(view.model.history.begin(), view.model.history.end(),
                  [](const StatusEvent& event) { return event.status == Status::expired; });
  const std::string key = has_expired ? "expired" : "cancelled";
  set_headline(page, view, key);
  page["outcome"] = object_of({{"notice_title", view.messages.text("options_title")},
                               {"notice_text", view.messages.html(key + "_text")}});
}

/// The view page's details, as a list of labels and values.
void set_view(data& page, const GiftView& view) {
  const auto& [model, messages, sender] = view;
  const auto status_text = [&](Status status) {
    return view.messages.text("status_" + std::string(to_word(status)));
  };
  data rows(data::type::list);
  const auto add = [&](const std::string& label, const std::string& value, const std::string& time = {}) {
    rows << object_of({{"label", label}, {"value", value}, {"time", time}});
  };
  add(messages.text("status"), status_text(model.status));
  for (const StatusEvent& event : model.history)
    add(status_text(event.status), messages.date(event.at), to_rfc3339(event.at));
  if (model.donation) {
    const std::string& charity = model.donation->charity;
    add(messages.text("charity"), charity.empty() ? messages.text("company_chooses") : charity);
  }
  if (!model.recipient_email.empty()) add(messages.text("recipient"), model.recipient_email);
  add(messages.text("transaction"), std::to_string(model.transaction.value));
  set_title(page, messages.text("title", {{"sender", sender}}));
  page.set("headline", messages.html("sent", {{"sender", sender}}));
  page["rows"]["row"] = std::move(rows);
  page["notice"] = object_of(
      {{"notice_title", messages.text("view_notice")}, {"notice_text", messages.html("view_text")}});
}

void set_gift(data& page, const GiftView& view, const std::string& picture) {
  const auto& [model, messages, sender] = view;
  page.set("gift", true);
  set_texts(page, {{"message", model.message},
                   {"item_label", messages.text("item_label")},
                   {"item_name", model.item_name},
                   {"item_description", model.item_description},
                   {"picture", picture},
                   {"picture_text", messages.text("picture_label", {{"item", model.item_name}})}});
  if (!model.recipient_name.empty())
    page.set("recipient_line", messages.html("for_recipient", {{"recipient", model.recipient_name}}));
}

void set_footer(data& page, const GiftView& view, bool offers_decision) {
  const auto& [model, messages, sender] = view;
  if (!offers_decision && model.stop_url.empty()) return;
  data footer =
      object_of({{"footer_text", offers_decision ? messages.text("private_link_notice") : std::string()}});
  if (!model.stop_url.empty()) footer["stop_link"] = link_to(model.stop_url, messages.text("stop"));
  page["footer"] = std::move(footer);
}

/// The messages of a page that shows no gift.
struct NoticeKeys {
  std::string_view headline;
  std::string_view title;
  std::string_view text;
};

http::HttpResponse notice_page(int status, const NoticeKeys& keys, const content::Messages& messages,
                               const content::Branding& branding, data notice = {}) {
  const std::string headline = messages.text(keys.headline);
  set_texts(notice, {{"notice_title", messages.text(keys.title)},
                     {"notice_text", content::html_escaped(messages.text(keys.text))}});
  data page = object_of({{"title", headline}, {"headline", content::html_escaped(headline)}});
  page["notice"] = std::move(notice);
  return page_response(status, page, messages, branding);
}

}  // namespace

http::HttpResponse gift_page(const GiftPageModel& model, const content::Messages& messages,
                             const content::Branding& branding) {
  const GiftView view{model, messages,
                      model.sender_name.empty() ? messages.text("unnamed_sender") : model.sender_name};
  const bool offers_decision = model.kind != sync::LinkKind::view && is_decidable(model.status);
  const std::string picture = csp_image_source(model.picture).empty() ? "" : model.picture;
  data page;
  if (model.kind == sync::LinkKind::view)
    set_view(page, view);
  else if (offers_decision)
    set_decision(page, view);
  else if (model.status == Status::redeemed)
    set_accepted(page, view);
  else if (model.status == Status::donated)
    set_donated(page, view);
  else
    set_closed(page, view);
  set_gift(page, view, picture);
  set_footer(page, view, offers_decision);
  return page_response(200, page, messages, branding, {offers_decision, offers_decision, picture});
}

http::HttpResponse unknown_link_page(const content::Messages& messages, const content::Branding& branding) {
  return notice_page(404, {"unknown_link", "unknown_link_notice", "unknown_link_text"}, messages, branding);
}

http::HttpResponse superseded_link_page(const content::Messages& messages,
                                        const content::Branding& branding) {
  return notice_page(410, {"superseded_link", "options_title", "superseded_link_text"}, messages, branding);
}

http::HttpResponse former_address_page(const content::Messages& messages, const content::Branding& branding) {
  return notice_page(410, {"superseded_link", "options_title", "former_address_text"}, messages, branding);
}

http::HttpResponse erased_person_page(bool is_refused, const content::Messages& messages,
                                      const content::Branding& branding) {
  if (is_refused)
    return notice_page(200, {"erased_person", "stopped", "erased_stopped_text"}, messages, branding);
  return notice_page(410, {"erased_person", "options_title", "erased_person_text"}, messages, branding);
}

http::HttpResponse rate_limited_page(const content::Messages& messages, const content::Branding& branding,
                                     std::int64_t retry_after_seconds) {
  return http::with_header(
      notice_page(429, {"rate_limited", "rate_limited_notice", "rate_limited_text"}, messages, branding),
      "Retry-After", std::to_string(retry_after_seconds));
}

http::HttpResponse changed_often_page(const content::Messages& messages, const content::Branding& branding,
                                      std::int64_t retry_after_seconds) {
  return http::with_header(
      notice_page(429, {"changed_often", "stopped", "changed_often_text"}, messages, branding), "Retry-After",
      std::to_string(retry_after_seconds));
}

http::HttpResponse unavailable_page(const content::Messages& messages, const content::Branding& branding,
                                    std::int64_t retry_after_seconds) {
  return http::with_header(
      notice_page(503, {"unavailable", "unavailable_notice", "unavailable_text"}, messages, branding),
      "Retry-After", std::to_string(retry_after_seconds));
}

http::HttpResponse cross_site_page(const content::Messages& messages, const content::Branding& branding,
                                   const std::string& gift_url) {
  return notice_page(403, {"cross_site", "options_title", "cross_site_text"}, messages, branding,
                     data("link", link_to(gift_url, messages.text("cross_site_link"))));
}

namespace {

using content::source_hash;

/// web/page.html.mustache, parsed once on each thread: rendering uses members of a kainjow template, so
/// threads cannot share one.
kainjow::mustache::mustache& page_template() {
  thread_local kainjow::mustache::mustache parsed = [] {
    kainjow::mustache::mustache page{std::string(embedded::web_page_html_mustache)};
    page.set_custom_escape([](const std::string& text) { return content::html_escaped(text); });
    return page;
  }();
  return parsed;
}

/// Appended to one text: the library's own stream would copy the page once more.
std::string rendered(const kainjow::mustache::data& page, const content::Branding& branding) {
  std::string html;
  html.reserve(branding.style.size() + embedded::web_page_html_mustache.size());
  const kainjow::mustache::mustache::render_handler append = [&html](const std::string& text) {
    html += text;
  };
  page_template().render(page, append);
  return html;
}

std::string content_security_policy(const content::Branding& branding, const PageResources& resources) {
  std::string policy =
      "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; style-src " + branding.style_source;
  std::string pictures = branding.logo ? " 'self'" : "";
  if (!resources.picture.empty()) pictures += " " + csp_image_source(resources.picture);
  if (!pictures.empty()) policy += "; img-src" + pictures;
  static const std::string page_script = source_hash(embedded::web_page_js);
  static const std::string picture_script = source_hash(embedded::web_picture_js);
  std::string scripts = resources.script ? " " + page_script : "";
  if (!resources.picture.empty()) scripts += " " + picture_script;
  if (!scripts.empty()) policy += "; script-src" + scripts;
  if (resources.script) policy += "; connect-src 'self'";
  policy += resources.form ? "; form-action 'self'" : "; form-action 'none'";
  return policy;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> private_headers() {
  return {{"Cache-Control", "no-store"},
          {"Referrer-Policy", "no-referrer"},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"X-Robots-Tag", "noindex, nofollow"}};
}

http::HttpResponse page_response(int status, kainjow::mustache::data& page, const content::Messages& messages,
                                 const content::Branding& branding, const PageResources& resources) {
  using kainjow::mustache::data;
  page["language"] = data(messages.language());
  page["style"] = data(branding.style);
  if (resources.script) page["script"] = data(std::string(embedded::web_page_js));
  if (!resources.picture.empty()) page["picture_script"] = data(std::string(embedded::web_picture_js));
  if (!branding.company.empty()) page["company"] = data(branding.company);
  if (branding.logo) page["logo"] = data(branding.logo->name);
  page["brand"] = data(branding.logo.has_value() || !branding.company.empty());
  http::HttpResponse response;
  response.status = status;
  response.body = rendered(page, branding);
  response.headers = private_headers();
  response.headers.emplace_back("Content-Type", "text/html; charset=utf-8");
  response.headers.emplace_back("Content-Language", messages.language());
  response.headers.emplace_back("Content-Security-Policy", content_security_policy(branding, resources));
  return response;
}

namespace {

std::vector<StatusEvent> history_of(const StatusTimes& times) {
  std::vector<StatusEvent> history;
  for (const Status status : kAllStatuses) {
    if (times[status]) history.push_back({status, *times[status]});
  }
  std::stable_sort(history.begin(), history.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  return history;
}

/// A notice of the query is shown only when it is true: anyone can write a query.
PageNotice notice_of(std::string_view query, sync::LinkKind kind, Status status) {
  const bool is_decided = status == (kind == sync::LinkKind::donate ? Status::donated : Status::redeemed);
  if (query == kThanks && is_decided) return PageNotice::thanks;
  if (query == kOutOfCodes && kind == sync::LinkKind::redeem) return PageNotice::out_of_codes;
  if (query == kCharityMissing && kind == sync::LinkKind::donate) return PageNotice::charity_missing;
  return PageNotice::none;
}

/// Nullopt once the time has passed: an admin has voided the expiry, or the timer is about to run.
std::optional<UtcMillis> claimable_until_of(const store::Gift& gift, const sync::FoldedStatus& state,
                                            UtcMillis now) {
  const auto end = sync::next_end(gift, state);
  return end && end->at > now ? std::optional(end->at) : std::nullopt;
}

void set_recipient(GiftPageModel& model, const store::RecipientTransaction& transaction) {
  model.recipient_name = transaction.first_name;
  if (!model.recipient_name.empty() && !transaction.last_name.empty()) model.recipient_name += " ";
  model.recipient_name += transaction.last_name;
  model.recipient_email = transaction.email;
  model.message = transaction.message;
}

void set_other_url(GiftPageModel& model, const sync::GiftLinks& links,
                   const store::RecipientTransaction& transaction) {
  if (model.kind == sync::LinkKind::redeem)
    model.other_url = links.url_for(sync::LinkKind::donate, transaction);
  if (model.kind == sync::LinkKind::donate)
    model.other_url = links.url_for(sync::LinkKind::redeem, transaction);
}

/// Redemption text and code are shown only after acceptance, and only under the redemption link.
void set_redemption(GiftPageModel& model, const store::PageView& view) {
  if (model.status != Status::redeemed || model.kind != sync::LinkKind::redeem) return;
  model.code = view.code;
  model.redemption_text = view.redemption_text;
  model.redemption_link =
      sync::add_utm_campaign(view.redemption_link, view.gift.request.utm_campaign_id.value_or(""));
}

}  // namespace

GiftPageModel page_model(const store::PageView& view, const PageVisit& visit, const sync::GiftLinks& links,
                         const std::vector<config::CharitySettings>& charities) {
  const auto& [request, transaction] = view.gift;
  const sync::FoldedStatus state = sync::current_status(transaction, view.changes);
  GiftPageModel model;
  model.kind = visit.kind;
  model.status = state.status;
  model.notice = notice_of(visit.query, visit.kind, state.status);
  model.sender_name = request.sender_name.empty() ? request.sender_email : request.sender_name;
  if (!visit.is_revoked_view) set_recipient(model, transaction);
  model.item_name = request.item_name;
  model.item_description = request.item_description;
  model.picture = view.picture;
  set_other_url(model, links, transaction);
  model.history = history_of(state.times);
  model.transaction = transaction.id;
  if (visit.kind == sync::LinkKind::donate) model.charities = charities;
  model.until = claimable_until_of(view.gift, state, visit.now);
  if (state.status == Status::donated) model.donation = view.donation;
  if (visit.has_stop_link && visit.kind != sync::LinkKind::view)
    model.stop_url = links.url_for(sync::LinkKind::stop, transaction);
  set_redemption(model, view);
  return model;
}

}  // namespace giftsync::pages
