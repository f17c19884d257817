#include "daemon/mail/gift_mail.h"

#include <kainjow/mustache.hpp>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "daemon/mail/mime_message.h"
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

/// For text and for attributes in double quotes. Not the library's: it writes &apos;, which old mail programs
/// show as it is.
std::string html_escaped(const std::string& text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
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

mustache::data template_values(const GiftMailFacts& facts) {
  const std::string greeted(schema::trimmed(without_controls(facts.first_name)));
  const std::string message = plain_lines(facts.message);
  const std::string description(schema::trimmed(plain_lines(facts.item_description)));
  mustache::data values;
  values.set("greeted", greeted.empty() ? full_name(facts) : greeted);
  values.set("has_name", !full_name(facts).empty());
  values.set("sender", sender_of(facts));
  values.set("sender_email", without_controls(facts.sender_email));
  values.set("item", without_controls(facts.item_name));
  values.set("description", description);
  values.set("has_description", !description.empty());
  values.set("message", message);
  values.set("message_lines", list_of_lines(message));
  values.set("has_message", !schema::trimmed(message).empty());
  values.set("redemption_url", facts.redemption_url);
  values.set("donation_url", facts.donation_url);
  values.set("is_reminder", facts.is_reminder);
  return values;
}

std::string unescaped(const std::string& text) {
  return text;
}

}  // namespace

OutgoingMail compose_gift_mail(const GiftMailFacts& facts) {
  const mustache::data values = template_values(facts);
  const std::string sender = sender_of(facts);
  const std::string from = without_controls(schema::email_for_envelope(facts.from_address));
  const std::string to = without_controls(schema::email_for_envelope(facts.recipient_email));

  MimeMessage message;
  message.message_id = facts.message_id;
  message.from = {sender, from};
  message.reply_to = {sender, schema::email_for_envelope(facts.sender_email)};
  message.to = {full_name(facts), to};
  message.subject = (facts.is_reminder ? "Reminder: " : "") + sender + " sent you a gift: " + facts.item_name;
  message.date = facts.date;
  message.more_headers = facts.more_headers;
  message.text = rendered(embedded::web_mail_txt_mustache, values, unescaped);
  message.html = rendered(embedded::web_mail_html_mustache, values, html_escaped);
  return {facts.message_id, from, to, mime_bytes(message)};
}

}  // namespace giftsync::daemon
