#include "daemon/mail/gift_mail.h"

#include <kainjow/mustache.hpp>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "daemon/mail/mime_message.h"
#include "daemon/pages/html_text.h"
#include "daemon/pages/palette.h"
#include "daemon/pages/words.h"
#include "embedded/giftsync_daemon.h"
#include "schema/address.h"
#include "schema/text.h"

namespace giftsync::daemon {
namespace {

namespace mustache = kainjow::mustache;

/// Lines separated by \n alone; other control characters become spaces.
std::string plain_lines(std::string_view text) {
  std::string lines;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\r') {
      if (i + 1 == text.size() || text[i + 1] != '\n') lines += '\n';
    } else if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
      lines += ' ';
    } else {
      lines += c;
    }
  }
  return lines;
}

std::string rendered(std::string_view source, const mustache::data& values,
                     const mustache::mustache::escape_handler& escape) {
  mustache::mustache page{std::string(source)};
  if (!page.is_valid()) throw std::logic_error("mail template: " + page.error_message());
  page.set_custom_escape(escape);
  return page.render(values);
}

mustache::data list_of_lines(const std::string& text) {
  mustache::data lines{mustache::data::type::list};
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find('\n', begin);
    mustache::data line;
    line.set("line", text.substr(begin, end - begin));
    line.set("more", end != std::string::npos);
    lines.push_back(line);
    if (end == std::string::npos) return lines;
    begin = end + 1;
  }
}

/// "Ada", "Ada Lovelace", or nothing.
std::string full_name(const GiftMailFacts& facts) {
  return std::string(schema::trimmed(without_controls(facts.first_name + " " + facts.last_name)));
}

std::string sender_of(const GiftMailFacts& facts) {
  const std::string name(schema::trimmed(without_controls(facts.sender_name)));
  return name.empty() ? without_controls(facts.sender_email) : name;
}

void set_shades(mustache::data& values, const std::string& prefix, const Shades& shades) {
  values.set(prefix + "ground", shades.ground);
  values.set(prefix + "card", shades.card);
  values.set(prefix + "tint", shades.tint);
  values.set(prefix + "text", shades.text);
  values.set(prefix + "quiet", shades.quiet);
  values.set(prefix + "line", shades.line);
  values.set(prefix + "accent", shades.accent);
  values.set(prefix + "button", shades.button);
  values.set(prefix + "on_button", shades.on_button);
}

/// One of the two forms in the making; `form` gives the words as text or as HTML.
template <class Form>
mustache::data template_values(const GiftMailFacts& facts, const Words& words, Form&& form) {
  const std::string first_name(schema::trimmed(without_controls(facts.first_name)));
  const std::string greeted = first_name.empty() ? full_name(facts) : first_name;
  const std::string sender = sender_of(facts);
  const std::string item = without_controls(facts.item_name);
  const std::string message = plain_lines(facts.message);
  const std::string description(schema::trimmed(plain_lines(facts.item_description)));
  mustache::data values;
  values.set("language", words.language());
  values.set("title", words.text("title", {{"sender", sender}}));
  values.set("preview", words.text("mail_preview", {{"sender", sender}, {"item", item}}));
  values.set("greeting", greeted.empty() ? form("mail_hello", Words::Values{})
                                         : form("mail_dear", Words::Values{{"name", greeted}}));
  values.set("has_gift", form("mail_has_gift", Words::Values{{"sender", sender}}));
  values.set("has_item", form("mail_has_item", Words::Values{{"sender", sender}, {"item", item}}));
  values.set("writes", form("mail_writes", Words::Values{{"sender", sender}}));
  values.set("sent_by", form("mail_sent_by", Words::Values{{"sender", sender},
                                                           {"email", without_controls(facts.sender_email)}}));
  for (const char* key : {"accept", "rather", "donate", "reply", "yours"})
    values.set(key, words.text(std::string("mail_") + key));
  if (facts.is_reminder) values.set("reminder", words.text("mail_reminder"));
  if (!facts.face.company.empty()) values.set("company", without_controls(facts.face.company));
  values.set("item", item);
  values.set("description", description);
  values.set("has_description", !description.empty());
  values.set("message", message);
  values.set("message_lines", list_of_lines(message));
  values.set("has_message", !schema::trimmed(message).empty());
  values.set("redemption_url", facts.redemption_url);
  values.set("donation_url", facts.donation_url);
  const Palette palette = palette_of(facts.face.colour);
  set_shades(values, "", palette.light);
  set_shades(values, "dark_", palette.dark);
  return values;
}

std::string unescaped(const std::string& text) {
  return text;
}

}  // namespace

OutgoingMail compose_gift_mail(const GiftMailFacts& facts) {
  const Words& words = words_in(facts.face.language);
  const std::string sender = sender_of(facts);
  const std::string from = without_controls(schema::email_for_envelope(facts.from_address));
  const std::string to = without_controls(schema::email_for_envelope(facts.recipient_email));

  MimeMessage message;
  message.message_id = facts.message_id;
  message.from = {sender, from};
  message.reply_to = {sender, schema::email_for_envelope(facts.sender_email)};
  message.to = {full_name(facts), to};
  message.subject = words.text(facts.is_reminder ? "mail_reminder_subject" : "mail_subject",
                               {{"sender", sender}, {"item", facts.item_name}});
  message.date = facts.date;
  message.more_headers = facts.more_headers;
  const auto as_text = [&](std::string_view key, Words::Values values) { return words.text(key, values); };
  const auto as_html = [&](std::string_view key, Words::Values values) { return words.html(key, values); };
  message.text = rendered(embedded::web_mail_txt_mustache, template_values(facts, words, as_text), unescaped);
  message.html = rendered(embedded::web_mail_html_mustache, template_values(facts, words, as_html),
                          [](const std::string& text) { return html_escaped(text); });
  return {facts.message_id, from, to, mime_bytes(message)};
}

}  // namespace giftsync::daemon
