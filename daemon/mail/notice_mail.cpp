#include "daemon/mail/notice_mail.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/content/messages.h"
#include "daemon/mail/mime_message.h"
#include "platform/http_client.h"
#include "platform/text.h"
#include "platform/visible_text.h"
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

/// The page's URL on a line of its own; nothing while the console is off.
std::string url_line(const ApproverMailData& data, const std::string& path) {
  return data.console_url.empty() ? "" : data.console_url + path + "\n";
}

/// The text as a link to the page; the text alone while the console is off.
std::string html_link(const ApproverMailData& data, const std::string& path, const std::string& text) {
  const std::string shown = content::html_escaped(text);
  if (data.console_url.empty()) return shown;
  return "<a href=\"" + content::html_escaped(data.console_url + path) + "\">" + shown + "</a>";
}

/// Who asked for a held gift request, for whom, and why it waits.
std::vector<std::string> details_of(const content::Messages& messages, const store::ApproverNotice& notice) {
  std::vector<std::string> lines;
  const auto add = [&](std::string_view key, const std::string& name, const std::string& value) {
    if (!value.empty()) lines.push_back(without_controls(messages.text(key, {{name, value}})));
  };
  add("approval_asked_by", "asker", notice.asked_by);
  add("approval_recipient", "recipient", notice.recipient);
  add("approval_reasons", "reasons", notice.reasons);
  if (notice.paused_at) add("approval_key_paused", "date", messages.date(*notice.paused_at));
  return lines;
}

void add_list(NoticeBody& body, const ApproverMailData& data, const content::Messages& messages,
              std::span<const store::ApproverNotice> notices) {
  body.html += "<ul>\n";
  for (const store::ApproverNotice& notice : notices) {
    const std::string path = (notice.is_of_held() ? "/held/" : "/requests/") + percent_encoded(notice.number);
    const std::string line = line_of(messages, notice);
    body.text += line + "\n";
    body.html += "<li>" + html_link(data, path, line);
    for (const std::string& detail : details_of(messages, notice)) {
      body.text += detail + "\n";
      body.html += "<br>" + content::html_escaped(detail);
    }
    body.text += url_line(data, path) + "\n";
    body.html += "</li>\n";
  }
  body.html += "</ul>\n";
}

bool is_of_budget(const store::AdminNotice& notice) {
  return notice.kind == AdminNoticeKind::budget;
}

/// "account rose@example.com"; of a key or token "gsk_live_x3Kd9aQ (shop)".
std::string name_of(const content::Messages& messages, const store::AdminNotice& notice) {
  if (!is_of_budget(notice))
    return notice.scope + (notice.key_name.empty() ? "" : " (" + notice.key_name + ")");
  if (notice.scope.starts_with("account:")) return messages.text("guard_account", {{"name", notice.owner}});
  if (notice.scope.starts_with("organization:"))
    return messages.text("guard_organization", {{"name", notice.owner}});
  return messages.text("guard_installation");
}

std::string subject_of(const content::Messages& messages, const store::AdminNotice& notice) {
  const std::string name = name_of(messages, notice);
  if (!is_of_budget(notice)) return messages.text("guard_pause_subject", {{"key", name}});
  return messages.text("guard_budget_subject",
                       {{"percent", std::to_string(notice.threshold)}, {"budget", name}});
}

/// "85 of 100 gifts, 85.00 of 500.00"
std::string use_of(const content::Messages& messages, const store::AdminNotice& notice) {
  std::string use;
  if (notice.gifts_limit)
    use = messages.text("guard_gifts", {{"used", std::to_string(notice.gifts)},
                                        {"limit", std::to_string(*notice.gifts_limit)}});
  if (notice.amount_limit)
    use += (use.empty() ? "" : ", ") +
           messages.text("guard_amount",
                         {{"used", to_decimal(notice.amount)}, {"limit", to_decimal(*notice.amount_limit)}});
  return use;
}

std::string line_of(const content::Messages& messages, const store::AdminNotice& notice) {
  const std::string name = name_of(messages, notice);
  if (is_of_budget(notice))
    return messages.text("guard_budget_line", {{"percent", std::to_string(notice.threshold)},
                                               {"budget", name},
                                               {"period", notice.period},
                                               {"use", use_of(messages, notice)},
                                               {"date", messages.date(notice.ends_at)}});
  return messages.text(notice.kind == AdminNoticeKind::key ? "guard_key_line" : "guard_token_line",
                       {{"key", name},
                        {"owner", notice.owner},
                        {"date", messages.date(notice.created_at)},
                        {"gifts", std::to_string(notice.gifts_limit.value_or(0))},
                        {"begin", messages.date(notice.begins_at)},
                        {"end", messages.date(notice.ends_at)}});
}

