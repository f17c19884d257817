#include "daemon/mail/gift_mail.h"

#include <kainjow/mustache.hpp>
#include <stdexcept>
#include <string_view>

#include "daemon/content/messages.h"
#include "daemon/mail/mime_message.h"
#include "embedded/giftsync_daemon_content.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"

namespace giftsync::mail {
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

mustache::mustache parsed_template(std::string_view source,
                                   const mustache::mustache::escape_handler& escape) {
  mustache::mustache parsed{std::string(source)};
  if (!parsed.is_valid()) throw std::logic_error("mail template: " + parsed.error_message());
  parsed.set_custom_escape(escape);
  return parsed;
}

std::string unescaped(const std::string& text) {
  return text;
}

// Parsed once on each thread: rendering uses members of a kainjow template, so threads cannot share one.
mustache::mustache& text_template() {
  thread_local mustache::mustache parsed = parsed_template(embedded::web_mail_txt_mustache, unescaped);
  return parsed;
}
mustache::mustache& html_template() {
  thread_local mustache::mustache parsed =
      parsed_template(embedded::web_mail_html_mustache, content::html_escaped);
  return parsed;
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

std::string trimmed_line(std::string_view text) {
  return std::string(trimmed(without_controls(text)));
}

/// "Ada", "Ada Lovelace", or nothing.
std::string full_name(const store::RecipientTransaction& transaction) {
  return trimmed_line(transaction.first_name + " " + transaction.last_name);
}

std::string sender_display_name(const store::GiftRequest& request) {
  const std::string name = trimmed_line(request.sender_name);
  return name.empty() ? without_controls(request.sender_email) : name;
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

/// Messages::text or Messages::html.
using Form = std::string (content::Messages::*)(std::string_view, content::Messages::Values) const;

/// The values of one of the two parts.
mustache::data template_values(const GiftMailData& data, const content::Messages& messages, Form form) {
  const auto& [request, transaction] = data.gift;
  const auto formed = [&](std::string_view key, content::Messages::Values values) {
    return (messages.*form)(key, values);
  };
  const std::string first_name = trimmed_line(transaction.first_name);
  const std::string greeting_name = first_name.empty() ? full_name(transaction) : first_name;
  const std::string sender = sender_display_name(request);
  const std::string item = without_controls(request.item_name);
  const std::string message = normalize_line_breaks(transaction.message);
  const std::string description(trimmed(normalize_line_breaks(request.item_description)));
  mustache::data values;
  values.set("language", messages.language());
  values.set("title", messages.text("title", {{"sender", sender}}));
  values.set("preview", messages.text("mail_preview", {{"sender", sender}, {"item", item}}));
  values.set("greeting", greeting_name.empty() ? formed("mail_greeting", {})
                                               : formed("mail_greeting_by_name", {{"name", greeting_name}}));
  values.set("headline", formed("mail_headline", {{"sender", sender}}));
  values.set("headline_named_gift", formed("mail_headline_named_gift", {{"sender", sender}, {"item", item}}));
  values.set("message_intro", formed("mail_message_intro", {{"sender", sender}}));
  values.set("sent_by",
             formed("mail_sent_by", {{"sender", sender}, {"email", without_controls(request.sender_email)}}));
  for (const char* key : {"accept", "donate_prompt", "donate", "reply", "private_links"})
    values.set(key, messages.text(std::string("mail_") + key));
  if (!data.stop_url.empty()) {
    values.set("stop", messages.text("stop"));
    values.set("stop_url", data.stop_url);
  }
  if (data.identity.is_reminder) values.set("reminder", messages.text("mail_reminder"));
  if (!data.branding.company.empty()) values.set("company", without_controls(data.branding.company));
  values.set("item", item);
  values.set("description", description);
  values.set("has_description", !description.empty());
  values.set("message", message);
  values.set("message_lines", line_list(message));
  values.set("has_message", !trimmed(message).empty());
  values.set("redemption_url", data.redemption_url);
  values.set("donation_url", data.donation_url);
  set_colors(values, "", data.branding.colors.light);
  set_colors(values, "dark_", data.branding.colors.dark);
  return values;
}

MimeMessage mime_message_of(const GiftMailData& data) {
  const auto& [request, transaction] = data.gift;
  const content::Messages& messages = content::messages_in(data.branding.language);
  const std::string sender = sender_display_name(request);

  MimeMessage message;
  message.message_id = data.identity.message_id;
  message.from = {sender, without_controls(email_for_envelope(data.from_address))};
  message.reply_to = {sender, email_for_envelope(request.sender_email)};
  message.to = {full_name(transaction), without_controls(email_for_envelope(transaction.email))};
  if (request.is_test) message.to.name = sender;  // who gets it (TEST-2)
  message.subject = (request.is_test ? "[Test] " : "") +
                    messages.text(data.identity.is_reminder ? "mail_reminder_subject" : "mail_subject",
                                  {{"sender", sender}, {"item", request.item_name}});
  message.date = data.identity.date;
  message.extra_headers = data.extra_headers;
  message.unsubscribe_url = data.stop_url;
  message.text = text_template().render(template_values(data, messages, &content::Messages::text));
  message.html = html_template().render(template_values(data, messages, &content::Messages::html));
  return message;
}

std::string readable(const Mailbox& mailbox) {
  return mailbox.name.empty() ? mailbox.address : mailbox.name + " <" + mailbox.address + ">";
}

}  // namespace

sync::OutgoingMail compose_gift_mail(const GiftMailData& data) {
  const MimeMessage message = mime_message_of(data);
  return {message.message_id, message.from.address, message.to.address, mime_bytes(message)};
}

ReadableMail readable_gift_mail(const GiftMailData& data) {
  const MimeMessage message = mime_message_of(data);
  ReadableMail mail;
  const auto add = [&mail](const char* name, const std::string& value) {
    mail.headers.emplace_back(name, without_controls(value));
  };
  add("From", readable(message.from));
  add("Reply-To", readable(message.reply_to));
  add("To", readable(message.to));
  add("Subject", message.subject);
  add("Date", to_rfc3339(message.date));
  add("Message-ID", message.message_id);
  mail.text = message.text;
  return mail;
}

}  // namespace giftsync::mail
