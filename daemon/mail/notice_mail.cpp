#include "daemon/mail/notice_mail.h"

#include "daemon/content/html_text.h"
#include "daemon/mail/mime_message.h"
#include "schema/contact_normalization.h"

namespace giftsync::daemon::mail {

void NoticeBody::add_paragraph(const std::string& paragraph) {
  const std::string line = without_controls(paragraph);
  text += line + "\n\n";
  html += "<p>" + content::html_escaped(line) + "</p>\n";
}

sync::OutgoingMail compose_notice(const NoticeMail& mail, NoticeBody body) {
  MimeMessage message;
  message.message_id = mail.identity.message_id;
  message.from = {"", without_controls(schema::email_for_envelope(mail.from_address))};
  message.reply_to = message.from;
  message.to = {"", without_controls(schema::email_for_envelope(mail.to))};
  message.subject = without_controls(mail.subject);
  message.date = mail.identity.date;
  message.text = std::move(body.text);
  message.html = "<!DOCTYPE html>\n<html lang=\"" + mail.language +
                 "\">\n<head><meta charset=\"utf-8\"><title>" + content::html_escaped(message.subject) +
                 "</title></head>\n<body>\n" + body.html + "</body>\n</html>\n";
  return {message.message_id, message.from.address, message.to.address, mime_bytes(message)};
}

}  // namespace giftsync::daemon::mail
