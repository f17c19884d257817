#include "daemon/mail/approver_mail.h"

#include <algorithm>

#include "daemon/content/html_text.h"
#include "daemon/content/messages.h"
#include "daemon/mail/mime_message.h"
#include "platform/http_client.h"
#include "schema/contact_normalization.h"

namespace giftsync::daemon::mail {
namespace {

/// The others are counted.
constexpr std::size_t kMaxListed = 20;

/// Without a cost an item that is a number is one that the catalogue does not have: alone it reads as a
/// price.
std::string line_of(const content::Messages& messages, const schema::store::ApproverNotice& one) {
  if (!one.cost.empty())
    return without_controls(
        messages.text("approval_line", {{"request", one.number}, {"item", one.item}, {"cost", one.cost}}));
  const bool is_number = !one.item.empty() && one.item.find_first_not_of("0123456789") == std::string::npos;
  return without_controls(
      one.number + ": " +
      (is_number ? messages.text("approval_unknown_item", {{"item", one.item}}) : one.item));
}

}  // namespace

sync::OutgoingMail compose_approver_mail(const ApproverMailData& data) {
  const content::Messages& messages = content::messages_in(data.language);
  const std::size_t count = data.notices.size();
  const std::string number = std::to_string(count);
  MimeMessage message;
  message.message_id = data.identity.message_id;
  message.from = {"", without_controls(schema::email_for_envelope(data.from_address))};
  message.reply_to = message.from;
  message.to = {"", without_controls(schema::email_for_envelope(data.to))};
  message.subject = without_controls(
      count == 1 ? messages.text("approval_subject", {{"request", data.notices.front().number}})
                 : messages.text("approval_subject_count", {{"count", number}}));
  message.date = data.identity.date;
  const std::string intro = count == 1 ? messages.text("approval_intro")
                                       : messages.text("approval_intro_count", {{"count", number}});
  message.text = intro + "\n\n";
  message.html = "<!DOCTYPE html>\n<html lang=\"" + messages.language() +
                 "\">\n<head><meta charset=\"utf-8\"><title>" + content::html_escaped(message.subject) +
                 "</title></head>\n<body>\n<p>" + content::html_escaped(intro) + "</p>\n<ul>\n";
  for (const schema::store::ApproverNotice& one : data.notices.first(std::min(count, kMaxListed))) {
    const std::string url = data.console_url + "/requests/" + platform::percent_encoded(one.number);
    message.text += line_of(messages, one) + "\n" + url + "\n\n";
    message.html += "<li><a href=\"" + content::html_escaped(url) + "\">" +
                    content::html_escaped(line_of(messages, one)) + "</a></li>\n";
  }
  message.html += "</ul>\n";
  if (count > kMaxListed) {
    const std::string more = messages.text("approval_more", {{"count", std::to_string(count - kMaxListed)}});
    const std::string url = data.console_url + "/requests";
    message.text += more + "\n" + url + "\n";
    message.html +=
        "<p><a href=\"" + content::html_escaped(url) + "\">" + content::html_escaped(more) + "</a></p>\n";
  }
  message.html += "</body>\n</html>\n";
  return {message.message_id, message.from.address, message.to.address, mime_bytes(message)};
}

}  // namespace giftsync::daemon::mail