/// The command that doubles the limits, or releases the key or token.
std::string command_of(const store::AdminNotice& notice) {
  if (notice.kind == AdminNoticeKind::key) return "giftsyncctl key release " + notice.scope;
  if (notice.kind == AdminNoticeKind::token) return "giftsyncctl organization release-token " + notice.scope;
  const std::string kind = notice.scope.substr(0, notice.scope.find(':'));
  const std::string span = notice.period.size() == std::string_view("2026-11").size() ? " --month" : " --day";
  return "giftsyncctl budget set " +
         (kind == "all" ? "installation" : kind + " " + shell_word(notice.owner)) +
         (notice.gifts_limit ? span + "-gifts " + std::to_string(2 * *notice.gifts_limit) : "") +
         (notice.amount_limit ? span + "-amount " + to_decimal(Money{2 * notice.amount_limit->minor_units})
                              : "");
}

void add_admin_notice(NoticeBody& body, const ApproverMailData& data, const content::Messages& messages,
                      const store::AdminNotice& notice) {
  const std::string line = without_controls(line_of(messages, notice));
  const std::string path = notice.kind == AdminNoticeKind::key ? "/keys" : "/sending";
  std::vector<std::string> commands{without_controls(command_of(notice))};
  if (is_of_budget(notice)) commands.insert(commands.begin(), "giftsyncctl budget list");
  body.text += line + "\n";
  body.html += "<p>" + html_link(data, path, line);
  for (const std::string& command : commands) {
    body.text += command + "\n";
    body.html += "<br><code>" + content::html_escaped(command) + "</code>";
  }
  body.text += url_line(data, path) + "\n";
  body.html += "</p>\n";
}

/// Returns the subject; it is empty without notices.
std::string add_admin_notices(NoticeBody& body, const ApproverMailData& data,
                              const content::Messages& messages) {
  const auto& notices = data.admin_notices;
  if (notices.empty()) return "";
  const std::size_t listed = std::min(notices.size(), kMaxListed);
  body.add_paragraph(messages.text("guard_intro"));
  for (const store::AdminNotice& notice : notices.first(listed))
    add_admin_notice(body, data, messages, notice);
  if (notices.size() > listed)
    body.add_paragraph(messages.text("guard_more", {{"count", std::to_string(notices.size() - listed)}}));
  if (notices.size() == 1) return subject_of(messages, notices.front());
  return messages.text("guard_subject_count", {{"count", std::to_string(notices.size())}});
}

}  // namespace

