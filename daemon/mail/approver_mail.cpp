#include "daemon/mail/approver_mail.h"

#include <algorithm>
#include <utility>

#include "daemon/content/html_text.h"
#include "daemon/content/messages.h"
#include "daemon/mail/mime_message.h"
#include "daemon/mail/notice_mail.h"
#include "platform/http_client.h"

namespace giftsync::daemon::mail {
namespace {

/// Of new and repeated ones together; the others are counted.
constexpr std::size_t kMaxListed = 20;

/// Without a cost an item that is a number is one that the catalogue does not have: alone it reads as a
/// price.
std::string line_of(const content::Messages& messages, const schema::store::ApproverNotice& one) {
  const std::string since = one.was_approved ? " " + messages.text("approval_withdrawn") : "";
  if (!one.cost.empty())
    return without_controls(
        messages.text("approval_line", {{"request", one.number}, {"item", one.item}, {"cost", one.cost}}) +
        since);
  const bool is_number = !one.item.empty() && one.item.find_first_not_of("0123456789") == std::string::npos;
  return without_controls(
      one.number + ": " +
      (is_number ? messages.text("approval_unknown_item", {{"item", one.item}}) : one.item) + since);
}

void add_list(NoticeBody& body, const ApproverMailData& data, const content::Messages& messages,
              std::span<const schema::store::ApproverNotice> notices) {
  body.html += "<ul>\n";
  for (const schema::store::ApproverNotice& one : notices) {
    const std::string url = data.console_url + "/requests/" + platform::percent_encoded(one.number);
    body.text += line_of(messages, one) + "\n" + url + "\n\n";
    body.html += "<li><a href=\"" + content::html_escaped(url) + "\">" +
                 content::html_escaped(line_of(messages, one)) + "</a></li>\n";
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

}  // namespace giftsync::daemon::mail
