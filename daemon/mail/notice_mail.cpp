#include "daemon/mail/notice_mail.h"

#include <algorithm>
#include <utility>

#include "daemon/content/messages.h"
#include "daemon/mail/mime_message.h"
#include "platform/http_client.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"
#include "sync/gift/lifecycle.h"

namespace giftsync::mail {

void NoticeBody::add_paragraph(const std::string& paragraph) {
  const std::string line = without_controls(paragraph);
  text += line + "\n\n";
  html += "<p>" + content::html_escaped(line) + "</p>\n";
}

sync::OutgoingMail compose_notice(const NoticeMail& mail, NoticeBody body) {
  MimeMessage message;
  message.message_id = mail.identity.message_id;
  message.from = {"", without_controls(email_for_envelope(mail.from_address))};
  message.reply_to = message.from;
  message.to = {"", without_controls(email_for_envelope(mail.to))};
  message.subject = without_controls(mail.subject);
  message.date = mail.identity.date;
  message.text = std::move(body.text);
  message.html = "<!DOCTYPE html>\n<html lang=\"" + mail.language +
                 "\">\n<head><meta charset=\"utf-8\"><title>" + content::html_escaped(message.subject) +
                 "</title></head>\n<body>\n" + body.html + "</body>\n</html>\n";
  return {message.message_id, message.from.address, message.to.address, mime_bytes(message)};
}

namespace {

/// New and repeated gifts together; the others are counted.
constexpr std::size_t kMaxListed = 20;

/// Without a cost an item that is a number is one that the catalogue does not have: alone it reads as a
/// price.
std::string line_of(const content::Messages& messages, const store::ApproverNotice& notice) {
  const std::string since = notice.was_approved ? " " + messages.text("approval_withdrawn") : "";
  if (!notice.cost.empty())
    return without_controls(
        messages.text("approval_line",
                      {{"request", notice.number}, {"item", notice.item}, {"cost", notice.cost}}) +
        since);
  const bool is_number =
      !notice.item.empty() && notice.item.find_first_not_of("0123456789") == std::string::npos;
  return without_controls(
      notice.number + ": " +
      (is_number ? messages.text("approval_unknown_item", {{"item", notice.item}}) : notice.item) + since);
}

void add_list(NoticeBody& body, const ApproverMailData& data, const content::Messages& messages,
              std::span<const store::ApproverNotice> notices) {
  body.html += "<ul>\n";
  for (const store::ApproverNotice& notice : notices) {
    const std::string url = data.console_url + "/requests/" + percent_encoded(notice.number);
    body.text += line_of(messages, notice) + "\n" + url + "\n\n";
    body.html += "<li><a href=\"" + content::html_escaped(url) + "\">" +
                 content::html_escaped(line_of(messages, notice)) + "</a></li>\n";
  }
  body.html += "</ul>\n";
}

}  // namespace

sync::OutgoingMail compose_approver_mail(const ApproverMailData& data) {
  const content::Messages& messages = content::messages_in(data.language);
  const auto first_repeated =
      std::find_if(data.notices.begin(), data.notices.end(), [](const auto& one) { return one.is_repeated; });
  const auto count = static_cast<std::size_t>(first_repeated - data.notices.begin());
  const std::size_t listed = std::min(data.notices.size(), kMaxListed);
  const std::string number = std::to_string(count);
  const std::string subject =
      count == 1 ? messages.text("approval_subject", {{"request", data.notices.front().number}})
                 : messages.text("approval_subject_count", {{"count", number}});
  NoticeBody body;
  body.add_paragraph(count == 1 ? messages.text("approval_intro")
                                : messages.text("approval_intro_count", {{"count", number}}));
  add_list(body, data, messages, data.notices.first(std::min(count, listed)));
  if (listed > count) {
    body.add_paragraph(messages.text("approval_still_waiting"));
    add_list(body, data, messages, data.notices.subspan(count, listed - count));
  }
  if (data.notices.size() > listed) {
    const std::string more =
        messages.text("approval_more", {{"count", std::to_string(data.notices.size() - listed)}});
    const std::string url = data.console_url + "/requests";
    body.text += more + "\n" + url + "\n";
    body.html +=
        "<p><a href=\"" + content::html_escaped(url) + "\">" + content::html_escaped(more) + "</a></p>\n";
  }
  return compose_notice({data.identity, data.from_address, data.to, subject, messages.language()},
                        std::move(body));
}

namespace {

/// A relay's reply may have pages of advice.
constexpr std::size_t kMaxReply = 300;

std::string recipient_of(const store::SenderNotice& notice) {
  return notice.recipient.empty() ? notice.email : notice.recipient + " <" + notice.email + ">";
}

/// When the gift ends, unless someone acts; empty when that is not known.
std::string ending_of(const content::Messages& messages, const store::SenderNotice& notice) {
  const auto terms = sync::parse_terms(notice.terms);
  if (!terms) return "";
  sync::FoldedStatus state;
  state.status = Status::undelivered;
  state.times[Status::sent] = notice.sent_at;
  state.times[Status::undelivered] = notice.undelivered_at;
  const auto next = sync::next_outcome(*terms, state, std::nullopt);
  if (!next) return "";
  return messages.text(next->status == Status::refunded ? "undelivered_refund" : "undelivered_expiry",
                       {{"date", messages.date(next->at)}});
}

void add_gift(NoticeBody& body, const SenderMailData& data, const content::Messages& messages,
              const store::SenderNotice& notice) {
  const std::string gift = std::to_string(notice.gift.value);
  const std::string line = without_controls(messages.text(
      "undelivered_line", {{"gift", gift}, {"item", notice.item}, {"recipient", recipient_of(notice)}}));
  const std::string reason =
      without_controls(notice.reply.empty() ? messages.text("undelivered_reported")
                                            : messages.text("undelivered_reply",
                                                            {{"reply", truncated(notice.reply, kMaxReply)}}));
  const std::string ending = ending_of(messages, notice);
  const bool has_page = !data.console_url.empty();
  const std::string action =
      has_page ? data.console_url + "/gifts/" + gift : "giftsyncctl gift resend " + gift + " --email ADDRESS";
  const std::string shown = content::html_escaped(action);
  body.text += line + "\n" + reason + "\n" + (ending.empty() ? "" : ending + "\n") + action + "\n\n";
  body.html += "<p>" + content::html_escaped(line) + "<br>" + content::html_escaped(reason) + "<br>" +
               (ending.empty() ? "" : content::html_escaped(ending) + "<br>") +
               (has_page ? "<a href=\"" + shown + "\">" + shown + "</a>" : "<code>" + shown + "</code>") +
               "</p>\n";
}

}  // namespace

sync::OutgoingMail compose_sender_mail(const SenderMailData& data) {
  const content::Messages& messages = content::messages_in(data.language);
  const std::string count = std::to_string(data.mail.gifts);
  const auto& notices = data.mail.notices;
  const bool is_one = data.mail.gifts == 1 && notices.size() == 1;
  NoticeBody body;
  body.add_paragraph(is_one ? messages.text("undelivered_intro")
                            : messages.text("undelivered_intro_count", {{"count", count}}));
  body.add_paragraph(
      messages.text(data.console_url.empty() ? "undelivered_resend_command" : "undelivered_resend_page"));
  for (const store::SenderNotice& notice : notices) add_gift(body, data, messages, notice);
  const std::int64_t more = data.mail.gifts - static_cast<std::int64_t>(notices.size());
  if (more > 0) body.add_paragraph(messages.text("undelivered_more", {{"count", std::to_string(more)}}));
  const std::string subject =
      is_one ? messages.text("undelivered_subject",
                             {{"item", notices.front().item}, {"recipient", recipient_of(notices.front())}})
             : messages.text("undelivered_subject_count", {{"count", count}});
  return compose_notice({data.identity, data.from_address, data.mail.email, subject, messages.language()},
                        std::move(body));
}

}  // namespace giftsync::mail
