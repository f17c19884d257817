#include "daemon/mail/gift_mail.h"

#include <kainjow/mustache.hpp>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "daemon/content/color_scheme.h"
#include "daemon/content/html_text.h"
#include "daemon/content/messages.h"
#include "daemon/mail/mime_message.h"
#include "embedded/giftsync_daemon_content.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"

namespace giftsync::daemon::mail {
namespace {

namespace mustache = kainjow::mustache;

/// Lines separated by \n only; other control characters become spaces.
std::string normalize_line_breaks(std::string_view text) {
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

std::string render_template(std::string_view source, const mustache::data& values,
                            const mustache::mustache::escape_handler& escape) {
  mustache::mustache page{std::string(source)};
  if (!page.is_valid()) throw std::logic_error("mail template: " + page.error_message());
  page.set_custom_escape(escape);
  return page.render(values);
}

mustache::data line_list(const std::string& text) {
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
std::string full_name(const GiftMailData& data) {
  return std::string(platform::trimmed(without_controls(data.first_name + " " + data.last_name)));
}

std::string sender_display_name(const GiftMailData& data) {
  const std::string name(platform::trimmed(without_controls(data.sender_name)));
  return name.empty() ? without_controls(data.sender_email) : name;
}

void set_colors(mustache::data& values, const std::string& prefix, const content::Colors& colors) {
  values.set(prefix + "background", colors.background);
  values.set(prefix + "surface", colors.surface);
  values.set(prefix + "highlight", colors.highlight);
  values.set(prefix + "text", colors.text);
  values.set(prefix + "muted_text", colors.muted_text);
  values.set(prefix + "border", colors.border);
  values.set(prefix + "accent", colors.accent);
  values.set(prefix + "button", colors.button);
  values.set(prefix + "button_text", colors.button_text);
}

/// Builds one of the two parts; `form` returns the messages as text or as HTML.
template <class Form>
mustache::data template_values(const GiftMailData& data, const content::Messages& messages, Form&& form) {
  const std::string first_name(platform::trimmed(without_controls(data.first_name)));
  const std::string greeting_name = first_name.empty() ? full_name(data) : first_name;
  const std::string sender = sender_display_name(data);
  const std::string item = without_controls(data.item_name);
  const std::string message = normalize_line_breaks(data.message);
  const std::string description(platform::trimmed(normalize_line_breaks(data.item_description)));
  mustache::data values;
  values.set("language", messages.language());
  values.set("title", messages.text("title", {{"sender", sender}}));
  values.set("preview", messages.text("mail_preview", {{"sender", sender}, {"item", item}}));
  values.set("greeting", greeting_name.empty() ? form("mail_greeting", content::Messages::Values{})
                                               : form("mail_greeting_by_name",
                                                      content::Messages::Values{{"name", greeting_name}}));
  values.set("headline", form("mail_headline", content::Messages::Values{{"sender", sender}}));
  values.set("headline_named_gift",
             form("mail_headline_named_gift", content::Messages::Values{{"sender", sender}, {"item", item}}));
  values.set("message_intro", form("mail_message_intro", content::Messages::Values{{"sender", sender}}));
  values.set("sent_by",
             form("mail_sent_by", content::Messages::Values{{"sender", sender},
                                                            {"email", without_controls(data.sender_email)}}));
  for (const char* key : {"accept", "donate_prompt", "donate", "reply", "private_links"})
    values.set(key, messages.text(std::string("mail_") + key));
  if (data.is_reminder) values.set("reminder", messages.text("mail_reminder"));
  if (!data.branding.company.empty()) values.set("company", without_controls(data.branding.company));
  values.set("item", item);
  values.set("description", description);
  values.set("has_description", !description.empty());
  values.set("message", message);
  values.set("message_lines", line_list(message));
  values.set("has_message", !platform::trimmed(message).empty());
  values.set("redemption_url", data.redemption_url);
  values.set("donation_url", data.donation_url);
  const content::ColorScheme color_scheme = content::color_scheme_of(data.branding.colour);
  set_colors(values, "", color_scheme.light);
  set_colors(values, "dark_", color_scheme.dark);
  return values;
}

std::string unescaped(const std::string& text) {
  return text;
}

}  // namespace

OutgoingMail compose_gift_mail(const GiftMailData& data) {
  const content::Messages& messages = content::messages_in(data.branding.language);
  const std::string sender = sender_display_name(data);
  const std::string from = without_controls(schema::email_for_envelope(data.from_address));
  const std::string to = without_controls(schema::email_for_envelope(data.recipient_email));

  MimeMessage message;
  message.message_id = data.message_id;
  message.from = {sender, from};
  message.reply_to = {sender, schema::email_for_envelope(data.sender_email)};
  message.to = {full_name(data), to};
  message.subject = messages.text(data.is_reminder ? "mail_reminder_subject" : "mail_subject",
                                  {{"sender", sender}, {"item", data.item_name}});
  message.date = data.date;
  message.extra_headers = data.extra_headers;
  const auto as_text = [&](std::string_view key, content::Messages::Values values) {
    return messages.text(key, values);
  };
  const auto as_html = [&](std::string_view key, content::Messages::Values values) {
    return messages.html(key, values);
  };
  message.text =
      render_template(embedded::web_mail_txt_mustache, template_values(data, messages, as_text), unescaped);
  message.html = render_template(embedded::web_mail_html_mustache, template_values(data, messages, as_html),
                                 [](const std::string& text) { return content::html_escaped(text); });
  return {data.message_id, from, to, mime_bytes(message)};
}

}  // namespace giftsync::daemon::mail
