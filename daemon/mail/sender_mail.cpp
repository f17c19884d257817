#include "daemon/mail/sender_mail.h"

#include "daemon/content/html_text.h"
#include "daemon/content/messages.h"
#include "daemon/mail/mime_message.h"
#include "daemon/mail/notice_mail.h"
#include "platform/text.h"
#include "sync/lifecycle_rules.h"

namespace giftsync::daemon::mail {
namespace {

/// A relay's reply may have pages of advice.
constexpr std::size_t kMaxReply = 300;

std::string recipient_of(const schema::store::SenderNotice& one) {
  return one.recipient.empty() ? one.email : one.recipient + " <" + one.email + ">";
}

/// When the gift ends, unless someone acts; empty when that is not known.
std::string ending_of(const content::Messages& messages, const schema::store::SenderNotice& one) {
  const auto terms = sync::parse_terms(one.terms);
  if (!terms) return "";
  sync::FoldedStatus state;
  state.status = schema::Status::undelivered;
  state.times[schema::Status::sent] = one.sent_at;
  state.times[schema::Status::undelivered] = one.undelivered_at;
  const auto next = sync::next_outcome(*terms, state, std::nullopt);
  if (!next) return "";
  return messages.text(next->status == schema::Status::refunded ? "undelivered_refund" : "undelivered_expiry",
                       {{"date", messages.date(next->at)}});
}

void add_gift(NoticeBody& body, const SenderMailData& data, const content::Messages& messages,
              const schema::store::SenderNotice& one) {
  const std::string gift = std::to_string(one.gift.value);
  const std::string line = without_controls(messages.text(
      "undelivered_line", {{"gift", gift}, {"item", one.item}, {"recipient", recipient_of(one)}}));
  const std::string reason = without_controls(
      one.reply.empty()
          ? messages.text("undelivered_reported")
          : messages.text("undelivered_reply", {{"reply", platform::truncated(one.reply, kMaxReply)}}));
  const std::string ending = ending_of(messages, one);
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
  for (const schema::store::SenderNotice& one : notices) add_gift(body, data, messages, one);
  const std::int64_t more = data.mail.gifts - static_cast<std::int64_t>(notices.size());
  if (more > 0) body.add_paragraph(messages.text("undelivered_more", {{"count", std::to_string(more)}}));
  const std::string subject =
      is_one ? messages.text("undelivered_subject",
                             {{"item", notices.front().item}, {"recipient", recipient_of(notices.front())}})
             : messages.text("undelivered_subject_count", {{"count", count}});
  return compose_notice({data.identity, data.from_address, data.mail.email, subject, messages.language()},
                        std::move(body));
}

}  // namespace giftsync::daemon::mail
