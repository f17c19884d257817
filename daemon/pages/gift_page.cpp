#include "daemon/pages/gift_page.h"

#include <fmt/format.h>

#include <kainjow/mustache.hpp>

#include "daemon/pages/gift_page_words.h"
#include "daemon/pages/page_answer.h"

namespace giftsync::daemon {
namespace {

using kainjow::mustache::data;

/// Mustache takes an empty text for present; a member that is left out is absent.
void set_unless_empty(data& page, const std::string& name, const std::string& text) {
  if (!text.empty()) page.set(name, text);
}

/// "2026-11-21 12:31 UTC"
std::string readable(schema::UtcMillis time) {
  const std::string text = schema::to_rfc3339(time);
  return fmt::format("{} {} UTC", text.substr(0, 10), text.substr(11, 5));
}

std::string capitalised(std::string_view word) {
  std::string text(word);
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

data row(const std::string& label, const std::string& value) {
  data row;
  row.set("label", label);
  row.set("value", value);
  return row;
}

/// What a colleague of the sender wants to know, as a list of labels and values.
data state_rows(const GiftPageFacts& facts) {
  data rows(data::type::list);
  rows << row("Status", capitalised(schema::to_word(facts.status)));
  for (const StatusMoment& moment : facts.history) {
    data line = row(capitalised(schema::to_word(moment.status)) + " at", readable(moment.at));
    line.set("time", schema::to_rfc3339(moment.at));
    rows << line;
  }
  if (!facts.recipient_email.empty()) rows << row("Recipient", facts.recipient_email);
  rows << row("Transaction", fmt::format("{}", facts.transaction.value));
  return rows;
}

}  // namespace

HttpResponse gift_page(const GiftPageFacts& facts) {
  const GiftPageWords words = words_for(facts.kind, facts.status);
  const std::string sender = facts.sender_name.empty() ? "Someone" : facts.sender_name;
  data page;
  page.set("title", fmt::format("A gift from {}", sender));
  page.set("name", sender);
  page.set("headline", std::string(words.headline));
  set_unless_empty(page, "to", facts.recipient_name);
  page.set("gift", true);
  page.set("message", facts.message);
  page.set("item_name", facts.item_name);
  set_unless_empty(page, "item_description", facts.item_description);
  if (facts.kind == GiftPageKind::view) page.set("rows", data("row", state_rows(facts)));
  page.set("notice", std::string(words.notice));
  page.set("notice_text", std::string(words.notice_text));
  if (!words.link_text.empty() && !facts.other_url.empty()) {
    page.set("link", true);
    page.set("url", facts.other_url);
    page.set("link_text", std::string(words.link_text));
  }
  return page_answer(200, page);
}

HttpResponse unknown_link_page() {
  data page;
  page.set("title", "This link is not known");
  page.set("headline", "This link is not known");
  page.set("notice", "Was it copied whole?");
  page.set("notice_text",
           "Links to gifts are long, and some programs cut them in two. Please open the link from the "
           "message that it came "
           "in, or ask the person who sent it to you.");
  return page_answer(404, page);
}

HttpResponse old_link_page() {
  data page;
  page.set("title", "This link is no longer valid");
  page.set("headline", "This link is no longer valid");
  page.set("notice", "What you can do");
  page.set("notice_text",
           "If you received a newer message about this gift, please use the link in that one. Otherwise the "
           "gift was taken "
           "back; the person who sent it can tell you more.");
  return page_answer(410, page);
}

}  // namespace giftsync::daemon