sync::OutgoingMail compose_approver_mail(const ApproverMailData& data) {
  const content::Messages& messages = content::messages_in(data.language);
  const auto first_repeated =
      std::find_if(data.notices.begin(), data.notices.end(), [](const auto& one) { return one.is_repeated; });
  const auto count = static_cast<std::size_t>(first_repeated - data.notices.begin());
  const std::size_t listed = std::min(data.notices.size(), kMaxListed);
  NoticeBody body;
  std::string subject = add_admin_notices(body, data, messages);
  if (count > 0) {
    const std::string number = std::to_string(count);
    subject += (subject.empty() ? "" : "; ") +
               (count == 1 ? messages.text("approval_subject", {{"request", data.notices.front().number}})
                           : messages.text("approval_subject_count", {{"count", number}}));
    body.add_paragraph(count == 1 ? messages.text("approval_intro")
                                  : messages.text("approval_intro_count", {{"count", number}}));
    add_list(body, data, messages, data.notices.first(std::min(count, listed)));
  }
  if (listed > count) {
    body.add_paragraph(messages.text("approval_still_waiting"));
    add_list(body, data, messages, data.notices.subspan(count, listed - count));
  }
  if (data.notices.size() > listed) {
    const std::string more =
        messages.text("approval_more", {{"count", std::to_string(data.notices.size() - listed)}});
    body.text += more + "\n" + url_line(data, "/requests");
    body.html += "<p>" + html_link(data, "/requests", more) + "</p>\n";
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
  const auto next = sync::next_outcome(*terms, state, std::nullopt, notice.extended_until);
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

sync::OutgoingMail compose_sign_in_mail(const SignInMailData& data) {
  const content::Messages& messages = content::messages_in(data.language);
  const std::string shown = content::html_escaped(data.link);
  NoticeBody body;
  body.add_paragraph(messages.text("sign_in_mail_intro", {{"host", data.host}}));
  body.text += data.link + "\n\n";
  body.html += "<p><a href=\"" + shown + "\">" + shown + "</a></p>\n";
  body.add_paragraph(messages.text("sign_in_mail_until", {{"date", messages.date(data.mail.expires_at)}}));
  body.add_paragraph(messages.text("sign_in_mail_asked", {{"client", data.mail.client}}));
  return compose_notice({data.identity, data.from_address, data.mail.email,
                         messages.text("sign_in_mail_subject", {{"host", data.host}}), messages.language()},
                        std::move(body));
}

namespace {

/// "3 minutes", "26 hours", "3 days": one unit, rounded down.
std::string duration_text(std::int64_t millis) {
  if (millis < kMinuteMillis) return "less than a minute";
  if (millis < 2 * kHourMillis) return pluralize(millis / kMinuteMillis, "minute");
  if (millis < 2 * kDayMillis) return pluralize(millis / kHourMillis, "hour");
  return pluralize(millis / kDayMillis, "day");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(without_controls(line));
  return lines;
}

/// A heading with the name and the times, then a pair of lines for each finding.
void add_alert(NoticeBody& body, const store::Alert& alert) {
  const std::string began = minute_text(alert.began_at);
  const std::string heading =
      without_controls(alert.name) + (alert.ended_at
                                          ? ": " + began + " to " + minute_text(*alert.ended_at) + " UTC, " +
                                                duration_text(alert.ended_at->value - alert.began_at.value)
                                          : ": since " + began + " UTC");
  body.text += heading + "\n";
  body.html += "<p><strong>" + content::html_escaped(heading) + "</strong>";
  const std::vector<std::string> whats = lines_of(alert.what);
  const std::vector<std::string> steps = lines_of(alert.next_step);
  for (std::size_t i = 0; i < whats.size(); ++i) {
    body.text += "  " + whats[i] + "\n";
    body.html += "<br>\n" + content::html_escaped(whats[i]);
    if (alert.ended_at || i >= steps.size()) continue;  // nothing is left to do
    body.text += "  Next: " + steps[i] + "\n";
    body.html += "<br>\nNext: <code>" + content::html_escaped(steps[i]) + "</code>";
  }
  body.text += "\n";
  body.html += "</p>\n";
}

void add_alerts(NoticeBody& body, const std::string& intro, const std::vector<store::Alert>& alerts) {
  if (alerts.empty()) return;
  body.add_paragraph(intro);
  for (const store::Alert& alert : alerts) add_alert(body, alert);
}

std::string subject_of(const AlertMailData& data) {
  const auto begun = static_cast<std::int64_t>(data.mail.begun.size());
  const auto ended = static_cast<std::int64_t>(data.mail.ended.size());
  const std::string begins = pluralize(begun, "condition") + (begun == 1 ? " needs" : " need") + " attention";
  const std::string has_ended = ended == 1 ? " has ended" : " have ended";
  std::string text = begun == 0 ? pluralize(ended, "condition") + has_ended : begins;
  if (begun > 0 && ended > 0) text += ", " + std::to_string(ended) + has_ended;
  return "giftsync on " + data.host + ": " + text;
}

}  // namespace

sync::OutgoingMail compose_alert_mail(const AlertMailData& data) {
  NoticeBody body;
  add_alerts(body, "This needs an admin on " + data.host + ":", data.mail.begun);
  add_alerts(body, "This has ended on " + data.host + ":", data.mail.ended);
  body.add_paragraph("What needs an admin now: giftsyncctl status" +
                     (data.console_url.empty() ? "" : ", or " + data.console_url + "/"));
  const std::string from = email_for_envelope(data.from_address);
  const sync::MailIdentity identity{.message_id = "alert-" + sync::alert_mail_digest(data.mail, data.to) +
                                                  "." + data.installation_id + "@" +
                                                  from.substr(from.rfind('@') + 1),
                                    .date = data.now};
  return compose_notice({identity, data.from_address, data.to, subject_of(data), "en"}, std::move(body));
}

}  // namespace giftsync::mail
